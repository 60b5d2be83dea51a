//! Facts of NodeAccess policies about the compiled workspace: node pools, namespaces to isolate from them, and the
//! agents on the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_node::agent::NodeAgent;
use bailiwick_node::cluster::Node;
use bailiwick_yaml::diag::Origin;

use super::facts::facts_with_targets;

/// A pool of nodes alike.
#[derive(Debug, Clone)]
pub struct NodePool {
    /// The pool as policies refer to it.
    pub name: String,
    /// The common labels and taints of its nodes.
    pub like: Node,
    /// The location of its declaration.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// Namespaces with Secrets that a pool must not reach.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The name of the node pool.
    pub pool: String,
    /// Names of the isolated namespaces.
    pub namespaces: Vec<String>,
    /// The location of the assertion.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// An agent with its place.
#[derive(Debug, Clone)]
pub struct PlacedAgent {
    /// The identity and permissions of the agent.
    pub agent: NodeAgent,
    /// The location of its declaration.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The API server configuration of targets, as a policy states it.
#[derive(Debug, Clone)]
pub struct ApiServerSettings {
    /// The authorizers in order, as in `--authorization-mode`; empty if not stated.
    pub authorization_modes: Vec<String>,
    /// Feature gates with another value than the default of the version.
    pub feature_gates: BTreeMap<String, bool>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

facts_with_targets! {
    NodePool: targets;
    Isolation: targets;
    PlacedAgent: targets;
    ApiServerSettings: targets;
}
