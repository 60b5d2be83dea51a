//! Results beside the lines of a change: workflow commands of GitHub and GitLab Code Quality.

use bailiwick_review::{ChangeReview, EffectSeverity};
use bailiwick_yaml::diag::foreign;
use serde_json::{Value, json};

use super::ReviewFormOptions;
use super::results::{self, ReviewResult};
use super::view::ReviewView;
use super::words::number;
use crate::github::{MAXIMUM_ANNOTATIONS, command};

/// Returns the results of a review as code quality violations.
pub(super) fn gitlab(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let options = ReviewFormOptions { writes_absent: false, ..options.clone() };
    let view = ReviewView::new(review, &options);
    let diagnostics = review.diagnostics.iter().enumerate().map(|(index, record)| {
        let (path, line) = record.place.as_ref().map_or((crate::WORKSPACE_FILE, 1), |p| (&p.path, p.line));
        json!({
            "description": record.message,
            "check_name": record.code,
            "fingerprint": format!("{}:{path}:{line}:{index}", record.code),
            "severity": if record.is_error() { "blocker" } else { "info" },
            "location": { "path": path, "lines": { "begin": line } },
        })
    });
    let list = results::results(&view);
    let list: Vec<Value> = diagnostics.chain(list.iter().map(violation)).collect();
    crate::json::pretty(&list)
}

fn violation(result: &ReviewResult<'_>) -> Value {
    let severity = match result.severity {
        EffectSeverity::Critical => "blocker",
        EffectSeverity::High => "critical",
        EffectSeverity::Medium => "major",
        EffectSeverity::Low => "minor",
        EffectSeverity::Info | EffectSeverity::None => "info",
    };
    json!({
        "description": result.message,
        "check_name": result.code,
        "fingerprint": result.fingerprint,
        "severity": severity,
        "location": { "path": result.place.path, "lines": { "begin": result.place.line } },
    })
}

/// Returns the ten worst errors and warnings as workflow commands, and the number of the others.
pub(super) fn github(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let options = ReviewFormOptions { writes_absent: false, ..options.clone() };
    let view = ReviewView::new(review, &options);
    let list = results::results(&view);
    let of_diagnostics = review.diagnostics.iter().filter(|record| record.is_error()).map(|record| {
        let place = record.place.as_ref().map_or_else(String::new, |place| {
            format!("file={},line={},", foreign::command_property(&place.path), place.line)
        });
        command(&format!("error {place}title={}", foreign::command_property(&record.code)), &record.message)
    });
    let at_least = |low: EffectSeverity, high: EffectSeverity| {
        list.iter().filter(move |result| result.severity >= low && result.severity <= high)
    };
    let errors = at_least(EffectSeverity::High, EffectSeverity::Critical).map(|result| annotation("error", result));
    let errors: Vec<String> = of_diagnostics.chain(errors).collect();
    let warnings = at_least(EffectSeverity::Medium, EffectSeverity::Medium);
    let warnings: Vec<String> = warnings.map(|result| annotation("warning", result)).collect();
    let shown = errors.len().min(MAXIMUM_ANNOTATIONS) + warnings.len().min(MAXIMUM_ANNOTATIONS);
    let minor = list.iter().filter(|result| result.severity < EffectSeverity::Medium).count();
    let mut text: String = errors.iter().take(MAXIMUM_ANNOTATIONS).cloned().collect();
    text.extend(warnings.into_iter().take(MAXIMUM_ANNOTATIONS));
    let total = errors.len() + at_least(EffectSeverity::Medium, EffectSeverity::Medium).count() + minor;
    let more = match total - shown {
        0 => String::new(),
        more => format!("; and {}", number(more, "further result")),
    };
    text + &command("notice title=bailiwick review", &format!("{}{more}", review.line))
}

fn annotation(level: &str, result: &ReviewResult<'_>) -> String {
    let place = &result.place;
    let mut head = format!("{level} file={},line={}", foreign::command_property(&place.path), place.line);
    if let Some([column, end_line, end_column]) = place.range {
        head.push_str(&format!(",endLine={end_line},col={column},endColumn={end_column}"));
    }
    command(&format!("{head},title={}", foreign::command_property(&result.code)), &result.message)
}
