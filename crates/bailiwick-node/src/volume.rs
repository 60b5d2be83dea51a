//! The Secrets and the CSI drivers behind volumes (`pkg/api/v1/pod/util.go`, `pkg/api/v1/persistentvolume/util.go`,
//! `k8s.io/csi-translation-lib`).

use std::error::Error;
use std::fmt;

use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::volumes::{KINDS, SecretReference, VolumeKind};
use bailiwick_yaml::NodeRef;

/// Returns the source with a Secret at `secretRef`, and its kind. The first kind in the order of Kubernetes counts.
fn with_secret_reference(volume: NodeRef<'_>) -> Option<(&'static VolumeKind, NodeRef<'_>)> {
    let ranked = KINDS.iter().filter_map(|kind| match kind.secret {
        SecretReference::Reference { rank } => Some((rank, kind, field(volume, kind.field)?)),
        SecretReference::None | SecretReference::Name | SecretReference::NodePublish => None,
    });
    ranked.min_by_key(|(rank, ..)| *rank).map(|(_, kind, source)| (kind, source))
}

/// The CSI driver of each volume source from before CSI.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

/// Returns a non-empty text at a path below a node.
pub(super) fn text<'t>(node: NodeRef<'t>, path: &[&str]) -> Option<&'t str> {
    node.path(path).and_then(NodeRef::as_str).filter(|text| !text.is_empty())
}

/// Returns a present field; null counts as absent.
pub(super) fn field<'t>(node: NodeRef<'t>, key: &str) -> Option<NodeRef<'t>> {
    node.get(key).filter(|value| !value.is_null())
}

/// Returns the Secret named by a volume of a pod, except in projected volumes.
pub(super) fn secret_of_inline(volume: NodeRef<'_>) -> Option<&str> {
    if let Some(file) = field(volume, "azureFile") {
        return text(file, &["secretName"]);
    }
    if let Some((_, source)) = with_secret_reference(volume) {
        return text(source, &["secretRef", "name"]);
    }
    if let Some(secret) = field(volume, "secret") {
        return text(secret, &["secretName"]);
    }
    text(volume, &["csi", "nodePublishSecretRef", "name"])
}

/// Returns the Secrets of a PersistentVolume readable by a kubelet, as namespace and name.
pub(super) fn secrets_of_persistent(spec: NodeRef<'_>, expands_on_node: bool) -> Vec<(String, String)> {
    let claimed_in = || absent::text(text(spec, &["claimRef", "namespace"]));
    let mut secrets = Vec::new();
    let mut add = |namespace: &str, name: Option<&str>| {
        secrets.extend(name.map(|name| (namespace.to_owned(), name.to_owned())));
    };
    if let Some(file) = field(spec, "azureFile") {
        add(text(file, &["secretNamespace"]).unwrap_or_else(claimed_in), text(file, &["secretName"]));
        return secrets;
    }
    if let Some((kind, source)) = with_secret_reference(spec) {
        let named = text(source, &["secretRef", "namespace"]);
        let otherwise = || if kind.in_claim_namespace { claimed_in() } else { "" };
        add(named.unwrap_or_else(otherwise), text(source, &["secretRef", "name"]));
        return secrets;
    }
    if let Some(driver) = field(spec, "csi") {
        // The Secrets for publishing and expanding at the controller are none of a kubelet's business.
        let of_node = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];
        for reference in of_node.iter().filter(|reference| expands_on_node || **reference != "nodeExpandSecretRef") {
            let namespace = absent::text(text(driver, &[reference, "namespace"]));
            add(namespace, text(driver, &[reference, "name"]));
        }
    }
    secrets
}

/// An error of finding the CSI driver of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverError {
    /// An id of another form than the ids of AWS volumes.
    NoAwsVolume(String),
    /// An unmanaged disk of Azure.
    UnmanagedDisk,
    /// An unknown claim, with its namespace.
    NoClaim {
        /// Namespace of the claim.
        namespace: String,
        /// Name of the claim.
        claim: String,
    },
    /// An unknown PersistentVolume.
    NoVolume(String),
}

impl fmt::Display for DriverError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAwsVolume(volume) => write!(formatter, "`{volume}` does not name a volume of AWS"),
            Self::UnmanagedDisk => formatter.write_str("a disk of Azure that is not managed has no driver"),
            Self::NoClaim { namespace, claim } => write!(formatter, "the claim {namespace}/{claim} is not found"),
            Self::NoVolume(volume) => write!(formatter, "the volume `{volume}` is not found"),
        }
    }
}

impl Error for DriverError {}

/// Returns the CSI driver of a volume of a pod or a PersistentVolume.
///
/// # Errors
/// The volume has no valid form for the driver of its kind.
pub(super) fn driver_of(volume: NodeRef<'_>, is_migrated: bool) -> Result<Option<String>, DriverError> {
    if let Some(driver) = field(volume, "csi") {
        return Ok(text(driver, &["driver"]).map(str::to_owned));
    }
    let older = MIGRATED.iter().find_map(|(source, driver)| Some((field(volume, source)?, *driver)));
    let Some((source, driver)) = older.filter(|_| is_migrated) else { return Ok(None) };
    let volume = absent::text(text(source, &["volumeID"]));
    if driver == "ebs.csi.aws.com" && !is_ebs_volume(volume) {
        return Err(DriverError::NoAwsVolume(volume.to_owned()));
    }
    // The server fills in `Shared` for an absent value.
    if driver == "disk.csi.azure.com" && text(source, &["kind"]) != Some("Managed") {
        return Err(DriverError::UnmanagedDisk);
    }
    Ok(Some(driver.to_owned()))
}

/// Whether this is an id of AWS, bare or behind `aws://` and a zone.
fn is_ebs_volume(id: &str) -> bool {
    let Some(rest) = id.strip_prefix("aws://") else { return true };
    let path = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    path.strip_prefix("vol-").is_some_and(|digits| !digits.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kind_of_a_volume_in_the_order_of_kubernetes_counts() {
        let of = |name: &str| serde_json::json!({ "secretRef": { "name": name } });
        let volume = serde_json::json!({ "name": "v", "iscsi": of("b"), "cephfs": of("a") });
        let tree = bailiwick_yaml::from_json(&volume);
        assert_eq!(secret_of_inline(tree.document(0).expect("a volume")), Some("a"));
    }
}
