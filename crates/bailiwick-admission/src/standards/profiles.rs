//! The checks about confinement: AppArmor, seccomp, SELinux, and the masks over /proc.

use std::collections::BTreeSet;

use super::checks::Finding;
use super::process::{USER_NAMESPACES_SINCE, WINDOWS_SINCE};
use super::words::{containers, listed, plural, quoted, setters};
use crate::pod::{Pod, SeLinuxOptions, SyscallProfile};

/// Prefix of the annotations with AppArmor profiles; the name of a container follows.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The annotation with the seccomp profile of a pod, before there was a field.
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// Prefix of the annotations for containers.
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// Since when there is a field for it.
const SECCOMP_FIELD_SINCE: u64 = 19;

/// The SELinux types allowed to a pod, each with the first minor; the empty type is the default.
const SE_LINUX_TYPES: [(u64, &str); 5] =
    [(0, ""), (0, "container_t"), (0, "container_init_t"), (0, "container_kvm_t"), (31, "container_engine_t")];

/// Whether the checks of a minor let a pod set a SELinux type.
pub(crate) fn allows_se_linux_type(name: &str, minor: u64) -> bool {
    se_linux_types(minor).any(|allowed| allowed == name)
}

/// Iterates over the SELinux types that the checks of a minor let a pod set.
fn se_linux_types(minor: u64) -> impl Iterator<Item = &'static str> {
    SE_LINUX_TYPES.iter().filter(move |(since, _)| *since <= minor).map(|(_, allowed)| *allowed)
}

/// Checks `appArmorProfile`: fields and annotations keep the default or name a local profile.
pub(super) fn app_armor(pod: &Pod, _: u64) -> Finding {
    let (fields, wrong) = wrong_profiles(
        pod,
        pod.spec.security_context.as_ref().and_then(|own| own.app_armor_profile.as_ref()),
        pod.containers().map(|container| container.security_context.as_ref()?.app_armor_profile.as_ref()),
    );
    let is_fine = |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let annotations = pod.metadata.annotations.iter();
    let annotations = annotations.filter(|(key, value)| key.starts_with(APP_ARMOR) && !is_fine(value));
    let mut annotations: Vec<String> = annotations.map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    annotations.sort_unstable();
    let word = || plural(annotations.len(), "annotation", "annotations").to_owned();
    let who: Vec<String> = fields.into_iter().chain((!annotations.is_empty()).then(word)).collect();
    if who.is_empty() {
        return None;
    }
    let values: Vec<&str> = wrong.into_iter().chain(annotations.iter().map(String::as_str)).collect();
    let reason = plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles");
    Some((reason, format!("{} must not set AppArmor profile type to {}", who.join(" and "), listed(values))))
}

/// Checks `seccompProfile_baseline`: no profile weaker than the runtime's.
pub(super) fn seccomp(pod: &Pod, minor: u64) -> Finding {
    if minor < SECCOMP_FIELD_SINCE {
        return seccomp_annotations(pod);
    }
    let (who, wrong) = wrong_profiles(pod, seccomp_of_pod(pod), seccomp_of_containers(pod));
    let detail = format!("{} must not set securityContext.seccompProfile.type to {}", who?, listed(wrong));
    Some(("seccompProfile", detail))
}

