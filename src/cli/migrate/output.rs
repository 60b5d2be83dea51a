//! Writes policies and report: all of it or nothing.

use std::path::{Path, PathBuf};

use super::super::Global;
use super::super::printing::refuse_usage;
use super::PspArguments;
use crate::diag::RunError;
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
    write_all(&files)?;
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

/// Writes every file beside its place first, so that a full disk leaves nothing half done, and then moves them.
fn write_all(files: &[(PathBuf, String)]) -> Result<(), RunError> {
    let mut staged: Vec<(PathBuf, &Path)> = Vec::new();
    let written = files.iter().try_for_each(|(path, text)| {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|error| RunError::io("make the folder", parent, &error))?;
        }
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}.tmp", std::process::id()));
        let beside = PathBuf::from(beside);
        staged.push((beside.clone(), path));
        std::fs::write(&beside, text).map_err(|error| RunError::io("write", path, &error))
    });
    let moved = written.and_then(|()| {
        staged.iter().try_for_each(|(beside, path)| {
            std::fs::rename(beside, path).map_err(|error| RunError::io("write", path, &error))
        })
    });
    if moved.is_err() {
        for (beside, _) in &staged {
            // A file that was moved is no longer there.
            let _ = std::fs::remove_file(beside);
        }
    }
    moved
}
