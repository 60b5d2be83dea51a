//! The versions of a resource, and the rows of the table of served resources with their versions unread.

use std::ops::Deref;
use std::sync::OnceLock;

use bailiwick_yaml::internal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Resource, ResourceVersion};

/// The versions of a resource. The versions in the table are read on first use, because most runs ask about few resources.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    /// The JSON of the versions in the table.
    text: Option<Box<RawValue>>,
    read: OnceLock<Vec<ResourceVersion>>,
}

impl Versions {
    fn read(&self) -> Option<Vec<ResourceVersion>> {
        serde_json::from_str(self.text.as_ref()?.get()).ok()
    }
}

impl Deref for Versions {
    type Target = [ResourceVersion];

    fn deref(&self) -> &[ResourceVersion] {
        self.read.get_or_init(|| internal::value(self.read(), "the table of resources has unreadable versions"))
    }
}

impl From<Vec<ResourceVersion>> for Versions {
    fn from(versions: Vec<ResourceVersion>) -> Self {
        Self { text: None, read: OnceLock::from(versions) }
    }
}

impl PartialEq for Versions {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Versions {}

impl Serialize for Versions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// A resource in the table.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TableRow {
    group: String,
    resource: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    singular: String,
    #[serde(default)]
    short_names: Vec<String>,
    versions: Box<RawValue>,
}

impl From<TableRow> for Resource {
    fn from(row: TableRow) -> Self {
        let TableRow { group, resource, kind, namespaced, singular, short_names, versions } = row;
        let versions = Versions { text: Some(versions), read: OnceLock::new() };
        Self { group, resource, kind, namespaced, singular, short_names, is_custom: false, versions }
    }
}

/// Reads the rows of the table.
pub(super) fn read_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Resource>, D::Error> {
    Ok(Vec::<TableRow>::deserialize(deserializer)?.into_iter().map(Resource::from).collect())
}
