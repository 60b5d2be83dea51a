//! SecurityContextConstraints of OpenShift: the object, its Pod Security level, and the admission of pods.
//!
//! ```text
//! release    what differs between releases of OpenShift   defaults   the constraints a cluster starts with
//! bootstrap  the roles and bindings a cluster starts with
//! range      the uid range of a namespace                 order      points, and the order of admission
//! convert    the level, as the label syncer computes it   admit      which of them admits a pod
//! semantic   the level that is really guaranteed          lints      what is worth a word
//! ```
//!
//! An [`Scc`] is read in its stored form, because every reader in OpenShift gets the stored form.

pub mod admit;
pub mod bootstrap;
pub mod convert;
mod cover;
pub mod defaults;
pub mod lints;
pub mod order;
pub mod range;
pub mod release;
pub mod semantic;

use serde::Deserialize;

use super::pod::{SeLinuxOptions, or_default};
use bailiwick_access::ResourceVerb;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::stored::effective_volumes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// The API group.
pub const GROUP: &str = "security.openshift.io";
/// The resource, as rules name it.
pub const RESOURCE: &str = "securitycontextconstraints";

/// The permission to use constraints.
pub const USE: ResourceVerb<'static> = ResourceVerb { verb: "use", group: GROUP, resource: RESOURCE };

/// SecurityContextConstraints: all of its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Scc {
    /// Metadata in the manifest.
    #[serde(deserialize_with = "or_default")]
    pub metadata: SccMetadata,
    /// The higher, the earlier admission tries it.
    pub priority: Option<i32>,
    /// Whether containers may be privileged.
    #[serde(deserialize_with = "or_default")]
    pub allow_privileged_container: bool,
    /// Capabilities added to every container.
    #[serde(deserialize_with = "or_default")]
    pub default_add_capabilities: Vec<String>,
    /// Capabilities dropped from every container.
    #[serde(deserialize_with = "or_default")]
    pub required_drop_capabilities: Vec<String>,
    /// Capabilities allowed to a container.
    #[serde(deserialize_with = "or_default")]
    pub allowed_capabilities: Vec<String>,
    /// Whether paths of the node may be mounted.
    #[serde(deserialize_with = "or_default")]
    pub allow_host_dir_volume_plugin: bool,
    /// Kinds of volumes; none for an absent field, in a raw reading alone.
    pub volumes: Option<Vec<String>>,
    /// The FlexVolume drivers; none means every driver.
    #[serde(deserialize_with = "or_default")]
    pub allowed_flex_volumes: Vec<SccFlexVolume>,
    /// Whether the node's network may be used.
    #[serde(deserialize_with = "or_default")]
    pub allow_host_network: bool,
    /// Whether ports of the node may be used.
    #[serde(deserialize_with = "or_default")]
    pub allow_host_ports: bool,
    /// Whether the node's processes may be seen.
    #[serde(rename = "allowHostPID", deserialize_with = "or_default")]
    pub allow_host_pid: bool,
    /// Whether the node's inter-process communication may be used.
    #[serde(rename = "allowHostIPC", deserialize_with = "or_default")]
    pub allow_host_ipc: bool,
    /// `AllowHostLevel`, or `RequirePodLevel` for pods with a user namespace of their own.
    #[serde(deserialize_with = "or_default")]
    pub user_namespace_level: String,
    /// Privilege escalation of a container without the setting.
    pub default_allow_privilege_escalation: Option<bool>,
    /// Whether a container may gain privileges.
    pub allow_privilege_escalation: Option<bool>,
    /// The SELinux context.
    #[serde(deserialize_with = "or_default")]
    pub se_linux_context: SeLinuxContext,
    /// Strategy for user ids.
    #[serde(deserialize_with = "or_default")]
    pub run_as_user: RunAsUser,
    /// Strategy for supplemental group ids.
    #[serde(deserialize_with = "or_default")]
    pub supplemental_groups: SccGroupStrategy,
    /// Strategy for the group of volumes.
    #[serde(deserialize_with = "or_default")]
    pub fs_group: SccGroupStrategy,
    /// Whether root file systems can only be read.
    #[serde(deserialize_with = "or_default")]
    pub read_only_root_filesystem: bool,
    /// Users with access.
    #[serde(deserialize_with = "or_default")]
    pub users: Vec<String>,
    /// Groups with access.
    #[serde(deserialize_with = "or_default")]
    pub groups: Vec<String>,
    /// The seccomp profiles; the first profile other than `*` is the default for pods.
    #[serde(deserialize_with = "or_default")]
    pub seccomp_profiles: Vec<String>,
    /// Kernel parameters beyond the safe ones.
    #[serde(deserialize_with = "or_default")]
    pub allowed_unsafe_sysctls: Vec<String>,
    /// Forbidden kernel parameters, safe or not.
    #[serde(deserialize_with = "or_default")]
    pub forbidden_sysctls: Vec<String>,
}

/// Metadata of SecurityContextConstraints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SccMetadata {
    /// Name in the cluster.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// An allowed FlexVolume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SccFlexVolume {
    /// Name of the driver.
    #[serde(deserialize_with = "or_default")]
    pub driver: String,
}

