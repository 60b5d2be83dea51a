//! Entries of the output folder without a policy that Argo CD, Flux or kubectl could apply: empty folders, submodules,
//! files of `spec.keep`, leftovers of a killed run, and output files elsewhere in the workspace. The comparison finds
//! foreign files, links and changed files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bailiwick_codes as codes;
use bailiwick_compiler::emit::committed::{Entry, EntryKind};
use bailiwick_compiler::emit::write::{STAGING, is_at_work};
use bailiwick_git::Repository;
use bailiwick_git::index::{self, IndexEntry, IndexEntryKind};
use bailiwick_kubernetes::absent;
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};

use super::left_behind::{self, NotJudged};
use super::output::{help_with_stray, stray};
use super::workspace::Workspace;
use super::workspace_files::WorkspaceFiles;
use super::{judged_tree, kept_files, steered};

/// Endings of the files that Argo CD, Flux and kubectl take for manifests.
const MANIFEST_ENDINGS: &[&str] = &["yaml", "yml", "json"];

/// Entries of the output folder that no policy accounts for, by their paths below it.
#[derive(Debug, Default)]
pub struct Unclaimed {
    /// Files that `spec.keep` names.
    pub(crate) kept: BTreeSet<String>,
    /// Folders that hold nothing.
    pub(crate) empty: BTreeSet<String>,
    /// Folders of the delivery folder that hold nothing, by their paths below the workspace.
    empty_of_delivery: BTreeSet<String>,
}

impl Unclaimed {
    /// Returns the empty folders of the delivery folder, by their paths below the workspace.
    pub fn of_delivery(empty: BTreeSet<String>) -> Self {
        Self { empty_of_delivery: empty, ..Self::default() }
    }

    /// Adds the entries below a folder of the output folder that no policy accounts for.
    pub(crate) fn add(&mut self, workspace: &Workspace, folder: &str, entries: &[Entry]) {
        for entry in entries {
            let path = if folder.is_empty() { entry.path.clone() } else { format!("{folder}/{}", entry.path) };
            let path = path.trim_end_matches('/').to_owned();
            match entry.kind {
                EntryKind::EmptyFolder if !path.is_empty() => _ = self.empty.insert(path),
                EntryKind::File if workspace.keeps(&path) => _ = self.kept.insert(path),
                _ => {}
            }
        }
    }

    /// Adds the entries of another folder.
    pub fn absorb(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.empty.extend(other.empty);
        self.empty_of_delivery.extend(other.empty_of_delivery);
    }
}

/// Reports the entries of the output folder that no policy accounts for, and returns the number of output files elsewhere
/// that are not judged here.
///
/// # Errors
/// When the output folder or the repository cannot be read.
pub fn judge(workspace: &Workspace, unclaimed: &Unclaimed, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let output = &workspace.project.workspace.output;
    let empty = unclaimed.empty.iter().map(|path| format!("{output}/{path}"));
    for path in empty.chain(unclaimed.empty_of_delivery.iter().cloned()) {
        sink.push(
            folder(format!("`{path}` is an empty folder"))
                .help("remove it; if it is a submodule without its files, remove it with `git rm`"),
        );
    }
    kept_files::judge(workspace, &unclaimed.kept, sink)?;
    if let Some(tree) = &workspace.tree {
        return judged_tree::judge(workspace, tree, sink);
    }
    workspace.project.workspace.written_folders().for_each(|folder| judge_staging(workspace, folder, sink));
    judge_index(workspace, sink)
}

/// Returns the number of output files elsewhere that are not judged in this workspace.
///
/// # Errors
/// When the repository of a judged commit lacks an object.
pub fn not_judged(workspace: &Workspace) -> Result<NotJudged, RunError> {
    let outside = match &workspace.tree {
        Some(tree) => judged_tree::manifests_outside(workspace, tree),
        None => manifests_outside(workspace),
    };
    left_behind::judge(workspace, &outside, &mut Sink::new())
}

