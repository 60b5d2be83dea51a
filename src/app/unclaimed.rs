//! Entries of the output folder without a policy that Argo CD, Flux or kubectl could apply: empty folders, submodules,
//! files of `spec.keep`, leftovers of a killed run, and output files elsewhere in the workspace. The comparison finds
//! foreign files, links and changed files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::judged_tree;
use super::left_behind::{self, NotJudged};
use super::output::{help_with_stray, stray};
use super::workspace::{Workspace, keeps};
use super::workspace_files::WorkspaceFiles;
use crate::codes;
use crate::compile::LinkedWorkspace;
use crate::diag::{Diagnostic, FileId, RunError, Sink};
use crate::emit::committed::{Committed, Entry, EntryKind};
use crate::emit::file;
use crate::emit::write::{STAGING, is_at_work};
use crate::git::Repository;
use crate::git::index::{self, IndexEntry, IndexEntryKind};
use crate::yaml::{self, NodeRef, Tree};

/// How many objects of a kept file are named.
const NAMED: usize = 5;

/// Endings of the files that Argo CD, Flux and kubectl take for manifests.
const MANIFEST_ENDINGS: &[&str] = &["yaml", "yml", "json"];

/// The names under which kustomize looks for its file.
const KUSTOMIZATIONS: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Fields of a Kustomization that add no object and change none.
const PLAIN_FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "resources", "sortOptions", "buildMetadata"];

/// Entries of the output folder that no policy accounts for, by their paths below it.
#[derive(Debug, Default)]
pub(crate) struct Unclaimed {
    /// Files that `spec.keep` names.
    pub(crate) kept: BTreeSet<String>,
    /// Folders that hold nothing.
    pub(crate) empty: BTreeSet<String>,
    /// Folders of the delivery folder that hold nothing, by their paths below the workspace.
    empty_of_delivery: BTreeSet<String>,
}

