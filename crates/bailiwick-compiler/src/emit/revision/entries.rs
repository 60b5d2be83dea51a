//! The entries of a revision, folder by folder: of each entry the name, the kind and the bytes of the id, and no path.

use std::cmp::Ordering;

use bailiwick_git::GitObjectId;
use bailiwick_yaml::internal;

use crate::emit::committed::EntryKind;

/// The entries below a folder. There may be millions of them.
#[derive(Debug)]
pub(super) struct Entries {
    /// The folders; the first one has all others below it.
    folders: Vec<Folder>,
}

/// The entries of one folder, in the order of the paths below it: the name of a folder counts with a slash at its end.
#[derive(Debug, Default)]
struct Folder {
    names: Box<str>,
    /// The end of each name.
    ends: Box<[u32]>,
    /// The kind of each entry; none for a folder.
    kinds: Box<[Option<EntryKind>]>,
    /// The bytes of the ids, one id after the other.
    ids: Box<[u8]>,
    /// The positions of the folders among the entries, each with the place of the folder.
    below: Box<[(u32, u32)]>,
}

/// An entry of a folder, before it is kept.
#[derive(Debug)]
pub(super) struct NewEntry {
    /// The name, escaped if it is not text.
    pub(super) name: String,
    /// Whether the path is text.
    pub(super) is_text: bool,
    /// None for a folder.
    pub(super) kind: Option<EntryKind>,
    /// The id of the object.
    pub(super) id: GitObjectId,
}

impl NewEntry {
    fn key(&self) -> Key<'_> {
        Key { name: self.name.as_bytes(), is_folder: self.kind.is_none() }
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self { folders: vec![Folder::default()] }
    }
}

impl Entries {
    /// The place of the folder that has all others below it.
    pub(super) const ROOT: usize = 0;

    /// Fills a folder, by its place. Returns the places of the folders in it, in the order of `entries`, which are then to be filled.
    pub(super) fn fill(&mut self, place: usize, entries: &mut [NewEntry]) -> Vec<usize> {
        // Names that are not UTF-8 are escaped, and so have another place than in git.
        if !entries.is_sorted_by(|left, right| left.key() < right.key()) {
            entries.sort_by(|left, right| left.key().cmp(&right.key()));
        }
        let first = self.folders.len();
        let below = first..first + entries.iter().filter(|entry| entry.kind.is_none()).count();
        let ends = entries.iter().scan(0, |end, entry| {
            *end += entry.name.len();
            Some(internal::number(*end))
        });
        // With their capacities from the start: an allocator need not take back the rest of a list that grew.
        let mut names = String::with_capacity(entries.iter().map(|entry| entry.name.len()).sum());
        let mut ids = Vec::with_capacity(entries.iter().map(|entry| entry.id.as_bytes().len()).sum());
        for entry in &*entries {
            names.push_str(&entry.name);
            ids.extend_from_slice(entry.id.as_bytes());
        }
        let positions = entries.iter().enumerate().filter(|(_, entry)| entry.kind.is_none());
        let folder = Folder {
            names: names.into(),
            ends: ends.collect(),
            kinds: entries.iter().map(|entry| entry.kind).collect(),
            ids: ids.into(),
            below: positions
                .zip(below.clone())
                .map(|((at, _), place)| (internal::number(at), internal::number(place)))
                .collect(),
        };
        if let Some(place) = self.folders.get_mut(place) {
            *place = folder;
        }
        self.folders.resize_with(below.end, Folder::default);
        below.collect()
    }

    /// Returns the kind and the id of an entry that is no folder.
    pub(super) fn get(&self, path: &str) -> Option<(EntryKind, GitObjectId)> {
        let (folder, name) = match path.rsplit_once('/') {
            Some(("", _)) => return None,
            Some(parts) => parts,
            None => ("", path),
        };
        let folder = self.folders.get(self.folder(folder)?)?;
        let position = folder.position(name, false)?;
        Some((folder.kind(position)?, folder.id(position)?))
    }

    /// Iterates over the entries below a folder that are no folders, in the order of their paths, with the paths below the root.
    pub(super) fn below(&self, folder: &str) -> Below<'_> {
        let path = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let open = self.folder(folder).map(|place| Open::new(place, path.len()));
        Below { entries: self, open: open.into_iter().collect(), path }
    }

    /// Finds a folder.
    fn folder(&self, path: &str) -> Option<usize> {
        let mut place = Self::ROOT;
        for name in path.split('/').filter(|_| !path.is_empty()) {
            let folder = self.folders.get(place)?;
            place = folder.below(folder.position(name, true)?)?;
        }
        Some(place)
    }
}

impl Folder {
    fn name(&self, position: usize) -> Option<&str> {
        let start = position.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.names.get(start as usize..*self.ends.get(position)? as usize)
    }

    fn kind(&self, position: usize) -> Option<EntryKind> {
        self.kinds.get(position).copied().flatten()
    }

