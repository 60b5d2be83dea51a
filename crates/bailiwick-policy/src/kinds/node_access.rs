//! `NodeAccess`: permissions of kubelets, agents limited to their node, and Secrets isolated from nodes.

mod check;
mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_node::cluster::{Node, Taint};
use bailiwick_node::migration::Kubelet;
use bailiwick_node::system_node::Style;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::Sink;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::StringMap;
use crate::model::{
    ApiServerSettings, CommonMetadataSpec, Contribution, Isolation, Kind, Linker, NodePool, OutputFileKey, Patterns,
    PlacedAgent, Policy, PolicyMeta, RawDocument, Target, Unit,
};

/// The policy kind `NodeAccess`.
pub struct NodeAccessKind;

/// Permissions of nodes: the role `system:node` and its binding, agents that write only objects of their own node, and
/// Secrets that a pool of nodes must not reach.
///
/// `systemNode` writes the role and its binding as the API server of the target's version creates them. The binding has
/// no subjects, since the Node authorizer and the NodeRestriction admission plugin replace it. If listed `kubelets`
/// depend on the group `system:nodes`, use `binding: kept`.
///
/// An agent runs on every node. `reads` lists its read permissions. `ownNode` lists objects of its own node that it may
/// write; a ValidatingAdmissionPolicy compares them with the node in the agent's token. This requires Kubernetes 1.30.
///
/// `isolation` lists namespaces with Secrets that a pool must not reach, either by its kubelets or by the service
/// accounts of its pods. `bailiwick check` fails if a Secret is within reach; `bailiwick node-reach` prints everything
/// within reach. Workloads come from Manifests policies.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: NodeAccess
/// metadata:
///   name: nodes
/// spec:
///   systemNode:
///     binding: upstream
///   agents:
///   - name: csi-agent
///     serviceAccount: {name: csi-agent, namespace: storage, create: true}
///     reads:
///     - {apiGroup: "", resources: [nodes], verbs: [get]}
///     ownNode:
///     - {apiGroup: example.com, resources: [nodestates], verbs: [create, update, patch, delete]}
///   pools:
///   - name: web
///     labels: {node-restriction.kubernetes.io/pool: web}
///   isolation:
///   - pool: web
///     namespaces: [payments]
/// ```
///
/// Texts are literal; they have no variables.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeAccessSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The role `system:node` and its binding. Default: not written.
    #[serde(default)]
    pub system_node: Option<Spanned<SystemNode>>,
    /// Agents with a pod on every node.
    #[serde(default)]
    pub agents: Vec<Spanned<Agent>>,
    /// Pools of nodes alike.
    #[serde(default)]
    pub pools: Vec<Spanned<Pool>>,
    /// Namespaces with Secrets that pools must not reach.
    #[serde(default)]
    pub isolation: Vec<Spanned<IsolationSpec>>,
}

/// The role `system:node` and its binding.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SystemNode {
    /// The form of the binding: `upstream` as the API server creates it, without subjects since 1.8; `seed` for no
    /// binding without subjects; `kept` with the group `system:nodes`, as in 1.6. Default: `upstream`.
    #[serde(default)]
    pub binding: BindingStyle,
    /// The authorizers of the API server, in order. Default: Node, RBAC.
    #[serde(default)]
    pub authorization_mode: Vec<Spanned<String>>,
    /// Feature gates of the API server with another value than the default of its version.
    #[serde(default)]
    pub feature_gates: BTreeMap<String, bool>,
    /// The kubelets with the identities in their certificates. A kubelet that depends on a removed subject is an error.
    #[serde(default)]
    pub kubelets: Vec<Spanned<Kubelet>>,
}

/// The form of the binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BindingStyle {
    /// As the API server makes it.
    #[default]
    Upstream,
    /// No binding without subjects.
    Seed,
    /// With its subject.
    Kept,
}

impl BindingStyle {
    /// Returns the style of a binding without subjects.
    fn style(self) -> Option<Style> {
        match self {
            BindingStyle::Upstream => Some(Style::Upstream),
            BindingStyle::Seed => Some(Style::Seed),
            BindingStyle::Kept => None,
        }
    }
}

/// An agent with a pod on every node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Agent {
    /// Its name; its objects are called `node-access-NAME`.
    pub name: Spanned<String>,
    /// Namespace and name of the account of the agent's pods.
    pub service_account: AgentAccount,
    /// Read permissions for the objects of every node.
    #[serde(default)]
    pub reads: Vec<Spanned<Reads>>,
    /// Write permissions for the objects of its own node.
    #[serde(default)]
    pub own_node: Vec<Spanned<OwnNode>>,
}

/// The service account of an agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentAccount {
    /// The name of the ServiceAccount.
    pub name: Spanned<String>,
    /// The namespace of the ServiceAccount.
    pub namespace: Spanned<String>,
    /// True when the account is to be created here too.
    #[serde(default)]
    pub create: bool,
}

