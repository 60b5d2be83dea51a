//! The section about the stages of the migration, as a checklist.

use std::collections::BTreeMap;

use bailiwick_admission::psp::migrate::FieldOutcome;
use bailiwick_adopt::psp_policies::stages::{FinalCluster, MigrationStage, stages};

use super::{Entry, PspMigrationReport, some};
use crate::human::number;

/// Returns one entry for each stage.
pub(super) fn checklist(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let stages = stages(report.to);
    let steps = stages.iter().map(|stage| Entry::new(title(stage)).with(steps(stage, report)));
    steps.collect()
}

/// Returns the setting of the target of a stage.
fn title(stage: &MigrationStage) -> String {
    let mut settings = Vec::new();
    for (key, values) in [("modes", stage.modes), ("validationActions", stage.validation_actions)] {
        settings.extend(values.map(|values| format!("{key}: [{}]", values.join(", "))));
    }
    let settings =
        if settings.is_empty() { String::new() } else { format!(", podSecurity: {{{}}}", settings.join(", ")) };
    let platform = match stage.cluster {
        FinalCluster::Kubernetes(_) => String::new(),
        FinalCluster::Openshift(_) => format!(", platform: {}", stage.platform()),
    };
    format!("`{{name: {}{platform}, version: \"{}\"{settings}}}`", stage.target, stage.version())
}

fn steps(stage: &MigrationStage, report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let line = |text: &str| Entry::new(text.to_owned());
    if stage.cluster.release().is_some() {
        return steps_on_openshift(stage, report);
    }
    match stage.target {
        "warn" => {
            let mut steps =
                vec![line("namespaces get labels for the modes audit and warn; no pod is rejected by them")];
            let patched = report.patches.workloads();
            if patched > 0 {
                let workloads = number(patched, "workload");
                steps.push(Entry::new(format!(
                    "apply the patches: {workloads} set the defaults of their policies themselves from then on"
                )));
            }
            steps.push(line("read the audit log for `pod-security.kubernetes.io/audit-violations`"));
            steps
        }
        "enforce" => vec![line("namespaces get their level, beside the PodSecurityPolicies")],
        "levels" => {
            let mut steps = vec![line("upgrade: PodSecurityPolicies are gone, and levels are the only limit")];
            steps.extend(unlimited(report));
            steps
        }
        "audit" => vec![
            line("upgrade: the admission policies of the profiles warn and write to the audit log"),
            line("run `bailiwick migrate verify` with a new dump"),
        ],
        _ => vec![line("the admission policies reject pods"), line("remove the roles and bindings that grant nothing")],
    }
}

/// Returns the steps of a stage on OpenShift.
fn steps_on_openshift(stage: &MigrationStage, report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let line = |text: &str| Entry::new(text.to_owned());
    if stage.target == "deny" {
        return vec![
            line("the admission policies beside the constraints reject pods"),
            line("leave the roles and bindings that grant nothing behind"),
        ];
    }
    let mut steps = vec![
        line("apply the output to the new cluster, then the patched workloads: PodSecurityPolicies do not exist there"),
        line(
            "the constraints of a profile reject pods; their priority is above the constraints of the platform, so that its defaults apply",
        ),
        line(
            "an account that may use all constraints gets them first, too, in any namespace: `openshift.io/required-scc` names others for its pods",
        ),
    ];
    let shared = report.plan.namespaces.iter().filter(|namespace| !namespace.needs.accounts.is_empty());
    let shared: Vec<String> = shared.map(|namespace| format!("`{}`", namespace.name)).collect();
    if !shared.is_empty() {
        steps.push(Entry::new(format!(
            "service accounts with a profile of their own may use the constraints of their namespace, too: {}",
            some(&shared)
        )));
    }
    let has_policies = stage.validation_actions != Some(&[]);
    if has_policies {
        steps.push(line("the admission policies beside the constraints warn and write to the audit log"));
    }
    let means = if has_policies {
        "that an admission policy has, since no constraints have a field for them"
    } else {
        "that no constraints have"
    };
    let mut by_field: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (profile, fields) in report.policies.beside_constraints() {
        fields.iter().for_each(|field| by_field.entry(field).or_default().push(profile.to_owned()));
    }
    steps.extend(limits(by_field, means));
    steps.push(line("run `bailiwick migrate verify` with a new dump: OpenShift admits the pods of people by their own permissions, too"));
    steps
}

/// Returns the limits that no level has, by field: they are missing until the stage with admission policies.
fn unlimited(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let mut by_field: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for policy in report.plan.policies.iter().filter(|policy| policy.is_needed) {
        let profile = report.policies.profile_of(&policy.name);
        for field in &policy.migration.fields {
            let fields = by_field.entry(field.field).or_default();
            if matches!(field.fate, FieldOutcome::NeedsPolicy(_)) && !fields.iter().any(|known| known == profile) {
                fields.push(profile.to_owned());
            }
        }
    }
    limits(by_field, "that no level has")
}

/// Returns an entry for the fields of the same profiles. `means` describes the limits.
fn limits(by_field: BTreeMap<&str, Vec<String>>, means: &str) -> Vec<Entry> {
    let mut by_profiles: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (field, mut profiles) in by_field.into_iter().filter(|(_, profiles)| !profiles.is_empty()) {
        profiles.sort();
        by_profiles.entry(profiles).or_default().push(field.to_owned());
    }
    let entries = by_profiles.into_iter().map(|(profiles, fields)| {
        let profiles: Vec<String> = profiles.iter().map(|profile| format!("`{profile}`")).collect();
        Entry::new(format!("limits of {} {means}: {}", some(&profiles), fields.join(", ")))
    });
    entries.collect()
}
