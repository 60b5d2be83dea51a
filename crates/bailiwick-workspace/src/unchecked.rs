//! The objects that are not checked by all rules of the API server.

use std::collections::BTreeMap;

use bailiwick_compiler::validate::ValidationDepth;
use bailiwick_policy::model::{Target, WrittenManifests};
use schemars::JsonSchema;
use serde::Serialize;

use super::workspace::Workspace;

/// How many objects of each kind are not checked by every rule of the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartlyChecked {
    /// The objects that are checked for fields, types and metadata, by kind.
    pub fields: BTreeMap<String, usize>,
    /// The objects that are checked for metadata alone, by kind and group.
    pub metadata: BTreeMap<String, usize>,
}

/// Counts the objects that policies bring into these targets and that are checked for their fields or metadata alone.
pub fn partly_checked(workspace: &Workspace, targets: &[&Target]) -> PartlyChecked {
    let project = &workspace.project;
    let mut found = PartlyChecked::default();
    for manifests in project.facts.all::<WrittenManifests>() {
        let on = targets.iter().filter(|target| manifests.targets.contains(&target.name));
        let on: Vec<_> = on.map(|target| (target.version.minor(), project.custom_fields(target))).collect();
        for (object_type, count) in &manifests.counts {
            let (api_version, kind) = (&*object_type.api_version, &*object_type.kind);
            let reaches =
                on.iter().map(|(minor, definitions)| ValidationDepth::find(*minor, definitions, api_version, kind));
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let entry = match reaches.min() {
                Some(ValidationDepth::Fields) => found.fields.entry(kind.to_owned()),
                Some(ValidationDepth::Metadata) => found.metadata.entry(format!("{kind}.{group}")),
                Some(ValidationDepth::Rules) | None => continue,
            };
            *entry.or_default() += count;
        }
    }
    found
}
