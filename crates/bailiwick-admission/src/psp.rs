//! PodSecurityPolicy of Kubernetes up to 1.24: the admission and mutation of pods, the selection of a policy, the
//! corresponding Pod Security level, and the effect of a change.
//!
//! [`PodSecurityPolicy`] is the object as written, with the one default of the API. [`admit::PspProvider`] is a usable
//! policy. The rules are from Kubernetes 1.24.17 (`pkg/security/podsecuritypolicy`), and `tests/conformance/psp`
//! compares them with the real code.
//!
//! Left out: the changes of other admission plugins, such as the token volume of the ServiceAccount plugin, and
//! feature gates of the release with another value than the default.

pub mod admit;
pub mod compare;
pub mod mapping;
pub mod merge;
pub mod migrate;
pub mod plan;
mod profiles;
pub mod select;
mod strategies;
pub mod validity;
pub mod volumes;

use std::collections::BTreeMap;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::pod::{SeLinuxOptions, or_default};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

use bailiwick_kubernetes::absent;
pub use profiles::{Syscalls, synchronise};
pub use strategies::{SAFE_SYSCTLS, StrategyError, UnusablePolicy};

/// The largest valid id of a user or group.
const LAST_ID: i64 = i32::MAX as i64;

/// A PodSecurityPolicy as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodSecurityPolicy {
    /// Name and annotations of the policy.
    #[serde(deserialize_with = "or_default")]
    pub metadata: PspMetadata,
    /// The permissions and defaults.
    #[serde(deserialize_with = "or_default")]
    pub spec: Spec,
}

/// Name and annotations of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PspMetadata {
    /// Name in the cluster.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its annotations; four of them hold syscall profiles.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// The spec of a policy (`facts/psp/psp-fields.yaml`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// Whether containers may be privileged.
    #[serde(deserialize_with = "or_default")]
    pub privileged: bool,
    /// Capabilities added to every container, unless dropped there.
    #[serde(deserialize_with = "or_default")]
    pub default_add_capabilities: Vec<String>,
    /// Capabilities to be dropped by every container.
    #[serde(deserialize_with = "or_default")]
    pub required_drop_capabilities: Vec<String>,
    /// Capabilities allowed to containers; an absent list equals an empty one.
    pub allowed_capabilities: Option<Vec<String>>,
    /// Kinds of volumes; none is the same as an empty list, and allows none.
    pub volumes: Option<Vec<String>>,
    /// Whether pods may use the node's network.
    #[serde(deserialize_with = "or_default")]
    pub host_network: bool,
    /// Ports of the node allowed to containers.
    pub host_ports: Option<Vec<PspIdRange>>,
    /// Whether pods may see the node's processes.
    #[serde(rename = "hostPID", deserialize_with = "or_default")]
    pub host_pid: bool,
    /// Whether pods may use the node's inter-process communication.
    #[serde(rename = "hostIPC", deserialize_with = "or_default")]
    pub host_ipc: bool,
    /// How the SELinux context is chosen.
    #[serde(deserialize_with = "or_default")]
    pub se_linux: PspSeLinuxStrategy,
    /// How the user id is chosen.
    #[serde(deserialize_with = "or_default")]
    pub run_as_user: IdStrategy,
    /// How the group id is chosen; none means any.
    pub run_as_group: Option<IdStrategy>,
    /// How further groups are chosen.
    #[serde(deserialize_with = "or_default")]
    pub supplemental_groups: IdStrategy,
    /// Strategy for the group of the volumes.
    #[serde(deserialize_with = "or_default")]
    pub fs_group: IdStrategy,
    /// Whether root file systems have to be read-only.
    #[serde(deserialize_with = "or_default")]
    pub read_only_root_filesystem: bool,
    /// Privilege escalation of a container without the setting.
    pub default_allow_privilege_escalation: Option<bool>,
    /// Whether processes may gain privileges, by default true.
    #[serde(deserialize_with = "or_true")]
    pub allow_privilege_escalation: bool,
    /// Paths of the node allowed to hostPath volumes; an empty list allows every path.
    pub allowed_host_paths: Option<Vec<AllowedHostPath>>,
    /// The drivers of flexVolumes; an empty list allows all.
    pub allowed_flex_volumes: Option<Vec<PspFlexVolume>>,
    /// The drivers of inline CSI volumes; an empty list allows all.
    #[serde(rename = "allowedCSIDrivers")]
    pub allowed_csi_drivers: Option<Vec<CsiDriver>>,
    /// Kernel parameters allowed beside the safe ones.
    pub allowed_unsafe_sysctls: Option<Vec<String>>,
    /// Forbidden kernel parameters, safe or not.
    pub forbidden_sysctls: Option<Vec<String>>,
    /// Ways to mount /proc; an empty list allows the default one.
    pub allowed_proc_mount_types: Option<Vec<String>>,
    /// RuntimeClasses; none means any.
    pub runtime_class: Option<RuntimeClass>,
}

