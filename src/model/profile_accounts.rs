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

    /// Returns the profiles that apply to a service account of a namespace with these labels and annotations, by the policies of profiles
    /// by account. The empty name stands for an account that no list has.
    pub fn of_account<'n>(
        account: &str,
        labels: &'n BTreeMap<String, String>,
        annotations: &'n BTreeMap<String, String>,
    ) -> BTreeSet<&'n str> {
        let others = annotations.get(Self::OTHERS).map_or("", |list| list);
        let is_excepted = split_list(others).any(|name| name == account);
        let own = labels.get(Self::LABEL).filter(|_| !is_excepted).map(String::as_str);
        let listed = Self::of_accounts(annotations).filter(|(profile, accounts)| {
            // A binding selects a namespace by either label.
            let is_bound = labels.contains_key(&Self::accounts_key(profile))
                || labels.get(Self::LABEL).is_some_and(|own| own == profile);
            is_bound && accounts.contains(&account)
        });
        listed.map(|(profile, _)| profile).chain(own).collect()
    }

    /// Returns the service accounts that the annotations of a namespace name.
    pub fn named_accounts(annotations: &BTreeMap<String, String>) -> BTreeSet<&str> {
        let others = annotations.get(Self::OTHERS).map_or("", |list| list);
        Self::of_accounts(annotations).flat_map(|(_, accounts)| accounts).chain(split_list(others)).collect()
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
