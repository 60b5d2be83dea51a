//! The door for writing: the only module that makes, changes or removes a file.
//!
//! A file is written below a folder that is open. Each step from there follows no link: the path of a file can come from the
//! content of a workspace. A file of an option is replaced at once: a concurrent reader finds the old file or the new one.
//!
//! INVARIANT: a path below a folder does not leave the folder. The name of a temporary file cannot be guessed, and nothing that is
//! there already is opened under it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bailiwick_yaml::diag::RunError;

mod outside;
#[cfg_attr(not(unix), path = "writer/no_system.rs")]
mod system;

pub use outside::keep_writing;
pub use system::is_locked;

/// Writes a file of the command line, as a whole.
///
/// A link to a regular file is replaced, and the file behind it stays as it is. A device, a named pipe or a descriptor of this process
/// is written in place, also behind a link.
///
/// # Errors
/// If the file cannot be written; nothing is left behind.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if !outside::takes(path) {
        return replace_here(path, bytes);
    }
    let (path, bytes) = (path.to_owned(), bytes.to_owned());
    outside::run(move || replace_here(&path, &bytes))
}

fn replace_here(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = named(path)?;
    let folder = WritableFolder::open(folder)?;
    match system::open_in_place(&folder.system, path, name)? {
        Some(file) => system::write_and_close(file, bytes, false),
        None => folder.replace(name, bytes),
    }
}

/// Whether something is at a path that a written file replaces: what is written in place is not replaced.
pub fn is_replaced(path: &Path) -> bool {
    let is_in_place = || {
        let (folder, name) = named(path)?;
        system::is_in_place(&WritableFolder::open(folder)?.system, path, name)
    };
    path.symlink_metadata().is_ok() && !is_in_place().is_ok_and(|is_in_place| is_in_place)
}

/// Appends a text to a file that the CI names, and makes the file if need be.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, text: &str) -> io::Result<()> {
    let append =
        |path: &Path, text: &str| system::write_and_close(system::open_to_append(path)?, text.as_bytes(), false);
    if !outside::takes(path) {
        return append(path, text);
    }
    let (path, text) = (path.to_owned(), text.to_owned());
    outside::run(move || append(&path, &text))
}

/// Removes a file or a link of the command line, if there is one that a written file replaces. Another run can remove it at the same time.
///
/// # Errors
/// If the file cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if (found.is_file() || found.is_symlink()) && is_replaced(path) => {}
        Ok(_) | Err(_) => return Ok(()),
    }
    let remove = |path: &Path| {
        let (folder, name) = named(path)?;
        accept_missing(WritableFolder::open(folder).and_then(|folder| folder.system.remove_file(name)))
    };
    if !outside::takes(path) {
        return remove(path);
    }
    let path = path.to_owned();
    outside::run(move || remove(&path))
}

/// Removes a file below a folder, if there is one.
///
/// # Errors
/// If the path leaves the folder, a link is on it, or the file cannot be removed.
pub fn remove_below(root: &Path, path: &str) -> Result<(), RunError> {
    let remove = |root: &Path, path: &str| {
        let (folder, name) = split(path);
        WritableFolder::open(root)?.below(folder)?.remove_file(name)
    };
    let removed = if outside::takes(root) {
        let (root, path) = (root.to_owned(), path.to_owned());
        outside::run(move || remove(&root, &path))
    } else {
        remove(root, path)
    };
    removed.map_err(|error| failure("remove", &root.join(path), &error))
}

/// The place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenPlace {
    /// A file of the command line.
    Named(PathBuf),
    /// A file below a folder of the command line, by a path with forward slashes.
    Below(PathBuf, String),
}

impl WrittenPlace {
    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Below(folder, path) => folder.join(path),
        }
    }
}

/// A file with waiting content.
enum Waiting<'f> {
    /// The content is in a file of this name, beside the file.
    Beside(WritableFolder, String),
    /// The file is written in place.
    InPlace(system::File, &'f str),
}

