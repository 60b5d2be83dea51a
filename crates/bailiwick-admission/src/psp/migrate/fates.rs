//! What becomes of each field of a policy at a level.

use super::{Fate, FieldFate};
use crate::level::Level;
use crate::psp::mapping::RESTRICTED_VOLUMES;
use crate::psp::{IdStrategy, PodSecurityPolicy, Spec, Syscalls, entries, shown};
use crate::standards::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES};

/// The annotation with the default seccomp profile.
pub(super) const SECCOMP_DEFAULT: &str = "seccomp.security.alpha.kubernetes.io/defaultProfileName";
/// The annotation with the default AppArmor profile.
pub(super) const APP_ARMOR_DEFAULT: &str = "apparmor.security.beta.kubernetes.io/defaultProfileName";

/// Every field that says something; a policy says something by most of what it leaves out.
pub(super) fn all(policy: &PodSecurityPolicy, level: Level) -> Vec<FieldFate> {
    let spec = &policy.spec;
    let mut fates = switches(spec, level);
    fates.extend(capabilities(spec, level));
    fates.extend(volumes(spec, level));
    fates.push(host_ports(spec, level));
    fates.push(FieldFate { field: "seLinux", fate: se_linux(spec) });
    fates.push(FieldFate { field: "runAsUser", fate: users(spec, level) });
    let groups = [
        ("runAsGroup", spec.run_as_group.as_ref()),
        ("supplementalGroups", Some(&spec.supplemental_groups)),
        ("fsGroup", Some(&spec.fs_group)),
    ];
    fates.extend(groups.map(|(field, strategy)| FieldFate { field, fate: strategy.map_or(Fate::Unlimited, ids) }));
    fates.extend(sysctls(spec, level));
    fates.push(FieldFate { field: "allowedProcMountTypes", fate: proc_mounts(spec, level) });
    fates.extend(runtime_classes(spec));
    let lists = [
        ("seccomp.security.alpha.kubernetes.io/allowedProfileNames", seccomp(&policy.seccomp())),
        ("apparmor.security.beta.kubernetes.io/allowedProfileNames", app_armor(&policy.app_armor())),
    ];
    fates.extend(lists.map(|(field, fate)| FieldFate { field, fate }));
    let defaults = [(SECCOMP_DEFAULT, policy.seccomp().default), (APP_ARMOR_DEFAULT, policy.app_armor().default)];
    let given = defaults.into_iter().filter(|(_, default)| default.is_some());
    fates.extend(given.map(|(field, _)| FieldFate { field, fate: Fate::FilledIn }));
    fates
}

/// Kept by levels up to one, and else by a policy.
fn kept_up_to(loosest: Level, level: Level, limit: impl FnOnce() -> String) -> Fate {
    if level <= loosest { Fate::KeptByLevel } else { Fate::NeedsPolicy(limit()) }
}

fn switches(spec: &Spec, level: Level) -> Vec<FieldFate> {
    let must_be = |limited: bool, loosest: Option<Level>, value: &str| match (limited, loosest) {
        (false, _) => Fate::Unlimited,
        (true, Some(loosest)) => kept_up_to(loosest, level, || value.to_owned()),
        (true, None) => Fate::NeedsPolicy(value.to_owned()),
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
    let mut fates: Vec<FieldFate> = switches
        .map(|(field, limited, loosest, value)| FieldFate { field, fate: must_be(limited, loosest, value) })
        .into();
    if spec.default_allow_privilege_escalation.is_some() {
        let fate = Fate::FilledIn;
        fates.push(FieldFate { field: "defaultAllowPrivilegeEscalation", fate });
    }
    fates
}

/// True when two lists hold the same names.
fn is_same(list: &[&str], other: &[&str]) -> bool {
    list.iter().all(|name| other.contains(name)) && other.iter().all(|name| list.contains(name))
}

fn only(names: &[&str]) -> Fate {
    Fate::NeedsPolicy(if names.is_empty() { "none".to_owned() } else { format!("only {}", names.join(", ")) })
}

fn capabilities(spec: &Spec, level: Level) -> Vec<FieldFate> {
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
        Fate::Unlimited
    } else if by_level.is_some_and(|by_level| is_same(&names, by_level)) {
        Fate::KeptByLevel
    } else {
        only(&names)
    };
    let dropped: Vec<&str> = spec.required_drop_capabilities.iter().map(String::as_str).collect();
    let drops = match dropped.as_slice() {
        [] => Fate::Unlimited,
        ["ALL"] if level == Level::Restricted => Fate::KeptByLevel,
        names => Fate::NeedsPolicy(format!("drop {}", names.join(", "))),
    };
    let mut fates = vec![
        FieldFate { field: "allowedCapabilities", fate: allowed },
        FieldFate { field: "requiredDropCapabilities", fate: drops },
    ];
    if !spec.default_add_capabilities.is_empty() {
        let fate = Fate::FilledIn;
        fates.push(FieldFate { field: "defaultAddCapabilities", fate });
    }
    fates
}

