//! The outcome of each field of a policy at a level.

use super::{FieldMigration, FieldOutcome};
use crate::level::Level;
use crate::psp::mapping::RESTRICTED_VOLUMES;
use crate::psp::{IdStrategy, PodSecurityPolicy, Spec, Syscalls, entries, shown};
use crate::standards::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES};

/// The annotation with the default seccomp profile.
pub(super) const SECCOMP_DEFAULT: &str = "seccomp.security.alpha.kubernetes.io/defaultProfileName";
/// The annotation with the default AppArmor profile.
pub(super) const APP_ARMOR_DEFAULT: &str = "apparmor.security.beta.kubernetes.io/defaultProfileName";

/// Returns the effective fields; most absent fields have an effect.
pub(super) fn all(policy: &PodSecurityPolicy, level: Level) -> Vec<FieldMigration> {
    let spec = &policy.spec;
    let mut fates = switches(spec, level);
    fates.extend(capabilities(spec, level));
    fates.extend(volumes(spec, level));
    fates.push(host_ports(spec, level));
    fates.push(FieldMigration { field: "seLinux", fate: se_linux(spec) });
    fates.push(FieldMigration { field: "runAsUser", fate: users(spec, level) });
    let groups = [
        ("runAsGroup", spec.run_as_group.as_ref()),
        ("supplementalGroups", Some(&spec.supplemental_groups)),
        ("fsGroup", Some(&spec.fs_group)),
    ];
    fates.extend(
        groups.map(|(field, strategy)| FieldMigration { field, fate: strategy.map_or(FieldOutcome::Unlimited, ids) }),
    );
    fates.extend(sysctls(spec, level));
    fates.push(FieldMigration { field: "allowedProcMountTypes", fate: proc_mounts(spec, level) });
    fates.extend(runtime_classes(spec));
    let lists = [
        ("seccomp.security.alpha.kubernetes.io/allowedProfileNames", seccomp(&policy.seccomp())),
        ("apparmor.security.beta.kubernetes.io/allowedProfileNames", app_armor(&policy.app_armor())),
    ];
    fates.extend(lists.map(|(field, fate)| FieldMigration { field, fate }));
    let defaults = [(SECCOMP_DEFAULT, policy.seccomp().default), (APP_ARMOR_DEFAULT, policy.app_armor().default)];
    let given = defaults.into_iter().filter(|(_, default)| default.is_some());
    fates.extend(given.map(|(field, _)| FieldMigration { field, fate: FieldOutcome::FilledIn }));
    fates
}

/// Returns the outcome of a limit kept by levels up to one, and by a policy beyond it.
fn kept_up_to(loosest: Level, level: Level, limit: impl FnOnce() -> String) -> FieldOutcome {
    if level <= loosest { FieldOutcome::KeptByLevel } else { FieldOutcome::NeedsPolicy(limit()) }
}

fn switches(spec: &Spec, level: Level) -> Vec<FieldMigration> {
    let must_be = |limited: bool, loosest: Option<Level>, value: &str| match (limited, loosest) {
        (false, _) => FieldOutcome::Unlimited,
        (true, Some(loosest)) => kept_up_to(loosest, level, || value.to_owned()),
        (true, None) => FieldOutcome::NeedsPolicy(value.to_owned()),
    };
    let baseline = Some(Level::Baseline);
    let switches = [
        ("privileged", !spec.privileged, baseline, "false"),
        ("hostNetwork", !spec.host_network, baseline, "false"),
        ("hostPID", !spec.host_pid, baseline, "false"),
        ("hostIPC", !spec.host_ipc, baseline, "false"),
        ("allowPrivilegeEscalation", !spec.allow_privilege_escalation, Some(Level::Restricted), "false"),
        ("readOnlyRootFilesystem", spec.read_only_root_filesystem, None, "true"),
    ];
    let mut fates: Vec<FieldMigration> = switches
        .map(|(field, limited, loosest, value)| FieldMigration { field, fate: must_be(limited, loosest, value) })
        .into();
    if spec.default_allow_privilege_escalation.is_some() {
        let fate = FieldOutcome::FilledIn;
        fates.push(FieldMigration { field: "defaultAllowPrivilegeEscalation", fate });
    }
    fates
}

