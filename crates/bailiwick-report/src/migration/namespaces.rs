//! The section about namespaces: their profiles, their level, and the workloads in the way of a stricter one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::level::Level;
use bailiwick_admission::psp::plan::{LevelBlocker, NamespacePlan, Need, PossibleLevels};
use bailiwick_adopt::psp_policies::enforced_level;

use super::{Entry, MOST_ENTRIES, PspMigrationReport, quoted, some};
use crate::human::number;

/// The number of workloads of a namespace whose checks are printed.
const SHOWN_BLOCKERS: usize = 3;

/// Namespaces that differ only in their names.
pub(super) struct NamespaceGroup {
    /// The Tenancy that they become.
    pub(super) tenancy: Option<String>,
    pub(super) names: Vec<String>,
    /// The profile, or the reason for none.
    pub(super) profile: ProfileChoice,
    pub(super) level: Option<Level>,
    /// The possible levels beside the level, each with its origin.
    pub(super) other_levels: Vec<(Level, &'static str)>,
    pub(super) workloads: usize,
    pub(super) details: Vec<String>,
}

/// The profile of a namespace.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProfileChoice {
    Profile(String),
    /// No pod is admitted today.
    NoPods,
    /// No policy admits the pods of a service account.
    Conflict,
}

impl NamespaceGroup {
    /// Returns the group as a line with its details.
    pub(super) fn into_entry(self) -> Entry {
        let profile = match &self.profile {
            ProfileChoice::Profile(profile) => format!("profile `{profile}`, "),
            ProfileChoice::NoPods => "no pod gets in today; ".to_owned(),
            ProfileChoice::Conflict => "no profile, to be decided; ".to_owned(),
        };
        let level = self.level.map_or_else(String::new, |level| format!("level {level}{}, ", self.in_brackets()));
        let settings = format!("{profile}{level}{}", number(self.workloads, "workload"));
        let details = self.details.into_iter().map(Entry::new).collect();
        let entry = match self.tenancy {
            Some(tenancy) => {
                let namespaces = number(self.names.len(), "namespace");
                Entry::listed(format!("{namespaces} of the Tenancy `{tenancy}`: {settings}: "), self.names, "")
            }
            None => {
                let names = self.names.iter().map(|name| format!("`{name}`")).collect();
                Entry::listed("", names, format!(": {settings}"))
            }
        };
        entry.with(details)
    }

    fn in_brackets(&self) -> String {
        let others: Vec<String> = self.other_levels.iter().map(|(level, by)| format!("{level} {by}")).collect();
        if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) }
    }
}

/// Returns the groups of all namespaces.
pub(super) fn groups(report: &PspMigrationReport<'_>) -> Vec<NamespaceGroup> {
    let plans: BTreeMap<&String, &NamespacePlan> =
        report.plan.namespaces.iter().map(|plan| (&plan.name, plan)).collect();
    let mut groups = Vec::new();
    for tenants in &report.policies.tenancies {
        let of: Vec<&NamespacePlan> = tenants.namespaces.iter().filter_map(|name| plans.get(name).copied()).collect();
        groups.push(NamespaceGroup {
            tenancy: Some(tenants.tenancy.clone()),
            names: tenants.namespaces.clone(),
            profile: ProfileChoice::Profile(tenants.profile.clone()),
            level: of.first().and_then(|first| report.policies.level_of(&first.name)),
            other_levels: of.first().map_or_else(Vec::new, |first| other_levels(report, first)),
            workloads: of.iter().map(|namespace| namespace.workloads).sum(),
            details: Vec::new(),
        });
    }
    let of_tenants: BTreeSet<&String> =
        report.policies.tenancies.iter().flat_map(|tenants| &tenants.namespaces).collect();
    let others = report.plan.namespaces.iter().filter(|namespace| !of_tenants.contains(&namespace.name));
    groups.extend(alike(report, others));
    groups
}

/// Groups namespaces with the same settings and details. Many groups are sorted by their size: the largest ones are the most useful.
fn alike<'p>(
    report: &PspMigrationReport<'_>,
    namespaces: impl Iterator<Item = &'p NamespacePlan>,
) -> Vec<NamespaceGroup> {
    let mut alike: BTreeMap<_, Vec<&NamespacePlan>> = BTreeMap::new();
    for namespace in namespaces {
        let levels = (report.policies.level_of(&namespace.name), other_levels(report, namespace));
        let key = (profile(report, namespace), levels, details(report, namespace));
        alike.entry(key).or_default().push(namespace);
    }
    let groups = alike.into_iter().map(|((profile, (level, other_levels), details), namespaces)| NamespaceGroup {
        tenancy: None,
        names: namespaces.iter().map(|namespace| namespace.name.clone()).collect(),
        profile,
        level,
        other_levels,
        workloads: namespaces.iter().map(|namespace| namespace.workloads).sum(),
        details,
    });
    let mut groups: Vec<NamespaceGroup> = groups.collect();
    groups.sort_by(|left, right| left.names.first().cmp(&right.names.first()));
    if groups.len() > MOST_ENTRIES {
        groups.sort_by_key(|group| Reverse(group.names.len()));
    }
    groups
}

