//! The metadata of objects in policies.

use serde_json::{Map, Value};

use super::escaped;
use crate::values::{InternedValues, ValueId};

/// The beginning of the keys of Bailiwick.
const OWN_PREFIX: &str = "bailiwick.dev/";

/// The annotations with the terms of a grant, and the fields of a Grant for them.
pub(super) const TERMS: [(&str, &str); 4] = [
    ("bailiwick.dev/owner", "owner"),
    ("bailiwick.dev/reason", "reason"),
    ("bailiwick.dev/expires", "expires"),
    ("bailiwick.dev/approved-by", "approvedBy"),
];

/// The metadata of an object that a policy of Bailiwick's own kinds can state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Metadata {
    pub(super) labels: Option<ValueId>,
    pub(super) annotations: Option<ValueId>,
}

impl Metadata {
    /// Reads the metadata of an object; none for other fields than names, labels and annotations, and for keys of Bailiwick
    /// beside the terms of a grant.
    pub(super) fn read(values: &InternedValues, object: ValueId) -> Option<Self> {
        let metadata = values.at(object, &["metadata"])?;
        let is_reserved = |key: &str| key.starts_with(OWN_PREFIX) && !TERMS.iter().any(|(term, _)| *term == key);
        let has_reserved = ["labels", "annotations"].iter().any(|section| {
            let map = values.at(metadata, &[section]);
            map.is_some_and(|map| values.entries(map).any(|(key, _)| is_reserved(key)))
        });
        let fits = values.has_only(metadata, &["name", "namespace", "labels", "annotations"]) && !has_reserved;
        fits.then(|| Self {
            labels: values.at(metadata, &["labels"]),
            annotations: values.at(metadata, &["annotations"]),
        })
    }

    /// Adds the fields `labels` and `annotations` to a map.
    pub(super) fn write(self, values: &InternedValues, into: &mut Map<String, Value>) {
        for (key, value) in [("labels", self.labels), ("annotations", self.annotations)] {
            if let Some(value) = value {
                into.insert(key.to_owned(), values.to_json(value, &escaped));
            }
        }
    }
}
