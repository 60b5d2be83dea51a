//! The committed output of a comparison: a folder, or a revision in git (`revision.rs`).

#[cfg_attr(not(unix), path = "committed/no_system.rs")]
mod folder;

use bailiwick_yaml::diag::RunError;

pub use self::folder::Folder;

/// Earlier output of one target.
pub trait Committed: Send + Sync {
    /// Returns the bytes of a file by its path below the target's folder; none for an absent file.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError>;

    /// Returns the bytes of a file whose content differs from a text; none if they are equal.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        Ok(match self.read(path)? {
            None => Differing::Missing,
            Some(bytes) if bytes == text.as_bytes() => Differing::Same,
            Some(bytes) => Differing::Different(bytes),
        })
    }

    /// Shows every entry below the target's folder, in any order.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError>;

    /// Lists every entry below the target's folder, sorted by path.
    ///
    /// # Errors
    /// See [`Committed::each`].
    fn list(&self) -> Result<Vec<Entry>, RunError> {
        self.list_except(&|_| false)
    }

    /// Lists every entry except the entries of the top entries that `skip` names, sorted by path.
    ///
    /// # Errors
    /// See [`Committed::each`].
    fn list_except(&self, skip: &dyn Fn(&str) -> bool) -> Result<Vec<Entry>, RunError> {
        let mut entries = Vec::new();
        self.each(&mut |entry| {
            let top = entry.path.split_once('/').map_or(&*entry.path, |(top, _)| top);
            if top.is_empty() || !skip(top) {
                entries.push(entry);
            }
        })?;
        entries.sort();
        Ok(entries)
    }
}

/// The committed counterpart of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Differing {
    /// The text itself.
    Same,
    /// Nothing.
    Missing,
    /// Other bytes.
    Different(Vec<u8>),
}

/// An entry of an output folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Path below the target's folder; bytes that are no text are escaped.
    pub path: String,
    /// The type of the entry.
    pub kind: EntryKind,
}

impl Entry {
    /// Returns whether the entry can be an output file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }
}

/// The type of an entry of an output folder. A folder with content is represented by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// Neither a file nor a folder: a socket, a pipe, a device.
    Other,
    /// A folder that holds nothing. Git keeps none, but a submodule that is not populated is one.
    EmptyFolder,
    /// A submodule of a tree in git. On disk it is a folder.
    Submodule,
    /// An entry whose name is not UTF-8, folders included. No output file has such a path.
    NotText,
}

impl From<std::fs::FileType> for EntryKind {
    fn from(kind: std::fs::FileType) -> Self {
        match kind {
            kind if kind.is_file() => Self::File,
            kind if kind.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Escapes a name that is not UTF-8 for a message.
pub(super) fn escaped(name: &[u8]) -> String {
    name.escape_ascii().to_string()
}
