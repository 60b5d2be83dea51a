//! Diagnostics for programs: JSON lines, and workflow commands of GitHub.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::human::{Shown, grouped};
use crate::diag::{Diagnostic, Files, Origin, Risk, Severity, foreign};

/// A diagnostic as a line of `--diagnostics json`.
#[derive(Serialize, JsonSchema)]
struct Record<'d> {
    /// The name of the diagnostic, such as `read-secrets`.
    code: &'d str,
    /// `error` or `warning`.
    severity: String,
    /// The message, one line.
    message: &'d str,
    /// The place in a file; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    /// Further places, such as the rules of roles behind a finding.
    related: Vec<Related<'d>>,
    /// Facts that explain, such as the bindings and rules behind a finding.
    notes: &'d [String],
    /// Remedies.
    help: &'d [String],
    /// How many further diagnostics of the same code at the same place this one stands for.
    repeated: usize,
    /// The targets of the workspace that it is about; absent where it is about no target in particular.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    targets: &'d [String],
    /// For a finding of a risk rule of `lint`: the rule, the severity, and what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'d Risk>,
}

/// A range in a file; lines and columns begin at 1.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Place {
    /// The path of the file.
    path: String,
    /// The first line.
    line: usize,
    /// The first column, in characters.
    column: usize,
    /// The last line.
    end_line: usize,
    /// The column behind the last character.
    end_column: usize,
}

/// A further place, with words about it.
#[derive(Serialize, JsonSchema)]
struct Related<'d> {
    #[serde(flatten)]
    place: Place,
    /// A description of the place.
    text: &'d str,
}

/// The schema of a line of `--diagnostics json`.
pub fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Record<'_>>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), "Diagnostic".into());
    }
    schema
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
            targets: &diagnostic.targets,
            risk: diagnostic.risk.as_deref(),
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
