//! The report of GitLab Code Quality (<https://docs.gitlab.com/ci/testing/code_quality/>).

use bailiwick_workspace::FindingRecord;
use serde_json::{Value, json};

use super::run::fingerprints;
use super::{Report, workspace_file};

/// Returns the findings of a report as a list of code quality violations.
pub fn text(report: &impl Report) -> String {
    let (findings, workspace) = (report.findings(), workspace_file(report));
    let list: Vec<Value> = findings
        .iter()
        .zip(fingerprints(findings))
        .map(|(finding, fingerprint)| {
            let (path, line) = finding.place.as_ref().map_or((&workspace, 1), |place| (&place.path, place.line));
            json!({
                "description": finding.message,
                "check_name": finding.code,
                "fingerprint": fingerprint,
                "severity": severity(finding),
                "location": { "path": path, "lines": { "begin": line } },
            })
        })
        .collect();
    super::json::pretty(&list)
}

fn severity(finding: &FindingRecord) -> &'static str {
    match finding.level() {
        "critical" => "blocker",
        "high" | "error" => "critical",
        "medium" => "major",
        "low" | "warning" => "minor",
        _ => "info",
    }
}
