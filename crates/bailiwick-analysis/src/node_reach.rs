//! The objects within reach of a compromised node.

use bailiwick_node::agent::NodeAgent;
use bailiwick_node::graph::{Graph, GraphObject, ObjectKind};
use bailiwick_node::powers::{NodeAccount, NodeSecretPath, Powers};
use bailiwick_node::reach::{Certainty, EqualNodes, NodeReachability, Reachable, Reached};
use bailiwick_policy::model::{NodePool, PlacedAgent};
use bailiwick_workspace::Workspace;
use schemars::JsonSchema;
use serde::Serialize;

use super::loaded_world::LoadedWorld;

/// The conditions under which the result holds.
const ASSUMPTIONS: [&str; 4] = [
    "every pod comes from these objects, and stays on the node that it is bound to",
    "the nodes have the labels and taints that they have here; a pool's nodes have no others",
    "pods of workloads equal their templates: no webhook changes them",
    "volumes that are yet to be made, by a StorageClass, name no Secrets of others",
];

/// A question about the reach of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeReachOptions {
    /// A node, or a pool of a NodeAccess policy. Without it: a summary of each.
    pub name: Option<String>,
    /// The namespaces for whose Secrets the steps are searched.
    pub secrets_of: Vec<String>,
}

/// The pools and agents that the policies of a target declare.
#[derive(Debug, Default)]
pub struct DeclaredNodes<'w> {
    /// The pools of NodeAccess policies.
    pools: Vec<&'w NodePool>,
    /// The agents of NodeAccess policies.
    agents: Vec<&'w NodeAgent>,
}

/// The answer to a question about the reach of nodes.
#[derive(Debug, Clone)]
pub enum NodeReachAnswer {
    /// Every node and pool; empty without any.
    List(Vec<NodeSummary>),
    /// The node or the pool.
    One(Box<NodeReach>),
    /// There is no such node or pool; the names that there are.
    Unknown(Vec<String>),
}

/// A node or pool in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// The name in the cluster.
    pub name: String,
    /// The number of Secrets within reach.
    pub secrets: usize,
    /// The number of further Secrets within reach if pods are scheduled there.
    pub secrets_perhaps: usize,
    /// The number of service accounts within reach.
    pub accounts: usize,
    /// The number of further service accounts within reach if pods are scheduled there.
    pub accounts_perhaps: usize,
    /// The most dangerous service account there, with its permissions.
    pub worst: Option<String>,
}

/// The objects within reach of a node or a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReach {
    /// The name in the cluster.
    pub name: String,
    /// The pool; none for a node.
    pub pool: Option<PoolNodes>,
    /// The dangerous permissions of the kubelet by RBAC.
    pub kubelet: Vec<&'static str>,
    /// The service accounts whose tokens it can make.
    pub accounts: Vec<ReachedAccount>,
    /// The objects that it can read.
    pub objects: Vec<ReachedObject>,
    /// The further objects that it can read once it sets labels on itself.
    pub by_labels: Vec<ReachedObject>,
    /// The claims of workloads, by namespace and name, without a known volume.
    pub open_claims: Vec<(String, String)>,
    /// The steps to the Secrets of the requested namespaces.
    pub breaches: Vec<SecretPath>,
    /// The conditions under which this holds.
    pub assumptions: [&'static str; 4],
}

/// The known nodes of a NodeAccess pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PoolNodes {
    /// The names of the known nodes.
    pub nodes: Vec<String>,
}

/// A service account on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReachedAccount {
    /// The namespace in the cluster.
    pub namespace: String,
    /// The name in the cluster.
    pub name: String,
    /// `maybe` if it depends on scheduling.
    pub certainty: Certainty,
    /// The path of the account to the node.
    pub via: String,
    /// Its dangerous permissions in the whole cluster, the worst first.
    pub powers: Vec<&'static str>,
    /// All of its permissions.
    pub effective: Vec<String>,
    /// The account with its nodes and dangerous permissions, as a line.
    #[serde(skip)]
    pub finding: String,
}

/// An object within reach of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReachedObject {
    /// The kind of Kubernetes.
    pub kind: ObjectKind,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name in the cluster.
    pub name: String,
    /// `maybe` if it depends on scheduling.
    pub certainty: Certainty,
    /// The path of the object to the node.
    pub via: String,
}

/// The steps from a node to the Secrets of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretPath {
    /// The namespace in the cluster.
    pub namespace: String,
    /// `maybe` if it depends on scheduling.
    pub certainty: Certainty,
    /// One line each, in order.
    pub steps: Vec<String>,
}

/// Returns the pools and agents that the policies declare for a target.
pub fn declared_nodes<'w>(workspace: &'w Workspace, target: &'w str) -> DeclaredNodes<'w> {
    DeclaredNodes {
        pools: workspace.project().facts.on(target).collect(),
        agents: workspace.project().facts.on(target).map(|placed: &PlacedAgent| &placed.agent).collect(),
    }
}

