//! Writes of a node to pods: its mirror pods, and the status of its pods.

use super::{NodeOperation, NodeRestrictionError, NodeWrite, refuse};
use crate::cluster::Cluster;
use crate::equality::same;
use crate::mirror::{MIRROR, referenced_kind};
use crate::pod::{ClusterPod, items};
use crate::volume::{field, text};
use bailiwick_kubernetes::absent;
use bailiwick_yaml::NodeRef;

pub(super) fn admit(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    match write.subresource {
        "" => match write.operation {
            NodeOperation::Create => admit_create(cluster, node, write),
            NodeOperation::Delete => match existing(cluster, write.namespace, write.name)? {
                pod if pod.node == node => Ok(()),
                _ => refuse(format!("the node `{node}` can only delete pods that are bound to it")),
            },
            _ => write.unexpected(),
        },
        "status" => match write.operation {
            NodeOperation::Update => admit_status(cluster, node, write),
            _ => write.unexpected(),
        },
        "eviction" if cluster.version.since(8) => match write.operation {
            NodeOperation::Create => admit_eviction(cluster, node, write),
            _ => write.unexpected(),
        },
        other => refuse(format!("unexpected pod subresource `{other}`: a node has `status` and `eviction`")),
    }
}

pub(super) fn existing<'c>(
    cluster: &'c Cluster,
    namespace: &str,
    name: &str,
) -> Result<&'c ClusterPod, NodeRestrictionError> {
    let pod = cluster.pods.get(&(namespace.to_owned(), name.to_owned()));
    pod.ok_or_else(|| NodeRestrictionError(format!("the pod {namespace}/{name} is not found")))
}

fn admit_create(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    let pod = write.new_object("Pod")?;
    if pod.path(&["metadata", "annotations", MIRROR]).is_none() {
        return refuse(format!(
            "the pod has no annotation `{MIRROR}`, and the node `{node}` can only create mirror pods"
        ));
    }
    if text(pod, &["spec", "nodeName"]) != Some(node) {
        return refuse(format!("the node `{node}` can only create pods that are bound to it"));
    }
    admit_owner(cluster, node, pod)?;
    match referenced_kind(pod, &cluster.version) {
        Ok(None) => Ok(()),
        Ok(Some(resource)) => refuse(format!("the node `{node}` can not create pods that reference {resource}")),
        Err(why) => refuse(format!("the node `{node}` can not create a pod with unknown references: {why}")),
    }
}

/// Checks the owner of a mirror pod: its Node, for a common removal. It is required since 1.20, and since 1.17 no
/// other owner is allowed.
fn admit_owner(cluster: &Cluster, node: &str, pod: NodeRef<'_>) -> Result<(), NodeRestrictionError> {
    if !cluster.version.since(17) {
        return Ok(());
    }
    let owners: Vec<NodeRef<'_>> =
        pod.get("metadata").into_iter().flat_map(|metadata| items(metadata, "ownerReferences")).collect();
    let owner = match owners.as_slice() {
        [] if !cluster.version.since(20) => return Ok(()),
        [owner] => *owner,
        [] => return refuse(format!("the node `{node}` can only create pods with an owner reference set to itself")),
        _ => {
            return refuse(format!(
                "the node `{node}` can only create pods with a single owner reference set to itself"
            ));
        }
    };
    let own = |key: &str| absent::text_at(owner, &[key]);
    let is_true = |key: &str| owner.get(key).and_then(NodeRef::as_bool) == Some(true);
    if (own("apiVersion"), own("kind"), own("name")) != ("v1", "Node", node) {
        return refuse(format!("the node `{node}` can only create pods with an owner reference set to itself"));
    }
    if !is_true("controller") {
        return refuse(format!(
            "the node `{node}` can only create pods with a controller owner reference set to itself"
        ));
    }
    if is_true("blockOwnerDeletion") {
        return refuse(format!("the node `{node}` must not set blockOwnerDeletion on an owner reference"));
    }
    let Some(known) = cluster.nodes.get(node) else { return refuse(format!("the node `{node}` is not found")) };
    if own("uid") == known.uid {
        return Ok(());
    }
    refuse(format!("node `{node}` UID mismatch: the pod has `{}`, and it is `{}`", own("uid"), known.uid))
}

