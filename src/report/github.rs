//! Workflow commands of GitHub Actions, which GitHub shows beside the lines of a pull request.

use super::Report;
use super::human::{MAXIMUM_SHOWN, grouped};
use crate::app::FindingRecord;
use crate::diag::{Diagnostic, Files, foreign};

/// Returns a report as workflow commands: the failures of AccessTests, the findings, and the verdict of a run that fails.
pub fn text(report: &impl Report) -> String {
    let mut text = String::new();
    for failure in report.tests().iter().flat_map(|test| &test.failures) {
        text.push_str(&command("error title=AccessTest", failure));
    }
    text.push_str(&commands(report.findings()));
    if report.exit_code() != 0 && !report.findings().iter().any(FindingRecord::is_error) {
        let title = foreign::command_property(report.command());
        text.push_str(&command(&format!("error title=bailiwick {title}"), report.verdict()));
    }
    text
}

/// Returns diagnostics as workflow commands: the first 200, errors before warnings.
pub fn diagnostics(list: &[Diagnostic], files: &Files) -> String {
    let findings: Vec<FindingRecord> = list.iter().map(|diagnostic| FindingRecord::new(diagnostic, files)).collect();
    commands(&findings)
}

fn commands(findings: &[FindingRecord]) -> String {
    let mut shown: Vec<&FindingRecord> = findings.iter().collect();
    let more = findings.len().saturating_sub(MAXIMUM_SHOWN);
    if more > 0 {
        shown.sort_by_key(|finding| !finding.is_error());
        shown.truncate(MAXIMUM_SHOWN);
    }
    let mut text: String = shown.into_iter().map(finding_command).collect();
    if more > 0 {
        text.push_str(&command("notice", &format!("and {} more", grouped(more))));
    }
    text
}

fn finding_command(finding: &FindingRecord) -> String {
    let level = match finding.level() {
        _ if finding.is_error() => "error",
        "note" => "notice",
        _ => "warning",
    };
    let mut message = finding.message.clone();
    for help in &finding.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let place = finding.place.as_ref().map_or_else(String::new, |place| {
        format!(
            "file={},line={},endLine={},col={},endColumn={},",
            foreign::command_property(&place.path),
            place.line,
            place.end_line,
            place.column,
            place.end_column
        )
    });
    command(&format!("{level} {place}title={}", foreign::command_property(&finding.code)), &message)
}

/// Returns a command with its line feed.
pub(super) fn command(head: &str, message: &str) -> String {
    format!("::{head}::{}\n", foreign::command_data(message))
}
