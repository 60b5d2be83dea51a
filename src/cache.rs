//! The result of an earlier run, so that a `render` without changes only has to look at the files.
//!
//! Compilation is a function of the workspace (its files and their content) and of the program. A `render` with correct
//! output stores every question to the workspace with a hash of the answer, and the state of every output file. A later
//! run asks the same questions again: with the same answers and the same program, the output is correct as long as its
//! files are unchanged. Inputs are compared by content; an output file is compared by its state, as in git, and
//! otherwise by its content.
//!
//! A `render` that wrote files stores their content hashes, so that the next run can report files changed in between.
//!
//! `check` never opens a cache: it compiles, and reads every byte. So the worst effect of a cache is a stale file, and
//! `check` finds it. The cache is in a folder outside every commit and writable only by the user (`place.rs`). A cache
//! with any defect is ignored: another mark or version, another workspace or program, a wrong checksum.

mod outputs;
mod place;
mod warning;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, digest};
use crate::emit::plan::Counts;
use crate::emit::totals::Totals;
use crate::file_format::FileFormat;
use crate::source::{Answered, FileSource};

pub use outputs::{KeptFile, KeptTarget, WatchedFolder};
pub use place::Place;
pub use warning::CachedWarning;

/// Marks a cache, with the version of its format.
const FORMAT: FileFormat = FileFormat::new("bailiwick cache", "\x06");

/// How many bytes of a cache are read: a million files take a tenth.
const MAXIMUM_SIZE: u64 = 1 << 30;

/// The contents of the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The folder of the workspace: the name of the cache is a hash of it.
    pub root: String,
    /// Whether the output was correct, so that the same inputs need no other run. Otherwise the run wrote files, and
    /// the record has only their content hashes.
    pub is_result: bool,
    /// The build id of the program.
    pub program: String,
    /// The day of the run, if its warnings depend on the day.
    pub today: Option<String>,
    /// The questions to the file system, with the answers.
    pub answers: Vec<Answered>,
    /// The warnings of the run.
    pub warnings: Vec<CachedWarning>,
    /// The output folder, relative to the workspace.
    pub output: String,
    /// A hash of the entries beside the folders of the targets.
    pub beside: Digest,
    /// The output of each target.
    pub targets: Vec<KeptTarget>,
    /// The delivery folder; none without one.
    pub delivery: Option<KeptDelivery>,
}

/// A delivery folder as a run found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDelivery {
    /// The path, relative to the workspace.
    pub folder: String,
    /// The number of files, each with one object.
    pub files: usize,
    /// A hash of its entries with their contents.
    pub content: Digest,
}

impl KeptDelivery {
    /// Returns the totals of the folder: everything stays.
    pub fn totals(&self) -> Totals {
        let counts = Counts { unchanged: self.files, ..Counts::default() };
        Totals { counts, files: self.files, ..Totals::default() }
    }
}

/// The build id of the program. Another build may have other results.
const PROGRAM: &str = env!("BAILIWICK_BUILD");

/// The cache of one workspace.
#[derive(Debug)]
pub struct Cache {
    place: Place,
    name: String,
    root: String,
}

impl Cache {
    /// Opens the cache of a workspace; its folder is created by the first save.
    pub fn new(place: Place, root: &Path) -> Self {
        let root = root.to_string_lossy().into_owned();
        let name = format!("{}.cache", data_encoding::HEXLOWER.encode(&digest(root.as_bytes())));
        Self { place, name, root }
    }

    /// Returns the record of an earlier run of this program, if any.
    pub fn load(&self) -> Option<Kept> {
        let bytes = self.place.read(&self.name, MAXIMUM_SIZE)?;
        let kept: Kept = FORMAT.open(&bytes).ok()?;
        (kept.root == self.root && kept.program == PROGRAM).then_some(kept)
    }

    /// Removes the record: it is invalid once files are written.
    pub fn forget(&self) {
        self.place.write(&self.name, &|_| Ok(()));
    }

    /// Writes the results of a run. After a failure the next run is only slower.
    pub fn save(&self, mut kept: Kept) {
        kept.root.clone_from(&self.root);
        PROGRAM.clone_into(&mut kept.program);
        self.place.write(&self.name, &|out| FORMAT.write(&kept, out));
    }
}

impl Kept {
    /// Whether the workspace gives the same answers as before.
    pub fn has_same_inputs(&self, world: &dyn FileSource) -> bool {
        self.answers.iter().all(|answered| answered.holds(world))
    }

    /// Returns the output of a target.
    pub fn target(&self, name: &str) -> Option<&KeptTarget> {
        self.targets.iter().find(|target| target.name == name)
    }
}
