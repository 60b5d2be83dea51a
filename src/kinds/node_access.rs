//! `NodeAccess`: what kubelets may do, agents that keep to their node, and what must stay out of the reach of nodes.

mod check;
mod objects;

pub(crate) use check::unknown_pools;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::StringMap;
use crate::diag::Sink;
use crate::model::{
    ApiServer, Contribution, Home, Isolation, Kind, Linker, NodePool, Patterns, PlacedAgent, Policy, PolicyMeta,
    RawDocument, Target, Unit,
};
use crate::node::cluster::{Node, Taint};
use crate::node::migration::Kubelet;
use crate::node::system_node::Style;
use crate::yaml::Spanned;

/// The kind.
pub struct NodeAccessKind;

/// What nodes may do: the role `system:node` and its binding, agents that write only what belongs to their own node, and
/// Secrets that must stay out of the reach of a pool of nodes.
///
/// `systemNode` writes the role as the API server of the target's version makes it, and its binding: without subjects, since
/// the Node authorizer and NodeRestriction do what it once did (seed 003). Where `kubelets` that are listed still depend
/// on the binding, it is not written without its subject.
///
/// An agent runs on every node. Its role says what it may read and write; of `ownNode` it may only write the objects of the node that
/// its token names, which a ValidatingAdmissionPolicy makes sure of. That needs Kubernetes 1.30.
///
/// `isolation` says of which namespaces no Secret may come within reach of a pool: by its kubelets, or by what the service
/// accounts of the pods there may do. `bailiwick check` fails where one does; `bailiwick node-reach` tells all that is
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
/// Texts are taken as they are; there are no variables in them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeAccessSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The role `system:node` and its binding; not written where this is not said.
    #[serde(default)]
    pub system_node: Option<Spanned<SystemNode>>,
    /// Agents that run on every node.
    #[serde(default)]
    pub agents: Vec<Spanned<Agent>>,
    /// Pools of nodes alike.
    #[serde(default)]
    pub pools: Vec<Spanned<Pool>>,
    /// What must stay out of the reach of pools.
    #[serde(default)]
    pub isolation: Vec<Spanned<IsolationSpec>>,
}

/// The role `system:node` and its binding.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SystemNode {
    /// What becomes of the binding: `upstream` as the API server makes it, empty from 1.8 on; `seed` for none where nobody
    /// is bound; `kept` with the group `system:nodes`, as 1.6 made it. Default: upstream.
    #[serde(default)]
    pub binding: BindingStyle,
    /// The authorizers of the API server, in order. Default: Node, RBAC.
    #[serde(default)]
    pub authorization_mode: Vec<Spanned<String>>,
    /// Feature gates of the API server that differ from the defaults of its version.
    #[serde(default)]
    pub feature_gates: BTreeMap<String, bool>,
    /// The kubelets that are known, as their certificates say: those that depend on the binding keep it.
    #[serde(default)]
    pub kubelets: Vec<Spanned<Kubelet>>,
}

/// What becomes of the binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BindingStyle {
    /// As the API server makes it.
    #[default]
    Upstream,
    /// As seed 003 says.
    Seed,
    /// With its subject.
    Kept,
}

impl BindingStyle {
    /// The style of a binding that nobody keeps.
    fn style(self) -> Option<Style> {
        match self {
            BindingStyle::Upstream => Some(Style::Upstream),
            BindingStyle::Seed => Some(Style::Seed),
            BindingStyle::Kept => None,
        }
    }
}

/// An agent that runs on every node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Agent {
    /// Its name; its objects are called `node-access-NAME`.
    pub name: Spanned<String>,
    /// Whom it runs as.
    pub service_account: AgentAccount,
    /// What it may read of every node.
    #[serde(default)]
    pub reads: Vec<Spanned<Reads>>,
    /// What it may write of its own node.
    #[serde(default)]
    pub own_node: Vec<Spanned<OwnNode>>,
}

/// The service account of an agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentAccount {
    /// Its name.
    pub name: Spanned<String>,
    /// Its namespace.
    pub namespace: Spanned<String>,
    /// True when the account is to be created here too.
    #[serde(default)]
    pub create: bool,
}

