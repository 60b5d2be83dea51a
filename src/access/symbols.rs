//! Strings kept once, and compared as numbers.

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A string of a [`Symbols`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Symbol(u32);

impl Symbol {
    /// `*`.
    pub(crate) const STAR: Symbol = Symbol(0);
    /// The empty string.
    pub(crate) const EMPTY: Symbol = Symbol(1);
    /// Stands for a string that no object uses: it equals nothing in a rule.
    pub(crate) const FOREIGN: Symbol = Symbol(u32::MAX);
}

/// The table.
#[derive(Debug)]
pub(crate) struct Symbols {
    text: String,
    /// Where each string ends; it begins where the one before it ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
}

impl Symbols {
    pub(crate) fn new() -> Self {
        let mut symbols = Self { text: String::new(), ends: Vec::new(), table: HashTable::new() };
        symbols.add("*");
        symbols.add("");
        symbols
    }

    /// The strings one behind the other, and where each ends.
    pub(crate) fn parts(&self) -> (String, Vec<u32>) {
        (self.text.clone(), self.ends.clone())
    }

    /// The table of such strings.
    pub(crate) fn from_parts((text, ends): (String, Vec<u32>)) -> Self {
        let mut table = HashTable::with_capacity(ends.len());
        for index in (0..).take(ends.len()) {
            let hash = xxh3_64(slice(&text, &ends, index).as_bytes());
            table.insert_unique(hash, index, |&other| xxh3_64(slice(&text, &ends, other).as_bytes()));
        }
        Self { text, ends, table }
    }

    /// The symbol of a string, which is kept from now on.
    pub(crate) fn add(&mut self, text: &str) -> Symbol {
        let hash = xxh3_64(text.as_bytes());
        if let Some(found) = self.table.find(hash, |&index| slice(&self.text, &self.ends, index) == text) {
            return Symbol(*found);
        }
        let index = u32::try_from(self.ends.len()).unwrap_or(u32::MAX - 1);
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        let (all, ends) = (&self.text, &self.ends);
        self.table.insert_unique(hash, index, |&other| xxh3_64(slice(all, ends, other).as_bytes()));
        Symbol(index)
    }

    /// The symbol of a string, or [`Symbol::FOREIGN`] when no object uses it.
    pub(crate) fn find(&self, text: &str) -> Symbol {
        let hash = xxh3_64(text.as_bytes());
        let found = self.table.find(hash, |&index| slice(&self.text, &self.ends, index) == text);
        found.map_or(Symbol::FOREIGN, |&index| Symbol(index))
    }

    /// The string of a symbol.
    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        slice(&self.text, &self.ends, symbol.0)
    }

    /// The memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.table.allocation_size()
    }

    /// Gives back memory that was taken for growing.
    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

fn slice<'t>(text: &'t str, ends: &[u32], index: u32) -> &'t str {
    let index = index as usize;
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
    let end = ends.get(index).copied().unwrap_or_default();
    text.get(start as usize..end as usize).unwrap_or_default()
}
