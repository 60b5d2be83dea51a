//! The list of the checks, and the checks of a level at a version.

use super::{host, process, profiles};
use crate::level::Level;
use crate::pod::Pod;

/// The result of a rule: the reason, and the detail.
pub(super) type Finding = Option<(&'static str, String)>;

/// A check of the Pod Security standards.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The id in the standards.
    pub id: &'static str,
    /// The loosest level with the check.
    pub level: Level,
    /// The first minor with the check.
    pub since: u64,
    /// The check of baseline replaced in restricted.
    pub replaces: Option<&'static str>,
    /// The rule, with the minor of the version.
    pub(super) rule: fn(&Pod, u64) -> Finding,
}

/// All checks, in the order of a report: the checks of baseline by id, then the checks of restricted by id.
///
/// From `pod-security-admission/policy/check_*.go` 0.37.2; the rules contain the changes between versions.
pub const CHECKS: [Check; 19] = [
    baseline("appArmorProfile", 0, profiles::app_armor),
    baseline("capabilities_baseline", 0, process::added_capabilities),
    baseline("hostNamespaces", 0, host::namespaces),
    baseline("hostPathVolumes", 0, host::path_volumes),
    baseline("hostPorts", 0, host::ports),
    baseline("hostProbesAndHostLifecycle", 34, host::probes),
    baseline("privileged", 0, process::privileged),
    baseline("procMount", 0, profiles::proc_mount),
    baseline("seLinuxOptions", 0, profiles::se_linux),
    baseline("seccompProfile_baseline", 0, profiles::seccomp),
    baseline("sysctls", 0, host::pod_sysctls),
    baseline("windowsHostProcess", 0, host::processes),
    restricted("allowPrivilegeEscalation", 8, None, process::privilege_escalation),
    restricted("capabilities_restricted", 22, Some("capabilities_baseline"), process::kept_capabilities),
    restricted("procMount_restricted", 35, Some("procMount"), profiles::proc_mount_for_all),
    restricted("restrictedVolumes", 0, Some("hostPathVolumes"), host::volume_types),
    restricted("runAsNonRoot", 0, None, process::run_as_non_root),
    restricted("runAsUser", 23, None, process::run_as_user),
    restricted("seccompProfile_restricted", 19, Some("seccompProfile_baseline"), profiles::seccomp_for_all),
];

/// Returns the checks of a level in the version of a minor, each with the minor of its variant.
pub(super) fn at_level(level: Level, minor: u64) -> impl Iterator<Item = (&'static Check, u64)> {
    static ALL: [Check; 19] = CHECKS;
    let counts = move |check: &Check| check.since <= minor && level <= check.level;
    let replaced = move |id| ALL.iter().any(|check| counts(check) && check.replaces == Some(id));
    let is_strict = level == Level::Restricted;
    let counting = ALL.iter().filter(move |check| counts(check) && !(is_strict && replaced(check.id)));
    counting.map(move |check| (check, minor))
}

const fn baseline(id: &'static str, since: u64, rule: fn(&Pod, u64) -> Finding) -> Check {
    Check { id, level: Level::Baseline, since, replaces: None, rule }
}

const fn restricted(
    id: &'static str,
    since: u64,
    replaces: Option<&'static str>,
    rule: fn(&Pod, u64) -> Finding,
) -> Check {
    Check { id, level: Level::Restricted, since, replaces, rule }
}
