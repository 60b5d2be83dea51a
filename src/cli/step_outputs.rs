//! The outputs of a step of a GitHub workflow: lines of a file that the runner makes.

use std::path::{Path, PathBuf};

use super::Global;
use crate::diag::RunError;
use crate::emit::writer;
use crate::report::RunReport;

/// Returns the file for the outputs of the step; none outside a step.
pub(super) fn file(global: &Global) -> Option<PathBuf> {
    global.variable("GITHUB_OUTPUT").map(PathBuf::from).filter(|path| path.is_file())
}

/// Returns the file for the summary of the step; none outside a step.
pub(super) fn summary_file(global: &Global) -> Option<PathBuf> {
    global.variable("GITHUB_STEP_SUMMARY").map(PathBuf::from)
}

/// Appends outputs to the file of the step, if there is one. A value has no line feed.
pub(super) fn append(global: &Global, outputs: &[(&str, String)]) -> Result<(), RunError> {
    let Some(path) = file(global) else { return Ok(()) };
    let lines: Vec<String> = outputs.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    append_text(&path, &lines.concat())
}

/// Appends a text to a file that the CI made.
pub(super) fn append_text(path: &Path, text: &str) -> Result<(), RunError> {
    writer::append(path, text).map_err(|error| RunError::io("write", path, &error))
}

/// Whether a command judges a change, and so has outputs.
pub(super) fn are_of(command: &str) -> bool {
    matches!(command, "check" | "lint")
}

/// Appends the counts of a run: the objects that differ from the committed output, for `check`, and the findings.
pub(super) fn append_counts(global: &Global, report: &RunReport) -> Result<(), RunError> {
    let differing = report.changes.iter().map(|target| target.created + target.changed + target.deleted);
    let drift = (report.command == "check").then(|| ("drift", differing.sum::<usize>().to_string()));
    let outputs: Vec<_> = drift.into_iter().chain([("findings", report.findings.len().to_string())]).collect();
    append(global, &outputs)
}
