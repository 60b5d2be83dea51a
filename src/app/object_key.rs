//! The identity of an object.

use std::fmt;

use crate::yaml::NodeRef;

/// The identity of an object, whatever version of its API it was read in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    name: String,
    namespace: String,
    kind: String,
    group: String,
}

/// The texts of an [`ObjectKey`], in the tree of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeyTexts<'t> {
    pub(crate) group: &'t str,
    pub(crate) kind: &'t str,
    /// The namespace; empty for none.
    pub(crate) namespace: &'t str,
    pub(crate) name: &'t str,
}

impl<'t> KeyTexts<'t> {
    /// Returns the identity of an object.
    pub(crate) fn of(object: NodeRef<'t>) -> Self {
        let metadata = object.get("metadata");
        let text = |key: &str| metadata.map_or("", |metadata| metadata.text_at(key));
        Self {
            group: object.text_at("apiVersion").split_once('/').map_or("", |(group, _)| group),
            kind: object.text_at("kind"),
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

impl ObjectKey {
    /// Returns the identity of an object.
    pub(crate) fn of(object: NodeRef<'_>) -> Self {
        let KeyTexts { group, kind, namespace, name } = KeyTexts::of(object);
        Self { group: group.to_owned(), kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the API group and the kind.
    pub(crate) fn kind(&self) -> (&str, &str) {
        (&self.group, &self.kind)
    }

    /// Returns the namespace; empty for none.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(formatter, "{}/{}{slash}{}", self.kind, self.namespace, self.name)
    }
}
