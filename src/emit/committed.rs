//! What the output is compared with: a folder, or a revision in git.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use sha1::{Digest, Sha1};

use crate::diag::RunError;

/// Earlier output of one target.
pub trait Committed: Send + Sync {
    /// The bytes of a file by its path below the target's folder; none when there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError>;

    /// The bytes of a file that is not the text it should be; none when it is.
    ///
    /// # Errors
    /// When it is there and cannot be read.
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

    /// Every entry below the target's folder, sorted by path.
    ///
    /// # Errors
    /// As with [`Committed::each`].
    fn list(&self) -> Result<Vec<Entry>, RunError> {
        let mut entries = Vec::new();
        self.each(&mut |entry| entries.push(entry))?;
        entries.sort();
        Ok(entries)
    }
}

/// What is there in place of a text.
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
    /// What is there.
    pub kind: EntryKind,
}

impl Entry {
    /// True for what can be one of our files.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }
}

/// What an entry of an output folder is; a folder shows by what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// Neither a file nor a folder: a socket, a pipe, a device.
    Other,
    /// Whatever has a name that is not UTF-8, a folder too: its path is none of ours, however it reads.
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

/// How a file of the output is opened. Nothing is known of it yet: a link is not followed, and a pipe that nobody writes
/// to is not waited for.
const AS_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A folder on disk.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// The open folder, from which files are found with less to look up; none when there is no such folder, and so
    /// nothing in it to ask for.
    open: Option<OwnedFd>,
}

thread_local! {
    /// What was read last: the next file goes to the same place.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Folder {
    /// The folder of a target.
    pub fn new(root: PathBuf) -> Self {
        let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open = rustix::fs::open(&root, as_folder, Mode::empty());
        Self { root, open: open.ok() }
    }

    /// What the file system says of a file; none when there is none, or something that is no file.
    pub fn stat(&self, path: &str) -> Option<rustix::fs::Stat> {
        let stat = rustix::fs::statat(self.open.as_ref()?, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(stat)
    }

    /// Every entry but those below the top entries that `skip` names, sorted by path.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub fn list_except(&self, skip: &dyn Fn(&str) -> bool) -> Result<Vec<Entry>, RunError> {
        let mut entries = Vec::new();
        self.each_except(skip, &mut |entry| entries.push(entry))?;
        entries.sort();
        Ok(entries)
    }

    fn each_except(&self, skip: &dyn Fn(&str) -> bool, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        match std::fs::symlink_metadata(&self.root) {
            Err(_) => return Ok(()),
            Ok(metadata) if !metadata.is_dir() => {
                see(Entry { path: String::new(), kind: metadata.file_type().into() });
                return Ok(());
            }
            Ok(_) => {}
        }
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let place = self.root.join(&folder);
            let failed = |error: &std::io::Error| RunError::io("list", &place, error);
            for entry in std::fs::read_dir(&place).map_err(|error| failed(&error))? {
                let entry = entry.map_err(|error| failed(&error))?;
                let kind = entry.file_type().map_err(|error| failed(&error))?;
                let name = entry.file_name();
                let text = name.to_str();
                if folder.is_empty() && text.is_some_and(skip) {
                    continue;
                }
                let mut path = String::with_capacity(folder.len() + 1 + name.len());
                if !folder.is_empty() {
                    path.push_str(&folder);
                    path.push('/');
                }
                let Some(text) = text else {
                    path.push_str(&escaped(name.as_encoded_bytes()));
                    see(Entry { path, kind: EntryKind::NotText });
                    continue;
                };
                path.push_str(text);
                if kind.is_dir() { folders.push(path) } else { see(Entry { path, kind: kind.into() }) }
            }
        }
        Ok(())
    }
}

impl Committed for Folder {
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        let Some(folder) = &self.open else { return Ok(Differing::Missing) };
        // One look at a little more than the text tells whether the file is the same: most of them are. Of one that is
        // not, the rest is read without opening it again.
        let found = BUFFER.with_borrow_mut(|buffer| {
            buffer.clear();
            buffer.reserve(text.len() + 1);
            let file = rustix::fs::openat(folder, path, AS_FILE, Mode::empty())?;
            rustix::io::read(&file, rustix::buffer::spare_capacity(buffer))?;
            if buffer.as_slice() == text.as_bytes() {
                return Ok(Differing::Same);
            }
            // A device may have no end.
            if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
                return Ok(Differing::Missing);
            }
            let mut bytes = buffer.clone();
            // By way of `take`, which does not ask how large the file is: there is hardly anything left.
            std::fs::File::from(file).take(u64::MAX).read_to_end(&mut bytes)?;
            Ok(Differing::Different(bytes))
        });
        match found {
            Ok(found) => Ok(found),
            Err(error) if std::io::Error::kind(&error) == std::io::ErrorKind::NotFound => Ok(Differing::Missing),
            Err(_) => Ok(self.read(path)?.map_or(Differing::Missing, Differing::Different)),
        }
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some(folder) = &self.open else { return Ok(None) };
        let read = || {
            let file = rustix::fs::openat(folder, path, AS_FILE, Mode::empty())?;
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
            // Of a folder, reading says what is wrong.
            if !matches!(kind, FileType::RegularFile | FileType::Directory) {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            std::fs::File::from(file).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(Some(bytes))
        };
        // A link, and a socket, cannot even be opened.
        let is_no_file = || {
            let stat = rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW);
            let kind = stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
            !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Unknown)
        };
        match read() {
            Ok(bytes) => Ok(bytes),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(_) if is_no_file() => Ok(None),
            Err(error) => Err(RunError::io("read", &self.root.join(path), &error)),
        }
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.each_except(&|_| false, see)
    }
}

