//! A profile as SecurityContextConstraints of OpenShift.
//!
//! They have fewer fields than a profile. A limit without a field is in a policy beside them, or rejected, never dropped.

use bailiwick_admission::scc::release::Release;
use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use serde::Serialize;

use super::beside::whole_range;
use super::{
    GroupRule, PodSecurityProfileSpec, ProfileGroupStrategy, ProfileSeLinuxOptions, Range, SeLinuxRule, UserNamespace,
    UserRule, annotation_value,
};
use crate::model::{NumberOrVariable, RawDocument, Target};

/// The fields of the object without its metadata, and without `users` and `groups`: RBAC decides who may use it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Constraints {
    allow_host_dir_volume_plugin: bool,
    #[serde(rename = "allowHostIPC")]
    allow_host_ipc: bool,
    allow_host_network: bool,
    #[serde(rename = "allowHostPID")]
    allow_host_pid: bool,
    allow_host_ports: bool,
    allow_privilege_escalation: bool,
    allow_privileged_container: bool,
    allowed_capabilities: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_flex_volumes: Vec<FlexVolume>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_unsafe_sysctls: Vec<String>,
    default_add_capabilities: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_allow_privilege_escalation: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forbidden_sysctls: Vec<String>,
    fs_group: Groups,
    priority: Option<i32>,
    read_only_root_filesystem: bool,
    required_drop_capabilities: Option<Vec<String>>,
    run_as_user: Users,
    se_linux_context: SeLinux,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seccomp_profiles: Vec<String>,
    supplemental_groups: Groups,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_namespace_level: Option<&'static str>,
    volumes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct FlexVolume {
    driver: String,
}

