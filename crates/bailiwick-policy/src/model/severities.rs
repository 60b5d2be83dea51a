//! The severities of diagnostics, as set by a workspace.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Code, DefaultSeverity, Diagnostic, Severity, Sink, nearest};
use bailiwick_yaml::{NodeRef, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// The key for all warnings.
const WARNINGS: &str = "warnings";

/// The configured severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticSetting {
    /// Nothing is written, and commands end with 2.
    Error,
    /// It is printed.
    Warning,
    /// It is not printed.
    Ignore,
    /// A finding of `lint` of this severity.
    Critical,
    /// A finding of `lint` of this severity.
    High,
    /// A finding of `lint` of this severity.
    Medium,
    /// A finding of `lint` of this severity.
    Low,
    /// A finding of `lint` of this severity.
    Info,
}

impl std::fmt::Display for DiagnosticSetting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Ignore => "ignore",
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Info => "info",
        })
    }
}

/// `spec.diagnostics` of a workspace, checked.
#[derive(Debug, Clone, Default)]
pub struct DiagnosticSettings(BTreeMap<String, Spanned<DiagnosticSetting>>);

impl DiagnosticSettings {
    /// Checks the entries and reports invalid ones at their keys. `root` is the document with the entries.
    pub(super) fn link(
        written: &BTreeMap<String, Spanned<DiagnosticSetting>>,
        root: NodeRef<'_>,
        sink: &mut Sink,
    ) -> Self {
        let entries = root.path(&["spec", "diagnostics"]);
        for (key, setting) in written {
            if let Some(problem) = refusal(key, setting.value) {
                let place = entries.and_then(|entries| entries.entry(key)).map(|(key, _)| key.origin());
                sink.push(problem.at(place.map_or(setting.origin, |place| place)));
            }
        }
        Self(written.clone())
    }

    /// Returns the entries by their keys.
    pub fn settings(&self) -> &BTreeMap<String, Spanned<DiagnosticSetting>> {
        &self.0
    }

    /// Returns the configured severity of a finding of `lint`.
    pub fn of_finding(&self, code: Code) -> Option<DiagnosticSetting> {
        self.0.get(code.id()).map(|setting| setting.value)
    }

    /// Applies the configured severity; none for an ignored diagnostic. An error stays an error.
    pub fn apply(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        if diagnostic.severity == Severity::Error || self.0.is_empty() {
            return Some(diagnostic);
        }
        // `warnings` does not apply to findings.
        let is_warning = diagnostic.severity == Severity::Warning;
        let of_all = self.0.get(WARNINGS).filter(|_| is_warning && !diagnostic.code.is_finding());
        match self.0.get(diagnostic.code.id()).or(of_all).map(|setting| setting.value) {
            Some(DiagnosticSetting::Ignore) => return None,
            Some(DiagnosticSetting::Error) => diagnostic.severity = Severity::Error,
            Some(_) => {
                diagnostic.severity = Severity::Warning;
                diagnostic.fails_check = false;
            }
            None => {}
        }
        Some(diagnostic)
    }
}

/// Returns the diagnostic for an invalid entry.
fn refusal(key: &str, setting: DiagnosticSetting) -> Option<Diagnostic> {
    use DiagnosticSetting::{Error, Ignore, Warning};
    if key == WARNINGS {
        let message = format!("`{WARNINGS}` cannot be `{setting}`");
        return (setting != Error).then(|| {
            Diagnostic::error(codes::INVALID_WORKSPACE, message).help("write `warnings: error`, or name codes")
        });
    }
    let Some(code) = codes::find(key) else {
        let help = nearest(key, codes::all().iter().map(|code| code.id())).map_or_else(
            || "`bailiwick explain` lists the diagnostics".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("there is no diagnostic `{key}`");
        return Some(Diagnostic::error(codes::INVALID_WORKSPACE, message).help(help));
    };
    if !code.is_warning() && !code.has(DefaultSeverity::Note) && setting != Error {
        let message = format!("`{key}` is an error by itself and cannot be `{setting}`");
        return Some(
            Diagnostic::error(codes::INVALID_WORKSPACE, message).help("remove the entry, and correct the error"),
        );
    }
    if !code.is_finding() && !matches!(setting, Error | Warning | Ignore) {
        let message = format!("`{key}` is not a finding of `lint` and cannot be `{setting}`");
        return Some(Diagnostic::error(codes::INVALID_WORKSPACE, message).help("write `error`, `warning` or `ignore`"));
    }
    None
}
