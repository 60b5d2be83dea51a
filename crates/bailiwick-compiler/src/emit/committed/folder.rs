//! An output folder on disk.

use std::cell::RefCell;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use bailiwick_yaml::diag::RunError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::{Committed, Differing, Entry, EntryKind, escaped};

/// Flags for opening an output file. Its type is unknown, so a link is not followed, and a pipe without a writer does
/// not block.
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
    /// The content of the last file. The next file is read into the same memory.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Folder {
    /// Creates the view of a target's folder.
    pub fn new(root: PathBuf) -> Self {
        let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open = rustix::fs::open(&root, as_folder, Mode::empty());
        Self { root, open: open.ok() }
    }

    /// Whether there is a regular file with a path.
    pub fn has_file(&self, path: &str) -> bool {
        let Some(folder) = &self.open else { return false };
        rustix::fs::statat(folder, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Returns at most so many bytes from the beginning of a file; none when there is none, or it cannot be read.
    pub fn head(&self, path: &str, length: usize) -> Option<Vec<u8>> {
        let file = rustix::fs::openat(self.open.as_ref()?, path, AS_FILE, Mode::empty()).ok()?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode);
        let mut bytes = Vec::new();
        std::fs::File::from(file).take(length as u64).read_to_end(&mut bytes).ok()?;
        (kind == FileType::RegularFile).then_some(bytes)
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
            let mut is_empty = true;
            for entry in std::fs::read_dir(&place).map_err(|error| failed(&error))? {
                is_empty = false;
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
            if is_empty {
                see(Entry { path: folder, kind: EntryKind::EmptyFolder });
            }
        }
        Ok(())
    }
}

impl Committed for Folder {
    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        let Some(folder) = &self.open else { return Ok(Differing::Missing) };
        // One read of slightly more than the length of the text shows whether the file is equal, and most files are.
        // The rest of a different file is read without opening the file again.
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
            // For a folder, reading returns the error.
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

    fn list_except(&self, skip: &dyn Fn(&str) -> bool) -> Result<Vec<Entry>, RunError> {
        let mut entries = Vec::new();
        self.each_except(skip, &mut |entry| entries.push(entry))?;
        entries.sort();
        Ok(entries)
    }
}