#[derive(Debug, Clone, Serialize)]
struct Groups {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<Range>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Users {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<NumberOrVariable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid_range_min: Option<NumberOrVariable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid_range_max: Option<NumberOrVariable>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeLinux {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    se_linux_options: Option<ProfileSeLinuxOptions>,
}

/// The first release with user namespaces in its constraints.
const FIRST_WITH_USER_NAMESPACES: Release = Release { major: 4, minor: 20 };

/// Builds the constraints of a profile; reports limits without a field.
pub(super) fn constraints(
    spec: &PodSecurityProfileSpec,
    document: &RawDocument<'_>,
    targets: &[Target],
    sink: &mut Sink,
) -> Constraints {
    let oldest = targets.iter().filter_map(|target| target.version.release()).min();
    refuse_user_namespaces(spec, document, oldest, sink);
    let volumes: Vec<String> = spec.volumes.iter().map(|kind| volume(kind).to_owned()).collect();
    let listed = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let drivers = spec.flex_volume_drivers.iter().map(|driver| FlexVolume { driver: driver.clone() });
    Constraints {
        allow_host_dir_volume_plugin: volumes.iter().any(|kind| matches!(kind.as_str(), "hostPath" | "*")),
        allow_host_ipc: spec.host_ipc,
        allow_host_network: spec.host_network,
        allow_host_pid: spec.host_pid,
        allow_host_ports: !spec.host_ports.is_empty(),
        allow_privilege_escalation: spec.allow_privilege_escalation.unwrap_or(true),
        allow_privileged_container: spec.privileged,
        allowed_capabilities: spec.capabilities.allowed.as_deref().and_then(listed),
        allowed_flex_volumes: drivers.collect(),
        allowed_unsafe_sysctls: spec.sysctls.allowed_unsafe.clone(),
        default_add_capabilities: listed(&spec.capabilities.default_add),
        default_allow_privilege_escalation: spec.default_allow_privilege_escalation,
        forbidden_sysctls: spec.sysctls.forbidden.clone(),
        fs_group: groups(&spec.fs_group),
        priority: spec.openshift.priority,
        read_only_root_filesystem: spec.read_only_root_filesystem,
        required_drop_capabilities: listed(&spec.capabilities.required_drop),
        run_as_user: users(spec, document, sink),
        se_linux_context: SeLinux {
            r#type: match spec.se_linux.rule {
                SeLinuxRule::MustRunAs => "MustRunAs",
                SeLinuxRule::RunAsAny => "RunAsAny",
            },
            se_linux_options: spec.se_linux.se_linux_options.clone(),
        },
        seccomp_profiles: seccomp(spec),
        supplemental_groups: groups(&spec.supplemental_groups),
        user_namespace_level: spec.openshift.user_namespace.map(|level| level.constraint()),
        volumes,
    }
}

/// Reports the limit of a profile to user namespaces if it would be lost.
fn refuse_user_namespaces(
    spec: &PodSecurityProfileSpec,
    document: &RawDocument<'_>,
    oldest: Option<Release>,
    sink: &mut Sink,
) {
    let is_older = oldest.is_some_and(|oldest| oldest < FIRST_WITH_USER_NAMESPACES);
    let requires = matches!(spec.openshift.user_namespace, Some(UserNamespace::Required));
    if is_older && requires {
        let place = document.spec.get("openshift").map_or(document.meta.origin, |node| node.origin());
        let message = "SecurityContextConstraints cannot limit pods to user namespaces before 4.20";
        sink.push(
            Diagnostic::error(codes::INEXPRESSIBLE_LIMIT, message)
                .at(place)
                .help("exclude the OpenShift targets with `targets`, and write a separate profile for them"),
        );
    }
}

fn users(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) -> Users {
    let strategy = &spec.run_as_user;
    match (strategy.rule, strategy.ranges.as_slice()) {
        (UserRule::RunAsAny, _) => Users { r#type: "RunAsAny", ..Users::default() },
        (UserRule::MustRunAsNonRoot, _) => Users { r#type: "MustRunAsNonRoot", ..Users::default() },
        // The cluster assigns this range to the pod's namespace.
        (UserRule::MustRunAs, []) => Users { r#type: "MustRunAsRange", ..Users::default() },
        (UserRule::MustRunAs, [one]) if one.min == one.max => {
            Users { r#type: "MustRunAs", uid: Some(one.min.clone()), ..Users::default() }
        }
        (UserRule::MustRunAs, [one, more @ ..]) => {
            // A policy beside the constraints has the single ranges.
            if let Some((min, max)) = whole_range(&strategy.ranges) {
                let [min, max] = [min, max].map(|bound| Some(NumberOrVariable::Literal(bound)));
                return Users { r#type: "MustRunAsRange", uid_range_min: min, uid_range_max: max, ..Users::default() };
            }
            if !more.is_empty() {
                let place = document.spec.get("runAsUser").map_or(document.meta.origin, |node| node.origin());
                let message = "SecurityContextConstraints have one range of user ids";
                sink.push(
                    Diagnostic::error(codes::INEXPRESSIBLE_LIMIT, message)
                        .at(place)
                        .help("write a profile for each range, or exclude the OpenShift targets with `targets`"),
                );
            }
            let (min, max) = (Some(one.min.clone()), Some(one.max.clone()));
            Users { r#type: "MustRunAsRange", uid_range_min: min, uid_range_max: max, ..Users::default() }
        }
    }
}

fn groups(strategy: &ProfileGroupStrategy) -> Groups {
    match strategy.rule {
        // A policy beside the constraints has the ranges of groups without a default.
        GroupRule::RunAsAny | GroupRule::MayRunAs => Groups { r#type: "RunAsAny", ranges: Vec::new() },
        GroupRule::MustRunAs => Groups { r#type: "MustRunAs", ranges: strategy.ranges.clone() },
    }
}

/// Returns the profiles with the default first: OpenShift sets the first one.
fn seccomp(spec: &PodSecurityProfileSpec) -> Vec<String> {
    let Some(profiles) = &spec.seccomp else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for name in profiles.default.iter().chain(&profiles.allowed) {
        let name = annotation_value(name);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Converts a volume type to the spelling of SecurityContextConstraints.
fn volume(kind: &str) -> &str {
    match kind {
        "vsphereVolume" => "vsphere",
        "storageos" => "storageOS",
        same => same,
    }
}
