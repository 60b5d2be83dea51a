//! The kinds of volumes of a pod.
//!
//! One table for all crates: the field of a pod, the name in PodSecurityPolicy and SecurityContextConstraints, the
//! place of the Secret, and the object of the API behind a volume. The order is the order of the restricted types in
//! Pod Security (`policy/check_restrictedVolumes.go` of k8s.io/pod-security-admission 0.37).

/// A kind of volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeKind {
    /// The field of a volume in a pod, such as `configMap`.
    pub field: &'static str,
    /// The name in PodSecurityPolicy and SecurityContextConstraints (`FSType` of `k8s.io/api/policy/v1beta1` and of
    /// `security/v1` of openshift/api); none for a kind newer than both.
    pub token: Option<&'static str>,
    /// The reference to a Secret in the volume of a pod.
    pub secret: SecretReference,
    /// Whether a PersistentVolume of the kind takes its Secret from the namespace of the claim by default
    /// (`pkg/api/v1/persistentvolume/util.go`).
    pub in_claim_namespace: bool,
    /// The object of the API behind a volume of the kind (`pkg/api/pod/util.go` of Kubernetes 1.34).
    pub object: ApiObject,
}

/// The reference to a Secret in a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretReference {
    /// The kind has no Secret.
    None,
    /// `secretName`.
    Name,
    /// `secretRef.name`.
    Reference,
    /// `nodePublishSecretRef.name`.
    NodePublish,
}

/// The object of the API behind a volume. A mirror pod may only have volumes without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiObject {
    /// The volume needs no object of the API.
    None,
    /// An object of this resource.
    Resource(&'static str),
    /// The objects of the sources of a projected volume.
    OfSources,
}

impl VolumeKind {
    /// Whether a mirror pod may have such a volume.
    pub fn is_allowed_in_mirror_pods(&self) -> bool {
        self.object == ApiObject::None
    }
}

const fn plain(field: &'static str) -> VolumeKind {
    VolumeKind {
        field,
        token: Some(field),
        secret: SecretReference::None,
        in_claim_namespace: false,
        object: ApiObject::None,
    }
}

const fn object(field: &'static str, resource: &'static str) -> VolumeKind {
    VolumeKind { object: ApiObject::Resource(resource), ..plain(field) }
}

const fn with_secret(field: &'static str, in_claim_namespace: bool) -> VolumeKind {
    VolumeKind { secret: SecretReference::Reference, in_claim_namespace, ..plain(field) }
}

/// All kinds of volumes.
pub const KINDS: [VolumeKind; 30] = [
    object("configMap", "configmaps"),
    VolumeKind { secret: SecretReference::NodePublish, ..object("csi", "csidrivers") },
    plain("downwardAPI"),
    plain("emptyDir"),
    object("ephemeral", "persistentvolumeclaims"),
    VolumeKind { token: None, ..plain("image") },
    object("persistentVolumeClaim", "persistentvolumeclaims"),
    VolumeKind { object: ApiObject::OfSources, ..plain("projected") },
    VolumeKind { secret: SecretReference::Name, ..object("secret", "secrets") },
    plain("hostPath"),
    plain("gcePersistentDisk"),
    plain("awsElasticBlockStore"),
    plain("gitRepo"),
    plain("nfs"),
    with_secret("iscsi", true),
    object("glusterfs", "endpoints"),
    with_secret("rbd", true),
    with_secret("flexVolume", true),
    with_secret("cinder", false),
    VolumeKind { token: Some("cephFS"), ..with_secret("cephfs", true) },
    plain("flocker"),
    plain("fc"),
    VolumeKind { secret: SecretReference::Name, ..object("azureFile", "secrets") },
    plain("vsphereVolume"),
    plain("quobyte"),
    plain("azureDisk"),
    plain("photonPersistentDisk"),
    plain("portworxVolume"),
    with_secret("scaleIO", true),
    with_secret("storageos", false),
];

/// Returns the kind of a volume by its field.
pub fn find(field: &str) -> Option<&'static VolumeKind> {
    KINDS.iter().find(|kind| kind.field == field)
}

/// Returns the fields of all kinds, in the order of the table.
pub fn fields() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_listed_once() {
        let fields: std::collections::BTreeSet<&str> = fields().collect();
        assert_eq!(fields.len(), KINDS.len());
        assert_eq!(find("cephfs").and_then(|kind| kind.token), Some("cephFS"));
        assert_eq!(find("cephFS"), None);
    }

    #[test]
    fn mirror_pods_have_22_kinds() {
        assert_eq!(KINDS.iter().filter(|kind| kind.is_allowed_in_mirror_pods()).count(), 22);
    }
}
