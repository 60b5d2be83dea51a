//! The owners and modes of the files of a cache.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

use super::UnfitFolder;

/// The mode bits that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// The mode bit of a folder in which users remove and rename only their own entries.
const STICKY: u32 = 0o1000;

/// Checks that only the user can write to a folder, and that no other user can replace it.
///
/// # Errors
/// When another user can, or the system does not describe a folder on the way.
pub(super) fn check_owners(folder: &Path) -> Result<(), UnfitFolder> {
    let user = rustix::process::geteuid().as_raw();
    let is_there = |part: &&Path| part.symlink_metadata().is_ok();
    for part in folder.ancestors().filter(is_there) {
        let found = part.symlink_metadata().map_err(UnfitFolder::Unreadable)?;
        let is_own = found.uid() == user;
        let is_closed = found.mode() & OTHERS_WRITE == 0;
        let is_sticky = found.mode() & STICKY != 0;
        if part == folder && !(found.is_dir() && is_own && is_closed) {
            return Err(UnfitFolder::NotOwn);
        }
        if part != folder && !((is_own || found.uid() == 0) && (is_closed || is_sticky)) {
            return Err(UnfitFolder::OpenParent(part.to_owned()));
        }
    }
    Ok(())
}

/// Reads a file of at most `most` bytes; none if it does not exist or another user can have written it.
pub(super) fn read_own(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_own = found.st_uid == rustix::process::geteuid().as_raw();
    let is_closed = Mode::from_raw_mode(found.st_mode).bits() & OTHERS_WRITE == 0;
    if !(is_file && is_own && is_closed && u64::try_from(found.st_size).is_ok_and(|size| size <= most)) {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
