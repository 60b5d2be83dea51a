//! A world with edited files.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_yaml::diag::RunError;

use super::{FileContent, FileSource, Listing, ReadRefusal};

/// Files with other texts in the place of some of them.
pub struct EditedSource {
    files: Arc<dyn FileSource>,
    edited: BTreeMap<String, String>,
}

impl EditedSource {
    /// Returns the files with the texts of edited ones by their paths.
    pub fn new(files: Arc<dyn FileSource>, edited: BTreeMap<String, String>) -> Self {
        Self { files, edited }
    }
}

impl FileSource for EditedSource {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        match self.edited.get(path) {
            Some(text) if text.len() as u64 > most => {
                Ok(FileContent::Refused(ReadRefusal::TooLarge(text.len() as u64)))
            }
            Some(text) => Ok(FileContent::Bytes(text.clone().into_bytes())),
            None => self.files.read(path, most),
        }
    }

    fn is_link(&self, path: &str) -> bool {
        self.files.is_link(path)
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        self.files.list(folder)
    }
}
