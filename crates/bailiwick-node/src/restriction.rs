//! May a node write this object? The decision of the admission plugin NodeRestriction
//! (`plugin/pkg/admission/noderestriction/admission.go`), by version.
//!
//! It looks at few resources and allows every other; authorization has been asked before.

mod certificates;
mod labels;
mod nodes;
mod pods;
mod tokens;

use bailiwick_kubernetes::absent;
pub use certificates::SIGNER_VERB;
pub(super) use labels::is_restricted;
pub use labels::{is_kubelet_label, is_settable_by_kubelet};

use super::authorize::LEASES;
use super::cluster::Cluster;
use super::equality::same;
use super::identity::NodeIdentity;
use super::version::FeatureGate;
use super::volume::text;
use bailiwick_access::{Identity, Request};
use bailiwick_yaml::NodeRef;

/// The operation on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeOperation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is removed.
    Delete,
    /// A connection, ignored by the plugin.
    Connect,
}

impl NodeOperation {
    /// Returns the operation of a word such as `CREATE`.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "CREATE" => NodeOperation::Create,
            "UPDATE" => NodeOperation::Update,
            "DELETE" => NodeOperation::Delete,
            "CONNECT" => NodeOperation::Connect,
            _ => return None,
        })
    }

    /// Returns the word of the operation.
    pub fn word(self) -> &'static str {
        match self {
            NodeOperation::Create => "CREATE",
            NodeOperation::Update => "UPDATE",
            NodeOperation::Delete => "DELETE",
            NodeOperation::Connect => "CONNECT",
        }
    }
}

/// A write in admission.
#[derive(Debug, Clone, Copy)]
pub struct NodeWrite<'w> {
    /// Creation, change, deletion or connection.
    pub operation: NodeOperation,
    /// The API group; empty for the core group.
    pub group: &'w str,
    /// The resource, in the plural.
    pub resource: &'w str,
    /// The subresource; empty for none.
    pub subresource: &'w str,
    /// The namespace; empty for none.
    pub namespace: &'w str,
    /// The name in the URL; empty without one.
    pub name: &'w str,
    /// The object as it is to be; none when it is removed.
    pub object: Option<NodeRef<'w>>,
    /// The object as it is; none when it is made.
    pub old: Option<NodeRef<'w>>,
}

/// Why a write is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRestrictionError(pub String);

/// Rejects a write with a reason.
fn refuse<T>(why: impl Into<String>) -> Result<T, NodeRestrictionError> {
    Err(NodeRestrictionError(why.into()))
}

impl<'w> NodeWrite<'w> {
    /// Returns the object as it is to be, if it is of a kind.
    fn new_object(&self, kind: &str) -> Result<NodeRef<'w>, NodeRestrictionError> {
        of_kind(self.object, kind)
    }

    /// Returns the object as it is, if it is of a kind.
    fn old_object(&self, kind: &str) -> Result<NodeRef<'w>, NodeRestrictionError> {
        of_kind(self.old, kind)
    }

    fn unexpected<T>(&self) -> Result<T, NodeRestrictionError> {
        refuse(format!("unexpected operation {}", self.operation.word()))
    }
}

fn of_kind<'w>(object: Option<NodeRef<'w>>, kind: &str) -> Result<NodeRef<'w>, NodeRestrictionError> {
    let found = object.and_then(|object| text(object, &["kind"])).unwrap_or("nothing");
    object
        .filter(|_| found == kind)
        .ok_or_else(|| NodeRestrictionError(format!("a {kind} is expected, and this is {found}")))
}

/// Answers whether an identity may do something beside the write, such as asking for tokens of an audience.
pub type MayAlso<'m> = &'m dyn Fn(&Identity, &Request) -> bool;

/// Decides about a write.
///
/// # Errors
/// Why it is refused.
pub fn admit(
    cluster: &Cluster,
    who: &Identity,
    write: &NodeWrite<'_>,
    may_also: MayAlso<'_>,
) -> Result<(), NodeRestrictionError> {
    let node = match NodeIdentity::from_identity(who) {
        NodeIdentity::None => return Ok(()),
        _ if write.operation == NodeOperation::Connect => return Ok(()),
        NodeIdentity::Unnamed => return refuse(format!("could not determine node from the user `{}`", who.user)),
        NodeIdentity::Node(node) => node,
    };
    let version = &cluster.version;
    match (write.group, write.resource) {
        ("", "pods") => pods::admit(cluster, node, write),
        ("", "nodes") => nodes::admit(cluster, node, write),
        ("", "persistentvolumeclaims") if version.since(9) => admit_claim(cluster, node, write),
        ("", "serviceaccounts") if version.is_on(FeatureGate::TokenRequest) => {
            tokens::admit(cluster, who, node, write, may_also)
        }
        ("coordination.k8s.io", "leases") if version.since(12) => admit_lease(cluster, node, write),
        ("storage.k8s.io", "csinodes") if version.since(14) => admit_csi_node(cluster, node, write),
        ("csi.storage.k8s.io", "csinodeinfos") if (12..14).contains(&version.minor()) => {
            admit_csi_node(cluster, node, write)
        }
        ("resource.k8s.io", "resourceslices") if version.since(30) => admit_slice(cluster, node, write),
        ("certificates.k8s.io", "certificatesigningrequests")
            if version.since(31) && !version.is_on(FeatureGate::AllowInsecureKubeletCertificateSigningRequests) =>
        {
            certificates::admit_signing_request(node, write)
        }
        ("certificates.k8s.io", "podcertificaterequests") if version.since(34) => {
            certificates::admit_pod_request(cluster, who, node, write, may_also)
        }
        _ => Ok(()),
    }
}

