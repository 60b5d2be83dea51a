//! A sample of the namespaces of a workspace: one namespace of each class of alike namespaces stands for all of its class.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

/// The compiled namespaces, each with its class of alike namespaces.
#[derive(Debug, Default)]
pub struct NamespaceSample {
    /// The further namespaces of a class by its representative, in order of name.
    further: HashMap<Arc<str>, Vec<Arc<str>>>,
    /// The namespaces without the representatives.
    left_out: HashSet<Arc<str>>,
}

impl NamespaceSample {
    /// Adds a class of alike namespaces.
    pub fn add(&mut self, representative: Arc<str>, further: Vec<Arc<str>>) {
        self.left_out.reserve(further.len());
        self.left_out.extend(further.iter().cloned());
        self.further.insert(representative, further);
    }

    /// Whether a namespace is compiled.
    pub fn has(&self, namespace: &str) -> bool {
        !self.left_out.contains(namespace)
    }

    /// Whether every namespace is compiled.
    pub fn is_whole(&self) -> bool {
        self.left_out.is_empty()
    }

    /// Returns the other namespaces of the class of a representative.
    pub fn further(&self, namespace: &str) -> &[Arc<str>] {
        self.further.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Returns the size of the class of a representative; 1 for every other namespace.
    pub fn weight(&self, namespace: &str) -> usize {
        1 + self.further(namespace).len()
    }

    /// Returns the representatives of the classes, in no order.
    pub fn representatives(&self) -> impl Iterator<Item = &Arc<str>> {
        self.further.keys()
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
    }
}