    fn id(&self, position: usize) -> Option<GitObjectId> {
        let length = self.ids.len().checked_div(self.ends.len())?;
        GitObjectId::from_bytes(self.ids.get(position * length..(position + 1) * length)?)
    }

    /// Returns the place of the folder at a position.
    fn below(&self, position: usize) -> Option<usize> {
        let found = self.below.binary_search_by_key(&position, |(at, _)| *at as usize).ok()?;
        self.below.get(found).map(|(_, place)| *place as usize)
    }

    /// Finds the first entry with a name, among the folders or among the other entries.
    fn position(&self, name: &str, is_folder: bool) -> Option<usize> {
        let wanted = Key { name: name.as_bytes(), is_folder };
        let key = |position: usize| Key {
            name: self.name(position).map_or(&[], str::as_bytes),
            is_folder: self.kind(position).is_none(),
        };
        let (mut from, mut to) = (0, self.ends.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if key(middle) < wanted {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        (from < self.ends.len() && key(from) == wanted).then_some(from)
    }
}

/// The name of an entry. The name of a folder is ordered as if it ended with a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key<'n> {
    name: &'n [u8],
    is_folder: bool,
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let common = self.name.len().min(other.name.len());
        let next = |key: &Self| key.name.get(common).copied().or(key.is_folder.then_some(b'/'));
        let heads = self.name.get(..common).cmp(&other.name.get(..common));
        heads.then_with(|| next(self).cmp(&next(other)))
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The way through the entries below a folder.
pub(super) struct Below<'e> {
    entries: &'e Entries,
    /// The folders on the way, each with the next position in it.
    open: Vec<Open>,
    /// The path of the last entry.
    path: String,
}

/// A folder on the way.
struct Open {
    place: usize,
    /// The next position, and how many folders are before it.
    next: usize,
    folders: usize,
    /// The length of the path of the folder, with a slash at its end.
    length: usize,
}

impl Open {
    fn new(place: usize, length: usize) -> Self {
        Self { place, next: 0, folders: 0, length }
    }
}

impl Iterator for Below<'_> {
    type Item = (String, EntryKind, GitObjectId);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let open = self.open.last_mut()?;
            let folder = self.entries.folders.get(open.place)?;
            let Some(name) = folder.name(open.next) else {
                self.open.pop();
                continue;
            };
            let position = open.next;
            open.next += 1;
            self.path.truncate(open.length);
            self.path.push_str(name);
            if let Some(kind) = folder.kind(position) {
                return Some((self.path.clone(), kind, folder.id(position)?));
            }
            let place = folder.below.get(open.folders).map(|(_, place)| *place as usize)?;
            open.folders += 1;
            self.path.push('/');
            self.open.push(Open::new(place, self.path.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: Option<EntryKind>, id: u8) -> NewEntry {
        let id = GitObjectId::from_bytes(&[id; 20]).expect("an id");
        NewEntry { name: name.to_owned(), is_text: true, kind, id }
    }

    /// Returns entries with the paths `a-b`, `a.yaml`, `a/x`, `a/y/z`, `a0` and `b`.
    fn entries() -> Entries {
        let (file, link) = (Some(EntryKind::File), Some(EntryKind::Link));
        let mut entries = Entries::default();
        let mut root = [
            entry("b", file, 6),
            entry("a0", link, 5),
            entry("a", None, 7),
            entry("a.yaml", file, 2),
            entry("a-b", file, 1),
        ];
        let a = entries.fill(Entries::ROOT, &mut root);
        let y = entries.fill(a[0], &mut [entry("x", file, 3), entry("y", None, 8)]);
        assert!(entries.fill(y[0], &mut [entry("z", file, 4)]).is_empty());
        entries
    }

    #[test]
    fn entries_come_in_the_order_of_their_paths() {
        let entries = entries();
        let found: Vec<(String, u8)> = entries.below("").map(|(path, _, id)| (path, id.as_bytes()[0])).collect();
        let expected = [("a-b", 1), ("a.yaml", 2), ("a/x", 3), ("a/y/z", 4), ("a0", 5), ("b", 6)];
        assert_eq!(found, expected.map(|(path, id)| (path.to_owned(), id)));
        let below = |folder: &str| entries.below(folder).map(|(path, ..)| path).collect::<Vec<_>>();
        assert_eq!(below("a"), ["a/x", "a/y/z"]);
        assert_eq!(below("a/y"), ["a/y/z"]);
        for other in ["b", "a0", "a/", "a/y/z", "c", "/"] {
            assert!(below(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn an_entry_is_found_by_its_path() {
        let entries = entries();
        for (path, kind, id) in entries.below("") {
            assert_eq!(entries.get(&path), Some((kind, id)), "{path}");
        }
        for other in ["", "a", "a/y", "a/", "a/y/", "x", "a/x/", "a0/", "a.yam", "/b"] {
            assert_eq!(entries.get(other), None, "{other}");
        }
    }
}
