//! Machines without notices of changed files.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diag::RunError;

/// Notices changes of the files below a folder. There is none here.
pub(crate) struct FolderWatcher(Infallible);

/// The end of a wait for changes.
pub(crate) enum Noticed {
    /// Files at these paths, or below them, changed.
    #[expect(dead_code, reason = "nothing is noticed here")]
    Changed(Vec<PathBuf>),
    /// The time passed without a change.
    #[expect(dead_code, reason = "nothing is noticed here")]
    Nothing,
}

impl FolderWatcher {
    /// Refuses to watch a folder.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn start(_folder: &Path) -> Result<Self, RunError> {
        Err(RunError::new("this program cannot watch files"))
    }

    /// Waits for changes.
    pub(crate) fn wait(&mut self, _most: Duration) -> Result<Noticed, RunError> {
        match self.0 {}
    }
}
