//! Writes the output: everything beside it first, then all at once.
//!
//! New contents are staged in a folder of their own inside the output folder, in the tree they will have, while the
//! run is still checking. Only when every target was checked are they renamed into place and old files removed. A
//! run killed at any moment leaves each file old or new, and a staging folder that the next run clears away.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bailiwick_base::parallel::locked;
use bailiwick_yaml::diag::RunError;

use super::paths::Paths;
use super::writer::{self, WritableFolder, failure, split};

/// The folder, inside the output folder, where new contents wait.
pub const STAGING: &str = ".bailiwick-staging";

/// Up to how many replaced files are made durable one by one; for more, the whole file system is asked once.
const SYNCED_SINGLY: usize = 64;

/// How many folders of the staging tree stay open.
const MAXIMUM_OPEN: usize = 64;

/// Whether a run that writes holds the lock of an output folder.
pub fn is_at_work(root: &Path) -> bool {
    writer::is_locked(root)
}

/// Holds the lock of an output folder and stages files for it.
#[derive(Debug)]
pub struct Stager {
    workspace: WritableFolder,
    root: WritableFolder,
    staging: WritableFolder,
    /// Open folders of the staging tree.
    folders: Mutex<HashMap<String, Arc<WritableFolder>>>,
    /// The files that wait to be renamed into place, by their paths below the output folder.
    staged: Mutex<Paths>,
    replaced: AtomicUsize,
    /// The new folders, from the output folder upwards, by their paths below the workspace: a failed run leaves none behind.
    made: Vec<String>,
}

/// Returns the first link on the path from a workspace's root to its output folder, the folder included.
pub fn link_on_the_way(output: &str, is_link: impl Fn(&str) -> bool) -> Option<&str> {
    on_the_way(output).find(|part| is_link(part))
}

/// Iterates over the folders from a workspace's root to its output folder, the folder included.
fn on_the_way(output: &str) -> impl DoubleEndedIterator<Item = &str> {
    let ends = output.match_indices('/').map(|(end, _)| end).chain([output.len()]);
    ends.filter_map(|end| output.get(..end))
}

