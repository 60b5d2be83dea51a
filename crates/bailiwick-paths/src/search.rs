//! The shortest paths of the graph.
//!
//! Powers of the whole cluster are searched backward, once for all subjects. Powers over one namespace or account are
//! searched forward from a subject, without the powers of the whole cluster on the way.

use std::collections::HashMap;

use crate::graph::{Edge, Graph, NodeId, NodeKey};
use crate::path::PathCertainty;
use crate::power::Power;

/// The most steps of a path.
const MOST_STEPS: usize = 12;

/// The edges of a path, each with its start.
pub(crate) type Route = Vec<(NodeId, Edge)>;

/// The steps from each node to a goal.
#[derive(Debug)]
struct Distances {
    /// By proven steps alone; none for more than [`MOST_STEPS`].
    proven: Vec<Option<u8>>,
    /// By any step.
    any: Vec<Option<u8>>,
}

/// The distances to the powers of the whole cluster.
#[derive(Debug)]
pub(crate) struct Search {
    to_power: Vec<Distances>,
}

/// The edges into each node: the start, the number of steps, and the certainty.
struct Reversed {
    starts: Vec<u32>,
    edges: Vec<(NodeId, u8, PathCertainty)>,
}

impl Reversed {
    fn new(graph: &Graph) -> Self {
        let count = graph.keys.len();
        let all =
            || graph.edges.iter().zip(0..).flat_map(|(edges, from)| edges.iter().map(move |edge| (NodeId(from), edge)));
        let mut starts = vec![0u32; count + 1];
        for (_, edge) in all() {
            if let Some(start) = starts.get_mut(edge.to.index() + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut edges = vec![(NodeId(0), 0, PathCertainty::Proven); sum as usize];
        for (from, edge) in all() {
            let Some(position) = next.get_mut(edge.to.index()) else { continue };
            if let Some(slot) = edges.get_mut(*position as usize) {
                *slot = (from, steps(graph, from, edge), edge.certainty);
            }
            *position += 1;
        }
        Self { starts, edges }
    }

    fn edges_into(&self, node: NodeId) -> &[(NodeId, u8, PathCertainty)] {
        let bound = |index: usize| self.starts.get(index).map_or(0, |start| *start as usize);
        bailiwick_yaml::internal::items(&self.edges, bound(node.index())..bound(node.index() + 1))
    }
}

/// Returns the number of steps of an edge.
fn steps(graph: &Graph, from: NodeId, edge: &Edge) -> u8 {
    match graph.steps_of(from, edge) {
        0 => 0,
        1 => 1,
        _ => 2,
    }
}

/// Returns the power of a node.
fn power_of(key: &NodeKey) -> Option<Power> {
    match key {
        NodeKey::ClusterAdmin => Some(Power::ClusterAdmin),
        NodeKey::AnyUser | NodeKey::AnyCertificate => Some(Power::AnyUser),
        NodeKey::AnyAccount => Some(Power::AnyAccount),
        NodeKey::SomeNode | NodeKey::NamedNodes(_) | NodeKey::EveryNode => Some(Power::Nodes),
        NodeKey::AllSecrets => Some(Power::AllSecrets),
        NodeKey::Admission | NodeKey::Mutation => Some(Power::Admission),
        NodeKey::Gitops(_) => Some(Power::Gitops),
        _ => None,
    }
}

impl Search {
    /// Searches the powers of the whole cluster.
    pub(crate) fn new(graph: &Graph) -> Self {
        let reversed = Reversed::new(graph);
        let to_power = Power::OF_CLUSTER.iter().map(|power| {
            let goals = graph.keys.iter().zip(0..).filter(|(key, _)| power_of(key).as_ref() == Some(power));
            let goals: Vec<NodeId> = goals.map(|(_, id)| NodeId(id)).collect();
            let distances = |most| distances(&reversed, graph.keys.len(), &goals, most);
            Distances { proven: distances(PathCertainty::Proven), any: distances(PathCertainty::Possible) }
        });
        Self { to_power: to_power.collect() }
    }

    /// Returns the best route from a node to each power of the whole cluster.
    pub(crate) fn routes(&self, graph: &Graph, from: NodeId) -> Vec<(Power, Route)> {
        let powers = Power::OF_CLUSTER.iter().zip(&self.to_power);
        powers.filter_map(|(power, distances)| Some((power.clone(), distances.route(graph, from)?))).collect()
    }

    /// Returns the best route from a node to a power, by its position in [`Power::OF_CLUSTER`].
    pub(crate) fn route(&self, graph: &Graph, power: usize, from: NodeId) -> Option<Route> {
        self.to_power.get(power)?.route(graph, from)
    }
}

/// Returns the number of steps from each node to the nearest goal, by edges of a certainty or better.
fn distances(reversed: &Reversed, count: usize, goals: &[NodeId], worst: PathCertainty) -> Vec<Option<u8>> {
    let mut found: Vec<Option<u8>> = vec![None; count];
    let mut waiting: Vec<Vec<NodeId>> = vec![Vec::new(); MOST_STEPS + 3];
    if let Some(first) = waiting.first_mut() {
        first.extend(goals);
    }
    for goal in goals {
        if let Some(slot) = found.get_mut(goal.index()) {
            *slot = Some(0);
        }
    }
    for level in 0u8..=12 {
        while let Some(node) = waiting.get_mut(usize::from(level)).and_then(Vec::pop) {
            if found.get(node.index()).copied().flatten() != Some(level) {
                continue;
            }
            for (from, steps, certainty) in reversed.edges_into(node) {
                let next = level + steps;
                let Some(slot) = found.get_mut(from.index()) else { continue };
                let is_better = slot.is_none_or(|known| next < known);
                if *certainty > worst || usize::from(next) > MOST_STEPS || !is_better {
                    continue;
                }
                *slot = Some(next);
                if let Some(list) = waiting.get_mut(usize::from(next)) {
                    list.push(*from);
                }
            }
        }
    }
    found
}

impl Distances {
    /// Returns the shortest proven route, else the shortest one.
    fn route(&self, graph: &Graph, from: NodeId) -> Option<Route> {
        let is_proven = self.proven.get(from.index()).copied().flatten().is_some();
        let (by, worst) =
            if is_proven { (&self.proven, PathCertainty::Proven) } else { (&self.any, PathCertainty::Possible) };
        let mut left = by.get(from.index()).copied().flatten()?;
        let mut route = Route::new();
        let mut node = from;
        while left > 0 || graph.key(node).is_none_or(NodeKey::is_hub) {
            let leads = |edge: &&Edge| {
                let rest = by.get(edge.to.index()).copied().flatten();
                edge.certainty <= worst && rest.is_some_and(|rest| rest + steps(graph, node, edge) == left)
            };
            let edge = *graph.edges_of(node).iter().find(leads)?;
            left -= steps(graph, node, &edge);
            route.push((node, edge));
            node = edge.to;
        }
        Some(route)
    }
}

/// Returns the best routes from a node to powers over one namespace or account.
pub(crate) fn local_routes(graph: &Graph, from: NodeId) -> HashMap<NodeId, Route> {
    let is_local = |to: NodeId| graph.key(to).is_some_and(|key| !key.is_of_cluster());
    let mut routes = reached(graph, from, PathCertainty::Possible, &is_local);
    routes.extend(reached(graph, from, PathCertainty::Proven, &is_local));
    routes.retain(|node, _| {
        *node != from
            && graph.key(*node).is_some_and(|key| {
                matches!(key, NodeKey::Subject(_) | NodeKey::NamespaceAdmin(_) | NodeKey::Secrets(_))
            })
    });
    routes
}

/// Returns the best route from a node to another one, also by powers of the whole cluster.
pub(crate) fn route_between(graph: &Graph, from: NodeId, to: NodeId) -> Option<Route> {
    let find = |worst| reached(graph, from, worst, &|_| true).remove(&to);
    find(PathCertainty::Proven).or_else(|| find(PathCertainty::Possible)).filter(|route| !route.is_empty())
}

/// Returns the nodes within reach by edges of a certainty or better to some of the nodes, each with a shortest route.
fn reached(
    graph: &Graph,
    from: NodeId,
    worst: PathCertainty,
    is_passed: &dyn Fn(NodeId) -> bool,
) -> HashMap<NodeId, Route> {
    let mut parents: HashMap<NodeId, (usize, Option<(NodeId, Edge)>)> = HashMap::from([(from, (0, None))]);
    let mut waiting: Vec<Vec<NodeId>> = vec![Vec::new(); MOST_STEPS + 3];
    if let Some(first) = waiting.first_mut() {
        first.push(from);
    }
    for level in 0..=MOST_STEPS {
        let mut position = 0;
        while let Some(node) = waiting.get(level).and_then(|list| list.get(position)).copied() {
            position += 1;
            if parents.get(&node).is_none_or(|(known, _)| *known != level) {
                continue;
            }
            for edge in graph.edges_of(node) {
                let next = level + graph.steps_of(node, edge);
                let is_better = parents.get(&edge.to).is_none_or(|(known, _)| next < *known);
                if edge.certainty > worst || next > MOST_STEPS || !is_passed(edge.to) || !is_better {
                    continue;
                }
                parents.insert(edge.to, (next, Some((node, *edge))));
                if let Some(list) = waiting.get_mut(next) {
                    list.push(edge.to);
                }
            }
        }
    }
    let route_to = |goal: NodeId| {
        let mut route = Route::new();
        let mut node = goal;
        while let Some((_, Some((before, edge)))) = parents.get(&node) {
            route.push((*before, *edge));
            node = *before;
        }
        route.reverse();
        route
    };
    parents.keys().map(|node| (*node, route_to(*node))).collect()
}
