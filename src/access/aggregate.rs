//! Aggregated ClusterRoles, as the aggregation controller leaves them (`pkg/controller/clusterroleaggregation`).
//!
//! The controller replaces the rules of a ClusterRole with an `aggregationRule` by those of the ClusterRoles that its
//! selectors select, and does so again until nothing changes. Here every aggregated role starts empty: what the
//! controller copied from roles that are gone is not ours to know, so a ring gathers only what comes from outside it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::rules::{Rule, RuleListId, RuleLists};
use super::symbols::Symbols;
use super::world::Role;

/// What settling could not tell for sure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    /// Roles that gather from each other, by name; each ring once.
    pub rings: Vec<Vec<String>>,
    /// Aggregated roles that state rules which nothing gathers, by name. The controller writes what it gathers over
    /// them; while it gathers nothing at all it writes nothing, and they stay.
    pub stated: Vec<String>,
}

/// What becomes of rules that an aggregated role states itself, while nothing else is gathered for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stated {
    /// They are overwritten, as `specs/kubernetes.md` 9.1 has it; where they could matter the answer is not sure.
    #[default]
    Overwritten,
    /// They stay: the controller applies no rules at all then, and server-side apply leaves alone what is not applied.
    Kept,
}

/// Replaces the rules of each aggregated role.
pub(super) fn settle(roles: &mut [Role], lists: &mut RuleLists, symbols: &Symbols, mode: Stated) -> Doubts {
    let sources = sources(roles, symbols);
    let rings = rings(&sources, roles, symbols);
    let overwritten = fixed_point(&sources, roles, lists, Stated::Overwritten, !rings.is_empty());
    let kept = fixed_point(&sources, roles, lists, Stated::Kept, !rings.is_empty());
    let name = |id: usize| roles.get(id).map(|role| symbols.text(role.name).to_owned()).unwrap_or_default();
    let rules_of = |settled: &Settled, id: usize| settled.get(&id).copied().unwrap_or(RuleLists::EMPTY);
    let mut stated = Vec::new();
    for (target, _) in &sources {
        let gathered = lists.get(rules_of(&overwritten, *target));
        let own = roles.get(*target).map(|role| lists.get(role.rules)).unwrap_or_default();
        if own.iter().any(|rule| !gathered.contains(rule)) {
            stated.push(name(*target));
        }
    }
    for (target, _) in &sources {
        let (certain, possible) = (rules_of(&overwritten, *target), rules_of(&kept, *target));
        if let Some(role) = roles.get_mut(*target) {
            role.rules = if mode == Stated::Kept { possible } else { certain };
            role.doubtful = (mode == Stated::Overwritten && certain != possible).then_some(possible);
        }
    }
    Doubts { rings, stated }
}

/// The rules of each aggregated role.
type Settled = HashMap<usize, RuleListId>;

/// Gathers until nothing changes.
fn fixed_point(
    sources: &[(usize, Vec<usize>)],
    roles: &[Role],
    lists: &mut RuleLists,
    mode: Stated,
    has_rings: bool,
) -> Settled {
    let mut settled: Settled = sources.iter().map(|(target, _)| (*target, RuleLists::EMPTY)).collect();
    // A chain is as long as there are aggregated roles; what has not settled by then goes round in a ring, where only
    // the order of the rules can still change.
    for _ in 0..=sources.len() {
        let mut changed = false;
        for (target, selected) in sources {
            let rules_of = |id: &usize| settled.get(id).copied().or_else(|| roles.get(*id).map(|role| role.rules));
            let gathered = gather(selected.iter().filter_map(rules_of), lists);
            let own = roles.get(*target).map_or(RuleLists::EMPTY, |role| role.rules);
            let id = if gathered.is_empty() && mode == Stated::Kept { own } else { lists.add(gathered) };
            let before = settled.insert(*target, id).unwrap_or(RuleLists::EMPTY);
            // In a ring the order of the rules may go round for ever, while nothing is gained any more.
            changed |= before != id && !(has_rings && same_rules(lists.get(before), lists.get(id)));
        }
        if !changed {
            break;
        }
    }
    settled
}

