//! The fact of a Guard about the compiled workspace.

use std::collections::BTreeSet;

use bailiwick_kubernetes::rbac;
use bailiwick_yaml::diag::Origin;

use super::facts::facts_with_targets;

/// A Guard on a target, with the identities that write guarded objects.
#[derive(Debug, Clone)]
pub struct GuardedTarget {
    /// The user of `appliedBy`.
    pub applier: String,
    /// The controllers of the platform.
    pub platform: Vec<PlatformWriter>,
    /// The users that may write, the applier and the controllers among them.
    pub users: BTreeSet<String>,
    /// The groups that may write, the break-glass groups among them.
    pub groups: BTreeSet<String>,
    /// Whether other writes are refused.
    pub denies: bool,
    /// The names of the guarded parts.
    pub parts: BTreeSet<&'static str>,
    /// The location of the Guard.
    pub origin: Origin,
    /// The name of the target, alone.
    pub targets: BTreeSet<String>,
}

/// A controller of the platform that writes guarded objects.
#[derive(Debug, Clone)]
pub struct PlatformWriter {
    /// Its user name.
    pub user: String,
    /// Its operations in admission, such as `UPDATE`.
    pub operations: &'static [&'static str],
    /// The kinds of the objects; empty for every guarded kind.
    pub kinds: &'static [&'static str],
}

/// A guarded kind of objects.
#[derive(Debug, Clone, Copy)]
pub struct GuardedKind {
    /// As in `kind`.
    pub kind: &'static str,
    /// The API group; empty for the core group.
    pub api_group: &'static str,
    /// The name in URLs, such as `clusterroles`.
    pub resource: &'static str,
}

impl GuardedKind {
    /// Every guarded kind. Of a Namespace, the labels of Pod Security are guarded.
    pub const ALL: [Self; 7] = [
        Self::new("Namespace", "", "namespaces"),
        Self::new("MutatingWebhookConfiguration", ADMISSION, "mutatingwebhookconfigurations"),
        Self::new("ValidatingWebhookConfiguration", ADMISSION, "validatingwebhookconfigurations"),
        Self::new("ClusterRoleBinding", rbac::GROUP, "clusterrolebindings"),
        Self::new("ClusterRole", rbac::GROUP, "clusterroles"),
        Self::new("RoleBinding", rbac::GROUP, "rolebindings"),
        Self::new("Role", rbac::GROUP, "roles"),
    ];

    const fn new(kind: &'static str, api_group: &'static str, resource: &'static str) -> Self {
        Self { kind, api_group, resource }
    }
}

/// The API group of admission policies and webhook configurations.
const ADMISSION: &str = "admissionregistration.k8s.io";

impl GuardedTarget {
    /// The name of the admission policy and of its binding. A target has one Guard at most, since two of them admit only
    /// the writers of both.
    pub const OBJECT: &str = "bailiwick-guard";
}

facts_with_targets! {
    GuardedTarget: targets;
}
