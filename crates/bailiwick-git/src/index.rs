//! The index of a work tree, read without git.
//!
//! The index has two facts that a checkout hides. A submodule without its files is an empty folder. Files marked with `git
//! update-index --assume-unchanged` or `--skip-worktree` can change, and neither `git status` nor `git add` reports it.
//! `Documentation/gitformat-index.adoc` in git 2.52 describes the format, versions 2 to 4. An unknown part is an error and
//! never skipped.

use std::fmt;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// The file type of a submodule in the mode of an entry.
const GITLINK: u32 = 0o160_000;

/// The file type of a folder, which only a sparse index has.
const FOLDER: u32 = 0o040_000;

/// The bits of a mode that hold the file type.
const FILE_TYPE: u32 = 0o170_000;

/// Flag of an entry: git takes the file for unchanged.
const ASSUME_VALID: u16 = 0x8000;

/// Flag of an entry: a second pair of flag bytes follows.
const EXTENDED: u16 = 0x4000;

/// Flag of the second pair: git neither writes nor compares the file.
const SKIP_WORKTREE: u16 = 0x4000;

/// Bytes of an entry before its object id: times, device, inode, mode, owner and size.
const STAT_LENGTH: usize = 40;

/// The offset of the mode in these bytes.
const MODE: usize = 24;

/// The forms of object ids and of the checksum: SHA-1 and SHA-256. The index does not state its form.
const FORMS: [Form; 2] = [
    Form { length: 20, hash: |bytes| Sha1::digest(bytes).to_vec() },
    Form { length: 32, hash: |bytes| Sha256::digest(bytes).to_vec() },
];

/// A form of object ids: their length in bytes, and the hash that makes them.
struct Form {
    length: usize,
    hash: fn(&[u8]) -> Vec<u8>,
}

/// A file, a submodule or a folder that the index lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Path below the root of the work tree.
    pub path: Vec<u8>,
    /// The kind by the mode bits of the entry.
    pub kind: IndexEntryKind,
    /// Whether the index makes git ignore changes of the file.
    pub is_overlooked: bool,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexEntryKind {
    /// A file or a link.
    File,
    /// Mode 160000: a folder whose files are in another repository.
    Submodule,
    /// A folder of a sparse index, whose entries are not in the index.
    SparseFolder,
}

/// Why an index cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexError {
    /// It is not an index, or damaged.
    Damaged,
    /// Its checksum does not fit.
    Checksum,
    /// It can be read as an index of SHA-1 and as one of SHA-256, and has no checksum that decides it.
    Ambiguous,
    /// It is of a version that this program does not know.
    Version(u32),
    /// It holds only the differences from another file (`core.splitIndex`).
    Split,
    /// It has an extension that this program does not know and that changes its meaning.
    Extension,
}

impl fmt::Display for IndexError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => formatter.write_str("it is damaged"),
            Self::Checksum => formatter.write_str("its checksum does not fit"),
            Self::Ambiguous => formatter.write_str("it reads as an index of SHA-1 and as one of SHA-256"),
            Self::Version(version) => write!(formatter, "it has the version {version}, and 2 to 4 are known"),
            Self::Split => formatter.write_str("it is split, and holds only differences from another file"),
            Self::Extension => formatter.write_str("it has an extension that is not known"),
        }
    }
}

/// Reads the entries of an index that `is_wanted` asks for, in their order.
///
/// # Errors
/// When any part of the index is not understood.
pub fn read(bytes: &[u8], is_wanted: &dyn Fn(&IndexEntry) -> bool) -> Result<Vec<IndexEntry>, IndexError> {
    let readings = FORMS.map(|form| {
        let entries = Reader { bytes, position: 0, id_length: form.length }.entries(is_wanted)?;
        is_intact(bytes, &form).then_some(entries).ok_or(IndexError::Checksum)
    });
    match readings {
        [Ok(_), Ok(_)] => Err(IndexError::Ambiguous),
        [Ok(entries), Err(_)] | [Err(_), Ok(entries)] => Ok(entries),
        // In the wrong form every index looks damaged, so the other error is the more exact one.
        [Err(IndexError::Damaged), Err(error)] | [Err(error), Err(_)] => Err(error),
    }
}

