//! The identity of an object.

use std::fmt;

use bailiwick_compiler::emit::identity::WrittenIdentity;
use bailiwick_yaml::NodeRef;

/// The identity of an object, whatever version of its API it was read in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityKey {
    name: String,
    namespace: String,
    kind: String,
    group: String,
}

impl IdentityKey {
    /// Returns the identity of an object.
    pub fn of(object: NodeRef<'_>) -> Self {
        let WrittenIdentity { group, kind, namespace, name } = WrittenIdentity::of(object);
        Self { group: group.to_owned(), kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the API group and the kind.
    pub fn kind(&self) -> (&str, &str) {
        (&self.group, &self.kind)
    }

    /// Returns the namespace; empty for none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for IdentityKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(formatter, "{}/{}{slash}{}", self.kind, self.namespace, self.name)
    }
}
