//! The normal form of an object: the stored form without the fields of the server.

use std::collections::BTreeSet;

use bailiwick_kubernetes::absent::group_and_version;
use bailiwick_kubernetes::catalogue::Catalogue;
use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_kubernetes::{rbac, schemas, server_fields};
use bailiwick_yaml::{NodeId, NodeRef, Tree};

/// The version of the RBAC kinds; earlier versions have the same fields.
const RBAC_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Brings an object of a server of a minor into its normal form. Returns the paths of the fields with content that
/// the server sets or drops.
pub fn normalize(tree: &mut Tree, root: NodeId, minor: u32) -> Vec<String> {
    let api_version = tree.at(root).entry("apiVersion").map(|(_, version)| version);
    let is_earlier = api_version.is_some_and(|version| {
        let text = version.as_str().and_then(|text| text.strip_prefix(rbac::GROUP));
        text.is_some_and(|version| version.starts_with("/v1beta"))
    });
    if let Some(version) = api_version.map(NodeRef::id).filter(|_| is_earlier) {
        tree.set_string(version, RBAC_VERSION);
    }
    let fields = server_fields::find(tree.at(root), minor);
    server_fields::remove(tree, root, &fields.iter().map(|field| field.node).collect());
    without_fields_of_controllers(tree, root);
    let mut dropped: Vec<String> = fields.into_iter().filter(|field| !field.is_empty).map(|field| field.path).collect();
    let object = tree.at(root);
    let (api_version, kind) = (object.text_at("apiVersion"), object.text_at("kind"));
    let in_catalogue =
        || Catalogue::get().find_kind(group_and_version(api_version).0, kind).map(|found| found.namespaced);
    let is_namespaced = schemas::find(api_version, kind).map(|entry| entry.namespaced).or_else(in_catalogue);
    let namespace = object.path(&["metadata", "namespace"]).filter(|_| is_namespaced == Some(false));
    // The server drops the namespace of a cluster-scoped object.
    if let Some(namespace) = namespace.map(|namespace| namespace.id()) {
        server_fields::remove(tree, root, &BTreeSet::from([namespace]));
        dropped.push("metadata.namespace".to_owned());
    }
    to_stored(tree, root, StoredForm::Stored);
    dropped
}

/// Removes the fields that controllers and the server fill: the finalizer of a Namespace, and the rules of an aggregated
/// ClusterRole.
fn without_fields_of_controllers(tree: &mut Tree, root: NodeId) {
    let object = tree.at(root);
    let removed = match (object.text_at("apiVersion"), object.text_at("kind")) {
        ("v1", "Namespace") => {
            let finalizers = object.path(&["spec", "finalizers"]).into_iter().flat_map(NodeRef::items);
            let is_default = finalizers.map(NodeRef::as_str).eq([Some("kubernetes")]);
            object.entry("spec").filter(|(_, spec)| spec.is_empty() || is_default && spec.len() == 1)
        }
        (RBAC_VERSION, "ClusterRole") if object.get("aggregationRule").is_some_and(|rule| !rule.is_empty()) => {
            object.entry("rules")
        }
        _ => None,
    };
    if let Some(key) = removed.map(|(key, _)| key.id()) {
        let entries: Vec<(NodeId, NodeId)> =
            tree.at(root).entries().map(|(key, value)| (key.id(), value.id())).filter(|(own, _)| *own != key).collect();
        tree.set_entries(root, &entries);
    }
}
