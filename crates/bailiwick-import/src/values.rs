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
    nodes: Vec<InternedValue>,
    ids: HashTable<ValueId>,
    hasher: DefaultHashBuilder,
}

impl InternedValues {
    /// Returns the id of a value.
    pub fn intern(&mut self, value: InternedValue) -> ValueId {
        let Self { nodes, ids, hasher } = self;
        let hash = hasher.hash_one(&value);
        let same = |id: &ValueId| nodes.get(id.0 as usize) == Some(&value);
        if let Some(found) = ids.find(hash, same) {
            return *found;
        }
        let id = ValueId(internal::number(nodes.len()));
        nodes.push(value);
        ids.insert_unique(hash, id, |id| nodes.get(id.0 as usize).map_or(0, |value| hasher.hash_one(value)));
        id
    }

    /// Returns the id of a text.
    pub fn intern_text(&mut self, text: &str) -> ValueId {
        self.intern(InternedValue::Text(text.into()))
    }

    /// Returns the id of the value of a node.
    pub fn intern_node(&mut self, node: NodeRef<'_>) -> ValueId {
        let value = match node.value() {
            NodeValue::Null => InternedValue::Null,
            NodeValue::Bool(truth) => InternedValue::Bool(truth),
            NodeValue::Int(number) => InternedValue::Int(number),
            NodeValue::Float(number) => InternedValue::Float(number.to_bits()),
            NodeValue::Str(_) => InternedValue::Text(absent::text(node.as_str()).into()),
            NodeValue::Seq(_) => InternedValue::List(node.items().map(|item| self.intern_node(item)).collect()),
            NodeValue::Map(_) => {
                let entries = node.entries();
                InternedValue::Map(
                    entries.map(|(key, value)| (self.intern_text(key.as_key()), self.intern_node(value))).collect(),
                )
            }
        };
        self.intern(value)
    }

    /// Returns a value.
    pub fn get(&self, id: ValueId) -> &InternedValue {
        match self.nodes.get(id.0 as usize) {
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
