//! The Pod Security standards: the checks of a level and a version, and the levels of a namespace.
//!
//! Left out: changes by the API server between the defaults and this admission, such as AppArmor fields copied from
//! annotations. They change the names in a message, and no verdict.

pub mod admit;
mod checks;
pub mod configuration;
mod difference;
mod host;
pub mod labels;
mod process;
mod profiles;
mod words;

pub use checks::{CHECKS, Check};
pub use difference::{LevelDifference, difference};
pub(super) use host::allows_sysctl;
pub(super) use process::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES};
pub(super) use profiles::allows_se_linux_type;

use super::level::{Level, PolicyVersion};
use super::pod::Pod;

/// The newest version with known checks; `latest` and any newer version stand for it.
pub const NEWEST: u64 = 37;

/// A violation of a check by a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelViolation {
    /// Id of the check.
    pub check: &'static str,
    /// The reason in a few words.
    pub reason: &'static str,
    /// The location and the value.
    pub detail: String,
}

/// Returns the violations of a level by a pod, in the order of the API server.
pub fn violations(pod: &Pod, level: Level, version: PolicyVersion) -> Vec<LevelViolation> {
    let found = checks::at_level(level, version.minor_up_to(NEWEST)).filter_map(|(check, minor)| {
        let (reason, detail) = (check.rule)(pod, minor)?;
        Some(LevelViolation { check: check.id, reason, detail })
    });
    found.collect()
}

/// Returns the strictest level of a pod, by the checks of a version.
pub fn strictest(pod: &Pod, version: PolicyVersion) -> Level {
    let fits = |level: &Level| violations(pod, *level, version).is_empty();
    match [Level::Restricted, Level::Baseline].into_iter().find(fits) {
        Some(level) => level,
        // Privileged has no check.
        None => Level::Privileged,
    }
}

/// Returns the reasons alone, as the API server lists them for existing pods.
pub fn reasons(violations: &[LevelViolation]) -> String {
    violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
}

/// Returns the reasons, each with its detail, as the API server lists them for a pod.
pub fn details(violations: &[LevelViolation]) -> String {
    let each = violations.iter().map(|LevelViolation { reason, detail, .. }| match detail.as_str() {
        // A kernel parameter without a name.
        "" => (*reason).to_owned(),
        detail => format!("{reason} ({detail})"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Returns the error message of the API server for a rejected pod.
pub fn message(policy: labels::LevelVersion, violations: &[LevelViolation]) -> String {
    format!("violates PodSecurity {}: {}", words::quoted(&policy.to_string()), details(violations))
}

#[cfg(test)]
mod tests;