/// Whether the checksum at the end fits, or is left out (`index.skipHash`): then it is all zeros.
fn is_intact(bytes: &[u8], form: &Form) -> bool {
    let Some((content, checksum)) = bytes.len().checked_sub(form.length).map(|at| bytes.split_at(at)) else {
        return false;
    };
    checksum.iter().all(|byte| *byte == 0) || (form.hash)(content) == checksum
}

struct Reader<'b> {
    bytes: &'b [u8],
    position: usize,
    id_length: usize,
}

impl<'b> Reader<'b> {
    fn entries(mut self, is_wanted: &dyn Fn(&IndexEntry) -> bool) -> Result<Vec<IndexEntry>, IndexError> {
        if self.take(4)? != b"DIRC" {
            return Err(IndexError::Damaged);
        }
        let version = self.number()?;
        if !(2..=4).contains(&version) {
            return Err(IndexError::Version(version));
        }
        let count = self.number()?;
        let mut found = Vec::new();
        let mut path = Vec::new();
        for _ in 0..count {
            let entry = self.entry(version, &mut path)?;
            if is_wanted(&entry) {
                found.push(entry);
            }
        }
        self.extensions()?;
        Ok(found)
    }

    /// Reads an entry. `previous` is the path of the entry before it, and becomes the path of this one.
    fn entry(&mut self, version: u32, previous: &mut Vec<u8>) -> Result<IndexEntry, IndexError> {
        let start = self.position;
        let stat = self.take(STAT_LENGTH)?;
        let mode = stat.get(MODE..MODE + 4).and_then(|mode| mode.try_into().ok()).map_or(0, u32::from_be_bytes);
        self.take(self.id_length)?;
        let flags = self.flags()?;
        let more = if version >= 3 && flags & EXTENDED != 0 { self.flags()? } else { 0 };
        if version == 4 {
            let stripped = self.offset()?;
            let kept = previous.len().checked_sub(stripped).ok_or(IndexError::Damaged)?;
            previous.truncate(kept);
        } else {
            previous.clear();
        }
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = memchr::memchr(0, rest).ok_or(IndexError::Damaged)?;
        previous.extend_from_slice(self.take(length)?);
        // In versions 2 and 3 as many zeros as make the length of the entry a multiple of 8.
        let padding = if version == 4 { 1 } else { 8 - (self.position - start) % 8 };
        if previous.is_empty() || self.take(padding)?.iter().any(|byte| *byte != 0) {
            return Err(IndexError::Damaged);
        }
        let kind = match mode & FILE_TYPE {
            GITLINK => IndexEntryKind::Submodule,
            FOLDER => IndexEntryKind::SparseFolder,
            0o100_000 | 0o120_000 => IndexEntryKind::File,
            _ => return Err(IndexError::Damaged),
        };
        let is_overlooked = flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0;
        Ok(IndexEntry { path: previous.clone(), kind, is_overlooked })
    }

    /// Reads the extensions and the checksum at the end of the file. An extension with a capital first letter is optional.
    /// `sdir` announces folders among the entries, whose modes show them without it.
    fn extensions(&mut self) -> Result<(), IndexError> {
        while self.bytes.len() - self.position > self.id_length {
            let name = self.take(4)?;
            let length = self.number()? as usize;
            self.take(length)?;
            match name {
                b"link" => return Err(IndexError::Split),
                b"sdir" => {}
                [b'A'..=b'Z', ..] => {}
                _ => return Err(IndexError::Extension),
            }
        }
        self.take(self.id_length)?;
        if self.position == self.bytes.len() { Ok(()) } else { Err(IndexError::Damaged) }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], IndexError> {
        let end = self.position.checked_add(length).ok_or(IndexError::Damaged)?;
        let taken = self.bytes.get(self.position..end).ok_or(IndexError::Damaged)?;
        self.position = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, IndexError> {
        self.take(4)?.try_into().map(u32::from_be_bytes).map_err(|_| IndexError::Damaged)
    }

    fn flags(&mut self) -> Result<u16, IndexError> {
        self.take(2)?.try_into().map(u16::from_be_bytes).map_err(|_| IndexError::Damaged)
    }

    /// Reads a number of variable length, as in the offsets of pack files.
    fn offset(&mut self) -> Result<usize, IndexError> {
        let mut value: usize = 0;
        for position in 0..5 {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value = if position == 0 { 0 } else { (value + 1) << 7 } | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(IndexError::Damaged)
    }
}
