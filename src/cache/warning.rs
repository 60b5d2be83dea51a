//! The warnings and notes of a run in its cache: a later run without changes prints them again.

use crate::codes;
use serde::{Deserialize, Serialize};

use crate::diag::{DefaultSeverity, Diagnostic, Files, Label, Origin, Severity, Span};

/// A warning or a note as the cache stores it: with paths in place of loaded files, and with the id of its code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CachedWarning {
    code: String,
    is_note: bool,
    message: String,
    place: Option<Place>,
    label: String,
    labels: Vec<(Place, String)>,
    notes: Vec<String>,
    help: Vec<String>,
    repeated: usize,
}

/// A byte range in a file, by its path in the workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    path: String,
    start: u32,
    end: u32,
}

impl CachedWarning {
    /// Converts a warning; none for an error, because no cache is written after an error.
    pub fn from_diagnostic(diagnostic: &Diagnostic, files: &Files) -> Option<Self> {
        if diagnostic.severity == Severity::Error {
            return None;
        }
        let place = |origin: Origin| {
            let path = files.get(origin.file).path().to_owned();
            Place { path, start: origin.span.start, end: origin.span.end }
        };
        Some(Self {
            code: diagnostic.code.id().to_owned(),
            is_note: diagnostic.severity == Severity::Note,
            message: diagnostic.message.clone(),
            place: diagnostic.origin.map(place),
            label: diagnostic.label.clone(),
            labels: diagnostic.labels.iter().map(|label| (place(label.origin), label.text.clone())).collect(),
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
            repeated: diagnostic.repeated,
        })
    }

    /// Converts it back. `find` loads the file of a path; none if a file is missing or this program has no warning or note
    /// of that code.
    pub fn to_diagnostic(&self, find: &mut dyn FnMut(&str) -> Option<crate::diag::FileId>) -> Option<Diagnostic> {
        let mut origin = |place: &Place| -> Option<Origin> {
            Some(Origin { file: find(&place.path)?, span: Span { start: place.start, end: place.end } })
        };
        let code = codes::find(&self.code)?;
        let mut diagnostic = if code.has(DefaultSeverity::Note) {
            let mut diagnostic = Diagnostic::remark(code, self.message.clone());
            if !self.is_note {
                diagnostic.severity = Severity::Warning;
            }
            diagnostic
        } else if code.is_warning() {
            Diagnostic::warning(code, self.message.clone())
        } else {
            return None;
        };
        diagnostic.label.clone_from(&self.label);
        if let Some(place) = &self.place {
            diagnostic.origin = Some(origin(place)?);
        }
        for (place, text) in &self.labels {
            diagnostic.labels.push(Label { origin: origin(place)?, text: text.clone() });
        }
        diagnostic.notes.clone_from(&self.notes);
        diagnostic.help.clone_from(&self.help);
        diagnostic.repeated = self.repeated;
        Some(diagnostic)
    }
}
