//! Workflow commands of GitHub Actions.

use super::human::{Shown, grouped};
use super::run::SourceRange;
use crate::diag::{Diagnostic, Files, Severity, foreign};

/// Workflow commands that GitHub shows beside the lines of a pull request.
pub fn text(list: &[Diagnostic], files: &Files) -> String {
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
        let at = diagnostic.origin.map(|origin| SourceRange::new(origin, files)).map_or_else(String::new, |place| {
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
