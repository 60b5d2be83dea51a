//! A folder as it was in a revision of git.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::committed::{EntryKind, escaped};
use crate::diag::RunError;
use crate::git::{EntryMode, GitObject, GitObjectId, Objects, Repository, TreeEntry};

/// How many entries of a revision are read. A tree may hold another one many times, so that a small repository can have
/// more entries than any disk.
const MAXIMUM_ENTRIES: usize = 4 << 20;

/// How many bytes the paths of the entries may have together.
const MAXIMUM_PATHS: usize = 512 << 20;

/// How many entries a tree may have that is kept: a tree that is asked for many times costs little for each entry anyway.
const SMALL_TREE: usize = 64;

/// How many bytes a blob of a revision may have.
const MAXIMUM_BLOB: u64 = 512 << 20;

/// How many bytes the target of a link may have, as on Linux.
const MAXIMUM_TARGET: u64 = 4096;

/// A folder as it was in a revision.
#[derive(Debug)]
pub struct RevisionTree {
    /// The id of each blob and its kind, by its path below the folder. A submodule has no blob, and is an entry all the same.
    blobs: BTreeMap<String, (GitObjectId, EntryKind)>,
    above: Vec<FolderAbove>,
    commit: String,
    reader: Mutex<Objects>,
}

/// A folder of the revision that holds the opened folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderAbove {
    /// Path below the root of the work tree.
    pub path: String,
    /// Files and folders in it.
    pub entries: Vec<TreeEntry>,
}

impl RevisionTree {
    /// Opens a folder, a path below the root of the work tree, as it was in a revision.
    ///
    /// # Errors
    /// When there is no git, no such revision, or an object is missing.
    pub fn open(repository: &Repository, revision: &str, folder: &str) -> Result<Self, RunError> {
        let commit = repository.commit(revision)?.ok_or_else(|| {
            RunError::new(format!("git has no revision `{revision}`"))
                .help("name a branch, a tag or a commit; in CI, fetch enough history")
        })?;
        let mut objects = repository.objects()?;
        let mut walk = Walk {
            objects: &mut objects,
            blobs: BTreeMap::new(),
            above: Vec::new(),
            small: HashMap::new(),
            entries: 0,
            bytes: 0,
        };
        walk.below(&commit, folder)?;
        let Walk { blobs, above, .. } = walk;
        Ok(Self { blobs, above, commit, reader: Mutex::new(objects) })
    }

    /// Returns the id of the commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Returns the folders that hold the opened folder, from the root of the work tree on.
    pub fn above(&self) -> &[FolderAbove] {
        &self.above
    }

    /// Returns the entries of the opened folder and below it, with their paths below it, their kinds and ids, in the order of
    /// their paths.
    pub fn entries(&self) -> impl Iterator<Item = (&str, EntryKind, &GitObjectId)> {
        self.blobs.iter().map(|(path, (id, kind))| (path.as_str(), *kind, id))
    }

    /// Returns the id of a file; none where there is no file.
    pub fn file_id(&self, path: &str) -> Option<&GitObjectId> {
        self.blobs.get(path).filter(|(_, kind)| *kind == EntryKind::File).map(|(id, _)| id)
    }

