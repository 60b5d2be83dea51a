//! Takes the place of `resolve.rs` on a system without files, such as a browser: no folder can be opened.

#![expect(dead_code, reason = "the entries of a folder that cannot be opened")]

use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::path::Path;

use super::world::{FileContent, ReadRefusal};

/// A folder that is not left.
pub(super) struct Root(Infallible);

/// The entry at a path.
pub(super) enum Found {
    Missing,
    File(RegularFile),
    Folder(Folder),
    Refused(ReadRefusal),
}

/// An open regular file.
pub(super) struct RegularFile(Infallible);

/// An open folder.
pub(super) struct Folder(Infallible);

/// The identity of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderId;

/// An entry of a folder.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) is_folder: bool,
    pub(super) is_link: bool,
}

impl Root {
    /// Opens no folder.
    pub(super) fn open(_: &Path) -> Result<Self, Error> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    /// Finds what a path leads to.
    pub(super) fn find(&self, _: &str) -> Result<Found, Error> {
        match self.0 {}
    }
}

impl RegularFile {
    /// Returns the content of the file.
    pub(super) fn read(self, _: u64) -> Result<FileContent, Error> {
        match self.0 {}
    }
}

impl Folder {
    /// Returns the identity of the folder.
    pub(super) fn identity(&self) -> Result<FolderId, Error> {
        match self.0 {}
    }

    /// Returns the entries.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, Error> {
        match self.0 {}
    }
}
