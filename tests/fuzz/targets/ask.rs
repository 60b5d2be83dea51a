//! Lines of the `ask` protocol: every line gets an answer or an error, and none panics.

#![no_main]

use bailiwick::access::Builder;
use bailiwick::access::ask::Asker;
use bailiwick::k8s::catalogue::LAST_MINOR;
use bailiwick::{admission, crossplane, node};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let mut asker = Asker::new(Builder::new(LAST_MINOR).build(), false);
    for line in bytes.split(|byte| *byte == b'\n').take(8) {
        let Ok(question) = serde_json::from_slice::<Value>(line) else { continue };
        let alone = question.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next()).and_then(
            |(kind, body)| {
                admission::ask::answer(kind, body)
                    .or_else(|| crossplane::ask::answer(kind, body))
                    .or_else(|| node::ask::answer(kind, body))
            },
        );
        let _ = alone.unwrap_or_else(|| asker.answer(&question)).map(|answer| answer.to_string());
    }
});
