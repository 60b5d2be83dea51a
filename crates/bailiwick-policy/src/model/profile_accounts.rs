//! Profiles by service account: the labels and annotations of a namespace whose service accounts have several profiles.

use std::collections::{BTreeMap, BTreeSet};

use super::PodSecurityProfile;

/// The service accounts of a namespace that a profile applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileAccounts {
    /// All of them.
    All,
    /// The accounts without a profile of their own.
    Others,
    /// The accounts that the namespace lists for the profile.
    Listed,
}

impl PodSecurityProfile {
    /// The annotation of a namespace with the service accounts that its own profile does not apply to.
    pub const OTHERS: &'static str = "bailiwick.dev/pod-security-profile-others";

    /// The most bytes in the name of a profile of some service accounts: the name is in the key of a label, and its part of a key has
    /// 63 bytes at most.
    pub const MOST_BYTES: usize = 42;

    /// Returns the key of the label and of the annotation of a namespace for a profile of some of its service accounts. The value of the
    /// annotation is the list of these accounts.
    pub fn accounts_key(profile: &str) -> String {
        format!("{}.{profile}", Self::LABEL)
    }

    /// Returns the name of the bindings of a profile for namespaces with a list of service accounts.
    pub fn accounts_binding(profile: &str) -> String {
        format!("{}-accounts", Self::admission_policy(profile))
    }

    /// Returns service accounts as the value of an annotation: `,a,b,`, so that an expression finds a whole name.
    pub fn account_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
        names.into_iter().fold(",".to_owned(), |list, name| list + name + ",")
    }

    /// Returns the profiles that apply to each service account that the annotations of a namespace name, by the policies of profiles by
    /// account. The empty name stands for all other accounts.
    pub fn by_account<'n>(
        labels: &'n BTreeMap<String, String>,
        annotations: &'n BTreeMap<String, String>,
    ) -> BTreeMap<&'n str, BTreeSet<&'n str>> {
        let own = labels.get(Self::LABEL).map(String::as_str);
        let mut found = BTreeMap::from([("", own.into_iter().collect())]);
        let others = annotations.get(Self::OTHERS).map_or("", |list| list);
        split_list(others).for_each(|account| _ = found.insert(account, BTreeSet::new()));
        for (profile, accounts) in Self::of_accounts(annotations) {
            // A binding selects a namespace by either label.
            if own == Some(profile) || labels.contains_key(&Self::accounts_key(profile)) {
                for account in accounts {
                    found.entry(account).or_insert_with(|| own.into_iter().collect()).insert(profile);
                }
            }
        }
        found
    }

    /// Iterates over the profiles of single service accounts in the annotations of a namespace, each with the accounts.
    pub fn of_accounts(annotations: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, Vec<&str>)> {
        annotations.iter().filter_map(|(key, list)| {
            let profile = key.strip_prefix(Self::LABEL)?.strip_prefix('.')?;
            Some((profile, split_list(list).collect()))
        })
    }
}

/// Iterates over the names in the value of an annotation.
fn split_list(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|name| !name.is_empty())
}
