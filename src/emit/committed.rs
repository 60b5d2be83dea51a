//! What the output is compared with: a folder, or a revision in git.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use walkdir::WalkDir;

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

    /// Every entry below the target's folder, sorted by path.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    fn list(&self) -> Result<Vec<Entry>, RunError>;
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
    /// Path below the target's folder.
    pub path: String,
    /// True for a symbolic link, or anything else that is neither a file nor a folder.
    pub is_link: bool,
}

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
    /// False when there is no such folder, and so nothing in it to ask for.
    is_there: bool,
}

impl Folder {
    /// The folder of a target.
    pub fn new(root: PathBuf) -> Self {
        Self { is_there: root.exists(), root }
    }

    /// Every entry but those below the top entries that `skip` names.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub fn list_except(&self, skip: &dyn Fn(&str) -> bool) -> Result<Vec<Entry>, RunError> {
        let mut entries = Vec::new();
        match std::fs::symlink_metadata(&self.root) {
            Err(_) => return Ok(entries),
            Ok(metadata) if !metadata.is_dir() => {
                return Ok(vec![Entry { path: String::new(), is_link: !metadata.is_file() }]);
            }
            Ok(_) => {}
        }
        let walk = WalkDir::new(&self.root).min_depth(1).into_iter();
        for entry in walk.filter_entry(|entry| entry.depth() != 1 || !skip(&entry.file_name().to_string_lossy())) {
            let entry = entry.map_err(|error| {
                let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                RunError::new(format!("cannot list `{}`: {reason}", self.root.display()))
            })?;
            if entry.file_type().is_dir() {
                continue;
            }
            let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
            let path = match relative.to_str() {
                Some(path) if std::path::MAIN_SEPARATOR == '/' => path.to_owned(),
                _ => {
                    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                    parts.join("/")
                }
            };
            entries.push(Entry { path, is_link: !entry.file_type().is_file() });
        }
        entries.sort();
        Ok(entries)
    }
}

impl Committed for Folder {
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        if !self.is_there {
            return Ok(Differing::Missing);
        }
        // One look at a little more than the text tells whether the file is the same: most of them are. Of one that
        // is not, the rest is read without opening it again.
        let place = self.root.join(path);
        let mut bytes = vec![0; text.len() + 1];
        let look = |mut file: std::fs::File| {
            let length = file.read(&mut bytes)?;
            bytes.truncate(length);
            if bytes == text.as_bytes() {
                return Ok(Differing::Same);
            }
            // By way of `take`, which does not ask how large the file is: there is hardly anything left.
            file.take(u64::MAX).read_to_end(&mut bytes)?;
            Ok(Differing::Different(std::mem::take(&mut bytes)))
        };
        match std::fs::File::open(&place).and_then(look) {
            Ok(found) => Ok(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Differing::Missing),
            Err(_) => Ok(self.read(path)?.map_or(Differing::Missing, Differing::Different)),
        }
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        if !self.is_there {
            return Ok(None);
        }
        let path = self.root.join(path);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(RunError::io("read", &path, &error)),
        }
    }

    fn list(&self) -> Result<Vec<Entry>, RunError> {
        self.list_except(&|_| false)
    }
}

/// A folder as it was in a revision. One `git cat-file --batch` answers every question.
#[derive(Debug)]
pub struct Revision {
    blobs: BTreeMap<String, (String, bool)>,
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
        let found = git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        let commit = String::from_utf8_lossy(&found).trim().to_owned();
        if commit.is_empty() {
            return Err(RunError::new(format!("git knows no revision `{revision}`"))
                .help("name a branch, a tag or a commit; in CI, fetch enough history"));
        }
        let listing = git(root, &["ls-tree", "-r", "-z", &commit, "--", &format!("{folder}/")])?;
        let prefix = format!("{folder}/");
        let mut blobs = BTreeMap::new();
        for record in String::from_utf8_lossy(&listing).split('\0').filter(|record| !record.is_empty()) {
            let Some((meta, path)) = record.split_once('\t') else { continue };
            let mut fields = meta.split(' ');
            let (mode, _, blob) = (fields.next().unwrap_or_default(), fields.next(), fields.next().unwrap_or_default());
            if let Some(path) = path.strip_prefix(&prefix) {
                blobs.insert(path.to_owned(), (blob.to_owned(), !mode.starts_with("100")));
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

fn git(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, RunError> {
    let output = Command::new("git").args(arguments).current_dir(root).output().map_err(|error| {
        RunError::new(format!("cannot run git: {error}")).help("install git, or compare with a folder")
    })?;
    let reason = String::from_utf8_lossy(&output.stderr);
    if reason.contains("not a git repository") {
        return Err(RunError::new("this workspace is not in a git repository").help("compare with a folder instead"));
    }
    Ok(output.stdout)
}

impl Committed for Revision {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some((blob, _)) = self.blobs.get(path) else {
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

    fn list(&self) -> Result<Vec<Entry>, RunError> {
        Ok(self.blobs.iter().map(|(path, (_, is_link))| Entry { path: path.clone(), is_link: *is_link }).collect())
    }
}