/// Read permissions of an agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reads {
    /// The API group; empty for the core group.
    pub api_group: String,
    /// Resource names in plural, such as `nodes`.
    pub resources: Vec<String>,
    /// Some of get, list and watch.
    pub verbs: Vec<String>,
}

/// Write permissions of an agent for its own node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OwnNode {
    /// The API group; empty for the core group.
    pub api_group: String,
    /// The resources; each subresource by itself, as in `nodestates/status`.
    pub resources: Vec<String>,
    /// Some of create, update, patch, delete and deletecollection.
    pub verbs: Vec<String>,
    /// The field of an object with the name of its node. Default: metadata.name.
    #[serde(default)]
    pub node: Option<String>,
    /// For `nodes` and `nodes/status`: the prefix of the label keys that may change, such as `agent.example.com/`.
    /// Taints and owners may then not change. A write of the status can change labels, too.
    #[serde(default)]
    pub labels: Option<String>,
}

/// A pool of nodes alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// The name by which `isolation` refers to the pool.
    pub name: Spanned<String>,
    /// The common labels of its nodes. Other labels of the nodes are ignored.
    #[serde(default)]
    pub labels: StringMap,
    /// The common taints of its nodes.
    #[serde(default)]
    pub taints: Vec<PoolTaint>,
}

/// A taint of the nodes of a pool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolTaint {
    /// A label key, such as `example.com/gpu`.
    pub key: String,
    /// Its value. Default: none.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: TaintEffect,
}

/// The rule for pods without a toleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// Pods without a toleration are not scheduled.
    NoSchedule,
    /// Pods without a toleration are scheduled elsewhere if possible.
    PreferNoSchedule,
    /// Pods without a toleration are not scheduled, and running pods are evicted.
    NoExecute,
}

impl TaintEffect {
    fn word(self) -> &'static str {
        match self {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
        }
    }
}

/// Namespaces with Secrets that a pool must not reach.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationSpec {
    /// The name of a declared pool.
    pub pool: Spanned<String>,
    /// The namespaces of the Secrets.
    pub namespaces: Vec<Spanned<String>>,
}

impl Pool {
    /// Builds a node with the labels and taints of the pool.
    fn like(&self) -> Node {
        let taint = |taint: &PoolTaint| Taint {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.word().to_owned(),
        };
        Node { labels: self.labels.clone(), taints: self.taints.iter().map(taint).collect(), ..Node::default() }
    }
}

impl Kind for NodeAccessKind {
    type Spec = NodeAccessSpec;

    const NAME: &'static str = "NodeAccess";
    const TEMPLATES: &'static [&'static str] = objects::TEMPLATES;
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: NodeAccessSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let meta = document.meta.clone();
        let mut found = Sink::new();
        let targets = linker.targets_of(&meta);
        check::pools(&spec, &linker.facts, &meta, &mut found);
        check::agents(&spec, &linker.facts, &meta, &targets, &mut found);
        let versions = check::versions(&spec, &targets, &mut found);
        let mut made = BTreeMap::new();
        for target in &targets {
            made.insert(target.name.clone(), objects::of_target(&spec, target, versions.get(&target.name)));
        }
        if let Some(system_node) = &spec.system_node {
            linker.facts.push(ApiServerSettings {
                authorization_modes: system_node.authorization_mode.iter().map(|mode| mode.value.clone()).collect(),
                feature_gates: system_node.feature_gates.clone(),
                targets: Arc::clone(&meta.targets),
            });
        }
        for pool in &spec.pools {
            linker.facts.push(NodePool {
                name: pool.name.value.clone(),
                like: pool.like(),
                origin: pool.name.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        for isolation in &spec.isolation {
            linker.facts.push(Isolation {
                pool: isolation.pool.value.clone(),
                namespaces: isolation.namespaces.iter().map(|namespace| namespace.value.clone()).collect(),
                origin: isolation.pool.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        for agent in &spec.agents {
            linker.facts.push(PlacedAgent {
                agent: objects::agent(agent),
                origin: agent.name.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        let can_be_used = !found.has_errors();
        sink.absorb(found);
        can_be_used.then(|| Box::new(Linked { meta, made }) as Box<dyn Policy>)
    }

    fn check_together(linker: &Linker<'_>, _: bool, sink: &mut Sink) {
        check::unknown_pools(&linker.facts, sink);
    }
}

/// An object with its output file and the location of its request.
struct Part {
    output_file: OutputFileKey,
    unit: Unit,
}

struct Linked {
    meta: PolicyMeta,
    /// The objects of each target.
    made: BTreeMap<String, Vec<Part>>,
}

impl Linked {
    fn parts(&self, target: &Target) -> &[Part] {
        self.made.get(&target.name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, part) in self.parts(target).iter().enumerate() {
            visit(part.output_file.clone(), Contribution::try_from(index).unwrap_or_default());
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.parts(target).get(part as usize).map(|part| part.unit.clone()));
    }
}