impl Stager {
    /// Locks the output folder of a workspace, which is made if need be, and clears what a killed run left. `waiting` is
    /// called when another run holds the lock.
    ///
    /// # Errors
    /// When the folder is a link, lies behind one, or cannot be written.
    pub fn open(workspace: &Path, output: &str, waiting: &dyn Fn()) -> Result<Self, RunError> {
        let is_link = |path: &str| workspace.join(path).is_symlink();
        if let Some(link) = link_on_the_way(output, is_link) {
            let what = if link == output {
                "is a symbolic link".to_owned()
            } else {
                format!("lies behind the symbolic link `{link}`")
            };
            return Err(RunError::new(format!("the output folder `{output}` {what}"))
                .help("name the folder itself under `spec.output`: links are not followed when writing"));
        }
        let path = workspace.join(output);
        let failed = |doing: &'static str| {
            let path = path.clone();
            move |error: std::io::Error| failure(doing, &path, &error)
        };
        let workspace = WritableFolder::open(workspace).map_err(failed("make the folder"))?;
        let is_missing = |folder: &&str| workspace.below(folder).is_err();
        let made = on_the_way(output).rev().take_while(is_missing).map(str::to_owned).collect();
        let root = workspace.make_below(output).map_err(failed("make the folder"))?;
        if !root.lock(false).is_ok_and(|is_taken| is_taken) {
            waiting();
            root.lock(true).map_err(failed("lock"))?;
        }
        let at = path.join(STAGING);
        root.remove_all(STAGING).map_err(|error| failure("clear away", &at, &error))?;
        let staging = root.make_below(STAGING).map_err(|error| failure("make the folder", &at, &error))?;
        Ok(Self {
            workspace,
            root,
            staging,
            folders: Mutex::default(),
            staged: Mutex::default(),
            replaced: AtomicUsize::new(0),
            made,
        })
    }

    /// Writes the new content of a file, by its path below the output folder, beside its place. Threads can stage at
    /// the same time. The replacement of an earlier file is durable before the replacement takes place; a new file that
    /// is torn by a crash of the machine is repaired by the next run ([`super::file::ownership`]).
    ///
    /// # Errors
    /// If the disk is full or cannot be written, or the path leaves the output folder.
    pub fn stage(&self, path: &str, text: &str, replaces: bool) -> Result<(), RunError> {
        let (folder, name) = split(path);
        let sync = replaces && self.replaced.fetch_add(1, Ordering::Relaxed) < SYNCED_SINGLY;
        let written = self.staging_folder(folder).and_then(|folder| folder.write_new(name, text.as_bytes(), sync));
        written.map_err(|error| failure("write the new content of", &self.root.path().join(path), &error))?;
        locked(&self.staged).add(path);
        Ok(())
    }

    /// Returns a folder of the staging tree.
    fn staging_folder(&self, path: &str) -> std::io::Result<Arc<WritableFolder>> {
        let mut folders = locked(&self.folders);
        if let Some(known) = folders.get(path) {
            return Ok(Arc::clone(known));
        }
        let opened = Arc::new(self.staging.make_below(path)?);
        if folders.len() < MAXIMUM_OPEN {
            folders.insert(path.to_owned(), Arc::clone(&opened));
        }
        Ok(opened)
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
        let failed = |doing: &'static str, path: &str| {
            let path = self.root.path().join(path);
            move |error: std::io::Error| failure(doing, &path, &error)
        };
        if self.replaced.load(Ordering::Relaxed) > SYNCED_SINGLY {
            self.root.sync_file_system().or_else(accept_without_sync).map_err(failed("sync", ""))?;
        }
        let staged = std::mem::take(&mut *locked(&self.staged));
        let is_durable = self.replaced.load(Ordering::Relaxed) > 0;
        let mut touched: Vec<&str> = Vec::new();
        let mut moved: Option<&str> = None;
        for (folder, names) in staged.folders() {
            if moved.is_some_and(|moved| Path::new(folder).starts_with(moved)) {
                continue;
            }
            // A folder that is not there yet comes as a whole: one rename instead of one for each file in it.
            if let Some(new) = self.first_missing(folder) {
                let (above, name) = split(new);
                self.put(above, [name].into_iter())?;
                moved = Some(new);
            } else {
                self.put(folder, names.into_iter())?;
                touched.push(folder);
            }
        }
        for path in removed {
            let (folder, name) = split(path);
            match self.root.below(folder) {
                Ok(folder) => folder.remove_file(name).map_err(failed("remove", path))?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", path)(error)),
            }
            self.remove_empty_folders(folder);
        }
        for folder in touched.into_iter().filter(|_| is_durable) {
            // A rename is durable once its folder is.
            let synced = self.root.below(folder).and_then(|folder| folder.sync()).or_else(accept_without_sync);
            synced.map_err(failed("sync the folder", folder))?;
        }
        Ok(())
    }

    /// Returns the first folder on a path below the output folder that is not there.
    fn first_missing<'p>(&self, path: &'p str) -> Option<&'p str> {
        let mut folder = self.root.below("").ok()?;
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(end, _)| end + 1));
        for (start, end) in starts.zip(ends).filter(|(start, end)| start < end) {
            let name = path.get(start..end)?;
            if !folder.has(name) {
                return path.get(..end);
            }
            folder = folder.below(name).ok()?;
        }
        None
    }

    /// Moves entries of a folder from the staging tree into the output folder.
    fn put<'n>(&self, folder: &str, mut names: impl Iterator<Item = &'n str>) -> Result<(), RunError> {
        let place = self.root.path().join(folder);
        let opened = self.staging.below(folder).and_then(|from| Ok((from, self.root.below(folder)?)));
        let (from, to) = opened.map_err(|error| failure("open", &place, &error))?;
        names.try_for_each(|name| {
            from.rename(name, &to).map_err(|error| failure("put into place", &place.join(name), &error))
        })
    }

    fn remove_empty_folders(&self, folder: &str) {
        let mut folder = folder;
        while !folder.is_empty() {
            let (above, name) = split(folder);
            if !self.root.below(above).is_ok_and(|above| above.remove_empty(name)) {
                break;
            }
            folder = above;
        }
    }
}

impl Drop for Stager {
    fn drop(&mut self) {
        let _ = self.root.remove_all(STAGING);
        for folder in &self.made {
            let (above, name) = split(folder);
            // Refused by the system when there is output in it.
            if !self.workspace.below(above).is_ok_and(|above| above.remove_empty(name)) {
                break;
            }
        }
    }
}

/// Accepts a file system that cannot sync a folder: the files are whole anyway.
fn accept_without_sync(error: std::io::Error) -> std::io::Result<()> {
    use std::io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    /// EINVAL and EOPNOTSUPP are accepted; EIO, ENOSPC and EDQUOT are not.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_cannot_sync_is_accepted_and_a_lost_write_is_not() {
        let errors = [(22, true), (95, true), (5, false), (28, false), (122, false)];
        for (number, is_accepted) in errors {
            let error = std::io::Error::from_raw_os_error(number);
            assert_eq!(super::accept_without_sync(error).is_ok(), is_accepted, "{number}");
        }
    }

    #[test]
    fn a_run_without_output_leaves_no_folder() {
        let workspace = tempfile::tempdir().expect("a folder");
        let entries = || std::fs::read_dir(workspace.path()).expect("a folder").count();
        drop(super::Stager::open(workspace.path(), "a/b/c", &|| ()).expect("a lock"));
        assert_eq!(entries(), 0);
        let stager = super::Stager::open(workspace.path(), "a/b/c", &|| ()).expect("a lock");
        stager.stage("x.yaml", "x: 1\n", false).expect("a staged file");
        stager.commit(&[]).expect("a written file");
        drop(super::Stager::open(workspace.path(), "a/b/c", &|| ()).expect("a lock"));
        drop(super::Stager::open(workspace.path(), "a/d", &|| ()).expect("a lock"));
        assert!(workspace.path().join("a/b/c/x.yaml").is_file());
        assert!(!workspace.path().join("a/d").exists());
    }
}
