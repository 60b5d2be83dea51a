//! The permissions of holders by scope: the lookup of every decision, with few accesses to memory.
//!
//! In a world of a hundred thousand tenants every access waits for memory, so their number is the cost of a decision.
//! Cluster-wide bindings are found by the hash of the holder's name; bindings in a namespace by the namespace, with
//! its few holders side by side with their hashes. Names are compared as text only for equal hashes. Each entry has
//! its rules, so that most decisions never read a binding.

use hashbrown::{HashMap, HashTable};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::rules::RuleListId;
use super::symbols::{Symbol, Symbols};
use super::world::Holder;
use bailiwick_yaml::internal;

/// The permissions of a holder by one binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundRules {
    /// Of the holder's name; see [`hash_of`].
    hash: u64,
    pub(crate) holder: Holder,
    /// The rules of the role; none when the role is not there.
    pub(crate) rules: Option<RuleListId>,
    pub(crate) binding: u32,
}

/// The index of a world.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Cluster-wide entries, then the entries of each namespace, each part sorted by hash and holder.
    held: Vec<BoundRules>,
    cluster: HashMap<u64, Range>,
    namespaces: HashTable<(Symbol, Range)>,
}

/// First and one past the last entry.
type Range = (u32, u32);

/// Returns the hash of a user's or a group's name.
pub(crate) fn hash_of(is_group: bool, name: &str) -> u64 {
    xxh3_64_with_seed(name.as_bytes(), u64::from(is_group))
}

impl BoundRules {
    pub(crate) fn new(holder: Holder, rules: Option<RuleListId>, binding: u32, symbols: &Symbols) -> Self {
        Self { hash: hash_of(holder.is_group, symbols.text(holder.name)), holder, rules, binding }
    }

    /// Whether this user or group is the holder, given a fitting hash.
    pub(crate) fn is_of(&self, is_group: bool, name: &str, symbols: &Symbols) -> bool {
        self.holder.is_group == is_group && symbols.text(self.holder.name) == name
    }
}

impl Index {
    /// Creates the index of entries with their namespaces; none for cluster-wide.
    pub(crate) fn new(mut entries: Vec<(Option<Symbol>, BoundRules)>, symbols: &Symbols) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let mut index = Self { held: Vec::with_capacity(entries.len()), ..Self::default() };
        let mut ranges: Vec<(Symbol, Range)> = Vec::new();
        for (position, (namespace, held)) in (0u32..).zip(entries) {
            match namespace {
                None => index.cluster.entry(held.hash).or_insert((position, position)).1 = position + 1,
                Some(namespace) => match ranges.last_mut().filter(|(last, _)| *last == namespace) {
                    Some((_, range)) => range.1 = position + 1,
                    None => ranges.push((namespace, (position, position + 1))),
                },
            }
            index.held.push(held);
        }
        let hash = |entry: &(Symbol, Range)| xxh3_64(symbols.text(entry.0).as_bytes());
        index.namespaces = HashTable::with_capacity(ranges.len());
        for entry in ranges {
            index.namespaces.insert_unique(hash(&entry), entry, hash);
        }
        index.cluster.shrink_to_fit();
        index
    }

    /// Returns the cluster-wide entries of all holders with this hash.
    pub(crate) fn cluster(&self, hash: u64) -> &[BoundRules] {
        self.range(self.cluster.get(&hash))
    }

    /// Returns the entries of a namespace, by hash; see [`of_hash`].
    pub(crate) fn local(&self, namespace: &str, symbols: &Symbols) -> &[BoundRules] {
        if namespace.is_empty() {
            return &[];
        }
        let found = self.namespaces.find(xxh3_64(namespace.as_bytes()), |(name, _)| symbols.text(*name) == namespace);
        self.range(found.map(|(_, range)| range))
    }

    /// Returns the entries of a holder, cluster-wide or in a namespace.
    pub(crate) fn bound_rules(&self, holder: Holder, namespace: Option<Symbol>, symbols: &Symbols) -> &[BoundRules] {
        let hash = hash_of(holder.is_group, symbols.text(holder.name));
        let all = match namespace {
            None => self.cluster(hash),
            Some(namespace) => of_hash(self.local(symbols.text(namespace), symbols), hash),
        };
        let start = all.partition_point(|held| held.holder < holder);
        let rest = internal::items(all, start..);
        internal::items(rest, ..rest.partition_point(|held| held.holder == holder))
    }

    /// Returns each pair of a holder and a scope with an entry, in no order.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Holder, Option<Symbol>)> {
        let cluster = self.cluster.values().map(|range| (None, range));
        let local = self.namespaces.iter().map(|(namespace, range)| (Some(*namespace), range));
        cluster.chain(local).flat_map(|(namespace, range)| {
            let by_holder = self.range(Some(range)).chunk_by(|left, right| left.holder == right.holder);
            by_holder.filter_map(|held| held.first()).map(move |held| (held.holder, namespace))
        })
    }

    fn range(&self, range: Option<&Range>) -> &[BoundRules] {
        range.map_or(&[], |&(start, end)| internal::items(&self.held, start as usize..end as usize))
    }

    /// Returns the used memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.held.capacity() * size_of::<BoundRules>()
            + self.cluster.allocation_size()
            + self.namespaces.allocation_size()
    }
}

/// Returns the entries of all holders with this hash in a namespace.
pub(crate) fn of_hash(local: &[BoundRules], hash: u64) -> &[BoundRules] {
    let start = local.partition_point(|held| held.hash < hash);
    let rest = internal::items(local, start..);
    let length = rest.iter().take_while(|held| held.hash == hash).count();
    internal::items(rest, ..length)
}
