//! The options of a run, and its events.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bailiwick_base::stats::Stats;
use bailiwick_compiler::compile;
use bailiwick_policy::model::Date;
use bailiwick_policy::source::InputFiles;

/// The options of a run.
#[derive(Clone, Default)]
pub struct Options {
    /// The folder in which the run starts. Relative paths begin here. Default: the current folder.
    pub directory: Option<PathBuf>,
    /// The files that the other options name, and the workspace. Default: the files of the system.
    pub inputs: InputFiles,
    /// The number of threads. Default: one for each core.
    pub jobs: Option<usize>,
    /// The day on which grants are judged as expired. Without it no grant is reported as expired.
    pub today: Option<Date>,
    /// The measurements of the run.
    pub stats: Arc<Stats>,
    /// The function that is called with each event of the run.
    pub listener: Option<Listener>,
}

/// A function that is called with the events of a run.
pub type Listener = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// An event of a run that takes long.
#[derive(Debug, Clone, Copy)]
pub enum Event<'e> {
    /// Some output files of a target are compiled.
    Compiling {
        /// The name of the target.
        target: &'e str,
        /// How many files are compiled.
        done: usize,
        /// How many files the target has.
        total: usize,
    },
    /// All output files of a target are compiled.
    Compiled,
    /// The run waits for another run that writes the output.
    Waiting,
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directory, inputs: _, jobs, today, stats: _, listener: _ } = self;
        formatter
            .debug_struct("Options")
            .field("directory", directory)
            .field("jobs", jobs)
            .field("today", today)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Returns the options of a run that starts in a folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { directory: Some(folder.into()), ..Self::default() }
    }

    /// Returns a path as seen from the folder in which the run starts.
    pub fn at(&self, path: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| path.to_owned(), |start| start.join(path))
    }

    /// Returns the path of an input as [`Options::at`] does; `-` is standard input.
    pub fn input_at(&self, path: &Path) -> PathBuf {
        if path.as_os_str() == "-" { path.to_owned() } else { self.at(path) }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        // To count the cores, the system's limits are read from files.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = || *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        // There is one thread in a browser, whatever the options want.
        if cfg!(target_family = "wasm") { 1 } else { self.jobs.unwrap_or_else(cores) }
    }

    /// Returns the options of the compiler.
    pub fn compiler(&self) -> compile::CompileOptions<'_> {
        compile::CompileOptions::new(self.threads(), &self.stats)
    }

    /// Calls the listener.
    pub fn tell(&self, event: Event<'_>) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }
}
