//! Diagnostics and run errors, as data.
//!
//! A [`Diagnostic`] is built by the stage with the problem and printed elsewhere. It names a [`Code`], the problem in
//! one line, the place ([`Origin`]) and the remedy. This module prints nothing and depends on no policy, template or
//! Kubernetes API.
//!
//! There are two classes: a problem of the *input* is a [`Diagnostic`] and goes to a [`Sink`], the collection of all
//! of them; a problem of the *run* (disk, permissions) is a [`RunError`] and stops the run.

mod code;
pub mod codes;
mod files;
pub mod foreign;
mod near;
mod severity;
pub mod words;

use crate::internal;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use code::{Code, CodeInfo};
pub use files::{FileId, Files, HeldText, LineColumn, Loader, SourceFile, boundary_before};
pub use near::nearest;
pub use severity::DefaultSeverity;

/// A range of bytes in one text, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns a span from byte positions.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: internal::number(start), end: internal::number(end) }
    }

    /// Whether `other` lies inside this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A place in a text: a file and a range of bytes. Line, column and key path are computed for printing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The file, as registered in [`Files`].
    pub file: FileId,
    /// The bytes.
    pub span: Span,
}

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Nothing is written while there is one.
    Error,
    /// Printed; the run goes on.
    Warning,
    /// One line after the others, without effect on an exit code. `--quiet` hides it.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// A second place of a diagnostic, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The place.
    pub origin: Origin,
    /// A description of the place, lower case, without a full stop.
    pub text: String,
}

/// The subject of a finding of a risk rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    /// The id of the rule, such as `E001`.
    pub rule: Cow<'static, str>,
    /// The severity: `critical`, `high`, `medium`, `low` or `info`.
    pub severity: Cow<'static, str>,
    /// The subject, role or binding of the finding.
    pub subject: String,
    /// The namespace of the grant; none for the whole cluster.
    pub namespace: Option<String>,
    /// How many subjects, roles or bindings are alike, with the first one.
    pub count: usize,
    /// The codes of the findings folded into this one.
    pub folded: Vec<Cow<'static, str>>,
    /// The findings folded into this one, in the same order.
    pub folded_findings: Vec<FoldedRisk>,
    /// The permission, as the rules of the roles that prove it.
    pub right: String,
    /// The common form of the subjects, such as `Group/{team}`.
    pub holders: String,
    /// The common form of the namespaces, such as `{name}`, or `cluster`.
    pub scope: String,
    /// The powers that the permission opens, such as `cluster-admin`, the worst first.
    pub reaches: Vec<String>,
}

/// A finding folded into another one with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoldedRisk {
    /// The code of the diagnostic, such as `read-secrets`.
    pub code: Cow<'static, str>,
    /// The severity: `critical`, `high`, `medium`, `low` or `info`.
    pub severity: Cow<'static, str>,
    /// The permission, as proven by the rules of the roles; empty for a finding about an object.
    pub right: String,
    /// The powers that the permission opens, such as `cluster-admin`, the worst first.
    pub reaches: Vec<String>,
}

/// The state of a finding after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// The earlier state does not have the finding.
    New,
    /// Both states have the finding.
    Known,
    /// Only the earlier state has the finding.
    Fixed,
}

/// A problem of the input.
///
/// A diagnostic read from a file is a `Diagnostic<String>` until [`Diagnostic::resolve`] finds its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic<C = Code> {
    /// The kind of problem.
    pub code: C,
    /// Error or warning.
    pub severity: Severity,
    /// One line: lower case, no full stop, input in backticks.
    pub message: String,
    /// The place of the problem, if there is one.
    pub origin: Option<Origin>,
    /// A few words beside the underlined place.
    pub label: String,
    /// Further places.
    pub labels: Vec<Label>,
    /// Explaining facts, one a line.
    pub notes: Vec<String>,
    /// Remedies, one a line.
    pub help: Vec<String>,
    /// How many further diagnostics of the same code at the same place were folded into this one.
    pub repeated: usize,
    /// The targets of the problem; none for a problem of the workspace.
    pub targets: Vec<String>,
    /// The subject of a finding of a risk rule, for programs.
    pub risk: Option<Box<Risk>>,
    /// The state of the finding, if it was compared with an earlier state of the input.
    pub state: Option<FindingState>,
    /// Whether `check` fails for this warning by default.
    pub fails_check: bool,
    /// Whether this is a problem of an expanded object. One mistake in a policy appears in every tenant, so problems
    /// of the same code and place are folded into the first.
    foldable: bool,
}

impl Diagnostic<String> {
    /// Returns the diagnostic with the code that `find` returns for its id, if any.
    pub fn resolve(self, find: impl FnOnce(&str) -> Option<Code>) -> Option<Diagnostic> {
        Some(Diagnostic {
            code: find(&self.code)?,
            severity: self.severity,
            message: self.message,
            origin: self.origin,
            label: self.label,
            labels: self.labels,
            notes: self.notes,
            help: self.help,
            repeated: self.repeated,
            targets: self.targets,
            risk: self.risk,
            state: self.state,
            fails_check: self.fails_check,
            foldable: self.foldable,
        })
    }
}

