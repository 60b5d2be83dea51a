//! Lines of the `ask` protocol: every line gets an answer or an error, and none panics.

#![no_main]

use bailiwick::ask::Connection;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let mut connection = Connection::default();
    for line in bytes.split(|byte| *byte == b'\n').take(8) {
        let Ok(question) = serde_json::from_slice::<Value>(line) else { continue };
        let _ = connection.answer(&question).map(|answer| answer.to_string());
    }
    assert_eq!(bailiwick::yaml::internal::first(), None);
});
