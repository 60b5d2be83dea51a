//! The objects of the policies of a target by their prints, and the names for the relation of live objects to them.

use std::collections::BTreeSet;

use bailiwick_compiler::emit::identity::WrittenIdentity;
use bailiwick_yaml::NodeRef;

use super::fields::DecidingKeys;
use super::grants::GrantLinks;
use super::live;
use super::prints::{Print, Printer, Shapes};
use super::table::{ObjectNumber, ObjectTable};

/// The objects of the policies.
#[derive(Default)]
pub(super) struct WantedObjects {
    /// The objects, until the reader of the dump takes the table.
    pub(super) table: ObjectTable,
    /// The number of objects.
    pub(super) count: usize,
    pub(super) shapes: Shapes,
    /// The kinds with their groups.
    pub(super) kinds: BTreeSet<(String, String)>,
    /// Names of Namespaces of the policies, and of namespaces with an object of the policies.
    namespaces: NameHashes,
    /// The subjects of the bindings.
    subjects: NameHashes,
    /// The keys of labels in the selectors of the objects.
    pub(super) keys: DecidingKeys,
    /// The subjects and roles of the bindings.
    pub(super) links: GrantLinks,
    printer: Printer,
}

impl WantedObjects {
    /// Takes an object of the policies.
    pub(super) fn add(&mut self, object: NodeRef<'_>) {
        let WrittenIdentity { group, kind, namespace, name } = WrittenIdentity::of(object);
        if !self.kinds.iter().any(|(known_group, known)| known == kind && known_group == group) {
            self.kinds.insert((group.to_owned(), kind.to_owned()));
        }
        let namespace = if kind == "Namespace" { name } else { namespace };
        if !namespace.is_empty() {
            self.namespaces.add(namespace);
        }
        live::subjects(object).iter().for_each(|subject| self.subjects.add(subject));
        self.keys.add(object);
        let shape = self.shapes.number_of(object);
        let content = shape.and_then(|number| self.shapes.get(number)).map(|shape| self.printer.print(object, shape));
        let number = self.table.add_wanted(Print::of_identity(object), shape.zip(content));
        self.count = self.table.len();
        self.links.add(object, number);
    }

    /// Ends the additions.
    pub(super) fn finish(&mut self) {
        self.namespaces.finish();
        self.subjects.finish();
    }

    /// Whether the policies have an object in a namespace, or the Namespace itself.
    pub(super) fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.has(namespace)
    }

    /// Whether a binding of the policies has a subject.
    pub(super) fn has_subject(&self, subject: &str) -> bool {
        self.subjects.has(subject)
    }

    /// Returns the number of an object of the policies in a table that began as the table of these objects; none for another object.
    pub(super) fn number_in(&self, table: &ObjectTable, object: NodeRef<'_>) -> Option<ObjectNumber> {
        table.find(Print::of_identity(object)).filter(|number| number.index() < self.count)
    }
}

/// Hashes of names under a secret of the run, sorted at the end: a hash table of them takes half as much memory again. Another name with
/// the hash of a name would bring an object nearer to the policies, and hide none.
#[derive(Default)]
struct NameHashes(Vec<u64>);

impl NameHashes {
    /// Adds a name. Most objects have the namespace of the object before them.
    fn add(&mut self, name: &str) {
        let hash = Self::hash(name);
        if self.0.last() != Some(&hash) {
            self.0.push(hash);
        }
    }

    fn finish(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// Whether a name was added before the end.
    fn has(&self, name: &str) -> bool {
        self.0.binary_search(&Self::hash(name)).is_ok()
    }

    fn hash(name: &str) -> u64 {
        Print::of(name).half()
    }
}

#[cfg(test)]
mod tests {
    use super::NameHashes;

    #[test]
    fn each_added_name_is_found() {
        let mut names = NameHashes::default();
        ["b", "b", "a", "b", "c"].into_iter().for_each(|name| names.add(name));
        names.finish();
        assert_eq!(names.0.len(), 3);
        assert_eq!(["a", "b", "c", "d", ""].map(|name| names.has(name)), [true, true, true, false, false]);
    }
}
