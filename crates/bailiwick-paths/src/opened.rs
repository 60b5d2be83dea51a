//! The powers of the whole cluster behind a single permission of a subject: the ends of the paths from this permission.

use std::cmp::Reverse;

use bailiwick_access::risk::{ReachedPower, ReachedPowers, RiskSeverity};

use crate::graph::{Edge, NodeId, NodeKey, Note};
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
    /// The edge of the permission, and the edges behind it.
    route: Route,
}

impl Opened {
    /// Returns the same for equally bad powers; the worst is the greatest.
    fn badness(&self) -> (RiskSeverity, Reverse<PathCertainty>, Reverse<usize>, Reverse<usize>) {
        let severity =
            Power::OF_CLUSTER.get(self.rank).map_or(RiskSeverity::Info, |power| self.certainty.severity_of(power));
        (severity, Reverse(self.certainty), Reverse(self.rank), Reverse(self.route.len()))
    }
}

impl EscalationGraph<'_> {
    /// Returns the path from the permission of a risk rule, in a namespace or cluster-wide, to the worst power of the whole
    /// cluster; none without such a power.
    pub fn path_opened_by(&self, subject: &str, namespace: Option<&str>, rule: &str) -> Option<EscalationPath> {
        let (_, worst) = self.opened(subject, namespace).into_iter().find(|(id, _)| *id == rule)?;
        self.path(subject, Power::OF_CLUSTER.get(worst.rank)?.clone(), &worst.route)
    }

    /// Returns the worst power behind the permissions of a subject in a scope, with the id of the risk rule of each.
    fn opened(&self, subject: &str, namespace: Option<&str>) -> Vec<(&'static str, Opened)> {
        let node = self.inventory.subject(subject).and_then(|id| self.graph.find(&NodeKey::Subject(id)));
        let scope = namespace.map(|name| self.inventory.namespace(name));
        let (Some(node), None | Some(Some(_))) = (node, scope) else { return Vec::new() };
        let mut worst: Vec<(&'static str, Opened)> = Vec::new();
        for edge in self.graph.edges_of(node) {
            let proofs = [edge.proof, edge.after_proof].into_iter().flatten();
            let met = proofs.filter(|proof| proof.scope == scope.flatten()).filter_map(|proof| {
                self.lists.get(proof.list as usize).and_then(|list| list.get(proof.entry as usize))
            });
            let mut rules = met.map(|met| met.rule.id).peekable();
            let Some(opened) = rules.peek().and_then(|_| self.worst_of(subject, node, *edge)) else { continue };
            for rule in rules {
                match worst.iter_mut().find(|(known, _)| *known == rule) {
                    Some((_, known)) if known.badness() >= opened.badness() => {}
                    Some((_, known)) => known.clone_from(&opened),
                    None => worst.push((rule, opened.clone())),
                }
            }
        }
        worst
    }

    /// Returns the worst power behind an edge, without the paths through the start of the edge, and without the powers of every
    /// authenticated identity.
    fn worst_of(&self, subject: &str, start: NodeId, edge: Edge) -> Option<Opened> {
        if edge.to == start {
            return None;
        }
        let opened = |(rank, power): (usize, &Power)| {
            let rest = self.search.route(&self.graph, rank, edge.to)?;
            if rest.iter().any(|(node, next)| *node == start || next.to == start) {
                return None;
            }
            let route: Route = std::iter::once((start, edge)).chain(rest).collect();
            let certainty = route.iter().map(|(_, edge)| certainty_of(edge)).max()?;
            let of_everybody = self.of_everybody.get(power).filter(|_| subject != EVERYBODY);
            let is_own = of_everybody.is_none_or(|(known, _)| *known > certainty);
            is_own.then_some(Opened { rank, certainty, route })
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
        let reached = |(rule, opened): (&'static str, Opened)| {
            let power = Power::OF_CLUSTER.get(opened.rank)?;
            let is_proven = opened.certainty == PathCertainty::Proven;
            let severity = opened.certainty.severity_of(power);
            Some((rule, ReachedPower { power: power.word(), rank: opened.rank, is_proven, severity }))
        };
        self.opened(subject, namespace).into_iter().filter_map(reached).collect()
    }
}
