//! The results of a run as one value, of which every machine-readable format is a view.

use bailiwick_compiler::emit::plan::Counts;
use bailiwick_workspace::fingerprint::numbered;
use bailiwick_workspace::{FindingRecord, SourceRange};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::block::ReportBlock;
use super::github::Annotation;
use super::result::{CommandResult, Versioned};
use super::{Report, json};

/// The version of [`RunReport`] in JSON. A new field does not change it; a field that goes or changes its meaning does.
pub const VERSION: u32 = 1;

/// The results of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// The version of this form.
    pub version: u32,
    /// The command, such as `check`.
    pub command: String,
    /// The exit code: 0 success; 1 the answer is no; 2 wrong usage or invalid input; 3 the run failed.
    pub exit_code: u8,
    /// The diagnostics of the run, in the order in which they were printed.
    pub findings: Vec<FindingRecord>,
    /// Findings that `lint --base` compared and did not print: known ones without `--all`, and fixed ones. Absent without such findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_findings: Vec<FindingRecord>,
    /// The results of the AccessTests, by target and name. Empty if the run asked none.
    pub tests: Vec<TestResult>,
    /// The differences between compiled and committed output, by target. Empty if the run compared nothing.
    pub changes: Vec<TargetChange>,
    /// Sentences about changes that the differences of the files do not show: targets that come and go, and inputs that decide
    /// access and are not written. Absent without such a change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_changes: Vec<String>,
    /// The results of a command with a schema of its own, each as `--format json` prints it; absent for other commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Value>,
    /// The results for people.
    #[serde(skip)]
    pub texts: Vec<String>,
    /// The folder of the workspace as reports write paths; empty for the folder from which paths begin.
    #[serde(skip)]
    pub workspace: String,
}

/// The result of an AccessTest on a target.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TestResult {
    /// The name of the target.
    pub target: String,
    /// The name of the AccessTest.
    pub test: String,
    /// The number of questions that the test asked.
    pub questions: usize,
    /// The number of questions with another answer than the expected one.
    pub failed: usize,
    /// The first failures, one line each.
    pub failures: Vec<String>,
    /// The places of the expectations behind `failures`, in the same order.
    #[serde(skip)]
    pub places: Vec<SourceRange>,
}

impl TestResult {
    /// Returns the failures as annotations of a forge.
    pub fn annotations(&self) -> impl Iterator<Item = Annotation> {
        let places = self.places.iter().map(Some).chain(std::iter::repeat(None));
        self.failures.iter().zip(places).map(|(failure, place)| Annotation::of_failure(failure, place))
    }
}

/// The number of objects of a target by their difference from the committed output.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TargetChange {
    /// The name of the target.
    pub target: String,
    /// The number of new objects.
    pub created: usize,
    /// The number of objects that differ.
    pub changed: usize,
    /// The number of objects that are no longer compiled.
    pub deleted: usize,
    /// The number of equal objects.
    pub unchanged: usize,
}

impl RunReport {
    /// Returns the report of a run that has no results yet.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            version: VERSION,
            command: command.into(),
            exit_code: 0,
            findings: Vec::new(),
            other_findings: Vec::new(),
            tests: Vec::new(),
            changes: Vec::new(),
            further_changes: Vec::new(),
            results: Vec::new(),
            texts: Vec::new(),
            workspace: String::new(),
        }
    }
}

impl RunReport {
    /// Adds results of the command, with their text for people.
    pub fn add_results<R: CommandResult>(&mut self, results: &[R], text: String) {
        self.results.extend(results.iter().map(|result| json::value(&Versioned::new(result))));
        self.texts.push(text);
    }
}

impl Report for RunReport {
    const NAME: &'static str = "run";

    fn command(&self) -> &str {
        &self.command
    }

    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }

    fn changes(&self) -> &[TargetChange] {
        &self.changes
    }

    fn findings(&self) -> &[FindingRecord] {
        &self.findings
    }

    fn tests(&self) -> &[TestResult] {
        &self.tests
    }

    fn blocks(&self) -> Vec<ReportBlock> {
        let mut blocks = vec![ReportBlock::Heading(format!("bailiwick {}: {}", self.command, self.verdict()))];
        if !self.changes.is_empty() {
            let row = |change: &TargetChange| {
                let counts = [change.created, change.changed, change.deleted, change.unchanged];
                let counts = counts.iter().map(usize::to_string);
                std::iter::once(change.target.clone()).chain(counts).collect()
            };
            blocks.push(ReportBlock::Table {
                columns: ["Target", "Created", "Changed", "Deleted", "Unchanged"].map(str::to_owned).to_vec(),
                rows: self.changes.iter().map(row).collect(),
            });
        }
        blocks.push(ReportBlock::List(self.further_changes.clone()));
        if !self.tests.is_empty() {
            let questions: usize = self.tests.iter().map(|test| test.questions).sum();
            let failed: usize = self.tests.iter().map(|test| test.failed).sum();
            blocks.push(ReportBlock::Paragraph(format!("AccessTests: {questions} questions asked, {failed} failed")));
            blocks.push(ReportBlock::List(self.tests.iter().flat_map(|test| test.failures.clone()).collect()));
        }
        blocks.push(ReportBlock::Verbatim(self.texts.concat()));
        blocks.push(ReportBlock::List(self.findings.iter().map(FindingRecord::line).collect()));
        blocks
    }
}

impl TargetChange {
    /// Returns the counts of a target.
    pub fn new(target: impl Into<String>, counts: Counts) -> Self {
        let Counts { created, changed, deleted, unchanged } = counts;
        Self { target: target.into(), created, changed, deleted, unchanged }
    }

    /// Returns the counts as one line.
    pub fn line(&self) -> String {
        let Self { created, changed, deleted, unchanged, .. } = self;
        format!("{created} created, {changed} changed, {deleted} deleted, {unchanged} unchanged")
    }
}

/// Returns the fingerprints of findings, numbered so that no two have the same identity.
pub(super) fn fingerprints(findings: &[FindingRecord]) -> Vec<String> {
    numbered(findings.iter().map(FindingRecord::fingerprint))
}
