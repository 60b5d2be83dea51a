//! `bailiwick explain out/TARGET/FILE`.

use std::path::Path;

use super::super::can_i::AnswerForm;
use super::super::workspaces::with_targets;
use super::super::{Global, Outcome};
use super::Arguments;
use crate::app::Error;
use crate::report::explain;

/// Whether a word of the command line is the path of a file and not the name of something.
pub(super) fn is_path(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "yaml")
}

/// Lists each object of an output file with the policy that makes it.
pub(super) fn explain(global: &Global, arguments: &Arguments, word: &str) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let file = workspace.explain_file(word)?;
        let terminal = global.terminal();
        terminal.result(&match arguments.format {
            AnswerForm::Text => explain::text(&file),
            AnswerForm::Json => explain::json_lines(&file),
        });
        if let Some(state) = explain::state(&file) {
            terminal.note(&format!("note: `{word}` {state}\n"));
        }
        Ok(Outcome::Fine)
    })
}