impl Diagnostic {
    /// Returns an error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        debug_assert!(code.has(DefaultSeverity::Error), "the table of codes has `{}` as no error", code.id());
        Self::new(code, Severity::Error, message)
    }

    fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: printable(message.into()),
            origin: None,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            repeated: 0,
            targets: Vec::new(),
            risk: None,
            state: None,
            fails_check: severity == Severity::Warning && code.always_fails_check(),
            foldable: false,
        }
    }

    /// Returns a warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        debug_assert!(code.is_warning(), "the table of codes has `{}` as no warning", code.id());
        Self::new(code, Severity::Warning, message)
    }

    /// Returns a note without a place.
    pub fn remark(code: Code, message: impl Into<String>) -> Self {
        debug_assert!(code.has(DefaultSeverity::Note), "the table of codes has `{}` as no note", code.id());
        Self::new(code, Severity::Note, message)
    }

    /// Points at the place.
    #[must_use]
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Points at the place, if there is one.
    #[must_use]
    pub fn at_maybe(mut self, origin: Option<Origin>) -> Self {
        self.origin = origin;
        self
    }

    /// Words beside the underlined place.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = printable(label.into());
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn and(mut self, origin: Origin, text: impl Into<String>) -> Self {
        self.labels.push(Label { origin, text: printable(text.into()) });
        self
    }

    /// Adds an explaining fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(printable(note.into()));
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(printable(help.into()));
        self
    }

    /// Adds a remedy, if there is one.
    #[must_use]
    pub fn help_maybe(mut self, help: Option<String>) -> Self {
        self.help.extend(help.map(printable));
        self
    }

    /// Returns every place of the diagnostic.
    pub fn places(&mut self) -> impl Iterator<Item = &mut Origin> {
        self.origin.iter_mut().chain(self.labels.iter_mut().map(|label| &mut label.origin))
    }

    /// Makes the texts of a diagnostic from a file printable. The file may contain any characters.
    pub fn escape(&mut self) {
        let texts = [&mut self.message, &mut self.label].into_iter();
        let texts = texts.chain(self.labels.iter_mut().map(|label| &mut label.text));
        let risk = self.risk.iter_mut().flat_map(|risk| [Some(&mut risk.subject), risk.namespace.as_mut()]).flatten();
        for text in texts.chain(&mut self.notes).chain(&mut self.help).chain(&mut self.targets).chain(risk) {
            *text = printable(std::mem::take(text));
        }
    }

    /// Returns the name that the first remedy with a suggestion suggests: `NAME` of "did you mean `NAME`?".
    pub fn suggestion(&self) -> Option<&str> {
        self.help.iter().find_map(|help| help.strip_prefix("did you mean `")?.split_once('`').map(|(name, _)| name))
    }

    /// Adds the subject of a finding of a risk rule.
    #[must_use]
    pub fn about(mut self, risk: Risk) -> Self {
        self.risk = Some(Box::new(risk));
        self
    }

    /// Marks a warning as failing `check` by default, for a code with other warnings.
    #[must_use]
    pub fn failing_check(mut self) -> Self {
        debug_assert!(self.code.has(DefaultSeverity::FailsCheck), "`{}` does not fail `check`", self.code.id());
        self.fails_check = true;
        self
    }

    /// Whether this is a problem of an expanded object, see [`Diagnostic::foldable`].
    pub fn is_foldable(&self) -> bool {
        self.foldable
    }

    /// Marks a problem of an expanded object, see [`Sink::absorb`].
    #[must_use]
    pub fn foldable(mut self) -> Self {
        self.foldable = true;
        self
    }
}

/// How many bytes of a text are kept at its beginning, and at its end.
const KEPT: (usize, usize) = (1_500, 500);

/// Makes a text printable and short. Texts quote input of any content and length.
fn printable(text: String) -> String {
    let (head, tail) = KEPT;
    if text.len() <= head + tail {
        return match foreign::line(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(shown) => shown,
        };
    }
    let (head, tail) = (boundary_before(&text, head), boundary_before(&text, text.len() - tail));
    let (first, last) = (internal::slice(&text, ..head), internal::slice(&text, tail..));
    format!("{} [... {} bytes ...] {}", foreign::line(first), tail - head, foreign::line(last))
}

/// A collection of diagnostics.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    list: Vec<Diagnostic>,
    folded: HashMap<(Code, Severity, Origin), usize>,
}

