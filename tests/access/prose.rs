//! The sections of `semantics.yaml` that are prose, as objects and questions: `prose.yaml` has an entry for each row.

use serde_json::{Map, Value, json};

use super::semantics::{long_objects, long_rules, vectors};
use super::{Evaluator, Tally, answered, only, rows, table, text};
use crate::oracle::tidy_rules;

/// Returns the rows of a section, each with its entry in `prose.yaml`.
fn entries(section: &str) -> Vec<(Value, Value)> {
    let prose = table(include_str!("prose.yaml"));
    let entries = rows(&prose, section);
    let vectors = vectors();
    let all = rows(&vectors, section);
    let ids = |rows: &[Value]| rows.iter().map(|row| text(row, "id").to_owned()).collect::<Vec<_>>();
    assert_eq!(ids(all), ids(entries), "{section}");
    all.iter().cloned().zip(entries.iter().cloned()).collect()
}

/// Compares the errors of an actor that writes an object.
pub(crate) fn escalation(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    for (row, entry) in entries("escalation") {
        evaluator.world(&long_objects(rows(&entry, "objects")), None);
        let questions = rows(&entry, "questions");
        assert_eq!(questions[0]["allow"], row["allow"], "{row}");
        for question in questions {
            let long = |key: &str| question.get(key).map(|object| long_objects(std::slice::from_ref(object)).remove(0));
            let mut write = only(question, &["groups", "verb"]);
            write.insert("user".to_owned(), question["as"].clone());
            write.insert("object".to_owned(), json!(long("write")));
            write.extend(long("old").map(|old| ("old".to_owned(), old)));
            let answer = evaluator.ask(&json!({"write": write}));
            let expected = json!({
                "verbAllowed": question.get("verbAllowed").is_none_or(|allowed| allowed == true),
                "escalation": question["escalation"],
                "allowed": question["allow"],
            });
            let found = answered(&answer, &["verbAllowed", "escalation", "allowed"]);
            tally.expect(&format!("{} {question}", text(&row, "id")), &found, &expected);
        }
    }
}

/// Compares the answers about impersonation.
pub(crate) fn impersonation(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    for (row, entry) in entries("impersonation") {
        for (stated, asked) in [("may", "may"), ("may_not", "mayNot")] {
            assert!(row.get(stated).is_none() || entry.get(asked).is_some(), "{row}");
        }
        evaluator.world(&long_objects(rows(&entry, "objects")), None);
        for (key, allowed) in [("may", true), ("mayNot", false)] {
            for question in entry.get(key).and_then(Value::as_array).into_iter().flatten() {
                let mut asked: Map<String, Value> = question.as_object().expect("a question").clone();
                asked.retain(|key, _| !matches!(key.as_str(), "mode" | "groups"));
                asked.entry("user").or_insert_with(|| json!("u"));
                let answer = evaluator.ask(&json!({"impersonate": asked}));
                let mut expected = json!({"allowed": allowed, "mode": question.get("mode")});
                let groups = question.get("groups").or_else(|| row.get("groups_of_result"));
                if let Some(groups) = groups.filter(|_| allowed) {
                    expected["groups"] = groups.clone();
                }
                let keys: Vec<&str> = expected.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                let row = format!("{} {question}", text(&row, "id"));
                tally.expect(&row, &answered(&answer, &keys), &expected);
            }
        }
    }
}

/// Compares the meaning of a change.
pub(crate) fn diff(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    evaluator.world(&[], None);
    for (row, entry) in entries("diff") {
        let stated = text(&row, "semantic");
        let none = stated == "none" || stated.starts_with("no effective change");
        assert_eq!(none, entry["changes"] == json!([]), "{row}");
        change(evaluator, &entry, tally);
    }
    for entry in rows(&table(include_str!("prose.yaml")), "own-diff") {
        change(evaluator, entry, tally);
    }
}

fn change(evaluator: &dyn Evaluator, entry: &Value, tally: &mut Tally) {
    let side = |key: &str| long_objects(rows(entry, key));
    let answer = evaluator.ask(&json!({"compare": {"old": side("old"), "new": side("new")}}));
    // The order of single grants means nothing.
    let sorted = |changes: &Value| {
        let mut changes = changes.clone();
        for change in changes.as_array_mut().into_iter().flatten() {
            for key in ["gained", "lost"] {
                let mut grants = tidy_rules(&long_rules(&change[key]));
                grants.sort_by_key(Value::to_string);
                change[key] = json!(grants);
            }
        }
        changes
    };
    let found = json!({"changes": sorted(&answer["changes"]), "none": answer["none"]});
    let none = entry["changes"] == json!([]);
    tally.expect(text(entry, "id"), &found, &json!({"changes": sorted(&entry["changes"]), "none": none}));
}
