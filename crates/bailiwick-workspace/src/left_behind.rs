//! Output files outside the output folder: the output was elsewhere before, and an applier may still read them there.
//!
//! Another workspace below the root has output of its own, which its own `check` judges. A workspace file excuses only
//! what it can have written: files at the places of the layout, below its output folder, of targets that it declares.
//! An attacker can write a fitting workspace file, so each workspace that excuses a file is named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::{WORKSPACE_FILE, load_workspace};
use bailiwick_compiler::emit::file;
use bailiwick_policy::model;
use bailiwick_policy::source::Sources;
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judged_files::{JudgedFiles, judged_files};
use super::unclaimed::is_manifest_name;
use super::workspace::Workspace;

/// How many bytes of a file are read to find the header.
pub(super) const HEAD: usize = 4096;

/// The output files outside the output folder that are not judged here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotJudged {
    /// How many files each workspace below the root accounts for, by its folder.
    pub nested: BTreeMap<String, usize>,
    /// How many files `spec.fixtures` names.
    pub fixtures: usize,
}

impl NotJudged {
    /// Whether a run can have these numbers.
    pub(crate) fn is_plausible(&self) -> bool {
        self.nested.values().chain([&self.fixtures]).all(|count| u32::try_from(*count).is_ok())
    }
}

/// Reports the files of these paths below the root with the header of an output file, and returns the number of files
/// that are not judged here.
///
/// # Errors
/// When the repository of a judged commit lacks an object.
pub(crate) fn judge(workspace: &Workspace, paths: &BTreeSet<String>, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let root = judged_files(workspace);
    let model::WorkspaceSettings { output, fixtures, .. } = &workspace.project.workspace;
    let mut nested = NestedWorkspaces { root: &root, known: BTreeMap::new(), files: BTreeMap::new() };
    let mut fixed = 0;
    for path in paths.iter().filter(|path| is_manifest_name(path)) {
        if !root.head(path, HEAD)?.is_some_and(|head| file::bears_header(&head)) {
            continue;
        }
        if fixtures.is_match(path) {
            fixed += 1;
            continue;
        }
        let others = match nested.claim(path) {
            Claim::Written => continue,
            Claim::NotWritten(others) => others,
        };
        let message = format!("`{path}` is an output file outside the output folder `{output}`");
        let found = Diagnostic::error(codes::LEFT_BEHIND, message);
        let found = others
            .iter()
            .fold(found, |found, folder| found.note(format!("the workspace `{folder}` does not write a file there")));
        sink.push(found.help("remove it: an applier of the folder still reads it"));
    }
    Ok(NotJudged { nested: nested.files, fixtures: fixed })
}

/// The workspaces below the root.
struct NestedWorkspaces<'s> {
    root: &'s JudgedFiles,
    /// By folder; none where the workspace file cannot be used.
    known: BTreeMap<String, Option<model::WorkspaceSettings>>,
    /// How many files were found that each may have written.
    files: BTreeMap<String, usize>,
}

/// Whether another workspace accounts for a file.
enum Claim {
    /// One may have written it.
    Written,
    /// None does; these are above it.
    NotWritten(Vec<String>),
}

impl NestedWorkspaces<'_> {
    fn claim(&mut self, path: &str) -> Claim {
        let mut above = Vec::new();
        for (end, _) in path.match_indices('/') {
            let (Some(folder), Some(below)) = (path.get(..end), path.get(end + 1..)) else { continue };
            if !self.root.has_file(&format!("{folder}/{WORKSPACE_FILE}")) {
                continue;
            }
            let workspace = self.known.entry(folder.to_owned()).or_insert_with(|| load(self.root, folder));
            if workspace.as_ref().is_some_and(|workspace| writes(workspace, below)) {
                *self.files.entry(folder.to_owned()).or_default() += 1;
                return Claim::Written;
            }
            above.push(folder.to_owned());
        }
        Claim::NotWritten(above)
    }
}

fn load(root: &JudgedFiles, folder: &str) -> Option<model::WorkspaceSettings> {
    let mut sources = Sources::new(root.source_below(folder), Arc::new(Files::new()));
    load_workspace(&mut sources, &mut Sink::new()).ok().flatten()
}

/// Whether a workspace may write a file at a path below its folder.
fn writes(workspace: &model::WorkspaceSettings, path: &str) -> bool {
    let below = |folder: &str| path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    let has_target = |target: &str| workspace.targets.iter().any(|declared| declared.name == target);
    let of_output = below(&workspace.output).and_then(|below| below.split_once('/'));
    let of_delivery = workspace.delivery.as_ref().and_then(|delivery| below(&delivery.folder));
    of_output.is_some_and(|(target, place)| has_target(target) && file::is_place(place))
        || of_delivery
            .is_some_and(|path| file::is_delivery_place(path) && path.split('/').next().is_some_and(has_target))
}