/// Whether two lists hold the same names.
fn is_same(list: &[&str], other: &[&str]) -> bool {
    list.iter().all(|name| other.contains(name)) && other.iter().all(|name| list.contains(name))
}

fn only(names: &[&str]) -> FieldOutcome {
    FieldOutcome::NeedsPolicy(if names.is_empty() { "none".to_owned() } else { format!("only {}", names.join(", ")) })
}

fn capabilities(spec: &Spec, level: Level) -> Vec<FieldMigration> {
    let listed = entries(spec.allowed_capabilities.as_ref()).iter().chain(&spec.default_add_capabilities);
    let mut names: Vec<&str> = listed.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let by_level: Option<&[&str]> = match level {
        Level::Restricted => Some(&RESTRICTED_CAPABILITIES),
        Level::Baseline => Some(&BASELINE_CAPABILITIES),
        Level::Privileged => None,
    };
    let allowed = if names.contains(&"*") {
        FieldOutcome::Unlimited
    } else if by_level.is_some_and(|by_level| is_same(&names, by_level)) {
        FieldOutcome::KeptByLevel
    } else {
        only(&names)
    };
    let dropped: Vec<&str> = spec.required_drop_capabilities.iter().map(String::as_str).collect();
    let drops = match dropped.as_slice() {
        [] => FieldOutcome::Unlimited,
        ["ALL"] if level == Level::Restricted => FieldOutcome::KeptByLevel,
        names => FieldOutcome::NeedsPolicy(format!("drop {}", names.join(", "))),
    };
    let mut fates = vec![
        FieldMigration { field: "allowedCapabilities", fate: allowed },
        FieldMigration { field: "requiredDropCapabilities", fate: drops },
    ];
    if !spec.default_add_capabilities.is_empty() {
        let fate = FieldOutcome::FilledIn;
        fates.push(FieldMigration { field: "defaultAddCapabilities", fate });
    }
    fates
}

