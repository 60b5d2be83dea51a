//! The level guaranteed by constraints: every admitted pod passes its checks.
//!
//! The label syncer's rules have gaps. This module compares each check of a version of the Pod Security standards with
//! the guarantees of admission by constraints. A field of the constraints without the guarantee raises the level. A
//! check outside of any constraints is a caveat.

use super::Scc;
use super::convert::{needs_range, volume_level};
use super::range::UidRange;
use crate::level::{Level, PolicyVersion};
use crate::standards::{BASELINE_CAPABILITIES, NEWEST, RESTRICTED_CAPABILITIES, allows_se_linux_type, allows_sysctl};

/// The kernel parameters allowed by admission under all constraints.
pub(super) const SAFE_SYSCTLS: [&str; 9] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_syncookies",
];

/// The guarantee of constraints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantee {
    /// The strictest level with all checks passed by every admitted pod, apart from caveats.
    pub level: Level,
    /// The checks against a stricter level.
    pub gaps: Vec<Gap>,
    /// The ways left for pods to fail a check of this level.
    pub caveats: Vec<Caveat>,
}

/// A check without a guarantee by constraints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The id of the check.
    pub check: &'static str,
    /// The level it belongs to.
    pub level: Level,
    /// The field of the constraints.
    pub field: &'static str,
}

/// A check outside of the control of constraints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caveat {
    /// The id of the check.
    pub check: &'static str,
    /// The level it belongs to.
    pub level: Level,
    /// How.
    pub why: &'static str,
}

/// Compares constraints with the checks of a version. A missing range counts as a future allocation above 0, because
/// no pod is admitted without a range.
pub fn guarantee(scc: &Scc, range: UidRange, version: PolicyVersion) -> Guarantee {
    let minor = version.minor_up_to(NEWEST);
    let mut gaps = Vec::new();
    let mut gap = |check, level, field: Option<&'static str>| {
        gaps.extend(field.map(|field| Gap { check, level, field }));
    };
    gap("capabilities_baseline", Level::Baseline, capability_gap(scc, &BASELINE_CAPABILITIES));
    gap("hostNamespaces", Level::Baseline, host_namespace_gap(scc));
    gap("hostPathVolumes", Level::Baseline, volume_gap(scc, Level::Baseline));
    gap("hostPorts", Level::Baseline, scc.allow_host_ports.then_some("allowHostPorts"));
    gap("privileged", Level::Baseline, scc.allow_privileged_container.then_some("allowPrivilegedContainer"));
    gap("seLinuxOptions", Level::Baseline, se_linux_gap(scc, minor));
    gap("seccompProfile_baseline", Level::Baseline, seccomp_gap(scc));
    gap("sysctls", Level::Baseline, sysctl_gap(scc, minor));
    if minor >= 8 {
        let allowed = scc.allow_privilege_escalation != Some(false);
        gap("allowPrivilegeEscalation", Level::Restricted, allowed.then_some("allowPrivilegeEscalation"));
    }
    if minor >= 22 {
        let dropped = scc.required_drop_capabilities.iter().any(|name| name == "ALL");
        let found = capability_gap(scc, &RESTRICTED_CAPABILITIES);
        gap("capabilities_restricted", Level::Restricted, found.or((!dropped).then_some("requiredDropCapabilities")));
    }
    gap("restrictedVolumes", Level::Restricted, volume_gap(scc, Level::Restricted));
    let by_user_namespace = minor >= 35 && scc.requires_user_namespace();
    let user = if by_user_namespace { None } else { user_gap(scc, range) };
    gap("runAsNonRoot", Level::Restricted, user);
    if minor >= 23 {
        gap("runAsUser", Level::Restricted, user);
    }
    if minor >= 19 {
        let found = scc.seccomp_profiles.is_empty().then_some("seccompProfiles");
        gap("seccompProfile_restricted", Level::Restricted, found.or(seccomp_gap(scc)));
    }
    let level = match gaps.iter().map(|gap| gap.level).max() {
        None => Level::Restricted,
        Some(Level::Restricted) => Level::Baseline,
        Some(_) => Level::Privileged,
    };
    let mut caveats = caveats(scc, minor, by_user_namespace);
    caveats.retain(|caveat| level <= caveat.level);
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.level), gap.check));
    Guarantee { level, gaps, caveats }
}

