//! A pod, with the fields read by admission.
//!
//! The reader ignores unknown fields and checks the types of known fields. Null counts as absent, as in the API
//! server. [`Pod::read`] fills in the defaults with an effect on verdicts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use bailiwick_kubernetes::volumes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// A pod, or the pod template of a workload.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Metadata in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub metadata: PodMetadata,
    /// Spec in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub spec: PodSpec,
}

/// Names, labels and annotations of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodMetadata {
    /// Its name; empty for a template.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Namespace; empty if the manifest has none.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Labels in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// The parts of `spec` with an effect on admission.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// The operating system it is for.
    pub os: Option<Os>,
    /// Whether it uses the node's network.
    #[serde(deserialize_with = "or_default")]
    pub host_network: bool,
    /// Whether the pod shares the process namespace of the node.
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
    /// Older name of the same field, effective for an empty newer field.
    #[serde(deserialize_with = "or_default")]
    pub service_account: String,
    /// Name of the RuntimeClass object.
    pub runtime_class_name: Option<String>,
    /// Settings for all containers.
    pub security_context: Option<PodSecurityContext>,
    /// Volumes in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub volumes: Vec<Volume>,
    /// Containers started before the others.
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Vec<Container>,
    /// Containers in the manifest, without init containers.
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

/// Security settings for all containers of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSecurityContext {
    /// User id for containers without one.
    pub run_as_user: Option<i64>,
    /// Group id for containers without one.
    pub run_as_group: Option<i64>,
    /// Whether the kubelet refuses to start containers as root.
    pub run_as_non_root: Option<bool>,
    /// Group of its volumes.
    pub fs_group: Option<i64>,
    /// Further groups; an empty list is not the same as none, because only the latter is filled in.
    pub supplemental_groups: Option<Vec<i64>>,
    /// SELinux context for containers without one.
    pub se_linux_options: Option<SeLinuxOptions>,
    /// Seccomp profile for containers without one.
    pub seccomp_profile: Option<SyscallProfile>,
    /// AppArmor profile for containers without one.
    pub app_armor_profile: Option<SyscallProfile>,
    /// Kernel parameters.
    #[serde(deserialize_with = "or_default")]
    pub sysctls: Vec<Sysctl>,
    /// Settings for Windows.
    pub windows_options: Option<WindowsOptions>,
}

/// An SELinux context; an empty text counts as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeLinuxOptions {
    /// User of the context.
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    /// Role of the context.
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    /// Type of the context.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// Level of the context.
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
    /// Name of the kernel parameter.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// Settings for Windows.
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
    /// Name, unique in the pod.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Ports in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<ContainerPort>,
    /// Mounts of the pod's volumes.
    #[serde(deserialize_with = "or_default")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Settings for this container alone.
    pub security_context: Option<SecurityContext>,
    /// Asks whether it is alive.
    pub liveness_probe: Option<Handler>,
    /// Asks whether it is ready.
    pub readiness_probe: Option<Handler>,
    /// Asks whether it has started.
    pub startup_probe: Option<Handler>,
    /// Handlers at its start and end.
    pub lifecycle: Option<Lifecycle>,
}

/// An exposed port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port inside the container.
    #[serde(deserialize_with = "or_default")]
    pub container_port: i32,
    /// The port of the node; 0 for none.
    #[serde(deserialize_with = "or_default")]
    pub host_port: i32,
}

/// A mount of a volume in a container.
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

/// The security context of a container; absent settings come from the pod's context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SecurityContext {
    /// Added and dropped capabilities.
    pub capabilities: Option<Capabilities>,
    /// Whether the container has the permissions of root on the node.
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
    /// Seccomp profile of the container.
    pub seccomp_profile: Option<SyscallProfile>,
    /// AppArmor profile of the container.
    pub app_armor_profile: Option<SyscallProfile>,
    /// Settings for Windows.
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

/// A probe or lifecycle handler, with the actions on a host.
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

/// Handlers at the start and end of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Lifecycle {
    /// After its start.
    pub post_start: Option<Handler>,
    /// Before its end.
    pub pre_stop: Option<Handler>,
}

