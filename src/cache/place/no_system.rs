//! Takes the place of `system.rs` on a system without owners of files, such as a browser: there is no cache.

use std::path::Path;

use super::UnfitFolder;

/// Refuses every folder.
///
/// # Errors
/// Always.
pub(super) fn check_owners(_: &Path) -> Result<(), UnfitFolder> {
    Err(UnfitFolder::NotOwn)
}

/// Reads no file.
pub(super) fn read_own(_: &Path, _: u64) -> Option<Vec<u8>> {
    None
}
