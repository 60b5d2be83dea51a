//! The files that `check` judges: the files on disk, or the tree of a commit, which an applier checks out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_compiler::emit::committed::{Committed, Differing, Entry, EntryKind, Folder};
use bailiwick_compiler::emit::revision::RevisionTree;
use bailiwick_git::{self as git, GitObject, GitObjectId, GitObjectKind, ObjectFormat, Repository};
use bailiwick_policy::model::Target;
use bailiwick_policy::source::{DiskSource, FileContent, FileSource, Listing};
use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::{MAXIMUM_FILE_SIZE, written_size};

use super::revision_source::RevisionSource;
use super::workspace::Workspace;
use super::workspace_files::WorkspaceFiles;
use super::{Error, Options};

/// The commit that is judged in place of the files on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// A revision of git, such as `HEAD`.
    pub revision: String,
    /// Whether the contents of the files decide, and not their ids.
    pub compares_bytes: bool,
}

/// The tree of a commit.
pub struct JudgedTree {
    files: Arc<RevisionTree>,
    revision: String,
    /// Path of the workspace below the root of the work tree, with a slash at its end; empty for the root.
    prefix: String,
    compares_bytes: bool,
}

/// The place of the output that a run judges.
pub enum JudgedFiles {
    /// The files below a folder on disk.
    Disk(PathBuf, Folder),
    /// The files of a commit.
    Tree(Arc<JudgedTree>),
}

impl JudgedTree {
    /// Opens the commit of a revision, in the repository of the workspace of a run. The workspace need not be open.
    ///
    /// # Errors
    /// When there is no workspace, the workspace is in no git repository, the repository has no such commit, or an object is missing.
    pub fn open(run: &Options, options: &TreeOptions) -> Result<Self, Error> {
        let root = Workspace::find_root(run)?.ok_or_else(no_repository)?;
        Self::of_folder(&root, options)
    }

    /// Opens a folder in the commit of a revision, in the repository of the folder.
    ///
    /// # Errors
    /// As [`JudgedTree::open`].
    pub(crate) fn of_folder(root: &Path, options: &TreeOptions) -> Result<Self, Error> {
        let repository = Repository::find(root)?.ok_or_else(no_repository)?;
        let folder = WorkspaceFiles::below_work_tree(&repository, root);
        let files = Arc::new(RevisionTree::open(&repository, &options.revision, &folder)?);
        let prefix = if folder.is_empty() { folder } else { format!("{folder}/") };
        let TreeOptions { revision, compares_bytes } = options.clone();
        Ok(Self { files, revision, prefix, compares_bytes })
    }
}

fn no_repository() -> RunError {
    RunError::new("this workspace is not in a git repository").help("leave out `--tree` to check the files on disk")
}

impl Workspace {
    /// Judges the files of a commit: `check` then opens no file of the output on disk.
    pub fn judge_tree(&mut self, tree: JudgedTree) {
        self.tree = Some(Arc::new(tree));
    }

    /// Ends the judging of a commit, and git with it. Returns the id of the commit; none without one.
    pub fn close_tree(&mut self) -> Option<String> {
        self.tree.take().map(|tree| tree.files.commit().to_owned())
    }

    /// Returns the commit that is judged in place of the files on disk, by its id; none without one.
    pub fn judged_commit(&self) -> Option<&str> {
        self.tree.as_ref().map(|tree| tree.files.commit())
    }
}

/// Returns the files that are judged.
pub fn judged_files(workspace: &Workspace) -> JudgedFiles {
    match &workspace.tree {
        Some(tree) => JudgedFiles::Tree(Arc::clone(tree)),
        None => JudgedFiles::Disk(workspace.root.clone(), Folder::new(workspace.root.clone())),
    }
}

/// Opens the judged output of a target, or of all targets.
pub fn judged_output(workspace: &Workspace, target: Option<&Target>) -> Box<dyn Committed> {
    let output = &workspace.project.workspace.output;
    let folder = target.map_or_else(|| output.clone(), |target| format!("{output}/{}", target.name));
    judged_files(workspace).folder(&folder)
}

/// Returns whether the workspace of a run is in the work tree of a git repository.
///
/// # Errors
/// When the folder of the run cannot be entered.
pub fn is_in_repository(options: &Options) -> Result<bool, Error> {
    let root = Workspace::find_root(options)?;
    Ok(root.is_some_and(|root| git::work_tree(&root).is_some()))
}

/// Returns whether a folder is in the work tree of a git repository.
pub fn is_in_work_tree(folder: &Path) -> bool {
    git::work_tree(folder).is_some()
}