/// Reports the folder that a killed run left; one of a run that is at work belongs to it.
fn judge_staging(workspace: &Workspace, written: &str, sink: &mut Sink) {
    let place = workspace.root.join(written);
    if place.join(STAGING).symlink_metadata().is_err() {
        return;
    }
    if !is_at_work(&place) {
        sink.push(
            folder(format!("`{written}/{STAGING}` is what a killed run left"))
                .help("run `bailiwick render` to remove it"),
        );
    }
}

fn folder(message: String) -> Diagnostic {
    Diagnostic::error(codes::FOLDER_IN_OUTPUT, message)
}

/// Reports a path that differs from the path of the output folder in its case alone. `place` has the path.
pub(super) fn in_another_case(path: &str, place: &str) -> Diagnostic {
    folder(format!("`{path}` is in {place} and differs from the output folder in its case alone"))
        .help("remove it: on some machines both are one folder")
}

/// Reports a submodule in the output folder.
pub(super) fn submodule(path: &str) -> Diagnostic {
    stray(path, EntryKind::Submodule).help(help_with_stray(EntryKind::Submodule))
}

/// Reports what the index of git holds below the folders that a run writes and a checkout hides, and files of ours elsewhere
/// in the workspace.
fn judge_index(workspace: &Workspace, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let mut outside = manifests_outside(workspace);
    let repository = Repository::find(&workspace.root)?;
    let top = repository.as_ref().map_or(workspace.root.as_path(), |repository| repository.work_tree());
    let located = repository.as_ref().and_then(|repository| {
        let below = workspace.root.strip_prefix(repository.work_tree()).ok()?.to_str()?;
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        Some((repository, prefix))
    });
    if let Some((repository, prefix)) = located
        && let Some(bytes) = repository.read_index()?
    {
        let folders = workspace.project.workspace.written_folders().map(|folder| format!("{prefix}{folder}"));
        let places = WrittenPlaces { folders: folders.collect(), prefix: &prefix };
        for entry in index_entries(repository, &bytes, &|entry: &IndexEntry| places.wants(entry))? {
            let path = String::from_utf8_lossy(&entry.path);
            let shown = path.strip_prefix(&prefix).unwrap_or(&path);
            match places.hidden_entry(&entry, &path, shown) {
                Some(found) => sink.push(found),
                None => _ = outside.insert(shown.to_owned()),
            }
        }
    }
    let below = absent::text(workspace.root.strip_prefix(top).ok().and_then(Path::to_str));
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    let mut overrides = steered::overrides_above_on_disk(top, below)?;
    let in_workspace = outside.iter().filter(|path| steered::is_source_override(path));
    overrides.extend(in_workspace.map(|path| format!("{prefix}{path}")));
    let patterns = steered::patterns_on_disk(top, steered::pattern_paths_of(workspace, &prefix))?;
    steered::judge(workspace, &prefix, &overrides, &patterns, sink)?;
    left_behind::judge(workspace, &outside, sink)
}

fn index_entries(
    repository: &Repository,
    bytes: &[u8],
    wants: &dyn Fn(&IndexEntry) -> bool,
) -> Result<Vec<IndexEntry>, RunError> {
    index::read(bytes, wants).map_err(|error| {
        RunError::new(format!("cannot read the index of git, `{}`: {error}", repository.index().display()))
            .help("run `git update-index --no-split-index --index-version 2` to write it in a supported form")
    })
}

/// Returns the paths of the manifests below a folder: the files on disk, and the files in the index of git, whatever tag of a cache a
/// folder has.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn manifests_below(folder: &Path) -> Result<BTreeSet<String>, RunError> {
    let mut paths = manifests_on_disk(folder, &[]);
    let Some(repository) = Repository::find(folder)? else { return Ok(paths) };
    let below = WorkspaceFiles::below_work_tree(&repository, folder);
    let prefix = if below.is_empty() { below } else { format!("{below}/") };
    if let Some(bytes) = repository.read_index()? {
        let wants = |entry: &IndexEntry| {
            let path = String::from_utf8_lossy(&entry.path);
            entry.kind == IndexEntryKind::File && is_manifest_name(&path) && path.starts_with(&prefix)
        };
        for entry in index_entries(&repository, &bytes, &wants)? {
            let path = String::from_utf8_lossy(&entry.path);
            paths.extend(path.strip_prefix(&prefix).map(str::to_owned));
        }
    }
    Ok(paths)
}

