//! Writes the output: everything beside it first, then all at once.
//!
//! New contents are staged in a folder of their own inside the output folder, in the tree they will have, while the
//! run is still checking. Only when every target was checked are they renamed into place and old files removed. A
//! run killed at any moment leaves each file old or new, and a staging folder that the next run clears away.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::paths::Paths;
use crate::diag::RunError;
use crate::parallel::locked;

/// The folder, inside the output folder, where new contents wait.
pub const STAGING: &str = ".bailiwick-staging";

/// Up to how many replaced files are made durable one by one; for more, the whole file system is asked once.
const SYNCED_SINGLY: usize = 64;

/// Writes a file outside the output. A concurrent reader finds the old file or the new file.
///
/// # Errors
/// If the file cannot be written; nothing is left behind.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    replace_with(path, &|out| out.write_all(bytes))
}

/// Writes the content of a file.
pub type Content<'c> = dyn Fn(&mut dyn Write) -> std::io::Result<()> + 'c;

/// Writes a file as [`replace`] does, by a function for its content.
///
/// # Errors
/// If the file cannot be written; nothing is left behind.
pub fn replace_with(path: &Path, content: &Content<'_>) -> std::io::Result<()> {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let replaced = write_and_close(&beside, content, false).and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        _ = fs::remove_file(&beside);
    }
    replaced
}

/// Removes a file or a link outside the output, if there is one. Another run can remove it at the same time.
///
/// # Errors
/// If the file cannot be removed.
pub fn remove(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() || found.is_symlink() => {}
        Ok(_) | Err(_) => return Ok(()),
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Writes files outside the output, with their folders. Every file is written beside its place first, so that a full disk changes
/// nothing.
///
/// # Errors
/// If a folder cannot be made or a file cannot be written.
pub fn replace_all<'f>(files: impl Iterator<Item = (&'f Path, &'f str)>) -> Result<(), RunError> {
    let mut staged: Vec<(PathBuf, &Path)> = Vec::new();
    let mut made: HashSet<&Path> = HashSet::new();
    let written = files.into_iter().try_for_each(|(path, text)| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| made.insert(parent)) {
            fs::create_dir_all(parent).map_err(|error| RunError::io("make the folder", parent, &error))?;
        }
        let mut beside = path.to_path_buf().into_os_string();
        beside.push(format!(".{}.tmp", std::process::id()));
        let beside = PathBuf::from(beside);
        staged.push((beside.clone(), path));
        write_and_close(&beside, &|out| out.write_all(text.as_bytes()), false)
            .map_err(|error| RunError::io("write", path, &error))
    });
    let moved = written.and_then(|()| {
        staged.iter().try_for_each(|(beside, path)| {
            fs::rename(beside, path).map_err(|error| RunError::io("write", path, &error))
        })
    });
    if moved.is_err() {
        for (beside, _) in &staged {
            // A file that was moved is no longer there.
            _ = fs::remove_file(beside);
        }
    }
    moved
}

/// Writes a new file. A network file system may report only when the file is closed that a write failed, so the result of the
/// close counts.
fn write_and_close(path: &Path, content: &Content<'_>, sync: bool) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    content(&mut file)?;
    if sync {
        file.sync_data()?;
    }
    close(file)
}

#[cfg(unix)]
fn close(file: File) -> std::io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

#[cfg(not(unix))]
fn close(_: File) -> std::io::Result<()> {
    Ok(())
}

