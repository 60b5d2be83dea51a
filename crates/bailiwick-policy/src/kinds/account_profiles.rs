//! The profiles of single service accounts of a namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::names;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::StringMap;
use super::stance::account_grants_of;
use crate::model::{
    Enforcement, Linker, NamespaceProfile, ObjectBlueprint, PodSecurityProfile, ProfileAccounts, Shared,
};

/// The profile of some service accounts of a namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AccountProfileSpec {
    /// The names of the service accounts, without variables.
    #[schemars(length(min = 1))]
    pub names: Vec<Spanned<String>>,
    /// Their PodSecurityProfile, without account variables.
    pub profile: Spanned<String>,
}

/// The namespace whose service accounts have profiles.
#[derive(Clone, Copy)]
pub(crate) struct ProfiledNamespace<'n> {
    /// The location of its name.
    pub(crate) origin: Origin,
    /// The name of the profile of all other service accounts.
    pub(crate) profile: Option<&'n str>,
    /// The names of its targets.
    pub(crate) targets: &'n BTreeSet<String>,
}

/// A resolved profile of some service accounts of a namespace.
pub(crate) struct AccountProfile {
    profile: Arc<PodSecurityProfile>,
    names: Vec<String>,
    /// The location of the reference to it.
    asked: Origin,
    /// The location of the profile.
    content: Origin,
    /// Whether it is also the profile of the namespace, and all accounts may use it.
    is_of_namespace: bool,
}

impl AccountProfile {
    /// Resolves the profiles of single service accounts, and registers them for the namespace.
    pub(crate) fn link(
        written: &[AccountProfileSpec],
        namespace: ProfiledNamespace<'_>,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Vec<Self> {
        check_accounts(written, sink);
        if let Some(first) = written.first().filter(|_| namespace.profile.is_none()) {
            let message = "the other service accounts of the namespace have no profile";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(first.profile.origin);
            sink.push(diagnostic.help("add the profile of the namespace: `serviceAccounts` are exceptions from it"));
        }
        let mut linked: Vec<Self> = Vec::new();
        for one in written {
            let Some(found) = linker.offers.find::<PodSecurityProfile>(&one.profile, namespace.targets, sink) else {
                continue;
            };
            check_profile(&one.profile, found, sink);
            let profile = Arc::clone(&found.content);
            let names = one.names.iter().map(|name| name.value.clone());
            match linked.iter_mut().find(|known| known.profile.name() == profile.name()) {
                Some(known) => known.names.extend(names),
                None => linked.push(Self {
                    is_of_namespace: namespace.profile == Some(profile.name()),
                    profile,
                    names: names.collect(),
                    asked: one.profile.origin,
                    content: found.meta.origin,
                }),
            }
        }
        let targets = Arc::new(namespace.targets.clone());
        for known in &linked {
            linker.facts.push(NamespaceProfile {
                namespace: namespace.origin,
                profile: known.profile.name().to_owned(),
                targets: Arc::clone(&targets),
                accounts: ProfileAccounts::Listed,
            });
        }
        linked
    }

    /// Returns the profile.
    pub(crate) fn profile(&self) -> &PodSecurityProfile {
        &self.profile
    }

    /// Returns the permissions of the accounts to use the profile, by enforcement.
    pub(crate) fn grants(&self) -> Vec<(Enforcement, ObjectBlueprint)> {
        match self.is_of_namespace {
            true => Vec::new(),
            false => account_grants_of(self.profile.name(), &self.names, self.asked, self.content),
        }
    }

    /// Returns the labels of a namespace with the profiles.
    pub(crate) fn labels(all: &[Self]) -> StringMap {
        all.iter().map(|one| (PodSecurityProfile::accounts_key(one.profile.name()), String::new())).collect()
    }

    /// Returns the annotations of a namespace with the profiles.
    pub(crate) fn annotations(all: &[Self]) -> StringMap {
        let list = |names: &mut dyn Iterator<Item = &String>| {
            let names: BTreeSet<&str> = names.map(String::as_str).collect();
            PodSecurityProfile::account_list(names)
        };
        let others = list(&mut all.iter().flat_map(|one| &one.names));
        let own =
            all.iter().map(|one| (PodSecurityProfile::accounts_key(one.profile.name()), list(&mut one.names.iter())));
        let others = (!all.is_empty()).then(|| (PodSecurityProfile::OTHERS.to_owned(), others));
        own.chain(others).collect()
    }
}

/// Reports names that no service account can have, and a service account with two profiles. A variable could put the separator
/// of the annotation into a name.
fn check_accounts(written: &[AccountProfileSpec], sink: &mut Sink) {
    let mut known: BTreeMap<&str, Origin> = BTreeMap::new();
    for name in written.iter().flat_map(|one| &one.names) {
        if names::dns_subdomain(name).is_err() {
            let message = format!("`{}` is not the name of a service account", name.value);
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin);
            sink.push(diagnostic.help("use lower case letters, digits, `-` and `.`, without variables and globs"));
        }
        if let Some(first) = known.insert(name, name.origin) {
            let message = format!("the service account `{}` is listed twice", name.value);
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin);
            sink.push(diagnostic.and(first, "first listed here").help("keep one: a service account has one profile"));
        }
    }
}

/// Reports a profile that cannot be the profile of some service accounts.
fn check_profile(asked: &Spanned<String>, found: &Shared<PodSecurityProfile>, sink: &mut Sink) {
    let mut refuse = |message: String, help: &str| {
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(asked.origin);
        sink.push(diagnostic.and(found.meta.origin, "the profile").help(help));
    };
    if let Some(variable) = found.variables.first() {
        let message = format!("the profile `{}` uses the variable `{variable}`", asked.value);
        refuse(message, "use a profile without account variables for single service accounts");
    }
    let (bytes, most) = (asked.len(), PodSecurityProfile::MOST_BYTES);
    if bytes > most {
        let message = format!("the name of the profile has {bytes} bytes, and the key of a label has room for {most}");
        refuse(message, "use a shorter name: namespaces have a label with the name in its key");
    }
}
