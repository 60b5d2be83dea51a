//! Tables of questions about access, with the answers recorded for them, put to any evaluator through one trait.
//!
//! Questions and answers have the shapes of the ask protocol. The files `access/*.yaml` hold values computed by the
//! real Kubernetes code, or written from its sources; they are not ours to change. A table is a function from a file
//! to questions; adding rows to a file needs no code.

mod agreement;
mod causes;
mod library;
mod paths;
mod prose;
mod recorded;
mod request_filter;
pub(crate) mod risk;
mod semantics;
mod tenants;
mod validity;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::oracle::Naive;
use crate::support::{note, shared};

/// Anything that answers questions about a set of objects.
pub(crate) trait Evaluator {
    /// Replaces the objects; a version selects its default policy as the baseline.
    fn world(&mut self, objects: &[Value], baseline: Option<&str>);

    /// Answers one question.
    fn ask(&self, question: &Value) -> Value;
}

/// Puts the rows of one table to an evaluator.
pub(crate) type Table = fn(&mut dyn Evaluator, &mut Tally);

/// Every table, with the number of questions there are at least: a row that gets lost is a failure.
pub(crate) const TABLES: &[(&str, Table, usize)] = &[
    ("eval-cases.yaml", recorded::eval, 287),
    ("default policy", recorded::default_policy, 3),
    ("random-cases.yaml", recorded::random, 1680),
    ("covers-cases.yaml", recorded::covers, 35),
    ("reconcile-cases.yaml", recorded::reconcile, 21),
    ("semantics.yaml: authorize", semantics::authorize, 83),
    ("semantics.yaml: request", semantics::request, 18),
    ("semantics.yaml: aggregate", semantics::aggregate, 6),
    ("semantics.yaml: escalation", prose::escalation, 23),
    ("semantics.yaml: impersonation", prose::impersonation, 23),
    ("semantics.yaml: diff", prose::diff, 16),
    ("toolforge-cases.yaml", tenants::toolforge, 83),
    ("crossplane-cases.yaml", tenants::crossplane, 116),
];

/// The results of the questions of a table.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    asked: usize,
    /// Questions left out because what they build on is not in this repository.
    skipped: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Counts a question, and remembers it when the answer is another.
    pub(crate) fn expect(&mut self, row: &str, found: &Value, expected: &Value) {
        self.asked += 1;
        if found != expected {
            self.differences.push(format!("{row}:\n    found    {found}\n    expected {expected}"));
        }
    }

    /// Counts questions that cannot be asked here.
    pub(crate) fn skip(&mut self, questions: usize, why: &str) {
        note(why);
        self.skipped += questions;
    }
}

/// Fails with every row that an evaluator answers otherwise.
pub(crate) fn assert_tables(evaluator: &mut dyn Evaluator) {
    let mut differences = Vec::new();
    for (name, table, questions) in TABLES {
        let mut tally = Tally::default();
        table(evaluator, &mut tally);
        if tally.asked + tally.skipped < *questions {
            differences
                .push(format!("{name} has {} questions, and no longer {questions}", tally.asked + tally.skipped));
        }
        differences.extend(tally.differences.iter().map(|difference| format!("{name} {difference}")));
    }
    assert!(differences.is_empty(), "{} rows differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn the_naive_evaluator_gives_every_recorded_answer() {
    assert_tables(&mut Naive::default());
}

/// Returns the default policy of a version as it was recorded, where the shared folder is there.
pub(crate) fn recorded_policy(version: &str) -> Option<Vec<Value>> {
    static READ: Mutex<BTreeMap<String, Vec<Value>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(objects) = read.get(version) {
        return Some(objects.clone());
    }
    let objects = read_policy(version)?;
    read.insert(version.to_owned(), objects.clone());
    Some(objects)
}

fn read_policy(version: &str) -> Option<Vec<Value>> {
    let folder = shared()?.join("facts/kubernetes/bootstrap").join(version);
    let mut objects = Vec::new();
    for kind in ["clusterroles", "clusterrolebindings", "roles", "rolebindings"] {
        objects.extend(documents(&std::fs::read_to_string(folder.join(kind).with_extension("yaml")).ok()?));
    }
    Some(objects)
}

/// Whether an evaluator has the default policy of a version.
fn has_policy(evaluator: &dyn Evaluator, version: &str) -> bool {
    evaluator.ask(&json!({"default-policy": version})).get("error").is_none()
}

/// Reads a table.
fn table(text: &str) -> Value {
    serde_yaml::from_str(text).expect("the table is YAML")
}

/// Returns the documents of a text.
fn documents(text: &str) -> Vec<Value> {
    let all = serde_yaml::Deserializer::from_str(text);
    all.map(|document| Value::deserialize(document).expect("a manifest")).filter(|value| !value.is_null()).collect()
}

/// Returns the rows at a key of a table.
fn rows<'v>(table: &'v Value, key: &str) -> &'v [Value] {
    table.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("no list `{key}`"))
}

/// Returns the string at a key, or nothing.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the present keys of a row.
fn only(row: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), row.get(*key)?.clone()))).collect()
}

/// Returns the keys of an answer that an expectation speaks about.
fn answered(answer: &Value, keys: &[&str]) -> Value {
    if answer.get("error").is_some() { answer.clone() } else { Value::Object(only(answer, keys)) }
}
