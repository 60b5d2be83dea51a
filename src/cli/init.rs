//! `bailiwick init`.

use std::path::PathBuf;

use clap::Args;

use super::{Global, Outcome, schema};
use crate::compile::WORKSPACE_FILE;
use crate::diag::RunError;

/// Options of `init`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the new workspace. Default: this one.
    folder: Option<PathBuf>,
}

/// What a new workspace holds beside the schemas.
const FILES: &[(&str, &str)] = &[
    (WORKSPACE_FILE, include_str!("init/bailiwick.yaml")),
    ("policies/team.yaml", include_str!("init/team.yaml")),
    (".gitattributes", include_str!("init/gitattributes")),
];

/// Where editors find the schemas that the example's first lines name.
const SCHEMAS: &str = "schema";

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let terminal = global.terminal();
    let start = global.directory.clone().unwrap_or_else(|| ".".into());
    let folder = arguments.folder.as_ref().map_or(start.clone(), |folder| start.join(folder));
    let schemas = schema::files().into_iter().map(|(name, text)| (format!("{SCHEMAS}/{name}"), text));
    let files: Vec<(String, String)> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).chain(schemas).collect();
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        terminal.problem(&format!(
            "error: `{}` is there already\nhelp: choose an empty folder: `bailiwick init FOLDER`; nothing was written\n",
            folder.join(name).display()
        ));
        return Ok(Outcome::Invalid);
    }
    for (name, text) in &files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| RunError::io("make the folder", parent, &error))?;
        }
        std::fs::write(&path, text).map_err(|error| RunError::io("write", &path, &error))?;
    }
    terminal.note("a workspace with one policy, `policies/team.yaml`; `bailiwick render` compiles it into `out/`\n");
    Ok(Outcome::Fine)
}