/// Writes files with their folders. Every file is written beside its place first, so that a full disk changes nothing.
///
/// # Errors
/// If a folder cannot be made, a file cannot be written, or a path leaves its folder.
pub fn replace_all<'f>(files: impl Iterator<Item = (WrittenPlace, &'f str)>) -> Result<(), RunError> {
    let files: Vec<(WrittenPlace, &str)> = files.collect();
    if !files.iter().any(|(place, _)| outside::takes(&place.path())) {
        return replace_all_here(files);
    }
    let owned: Vec<(WrittenPlace, String)> = files.into_iter().map(|(place, text)| (place, text.to_owned())).collect();
    let written: io::Result<Result<(), RunError>> = outside::run(move || {
        Ok(replace_all_here(owned.iter().map(|(place, text)| (place.clone(), text.as_str())).collect()))
    });
    written.map_err(|error| RunError::new(error.to_string()))?
}

fn replace_all_here(files: Vec<(WrittenPlace, &str)>) -> Result<(), RunError> {
    let mut staged: Vec<(PathBuf, Waiting<'_>)> = Vec::new();
    let written = files.into_iter().try_for_each(|(place, text)| {
        let path = place.path();
        let waiting = wait(&place, text).map_err(|error| failure("write", &path, &error))?;
        staged.push((path, waiting));
        Ok(())
    });
    let moved = written.and_then(|()| {
        staged.iter_mut().try_for_each(|(path, waiting)| {
            let moved = match waiting {
                Waiting::Beside(folder, temporary) => {
                    named(path).and_then(|(_, name)| folder.system.rename(temporary.as_ref(), &folder.system, name))
                }
                Waiting::InPlace(file, text) => file.write_all(text.as_bytes()),
            };
            moved.map_err(|error| RunError::io("write", path, &error))
        })
    });
    if moved.is_err() {
        for (_, waiting) in &staged {
            if let Waiting::Beside(folder, temporary) = waiting {
                // A file that was moved is no longer there.
                _ = folder.system.remove_file(temporary.as_ref());
            }
        }
    }
    moved
}

/// Makes the folder of a file, and writes the content beside the file.
fn wait<'f>(place: &WrittenPlace, text: &'f str) -> io::Result<Waiting<'f>> {
    let folder = match place {
        WrittenPlace::Named(path) => {
            let (folder, name) = named(path)?;
            system::make_folder(folder)?;
            let folder = WritableFolder::open(folder)?;
            if let Some(file) = system::open_in_place(&folder.system, path, name)? {
                return Ok(Waiting::InPlace(file, text));
            }
            folder
        }
        WrittenPlace::Below(root, path) => {
            system::make_folder(root)?;
            let (folder, _) = split(path);
            parts(path)?;
            WritableFolder::open(root)?.make_below(folder)?
        }
    };
    let temporary = folder.write_temporary(text.as_bytes())?;
    Ok(Waiting::Beside(folder, temporary))
}

/// Makes a folder with files, by their paths with forward slashes, where nothing or an empty folder is. The files are written into a
/// folder beside it first: a killed run leaves no half of them.
///
/// # Errors
/// When the folder has a file, or a file cannot be written.
pub fn make_filled_folder(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), RunError> {
    if !outside::takes(path) {
        return make_filled_folder_here(path, files);
    }
    let (path, files) = (path.to_owned(), files.clone());
    let made: io::Result<Result<(), RunError>> = outside::run(move || Ok(make_filled_folder_here(&path, &files)));
    made.map_err(|error| RunError::new(error.to_string()))?
}

fn make_filled_folder_here(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), RunError> {
    let failed = |error: io::Error| failure("write", path, &error);
    let clean = path.components().as_path().to_owned();
    let (parent, name) = named(&clean).map_err(failed)?;
    system::make_folder(parent).map_err(|error| RunError::io("make the folder", parent, &error))?;
    let parent = WritableFolder::open(parent).map_err(failed)?;
    let temporary = temporary_name().map_err(failed)?;
    let written = parent.system.make_new_folder(temporary.as_ref()).and_then(|()| {
        let beside = parent.below(&temporary)?;
        files.iter().try_for_each(|(path, bytes)| {
            let (folder, name) = split(path);
            let folder = beside.make_below(folder)?;
            folder.write_new(name, bytes, false)
        })
    });
    let moved = written.and_then(|()| parent.system.rename(temporary.as_ref(), &parent.system, name));
    if moved.is_err() {
        _ = system::remove_folder_with_files(&parent.path.join(&temporary));
    }
    moved.map_err(failed)
}

