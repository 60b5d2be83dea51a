//! Labels and annotations of every object: `commonMetadata` of a workspace and of a target.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    BoundValue, Data, Fill, LabelMap, Pattern, PolicyMeta, Target, Unit, Variable, VariableScope, Variables,
    check_pattern,
};
use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::yaml::NodeRef;

/// Labels and annotations of every object. An entry of the object itself wins. Texts can name variables of the target,
/// `{policy.kind}` and `{policy.name}`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CommonMetadataSpec {
    /// Labels of the objects.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the objects.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// The labels and annotations of the objects of a target.
#[derive(Debug, Clone, Default)]
pub struct CommonMetadata {
    labels: Vec<(String, Pattern)>,
    annotations: Vec<(String, Pattern)>,
}

/// The field with the labels and annotations.
const FIELD: &str = "commonMetadata";

/// The variables beside the variables of the target.
const POLICY_KIND: &str = "policy.kind";
const POLICY_NAME: &str = "policy.name";

/// The prefixes of keys that decide access: only the fields of the policies write them.
const DECIDING: [&str; 4] =
    ["bailiwick.dev/", "pod-security.kubernetes.io/", "rbac.authorization.k8s.io/", "security.openshift.io/"];

impl CommonMetadata {
    /// Reads the entries of a workspace and of a target; the entries of the target win.
    pub(super) fn link(workspace: NodeRef<'_>, own: NodeRef<'_>, target: &Target, sink: &mut Sink) -> Self {
        let read = |field: &str, sink: &mut Sink| {
            let mut found: BTreeMap<String, Pattern> = BTreeMap::new();
            for map in [workspace, own].into_iter().filter_map(|node| node.path(&[FIELD, field])) {
                for (key, value) in map.entries() {
                    let name = key.as_str().map_or("", |name| name);
                    check(key, value, target, sink);
                    let text = value.as_str().map_or("", |text| text);
                    found.insert(name.to_owned(), Pattern::parse_checked(text));
                }
            }
            found.into_iter().collect()
        };
        Self { labels: read("labels", sink), annotations: read("annotations", sink) }
    }

    /// Adds the entries to an object of a policy.
    pub fn add(&self, unit: &mut Unit, policy: &PolicyMeta, target: &Target) {
        for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if entries.is_empty() {
                continue;
            }
            let common = filled(entries, policy, target);
            unit.data = match unit.is_brought_in() {
                true => changed(&unit.data, &["object", "metadata", field], &common),
                false => changed(&unit.data, &[field], &common),
            };
        }
    }

    /// Whether there are labels.
    pub(super) fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Adds the labels of a Namespace of a policy that the Namespace does not have itself.
    pub(super) fn add_labels(&self, labels: &mut LabelMap, policy: &PolicyMeta, target: &Target) {
        let Data::Map(entries) = filled(&self.labels, policy, target) else { return };
        for (key, value) in entries.iter() {
            if let Data::Str(text) = value {
                labels.entry(Arc::clone(key)).or_insert_with(|| Arc::clone(text));
            }
        }
    }
}

/// Reports an unknown variable, and a key that decides access.
fn check(key: NodeRef<'_>, value: NodeRef<'_>, target: &Target, sink: &mut Sink) {
    let name = key.as_str().map_or("", |name| name);
    if DECIDING.iter().any(|prefix| name.starts_with(prefix)) {
        let message = format!("`{name}` decides access, and is no common label or annotation");
        let diagnostic = Diagnostic::error(codes::INVALID_WORKSPACE, message).at(key.origin());
        sink.push(diagnostic.help("set it with the fields of the policies"));
    }
    let known: Variables = [POLICY_KIND, POLICY_NAME].map(|name| (name.to_owned(), Variable::text())).into();
    let targets = std::slice::from_ref(target);
    _ = check_pattern(value, VariableScope { accounts: Some(&known), targets, open: false }, sink);
}

fn filled(entries: &[(String, Pattern)], policy: &PolicyMeta, target: &Target) -> Data {
    let (kind, name) = (Data::text(policy.kind), Data::Str(Arc::clone(&policy.name)));
    let kind = BoundValue { name: POLICY_KIND, value: &kind, outer: None };
    let both = BoundValue { name: POLICY_NAME, value: &name, outer: Some(&kind) };
    let from = Fill::from_target(target).within(Some(&both));
    Data::map(entries.iter().map(|(key, value)| (key.as_str(), Data::Str(value.fill(from)))))
}

/// Returns a map with further entries in a map within it. Present entries win.
fn changed(data: &Data, path: &[&str], common: &Data) -> Data {
    let Some((first, rest)) = path.split_first() else { return common.merged_with(data) };
    let Data::Map(entries) = data else { return data.clone() };
    let mut all: Vec<(Arc<str>, Data)> = entries.to_vec();
    match all.iter_mut().find(|(key, _)| **key == **first) {
        Some((_, inner)) if *inner == Data::Null => *inner = changed(&Data::map([] as [(&str, Data); 0]), rest, common),
        Some((_, inner)) => *inner = changed(inner, rest, common),
        None => {
            let empty = Data::map([] as [(&str, Data); 0]);
            all.push((Arc::from(*first), changed(&empty, rest, common)));
        }
    }
    Data::Map(all.into())
}
