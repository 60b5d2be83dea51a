//! The result of an earlier run, kept so that a `render` with nothing to do costs a look at the files.
//!
//! Compiling is a function of what the workspace answers (which files there are and what is in them) and of the program.
//! A `render` that found the output as it should be keeps every question it asked with a hash of the answer, and the state of
//! every file of the output. A later one asks the same questions again; with the same answers, of the same program, the
//! output is right as long as its files are the ones that were looked at. Questions about inputs are answered by
//! content; a file of the output is compared by its state, as git does, and else by its content.
//!
//! A `render` that wrote files keeps what it wrote, so that the next one can say which file somebody changed in between.
//!
//! `check` never opens a cache: it compiles, and reads every byte. So the worst that a cache does is a stale file, which
//! `check` finds. The cache lies where no commit and nobody else can write (`place.rs`). Whatever is wrong with it, it is as
//! if there were none: another mark or version, another workspace or program, a checksum that fails.

mod outputs;
mod place;
mod told;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, digest};
use crate::file_format::FileFormat;
use crate::source::{Answered, World};

pub use outputs::{KeptFile, KeptTarget, WatchedFolder};
pub use place::Place;
pub use told::Told;

/// Marks a cache, with the version of its format.
const FORMAT: FileFormat = FileFormat::new("bailiwick cache", "\x05");

/// How many bytes of a cache are read: a million files take a tenth.
const MAXIMUM_SIZE: u64 = 1 << 30;

/// The contents of the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The folder of the workspace: the name of the cache is a hash of it.
    pub root: String,
    /// True when the run found every file as it should be: the same inputs need no other run. Else the run wrote files, and
    /// the record holds nothing but what was in each file afterwards.
    pub is_result: bool,
    /// The program that ran: an id of its build.
    pub program: String,
    /// The day of the run, where policies hold until a day.
    pub today: Option<String>,
    /// The questions to the file system, with the answers.
    pub answers: Vec<Answered>,
    /// The warnings of the run.
    pub told: Vec<Told>,
    /// The output folder, below that of the workspace.
    pub output: String,
    /// A hash of what lies beside the folders of the targets.
    pub beside: Digest,
    /// The output of each target.
    pub targets: Vec<KeptTarget>,
}

/// The program: an id of its build. A program that was built otherwise may find something else.
const PROGRAM: &str = env!("BAILIWICK_BUILD");

/// The cache of one workspace.
#[derive(Debug)]
pub struct Cache {
    place: Place,
    name: String,
    root: String,
}

impl Cache {
    /// The cache of a workspace, in a folder that is made when something is kept.
    pub fn of(place: Place, root: &Path) -> Self {
        let root = root.to_string_lossy().into_owned();
        let name = format!("{}.cache", data_encoding::HEXLOWER.encode(&digest(root.as_bytes())));
        Self { place, name, root }
    }

    /// The record of an earlier run of this program; none where there is no such record.
    pub fn load(&self) -> Option<Kept> {
        let bytes = self.place.read(&self.name, MAXIMUM_SIZE)?;
        let kept: Kept = FORMAT.open(&bytes).ok()?;
        (kept.root == self.root && kept.program == PROGRAM).then_some(kept)
    }

    /// Forgets what an earlier run kept: it no longer holds once files are written.
    pub fn forget(&self) {
        self.place.write(&self.name, &[]);
    }

    /// Writes the results of a run. If that fails, the next run is only slower.
    pub fn save(&self, mut kept: Kept) {
        kept.root.clone_from(&self.root);
        PROGRAM.clone_into(&mut kept.program);
        if let Ok(bytes) = FORMAT.close(&kept) {
            self.place.write(&self.name, &bytes);
        }
    }
}

impl Kept {
    /// True when the workspace gives the same answers as it gave then.
    pub fn has_same_inputs(&self, world: &dyn World) -> bool {
        self.answers.iter().all(|answered| answered.holds(world))
    }

    /// The output of a target.
    pub fn target(&self, name: &str) -> Option<&KeptTarget> {
        self.targets.iter().find(|target| target.name == name)
    }
}
