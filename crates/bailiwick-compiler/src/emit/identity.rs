//! The identity of an object, in the texts of the object.

use std::fmt;

use bailiwick_yaml::NodeRef;

/// The identity of an object, whatever version of its API it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WrittenIdentity<'t> {
    /// The API group; empty for the core group.
    pub group: &'t str,
    /// The `kind` of the text.
    pub kind: &'t str,
    /// The namespace; empty for none.
    pub namespace: &'t str,
    /// The name; empty for an object without one.
    pub name: &'t str,
}

impl<'t> WrittenIdentity<'t> {
    /// Returns the identity of an object.
    pub fn of(object: NodeRef<'t>) -> Self {
        let metadata = object.get("metadata");
        let text = |key: &str| metadata.map_or("", |metadata| metadata.text_at(key));
        Self {
            group: object.text_at("apiVersion").split_once('/').map_or("", |(group, _)| group),
            kind: object.text_at("kind"),
            namespace: text("namespace"),
            name: text("name"),
        }
    }

    /// Whether the object is a Namespace.
    pub(super) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }
}

impl fmt::Display for WrittenIdentity<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(formatter, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}
