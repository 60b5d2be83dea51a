//! The edges of the graph of permissions: the steps that lead from one identity to another or to a power, as columns of
//! the table, and their evaluation for the rules of a subject in a scope.

use std::collections::HashMap;
use std::sync::Arc;

use super::condition::Condition;
use super::matching::{EffectiveRules, Met, PermissionSource};
use super::table::{self, EdgeKind, EdgeTarget, RiskEdge, RiskRule};
use crate::objects::RoleRef;
use crate::proof::{Chain, RuleLink};
use crate::request::{Identity, MASTERS, ResourceVerb, service_account};
use crate::symbols::Symbol;
use crate::world::{Binding, Holder, Role, World};

/// The rules of a subject in a scope. Equal rules have equal edges.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScopeRules(EffectiveRules);

/// An edge with a met condition.
#[derive(Debug, Clone)]
pub struct MetEdge {
    /// The row of the table.
    pub rule: &'static RiskRule,
    /// The kind of the step.
    pub kind: EdgeKind,
    /// The gain.
    pub to: EdgeTarget,
    /// For each part of the condition the names it is limited to; none for no limit.
    pub names: Vec<Vec<String>>,
    /// Position of the condition.
    condition: usize,
    met: Met,
}

impl MetEdge {
    /// Returns the names of a part of the condition, by position; empty for no limit.
    pub fn names_of(&self, part: usize) -> &[String] {
        self.names.get(part).map_or(&[], Vec::as_slice)
    }
}

/// A subject of bindings, with the scopes of its bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundSubject {
    /// The name, such as `Group/sre` or `ServiceAccount/shop/web`.
    pub name: String,
    /// The identity with the implied groups.
    pub who: Identity,
    /// Whether a ClusterRoleBinding names it.
    pub is_wide: bool,
    /// The namespaces with a RoleBinding for it, sorted.
    pub namespaces: Vec<String>,
}

/// The edges of one world. Subjects with the same rules are evaluated once.
#[derive(Debug)]
pub struct PermissionEdges<'w> {
    world: &'w World,
    conditions: Vec<(&'static RiskRule, RiskEdge, Condition)>,
    known: HashMap<ScopeRules, Arc<Vec<MetEdge>>>,
}

impl World {
    /// Returns the subjects of all bindings, except for `system:masters`, sorted by name.
    pub fn subjects_with_scopes(&self) -> Vec<BoundSubject> {
        let mut scopes: HashMap<Holder, (bool, Vec<Symbol>)> = HashMap::new();
        for (holder, namespace) in self.index.places() {
            let (is_wide, namespaces) = scopes.entry(holder).or_default();
            match namespace {
                None => *is_wide = true,
                Some(namespace) => namespaces.push(namespace),
            }
        }
        let mut subjects: Vec<BoundSubject> = scopes
            .into_iter()
            .filter(|(holder, _)| !(holder.is_group && self.symbols.text(holder.name) == MASTERS))
            .map(|(holder, (is_wide, namespaces))| {
                let text = self.symbols.text(holder.name);
                let who = if holder.is_group { Identity::member_of(text) } else { Identity::from_user(text) };
                let mut namespaces: Vec<String> =
                    namespaces.into_iter().map(|namespace| self.symbols.text(namespace).to_owned()).collect();
                namespaces.sort_unstable();
                BoundSubject { name: self.holder_name(holder), who, is_wide, namespaces }
            })
            .collect();
        subjects.sort_by(|left, right| left.name.cmp(&right.name));
        subjects
    }
}

/// Returns the identity of a subject's name, such as `ServiceAccount/shop/web`; none for another text.
pub fn identity_of_subject(name: &str) -> Option<Identity> {
    match name.split_once('/')? {
        ("User", user) => Some(Identity::from_user(user)),
        ("Group", group) => Some(Identity::member_of(group)),
        ("ServiceAccount", account) => {
            let (namespace, name) = account.split_once('/')?;
            Some(Identity::from_user(&crate::world::account_user(namespace, name)))
        }
        _ => None,
    }
}

/// Returns the subject's name of a user: of a service account, or of another user.
pub fn subject_of_user(user: &str) -> String {
    match service_account(user) {
        Some((namespace, name)) => format!("ServiceAccount/{namespace}/{name}"),
        None => format!("User/{user}"),
    }
}

