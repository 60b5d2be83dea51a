//! The kinds of volumes of a pod.
//!
//! One table for all crates: the field of a pod, the name in PodSecurityPolicy and SecurityContextConstraints, the
//! place of the Secret, and the object of the API behind a volume. The order is the order of the restricted types in
//! Pod Security (`policy/check_restrictedVolumes.go` of k8s.io/pod-security-admission 0.37).

/// A source of volumes, with its names and references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeKind {
    /// The field of a volume in a pod, such as `configMap`.
    pub field: &'static str,
    /// The name in PodSecurityPolicy (`FSType` of `k8s.io/api/policy/v1beta1` 0.24), with its place in the order of
    /// the checks (`pkg/security/podsecuritypolicy/util/util.go` of Kubernetes 1.24); none for a later kind.
    pub policy: Option<PolicyVolume>,
    /// The name in SecurityContextConstraints (`FSType` of `security/v1` of openshift/api).
    pub constraints: &'static str,
    /// The reference to a Secret in the volume of a pod.
    pub secret: SecretReference,
    /// Whether a PersistentVolume of the kind takes its Secret from the namespace of the claim by default
    /// (`pkg/api/v1/persistentvolume/util.go`).
    pub in_claim_namespace: bool,
    /// The object of the API behind a volume of the kind (`pkg/api/pod/util.go` of Kubernetes 1.34).
    pub object: ApiObject,
}

/// A kind of volume in PodSecurityPolicy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyVolume {
    /// The word in `volumes`.
    pub name: &'static str,
    /// The place in the order of the checks, from 0.
    pub rank: u8,
}

/// The reference to a Secret in a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretReference {
    /// The kind has no Secret.
    None,
    /// The field `secretName` of the source.
    Name,
    /// `secretRef.name`, with the place among these kinds, from 0: the first kind of a volume counts
    /// (`VisitPodSecretNames` in `pkg/api/v1/pod/util.go`).
    Reference {
        /// The place.
        rank: u8,
    },
    /// `nodePublishSecretRef.name`.
    NodePublish,
}

/// The object of the API behind a volume. A mirror pod may only have volumes without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiObject {
    /// The volume needs no object of the API.
    None,
    /// An object of a resource, with the place among these kinds, from 0: the first kind of a volume counts
    /// (`HasAPIObjectReference` in `pkg/api/pod/util.go`).
    Resource {
        /// The resource.
        name: &'static str,
        /// The place.
        rank: u8,
    },
    /// The objects of the sources of a projected volume.
    OfSources,
}

impl VolumeKind {
    /// Whether a mirror pod may have such a volume.
    pub fn is_allowed_in_mirror_pods(&self) -> bool {
        self.object == ApiObject::None
    }
}

const fn later(field: &'static str) -> VolumeKind {
    VolumeKind {
        field,
        policy: None,
        constraints: field,
        secret: SecretReference::None,
        in_claim_namespace: false,
        object: ApiObject::None,
    }
}

const fn plain(field: &'static str, rank: u8) -> VolumeKind {
    VolumeKind { policy: Some(PolicyVolume { name: field, rank }), ..later(field) }
}

