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
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::oracle::Naive;

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
    ("toolforge-cases.yaml", tenants::toolforge, 82),
    ("crossplane-cases.yaml", tenants::crossplane, 116),
];

/// The results of the questions of a table.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    asked: usize,
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
}

/// Fails with every row that an evaluator answers otherwise.
pub(crate) fn assert_tables(evaluator: &mut dyn Evaluator) {
    let mut differences = Vec::new();
    for (name, table, questions) in TABLES {
        let mut tally = Tally::default();
        table(evaluator, &mut tally);
        if tally.asked < *questions {
            differences.push(format!("{name} has {} questions, and no longer {questions}", tally.asked));
        }
        differences.extend(tally.differences.iter().map(|difference| format!("{name} {difference}")));
    }
    assert!(differences.is_empty(), "{} rows differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn the_naive_evaluator_gives_every_recorded_answer() {
    assert_tables(&mut Naive::default());
}

/// Returns the default policy of a minor such as `1.36` by the table of facts, which `cargo xtask facts --check` compares with the
/// releases; none for a minor that the table does not have.
pub(crate) fn recorded_policy(version: &str) -> Option<Vec<Value>> {
    static READ: OnceLock<BTreeMap<u32, Vec<Value>>> = OnceLock::new();
    let minor = version.strip_prefix("1.")?.parse().ok()?;
    READ.get_or_init(policies_by_minor).get(&minor).cloned()
}

fn policies_by_minor() -> BTreeMap<u32, Vec<Value>> {
    let mut policies: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for mut object in documents(include_str!("../crates/bailiwick-kubernetes/src/facts/default-policy.yaml")) {
        let minors = object.as_object_mut().and_then(|object| object.shift_remove("minors")).expect("minors");
        for stretch in minors.as_str().expect("stretches such as `16-20 22-36`").split(' ') {
            let (first, last) = stretch.split_once('-').expect("two minors");
            for minor in first.parse().expect("a minor")..=last.parse().expect("a minor") {
                policies.entry(minor).or_default().push(object.clone());
            }
        }
    }
    policies
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
