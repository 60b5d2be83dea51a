//! The tenants of a target, for the rules about them.

use std::collections::HashMap;

use bailiwick_access::risk::Tenants;
use bailiwick_compiler::compile::LinkedWorkspace;
use bailiwick_policy::model::{Target, TenantPart};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{FileId, Origin};

/// The kinds whose policies make the bindings of tenants: a Tenancy, and the profiles that its service accounts use.
const OWNERS: [&str; 2] = ["PodSecurityProfile", "Tenancy"];

/// The policies that make the bindings of tenants, by file.
pub(super) struct Places<'p> {
    project: &'p LinkedWorkspace,
    policies: HashMap<FileId, Vec<Origin>>,
}

impl<'p> Places<'p> {
    pub(super) fn of(project: &'p LinkedWorkspace) -> Self {
        let mut policies: HashMap<FileId, Vec<Origin>> = HashMap::new();
        let all = project.policies.iter().map(|policy| policy.meta());
        for meta in all.filter(|meta| OWNERS.contains(&meta.kind)) {
            policies.entry(meta.origin.file).or_default().push(meta.origin);
        }
        Self { project, policies }
    }

    /// Whether a place is in a policy that makes the bindings of tenants.
    pub(super) fn is_of_tenancy(&self, place: Origin) -> bool {
        let policies = self.policies.get(&place.file).into_iter().flatten();
        policies.into_iter().any(|policy| self.project.trees.share_document(*policy, place))
    }
}

/// Adds the tenants of a target to an empty list.
pub(super) fn of_target<'t>(workspace: &Workspace, target: &Target, mut tenants: Tenants<'t>) -> Tenants<'t> {
    let (project, sample) = (&workspace.project(), workspace.sample());
    for (class, policy) in project.policies_of(target).enumerate() {
        let Some(tenancy) = policy.as_tenancy() else { continue };
        tenancy.tenants(target, &mut |part| match part {
            TenantPart::Namespace { tenant, namespace } if sample.has(namespace) => {
                tenants.add(class, tenant, namespace);
            }
            TenantPart::Namespace { .. } => {}
            TenantPart::Alike { is_group, name } => tenants.add_alike(is_group, name),
        });
    }
    tenants
}
