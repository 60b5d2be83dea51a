//! The only access to the files of a workspace.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::MAXIMUM_FOLDER_LINKS;

use super::resolve::{FolderId, Found, Root};

/// The files of a workspace, by paths relative to its root with forward slashes. No clock, no environment, no
/// network.
pub trait FileSource: Send + Sync {
    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    /// When it is there and the system does not let it be read.
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError>;

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
pub enum FileContent {
    /// Nothing.
    Missing,
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// A file with this text, which the source keeps, too.
    Text(Arc<str>),
    /// Something that is not read.
    Refused(ReadRefusal),
}

impl FileContent {
    /// Returns the bytes of a file.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            FileContent::Bytes(bytes) => Some(bytes),
            FileContent::Text(text) => Some(text.as_bytes()),
            FileContent::Missing | FileContent::Refused(_) => None,
        }
    }
}

/// Why something is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadRefusal {
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
    pub refused: Vec<(String, ReadRefusal)>,
    /// The hidden files, and the hidden folders with a slash at the end, sorted. Git's own folder is not among them, and a source that
    /// is a workspace or a commit has none.
    pub hidden: Vec<String>,
}

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct DiskSource {
    root: PathBuf,
    /// The folder before paths in errors: empty for a workspace.
    shown: PathBuf,
}

impl DiskSource {
    /// Returns the folder as a world.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), shown: PathBuf::new() }
    }

    /// Returns the folder as a world whose errors name its files below `shown`.
    pub fn shown_as(root: impl Into<PathBuf>, shown: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), shown: shown.into() }
    }

    /// Returns a path as errors name it.
    fn shown(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.shown.clone() } else { self.shown.join(path) }
    }

    fn open(&self) -> Result<Root, RunError> {
        Root::open(&self.root).map_err(|error| RunError::io("open", &self.root, &error))
    }
}

impl FileSource for DiskSource {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        let failed = |error| RunError::io("read", &self.shown(path), &error);
        match self.open()?.find(path).map_err(failed)? {
            Found::Missing => Ok(FileContent::Missing),
            Found::Refused(refusal) => Ok(FileContent::Refused(refusal)),
            Found::Folder(_) => Ok(FileContent::Refused(ReadRefusal::NoFile("a folder"))),
            Found::File(file) => file.read(most).map_err(failed),
        }
    }

    fn is_link(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.root.join(path)).is_ok_and(|metadata| metadata.file_type().is_symlink())
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let root = self.open()?;
        let start = PendingFolder { path: folder.to_owned(), around: Vec::new() };
        let mut walk = Walk {
            source: self,
            root: &root,
            folder,
            pending: vec![start],
            links: 0,
            listing: Listing::default(),
            nameless: Vec::new(),
        };
        while let Some(folder) = walk.pending.pop() {
            walk.add_folder(folder)?;
        }
        walk.finish()
    }
}

/// A walk through the folders below a folder.
struct Walk<'w> {
    source: &'w DiskSource,
    root: &'w Root,
    folder: &'w str,
    pending: Vec<PendingFolder>,
    /// The number of followed links to folders.
    links: usize,
    listing: Listing,
    /// Paths that are not UTF-8.
    nameless: Vec<String>,
}

/// A folder that is still to be listed, with the folders around it, to notice a circle.
struct PendingFolder {
    path: String,
    around: Vec<FolderId>,
}

