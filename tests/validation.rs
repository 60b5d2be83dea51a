//! The recorded verdicts of Kubernetes: string grammars, objects, what is served.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a table of another form is a failure of the test")]

mod grammar;
mod objects;
mod served;

use serde_yaml::Value;

/// Reads one of the tables beside this file.
fn table(text: &str) -> Value {
    serde_yaml::from_str(text).expect("the table is YAML")
}

/// Returns the string at a key of a row.
fn string<'v>(row: &'v Value, key: &str) -> &'v str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Fails with every line, if there is one.
fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} rows differ:\n{}", failures.len(), failures.join("\n"));
}
