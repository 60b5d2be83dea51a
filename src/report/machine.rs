//! Diagnostics for programs: JSON lines, and workflow commands of GitHub.

use serde::Serialize;

use super::human::{Shown, grouped};
use crate::diag::{Diagnostic, Files, Origin, Severity, foreign};

#[derive(Serialize)]
struct Record<'d> {
    code: &'d str,
    severity: String,
    message: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    related: Vec<Related<'d>>,
    notes: &'d [String],
    help: &'d [String],
    repeated: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    path: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Related<'d> {
    #[serde(flatten)]
    place: Place,
    text: &'d str,
}

/// A value as a line of JSON, which holds nothing that a terminal or a log obeys.
pub fn line(value: &impl Serialize) -> String {
    format!("{}\n", foreign::json(&serde_json::to_string(value).unwrap_or_default()))
}

/// One JSON object a line, all of them.
pub fn json(list: &[Diagnostic], files: &Files) -> String {
    let mut text = String::new();
    for diagnostic in list {
        let record = Record {
            code: diagnostic.code.id(),
            severity: diagnostic.severity.to_string(),
            message: &diagnostic.message,
            place: diagnostic.origin.map(|origin| place(origin, files)),
            related: diagnostic
                .labels
                .iter()
                .map(|label| Related { place: place(label.origin, files), text: &label.text })
                .collect(),
            notes: &diagnostic.notes,
            help: &diagnostic.help,
            repeated: diagnostic.repeated,
        };
        text.push_str(&line(&record));
    }
    text
}

/// Workflow commands that GitHub shows beside the lines of a pull request (`specs/gitops.md` 3.7).
pub fn github(list: &[Diagnostic], files: &Files) -> String {
    let mut text = String::new();
    let shown = Shown::of(list);
    for diagnostic in shown.diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut message = diagnostic.message.clone();
        for help in &diagnostic.help {
            message.push_str(&format!("\nhelp: {help}"));
        }
        let at = diagnostic.origin.map(|origin| place(origin, files)).map_or_else(String::new, |place| {
            format!(
                "file={},line={},endLine={},col={},endColumn={},",
                foreign::command_property(&place.path),
                place.line,
                place.end_line,
                place.column,
                place.end_column
            )
        });
        text.push_str(&format!(
            "::{command} {at}title={}::{}\n",
            foreign::command_property(diagnostic.code.id()),
            foreign::command_data(&message)
        ));
    }
    if shown.more > 0 {
        text.push_str(&format!("::notice::and {} more\n", grouped(shown.more)));
    }
    text
}

fn place(origin: Origin, files: &Files) -> Place {
    let file = files.get(origin.file);
    let (start, end) = (file.line_column(origin.span.start), file.line_column(origin.span.end));
    Place {
        path: file.path().to_owned(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}
