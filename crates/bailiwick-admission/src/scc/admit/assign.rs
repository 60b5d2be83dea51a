//! The defaults of constraints for a pod.

use std::collections::BTreeSet;

use crate::pod::{Capabilities, Container, Pod, PodSecurityContext, SecurityContext, SyscallProfile};
use crate::scc::Scc;

/// The annotation with the seccomp profile of a pod, from before there was a field.
pub(super) const POD_SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// Prefix of the annotation with the seccomp profile of a container.
pub(super) const CONTAINER_SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Fills in the pod; its containers follow one by one, see [`container`].
pub(super) fn pod(pod: &mut Pod, scc: &Scc) {
    let context = pod.spec.security_context.get_or_insert_default();
    if scc.se_linux_context.r#type == "MustRunAs" && context.se_linux_options.is_none() {
        context.se_linux_options.clone_from(&scc.se_linux_context.se_linux_options);
    }
    if scc.fs_group.r#type == "MustRunAs" && context.fs_group.is_none() {
        context.fs_group = scc.fs_group.ranges.first().map(|range| range.min);
    }
    if scc.supplemental_groups.r#type == "MustRunAs" && context.supplemental_groups.is_none() {
        context.supplemental_groups = scc.supplemental_groups.ranges.first().map(|range| vec![range.min]);
    }
    let annotated = pod.metadata.annotations.get(POD_SECCOMP).filter(|profile| !profile.is_empty()).cloned();
    let profile = match &context.seccomp_profile {
        Some(profile) => annotation(profile),
        None => annotated.or_else(|| scc.seccomp_profiles.iter().find(|profile| *profile != "*").cloned()),
    };
    if let Some(profile) = profile {
        context.seccomp_profile = field(&profile);
        pod.metadata.annotations.insert(POD_SECCOMP.to_owned(), profile);
    }
}

/// Fills in a container; true values of the pod apply to a container without the setting.
pub(super) fn container(container: &mut Container, pod: &PodSecurityContext, annotated: Option<&str>, scc: &Scc) {
    let context = container.security_context.get_or_insert_default();
    let user = context.run_as_user.or(pod.run_as_user);
    if user.is_none() {
        context.run_as_user = match scc.run_as_user.r#type.as_str() {
            "MustRunAs" => scc.run_as_user.uid,
            "MustRunAsRange" => scc.run_as_user.uid_range_min,
            _ => None,
        };
    }
    if scc.se_linux_context.r#type == "MustRunAs"
        && context.se_linux_options.is_none()
        && pod.se_linux_options.is_none()
    {
        context.se_linux_options.clone_from(&scc.se_linux_context.se_linux_options);
    }
    capabilities(context, scc);
    if context.run_as_non_root.or(pod.run_as_non_root).is_none() {
        let is_non_root = match context.run_as_user.or(pod.run_as_user) {
            None => scc.run_as_user.r#type == "MustRunAsNonRoot",
            Some(user) => user > 0,
        };
        if is_non_root {
            context.run_as_non_root = Some(true);
        }
    }
    if scc.read_only_root_filesystem {
        context.read_only_root_filesystem.get_or_insert(true);
    }
    let is_privileged = context.privileged == Some(true);
    let adds = |name: &str| context.capabilities.as_ref().is_some_and(|own| own.add.iter().any(|own| own == name));
    let administers = adds("CAP_SYS_ADMIN");
    if let Some(profile) = annotated {
        context.seccomp_profile = field(profile);
    }
    if context.allow_privilege_escalation.is_none() && !is_privileged && !administers {
        context.allow_privilege_escalation = scc.default_allow_privilege_escalation;
    }
    if scc.allow_privilege_escalation == Some(false) {
        context.allow_privilege_escalation.get_or_insert(false);
    }
}

/// Adds default capabilities unless dropped, and drops required ones. Lists without a change stay as they are.
fn capabilities(context: &mut SecurityContext, scc: &Scc) {
    let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<String>>();
    let (added, dropped) = match &context.capabilities {
        Some(own) => (set(&own.add), set(&own.drop)),
        None => (BTreeSet::new(), BTreeSet::new()),
    };
    let by_default: BTreeSet<String> = set(&scc.default_add_capabilities).difference(&dropped).cloned().collect();
    let add: BTreeSet<String> = added.union(&by_default).cloned().collect();
    let drop: BTreeSet<String> = dropped.union(&set(&scc.required_drop_capabilities)).cloned().collect();
    if add.len() > added.len() || drop.len() > dropped.len() {
        context.capabilities = Some(Capabilities { add: add.into_iter().collect(), drop: drop.into_iter().collect() });
    }
}

/// Returns a profile in the form of the annotation; none for an empty profile.
pub(super) fn annotation(profile: &SyscallProfile) -> Option<String> {
    match (profile.r#type.as_str(), &profile.localhost_profile) {
        ("Unconfined", _) => Some("unconfined".to_owned()),
        ("RuntimeDefault", _) => Some("runtime/default".to_owned()),
        ("Localhost", Some(file)) => Some(format!("localhost/{file}")),
        _ => None,
    }
}

/// Returns a profile of an annotation in the form of the field; none for a profile without such a form.
fn field(annotation: &str) -> Option<SyscallProfile> {
    let of_type = |name: &str| SyscallProfile { r#type: name.to_owned(), localhost_profile: None };
    match annotation {
        "unconfined" => Some(of_type("Unconfined")),
        "runtime/default" | "docker/default" => Some(of_type("RuntimeDefault")),
        _ => {
            let file = annotation.strip_prefix("localhost/").filter(|file| !file.is_empty())?;
            Some(SyscallProfile { r#type: "Localhost".to_owned(), localhost_profile: Some(file.to_owned()) })
        }
    }
}