impl Default for Spec {
    /// Returns an empty spec, as the API server defaults it (`pkg/apis/policy/v1beta1/defaults.go`).
    fn default() -> Self {
        Self {
            privileged: false,
            default_add_capabilities: Vec::new(),
            required_drop_capabilities: Vec::new(),
            allowed_capabilities: None,
            volumes: None,
            host_network: false,
            host_ports: None,
            host_pid: false,
            host_ipc: false,
            se_linux: PspSeLinuxStrategy::default(),
            run_as_user: IdStrategy::default(),
            run_as_group: None,
            supplemental_groups: IdStrategy::default(),
            fs_group: IdStrategy::default(),
            read_only_root_filesystem: false,
            default_allow_privilege_escalation: None,
            allow_privilege_escalation: true,
            allowed_host_paths: None,
            allowed_flex_volumes: None,
            allowed_csi_drivers: None,
            allowed_unsafe_sysctls: None,
            forbidden_sysctls: None,
            allowed_proc_mount_types: None,
            runtime_class: None,
        }
    }
}

/// Numbers from `min` to `max`, both included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct PspIdRange {
    /// The least.
    #[serde(deserialize_with = "or_default")]
    pub min: i64,
    /// The most.
    #[serde(deserialize_with = "or_default")]
    pub max: i64,
}

/// How a user or group id is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdStrategy {
    /// `MustRunAs`, `MustRunAsNonRoot` (users), `MayRunAs` (groups) or `RunAsAny`.
    #[serde(deserialize_with = "or_default")]
    pub rule: String,
    /// The ids; the least of the first range is the default.
    #[serde(deserialize_with = "or_default")]
    pub ranges: Vec<PspIdRange>,
}

/// How the SELinux context is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PspSeLinuxStrategy {
    /// `MustRunAs` or `RunAsAny`.
    #[serde(deserialize_with = "or_default")]
    pub rule: String,
    /// The context.
    pub se_linux_options: Option<SeLinuxOptions>,
}

/// A path of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllowedHostPath {
    /// The path, with all paths below it.
    #[serde(deserialize_with = "or_default")]
    pub path_prefix: String,
    /// Whether it may only be mounted to be read.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// A driver of flexVolumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PspFlexVolume {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub driver: String,
}

/// A driver of inline CSI volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CsiDriver {
    /// Name, as registered on the nodes.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// RuntimeClasses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeClass {
    /// Their names; `*` for all.
    #[serde(deserialize_with = "or_default")]
    pub allowed_runtime_class_names: Vec<String>,
    /// The RuntimeClass for a pod without one.
    pub default_runtime_class_name: Option<String>,
}

/// A violation of a policy by a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PspViolation {
    /// The field, as the API server writes it; the prefix `pod.` of some is its own.
    pub field: String,
    /// Why it is not allowed.
    pub message: String,
}

impl PodSecurityPolicy {
    /// Reads a PodSecurityPolicy.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        from_node(node)
    }

    /// Returns the name of the pod security policy.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

impl PspIdRange {
    /// Whether an id lies in the range.
    pub fn has(self, id: i64) -> bool {
        (self.min..=self.max).contains(&id)
    }
}

impl std::fmt::Display for PspIdRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.min == self.max {
            write!(formatter, "{}", self.min)
        } else {
            write!(formatter, "{}-{}", self.min, self.max)
        }
    }
}

/// Returns the entries of a list; none for an absent list.
fn entries<T>(list: Option<&Vec<T>>) -> &[T] {
    absent::list(list)
}

/// Prints ranges for a reader.
fn shown(ranges: &[PspIdRange]) -> String {
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Reads a boolean; absent and null are true.
fn or_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<bool>::deserialize(deserializer).map(|value| value != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    #[test]
    fn a_policy_that_says_nothing_lets_processes_gain_privileges() {
        for text in ["spec: {privileged: false}", "spec: {allowPrivilegeEscalation: null}", "metadata: {name: a}"] {
            let tree = yaml::read(text, FileId::default(), &mut Sink::new());
            let policy = PodSecurityPolicy::read(tree.document(0).expect("a document")).expect("a policy");
            assert!(policy.spec.allow_privilege_escalation, "{text}");
            assert!(!policy.spec.privileged && policy.spec.run_as_group.is_none());
        }
    }
}
