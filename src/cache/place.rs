//! The folder of a cache: a folder that only the user can write to, and that no commit can contain.
//!
//! A cache decides which files `render` does not write. So its folder belongs to the user, other users can neither write to
//! it nor replace it, and it is outside the workspace and the git work tree.

use std::path::{Path, PathBuf};

use crate::emit::writer;

#[cfg_attr(not(unix), path = "place/no_system.rs")]
mod system;

/// A folder that may hold a cache, as a canonical path; it need not be there.
#[derive(Debug, Clone)]
pub struct Place {
    folder: PathBuf,
}

/// The reason why a folder holds no cache, as the end of a sentence about the folder.
#[derive(Debug, thiserror::Error)]
pub enum UnfitFolder {
    /// A symbolic link can lead elsewhere.
    #[error("it is a symbolic link")]
    Link,
    /// The path is not valid.
    #[error("it is no path: {0}")]
    NoPath(std::io::Error),
    /// The path does not begin at the root.
    #[error("it is no absolute path")]
    NotAbsolute,
    /// The path has a part `..`.
    #[error("its path holds `..`")]
    HasParent,
    /// The folder is in the workspace or in the git work tree.
    #[error("it lies in `{}`, where a commit can write", .0.display())]
    InRepository(PathBuf),
    /// The system does not describe the folder.
    #[error("it cannot be looked at: {0}")]
    Unreadable(std::io::Error),
    /// Other users own the folder or can write to it.
    #[error("it is not a folder that only its owner, the user of this run, can write to")]
    NotOwn,
    /// Other users can replace the folder.
    #[error("other users can rename the entries of `{}`", .0.display())]
    OpenParent(PathBuf),
}

impl Place {
    /// Judges a folder. `around` are folders in which no cache may lie, as canonical paths.
    ///
    /// # Errors
    /// When a cache may not lie there.
    pub fn judge(folder: &Path, around: &[&Path]) -> Result<Self, UnfitFolder> {
        if folder.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(UnfitFolder::Link);
        }
        let folder = std::path::absolute(folder).map_err(UnfitFolder::NoPath)?;
        let folder = canonical(&folder)?;
        if let Some(outer) = around.iter().find(|outer| folder.starts_with(outer)) {
            return Err(UnfitFolder::InRepository((*outer).to_owned()));
        }
        system::check_owners(&folder)?;
        Ok(Self { folder })
    }

    /// Reads a file of the cache of at most `most` bytes; none if it does not exist or another user can have written it.
    pub(super) fn read(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        system::read_own(&self.folder.join(name), most)
    }

    /// Writes a file of the cache. If that fails, the next run is only slower.
    pub(super) fn write(&self, name: &str, content: &writer::Content<'_>) {
        let made = writer::make_private_folder(&self.folder);
        _ = made.and_then(|()| writer::replace_own(&self.folder.join(name), content));
    }
}

/// Returns the path without links; the end of it need not be there.
fn canonical(folder: &Path) -> Result<PathBuf, UnfitFolder> {
    let there = folder.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let (part, found) = there.ok_or(UnfitFolder::NotAbsolute)?;
    let rest = folder.strip_prefix(part).unwrap_or(Path::new(""));
    if rest.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
        return Err(UnfitFolder::HasParent);
    }
    Ok(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
}
