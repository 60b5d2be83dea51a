//! The files of options in a confined run. The kernel can permit writing to a folder with everything in it, and not to one file: a
//! thread, started before the run is confined, writes the files of options, and takes no other path.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock};
use std::thread;

use bailiwick_base::parallel::locked;

/// A waiting write.
type Job = Box<dyn FnOnce() + Send>;

/// The thread, with the files and folders that it writes.
struct Outside {
    places: Vec<PathBuf>,
    jobs: Mutex<Sender<Job>>,
}

static OUTSIDE: OnceLock<Outside> = OnceLock::new();

/// Starts the thread for a run that is confined afterwards. The first call counts.
///
/// # Errors
/// If the thread cannot start.
pub fn keep_writing(places: &[PathBuf]) -> io::Result<()> {
    let (jobs, waiting) = mpsc::channel::<Job>();
    thread::Builder::new().spawn(move || waiting.into_iter().for_each(|job| job()))?;
    let places = places.iter().filter_map(|path| absolute(path)).collect();
    // A run in the same process has its thread already.
    _ = OUTSIDE.set(Outside { places, jobs: Mutex::new(jobs) });
    Ok(())
}

/// Whether the thread writes a file, or files below a folder.
pub(super) fn takes(path: &Path) -> bool {
    let is_of = |outside: &Outside| {
        absolute(path).is_some_and(|path| outside.places.iter().any(|place| path.starts_with(place)))
    };
    OUTSIDE.get().is_some_and(is_of)
}

/// Runs a write on the thread, and waits for its end.
///
/// # Errors
/// If the write fails, or the thread has ended.
pub(super) fn run<T: Send + 'static>(write: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (sender, result) = mpsc::channel();
    let gone = || io::Error::other("the thread that writes has ended");
    let outside = OUTSIDE.get().ok_or_else(gone)?;
    let job: Job = Box::new(move || _ = sender.send(write()));
    locked(&outside.jobs).send(job).map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

/// Returns a path from the root, without `.` and `..`.
fn absolute(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            part => normal.push(part),
        }
    }
    Some(normal)
}
