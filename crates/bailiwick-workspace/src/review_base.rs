//! The earlier state of a review: a revision in git, a folder, or no workspace at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_git::Repository;
use bailiwick_policy::model::NamespaceSample;
use bailiwick_yaml::diag::{Diagnostic, RunError};
use schemars::JsonSchema;
use serde::Serialize;

use super::workspace::{Workspace, open_other};
use crate::workspace_files::WorkspaceFiles;
use crate::{Diagnostics, Error};

/// A revision that can be the base of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseRevision {
    /// A commit, branch or tag, or `A...B` for the merge base of both.
    Named(String),
    /// The first parent of `HEAD`, if `HEAD` is a merge into this branch. A branch that is not there does not decide.
    FirstParentOfMerge(String),
    /// The merge base of `HEAD` and a branch.
    MergeBase(String),
}

impl BaseRevision {
    /// The default branch of the remote, by its full name: a tag or a branch cannot have it.
    pub const DEFAULT_BRANCH: &str = "refs/remotes/origin/HEAD";
}

/// The choice of the base of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewBase {
    /// The first of these revisions in the repository.
    Revision(Vec<BaseRevision>),
    /// Another folder with a workspace file.
    Folder(PathBuf),
}

impl Default for ReviewBase {
    fn default() -> Self {
        Self::Revision(vec![BaseRevision::MergeBase(BaseRevision::DEFAULT_BRANCH.to_owned())])
    }
}

/// The earlier state of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedBase {
    /// The name of the revision or folder as it was given; `none` for a base without a workspace.
    pub name: String,
    /// The commit; none for a folder.
    pub commit: Option<String>,
}

/// The earlier state of a workspace.
pub struct OpenedBase {
    /// Its name and commit.
    pub record: ReviewedBase,
    /// The name for a comparison of files: a commit, or the path of a folder.
    pub against: String,
    /// Its policies.
    pub state: BaseState,
}

/// The policies of an earlier state.
pub enum BaseState {
    /// There is no workspace file.
    Absent,
    /// The policies do not compile.
    Broken(Diagnostics),
    /// The policies can be compiled.
    Opened(Box<Workspace>),
}

impl OpenedBase {
    /// Finds and opens the base of a review. `base_path` is the folder of the earlier workspace below the root of the work tree, if
    /// the workspace moved.
    pub fn open(head: &Workspace, base: &ReviewBase, base_path: Option<&str>) -> Result<Self, Error> {
        let (files, record, against) = match base {
            ReviewBase::Folder(name) => {
                let folder = head.options.at(name);
                if !folder.is_dir() {
                    let message = format!("there is no folder `{}`", folder.display());
                    return Err(not_found(message, "name the folder of a `bailiwick.yaml` with `--base-dir`"));
                }
                let folder = folder.canonicalize().map_err(|error| RunError::io("enter", &folder, &error))?;
                let record = ReviewedBase { name: name.display().to_string(), commit: None };
                let against = folder.to_string_lossy().into_owned();
                (WorkspaceFiles::Folder(folder), record, against)
            }
            ReviewBase::Revision(candidates) => {
                let repository = Repository::find(&head.root)?.ok_or_else(|| {
                    let message = "this workspace is not in a git repository".to_owned();
                    not_found(message, "compare with another folder: `--base-dir DIR`")
                })?;
                let (name, commit) = find(&repository, candidates)?;
                let below = WorkspaceFiles::below_work_tree(&repository, &head.root);
                let folder = base_path.map_or(below, |path| path.trim_matches('/').to_owned());
                let files = WorkspaceFiles::of_revision(&repository, &commit, &folder)?;
                (files, ReviewedBase { name, commit: Some(commit.clone()) }, commit)
            }
        };
        if !has_workspace_file(&files)? {
            let record = ReviewedBase { name: "none".to_owned(), ..record };
            return Ok(Self { record, against, state: BaseState::Absent });
        }
        let state = match open_other(head, files) {
            Ok(mut workspace) => {
                workspace.is_earlier = true;
                BaseState::Opened(Box::new(workspace))
            }
            Err(Error::Invalid(diagnostics)) => BaseState::Broken(diagnostics),
            Err(error) => return Err(error),
        };
        Ok(Self { record, against, state })
    }

    /// Returns this state with a sample of its namespaces.
    pub fn with_sample(&self, sample: &Arc<NamespaceSample>) -> Self {
        let state = match &self.state {
            BaseState::Absent => BaseState::Absent,
            BaseState::Broken(diagnostics) => BaseState::Broken(diagnostics.clone()),
            BaseState::Opened(workspace) => BaseState::Opened(Box::new(workspace.with_sample(sample))),
        };
        Self { record: self.record.clone(), against: self.against.clone(), state }
    }