fn volumes(spec: &Spec, level: Level) -> Vec<FieldFate> {
    let kinds: Vec<&str> = entries(spec.volumes.as_ref()).iter().map(String::as_str).collect();
    let fate = if kinds.contains(&"*") {
        Fate::Unlimited
    } else if level == Level::Restricted && is_same(&kinds, &RESTRICTED_VOLUMES) {
        Fate::KeptByLevel
    } else {
        only(&kinds)
    };
    let mut fates = vec![FieldFate { field: "volumes", fate }];
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
            (false, false) => Fate::NoEffect(format!("it has no effect, as `volumes` does not allow {kind}")),
            (true, false) => Fate::NeedsPolicy(format!("only {}", list.join(", "))),
        };
        fates.push(FieldFate { field, fate });
    }
    fates
}

fn host_ports(spec: &Spec, level: Level) -> FieldFate {
    let ranges = entries(spec.host_ports.as_ref());
    let fate = match ranges {
        [] => kept_up_to(Level::Baseline, level, || "none".to_owned()),
        // The ports that there are.
        ranges if ranges.iter().any(|range| range.min <= 1 && range.max >= 65535) => Fate::Unlimited,
        ranges => Fate::NeedsPolicy(format!("only {}", shown(ranges))),
    };
    FieldFate { field: "hostPorts", fate }
}

fn se_linux(spec: &Spec) -> Fate {
    match (spec.se_linux.rule.as_str(), &spec.se_linux.se_linux_options) {
        ("RunAsAny", _) => Fate::Unlimited,
        (_, Some(options)) => {
            let parts = [&options.user, &options.role, &options.r#type, &options.level];
            Fate::NeedsPolicy(format!("the context {}", parts.map(String::as_str).join(":")))
        }
        (_, None) => Fate::Dropped("it admits no pod, as it names no context".to_owned()),
    }
}

fn users(spec: &Spec, level: Level) -> Fate {
    match spec.run_as_user.rule.as_str() {
        "MustRunAsNonRoot" => kept_up_to(Level::Restricted, level, || "not root".to_owned()),
        _ => ids(&spec.run_as_user),
    }
}

/// No level looks at ids, other than that of root.
fn ids(strategy: &IdStrategy) -> Fate {
    match strategy.rule.as_str() {
        "RunAsAny" => Fate::Unlimited,
        _ if strategy.ranges.is_empty() => Fate::Dropped("it admits no pod, as it names no range".to_owned()),
        "MayRunAs" => Fate::NeedsPolicy(format!("one of {}, or none", shown(&strategy.ranges))),
        _ => Fate::NeedsPolicy(format!("one of {}", shown(&strategy.ranges))),
    }
}

fn sysctls(spec: &Spec, level: Level) -> Vec<FieldFate> {
    let allowed = entries(spec.allowed_unsafe_sysctls.as_ref());
    let fate = if allowed.iter().any(|name| name == "*") {
        Fate::Unlimited
    } else if allowed.is_empty() {
        kept_up_to(Level::Baseline, level, || "only safe ones".to_owned())
    } else {
        Fate::NeedsPolicy(format!("only safe ones, {}", allowed.join(", ")))
    };
    let mut fates = vec![FieldFate { field: "allowedUnsafeSysctls", fate }];
    let forbidden = entries(spec.forbidden_sysctls.as_ref());
    if !forbidden.is_empty() {
        let fate = Fate::NeedsPolicy(format!("none of {}", forbidden.join(", ")));
        fates.push(FieldFate { field: "forbiddenSysctls", fate });
    }
    fates
}

fn proc_mounts(spec: &Spec, level: Level) -> Fate {
    let kinds: Vec<&str> = entries(spec.allowed_proc_mount_types.as_ref()).iter().map(String::as_str).collect();
    match (kinds.contains(&"Unmasked"), kinds.is_empty() || kinds.contains(&"Default")) {
        (true, true) => Fate::Unlimited,
        (false, true) => kept_up_to(Level::Baseline, level, || "only Default".to_owned()),
        _ => only(&kinds),
    }
}

fn runtime_classes(spec: &Spec) -> Vec<FieldFate> {
    let Some(classes) = &spec.runtime_class else { return Vec::new() };
    let names: Vec<&str> = classes.allowed_runtime_class_names.iter().map(String::as_str).collect();
    let fate = if names.contains(&"*") { Fate::Unlimited } else { only(&names) };
    let mut fates = vec![FieldFate { field: "runtimeClass", fate }];
    if classes.default_runtime_class_name.is_some() {
        fates.push(FieldFate { field: "defaultRuntimeClassName", fate: Fate::FilledIn });
    }
    fates
}

/// A level takes the profile of the runtime and every one of the node, so that a list always says more than it.
fn seccomp(profiles: &Syscalls<'_>) -> Fate {
    match profiles.allowed {
        Some(_) if profiles.names().any(|name| name == "*") => Fate::Unlimited,
        Some(list) if !list.is_empty() => Fate::NeedsPolicy(format!("only {list}")),
        Some(_) | None => Fate::NeedsPolicy("none".to_owned()),
    }
}

fn app_armor(profiles: &Syscalls<'_>) -> Fate {
    profiles.allowed.map_or(Fate::Unlimited, |list| Fate::NeedsPolicy(format!("only {list}")))
}
