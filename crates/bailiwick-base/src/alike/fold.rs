//! Many texts as a few groups: of each shape the first text, how many more there are, and the ranges of their values.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use bailiwick_yaml::digest::digest_of_run;

use super::shape::Own;

/// How many further members of a group are named.
pub const NAMED: usize = 3;

/// How many different values of an account are named: they may be users and groups.
const NAMED_COLUMN_VALUES: usize = 20;

/// How many different values are counted.
const COUNTED: usize = 10_000;

/// Groups of one shape each, in the order of their first members. `D` is the digest of a shape.
#[derive(Debug)]
pub struct Fold<F, D = u128> {
    groups: Vec<Group<F>>,
    positions: HashMap<D, usize>,
}

/// The texts of one shape.
#[derive(Debug)]
pub struct Group<F> {
    /// The data of the first one.
    pub first: F,
    /// How many there are beside the first.
    pub further: usize,
    /// The names of a few of those.
    pub named: Vec<String>,
    /// The values of all.
    pub ranges: Ranges,
}

/// The values of the texts of one shape.
#[derive(Debug)]
pub struct Ranges {
    /// Each number of the first text with the smallest and the largest in its place.
    pub numbers: Vec<(u64, u64, u64)>,
    /// The notes that are new or go, with their values.
    pub notes: BTreeMap<String, Distinct>,
    /// The columns of the first text with the values in their places, as far as they stand on changed lines.
    pub columns: Vec<(String, Distinct)>,
}

/// The different values in one place.
#[derive(Debug, Default)]
pub struct Distinct {
    known: HashSet<u128>,
    /// The first few.
    pub first: Vec<String>,
}

impl<F, D> Default for Fold<F, D> {
    fn default() -> Self {
        Self { groups: Vec::new(), positions: HashMap::new() }
    }
}

impl<F, D: Copy + Eq + Hash> Fold<F, D> {
    /// Adds a text by the digest of its shape. Returns the position of its group; `first` makes the data of a new one.
    pub fn add(&mut self, digest: D, name: &str, own: &Own, first: impl FnOnce() -> F) -> usize {
        let next = self.groups.len();
        let position = *self.positions.entry(digest).or_insert(next);
        match self.groups.get_mut(position) {
            None => {
                let numbers = own.numbers.iter().map(|&number| (number, number, number)).collect();
                let columns = own.columns.iter().map(|value| (value.column.clone(), Distinct::default())).collect();
                let mut ranges = Ranges { numbers, notes: BTreeMap::new(), columns };
                ranges.add(own);
                self.groups.push(Group { first: first(), further: 0, named: Vec::new(), ranges });
            }
            Some(group) => {
                group.further += 1;
                if group.named.len() < NAMED {
                    group.named.push(name.to_owned());
                }
                group.ranges.add(own);
            }
        }
        position
    }

    /// Returns a group by its position.
    pub fn get(&self, position: usize) -> Option<&Group<F>> {
        self.groups.get(position)
    }

    /// Returns a group by its position.
    pub fn get_mut(&mut self, position: usize) -> Option<&mut Group<F>> {
        self.groups.get_mut(position)
    }

    /// Returns the group of a shape.
    pub fn of_digest(&mut self, digest: D) -> Option<&mut Group<F>> {
        self.groups.get_mut(*self.positions.get(&digest)?)
    }

    /// Returns all groups.
    pub fn into_groups(self) -> Vec<Group<F>> {
        self.groups
    }
}

impl Ranges {
    fn add(&mut self, own: &Own) {
        for ((_, least, most), number) in self.numbers.iter_mut().zip(&own.numbers) {
            (*least, *most) = ((*least).min(*number), (*most).max(*number));
        }
        for ((_, values), value) in self.columns.iter_mut().zip(&own.columns).filter(|(_, value)| value.is_changed) {
            values.add(digest_of_run(&value.value), &value.value, NAMED_COLUMN_VALUES);
        }
        for note in &own.notes {
            match self.notes.get_mut(&note.key) {
                Some(values) => values.add(digest_of_run(&note.shape), &note.value, NAMED),
                None => {
                    let values = self.notes.entry(note.key.clone()).or_default();
                    values.add(digest_of_run(&note.shape), &note.value, NAMED);
                }
            }
        }
    }
}

impl Distinct {
    fn add(&mut self, shape: u128, value: &str, named: usize) {
        if self.known.len() <= COUNTED && self.known.insert(shape) && self.first.len() < named {
            self.first.push(value.to_owned());
        }
    }

    /// Returns how many different values there are; none where they were too many to count.
    pub fn count(&self) -> Option<usize> {
        Some(self.known.len()).filter(|count| *count <= COUNTED)
    }
}
