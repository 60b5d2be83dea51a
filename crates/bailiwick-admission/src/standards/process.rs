//! The checks about processes: their user and their further privileges.

use std::collections::BTreeSet;

use super::checks::Finding;
use super::words::{containers, listed, setters};
use crate::pod::{Container, Pod, SecurityContext};

/// The capabilities allowed by baseline: the defaults of container runtimes.
pub(crate) const BASELINE_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The capability allowed by restricted: for low ports.
pub(crate) const RESTRICTED_CAPABILITIES: [&str; 1] = ["NET_BIND_SERVICE"];

/// The first minor with an exemption of Windows pods from checks without a meaning there.
pub(super) const WINDOWS_SINCE: u64 = 25;
/// Since when a pod with a user namespace of its own may be root in it.
pub(super) const USER_NAMESPACES_SINCE: u64 = 35;

/// Checks `privileged`: no container is.
pub(super) fn privileged(pod: &Pod, _: u64) -> Finding {
    let names = pod.container_names(|container| context(container, |context| context.privileged) == Some(true));
    let who = setters(false, &names)?;
    Some(("privileged", format!("{who} must not set securityContext.privileged=true")))
}

/// Checks `allowPrivilegeEscalation`: every container forbids it.
pub(super) fn privilege_escalation(pod: &Pod, minor: u64) -> Finding {
    if minor >= WINDOWS_SINCE && pod.is_for_windows() {
        return None;
    }
    let allows = |container: &Container| context(container, |own| own.allow_privilege_escalation) != Some(false);
    let who = setters(false, &pod.container_names(allows))?;
    let detail = format!("{who} must set securityContext.allowPrivilegeEscalation=false");
    Some(("allowPrivilegeEscalation != false", detail))
}

/// Checks `capabilities_baseline`: none beyond the default ones.
pub(super) fn added_capabilities(pod: &Pod, _: u64) -> Finding {
    added_beyond(pod, &BASELINE_CAPABILITIES).map(|detail| ("non-default capabilities", detail))
}

/// Checks `capabilities_restricted`: all are dropped, and only the capability for low ports is added.
pub(super) fn kept_capabilities(pod: &Pod, minor: u64) -> Finding {
    if minor >= WINDOWS_SINCE && pod.is_for_windows() {
        return None;
    }
    let drops_all = |own: &SecurityContext| Some(own.capabilities.as_ref()?.drop.iter().any(|name| name == "ALL"));
    let keeping = pod.container_names(|container| context(container, drops_all) != Some(true));
    let keeping =
        setters(false, &keeping).map(|who| format!("{who} must set securityContext.capabilities.drop=[\"ALL\"]"));
    let details: Vec<String> = keeping.into_iter().chain(added_beyond(pod, &RESTRICTED_CAPABILITIES)).collect();
    (!details.is_empty()).then(|| ("unrestricted capabilities", details.join("; ")))
}

fn added_beyond(pod: &Pod, allowed: &[&str]) -> Option<String> {
    let mut added = BTreeSet::new();
    let names = pod.container_names(|container| {
        let capabilities = container.security_context.iter().flat_map(|own| &own.capabilities);
        let own = capabilities.flat_map(|capabilities| &capabilities.add).map(String::as_str);
        let wrong: Vec<&str> = own.filter(|name| !allowed.contains(name)).collect();
        added.extend(wrong.iter().copied());
        !wrong.is_empty()
    });
    let who = setters(false, &names)?;
    Some(format!("{who} must not include {} in securityContext.capabilities.add", listed(added)))
}

/// Checks `runAsNonRoot`: every container sets it, or the pod does.
pub(super) fn run_as_non_root(pod: &Pod, minor: u64) -> Finding {
    const REASON: &str = "runAsNonRoot != true";
    if minor >= USER_NAMESPACES_SINCE && pod.has_user_namespace() {
        return None;
    }
    let of_pod = pod.spec.security_context.as_ref().and_then(|own| own.run_as_non_root);
    let own = |container: &Container| context(container, |own| own.run_as_non_root);
    let refusing = pod.container_names(|container| own(container) == Some(false));
    if let Some(who) = setters(of_pod == Some(false), &refusing) {
        return Some((REASON, format!("{who} must not set securityContext.runAsNonRoot=false")));
    }
    let silent = pod.container_names(|container| of_pod.is_none() && own(container).is_none());
    let detail = || format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&silent));
    (!silent.is_empty()).then(|| (REASON, detail()))
}

/// Checks `runAsUser`: no container runs as root.
pub(super) fn run_as_user(pod: &Pod, minor: u64) -> Finding {
    if minor >= USER_NAMESPACES_SINCE && pod.has_user_namespace() {
        return None;
    }
    let of_pod = pod.spec.security_context.as_ref().and_then(|own| own.run_as_user) == Some(0);
    let roots = pod.container_names(|container| context(container, |own| own.run_as_user) == Some(0));
    let who = setters(of_pod, &roots)?;
    Some(("runAsUser=0", format!("{who} must not set runAsUser=0")))
}

/// Returns a value of the security context of a container, if any.
fn context<T>(container: &Container, read: impl Fn(&SecurityContext) -> Option<T>) -> Option<T> {
    container.security_context.as_ref().and_then(read)
}
