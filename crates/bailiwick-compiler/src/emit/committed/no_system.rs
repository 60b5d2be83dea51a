//! Takes the place of `folder.rs` on a system without files, such as a browser: no folder is there.

use std::path::PathBuf;

use bailiwick_yaml::diag::RunError;

pub use self::AbsentFolder as Folder;
use super::{Committed, Entry};

/// A folder that is not there.
#[derive(Debug)]
pub struct AbsentFolder;

impl AbsentFolder {
    /// Creates the view of a target's folder.
    pub fn new(_: PathBuf) -> Self {
        Self
    }

    /// Whether there is a file: never.
    pub fn has_file(&self, _: &str) -> bool {
        false
    }

    /// Returns the beginning of no file.
    pub fn head(&self, _: &str, _: usize) -> Option<Vec<u8>> {
        None
    }
}

impl Committed for AbsentFolder {
    fn read(&self, _: &str) -> Result<Option<Vec<u8>>, RunError> {
        Ok(None)
    }

    fn each(&self, _: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        Ok(())
    }
}
