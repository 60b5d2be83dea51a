//! The Pod Security standards: what a pod must not do at a level, by the checks of a version, and in which namespace
//! which of them counts (`specs/openshift.md` 5).
//!
//! Left out: what the API server does to a pod between its defaults and this admission, such as copying AppArmor
//! annotations into fields. It changes what a message names, and no verdict.

pub mod admit;
mod checks;
pub mod configuration;
mod host;
pub mod labels;
mod process;
mod profiles;
mod words;

pub use checks::{CHECKS, Check};
pub(super) use host::allows_sysctl;
pub(super) use process::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES};
pub(super) use profiles::allows_se_linux_type;

use super::level::{Level, PolicyVersion};
use super::pod::Pod;

/// The newest version whose checks are known; `latest` is this one, and so is any that is newer.
pub const NEWEST: u64 = 37;

/// What a check has against a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The check.
    pub check: &'static str,
    /// What is wrong, in few words.
    pub reason: &'static str,
    /// Where, and what there is instead.
    pub detail: String,
}

/// Everything that the checks of a level have against a pod, in the order in which the API server reports it.
pub fn violations(pod: &Pod, level: Level, version: PolicyVersion) -> Vec<Violation> {
    let found = checks::of(level, version.minor_up_to(NEWEST)).filter_map(|(check, minor)| {
        let (reason, detail) = (check.rule)(pod, minor)?;
        Some(Violation { check: check.id, reason, detail })
    });
    found.collect()
}

/// The strictest level that a pod fits, by the checks of a version.
pub fn strictest(pod: &Pod, version: PolicyVersion) -> Level {
    let fits = |level: &Level| violations(pod, *level, version).is_empty();
    Level::ALL.into_iter().find(fits).unwrap_or(Level::Privileged)
}

/// The reasons alone, as the API server lists them for the pods that a namespace already has.
pub fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
}

/// The reasons, each with its detail, as the API server lists them for a pod.
pub fn details(violations: &[Violation]) -> String {
    let each = violations.iter().map(|Violation { reason, detail, .. }| match detail.as_str() {
        // A kernel parameter without a name.
        "" => (*reason).to_owned(),
        detail => format!("{reason} ({detail})"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// What the API server answers to who creates a pod that does not fit.
pub fn message(policy: labels::LevelVersion, violations: &[Violation]) -> String {
    format!("violates PodSecurity {}: {}", words::quoted(&policy.to_string()), details(violations))
}

#[cfg(test)]
mod tests;
