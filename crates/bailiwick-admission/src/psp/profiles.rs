//! Seccomp and AppArmor profiles: in the annotations of policies and pods, and for seccomp in the fields of pods.

use std::collections::BTreeSet;

use super::PodSecurityPolicy;
use super::strategies::Report;
use crate::pod::{Container, Pod, SyscallProfile};
use bailiwick_kubernetes::absent;

/// The annotation of a pod with the seccomp profile of all its containers.
pub(super) const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The start of the annotation of a pod with the seccomp profile of one container.
pub(super) const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The start of the annotation of a pod with the AppArmor profile of one container.
pub(super) const APP_ARMOR_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether an annotation of a pod has a seccomp or AppArmor profile.
pub(super) fn is_profile_annotation(key: &str) -> bool {
    key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) || key.starts_with(APP_ARMOR_CONTAINER)
}

/// The profiles of one kind in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syscalls<'p> {
    /// The list as written: names between commas. None for an absent annotation.
    pub allowed: Option<&'p str>,
    /// Profile for pods without one.
    pub default: Option<&'p str>,
}

impl PodSecurityPolicy {
    /// Returns the seccomp profiles.
    pub fn seccomp(&self) -> Syscalls<'_> {
        self.syscalls("seccomp.security.alpha.kubernetes.io")
    }

    /// Returns the AppArmor profiles.
    pub fn app_armor(&self) -> Syscalls<'_> {
        self.syscalls("apparmor.security.beta.kubernetes.io")
    }

    fn syscalls(&self, prefix: &str) -> Syscalls<'_> {
        let annotation = |name: &str| self.metadata.annotations.get(&format!("{prefix}/{name}")).map(String::as_str);
        // An empty default is none.
        let default = annotation("defaultProfileName").filter(|name| !name.is_empty());
        Syscalls { allowed: annotation("allowedProfileNames"), default }
    }
}

impl<'p> Syscalls<'p> {
    /// Returns the names of the list, the empty ones included.
    pub fn names(&self) -> impl Iterator<Item = &'p str> {
        self.allowed.into_iter().flat_map(|list| list.split(','))
    }
}

/// The seccomp profiles allowed by a policy.
#[derive(Debug, Clone)]
pub(super) struct Seccomp<'p> {
    names: BTreeSet<&'p str>,
    allows_any: bool,
    profiles: Syscalls<'p>,
}

impl<'p> Seccomp<'p> {
    /// Returns the profiles of a policy. Docker's default and the runtime's default are one profile with two names.
    pub(super) fn new(profiles: Syscalls<'p>) -> Self {
        let mut names: BTreeSet<&str> = profiles.names().filter(|name| *name != "*").collect();
        if names.contains("docker/default") || names.contains("runtime/default") {
            names.extend(["docker/default", "runtime/default"]);
        }
        let allows_any = profiles.names().any(|name| name == "*");
        Self { names, allows_any, profiles }
    }

    /// Fills in the annotation of a pod: from its field, or else the default.
    pub(super) fn fill(&self, pod: &mut Pod) {
        if pod.metadata.annotations.get(SECCOMP_POD).is_some_and(|name| !name.is_empty()) {
            return;
        }
        let field = pod.spec.security_context.as_ref().and_then(|context| context.seccomp_profile.as_ref());
        let profile = match field {
            Some(field) => annotation_of(field),
            None => absent::text(self.profiles.default).to_owned(),
        };
        if !profile.is_empty() {
            pod.metadata.annotations.insert(SECCOMP_POD.to_owned(), profile);
        }
    }

    /// Checks the profile of the pod.
    pub(super) fn check_pod(&self, pod: &Pod, report: &mut Report) {
        let field = || pod.spec.security_context.as_ref()?.seccomp_profile.as_ref().map(annotation_of);
        let own = pod.metadata.annotations.get(SECCOMP_POD).filter(|name| !name.is_empty()).cloned();
        self.check(SECCOMP_POD, absent::text(own.or_else(field).as_deref()), report);
    }

    /// Checks the profile of a container: its own, or else the profile of the pod. Fields come before annotations.
    pub(super) fn check_container(&self, pod: &Pod, container: &Container, report: &mut Report) {
        let key = format!("{SECCOMP_CONTAINER}{}", container.name);
        let field = || container.security_context.as_ref()?.seccomp_profile.as_ref().map(annotation_of);
        let pod_field = || pod.spec.security_context.as_ref()?.seccomp_profile.as_ref().map(annotation_of);
        let annotation = |key: &str| pod.metadata.annotations.get(key).cloned();
        let profile = field().or_else(|| annotation(&key)).or_else(pod_field).or_else(|| annotation(SECCOMP_POD));
        self.check(&key, absent::text(profile.as_deref()), report);
    }

