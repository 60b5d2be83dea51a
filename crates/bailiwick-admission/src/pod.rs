//! A pod, with the fields that admission looks at.
//!
//! Reading is lenient towards fields that are not here and strict towards the types of those that are. Null is the
//! same as absent, as it is for the API server. [`Pod::read`] fills in the defaults on which verdicts depend.

use std::collections::BTreeMap;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// The sources that a volume may have, in the order in which Pod Security looks for those that it restricts
/// (`pod-security-admission/policy/check_restrictedVolumes.go`).
pub const VOLUME_SOURCES: [&str; 30] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

/// A pod, or the pod template of a workload.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Its metadata.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// Its spec.
    #[serde(deserialize_with = "or_default")]
    pub spec: PodSpec,
}

/// What names and annotates a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Its name; empty for a template.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its namespace; empty where none is given.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Its labels.
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// The spec of a pod.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// The operating system it is for.
    pub os: Option<Os>,
    /// Whether it uses the node's network.
    #[serde(deserialize_with = "or_default")]
    pub host_network: bool,
    /// Whether it sees the node's processes.
    #[serde(rename = "hostPID", deserialize_with = "or_default")]
    pub host_pid: bool,
    /// Whether it uses the node's inter-process communication.
    #[serde(rename = "hostIPC", deserialize_with = "or_default")]
    pub host_ipc: bool,
    /// False when it has a user namespace of its own.
    pub host_users: Option<bool>,
    /// The service account it runs as; empty means `default`.
    #[serde(deserialize_with = "or_default")]
    pub service_account_name: String,
    /// Its older name for the same, which counts where the newer is empty.
    #[serde(deserialize_with = "or_default")]
    pub service_account: String,
    /// The RuntimeClass.
    pub runtime_class_name: Option<String>,
    /// What holds for all of its containers.
    pub security_context: Option<PodSecurityContext>,
    /// Its volumes.
    #[serde(deserialize_with = "or_default")]
    pub volumes: Vec<Volume>,
    /// Containers that run before the others.
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Vec<Container>,
    /// Its containers.
    #[serde(deserialize_with = "or_default")]
    pub containers: Vec<Container>,
    /// Containers added to a running pod.
    #[serde(deserialize_with = "or_default")]
    pub ephemeral_containers: Vec<Container>,
}

/// An operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Os {
    /// `linux` or `windows`.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// The security context of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSecurityContext {
    /// The user id of containers that name none.
    pub run_as_user: Option<i64>,
    /// The group id of containers that name none.
    pub run_as_group: Option<i64>,
    /// Whether the kubelet refuses to start containers as root.
    pub run_as_non_root: Option<bool>,
    /// The group that owns its volumes.
    pub fs_group: Option<i64>,
    /// Further groups; an empty list is not the same as none, because only the latter is filled in.
    pub supplemental_groups: Option<Vec<i64>>,
    /// The SELinux context of containers that name none.
    pub se_linux_options: Option<SeLinuxOptions>,
    /// The seccomp profile of containers that name none.
    pub seccomp_profile: Option<SyscallProfile>,
    /// The AppArmor profile of containers that name none.
    pub app_armor_profile: Option<SyscallProfile>,
    /// Kernel parameters.
    #[serde(deserialize_with = "or_default")]
    pub sysctls: Vec<Sysctl>,
    /// What holds on Windows.
    pub windows_options: Option<WindowsOptions>,
}

/// An SELinux context; an empty text is one that is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeLinuxOptions {
    /// User.
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    /// Role.
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    /// Type.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// Level.
    #[serde(deserialize_with = "or_default")]
    pub level: String,
}

/// A seccomp or AppArmor profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SyscallProfile {
    /// `RuntimeDefault`, `Localhost` or `Unconfined`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The file of a `Localhost` profile.
    pub localhost_profile: Option<String>,
}

/// A kernel parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sysctl {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// What holds on Windows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WindowsOptions {
    /// Whether a container runs on the node itself.
    pub host_process: Option<bool>,
}

/// A container of any of the three lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its ports.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<ContainerPort>,
    /// Where its volumes appear.
    #[serde(deserialize_with = "or_default")]
    pub volume_mounts: Vec<VolumeMount>,
    /// What holds for it alone.
    pub security_context: Option<SecurityContext>,
    /// Asks whether it is alive.
    pub liveness_probe: Option<Handler>,
    /// Asks whether it is ready.
    pub readiness_probe: Option<Handler>,
    /// Asks whether it has started.
    pub startup_probe: Option<Handler>,
    /// What runs at its start and end.
    pub lifecycle: Option<Lifecycle>,
}