/// All kinds of volumes.
pub const KINDS: [VolumeKind; 30] = [
    VolumeKind { object: ApiObject::Resource { name: "configmaps", rank: 0 }, ..plain("configMap", 18) },
    VolumeKind {
        secret: SecretReference::NodePublish,
        object: ApiObject::Resource { name: "csidrivers", rank: 2 },
        ..plain("csi", 27)
    },
    plain("downwardAPI", 15),
    plain("emptyDir", 1),
    VolumeKind { object: ApiObject::Resource { name: "persistentvolumeclaims", rank: 5 }, ..plain("ephemeral", 28) },
    later("image"),
    VolumeKind {
        object: ApiObject::Resource { name: "persistentvolumeclaims", rank: 4 },
        ..plain("persistentVolumeClaim", 9)
    },
    VolumeKind { object: ApiObject::OfSources, ..plain("projected", 24) },
    VolumeKind {
        secret: SecretReference::Name,
        object: ApiObject::Resource { name: "secrets", rank: 1 },
        ..plain("secret", 5)
    },
    plain("hostPath", 0),
    plain("gcePersistentDisk", 2),
    plain("awsElasticBlockStore", 3),
    plain("gitRepo", 4),
    plain("nfs", 6),
    VolumeKind { secret: SecretReference::Reference { rank: 5 }, in_claim_namespace: true, ..plain("iscsi", 7) },
    VolumeKind { object: ApiObject::Resource { name: "endpoints", rank: 3 }, ..plain("glusterfs", 8) },
    VolumeKind { secret: SecretReference::Reference { rank: 3 }, in_claim_namespace: true, ..plain("rbd", 10) },
    VolumeKind { secret: SecretReference::Reference { rank: 2 }, in_claim_namespace: true, ..plain("flexVolume", 11) },
    VolumeKind { secret: SecretReference::Reference { rank: 1 }, ..plain("cinder", 12) },
    VolumeKind {
        policy: Some(PolicyVolume { name: "cephFS", rank: 13 }),
        constraints: "cephFS",
        secret: SecretReference::Reference { rank: 0 },
        in_claim_namespace: true,
        ..plain("cephfs", 13)
    },
    plain("flocker", 14),
    plain("fc", 16),
    VolumeKind {
        secret: SecretReference::Name,
        object: ApiObject::Resource { name: "secrets", rank: 6 },
        ..plain("azureFile", 17)
    },
    VolumeKind { constraints: "vsphere", ..plain("vsphereVolume", 19) },
    plain("quobyte", 20),
    plain("azureDisk", 21),
    plain("photonPersistentDisk", 22),
    plain("portworxVolume", 25),
    VolumeKind { secret: SecretReference::Reference { rank: 4 }, in_claim_namespace: true, ..plain("scaleIO", 26) },
    VolumeKind { constraints: "storageOS", secret: SecretReference::Reference { rank: 6 }, ..plain("storageos", 23) },
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
        assert_eq!(find("cephfs").map(|kind| kind.constraints), Some("cephFS"));
        assert_eq!(find("cephFS"), None);
    }

    #[test]
    fn policies_check_29_kinds_in_order() {
        let mut ranks: Vec<u8> = KINDS.iter().filter_map(|kind| kind.policy.map(|policy| policy.rank)).collect();
        ranks.sort_unstable();
        assert!(ranks.into_iter().eq(0..29));
    }

    #[test]
    fn kinds_with_secrets_and_objects_have_places_in_order() {
        let secret = |kind: &VolumeKind| match kind.secret {
            SecretReference::Reference { rank } => Some((rank, kind.field)),
            _ => None,
        };
        let object = |kind: &VolumeKind| match kind.object {
            ApiObject::Resource { rank, .. } => Some((rank, kind.field)),
            _ => None,
        };
        let in_order = |place: &dyn Fn(&VolumeKind) -> Option<(u8, &'static str)>| {
            let mut found: Vec<(u8, &str)> = KINDS.iter().filter_map(place).collect();
            found.sort_unstable();
            assert!(found.iter().map(|(rank, _)| *rank).eq(0..7));
            found.into_iter().map(|(_, field)| field).collect::<Vec<_>>()
        };
        assert_eq!(in_order(&secret), ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"]);
        assert_eq!(
            in_order(&object),
            ["configMap", "secret", "csi", "glusterfs", "persistentVolumeClaim", "ephemeral", "azureFile"]
        );
    }

    #[test]
    fn mirror_pods_have_22_kinds() {
        assert_eq!(KINDS.iter().filter(|kind| kind.is_allowed_in_mirror_pods()).count(), 22);
    }
}