/// Checks `seccompProfile_restricted`: every container has a profile, of its own or of the pod.
pub(super) fn seccomp_for_all(pod: &Pod, minor: u64) -> Finding {
    if minor >= WINDOWS_SINCE && pod.is_for_windows() {
        return None;
    }
    if let Some(found) = seccomp(pod, minor) {
        return Some(found);
    }
    // An invalid profile of the pod was found above.
    if seccomp_of_pod(pod).is_some() {
        return None;
    }
    let without = pod.containers().zip(seccomp_of_containers(pod)).filter(|(_, profile)| profile.is_none());
    let without: Vec<&str> = without.map(|(container, _)| container.name.as_str()).collect();
    let detail = || {
        let who = containers(&without);
        format!("pod or {who} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"")
    };
    (!without.is_empty()).then(|| ("seccompProfile", detail()))
}

/// Checks the annotations from before the field existed; annotations for unknown containers have no effect.
fn seccomp_annotations(pod: &Pod) -> Finding {
    let is_fine =
        |value: &str| matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
    let keys = pod.containers().map(|container| format!("{SECCOMP_OF_CONTAINER}{}", container.name));
    let keys = std::iter::once(SECCOMP_OF_POD.to_owned()).chain(keys);
    let set = keys.filter_map(|key| Some((pod.metadata.annotations.get(&key)?, key)));
    let wrong = set.filter(|(value, _)| !is_fine(value)).map(|(value, key)| format!("{key}={}", quoted(value)));
    let wrong: Vec<String> = wrong.collect::<BTreeSet<_>>().into_iter().collect();
    let detail = || format!("forbidden {} {}", plural(wrong.len(), "annotation", "annotations"), wrong.join(", "));
    (!wrong.is_empty()).then(|| ("seccompProfile", detail()))
}

fn seccomp_of_pod(pod: &Pod) -> Option<&SyscallProfile> {
    pod.spec.security_context.as_ref()?.seccomp_profile.as_ref()
}

fn seccomp_of_containers(pod: &Pod) -> impl Iterator<Item = Option<&SyscallProfile>> {
    pod.containers().map(|container| container.security_context.as_ref()?.seccomp_profile.as_ref())
}

/// Returns the pod and the containers with a weaker profile than the runtime's, and the profiles, in order.
fn wrong_profiles<'p>(
    pod: &'p Pod,
    of_pod: Option<&'p SyscallProfile>,
    of_containers: impl Iterator<Item = Option<&'p SyscallProfile>>,
) -> (Option<String>, BTreeSet<&'p str>) {
    let wrong = |profile: Option<&'p SyscallProfile>| {
        profile.map(|profile| profile.r#type.as_str()).filter(|name| !matches!(*name, "RuntimeDefault" | "Localhost"))
    };
    let mut types: BTreeSet<&str> = wrong(of_pod).into_iter().collect();
    let is_pods_wrong = !types.is_empty();
    let mut names = Vec::new();
    for (container, profile) in pod.containers().zip(of_containers) {
        if let Some(name) = wrong(profile) {
            names.push(container.name.as_str());
            types.insert(name);
        }
    }
    (setters(is_pods_wrong, &names), types)
}

/// Checks `seLinuxOptions`: a type for containers, and neither user nor role.
pub(super) fn se_linux(pod: &Pod, minor: u64) -> Finding {
    let (mut types, mut sets_user, mut sets_role) = (BTreeSet::new(), false, false);
    let mut is_wrong = |options: &Option<SeLinuxOptions>| {
        let Some(options) = options else { return false };
        let is_type_wrong = !allows_se_linux_type(&options.r#type, minor);
        if is_type_wrong {
            types.insert(options.r#type.clone());
        }
        sets_user |= !options.user.is_empty();
        sets_role |= !options.role.is_empty();
        is_type_wrong || !options.user.is_empty() || !options.role.is_empty()
    };
    let of_pod = pod.spec.security_context.as_ref().is_some_and(|own| is_wrong(&own.se_linux_options));
    let names = pod.container_names(|container| {
        container.security_context.as_ref().is_some_and(|own| is_wrong(&own.se_linux_options))
    });
    let who = setters(of_pod, &names)?;
    let list = || format!("{} {}", plural(types.len(), "type", "types"), listed(types.iter().map(String::as_str)));
    let what = (!types.is_empty()).then(list).into_iter();
    let what = what.chain(sets_user.then(|| "user may not be set".to_owned()));
    let what: Vec<String> = what.chain(sets_role.then(|| "role may not be set".to_owned())).collect();
    Some(("seLinuxOptions", format!("{who} set forbidden securityContext.seLinuxOptions: {}", what.join("; "))))
}

/// Checks `procMount`: /proc is masked, unless the pod has a user namespace of its own.
pub(super) fn proc_mount(pod: &Pod, minor: u64) -> Finding {
    if minor >= USER_NAMESPACES_SINCE && pod.has_user_namespace() {
        return None;
    }
    proc_mount_for_all(pod, minor)
}

/// Checks `procMount_restricted`: /proc is masked.
pub(super) fn proc_mount_for_all(pod: &Pod, _: u64) -> Finding {
    let mut types = BTreeSet::new();
    let names = pod.container_names(|container| {
        let mount = container.security_context.as_ref().and_then(|own| own.proc_mount.as_deref());
        let wrong = mount.filter(|name| *name != "Default");
        types.extend(wrong);
        wrong.is_some()
    });
    let who = setters(false, &names)?;
    Some(("procMount", format!("{who} must not set securityContext.procMount to {}", listed(types))))
}