/// Checks a claim: a kubelet may change only the status, and in it only the size.
fn admit_claim(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    const KIND: &str = "PersistentVolumeClaim";
    if write.subresource != "status" {
        return refuse("a node may only update PVC status");
    }
    if write.operation != NodeOperation::Update {
        return write.unexpected();
    }
    if !cluster.version.is_on(FeatureGate::ExpandPersistentVolumes) {
        return refuse(format!("the node `{node}` is not allowed to update the metadata of claims"));
    }
    let mut may_differ: Vec<&[&str]> = vec![
        &["apiVersion"],
        &["kind"],
        &["metadata", "resourceVersion"],
        &["metadata", "managedFields"],
        &["status", "capacity"],
        &["status", "conditions"],
    ];
    if cluster.version.is_on(FeatureGate::RecoverVolumeExpansionFailure) {
        may_differ.push(&["status", "allocatedResources"]);
        may_differ.push(if cluster.version.since(28) {
            &["status", "allocatedResourceStatuses"]
        } else {
            &["status", "resizeStatus"]
        });
    }
    let (old, new) = (write.old_object(KIND)?, write.new_object(KIND)?);
    if same(Some(old), Some(new), &may_differ) {
        return Ok(());
    }
    refuse(format!(
        "the node `{node}` is not allowed to update fields other than the capacity and conditions of the status"
    ))
}

/// Returns the new name of an object.
fn name_of<'w>(object: Option<NodeRef<'w>>) -> &'w str {
    absent::text(object.and_then(|object| text(object, &["metadata", "name"])))
}

fn admit_lease(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    if !cluster.version.is_on(FeatureGate::NodeLease) {
        return refuse("the feature gate NodeLease is off");
    }
    if write.namespace != LEASES {
        return refuse(format!("a node can only access leases in the system namespace `{LEASES}`"));
    }
    let name = match write.operation {
        NodeOperation::Create => name_of(Some(write.new_object("Lease")?)),
        _ => write.name,
    };
    if name == node {
        Ok(())
    } else {
        refuse(format!("the node `{node}` can only access the lease with the same name"))
    }
}

fn admit_csi_node(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    let version = &cluster.version;
    if !version.is_on(FeatureGate::CSINodeInfo)
        || !version.since(16) && !version.is_on(FeatureGate::KubeletPluginsWatcher)
    {
        return refuse("the feature gate CSINodeInfo is off");
    }
    let name = if write.operation == NodeOperation::Create { name_of(write.object) } else { write.name };
    if name != node {
        return refuse(format!("the node `{node}` can only access the CSINode with the same name"));
    }
    if version.since(37) && write.subresource == "status" {
        admit_csi_node_status(cluster, node, write)
    } else {
        Ok(())
    }
}

/// Checks that a write changes only the status of a CSINode (`admitCSINodeStatus`, since 1.37).
fn admit_csi_node_status(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    const KIND: &str = "CSINode";
    if !cluster.version.is_on(FeatureGate::CSIVolumeHealth) {
        return refuse("the feature gate CSIVolumeHealth is off");
    }
    if write.operation != NodeOperation::Update {
        return write.unexpected();
    }
    let (old, new) = (write.old_object(KIND)?, write.new_object(KIND)?);
    if same(old.get("spec"), new.get("spec"), &[]) {
        return Ok(());
    }
    refuse(format!("the node `{node}` is not allowed to change the spec of a CSINode through its status"))
}

/// Checks a ResourceSlice. Changes are authorized by the existing object; a new object, and each one of a deleted
/// collection, is checked here.
fn admit_slice(cluster: &Cluster, node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    let slice = match write.operation {
        NodeOperation::Create => write.new_object("ResourceSlice")?,
        NodeOperation::Delete if cluster.version.since(31) => write.old_object("ResourceSlice")?,
        _ => return Ok(()),
    };
    let of = if cluster.version.since(31) { text(slice, &["spec", "nodeName"]) } else { text(slice, &["nodeName"]) };
    if of == Some(node) {
        return Ok(());
    }
    refuse(format!("the node `{node}` can only make and delete a ResourceSlice with the same NodeName"))
}
