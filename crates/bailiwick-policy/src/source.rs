//! Reads what people wrote: the only module that opens policies, templates and account lists.
//!
//! Everything comes through a [`FileSource`], so that tests compile from memory and nothing else of the machine can
//! leak into the output.

mod edited;
mod editor_files;
pub mod glob;
mod inputs;
pub mod manifests;
mod named;
pub mod names;
#[cfg_attr(not(unix), path = "source/resolve/no_system.rs")]
mod resolve;
mod table;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, RunError, Sink, Span};
use bailiwick_yaml::limits::{
    MAXIMUM_FILE_SIZE, MAXIMUM_FOLDER_LINKS, MAXIMUM_PATH_LINKS, MAXIMUM_TREE_SIZE, written_size,
};
use bailiwick_yaml::{self as yaml, Tree};

use self::manifests::SkipCause;
pub use edited::EditedSource;
pub use editor_files::EditorFiles;
pub use git_folder::is_of_git;
pub use inputs::{FoundFiles, InputFiles};
pub use named::NamedFile;
pub use table::{Cell, TableRow, cell_place, read_account, read_csv, read_list, read_names};
pub use world::{DiskSource, FileContent, FileSource, Listing, MemorySource, ReadRefusal, listing_below};

/// A file of a folder of manifests.
pub struct ManifestFile {
    /// The documents.
    pub tree: Arc<Tree>,
    /// The cause for a file without an object.
    pub cause: Option<SkipCause>,
}

/// The texts of a workspace: each is read once, and each folder is listed once.
pub struct Sources {
    world: Arc<dyn FileSource>,
    files: Arc<Files>,
    texts: BTreeMap<String, Option<FileId>>,
    /// The path of every file that was asked for.
    asked: BTreeSet<String>,
    /// Links that were listed and are not followed, each with the place that names its folder.
    refused: BTreeMap<String, (ReadRefusal, Option<Origin>)>,
    trees: BTreeMap<String, Arc<Tree>>,
    /// The files below each folder that was listed.
    listings: BTreeMap<String, Arc<[String]>>,
    /// The problems of files that may be no manifests, until a policy reads them or [`Sources::report_problems`].
    problems: BTreeMap<String, Sink>,
    /// The causes for files of manifests without an object; none for a file with objects, and for a broken one.
    causes: BTreeMap<String, Option<SkipCause>>,
}

impl Sources {
    /// Returns the texts of a world, registered in `files`.
    pub fn new(world: Box<dyn FileSource>, files: Arc<Files>) -> Self {
        Self {
            world: Arc::from(world),
            files,
            texts: BTreeMap::new(),
            asked: BTreeSet::new(),
            refused: BTreeMap::new(),
            trees: BTreeMap::new(),
            listings: BTreeMap::new(),
            problems: BTreeMap::new(),
            causes: BTreeMap::new(),
        }
    }

    /// Returns the registered texts.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Frees the memory of a tree that is not needed again.
    pub fn forget_tree(&mut self, path: &str) {
        self.trees.remove(path);
    }

