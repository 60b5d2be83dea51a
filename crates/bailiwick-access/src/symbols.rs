//! Strings kept once, and compared as numbers.

use std::ops::Range;

use bailiwick_yaml::internal;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A string of a [`Symbols`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Symbol(u32);

/// No usual resource with its subresource is longer, in bytes.
const USUAL_LENGTH: usize = 128;

impl Symbol {
    /// `*`.
    pub(crate) const STAR: Symbol = Symbol(0);
    /// The empty string.
    pub(crate) const EMPTY: Symbol = Symbol(1);
    /// The symbol of a string outside of all objects: it equals nothing in a rule.
    pub(crate) const FOREIGN: Symbol = Symbol(u32::MAX);

    /// Returns the bare number.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Symbols {
    text: String,
    /// The end of each string; it begins at the end of the one before it.
    ends: Vec<u32>,
    table: HashTable<Entry>,
}

/// A string of the table, with its range, so that a lookup needs no further access.
#[derive(Debug, Clone, Copy)]
struct Entry {
    index: u32,
    start: u32,
    end: u32,
}

impl Entry {
    fn text(self, all: &str) -> &str {
        internal::slice(all, self.start as usize..self.end as usize)
    }

    fn bytes(self, all: &str) -> &[u8] {
        internal::items(all.as_bytes(), self.start as usize..self.end as usize)
    }
}

impl Symbols {
    pub(crate) fn new() -> Self {
        let mut symbols = Self { text: String::new(), ends: Vec::new(), table: HashTable::new() };
        symbols.add("*");
        symbols.add("");
        symbols
    }

    /// Returns the strings one behind the other, and the end of each.
    pub(crate) fn parts(&self) -> (String, Vec<u32>) {
        (self.text.clone(), self.ends.clone())
    }

    /// Whether the strings begin with the strings of [`Symbol::STAR`] and [`Symbol::EMPTY`].
    pub(crate) fn has_constants(text: &str, ends: &[u32]) -> bool {
        text.starts_with('*') && ends.starts_with(&[1, 1])
    }

    /// Creates a table of such strings.
    pub(crate) fn from_parts(text: String, ends: Vec<u32>) -> Self {
        let mut table = HashTable::with_capacity(ends.len());
        let mut start = 0;
        for (index, &end) in (0..).zip(&ends) {
            let entry = Entry { index, start, end };
            table.insert_unique(hash(entry.text(&text)), entry, |other| hash(other.text(&text)));
            start = end;
        }
        Self { text, ends, table }
    }

    /// Returns the symbol of a string, and adds a new string.
    pub(crate) fn add(&mut self, text: &str) -> Symbol {
        let found = self.find(text);
        if found != Symbol::FOREIGN {
            return found;
        }
        let index = internal::number(self.ends.len());
        let start = internal::number(self.text.len());
        self.text.push_str(text);
        let end = internal::number(self.text.len());
        self.ends.push(end);
        let all = &self.text;
        self.table.insert_unique(hash(text), Entry { index, start, end }, |other| hash(other.text(all)));
        Symbol(index)
    }

    /// Returns the symbol of a string, or [`Symbol::FOREIGN`] for a string outside of all objects.
    pub(crate) fn find(&self, text: &str) -> Symbol {
        self.find_bytes(text.as_bytes())
    }

    /// Returns the symbol of a resource and a subresource with a slash between them, without allocating for usual lengths.
    pub(crate) fn find_subresource(&self, resource: &str, subresource: &str) -> Symbol {
        let mut buffer = [0; USUAL_LENGTH];
        let length = resource.len() + 1 + subresource.len();
        let Some((own, rest)) = buffer.get_mut(..length).and_then(|own| own.split_at_mut_checked(resource.len()))
        else {
            return self.find(&format!("{resource}/{subresource}"));
        };
        own.copy_from_slice(resource.as_bytes());
        if let Some((slash, rest)) = rest.split_first_mut() {
            *slash = b'/';
            rest.copy_from_slice(subresource.as_bytes());
        }
        self.find_bytes(internal::items(&buffer, ..length))
    }

    fn find_bytes(&self, text: &[u8]) -> Symbol {
        let found = self.table.find(xxh3_64(text), |entry| entry.bytes(&self.text) == text);
        found.map_or(Symbol::FOREIGN, |entry| Symbol(entry.index))
    }

    /// Returns the string of a symbol. [`Symbol::FOREIGN`] stands for strings that no object uses, and has none itself.
    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        internal::slice(&self.text, self.range(symbol))
    }

    fn range(&self, symbol: Symbol) -> Range<usize> {
        if symbol == Symbol::FOREIGN {
            return 0..0;
        }
        let end_of = |index: usize| internal::value(self.ends.get(index).copied(), "a symbol is of another world");
        let start = symbol.number().checked_sub(1).map_or(0, end_of);
        start as usize..end_of(symbol.number()) as usize
    }

    /// Whether a string is the string of a symbol.
    pub(crate) fn is(&self, symbol: Symbol, text: &str) -> bool {
        internal::items(self.text.as_bytes(), self.range(symbol)) == text.as_bytes()
    }

    /// Returns the value of a label.
    pub(crate) fn value_of(&self, labels: &[(Symbol, Symbol)], key: &str) -> Option<&str> {
        let key = self.find(key);
        let label = labels.iter().find(|(known, _)| *known == key);
        label.map(|(_, value)| self.text(*value))
    }

    /// Returns the used memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.table.allocation_size()
    }

    /// Releases unused memory.
    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

fn hash(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subresource_is_found_as_one_string() {
        let long = "x".repeat(USUAL_LENGTH);
        let just = "y".repeat(USUAL_LENGTH - 2);
        let mut symbols = Symbols::new();
        for (resource, subresource) in
            [("pods", "log"), ("*", "scale"), ("", "a"), ("b", ""), (&just, "z"), (&long, "é")]
        {
            assert_eq!(symbols.find_subresource(resource, subresource), Symbol::FOREIGN);
            let symbol = symbols.add(&format!("{resource}/{subresource}"));
            assert_eq!(symbols.find_subresource(resource, subresource), symbol, "{resource}/{subresource}");
        }
    }
}