/// An open folder for writing.
#[derive(Debug)]
pub struct WritableFolder {
    system: system::Folder,
    path: PathBuf,
}

impl WritableFolder {
    /// Opens a folder of the command line, or the folder of a workspace.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { system: system::Folder::open(path)?, path: path.to_owned() })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder below this one.
    ///
    /// # Errors
    /// If it does not exist, the path leaves this folder, or a link is on it.
    pub fn below(&self, path: &str) -> io::Result<Self> {
        self.descend(path, false)
    }

    /// Opens a folder below this one as [`WritableFolder::below`] does, and makes each folder on the path if need be.
    ///
    /// # Errors
    /// If it cannot be made, the path leaves this folder, or a link is on it.
    pub fn make_below(&self, path: &str) -> io::Result<Self> {
        self.descend(path, true)
    }

    fn descend(&self, path: &str, makes: bool) -> io::Result<Self> {
        let mut folder = Self { system: self.system.try_clone()?, path: self.path.clone() };
        if path.is_empty() {
            return Ok(folder);
        }
        for part in parts(path)? {
            let name = OsStr::new(part);
            let entered = match folder.system.enter(name) {
                Err(error) if makes && error.kind() == ErrorKind::NotFound => {
                    folder.system.make_folder(name)?;
                    folder.system.enter(name)
                }
                entered => entered,
            };
            folder = Self { system: entered?, path: folder.path.join(part) };
        }
        Ok(folder)
    }

    /// Whether something of this name is in the folder.
    pub fn has(&self, name: &str) -> bool {
        self.system.has(name.as_ref())
    }

    /// Writes a new file. A network file system may report only when the file is closed that a write failed, so the result of the
    /// close counts.
    ///
    /// # Errors
    /// If something of this name is there, or it cannot be written.
    pub fn write_new(&self, name: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
        system::write_and_close(self.system.create(check_name(name)?)?, bytes, sync)
    }

    /// Moves an entry into another folder, over a file that is there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn rename(&self, name: &str, to: &Self) -> io::Result<()> {
        let name = check_name(name)?;
        self.system.rename(name, &to.system, name)
    }

    /// Removes a file or a link; one that is not there is accepted.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        accept_missing(self.system.remove_file(check_name(name)?))
    }

    /// Removes an empty folder. Returns whether it was removed.
    pub fn remove_empty(&self, name: &str) -> bool {
        check_name(name).and_then(|name| self.system.remove_folder(name)).is_ok()
    }

    /// Removes a folder with its files, or whatever else has its name. No link is followed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_all(&self, name: &str) -> io::Result<()> {
        match self.remove_file(name) {
            Ok(()) => Ok(()),
            Err(_) => accept_missing(system::remove_folder_with_files(&self.path.join(check_name(name)?))),
        }
    }

    /// Makes the renames of the folder durable.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync(&self) -> io::Result<()> {
        self.system.sync()
    }

    /// Makes every file of the file system durable. A write that failed since the folder was opened is an error here.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync_file_system(&self) -> io::Result<()> {
        self.system.sync_file_system()
    }

    /// Takes the lock of the folder. Returns false if another run holds it and `waits` is false.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn lock(&self, waits: bool) -> io::Result<bool> {
        self.system.lock(waits)
    }

    /// Writes a file over whatever has its name.
    fn replace(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.write_temporary(bytes)?;
        let moved = self.system.rename(temporary.as_ref(), &self.system, name);
        self.remove_after(moved, temporary.as_ref())
    }

    /// Writes a new file under a name that cannot be guessed, and returns the name.
    fn write_temporary(&self, bytes: &[u8]) -> io::Result<String> {
        let name = temporary_name()?;
        let written = system::write_and_close(self.system.create(name.as_ref())?, bytes, false);
        self.remove_after(written, name.as_ref())?;
        Ok(name)
    }

    /// Removes a temporary file after a failure.
    fn remove_after(&self, result: io::Result<()>, temporary: &OsStr) -> io::Result<()> {
        if result.is_err() {
            _ = self.system.remove_file(temporary);
        }
        result
    }
}

