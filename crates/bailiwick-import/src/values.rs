//! InternedValues of objects, each stored once: equal values have equal ids.

use std::hash::BuildHasher as _;

use bailiwick_kubernetes::absent;
use bailiwick_yaml::{NodeRef, NodeValue, internal};
use hashbrown::{DefaultHashBuilder, HashTable};

/// A reference to a value that is stored once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

/// A value with the ids of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InternedValue {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// The bits of another number.
    Float(u64),
    /// A string.
    Text(Box<str>),
    /// InternedValues in order.
    List(Box<[ValueId]>),
    /// Keys, which are texts, with their values, in order.
    Map(Box<[(ValueId, ValueId)]>),
}

/// The values of all objects of an import.
#[derive(Debug, Default)]
pub struct InternedValues {
    table: ValueTable,
    /// The items of the lists that are interned at the moment, the innermost list last.
    open_items: Vec<ValueId>,
    /// The entries of the maps that are interned at the moment, the innermost map last.
    open_entries: Vec<(ValueId, ValueId)>,
}

/// The values with their ids.
#[derive(Debug, Default)]
struct ValueTable {
    values: Vec<InternedValue>,
    /// The ids with the hashes of their values: a table that grows reads no value again.
    ids: HashTable<(u32, ValueId)>,
    hasher: DefaultHashBuilder,
}

/// A value with borrowed parts: most values are known already, and need no memory of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum BorrowedValue<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'v str),
    List(&'v [ValueId]),
    Map(&'v [(ValueId, ValueId)]),
}

impl InternedValue {
    fn borrowed(&self) -> BorrowedValue<'_> {
        match self {
            Self::Null => BorrowedValue::Null,
            Self::Bool(truth) => BorrowedValue::Bool(*truth),
            Self::Int(number) => BorrowedValue::Int(*number),
            Self::Float(bits) => BorrowedValue::Float(*bits),
            Self::Text(text) => BorrowedValue::Text(text),
            Self::List(items) => BorrowedValue::List(items),
            Self::Map(entries) => BorrowedValue::Map(entries),
        }
    }
}

impl From<BorrowedValue<'_>> for InternedValue {
    fn from(value: BorrowedValue<'_>) -> Self {
        match value {
            BorrowedValue::Null => Self::Null,
            BorrowedValue::Bool(truth) => Self::Bool(truth),
            BorrowedValue::Int(number) => Self::Int(number),
            BorrowedValue::Float(bits) => Self::Float(bits),
            BorrowedValue::Text(text) => Self::Text(text.into()),
            BorrowedValue::List(items) => Self::List(items.into()),
            BorrowedValue::Map(entries) => Self::Map(entries.into()),
        }
    }
}

impl ValueTable {
    /// Returns the id of a value, which may be new.
    fn id(&mut self, value: BorrowedValue<'_>) -> ValueId {
        let Self { values, ids, hasher } = self;
        let known = |id: &ValueId| values.get(id.0 as usize).map(InternedValue::borrowed);
        let hash = hasher.hash_one(value) as u32;
        let is_same = |(other, id): &(u32, ValueId)| *other == hash && known(id) == Some(value);
        if let Some((_, found)) = ids.find(spread(hash), is_same) {
            return *found;
        }
        let id = ValueId(internal::number(values.len()));
        values.push(value.into());
        ids.insert_unique(spread(hash), (hash, id), |(hash, _)| spread(*hash));
        id
    }
}

/// Returns 64 bits of a hash of 32 bits: the table uses the bits of both ends.
fn spread(hash: u32) -> u64 {
    /// An odd number with about as many ones as zeros.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    u64::from(hash).wrapping_mul(ODD)
}

impl InternedValues {
    /// Returns the id of a text.
    pub fn intern_text(&mut self, text: &str) -> ValueId {
        self.table.id(BorrowedValue::Text(text))
    }