/// How the SELinux context is decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SeLinuxContext {
    /// `MustRunAs` or `RunAsAny`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// Context for `MustRunAs`; missing parts come from the namespace.
    pub se_linux_options: Option<SeLinuxOptions>,
}

/// How the user is decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunAsUser {
    /// `MustRunAs`, `MustRunAsRange`, `MustRunAsNonRoot` or `RunAsAny`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The user for `MustRunAs`.
    pub uid: Option<i64>,
    /// The least user for `MustRunAsRange`.
    pub uid_range_min: Option<i64>,
    /// The greatest user for `MustRunAsRange`.
    pub uid_range_max: Option<i64>,
}

/// How groups are decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SccGroupStrategy {
    /// `MustRunAs` or `RunAsAny`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// Ranges for `MustRunAs`; an empty list stands for the range of the namespace.
    #[serde(deserialize_with = "or_default")]
    pub ranges: Vec<SccIdRange>,
}

/// A range of ids, its ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SccIdRange {
    /// The least.
    #[serde(deserialize_with = "or_default")]
    pub min: i64,
    /// The greatest.
    #[serde(deserialize_with = "or_default")]
    pub max: i64,
}

impl Scc {
    /// Returns the restrictions of pods alone: without metadata, priority, users and groups. Lists without an order are
    /// sorted.
    #[must_use]
    pub fn restrictions(&self) -> Self {
        let mut own = Self {
            metadata: SccMetadata::default(),
            priority: None,
            users: Vec::new(),
            groups: Vec::new(),
            ..self.clone()
        };
        let lists = [
            &mut own.default_add_capabilities,
            &mut own.required_drop_capabilities,
            &mut own.allowed_capabilities,
            &mut own.allowed_unsafe_sysctls,
            &mut own.forbidden_sysctls,
        ];
        lists.into_iter().chain(own.volumes.as_mut()).for_each(|list| list.sort());
        own
    }

    /// Reads constraints as the API server would store them.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        Self::read_raw(node).map(|scc| scc.defaulted(node))
    }

    /// Reads constraints without defaults, for objects already stored.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read_raw(node: NodeRef<'_>) -> Result<Self, DeError> {
        from_node(node)
    }

    /// Fills in the defaults of the server (`pkg/securitycontextconstraints/sccdefaults/defaults.go` of openshift/apiserver-library-go).
    fn defaulted(mut self, node: NodeRef<'_>) -> Self {
        let written = node.get("volumes").filter(|list| !list.is_null());
        let volumes = effective_volumes(written, self.allow_host_dir_volume_plugin);
        self.volumes = Some(volumes.into_iter().map(str::to_owned).collect());
        self.allow_privilege_escalation.get_or_insert(true);
        for strategy in [&mut self.fs_group, &mut self.supplemental_groups] {
            if strategy.r#type.is_empty() {
                "RunAsAny".clone_into(&mut strategy.r#type);
            }
        }
        if self.user_namespace_level.is_empty() {
            "AllowHostLevel".clone_into(&mut self.user_namespace_level);
        }
        self
    }

    /// Returns the name of the scc.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Returns the priority; constraints without a priority have 0
    /// (`ByPriority` in `pkg/securitycontextconstraints/util/sort/bypriority.go` of apiserver-library-go).
    pub fn priority(&self) -> i32 {
        self.priority.unwrap_or_default()
    }

    /// Returns the kinds of volumes.
    pub fn volumes(&self) -> &[String] {
        absent::list(self.volumes.as_ref())
    }

    /// Whether a user of these groups is named by the constraints themselves.
    pub fn names(&self, user: &str, groups: &[impl AsRef<str>]) -> bool {
        self.users.iter().any(|known| known == user)
            || groups.iter().any(|group| self.groups.iter().any(|known| known == group.as_ref()))
    }

    /// Whether pods need a user namespace of their own.
    pub fn requires_user_namespace(&self) -> bool {
        self.user_namespace_level == "RequirePodLevel"
    }
}

/// Whether this is an object of this kind.
pub fn is_scc(api_version: &str, kind: &str) -> bool {
    kind == "SecurityContextConstraints" && api_version.split('/').next() == Some(GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_kubernetes::stored::{StoredForm, to_stored};
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// The typed defaults equal the defaults of the stored form.
    #[test]
    fn reading_defaults_as_storing_does() {
        let texts = [
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: a}\n",
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: b}\nallowHostDirVolumePlugin: true\nvolumes: [secret, configMap]\nfsGroup: {type: MustRunAs}\n",
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: c}\nvolumes: []\nallowPrivilegeEscalation: null\nsupplementalGroups: {ranges: [{min: 1, max: 2}]}\n",
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: d}\nvolumes: [nfs, '*', none]\nusers: null\n",
        ];
        for text in texts {
            let mut tree = yaml::read(text, FileId::default(), &mut Sink::new());
            let typed = Scc::read(tree.document(0).expect("a document")).expect("constraints");
            let root = tree.document(0).expect("a document").id();
            to_stored(&mut tree, root, StoredForm::Stored);
            let mut stored = Scc::read_raw(tree.at(root)).expect("constraints");
            "AllowHostLevel".clone_into(&mut stored.user_namespace_level);
            assert_eq!(typed, stored, "{text}");
        }
    }
}
