//! Writes the output: everything beside it first, then all at once.
//!
//! New contents are staged in a folder of their own inside the output folder while the run is still checking. Only
//! when every target was checked are they renamed into place and old files removed. A run killed at any moment
//! leaves each file old or new, and a staging folder that the next run clears away.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::diag::RunError;

/// The folder, inside the output folder, where new contents wait.
pub const STAGING: &str = ".bailiwick-staging";

/// Up to how many files are made durable one by one; for more, the whole file system is asked once.
const SYNCED_SINGLY: usize = 256;

/// Holds the lock of an output folder and stages files for it.
#[derive(Debug)]
pub struct Stager {
    root: PathBuf,
    staging: PathBuf,
    next: AtomicUsize,
    _lock: File,
}

/// A file that waits to be renamed into place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    staged: PathBuf,
    place: PathBuf,
}

impl Stager {
    /// Locks an output folder, which is made if need be, and clears what a killed run left. `waiting` is called when
    /// another run holds the lock.
    ///
    /// # Errors
    /// When the folder is a link or cannot be written.
    pub fn open(root: &Path, waiting: &dyn Fn()) -> Result<Self, RunError> {
        if fs::symlink_metadata(root).is_ok_and(|metadata| metadata.file_type().is_symlink()) {
            return Err(RunError::new(format!("the output folder `{}` is a symbolic link", root.display()))
                .help("name the folder itself under `spec.output`: links are not followed when writing"));
        }
        fs::create_dir_all(root).map_err(|error| RunError::io("make the folder", root, &error))?;
        let lock = File::open(root).map_err(|error| RunError::io("open", root, &error))?;
        if lock.try_lock().is_err() {
            waiting();
            lock.lock().map_err(|error| RunError::io("lock", root, &error))?;
        }
        let staging = root.join(STAGING);
        clear(&staging)?;
        Ok(Self { root: root.to_path_buf(), staging, next: AtomicUsize::new(0), _lock: lock })
    }

    /// Writes the new content of a file beside its place. Threads may stage at the same time.
    ///
    /// # Errors
    /// When the disk is full or cannot be written.
    pub fn stage(&self, path: &str, text: &str) -> Result<StagedFile, RunError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number == 0 || !self.staging.is_dir() {
            fs::create_dir_all(&self.staging).map_err(|error| RunError::io("make the folder", &self.staging, &error))?;
        }
        let staged = self.staging.join(number.to_string());
        let place = self.root.join(path);
        let written = File::create(&staged).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            if number < SYNCED_SINGLY { file.sync_data() } else { Ok(()) }
        });
        written.map_err(|error| RunError::io("write the new content of", &place, &error))?;
        Ok(StagedFile { staged, place })
    }

    /// Puts every staged file into place and removes files; folders that become empty go too.
    ///
    /// # Errors
    /// When the file system refuses; files already in place stay, and the next run does the rest.
    pub fn commit(self, staged: Vec<StagedFile>, removed: &[String]) -> Result<(), RunError> {
        if staged.len() > SYNCED_SINGLY {
            sync_file_system(&self.root);
        }
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for file in &staged {
            if let Some(folder) = file.place.parent()
                && !folders.contains(folder)
            {
                fs::create_dir_all(folder).map_err(|error| RunError::io("make the folder", folder, &error))?;
                folders.insert(folder.to_path_buf());
            }
        }
        for file in &staged {
            fs::rename(&file.staged, &file.place).map_err(|error| RunError::io("put into place", &file.place, &error))?;
        }
        for path in removed {
            let place = self.root.join(path);
            match fs::remove_file(&place) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(RunError::io("remove", &place, &error));
                }
                _ => {}
            }
            self.remove_empty_folders(&place);
        }
        for folder in folders {
            // A rename is durable once its folder is; where that cannot be asked for, the files are whole anyway.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    fn remove_empty_folders(&self, removed: &Path) {
        let mut folder = removed.parent();
        while let Some(current) = folder.filter(|current| current.starts_with(&self.root) && *current != self.root) {
            if fs::remove_dir(current).is_err() {
                break;
            }
            folder = current.parent();
        }
    }
}

impl Drop for Stager {
    fn drop(&mut self) {
        let _ = clear(&self.staging);
    }
}

/// Removes a staging folder with whatever is in it.
fn clear(staging: &Path) -> Result<(), RunError> {
    match fs::remove_dir_all(staging) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RunError::io("clear away", staging, &error))
        }
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = rustix::fs::syncfs(folder);
    }
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) {}