impl Sink {
    /// Creates an empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic. A foldable diagnostic is only counted if the same code is at the same place; a warning
    /// never replaces an error.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if let (true, Some(origin)) = (diagnostic.foldable, diagnostic.origin) {
            let key = (diagnostic.code, diagnostic.severity, origin);
            if let Some(&index) = self.folded.get(&key) {
                if let Some(first) = self.list.get_mut(index) {
                    first.repeated += 1 + diagnostic.repeated;
                }
                return;
            }
            self.folded.insert(key, self.list.len());
        }
        self.list.push(diagnostic);
    }

    /// Adds the diagnostics of another sink.
    pub fn absorb(&mut self, other: Sink) {
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// Adds the diagnostics of another sink for a target.
    pub fn absorb_of_target(&mut self, other: Sink, target: &str) {
        for mut diagnostic in other.list {
            diagnostic.targets.push(target.to_owned());
            // Diagnostics are folded within their target.
            self.list.push(diagnostic);
        }
    }

    /// Joins diagnostics with equal contents and different targets into one with all the targets.
    #[must_use]
    pub fn with_targets_together(self) -> Self {
        let mut together = Self::new();
        let mut known: HashMap<(Code, Option<Origin>, String), Vec<usize>> = HashMap::new();
        for mut diagnostic in self.list {
            let targets = std::mem::take(&mut diagnostic.targets);
            let positions = known.entry((diagnostic.code, diagnostic.origin, diagnostic.message.clone())).or_default();
            let is_same = |known: &Diagnostic| {
                let mut bare = known.clone();
                bare.targets.clear();
                bare == diagnostic
            };
            let same = positions.iter().copied().find(|&position| together.list.get(position).is_some_and(is_same));
            match same.and_then(|position| together.list.get_mut(position)) {
                Some(first) => {
                    let new = targets.into_iter().filter(|target| !first.targets.contains(target)).collect::<Vec<_>>();
                    first.targets.extend(new);
                }
                None => {
                    positions.push(together.list.len());
                    together.list.push(Diagnostic { targets, ..diagnostic });
                }
            }
        }
        together
    }

    /// Returns the diagnostics in the order of their collection.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Returns the diagnostics as a list, in the order of their collection.
    pub fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }

    /// Whether one of the diagnostics behind the first `count` is an error.
    pub fn has_errors_after(&self, count: usize) -> bool {
        self.list.iter().skip(count).any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether at least one error was collected.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether an error was collected after which the input cannot be used. After a doubled key it can: the last
    /// value counts, as in kubectl.
    pub fn must_stop(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error && diagnostic.code != codes::DUPLICATE_KEY)
    }

    /// Whether no diagnostic was collected.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of diagnostics.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns all diagnostics, sorted by path, position, severity, code and text; diagnostics without a place come
    /// last.
    pub fn into_sorted(mut self, files: &Files) -> Vec<Diagnostic> {
        self.list.sort_by_cached_key(|diagnostic| {
            (
                diagnostic.origin.is_none(),
                diagnostic.origin.map(|origin| (files.get(origin.file).path().to_owned(), origin.span)),
                diagnostic.severity,
                diagnostic.code,
                diagnostic.message.clone(),
            )
        });
        self.list.dedup();
        self.list
    }
}

/// A failure of the run itself, as opposed to its input.
#[derive(Debug)]
pub struct RunError {
    /// The failed action and its error.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl RunError {
    /// Returns a failure of an action.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// Returns a failed system call on a path.
    pub fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let help = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Some("make room on the device and run the same command again".to_owned())
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Some("check the owner and the mode of the path".to_owned())
            }
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory if doing == "write" => {
                Some("name a file in a folder that exists".to_owned())
            }
            std::io::ErrorKind::IsADirectory if doing == "write" => Some("name a file".to_owned()),
            _ => None,
        };
        Self { message: format!("cannot {doing} `{}`: {}", path.display(), io_reason(error)), help }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Returns the system's words without the number at their end.
fn io_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(position) => text.chars().take(position).collect::<String>().to_lowercase(),
        None => text,
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Code = Code::new(&CodeInfo {
        id: "both",
        severities: &[DefaultSeverity::Error, DefaultSeverity::Warning],
        title: "an error or a warning",
        page: "For tests.",
    });

    fn origin(start: usize) -> Origin {
        Origin { file: FileId::default(), span: Span::new(start, start + 1) }
    }

    #[test]
    fn the_same_problem_of_many_objects_is_told_once_with_a_count() {
        let mut sink = Sink::new();
        for _ in 0..3 {
            sink.push(Diagnostic::error(codes::INVALID_VALUE, "x").at(origin(4)).foldable());
        }
        sink.push(Diagnostic::error(codes::INVALID_VALUE, "x").at(origin(9)).foldable());
        assert_eq!(sink.len(), 2);
        assert_eq!(sink.list.first().map(|first| first.repeated), Some(2));
    }

    #[test]
    fn a_warning_does_not_swallow_an_error() {
        let mut sink = Sink::new();
        sink.push(Diagnostic::warning(BOTH, "x").at(origin(4)).foldable());
        sink.push(Diagnostic::error(BOTH, "y").at(origin(4)).foldable());
        assert!(sink.has_errors());
    }

    #[test]
    fn warnings_are_not_errors() {
        let mut sink = Sink::new();
        sink.push(Diagnostic::warning(BOTH, "x"));
        assert!(!sink.has_errors());
    }
}
