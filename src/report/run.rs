//! The results of a run as one value, of which every machine-readable format is a view.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::block::ReportBlock;
use super::result::{CommandResult, Versioned};
use super::{Report, json};
use crate::diag::{Diagnostic, Files, Label, Origin, Risk, Severity};
use crate::emit::plan::Counts;

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
    /// The results of the AccessTests, by target and name. Empty if the run asked none.
    pub tests: Vec<TestResult>,
    /// The differences between compiled and committed output, by target. Empty if the run compared nothing.
    pub changes: Vec<TargetChange>,
    /// The results of a command with a schema of its own, each as `--format json` prints it; absent for other commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Value>,
    /// The results for people.
    #[serde(skip)]
    pub texts: Vec<String>,
}

/// A diagnostic.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingRecord {
    /// The name of the diagnostic, such as `read-secrets`.
    pub code: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The message, one line.
    pub message: String,
    /// The place in a file; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceRange>,
    /// Further places, such as the rules of roles behind a finding.
    pub related: Vec<RelatedRange>,
    /// Facts that explain, such as the bindings and rules behind a finding.
    pub notes: Vec<String>,
    /// Remedies.
    pub help: Vec<String>,
    /// How many further diagnostics of the same code at the same place this one stands for.
    pub repeated: usize,
    /// The targets of the workspace that it is about; absent where it is about no target in particular.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub targets: Vec<String>,
    /// For a finding of a risk rule of `lint`: the rule, the severity, and what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
}

/// A range in a file; lines and columns begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceRange {
    /// The path of the file.
    pub path: String,
    /// The first line.
    pub line: usize,
    /// The first column, in characters.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// The column behind the last character.
    pub end_column: usize,
}

/// A further place, with words about it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RelatedRange {
    /// The file and the range in it.
    #[serde(flatten)]
    pub place: SourceRange,
    /// A description of the place.
    pub text: String,
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
            tests: Vec::new(),
            changes: Vec::new(),
            results: Vec::new(),
            texts: Vec::new(),
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

impl FindingRecord {
    /// Returns a diagnostic with the lines and columns of its places.
    pub fn new(diagnostic: &Diagnostic, files: &Files) -> Self {
        Self {
            code: diagnostic.code.id().to_owned(),
            severity: diagnostic.severity.to_string(),
            message: diagnostic.message.clone(),
            place: diagnostic.origin.map(|origin| SourceRange::new(origin, files)),
            related: diagnostic.labels.iter().map(|label| RelatedRange::new(label, files)).collect(),
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
            repeated: diagnostic.repeated,
            targets: diagnostic.targets.clone(),
            risk: diagnostic.risk.as_deref().cloned(),
        }
    }

    /// Whether the finding is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error.to_string()
    }

    /// Returns the severity of the risk, or the severity of the diagnostic: `critical`, `high`, `medium`, `low`, `info`, `error`
    /// or `warning`.
    pub fn level(&self) -> &str {
        self.risk.as_ref().map_or(&self.severity, |risk| &risk.severity)
    }

    /// Returns an identity of the finding that survives moved lines and renamed files: a hash of the code and of the subject of
    /// the risk, or of the message.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        add(&self.code);
        match &self.risk {
            Some(risk) => {
                add(&risk.subject);
                risk.namespace.iter().for_each(|namespace| add(namespace));
            }
            None => add(&self.message),
        }
        self.targets.iter().for_each(|target| add(target));
        hasher.finalize().to_hex().chars().take(32).collect()
    }

    /// Returns the finding as one line.
    fn line(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!("`{}:{}`: ", place.path, place.line));
        format!("{place}{} `{}`: {}", self.level(), self.code, self.message)
    }
}

impl SourceRange {
    /// Returns the lines and columns of a place.
    pub fn new(origin: Origin, files: &Files) -> Self {
        let file = files.get(origin.file);
        let (start, end) = (file.line_column(origin.span.start), file.line_column(origin.span.end));
        Self {
            path: file.path().to_owned(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

impl RelatedRange {
    fn new(label: &Label, files: &Files) -> Self {
        Self { place: SourceRange::new(label.origin, files), text: label.text.clone() }
    }
}

/// Numbers findings with the same fingerprint, so that no two have the same identity.
pub(super) fn fingerprints(findings: &[FindingRecord]) -> Vec<String> {
    let mut seen = std::collections::HashMap::<String, usize>::new();
    findings
        .iter()
        .map(|finding| {
            let fingerprint = finding.fingerprint();
            let count = seen.entry(fingerprint.clone()).or_default();
            *count += 1;
            if *count == 1 { fingerprint } else { format!("{fingerprint}-{count}") }
        })
        .collect()
}
