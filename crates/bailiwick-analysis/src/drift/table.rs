//! The objects of the policies and of a dump by their identities, in a few bytes each.

use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::internal;
use hashbrown::HashTable;

use super::prints::Print;

/// The number of an object in an [`ObjectTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectNumber(u32);

impl ObjectNumber {
    /// Returns the position of the object in the table.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The state of an object in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiveState {
    /// The dump has not had it so far.
    Absent,
    /// It is live as the policies want it.
    AsWanted,
    /// It is live, and its live form is kept or without interest.
    Live,
}

/// An object: 36 bytes, and one for its state.
#[derive(Debug, Clone, Copy)]
struct TableEntry {
    identity: Print,
    /// The print of the wanted object.
    content: Print,
    /// The number of its shape; none if it is compared by its fields.
    shape: u32,
}

/// The number of no shape.
const NO_SHAPE: u32 = u32::MAX;

/// The objects by their identities: first the wanted ones, and behind them the further live ones.
#[derive(Debug, Default)]
pub(super) struct ObjectTable {
    entries: Vec<TableEntry>,
    states: Vec<LiveState>,
    /// The places of the live objects. The list is shorter than the others, and empty until the dump is read.
    places: Vec<Origin>,
    numbers: HashTable<u32>,
}

impl ObjectTable {
    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the object of an identity.
    pub(super) fn find(&self, identity: Print) -> Option<ObjectNumber> {
        let is_it = |number: &u32| self.entries.get(*number as usize).is_some_and(|entry| entry.identity == identity);
        self.numbers.find(identity.half(), is_it).copied().map(ObjectNumber)
    }

    /// Adds a wanted object, in place of one with the same identity, with its shape and its print.
    pub(super) fn add_wanted(&mut self, identity: Print, content: Option<(u32, Print)>) -> ObjectNumber {
        let (shape, content) = content.map_or((NO_SHAPE, Print::NONE), |content| content);
        let number = self.number_of(identity);
        if let Some(entry) = self.entries.get_mut(number.index()) {
            (entry.shape, entry.content) = (shape, content);
        }
        number
    }

    /// Notes the place of a live object. Returns its number, and the place of an earlier one with the same identity.
    pub(super) fn add_live(&mut self, identity: Print, place: Origin) -> (ObjectNumber, Option<Origin>) {
        let number = self.number_of(identity);
        let earlier = self.state(number) != LiveState::Absent;
        self.set(number, LiveState::Live);
        if self.places.len() <= number.index() {
            self.places.resize(self.entries.len(), Origin::default());
        }
        let before = self.places.get_mut(number.index()).map(|known| std::mem::replace(known, place));
        (number, before.filter(|_| earlier))
    }

    /// Returns the number of an identity; a new one for an unknown identity.
    fn number_of(&mut self, identity: Print) -> ObjectNumber {
        match self.find(identity) {
            Some(number) => number,
            None => self.add(identity),
        }
    }

    fn add(&mut self, identity: Print) -> ObjectNumber {
        if self.numbers.len() == self.numbers.capacity() {
            self.grow();
        }
        let number = internal::number(self.entries.len());
        self.entries.push(TableEntry { identity, content: Print::NONE, shape: NO_SHAPE });
        self.states.push(LiveState::Absent);
        self.note(number, identity);
        ObjectNumber(number)
    }

    /// Makes a larger hash table from the entries. A hash table that grows by itself keeps the smaller one until it ends.
    fn grow(&mut self) {
        self.numbers = HashTable::new();
        self.numbers = HashTable::with_capacity(2 * self.entries.len());
        for number in 0..self.entries.len() {
            let identity = self.entries.get(number).map_or(Print::NONE, |entry| entry.identity);
            self.note(internal::number(number), identity);
        }
    }

    /// Adds the number of an identity to the hash table.
    fn note(&mut self, number: u32, identity: Print) {
        let Self { entries, numbers, .. } = self;
        let hash = |number: &u32| entries.get(*number as usize).map_or(0, |entry| entry.identity.half());
        numbers.insert_unique(identity.half(), number, hash);
    }

    /// Forgets the live objects: the first `wanted` objects stay.
    pub(super) fn forget_live(&mut self, wanted: usize) {
        self.entries.truncate(wanted);
        self.places.clear();
        self.states.clear();
        self.states.resize(self.entries.len(), LiveState::Absent);
        self.numbers.retain(|number| (*number as usize) < wanted);
    }

    /// Returns the state of an object.
    pub(super) fn state(&self, number: ObjectNumber) -> LiveState {
        self.states.get(number.index()).map_or(LiveState::Absent, |state| *state)
    }

    /// Changes the state of an object.
    pub(super) fn set(&mut self, number: ObjectNumber, state: LiveState) {
        if let Some(known) = self.states.get_mut(number.index()) {
            *known = state;
        }
    }

    /// Returns the number of the shape of a wanted object with its print; none if it is compared by its fields.
    pub(super) fn wanted(&self, number: ObjectNumber) -> Option<(u32, Print)> {
        let entry = self.entries.get(number.index()).filter(|entry| entry.shape != NO_SHAPE)?;
        Some((entry.shape, entry.content))
    }

    /// Returns the number of objects in a state.
    pub(super) fn count(&self, state: LiveState) -> usize {
        self.states.iter().filter(|known| **known == state).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_has_its_number_in_a_table_that_grew() {
        let mut table = ObjectTable::default();
        let number_of = |table: &ObjectTable, name: u32| table.find(Print::of(&name)).map(ObjectNumber::index);
        (0..5000).for_each(|name: u32| _ = table.add_wanted(Print::of(&name), None));
        table.forget_live(4000);
        (4500..9000).for_each(|name: u32| _ = table.add_live(Print::of(&name), Origin::default()));
        assert!((0..4000).all(|name| number_of(&table, name) == Some(name as usize)));
        assert_eq!([4000, 4499, 4500, 8999].map(|name| number_of(&table, name)), [None, None, Some(4000), Some(8499)]);
    }

    #[test]
    fn live_objects_are_forgotten_and_wanted_ones_stay() {
        let mut table = ObjectTable::default();
        let wanted = table.add_wanted(Print::of("wanted"), Some((7, Print::of("content"))));
        let (further, _) = table.add_live(Print::of("further"), Origin::default());
        assert_eq!(table.add_live(Print::of("wanted"), Origin::default()), (wanted, None));
        assert_eq!(table.add_live(Print::of("wanted"), Origin::default()), (wanted, Some(Origin::default())));
        assert_eq!((table.len(), table.state(further)), (2, LiveState::Live));
        table.forget_live(1);
        assert_eq!((table.find(Print::of("further")), table.find(Print::of("wanted"))), (None, Some(wanted)));
        assert_eq!((table.state(wanted), table.wanted(wanted)), (LiveState::Absent, Some((7, Print::of("content")))));
    }
}
