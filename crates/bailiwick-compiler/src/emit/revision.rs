//! A folder as it was in a revision of git.

mod entries;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bailiwick_git::{EntryMode, GitObject, GitObjectId, Objects, Repository, TreeEntry};
use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::{MAXIMUM_ENTRIES, MAXIMUM_FILE_SIZE, MAXIMUM_PATHS_SIZE, written_size};

use self::entries::{Entries, NewEntry};
use super::committed::{EntryKind, escaped};

/// How many entries a tree may have that is kept: a tree that is asked for many times costs little for each entry anyway.
const SMALL_TREE: usize = 64;

/// How many bytes the target of a link may have, as on Linux.
const MAXIMUM_TARGET: u64 = 4096;

/// A folder as it was in a revision.
#[derive(Debug)]
pub struct RevisionTree {
    /// The id of each blob and its kind, by its path below the folder. A submodule has no blob, and is an entry all the same.
    blobs: Entries,
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
            blobs: Entries::default(),
            above: Vec::new(),
            small: HashMap::new(),
            size: WalkSize::default(),
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
    pub fn entries(&self) -> impl Iterator<Item = (String, EntryKind, GitObjectId)> {
        self.blobs.below("")
    }

    /// Returns the id of a file; none where there is no file.
    pub fn file_id(&self, path: &str) -> Option<GitObjectId> {
        self.id(path, EntryKind::File)
    }

    fn id(&self, path: &str, wanted: EntryKind) -> Option<GitObjectId> {
        self.blobs.get(path).filter(|(kind, _)| *kind == wanted).map(|(_, id)| id)
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
        self.blobs.get(path).map(|(kind, _)| kind)
    }

    /// Returns the entries below a folder, with their paths below the root, in the order of their paths. The root is an
    /// empty path.
    pub fn below<'r>(&'r self, folder: &str) -> impl Iterator<Item = (String, EntryKind)> + use<'r> {
        self.blobs.below(folder).map(|(path, kind, _)| (path, kind))
    }

    /// Reads a file of at most `most` bytes; none where there is no file. `shown` is the path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object.
    pub fn file(&self, path: &str, shown: &str, most: u64) -> Result<Option<GitObject>, RunError> {
        let Some(blob) = self.file_id(path) else { return Ok(None) };
        self.blob(&blob, shown, most).map(Some)
    }

    /// Reads the bytes of a file; none where there is no file. `shown` is the path for messages.
    ///
    /// # Errors
    /// When the repository lacks the object, or the file is too large.
    pub fn bytes(&self, path: &str, shown: &str) -> Result<Option<Vec<u8>>, RunError> {
        match self.file(path, shown, MAXIMUM_FILE_SIZE as u64)? {
            None => Ok(None),
            Some(GitObject::Bytes(bytes)) => Ok(Some(bytes)),
            Some(GitObject::TooLarge(size)) => Err(RunError::new(format!("`{shown}` has {} MiB in git", size >> 20))
                .help(format!("at most {} are read", written_size(MAXIMUM_FILE_SIZE as u64)))),
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
        let Some(blob) = self.id(path, EntryKind::Link) else { return Ok(None) };
        Ok(match self.blob(&blob, path, MAXIMUM_TARGET)? {
            GitObject::Bytes(target) => Some(target),
            GitObject::TooLarge(_) => None,
        })
    }
}

/// The way through the trees of a commit.
struct Walk<'o> {
    objects: &'o mut Objects,
    blobs: Entries,
    above: Vec<FolderAbove>,
    /// Small trees by their ids.
    small: HashMap<GitObjectId, Vec<TreeEntry>>,
    size: WalkSize,
}

/// The number of entries of a walk, and the bytes of the paths.
#[derive(Debug, Default)]
struct WalkSize {
    entries: usize,
    bytes: usize,
}

impl WalkSize {
    /// Adds an entry with a path of this many bytes.
    fn add(&mut self, path: usize) -> Result<(), RunError> {
        self.entries += 1;
        self.bytes += path;
        if self.entries <= MAXIMUM_ENTRIES && self.bytes <= MAXIMUM_PATHS_SIZE {
            return Ok(());
        }
        let paths = written_size(MAXIMUM_PATHS_SIZE as u64);
        let help = format!("at most {MAXIMUM_ENTRIES} with paths of {paths} are read; compare with a folder instead");
        Err(RunError::new("the revision has too many files and folders").help(help))
    }
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
        let mut folders = Vec::new();
        let whole = FolderToRead { id: None, path: String::new(), is_text: true, place: Entries::ROOT };
        self.take(entries, &whole, &mut folders)?;
        while let Some(folder) = folders.pop() {
            let Some(id) = folder.id else { continue };
            let entries = match self.small.get(&id) {
                Some(known) => known.clone(),
                None => self.objects.tree(&id, &folder.path)?,
            };
            if entries.len() <= SMALL_TREE && !self.small.contains_key(&id) {
                self.small.insert(id, entries.clone());
            }
            self.take(entries, &folder, &mut folders)?;
        }
        Ok(())
    }

    /// Takes the entries of a folder, and adds the folders in it to those to read.
    fn take(
        &mut self,
        entries: Vec<TreeEntry>,
        folder: &FolderToRead,
        folders: &mut Vec<FolderToRead>,
    ) -> Result<(), RunError> {
        let mut taken = Vec::with_capacity(entries.len());
        let separator = usize::from(!folder.path.is_empty());
        for TreeEntry { name, mode, id } in entries {
            let (name, is_text) = match String::from_utf8(name) {
                Ok(name) => (name, folder.is_text),
                Err(error) => (escaped(error.as_bytes()), false),
            };
            self.size.add(folder.path.len() + separator + name.len())?;
            let kind = match mode {
                EntryMode::Folder => None,
                _ if !is_text => Some(EntryKind::NotText),
                EntryMode::File => Some(EntryKind::File),
                EntryMode::Link => Some(EntryKind::Link),
                EntryMode::Submodule => Some(EntryKind::Submodule),
            };
            taken.push(NewEntry { name, is_text, kind, id });
        }
        let places = self.blobs.fill(folder.place, &mut taken);
        let below = taken.into_iter().filter(|entry| entry.kind.is_none());
        folders.extend(below.zip(places).map(|(NewEntry { name, is_text, id, .. }, place)| {
            let path = joined(&folder.path, &name);
            FolderToRead { id: Some(id), path, is_text, place }
        }));
        Ok(())
    }
}

/// A folder whose entries are to be read.
struct FolderToRead {
    /// None for the opened folder, whose entries are known.
    id: Option<GitObjectId>,
    /// Path below the opened folder.
    path: String,
    /// Whether the path is text.
    is_text: bool,
    /// The place of the folder among the entries.
    place: usize,
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_a_revision_have_limits() {
        let most = WalkSize { entries: MAXIMUM_ENTRIES - 1, bytes: MAXIMUM_PATHS_SIZE - 9 };
        for (mut size, path, is_too_large) in [
            (WalkSize { bytes: 0, ..most }, 9, false),
            (WalkSize { bytes: 0, entries: MAXIMUM_ENTRIES }, 9, true),
            (WalkSize { entries: 0, ..most }, 9, false),
            (WalkSize { entries: 0, ..most }, 10, true),
        ] {
            let found = size.add(path).err().map(|error| error.to_string());
            assert_eq!(found.is_some(), is_too_large, "{size:?}: {found:?}");
        }
    }
}