/// A name that is not UTF-8, to be told.
fn escaped(name: &[u8]) -> String {
    name.escape_ascii().to_string()
}

/// A folder as it was in a revision. One `git cat-file --batch` answers every question.
#[derive(Debug)]
pub struct Revision {
    /// The name of each blob, and what it is.
    blobs: BTreeMap<String, (String, EntryKind)>,
    reader: Mutex<BlobReader>,
}

#[derive(Debug)]
struct BlobReader {
    child: Child,
}

impl Drop for BlobReader {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Revision {
    /// The folder `folder` (relative to `root`, a folder inside a git work tree) in a revision.
    ///
    /// # Errors
    /// When there is no git, no repository or no such revision.
    pub fn open(root: &Path, revision: &str, folder: &str) -> Result<Self, RunError> {
        let commit = format!("{revision}^{{commit}}");
        let Some(found) = git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])? else {
            return Err(RunError::new(format!("git knows no revision `{revision}`"))
                .help("name a branch, a tag or a commit; in CI, fetch enough history"));
        };
        let commit = String::from_utf8_lossy(&found).trim().to_owned();
        let listing = git(root, &["ls-tree", "-r", "-z", &commit, "--", &format!("{folder}/")])?
            .ok_or_else(|| RunError::new(format!("git cannot list the files of `{revision}`")))?;
        let prefix = format!("{folder}/");
        let mut blobs = BTreeMap::new();
        for record in listing.split(|byte| *byte == 0) {
            let shown;
            let (record, is_text) = match std::str::from_utf8(record) {
                Ok(record) => (record, true),
                Err(_) => {
                    // What stands before the path has no byte to be escaped but the tab.
                    shown = escaped(record).replacen("\\t", "\t", 1);
                    (shown.as_str(), false)
                }
            };
            let Some((meta, path)) = record.split_once('\t') else { continue };
            let mut fields = meta.split(' ');
            let (mode, _, blob) = (fields.next().unwrap_or_default(), fields.next(), fields.next().unwrap_or_default());
            if let Some(path) = path.strip_prefix(&prefix) {
                // A mode begins with 100 for a file, with 120 for a link, and with 160 for another repository.
                let kind = match mode.get(..3) {
                    _ if !is_text => EntryKind::NotText,
                    Some("100") => EntryKind::File,
                    Some("120") => EntryKind::Link,
                    _ => EntryKind::Other,
                };
                blobs.insert(path.to_owned(), (blob.to_owned(), kind));
            }
        }
        let child = Command::new("git")
            .args(["cat-file", "--batch"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| RunError::new(format!("cannot run git: {error}")))?;
        Ok(Self { blobs, reader: Mutex::new(BlobReader { child }) })
    }
}

/// What git prints; none when it fails.
fn git(root: &Path, arguments: &[&str]) -> Result<Option<Vec<u8>>, RunError> {
    let output = Command::new("git").args(arguments).current_dir(root).output().map_err(|error| {
        RunError::new(format!("cannot run git: {error}")).help("install git, or compare with a folder")
    })?;
    let reason = String::from_utf8_lossy(&output.stderr);
    if reason.contains("not a git repository") {
        return Err(RunError::new("this workspace is not in a git repository").help("compare with a folder instead"));
    }
    Ok(output.status.success().then_some(output.stdout))
}

/// The name that git gives to a content.
pub fn blob_id(bytes: &[u8]) -> BlobId {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().into()
}

/// The name of a content in git, where names have 40 digits.
pub type BlobId = [u8; 20];

/// The files of a checkout whose content is that of git's index.
#[derive(Debug)]
pub struct Checkout {
    /// The names of their contents, by their paths below a folder.
    blobs: BTreeMap<String, BlobId>,
    /// When the index was written, in whole seconds since 1970.
    written: i64,
}

impl Checkout {
    /// The name of a file's content, by when the file was last changed in any way, in nanoseconds since 1970. Git tells
    /// contents by states, to the second, so of a file that may have been changed after it was looked at it says nothing.
    pub fn blob(&self, path: &str, changed: i64) -> Option<&BlobId> {
        self.blobs.get(path).filter(|_| changed.div_euclid(1_000_000_000) < self.written)
    }
}

