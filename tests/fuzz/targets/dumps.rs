//! Dumps of clusters, whose names tenants choose: a text, or generated RBAC objects, become a world that answers.

#![no_main]

use arbitrary::Unstructured;
use bailiwick::access::Builder;
use bailiwick::ask::Connection;
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;
use fuzzing::schema::{any, text};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

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

fn dump(input: &mut Unstructured<'_>) -> arbitrary::Result<Value> {
    let mut items = Vec::new();
    for _ in 0..input.int_in_range(1..=8)? {
        let kind = *input.choose(&[
            "ClusterRole",
            "Role",
            "ClusterRoleBinding",
            "RoleBinding",
            "Namespace",
            "ServiceAccount",
            "List",
        ])?;
        let mut object = json!({
            "apiVersion": if kind.contains("Role") { "rbac.authorization.k8s.io/v1" } else { "v1" },
            "kind": kind,
            "metadata": {"name": text(input)?, "namespace": text(input)?, "labels": {text(input)?: text(input)?}},
            "rules": [{"apiGroups": [text(input)?], "resources": [text(input)?], "verbs": [text(input)?], "resourceNames": [text(input)?]},
                      {"nonResourceURLs": [text(input)?], "verbs": [text(input)?]}],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {text(input)?: text(input)?}}]},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": text(input)?},
            "subjects": [{"kind": *input.choose(&["User", "Group", "ServiceAccount"])?, "name": text(input)?, "namespace": text(input)?}],
        });
        if let (true, Value::Object(map)) = (input.ratio(1_u8, 4)?, &mut object) {
            let key = map.keys().nth(input.choose_index(map.len())?).cloned().unwrap_or_default();
            map.insert(key, any(0, input)?);
        }
        items.push(object);
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}
