//! Warnings of a run, kept so that a later run with the same inputs can print them again.

use crate::codes;
use serde::{Deserialize, Serialize};

use crate::diag::{Diagnostic, Files, Label, Origin, Severity, Span};

/// A warning of an earlier run, with the paths of its files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedWarning {
    code: String,
    message: String,
    place: Option<Place>,
    label: String,
    labels: Vec<(Place, String)>,
    notes: Vec<String>,
    help: Vec<String>,
    repeated: usize,
}

/// A place by the path of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    path: String,
    start: u32,
    end: u32,
}

impl SavedWarning {
    /// Keeps a warning; none for an error, which is never kept.
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
            message: diagnostic.message.clone(),
            place: diagnostic.origin.map(place),
            label: diagnostic.label.clone(),
            labels: diagnostic.labels.iter().map(|label| (place(label.origin), label.text.clone())).collect(),
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
            repeated: diagnostic.repeated,
        })
    }

    /// Returns the warning again; `find` gives the place in a file of that path. None when it is of another program.
    pub fn again(&self, find: &mut dyn FnMut(&str) -> Option<crate::diag::FileId>) -> Option<Diagnostic> {
        let mut origin = |place: &Place| -> Option<Origin> {
            Some(Origin { file: find(&place.path)?, span: Span { start: place.start, end: place.end } })
        };
        let code = codes::find(&self.code).filter(|code| code.is_warning())?;
        let mut diagnostic = Diagnostic::warning(code, self.message.clone());
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