/// True for lists that differ in order alone.
fn same_rules(left: &[Rule], right: &[Rule]) -> bool {
    let known: HashSet<&Rule> = left.iter().collect();
    left.len() == right.len() && right.iter().all(|rule| known.contains(rule))
}

/// Each aggregated role with the roles it gathers from, in the order of its selectors and then of their names.
fn sources(roles: &[Role], symbols: &Symbols) -> Vec<(usize, Vec<usize>)> {
    let mut cluster_roles: Vec<usize> =
        (0..roles.len()).filter(|&id| roles.get(id).is_some_and(|role| role.namespace.is_none())).collect();
    cluster_roles.sort_by_key(|&id| roles.get(id).map(|role| symbols.text(role.name)));
    let mut sources = Vec::new();
    for &target in &cluster_roles {
        let Some(selectors) = roles.get(target).and_then(|role| role.aggregation.as_deref()) else { continue };
        let mut selected = Vec::new();
        for selector in selectors {
            selected.extend(cluster_roles.iter().copied().filter(|&id| {
                id != target
                    && roles.get(id).is_some_and(|role| {
                        selector.matches(|key| {
                            let label = role.labels.iter().find(|(known, _)| symbols.text(*known) == key);
                            label.map(|(_, value)| symbols.text(*value))
                        })
                    })
            }));
        }
        sources.push((target, selected));
    }
    sources
}

/// The rules of lists one after the other, each once.
fn gather(selected: impl Iterator<Item = RuleListId>, lists: &RuleLists) -> Vec<Rule> {
    let mut seen: HashSet<&Rule> = HashSet::new();
    let rules = selected.flat_map(|id| lists.get(id));
    rules.filter(|rule| seen.insert(rule)).cloned().collect()
}

/// The rings: aggregated roles that gather from each other, directly or through others. Each role is met once, and each
/// edge once (Tarjan's strongly connected components, without recursion).
fn rings(sources: &[(usize, Vec<usize>)], roles: &[Role], symbols: &Symbols) -> Vec<Vec<String>> {
    let selected: HashMap<usize, &Vec<usize>> = sources.iter().map(|(target, selected)| (*target, selected)).collect();
    let mut met: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    let mut is_open: HashSet<usize> = HashSet::new();
    let mut rings: Vec<Vec<String>> = Vec::new();
    for (start, _) in sources {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !met.contains_key(start) {
            path.push((*start, 0));
        }
        while let Some((id, next)) = path.last().copied() {
            if next == 0 {
                met.insert(id, (met.len(), met.len()));
                open.push(id);
                is_open.insert(id);
            }
            let low = |met: &HashMap<usize, (usize, usize)>, id: usize| met.get(&id).map_or(0, |(_, low)| *low);
            let source = selected.get(&id).and_then(|selected| selected.get(next)).copied();
            if let Some(step) = path.last_mut() {
                step.1 += 1;
            }
            match source {
                Some(source) if !selected.contains_key(&source) => {}
                Some(source) if !met.contains_key(&source) => path.push((source, 0)),
                Some(source) if is_open.contains(&source) => {
                    let order = met.get(&source).map_or(0, |(order, _)| *order);
                    if let Some((_, own)) = met.get_mut(&id) {
                        *own = order.min(*own);
                    }
                }
                Some(_) => {}
                None => {
                    path.pop();
                    let own = low(&met, id);
                    if let Some((_, above)) = path.last().and_then(|(above, _)| met.get_mut(above)) {
                        *above = own.min(*above);
                    }
                    if met.get(&id).is_some_and(|(order, low)| order == low) {
                        let at = open.iter().rposition(|member| *member == id).unwrap_or_default();
                        let members = open.split_off(at);
                        members.iter().for_each(|member| _ = is_open.remove(member));
                        if members.len() > 1 {
                            let roles = members.iter().filter_map(|member| roles.get(*member));
                            let mut names: Vec<String> = roles.map(|role| symbols.text(role.name).to_owned()).collect();
                            names.sort();
                            rings.push(names);
                        }
                    }
                }
            }
        }
    }
    rings.sort();
    rings
}
