//! The files of a workspace that is open in an editor.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use bailiwick_yaml::diag::RunError;

use super::{FileContent, FileSource, Listing, ReadRefusal};

/// The largest file that is kept, in bytes. A larger one is read again.
const MAXIMUM_KEPT_FILE: usize = 1 << 20;

/// Files with the texts of the open documents in place of some of them. The other files are read once, until they change.
pub struct EditorFiles {
    files: Arc<dyn FileSource>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The texts of the open documents by their paths.
    open: BTreeMap<String, String>,
    contents: HashMap<String, FileContent>,
    listings: HashMap<String, Listing>,
}

impl EditorFiles {
    /// Returns files without an open document.
    pub fn new(files: Arc<dyn FileSource>) -> Self {
        Self { files, state: Mutex::default() }
    }

    /// Opens a document, or replaces its text.
    pub fn open(&self, path: &str, text: String) {
        self.state().open.insert(path.to_owned(), text);
    }

    /// Closes a document: its text is the file again.
    pub fn close(&self, path: &str) {
        self.state().open.remove(path);
    }

    /// Returns the text of an open document.
    pub fn text(&self, path: &str) -> Option<String> {
        self.state().open.get(path).cloned()
    }

    /// Forgets what was read: files changed.
    pub fn forget(&self) {
        let mut state = self.state();
        state.contents.clear();
        state.listings.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        match self.state.lock() {
            Ok(state) => state,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl FileSource for EditorFiles {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        let state = self.state();
        if let Some(text) = state.open.get(path) {
            let size = text.len() as u64;
            let is_too_large = size > most;
            return Ok(if is_too_large {
                FileContent::Refused(ReadRefusal::TooLarge(size))
            } else {
                FileContent::Bytes(text.clone().into_bytes())
            });
        }
        // A kept file is below every limit.
        if let Some(known) = state.contents.get(path) {
            return Ok(known.clone());
        }
        drop(state);
        let content = self.files.read(path, most)?;
        let is_kept = match &content {
            FileContent::Missing => true,
            FileContent::Bytes(_) | FileContent::Text(_) => {
                content.bytes().is_some_and(|bytes| bytes.len() <= MAXIMUM_KEPT_FILE)
            }
            FileContent::Refused(_) => false,
        };
        if is_kept {
            self.state().contents.insert(path.to_owned(), content.clone());
        }
        Ok(content)
    }

    fn is_link(&self, path: &str) -> bool {
        self.files.is_link(path)
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let known = self.state().listings.get(folder).cloned();
        let mut listing = match known {
            Some(known) => known,
            None => {
                let listing = self.files.list(folder)?;
                self.state().listings.insert(folder.to_owned(), listing.clone());
                listing
            }
        };
        let state = self.state();
        let new =
            state.open.keys().filter(|path| is_listed(path, folder) && listing.files.binary_search(path).is_err());
        let new: Vec<String> = new.cloned().collect();
        if !new.is_empty() {
            listing.files.extend(new);
            listing.files.sort();
        }
        Ok(listing)
    }
}

/// Whether a file is below a folder, and not hidden there.
fn is_listed(path: &str, folder: &str) -> bool {
    let below =
        if folder.is_empty() { Some(path) } else { path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) };
    below.is_some_and(|below| below.split('/').all(|part| !part.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::super::MemorySource;
    use super::*;

    fn files() -> EditorFiles {
        let files = [("policies/a.yaml", "a"), ("policies/b.yaml", "b")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        EditorFiles::new(Arc::new(MemorySource::new(files)))
    }

    fn text(files: &EditorFiles, path: &str, most: u64) -> Option<String> {
        let content = files.read(path, most).expect("a content");
        content.bytes().map(|bytes| String::from_utf8(bytes.to_vec()).expect("a text"))
    }

    #[test]
    fn an_open_document_is_in_place_of_its_file() {
        let files = files();
        files.open("policies/a.yaml", "changed".to_owned());
        assert_eq!(text(&files, "policies/a.yaml", 100).as_deref(), Some("changed"));
        assert_eq!(text(&files, "policies/a.yaml", 3), None, "a document has the limits of a file");
        files.close("policies/a.yaml");
        assert_eq!(text(&files, "policies/a.yaml", 100).as_deref(), Some("a"));
    }

    #[test]
    fn an_open_document_that_is_not_saved_is_listed() {
        let files = files();
        for path in ["policies/aa.yaml", "policies/.hidden/c.yaml", "policies2/c.yaml"] {
            files.open(path, String::new());
        }
        let listing = files.list("policies").expect("a listing");
        assert_eq!(listing.files, ["policies/a.yaml", "policies/aa.yaml", "policies/b.yaml"]);
    }
}