/// The folders that a run writes, among the entries of an index.
struct WrittenPlaces<'p> {
    /// The paths from the root of the work tree.
    folders: Vec<String>,
    /// The path of the workspace from the root of the work tree, with a slash at its end; empty for the root.
    prefix: &'p str,
}

impl WrittenPlaces<'_> {
    /// Whether an entry is about such a folder, or is a manifest of the workspace outside of them.
    fn wants(&self, entry: &IndexEntry) -> bool {
        let path = String::from_utf8_lossy(&entry.path);
        let is_plain_file = entry.kind == IndexEntryKind::File && !entry.is_overlooked;
        let is_above = || self.folders.iter().any(|folder| is_below(folder, &path));
        let is_relevant = self.has(&path) || is_above() || self.has_in_another_case(&path);
        match is_plain_file {
            true => !self.has(&path) && (is_relevant || (is_manifest_name(&path) && path.starts_with(self.prefix))),
            false => is_relevant,
        }
    }

    /// Reports an entry that hides something; none for a file elsewhere. `shown` is its path below the workspace.
    fn hidden_entry(&self, entry: &IndexEntry, path: &str, shown: &str) -> Option<Diagnostic> {
        Some(match entry.kind {
            _ if self.has_in_another_case(path) => in_another_case(shown, "the index of git"),
            IndexEntryKind::Submodule => submodule(shown),
            IndexEntryKind::SparseFolder => folder(format!("`{shown}` is not checked out, so its files are unknown"))
                .help("check it out: `git sparse-checkout disable`"),
            IndexEntryKind::File if self.has(path) => {
                folder(format!("git ignores changes of `{shown}`, so the committed file can differ"))
                    .help(format!("`git update-index --no-assume-unchanged --no-skip-worktree {shown}`"))
            }
            IndexEntryKind::File => return None,
        })
    }

    /// Whether a path is such a folder or is below one.
    fn has(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| is_below(path, folder))
    }

    /// Whether a path is such a folder, or is below one, on a file system without upper and lower case, and is not here.
    fn has_in_another_case(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| is_below_in_another_case(path, folder))
    }
}

/// Returns the files below the workspace with the ending of a manifest, outside the output folder, of any repository in
/// it, and of folders that package managers and build tools fill. Files that git has are found in the index.
fn manifests_outside(workspace: &Workspace) -> BTreeSet<String> {
    let settings = &workspace.project.workspace;
    let written: Vec<PathBuf> = settings.written_folders().map(|folder| workspace.root.join(folder)).collect();
    manifests_on_disk(&workspace.root, &written)
}

/// Returns the paths of the manifests in the searched folders below a root, except in some folders.
fn manifests_on_disk(root: &Path, except: &[PathBuf]) -> BTreeSet<String> {
    let is_searched = |entry: &walkdir::DirEntry| {
        let path = entry.path();
        let is_filled = entry.file_type().is_dir() && path.join("CACHEDIR.TAG").symlink_metadata().is_ok();
        !except.iter().any(|folder| path == folder)
            && entry.file_name() != ".git"
            && entry.file_name() != "node_modules"
            && !is_filled
    };
    let entries = walkdir::WalkDir::new(root).into_iter().filter_entry(is_searched).flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| is_manifest_name(path)).collect()
}

/// Whether a file has an ending of manifests.
pub(crate) fn is_manifest_name(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| MANIFEST_ENDINGS.contains(&ending.as_str()))
}

/// Whether a path is a folder or is below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is a folder, or is below it, on a file system without upper and lower case, and is not here.
pub(super) fn is_below_in_another_case(path: &str, folder: &str) -> bool {
    let head = path.get(..folder.len());
    !is_below(path, folder)
        && head.is_some_and(|head| head.eq_ignore_ascii_case(folder))
        && path.get(folder.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
