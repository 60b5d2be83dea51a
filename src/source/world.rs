//! The only access to the files of a workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::resolve::{Found, Root};
use crate::diag::RunError;

/// The files of a workspace, by paths relative to its root with forward slashes. No clock, no environment, no
/// network.
pub trait World: Send + Sync {
    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    /// When it is there and the system does not let it be read.
    fn read(&self, path: &str, most: u64) -> Result<Content, RunError>;

    /// Returns whether there is a link of this name, wherever it leads.
    fn is_link(&self, _path: &str) -> bool {
        false
    }

    /// Lists the files below a folder; hidden files and folders are left out.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    fn list(&self, folder: &str) -> Result<Listing, RunError>;
}

/// The entry at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Missing,
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// Something that is not read.
    Refused(Refusal),
}

/// Why something is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The path leaves the workspace, or a link on it does.
    Outside,
    /// The path leads into the folder of a git repository.
    Git,
    /// A link leads to nothing.
    Nowhere,
    /// There are too many links on the way.
    Links,
    /// It is not a regular file, but the named type of file.
    NoFile(&'static str),
    /// A file of this many bytes.
    TooLarge(u64),
    /// Its path is not UTF-8.
    NotText,
    /// It is a pointer of Git LFS, and its content is not in the repository.
    Pointer,
}

/// The entries below a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The path of everything that is not a folder, sorted.
    pub files: Vec<String>,
    /// Links that are not followed, sorted, with the reason.
    pub refused: Vec<(String, Refusal)>,
}

/// How many links to folders are followed below a folder: links to links multiply what is found.
const MAXIMUM_LINKS: usize = 256;

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct DiskWorld {
    root: PathBuf,
}

impl DiskWorld {
    /// Returns the folder as a world.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn open(&self) -> Result<Root, RunError> {
        Root::open(&self.root).map_err(|error| RunError::io("open", &self.root, &error))
    }
}

impl World for DiskWorld {
    fn read(&self, path: &str, most: u64) -> Result<Content, RunError> {
        let failed = |error| RunError::io("read", Path::new(path), &error);
        match self.open()?.find(path).map_err(failed)? {
            Found::Missing => Ok(Content::Missing),
            Found::Refused(refusal) => Ok(Content::Refused(refusal)),
            Found::Folder(_) => Ok(Content::Refused(Refusal::NoFile("a folder"))),
            Found::File(file) => file.read(most).map_err(failed),
        }
    }

    fn is_link(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.root.join(path)).is_ok_and(|metadata| metadata.file_type().is_symlink())
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let failed = |path: &str, error| RunError::io("list", Path::new(path), &error);
        let root = self.open()?;
        let mut listing = Listing::default();
        let mut nameless: Vec<String> = Vec::new();
        let mut links = 0;
        // Paths of folders, each with the folders around it, to notice a circle.
        let mut folders = vec![(folder.to_owned(), Vec::new())];
        while let Some((path, around)) = folders.pop() {
            let found = match root.find(&path).map_err(|error| failed(&path, error))? {
                Found::Folder(found) => found,
                Found::Refused(refusal) => {
                    listing.refused.push((path, refusal));
                    continue;
                }
                Found::Missing | Found::File(_) => continue,
            };
            let mut within: Vec<_> = around;
            let identity = found.identity().map_err(|error| failed(&path, error))?;
            if within.contains(&identity) {
                return Err(RunError::new(format!("cannot list `{folder}`: a link is circular")));
            }
            within.push(identity);
            for entry in found.entries().map_err(|error| failed(&path, error))? {
                let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
                let Ok(name) = std::str::from_utf8(&entry.name) else {
                    nameless.push(format!("{prefix}{}", entry.name.escape_ascii()));
                    continue;
                };
                let path = format!("{prefix}{name}");
                let is_folder = entry.is_folder
                    || entry.is_link
                        && match root.find(&path).map_err(|error| failed(&path, error))? {
                            Found::Folder(_) => {
                                links += 1;
                                true
                            }
                            Found::File(_) => false,
                            Found::Missing => {
                                listing.refused.push((path, Refusal::Nowhere));
                                continue;
                            }
                            Found::Refused(refusal) => {
                                listing.refused.push((path, refusal));
                                continue;
                            }
                        };
                if links > MAXIMUM_LINKS {
                    return Err(RunError::new(format!(
                        "cannot list `{folder}`: it contains too many links to folders"
                    )));
                }
                if is_folder { folders.push((path, within.clone())) } else { listing.files.push(path) }
            }
        }
        // Left out, it would take what it grants with it.
        if let Some(first) = nameless.iter().min() {
            return Err(RunError::new(format!("cannot read `{first}`: its path is not UTF-8"))
                .help("rename the file or its folder with a UTF-8 name"));
        }
        listing.files.sort();
        listing.refused.sort();
        Ok(listing)
    }
}

/// Files in memory, for tests.
#[derive(Debug, Clone, Default)]
pub struct MemoryWorld {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryWorld {
    /// Returns a world of texts by their paths.
    pub fn new<P: Into<String>, T: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.into(), text.into())).collect() }
    }
}

impl World for MemoryWorld {
    fn read(&self, path: &str, most: u64) -> Result<Content, RunError> {
        Ok(match self.files.get(path) {
            None => Content::Missing,
            Some(bytes) if bytes.len() as u64 > most => Content::Refused(Refusal::TooLarge(bytes.len() as u64)),
            Some(bytes) => Content::Bytes(bytes.clone()),
        })
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let prefix = format!("{folder}/");
        let from_there = self.files.range(prefix.clone()..).map(|(path, _)| path);
        let files = from_there.take_while(|path| path.starts_with(&prefix)).cloned().collect();
        Ok(Listing { files, refused: Vec::new() })
    }
}