/// What an agent may read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reads {
    /// The API group; empty for the core group.
    pub api_group: String,
    /// The resources.
    pub resources: Vec<String>,
    /// Some of get, list and watch.
    pub verbs: Vec<String>,
}

/// What an agent may write of its own node.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OwnNode {
    /// The API group; empty for the core group.
    pub api_group: String,
    /// The resources; each subresource by itself, as in `nodestates/status`.
    pub resources: Vec<String>,
    /// Some of create, update, patch, delete and deletecollection.
    pub verbs: Vec<String>,
    /// The field of an object that names its node. Default: metadata.name.
    #[serde(default)]
    pub node: Option<String>,
    /// For `nodes` and `nodes/status`: what the keys of the labels that may change begin with, such as `agent.example.com/`. Neither
    /// taints nor owners may then change. Labels can be written by the status too.
    #[serde(default)]
    pub labels: Option<String>,
}

/// A pool of nodes alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: Spanned<String>,
    /// Labels that all of its nodes have, and no others.
    #[serde(default)]
    pub labels: StringMap,
    /// Taints that all of its nodes have.
    #[serde(default)]
    pub taints: Vec<PoolTaint>,
}

/// A taint of the nodes of a pool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolTaint {
    /// Its key.
    pub key: String,
    /// Its value. Default: none.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: TaintEffect,
}

/// What a taint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// Pods that do not tolerate it are not scheduled there.
    NoSchedule,
    /// Pods that do not tolerate it are rather not scheduled there.
    PreferNoSchedule,
    /// Pods that do not tolerate it are not scheduled there, and leave.
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

/// Secrets that must stay out of the reach of a pool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationSpec {
    /// The pool.
    pub pool: Spanned<String>,
    /// The namespaces whose Secrets they are.
    pub namespaces: Vec<Spanned<String>>,
}

impl Pool {
    /// The node that all of its nodes are like.
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
        check::pools(&spec, &linker.node_access, &meta, &mut found);
        check::agents(&spec, &linker.node_access, &meta, &targets, &mut found);
        let versions = check::versions(&spec, &targets, &mut found);
        let mut made = BTreeMap::new();
        for target in &targets {
            made.insert(target.name.clone(), objects::of_target(&spec, target, versions.get(&target.name)));
        }
        if let Some(system_node) = &spec.system_node {
            linker.node_access.api_servers.push(ApiServer {
                authorization_modes: system_node.authorization_mode.iter().map(|mode| mode.value.clone()).collect(),
                feature_gates: system_node.feature_gates.clone(),
                targets: Arc::clone(&meta.targets),
            });
        }
        for pool in &spec.pools {
            linker.node_access.pools.push(NodePool {
                name: pool.name.value.clone(),
                like: pool.like(),
                origin: pool.name.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        for isolation in &spec.isolation {
            linker.node_access.isolations.push(Isolation {
                pool: isolation.pool.value.clone(),
                namespaces: isolation.namespaces.iter().map(|namespace| namespace.value.clone()).collect(),
                origin: isolation.pool.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        for agent in &spec.agents {
            linker.node_access.agents.push(PlacedAgent {
                agent: objects::agent(agent),
                origin: agent.name.origin,
                targets: Arc::clone(&meta.targets),
            });
        }
        let can_be_used = !found.has_errors();
        sink.absorb(found);
        can_be_used.then(|| Box::new(Linked { meta, made }) as Box<dyn Policy>)
    }
}

/// An object with the file it goes to and the place that asks for it.
struct Part {
    home: Home,
    unit: Unit,
}

struct Linked {
    meta: PolicyMeta,
    /// What is written for each target.
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

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(Home, Contribution)) {
        for (index, part) in self.parts(target).iter().enumerate() {
            visit(part.home.clone(), Contribution::try_from(index).unwrap_or_default());
        }
    }

    fn expand(&self, target: &Target, _: &Home, part: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.parts(target).get(part as usize).map(|part| part.unit.clone()));
    }
}