/// A port of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port of the container.
    #[serde(deserialize_with = "or_default")]
    pub container_port: i32,
    /// The port of the node; 0 for none.
    #[serde(deserialize_with = "or_default")]
    pub host_port: i32,
}

/// Where a volume appears in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeMount {
    /// The volume's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Whether it can only be read.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// The security context of a container; what it does not say is as in the pod's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SecurityContext {
    /// Capabilities.
    pub capabilities: Option<Capabilities>,
    /// Whether it may do what the node's root may.
    pub privileged: Option<bool>,
    /// The user id.
    pub run_as_user: Option<i64>,
    /// The group id.
    pub run_as_group: Option<i64>,
    /// Whether the kubelet refuses to start it as root.
    pub run_as_non_root: Option<bool>,
    /// Whether its root file system can only be read.
    pub read_only_root_filesystem: Option<bool>,
    /// Whether a process may gain more privileges than its parent.
    pub allow_privilege_escalation: Option<bool>,
    /// How /proc is mounted.
    pub proc_mount: Option<String>,
    /// The SELinux context.
    pub se_linux_options: Option<SeLinuxOptions>,
    /// The seccomp profile.
    pub seccomp_profile: Option<SyscallProfile>,
    /// The AppArmor profile.
    pub app_armor_profile: Option<SyscallProfile>,
    /// What holds on Windows.
    pub windows_options: Option<WindowsOptions>,
}

/// Capabilities of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Those beyond the runtime's own.
    #[serde(deserialize_with = "or_default")]
    pub add: Vec<String>,
    /// Those it goes without.
    #[serde(deserialize_with = "or_default")]
    pub drop: Vec<String>,
}

/// A probe or lifecycle handler, with the actions that name a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Handler {
    /// A request.
    pub http_get: Option<HostAction>,
    /// A connection.
    pub tcp_socket: Option<HostAction>,
}

/// An action towards a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostAction {
    /// The host; empty for the pod itself.
    #[serde(deserialize_with = "or_default")]
    pub host: String,
}

/// What runs at the start and end of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Lifecycle {
    /// After its start.
    pub post_start: Option<Handler>,
    /// Before its end.
    pub pre_stop: Option<Handler>,
}

/// A volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Its sources by the name of the field; a valid volume has one.
    pub sources: BTreeMap<String, VolumeSource>,
}

/// Where a volume comes from: the parts of all sources that matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeSource {
    /// The path of a hostPath.
    pub path: Option<String>,
    /// The driver of a flexVolume or CSI volume.
    pub driver: Option<String>,
    /// The parts of a projected volume.
    #[serde(deserialize_with = "or_default")]
    pub sources: Vec<Projection>,
}

/// A part of a projected volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    /// Its kinds by the name of the field, such as `serviceAccountToken`; a valid part has one.
    pub kinds: BTreeMap<String, ProjectionSource>,
}

/// Where a part of a projected volume comes from: the parts of all sources that matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectionSource {
    /// The file of a token.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// Whom a token is for; empty for the API server.
    #[serde(deserialize_with = "or_default")]
    pub audience: String,
    /// The name of a ConfigMap or Secret.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The files of a downward API part, or the keys of the other kinds.
    #[serde(deserialize_with = "or_default")]
    pub items: Vec<ProjectionItem>,
}

/// A file of a projected volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectionItem {
    /// The key of a ConfigMap or Secret.
    #[serde(deserialize_with = "or_default")]
    pub key: String,
    /// The file.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// The field of the pod that it holds.
    pub field_ref: Option<FieldRef>,
}

/// A field of the pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldRef {
    /// The version of the API in which it is named; empty means `v1`.
    #[serde(deserialize_with = "or_default")]
    pub api_version: String,
    /// Its path.
    #[serde(deserialize_with = "or_default")]
    pub field_path: String,
}

