//! A profile as its PodSecurityPolicy, and the Pod Security level beside an admission policy.

use bailiwick_admission::level::Level;
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_admission::psp::mapping::{Reading, map};
use bailiwick_yaml as yaml;
use serde_json::{Value, json};

use super::{PodSecurityProfileSpec, ProfileGroupStrategy, Range, UserStrategy, profile_annotations};
use crate::model::{NumberOrVariable, PodSecurityProfile};

/// Returns the strictest level that rejects nothing the profile allows, by the mapping in the Kubernetes documentation
/// ("Mapping PodSecurityPolicies to Pod Security Standards"). A profile without AppArmor settings keeps the AppArmor
/// rule of the level.
pub(super) fn level(spec: &PodSecurityProfileSpec) -> Level {
    let tree = yaml::from_json(&PodSecurityProfile::filled(policy(spec), &|_| Some("1".to_owned())));
    let policy = tree.document(0).and_then(|root| PodSecurityPolicy::read(root).ok());
    policy.map_or(Level::Privileged, |policy| map(&policy, Reading::Practical).level)
}

/// Builds the PodSecurityPolicy; variables stay texts such as `{uid}`.
pub(super) fn policy(spec: &PodSecurityProfileSpec) -> Value {
    let drivers = |names: &[String], key: &str| names.iter().map(|name| json!({ key: name })).collect::<Vec<_>>();
    let allowed = &spec.capabilities.allowed;
    let paths: Vec<Value> = spec
        .host_paths
        .iter()
        .map(|path| json!({ "pathPrefix": path.path_prefix, "readOnly": path.read_only }))
        .collect();
    let classes = spec.runtime_classes.as_ref().map(
        |classes| json!({ "allowedRuntimeClassNames": classes.allowed, "defaultRuntimeClassName": classes.default }),
    );
    json!({
        "apiVersion": "policy/v1beta1",
        "kind": "PodSecurityPolicy",
        "metadata": { "name": "profile", "annotations": profile_annotations(spec) },
        "spec": {
            "privileged": spec.privileged,
            "hostNetwork": spec.host_network,
            "hostPID": spec.host_pid,
            "hostIPC": spec.host_ipc,
            "hostPorts": ranges(&spec.host_ports),
            "allowPrivilegeEscalation": spec.allow_privilege_escalation,
            "allowedCapabilities": allowed,
            "defaultAddCapabilities": spec.capabilities.default_add,
            "requiredDropCapabilities": spec.capabilities.required_drop,
            "volumes": spec.volumes,
            "allowedHostPaths": paths,
            "readOnlyRootFilesystem": spec.read_only_root_filesystem,
            "defaultAllowPrivilegeEscalation": spec.default_allow_privilege_escalation,
            "allowedFlexVolumes": drivers(&spec.flex_volume_drivers, "driver"),
            "allowedCSIDrivers": drivers(&spec.csi_drivers, "name"),
            "runAsUser": users(&spec.run_as_user),
            "runAsGroup": spec.run_as_group.as_ref().map(groups),
            "fsGroup": groups(&spec.fs_group),
            "supplementalGroups": groups(&spec.supplemental_groups),
            "seLinux": json!({ "rule": word(&spec.se_linux.rule), "seLinuxOptions": spec.se_linux.se_linux_options }),
            "allowedUnsafeSysctls": spec.sysctls.allowed_unsafe,
            "forbiddenSysctls": spec.sysctls.forbidden,
            "allowedProcMountTypes": spec.proc_mount_types,
            "runtimeClass": classes,
        },
    })
}

fn word<T: serde::Serialize>(rule: &T) -> Value {
    serde_json::to_value(rule).unwrap_or_default()
}

fn users(strategy: &UserStrategy) -> Value {
    json!({ "rule": word(&strategy.rule), "ranges": ranges(&strategy.ranges) })
}

fn groups(strategy: &ProfileGroupStrategy) -> Value {
    json!({ "rule": word(&strategy.rule), "ranges": ranges(&strategy.ranges) })
}

fn ranges(ranges: &[Range]) -> Value {
    let number = |number: &NumberOrVariable| match number {
        NumberOrVariable::Literal(number) => json!(number),
        NumberOrVariable::Variable(text) => json!(text),
    };
    ranges.iter().map(|range| json!({ "min": number(&range.min), "max": number(&range.max) })).collect()
}
