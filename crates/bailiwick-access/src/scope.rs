//! Resources outside of namespaces, and the requests for them that are still checked inside a namespace.

use super::world::World;
use bailiwick_kubernetes::rbac::GROUP;

/// Names of rules without a served resource, with their groups. None belongs to a namespace.
pub(crate) const VIRTUAL: &[(&str, &str)] = &[
    ("", "users"),
    ("", "groups"),
    ("authentication.k8s.io", "users"),
    ("authentication.k8s.io", "groups"),
    ("authentication.k8s.io", "nodes"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras"),
    ("certificates.k8s.io", "signers"),
];

/// Resources of no namespace without a definition among the inputs; `?` means all of a group.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("policy", "podsecuritypolicies"),
    ("extensions", "podsecuritypolicies"),
    ("security.openshift.io", "securitycontextconstraints"),
    ("stacks.crossplane.io", "clusterstackinstalls"),
    ("pkg.crossplane.io", "configurations"),
    ("pkg.crossplane.io", "functions"),
    ("pkg.crossplane.io", "providers"),
    ("olm.operatorframework.io", "clusterextensions"),
    ("kyverno.io", "clusterpolicies"),
    ("templates.gatekeeper.sh", "?"),
    ("constraints.gatekeeper.sh", "?"),
    ("cilium.io", "ciliumclusterwidenetworkpolicies"),
    ("crd.projectcalico.org", "globalnetworkpolicies"),
    ("projectcalico.org", "globalnetworkpolicies"),
    ("policy.networking.k8s.io", "adminnetworkpolicies"),
    ("policy.networking.k8s.io", "baselineadminnetworkpolicies"),
    ("gateway.networking.k8s.io", "gatewayclasses"),
    ("k3s.cattle.io", "etcdsnapshotfiles"),
];

impl World {
    /// Whether a resource belongs to no namespace; false for an unknown one.
    pub fn is_cluster_scoped(&self, group: &str, resource: &str) -> bool {
        match self.api().find(group, resource) {
            Some(entry) => !entry.namespaced,
            None => VIRTUAL
                .iter()
                .chain(CLUSTER_SCOPED)
                .any(|(known, name)| *known == group && (*name == resource || *name == "?")),
        }
    }
}

/// Whether a request for a resource outside of namespaces is checked in one. A request for one Namespace is checked in
/// that namespace, and so are `use` of pod security policies and security context constraints, and `bind` of
/// ClusterRoles. `update` of the finalizers of an owner is checked in the namespace of the dependent
/// (`plugin/pkg/admission/gc/gc_admission.go` of 1.36.3).
pub fn is_checked_in_namespaces(group: &str, resource: &str, subresource: &str, verb: &str) -> bool {
    if verb == "*" {
        return ["bind", "get", "update", "use"]
            .iter()
            .any(|verb| is_checked_in_namespaces(group, resource, subresource, verb));
    }
    match (group, resource) {
        _ if subresource == "finalizers" => verb == "update",
        ("", "namespaces") => {
            matches!(verb, "get" | "update" | "patch" | "delete") && matches!(subresource, "" | "status" | "finalize")
        }
        ("policy" | "extensions", "podsecuritypolicies") | ("security.openshift.io", "securitycontextconstraints") => {
            verb == "use"
        }
        (GROUP, "clusterroles") => verb == "bind",
        _ => false,
    }
}
