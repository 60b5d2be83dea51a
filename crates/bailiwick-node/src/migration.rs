//! Migration to the Node authorizer: the conforming kubelets, the bindings used by the others, and the progress of the
//! four steps (`docs/reference/access-authn-authz/node`, "Migration considerations" of kubernetes.io).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{NODES, NodeIdentity};
use bailiwick_access::Identity;
use bailiwick_access::request::MASTERS;

/// The identity of a kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kubelet {
    /// Its user name: the common name of its certificate.
    pub user: String,
    /// Its groups: the organizations of its certificate.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// How the API server is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ApiServerFlags {
    /// `--authorization-mode`, or the types of its AuthorizationConfiguration, in order.
    #[serde(default)]
    pub authorization_mode: Vec<String>,
    /// `--enable-admission-plugins`.
    #[serde(default)]
    pub admission_plugins: Vec<String>,
}

/// A binding with permissions for kubelets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubeletBinding {
    /// Name in the cluster.
    pub name: String,
    /// The bound ClusterRole. Default: the name of the binding.
    #[serde(default)]
    pub role: Option<String>,
    /// Its subjects, each as `User NAME`, `Group NAME` or `ServiceAccount NAMESPACE/NAME`.
    #[serde(default)]
    pub subjects: Vec<String>,
}

/// The starting point of a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// How the API server is set.
    pub api_server: ApiServerFlags,
    /// Kubelets of the cluster.
    pub kubelets: Vec<Kubelet>,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The bindings of `system:node` and of other roles to kubelets.
    pub bindings: Vec<KubeletBinding>,
}

/// The class of a kubelet for the Node authorizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KubeletClass {
    /// It is known by its node, and in the group.
    Conforming,
    /// The kubelet is outside of the group: it needs its present authorizer.
    OutsideGroup,
    /// The kubelet is in the group, and its name contains no node.
    Undifferentiated,
    /// Its name begins as it should, and ends there.
    Unnamed,
}

/// A kubelet with its findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedKubelet {
    /// Its user name.
    pub user: String,
    /// Class by name and group.
    pub class: KubeletClass,
    /// The absence of any restriction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<&'static str>,
    /// The answer of the Node authorizer to a nonconforming kubelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_authorizer: Option<&'static str>,
    /// The effect of NodeRestriction on a nonconforming kubelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_restriction: Option<&'static str>,
    /// Other bindings than the group's with permissions for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Nothing is left to do.
    Done,
    /// It is to be done.
    Todo,
    /// A person has to check it.
    Manual,
    /// Something has to be done before.
    Blocked,
}

/// One of the four steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationStep {
    /// Its number in the seed.
    pub step: u32,
    /// How far it has come.
    pub state: StepState,
    /// The action.
    pub what: String,
    /// The actions needed before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

/// The migration of all kubelets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeletMigration {
    /// The kubelets, as they came.
    pub kubelets: Vec<JudgedKubelet>,
    /// Nodes without a kubelet named after them.
    pub nodes_without_identity: Vec<String>,
    /// The four steps.
    pub steps: Vec<MigrationStep>,
}

impl Kubelet {
    /// Returns the class for the Node authorizer.
    pub fn class(&self) -> KubeletClass {
        let who = Identity { user: self.user.clone(), groups: self.groups.clone() };
        let is_member = self.groups.iter().any(|group| group == NODES);
        match NodeIdentity::from_identity(&who) {
            NodeIdentity::Node(_) => KubeletClass::Conforming,
            NodeIdentity::Unnamed => KubeletClass::Unnamed,
            NodeIdentity::None if is_member => KubeletClass::Undifferentiated,
            NodeIdentity::None => KubeletClass::OutsideGroup,
        }
    }

    /// Whether the kubelet depends on the binding of the group to `system:node`: no other authorizer allows it.
    pub fn depends_on_group(&self) -> bool {
        // A kubelet without a node name may write nothing under NodeRestriction, with any bindings.
        self.class() == KubeletClass::Undifferentiated
    }

