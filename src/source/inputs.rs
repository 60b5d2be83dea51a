//! The files that the options of a run name: on disk, or in memory.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::manifests::{self, FileFilter};
use super::{FileSource as _, MAXIMUM_FILE_SIZE, MemorySource, decode};
use crate::diag::{FileId, Files, RunError, Sink};

/// The files of a run, by paths from the folder in which the run starts.
#[derive(Debug, Clone, Default)]
pub enum InputFiles {
    /// The files of the system.
    #[default]
    Disk,
    /// Files in memory. Nothing outside of them exists.
    Memory(Arc<MemorySource>),
}

impl InputFiles {
    /// Whether a path is a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.is_dir(),
            Self::Memory(files) => key(path).is_some_and(|key| key.is_empty() || files.has_folder(&key)),
        }
    }

    /// Whether there is a file or a folder at a path.
    pub fn has(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.exists(),
            Self::Memory(files) => self.is_folder(path) || key(path).is_some_and(|key| files.has_file(&key)),
        }
    }

    /// Returns the manifest files at a path as [`manifests::find`] does.
    ///
    /// # Errors
    /// When there is nothing at the path, or a folder cannot be listed.
    pub fn find(&self, path: &Path, filter: &FileFilter) -> Result<Vec<PathBuf>, RunError> {
        let Self::Memory(files) = self else { return manifests::find(path, filter) };
        if !self.has(path) {
            return Err(absent(path));
        }
        if !self.is_folder(path) {
            return Ok(vec![path.to_owned()]);
        }
        let prefix = key(path).filter(|key| !key.is_empty()).map_or_else(String::new, |key| format!("{key}/"));
        let below = files.paths().filter_map(|file| file.strip_prefix(&prefix)).map(Path::new);
        let mut found: Vec<PathBuf> = below.filter(|below| filter.finds(below)).map(|below| path.join(below)).collect();
        found.sort();
        Ok(found)
    }

    /// Returns the bytes of a file in memory; none for a path without a file, and for the files of the system.
    pub fn bytes_in_memory(&self, path: &Path) -> Option<Vec<u8>> {
        match self {
            Self::Disk => None,
            Self::Memory(files) => bytes(files, path),
        }
    }

    /// Reads a file as [`manifests::read`] does.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &Path, files: &Files, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
        let Self::Memory(memory) = self else { return manifests::read(path, files, sink) };
        let Some(bytes) = bytes(memory, path) else { return Err(absent(path)) };
        let id = decode(bytes, &path.to_string_lossy(), files, sink);
        Ok(id.map(|id| (id, files.get(id).text().to_owned())))
    }
}

/// Returns the bytes of a file in memory.
fn bytes(files: &MemorySource, path: &Path) -> Option<Vec<u8>> {
    let content = files.read(&key(path)?, MAXIMUM_FILE_SIZE as u64).ok()?;
    content.bytes().map(<[u8]>::to_vec)
}

/// Returns the error for a path in memory without a file.
fn absent(path: &Path) -> RunError {
    RunError::io("read", path, &io::Error::new(io::ErrorKind::NotFound, "no such file or directory"))
}

/// Returns the path of a file in memory; none for a path that leaves the files.
fn key(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = parts.pop()?,
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(paths: &[&str]) -> InputFiles {
        InputFiles::Memory(Arc::new(MemorySource::new(paths.iter().map(|path| (*path, "a: b\n")))))
    }

    fn found(files: &InputFiles, path: &str) -> Result<Vec<String>, String> {
        let found = files.find(path.as_ref(), &FileFilter::default()).map_err(|error| error.message)?;
        Ok(found.iter().map(|path| path.display().to_string()).collect())
    }

    #[test]
    fn files_in_memory_are_found_as_on_disk() {
        let scratch = tempfile::tempdir().expect("a folder");
        let paths = ["a.yaml", "b/c.yml", "b/.d/e.yaml", "b/.f.yaml", "b/g.txt", "b/H.JSON"];
        for path in paths {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "a: b\n").expect("a file");
        }
        let files = memory(&paths);
        for path in ["b", "b/", "a.yaml", "b/g.txt", "b/../b", "nowhere", "nowhere/a.yaml"] {
            let on_disk = found(&InputFiles::Disk, &format!("{}/{path}", scratch.path().display()));
            let without_folder = |text: String| text.replace(&format!("{}/", scratch.path().display()), "");
            let on_disk = match on_disk {
                Ok(found) => Ok(found.into_iter().map(without_folder).collect()),
                Err(message) => Err(without_folder(message)),
            };
            assert_eq!(found(&files, path), on_disk, "{path}");
        }
        assert_eq!(found(&files, "."), Ok(vec!["./a.yaml".into(), "./b/H.JSON".into(), "./b/c.yml".into()]));
    }

    #[test]
    fn no_path_leaves_the_files_in_memory() {
        let files = memory(&["a.yaml", "etc/passwd"]);
        for path in ["../a.yaml", "/etc/passwd", "b/../../etc/passwd", "/", ".."] {
            assert!(!files.has(path.as_ref()), "{path}");
            assert!(found(&files, path).is_err(), "{path}");
            assert!(files.read(path.as_ref(), &Files::new(), &mut Sink::new()).is_err(), "{path}");
        }
    }
}
