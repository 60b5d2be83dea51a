//! Rules as symbols, each distinct list of rules kept once.

use hashbrown::HashTable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3Default;

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use super::symbols::{Symbol, Symbols};
use bailiwick_kubernetes::rbac::{PolicyRule, strings};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::internal;

/// A rule. Its five lists lie one behind the other: verbs, groups, resources, names, URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct InternedRule {
    symbols: Box<[Symbol]>,
    /// The end of each list but the last.
    ends: [u32; 4],
}

impl InternedRule {
    /// Reads a rule of an object.
    pub(crate) fn from_node(rule: NodeRef<'_>, symbols: &mut Symbols) -> Self {
        let mut all = Vec::new();
        let mut ends = [0; 4];
        for (position, key) in
            ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"].iter().enumerate()
        {
            all.extend(strings(rule, key).map(|text| symbols.add(text)));
            if let Some(end) = ends.get_mut(position) {
                *end = internal::number(all.len());
            }
        }
        Self { symbols: all.into(), ends }
    }

    pub(crate) fn verbs(&self) -> &[Symbol] {
        self.list(0)
    }

    pub(crate) fn groups(&self) -> &[Symbol] {
        self.list(1)
    }

    pub(crate) fn resources(&self) -> &[Symbol] {
        self.list(2)
    }

    pub(crate) fn names(&self) -> &[Symbol] {
        self.list(3)
    }

    pub(crate) fn urls(&self) -> &[Symbol] {
        self.list(4)
    }

    fn list(&self, position: usize) -> &[Symbol] {
        let end_of = |position: usize| self.ends.get(position).map_or(self.symbols.len(), |&end| end as usize);
        let start = position.checked_sub(1).map_or(0, end_of);
        internal::items(&self.symbols, start..end_of(position))
    }

    /// Whether its parts are one behind the other and contain only symbols of the table.
    pub(crate) fn is_consistent(&self, is_symbol: impl Fn(&Symbol) -> bool) -> bool {
        self.ends.is_sorted()
            && self.ends.last().is_none_or(|end| *end as usize <= self.symbols.len())
            && self.symbols.iter().all(is_symbol)
    }

    /// Returns the rule as text.
    pub(crate) fn to_policy_rule(&self, symbols: &Symbols) -> PolicyRule {
        let texts = |list: &[Symbol]| list.iter().map(|&symbol| symbols.text(symbol).to_owned()).collect();
        PolicyRule {
            api_groups: texts(self.groups()),
            resources: texts(self.resources()),
            resource_names: texts(self.names()),
            non_resource_urls: texts(self.urls()),
            verbs: texts(self.verbs()),
        }
    }
}

/// The id of a list of rules of a [`World`](crate::World).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleListId(
    /// The number from 1, so that an optional id takes four bytes. Files have the number from 0.
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    NonZeroU32,
);

/// Every distinct list of rules: the roles of a thousand tenants of one class share one.
#[derive(Debug)]
pub(crate) struct RuleLists {
    lists: Vec<Box<[InternedRule]>>,
    table: HashTable<u32>,
}

impl RuleLists {
    pub(crate) fn new() -> Self {
        let mut lists = Self { lists: Vec::new(), table: HashTable::new() };
        lists.add(Vec::new());
        lists
    }

    /// The list without rules.
    pub(crate) const EMPTY: RuleListId = RuleListId(NonZeroU32::MIN);

    pub(crate) fn add(&mut self, rules: Vec<InternedRule>) -> RuleListId {
        let hash = hash_of(&rules);
        let found = self.table.find(hash, |&id| self.lists.get(id as usize).is_some_and(|known| **known == *rules));
        if let Some(&id) = found {
            return RuleListId::new(id);
        }
        let id = internal::number(self.lists.len());
        self.lists.push(rules.into());
        let lists = &self.lists;
        self.table.insert_unique(hash, id, |&other| lists.get(other as usize).map_or(0, |known| hash_of(known)));
        RuleListId::new(id)
    }

    pub(crate) fn get(&self, id: RuleListId) -> &[InternedRule] {
        self.lists.get(id.number()).map_or(&[], |list| list)
    }

    /// Returns every list, in the order of the ids.
    pub(crate) fn all(&self) -> &[Box<[InternedRule]>] {
        &self.lists
    }

    /// Creates a table of settled lists, without further additions.
    pub(crate) fn from_all(lists: Vec<Box<[InternedRule]>>) -> Self {
        Self { lists, table: HashTable::new() }
    }

    /// Returns the number of distinct lists.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns the ids of all lists.
    pub(crate) fn ids(&self) -> impl Iterator<Item = RuleListId> + use<> {
        (0..internal::number(self.lists.len())).map(RuleListId::new)
    }

    /// Returns the used memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let rules: usize = self
            .lists
            .iter()
            .flat_map(|list| list.iter())
            .map(|rule| size_of::<InternedRule>() + rule.symbols.len() * size_of::<Symbol>())
            .sum();
        rules + self.lists.capacity() * size_of::<Box<[InternedRule]>>() + self.table.allocation_size()
    }
}

impl RuleListId {
    fn new(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    /// Returns the bare number.
    pub fn number(self) -> usize {
        number_of(self.0) as usize
    }
}

fn number_of(id: NonZeroU32) -> u32 {
    id.get() - 1
}

// serde passes a reference.
fn write_number<S: Serializer>(id: &NonZeroU32, serializer: S) -> Result<S::Ok, S::Error> {
    number_of(*id).serialize(serializer)
}

fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU32, D::Error> {
    u32::deserialize(deserializer).map(|number| RuleListId::new(number).0)
}

fn hash_of(rules: &[InternedRule]) -> u64 {
    let mut hasher = Xxh3Default::new();
    rules.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_numbers_from_zero() {
        for number in [0, 1, 7] {
            let id: RuleListId = serde_json::from_str(&number.to_string()).unwrap();
            assert_eq!(id.number(), number);
            assert_eq!(serde_json::to_string(&id).unwrap(), number.to_string());
        }
        assert_eq!(serde_json::to_string(&RuleLists::EMPTY).unwrap(), "0");
        // A file of any author: no world has so many lists.
        let most: RuleListId = serde_json::from_str(&u32::MAX.to_string()).unwrap();
        assert_eq!(most.number(), u32::MAX as usize - 1);
    }
}
