//! The section about the pods that run: whose they are, and the policies that the API server recorded for them.

use std::collections::BTreeMap;

use bailiwick_admission::psp::plan::{PolicyEvidence, WorkloadOwner, WorkloadPlan};

use super::{Entry, PspMigrationReport, quoted, shown, some};
use crate::human::number;

/// Returns the entries about pods. Each pod of the manifests is counted once.
pub(super) fn pods(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let workloads = &report.plan.workloads;
    let mut entries = Vec::new();
    let of_templates: usize = workloads.iter().filter(|workload| !is_pod(workload)).map(|workload| workload.pods).sum();
    if of_templates > 0 {
        let with_pods = workloads.iter().filter(|workload| !is_pod(workload) && workload.pods > 0).count();
        let pods = number(of_templates, "pod");
        entries.push(Entry::new(format!("{pods} of {} with a template", number(with_pods, "workload"))));
    }
    entries.extend(without_pods(workloads).map(Entry::new));
    if report.owned_templates > 0 {
        let templates = number(report.owned_templates, "template");
        entries.push(Entry::new(format!("{templates} of other workloads, such as the ReplicaSets of a Deployment")));
    }
    entries.extend(by_owner(workloads));
    entries.extend(with_defaults(report));
    entries.extend(differing(workloads));
    entries.extend(creators(workloads));
    entries
}

/// Returns the consequence of objects without a pod that runs.
pub(super) fn without_pods(workloads: &[WorkloadPlan]) -> Option<&'static str> {
    let has_none = workloads.iter().all(|workload| workload.pods == 0) && !workloads.is_empty();
    has_none
        .then_some("no pod is among the objects: pods of users and operators are unknown, and so are recorded policies")
}

fn is_pod(workload: &WorkloadPlan) -> bool {
    workload.kind == "Pod"
}

/// Returns the pods without a template among the objects, by the kind of their owners.
fn by_owner(workloads: &[WorkloadPlan]) -> Vec<Entry> {
    let mut alike: BTreeMap<String, Vec<&WorkloadPlan>> = BTreeMap::new();
    for workload in workloads {
        let text = match &workload.owner {
            WorkloadOwner::None if is_pod(workload) => "of users or accounts that made the pods themselves".to_owned(),
            WorkloadOwner::None => continue,
            WorkloadOwner::OtherKind(owner) => format!("of the kind `{}`", kind(&owner.group, &owner.kind)),
            WorkloadOwner::Missing(owner) => {
                format!("of a {} that is not among the objects", kind(&owner.group, &owner.kind))
            }
            WorkloadOwner::OtherAccount(owner) => {
                format!("of a {} whose template has another service account", kind(&owner.group, &owner.kind))
            }
        };
        alike.entry(text).or_default().push(workload);
    }
    let entries = alike.into_iter().map(|(text, workloads)| {
        let names: Vec<String> = workloads.iter().map(|workload| shown(workload)).collect();
        let kind = if workloads.iter().all(|workload| is_pod(workload)) { "pod" } else { "workload" };
        Entry::listed(format!("{} {text}: ", number(names.len(), kind)), names, "")
    });
    entries.collect()
}

fn kind(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// Returns the pods without a template whose policies have defaults: their own values are unknown.
fn with_defaults(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let has_defaults = |name: &str| {
        report.plan.policies.iter().any(|policy| policy.name == name && !policy.migration.mutating.is_empty())
    };
    let pods = report.plan.workloads.iter().filter(|workload| is_pod(workload) && workload.pods > 0);
    let pods = pods.filter(|workload| workload.policy.as_deref().is_some_and(has_defaults));
    let names: Vec<String> = pods.map(shown).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let text = "may have values from the defaults of their policies: their owners have to set the values themselves";
    vec![Entry::listed(format!("{} without a template {text}: ", number(names.len(), "pod")), names, "")]
}

/// Returns the workloads whose pods run under another policy than new pods get.
fn differing(workloads: &[WorkloadPlan]) -> Vec<Entry> {
    let mut alike: BTreeMap<(Vec<String>, Option<&str>), Vec<&WorkloadPlan>> = BTreeMap::new();
    for workload in workloads {
        let others: Vec<String> =
            workload.recorded.keys().filter(|recorded| Some(*recorded) != workload.policy.as_ref()).cloned().collect();
        if !others.is_empty() {
            alike.entry((others, workload.policy.as_deref())).or_default().push(workload);
        }
    }
    let entries = alike.into_iter().map(|((recorded, policy), workloads)| {
        let names: Vec<String> = workloads.iter().map(|workload| shown(workload)).collect();
        let new = match policy {
            Some(policy) => format!("new pods get `{policy}`"),
            None => "no policy admits new pods".to_owned(),
        };
        let count = number(names.len(), "workload");
        Entry::listed(format!("pods of {count} run under {}, and {new}: ", quoted(&recorded)), names, "")
    });
    entries.collect()
}

/// Returns the pods that only some users can create again.
fn creators(workloads: &[WorkloadPlan]) -> Vec<Entry> {
    let mut alike: BTreeMap<(&[String], Option<&str>), Vec<&WorkloadPlan>> = BTreeMap::new();
    for workload in workloads {
        if let PolicyEvidence::Creators(creators) = &workload.evidence {
            alike.entry((creators, workload.policy.as_deref())).or_default().push(workload);
        }
    }
    let entries = alike.into_iter().map(|((creators, policy), workloads)| {
        let names: Vec<String> = workloads.iter().map(|workload| shown(workload)).collect();
        let policy = policy.map_or_else(String::new, |policy| format!(" under `{policy}`"));
        let creators = some(creators);
        Entry::listed(format!("{} only if {creators} creates it{policy}: ", number(names.len(), "pod")), names, "")
    });
    entries.collect()
}
