//! Aggregated ClusterRoles, as the aggregation controller leaves them (`pkg/controller/clusterroleaggregation`).
//!
//! The controller replaces the rules of a ClusterRole with an `aggregationRule` by the rules of the selected
//! ClusterRoles, and repeats this until nothing changes. Here every aggregated role starts empty: rules copied from
//! deleted roles are unknown, so a ring gathers only from outside of the ring.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::rules::{InternedRule, RuleListId, RuleLists};
use super::symbols::{Symbol, Symbols};
use super::world::Role;
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::internal;

/// Uncertain results of the aggregation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    /// Roles that gather from each other, by name; each ring once.
    pub rings: Vec<Vec<String>>,
    /// Aggregated roles with own rules that no selector gathers, by name. The controller overwrites them with the
    /// gathered rules; if there are none, it writes nothing, and they stay.
    pub stated: Vec<String>,
}

/// The fate of the own rules of an aggregated role that gathers no rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stated {
    /// They are overwritten; if they could matter, the decision is uncertain.
    #[default]
    Overwritten,
    /// They stay: the controller applies no rules then, and server-side apply leaves fields alone that are not
    /// applied.
    Kept,
}

/// Replaces the rules of each aggregated role.
pub(super) fn settle(roles: &mut [Role], lists: &mut RuleLists, symbols: &Symbols, mode: Stated) -> Doubts {
    let sources = sources(roles, symbols);
    let components = components(&sources);
    let overwritten = fixed_point(&components, roles, lists, Stated::Overwritten);
    let kept = fixed_point(&components, roles, lists, Stated::Kept);
    let rings = rings(&components, roles, symbols);
    let name = |id: usize| roles.get(id).map_or("", |role| symbols.text(role.name)).to_owned();
    let rules_of = |settled: &Settled, id: usize| settled.get(&id).map_or(RuleLists::EMPTY, |rules| *rules);
    let mut stated = Vec::new();
    for (target, _) in &sources {
        let own = roles.get(*target).map_or(&[][..], |role| lists.get(role.rules));
        if own.is_empty() {
            continue;
        }
        let gathered: HashSet<&InternedRule> = lists.get(rules_of(&overwritten, *target)).iter().collect();
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

/// An aggregated role with the roles it gathers from.
type Target = (usize, Vec<usize>);

/// Gathers until nothing changes, starting with roles without dependencies: only a ring is visited more than once.
fn fixed_point(components: &[Vec<&Target>], roles: &[Role], lists: &mut RuleLists, mode: Stated) -> Settled {
    let targets = components.iter().flatten();
    let mut settled: Settled = targets.map(|(target, _)| (*target, RuleLists::EMPTY)).collect();
    for component in components {
        // A chain is at most as long as the ring; after that many rounds only the order of the rules can still
        // change.
        for _ in 0..=component.len() {
            let mut changed = false;
            for (target, selected) in component {
                let rules_of = |id: &usize| settled.get(id).copied().or_else(|| roles.get(*id).map(|role| role.rules));
                let gathered = gather(selected.iter().filter_map(rules_of), lists);
                let own = roles.get(*target).map_or(RuleLists::EMPTY, |role| role.rules);
                let id = if gathered.is_empty() && mode == Stated::Kept { own } else { lists.add(gathered) };
                let before = settled.insert(*target, id);
                let is_same =
                    |before| before == id || component.len() > 1 && same_rules(lists.get(before), lists.get(id));
                changed |= !before.is_some_and(is_same);
            }
            if !changed || component.len() == 1 {
                break;
            }
        }
    }
    settled
}

/// Whether two lists differ in order alone.
fn same_rules(left: &[InternedRule], right: &[InternedRule]) -> bool {
    let known: HashSet<&InternedRule> = left.iter().collect();
    left.len() == right.len() && right.iter().all(|rule| known.contains(rule))
}

/// Returns each aggregated role with the roles it gathers from, each once, in the order of its selectors and then of
/// their names.
pub(super) fn sources(roles: &[Role], symbols: &Symbols) -> Vec<Target> {
    let aggregated = |role: &Role| role.namespace.is_none() && role.aggregation.is_some();
    if !roles.iter().any(aggregated) {
        return Vec::new();
    }
    let labelled = Labelled::new(roles, symbols);
    let mut sources = Vec::new();
    for &target in &labelled.by_name {
        let Some(selectors) = roles.get(target).and_then(|role| role.aggregation.as_deref()) else { continue };
        let mut seen = HashSet::from([target]);
        let selected = selectors.iter().flat_map(|selector| labelled.selected(selector));
        sources.push((target, selected.filter(|id| seen.insert(*id)).collect()));
    }
    sources
}

/// The ClusterRoles by their labels: a selector reads the roles with its rarest label.
struct Labelled<'r> {
    roles: &'r [Role],
    symbols: &'r Symbols,
    /// All of them.
    by_name: Vec<usize>,
    /// Those with a label, by name.
    by_label: HashMap<(Symbol, Symbol), Vec<usize>>,
    by_key: HashMap<Symbol, Vec<usize>>,
    /// The place of each in the order of names.
    rank: HashMap<usize, usize>,
}

impl<'r> Labelled<'r> {
    fn new(roles: &'r [Role], symbols: &'r Symbols) -> Self {
        let mut by_name: Vec<usize> =
            (0..roles.len()).filter(|&id| roles.get(id).is_some_and(|role| role.namespace.is_none())).collect();
        by_name.sort_by_key(|&id| roles.get(id).map(|role| symbols.text(role.name)));
        let rank = by_name.iter().enumerate().map(|(rank, id)| (*id, rank)).collect();
        let mut by_label: HashMap<(Symbol, Symbol), Vec<usize>> = HashMap::new();
        let mut by_key: HashMap<Symbol, Vec<usize>> = HashMap::new();
        for &id in &by_name {
            for (key, value) in roles.get(id).into_iter().flat_map(|role| &role.labels) {
                by_label.entry((*key, *value)).or_default().push(id);
                by_key.entry(*key).or_default().push(id);
            }
        }
        Self { roles, symbols, by_name, by_label, by_key, rank }
    }

    /// Returns the roles selected by a selector, by name.
    fn selected(&self, selector: &LabelSelector) -> Vec<usize> {
        let candidates = selector.demanded().map(|(key, values)| self.with(key, values));
        let fewest = candidates.min_by_key(|lists| lists.iter().map(|list| list.len()).sum::<usize>());
        let mut ids = match fewest {
            Some(lists) => lists.concat(),
            None => self.by_name.clone(),
        };
        ids.retain(|&id| {
            self.roles.get(id).is_some_and(|role| selector.matches(|key| self.symbols.value_of(&role.labels, key)))
        });
        ids.sort_by_key(|id| self.rank.get(id));
        ids
    }

    /// Returns the roles with a label of this key, and of these values if there are some.
    fn with(&self, key: &str, values: Option<&[String]>) -> Vec<&[usize]> {
        let key = self.symbols.find(key);
        match values {
            Some(values) => {
                let lists = values.iter().filter_map(|value| self.by_label.get(&(key, self.symbols.find(value))));
                lists.map(Vec::as_slice).collect()
            }
            None => self.by_key.get(&key).map(Vec::as_slice).into_iter().collect(),
        }
    }
}

/// Returns the rules of lists one after the other, each once.
fn gather(selected: impl Iterator<Item = RuleListId>, lists: &RuleLists) -> Vec<InternedRule> {
    let mut met: HashSet<RuleListId> = HashSet::new();
    let mut seen: HashSet<&InternedRule> = HashSet::new();
    let rules = selected.filter(|id| met.insert(*id)).flat_map(|id| lists.get(id));
    rules.filter(|rule| seen.insert(rule)).cloned().collect()
}

/// Returns the rings: aggregated roles that gather from each other, directly or through others.
fn rings(components: &[Vec<&Target>], roles: &[Role], symbols: &Symbols) -> Vec<Vec<String>> {
    let name = |id: usize| roles.get(id).map(|role| symbols.text(role.name).to_owned());
    let rings = components.iter().filter(|members| members.len() > 1);
    let mut rings: Vec<Vec<String>> = rings
        .map(|members| {
            let mut names: Vec<String> = members.iter().filter_map(|(id, _)| name(*id)).collect();
            names.sort();
            names
        })
        .collect();
    rings.sort();
    rings
}

/// Returns the aggregated roles in rings and single ones, each behind the roles it gathers from. Each role and each
/// edge is visited once (Tarjan's strongly connected components, without recursion).
fn components(sources: &[Target]) -> Vec<Vec<&Target>> {
    let positions: HashMap<usize, usize> = sources.iter().zip(0..).map(|((id, _), position)| (*id, position)).collect();
    let selected: HashMap<usize, &Vec<usize>> = sources.iter().map(|(target, selected)| (*target, selected)).collect();
    let mut met: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    let mut is_open: HashSet<usize> = HashSet::new();
    let mut components: Vec<Vec<&Target>> = Vec::new();
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
                        let at = internal::value(open.iter().rposition(|member| *member == id), "a ring is not open");
                        let members = open.split_off(at);
                        members.iter().for_each(|member| _ = is_open.remove(member));
                        let mut members: Vec<usize> =
                            members.iter().filter_map(|member| positions.get(member).copied()).collect();
                        members.sort_unstable();
                        components.push(members.into_iter().filter_map(|member| sources.get(member)).collect());
                    }
                }
            }
        }
    }
    components
}
