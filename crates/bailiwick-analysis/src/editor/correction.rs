//! Corrections of a text, from the suggestions of diagnostics.

use bailiwick_yaml::diag::{Diagnostic, Files, Span};

use super::EditorWorkspace;

/// A replacement that a diagnostic suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The code of the diagnostic.
    pub code: &'static str,
    /// The message of the diagnostic.
    pub message: String,
    /// The bytes that are replaced.
    pub span: Span,
    /// The new text.
    pub text: String,
}

impl EditorWorkspace {
    /// Returns the corrections of a document that touch a range of bytes, from the newest diagnostics.
    pub fn corrections(&self, path: &str, range: Span) -> Vec<Correction> {
        let files = &self.analysis.files;
        let found = self.analysis.diagnostics.list.iter().filter_map(|diagnostic| correction(diagnostic, files, path));
        found.filter(|found| found.span.start <= range.end && range.start <= found.span.end).collect()
    }
}

/// Returns the correction of a diagnostic in a file. The diagnostic suggests a name, and its message or a note has the mistaken name,
/// written once at the place of the diagnostic.
fn correction(diagnostic: &Diagnostic, files: &Files, path: &str) -> Option<Correction> {
    let origin = diagnostic.origin?;
    let file = files.get(origin.file);
    if file.path() != path {
        return None;
    }
    let text = diagnostic.suggestion()?;
    let written = file.text().get(origin.span.start as usize..origin.span.end as usize)?;
    let texts = std::iter::once(&diagnostic.message).chain(&diagnostic.notes);
    // The texts between backticks are the odd parts.
    let mut names = texts.flat_map(|text| text.split('`').skip(1).step_by(2)).filter(|name| !name.is_empty());
    let name = names.find(|name| written.matches(name).count() == 1)?;
    let start = origin.span.start as usize + written.find(name)?;
    // A variable is suggested in its braces, and named without them.
    let is_in_braces = text.starts_with('{') && !name.starts_with('{');
    let text = if is_in_braces { text.trim_matches(['{', '}']) } else { text };
    Some(Correction {
        code: diagnostic.code.id(),
        message: diagnostic.message.clone(),
        span: Span::new(start, start + name.len()),
        text: text.to_owned(),
    })
}
