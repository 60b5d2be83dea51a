//! `bailiwick explain out/TARGET/FILE`.

use std::path::Path;

use super::super::workspaces::with_targets;
use super::super::{Global, Outcome};
use crate::app::Error;
use crate::report::explain;

/// Whether a word of the command line is the path of a file and not the name of something.
pub(super) fn is_path(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "yaml")
}

/// Lists each object of an output file with the policy that makes it.
pub(super) fn explain(global: &Global, word: &str) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let file = workspace.explain_file(word)?;
        global.print_results(|| explain::file_objects(&file), || explain::file(&file));
        if let Some(state) = explain::state(&file) {
            global.terminal().note(&format!("note: `{word}` {state}\n"));
        }
        Ok(Outcome::Fine)
    })
}
