//! What a grant really opens: rules about risk, escalation, and grants that are not what they seem.
//!
//! ```text
//! condition   conditions as short texts            judge       findings of a world, alike ones folded
//! matching    is a condition met, and by what      holders     what users, groups and accounts hold
//! table       every rule, one file a family        objects     roles as they are applied, and bindings
//! paths       how somebody becomes more than they are       dead_parts  what in rules matches no request
//! edited      default objects that the server brings up
//! powers      what makes an account a trampoline            hygiene     objects to leave out or to write once
//! baseline_roles  roles of the baseline as one finding each
//! accounts    service accounts beside their workloads and users
//! tenants     tenants that reach further than their namespaces    scopes      how far a rule goes for a tenant
//! unlike      tenants with other bindings than most
//! ```
//!
//! A condition is asked of the union of what a principal holds in a scope, with the authorizer's own matching: what no
//! single role gives may come together from three. A principal is a subject of a binding, by itself: whether a user is
//! also in a group is not in the manifests. That a service account is in `system:serviceaccounts`, in that group of its
//! namespace and in `system:authenticated` is known, and left out all the same: findings do not tell what comes together
//! from a binding of the account and one of such a group. What the API server makes for itself is not judged, while it is
//! as the server makes it, but whoever is bound to it by a given binding is: one step less bad for what the server gives
//! to `admin`, `edit` and `view`, in a namespace of users, since these names say what they open.
//!
//! The catalogue is `facts/rbac/lint-rules.yaml`, with the design of `specs/rbac.md` section 3. Left to later, as RBAC
//! alone cannot tell: B009 (needs the accounts of a cluster), X (`access::compare` has the difference). T003 is C015 in the
//! namespace of a tenant. T001, T002 and T005 need the tenants of a workspace, which the caller names. E020 knows the named SCCs of OpenShift by heart and does not read the objects. D013 is
//! reported where aggregation is settled
//! ([`super::aggregate::Doubts::stated`]). D018, D019, E024 and B019 are not in the catalogue.

mod accounts;
mod baseline_roles;
mod condition;
mod dead_parts;
mod edited;
mod holders;
mod hygiene;
mod judge;
mod matching;
mod objects;
mod paths;
mod powers;
mod scopes;
mod table;
mod tenants;
mod unlike;

use std::fmt;

pub use judge::{Finding, Folded, Options};
pub use paths::Path;
pub use powers::PowersOf;
pub use table::{Reach, Rule, all, of_code, of_id};
pub use tenants::Tenants;

/// How much a finding opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
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

impl Severity {
    /// Every severity, worst first.
    pub const ALL: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Info => "info",
        }
    }

    /// The severity of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.word() == word)
    }

    /// One step less.
    pub(crate) fn step_down(self) -> Self {
        match self {
            Severity::Critical => Severity::High,
            Severity::High => Severity::Medium,
            Severity::Medium => Severity::Low,
            Severity::Low | Severity::Info => Severity::Info,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
