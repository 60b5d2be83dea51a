//! The workspaces in a folder and below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::{WORKSPACE_FILE, load_workspace};
use bailiwick_compiler::emit::committed::{EntryKind, Folder};
use bailiwick_compiler::emit::file;
use bailiwick_policy::model::WorkspaceSettings;
use bailiwick_policy::source::{DiskSource, Sources};
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink, Span};

use super::judged_files::{JudgedFiles, JudgedTree, TreeOptions};
use super::left_behind::HEAD;
use super::unclaimed::{is_below, is_manifest_name, manifests_below};
use super::words::number;
use super::workspace::Workspace;
use super::{Diagnostics, Error};

/// The folder of git, which has no workspace.
const GIT: &str = ".git";

/// A workspace in a searched folder.
#[derive(Debug)]
pub struct FoundWorkspace {
    /// Its folder on disk.
    pub folder: PathBuf,
    /// Its path from the searched folder; `.` for the searched folder itself.
    pub path: String,
    /// The error of a workspace inside a folder that another workspace reads or writes.
    pub refusal: Option<Diagnostics>,
}

impl Workspace {
    /// Finds every workspace in a folder and below it, in the order of the paths. Links to folders are not followed.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn find_below(folder: &Path) -> Result<Vec<FoundWorkspace>, RunError> {
        let folders = folders_below(folder)?;
        let found = folders.iter().map(|own| {
            let relative = own.strip_prefix(folder).map_or_else(|_| PathBuf::new(), Path::to_path_buf);
            let path = if relative.as_os_str().is_empty() { ".".into() } else { relative.to_string_lossy() };
            let path = path.into_owned();
            FoundWorkspace { folder: own.clone(), path, refusal: refusal(folder, own, &folders) }
        });
        Ok(found.collect())
    }
}

impl FoundWorkspace {
    /// Reports output files below the searched folder that belong to none of the found workspaces: no `check` compares them,
    /// and an applier can still read them. `tree` is the commit that is judged in place of the files on disk.
    ///
    /// # Errors
    /// When the folder or the repository cannot be read.
    pub fn left_without(found: &[Self], folder: &Path, tree: Option<&TreeOptions>) -> Result<Vec<Diagnostic>, Error> {
        let folder = folder.canonicalize().map_err(|error| RunError::io("enter", folder, &error))?;
        let (files, paths) = judged_manifests(&folder, tree)?;
        let has_workspace =
            |path: &str| found.iter().any(|workspace| workspace.path == "." || is_below(path, &workspace.path));
        // By folder: the first file, and the number of the others.
        let mut left: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for path in paths.into_iter().filter(|path| is_manifest_name(path) && !has_workspace(path)) {
            if !files.head(&path, HEAD)?.is_some_and(|head| file::bears_header(&head)) {
                continue;
            }
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            left.entry(folder).and_modify(|(_, others)| *others += 1).or_insert((path, 0));
        }
        Ok(left.into_values().map(|(path, others)| of_no_workspace(&path, others)).collect())
    }
}

/// Returns the judged files below a folder, and the paths of the files that can be output.
fn judged_manifests(folder: &Path, tree: Option<&TreeOptions>) -> Result<(JudgedFiles, BTreeSet<String>), Error> {
    let Some(options) = tree else {
        let files = JudgedFiles::Disk(folder.to_owned(), Folder::new(folder.to_owned()));
        return Ok((files, manifests_below(folder)?));
    };
    let tree = JudgedTree::of_folder(folder, options)?;
    let entries = tree.files().entries().filter(|(_, kind, _)| *kind == EntryKind::File);
    let paths = entries.map(|(path, ..)| path).collect();
    Ok((JudgedFiles::Tree(Arc::new(tree)), paths))
}

fn of_no_workspace(path: &str, others: usize) -> Diagnostic {
    let message = format!("`{path}` is an output file of no workspace");
    let found = Diagnostic::error(codes::LEFT_BEHIND, message).help(format!(
        "restore the `{WORKSPACE_FILE}` above it, or remove the file: an applier of the folder still reads it"
    ));
    match others {
        0 => found,
        _ => found.note(format!("{} of no workspace in the same folder", number(others, "further output file"))),
    }
}

/// Returns the folders with a workspace file, in the order of their paths.
fn folders_below(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(folder) = left.pop() {
        let failed = |error| RunError::io("read", &folder, &error);
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // The type of a link is not the type of its target. A workspace file that is a link is refused by its own run.
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            if is_folder && entry.file_name() != GIT {
                left.push(entry.path());
            } else if !is_folder && entry.file_name() == WORKSPACE_FILE {
                found.push(folder.clone());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the error of a workspace inside a folder of another workspace.
fn refusal(searched: &Path, folder: &Path, workspaces: &[PathBuf]) -> Option<Diagnostics> {
    let above = workspaces.iter().filter(|outer| *outer != folder && folder.starts_with(outer));
    let (outer, name, what) = above
        .filter_map(|outer| {
            let settings = settings(outer)?;
            let below = folder.strip_prefix(outer).ok()?;
            let WorkspaceSettings { policies, templates, output, .. } = settings;
            let folders = [(policies, "the policies"), (templates, "the templates"), (output, "the output")];
            let (name, what) = folders.into_iter().find(|(name, _)| below.starts_with(name))?;
            Some((outer, name, what))
        })
        .next()?;
    let outer = outer.strip_prefix(searched).map_or(outer.as_path(), |path| path);
    let whose = match outer.components().next() {
        None | Some(Component::CurDir) => "the workspace above".to_owned(),
        Some(_) => format!("the workspace `{}`", outer.display()),
    };
    let message = format!("this workspace is inside `{name}`, the folder with {what} of {whose}");
    let files = Arc::new(Files::new());
    let mut sources = Sources::new(Box::new(DiskSource::new(folder)), Arc::clone(&files));
    let error = Diagnostic::error(codes::INVALID_WORKSPACE, message)
        .help("move it: its files are read as files of the other workspace, or replaced");
    let file = sources.tree(WORKSPACE_FILE, None, &mut Sink::new()).ok().flatten();
    let place = file.map(|tree| Origin { file: tree.file(), span: Span::default() });
    Some(Diagnostics::new(vec![place.into_iter().fold(error, Diagnostic::at)], &files))
}

/// Returns the settings of a workspace; none if its file is invalid, which its own run reports.
fn settings(folder: &Path) -> Option<WorkspaceSettings> {
    let mut sources = Sources::new(Box::new(DiskSource::new(folder)), Arc::new(Files::new()));
    load_workspace(&mut sources, &mut Sink::new()).ok().flatten()
}