/// Whether a run that writes holds the lock of an output folder.
#[expect(clippy::disallowed_methods, reason = "a folder is opened for its lock, and nothing is read from it")]
pub fn is_at_work(root: &Path) -> bool {
    File::open(root).is_ok_and(|lock| matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// Holds the lock of an output folder and stages files for it.
#[derive(Debug)]
pub struct Stager {
    root: PathBuf,
    staging: PathBuf,
    /// Folders of the staging tree that are there already.
    folders: Mutex<HashSet<String>>,
    /// The files that wait to be renamed into place, by their paths below the output folder.
    staged: Mutex<Paths>,
    replaced: AtomicUsize,
    /// True when the output folder was not there before: a run that fails leaves none behind.
    made_root: bool,
    lock: File,
}

/// Returns the first link on the path from a workspace's root to its output folder, the folder included.
pub fn link_on_the_way(output: &str, is_link: impl Fn(&str) -> bool) -> Option<&str> {
    let ends = output.match_indices('/').map(|(end, _)| end).chain([output.len()]);
    ends.filter_map(|end| output.get(..end)).find(|part| is_link(part))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Stager {
    /// Locks the output folder of a workspace, which is made if need be, and clears what a killed run left. `waiting` is
    /// called when another run holds the lock.
    ///
    /// # Errors
    /// When the folder is a link, lies behind one, or cannot be written.
    pub fn open(workspace: &Path, output: &str, waiting: &dyn Fn()) -> Result<Self, RunError> {
        let is_link = |path: &str| {
            fs::symlink_metadata(workspace.join(path)).is_ok_and(|metadata| metadata.file_type().is_symlink())
        };
        if let Some(link) = link_on_the_way(output, is_link) {
            let what = if link == output {
                "is a symbolic link".to_owned()
            } else {
                format!("lies behind the symbolic link `{link}`")
            };
            return Err(RunError::new(format!("the output folder `{output}` {what}"))
                .help("name the folder itself under `spec.output`: links are not followed when writing"));
        }
        let root = &workspace.join(output);
        let made_root = !root.exists();
        fs::create_dir_all(root).map_err(|error| RunError::io("make the folder", root, &error))?;
        let lock = open_folder(root).map_err(|error| RunError::io("open", root, &error))?;
        if lock.try_lock().is_err() {
            waiting();
            lock.lock().map_err(|error| RunError::io("lock", root, &error))?;
        }
        let staging = root.join(STAGING);
        clear(&staging)?;
        Ok(Self {
            root: root.to_path_buf(),
            staging,
            folders: Mutex::default(),
            staged: Mutex::default(),
            replaced: AtomicUsize::new(0),
            made_root,
            lock,
        })
    }

    /// Writes the new content of a file, by its path below the output folder, beside its place. Threads can stage at
    /// the same time. The replacement of an earlier file is durable before the replacement takes place; a new file that
    /// is torn by a crash of the machine is repaired by the next run ([`super::file::ownership`]).
    ///
    /// # Errors
    /// If the disk is full or cannot be written.
    pub fn stage(&self, path: &str, text: &str, replaces: bool) -> Result<(), RunError> {
        let staged = self.staging.join(path);
        let folder = folder_of(path);
        let mut folders = locked(&self.folders);
        if !folders.contains(folder) {
            let folder_path = self.staging.join(folder);
            fs::create_dir_all(&folder_path).map_err(|error| RunError::io("make the folder", &folder_path, &error))?;
            folders.insert(folder.to_owned());
        }
        drop(folders);
        let sync = replaces && self.replaced.fetch_add(1, Ordering::Relaxed) < SYNCED_SINGLY;
        let written = write_and_close(&staged, &|out| out.write_all(text.as_bytes()), sync);
        written.map_err(|error| RunError::io("write the new content of", &self.root.join(path), &error))?;
        locked(&self.staged).add(path);
        Ok(())
    }

    /// Returns the number of staged files.
    pub fn count(&self) -> usize {
        locked(&self.staged).len()
    }

    /// Puts every staged file into place and removes files; folders that become empty go too.
    ///
    /// # Errors
    /// When the file system refuses; files already in place stay, and the next run does the rest.
    pub fn commit(self, removed: &[String]) -> Result<(), RunError> {
        if self.replaced.load(Ordering::Relaxed) > SYNCED_SINGLY {
            sync_file_system(&self.lock).map_err(|error| RunError::io("sync", &self.root, &error))?;
        }
        let staged = std::mem::take(&mut *locked(&self.staged));
        let mut touched: Vec<PathBuf> = Vec::new();
        let mut moved: Option<PathBuf> = None;
        for (folder, names) in staged.folders() {
            let folder = Path::new(folder);
            if moved.as_ref().is_some_and(|moved| folder.starts_with(moved)) {
                continue;
            }
            // A folder that is not there yet comes as a whole: one rename instead of one for each file in it.
            let missing =
                folder.ancestors().filter(|part| !part.as_os_str().is_empty() && !self.root.join(part).exists());
            match missing.last() {
                Some(new) => {
                    self.put(new)?;
                    moved = Some(new.to_path_buf());
                }
                None => {
                    names.iter().try_for_each(|name| self.put(&folder.join(name)))?;
                    touched.push(self.root.join(folder));
                }
            }
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
        if self.replaced.load(Ordering::Relaxed) > 0 {
            for folder in touched {
                // A rename is durable once its folder is.
                let synced = open_folder(&folder).and_then(|folder| folder.sync_all());
                synced
                    .or_else(accept_without_sync)
                    .map_err(|error| RunError::io("sync the folder", &folder, &error))?;
            }
        }
        Ok(())
    }

    fn put(&self, path: &Path) -> Result<(), RunError> {
        let place = self.root.join(path);
        fs::rename(self.staging.join(path), &place).map_err(|error| RunError::io("put into place", &place, &error))
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
        if self.made_root {
            // Refused by the system when there is output in it.
            let _ = fs::remove_dir(&self.root);
        }
    }
}

/// Removes a staging folder with whatever is in it, and whatever has its name.
fn clear(staging: &Path) -> Result<(), RunError> {
    let cleared = match fs::remove_dir_all(staging) {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => fs::remove_file(staging),
        cleared => cleared,
    };
    match cleared {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunError::io("clear away", staging, &error)),
        _ => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "a folder is opened to lock and to sync it; nothing is read")]
fn open_folder(folder: &Path) -> std::io::Result<File> {
    File::open(folder)
}

/// Makes every staged file durable. The folder was opened before they were written, so a write that failed since is an error here.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &File) -> std::io::Result<()> {
    rustix::fs::syncfs(folder).map_err(std::io::Error::from).or_else(accept_without_sync)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &File) -> std::io::Result<()> {
    Ok(())
}

/// Accepts a file system that cannot sync a folder: the files are whole anyway.
fn accept_without_sync(error: std::io::Error) -> std::io::Result<()> {
    use std::io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twins of a part remove its earlier summary at the same time.
    #[test]
    fn a_file_is_removed_by_several_runs_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for _ in 0..2000 {
            fs::write(&path, b"old").expect("a file");
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| remove(&path).expect("it is removed, here or there"));
                }
            });
            assert!(!path.exists());
        }
    }

    /// EINVAL and EOPNOTSUPP are accepted; EIO, ENOSPC and EDQUOT are not.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_cannot_sync_is_accepted_and_a_lost_write_is_not() {
        let errors = [(22, true), (95, true), (5, false), (28, false), (122, false)];
        for (number, is_accepted) in errors {
            let error = std::io::Error::from_raw_os_error(number);
            assert_eq!(accept_without_sync(error).is_ok(), is_accepted, "{number}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        replace(&path, b"old").expect("it is written");
        replace(&path, b"new").expect("it is written again");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        let taken = folder.path().join("folder");
        fs::create_dir_all(taken.join("full")).expect("a folder");
        assert!(replace(&taken, b"new").is_err());
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}
