//! Names of a class with a variable that may be missing or empty.

use std::collections::BTreeSet;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::Class;
use super::class::namespaces_of;
use crate::kinds::shared::{LimitRangeSpec, QuotaSpec, ServiceAccountSpec, left_out, warn_of_empty};
use crate::model::{AccountValue, Accounts, Linker, Pattern, PermissionSet, Shared, Target, Variables};
use crate::source::cell_place;

/// A class with its targets and its accounts.
pub(super) struct ClassUse<'c> {
    pub(super) class: &'c Class,
    pub(super) targets: &'c [Target],
    pub(super) variables: &'c Variables,
    pub(super) accounts: &'c Accounts,
}

/// Warns of every name of a class with an optional value.
pub(super) fn check(used: &ClassUse<'_>, linker: &Linker<'_>, sink: &mut Sink) {
    let ClassUse { class, targets, variables, accounts } = *used;
    refuse_optional(required_names(class), sink);
    let in_rules = names_in_rules(used, linker);
    let names: Vec<&Spanned<String>> = names(class).chain(&in_rules).collect();
    warn_of_empty(names.iter().copied(), targets, Some(variables), sink);
    let used: BTreeSet<String> = names
        .iter()
        .flat_map(|name| Pattern::parse_checked(name).account_variables().collect::<Vec<_>>())
        .filter(|name| variables.get(name).is_some_and(|variable| !variable.optional))
        .collect();
    for name in used {
        let is_empty = |account: &_| AccountValue::Text("") == value(account, &name);
        let mut empty = accounts.iter().filter(is_empty);
        let Some(first) = empty.next() else { continue };
        let more = empty.count();
        let message = format!("the `{name}` of this account is empty, and names have a gap");
        let place = cell_place(linker.files(), first.origin(), &name).unwrap_or(first.origin());
        let note = (more > 0).then(|| format!("accounts with an empty `{name}`: {}", more + 1));
        let warning = Diagnostic::warning(codes::OPTIONAL_MAY_BE_EMPTY, message).at(place);
        sink.push(note.into_iter().fold(warning, Diagnostic::note).help("add a value for the account"));
    }
}

fn value<'a>(account: &crate::model::Account<'a>, name: &str) -> AccountValue<'a> {
    account.get(name).unwrap_or(AccountValue::Null)
}

/// Reports required names with `?`.
fn refuse_optional<'n>(names: impl Iterator<Item = &'n Spanned<String>>, sink: &mut Sink) {
    for name in names {
        let pattern = Pattern::parse_checked(name);
        let Some(variable) = pattern.deciding_variables().next() else { continue };
        let help = format!("write `{{{variable}}}`, or give the item a condition: `when: {variable} != null`");
        sink.push(left_out(name, variable, help));
    }
}

/// Returns the names of objects and subjects.
fn names(class: &Class) -> impl Iterator<Item = &Spanned<String>> {
    let in_lists =
        class.grants.iter().flat_map(|grant| grant.namespaces.iter().chain(&grant.to.users).chain(&grant.to.groups));
    required_names(class).chain(in_lists)
}

/// Returns the names without which an object cannot be made.
fn required_names(class: &Class) -> impl Iterator<Item = &Spanned<String>> {
    let roles = class.roles.iter().map(|role| &role.name);
    let grants = class
        .grants
        .iter()
        .flat_map(|grant| std::iter::once(&grant.name).chain(&grant.role).chain(&grant.cluster_role));
    let namespaces = namespaces_of(class).map(|namespace| &namespace.name);
    let objects = class.objects.iter().chain(namespaces_of(class).flat_map(|own| &own.objects));
    let of_namespaces = namespaces_of(class)
        .flat_map(|own| names_of_bodies(&own.service_accounts, &own.resource_quotas, &own.limit_ranges));
    namespaces
        .chain(of_namespaces)
        .chain(names_of_bodies(&class.service_accounts, &class.resource_quotas, &class.limit_ranges))
        .chain(class.pod_security.iter().map(|profile| &profile.name))
        .chain(roles)
        .chain(grants)
        .chain(objects.flat_map(|object| object.name.iter().chain(&object.namespace)))
        .chain(class.grants.iter().flat_map(|grant| grant.to.account_names()))
}

fn names_of_bodies<'c>(
    accounts: &'c [ServiceAccountSpec],
    quotas: &'c [Spanned<QuotaSpec>],
    limits: &'c [Spanned<LimitRangeSpec>],
) -> impl Iterator<Item = &'c Spanned<String>> {
    let accounts = accounts.iter().map(|account| &account.name);
    accounts.chain(quotas.iter().map(|quota| &quota.name)).chain(limits.iter().map(|limits| &limits.name))
}

/// Returns the object names in rules, at the references to their permission sets: an empty name matches every object.
fn names_in_rules(used: &ClassUse<'_>, linker: &Linker<'_>) -> Vec<Spanned<String>> {
    let mut found = Vec::new();
    for role in &used.class.roles {
        let sets = linker.offers.named::<PermissionSet>(&role.permission_set);
        let is_used =
            |set: &&Shared<PermissionSet>| used.targets.iter().any(|target| set.meta.targets.contains(&target.name));
        let names = sets.filter(is_used).flat_map(|set| set.content.resource_names());
        found.extend(names.map(|name| Spanned::new(name, role.permission_set.origin)));
    }
    found
}
