//! Risk rules: dangerous grants, escalation, and grants with another effect than their text suggests.
//!
//! ```text
//! condition   conditions as short texts            judge       findings of a world, alike ones folded
//! matching    conditions met, and by which rules   holders     permissions of users, groups and accounts
//! table       every rule, one file a family        objects     roles with their bindings, and bindings
//! paths       escalation paths                     dead_parts  parts of rules without a matching request
//! gained      permissions without the others of a subject
//! edited      default objects the server updates   powers      permissions that lead to other identities
//! hygiene     objects to remove or to write once   baseline_roles  roles of the baseline as one finding each
//! accounts    service accounts with their users    tenants     tenants beyond their namespaces
//! scopes      the scope of a rule for a tenant     unlike      tenants with other bindings than most
//! edges       steps of the graph of permissions     reached  powers of the whole cluster behind a permission
//! causes      findings of the same rules as one
//! ```
//!
//! A condition is checked against the union of the permissions of a principal in a scope, with the authorizer's own
//! matching: three roles may meet a condition together. A principal is a subject of a binding, by itself: the groups
//! of a user are not in the manifests. The groups of a service account (`system:serviceaccounts`, the group of its
//! namespace and `system:authenticated`) are left out as well: a binding of the account and a binding of such a group
//! are never combined. Unchanged objects of the API server are not judged, but subjects of given bindings to them
//! are: one step lower for the rules of `admin`, `edit` and `view` in a namespace of users, since these names
//! describe their permissions.
//!
//! RBAC alone cannot decide two kinds of risks, and they are left out: unused accounts of a cluster (B009), and
//! changes (`access::compare` reports them). T003 is C015 in the namespace of a tenant. T001, T002 and T005 need the
//! tenants of a workspace, given by the caller. E020 has a list of the SCCs of OpenShift and does not read the
//! objects. D013 is reported by the aggregation ([`super::aggregate::Doubts::stated`]).

mod accounts;
mod baseline_roles;
mod causes;
mod condition;
mod dead_parts;
mod edges;
mod edited;
mod gained;
mod holders;
mod hygiene;
mod judge;
mod matching;
mod objects;
mod paths;
mod powers;
mod reached;
mod scopes;
mod table;
mod tenants;
mod unlike;

use std::fmt;

pub use edges::{BoundSubject, MetEdge, PermissionEdges, ScopeRules, identity_of_subject, subject_of_user};
pub use judge::{Finding, FindingDecision, FindingDecisions, Folded, RiskContext, RiskOptions};
pub use paths::Path;
pub use powers::DangerousPermissions;
pub use reached::{ReachedPower, ReachedPowers};
pub use table::{EdgeKind, EdgeTarget, PermissionReach, RiskEdge, RiskRule, all, of_code, of_id};
pub use tenants::Tenants;
pub use unlike::without_names;

/// How much a finding opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskSeverity {
    /// Nothing; it is good to know.
    Info,
    /// Little.
    Low,
    /// Something, together with other things.
    Medium,
    /// A namespace, a node, or a part of the control plane.
    High,
    /// The cluster.
    Critical,
}

impl RiskSeverity {
    /// Every severity, worst first.
    pub const ALL: [RiskSeverity; 5] =
        [RiskSeverity::Critical, RiskSeverity::High, RiskSeverity::Medium, RiskSeverity::Low, RiskSeverity::Info];

    /// Returns the name of the severity.
    pub fn word(self) -> &'static str {
        match self {
            RiskSeverity::Critical => "critical",
            RiskSeverity::High => "high",
            RiskSeverity::Medium => "medium",
            RiskSeverity::Low => "low",
            RiskSeverity::Info => "info",
        }
    }

    /// Returns the severity of a name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.word() == word)
    }

    /// Returns the next lower severity.
    #[must_use]
    pub fn step_down(self) -> Self {
        match self {
            RiskSeverity::Critical => RiskSeverity::High,
            RiskSeverity::High => RiskSeverity::Medium,
            RiskSeverity::Medium => RiskSeverity::Low,
            RiskSeverity::Low | RiskSeverity::Info => RiskSeverity::Info,
        }
    }
}

impl fmt::Display for RiskSeverity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
