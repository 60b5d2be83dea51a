//! Whole runs over hostile inputs: reviews of two states, imports of dumps, findings of manifests, and audit logs.

#![no_main]

use arbitrary::Unstructured;
use fuzzing::dump::dump;
use fuzzing::run::{folder, policy, program, write};
use fuzzing::schema::{any, text};
use fuzzing::workspace::WORKSPACE;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let _ = run(&mut input);
});

fn run(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let folder = folder();
    match input.int_in_range(0..=3)? {
        0 => {
            let (mut base, mut head) = (Vec::new(), Vec::new());
            for number in 0..input.int_in_range(1..=4)? {
                let before = policy(number, input)?;
                let after = if input.ratio(1_u8, 2)? { before.clone() } else { policy(number, input)? };
                base.push((format!("policies/p{number}.yaml"), before.to_string()));
                head.push((format!("policies/p{number}.yaml"), after.to_string()));
            }
            for (name, mut policies) in [("base", base), ("head", head)] {
                policies.push(("bailiwick.yaml".to_owned(), WORKSPACE.to_owned()));
                write(&folder.join(name), &policies);
            }
            program(&folder.join("head"), &["review", "--base-dir", "../base", "--report", "sarif=r", "--report", "html=h"]);
        }
        1 => {
            write(&folder, &[("dump/a.yaml".to_owned(), dump_or_text(input)?)]);
            program(&folder, &["import", "--from", "dump", "--into", "w", "--kubernetes-version", "1.34"]);
        }
        2 => {
            write(&folder, &[("dump/a.yaml".to_owned(), dump_or_text(input)?)]);
            program(&folder, &["lint", "--from", "dump"]);
            program(&folder, &["report", "--from", "dump", "--report", "html=h"]);
        }
        _ => {
            let mut log = String::new();
            for _ in 0..input.int_in_range(1..=6)? {
                let line = if input.ratio(1_u8, 8)? { text(input)? } else { event(input)?.to_string() };
                log.push_str(&line);
                log.push('\n');
            }
            write(&folder, &[("audit.log".to_owned(), log), ("dump/a.yaml".to_owned(), dump(input)?.to_string())]);
            program(&folder, &["import", "audit", "--audit", "audit.log", "--from", "dump"]);
            program(&folder, &["lint", "--from", "dump", "--audit", "audit.log"]);
        }
    }
    Ok(())
}

fn dump_or_text(input: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    if input.ratio(1_u8, 4)? {
        return Ok(String::from_utf8_lossy(input.bytes(input.len())?).into_owned());
    }
    Ok(dump(input)?.to_string())
}

/// Generates an event of an audit log.
fn event(input: &mut Unstructured<'_>) -> arbitrary::Result<Value> {
    let mut event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": text(input)?,
        "stage": *input.choose(&["ResponseComplete", "RequestReceived", "Panic"])?,
        "requestURI": text(input)?, "verb": text(input)?,
        "user": {"username": text(input)?, "groups": [text(input)?, "system:authenticated"]},
        "impersonatedUser": {"username": text(input)?},
        "objectRef": {"resource": text(input)?, "namespace": text(input)?, "name": text(input)?, "apiGroup": text(input)?,
                      "apiVersion": "v1", "subresource": text(input)?},
        "responseStatus": {"code": input.int_in_range(100..=599)?},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z", "stageTimestamp": text(input)?,
        "annotations": {"authorization.k8s.io/decision": *input.choose(&["allow", "forbid"])?, "authorization.k8s.io/reason": text(input)?},
    });
    if let (true, Value::Object(map)) = (input.ratio(1_u8, 2)?, &mut event) {
        let key = map.keys().nth(input.choose_index(map.len())?).cloned().unwrap_or_default();
        if input.ratio(1_u8, 2)? { map.remove(&key); } else { map.insert(key, any(0, input)?); }
    }
    Ok(event)
}
