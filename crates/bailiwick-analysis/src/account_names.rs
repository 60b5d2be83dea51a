//! The accounts of namespaces, for names that differ between accounts alone.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use bailiwick_policy::model::{Account, AccountValue, OutputFileKey, Target, TenantPart};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::internal;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// How many forms of the names of a class are named.
const MAXIMUM_FORMS: usize = 3;

/// The accounts of namespaces, for the common form of names of tenants.
#[derive(Default)]
pub struct AccountNames<'p> {
    /// The accounts, each with the digest of the name of its namespace.
    accounts: Vec<(u128, Account<'p>)>,
    /// The positions of the accounts, by the digests. A hash table with the accounts themselves takes twice the memory.
    positions: HashTable<u32>,
}

/// Returns the common forms of the names of subjects in scopes, with the columns in place of their values, such as
/// `Group/{team}`; none for subjects without a common form.
pub fn common_forms<'m>(
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
    pub fn of_target(workspace: &'p Workspace, target: &'p Target) -> Self {
        let (project, sample) = (&workspace.project(), workspace.sample());
        let mut names = Self::default();
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
                        names.set(namespace, account);
                    }
                }
            });
        }
        names
    }

    /// Sets the account of a namespace. Of several accounts with objects in a namespace, the last one stays.
    fn set(&mut self, namespace: u128, account: Account<'p>) {
        let Self { accounts, positions } = self;
        let digest = |position: &u32| accounts.get(*position as usize).map_or(0, |(known, _)| *known);
        match positions.entry(hash(namespace), |position| digest(position) == namespace, |other| hash(digest(other))) {
            Entry::Occupied(known) => {
                accounts.get_mut(*known.get() as usize).into_iter().for_each(|(_, known)| *known = account);
            }
            Entry::Vacant(place) => {
                place.insert(internal::number(accounts.len()));
                accounts.push((namespace, account));
            }
        }
    }

    /// Returns the account of a namespace.
    fn of_namespace(&self, namespace: &str) -> Option<&Account<'p>> {
        let digest = digest_of_run(namespace);
        let account = |position: &u32| self.accounts.get(*position as usize);
        let is_own = |position: &u32| account(position).is_some_and(|(known, _)| *known == digest);
        self.positions.find(hash(digest), is_own).and_then(account).map(|(_, account)| account)
    }

    /// Returns a text with the names of the columns in place of the values of the account of a namespace, or of the
    /// namespace of a service account.
    pub fn template(&self, text: &str, namespace: Option<&str>) -> String {
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

/// Returns the hash of a digest of this run, which is evenly distributed already.
#[expect(clippy::cast_possible_truncation, reason = "a part of the digest is its hash")]
fn hash(digest: u128) -> u64 {
    digest as u64
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bailiwick_workspace::Options;

    use super::*;

    const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: test}
spec:
  targets: [{name: t, version: \"1.36\"}]
";
    const TENANTS: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: tenants.csv}
  variables:
    name: {type: string, maxLength: 50}
    team: {type: string, maxLength: 50}
  class:
    namespace: {name: \"{name}\"}
    grants: [{name: view, clusterRole: view, to: {groups: [\"{team}\"]}}]
";

    #[test]
    fn columns_stand_in_place_of_the_values_of_the_last_account_of_a_namespace() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("policies")).expect("a folder");
        let rows: String = (0..400).map(|number| format!("shop-{number},team-{number}\n")).collect();
        let accounts = format!("name,team\n{rows}");
        for (path, text) in
            [("bailiwick.yaml", WORKSPACE), ("policies/tenants.yaml", TENANTS), ("policies/tenants.csv", &accounts)]
        {
            fs::write(folder.path().join(path), text).expect("a file");
        }
        let workspace = Workspace::open(&Options::in_folder(folder.path())).expect("a workspace");
        let targets = workspace.targets(&[]).expect("the targets");
        let target = targets.first().expect("a target");
        let mut names = AccountNames::of_target(&workspace, target);
        for number in 0..400 {
            let (group, namespace) = (format!("Group/team-{number}"), format!("shop-{number}"));
            assert_eq!(names.template(&group, Some(&namespace)), "Group/{team}");
        }
        assert_eq!(names.template("ServiceAccount/shop-7/agent", None), "ServiceAccount/{name}/agent");
        assert_eq!(names.template("Group/team-7", Some("shop-8")), "Group/team-7");
        assert_eq!(names.template("Group/team-7", Some("unknown")), "Group/team-7");
        let seventh = *names.of_namespace("shop-7").expect("an account");
        names.set(digest_of_run("shop-8"), seventh);
        assert_eq!(names.template("Group/team-7", Some("shop-8")), "Group/{team}");
        assert_eq!(names.accounts.len(), 400);
    }
}
