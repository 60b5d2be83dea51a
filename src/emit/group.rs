//! Differences in which what is equal is told once.
//!
//! Files that change in the same way (see `words.rs` for what that is) are folded from the fourth on: the first is shown
//! whole, then how many further ones there are, the first few of them by name, and what they do not share. Of those
//! only the path is read, and their texts are never kept. A difference of fewer files looks as it always did.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::objects::Way;
use super::words::OwnNote;

/// How many files of a way are shown one by one; one more, and only the first is.
pub const SINGLE: usize = 3;

/// How many further files are named.
const NAMED: usize = 3;

/// How many values of a note are counted.
const COUNTED: usize = 10_000;

/// The differences of a target's files, in the order in which they are added.
#[derive(Debug)]
pub struct Groups {
    /// How many bytes may still be kept.
    room: usize,
    shown: Vec<Shown>,
    groups: Vec<Group>,
    by_way: HashMap<u128, usize>,
}

/// A file that is shown, or would be if there were room.
#[derive(Debug)]
struct Shown {
    text: Option<String>,
    /// Its group, if it is the first one of it.
    heads: Option<usize>,
    /// True when it was folded after all.
    is_folded: bool,
}

/// The files of a way.
#[derive(Debug)]
pub struct Group {
    /// The ones that are shown, but for the first.
    members: Vec<usize>,
    /// How many there are beside the first.
    pub further: usize,
    /// The names of a few of those.
    pub named: Vec<String>,
    /// What the first one calls its tenant by.
    pub name: String,
    /// Each number of the first one with the smallest and the largest in its place.
    pub numbers: Vec<(u64, u64, u64)>,
    /// The notes that are new or go, with their values.
    pub notes: BTreeMap<String, Values>,
}

/// The values of a note.
#[derive(Debug, Default)]
pub struct Values {
    prints: HashSet<u128>,
    /// The first few.
    pub first: Vec<String>,
}

impl Groups {
    /// Room for texts of so many bytes; the rest is counted.
    pub fn new(room: usize) -> Self {
        Self { room, shown: Vec::new(), groups: Vec::new(), by_way: HashMap::new() }
    }

    /// True when the text of a file is needed: the first ones of a way are shown until there are too many of them.
    pub fn needs_text(way: Option<&Way>) -> bool {
        way.is_none_or(|way| way.seen < SINGLE)
    }

    /// Adds a file by its shown path, with its difference if [`Groups::needs_text`] says so. Without a way it is like
    /// no other.
    pub fn add(&mut self, path: &str, way: Option<Way>, text: String) {
        let Some(way) = way else { return self.show(text, None) };
        let next = self.groups.len();
        let position = *self.by_way.entry(way.print).or_insert(next);
        if position == next {
            self.groups.push(Group::of(&way));
            return self.show(text, Some(position));
        }
        let count = self.groups.get(position).map_or(0, |group| group.further + 1);
        if count < SINGLE {
            let shown = self.shown.len();
            self.show(text, None);
            self.groups.iter_mut().skip(position).take(1).for_each(|group| group.members.push(shown));
        }
        let Some(group) = self.groups.get_mut(position) else { return };
        group.add(path, way);
        if count == SINGLE {
            for member in std::mem::take(&mut group.members) {
                if let Some(shown) = self.shown.get_mut(member) {
                    shown.is_folded = true;
                    self.room += shown.text.take().map_or(0, |text| text.len());
                }
            }
        }
    }

    /// The whole text, and how many files it leaves out for want of room. `told` says what is told of a group below the
    /// difference of its first file.
    pub fn finish(self, told: impl Fn(&Group, &str) -> String) -> (String, usize) {
        let mut whole = String::new();
        let mut left_out = 0;
        for shown in self.shown.into_iter().filter(|shown| !shown.is_folded) {
            let group = shown.heads.and_then(|position| self.groups.get(position));
            let group = group.filter(|group| group.further >= SINGLE);
            match (&shown.text, group) {
                (None, group) => left_out += 1 + group.map_or(0, |group| group.further),
                (Some(text), group) => {
                    whole.push_str(text);
                    whole.extend(group.map(|group| told(group, text)));
                }
            }
        }
        (whole, left_out)
    }

    fn show(&mut self, text: String, heads: Option<usize>) {
        let fits = text.len() <= self.room;
        self.room -= if fits { text.len() } else { 0 };
        self.shown.push(Shown { text: fits.then_some(text), heads, is_folded: false });
    }
}

impl Group {
    fn of(way: &Way) -> Self {
        let mut group = Self {
            members: Vec::new(),
            further: 0,
            named: Vec::new(),
            name: way.name.clone(),
            numbers: way.numbers.iter().map(|&number| (number, number, number)).collect(),
            notes: BTreeMap::new(),
        };
        group.note(&way.notes);
        group
    }

    fn add(&mut self, path: &str, way: Way) {
        self.further += 1;
        if self.named.len() < NAMED {
            self.named.push(path.to_owned());
        }
        for ((_, least, most), number) in self.numbers.iter_mut().zip(way.numbers) {
            (*least, *most) = ((*least).min(number), (*most).max(number));
        }
        self.note(&way.notes);
    }

    fn note(&mut self, notes: &[OwnNote]) {
        for note in notes {
            match self.notes.get_mut(&note.key) {
                Some(values) => values.add(note),
                None => self.notes.entry(note.key.clone()).or_default().add(note),
            }
        }
    }
}

impl Values {
    fn add(&mut self, note: &OwnNote) {
        if self.prints.len() <= COUNTED && self.prints.insert(note.print) && self.first.len() < NAMED {
            self.first.push(note.value.clone());
        }
    }

    /// How many different ones there are; none where they were too many to count.
    pub fn count(&self) -> Option<usize> {
        Some(self.prints.len()).filter(|count| *count <= COUNTED)
    }
}
