//! The annotations of an object that decide how Argo CD and Flux apply and remove it, and the limits of Argo CD.
//!
//! Sources: `util/resource` and `pkg/sync/common/types.go` of Argo CD's gitops-engine (3.2), and
//! `api/v1/kustomization_types.go` of kustomize-controller (1.9).

use bailiwick_yaml::NodeRef;

/// The annotation of Argo CD with the options for an object, such as `Prune=false`, separated by commas.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The annotation of Flux that keeps an object: `disabled`.
pub const FLUX_PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";

/// The annotation of Flux that creates an object anew if a field cannot be changed: `enabled`.
pub const FLUX_FORCE: &str = "kustomize.toolkit.fluxcd.io/force";

/// The annotation of Flux that leaves the texts of an object as they are: `disabled`.
pub const FLUX_SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// The most bytes of all files of an application of Argo CD, by default: `reposerver.max.combined.directory.manifests.size`,
/// 10M (`cmd/argocd-repo-server/commands/argocd_repo_server.go`, 3.5).
pub const ARGOCD_BYTES: usize = 10_000_000;

/// The most bytes of an object as JSON. etcd refuses a request above 1.5 MiB (`--max-request-bytes`, etcd 3.6), and the
/// server adds managed fields.
pub const OBJECT_BYTES: usize = 1 << 20;

/// Kinds that Argo CD leaves out by default, with their groups: `resource.exclusions` in
/// `manifests/base/config/argocd-cm.yaml`, and `coreExcludedResources` (3.5).
const EXCLUDED_KINDS: [(&[&str], &[&str]); 7] = [
    (&["", "discovery.k8s.io"], &["Endpoints", "EndpointSlice", "Event"]),
    (&["coordination.k8s.io"], &["Lease"]),
    (
        &["authentication.k8s.io", "authorization.k8s.io"],
        &[
            "SelfSubjectReview",
            "TokenReview",
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    (&["certificates.k8s.io"], &["CertificateSigningRequest"]),
    (&["cert-manager.io"], &["CertificateRequest"]),
    (&["cilium.io"], &["CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"]),
    (
        &["kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"],
        &[
            "PolicyReport",
            "ClusterPolicyReport",
            "EphemeralReport",
            "ClusterEphemeralReport",
            "AdmissionReport",
            "ClusterAdmissionReport",
            "BackgroundScanReport",
            "ClusterBackgroundScanReport",
            "UpdateRequest",
        ],
    ),
];

/// Argo CD leaves out every kind of these groups: `coreExcludedResources` in `util/settings/resources_filter.go` (3.5).
pub const EXCLUDED_GROUPS: [&str; 2] = ["events.k8s.io", "metrics.k8s.io"];

/// Whether Argo CD leaves out objects of a kind in some group, besides [groups left out whole](EXCLUDED_GROUPS).
pub fn has_excluded_kind(kind: &str) -> bool {
    EXCLUDED_KINDS.iter().any(|(_, kinds)| kinds.contains(&kind))
}

/// Whether Argo CD leaves objects of a kind out by default: it neither applies nor prunes them.
pub fn is_excluded_by_argocd(group: &str, kind: &str) -> bool {
    let excludes = |(groups, kinds): &(&[&str], &[&str])| groups.contains(&group) && kinds.contains(&kind);
    EXCLUDED_GROUPS.contains(&group) || EXCLUDED_KINDS.iter().any(excludes)
}

/// The appliers that leave an object in the cluster when it goes from their source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keepers {
    /// Whether Argo CD keeps the object, or waits for the approval of a person.
    pub argocd: bool,
    /// Whether Flux keeps the object.
    pub flux: bool,
}

impl Keepers {
    /// Reads the annotations of an object.
    pub fn of_object(object: NodeRef<'_>) -> Self {
        let annotation = |key: &str| object.path(&["metadata", "annotations", key]).and_then(NodeRef::as_str);
        let options = annotation(SYNC_OPTIONS).into_iter().flat_map(|options| options.split(','));
        Self {
            argocd: options.map(str::trim).any(|option| matches!(option, "Prune=false" | "Prune=confirm")),
            flux: annotation(FLUX_PRUNE) == Some("disabled"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn keepers(annotations: &str) -> Keepers {
        let text = format!("kind: Namespace\nmetadata: {{annotations: {annotations}}}\n");
        let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
        Keepers::of_object(tree.document(0).expect("an object"))
    }

    #[test]
    fn each_applier_reads_its_own_annotation() {
        for (annotations, argocd, flux) in [
            ("{}", false, false),
            ("{argocd.argoproj.io/sync-options: 'Delete=false,Prune=false'}", true, false),
            ("{argocd.argoproj.io/sync-options: 'Replace=true, Prune=confirm'}", true, false),
            ("{argocd.argoproj.io/sync-options: 'Delete=false,PruneLast=true'}", false, false),
            ("{kustomize.toolkit.fluxcd.io/prune: disabled}", false, true),
            ("{kustomize.toolkit.fluxcd.io/prune: enabled}", false, false),
        ] {
            assert_eq!(keepers(annotations), Keepers { argocd, flux }, "{annotations}");
        }
    }
}
