//! Finds what a path below a folder leads to, without leaving the folder at any moment.
//!
//! Each part of the path is opened in the folder before it, and no link is followed by the system: links are read and
//! followed here. So nothing that changes meanwhile leads elsewhere, on every system alike.

use std::io::{Error, ErrorKind, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use bailiwick_yaml::limits::MAXIMUM_PATH_LINKS;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::is_of_git;
use super::world::{FileContent, ReadRefusal};

/// The flags for a path of unknown type. They follow no link, do not wait for the other end of a pipe, and do not make a
/// terminal the controlling terminal of this process.
const AS_ANYTHING: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A folder that is not left.
pub(super) struct Root {
    folder: OwnedFd,
}

/// The entry at a path.
pub(super) enum Found {
    Missing,
    File(RegularFile),
    Folder(Folder),
    Refused(ReadRefusal),
}

/// An open regular file.
pub(super) struct RegularFile {
    file: OwnedFd,
    size: u64,
}

/// An open folder.
pub(super) struct Folder {
    folder: OwnedFd,
}

/// An entry of a folder.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) is_folder: bool,
    pub(super) is_link: bool,
}

impl Root {
    /// Opens a folder.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { folder })
    }

    /// Finds what a path leads to.
    pub(super) fn find(&self, path: &str) -> Result<Found, Error> {
        if path.starts_with('/') {
            return Ok(Found::Refused(ReadRefusal::Outside));
        }
        // The folders on the way, without the root, and the parts that are still to go, the next one last.
        let mut way: Vec<OwnedFd> = Vec::new();
        let mut parts: Vec<Vec<u8>> = path.as_bytes().split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect();
        let mut links = 0;
        while let Some(part) = parts.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => match way.pop() {
                    Some(_) => continue,
                    None => return Ok(Found::Refused(ReadRefusal::Outside)),
                },
                name if is_of_git(name) => return Ok(Found::Refused(ReadRefusal::Git)),
                _ => {}
            }
            let here = way.last().unwrap_or(&self.folder).as_fd();
            match rustix::fs::openat(here, part.as_slice(), AS_ANYTHING, Mode::empty()) {
                Ok(opened) => match kind_of(&opened)? {
                    (FileType::Directory, _) => way.push(opened),
                    _ if !parts.iter().all(|part| part.is_empty()) => return Ok(Found::Missing),
                    (FileType::RegularFile, size) => return Ok(Found::File(RegularFile { file: opened, size })),
                    (kind, _) => return Ok(Found::Refused(ReadRefusal::NoFile(described(kind)))),
                },
                Err(Errno::NOENT | Errno::NOTDIR) if links == 0 => return Ok(Found::Missing),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Refused(ReadRefusal::Nowhere)),
                // A socket, or a device without a driver, cannot be opened.
                Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => {
                    return Ok(Found::Refused(ReadRefusal::NoFile("a socket or a device")));
                }
                // A link, which each system calls otherwise.
                Err(Errno::LOOP | Errno::MLINK) => {
                    links += 1;
                    if links > MAXIMUM_PATH_LINKS {
                        return Ok(Found::Refused(ReadRefusal::Links));
                    }
                    let target = rustix::fs::readlinkat(here, part.as_slice(), Vec::new())?.into_bytes();
                    if target.starts_with(b"/") {
                        return Ok(Found::Refused(ReadRefusal::Outside));
                    }
                    parts.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let folder = match way.pop() {
            Some(folder) => folder,
            None => self.folder.try_clone()?,
        };
        Ok(Found::Folder(Folder { folder }))
    }
}

impl RegularFile {
    /// Reads the file, unless it has more than so many bytes.
    pub(super) fn read(self, most: u64) -> Result<FileContent, Error> {
        if self.size > most {
            return Ok(FileContent::Refused(ReadRefusal::TooLarge(self.size)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        // It may grow meanwhile.
        let mut file = std::fs::File::from(self.file).take(most.saturating_add(1));
        file.read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        Ok(if size > most { FileContent::Refused(ReadRefusal::TooLarge(size)) } else { FileContent::Bytes(bytes) })
    }
}

/// The identity of a folder, the same for every path to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderId {
    device: u64,
    inode: u64,
}

impl Folder {
    /// Returns the identity of the folder.
    pub(super) fn identity(&self) -> Result<FolderId, Error> {
        let stat = rustix::fs::fstat(&self.folder)?;
        // Both have other types elsewhere.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between systems")]
        Ok(FolderId { device: stat.st_dev as u64, inode: stat.st_ino as u64 })
    }

    /// Returns the entries.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes().to_vec();
            if matches!(name.as_slice(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(&self.folder, &*name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            let (is_folder, is_link) = (kind == FileType::Directory, kind == FileType::Symlink);
            entries.push(Entry { name, is_folder, is_link });
        }
        Ok(entries)
    }
}

fn kind_of(file: &OwnedFd) -> Result<(FileType, u64), Error> {
    let stat = rustix::fs::fstat(file)?;
    let size = u64::try_from(stat.st_size).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    Ok((FileType::from_raw_mode(stat.st_mode), size))
}

fn described(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a special file",
    }
}