/// A volume of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// Name, unique in the pod.
    pub name: String,
    /// Its sources by the name of the field; a valid volume has one.
    pub sources: BTreeMap<String, VolumeSource>,
}

/// The source of a volume: the relevant fields of all kinds.
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

/// The source of a part of a projected volume: the relevant fields of all kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectionSource {
    /// The file of a token.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// Audience of a token; empty for the API server.
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
    /// The field of the pod in the file.
    pub field_ref: Option<FieldRef>,
}

/// A field of the pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldRef {
    /// The API version of the field path; empty means `v1`.
    #[serde(deserialize_with = "or_default")]
    pub api_version: String,
    /// Path inside the pod.
    #[serde(deserialize_with = "or_default")]
    pub field_path: String,
}

impl Pod {
    /// Reads a pod, or a pod template as a pod: any object with `metadata` and `spec` of a pod. Defaults with an
    /// effect on verdicts are filled in: a volume without a source is an emptyDir, and a pod on the node's network has
    /// its container ports there (`pkg/apis/core/v1/defaults.go`).
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        Self::read_template(node).map(Self::defaulted)
    }

    /// Reads a pod template as the API server holds it within a workload: since 1.28 the ports of the node are only
    /// filled in when the pod is made.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
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

    /// Returns the pod for a template.
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

    /// Returns the names of the containers with a property, in order.
    pub(super) fn container_names<'p>(&'p self, mut is_meant: impl FnMut(&'p Container) -> bool) -> Vec<&'p str> {
        let meant = self.containers().filter(|container| is_meant(container));
        meant.map(|container| container.name.as_str()).collect()
    }

    /// Returns the security context; the empty context for a pod without one (`NewPodSecurityContextAccessor` in
    /// `pkg/securitycontext/accessors.go` of Kubernetes 1.24).
    pub fn security_context(&self) -> &PodSecurityContext {
        static EMPTY: LazyLock<PodSecurityContext> = LazyLock::new(PodSecurityContext::default);
        match &self.spec.security_context {
            Some(context) => context,
            None => &EMPTY,
        }
    }

    /// Returns the name of the service account of the pod, by default `default`
    /// (`plugin/pkg/admission/serviceaccount/admission.go` of Kubernetes 1.37).
    pub fn account_name(&self) -> &str {
        match self.spec.service_account_name.as_str() {
            "" => "default",
            name => name,
        }
    }

    /// Whether the pod declares Windows as its operating system.
    pub fn is_for_windows(&self) -> bool {
        self.spec.os.as_ref().is_some_and(|os| os.name == "windows")
    }

    /// Whether the pod has its own user namespace, without root permissions outside.
    pub fn has_user_namespace(&self) -> bool {
        self.spec.host_users == Some(false)
    }

    /// Returns the containers of all three lists: init containers, containers, ephemeral containers.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        self.spec.init_containers.iter().chain(&self.spec.containers).chain(&self.spec.ephemeral_containers)
    }
}

impl Container {
    /// Returns the security context; the empty context for a container without one
    /// (`NewContainerSecurityContextAccessor` in `pkg/securitycontext/accessors.go` of Kubernetes 1.24).
    pub fn security_context(&self) -> &SecurityContext {
        static EMPTY: LazyLock<SecurityContext> = LazyLock::new(SecurityContext::default);
        match &self.security_context {
            Some(context) => context,
            None => &EMPTY,
        }
    }
}

impl SecurityContext {
    /// Returns the kind of the `/proc` mount, by default `Default` (`pkg/securitycontext/accessors.go` of Kubernetes
    /// 1.24).
    pub fn proc_mount(&self) -> &str {
        match &self.proc_mount {
            Some(kind) => kind,
            None => "Default",
        }
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
                        volume.name = value_or_default(map.next_value::<Option<String>>()?);
                    } else if volumes::find(&key).is_none() {
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

/// Reads null as the default value.
pub(super) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(value_or_default)
}

fn value_or_default<T: Default>(value: Option<T>) -> T {
    value.unwrap_or_default()
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
        assert_eq!(pod.metadata, PodMetadata::default());
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