    /// Lists every file below a folder, sorted; none when the folder is not there. `named_at` is the place that names the
    /// folder. A link that is not followed is listed, too: reading it reports why.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&mut self, folder: &str, named_at: Option<Origin>) -> Result<Arc<[String]>, RunError> {
        if let Some(known) = self.listings.get(folder) {
            return Ok(Arc::clone(known));
        }
        let Listing { mut files, refused, .. } = self.world.list(folder)?;
        files.extend(refused.iter().map(|(path, _)| path.clone()));
        files.sort();
        self.refused.extend(refused.into_iter().map(|(path, refusal)| (path, (refusal, named_at))));
        let files: Arc<[String]> = files.into();
        self.listings.insert(folder.to_owned(), Arc::clone(&files));
        Ok(files)
    }

    /// Reports every link that was listed, is not followed, and was not asked for: it may be a folder of files.
    pub fn report_refused(&mut self, sink: &mut Sink) {
        for (path, (refusal, named_at)) in std::mem::take(&mut self.refused) {
            if !self.asked.contains(&path) {
                self.refuse(&path, refusal, 0, named_at, sink);
            }
        }
    }

    /// Returns the path of every file that was asked for so far.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(String::as_str)
    }

    /// Reads a text of at most `most` bytes. None when it cannot be used; the reason is then in the sink, unless there is
    /// no such file. `named_at` is the place that names the file; none for a file that was found in a folder.
    ///
    /// # Errors
    /// When the file is there and the system does not let it be read.
    pub fn text(
        &mut self,
        path: &str,
        most: usize,
        named_at: Option<Origin>,
        sink: &mut Sink,
    ) -> Result<Option<FileId>, RunError> {
        if let Some(known) = self.texts.get(path) {
            return Ok(*known);
        }
        self.asked.insert(path.to_owned());
        let id = match self.world.read(path, most as u64)? {
            FileContent::Missing => return Ok(None),
            FileContent::Bytes(bytes) => decode(bytes, path, &self.files, sink),
            FileContent::Text(text) => Some(self.files.add(path, text)),
            FileContent::Refused(refusal) => {
                self.refuse(path, refusal, most, named_at, sink);
                None
            }
        };
        self.texts.insert(path.to_owned(), id);
        Ok(id)
    }

    /// Reports why something is not read, at the place that names it or else at the path itself. Nothing of its content is
    /// shown.
    fn refuse(&self, path: &str, refusal: ReadRefusal, most: usize, named_at: Option<Origin>, sink: &mut Sink) {
        let origin = named_at.unwrap_or_else(|| Origin { file: self.files.add(path, ""), span: Span::default() });
        sink.push(refused(path, refusal, most).at(origin));
    }

    /// Reads a YAML text. None when there is no such file or no text in it. `named_at` is as with [`Sources::text`].
    ///
    /// # Errors
    /// When the file is there and the system does not let it be read.
    pub fn tree(
        &mut self,
        path: &str,
        named_at: Option<Origin>,
        sink: &mut Sink,
    ) -> Result<Option<Arc<Tree>>, RunError> {
        if let Some(known) = self.trees.get(path) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(id) = self.text(path, MAXIMUM_TREE_SIZE, named_at, sink)? else {
            return Ok(None);
        };
        let tree = Arc::new(yaml::read(self.files.get(id).text(), id, sink));
        self.trees.insert(path.to_owned(), Arc::clone(&tree));
        Ok(Some(tree))
    }

    /// Reads a file of the folder of the policies. The problems of a file that a folder of manifests may hold, such as a template
    /// of a chart, are kept for [`Sources::manifests`] and [`Sources::report_problems`].
    ///
    /// # Errors
    /// When the file is there and the system does not let it be read.
    pub fn policies(&mut self, path: &str, sink: &mut Sink) -> Result<Option<Arc<Tree>>, RunError> {
        let mut found = Sink::new();
        let tree = self.tree(path, None, &mut found)?;
        let mut left = found.clone();
        let read = tree.as_ref().filter(|_| !found.is_empty());
        match read.and_then(|tree| self.cause_to_skip(path, tree, &mut left)) {
            Some(_) => _ = self.problems.insert(path.to_owned(), found),
            None => sink.absorb(found),
        }
        Ok(tree)
    }

    /// Reports the problems of the files of the folder of the policies that no policy read as manifests.
    pub fn report_problems(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.problems).into_values().for_each(|problems| sink.absorb(problems));
    }

    /// Forgets the problems of a file that a policy excludes.
    pub fn exclude(&mut self, path: &str) {
        self.problems.remove(path);
    }

    /// Reads a file of a folder of manifests, as [`Sources::tree`] does. A file without an object has a cause.
    ///
    /// # Errors
    /// When the file is there and the system does not let it be read.
    pub fn manifests(
        &mut self,
        path: &str,
        named_at: Option<Origin>,
        sink: &mut Sink,
    ) -> Result<Option<ManifestFile>, RunError> {
        let mut found = Sink::new();
        self.problems.remove(path).into_iter().for_each(|problems| found.absorb(problems));
        let tree = self.tree(path, named_at, &mut found)?;
        let read = tree.map(|tree| {
            let cause = self.cause_to_skip(path, &tree, &mut found);
            ManifestFile { tree, cause }
        });
        sink.absorb(found);
        Ok(read)
    }

    /// Decides once about a file, while `sink` has its problems; the problems of a skipped file are removed.
    fn cause_to_skip(&mut self, path: &str, tree: &Tree, sink: &mut Sink) -> Option<SkipCause> {
        if let Some(known) = self.causes.get(path) {
            if known.is_some() {
                *sink = Sink::new();
            }
            return *known;
        }
        let file = self.files.get(tree.file());
        let cause = manifests::cause_to_skip(Path::new(path), file.text(), tree, sink);
        self.causes.insert(path.to_owned(), cause);
        cause
    }

    /// Reads a text for as long as it takes to go through it: it is not kept, and read again where a diagnostic shows a
    /// part of it. None when it cannot be used, as with [`Sources::text`].
    ///
    /// # Errors
    /// When the file is there and the system does not let it be read.
    pub fn passing_text(
        &mut self,
        path: &str,
        named_at: Option<Origin>,
        sink: &mut Sink,
    ) -> Result<Option<(FileId, String)>, RunError> {
        if self.texts.get(path) == Some(&None) {
            return Ok(None);
        }
        self.asked.insert(path.to_owned());
        let most = MAXIMUM_FILE_SIZE;
        let refused = match self.world.read(path, most as u64)? {
            FileContent::Missing => return Ok(None),
            FileContent::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Ok(Some((self.passing_file(path), text))),
                Err(error) => decode(error.into_bytes(), path, &self.files, sink),
            },
            FileContent::Text(text) => return Ok(Some((self.passing_file(path), text.as_ref().to_owned()))),
            FileContent::Refused(refusal) => {
                self.refuse(path, refusal, most, named_at, sink);
                None
            }
        };
        self.texts.insert(path.to_owned(), refused);
        Ok(None)
    }

    /// Registers a file whose text is read anew where it is shown.
    fn passing_file(&mut self, path: &str) -> FileId {
        let (world, place) = (Arc::clone(&self.world), path.to_owned());
        let load = move || match world.read(&place, MAXIMUM_FILE_SIZE as u64) {
            Ok(FileContent::Bytes(bytes)) => text_of(bytes),
            Ok(FileContent::Text(text)) => text.as_ref().to_owned(),
            _ => String::new(),
        };
        self.files.add_loaded(path, Box::new(load))
    }

    /// Returns a path written in a file, relative to that file's folder, as a path of the workspace.
    pub fn resolve(from: &str, written: &str) -> Option<String> {
        if written.starts_with('/') || written.contains('\\') {
            return None;
        }
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in written.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                name => parts.push(name),
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

/// Returns bytes as the text that a diagnostic shows, without a copy of UTF-8.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Checks the encoding, and registers the text.
fn decode(bytes: Vec<u8>, path: &str, files: &Files, sink: &mut Sink) -> Option<FileId> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(files.add(path, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
            let wrong = bytes.get(valid).copied().unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let id = files.add(path, text);
            let message =
                if utf16 { "this file is UTF-16".to_owned() } else { format!("the byte 0x{wrong:02X} is not UTF-8") };
            sink.push(
                Diagnostic::error(codes::INVALID_UTF8, message)
                    .at(Origin { file: id, span: Span::new(valid, valid + 1) })
                    .help("save the file as UTF-8"),
            );
            None
        }
    }
}