impl<'w> PermissionEdges<'w> {
    /// Reads the edges of the table for a world.
    pub fn new(world: &'w World) -> Self {
        let mut conditions = Vec::new();
        for rule in table::all().filter(|rule| rule.has_what_it_needs(world)) {
            let Some(text) = rule.condition() else { continue };
            for edge in rule.edges() {
                let parsed = narrowed_text(text, edge).and_then(|text| Condition::parse(&text, world));
                conditions.extend(parsed.map(|condition| (rule, *edge, condition)));
            }
        }
        Self { world, conditions, known: HashMap::new() }
    }

    /// Returns the rules of an identity cluster-wide, or in a namespace together with the cluster-wide ones.
    pub fn rules_of(&self, who: &Identity, namespace: Option<&str>) -> ScopeRules {
        let mut held = EffectiveRules::nothing(namespace.is_some());
        for (_, _, role, part) in self.bound(who, namespace) {
            held.add(part, role.rules);
        }
        ScopeRules(held)
    }

    /// Returns the rules of a role alone, cluster-wide or in a namespace.
    pub fn rules_of_role(&self, role: RoleRef<'_>, in_namespace: bool) -> ScopeRules {
        ScopeRules(EffectiveRules::only(role.rules(), in_namespace))
    }

    /// Returns the edges of rules. In a namespace, edges by cluster-wide rules alone are left out.
    pub fn met(&mut self, rules: &ScopeRules) -> Arc<Vec<MetEdge>> {
        if let Some(known) = self.known.get(rules) {
            return Arc::clone(known);
        }
        let met: Vec<MetEdge> =
            (0..self.conditions.len()).filter_map(|condition| self.met_at(condition, rules)).collect();
        let met = Arc::new(met);
        self.known.insert(rules.clone(), Arc::clone(&met));
        met
    }

    fn met_at(&self, position: usize, rules: &ScopeRules) -> Option<MetEdge> {
        let (rule, edge, condition) = self.conditions.get(position)?;
        let met = self.world.meets(condition, &rules.0)?;
        if !met.steps.iter().any(|step| step.part.is_own()) || edge.to == EdgeTarget::Everything && met.is_named() {
            return None;
        }
        let text = |name: &Symbol| self.world.symbols.text(*name).to_owned();
        let names = met.names.iter().map(|names| names.iter().map(text).collect()).collect();
        Some(MetEdge { rule, kind: edge.kind, to: edge.to, names, condition: position, met })
    }

