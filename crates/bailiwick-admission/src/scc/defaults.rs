//! The initial constraints of a cluster with their roles and bindings, by release.
//!
//! The payload of OpenShift contains these objects. They are a baseline under a cluster's own objects, as the default
//! RBAC policy is for [`bailiwick_access`].

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::release::Release;
use super::{GROUP, RESOURCE};
use bailiwick_kubernetes::rbac;
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, Tree};

/// The constraints of every release.
pub const TEXT: &str = include_str!("../facts/scc.yaml");

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Facts {
    volumes_since: std::collections::BTreeMap<String, String>,
    common: Map<String, Value>,
    constraints: Vec<Entry>,
    dangling: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    since: String,
    #[serde(default)]
    bound: Vec<String>,
    fields: Map<String, Value>,
}

/// The initial state of a cluster of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Release of the payload.
    pub release: Release,
    /// Whether the cluster was upgraded from 4.10 or before and grants `restricted` to all users.
    pub upgraded_from_4_10: bool,
}

impl Start {
    /// Returns the state of a cluster that was installed with a release.
    pub fn new(release: Release) -> Self {
        Self { release, upgraded_from_4_10: false }
    }
}

/// Returns the names of the initial constraints of a release, in the order of the table.
pub fn names(release: Release) -> impl Iterator<Item = &'static str> {
    entries(release).map(|entry| entry.name.as_str())
}

/// Returns the initial objects of a cluster: constraints, then ClusterRoles, then ClusterRoleBindings. A release before the
/// first one of the table has none.
pub fn objects(start: Start) -> Vec<Value> {
    if start.release < Release::FIRST {
        return Vec::new();
    }
    let mut objects: Vec<Value> = entries(start.release).map(|entry| constraints(entry, start)).collect();
    let names = names(start.release).chain(facts().dangling.iter().map(String::as_str));
    objects.extend(names.map(|name| {
        json!({
            "apiVersion": format!("{}/v1", rbac::GROUP),
            "kind": "ClusterRole",
            "metadata": { "name": role_name(name) },
            "rules": [{ "apiGroups": [GROUP], "resources": [RESOURCE], "resourceNames": [name], "verbs": ["use"] }],
        })
    }));
    objects.extend(entries(start.release).filter(|entry| !entry.bound.is_empty()).map(|entry| {
        let subjects =
            entry.bound.iter().map(|group| json!({ "apiGroup": rbac::GROUP, "kind": "Group", "name": group }));
        json!({
            "apiVersion": format!("{}/v1", rbac::GROUP),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": role_name(&entry.name) },
            "roleRef": { "apiGroup": rbac::GROUP, "kind": "ClusterRole", "name": role_name(&entry.name) },
            "subjects": subjects.collect::<Vec<_>>(),
        })
    }));
    objects
}

/// Returns the initial objects as trees, one for each object.
pub fn trees(start: Start) -> Vec<Tree> {
    objects(start).iter().map(yaml::from_json).collect()
}

/// Returns the name of the ClusterRole for the use of constraints of the payload.
pub fn role_name(scc: &str) -> String {
    format!("system:openshift:scc:{scc}")
}

fn constraints(entry: &Entry, start: Start) -> Value {
    let mut object = facts().common.clone();
    for (key, value) in &entry.fields {
        object.insert(key.clone(), value.clone());
    }
    object.insert("apiVersion".to_owned(), format!("{GROUP}/v1").into());
    object.insert("kind".to_owned(), "SecurityContextConstraints".into());
    object.insert("metadata".to_owned(), json!({ "name": entry.name }));
    if start.upgraded_from_4_10 && entry.name == "restricted" {
        object.insert("groups".to_owned(), json!(["system:authenticated"]));
    }
    if let Some(Value::Array(volumes)) = object.get_mut("volumes") {
        volumes.retain(|volume| {
            let since = volume.as_str().and_then(|volume| facts().volumes_since.get(volume));
            since.and_then(|since| Release::parse(since)).is_none_or(|since| since <= start.release)
        });
    }
    Value::Object(object)
}

fn entries(release: Release) -> impl Iterator<Item = &'static Entry> {
    let is_there = move |entry: &&Entry| Release::parse(&entry.since).is_some_and(|since| since <= release);
    facts().constraints.iter().filter(is_there)
}

fn facts() -> &'static Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    FACTS.get_or_init(|| {
        let tree = yaml::read(TEXT, FileId::default(), &mut Sink::new());
        // A test reads the table: it is never unreadable here.
        tree.document(0).and_then(|root| from_node(root).ok()).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let tree = yaml::read(TEXT, FileId::default(), &mut Sink::new());
        let facts: Facts = from_node(tree.document(0).expect("a document")).expect("facts");
        assert_eq!(facts.constraints.len(), 13);
        assert!(facts.constraints.iter().all(|entry| Release::parse(&entry.since).is_some()));
    }

    #[test]
    fn releases_have_as_many_as_their_payload() {
        let count = |text| names(Release::parse(text).expect("a release")).count();
        assert_eq!(["4.11", "4.16", "4.17", "4.19", "4.20", "5.1"].map(count), [10, 10, 11, 11, 13, 13]);
        let start = Start::new(Release::LAST);
        assert_eq!(objects(start).len(), 13 + 14 + 2);
    }
}
