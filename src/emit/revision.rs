//! Earlier output in a revision of git.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::committed::{Committed, Entry, EntryKind, escaped};
use crate::diag::RunError;
use crate::git::{Objects, Repository};

/// A folder as it was in a revision.
#[derive(Debug)]
pub struct Revision {
    /// The id of each blob and its kind, by its path below the folder.
    blobs: BTreeMap<String, (String, EntryKind)>,
    reader: Mutex<Objects>,
}

impl Revision {
    /// Opens a folder, a path below the root of the work tree, as it was in a revision.
    ///
    /// # Errors
    /// When there is no git, no such revision, or an object is missing.
    pub fn open(repository: &Repository, revision: &str, folder: &str) -> Result<Self, RunError> {
        let commit = repository.commit(revision)?.ok_or_else(|| {
            RunError::new(format!("git knows no revision `{revision}`"))
                .help("name a branch, a tag or a commit; in CI, fetch enough history")
        })?;
        let listing = repository.list(&commit, folder)?;
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let entries = listing.split(|byte| *byte == 0).filter_map(|record| entry(record, &prefix));
        Ok(Self { blobs: entries.collect(), reader: Mutex::new(repository.objects()?) })
    }
}

/// Reads a record of `ls-tree`: the mode, the type, the id, and behind a tab the path.
fn entry(record: &[u8], prefix: &str) -> Option<(String, (String, EntryKind))> {
    let shown;
    let (record, is_text) = match std::str::from_utf8(record) {
        Ok(record) => (record, true),
        Err(_) => {
            // The only byte before the path that is escaped is the tab.
            shown = escaped(record).replacen("\\t", "\t", 1);
            (shown.as_str(), false)
        }
    };
    let (meta, path) = record.split_once('\t')?;
    let mut fields = meta.split(' ');
    let (mode, blob) = (fields.next()?, fields.nth(1)?);
    // A mode begins with 100 for a file, with 120 for a link, and with 160 for another repository.
    let kind = match mode.get(..3) {
        _ if !is_text => EntryKind::NotText,
        Some("100") => EntryKind::File,
        Some("120") => EntryKind::Link,
        _ => EntryKind::Other,
    };
    Some((path.strip_prefix(prefix)?.to_owned(), (blob.to_owned(), kind)))
}

impl Committed for Revision {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let Some((blob, EntryKind::File)) = self.blobs.get(path) else { return Ok(None) };
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.blob(blob, path).map(Some)
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.blobs.iter().for_each(|(path, (_, kind))| see(Entry { path: path.clone(), kind: *kind }));
        Ok(())
    }
}
