//! T: tenants beyond their namespaces.

use super::{RiskRule, TenantCheck, When};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    RiskRule::new("T001", codes::TENANT_REACHES_TENANT, "C/C", When::Tenants(TenantCheck::ReachesTenant), "{what}")
        .help("remove the subject from the binding, or grant the access by the Tenancy of the other tenant"),
    RiskRule::new("T002", codes::TENANT_REACHES_CLUSTER, "C/C", When::Tenants(TenantCheck::ReachesCluster), "{what}")
        .help("bind the role by RoleBindings in the namespaces of the tenant"),
    RiskRule::new("T005", codes::TENANT_UNLIKE_OTHERS, "M/M", When::Tenants(TenantCheck::UnlikeOthers), "{what}")
        .help("grant the access to all tenants by their Tenancy, or accept the difference"),
];
