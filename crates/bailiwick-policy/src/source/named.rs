//! Files of the command line, wherever they lie.

#![expect(clippy::disallowed_methods, reason = "the user names the file, not an author of the workspace")]

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use bailiwick_yaml::limits::written_size;

use super::is_of_git;

/// A regular file, a named pipe or a device of the command line, up to a size.
#[derive(Debug)]
pub struct NamedFile {
    file: File,
    size: u64,
    is_regular: bool,
    most: u64,
    read: u64,
}

impl NamedFile {
    /// Opens a file of at most `most` bytes. A link of the command line is followed.
    ///
    /// # Errors
    /// When it cannot be opened, is larger, or is in the folder of a git repository.
    pub fn open(path: &Path, most: u64) -> io::Result<Self> {
        check_git(path)?;
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let size = metadata.len();
        if metadata.is_file() && size > most {
            return Err(too_large(most));
        }
        Ok(Self { file, size, is_regular: metadata.is_file(), most, read: 0 })
    }

    /// Returns the size of a regular file; 0 for another.
    pub fn size(&self) -> u64 {
        if self.is_regular { self.size } else { 0 }
    }

    /// Whether the file can be read again.
    pub fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, is larger than its limit, or is a device without an end.
    pub fn read_all(mut self) -> io::Result<Vec<u8>> {
        // The whole size at once: a buffer that grows takes twice the memory.
        let mut bytes = Vec::new();
        if let Ok(size) = usize::try_from(self.size()) {
            bytes.reserve_exact(size);
        }
        if !self.is_regular {
            // A device such as `/dev/zero` ends here, before its bytes take memory.
            self.by_ref().take(FIRST_BYTES).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == FIRST_BYTES && bytes.contains(&0) {
                return Err(io::Error::new(ErrorKind::InvalidData, "it is no text"));
            }
        }
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// How many bytes of a pipe or a device show whether it has text.
const FIRST_BYTES: u64 = 1 << 16;

impl Read for NamedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        if self.read > self.most { Err(too_large(self.most)) } else { Ok(read) }
    }
}

/// Refuses a path into the folder of a git repository, also over links.
///
/// # Errors
/// For such a path.
pub(super) fn check_git(path: &Path) -> io::Result<()> {
    let leads_there = |path: &Path| path.iter().any(|part| is_of_git(part.as_encoded_bytes()));
    match leads_there(path) || path.canonicalize().is_ok_and(|real| leads_there(&real)) {
        true => Err(io::Error::new(ErrorKind::InvalidInput, "it is in the folder of a git repository")),
        false => Ok(()),
    }
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it exceeds the limit of {}", written_size(most)))
}