fn volumes(spec: &Spec, level: Level) -> Vec<FieldMigration> {
    let kinds: Vec<&str> = entries(spec.volumes.as_ref()).iter().map(String::as_str).collect();
    let fate = if kinds.contains(&"*") {
        FieldOutcome::Unlimited
    } else if level == Level::Restricted && is_same(&kinds, &RESTRICTED_VOLUMES) {
        FieldOutcome::KeptByLevel
    } else {
        only(&kinds)
    };
    let mut fates = vec![FieldMigration { field: "volumes", fate }];
    let lists: [(&'static str, &str, Vec<String>); 3] = [
        ("allowedHostPaths", "hostPath", {
            let paths = entries(spec.allowed_host_paths.as_ref()).iter();
            paths.map(|path| format!("{}{}", path.path_prefix, if path.read_only { " ro" } else { "" })).collect()
        }),
        ("allowedFlexVolumes", "flexVolume", {
            entries(spec.allowed_flex_volumes.as_ref()).iter().map(|flex| flex.driver.clone()).collect()
        }),
        ("allowedCSIDrivers", "csi", {
            entries(spec.allowed_csi_drivers.as_ref()).iter().map(|csi| csi.name.clone()).collect()
        }),
    ];
    for (field, kind, list) in lists {
        let is_on = kinds.contains(&"*") || kinds.contains(&kind);
        let fate = match (is_on, list.is_empty()) {
            (_, true) => continue,
            (false, false) => FieldOutcome::NoEffect(format!("it has no effect, as `volumes` does not allow {kind}")),
            (true, false) => FieldOutcome::NeedsPolicy(format!("only {}", list.join(", "))),
        };
        fates.push(FieldMigration { field, fate });
    }
    fates
}

fn host_ports(spec: &Spec, level: Level) -> FieldMigration {
    let ranges = entries(spec.host_ports.as_ref());
    let fate = match ranges {
        [] => kept_up_to(Level::Baseline, level, || "none".to_owned()),
        // All ports.
        ranges if ranges.iter().any(|range| range.min <= 1 && range.max >= 65535) => FieldOutcome::Unlimited,
        ranges => FieldOutcome::NeedsPolicy(format!("only {}", shown(ranges))),
    };
    FieldMigration { field: "hostPorts", fate }
}

fn se_linux(spec: &Spec) -> FieldOutcome {
    match (spec.se_linux.rule.as_str(), &spec.se_linux.se_linux_options) {
        ("RunAsAny", _) => FieldOutcome::Unlimited,
        (_, Some(options)) => {
            let parts = [&options.user, &options.role, &options.r#type, &options.level];
            FieldOutcome::NeedsPolicy(format!("the context {}", parts.map(String::as_str).join(":")))
        }
        (_, None) => FieldOutcome::Dropped("it admits no pod, as it names no context".to_owned()),
    }
}

fn users(spec: &Spec, level: Level) -> FieldOutcome {
    match spec.run_as_user.rule.as_str() {
        "MustRunAsNonRoot" => kept_up_to(Level::Restricted, level, || "not root".to_owned()),
        _ => ids(&spec.run_as_user),
    }
}

/// Returns the outcome of an id strategy: levels only exclude root.
fn ids(strategy: &IdStrategy) -> FieldOutcome {
    match strategy.rule.as_str() {
        "RunAsAny" => FieldOutcome::Unlimited,
        _ if strategy.ranges.is_empty() => FieldOutcome::Dropped("it admits no pod, as it names no range".to_owned()),
        "MayRunAs" => FieldOutcome::NeedsPolicy(format!("one of {}, or none", shown(&strategy.ranges))),
        _ => FieldOutcome::NeedsPolicy(format!("one of {}", shown(&strategy.ranges))),
    }
}

fn sysctls(spec: &Spec, level: Level) -> Vec<FieldMigration> {
    let allowed = entries(spec.allowed_unsafe_sysctls.as_ref());
    let fate = if allowed.iter().any(|name| name == "*") {
        FieldOutcome::Unlimited
    } else if allowed.is_empty() {
        kept_up_to(Level::Baseline, level, || "only safe ones".to_owned())
    } else {
        FieldOutcome::NeedsPolicy(format!("only safe ones, {}", allowed.join(", ")))
    };
    let mut fates = vec![FieldMigration { field: "allowedUnsafeSysctls", fate }];
    let forbidden = entries(spec.forbidden_sysctls.as_ref());
    if !forbidden.is_empty() {
        let fate = FieldOutcome::NeedsPolicy(format!("none of {}", forbidden.join(", ")));
        fates.push(FieldMigration { field: "forbiddenSysctls", fate });
    }
    fates
}

fn proc_mounts(spec: &Spec, level: Level) -> FieldOutcome {
    let kinds: Vec<&str> = entries(spec.allowed_proc_mount_types.as_ref()).iter().map(String::as_str).collect();
    match (kinds.contains(&"Unmasked"), kinds.is_empty() || kinds.contains(&"Default")) {
        (true, true) => FieldOutcome::Unlimited,
        (false, true) => kept_up_to(Level::Baseline, level, || "only Default".to_owned()),
        _ => only(&kinds),
    }
}

fn runtime_classes(spec: &Spec) -> Vec<FieldMigration> {
    let Some(classes) = &spec.runtime_class else { return Vec::new() };
    let names: Vec<&str> = classes.allowed_runtime_class_names.iter().map(String::as_str).collect();
    let fate = if names.contains(&"*") { FieldOutcome::Unlimited } else { only(&names) };
    let mut fates = vec![FieldMigration { field: "runtimeClass", fate }];
    if classes.default_runtime_class_name.is_some() {
        fates.push(FieldMigration { field: "defaultRuntimeClassName", fate: FieldOutcome::FilledIn });
    }
    fates
}

/// Returns the outcome of a list of seccomp profiles. A level allows the profile of the runtime and every local one; a
/// list is always stricter.
fn seccomp(profiles: &Syscalls<'_>) -> FieldOutcome {
    match profiles.allowed {
        Some(_) if profiles.names().any(|name| name == "*") => FieldOutcome::Unlimited,
        Some(list) if !list.is_empty() => FieldOutcome::NeedsPolicy(format!("only {list}")),
        Some(_) | None => FieldOutcome::NeedsPolicy("none".to_owned()),
    }
}

fn app_armor(profiles: &Syscalls<'_>) -> FieldOutcome {
    profiles.allowed.map_or(FieldOutcome::Unlimited, |list| FieldOutcome::NeedsPolicy(format!("only {list}")))
}
