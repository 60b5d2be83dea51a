//! Where files come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::diag::RunError;

/// The files of a workspace, by paths relative to its root with forward slashes. No clock, no environment, no
/// network.
pub trait World: Send + Sync {
    /// The bytes of a file; none when there is no such file.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError>;

    /// How many bytes a file has, where that can be told without reading it.
    fn size(&self, _path: &str) -> Option<u64> {
        None
    }

    /// True when a link on the way to a file leads out of the world.
    fn leads_outside(&self, _path: &str) -> bool {
        false
    }

    /// True when there is a link of this name, wherever it leads.
    fn is_link(&self, _path: &str) -> bool {
        false
    }

    /// True when there is such a file.
    ///
    /// # Errors
    /// When that cannot be told.
    fn exists(&self, path: &str) -> Result<bool, RunError>;

    /// Every file below a folder, sorted; hidden files and folders are left out.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    fn list(&self, folder: &str) -> Result<Vec<String>, RunError>;
}

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct DiskWorld {
    root: PathBuf,
}

impl DiskWorld {
    /// The folder as a world.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl World for DiskWorld {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        match std::fs::read(self.root.join(path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(RunError::io("read", Path::new(path), &error)),
        }
    }

    fn size(&self, path: &str) -> Option<u64> {
        std::fs::metadata(self.root.join(path)).ok().map(|metadata| metadata.len())
    }

    fn leads_outside(&self, path: &str) -> bool {
        match (self.root.canonicalize(), self.root.join(path).canonicalize()) {
            (Ok(root), Ok(place)) => !place.starts_with(root),
            _ => false,
        }
    }

    fn is_link(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.root.join(path)).is_ok_and(|metadata| metadata.file_type().is_symlink())
    }

    fn exists(&self, path: &str) -> Result<bool, RunError> {
        self.root.join(path).try_exists().map_err(|error| RunError::io("look for", Path::new(path), &error))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, RunError> {
        let start = self.root.join(folder);
        if !start.is_dir() {
            return Ok(Vec::new());
        }
        let mut paths = Vec::new();
        let mut nameless = Vec::new();
        let visible =
            |entry: &walkdir::DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
        for entry in WalkDir::new(&start).follow_links(true).into_iter().filter_entry(visible) {
            let entry = entry.map_err(|error| {
                let reason =
                    error.io_error().map_or_else(|| "a link leads in a circle".to_owned(), ToString::to_string);
                RunError::new(format!("cannot list `{folder}`: {reason}"))
            })?;
            if entry.file_type().is_file() {
                let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
                let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
                match parts {
                    Some(parts) => paths.push(parts.join("/")),
                    None => nameless.push(relative.as_os_str().as_encoded_bytes().escape_ascii().to_string()),
                }
            }
        }
        // Left out, it would take what it grants with it.
        if let Some(first) = nameless.iter().min() {
            return Err(RunError::new(format!("cannot read `{first}`: its path is not UTF-8"))
                .help("rename what has a name that is no text: the file, or a folder that it is in"));
        }
        paths.sort();
        Ok(paths)
    }
}

/// Files in memory, for tests.
#[derive(Debug, Clone, Default)]
pub struct MemoryWorld {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryWorld {
    /// A world of texts by their paths.
    pub fn new<P: Into<String>, T: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.into(), text.into())).collect() }
    }
}

impl World for MemoryWorld {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        Ok(self.files.get(path).cloned())
    }

    fn exists(&self, path: &str) -> Result<bool, RunError> {
        Ok(self.files.contains_key(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, RunError> {
        let prefix = format!("{folder}/");
        let from_there = self.files.range(prefix.clone()..).map(|(path, _)| path);
        Ok(from_there.take_while(|path| path.starts_with(&prefix)).cloned().collect())
    }
}
