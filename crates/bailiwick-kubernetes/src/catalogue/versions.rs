//! The versions of a resource, and the rows of the table of served resources with their versions unread.

use std::ops::Deref;
use std::sync::OnceLock;

use bailiwick_yaml::internal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Resource, ResourceVersion};

/// The versions of a resource. The versions in the table are read on first use, because most runs ask about few resources.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    /// The lines of the versions in the table: JSON objects with commas between them.
    text: Option<&'static str>,
    read: OnceLock<Vec<ResourceVersion>>,
}

impl Versions {
    fn read(&self) -> Option<Vec<ResourceVersion>> {
        serde_json::from_str(&format!("[{}]", self.text?)).ok()
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

/// The line of a resource in the table, without its versions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RowHead {
    group: String,
    resource: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    singular: String,
    #[serde(default)]
    short_names: Vec<String>,
}

impl RowHead {
    fn with_versions(self, text: &'static str) -> Resource {
        let Self { group, resource, kind, namespaced, singular, short_names } = self;
        let versions = Versions { text: Some(text), read: OnceLock::new() };
        Resource { group, resource, kind, namespaced, singular, short_names, is_custom: false, versions }
    }
}

/// Reads the rows of the table by its lines, and returns them with the JSON object of the rest. None for another form:
///
/// ```text
/// "resources": [
/// {"group": ..., "versions": [
///   a line of each version
/// ]},
/// ],
/// the rest
/// ```
pub(super) fn read_rows(table: &'static str) -> Option<(Vec<Resource>, String)> {
    let (_, mut rest) = table.split_once("\"resources\": [\n")?;
    let mut rows = Vec::new();
    loop {
        let (head, after) = rest.split_once(", \"versions\": [\n")?;
        let (versions, after) = after.split_once("\n]}")?;
        let head: RowHead = serde_json::from_str(&format!("{head}}}")).ok()?;
        rows.push(head.with_versions(versions));
        rest = match after.strip_prefix(",\n") {
            Some(next) => next,
            None => return Some((rows, format!("{{{}", after.strip_prefix("\n],")?))),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Catalogue, TEXT};

    #[test]
    fn the_rows_have_what_the_table_has_as_json() {
        let table: serde_json::Value = serde_json::from_str(TEXT).unwrap();
        let rows = table["resources"].as_array().unwrap();
        let resources: Vec<super::Resource> =
            rows.iter().map(|row| serde_json::from_value(row.clone()).unwrap()).collect();
        assert!(resources.len() > 80);
        assert_eq!(Catalogue::get().resources, resources);
    }
}