    /// Reads a folder of the revision by its id; `path` is its path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub fn folder(&self, id: &GitObjectId, path: &str) -> Result<Vec<TreeEntry>, RunError> {
        self.reader().tree(id, path)
    }

    /// Reads a blob of at most `most` bytes by its id; `path` is its path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub fn blob(&self, id: &GitObjectId, path: &str, most: u64) -> Result<GitObject, RunError> {
        self.reader().blob(id, path, most)
    }

    /// Returns the kind of an entry; none where there is none, and for a folder.
    pub fn kind(&self, path: &str) -> Option<EntryKind> {
        self.blobs.get(path).map(|(_, kind)| *kind)
    }

    /// Returns the entries below a folder, with their paths below the root, in the order of their paths. The root is an
    /// empty path.
    pub fn below<'r>(&'r self, folder: &str) -> impl Iterator<Item = (&'r str, EntryKind)> + use<'r> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let entries = self.blobs.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let entries = entries.map(|(path, (_, kind))| (path.as_str(), *kind));
        entries.take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// Reads a file of at most `most` bytes; none where there is no file. `shown` is the path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub fn file(&self, path: &str, shown: &str, most: u64) -> Result<Option<GitObject>, RunError> {
        let Some((blob, EntryKind::File)) = self.blobs.get(path) else { return Ok(None) };
        self.blob(blob, shown, most).map(Some)
    }

    /// Reads the bytes of a file; none where there is no file. `shown` is the path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object, or the file is too large.
    pub fn bytes(&self, path: &str, shown: &str) -> Result<Option<Vec<u8>>, RunError> {
        match self.file(path, shown, MAXIMUM_BLOB)? {
            None => Ok(None),
            Some(GitObject::Bytes(bytes)) => Ok(Some(bytes)),
            Some(GitObject::TooLarge(size)) => Err(RunError::new(format!("`{shown}` has {} MiB in git", size >> 20))
                .help(format!("at most {} MiB are read", MAXIMUM_BLOB >> 20))),
        }
    }

    fn reader(&self) -> MutexGuard<'_, Objects> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the target of a link; none where there is no link, and where the target is longer than any system allows.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub fn link_target(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some((blob, EntryKind::Link)) = self.blobs.get(path) else { return Ok(None) };
        Ok(match self.blob(blob, path, MAXIMUM_TARGET)? {
            GitObject::Bytes(target) => Some(target),
            GitObject::TooLarge(_) => None,
        })
    }
}

/// The way through the trees of a commit.
struct Walk<'o> {
    objects: &'o mut Objects,
    blobs: BTreeMap<String, (GitObjectId, EntryKind)>,
    above: Vec<FolderAbove>,
    /// Small trees by their ids.
    small: HashMap<GitObjectId, Vec<TreeEntry>>,
    entries: usize,
    bytes: usize,
}

impl Walk<'_> {
    /// Collects the entries below a folder of a commit; nothing where there is no such folder.
    fn below(&mut self, commit: &str, folder: &str) -> Result<(), RunError> {
        let mut entries = self.objects.tree_of_commit(commit)?;
        let mut path = String::new();
        for name in folder.split('/').filter(|name| !name.is_empty()) {
            let is_it = |entry: &&TreeEntry| entry.mode == EntryMode::Folder && entry.name == name.as_bytes();
            let found = entries.iter().find(is_it).map(|tree| tree.id);
            let below = joined(&path, name);
            self.above.push(FolderAbove { path, entries });
            let Some(id) = found else { return Ok(()) };
            entries = self.objects.tree(&id, &below)?;
            path = below;
        }
        // Folders with their paths, each with whether its path is text.
        let mut folders = Vec::new();
        self.take(entries, "", true, &mut folders)?;
        while let Some((id, path, is_text)) = folders.pop() {
            let entries = match self.small.get(&id) {
                Some(known) => known.clone(),
                None => self.objects.tree(&id, &path)?,
            };
            if entries.len() <= SMALL_TREE && !self.small.contains_key(&id) {
                self.small.insert(id, entries.clone());
            }
            self.take(entries, &path, is_text, &mut folders)?;
        }
        Ok(())
    }

    /// Takes the entries of a folder.
    fn take(
        &mut self,
        entries: Vec<TreeEntry>,
        folder: &str,
        is_folder_text: bool,
        folders: &mut Vec<(GitObjectId, String, bool)>,
    ) -> Result<(), RunError> {
        for TreeEntry { name, mode, id } in entries {
            let (name, is_text) = match String::from_utf8(name) {
                Ok(name) => (name, is_folder_text),
                Err(error) => (escaped(error.as_bytes()), false),
            };
            let path = joined(folder, &name);
            self.entries += 1;
            self.bytes += path.len();
            if self.entries > MAXIMUM_ENTRIES || self.bytes > MAXIMUM_PATHS {
                return Err(RunError::new("the revision has too many files and folders")
                    .help(format!("at most {MAXIMUM_ENTRIES} are read; compare with a folder instead")));
            }
            let kind = match mode {
                EntryMode::Folder => {
                    folders.push((id, path, is_text));
                    continue;
                }
                _ if !is_text => EntryKind::NotText,
                EntryMode::File => EntryKind::File,
                EntryMode::Link => EntryKind::Link,
                EntryMode::Submodule => EntryKind::Submodule,
            };
            self.blobs.insert(path, (id, kind));
        }
        Ok(())
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