impl Pod {
    /// Reads a pod, or a pod template as the pod that comes of it: anything with `metadata` and `spec` of a pod.
    /// Defaults that verdicts depend on are filled in: a volume without a source is an emptyDir, and a pod on the
    /// node's network has its container ports there (`specs/openshift.md` 5.1; `pkg/apis/core/v1/defaults.go`).
    ///
    /// # Errors
    /// The first field whose value has another type than the API's.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        Self::read_template(node).map(Self::defaulted)
    }

    /// Reads a pod template as the API server holds it within a workload: since 1.28 the ports of the node are only
    /// filled in when the pod is made.
    ///
    /// # Errors
    /// The first field whose value has another type than the API's.
    pub fn read_template(node: NodeRef<'_>) -> Result<Self, DeError> {
        let mut pod: Self = from_node(node)?;
        let spec = &mut pod.spec;
        for volume in spec.volumes.iter_mut().filter(|volume| volume.sources.is_empty()) {
            volume.sources.insert("emptyDir".to_owned(), VolumeSource::default());
        }
        if spec.service_account_name.is_empty() {
            spec.service_account_name = std::mem::take(&mut spec.service_account);
        }
        Ok(pod)
    }

    /// The pod that comes of a template.
    #[must_use]
    pub fn defaulted(mut self) -> Self {
        if self.spec.host_network {
            let containers = self.spec.init_containers.iter_mut().chain(&mut self.spec.containers);
            for port in containers.flat_map(|container| &mut container.ports).filter(|port| port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
        self
    }

    /// The names of its containers that are of some kind, in that order.
    pub(super) fn container_names<'p>(&'p self, mut is_meant: impl FnMut(&'p Container) -> bool) -> Vec<&'p str> {
        let meant = self.containers().filter(|container| is_meant(container));
        meant.map(|container| container.name.as_str()).collect()
    }

    /// Whether it says that it is for Windows.
    pub fn is_for_windows(&self) -> bool {
        self.spec.os.as_ref().is_some_and(|os| os.name == "windows")
    }

    /// Whether it has a user namespace of its own, in which root is nobody outside.
    pub fn has_user_namespace(&self) -> bool {
        self.spec.host_users == Some(false)
    }

    /// Its containers of all three lists: init containers, containers, ephemeral containers.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        self.spec.init_containers.iter().chain(&self.spec.containers).chain(&self.spec.ephemeral_containers)
    }
}

impl<'de> Deserialize<'de> for Volume {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Volume;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a volume")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Volume, A::Error> {
                let mut volume = Volume::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "name" {
                        volume.name = map.next_value::<Option<String>>()?.unwrap_or_default();
                    } else if !VOLUME_SOURCES.contains(&key.as_str()) {
                        map.next_value::<IgnoredAny>()?;
                    } else if let Some(source) = map.next_value::<Option<VolumeSource>>()? {
                        volume.sources.insert(key, source);
                    }
                }
                Ok(volume)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl<'de> Deserialize<'de> for Projection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kinds = BTreeMap::<String, Option<ProjectionSource>>::deserialize(deserializer)?;
        Ok(Self { kinds: kinds.into_iter().filter_map(|(name, source)| source.map(|source| (name, source))).collect() })
    }
}

/// Null is the same as absent.
pub(super) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn read(text: &str) -> Result<Pod, DeError> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        Pod::read(tree.document(0).expect("a document"))
    }

    #[test]
    fn null_is_absent_and_unknown_fields_do_not_matter() {
        let pod = read(
            "metadata: null\nspec: {containers: [{name: c, image: i, ports: null, securityContext: {}}], nodeName: x}",
        )
        .expect("a pod");
        assert_eq!(pod.metadata, Metadata::default());
        assert_eq!(pod.containers().count(), 1);
    }

    #[test]
    fn the_defaults_that_matter_are_filled_in() {
        let pod = read(
            "spec: {hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}]}], volumes: [{name: v, disk: 1}, {name: w, secret: {}}], serviceAccount: old}",
        )
        .expect("a pod");
        assert_eq!(pod.spec.containers[0].ports[0].host_port, 80);
        let kinds: Vec<_> = pod.spec.volumes.iter().flat_map(|volume| volume.sources.keys()).collect();
        assert_eq!(kinds, ["emptyDir", "secret"]);
        assert_eq!(pod.spec.service_account_name, "old");
    }

    #[test]
    fn types_are_the_apis() {
        let problem = read("spec: {securityContext: {runAsUser: root}}").expect_err("no number");
        assert!(problem.message.contains("root") || problem.message.contains("string"), "{problem}");
    }
}