    fn check(&self, key: &str, profile: &str, report: &mut Report) {
        let field = || format!("pod.metadata.annotations[{key}]");
        // A policy without names accepts only pods without a profile.
        if self.allows_any || self.names.contains(profile) || (self.names.is_empty() && profile.is_empty()) {
            return;
        }
        let message = match (self.names.is_empty(), profile.is_empty()) {
            (true, _) => format!("the seccomp profile `{profile}` is set, and the policy lets no pod set one"),
            (false, true) => format!("no seccomp profile is set, and one of `{}` has to be", self.list()),
            (false, false) => format!("the seccomp profile `{profile}` is not one of `{}`", self.list()),
        };
        report.add(field(), message);
    }

    fn list(&self) -> &str {
        absent::text(self.profiles.allowed)
    }
}

/// Fills in the AppArmor annotation of a container.
pub(super) fn fill_app_armor(profiles: &Syscalls<'_>, pod: &mut Pod, container: &str) {
    let key = format!("{APP_ARMOR_CONTAINER}{container}");
    let is_given = pod.metadata.annotations.get(&key).is_some_and(|name| !name.is_empty());
    if let Some(default) = profiles.default.filter(|_| !is_given) {
        pod.metadata.annotations.insert(key, default.to_owned());
    }
}

/// Checks the AppArmor profile of a container. An empty entry of the list allows nothing: a list makes a profile
/// mandatory.
pub(super) fn check_app_armor(profiles: &Syscalls<'_>, pod: &Pod, container: &str, report: &mut Report) {
    let Some(list) = profiles.allowed else { return };
    let key = format!("{APP_ARMOR_CONTAINER}{container}");
    let profile = absent::text(pod.metadata.annotations.get(&key).map(String::as_str));
    if profile.is_empty() {
        let message = format!("no AppArmor profile is set, and one of `{list}` has to be");
        report.add(format!("pod.metadata.annotations[{key}]"), message);
    } else if !profiles.names().any(|name| name == profile) {
        let message = format!("the AppArmor profile `{profile}` is not one of `{list}`");
        report.add(format!("pod.metadata.annotations[{key}]"), message);
    }
}

/// Synchronises the seccomp annotations and fields of a new pod, as the strategy of pods does
/// (`pkg/registry/core/pod/strategy.go`, `applySeccompVersionSkew`): a missing one is derived from the other.
///
/// The API server does this after mutating admission, before it validates the pod and calls the validating plugins
/// (`apiserver/pkg/endpoints/handlers/create.go`, `registry/rest/create.go`). A policy first gets the pod without it,
/// and every policy mutates a pod with a profile in the field alone.
pub fn synchronise(pod: &mut Pod) {
    let annotations = &mut pod.metadata.annotations;
    let field = pod.spec.security_context.as_ref().and_then(|context| context.seccomp_profile.clone());
    match (field, annotations.get(SECCOMP_POD)) {
        (Some(field), None) => insert(annotations, SECCOMP_POD, annotation_of(&field)),
        (None, Some(annotation)) => {
            if let Some(field) = field_of(annotation) {
                pod.spec.security_context.get_or_insert_default().seccomp_profile = Some(field);
            }
        }
        _ => {}
    }
    let spec = &mut pod.spec;
    let containers = spec.init_containers.iter_mut().chain(&mut spec.containers).chain(&mut spec.ephemeral_containers);
    for container in containers {
        let key = format!("{SECCOMP_CONTAINER}{}", container.name);
        let field = container.security_context.as_ref().and_then(|context| context.seccomp_profile.clone());
        match (field, annotations.get(&key)) {
            (Some(field), None) => insert(annotations, &key, annotation_of(&field)),
            (None, Some(annotation)) => {
                if let Some(field) = field_of(annotation) {
                    container.security_context.get_or_insert_default().seccomp_profile = Some(field);
                }
            }
            _ => {}
        }
    }
}

fn insert(annotations: &mut std::collections::BTreeMap<String, String>, key: &str, profile: String) {
    if !profile.is_empty() {
        annotations.insert(key.to_owned(), profile);
    }
}

/// Returns a profile in the form of annotations; empty for a profile without such a form.
pub(super) fn annotation_of(field: &SyscallProfile) -> String {
    match (field.r#type.as_str(), &field.localhost_profile) {
        ("Unconfined", _) => "unconfined".to_owned(),
        ("RuntimeDefault", _) => "runtime/default".to_owned(),
        ("Localhost", Some(path)) => format!("localhost/{path}"),
        _ => String::new(),
    }
}

fn field_of(annotation: &str) -> Option<SyscallProfile> {
    let plain = |name: &str| Some(SyscallProfile { r#type: name.to_owned(), localhost_profile: None });
    match annotation {
        "unconfined" => plain("Unconfined"),
        "runtime/default" | "docker/default" => plain("RuntimeDefault"),
        other => other
            .strip_prefix("localhost/")
            .filter(|path| !path.is_empty())
            .map(|path| SyscallProfile { r#type: "Localhost".to_owned(), localhost_profile: Some(path.to_owned()) }),
    }
}
