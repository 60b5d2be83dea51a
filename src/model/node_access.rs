//! What NodeAccess policies say that is asked of the compiled whole: the pools of nodes, what must stay out of their reach, and the
//! agents that run on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diag::Origin;
use crate::node::agent::Agent;
use crate::node::cluster::Node;

/// A pool of nodes alike.
#[derive(Debug, Clone)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// The labels and taints that all of its nodes have.
    pub like: Node,
    /// Where it is declared.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// Namespaces whose Secrets must stay out of the reach of a pool.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The pool.
    pub pool: String,
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// Where it is asserted.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// An agent with its place.
#[derive(Debug, Clone)]
pub struct PlacedAgent {
    /// The agent.
    pub agent: Agent,
    /// Where it is declared.
    pub origin: Origin,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// What a policy states of the API server of targets.
#[derive(Debug, Clone)]
pub struct ApiServer {
    /// The authorizers in their order, as `--authorization-mode` names them; empty where the policy does not state them.
    pub authorization_modes: Vec<String>,
    /// Feature gates that differ from the defaults of the version.
    pub feature_gates: BTreeMap<String, bool>,
    /// The names of the targets.
    pub targets: Arc<BTreeSet<String>>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct NodeAccess {
    /// The API servers.
    pub api_servers: Vec<ApiServer>,
    /// The pools.
    pub pools: Vec<NodePool>,
    /// What is asserted about them.
    pub isolations: Vec<Isolation>,
    /// The agents.
    pub agents: Vec<PlacedAgent>,
}

impl NodeAccess {
    /// What is stated of the API server of a target.
    pub fn api_server_of(&self, target: &str) -> Option<&ApiServer> {
        self.api_servers.iter().find(|server| server.targets.contains(target))
    }

    /// The pools of a target.
    pub fn pools_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n NodePool> {
        self.pools.iter().filter(move |pool| pool.targets.contains(target))
    }

    /// What is asserted on a target.
    pub fn isolations_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n Isolation> {
        self.isolations.iter().filter(move |isolation| isolation.targets.contains(target))
    }

    /// The agents of a target.
    pub fn agents_on<'n>(&'n self, target: &'n str) -> impl Iterator<Item = &'n PlacedAgent> {
        self.agents.iter().filter(move |agent| agent.targets.contains(target))
    }
}