fn profile(report: &PspMigrationReport<'_>, namespace: &NamespacePlan) -> ProfileChoice {
    match &namespace.needs.common {
        Need::One(policy) | Need::Chosen { policy, .. } | Need::Merged { policy, .. } => {
            ProfileChoice::Profile(report.policies.profile_of(policy).to_owned())
        }
        Need::Nothing => ProfileChoice::NoPods,
        Need::Conflict(_) => ProfileChoice::Conflict,
    }
}

/// Returns the possible levels of a namespace beside its level, each with its origin.
fn other_levels(report: &PspMigrationReport<'_>, namespace: &NamespacePlan) -> Vec<(Level, &'static str)> {
    let level = report.policies.level_of(&namespace.name);
    let PossibleLevels { stated, observed, .. } = &namespace.levels;
    let others = [(stated, "by the texts of its policies"), (observed, "by its pods")];
    let others = others.into_iter().filter_map(|(other, by)| Some((other.filter(|other| Some(*other) != level)?, by)));
    others.collect()
}

fn details(report: &PspMigrationReport<'_>, namespace: &NamespacePlan) -> Vec<String> {
    let mut details = Vec::new();
    chosen(&namespace.needs.common, &mut details);
    let mut by_policy: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for own in &namespace.needs.accounts {
        if let Some(policy) = own.need.policy() {
            by_policy.entry(policy).or_default().push(own.account.clone());
        }
        chosen(&own.need, &mut details);
    }
    for (policy, accounts) in by_policy {
        let profile = report.policies.account_profile_of(policy);
        let word = if accounts.len() == 1 { "service account" } else { "service accounts" };
        details.push(format!("profile `{profile}` for the {word} {}", some_quoted(&accounts)));
    }
    let levels = &namespace.levels;
    let most = Level::loosest(levels.observed);
    let mut blockers: Vec<&LevelBlocker> = levels.blockers.iter().filter(|blocker| blocker.level == most).collect();
    blockers.sort_by_key(|blocker| (blocker.kind, &blocker.name));
    for blocker in blockers.iter().take(SHOWN_BLOCKERS) {
        let stricter = if blocker.level == Level::Privileged { Level::Baseline } else { Level::Restricted };
        details.push(format!(
            "{}/{} is in the way of {stricter}: {}",
            blocker.kind,
            blocker.name,
            checks(blocker, stricter)
        ));
    }
    if blockers.len() > SHOWN_BLOCKERS {
        let more = number(blockers.len() - SHOWN_BLOCKERS, "more workload");
        details.push(format!("{more} in the way"));
    }
    if let Some((level, only)) = levels.single_blocker() {
        let checks: Vec<&str> = only.checks.get(&level).into_iter().flatten().map(|(check, _)| *check).collect();
        let workload = format!("{}/{}", only.kind, only.name);
        details.push(format!("{level} is possible after a change of {workload} alone: {}", checks.join(", ")));
    }
    if let Some(own) = report.declared.get(&namespace.name).and_then(enforced_level) {
        details.push(format!("enforces {own} today by its own label"));
    }
    details
}

/// Adds the choice of one policy out of several.
fn chosen(need: &Need, details: &mut Vec<String>) {
    let (text, widened, of) = match need {
        Need::Chosen { policy, among, widened } => (
            format!("its pods get {} today; `{policy}` admits them all", quoted(among)),
            widened,
            format!("`{policy}`"),
        ),
        Need::Merged { policy, among, widened } => (
            format!("its pods get {} today, and none admits them all; `{policy}` merges their limits", quoted(among)),
            widened,
            "all of them".to_owned(),
        ),
        Need::One(_) | Need::Conflict(_) | Need::Nothing => return,
    };
    details.push(text);
    if !widened.is_empty() {
        details.push(format!("service accounts that may not use {of} today: {}", quoted(widened)));
    }
}

/// Returns the checks of a level that reject the pods of a workload, each with the values of one pod.
pub(super) fn checks(blocker: &LevelBlocker, level: Level) -> String {
    let checks = blocker.checks.get(&level).into_iter().flatten();
    checks.map(|(check, detail)| format!("{check} ({detail})")).collect::<Vec<_>>().join(", ")
}

fn some_quoted(names: &[String]) -> String {
    some(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>())
}
