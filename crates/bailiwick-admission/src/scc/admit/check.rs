//! Does a pod keep to constraints once they have filled it in?

use super::assign::{self, CONTAINER_SECCOMP, POD_SECCOMP, annotation};
use crate::pod::{
    Container, Pod, PodSecurityContext, Projection, ProjectionItem, ProjectionSource, SeLinuxOptions, Volume,
};
use crate::scc::semantic::SAFE_SYSCTLS;
use crate::scc::{Scc, SccIdRange};
use bailiwick_kubernetes::{absent, volumes};

/// Returns the violations of constraints by a pod, and fills in the defaults of its containers.
pub(super) fn problems(pod: &mut Pod, scc: &Scc) -> Vec<String> {
    let mut problems = Vec::new();
    let context = pod.security_context().clone();
    check_pod(pod, &context, scc, &mut problems);
    let annotations = pod.metadata.annotations.clone();
    let spec = &mut pod.spec;
    let lists = [
        ("initContainers", &mut spec.init_containers),
        ("containers", &mut spec.containers),
        ("ephemeralContainers", &mut spec.ephemeral_containers),
    ];
    for (list, containers) in lists {
        for (position, container) in containers.iter_mut().enumerate() {
            let annotated = annotations.get(&format!("{CONTAINER_SECCOMP}{}", container.name)).map(String::as_str);
            assign::container(container, &context, annotated, scc);
            let inherited = annotated.map(str::to_owned).or_else(|| match &context.seccomp_profile {
                Some(profile) => annotation(profile),
                None => annotations.get(POD_SECCOMP).cloned(),
            });
            let mut found = Vec::new();
            check_container(container, &context, inherited, scc, &mut found);
            problems.extend(found.into_iter().map(|problem| format!("{list}[{position}].{problem}")));
        }
    }
    problems
}

fn check_pod(pod: &Pod, context: &PodSecurityContext, scc: &Scc, problems: &mut Vec<String>) {
    let mut refuse = |holds: bool, problem: &str| {
        if holds {
            problems.push(problem.to_owned());
        }
    };
    refuse(pod.spec.host_pid && !scc.allow_host_pid, "hostPID is not allowed");
    refuse(pod.spec.host_network && !scc.allow_host_network, "hostNetwork is not allowed");
    refuse(pod.spec.host_ipc && !scc.allow_host_ipc, "hostIPC is not allowed");
    refuse(scc.requires_user_namespace() && pod.spec.host_users != Some(false), "hostUsers has to be false");
    let fs_groups: Vec<i64> = context.fs_group.into_iter().collect();
    refuse(!groups_fit(&scc.fs_group.r#type, &scc.fs_group.ranges, &fs_groups), "fsGroup is outside the ranges");
    let groups = absent::list(context.supplemental_groups.as_ref());
    let strategy = &scc.supplemental_groups;
    refuse(!groups_fit(&strategy.r#type, &strategy.ranges, groups), "supplementalGroups are outside the ranges");
    refuse(!se_linux_fits(context.se_linux_options.as_ref(), scc), "seLinuxOptions differ from the required options");
    let annotated = pod.metadata.annotations.get(POD_SECCOMP).filter(|profile| !profile.is_empty()).cloned();
    let profile = annotated.or_else(|| context.seccomp_profile.as_ref().and_then(annotation));
    refuse(!seccomp_fits(absent::text(profile.as_deref()), scc), "seccompProfile is not allowed");
    for sysctl in &context.sysctls {
        refuse(!sysctl_fits(&sysctl.name, scc), &format!("sysctl {} is not allowed", sysctl.name));
    }
    for volume in &pod.spec.volumes {
        check_volume(volume, scc, problems);
    }
}

fn check_container(
    container: &Container,
    pod: &PodSecurityContext,
    inherited: Option<String>,
    scc: &Scc,
    problems: &mut Vec<String>,
) {
    let context = container.security_context();
    let mut refuse = |holds: bool, problem: &str| {
        if holds {
            problems.push(problem.to_owned());
        }
    };
    refuse(context.privileged == Some(true) && !scc.allow_privileged_container, "privileged is not allowed");
    let is_writable = context.read_only_root_filesystem != Some(true);
    refuse(scc.read_only_root_filesystem && is_writable, "readOnlyRootFilesystem has to be true");
    let escalates = context.allow_privilege_escalation != Some(false);
    refuse(scc.allow_privilege_escalation == Some(false) && escalates, "allowPrivilegeEscalation has to be false");
    let user = context.run_as_user.or(pod.run_as_user);
    let non_root = context.run_as_non_root.or(pod.run_as_non_root);
    refuse(!user_fits(user, non_root, scc), "runAsUser is not allowed");
    let options = context.se_linux_options.as_ref().or(pod.se_linux_options.as_ref());
    refuse(!se_linux_fits(options, scc), "seLinuxOptions differ from the required options");
    match &context.capabilities {
        None => {
            let wants = !scc.default_add_capabilities.is_empty() || !scc.required_drop_capabilities.is_empty();
            refuse(wants, "capabilities are required");
        }
        Some(_) if scc.allowed_capabilities.iter().any(|name| name == "*") => {}
        Some(own) => {
            let is_allowed =
                |name: &String| scc.allowed_capabilities.contains(name) || scc.default_add_capabilities.contains(name);
            for name in own.add.iter().filter(|name| !is_allowed(name)) {
                refuse(true, &format!("capability {name} is not allowed"));
            }
            for name in scc.required_drop_capabilities.iter().filter(|name| !own.drop.contains(name)) {
                refuse(true, &format!("capability {name} has to be dropped"));
            }
        }
    }
    let profile = match &context.seccomp_profile {
        Some(profile) => annotation(profile),
        None => inherited,
    };
    refuse(!seccomp_fits(absent::text(profile.as_deref()), scc), "seccompProfile is not allowed");
    let has_host_ports = container.ports.iter().any(|port| port.host_port > 0);
    refuse(has_host_ports && !scc.allow_host_ports, "hostPort is not allowed");
}

fn user_fits(user: Option<i64>, non_root: Option<bool>, scc: &Scc) -> bool {
    let strategy = &scc.run_as_user;
    match strategy.r#type.as_str() {
        "MustRunAs" => user.is_some() && user == strategy.uid,
        "MustRunAsRange" => {
            user.is_some_and(|user| Some(user) >= strategy.uid_range_min && strategy.uid_range_max >= Some(user))
        }
        "MustRunAsNonRoot" => (non_root.is_some() || user.is_some()) && non_root != Some(false) && user != Some(0),
        _ => true,
    }
}

fn groups_fit(strategy: &str, ranges: &[SccIdRange], groups: &[i64]) -> bool {
    let is_within = |group: &i64| ranges.iter().any(|range| (range.min..=range.max).contains(group));
    strategy != "MustRunAs" || !groups.is_empty() && groups.iter().all(is_within)
}

fn se_linux_fits(options: Option<&SeLinuxOptions>, scc: &Scc) -> bool {
    if scc.se_linux_context.r#type != "MustRunAs" {
        return true;
    }
    match (options, &scc.se_linux_context.se_linux_options) {
        (Some(own), Some(wanted)) => {
            own.user == wanted.user
                && own.role == wanted.role
                && own.r#type == wanted.r#type
                && levels_are_equal(&own.level, &wanted.level)
        }
        _ => false,
    }
}

/// Whether two levels are equal, with categories in any order.
fn levels_are_equal(left: &str, right: &str) -> bool {
    let parts = |level: &str| {
        let (sensitivity, categories) = level.split_once(':')?;
        let mut categories: Vec<String> = categories.split(',').map(str::to_owned).collect();
        categories.sort_unstable();
        Some((sensitivity.to_owned(), categories))
    };
    left == right || parts(left).is_some_and(|left| parts(right) == Some(left))
}

/// Returns whether a list allows a profile; the two names of the runtime's profile are equal. A list without entries allows no profile but the absent
/// one.
fn seccomp_fits(profile: &str, scc: &Scc) -> bool {
    let is_runtime = |name: &str| matches!(name, "runtime/default" | "docker/default");
    let profiles = &scc.seccomp_profiles;
    profiles.iter().any(|known| known == "*" || known == profile || is_runtime(known) && is_runtime(profile))
        || profiles.is_empty() && profile.is_empty()
}

fn sysctl_fits(name: &str, scc: &Scc) -> bool {
    let matches = |patterns: &[String]| {
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        })
    };
    !matches(&scc.forbidden_sysctls) && (SAFE_SYSCTLS.contains(&name) || matches(&scc.allowed_unsafe_sysctls))
}

