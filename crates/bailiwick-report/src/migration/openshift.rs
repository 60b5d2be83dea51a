//! The entries of a profile about OpenShift: its constraints, and the admission policy beside them.

use bailiwick_admission::psp::migrate::PspDefault;
use bailiwick_admission::psp::plan::PolicyPlan;
use bailiwick_adopt::psp_policies::stages::FinalCluster;

use super::{Entry, PspMigrationReport};

/// The fields of a PodSecurityPolicy with defaults that constraints do not set.
const NOT_SET_BY_CONSTRAINTS: [&str; 3] =
    ["runAsGroup", "runtimeClass", "apparmor.security.beta.kubernetes.io/defaultProfileName"];

/// The field of a PodSecurityPolicy with a limit that neither constraints nor the admission policy beside them have.
const WITHOUT_LIMIT: &str = "allowedProcMountTypes";

/// Returns the entries about the limits of a policy beyond the level.
pub(super) fn limits(policy: &PolicyPlan, to: FinalCluster) -> Vec<Entry> {
    let is_lost = |field: &str| to.release().is_some() && field == WITHOUT_LIMIT;
    let keeper = match to {
        FinalCluster::Kubernetes(_) => "the admission policy",
        FinalCluster::Openshift(_) if to.has_admission_policies() => {
            "the constraints, or the admission policy beside them"
        }
        FinalCluster::Openshift(_) => "the constraints, as far as they have a field",
    };
    let named = |wanted: bool| {
        let limits = policy.migration.for_policy().filter(|(field, _)| is_lost(field) == wanted);
        let limits: Vec<String> = limits.map(|(field, limit)| format!("{field} ({limit})")).collect();
        (!limits.is_empty()).then(|| limits.join(", "))
    };
    let kept = named(false).map(|limits| Entry::new(format!("kept by {keeper}: {limits}")));
    let lost = named(true).map(|limits| {
        Entry::new(format!("not kept for pods with `hostUsers: false`, since constraints have no field: {limits}"))
    });
    kept.into_iter().chain(lost).collect()
}

/// Returns the entries about the defaults of a policy.
pub(super) fn defaults(policy: &PolicyPlan, to: FinalCluster) -> Vec<Entry> {
    let all = &policy.migration.mutating;
    let entry = |title: &str, defaults: &mut dyn Iterator<Item = &PspDefault>| {
        let defaults: Vec<String> = defaults.map(|default| format!("{} ({})", default.field, default.what)).collect();
        (!defaults.is_empty()).then(|| Entry::new(format!("{title}: {}", defaults.join(", "))))
    };
    let entries = match to {
        FinalCluster::Kubernetes(_) => [entry("defaults, set from Kubernetes 1.36 on", &mut all.iter()), None],
        FinalCluster::Openshift(_) => {
            let is_set = |default: &&PspDefault| !NOT_SET_BY_CONSTRAINTS.contains(&default.field);
            [
                entry("defaults, set by the constraints", &mut all.iter().filter(is_set)),
                entry("defaults that constraints do not set", &mut all.iter().filter(|default| !is_set(default))),
            ]
        }
    };
    entries.into_iter().flatten().collect()
}

/// Returns the entries about the names of the profiles of a policy; none for another platform.
pub(super) fn names(policy: &PolicyPlan, report: &PspMigrationReport<'_>) -> Vec<Entry> {
    if report.to.release().is_none() {
        return Vec::new();
    }
    let (name, policies) = (&policy.name, report.policies);
    let (profile, of_accounts) = (policies.profile_of(name), policies.account_profile_of(name));
    let other = (name != profile)
        .then(|| format!("in place of the policy `{name}`: constraints of the platform have this name"));
    let second = (profile != of_accounts)
        .then(|| format!("`{of_accounts}` is the same for single service accounts, with a higher priority"));
    [other, second].into_iter().flatten().map(Entry::new).collect()
}
