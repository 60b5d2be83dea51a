//! The requirements of the workspace for the grants of policies.

use std::collections::BTreeMap;

use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Origin, Sink};

use super::shared::{Subjects, Terms};
use crate::model::{
    Date, Expiry, Fill, GrantTerms, Linker, Pattern, PermissionSet, PolicyMeta, RequiredField, RoleObjectKind,
    SelectingKey, TenancyGrant, TermLimit, grant_words,
};

/// A grant with the parts that decide about requirements.
#[derive(Debug, Clone)]
pub(super) struct RequiredGrant {
    /// The grant of a Tenancy; none for the policy as a whole.
    pub(super) grant: Option<TenancyGrant>,
    /// The location of the grant.
    pub(super) origin: Origin,
    pub(super) terms: GrantTerms,
}

impl Terms<'_> {
    /// Returns the parts of a grant with some subjects. The names of its roles follow.
    pub(super) fn of_grant(self, subjects: &Subjects, cluster_wide: bool) -> GrantTerms {
        let single = [
            (RequiredField::Owner, self.owner),
            (RequiredField::Reason, self.reason),
            (RequiredField::Expires, self.expires),
        ];
        let single = single.into_iter().filter_map(|(field, text)| Some((field, text?)));
        let approvers = self.approved_by.iter().map(|name| (RequiredField::ApprovedBy, name));
        let fields = single.chain(approvers);
        let groups = subjects.groups.iter().map(|name| (SelectingKey::Groups, Pattern::parse_checked(name)));
        let users = subjects.users.iter().map(|name| (SelectingKey::Users, Pattern::parse_checked(name)));
        GrantTerms {
            names: groups.chain(users).collect(),
            cluster_wide,
            fields: fields
                .map(|(field, text)| (field, Spanned::new(Pattern::parse_checked(text), text.origin)))
                .collect(),
        }
    }
}

/// Returns the names of a permission set that select a grant: its own name, and the names of its role on all targets.
pub(super) fn names_of_set(name: &str, linker: &Linker<'_>) -> Vec<(SelectingKey, Pattern)> {
    let mut names = vec![(SelectingKey::PermissionSets, Pattern::constant(name))];
    for set in linker.offers.named::<PermissionSet>(name) {
        let key = match set.content.role_kind {
            RoleObjectKind::ClusterRole => SelectingKey::ClusterRoles,
            RoleObjectKind::Role => SelectingKey::Roles,
        };
        names.push((key, Pattern::parse_checked(set.content.role_name())));
    }
    names
}

/// A grant without a field, with the first account.
struct LackingGrant {
    grant: Option<TenancyGrant>,
    row: Option<Origin>,
}

/// The judgement of the grants of a policy.
#[derive(Default)]
pub(super) struct Judgement {
    /// The missing fields of a grant by the number of the requirement, with the first account.
    missing: BTreeMap<(Origin, usize, Vec<RequiredField>), LackingGrant>,
    /// The limited last days by location and by the number of the requirement.
    limits: BTreeMap<(Origin, usize, Date), Option<TenancyGrant>>,
}

impl Judgement {
    /// Judges a grant with some values; `row` is the account of the values.
    pub(super) fn judge(&mut self, grant: &RequiredGrant, from: Fill<'_>, row: Option<Origin>, linker: &Linker<'_>) {
        let row = row.filter(|_| grant.terms.needs_account());
        for (index, requirement) in linker.requirements.iter().enumerate() {
            let Some(missing) = requirement.missing(&grant.terms, from) else { continue };
            if !missing.is_empty() {
                let entry = self.missing.entry((grant.origin, index, missing));
                entry.or_insert_with(|| LackingGrant { grant: grant.grant.clone(), row });
            }
            if requirement.max_days.is_none() {
                continue;
            }
            for (until, text) in grant.terms.last_days(from) {
                let origin = row.filter(|_| text.needs_account()).map_or(text.origin, |row| row);
                self.limits.entry((origin, index, until)).or_insert_with(|| grant.grant.clone());
            }
        }
    }

    /// Reports missing fields, and records the limits of last days.
    pub(super) fn finish(self, policy: &PolicyMeta, linker: &mut Linker<'_>, sink: &mut Sink) {
        let requirements = linker.requirements;
        for ((origin, index, missing), LackingGrant { grant, row }) in self.missing {
            let Some(requirement) = requirements.get(index) else { continue };
            let diagnostic =
                requirement.missing_justification(&grant_words(policy, grant.as_ref()), &missing).at(origin);
            sink.push(row.into_iter().fold(diagnostic, |diagnostic, row| diagnostic.and(row, "the account")));
        }
        for ((origin, index, until), grant) in self.limits {
            let Some(requirement) = requirements.get(index) else { continue };
            let Some(max_days) = requirement.max_days else { continue };
            let expiry = Expiry { until, origin, policy: policy.clone(), grant };
            linker.facts.push(TermLimit { expiry, max_days, requirement: requirement.origin });
        }
    }
}
