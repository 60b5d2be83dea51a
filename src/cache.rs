//! What an earlier run found, so that a run with nothing to do costs a look at the files.
//!
//! Compiling is a function of what the workspace answers (which files there are and what is in them) and of the program.
//! A run that found the output as it should be keeps every question it asked with a hash of the answer, and the state of
//! every file of the output. A later run asks the same questions again; with the same answers, of the same program, the
//! output is right as long as its files are the ones that were looked at. Questions about inputs are answered by
//! content; files of the output are told by their state ([`State`]), as git does, and else by their content.
//!
//! The cache lies in a folder of its own. Whatever is wrong with it, it is as if there were none: another mark or version,
//! another workspace or program, a checksum that fails. Nothing else depends on it.

mod outputs;
mod told;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::emit::write;
use crate::sealed::Seal;
use crate::source::{Answered, World};

pub use outputs::{KeptFile, KeptTarget, State, WatchedFolder};
pub use told::Told;

/// Marks a cache, with the version of its format.
const SEAL: Seal = Seal::new("bailiwick cache", "\x03");

/// How many bytes of a cache are read: a million files take a tenth.
const MAXIMUM_SIZE: u64 = 1 << 30;

/// What a run keeps.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The folder of the workspace: the name of the cache is a hash of it.
    pub root: String,
    /// The program that ran.
    pub program: Program,
    /// The day of the run, where policies hold until a day.
    pub today: Option<String>,
    /// What was asked of the workspace.
    pub answers: Vec<Answered>,
    /// What was said beside the result.
    pub told: Vec<Told>,
    /// The output folder, below that of the workspace.
    pub output: String,
    /// A hash of what lies beside the folders of the targets.
    pub beside: u128,
    /// The output of each target.
    pub targets: Vec<KeptTarget>,
}

/// The program, by its content. Reading all of it takes longer than a whole run, so its state stands for it while that
/// stays the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    state: State,
    content: u128,
}

impl Program {
    #[expect(clippy::disallowed_methods, reason = "the program itself")]
    /// The running program; `known` is what an earlier run knew of it. None where it cannot be read.
    pub fn running(known: Option<Program>) -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        let state = State::of(&path)?;
        let content = match known.filter(|known| known.state == state) {
            Some(known) => known.content,
            None => xxh3_128(&std::fs::read(&path).ok()?),
        };
        Some(Self { state, content })
    }

    /// True for the same program, wherever it lies.
    pub fn is_same(self, other: Program) -> bool {
        self.content == other.content
    }
}

/// The cache of one workspace.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    root: String,
}

impl Cache {
    /// The cache of a workspace, in a folder that is made when something is kept.
    pub fn of(folder: &Path, root: &Path) -> Self {
        let root = root.to_string_lossy().into_owned();
        Self { path: folder.join(format!("{:016x}.cache", xxh3_64(root.as_bytes()))), root }
    }

    /// What an earlier run kept; none when there is nothing, or something that is not ours.
    #[expect(clippy::disallowed_methods, reason = "the cache is a file of this program")]
    pub fn load(&self) -> Option<Kept> {
        std::fs::metadata(&self.path).ok().filter(|file| file.is_file() && file.len() <= MAXIMUM_SIZE)?;
        let bytes = std::fs::read(&self.path).ok()?;
        let kept: Kept = SEAL.open(&bytes).ok()?;
        (kept.root == self.root).then_some(kept)
    }

    /// Keeps what a run found. Where that is not possible the next run is slower, and nothing else.
    pub fn save(&self, kept: &Kept) {
        let Ok(bytes) = SEAL.close(kept) else { return };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        _ = std::fs::create_dir_all(folder).and_then(|()| write::replace(&self.path, &bytes));
    }

    /// The folder of the workspace.
    pub fn root(&self) -> &str {
        &self.root
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
