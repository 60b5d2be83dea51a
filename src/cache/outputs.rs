//! The files of an output folder: what state they were in when their content was known.

use std::sync::Mutex;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::diag::RunError;
use crate::digest::{Digest, digest};
use crate::emit::committed::{Committed, Differing, Entry, FileStamp, Folder};
use crate::emit::plan::Counts;
use crate::emit::totals::Totals;
use crate::parallel;

/// The state of a file in the file system. A later write changes it, unless the write came in the very moment of the look
/// ([`KeptFile::is_settled`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    size: u64,
    /// Nanoseconds since 1970, of the content and of the file's own data.
    modified: i64,
    changed: i64,
    inode: u64,
}

impl From<FileStamp> for State {
    fn from(state: FileStamp) -> Self {
        let FileStamp { size, modified, changed, inode } = state;
        Self { size, modified, changed, inode }
    }
}

/// A file of the output whose content was right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// A hash of its path below the target's folder.
    pub path: Digest,
    /// A hash of its content.
    pub content: Digest,
    /// Its state, taken before the content was read.
    state: State,
    /// True when the file had been left alone for a while by then: a later change shows in its state.
    pub is_settled: bool,
}

/// The output files of one target after a run with correct output.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct KeptTarget {
    /// The name of the target, which is also its folder below the output folder.
    pub name: String,
    /// How many objects there are, and in how many files.
    pub objects: usize,
    /// The compiled files, in no order.
    pub files: Vec<KeptFile>,
    /// Hashes of the paths of other permitted files in the folder.
    pub others: Vec<Digest>,
}

impl KeptTarget {
    /// Returns the totals of the target: everything stays.
    pub fn totals(&self) -> Totals {
        let counts = Counts { unchanged: self.objects, ..Counts::default() };
        Totals { counts, files: self.files.len(), ..Totals::default() }
    }

    /// Returns whether the folder holds these files and no others, each as it was: by its state, else by its content. With
    /// `by_content` the state decides nothing.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn is_there(&self, folder: &Folder, jobs: usize, by_content: bool) -> Result<bool, RunError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(self.files.len());
        let mut is_plain = true;
        folder.each(&mut |entry| {
            is_plain &= entry.is_file() && !entry.path.is_empty();
            entries.push(entry);
        })?;
        if !is_plain || entries.len() != self.files.len() + self.others.len() {
            return Ok(false);
        }
        let files: HashMap<Digest, &KeptFile> = self.files.iter().map(|file| (file.path, file)).collect();
        let mut all_are = true;
        parallel::in_order(
            entries.len(),
            jobs,
            || (),
            |(), position| {
                let Some(entry) = entries.get(position) else { return false };
                let path = digest(entry.path.as_bytes());
                match files.get(&path) {
                    Some(file) => file.is_there(folder, &entry.path, by_content),
                    None => self.others.contains(&path),
                }
            },
            |_, is_one| {
                all_are &= is_one;
                is_one
            },
        );
        Ok(all_are)
    }
}

impl KeptFile {
    fn is_there(&self, folder: &Folder, path: &str, by_content: bool) -> bool {
        let Some(state) = folder.stat(path).map(State::from) else { return false };
        if state.size != self.state.size {
            return false;
        }
        let is_unchanged = !by_content && self.is_settled && state == self.state;
        is_unchanged || folder.read(path).ok().flatten().is_some_and(|bytes| digest(&bytes) == self.content)
    }
}

/// An output folder that remembers which files were as they should be, and asks the states of earlier ones first.
#[derive(Debug)]
pub struct WatchedFolder {
    folder: Folder,
    earlier: HashMap<Digest, KeptFile>,
    /// Nanoseconds since 1970: a file that was changed after it is not settled.
    settled_before: i64,
    files: Mutex<Vec<KeptFile>>,
}

impl WatchedFolder {
    /// Returns a folder with the record of an earlier run. `now` is the time in nanoseconds since 1970.
    pub fn new(folder: Folder, earlier: Option<&KeptTarget>, now: i64) -> Self {
        let files = earlier.into_iter().flat_map(|target| &target.files);
        Self {
            folder,
            earlier: files.map(|file| (file.path, *file)).collect(),
            settled_before: now.saturating_sub(SETTLING),
            files: Mutex::default(),
        }
    }

    /// Returns the files that were looked at so far, each as it is or as it is to be written.
    pub fn take_files(&self) -> Vec<KeptFile> {
        std::mem::take(&mut *self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether a file changed since the earlier run; false if the record of that run does not have the file.
    pub fn was_changed(&self, path: &str, bytes: &[u8]) -> bool {
        self.earlier.get(&digest(path.as_bytes())).is_some_and(|file| file.content != digest(bytes))
    }

    fn compare(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        let (hash_of_path, content) = (digest(path.as_bytes()), digest(text.as_bytes()));
        let state = self.folder.stat(path).map(State::from);
        let earlier = self.earlier.get(&hash_of_path);
        let is_known =
            earlier.is_some_and(|file| file.is_settled && Some(file.state) == state && file.content == content);
        let differing = if is_known { Differing::Same } else { self.folder.differing(path, text)? };
        // A file that is to be written has no state yet; the next run reads it.
        let to_write = State { size: text.len() as u64, ..State::default() };
        let state = state.filter(|_| differing == Differing::Same);
        let is_settled = state.is_some_and(|state| state.changed < self.settled_before);
        let file = KeptFile { path: hash_of_path, content, state: state.unwrap_or(to_write), is_settled };
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(file);
        Ok(differing)
    }
}

/// How long a file has to have been left alone: longer than the steps of any clock of a file system.
const SETTLING: i64 = 2_000_000_000;

impl Committed for &WatchedFolder {
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        self.compare(path, text)
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        self.folder.read(path)
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.folder.each(see)
    }
}
