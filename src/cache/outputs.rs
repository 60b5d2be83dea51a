//! The files of an output folder: what state they were in when their content was known.

use std::hash::BuildHasher as _;
use std::sync::Mutex;

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
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
        let places = Places::of(&self.files);
        let mut all_are = true;
        parallel::in_order(
            entries.len(),
            jobs,
            || (),
            |(), position| {
                let Some(entry) = entries.get(position) else { return false };
                let path = digest(entry.path.as_bytes());
                match places.find(&path, &self.files).and_then(|place| self.files.get(place)) {
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

/// The places of files in a list, found by the hashes of their paths.
#[derive(Debug, Default)]
struct Places {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
}

impl Places {
    fn of(files: &[KeptFile]) -> Self {
        let mut places = Self::default();
        places.table.reserve(files.len(), |_| 0);
        (0..files.len()).for_each(|place| places.add(place, files));
        places
    }

    fn add(&mut self, place: usize, files: &[KeptFile]) {
        let Self { hasher, table } = self;
        let hash_at = |place: u32| files.get(place as usize).map_or(0, |file| hasher.hash_one(file.path));
        if let Ok(place) = u32::try_from(place) {
            table.insert_unique(hash_at(place), place, |place| hash_at(*place));
        }
    }

    fn find(&self, path: &Digest, files: &[KeptFile]) -> Option<usize> {
        let is_it = |place: &u32| files.get(*place as usize).is_some_and(|file| file.path == *path);
        self.table.find(self.hasher.hash_one(path), is_it).map(|place| *place as usize)
    }
}

/// The files of an earlier run, each replaced once this run has looked at it: two lists would take twice the memory.
#[derive(Debug, Default)]
struct Record {
    files: Vec<KeptFile>,
    /// Whether this run has looked at a file.
    is_seen: Vec<bool>,
    places: Places,
    /// The hashes of the paths of files that were replaced, and that had changed since the earlier run.
    changed: HashSet<Digest>,
}

impl Record {
    fn of(files: Vec<KeptFile>) -> Self {
        let (is_seen, places) = (vec![false; files.len()], Places::of(&files));
        Self { files, is_seen, places, changed: HashSet::new() }
    }

    /// Returns a file as the earlier run recorded it, unless this run has looked at it.
    fn earlier(&self, path: &Digest) -> Option<KeptFile> {
        let place = self.places.find(path, &self.files)?;
        self.files.get(place).filter(|_| self.is_seen.get(place) == Some(&false)).copied()
    }

    /// Replaces a file, or adds it.
    fn replace(&mut self, file: KeptFile) {
        let place = self.places.find(&file.path, &self.files);
        match place.and_then(|place| self.files.get_mut(place).zip(self.is_seen.get_mut(place))) {
            Some((earlier, is_seen)) => (*earlier, *is_seen) = (file, true),
            None => {
                self.files.push(file);
                self.is_seen.push(true);
                self.places.add(self.files.len() - 1, &self.files);
            }
        }
    }

    /// Returns the files that this run has looked at.
    fn into_seen(self) -> Vec<KeptFile> {
        let Self { mut files, is_seen, .. } = self;
        let mut is_seen = is_seen.into_iter();
        files.retain(|_| is_seen.next() == Some(true));
        files
    }
}

/// An output folder that remembers which files were as they should be, and asks the states of earlier ones first.
#[derive(Debug)]
pub struct WatchedFolder {
    folder: Folder,
    /// Nanoseconds since 1970: a file that was changed after it is not settled.
    settled_before: i64,
    record: Mutex<Record>,
}

impl WatchedFolder {
    /// Returns a folder with the files that an earlier run kept. `now` is the time in nanoseconds since 1970.
    pub fn new(folder: Folder, earlier: Vec<KeptFile>, now: i64) -> Self {
        Self { folder, settled_before: now.saturating_sub(SETTLING), record: Mutex::new(Record::of(earlier)) }
    }

    /// Returns the files that were looked at so far, each as it is or as it is to be written.
    pub fn take_files(&self) -> Vec<KeptFile> {
        std::mem::take(&mut *parallel::locked(&self.record)).into_seen()
    }

    /// Whether a file changed since the earlier run; false if the record of that run does not have the file.
    pub fn was_changed(&self, path: &str, bytes: &[u8]) -> bool {
        let hash_of_path = digest(path.as_bytes());
        let record = parallel::locked(&self.record);
        match record.earlier(&hash_of_path) {
            Some(file) => file.content != digest(bytes),
            None => record.changed.contains(&hash_of_path),
        }
    }

    fn compare(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        let (hash_of_path, content) = (digest(path.as_bytes()), digest(text.as_bytes()));
        let state = self.folder.stat(path).map(State::from);
        let earlier = parallel::locked(&self.record).earlier(&hash_of_path);
        let is_known =
            earlier.is_some_and(|file| file.is_settled && Some(file.state) == state && file.content == content);
        let differing = if is_known { Differing::Same } else { self.folder.differing(path, text)? };
        // A file that is to be written has no state yet; the next run reads it.
        let to_write = State { size: text.len() as u64, ..State::default() };
        let state = state.filter(|_| differing == Differing::Same);
        let is_settled = state.is_some_and(|state| state.changed < self.settled_before);
        let file = KeptFile { path: hash_of_path, content, state: state.unwrap_or(to_write), is_settled };
        let was_changed = match (&differing, earlier) {
            (Differing::Different(bytes), Some(earlier)) => earlier.content != digest(bytes),
            _ => false,
        };
        let mut record = parallel::locked(&self.record);
        record.replace(file);
        if was_changed {
            record.changed.insert(hash_of_path);
        }
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
