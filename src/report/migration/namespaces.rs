//! The section about namespaces: their profiles, their level, and the workloads in the way of a stricter one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, MOST_ENTRIES, PspMigrationReport, quoted, some};
use crate::admission::level::Level;
use crate::admission::psp::plan::{LevelBlocker, NamespacePlan, Need, PossibleLevels};
use crate::migrate::enforced_level;
use crate::report::human::number;

/// The number of workloads of a namespace whose checks are printed.
const SHOWN_BLOCKERS: usize = 3;

/// Returns the entries of all namespaces. Namespaces that differ only in their names are one entry.
pub(super) fn namespaces(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let plans: BTreeMap<&String, &NamespacePlan> =
        report.plan.namespaces.iter().map(|plan| (&plan.name, plan)).collect();
    let mut entries = Vec::new();
    for tenants in &report.policies.tenancies {
        let of: Vec<&NamespacePlan> = tenants.namespaces.iter().filter_map(|name| plans.get(name).copied()).collect();
        let workloads = of.iter().map(|namespace| namespace.workloads).sum();
        let level = of.first().map_or_else(String::new, |namespace| level(report, namespace));
        entries.push(Entry::new(format!(
            "{} of the Tenancy `{}`: profile `{}`, {level}{}: {}",
            number(tenants.namespaces.len(), "namespace"),
            tenants.tenancy,
            tenants.profile,
            number(workloads, "workload"),
            some(&tenants.namespaces)
        )));
    }
    let of_tenants: BTreeSet<&String> =
        report.policies.tenancies.iter().flat_map(|tenants| &tenants.namespaces).collect();
    let mut alike: BTreeMap<(String, Vec<String>), Vec<&NamespacePlan>> = BTreeMap::new();
    for namespace in report.plan.namespaces.iter().filter(|namespace| !of_tenants.contains(&namespace.name)) {
        alike.entry((settings(report, namespace), details(report, namespace))).or_default().push(namespace);
    }
    let mut groups: Vec<_> = alike.into_iter().collect();
    groups.sort_by_key(|(_, namespaces)| namespaces.first().map(|namespace| namespace.name.clone()));
    if groups.len() > MOST_ENTRIES {
        // The largest groups are the most useful ones.
        groups.sort_by_key(|(_, namespaces)| Reverse(namespaces.len()));
    }
    for ((settings, details), namespaces) in groups {
        let names: Vec<String> = namespaces.iter().map(|namespace| format!("`{}`", namespace.name)).collect();
        let workloads = number(namespaces.iter().map(|namespace| namespace.workloads).sum(), "workload");
        let details = details.into_iter().map(Entry::new).collect();
        entries.push(Entry::with(format!("{}: {settings}{workloads}", some(&names)), details));
    }
    entries
}

/// Returns the profile and the level of a namespace.
fn settings(report: &PspMigrationReport<'_>, namespace: &NamespacePlan) -> String {
    let level = level(report, namespace);
    match &namespace.needs.common {
        Need::One(policy) | Need::Chosen { policy, .. } | Need::Merged { policy, .. } => {
            format!("profile `{}`, {level}", report.policies.profile_of(policy))
        }
        Need::Nothing => format!("no pod gets in today; {level}"),
        Need::Conflict(_) => format!("no profile, to be decided; {level}"),
    }
}

/// Returns the level of a namespace, with the level that the texts of its PodSecurityPolicies allow.
fn level(report: &PspMigrationReport<'_>, namespace: &NamespacePlan) -> String {
    let Some(level) = report.policies.level_of(&namespace.name) else { return String::new() };
    let PossibleLevels { stated, observed, .. } = &namespace.levels;
    let others = [(stated, "by the texts of its policies"), (observed, "by its pods")];
    let others = others.into_iter().filter_map(|(other, by)| {
        let other = other.filter(|other| *other != level)?;
        Some(format!("{other} {by}"))
    });
    let others: Vec<String> = others.collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    format!("level {level}{others}, ")
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
        Need::Chosen { policy, among, widened } => {
            (format!("its pods get {} today; `{policy}` admits them all", quoted(among)), widened, format!("`{policy}`"))
        }
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