impl LoadedWorld {
    /// Returns the objects within reach of a node or a pool, or a summary of each. The world needs its surroundings.
    pub fn node_reach(&self, declared: &DeclaredNodes<'_>, options: &NodeReachOptions) -> NodeReachAnswer {
        let Some(cluster) = self.cluster() else { return NodeReachAnswer::List(Vec::new()) };
        let graph = Graph::from_cluster(cluster);
        let atlas = NodeReachability::new(cluster, &graph);
        let mut powers = Powers::new(&self.world, &cluster.version).with_agents(declared.agents.iter().copied());
        let names = cluster.node_names();
        let pool_of = |pool: &NodePool| EqualNodes::from_cluster(cluster, pool.like.clone());
        let Some(name) = &options.name else {
            let mut summaries = Vec::new();
            for pool in &declared.pools {
                let reach = atlas.of_pool(&pool_of(pool), false);
                summaries.push(NodeSummary::new(&format!("pool {}", pool.name), &reach, &mut powers));
            }
            for name in &names {
                summaries.push(NodeSummary::new(name, &atlas.of_node(name, false), &mut powers));
            }
            return NodeReachAnswer::List(summaries);
        };
        let pool = declared.pools.iter().find(|pool| pool.name == *name).map(|pool| pool_of(pool));
        if pool.is_none() && !names.contains(name.as_str()) {
            let pools = declared.pools.iter().map(|pool| pool.name.clone());
            return NodeReachAnswer::Unknown(names.iter().map(|name| (*name).to_owned()).chain(pools).collect());
        }
        let reach = |relabels: bool| match &pool {
            Some(pool) => atlas.of_pool(pool, relabels),
            None => atlas.of_node(name, relabels),
        };
        let (plain, relabelled) = (reach(false), reach(true));
        let alone = [name.clone()];
        let nodes = pool.as_ref().map_or(alone.as_slice(), |pool| &pool.members);
        let breaches = powers.breaches(nodes, &relabelled, &options.secrets_of);
        let carried = powers.carried(&plain);
        let kubelet = powers.of_kubelets(nodes);
        let drawn = relabelled.objects.iter().filter(|(object, _)| !plain.objects.contains_key(*object));
        NodeReachAnswer::One(Box::new(NodeReach {
            name: name.clone(),
            kubelet,
            accounts: carried.iter().map(|carried| ReachedAccount::new(carried, &atlas, &mut powers)).collect(),
            objects: plain.objects.iter().map(|(object, reached)| ReachedObject::new(object, reached)).collect(),
            by_labels: drawn.map(|(object, reached)| ReachedObject::new(object, reached)).collect(),
            open_claims: plain.open_claims.iter().map(|claim| (*claim).clone()).collect(),
            breaches: breaches.into_iter().map(SecretPath::new).collect(),
            assumptions: ASSUMPTIONS,
            pool: pool.map(|pool| PoolNodes { nodes: pool.members }),
        }))
    }
}

impl NodeSummary {
    fn new(name: &str, reach: &Reachable<'_>, powers: &mut Powers<'_>) -> Self {
        let count = |kind, certainty| reach.of_kind(kind).filter(|(_, reached)| reached.certainty == certainty).count();
        let worst = powers.worst(reach).map(|carried| {
            let perhaps = if carried.certainty == Certainty::Maybe { "perhaps " } else { "" };
            format!("{perhaps}{}/{} {}", carried.account.0, carried.account.1, carried.powers.join(", "))
        });
        Self {
            name: name.to_owned(),
            secrets: count(ObjectKind::Secret, Certainty::Yes),
            secrets_perhaps: count(ObjectKind::Secret, Certainty::Maybe),
            accounts: count(ObjectKind::ServiceAccount, Certainty::Yes),
            accounts_perhaps: count(ObjectKind::ServiceAccount, Certainty::Maybe),
            worst,
        }
    }
}

impl ReachedAccount {
    fn new(carried: &NodeAccount, atlas: &NodeReachability<'_>, powers: &mut Powers<'_>) -> Self {
        let (namespace, name) = carried.account.clone();
        Self {
            namespace,
            name,
            certainty: carried.certainty,
            via: carried.via.clone(),
            powers: carried.powers.clone(),
            effective: powers.effective(&carried.account),
            finding: carried.finding(atlas),
        }
    }
}

impl ReachedObject {
    fn new(object: &GraphObject, reached: &Reached<'_>) -> Self {
        let GraphObject { kind, namespace, name } = object.clone();
        Self { kind, namespace, name, certainty: reached.certainty, via: reached.via.to_string() }
    }

    /// Returns the identity of the object.
    pub fn object(&self) -> GraphObject {
        GraphObject { kind: self.kind, namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

impl SecretPath {
    fn new(breach: NodeSecretPath) -> Self {
        let NodeSecretPath { certainty, namespace, steps } = breach;
        Self { namespace, certainty, steps }
    }
}