/// Returns the failure of a write. A path that leaves its folder is named with the folder.
pub fn failure(doing: &str, path: &Path, error: &io::Error) -> RunError {
    let failed = RunError::io(doing, path, error);
    match error.kind() {
        ErrorKind::InvalidInput => {
            failed.help("nothing is written outside the folder of the output; rename the object")
        }
        _ => failed,
    }
}

/// Returns the folder and the name of a file of the command line.
fn named(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let is_folder = || io::Error::new(ErrorKind::IsADirectory, "it is the path of a folder");
    let name = path.file_name().ok_or_else(is_folder)?;
    let ends_with_name = path.as_os_str().as_encoded_bytes().ends_with(name.as_encoded_bytes());
    let folder = path.parent().filter(|_| ends_with_name).ok_or_else(is_folder)?;
    Ok((if folder.as_os_str().is_empty() { Path::new(".") } else { folder }, name))
}

/// Splits a path into its folder and its name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').map_or(("", path), |parts| parts)
}

/// Returns the parts of a path below its folder.
fn parts(path: &str) -> io::Result<Vec<&str>> {
    path.split('/').map(|part| check_name(part).map(|_| part)).collect()
}

/// Checks that a part of a path is one name.
fn check_name(name: &str) -> io::Result<&OsStr> {
    match name {
        "" | "." | ".." => Err(io::Error::new(ErrorKind::InvalidInput, "the path leaves its folder")),
        name if name.bytes().any(|byte| matches!(byte, b'/' | 0) || char::from(byte) == std::path::MAIN_SEPARATOR) => {
            Err(io::Error::new(ErrorKind::InvalidInput, "the path leaves its folder"))
        }
        name => Ok(OsStr::new(name)),
    }
}

/// Returns the name of a temporary file.
fn temporary_name() -> io::Result<String> {
    Ok(format!(".bailiwick-{:032x}.tmp", system::random()?))
}

fn accept_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

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

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        replace(&path, b"old").expect("it is written");
        replace(&path, b"new").expect("it is written again");
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("full")).expect("a folder");
        assert!(replace(&taken, b"new").is_err());
        assert_eq!(fs::read(&path).expect("a file"), b"new");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn a_path_below_a_folder_does_not_leave_it() {
        let base = tempfile::tempdir().expect("a folder");
        let root = base.path().join("root");
        fs::create_dir_all(root.join("in")).expect("a folder");
        fs::create_dir(base.path().join("outside")).expect("a folder");
        symlink("../outside", root.join("link")).expect("a link");
        symlink("in", root.join("inner")).expect("a link");
        for path in ["../outside/x", "/x", "in/../../x", "in//x", "./x", "link/x", "inner/x", "link/new/x", "", "in/"] {
            let place = WrittenPlace::Below(root.clone(), path.to_owned());
            assert!(replace_all([(place, "text")].into_iter()).is_err(), "{path}");
        }
        let place = WrittenPlace::Below(root.clone(), "in/new/x".to_owned());
        replace_all([(place, "text")].into_iter()).expect("it is written");
        assert_eq!(fs::read_to_string(root.join("in/new/x")).expect("a file"), "text");
        assert_eq!(fs::read_dir(base.path()).expect("a folder").count(), 2);
        assert_eq!(fs::read_dir(base.path().join("outside")).expect("a folder").count(), 0);
        assert_eq!(fs::read_dir(&root).expect("a folder").count(), 3, "no temporary file is left");
    }
}
