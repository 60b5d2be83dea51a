//! Facts of NodeAccess policies about the compiled workspace: node pools, namespaces to isolate from them, and the
//! agents on the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diag::Origin;
use crate::node::agent::Agent;
use crate::node::cluster::Node;

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
    pub agent: Agent,
    /// The location of its declaration.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// The API server configuration of targets, as a policy states it.
#[derive(Debug, Clone)]
pub struct ApiServer {
    /// The authorizers in order, as in `--authorization-mode`; empty if not stated.
    pub authorization_modes: Vec<String>,
    /// Feature gates with another value than the default of the version.
    pub feature_gates: BTreeMap<String, bool>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct NodeAccess {
    /// Stated API server configurations.
    pub api_servers: Vec<ApiServer>,
    /// Declared node pools.
    pub pools: Vec<NodePool>,
    /// Assertions about pools.
    pub isolations: Vec<Isolation>,
    /// Declared agents.
    pub agents: Vec<PlacedAgent>,
}

impl NodeAccess {
    /// Returns the stated API server configuration of a target.
    pub fn api_server_of(&self, target: &str) -> Option<&ApiServer> {
        self.api_servers.iter().find(|server| server.targets.contains(target))
    }

    /// Returns the pools of a target.
    pub fn pools_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n NodePool> {
        self.pools.iter().filter(move |pool| pool.targets.contains(target))
    }

    /// Returns the assertions about a target.
    pub fn isolations_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n Isolation> {
        self.isolations.iter().filter(move |isolation| isolation.targets.contains(target))
    }

    /// Returns the agents of a target.
    pub fn agents_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n PlacedAgent> {
        self.agents.iter().filter(move |agent| agent.targets.contains(target))
    }
}
