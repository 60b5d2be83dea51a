//! The parts of the API's own validation of pods with an effect on policies.
//!
//! A policy compares host paths as text, with no regard to `..`; the API server rejects such a pod later. It also
//! rejects profiles with a conflict between annotation and field, and a privileged container without privilege
//! escalation as a result of defaults (`pkg/apis/core/validation/validation.go` of 1.24; the other rules are left
//! out).

use super::admit::containers;
use super::profiles::{APP_ARMOR_CONTAINER, SECCOMP_CONTAINER, SECCOMP_POD, annotation_of};
use super::strategies::Report;
use super::{LAST_ID, PspViolation, entries};
use crate::pod::{Pod, SecurityContext, SyscallProfile};
use bailiwick_kubernetes::absent;

/// Returns the errors of an invalid pod, in fields read by policies.
pub fn problems(pod: &Pod) -> Vec<PspViolation> {
    let mut report = Report { violations: Vec::new() };
    check_annotations(pod, &mut report);
    check_volumes(pod, &mut report);
    check_pod_context(pod, &mut report);
    for (place, container) in containers(pod) {
        let Some(context) = &container.security_context else { continue };
        let place = format!("{place}.securityContext");
        check_context(context, &place, &mut report);
        let annotation = pod.metadata.annotations.get(&format!("{SECCOMP_CONTAINER}{}", container.name));
        check_profile(context.seccomp_profile.as_ref(), annotation, &place, &mut report);
    }
    report.violations
}

/// Returns the errors of a new pod, without ephemeral containers.
///
/// Ephemeral containers are added by a subresource without policy checks: a policy checks them at the next change of
/// the pod itself.
pub fn of_new(pod: &Pod) -> Vec<PspViolation> {
    let mut found = problems(pod);
    if !pod.spec.ephemeral_containers.is_empty() {
        let message = "a new pod has no ephemeral containers".to_owned();
        found.push(PspViolation { field: "spec.ephemeralContainers".to_owned(), message });
    }
    found
}

fn check_annotations(pod: &Pod, report: &mut Report) {
    for (key, value) in &pod.metadata.annotations {
        let is_valid = if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            is_seccomp(value)
        } else if let Some(container) = key.strip_prefix(APP_ARMOR_CONTAINER) {
            if !containers(pod).any(|(_, found)| found.name == container) {
                report.add(format!("metadata.annotations[{key}]"), format!("there is no container `{container}`"));
            }
            matches!(value.as_str(), "" | "runtime/default" | "unconfined") || value.starts_with("localhost/")
        } else {
            true
        };
        if !is_valid {
            report.add(format!("metadata.annotations[{key}]"), format!("`{value}` is not a profile"));
        }
    }
}

fn is_seccomp(profile: &str) -> bool {
    matches!(profile, "runtime/default" | "docker/default" | "unconfined")
        || profile.strip_prefix("localhost/").is_some_and(is_descending)
}

/// Whether this is a path without a step upwards.
fn is_descending(path: &str) -> bool {
    !path.starts_with('/') && !has_backstep(path)
}

fn has_backstep(path: &str) -> bool {
    path.split('/').any(|step| step == "..")
}

fn check_volumes(pod: &Pod, report: &mut Report) {
    for (index, volume) in pod.spec.volumes.iter().enumerate() {
        let Some(source) = volume.sources.get("hostPath") else { continue };
        let field = format!("spec.volumes[{index}].hostPath.path");
        match absent::text(source.path.as_deref()) {
            "" => report.add(field, "hostPath.path is missing"),
            path if has_backstep(path) => report.add(field, format!("hostPath.path must not contain ..: `{path}`")),
            _ => {}
        }
    }
}

fn check_pod_context(pod: &Pod, report: &mut Report) {
    let Some(context) = &pod.spec.security_context else { return };
    let place = "spec.securityContext";
    for (field, id) in
        [("runAsUser", context.run_as_user), ("runAsGroup", context.run_as_group), ("fsGroup", context.fs_group)]
    {
        check_id(id, &format!("{place}.{field}"), report);
    }
    for (index, &group) in entries(context.supplemental_groups.as_ref()).iter().enumerate() {
        check_id(Some(group), &format!("{place}.supplementalGroups[{index}]"), report);
    }
    let annotation = pod.metadata.annotations.get(SECCOMP_POD);
    check_profile(context.seccomp_profile.as_ref(), annotation, place, report);
}

fn check_context(context: &SecurityContext, place: &str, report: &mut Report) {
    check_id(context.run_as_user, &format!("{place}.runAsUser"), report);
    check_id(context.run_as_group, &format!("{place}.runAsGroup"), report);
    if context.allow_privilege_escalation == Some(false) {
        if context.privileged == Some(true) {
            report.add(place, "`privileged: true` and `allowPrivilegeEscalation: false` exclude each other");
        }
        let added = context.capabilities.iter().flat_map(|capabilities| &capabilities.add);
        // The API server has this one spelling.
        if added.into_iter().any(|name| name == "CAP_SYS_ADMIN") {
            report.add(place, "`CAP_SYS_ADMIN` and `allowPrivilegeEscalation: false` exclude each other");
        }
    }
}

fn check_id(id: Option<i64>, field: &str, report: &mut Report) {
    if let Some(id) = id.filter(|id| !(0..=LAST_ID).contains(id)) {
        report.add(field, format!("{id} is not between 0 and {LAST_ID}"));
    }
}

fn check_profile(profile: Option<&SyscallProfile>, annotation: Option<&String>, place: &str, report: &mut Report) {
    let Some(profile) = profile else { return };
    let field = format!("{place}.seccompProfile");
    match (profile.r#type.as_str(), &profile.localhost_profile) {
        ("Localhost", None) => report.add(format!("{field}.localhostProfile"), "a `Localhost` profile has a file"),
        ("Localhost", Some(path)) if !is_descending(path) => {
            report
                .add(format!("{field}.localhostProfile"), format!("`{path}` is not a path below the node's profiles"));
        }
        ("Unconfined" | "RuntimeDefault", Some(_)) => {
            report.add(format!("{field}.localhostProfile"), "only a `Localhost` profile has a file");
        }
        ("Localhost" | "Unconfined" | "RuntimeDefault", _) => {}
        (other, _) => report.add(format!("{field}.type"), format!("there is no type `{other}` of seccomp profiles")),
    }
    let said = annotation_of(profile);
    if let Some(annotation) = annotation {
        let is_same = *annotation == said || (annotation == "docker/default" && said == "runtime/default");
        if !is_same && !said.is_empty() {
            report.add(field, format!("the annotation has `{annotation}` and the field `{said}`"));
        }
    }
}
