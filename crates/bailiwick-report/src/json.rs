//! JSON: diagnostics as lines, and whole reports.

use bailiwick_adopt::{PodVerification, ShardMigration};
use bailiwick_analysis::access_map::AccessMap;
use bailiwick_analysis::{Drift, TargetDifferences};
use bailiwick_review::ChangeReview;
use bailiwick_workspace::FindingRecord;
use bailiwick_yaml::diag::{Diagnostic, Files, foreign};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use super::Report;
use super::access::{CanIResult, WhoCanResult};
use super::audit::{LeastGrantsResult, LintAuditResult};
use super::explain::ExplainResult;
use super::import::ImportResult;
use super::index::IndexResult;
use super::migration::{KubeletMigrationResult, PspMigrationResult};
use super::nodes::NodeReachResult;
use super::objects::RenderedObject;
use super::result::{CommandResult, Versioned};
use super::run::RunReport;
use super::table::TableResult;
use super::tests::TestFailure;

/// Returns every published schema of a result, with its name: `diagnostic` is a line of `--diagnostics json`, `run` a report, and each
/// further name a command with results of its own.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("diagnostic", schema::<FindingRecord>("Diagnostic")),
        (RunReport::NAME, schema::<RunReport>("Run")),
        result_schema::<CanIResult>("Answer of can-i"),
        result_schema::<TargetDifferences>("Differences of a target"),
        result_schema::<ExplainResult>("Result of explain"),
        result_schema::<IndexResult>("Result of index"),
        result_schema::<ImportResult>("Result of import"),
        result_schema::<LeastGrantsResult>("Result of import audit"),
        result_schema::<LintAuditResult>("Audit logs of lint"),
        result_schema::<KubeletMigrationResult>("Result of migrate kubelets"),
        result_schema::<Drift>("Result of drift"),
        result_schema::<ShardMigration>("Result of migrate shards"),
        result_schema::<PodVerification>("Result of migrate verify"),
        result_schema::<NodeReachResult>("Result of node-reach"),
        result_schema::<PspMigrationResult>("Result of migrate psp"),
        result_schema::<RenderedObject>("Object of render --stdout"),
        ("report", schema::<AccessMap>("Map of access")),
        ("review", schema::<ChangeReview>("Review of a change")),
        result_schema::<TableResult>("Table of a role"),
        result_schema::<TestFailure>("Failure of an AccessTest"),
        result_schema::<WhoCanResult>("Answer of who-can"),
    ]
}

fn result_schema<R: CommandResult>(title: &str) -> (&'static str, Value) {
    (R::NAME, schema::<Versioned<R>>(title))
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

/// Returns a value as JSON, or the reason why there is none.
pub fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }))
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