/// Reports why a file is not read; a file may have `most` bytes.
fn refused(path: &str, refusal: ReadRefusal, most: usize) -> Diagnostic {
    match refusal {
        ReadRefusal::Outside => {
            Diagnostic::error(codes::PATH_OUTSIDE, format!("`{path}` is a link that leaves the workspace"))
                .help("copy the file into the workspace: all inputs of the output must be there")
        }
        ReadRefusal::Git => Diagnostic::error(codes::PATH_OUTSIDE, format!("`{path}` leads into a git repository"))
            .help("use another file: the program reads nothing below a folder `.git`"),
        ReadRefusal::Nowhere => Diagnostic::error(codes::MISSING_FILE, format!("`{path}` is a broken link"))
            .help("remove the link, or restore its target"),
        ReadRefusal::Links => {
            Diagnostic::error(codes::UNREADABLE_FILE, format!("`{path}` passes through too many links"))
                .help(format!(
                    "use the path of the file: at most {MAXIMUM_PATH_LINKS} links on a path, and {MAXIMUM_FOLDER_LINKS} to folders, are followed"
                ))
        }
        ReadRefusal::NoFile(kind) => {
            Diagnostic::error(codes::UNREADABLE_FILE, format!("`{path}` is {kind}, not a regular file"))
                .help("replace it with a regular file")
        }
        ReadRefusal::NotText => {
            Diagnostic::error(codes::UNREADABLE_FILE, format!("`{path}` has a path that is not UTF-8"))
                .help("rename it")
        }
        ReadRefusal::Pointer => {
            Diagnostic::error(codes::UNREADABLE_FILE, format!("`{path}` is a pointer of Git LFS, not the file itself"))
                .help("compare with a checkout: the repository does not contain the content of the file")
        }
        ReadRefusal::TooLarge(size) => {
            Diagnostic::error(codes::FILE_TOO_LARGE, format!("`{path}` has {} MiB", size >> 20))
                .help(format!("split the file: the limit is {}", written_size(most as u64)))
        }
    }
}

mod git_folder {
    //! The names of a repository's folder.

    /// Whether a name is the name of a repository's folder, in every form that a file system accepts for it.
    pub fn is_of_git(name: &[u8]) -> bool {
        // File systems may ignore case, points and blanks at the end, and some characters without a width.
        let text = String::from_utf8_lossy(name).to_lowercase();
        let is_ignored = |letter: &char| matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
        let text: String = text.chars().filter(|letter| !is_ignored(letter)).collect();
        matches!(text.trim_end_matches(['.', ' ']), ".git" | "git~1")
    }

    #[cfg(test)]
    mod tests {
        use super::is_of_git;

        #[test]
        fn a_repository_has_many_names() {
            for name in [".git", ".GIT", ".gIt", ".git.", ".git ", "git~1", ".g\u{200c}it"] {
                assert!(is_of_git(name.as_bytes()), "{name:?}");
            }
            for name in [".github", ".gitignore", "git", "a.git", ".gitlab"] {
                assert!(!is_of_git(name.as_bytes()), "{name:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_cannot_leave_the_workspace() {
        assert_eq!(Sources::resolve("policies/a/b.yaml", "../c.csv").as_deref(), Some("policies/c.csv"));
        assert_eq!(Sources::resolve("policies/a.yaml", "../../x"), None);
        assert_eq!(Sources::resolve("policies/a.yaml", "/etc/passwd"), None);
        assert_eq!(Sources::resolve("a.yaml", "./b//c"), Some("b/c".to_owned()));
    }
}
