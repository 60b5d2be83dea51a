//! The namespaces of the states with their values as numbers: a value is hashed once, and takes the room of its number afterwards.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::internal;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use super::named::InputTexts;
use super::shapes::{NAME, NamespaceShape, Shapes};

/// The namespaces, in the order of names.
pub(super) struct Rows<'w> {
    rows: Vec<Row<'w>>,
    /// The values of each namespace, one namespace behind the other. The first value of a namespace is its name.
    used: Vec<UsedValue>,
    /// Whether each value is in an input beside the account lists.
    has_meaning: Vec<bool>,
}

/// A namespace in all states.
struct Row<'w> {
    name: &'w Arc<str>,
    /// The number of the shape of its files in all states.
    class: u32,
    /// The position of its first value.
    first: u32,
    /// Whether files of different accounts are in the namespace.
    is_mixed: bool,
}

/// A value of a namespace in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UsedValue {
    pub(super) column: u32,
    pub(super) value: u32,
    /// Whether the value joins namespaces.
    pub(super) is_joining: bool,
}

/// The values that join namespaces or may be in an input, each once.
struct Values<'w> {
    list: Vec<&'w str>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The columns of account lists, each with the digest of its name.
struct Columns<'w>(Vec<(&'w str, u128)>);

/// A namespace in a state: the position of the state, and the shape of the namespace.
type Found<'w> = (usize, &'w NamespaceShape);

/// Collects the rows.
struct RowCollector<'w, 'i> {
    shapes: &'w [Shapes<'i>],
    inputs: &'i InputTexts,
    values: Values<'w>,
    columns: Columns<'w>,
    classes: HashMap<u128, u32>,
    rows: Vec<Row<'w>>,
    used: Vec<UsedValue>,
}

impl<'w> Rows<'w> {
    /// Joins the states of each namespace.
    pub(super) fn new<'i>(shapes: &'w [Shapes<'i>], inputs: &'i InputTexts) -> Self {
        let most = shapes.iter().map(|state| state.namespaces().len()).max().map_or(0, |most| most);
        let mut collector = RowCollector {
            shapes,
            inputs,
            // A namespace and its account have two names or more. A table that grows would hash them again.
            values: Values::with_capacity(2 * most),
            columns: Columns(vec![("", NAME)]),
            classes: HashMap::new(),
            rows: Vec::with_capacity(most),
            used: Vec::with_capacity(4 * most),
        };
        let mut states: Vec<_> = shapes.iter().map(|state| state.namespaces().peekable()).collect();
        let mut found: Vec<Found<'_>> = Vec::new();
        // The namespaces of each state are in the order of names.
        while let Some(name) = states.iter_mut().filter_map(|state| state.peek().map(|(name, _)| name)).min() {
            for (position, state) in states.iter_mut().enumerate() {
                found.extend(state.next_if(|(known, _)| known == name).map(|(_, shape)| (position, shape)));
            }
            collector.add(name, &found);
            found.clear();
        }
        let RowCollector { values, rows, used, .. } = collector;
        Self { rows, used, has_meaning: inputs.occurrences(&values.list) }
    }

    /// Returns the number of namespaces.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of values.
    pub(super) fn value_count(&self) -> usize {
        self.has_meaning.len()
    }

    /// Returns the name of a namespace.
    pub(super) fn name(&self, position: usize) -> Option<&'w Arc<str>> {
        self.rows.get(position).map(|row| row.name)
    }

    /// Returns the number of the shape of a namespace.
    pub(super) fn class(&self, position: usize) -> u32 {
        self.rows.get(position).map_or(0, |row| row.class)
    }

    /// Whether no other namespace can stand for this one.
    pub(super) fn is_apart(&self, position: usize) -> bool {
        let name = self.used(position).first().is_some_and(|name| self.has_meaning(name));
        name || self.rows.get(position).is_none_or(|row| row.is_mixed)
    }

    /// Iterates over the values of a namespace with a meaning of their own.
    pub(super) fn named(&self, position: usize) -> impl Iterator<Item = &UsedValue> {
        self.used(position).iter().filter(|used| self.has_meaning(used))
    }

    /// Iterates over the values of a namespace that join it with others.
    pub(super) fn joining(&self, position: usize) -> impl Iterator<Item = &UsedValue> {
        self.used(position).iter().filter(|used| used.is_joining)
    }

    fn has_meaning(&self, used: &UsedValue) -> bool {
        self.has_meaning.get(used.value as usize) == Some(&true)
    }

    fn used(&self, position: usize) -> &[UsedValue] {
        let first = |position: usize| self.rows.get(position).map_or(self.used.len(), |row| row.first as usize);
        self.used.get(first(position)..first(position + 1)).map_or(&[], |used| used)
    }
}

impl<'w> RowCollector<'w, '_> {
    /// Adds a namespace with its states.
    fn add(&mut self, name: &'w Arc<str>, found: &[Found<'w>]) {
        let mut own = vec![UsedValue { column: 0, value: self.values.add(name), is_joining: true }];
        let mut digests: Vec<Option<u128>> = vec![None; self.shapes.len()];
        for (position, shape) in found {
            let Some(state) = self.shapes.get(*position) else { continue };
            let Some(form) = state.form_of(shape) else { continue };
            digests.get_mut(*position).into_iter().for_each(|digest| *digest = Some(form.digest));
            for (column, value) in state.columns_of(shape) {
                let (column, digest) = self.columns.add(column);
                let is_joining = form.joining.contains(&digest);
                if is_joining || self.inputs.may_have(value) {
                    own.push(UsedValue { column, value: self.values.add(value), is_joining });
                }
            }
        }
        let text = |used: &UsedValue| self.values.list.get(used.value as usize);
        own.sort_unstable_by(|left, right| (left.column, text(left)).cmp(&(right.column, text(right))));
        own.dedup_by(|later, first| {
            let is_same = (later.column, later.value) == (first.column, first.value);
            first.is_joining |= is_same && later.is_joining;
            is_same
        });
        let next = internal::number(self.classes.len());
        let class = *self.classes.entry(digest_of_run(&digests)).or_insert(next);
        let is_mixed = found.iter().any(|(_, shape)| shape.is_apart);
        self.rows.push(Row { name, class, first: internal::number(self.used.len()), is_mixed });
        self.used.extend(own);
    }
}

impl<'w> Values<'w> {
    fn with_capacity(count: usize) -> Self {
        Self {
            list: Vec::with_capacity(count),
            numbers: HashTable::with_capacity(count),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Returns the number of a value.
    fn add(&mut self, value: &'w str) -> u32 {
        let Self { list, numbers, hasher } = self;
        let hash = hasher.hash_one(value);
        if let Some(known) = numbers.find(hash, |number| list.get(*number as usize) == Some(&value)) {
            return *known;
        }
        let next = internal::number(list.len());
        list.push(value);
        numbers.insert_unique(hash, next, |number| hasher.hash_one(list.get(*number as usize).map_or("", |text| text)));
        next
    }
}

impl<'w> Columns<'w> {
    /// Returns the number of a column, and the digest of its name.
    fn add(&mut self, column: &'w str) -> (u32, u128) {
        let own = self.0.iter().skip(1).position(|(known, _)| *known == column);
        let position = own.map_or(self.0.len(), |position| position + 1);
        if own.is_none() {
            self.0.push((column, digest_of_run(column)));
        }
        (internal::number(position), self.0.get(position).map_or(NAME, |(_, digest)| *digest))
    }
}