fn check_volume(volume: &Volume, scc: &Scc, problems: &mut Vec<String>) {
    let allows = |name: &str| scc.volumes().iter().any(|known| known == name || known == "*");
    for (field, source) in &volume.sources {
        let kind = kind_of_volume(field);
        let is_token = kind == "projected" && source.sources.iter().all(is_token_part);
        let is_allowed = allows(kind) || is_token && allows("secret");
        if !is_allowed {
            problems.push(format!("volume {} is of the kind {kind}, which is not allowed", volume.name));
        }
        let driver = absent::text(source.driver.as_deref());
        let is_limited = kind == "flexVolume" && !scc.allowed_flex_volumes.is_empty() && allows(kind);
        if is_limited && !scc.allowed_flex_volumes.iter().any(|allowed| allowed.driver == driver) {
            problems.push(format!("volume {} has a driver that is not allowed", volume.name));
        }
    }
}

/// Whether this is a part of the token volume of every pod (`securitycontextconstraints/util` of
/// openshift/apiserver-library-go).
fn is_token_part(part: &Projection) -> bool {
    let kind = |name: &str| part.kinds.get(name);
    let (token, config_map, downward) = (kind("serviceAccountToken"), kind("configMap"), kind("downwardAPI"));
    if token.is_none() && config_map.is_none() && downward.is_none() {
        return false;
    }
    let is_certificate = |map: &ProjectionSource| {
        let file = match map.name.as_str() {
            "kube-root-ca.crt" => "ca.crt",
            "openshift-service-ca.crt" => "service-ca.crt",
            _ => return false,
        };
        matches!(map.items.as_slice(), [item] if item.key == file && item.path == file)
    };
    let is_namespace = |item: &ProjectionItem| {
        item.path == "namespace"
            && item.field_ref.as_ref().is_some_and(|field| {
                matches!(field.api_version.as_str(), "" | "v1") && field.field_path == "metadata.namespace"
            })
    };
    token.is_none_or(|token| token.path == "token" && token.audience.is_empty())
        && config_map.is_none_or(is_certificate)
        && downward.is_none_or(|downward| downward.items.iter().all(is_namespace))
}

/// Returns the name in constraints of a volume field.
fn kind_of_volume(field: &str) -> &str {
    volumes::find(field).map_or(field, |kind| kind.constraints)
}
