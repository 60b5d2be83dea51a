//! Diagnostics as results: with the files that they point into, and as records with paths, lines and columns.

use std::borrow::Cow;
use std::sync::Arc;

use bailiwick_yaml::diag::{Diagnostic, Files, FindingState, Label, Origin, Risk, Severity};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::Error;
use super::fingerprint::FindingIdentity;

/// Diagnostics, with the files that they point into.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    /// The diagnostics, in the order of their places.
    pub list: Vec<Diagnostic>,
    /// The files with the places of the diagnostics.
    pub files: Arc<Files>,
}

impl Diagnostics {
    /// Returns diagnostics that point into these files.
    pub fn new(list: Vec<Diagnostic>, files: &Arc<Files>) -> Self {
        Self { list, files: Arc::clone(files) }
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns an error if one of the diagnostics is one.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all of the diagnostics.
    pub fn checked(self) -> Result<Self, Error> {
        if self.has_errors() { Err(Error::Invalid(self)) } else { Ok(self) }
    }
    /// Returns the diagnostics with the lines and columns of their places.
    pub fn records(&self) -> impl Iterator<Item = FindingRecord> {
        self.list.iter().map(|diagnostic| FindingRecord::new(diagnostic, &self.files))
    }
}

/// A list of [`FindingRecord`]s.
impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.records())
    }
}

impl JsonSchema for Diagnostics {
    fn schema_name() -> Cow<'static, str> {
        "Diagnostics".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<FindingRecord>::json_schema(generator)
    }
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
    /// For a finding of a risk rule of `lint`: a stable identity, without lines, files, targets and counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// `new`, `known` or `fixed`; absent where the finding was not compared with an earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FindingState>,
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
            fingerprint: diagnostic
                .risk
                .as_deref()
                .map(|risk| fingerprint(diagnostic.code.id(), &diagnostic.message, Some(risk))),
            state: diagnostic.state,
        }
    }

    /// Replaces the paths of the places of the finding.
    pub fn map_paths(&mut self, path: &dyn Fn(&str) -> String) {
        for place in self.place.iter_mut().chain(self.related.iter_mut().map(|related| &mut related.place)) {
            place.path = path(&place.path);
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

    /// Returns an identity of the finding that survives moved lines, renamed files, new tenants and new targets.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.code, &self.message, self.risk.as_ref())
    }

    /// Returns the identity as [`FindingRecord::fingerprint`] does, without the powers that the permission opens.
    pub fn identity_without_reach(&self) -> String {
        let risk = self.risk.as_ref().map(|risk| Risk { reaches: Vec::new(), ..risk.clone() });
        fingerprint(&self.code, &self.message, risk.as_ref())
    }

    /// Returns the finding as one line.
    pub fn line(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!("`{}:{}`: ", place.path, place.line));
        format!("{place}{} `{}`: {}", self.level(), self.code, self.message)
    }
}

/// Returns the identity of a finding: the parts of its risk, or its message.
fn fingerprint(code: &str, message: &str, risk: Option<&Risk>) -> String {
    let Some(risk) = risk else {
        return FindingIdentity { code, right: message, reaches: "", holders: "", scope: "" }.fingerprint();
    };
    let reaches = risk.reaches.join(",");
    let Risk { right, holders, scope, .. } = risk;
    FindingIdentity { code, right, reaches: &reaches, holders, scope }.fingerprint()
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
