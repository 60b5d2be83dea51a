//! The accounts of namespaces, for names that differ between accounts alone.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::workspace::Workspace;
use crate::digest::digest_of_run;
use crate::model::{Account, AccountValue, OutputFileKey, Target, TenantPart};

/// How many forms of the names of a class are named.
const MAXIMUM_FORMS: usize = 3;

/// The accounts of namespaces, for the common form of names of tenants.
#[derive(Default)]
pub(crate) struct AccountNames<'p> {
    /// The accounts by the digest of the name of their namespace, in the order of the digests. A hash table takes twice the memory.
    by_namespace: Vec<(u128, Account<'p>)>,
}

/// Returns the common forms of the names of subjects in scopes, with the columns in place of their values, such as
/// `Group/{team}`; none for subjects without a common form.
pub(crate) fn common_forms<'m>(
    accounts: &[AccountNames<'_>],
    subjects: impl IntoIterator<Item = (&'m str, Option<&'m str>)>,
) -> Option<String> {
    let mut forms = BTreeSet::new();
    for (subject, namespace) in subjects {
        let mut found = accounts.iter().map(|names| names.template(subject, namespace));
        let form = found.find(|form| *form != subject)?;
        if !forms.contains(&form) {
            forms.insert(form);
        }
        if forms.len() > MAXIMUM_FORMS {
            return None;
        }
    }
    (!forms.is_empty()).then(|| Vec::from_iter(forms).join(", "))
}

impl<'p> AccountNames<'p> {
    /// Returns the accounts with a namespace on a target.
    pub(crate) fn of_target(workspace: &'p Workspace, target: &'p Target) -> Self {
        let (project, sample) = (&workspace.project, workspace.sample());
        let mut by_namespace = Vec::new();
        for policy in project.policies_of(target) {
            let Some(tenancy) = policy.as_tenancy() else { continue };
            // An account can have objects in the namespaces of others, too.
            let mut own: HashSet<u128> = HashSet::new();
            tenancy.tenants(target, &mut |part| {
                if let TenantPart::Namespace { namespace, .. } = part
                    && sample.has(namespace)
                {
                    own.insert(digest_of_run(namespace));
                }
            });
            policy.contributions(target, &mut |file, part| {
                if let (OutputFileKey::Namespace(namespace), Some(account)) = (file, tenancy.account(part)) {
                    let namespace = digest_of_run(&*namespace);
                    if own.contains(&namespace) {
                        by_namespace.push((namespace, account));
                    }
                }
            });
        }
        by_namespace.sort_by_key(|(namespace, _)| *namespace);
        // Of several accounts with objects in a namespace, the last one stays.
        by_namespace.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        Self { by_namespace }
    }

    /// Returns the account of a namespace.
    fn of_namespace(&self, namespace: &str) -> Option<&Account<'p>> {
        let digest = digest_of_run(namespace);
        let position = self.by_namespace.binary_search_by_key(&digest, |(known, _)| *known).ok()?;
        self.by_namespace.get(position).map(|(_, account)| account)
    }

    /// Returns a text with the names of the columns in place of the values of the account of a namespace, or of the
    /// namespace of a service account.
    pub(crate) fn template(&self, text: &str, namespace: Option<&str>) -> String {
        let of_subject = text.strip_prefix("ServiceAccount/").and_then(|rest| rest.split('/').next());
        let Some(account) = namespace.or(of_subject).and_then(|namespace| self.of_namespace(namespace)) else {
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
