//! Takes the place of `system.rs` on a system without files, such as a browser: nothing is written.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The error for a file.
#[derive(Debug)]
pub(super) struct File(Infallible);

impl Write for File {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// The error for a folder.
#[derive(Debug)]
pub(super) struct Folder(Infallible);

impl Folder {
    pub(super) fn open(_: &Path) -> io::Result<Self> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self.0 {}
    }

    pub(super) fn enter(&self, _: &OsStr) -> io::Result<Self> {
        match self.0 {}
    }

    pub(super) fn make_folder(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn make_new_folder(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn has(&self, _: &OsStr) -> bool {
        match self.0 {}
    }

    pub(super) fn create(&self, _: &OsStr) -> io::Result<File> {
        match self.0 {}
    }

    pub(super) fn rename(&self, _: &OsStr, _: &Self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn remove_file(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn remove_folder(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn sync_file_system(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn lock(&self, _: bool) -> io::Result<bool> {
        match self.0 {}
    }
}

/// Whether a run holds the lock of a folder.
pub fn is_locked(_: &Path) -> bool {
    false
}

/// Makes no folder.
///
/// # Errors
/// Always.
pub(super) fn make_folder(_: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn remove_folder_with_files(_: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn open_to_append(_: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn is_in_place(folder: &Folder, _: &Path, _: &OsStr) -> io::Result<bool> {
    match folder.0 {}
}

pub(super) fn open_in_place(folder: &Folder, _: &Path, _: &OsStr) -> io::Result<Option<File>> {
    match folder.0 {}
}

pub(super) fn write_and_close(file: File, _: &[u8], _: bool) -> io::Result<()> {
    match file.0 {}
}

pub(super) fn random() -> io::Result<u128> {
    Err(ErrorKind::Unsupported.into())
}
