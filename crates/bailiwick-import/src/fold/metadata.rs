//! The metadata of objects in policies.

use serde_json::{Map, Value};

use super::escaped;
use crate::values::{InternedValues, ValueId};

/// The metadata of an object that a policy of Bailiwick's own kinds can state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Metadata {
    pub(super) labels: Option<ValueId>,
    pub(super) annotations: Option<ValueId>,
}

impl Metadata {
    /// Reads the metadata of an object; none for other fields than names, labels and annotations.
    pub(super) fn read(values: &InternedValues, object: ValueId) -> Option<Self> {
        let metadata = values.at(object, &["metadata"])?;
        let fits = values.has_only(metadata, &["name", "namespace", "labels", "annotations"]);
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
