//! Two evaluators on the same random worlds; where they differ, the smallest case that still shows it.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::aggregate::has_ring;
use super::questions::question;
use super::read::{items, pruned, tidy_rule};
use super::worlds::{Dice, world};
use crate::access::Evaluator;

/// How many questions are asked about each world.
const QUESTIONS: usize = 40;

/// Puts the same questions to both; yields how many, or the first difference as YAML, made small.
pub(crate) fn duel(one: &mut dyn Evaluator, other: &mut dyn Evaluator, seeds: Range<u64>) -> Result<usize, String> {
    let mut asked = 0;
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let objects = world(&mut dice);
        let ring = has_ring(&objects);
        one.world(&objects, None);
        other.world(&objects, None);
        for _ in 0..QUESTIONS {
            let question = question(&mut dice, &objects);
            asked += 1;
            if !agree(ring, &question, &one.ask(&question), &other.ask(&question)) {
                let difference = smallest(one, other, &objects, &question);
                return Err(format!("# seed {seed}\n{difference}"));
            }
        }
    }
    Ok(asked)
}

/// Returns the smallest case found that still differs, with both answers, as YAML.
fn smallest(one: &mut dyn Evaluator, other: &mut dyn Evaluator, objects: &[Value], question: &Value) -> String {
    let mut answers = |case: &Value| {
        let objects = items(case, "objects");
        one.world(objects, None);
        other.world(objects, None);
        [one.ask(&case["question"]), other.ask(&case["question"])]
    };
    let mut differs = |case: &Value| {
        let [ours, theirs] = answers(case);
        !agree(has_ring(items(case, "objects")), &case["question"], &ours, &theirs)
    };
    let mut case = shrunk(json!({"objects": objects, "question": question}), &mut differs);
    let [ours, theirs] = answers(&case);
    case["one"] = ours;
    case["other"] = theirs;
    serde_yaml::to_string(&case).expect("JSON is YAML")
}

/// Whether two answers are the same, down to the rules that allow, when both name them.
fn agree(ring: bool, question: &Value, one: &Value, other: &Value) -> bool {
    let because = !ring && one.get("because").is_some() && other.get("because").is_some();
    essence(ring, question, one) == essence(ring, question, other) && (!because || one["because"] == other["because"])
}

/// Returns the parts of an answer that both evaluators must share. Remarks beyond the protocol can differ, and an order
/// that decides nothing.
fn essence(ring: bool, question: &Value, answer: &Value) -> Value {
    if answer.get("error").is_some() {
        return json!("error");
    }
    let kind = question.as_object().and_then(|question| question.keys().next()).map_or("", String::as_str);
    let keys: &[&str] = match kind {
        "can-i" => &["allowed", "by", "missing", "attributes"],
        "rules" => &["rules", "missing"],
        "who-can" => &["subjects", "missing"],
        "covers" => &["covers", "uncovered"],
        "aggregate" => &["roles"],
        "write" => &["verbAllowed", "escalation", "allowed", "uncovered"],
        "reconcile" => &["operation", "protected", "missing", "extra", "result"],
        "impersonate" => &["allowed", "mode", "groups", "checks"],
        "compare" => &["changes", "none"],
        _ => &["allowed"],
    };
    let unordered = matches!(kind, "rules" | "compare") || ring;
    let members = keys.iter().map(|key| ((*key).to_owned(), tidied(&answer[*key], unordered)));
    pruned(&Value::Object(members.collect::<Map<_, _>>()))
}

/// Returns an answer in one form: rules without empty lists, and sorted where their order means nothing.
fn tidied(value: &Value, unordered: bool) -> Value {
    match value {
        Value::Object(map) if map.contains_key("verbs") => tidy_rule(value),
        Value::Object(map) => {
            // Attributes that do not apply may be empty or left out.
            let members = map.iter().filter(|(_, value)| **value != "");
            members.map(|(key, value)| (key.clone(), tidied(value, unordered))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(|value| tidied(value, unordered)).collect();
            if unordered && list.iter().any(|item| item.get("verbs").is_some()) {
                list.sort_by_key(Value::to_string);
                list.dedup();
            }
            Value::Array(list)
        }
        plain => plain.clone(),
    }
}

/// Takes away whatever is not needed for the difference: first objects, then what is in them and in the question.
pub(crate) fn shrunk(mut case: Value, differs: &mut dyn FnMut(&Value) -> bool) -> Value {
    loop {
        let mut paths = Vec::new();
        removable(&case, &mut Vec::new(), &mut paths);
        // The last first, so that the places of the others stay the same; the outermost before what is inside it.
        paths.sort_by_key(|path| (path.len(), std::cmp::Reverse(path.clone())));
        let smaller = paths.iter().find_map(|path| {
            let smaller = without(&case, path);
            differs(&smaller).then_some(smaller)
        });
        match smaller {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

/// Fields that an object or a question needs.
const NEEDED: &[&str] = &[
    "objects", "question", "kind", "metadata", "roleRef", "name", "user", "verb", "verbs", "object", "expected", "old",
    "new",
];

/// Adds the places of every removable part.
fn removable(value: &Value, here: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let members: Vec<(String, &Value, bool)> = match value {
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, item)| (format!("{index:06}"), item, true)).collect()
        }
        // A question has one key, its type.
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| {
                let inside = here.last().map_or("", String::as_str);
                let placed = inside == "metadata" && key == "namespace";
                (key.clone(), item, !placed && inside != "question" && !NEEDED.contains(&key.as_str()))
            })
            .collect(),
        _ => return,
    };
    for (step, item, may_go) in members {
        here.push(step);
        if may_go {
            paths.push(here.clone());
        }
        removable(item, here, paths);
        here.pop();
    }
}

/// Returns the value without what is at a place.
fn without(value: &Value, path: &[String]) -> Value {
    let mut smaller = value.clone();
    let mut place = &mut smaller;
    let (last, way) = path.split_last().expect("a place");
    for step in way {
        place = match place {
            Value::Array(list) => &mut list[step.parse::<usize>().expect("an index")],
            other => &mut other[step.as_str()],
        };
    }
    match place {
        Value::Array(list) => _ = list.remove(last.parse::<usize>().expect("an index")),
        Value::Object(map) => _ = map.shift_remove(last),
        _ => {}
    }
    smaller
}
