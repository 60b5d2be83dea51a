//! The normal form of an object: the stored form without the fields of the server and of kustomize.

use std::collections::BTreeSet;

use bailiwick_kubernetes::catalogue::Catalogue;
use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_kubernetes::{rbac, readers, server_fields};
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
    let mut fields: Vec<(String, NodeId)> = Vec::new();
    let object = tree.at(root);
    // The owner of an object decides whether a controller makes it, and stays.
    let is_owner = |path: &str| path == "metadata.ownerReferences";
    for field in server_fields::find(object, minor).into_iter().filter(|field| !is_owner(&field.path)) {
        fields.push((if field.is_empty { String::new() } else { field.path }, field.node));
    }
    fields.extend(field_of_controllers(object));
    let annotations = object.path(&["metadata", "annotations"]).into_iter().flat_map(NodeRef::entries);
    let of_build = annotations.filter(|(key, _)| readers::is_build_annotation(key.as_key()));
    fields.extend(of_build.map(|(key, value)| (format!("metadata.annotations.{}", key.as_key()), value.id())));
    // The server drops the namespace of a cluster-scoped object, and an empty namespace is none.
    let is_namespaced = Catalogue::get().is_namespaced(object.text_at("apiVersion"), object.text_at("kind"));
    let namespace = object.path(&["metadata", "namespace"]);
    fields.extend(namespace.and_then(|namespace| {
        let is_none = namespace.is_null() || namespace.as_str() == Some("");
        let path = if is_none { String::new() } else { "metadata.namespace".to_owned() };
        (is_none || is_namespaced == Some(false)).then(|| (path, namespace.id()))
    }));
    let nodes: BTreeSet<NodeId> = fields.iter().map(|(_, node)| *node).collect();
    server_fields::remove(tree, root, &nodes);
    to_stored(tree, root, StoredForm::Stored);
    fields.into_iter().map(|(path, _)| path).filter(|path| !path.is_empty()).collect()
}

/// Returns the field that the server or a controller fills, with its path: the default finalizer of a Namespace, and the rules of
/// an aggregated ClusterRole. The path of a field without content is empty.
fn field_of_controllers(object: NodeRef<'_>) -> Option<(String, NodeId)> {
    let (path, field) = match (object.text_at("apiVersion"), object.text_at("kind")) {
        ("v1", "Namespace") => {
            let finalizers = object.path(&["spec", "finalizers"]).into_iter().flat_map(NodeRef::items);
            let is_default = finalizers.map(NodeRef::as_str).eq([Some("kubernetes")]);
            let spec = object.get("spec")?;
            (spec.is_empty() || is_default && spec.len() == 1).then_some(("spec.finalizers", spec))?
        }
        (RBAC_VERSION, "ClusterRole") => {
            object.get("aggregationRule").filter(|rule| !rule.is_empty())?;
            ("rules", object.get("rules")?)
        }
        _ => return None,
    };
    Some((if field.is_empty() { String::new() } else { path.to_owned() }, field.id()))
}
