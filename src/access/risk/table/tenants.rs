//! T: tenants that are not kept to their namespaces.

use super::{Rule, TenantCheck, When};
use crate::diag::Code;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "T001",
        Code::TenantReachesTenant,
        "C/C",
        When::Tenants(TenantCheck::ReachesTenant),
        "{what}",
        "remove the subject from the binding, or grant the access by the Tenancy of the other tenant",
    ),
    Rule::new(
        "T002",
        Code::TenantReachesCluster,
        "C/C",
        When::Tenants(TenantCheck::ReachesCluster),
        "{what}",
        "bind the role by RoleBindings in the namespaces of the tenant",
    ),
    Rule::new(
        "T005",
        Code::TenantUnlikeOthers,
        "M/M",
        When::Tenants(TenantCheck::UnlikeOthers),
        "{what}",
        "grant the access to all tenants by their Tenancy, or accept the difference",
    ),
];
