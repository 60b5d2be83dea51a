//! Writes policies and report: all of it or nothing.

use std::path::PathBuf;

use super::super::Global;
use super::super::printing::refuse_usage;
use super::PspArguments;
use crate::diag::RunError;
use crate::emit::write;
use crate::migrate::{Policies, text};

/// Writes and prints the policies. Returns false when files are in the way, after an error that names them.
pub(super) fn write(
    global: &Global,
    arguments: &PspArguments,
    policies: &Policies,
    report: &str,
) -> Result<bool, RunError> {
    let terminal = global.terminal();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    if let Some(folder) = &arguments.output {
        let folder = global.at(folder);
        files.extend(policies.files.iter().map(|(name, documents)| (folder.join(name), text(documents))));
    }
    files.extend(arguments.own_reports().map(|path| (global.at(path), report.to_owned())));
    if let Some((path, _)) = files.iter().find(|(path, _)| !arguments.force && path.symlink_metadata().is_ok()) {
        let help = "choose another place, or overwrite it with --force; nothing was written";
        refuse_usage(global, format!("`{}` is there already", path.display()), help);
        return Ok(false);
    }
    write::replace_all(files.iter().map(|(path, text)| (path.as_path(), text.as_str())))?;
    if arguments.output.is_none() {
        let documents: Vec<_> = policies.files.iter().flat_map(|(_, documents)| documents.clone()).collect();
        terminal.manifests(&text(&documents));
    }
    match (arguments.own_reports().next(), &arguments.output) {
        (Some(_), _) => {}
        (None, Some(_)) => terminal.result(report),
        (None, None) => terminal.problem(report),
    }
    Ok(true)
}
