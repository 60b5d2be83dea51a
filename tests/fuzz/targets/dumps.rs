//! Dumps of clusters, whose names tenants choose: a text, or generated RBAC objects, become a world that answers.

#![no_main]

use arbitrary::Unstructured;
use bailiwick::access::Builder;
use bailiwick::ask::Connection;
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;
use fuzzing::dump::dump;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let (is_text, rest) = bytes.split_first().map_or((false, bytes), |(first, rest)| (first % 4 == 0, rest));
    if is_text {
        if let Ok(text) = std::str::from_utf8(rest) {
            judge(text);
        }
    } else {
        let mut input = Unstructured::new(rest);
        if let Ok(dump) = dump(&mut input) {
            judge(&dump.to_string());
        }
    }
});

fn judge(text: &str) {
    let mut sink = Sink::new();
    let tree = yaml::read(text, FileId::default(), &mut sink);
    let mut builder = Builder::new(34).with_default_policy(34);
    for document in tree.documents() {
        builder.add_document(document, |_, _| {});
    }
    let mut connection = Connection::new(builder.build(), true);
    for question in [
        json!({"who-can": {"verb": "get", "resource": "secrets", "namespace": "a"}}),
        json!({"who-can": {"verb": "*", "resource": "*", "group": "*"}}),
        json!({"can-i": {"verb": "create", "resource": "pods/exec", "namespace": "team-a", "user": "a", "groups": ["view"]}}),
        json!({"rules": {"user": "a", "namespace": "a"}}),
        json!({"aggregate": {}}),
    ] {
        let _ = connection.answer(&question);
    }
    assert_eq!(yaml::internal::first(), None);
}