/// Returns the gap in capabilities. Default capabilities are allowed as well, and every container has them.
fn capability_gap(scc: &Scc, known: &[&str]) -> Option<&'static str> {
    let within = |list: &[String]| list.iter().all(|name| known.contains(&name.as_str()));
    if !within(&scc.allowed_capabilities) {
        Some("allowedCapabilities")
    } else if !within(&scc.default_add_capabilities) {
        Some("defaultAddCapabilities")
    } else {
        None
    }
}

fn host_namespace_gap(scc: &Scc) -> Option<&'static str> {
    [
        (scc.allow_host_ipc, "allowHostIPC"),
        (scc.allow_host_network, "allowHostNetwork"),
        (scc.allow_host_pid, "allowHostPID"),
    ]
    .into_iter()
    .find_map(|(allowed, field)| allowed.then_some(field))
}

/// Returns the gap in volumes. An unknown kind of volume cannot occur in a pod.
fn volume_gap(scc: &Scc, level: Level) -> Option<&'static str> {
    let loose = scc.volumes().iter().filter_map(|name| volume_level(name)).any(|own| own > level);
    loose.then_some("volumes")
}

fn se_linux_gap(scc: &Scc, minor: u64) -> Option<&'static str> {
    let context = &scc.se_linux_context;
    if context.r#type != "MustRunAs" {
        return Some("seLinuxContext.type");
    }
    let options = context.se_linux_options.as_ref()?;
    if !allows_se_linux_type(&options.r#type, minor) {
        Some("seLinuxContext.seLinuxOptions.type")
    } else if !options.user.is_empty() {
        Some("seLinuxContext.seLinuxOptions.user")
    } else {
        (!options.role.is_empty()).then_some("seLinuxContext.seLinuxOptions.role")
    }
}

fn seccomp_gap(scc: &Scc) -> Option<&'static str> {
    let is_valid =
        |name: &String| matches!(name.as_str(), "runtime/default" | "docker/default") || name.starts_with("localhost/");
    (!scc.seccomp_profiles.iter().all(is_valid)).then_some("seccompProfiles")
}

fn sysctl_gap(scc: &Scc, minor: u64) -> Option<&'static str> {
    let is_checked = |name: &str| allows_sysctl(name, minor);
    let is_forbidden = |name: &str| {
        scc.forbidden_sysctls.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        })
    };
    if scc.allowed_unsafe_sysctls.iter().any(|name| !is_checked(name) && !is_forbidden(name)) {
        return Some("allowedUnsafeSysctls");
    }
    let safe = SAFE_SYSCTLS.iter().any(|name| !is_checked(name) && !is_forbidden(name));
    // Constraints can only forbid them.
    safe.then_some("forbiddenSysctls")
}

fn user_gap(scc: &Scc, range: UidRange) -> Option<&'static str> {
    let user = &scc.run_as_user;
    match user.r#type.as_str() {
        "MustRunAsNonRoot" => None,
        "MustRunAs" => (user.uid <= Some(0)).then_some("runAsUser.uid"),
        "MustRunAsRange" if needs_range(scc) => (range == UidRange::FromZero).then_some("runAsUser.type"),
        "MustRunAsRange" => (user.uid_range_min <= Some(0)).then_some("runAsUser.uidRangeMin"),
        _ => Some("runAsUser.type"),
    }
}

fn caveats(scc: &Scc, minor: u64, by_user_namespace: bool) -> Vec<Caveat> {
    let mut caveats = vec![Caveat {
        check: "appArmorProfile",
        level: Level::Baseline,
        why: "no constraints look at AppArmor profiles",
    }];
    if minor >= 34 {
        let why = "no constraints look at the hosts of probes and handlers";
        caveats.push(Caveat { check: "hostProbesAndHostLifecycle", level: Level::Baseline, why });
    }
    if minor < 35 {
        let why = "no constraints look at how /proc is mounted";
        caveats.push(Caveat { check: "procMount", level: Level::Baseline, why });
    } else {
        let why = "no constraints look at how /proc is mounted, which pods with a user namespace may choose";
        caveats.push(Caveat { check: "procMount_restricted", level: Level::Restricted, why });
    }
    let why = "pods for Windows are admitted without any constraints";
    caveats.push(Caveat { check: "windowsHostProcess", level: Level::Baseline, why });
    let is_default_only = matches!(scc.run_as_user.r#type.as_str(), "MustRunAs" | "MustRunAsRange");
    if is_default_only && !by_user_namespace {
        let why = "a container with `runAsNonRoot: false` is admitted as it is";
        caveats.push(Caveat { check: "runAsNonRoot", level: Level::Restricted, why });
    }
    caveats
}
