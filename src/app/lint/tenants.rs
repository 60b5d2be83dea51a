//! The tenants of a target, for the rules about them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::access::risk::Tenants;
use crate::compile::LinkedWorkspace;
use crate::diag::{FileId, Origin};
use crate::model::{Account, AccountValue, OutputFileKey, Target, TenantPart};

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
pub(super) fn of_target<'t>(project: &LinkedWorkspace, target: &Target, mut tenants: Tenants<'t>) -> Tenants<'t> {
    for (class, policy) in project.policies_of(target).enumerate() {
        let Some(tenancy) = policy.as_tenancy() else { continue };
        tenancy.tenants(target, &mut |part| match part {
            TenantPart::Namespace { tenant, namespace } => tenants.add(class, tenant, namespace),
            TenantPart::Alike { is_group, name } => tenants.add_alike(is_group, name),
        });
    }
    tenants
}

/// The accounts of namespaces, for the common form of names of tenants.
#[derive(Default)]
pub(super) struct AccountNames<'p> {
    by_namespace: HashMap<Arc<str>, Account<'p>>,
}

impl<'p> AccountNames<'p> {
    /// Returns the accounts with a namespace on a target.
    pub(super) fn of_target(project: &'p LinkedWorkspace, target: &'p Target) -> Self {
        let mut by_namespace = HashMap::new();
        for policy in project.policies_of(target) {
            let Some(tenancy) = policy.as_tenancy() else { continue };
            policy.contributions(target, &mut |file, part| {
                if let (OutputFileKey::Namespace(namespace), Some(account)) = (file, tenancy.account(part)) {
                    by_namespace.insert(namespace, account);
                }
            });
        }
        Self { by_namespace }
    }

    /// Returns a text with the names of the columns in place of the values of the account of a namespace, or of the
    /// namespace of a service account.
    pub(super) fn template(&self, text: &str, namespace: Option<&str>) -> String {
        let of_subject = text.strip_prefix("ServiceAccount/").and_then(|rest| rest.split('/').next());
        let Some(account) = namespace.or(of_subject).and_then(|namespace| self.by_namespace.get(namespace)) else {
            return text.to_owned();
        };
        let columns = account.columns().iter().zip(account.values()).filter_map(|(column, value)| match value {
            AccountValue::Text(value) if !value.is_empty() => Some((value, column)),
            _ => None,
        });
        let mut columns: Vec<(&str, &Arc<str>)> = columns.collect();
        // A value may be a part of another one.
        columns.sort_by_key(|(value, column)| (Reverse(value.len()), Arc::clone(column)));
        let mut template = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let is_begin = !template.ends_with(char::is_alphanumeric);
            let found = columns.iter().filter(|_| is_begin).find_map(|(value, column)| {
                let behind = rest.strip_prefix(value).filter(|behind| !behind.starts_with(char::is_alphanumeric))?;
                Some((column, behind))
            });
            if let Some((column, behind)) = found {
                template.extend(["{", column, "}"]);
                rest = behind;
                continue;
            }
            let mut letters = rest.chars();
            template.extend(letters.next());
            rest = letters.as_str();
        }
        template
    }
}
