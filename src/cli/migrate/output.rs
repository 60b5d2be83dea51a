//! Writes policies, plan and report: all of it or nothing.

use std::path::PathBuf;

use super::super::Global;
use super::super::printing::refuse_usage;
use crate::app::psp_policies::{Policies, text};
use crate::diag::RunError;
use crate::emit::writer::{self, WrittenPlace};

/// The places of the results.
pub(super) struct Destination {
    /// The folder for the files of the policies.
    pub(super) output: Option<PathBuf>,
    /// The files of the report.
    pub(super) reports: Vec<PathBuf>,
    /// Whether the policies go to standard output.
    pub(super) prints_policies: bool,
    /// Whether existing files are overwritten.
    pub(super) overwrites: bool,
    /// Further files, with their texts.
    pub(super) files: Vec<(WrittenPlace, String)>,
}

/// Writes and prints the policies. Returns false when files are in the way, after an error that names them.
pub(super) fn write(
    global: &Global,
    destination: Destination,
    policies: &Policies,
    report: &str,
) -> Result<bool, RunError> {
    let terminal = global.terminal();
    let Destination { output, reports, prints_policies, overwrites, mut files } = destination;
    if let Some(folder) = &output {
        let place = |name: &str| WrittenPlace::Below(folder.clone(), name.to_owned());
        files.extend(policies.files.iter().map(|(name, documents)| (place(name), text(documents))));
    }
    files.extend(reports.iter().map(|path| (WrittenPlace::Named(path.clone()), report.to_owned())));
    let mut paths = files.iter().map(|(place, _)| place.path());
    if let Some(path) = paths.find(|path| !overwrites && writer::is_replaced(path)) {
        let help = "choose another place, or overwrite it with --force; nothing was written";
        refuse_usage(global, format!("`{}` is there already", path.display()), help);
        return Ok(false);
    }
    writer::replace_all(files.iter().map(|(place, text)| (place.clone(), text.as_str())))?;
    if prints_policies {
        let documents: Vec<_> = policies.files.iter().flat_map(|(_, documents)| documents.clone()).collect();
        terminal.manifests(&text(&documents));
    }
    match (reports.is_empty(), prints_policies) {
        (false, _) => {}
        (true, false) => terminal.result(report),
        (true, true) => terminal.problem(report),
    }
    Ok(true)
}
