//! The changes of the reach of nodes: the Secrets and service accounts that an attacker on a node can reach.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_node::graph::{Graph, ObjectKind};
use bailiwick_node::reach::{EqualNodes, NodeReachability, Reachable};
use bailiwick_policy::model::{Isolation, NodePool};

use super::record::{EffectSeverity, NodeChange};
use super::state::TargetState;

/// The name for any node, in inputs without nodes.
const SOME_NODE: &str = "a node without labels";

/// The kinds of objects that are compared.
const KINDS: [(ObjectKind, &str); 2] = [(ObjectKind::Secret, "Secret"), (ObjectKind::ServiceAccount, "ServiceAccount")];

/// The objects within reach of nodes, by the name of the nodes and the kind.
type Reached = BTreeMap<(String, &'static str), BTreeSet<String>>;

/// Compares the reach of the nodes and pools of both states.
pub(super) fn compare(base: &TargetState<'_>, head: &TargetState<'_>) -> Vec<NodeChange> {
    let (before, after) = (reached(base), reached(head));
    let mut changes = Vec::new();
    for (key, new) in &after {
        let Some(old) = before.get(key) else { continue };
        let gained: Vec<String> = new.difference(old).cloned().collect();
        let lost: Vec<String> = old.difference(new).cloned().collect();
        if gained.is_empty() && lost.is_empty() {
            continue;
        }
        let isolated = isolated_namespaces(head, &key.0);
        let is_isolated =
            |object: &String| object.split_once('/').is_some_and(|(namespace, _)| isolated.contains(namespace));
        let severity = match (gained.iter().any(is_isolated), gained.is_empty()) {
            (true, _) => EffectSeverity::High,
            (false, false) => EffectSeverity::Low,
            (false, true) => EffectSeverity::None,
        };
        let (nodes, kind) = (key.0.clone(), key.1.to_owned());
        changes.push(NodeChange { target: head.target.name.clone(), nodes, kind, gained, lost, severity });
    }
    changes
}

fn reached(state: &TargetState<'_>) -> Reached {
    let mut all = Reached::new();
    let Some(cluster) = state.loaded.cluster() else { return all };
    let graph = Graph::from_cluster(cluster);
    let atlas = NodeReachability::new(cluster, &graph);
    let mut add = |name: &str, reach: &Reachable<'_>| {
        for (kind, word) in KINDS {
            let names = reach.of_kind(kind).map(|(object, _)| format!("{}/{}", object.namespace, object.name));
            all.insert((name.to_owned(), word), names.collect());
        }
    };
    let pools: Vec<&NodePool> = state.workspace.project().facts.on(&state.target.name).collect();
    for pool in &pools {
        add(
            &format!("pool {}", pool.name),
            &atlas.of_pool(&EqualNodes::from_cluster(cluster, pool.like.clone()), true),
        );
    }
    let names = cluster.node_names();
    for name in &names {
        add(name, &atlas.of_node(name, true));
    }
    if names.is_empty() && pools.is_empty() {
        add(SOME_NODE, &atlas.of_node("", true));
    }
    all
}

/// Returns the namespaces whose Secrets a pool must not reach.
fn isolated_namespaces(state: &TargetState<'_>, nodes: &str) -> BTreeSet<String> {
    let isolations = state.workspace.project().facts.on(&state.target.name);
    let own = isolations.filter(|isolation: &&Isolation| nodes == format!("pool {}", isolation.pool));
    own.flat_map(|isolation| isolation.namespaces.iter().cloned()).collect()
}