    /// Returns the names of a resource with a permission for a verb; none for every name.
    pub fn names_allowed(&self, rules: &ScopeRules, access: ResourceVerb<'_>) -> Option<Vec<&'w str>> {
        let mut names = Vec::new();
        for part in [PermissionSource::Own, PermissionSource::Wide] {
            for list in rules.0.lists(part) {
                names.extend(self.world.names_allowed(*list, access)?);
            }
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Returns the roles bound to an identity by bindings of a scope.
    pub fn roles_bound(&self, who: &Identity, namespace: Option<&str>) -> Vec<RoleRef<'w>> {
        let own = self.bound(who, namespace).into_iter().filter(|(_, _, _, part)| part.is_own());
        own.map(|(_, _, role, _)| self.world.role_ref(role)).collect()
    }

    /// Returns the bindings and rules behind an edge of an identity.
    pub fn chains(&self, who: &Identity, namespace: Option<&str>, met: &MetEdge) -> Vec<Chain> {
        let Some((_, _, condition)) = self.conditions.get(met.condition) else { return Vec::new() };
        let Some(case) = condition.cases.get(met.met.case) else { return Vec::new() };
        let bound = self.bound(who, namespace);
        let mut chains: Vec<Chain> = Vec::new();
        for step in &met.met.steps {
            let is_it = |(_, _, role, part): &&Bound<'w>| *part == step.part && role.rules == step.list;
            let Some((holder, binding, role, _)) = bound.iter().find(is_it) else { continue };
            let Some(rule) = self.world.rules_of(role).get(step.rule) else { continue };
            let rule = RuleLink {
                number: step.rule + 1,
                rule: self.world.narrowed(case, rule),
                gathered_from: self.world.gathered_from(role, rule),
            };
            let link = self.world.binding_link(binding);
            match chains.iter_mut().find(|known| known.binding == link) {
                Some(known) => known.rules.push(rule),
                None => chains.push(Chain {
                    subject: self.world.holder_name(*holder),
                    binding: link,
                    role: self.world.role_link(role),
                    rules: vec![rule],
                }),
            }
        }
        chains
    }

    /// Returns every binding of a scope with a present role, for an identity.
    fn bound(&self, who: &Identity, namespace: Option<&str>) -> Vec<Bound<'w>> {
        let world = self.world;
        let here = namespace.map(|namespace| world.symbols.find(namespace));
        let mut all = Vec::new();
        for holder in world.holders(who) {
            let own = world.index.bound_rules(holder, here, &world.symbols).iter();
            let own = own.map(|held| (held.binding, PermissionSource::Own));
            let wide = here.map_or(&[][..], |_| world.index.bound_rules(holder, None, &world.symbols)).iter();
            let wide = wide.map(|held| (held.binding, PermissionSource::Wide));
            all.extend(own.chain(wide).filter_map(|(id, part)| {
                let binding = world.binding(id)?;
                Some((holder, binding, world.role_of(binding)?, part))
            }));
        }
        all
    }
}

/// A binding of a holder with its role.
type Bound<'w> = (Holder, &'w Binding, &'w Role, PermissionSource);

/// Returns the part of a condition's text for the verbs and resources of an edge; none without a case left.
fn narrowed_text(text: &str, edge: &RiskEdge) -> Option<String> {
    let kept = |words: &str, wanted: &[&str]| -> String {
        let is_kept = |word: &&str| {
            let name = word.split_once('.').map_or(*word, |(name, _)| name);
            wanted.is_empty() || name.contains('?') || wanted.contains(&name)
        };
        words.split(',').filter(is_kept).collect::<Vec<_>>().join(",")
    };
    let ask = |ask: &str| {
        let (verbs, rest) = ask.split_once(' ')?;
        let (resources, rest) = match rest.split_once(' ') {
            Some((resources, rest)) => (resources, format!(" {rest}")),
            None => (rest, String::new()),
        };
        let (verbs, resources) = (kept(verbs, edge.verbs), kept(resources, edge.resources));
        (!verbs.is_empty() && !resources.is_empty()).then(|| format!("{verbs} {resources}{rest}"))
    };
    let need = |need: &str| {
        let asks: Vec<String> = need.split(" or ").filter_map(ask).collect();
        (!asks.is_empty()).then(|| asks.join(" or "))
    };
    let case = |case: &str| Some(case.split(" and ").map(need).collect::<Option<Vec<String>>>()?.join(" and "));
    let cases: Vec<String> = text.split("; ").filter_map(case).collect();
    (!cases.is_empty()).then(|| cases.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_has_a_condition() {
        for rule in table::all() {
            for edge in rule.edges() {
                let text = rule.condition().expect("a rule about permissions");
                assert!(!text.contains(" unless ") && !text.contains(": "), "{}: {text}", rule.id);
                assert!(narrowed_text(text, edge).is_some(), "{} has no {}", rule.id, edge.kind.word());
            }
        }
    }

    #[test]
    fn the_edges_of_a_rule_differ_in_their_conditions() {
        let texts = |id| -> Vec<String> {
            let rule = table::of_id(id).expect("a rule");
            rule.edges().filter_map(|edge| narrowed_text(rule.condition()?, edge)).collect()
        };
        let bind = |kinds| format!("bind {}.rbac and create,update,patch {}.rbac", kinds, "rolebindings");
        assert_eq!(
            texts("E003"),
            [
                "bind clusterroles.rbac and create,update,patch clusterrolebindings.rbac".to_owned(),
                bind("clusterroles"),
                bind("roles"),
            ]
        );
        let webhooks = texts("C005");
        assert!(webhooks.iter().all(|text| text.starts_with("create,update,patch ")), "{webhooks:?}");
        assert_eq!(webhooks.len(), 2);
    }
}
