//! The objects of a repository: trees and blobs, read through one `git cat-file --batch`.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use bailiwick_yaml::diag::RunError;

use super::object_id::{GitObjectId, GitObjectKind};
use super::{DOT_GIT, Repository, missing, not_started};

/// How many bytes a tree may have.
const MAXIMUM_TREE: u64 = 512 << 20;

/// How many bytes the first line of an answer may have.
const MAXIMUM_HEAD: u64 = 200;

/// How many bytes a commit may have.
const MAXIMUM_COMMIT: u64 = 16 << 20;

/// The bits of a mode that hold the file type.
const FILE_TYPE: u32 = 0o170_000;

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
    /// The id of the object.
    pub id: GitObjectId,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryMode {
    /// A file, executable or not.
    File,
    /// Another tree object.
    Folder,
    /// A symbolic link.
    Link,
    /// A submodule. Git takes every other mode for one.
    Submodule,
}

impl EntryMode {
    /// Reads a mode as git does (`canon_mode` in `object.h` of git 2.52); none for a text that is no octal number.
    fn parse(mode: &[u8]) -> Option<Self> {
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        Some(match mode & FILE_TYPE {
            0o100_000 => Self::File,
            0o120_000 => Self::Link,
            0o040_000 => Self::Folder,
            _ => Self::Submodule,
        })
    }
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
    pub fn blob(&mut self, id: &GitObjectId, path: &str, most: u64) -> Result<GitObject, RunError> {
        self.object(id, GitObjectKind::Blob, path, most)
    }

    /// Reads the entries of the tree of a commit.
    ///
    /// # Errors
    /// As with [`Objects::tree`].
    pub fn tree_of_commit(&mut self, commit: &str) -> Result<Vec<TreeEntry>, RunError> {
        let damaged = || RunError::new(format!("the commit `{commit}` is damaged in git"));
        let id = GitObjectId::parse(commit).ok_or_else(damaged)?;
        let GitObject::Bytes(bytes) = self.object(&id, GitObjectKind::Commit, commit, MAXIMUM_COMMIT)? else {
            return Err(damaged());
        };
        verify(&id, GitObjectKind::Commit, &bytes, &format!("the commit `{commit}`"))?;
        let line = bytes.strip_prefix(b"tree ").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
        let tree = line.and_then(|line| GitObjectId::parse(std::str::from_utf8(line).ok()?)).ok_or_else(damaged)?;
        self.tree(&tree, commit)
    }

    /// Reads the entries of a tree by its id. `path` is the path of the tree in the revision, for messages.
    ///
    /// # Errors
    /// When the repository lacks the tree, the tree is damaged or too large, or git ends.
    pub fn tree(&mut self, id: &GitObjectId, path: &str) -> Result<Vec<TreeEntry>, RunError> {
        let bytes = match self.object(id, GitObjectKind::Tree, path, MAXIMUM_TREE)? {
            GitObject::Bytes(bytes) => bytes,
            GitObject::TooLarge(size) => {
                return Err(RunError::new(format!("the folder `{path}` has {} MiB in git", size >> 20))
                    .help(format!("at most {} MiB are read", MAXIMUM_TREE >> 20)));
            }
        };
        verify(id, GitObjectKind::Tree, &bytes, &format!("the folder `{path}`"))?;
        entries(&bytes, id.format().length())
            .filter(|entries| is_canonical(entries))
            .ok_or_else(|| RunError::new(format!("the folder `{path}` is damaged in git")))
    }

