//! Differences between files of the record and files of today.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Files of the program for its own use: their readers are compared, not their bytes.
const OPAQUE: [&str; 2] = [".index", ".summary"];

/// Returns the form of a file in the record: of a SARIF log and a report for GitLab, the identities of the findings.
pub(super) fn comparable(path: &str, bytes: Vec<u8>) -> Vec<u8> {
    let findings = if path.ends_with(".sarif") {
        sarif(&serde_json::from_slice(&bytes).expect("a SARIF log"))
    } else if path.ends_with(".gitlab") {
        gitlab(&serde_json::from_slice(&bytes).expect("a report for GitLab"))
    } else {
        return bytes;
    };
    findings.iter().map(|finding| format!("{finding}\n")).collect::<String>().into_bytes()
}

fn sarif(log: &Value) -> Vec<String> {
    let results = log["runs"].as_array().into_iter().flatten().filter_map(|run| run["results"].as_array()).flatten();
    let mut findings: Vec<String> = results
        .map(|result| {
            let hash = &result["partialFingerprints"]["primaryLocationLineHash"];
            json!([result["ruleId"], result["level"], hash]).to_string()
        })
        .collect();
    findings.sort();
    findings
}

fn gitlab(report: &Value) -> Vec<String> {
    let issues = report.as_array().expect("a list");
    let mut findings: Vec<String> = issues
        .iter()
        .map(|issue| json!([issue["check_name"], issue["severity"], issue["fingerprint"]]).to_string())
        .collect();
    findings.sort();
    findings
}

/// Returns the differences of a file of the record: the file or the place in its JSON, and the difference.
pub(super) fn differences(path: &str, old: Option<&Vec<u8>>, new: Option<&Vec<u8>>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (Some(old), Some(new)) = (old, new) else {
        let text = if new.is_none() { "is no longer made" } else { "is new" };
        return BTreeMap::from([(path.to_owned(), text.to_owned())]);
    };
    if old == new || OPAQUE.iter().any(|end| path.ends_with(end)) {
        return found;
    }
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    match (json(old), json(new)) {
        (Some(old), Some(new)) if !path.starts_with("out/") => {
            if new["refused"].is_null() {
                compare(&format!("{path} "), &old, &new, &mut found);
            }
        }
        _ => {
            let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
            found.insert(path.to_owned(), bailiwick::emit::diff::unified(path, Some(&old), Some(&new)));
        }
    }
    found
}

/// Compares two values. A place has `*` in place of indexes, so that one line stands for equal changes of all entries.
fn compare(place: &str, old: &Value, new: &Value, found: &mut BTreeMap<String, String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let value = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(json!("(none)"));
                compare(&format!("{place}/{key}"), &value(old), &value(new), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (old, new) in old.iter().zip(new) {
                compare(&format!("{place}/*"), old, new, found);
            }
        }
        _ if old == new => {}
        _ => {
            found.entry(place.to_owned()).or_insert_with(|| format!("{old}\n    is now {new}"));
        }
    }
}

#[test]
fn differences_are_named_by_their_place() {
    let of = |old: Value, new: Value| {
        let bytes = |value: Value| value.to_string().into_bytes();
        let found = differences("lint.json", Some(&bytes(old)), Some(&bytes(new)));
        found.into_keys().collect::<Vec<_>>()
    };
    let old = json!({"status": 0, "stdout": [{"a": 1, "b": [1, 2]}, {"a": 1, "b": []}]});
    assert_eq!(of(old.clone(), old.clone()), Vec::<String>::new());
    let new = json!({"status": 1, "stdout": [{"a": 2, "b": [1]}, {"a": 3, "b": []}]});
    assert_eq!(of(old.clone(), new), ["lint.json /status", "lint.json /stdout/*/a", "lint.json /stdout/*/b"]);
    assert_eq!(of(old, json!({"status": 2, "refused": "0.1.0"})), Vec::<String>::new());
    assert_eq!(differences("out/a.yaml", Some(&vec![1]), None).len(), 1);
    assert_eq!(differences("out/a.yaml", Some(&b"a: 1\n".to_vec()), Some(&b"a: 2\n".to_vec())).len(), 1);
    assert_eq!(differences("made/a.index", Some(&vec![1]), Some(&vec![2])).len(), 0);
}