    /// Returns the id of the value of a node.
    pub fn intern_node(&mut self, node: NodeRef<'_>) -> ValueId {
        match node.value() {
            NodeValue::Null => self.table.id(BorrowedValue::Null),
            NodeValue::Bool(truth) => self.table.id(BorrowedValue::Bool(truth)),
            NodeValue::Int(number) => self.table.id(BorrowedValue::Int(number)),
            NodeValue::Float(number) => self.table.id(BorrowedValue::Float(number.to_bits())),
            NodeValue::Str(_) => self.intern_text(absent::text(node.as_str())),
            NodeValue::Seq(_) => {
                let start = self.open_items.len();
                for item in node.items() {
                    let item = self.intern_node(item);
                    self.open_items.push(item);
                }
                let items = internal::items(&self.open_items, start..self.open_items.len());
                let id = self.table.id(BorrowedValue::List(items));
                self.open_items.truncate(start);
                id
            }
            NodeValue::Map(_) => {
                let start = self.open_entries.len();
                for (key, value) in node.entries() {
                    let entry = (self.intern_text(key.as_key()), self.intern_node(value));
                    self.open_entries.push(entry);
                }
                let entries = internal::items(&self.open_entries, start..self.open_entries.len());
                let id = self.table.id(BorrowedValue::Map(entries));
                self.open_entries.truncate(start);
                id
            }
        }
    }

    /// Returns a value.
    pub fn get(&self, id: ValueId) -> &InternedValue {
        match self.table.values.get(id.0 as usize) {
            Some(value) => value,
            None => {
                internal::record("an id is of other values");
                &InternedValue::Null
            }
        }
    }

    /// Returns a text; none for another value.
    pub fn as_text(&self, id: ValueId) -> Option<&str> {
        match self.get(id) {
            InternedValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list; none for another value.
    pub fn items(&self, id: ValueId) -> &[ValueId] {
        match self.get(id) {
            InternedValue::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map with their keys; none for another value.
    pub fn entries(&self, id: ValueId) -> impl Iterator<Item = (&str, ValueId)> {
        let entries: &[(ValueId, ValueId)] = match self.get(id) {
            InternedValue::Map(entries) => entries,
            _ => &[],
        };
        entries.iter().map(|(key, value)| (absent::text(self.as_text(*key)), *value))
    }

    /// Returns the value at a path of keys.
    pub fn at(&self, id: ValueId, path: &[&str]) -> Option<ValueId> {
        path.iter().try_fold(id, |id, key| {
            let found = self.entries(id).find(|(name, _)| name == key);
            found.map(|(_, value)| value)
        })
    }

    /// Returns the text at a path of keys; empty for a path without a text.
    pub fn text_at(&self, id: ValueId, path: &[&str]) -> &str {
        absent::text(self.at(id, path).and_then(|value| self.as_text(value)))
    }

    /// Whether a map has no other keys than these.
    pub fn has_only(&self, id: ValueId, keys: &[&str]) -> bool {
        matches!(self.get(id), InternedValue::Map(_)) && self.entries(id).all(|(key, _)| keys.contains(&key))
    }

    /// Returns the number of lines of an object in YAML, with the line between two objects.
    pub fn lines(&self, id: ValueId) -> usize {
        self.lines_of(id) + 1
    }

    fn lines_of(&self, id: ValueId) -> usize {
        let below = |value: ValueId| match self.get(value) {
            InternedValue::List(items) if !items.is_empty() => 1 + self.lines_of(value),
            InternedValue::Map(entries) if !entries.is_empty() => 1 + self.lines_of(value),
            _ => 1,
        };
        match self.get(id) {
            InternedValue::List(items) => items.iter().map(|item| self.lines_of(*item).max(1)).sum(),
            InternedValue::Map(entries) => entries.iter().map(|(_, value)| below(*value)).sum(),
            _ => 1,
        }
    }

    /// Converts a value to JSON, with `text` applied to every text that is no key.
    pub fn to_json(&self, id: ValueId, text: &dyn Fn(&str) -> String) -> serde_json::Value {
        match self.get(id) {
            InternedValue::Null => serde_json::Value::Null,
            InternedValue::Bool(truth) => (*truth).into(),
            InternedValue::Int(number) => (*number).into(),
            InternedValue::Float(bits) => f64::from_bits(*bits).into(),
            InternedValue::Text(found) => text(found).into(),
            InternedValue::List(items) => items.iter().map(|item| self.to_json(*item, text)).collect(),
            InternedValue::Map(_) => {
                let entries = self.entries(id).map(|(key, value)| (key.to_owned(), self.to_json(value, text)));
                entries.collect::<serde_json::Map<_, _>>().into()
            }
        }
    }
}