    /// Whether the name contains a node, in any form.
    fn tells_of(&self, node: &str) -> bool {
        let before = self.user.strip_suffix(node);
        before.is_some_and(|before| !before.ends_with(|letter: char| letter.is_ascii_alphanumeric()))
    }

    fn judged(&self, bindings: &[KubeletBinding]) -> JudgedKubelet {
        let class = self.class();
        let own = format!("User {}", self.user);
        let kept: Vec<&str> = bindings
            .iter()
            .filter(|binding| binding.subjects.contains(&own))
            .map(|binding| binding.name.as_str())
            .collect();
        JudgedKubelet {
            user: self.user.clone(),
            class,
            also: self.groups.iter().any(|group| group == MASTERS).then_some("system:masters: unrestricted"),
            node_authorizer: (class != KubeletClass::Conforming).then_some("no opinion"),
            node_restriction: match class {
                KubeletClass::Conforming => None,
                KubeletClass::Unnamed => Some("every write it looks at is refused"),
                KubeletClass::OutsideGroup | KubeletClass::Undifferentiated => Some("not applied"),
            },
            kept_by: (!kept.is_empty()).then(|| kept.join(", ")),
        }
    }
}

/// Whether this is a binding of the group to the permissions of `system:node`, or to all permissions, under any name.
fn binds_group(binding: &KubeletBinding) -> bool {
    let role = binding.role.as_deref().unwrap_or(binding.name.as_str());
    matches!(role, super::system_node::NAME | "cluster-admin") && binding.subjects.contains(&format!("Group {NODES}"))
}

/// Returns the findings and the progress of the steps.
pub fn report(inventory: &Inventory) -> KubeletMigration {
    let settings = &inventory.api_server;
    let mode = |wanted: &str| settings.authorization_mode.iter().position(|mode| mode == wanted);
    let has_node = mode("Node").is_some_and(|node| mode("RBAC").is_none_or(|rbac| node < rbac));
    let is_set = has_node && settings.admission_plugins.iter().any(|plugin| plugin == "NodeRestriction");
    let others = inventory.kubelets.iter().filter(|kubelet| kubelet.class() != KubeletClass::Conforming).count();
    let dependent: Vec<String> = inventory
        .kubelets
        .iter()
        .filter(|kubelet| kubelet.depends_on_group())
        .map(|kubelet| kubelet.user.clone())
        .collect();
    let is_bound = inventory.bindings.iter().any(binds_group);
    let state = |is_done: bool| if is_done { StepState::Done } else { StepState::Todo };
    let blocked_by = match (is_bound, dependent.is_empty(), is_set) {
        (false, _, _) => Vec::new(),
        (true, false, _) => dependent,
        (true, true, false) => vec!["step 1".to_owned()],
        (true, true, true) => Vec::new(),
    };
    let last = match (is_bound, blocked_by.is_empty()) {
        (false, _) => StepState::Done,
        (true, false) => StepState::Blocked,
        (true, true) => StepState::Todo,
    };
    let step = |step, state, what: String| MigrationStep { step, state, what, blocked_by: Vec::new() };
    let has_identity = |node: &&String| inventory.kubelets.iter().any(|kubelet| kubelet.tells_of(node));
    KubeletMigration {
        kubelets: inventory.kubelets.iter().map(|kubelet| kubelet.judged(&inventory.bindings)).collect(),
        nodes_without_identity: inventory.nodes.iter().filter(|node| !has_identity(node)).cloned().collect(),
        steps: vec![
            step(1, state(is_set), "authorization mode Node before RBAC and admission NodeRestriction".to_owned()),
            step(2, state(others == 0), format!("{others} kubelet identities to reissue")),
            step(3, StepState::Manual, "watch the apiserver log for NODE DENY".to_owned()),
            MigrationStep {
                blocked_by,
                ..step(4, last, format!("remove Group {NODES} from {}", super::system_node::NAME))
            },
        ],
    }
}
