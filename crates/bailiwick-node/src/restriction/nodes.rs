//! A node writes Node objects.

use super::labels::forbidden;
use super::{NodeOperation, NodeRestrictionError, NodeWrite, refuse};
use crate::cluster::Cluster;
use crate::equality::same;
use crate::volume::field;
use bailiwick_yaml::NodeRef;

pub(super) fn admit(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    if write.name != node {
        return refuse(format!("the node `{node}` is not allowed to modify node `{}`", write.name));
    }
    match write.operation {
        NodeOperation::Create => admit_create(cluster, node, write.new_object("Node")?),
        NodeOperation::Update => admit_update(cluster, node, write.new_object("Node")?, write.old_object("Node")?),
        _ => Ok(()),
    }
}

fn config_source(object: NodeRef<'_>) -> Option<NodeRef<'_>> {
    field(object, "spec").and_then(|spec| field(spec, "configSource"))
}

fn admit_create(cluster: &Cluster, node: &str, new: NodeRef<'_>) -> Result<(), NodeRestrictionError> {
    // A node may read the objects named in its Node, and may therefore not name them itself.
    if cluster.version.since(8) && config_source(new).is_some() {
        return refuse(format!("the node `{node}` is not allowed to create itself with a configSource"));
    }
    let labels = forbidden(cluster, new, None);
    if labels.is_empty() {
        return Ok(());
    }
    refuse(format!("the node `{node}` is not allowed to set the following labels: {}", labels.join(", ")))
}

fn admit_update(cluster: &Cluster, node: &str, new: NodeRef<'_>, old: NodeRef<'_>) -> Result<(), NodeRestrictionError> {
    if cluster.version.since(8) && config_source(new).is_some() && !same(config_source(new), config_source(old), &[]) {
        return refuse(format!("the node `{node}` is not allowed to change its configSource to a new one"));
    }
    let at = |object: NodeRef<'_>, path: &[&str]| !same(object.path(path), new.path(path), &[]);
    if cluster.version.since(11) && at(old, &["spec", "taints"]) {
        return refuse(format!("the node `{node}` is not allowed to modify taints"));
    }
    // CVE-2025-5187, mended in the newest releases of 1.31 and later.
    if cluster.version.since(31) && at(old, &["metadata", "ownerReferences"]) {
        return refuse(format!("the node `{node}` is not allowed to modify its ownerReferences"));
    }
    let labels = forbidden(cluster, new, Some(old));
    if labels.is_empty() {
        return Ok(());
    }
    refuse(format!("the node `{node}` is not allowed to modify labels: {}", labels.join(", ")))
}
