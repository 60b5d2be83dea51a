//! The objects of the policies of a target, and the names for the relation of live objects to them.

use std::collections::{BTreeSet, HashMap};

use super::fields::DecidingKeys;
use super::live;
use crate::app::object_key::ObjectKey;
use crate::diag::Origin;
use crate::yaml::{NodeRef, write};

/// An object of the policies.
pub(super) struct WantedObject {
    /// The object in the stored form of the API server.
    pub(super) text: String,
    /// The place of its content.
    pub(super) origin: Origin,
}

/// The objects of the policies.
#[derive(Default)]
pub(super) struct WantedObjects {
    objects: HashMap<ObjectKey, WantedObject>,
    /// The kinds with their groups.
    pub(super) kinds: BTreeSet<(String, String)>,
    /// Names of Namespaces of the policies, and of namespaces with an object of the policies.
    pub(super) namespaces: BTreeSet<String>,
    /// The subjects of the bindings.
    pub(super) subjects: BTreeSet<String>,
    /// The keys of labels in the selectors of the objects.
    pub(super) keys: DecidingKeys,
}

impl WantedObjects {
    /// Takes an object of the policies.
    pub(super) fn add(&mut self, object: NodeRef<'_>, origin: Origin) {
        let key = ObjectKey::of(object);
        let (group, kind) = key.kind();
        if !self.kinds.iter().any(|(known_group, known)| known == kind && known_group == group) {
            self.kinds.insert((group.to_owned(), kind.to_owned()));
        }
        let namespace = if kind == "Namespace" { key.name() } else { key.namespace() };
        if !namespace.is_empty() && !self.namespaces.contains(namespace) {
            self.namespaces.insert(namespace.to_owned());
        }
        self.subjects.extend(live::subjects(object));
        self.keys.add(object);
        let mut text = String::new();
        write::document(object, &mut text);
        self.objects.insert(key, WantedObject { text, origin });
    }

    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns an object by its identity.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&WantedObject> {
        self.objects.get(key)
    }

    /// Returns the objects, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &WantedObject)> {
        self.objects.iter()
    }
}