    fn object(&mut self, id: &GitObjectId, kind: GitObjectKind, path: &str, most: u64) -> Result<GitObject, RunError> {
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

/// Checks that the bytes of an object have its id. Git does not compute the id when it reads an object.
pub fn verify(id: &GitObjectId, kind: GitObjectKind, bytes: &[u8], shown: &str) -> Result<(), RunError> {
    match id.format().id(kind, bytes) {
        Ok(computed) if computed == *id => Ok(()),
        Ok(_) => Err(RunError::new(format!("{shown} is damaged in git: its bytes do not have its id"))
            .help("clone the repository anew")),
        Err(collision) => Err(RunError::new(format!("{shown} is not used: {collision}"))),
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
    fn ask(&mut self, id: &GitObjectId, kind: GitObjectKind, path: &str) -> Result<u64, RunError> {
        let failed = |_| RunError::new(format!("git does not answer for `{path}`"));
        self.input.write_all(format!("{id}\n").as_bytes()).and_then(|()| self.input.flush()).map_err(failed)?;
        let mut head = String::new();
        self.output.by_ref().take(MAXIMUM_HEAD).read_line(&mut head).map_err(failed)?;
        let fields: Vec<&str> = head.split_whitespace().collect();
        match fields.as_slice() {
            [_, found, size] if *found == kind.to_string() => size.parse().map_err(|_| missing(path)),
            // A git without a switch against fetching ends when the fetch is denied.
            [] | [_, "missing"] => Err(missing(path)),
            _ => Err(RunError::new(format!("git has no {kind} for `{path}`"))),
        }
    }

    /// Reads the content behind the first line of an answer.
    fn content(&mut self, size: u64, path: &str) -> Result<Vec<u8>, RunError> {
        let failed = |_| RunError::new(format!("git does not answer for `{path}`"));
        // With the line break behind the content: a full list would get twice the room.
        let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or_default());
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
        let (mode, id) = (EntryMode::parse(mode)?, GitObjectId::from_bytes(id)?);
        entries.push(TreeEntry { name: name.to_vec(), mode, id });
        bytes = rest;
    }
    Some(entries)
}

/// Whether the entries of a tree have names of files, each once, in the order of git. Readers of a tree with another order, or
/// with two entries of one name, disagree about its content.
fn is_canonical(entries: &[TreeEntry]) -> bool {
    let is_name = |name: &[u8]| {
        !name.contains(&b'/') && !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(DOT_GIT.as_bytes())
    };
    // A folder is sorted as if its name ended with a slash, so an equal name of a file need not be beside it.
    let folders: HashSet<&[u8]> = entries.iter().filter(|entry| entry.is_folder()).map(|entry| &*entry.name).collect();
    let is_of_folder = |entry: &TreeEntry| !entry.is_folder() && folders.contains(&*entry.name);
    entries.iter().all(|entry| is_name(&entry.name))
        && entries.is_sorted_by(|left, right| left.sorting().lt(right.sorting()))
        && (folders.is_empty() || !entries.iter().any(is_of_folder))
}

impl TreeEntry {
    fn is_folder(&self) -> bool {
        self.mode == EntryMode::Folder
    }

    /// Returns the bytes by which git sorts the entry.
    fn sorting(&self) -> impl Iterator<Item = u8> {
        self.name.iter().copied().chain(self.is_folder().then_some(b'/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of an entry with an id of SHA-1.
    fn entry(mode: &str, name: &str) -> Vec<u8> {
        [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat()
    }

    fn read(written: &[(&str, &str)]) -> Option<Vec<TreeEntry>> {
        let bytes: Vec<u8> = written.iter().flat_map(|(mode, name)| entry(mode, name)).collect();
        entries(&bytes, 20).filter(|entries| is_canonical(entries))
    }

    #[test]
    fn a_tree_is_read_to_its_end_or_not_at_all() {
        let modes = ["100644", "100755", "40000", "040000", "120000", "160000", "170000", "1100644", "644"];
        let found: Vec<EntryMode> =
            modes.iter().map(|mode| EntryMode::parse(mode.as_bytes()).expect("a mode")).collect();
        use EntryMode::{File, Folder, Link, Submodule};
        assert_eq!(found, [File, File, Folder, Folder, Link, Submodule, Submodule, File, Submodule]);
        assert_eq!(entries(b"", 20), Some(Vec::new()));
        let whole = entry("100644", "a");
        assert_eq!(entries(&whole, 20).map(|entries| entries.len()), Some(1));
        for damaged in [&b"x"[..], b"100644", b"100644 a", b"100699 a\0", &whole[..whole.len() - 1]] {
            assert_eq!(entries(damaged, 20), None, "{damaged:?}");
        }
    }

    #[test]
    fn a_tree_with_two_meanings_is_damaged() {
        assert!(read(&[("100644", "a"), ("100644", "a.b"), ("40000", "b"), ("100644", "b0")]).is_some());
        for damaged in [
            &[("100644", "b"), ("100644", "a")][..],
            &[("100644", "a"), ("100644", "a")],
            &[("100644", "a"), ("100644", "a.b"), ("40000", "a")],
            &[("100644", "b0"), ("40000", "b")],
            &[("100644", "a/b")],
            &[("40000", ".")],
            &[("40000", "..")],
            &[("40000", ".GIT")],
            &[("100644", "")],
        ] {
            assert_eq!(read(damaged), None, "{damaged:?}");
        }
    }
}
