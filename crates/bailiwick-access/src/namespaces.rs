//! The namespaces of a world with their labels. Each text is kept once: a label often has the name of its namespace or a value of many
//! namespaces.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::symbols::{Symbol, Symbols};
use bailiwick_yaml::internal;

/// The namespaces with their labels.
#[derive(Debug)]
pub(crate) struct LabelledNamespaces {
    /// The names of the namespaces, and the texts of the labels.
    texts: Symbols,
    /// The positions of the labels of each namespace.
    places: HashMap<Symbol, Range<u32>>,
    labels: Vec<(Symbol, Symbol)>,
}

/// The labels of a namespace.
#[derive(Debug, Clone, Copy)]
pub struct WorldLabels<'w> {
    texts: &'w Symbols,
    labels: &'w [(Symbol, Symbol)],
}

impl LabelledNamespaces {
    pub(crate) fn new() -> Self {
        Self { texts: Symbols::new(), places: HashMap::new(), labels: Vec::new() }
    }

    /// Adds a namespace. It takes the place of a namespace with the same name.
    pub(crate) fn add<'t>(&mut self, name: &str, labels: impl IntoIterator<Item = (&'t str, &'t str)>) {
        let first = internal::number(self.labels.len());
        self.labels.extend(labels.into_iter().map(|(key, value)| (self.texts.add(key), self.texts.add(value))));
        self.places.insert(self.texts.add(name), first..internal::number(self.labels.len()));
    }

    /// Returns the labels of a namespace; none for an unknown one.
    pub(crate) fn labels_of(&self, name: &str) -> Option<WorldLabels<'_>> {
        self.places.get(&self.texts.find(name)).map(|place| self.at(place))
    }

    /// Iterates over the names of the namespaces, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(|name| self.texts.text(*name))
    }

    /// Returns the namespaces with their labels, in the order of names.
    pub(crate) fn sorted(&self) -> Vec<(&str, WorldLabels<'_>)> {
        let all = self.places.iter().map(|(name, place)| (self.texts.text(*name), self.at(place)));
        let mut all: Vec<(&str, WorldLabels<'_>)> = all.collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    /// Releases unused memory.
    pub(crate) fn shrink(&mut self) {
        self.texts.shrink();
        self.labels.shrink_to_fit();
    }

    fn at(&self, place: &Range<u32>) -> WorldLabels<'_> {
        let labels = internal::items(&self.labels, place.start as usize..place.end as usize);
        WorldLabels { texts: &self.texts, labels }
    }
}

impl<'w> WorldLabels<'w> {
    /// Returns the value of a label. Of two labels with one key the last counts.
    pub fn get(self, key: &str) -> Option<&'w str> {
        self.iter().filter(|(known, _)| *known == key).last().map(|(_, value)| value)
    }

    /// Iterates over the labels.
    pub fn iter(self) -> impl Iterator<Item = (&'w str, &'w str)> {
        let texts = self.texts;
        self.labels.iter().map(|(key, value)| (texts.text(*key), texts.text(*value)))
    }
}

impl From<BTreeMap<String, BTreeMap<String, String>>> for LabelledNamespaces {
    fn from(saved: BTreeMap<String, BTreeMap<String, String>>) -> Self {
        let mut namespaces = Self::new();
        for (name, labels) in saved {
            namespaces.add(&name, labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        }
        namespaces
    }
}

impl From<&LabelledNamespaces> for BTreeMap<String, BTreeMap<String, String>> {
    fn from(namespaces: &LabelledNamespaces) -> Self {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let all = namespaces.sorted().into_iter();
        all.map(|(name, labels)| (name.to_owned(), labels.iter().map(owned).collect())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_namespace_and_a_later_label_count() {
        let mut namespaces = LabelledNamespaces::new();
        namespaces.add("b", [("team", "x")]);
        namespaces.add("a", [("team", "a"), ("name", "a"), ("team", "y")]);
        namespaces.add("b", [("name", "b")]);
        let value = |name: &str, key: &str| namespaces.labels_of(name).and_then(|labels| labels.get(key));
        assert_eq!([value("a", "team"), value("b", "team"), value("b", "name")], [Some("y"), None, Some("b")]);
        assert!(namespaces.labels_of("team").is_none() && namespaces.labels_of("c").is_none());
        assert_eq!(namespaces.sorted().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        let saved = BTreeMap::from(&namespaces);
        assert_eq!(saved, BTreeMap::from(&LabelledNamespaces::from(saved.clone())));
    }
}
