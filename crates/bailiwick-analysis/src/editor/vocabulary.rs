//! The names that a field of a policy takes.

use bailiwick_policy::kinds;

use super::cursor::{Place, Slot, Step};

/// The names that a value can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// The kinds of policies, and the workspace.
    Kinds,
    /// The version of the policy format.
    ApiVersion,
    /// The names of policies of a kind.
    Policies(&'static str),
    /// The names of the targets.
    Targets,
    /// ClusterRoles of the cluster and of the output.
    ClusterRoles,
    /// Names that the field has elsewhere in the workspace.
    Learned(&'static [&'static str]),
    /// Resources and subresources of the targets.
    Resources,
    /// API groups of the targets.
    ApiGroups,
    /// Verbs of the resources of the rule.
    Verbs,
    /// Templates of the workspace.
    Templates,
}

/// The kind of permission sets.
pub(super) const PERMISSION_SET: &str = "PermissionSet";

/// The kind of profiles of pod security.
const POD_SECURITY_PROFILE: &str = "PodSecurityProfile";

impl Vocabulary {
    /// Returns the names that the value at a place takes; none for free text.
    pub(super) fn of(place: &Place) -> Option<Self> {
        if place.slot != Slot::Value {
            return None;
        }
        let is_top = matches!(place.path.as_slice(), [Step::Field(_)]);
        let is_workspace = place.kind == kinds::WORKSPACE;
        Some(match place.field() {
            "kind" if is_top => Self::Kinds,
            "apiVersion" if is_top => Self::ApiVersion,
            // The workspace has globs in fields of these names.
            "include" | "targets" if is_workspace => return None,
            "include" | "permissionSet" | "permissionSets" => Self::Policies(PERMISSION_SET),
            "profile" => Self::Policies(POD_SECURITY_PROFILE),
            "targets" => Self::Targets,
            "clusterRole" | "clusterRoles" => Self::ClusterRoles,
            "users" => Self::Learned(&["users"]),
            "groups" => Self::Learned(&["groups"]),
            "namespace" | "namespaces" => Self::Learned(&["namespaces"]),
            "resources" => Self::Resources,
            "apiGroups" => Self::ApiGroups,
            "verbs" => Self::Verbs,
            "template" => Self::Templates,
            _ => return None,
        })
    }
}
