//! The controllers of Kubernetes and OpenShift that write guarded objects.

use crate::model::{Platform, PlatformWriter};

/// A user name, its operations, and the kinds of its objects; no kind stands for every guarded kind.
type Writes = (&'static str, &'static [&'static str], &'static [&'static str]);

const RBAC: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// The writers of Kubernetes 1.30 to 1.37.
///
/// - `system:apiserver` reconciles the default roles at each start, `pkg/registry/rbac/rest/storage_rbac.go`.
/// - `system:kube-controller-manager` is every controller, without `--use-service-account-credentials`. With that flag,
///   each controller has an account in `kube-system`.
/// - `pkg/controller/clusterroleaggregation` applies ClusterRoles.
/// - `pkg/controller/garbagecollector` deletes and patches objects with owners.
/// - `pkg/controller/namespace/deletion` deletes the objects of a namespace.
/// - `pkg/controller/storageversionmigrator` patches each object of a resource.
const KUBERNETES: [Writes; 6] = [
    ("system:apiserver", &["CREATE", "UPDATE", "DELETE"], RBAC),
    ("system:kube-controller-manager", &["UPDATE", "DELETE"], RBAC),
    ("system:serviceaccount:kube-system:clusterrole-aggregation-controller", &["UPDATE"], &["ClusterRole"]),
    ("system:serviceaccount:kube-system:generic-garbage-collector", &["UPDATE", "DELETE"], &[]),
    ("system:serviceaccount:kube-system:namespace-controller", &["DELETE"], &["Role", "RoleBinding"]),
    ("system:serviceaccount:kube-system:storage-version-migrator-controller", &["UPDATE"], &[]),
];

/// The writers of Pod Security labels of OpenShift. The operators that write RBAC are not known here.
///
/// Source: the controllers of `pkg/psalabelsyncer` with their accounts in `pkg/cmd/controller` of
/// `openshift/cluster-policy-controller`.
const OPENSHIFT: [Writes; 2] = [
    (
        "system:serviceaccount:openshift-infra:podsecurity-admission-label-syncer-controller",
        &["UPDATE"],
        &["Namespace"],
    ),
    ("system:serviceaccount:openshift-infra:privileged-namespaces-psa-label-syncer", &["UPDATE"], &["Namespace"]),
];

/// Returns the controllers of a platform.
pub(super) fn writers(platform: Platform) -> impl Iterator<Item = PlatformWriter> {
    let of_openshift = OPENSHIFT.into_iter().filter(move |_| platform == Platform::Openshift);
    let writer = |(user, operations, kinds): Writes| PlatformWriter { user: user.to_owned(), operations, kinds };
    KUBERNETES.into_iter().chain(of_openshift).map(writer)
}
