//! The objects of the policies of a target by their prints, and the names for the relation of live objects to them.

use std::collections::{BTreeSet, HashSet};

use super::fields::DecidingKeys;
use super::grants::GrantLinks;
use super::live;
use super::prints::{Print, Printer, Shapes};
use super::table::{ObjectNumber, ObjectTable};
use crate::emit::identity::ObjectIdentity;
use crate::yaml::NodeRef;

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
    namespaces: HashSet<u64>,
    /// The subjects of the bindings.
    subjects: HashSet<u64>,
    /// The keys of labels in the selectors of the objects.
    pub(super) keys: DecidingKeys,
    /// The subjects and roles of the bindings.
    pub(super) links: GrantLinks,
    printer: Printer,
}

impl WantedObjects {
    /// Takes an object of the policies.
    pub(super) fn add(&mut self, object: NodeRef<'_>) {
        let ObjectIdentity { group, kind, namespace, name } = ObjectIdentity::of(object);
        if !self.kinds.iter().any(|(known_group, known)| known == kind && known_group == group) {
            self.kinds.insert((group.to_owned(), kind.to_owned()));
        }
        let namespace = if kind == "Namespace" { name } else { namespace };
        if !namespace.is_empty() {
            self.namespaces.insert(name_hash(namespace));
        }
        self.subjects.extend(live::subjects(object).iter().map(|subject| name_hash(subject)));
        self.keys.add(object);
        let shape = self.shapes.number_of(object);
        let content = shape.and_then(|number| self.shapes.get(number)).map(|shape| self.printer.print(object, shape));
        let number = self.table.add_wanted(Print::of_identity(object), shape.zip(content));
        self.count = self.table.len();
        self.links.add(object, number);
    }

    /// Whether the policies have an object in a namespace, or the Namespace itself.
    pub(super) fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains(&name_hash(namespace))
    }

    /// Whether a binding of the policies has a subject.
    pub(super) fn has_subject(&self, subject: &str) -> bool {
        self.subjects.contains(&name_hash(subject))
    }

    /// Returns the number of an object of the policies in a table that began as the table of these objects; none for another object.
    pub(super) fn number_in(&self, table: &ObjectTable, object: NodeRef<'_>) -> Option<ObjectNumber> {
        table.find(Print::of_identity(object)).filter(|number| number.index() < self.count)
    }
}

/// Returns a hash of a name under a secret of the run. Another name with the hash would bring an object nearer to the policies, and
/// hide none.
fn name_hash(name: &str) -> u64 {
    Print::of(name).half()
}