impl JudgedFiles {
    /// Opens a folder by its path below the workspace.
    pub fn folder(&self, path: &str) -> Box<dyn Committed> {
        match self {
            Self::Disk(root, _) => Box::new(Folder::new(root.join(path))),
            Self::Tree(tree) => Box::new(FolderOfTree { tree: Arc::clone(tree), folder: path.to_owned() }),
        }
    }

    /// Returns at least so many bytes from the beginning of a file, or all bytes; none where there is no file.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub(crate) fn head(&self, path: &str, length: usize) -> Result<Option<Vec<u8>>, RunError> {
        match self {
            Self::Disk(_, folder) => Ok(folder.head(path, length)),
            Self::Tree(tree) => tree.read(path),
        }
    }

    /// Whether there is a file with a path.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        match self {
            Self::Disk(_, folder) => folder.has_file(path),
            Self::Tree(tree) => tree.files.file_id(path).is_some(),
        }
    }

    /// Returns the files below a folder, for a reader of inputs.
    pub(crate) fn source_below(&self, folder: &str) -> Box<dyn FileSource> {
        match self {
            Self::Disk(root, _) => Box::new(DiskSource::new(root.join(folder))),
            Self::Tree(tree) => {
                Box::new(SourceBelow { files: RevisionSource(Arc::clone(&tree.files)), folder: folder.to_owned() })
            }
        }
    }
}

impl JudgedTree {
    /// Returns the entries of the workspace and of the folders above it.
    pub(super) fn files(&self) -> &RevisionTree {
        &self.files
    }

    /// Returns the name of the revision, as the user gave it.
    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the path of the workspace below the root of the work tree, with a slash at its end; empty for the root.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether an entry is a link.
    pub(super) fn is_link(&self, path: &str) -> bool {
        self.files.kind(path) == Some(EntryKind::Link)
    }

    /// Reads a file by its path below the workspace; none where there is no file.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some(id) = self.files.file_id(path) else { return Ok(None) };
        self.read_blob(&id, path, MAXIMUM_FILE_SIZE as u64).map(Some)
    }

    /// Reads a blob of at most `most` bytes by its id, and computes the id again. `path` is for messages.
    pub(super) fn read_blob(&self, id: &GitObjectId, path: &str, most: u64) -> Result<Vec<u8>, RunError> {
        match self.files.blob(id, path, most)? {
            GitObject::Bytes(bytes) => {
                git::verify(id, GitObjectKind::Blob, &bytes, &format!("`{path}`"))?;
                Ok(bytes)
            }
            GitObject::TooLarge(size) => Err(RunError::new(format!("`{path}` has {} MiB in git", size >> 20))
                .help(format!("at most {} are read", written_size(most)))),
        }
    }

    /// Compares a file of the commit with a text. Without `--verify` an equal id decides: it is the hash of the size and the
    /// content.
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        let Some(id) = self.files.file_id(path) else { return Ok(Differing::Missing) };
        if !self.compares_bytes && self.id_of(id.format(), path, text)? == id {
            return Ok(Differing::Same);
        }
        let bytes = self.read_blob(&id, path, MAXIMUM_FILE_SIZE as u64)?;
        let is_same = self.compares_bytes && bytes == text.as_bytes();
        Ok(if is_same { Differing::Same } else { Differing::Different(bytes) })
    }

    fn id_of(&self, format: ObjectFormat, path: &str, text: &str) -> Result<GitObjectId, RunError> {
        format.id(GitObjectKind::Blob, text.as_bytes()).map_err(|collision| {
            RunError::new(format!("the compiled file `{path}` cannot be compared by its id: {collision}"))
                .help("find the policy with these bytes; `--verify` compares the contents")
        })
    }
}

/// A folder of a commit.
struct FolderOfTree {
    tree: Arc<JudgedTree>,
    /// Path below the workspace.
    folder: String,
}

impl FolderOfTree {
    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.folder)
    }
}

impl Committed for FolderOfTree {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        self.tree.read(&self.path(path))
    }

    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        self.tree.differing(&self.path(path), text)
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        if let Some(kind) = self.tree.files.kind(&self.folder) {
            see(Entry { path: String::new(), kind });
        }
        for (path, kind) in self.tree.files.below(&self.folder) {
            let below = path.get(self.folder.len() + 1..);
            below.into_iter().for_each(|below| see(Entry { path: below.to_owned(), kind }));
        }
        Ok(())
    }
}

/// The files below a folder of a commit.
struct SourceBelow {
    files: RevisionSource,
    folder: String,
}

impl SourceBelow {
    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.folder)
    }
}

impl FileSource for SourceBelow {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        self.files.read(&self.path(path), most)
    }

    fn is_link(&self, path: &str) -> bool {
        self.files.is_link(&self.path(path))
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        self.files.list(&self.path(folder))
    }
}
