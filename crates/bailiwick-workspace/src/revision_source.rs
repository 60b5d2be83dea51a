//! The files of a workspace in a revision, read as a checkout of the revision would be read: a link is followed within the
//! workspace, and a submodule is an empty folder. Nothing is written.

use std::sync::Arc;

use bailiwick_compiler::emit::committed::EntryKind;
use bailiwick_compiler::emit::revision::RevisionTree;
use bailiwick_git::GitObject;
use bailiwick_policy::source::{FileContent, FileSource, Listing, ReadRefusal, is_of_git};
use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::{MAXIMUM_ENTRIES, MAXIMUM_FOLDER_LINKS, MAXIMUM_PATH_LINKS};

/// The beginning of a pointer of Git LFS.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The files of a workspace in a revision.
pub(crate) struct RevisionSource(pub(crate) Arc<RevisionTree>);

/// The entry that a path leads to, with its path without links.
enum Found {
    Missing,
    File(String),
    Folder(String),
    Refused(ReadRefusal),
}

impl RevisionSource {
    /// Finds the entry that a path leads to.
    fn find(&self, path: &str) -> Result<Found, RunError> {
        if path.starts_with('/') {
            return Ok(Found::Refused(ReadRefusal::Outside));
        }
        // The parts that are still to go, the next one last.
        let mut parts: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut way: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = parts.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => match way.pop() {
                    Some(_) => continue,
                    None => return Ok(Found::Refused(ReadRefusal::Outside)),
                },
                name if is_of_git(name.as_bytes()) => return Ok(Found::Refused(ReadRefusal::Git)),
                _ => way.push(part),
            }
            let here = way.join("/");
            match self.0.kind(&here) {
                Some(EntryKind::File) if parts.iter().all(|part| part.is_empty()) => return Ok(Found::File(here)),
                Some(EntryKind::File) => return Ok(Found::Missing),
                Some(EntryKind::Link) => {
                    links += 1;
                    let target = self.0.link_target(&here)?.filter(|_| links <= MAXIMUM_PATH_LINKS);
                    let Some(target) = target else { return Ok(Found::Refused(ReadRefusal::Links)) };
                    let Ok(target) = String::from_utf8(target) else {
                        return Ok(Found::Refused(ReadRefusal::Nowhere));
                    };
                    if target.starts_with('/') {
                        return Ok(Found::Refused(ReadRefusal::Outside));
                    }
                    way.pop();
                    parts.extend(target.rsplit('/').map(str::to_owned));
                }
                // A submodule, which is a folder.
                Some(_) => {}
                None if self.0.below(&here).next().is_some() => {}
                None if links == 0 => return Ok(Found::Missing),
                None => return Ok(Found::Refused(ReadRefusal::Nowhere)),
            }
        }
        Ok(Found::Folder(way.join("/")))
    }
}

impl FileSource for RevisionSource {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        let file = match self.find(path)? {
            Found::Missing => return Ok(FileContent::Missing),
            Found::Refused(refusal) => return Ok(FileContent::Refused(refusal)),
            Found::Folder(_) => return Ok(FileContent::Refused(ReadRefusal::NoFile("a folder"))),
            Found::File(file) => file,
        };
        Ok(match self.0.file(&file, path, most)? {
            None => FileContent::Missing,
            Some(GitObject::TooLarge(size)) => FileContent::Refused(ReadRefusal::TooLarge(size)),
            Some(GitObject::Bytes(bytes)) if bytes.starts_with(POINTER) => FileContent::Refused(ReadRefusal::Pointer),
            Some(GitObject::Bytes(bytes)) => FileContent::Bytes(bytes),
        })
    }

    fn is_link(&self, path: &str) -> bool {
        self.0.kind(path) == Some(EntryKind::Link)
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let mut listing = Listing::default();
        let mut links = 0;
        let refuse = |listing: &mut Listing, path: &str, refusal| listing.refused.push((path.to_owned(), refusal));
        // Each folder as it is named, as it is without links, and the folders around it without links.
        let mut folders: Vec<(String, String, Vec<String>)> = Vec::new();
        match self.find(folder)? {
            Found::Folder(real) => folders.push((folder.to_owned(), real, Vec::new())),
            Found::Refused(refusal) => refuse(&mut listing, folder, refusal),
            Found::Missing | Found::File(_) => {}
        }
        while let Some((named, real, around)) = folders.pop() {
            for (path, kind) in self.0.below(&real) {
                // A link leads to a folder around itself.
                if around.iter().any(|folder| folder.len() > real.len() && is_below(&path, folder)) {
                    refuse(&mut listing, &named, ReadRefusal::Links);
                    break;
                }
                let below = path.get(real.len()..).map_or("", |below| below.trim_start_matches('/'));
                if below.split('/').any(|part| part.starts_with('.')) {
                    continue;
                }
                let shown = if named.is_empty() { below.to_owned() } else { format!("{named}/{below}") };
                match kind {
                    EntryKind::File => listing.files.push(shown),
                    EntryKind::NotText => refuse(&mut listing, &shown, ReadRefusal::NotText),
                    EntryKind::Link => match self.find(&path)? {
                        Found::File(_) => listing.files.push(shown),
                        Found::Missing => refuse(&mut listing, &shown, ReadRefusal::Nowhere),
                        Found::Refused(refusal) => refuse(&mut listing, &shown, refusal),
                        Found::Folder(target) => {
                            links += 1;
                            let within = folders_around(&real, &path, &around);
                            if links > MAXIMUM_FOLDER_LINKS || within.contains(&target) {
                                refuse(&mut listing, &shown, ReadRefusal::Links);
                            } else {
                                folders.push((shown, target, within));
                            }
                        }
                    },
                    // A submodule is a folder without entries.
                    EntryKind::Other | EntryKind::EmptyFolder | EntryKind::Submodule => {}
                }
                if listing.files.len() > MAXIMUM_ENTRIES {
                    refuse(&mut listing, folder, ReadRefusal::Links);
                    return Ok(listing);
                }
            }
        }
        listing.files.sort();
        listing.refused.sort();
        Ok(listing)
    }
}

/// Whether a path is below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the folders from the folder `real` down to an entry below it, after the folders `around` it.
fn folders_around(real: &str, path: &str, around: &[String]) -> Vec<String> {
    let mut within = around.to_vec();
    within.push(real.to_owned());
    let ends = path.match_indices('/').map(|(end, _)| end).filter(|end| *end > real.len());
    within.extend(ends.filter_map(|end| path.get(..end)).map(str::to_owned));
    within
}