fn admit_status(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    let old = write.old_object("Pod")?;
    if text(old, &["spec", "nodeName"]) != Some(node) {
        return refuse(format!("the node `{node}` can only update pod status of pods that are bound to it"));
    }
    let new = write.new_object("Pod")?;
    let differs = |path: &[&str]| !same(old.path(path), new.path(path), &[]);
    let version = &cluster.version;
    if version.since(17) && labels(old) != labels(new) {
        return refuse(format!("the node `{node}` cannot update labels through the status of a pod"));
    }
    if version.since(28) && claim_statuses(old) != claim_statuses(new) {
        return refuse(format!("the node `{node}` cannot update the resource claim statuses of a pod"));
    }
    let extended = ["status", "extendedResourceClaimStatus"];
    let is_there = |pod: NodeRef<'_>| field(pod, "status").is_some_and(|status| field(status, extended[1]).is_some());
    if version.since(34) && (is_there(old) != is_there(new) || differs(&extended)) {
        return refuse(format!("the node `{node}` cannot update the extended resource claim status of a pod"));
    }
    if version.since(37) && !same_allocatable(old, new) {
        return refuse(format!(
            "the node `{node}` cannot update the node allocatable resource claim statuses of a pod"
        ));
    }
    Ok(())
}

/// Whether two pods have the same claims on allocatable resources of their node, in the same order
/// (`nodeAllocatableResourceClaimStatusesEqual`, since 1.37).
fn same_allocatable(old: NodeRef<'_>, new: NodeRef<'_>) -> bool {
    let path = ["status", "nodeAllocatableResourceClaimStatuses"];
    same_items(old.path(&path), new.path(&path), |old, new| {
        let texts = |status: NodeRef<'_>| -> Vec<String> {
            items(status, "containers").map(|name| absent::text(name.as_str()).to_owned()).collect()
        };
        let lists = |key: &str, quantities: &[&str]| {
            same_items(old.get(key), new.get(key), |old, new| {
                text(old, &["name"]) == text(new, &["name"])
                    && quantities.iter().all(|key| same_quantity(field(old, key), field(new, key)))
            })
        };
        text(old, &["resourceClaimName"]) == text(new, &["resourceClaimName"])
            && texts(old) == texts(new)
            && lists("mapping", &["quantity"])
            && lists("overhead", &["perPod", "perContainer"])
    })
}

/// Whether two lists are as long and equal item by item; an absent list is an empty one.
fn same_items<'p>(
    old: Option<NodeRef<'p>>,
    new: Option<NodeRef<'p>>,
    is_same: impl Fn(NodeRef<'p>, NodeRef<'p>) -> bool,
) -> bool {
    let list = |node: Option<NodeRef<'p>>| node.into_iter().flat_map(NodeRef::items).collect::<Vec<_>>();
    let (old, new) = (list(old), list(new));
    old.len() == new.len() && old.into_iter().zip(new).all(|(old, new)| is_same(old, new))
}

/// Whether two quantities have one value, or neither is there.
fn same_quantity(old: Option<NodeRef<'_>>, new: Option<NodeRef<'_>>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => same(Some(old), Some(new), &[]),
        (old, new) => old.is_none() && new.is_none(),
    }
}

fn labels<'p>(pod: NodeRef<'p>) -> std::collections::BTreeMap<&'p str, &'p str> {
    let entries = pod.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
    entries.filter_map(|(key, value)| Some((key.as_str()?, value.as_str()?))).collect()
}

/// Returns each claim generated for a pod: its name in the pod, and the name of its object, if any.
fn claim_statuses<'p>(pod: NodeRef<'p>) -> Vec<(&'p str, Option<&'p str>)> {
    let statuses = pod.path(&["status", "resourceClaimStatuses"]).into_iter().flat_map(NodeRef::items);
    let own = |status: NodeRef<'p>, key: &str| status.get(key).and_then(NodeRef::as_str);
    let both = |status| (absent::text(own(status, "name")), own(status, "resourceClaimName"));
    statuses.map(both).collect()
}

fn admit_eviction(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    let eviction = write.new_object("Eviction")?;
    let named = || absent::text_at(eviction, &["metadata", "name"]);
    let name = if write.name.is_empty() { named() } else { write.name };
    if name.is_empty() {
        return refuse("the eviction names no pod");
    }
    match existing(cluster, write.namespace, name)? {
        pod if pod.node == node => Ok(()),
        _ => refuse(format!("the node `{node}` can only evict pods that are bound to it")),
    }
}
