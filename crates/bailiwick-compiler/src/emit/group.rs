//! The differences of a target's files. Files with differences of equal shape are folded.
//!
//! Files that change in the same way (see [`bailiwick_base::alike`]) are folded from the fourth on: the first is shown whole, then
//! how many further files there are, the first few of them by name, and what they do not share. Of those only the path is
//! read, and their texts are never kept. A difference of fewer files has each of them.

use bailiwick_base::alike::{Fold, Group};
use bailiwick_yaml::digest::Digest;

use super::objects::ChangeSignature;

/// The most files of a way that are all shown. Of more files, only the first is shown.
pub const SINGLE: usize = 3;

/// The differences of a target's files, in the order in which they are added.
#[derive(Debug)]
pub struct Groups {
    /// How many bytes may still be kept.
    room: usize,
    shown: Vec<Shown>,
    fold: Fold<First, Digest>,
}

/// A file that is shown, or would be if there were room.
#[derive(Debug)]
struct Shown {
    /// The difference; none for want of room.
    text: Option<DiffText>,
    /// Its group, if it is the first one of it.
    heads: Option<usize>,
    /// Whether it was folded after all.
    is_folded: bool,
}

/// The difference of a file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// The length in bytes.
    length: usize,
    /// The text; none where a part of a run had no room for it.
    text: Option<String>,
}

impl From<String> for DiffText {
    fn from(text: String) -> Self {
        Self { length: text.len(), text: Some(text) }
    }
}

impl DiffText {
    /// Returns a difference of this many bytes, with its text if a part kept the text.
    pub fn of_part(length: usize, text: Option<String>) -> Self {
        Self { length, text }
    }
}

/// The files that a file of a sample stands for.
#[derive(Debug, Default)]
pub struct FurtherFiles {
    /// The shown paths of the first few.
    pub first: Vec<String>,
    /// How many they are.
    pub count: usize,
}

/// The first file of a way.
#[derive(Debug)]
pub struct First {
    /// The name that it calls its tenant by.
    pub name: String,
    /// The files that are shown beside it.
    members: Vec<usize>,
}

impl Groups {
    /// Returns an empty group with room for texts of `room` bytes; further texts are counted.
    pub fn new(room: usize) -> Self {
        Self { room, shown: Vec::new(), fold: Fold::default() }
    }

    /// Whether the text of a file is needed: the first ones of a way are shown until there are too many of them.
    pub fn needs_text(way: Option<&ChangeSignature>) -> bool {
        way.is_none_or(|way| way.seen < SINGLE)
    }

    /// Adds a file as [`Groups::add`] does, with further files that change in the same way.
    pub fn add_with_further(&mut self, path: &str, way: Option<ChangeSignature>, text: String, further: &FurtherFiles) {
        let alike = way.clone().filter(|_| further.count > 0);
        self.add(path, way, text.into());
        let Some(way) = alike else { return };
        for path in &further.first {
            self.add(path, Some(way.clone()), String::new().into());
        }
        if let Some(group) = self.fold.of_digest(way.digest) {
            group.further += further.count.saturating_sub(further.first.len());
        }
    }

    /// Adds a file by its shown path, with its difference if [`Groups::needs_text`] holds. Without a way it is like no
    /// other file.
    pub fn add(&mut self, path: &str, way: Option<ChangeSignature>, text: DiffText) {
        let Some(way) = way else { return self.show(text, None) };
        let position =
            self.fold.add(way.digest, path, &way.own, || First { name: way.name.clone(), members: Vec::new() });
        let shown = self.shown.len();
        let Some(group) = self.fold.get_mut(position) else { return };
        if group.further == 0 {
            return self.show(text, Some(position));
        }
        if group.further < SINGLE {
            group.first.members.push(shown);
            return self.show(text, None);
        }
        for member in std::mem::take(&mut group.first.members) {
            if let Some(shown) = self.shown.get_mut(member) {
                shown.is_folded = true;
                self.room += shown.text.take().map_or(0, |text| text.length);
            }
        }
    }

    /// Returns the whole text, and how many files it leaves out for want of room. `describe` makes the lines below the
    /// difference of the first file of a group.
    pub fn finish(self, describe: impl Fn(&Group<First>, &str) -> String) -> (String, usize) {
        let mut whole = String::new();
        let mut left_out = 0;
        for shown in self.shown.into_iter().filter(|shown| !shown.is_folded) {
            let group = shown.heads.and_then(|position| self.fold.get(position));
            let group = group.filter(|group| group.further >= SINGLE);
            match (shown.text.and_then(|text| text.text), group) {
                (None, group) => left_out += 1 + group.map_or(0, |group| group.further),
                (Some(text), group) => {
                    whole.push_str(&text);
                    whole.extend(group.map(|group| describe(group, &text)));
                }
            }
        }
        (whole, left_out)
    }

    fn show(&mut self, text: DiffText, heads: Option<usize>) {
        let fits = text.length <= self.room;
        self.room -= if fits { text.length } else { 0 };
        self.shown.push(Shown { text: fits.then_some(text), heads, is_folded: false });
    }
}