/// What git knows of the files below a folder by their states, which a fresh checkout has set; it is asked to look at
/// all it knows of a state. What a filter makes of a content is not the content. None where there is no git, or no
/// repository, or no answer.
pub fn checked_out(root: &Path, folder: &str) -> Option<Checkout> {
    let answer = |arguments: &[&str]| {
        let strictly = ["-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.fsmonitor=false"];
        git(root, &[&strictly, arguments].concat()).ok().flatten()
    };
    let index = answer(&["rev-parse", "--git-path", "index"])?;
    let index = root.join(String::from_utf8(index).ok()?.trim_end_matches('\n'));
    let written = std::fs::metadata(index).ok()?.mtime();
    let below = format!(":(literal){folder}");
    let listing = answer(&["ls-files", "-s", "-v", "-z", "--", &below])?;
    let changed = answer(&["diff-files", "--name-only", "--relative", "-z", "--", &below])?;
    let prefix = format!("{folder}/");
    let changed: BTreeSet<&[u8]> = changed.split(|byte| *byte == 0).collect();
    let mut blobs = BTreeMap::new();
    for record in listing.split(|byte| *byte == 0) {
        // A letter, the mode, the name of the blob, the stage of a merge, and behind a tab the path. A small letter and an
        // `S` mark files that git does not look at.
        let Some((meta, path)) = std::str::from_utf8(record).ok().and_then(|record| record.split_once('\t')) else {
            continue;
        };
        let fields: Vec<&str> = meta.split(' ').collect();
        let ["H", mode, blob, "0"] = fields.as_slice() else { continue };
        let id = data_encoding::HEXLOWER.decode(blob.as_bytes()).ok().and_then(|id| BlobId::try_from(id).ok());
        if let (Some(below), Some(id), true) = (path.strip_prefix(&prefix), id, mode.starts_with("100"))
            && !changed.contains(path.as_bytes())
        {
            blobs.insert(below.to_owned(), id);
        }
    }
    let filtered = filtered(root, blobs.keys().map(|path| format!("{folder}/{path}\0")).collect())?;
    blobs.retain(|path, _| !filtered.contains(&format!("{folder}/{path}")));
    (!blobs.is_empty()).then_some(Checkout { blobs, written })
}

/// Which of these files, each with a zero behind it, a filter of git's makes something else of.
fn filtered(root: &Path, paths: String) -> Option<BTreeSet<String>> {
    let mut child = Command::new("git")
        .args(["check-attr", "-z", "--stdin", "filter"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    // Beside reading: git answers before it has read all.
    let asking = std::thread::spawn(move || input.write_all(paths.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let is_asked = asking.join().is_ok_and(|asked| asked.is_ok());
    let answers = String::from_utf8(output.stdout).ok().filter(|_| is_asked && output.status.success())?;
    let fields: Vec<&str> = answers.split('\0').collect();
    let has_filter = |answer: &[&str]| match answer {
        [path, _, value] => (!matches!(*value, "unspecified" | "unset")).then(|| (*path).to_owned()),
        _ => None,
    };
    Some(fields.chunks(3).filter_map(has_filter).collect())
}

impl Committed for Revision {
    /// The name of a blob tells its content: only what differs is asked for.
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        match self.blobs.get(path) {
            Some((blob, EntryKind::File)) if *blob == data_encoding::HEXLOWER.encode(&blob_id(text.as_bytes())) => {
                Ok(Differing::Same)
            }
            _ => Ok(match self.read(path)? {
                None => Differing::Missing,
                // Names of 64 digits are made in another way.
                Some(bytes) if bytes == text.as_bytes() => Differing::Same,
                Some(bytes) => Differing::Different(bytes),
            }),
        }
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some((blob, EntryKind::File)) = self.blobs.get(path) else {
            return Ok(None);
        };
        let failed = |_| RunError::new(format!("git does not answer for `{path}`"));
        let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let child = &mut reader.child;
        let (Some(input), Some(output)) = (child.stdin.as_mut(), child.stdout.as_mut()) else {
            return Err(RunError::new("git has gone away"));
        };
        input.write_all(format!("{blob}\n").as_bytes()).and_then(|()| input.flush()).map_err(failed)?;
        // One question is out at a time, so the buffer never reads beyond its answer.
        let mut output = BufReader::with_capacity(1, output);
        let mut head = String::new();
        output.read_line(&mut head).map_err(failed)?;
        let size: usize = head
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse().ok())
            .ok_or_else(|| RunError::new(format!("git has no content for `{path}`")))?;
        let mut bytes = vec![0; size + 1];
        output.read_exact(&mut bytes).map_err(failed)?;
        bytes.pop();
        Ok(Some(bytes))
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.blobs.iter().for_each(|(path, (_, kind))| see(Entry { path: path.clone(), kind: *kind }));
        Ok(())
    }
}
