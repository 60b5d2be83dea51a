//! Odd texts as kubectl reads them, computed by `tests/conformance/cmd/readings`: the reader returns the same data or
//! refuses the text.

use serde_json::Value as Json;

use super::reading;

const READINGS: &str = include_str!("kubectl-readings.jsonl");

#[test]
fn a_text_means_what_it_means_to_kubectl_or_is_refused() {
    let (mut same, mut refused, mut differences) = (0, 0, Vec::new());
    for line in READINGS.lines() {
        let row: Json = serde_json::from_str(line).expect("a line of JSON");
        let text = row["text"].as_str().expect("a text");
        let ours = reading(text);
        if !ours.problems.is_empty() {
            refused += 1;
            continue;
        }
        // A text that kubectl refuses grants nothing and reaches no cluster.
        if row["refused"].as_bool() == Some(true) {
            continue;
        }
        let theirs = row["documents"].as_array().cloned().unwrap_or_default();
        if equal(&Json::Array(ours.documents.clone()), &Json::Array(theirs)) {
            same += 1;
        } else {
            differences.push((text.to_owned(), ours.documents));
        }
    }
    println!("{same} texts read the same, {refused} refused");
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(same > 400, "{same}");
}

/// Forms that YAML 1.2 forbids, or that are no YAML, and that other tools write: none of them is refused.
#[test]
fn forms_of_other_tools_are_read() {
    let texts = [
        "cost-center: ?*\n",
        "- ?x\n- ? z\n",
        "?x: 1\n",
        "{\"a\": 1}{\"b\": 2}",
        "{\"a\": 1} {\"b\": [1,\n2]}\n\n{\"c\": \"}{\"}\n",
        "a: \"x\ny\"\n",
        "a: 'x\ny'\nb: 1\n",
        "a:\n  b: 'x\n\n  y'\n  c: 1\n",
        "a:\n  - b: 'x\n  y'\n",
        "a:\n  b: \"x\\\n  y\"\n",
    ];
    for text in texts {
        let ours = reading(text);
        assert!(ours.problems.is_empty(), "{text:?}: {:?}", ours.problems);
        let line = serde_json::to_string(text).expect("a text");
        assert!(READINGS.contains(&format!("{{\"text\":{line},")), "{text:?}");
    }
}

/// Returns whether two values are equal as JSON, where `1000` and `1e3` are one number.
fn equal(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && std::iter::zip(left, right).all(|(left, right)| equal(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}
