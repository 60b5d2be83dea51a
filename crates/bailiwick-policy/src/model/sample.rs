//! A sample of the namespaces of a workspace: one namespace of each class of alike namespaces stands for all of its class.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use bailiwick_yaml::internal;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

/// The compiled namespaces, each with its class of alike namespaces.
#[derive(Debug, Default)]
pub struct NamespaceSample {
    classes: Vec<NamespaceClass>,
    /// The positions of the classes by their representatives.
    positions: HashMap<Arc<str>, u32>,
    /// The namespaces without the representatives.
    left_out: HashTable<LeftOut>,
    hasher: DefaultHashBuilder,
}

/// A class of alike namespaces.
#[derive(Debug)]
struct NamespaceClass {
    representative: Arc<str>,
    /// The other namespaces, in order of name.
    further: Vec<Arc<str>>,
}

/// A namespace that is not compiled: its class, and its position in the class.
#[derive(Debug, Clone, Copy)]
struct LeftOut {
    class: u32,
    position: u32,
}

impl LeftOut {
    /// Returns the name of the namespace.
    fn name(self, classes: &[NamespaceClass]) -> Option<&Arc<str>> {
        classes.get(self.class as usize)?.further.get(self.position as usize)
    }
}

impl NamespaceSample {
    /// Adds a class of alike namespaces.
    pub fn add(&mut self, representative: Arc<str>, further: Vec<Arc<str>>) {
        let Self { classes, positions, left_out, hasher } = self;
        let (class, count) = (internal::number(classes.len()), internal::number(further.len()));
        positions.insert(Arc::clone(&representative), class);
        classes.push(NamespaceClass { representative, further });
        let hash = |left_out: &LeftOut| left_out.name(classes).map_or(0, |name| hasher.hash_one(name));
        left_out.reserve(count as usize, hash);
        for position in 0..count {
            let added = LeftOut { class, position };
            left_out.insert_unique(hash(&added), added, hash);
        }
    }

    /// Whether a namespace is compiled.
    pub fn has(&self, namespace: &str) -> bool {
        let is_it = |left_out: &LeftOut| left_out.name(&self.classes).is_some_and(|name| **name == *namespace);
        self.is_whole() || self.left_out.find(self.hasher.hash_one(namespace), is_it).is_none()
    }

    /// Whether every namespace is compiled.
    pub fn is_whole(&self) -> bool {
        self.left_out.is_empty()
    }

    /// Returns the other namespaces of the class of a representative.
    pub fn further(&self, namespace: &str) -> &[Arc<str>] {
        let class = self.positions.get(namespace).and_then(|class| self.classes.get(*class as usize));
        class.map_or(&[], |class| &class.further)
    }

    /// Returns the size of the class of a representative; 1 for every other namespace.
    pub fn weight(&self, namespace: &str) -> usize {
        1 + self.further(namespace).len()
    }

    /// Iterates over the representatives of the classes.
    pub fn representatives(&self) -> impl Iterator<Item = &Arc<str>> {
        self.classes.iter().map(|class| &class.representative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_representative_stands_for_its_class() {
        let mut sample = NamespaceSample::default();
        assert!(sample.is_whole());
        sample.add("a".into(), vec!["b".into(), "c".into()]);
        assert!(sample.has("a") && !sample.has("b") && sample.has("d") && !sample.is_whole());
        assert_eq!((sample.weight("a"), sample.weight("b"), sample.weight("d")), (3, 1, 1));
        sample.add("e".into(), vec!["f".into()]);
        let compiled = ["a", "b", "c", "d", "e", "f"].map(|name| sample.has(name));
        assert_eq!(compiled, [true, false, false, true, true, false]);
    }
}