impl Walk<'_> {
    /// Adds the files and folders of a folder.
    fn add_folder(&mut self, folder: PendingFolder) -> Result<(), RunError> {
        let PendingFolder { path, mut around } = folder;
        let found = match self.find(&path)? {
            Found::Folder(found) => found,
            Found::Refused(refusal) => {
                self.listing.refused.push((path, refusal));
                return Ok(());
            }
            Found::Missing | Found::File(_) => return Ok(()),
        };
        let identity = found.identity().map_err(|error| self.cannot_list(&path, &error))?;
        if around.contains(&identity) {
            return Err(RunError::new(format!(
                "cannot list `{}`: a link is circular",
                self.source.shown(self.folder).display()
            )));
        }
        around.push(identity);
        for entry in found.entries().map_err(|error| self.cannot_list(&path, &error))? {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            if entry.name.starts_with(b".") {
                let slash = if entry.is_folder { "/" } else { "" };
                let name = String::from_utf8_lossy(&entry.name);
                self.listing.hidden.extend((name != ".git").then(|| format!("{prefix}{name}{slash}")));
                continue;
            }
            let Ok(name) = std::str::from_utf8(&entry.name) else {
                self.nameless.push(format!("{prefix}{}", entry.name.escape_ascii()));
                continue;
            };
            let path = format!("{prefix}{name}");
            let is_folder = if entry.is_folder || !entry.is_link { Some(entry.is_folder) } else { self.follow(&path)? };
            match is_folder {
                Some(true) => self.pending.push(PendingFolder { path, around: around.clone() }),
                Some(false) => self.listing.files.push(path),
                None => {}
            }
        }
        Ok(())
    }

    /// Returns whether a link leads to a folder; none for a refused link.
    fn follow(&mut self, path: &str) -> Result<Option<bool>, RunError> {
        let refusal = match self.find(path)? {
            Found::Folder(_) => {
                self.links += 1;
                if self.links > MAXIMUM_FOLDER_LINKS {
                    let message = format!(
                        "cannot list `{}`: it contains too many links to folders",
                        self.source.shown(self.folder).display()
                    );
                    let help = format!("at most {MAXIMUM_FOLDER_LINKS} are followed: replace links with folders");
                    return Err(RunError::new(message).help(help));
                }
                return Ok(Some(true));
            }
            Found::File(_) => return Ok(Some(false)),
            Found::Missing => ReadRefusal::Nowhere,
            Found::Refused(refusal) => refusal,
        };
        self.listing.refused.push((path.to_owned(), refusal));
        Ok(None)
    }

    fn cannot_list(&self, path: &str, error: &io::Error) -> RunError {
        RunError::io("list", &self.source.shown(path), error)
    }

    fn find(&self, path: &str) -> Result<Found, RunError> {
        self.root.find(path).map_err(|error| self.cannot_list(path, &error))
    }

    /// Returns the sorted listing.
    ///
    /// # Errors
    /// For a path that is not UTF-8: without the file, its grants would be missing.
    fn finish(mut self) -> Result<Listing, RunError> {
        if let Some(first) = self.nameless.iter().min() {
            return Err(RunError::new(format!(
                "cannot read `{}`: its path is not UTF-8",
                self.source.shown(first).display()
            ))
            .help("rename the file or its folder with a UTF-8 name"));
        }
        self.listing.files.sort();
        self.listing.refused.sort();
        self.listing.hidden.sort();
        Ok(self.listing)
    }
}

/// Files in memory.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemorySource {
    /// Returns a world of texts by their paths.
    pub fn new<P: Into<String>, T: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.into(), text.into())).collect() }
    }

    /// Returns the path of every file, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a file at a path.
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether there is a file below a path.
    pub fn has_folder(&self, path: &str) -> bool {
        !listing_below(&self.files, path).files.is_empty()
    }
}

impl FileSource for MemorySource {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        Ok(match self.files.get(path) {
            None if self.has_folder(path) => FileContent::Refused(ReadRefusal::NoFile("a folder")),
            None => FileContent::Missing,
            Some(bytes) if bytes.len() as u64 > most => FileContent::Refused(ReadRefusal::TooLarge(bytes.len() as u64)),
            Some(bytes) => FileContent::Bytes(bytes.clone()),
        })
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        Ok(listing_below(&self.files, folder))
    }
}

/// Returns the listing of a folder among files by their paths.
pub fn listing_below<C>(files: &BTreeMap<String, C>, folder: &str) -> Listing {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let from_there = files.range(prefix.clone()..).map(|(path, _)| path);
    let files = from_there.take_while(|path| path.starts_with(&prefix)).cloned().collect();
    Listing { files, ..Listing::default() }
}
