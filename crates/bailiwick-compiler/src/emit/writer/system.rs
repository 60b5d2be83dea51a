//! The system calls of the door for writing.

#![expect(clippy::disallowed_methods, reason = "the one place that writes files")]

use std::ffi::OsStr;
pub(super) use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The mode of a new file, without the bits of the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// The mode of a new folder, without the bits of the umask.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// The flags for a folder.
const AS_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, AS_FOLDER, Mode::empty())?))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Opens a folder in this one. A link is an error.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(&self.0, name, AS_FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Makes a folder; one that another thread made meanwhile is accepted.
    pub(super) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.0, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a folder where nothing is.
    pub(super) fn make_new_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, FOLDER_MODE)?)
    }

    pub(super) fn has(&self, name: &OsStr) -> bool {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a file where nothing is.
    pub(super) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, FILE_MODE)?.into())
    }

    pub(super) fn rename(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &folder.0, to)?)
    }

    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.0)?)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn sync_file_system(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn lock(&self, waits: bool) -> io::Result<bool> {
        let operation = if waits { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
        loop {
            match rustix::fs::flock(&self.0, operation) {
                Ok(()) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether a run holds the lock of a folder.
pub fn is_locked(path: &Path) -> bool {
    Folder::open(path).is_ok_and(|folder| matches!(folder.lock(false), Ok(false)))
}

/// Makes a folder of the command line, with the folders above it.
///
/// # Errors
/// If it cannot be made.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Removes a folder with its files. The standard library follows no link below it.
pub(super) fn remove_folder_with_files(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Opens a file to write at its end.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// Returns whether an entry is written in place: it is no regular file, or names a descriptor.
pub(super) fn is_in_place(folder: &Folder, path: &Path, name: &OsStr) -> io::Result<bool> {
    Ok(target(folder, path, name)?.is_some())
}

/// Opens an entry for writing in place; none for an entry that is replaced.
pub(super) fn open_in_place(folder: &Folder, path: &Path, name: &OsStr) -> io::Result<Option<File>> {
    let Some((found, is_descriptor)) = target(folder, path, name)? else { return Ok(None) };
    if is_descriptor && let Some(stream) = own_stream(&found)? {
        return Ok(Some(stream));
    }
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder.0, name, flags, Mode::empty())?;
    // Something else can have its name by now.
    if !is_descriptor && kind_of(&rustix::fs::fstat(&opened)?) == FileType::RegularFile {
        return Err(ErrorKind::AlreadyExists.into());
    }
    Ok(Some(opened.into()))
}

/// Returns the state of an entry that is written in place, and whether it names a descriptor.
fn target(folder: &Folder, path: &Path, name: &OsStr) -> io::Result<Option<(Stat, bool)>> {
    let is_descriptor = is_descriptor(path);
    match rustix::fs::statat(&folder.0, name, AtFlags::empty()) {
        Ok(found) if kind_of(&found) == FileType::Directory => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if kind_of(&found) == FileType::RegularFile && !is_descriptor => Ok(None),
        Ok(found) => Ok(Some((found, is_descriptor))),
        // Nothing, or a broken link.
        Err(Errno::NOENT | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a path names a descriptor of a process, such as `/dev/stdout` or `/dev/fd/3`: the file behind it is open already, and is
/// never replaced.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_link = || path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    folder.is_some_and(|folder| {
        folder.starts_with("/proc") || folder.starts_with("/dev/fd") || (folder == Path::new("/dev") && is_link())
    })
}

/// Returns standard output or standard error, if it is the file: both then go on at the same position.
fn own_stream(found: &Stat) -> io::Result<Option<File>> {
    let is_same = |stream: &dyn AsFd| {
        rustix::fs::fstat(stream).is_ok_and(|own| (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino))
    };
    let (output, errors) = (io::stdout(), io::stderr());
    if is_same(&output) {
        return Ok(Some(output.as_fd().try_clone_to_owned()?.into()));
    }
    if is_same(&errors) {
        return Ok(Some(errors.as_fd().try_clone_to_owned()?.into()));
    }
    Ok(None)
}

fn kind_of(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Writes a file and closes it. The result of the close counts.
pub(super) fn write_and_close(mut file: File, bytes: &[u8], sync: bool) -> io::Result<()> {
    file.write_all(bytes)?;
    file.flush()?;
    if sync {
        file.sync_data()?;
    }
    Ok(nix::unistd::close(file)?)
}

/// Returns a random number.
pub(super) fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u128::from_ne_bytes(bytes))
}