    /// Returns the earlier workspace, if its policies can be compiled.
    pub fn workspace(&self) -> Option<&Workspace> {
        match &self.state {
            BaseState::Opened(workspace) => Some(workspace),
            BaseState::Absent | BaseState::Broken(_) => None,
        }
    }
}

fn has_workspace_file(files: &WorkspaceFiles) -> Result<bool, RunError> {
    match files {
        WorkspaceFiles::Folder(folder) | WorkspaceFiles::Editor(folder, _) => {
            Ok(folder.join(WORKSPACE_FILE).symlink_metadata().is_ok())
        }
        WorkspaceFiles::Revision(tree) => Ok(tree.kind(WORKSPACE_FILE).is_some()),
        WorkspaceFiles::Memory(files) => Ok(files.has_file(WORKSPACE_FILE)),
        WorkspaceFiles::Edited(files, _) => has_workspace_file(files),
    }
}

/// Returns the first revision of a list that the repository has, with its name and commit.
fn find(repository: &Repository, candidates: &[BaseRevision]) -> Result<(String, String), Error> {
    for candidate in candidates {
        if let Some(found) = candidate.find(repository)? {
            return Ok(found);
        }
    }
    let named = candidates.iter().rev().find_map(|candidate| match candidate {
        BaseRevision::Named(name) | BaseRevision::MergeBase(name) => Some(name.as_str()),
        BaseRevision::FirstParentOfMerge(_) => None,
    });
    let full = named.map_or(BaseRevision::DEFAULT_BRANCH, |named| named);
    let named = short(full);
    let branch = named.strip_prefix("origin/").map_or(named, |branch| branch);
    if repository.commit(full)?.is_some() {
        let help = format!("fetch their history first: `git fetch --unshallow origin {branch}`");
        return Err(not_found(format!("git has no common commit of `HEAD` and `{named}`"), &help));
    }
    let help = format!("nothing is fetched on its own; fetch the base first: `git fetch --depth=1 origin {branch}`");
    Err(not_found(format!("git has no base `{named}` to compare with"), &help))
}

impl BaseRevision {
    /// Returns the name and the commit of the revision; none if the repository does not have it.
    fn find(&self, repository: &Repository) -> Result<Option<(String, String)>, RunError> {
        let (name, commit) = match self {
            Self::Named(name) => {
                let commit = match name.split_once("...") {
                    Some((left, right)) => repository.merge_base(or_head(left), or_head(right))?,
                    None => repository.commit(name)?,
                };
                (name.as_str(), commit)
            }
            Self::FirstParentOfMerge(branch) => ("HEAD^1", first_parent_of_merge(repository, branch)?),
            Self::MergeBase(branch) => (short(branch), repository.merge_base("HEAD", branch)?),
        };
        Ok(commit.map(|commit| (name.to_owned(), commit)))
    }
}

/// Returns the first parent of `HEAD`, if `HEAD` is a merge into a branch.
///
/// The author of a change can merge the branch into the change: the first parent is then a part of the change, or an older
/// state of the branch. Only the last state of the branch in the history of `HEAD` is the base.
fn first_parent_of_merge(repository: &Repository, branch: &str) -> Result<Option<String>, RunError> {
    if repository.commit("HEAD^2")?.is_none() {
        return Ok(None);
    }
    let parent = repository.commit("HEAD^1")?;
    if repository.commit(branch)?.is_none() {
        return Ok(parent);
    }
    let base = repository.merge_base("HEAD", branch)?;
    Ok(parent.filter(|parent| base.as_ref() == Some(parent)))
}

fn not_found(message: String, help: &str) -> Error {
    Error::invalid(Diagnostic::error(codes::INVALID_USAGE, message).help(help))
}

/// Returns the name of a branch of a remote as git prints it.
fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/remotes/").map_or(branch, |branch| branch)
}

fn or_head(revision: &str) -> &str {
    if revision.is_empty() { "HEAD" } else { revision }
}

/// Returns the path of a workspace below the root of the git work tree; `.` for the root, and outside a repository.
pub fn path_in_repository(root: &Path) -> String {
    let below = match Repository::find(root) {
        Ok(Some(repository)) => WorkspaceFiles::below_work_tree(&repository, root),
        Ok(None) | Err(_) => String::new(),
    };
    if below.is_empty() { ".".to_owned() } else { below }
}
