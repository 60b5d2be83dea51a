//! JSON: diagnostics as lines, and whole reports.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use super::Report;
use super::run::{FindingRecord, RunReport};
use crate::diag::{Diagnostic, Files, foreign};

/// Every published schema of a result, with its name: `diagnostic` is a line of `--diagnostics json`, `run` a report.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![("diagnostic", schema::<FindingRecord>("Diagnostic")), (RunReport::NAME, schema::<RunReport>("Run"))]
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), title.into());
    }
    schema
}

/// Returns a value as a line of JSON, without a character that a terminal or a log obeys.
pub fn line(value: &impl Serialize) -> String {
    format!("{}\n", foreign::json(&encoded(serde_json::to_string(value))))
}

/// Returns a value as indented JSON, without a character that a terminal or a log obeys.
pub fn pretty(value: &impl Serialize) -> String {
    encoded(serde_json::to_string_pretty(value)).lines().map(|line| format!("{}\n", foreign::json(line))).collect()
}

/// Returns the text, or the reason why there is none.
fn encoded(text: serde_json::Result<String>) -> String {
    match text {
        Ok(text) => text,
        Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
    }
}

/// Returns diagnostics as JSON, one object a line, all of them.
pub fn diagnostics(list: &[Diagnostic], files: &Files) -> String {
    list.iter().map(|diagnostic| line(&FindingRecord::new(diagnostic, files))).collect()
}

/// Returns a report as one JSON object.
pub fn text(report: &impl Report) -> String {
    pretty(report)
}