impl Unclaimed {
    /// Returns the empty folders of the delivery folder, by their paths below the workspace.
    pub(crate) fn of_delivery(empty: BTreeSet<String>) -> Self {
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
    pub(crate) fn absorb(&mut self, other: Self) {
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
pub(crate) fn judge(workspace: &Workspace, unclaimed: &Unclaimed, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let output = &workspace.project.workspace.output;
    let empty = unclaimed.empty.iter().map(|path| format!("{output}/{path}"));
    for path in empty.chain(unclaimed.empty_of_delivery.iter().cloned()) {
        sink.push(
            folder(format!("`{path}` is an empty folder"))
                .help("remove it; if it is a submodule without its files, remove it with `git rm`"),
        );
    }
    let manifests = claimed(&workspace.project);
    let whole = workspace.judged_output(None);
    for path in &unclaimed.kept {
        let bytes = whole.read(path)?.unwrap_or_default();
        judge_kept(workspace, path, &bytes, is_claimed(&workspace.project, &manifests, path), sink);
    }
    if let Some(tree) = &workspace.tree {
        return judged_tree::judge(workspace, tree, sink);
    }
    workspace.project.workspace.written_folders().for_each(|folder| judge_staging(workspace, folder, sink));
    judge_index(workspace, sink)
}

/// Returns the kept files of a target that hold objects and that no Manifests policy names, as trees. The sink gets the errors of
/// manifests that are not YAML.
///
/// # Errors
/// When the output folder cannot be read.
pub(crate) fn kept_objects(workspace: &Workspace, target: &str, sink: &mut Sink) -> Result<Vec<Tree>, RunError> {
    let whole = match workspace.files.is_folder() {
        true => workspace.judged_output(None),
        false => workspace.files.output(&workspace.project.workspace.output, None),
    };
    kept_before(&workspace.project, target, &*whole, sink)
}

/// Returns the kept objects as [`kept_objects`] does, in other output.
///
/// # Errors
/// If the output cannot be read.
pub(crate) fn kept_before(
    project: &LinkedWorkspace,
    target: &str,
    whole: &dyn Committed,
    sink: &mut Sink,
) -> Result<Vec<Tree>, RunError> {
    let workspace = &project.workspace;
    if workspace.keep.is_empty() {
        return Ok(Vec::new());
    }
    let manifests = claimed(project);
    let mut trees = Vec::new();
    let is_of_other =
        |top: &str| top == STAGING || top != target && workspace.targets.iter().any(|one| one.name == top);
    for entry in whole.list_except(&is_of_other)?.into_iter().filter(Entry::is_file) {
        if keeps(workspace, &entry.path) && !is_claimed(project, &manifests, &entry.path) {
            let bytes = whole.read(&entry.path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let path = format!("{}/{}", workspace.output, entry.path);
            let is_manifest = is_manifest_name(&path);
            let mut problems = Sink::new();
            let tree = yaml::read(&text, project.files.add(path, &*text), &mut problems);
            if is_manifest {
                sink.absorb(problems);
            }
            if tree.documents().any(is_object) {
                trees.push(tree);
            }
        }
    }
    Ok(trees)
}

/// Returns the files that Manifests policies bring in without writing them, each with the target that the policy applies to.
fn claimed(project: &LinkedWorkspace) -> BTreeSet<(String, String)> {
    let mut claimed = BTreeSet::new();
    for target in &project.workspace.targets {
        for document in project.analyzed_documents(target) {
            let path = project.files.get(document.origin().file).path().to_owned();
            claimed.insert((path, target.name.clone()));
        }
    }
    claimed
}

/// Whether a Manifests policy names a kept file: one of its target, or of any target for a file beside the targets.
fn is_claimed(project: &LinkedWorkspace, claimed: &BTreeSet<(String, String)>, path: &str) -> bool {
    let workspace = &project.workspace;
    let whole = format!("{}/{path}", workspace.output);
    let top = path.split('/').next().unwrap_or_default();
    let is_of_target = workspace.targets.iter().any(|target| target.name == top);
    claimed.iter().any(|(named, target)| *named == whole && (!is_of_target || target == top))
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

/// Reports a kept file that could be applied: appliers read whole folders and know nothing of `spec.keep`.
fn judge_kept(workspace: &Workspace, path: &str, bytes: &[u8], is_claimed: bool, sink: &mut Sink) {
    let shown = format!("{}/{path}", workspace.project.workspace.output);
    let kept = |what: &str| Diagnostic::error(codes::KEPT_MANIFEST, format!("`{shown}` is kept and {what}"));
    if file::bears_header(bytes) {
        sink.push(kept("bears our header").help("remove it: `spec.keep` keeps files of others"));
        return;
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    if steers_appliers(name) {
        sink.push(kept("controls how an applier reads the folder").help("remove it from the output folder"));
        return;
    }
    if is_claimed {
        return;
    }
    let help = "remove it, or add it to a Manifests policy with `emit: false`, so that its objects are checked";
    let mut problems = Sink::new();
    let is_text = std::str::from_utf8(bytes).is_ok();
    let tree = yaml::read(&String::from_utf8_lossy(bytes), FileId::default(), &mut problems);
    let is_unreadable = problems.has_errors() || !is_text;
    if is_unreadable && (is_manifest_name(path) || KUSTOMIZATIONS.contains(&name)) {
        sink.push(kept("cannot be read as YAML, so its objects are unknown").help(help));
        return;
    }
    let base = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_kustomization = |root: NodeRef<'_>| KUSTOMIZATIONS.contains(&name) || is_kustomization(root);
    if tree.documents().any(|root| is_kustomization(root) && !is_plain(workspace, base, root)) {
        sink.push(
            kept("is a Kustomization that adds or changes objects")
                .help("use no field except `resources`, with files and folders below the output folder"),
        );
        return;
    }
    let objects: Vec<String> =
        tree.documents().filter(|root| is_object(*root) && !is_kustomization(*root)).map(identity).collect();
    if let Some((first, rest)) = objects.get(..NAMED.min(objects.len())).and_then(<[String]>::split_first) {
        let named = rest.iter().fold(format!("`{first}`"), |named, object| format!("{named}, `{object}`"));
        let more = objects.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        sink.push(kept(&format!("contains objects of no policy: {named}{more}")).help(help));
    }
}

/// Whether a file of this name decides what Argo CD or Flux makes of the files around it.
fn steers_appliers(name: &str) -> bool {
    let is_jsonnet = ending(name).is_some_and(|ending| ending == "jsonnet" || ending == "libsonnet");
    matches!(name, "Chart.yaml" | ".sourceignore" | ".gitattributes" | ".gitmodules")
        || name.starts_with(".argocd-")
        || is_jsonnet
}

fn ending(path: &str) -> Option<String> {
    path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

fn is_object(root: NodeRef<'_>) -> bool {
    root.get("apiVersion").is_some() && root.get("kind").is_some()
}

/// Whether a document is an object that an applier sends to the cluster.
pub(crate) fn is_applied(root: NodeRef<'_>) -> bool {
    is_object(root) && !is_kustomization(root)
}

/// Whether a document is a Kustomization of kustomize; Flux has a kind of the same name.
fn is_kustomization(root: NodeRef<'_>) -> bool {
    let text = |key: &str| root.get(key).and_then(NodeRef::as_str).unwrap_or_default();
    text("kind") == "Kustomization" && text("apiVersion").starts_with("kustomize.config.k8s.io/")
}

/// Whether a Kustomization in the folder `base` only lists files and folders that lie below the output folder.
fn is_plain(workspace: &Workspace, base: &str, root: NodeRef<'_>) -> bool {
    let is_known = root.entries().all(|(key, _)| key.as_str().is_some_and(|key| PLAIN_FIELDS.contains(&key)));
    let resources = root.get("resources").into_iter().flat_map(NodeRef::items);
    is_known
        && resources.into_iter().all(|resource| {
            let below = resource.as_str().and_then(|written| resolve(base, written));
            let output = &workspace.project.workspace.output;
            below.is_some_and(|below| workspace.judged_files().has_entry(&format!("{output}/{below}")))
        })
}

/// Returns a path written in a file of the folder `base`, as a path below the output folder; none for one that leaves it.
fn resolve(base: &str, written: &str) -> Option<String> {
    if written.starts_with('/') || written.contains([':', '?', '\\']) {
        return None;
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the identity of an object, as far as it has one.
fn identity(root: NodeRef<'_>) -> String {
    let text = |keys: &[&str]| root.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
    let namespace = text(&["metadata", "namespace"]);
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{}", text(&["kind"]), text(&["metadata", "name"])).trim_end().to_owned()
}

/// Reports what the index of git holds below the folders that a run writes and a checkout hides, and files of ours elsewhere
/// in the workspace.
fn judge_index(workspace: &Workspace, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let mut outside = manifests_outside(workspace);
    let repository = Repository::find(&workspace.root)?;
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
    ending(path).is_some_and(|ending| MANIFEST_ENDINGS.contains(&ending.as_str()))
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
