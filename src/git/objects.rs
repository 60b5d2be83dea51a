//! The objects of a repository: trees and blobs, read through one `git cat-file --batch`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::{Repository, missing, not_started};
use crate::diag::RunError;

/// How many bytes a tree may have.
const MAXIMUM_TREE: u64 = 512 << 20;

/// How many bytes the first line of an answer may have.
const MAXIMUM_HEAD: u64 = 200;

/// The end of a name that git takes for the tree of a commit.
const TREE_OF: &str = "^{tree}";

/// A reader of objects: one process answers every question.
#[derive(Debug)]
pub struct Objects {
    repository: Repository,
    /// None after an answer that was not read to its end.
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The content of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitObject {
    /// These bytes.
    Bytes(Vec<u8>),
    /// More bytes than were asked for: this many.
    TooLarge(u64),
}

/// A file, a folder or a submodule that a tree object lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The name as git keeps it, which can be any bytes but zero.
    pub name: Vec<u8>,
    /// The kind of the entry.
    pub mode: EntryMode,
    /// The name of the object, in hexadecimal digits.
    pub id: String,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryMode {
    /// Mode 100644 or 100755.
    File,
    /// Mode 40000: another tree object.
    Folder,
    /// A symbolic link.
    Link,
    /// A submodule, or a kind that is not known.
    Other,
}

impl Objects {
    /// Starts the process.
    pub(super) fn start(repository: &Repository) -> Result<Self, RunError> {
        Ok(Self { process: Some(Process::start(repository)?), repository: repository.clone() })
    }

    /// Reads a blob of at most `most` bytes by its id. `path` is the path of the blob in the revision, for messages.
    ///
    /// # Errors
    /// When the repository lacks the blob, or git ends.
    pub fn blob(&mut self, id: &str, path: &str, most: u64) -> Result<GitObject, RunError> {
        self.object(id, "blob", path, most)
    }

    /// Reads the entries of the tree of a commit.
    ///
    /// # Errors
    /// As with [`Objects::tree`].
    pub fn tree_of_commit(&mut self, commit: &str) -> Result<Vec<TreeEntry>, RunError> {
        self.tree(&format!("{commit}{TREE_OF}"), commit)
    }

    /// Reads the entries of a tree by its id. `path` is the path of the tree in the revision, for messages.
    ///
    /// # Errors
    /// When the repository lacks the tree, the tree is damaged or too large, or git ends.
    pub fn tree(&mut self, id: &str, path: &str) -> Result<Vec<TreeEntry>, RunError> {
        let length = id.trim_end_matches(TREE_OF).len() / 2;
        let bytes = match self.object(id, "tree", path, MAXIMUM_TREE)? {
            GitObject::Bytes(bytes) => bytes,
            GitObject::TooLarge(size) => {
                return Err(RunError::new(format!("the folder `{path}` has {} MiB in git", size >> 20))
                    .help(format!("at most {} MiB are read", MAXIMUM_TREE >> 20)));
            }
        };
        entries(&bytes, length).ok_or_else(|| RunError::new(format!("the folder `{path}` is damaged in git")))
    }

    fn object(&mut self, id: &str, kind: &str, path: &str, most: u64) -> Result<GitObject, RunError> {
        let process = match &mut self.process {
            Some(process) => process,
            none => none.insert(Process::start(&self.repository)?),
        };
        let size = process.ask(id, kind, path)?;
        if size > most {
            // The process would have to send every byte before the next answer.
            self.process = None;
            return Ok(GitObject::TooLarge(size));
        }
        process.content(size, path).map(GitObject::Bytes)
    }
}

impl Process {
    fn start(repository: &Repository) -> Result<Self, RunError> {
        let mut command = repository.git(&["cat-file", "--batch"])?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| not_started(&error))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, output: BufReader::new(output) }),
            _ => Err(RunError::new("git has no pipes")),
        }
    }

    /// Asks for an object, and returns its size.
    fn ask(&mut self, id: &str, kind: &str, path: &str) -> Result<u64, RunError> {
        let failed = |_| RunError::new(format!("git does not answer for `{path}`"));
        self.input.write_all(format!("{id}\n").as_bytes()).and_then(|()| self.input.flush()).map_err(failed)?;
        let mut head = String::new();
        self.output.by_ref().take(MAXIMUM_HEAD).read_line(&mut head).map_err(failed)?;
        let fields: Vec<&str> = head.split_whitespace().collect();
        match fields.as_slice() {
            [_, found, size] if *found == kind => size.parse().map_err(|_| missing(path)),
            // A git without a switch against fetching ends when the fetch is denied.
            [] | [_, "missing"] => Err(missing(path)),
            _ => Err(RunError::new(format!("git has no {kind} for `{path}`"))),
        }
    }

    /// Reads the content behind the first line of an answer.
    fn content(&mut self, size: u64, path: &str) -> Result<Vec<u8>, RunError> {
        let failed = |_| RunError::new(format!("git does not answer for `{path}`"));
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        self.output.by_ref().take(size + 1).read_to_end(&mut bytes).map_err(failed)?;
        match bytes.pop() {
            Some(b'\n') if bytes.len() as u64 == size => Ok(bytes),
            _ => Err(RunError::new(format!("git does not answer for `{path}`"))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It only reads, and may be in the middle of an answer.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the entries of a tree whose ids have `length` bytes; none for bytes that are no tree.
fn entries(mut bytes: &[u8], length: usize) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let (mode, rest) = bytes.split_at_checked(memchr::memchr(b' ', bytes)?)?;
        let rest = rest.get(1..)?;
        let (name, rest) = rest.split_at_checked(memchr::memchr(0, rest)?)?;
        let (id, rest) = rest.get(1..)?.split_at_checked(length)?;
        let mode = match mode {
            b"40000" | b"040000" => EntryMode::Folder,
            [b'1', b'0', b'0', ..] => EntryMode::File,
            [b'1', b'2', b'0', ..] => EntryMode::Link,
            _ => EntryMode::Other,
        };
        let id = hexadecimal(id);
        entries.push(TreeEntry { name: name.to_vec(), mode, id });
        bytes = rest;
    }
    Some(entries)
}

fn hexadecimal(id: &[u8]) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    let mut text = String::with_capacity(id.len() * 2);
    for byte in id {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_to_its_end_or_not_at_all() {
        let tree = b"100644 a\0\x01\x0240000 b c\0\x03\x04120000 d\0\x05\x06160000 e\0\x07\x08";
        let found = entries(tree, 2).expect("a tree");
        let shown: Vec<_> =
            found.iter().map(|entry| (String::from_utf8_lossy(&entry.name), entry.mode, &*entry.id)).collect();
        let expected = [
            ("a".into(), EntryMode::File, "0102"),
            ("b c".into(), EntryMode::Folder, "0304"),
            ("d".into(), EntryMode::Link, "0506"),
            ("e".into(), EntryMode::Other, "0708"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(entries(b"", 2), Some(Vec::new()));
        for damaged in [&b"100644"[..], b"100644 a", b"100644 a\0\x01", b"x"] {
            assert_eq!(entries(damaged, 2), None, "{damaged:?}");
        }
    }
}
