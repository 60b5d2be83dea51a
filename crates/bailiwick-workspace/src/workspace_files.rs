//! The place of the files of a workspace: a folder on disk, a folder of a revision in git, memory, one of them with edits, or a
//! folder that is open in an editor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_compiler::emit::committed::{Committed, Entry, EntryKind, Folder};
use bailiwick_compiler::emit::revision::RevisionTree;
use bailiwick_git::Repository;
use bailiwick_policy::source::{DiskSource, EditedSource, EditorFiles, FileContent, FileSource, Listing, MemorySource};
use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;

use super::revision_source::RevisionSource;

/// The files of a workspace, on disk, in git, in memory or in an editor.
#[derive(Clone)]
pub enum WorkspaceFiles {
    /// A folder on disk.
    Folder(PathBuf),
    /// A folder of a revision.
    Revision(Arc<RevisionTree>),
    /// The files of a caller without a disk.
    Memory(Arc<MemorySource>),
    /// Files with the texts of edited ones by their paths.
    Edited(Arc<WorkspaceFiles>, BTreeMap<String, String>),
    /// A folder on disk with the open documents of an editor.
    Editor(PathBuf, Arc<EditorFiles>),
}

impl WorkspaceFiles {
    /// Returns the files of a folder of a revision; `folder` is a path below the root of the work tree.
    ///
    /// # Errors
    /// When git has no such revision, or an object is missing.
    pub fn of_revision(repository: &Repository, revision: &str, folder: &str) -> Result<Self, RunError> {
        Ok(Self::Revision(Arc::new(RevisionTree::open(repository, revision, folder)?)))
    }

    /// Whether the files are on disk.
    pub fn is_folder(&self) -> bool {
        match self {
            Self::Folder(_) | Self::Editor(..) => true,
            Self::Revision(_) | Self::Memory(_) => false,
            Self::Edited(files, _) => files.is_folder(),
        }
    }

    /// Returns the files for a reader of inputs.
    pub fn source(&self) -> Arc<dyn FileSource> {
        match self {
            Self::Folder(root) => Arc::new(DiskSource::new(root)),
            Self::Editor(_, files) => Arc::clone(files) as Arc<dyn FileSource>,
            Self::Revision(files) => Arc::new(RevisionSource(Arc::clone(files))),
            Self::Memory(files) => Arc::<MemorySource>::clone(files),
            Self::Edited(files, edited) => Arc::new(EditedSource::new(files.source(), edited.clone())),
        }
    }

    /// Returns the files for a reader that keeps its own.
    pub fn boxed_source(&self) -> Box<dyn FileSource> {
        Box::new(Shared(self.source()))
    }

    /// Opens an output folder, or the folder of a target in it.
    pub fn output(&self, output: &str, target: Option<&str>) -> Box<dyn Committed> {
        match self {
            Self::Folder(root) | Self::Editor(root, _) => {
                let whole = root.join(output);
                Box::new(Folder::new(target.map_or(whole.clone(), |target| whole.join(target))))
            }
            Self::Revision(files) => {
                let folder = target.map_or(output.to_owned(), |target| format!("{output}/{target}"));
                Box::new(FolderOfRevision { files: Arc::clone(files), folder })
            }
            Self::Memory(files) => {
                let folder = target.map_or(output.to_owned(), |target| format!("{output}/{target}"));
                Box::new(FolderInMemory { files: Arc::clone(files), folder })
            }
            Self::Edited(files, _) => files.output(output, target),
        }
    }

    /// Returns the path of a folder on disk below the root of the git work tree.
    pub fn below_work_tree(repository: &Repository, folder: &Path) -> String {
        let below = folder.strip_prefix(repository.work_tree());
        below.map_or_else(|_| String::new(), |below| below.to_string_lossy().into_owned())
    }
}

/// A folder below the root of a revision.
struct FolderOfRevision {
    files: Arc<RevisionTree>,
    folder: String,
}

impl Committed for FolderOfRevision {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        self.files.bytes(&format!("{}/{path}", self.folder), path)
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        for (path, kind) in self.files.below(&self.folder) {
            let below = path.get(self.folder.len() + 1..);
            below.into_iter().for_each(|below| see(Entry { path: below.to_owned(), kind }));
        }
        Ok(())
    }
}

/// A folder of files in memory.
struct FolderInMemory {
    files: Arc<MemorySource>,
    folder: String,
}

impl Committed for FolderInMemory {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let content = self.files.read(&format!("{}/{path}", self.folder), MAXIMUM_FILE_SIZE as u64)?;
        Ok(content.bytes().map(<[u8]>::to_vec))
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        let prefix = format!("{}/", self.folder);
        let below = self.files.paths().filter_map(|path| path.strip_prefix(&prefix));
        below.for_each(|path| see(Entry { path: path.to_owned(), kind: EntryKind::File }));
        Ok(())
    }
}

/// The same files for a loader with its own.
struct Shared(Arc<dyn FileSource>);

impl FileSource for Shared {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        self.0.read(path, most)
    }

    fn is_link(&self, path: &str) -> bool {
        self.0.is_link(path)
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        self.0.list(folder)
    }
}
