//! The powers of the whole cluster behind a single permission of a subject: the ends of the paths from this permission.

use std::cmp::Reverse;

use bailiwick_access::risk::{ReachedPower, ReachedPowers, RiskSeverity};

use crate::graph::{Edge, NodeId, NodeKey, Note};
use crate::inventory::NamespaceId;
use crate::path::{EscalationPath, PathCertainty};
use crate::power::Power;
use crate::report::{EVERYBODY, EscalationGraph};
use crate::search::Route;

/// The best path to a power from one edge.
#[derive(Debug, Clone)]
struct Opened {
    /// The position of the power in [`Power::OF_CLUSTER`].
    rank: usize,
    certainty: PathCertainty,
    steps: usize,
    /// The edge of the permission.
    edge: Edge,
}

impl Opened {
    /// Returns the same for equally bad powers; the worst is the greatest.
    fn badness(&self) -> (RiskSeverity, Reverse<PathCertainty>, Reverse<usize>, Reverse<usize>) {
        let severity =
            Power::OF_CLUSTER.get(self.rank).map_or(RiskSeverity::Info, |power| self.certainty.severity_of(power));
        (severity, Reverse(self.certainty), Reverse(self.rank), Reverse(self.steps))
    }
}

impl EscalationGraph<'_> {
    /// Returns the path from the permission of a risk rule, in a namespace or cluster-wide, to the worst power of the whole
    /// cluster; none without such a power.
    pub fn path_opened_by(&self, subject: &str, namespace: Option<&str>, rule: &str) -> Option<EscalationPath> {
        let (node, edges) = self.edges_in(subject, namespace)?;
        let of_rule = edges.into_iter().filter(|(id, _)| *id == rule).map(|(_, edge)| edge);
        let worst = of_rule.filter_map(|edge| self.worst_of(subject, node, edge)).max_by_key(Opened::badness)?;
        let mut route: Route = vec![(node, worst.edge)];
        route.extend(self.search.route(&self.graph, worst.rank, worst.edge.to)?);
        self.path(subject, Power::OF_CLUSTER.get(worst.rank)?.clone(), &route)
    }

    /// Returns the edges of a subject in a scope, each with the id of the risk rule of a permission behind it.
    fn edges_in(&self, subject: &str, namespace: Option<&str>) -> Option<(NodeId, Vec<(&'static str, Edge)>)> {
        let node = self.graph.find(&NodeKey::Subject(self.inventory.subject(subject)?))?;
        let scope: Option<NamespaceId> = match namespace {
            Some(name) => Some(self.inventory.namespace(name)?),
            None => None,
        };
        let mut edges = Vec::new();
        for edge in self.graph.edges_of(node) {
            for proof in [edge.proof, edge.after_proof].into_iter().flatten().filter(|proof| proof.scope == scope) {
                let met = self.lists.get(proof.list as usize).and_then(|list| list.get(proof.entry as usize));
                edges.extend(met.map(|met| (met.rule.id, *edge)));
            }
        }
        Some((node, edges))
    }

    /// Returns the worst power behind an edge, without the paths through the start of the edge, and without the powers of every
    /// authenticated identity.
    fn worst_of(&self, subject: &str, start: NodeId, edge: Edge) -> Option<Opened> {
        if edge.to == start {
            return None;
        }
        let opened = |(rank, power): (usize, &Power)| {
            let route = self.search.route(&self.graph, rank, edge.to)?;
            if route.iter().any(|(node, next)| *node == start || next.to == start) {
                return None;
            }
            let edges = || route.iter().map(|(_, edge)| edge).chain([&edge]);
            let certainty = edges().map(certainty_of).max()?;
            let of_everybody = self.of_everybody.get(power).filter(|_| subject != EVERYBODY);
            let is_own = of_everybody.is_none_or(|(known, _)| *known > certainty);
            is_own.then_some(Opened { rank, certainty, steps: route.len(), edge })
        };
        Power::OF_CLUSTER.iter().enumerate().filter_map(opened).max_by_key(Opened::badness)
    }
}

/// Returns the certainty of an edge. Labels of an unknown Namespace may limit its pods.
fn certainty_of(edge: &Edge) -> PathCertainty {
    match edge.note {
        Some(Note::AdmitsUnknown(_)) => PathCertainty::Possible,
        _ => edge.certainty,
    }
}

impl ReachedPowers for EscalationGraph<'_> {
    fn of_subject(&self, subject: &str, namespace: Option<&str>) -> Vec<(&'static str, ReachedPower)> {
        let Some((node, edges)) = self.edges_in(subject, namespace) else { return Vec::new() };
        let mut worst: Vec<(&'static str, Opened)> = Vec::new();
        for (rule, edge) in edges {
            let Some(opened) = self.worst_of(subject, node, edge) else { continue };
            match worst.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, known)) if known.badness() >= opened.badness() => {}
                Some((_, known)) => *known = opened,
                None => worst.push((rule, opened)),
            }
        }
        let reached = |(rule, opened): (&'static str, Opened)| {
            let power = Power::OF_CLUSTER.get(opened.rank)?;
            let is_proven = opened.certainty == PathCertainty::Proven;
            let severity = opened.certainty.severity_of(power);
            Some((rule, ReachedPower { power: power.word(), rank: opened.rank, is_proven, severity }))
        };
        worst.into_iter().filter_map(reached).collect()
    }
}
