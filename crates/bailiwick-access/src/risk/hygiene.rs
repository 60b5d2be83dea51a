//! Findings about superfluous or repeated objects: unused roles, bindings without effect, repetition.
//!
//! Objects of one place are written once already, however many objects a policy generates.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::judge::Judge;
use super::objects::{Applied, Bound, RoleHit, WHOLE_ROLE, few};
use crate::cover;
use crate::proof::place;
use crate::request::MASTERS;
use crate::rules::{InternedRule, RuleListId};
use crate::symbols::Symbol;
use crate::world::{Binding, Holder, Role, SubjectKind};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::Origin;

/// Repetitions from so many places are reported.
const MINIMUM_PLACES: usize = 3;

/// A subject with more roles is reported: the threshold of krane.
const MAXIMUM_ROLES: usize = 4;

/// Beside so many lists of rules a binding is not compared.
const MAXIMUM_LISTS: usize = 32;

/// Lists with more smallest parts are not compared.
const MAXIMUM_PARTS: usize = 10_000;

/// Beside so many bindings a binding is not compared.
const MAXIMUM_BINDINGS: usize = 256;

/// Results about the whole world, each computed for the first rule that needs it.
#[derive(Debug, Default)]
pub(super) struct Overview {
    /// The names of roles that some rule permits to bind by name.
    offered: OnceCell<HashSet<Symbol>>,
    /// For the first of several roles with the same rules the names of the others.
    repeated_roles: OnceCell<HashMap<RoleName, Vec<String>>>,
    /// For the first of several bindings with the same users the number of the others.
    repeated_users: OnceCell<HashMap<RoleName, usize>>,
    /// Bindings without effect, with the bindings that grant the same. All of them can be removed together.
    shadowed: OnceCell<HashMap<u32, Vec<u32>>>,
}

/// The namespace of an object, if it has one, and its name.
type RoleName = (Option<Symbol>, Symbol);

/// A list of rules, whether it is for a namespace, and the lists beside it.
type Compared = (RuleListId, bool, Vec<RuleListId>);

/// The lists of a rule, each sorted.
type SortedRule = [Vec<Symbol>; 5];

/// Returns the hits of B010. A role in a rule for `bind` waits for a subject with that rule.
pub(super) fn unused_role(applied: &Applied<'_>) -> Vec<RoleHit> {
    let (judge, role) = (applied.judge, applied.role);
    let is_gathered = || {
        role.namespace.is_none()
            && judge.aggregated().any(|target| {
                target.name != role.name
                    && target.selectors().any(|selector| selector.matches(|key| judge.world.label(role, key)))
            })
    };
    if applied.is_bound || judge.offered().contains(&role.name) || is_gathered() {
        return Vec::new();
    }
    vec![RoleHit { rule: WHOLE_ROLE, what: String::new(), severity: None, help: None }]
}

/// Returns the hits of B014, repeated roles.
pub(super) fn repeated_role(applied: &Applied<'_>) -> Vec<RoleHit> {
    let key = (applied.role.namespace, applied.role.name);
    let others = applied.judge.repeated_roles().get(&key);
    let hit = |others: &Vec<String>| RoleHit { rule: WHOLE_ROLE, what: few(others), severity: None, help: None };
    others.map(hit).into_iter().collect()
}

/// Returns the hits of B012, repeated users.
pub(super) fn repeated_users(bound: &Bound<'_>) -> Vec<String> {
    let binding = bound.binding;
    let Some(others) = bound.judge.repeated_users().get(&(binding.namespace, binding.name)) else { return Vec::new() };
    let users = bound.subjects(|subject, _| subject.kind == SubjectKind::User);
    vec![format!("{}, as {others} other bindings do", few(&users))]
}

/// Returns the hits of B013, shadowed bindings.
pub(super) fn shadowed(bound: &Bound<'_>) -> Vec<String> {
    let judge = bound.judge;
    let Some(others) = judge.shadowed().get(&bound.id) else { return Vec::new() };
    let others = others.iter().filter_map(|&id| judge.world.binding(id));
    let names: Vec<String> = others.map(|other| format!("`{}`", judge.world.binding_name(other))).collect();
    vec![format!("{}; all its rules are also granted by {}", few(&bound.subjects(|_, _| true)), few(&names))]
}

/// Returns the hit of B017: the number of roles with different rules of a subject, if it is large.
pub(super) fn many_roles(roles: usize) -> Option<String> {
    (roles > MAXIMUM_ROLES).then(|| roles.to_string())
}

impl<'w> Judge<'w> {
    fn offered(&self) -> &HashSet<Symbol> {
        self.overview.offered.get_or_init(|| {
            let is_bind = |verb: &Symbol| matches!(self.world.symbols.text(*verb), "bind" | "*");
            let rules = self.world.lists.all().iter().flat_map(|list| list.iter());
            rules.filter(|rule| rule.verbs().iter().any(is_bind)).flat_map(InternedRule::names).copied().collect()
        })
    }

    fn repeated_roles(&self) -> &HashMap<RoleName, Vec<String>> {
        self.overview.repeated_roles.get_or_init(|| {
            let mut sorted: HashMap<RuleListId, usize> = HashMap::new();
            let mut numbers: HashMap<Vec<SortedRule>, usize> = HashMap::new();
            let mut groups: BTreeMap<usize, Vec<&Role>> = BTreeMap::new();
            for role in self.world.roles.iter().filter(|role| role.aggregation.is_none()) {
                let rules = self.world.rules_of(role);
                if rules.is_empty() || self.has_default_name(role) {
                    continue;
                }
                let number = *sorted.entry(role.rules).or_insert_with(|| {
                    let next = numbers.len();
                    *numbers.entry(sorted_rules(rules)).or_insert(next)
                });
                groups.entry(number).or_default().push(role);
            }
            let of_group = |group: Vec<&Role>| {
                let places = group.iter().map(|role| place(role.layer));
                let (first, others) = group.split_first().filter(|_| are_many(places))?;
                let names = others.iter().map(|role| format!("`{}`", self.world.role_link(role).name));
                Some(((first.namespace, first.name), names.collect()))
            };
            groups.into_values().filter_map(of_group).collect()
        })
    }

    fn repeated_users(&self) -> &HashMap<RoleName, usize> {
        self.overview.repeated_users.get_or_init(|| {
            let mut groups: HashMap<Vec<Symbol>, Vec<&Binding>> = HashMap::new();
            for (id, binding) in (0..).zip(&self.world.bindings) {
                if self.is_default_binding(id, binding) {
                    continue;
                }
                let users = self.world.subjects(binding).iter().filter(|subject| subject.kind == SubjectKind::User);
                let names = users.map(|subject| subject.name);
                let people = names.filter(|name| !self.world.symbols.text(*name).starts_with("system:"));
                let users: Vec<Symbol> = people.collect::<BTreeSet<_>>().into_iter().collect();
                if users.len() > 1 {
                    groups.entry(users).or_default().push(binding);
                }
            }
            let of_group = |group: Vec<&Binding>| {
                let places = group.iter().map(|binding| place(binding.layer));
                let first = group.first().filter(|_| are_many(places))?;
                Some(((first.namespace, first.name), group.len() - 1))
            };
            groups.into_values().filter_map(of_group).collect()
        })
    }

    fn shadowed(&self) -> &HashMap<u32, Vec<u32>> {
        self.overview.shadowed.get_or_init(|| {
            let mut found = HashMap::new();
            let mut known = HashMap::new();
            // Of two bindings with the same grant the first stays.
            for (id, binding) in (0..).zip(&self.world.bindings).collect::<Vec<(u32, _)>>().into_iter().rev() {
                if self.is_default_binding(id, binding) {
                    continue;
                }
                if let Some(others) = self.shadowing(id, binding, &found, &mut known) {
                    found.insert(id, others);
                }
            }
            found
        })
    }

    /// Returns the bindings that grant each subject of a binding the whole grant of the binding; none if it has an
    /// effect.
    fn shadowing(
        &self,
        id: u32,
        binding: &Binding,
        removed: &HashMap<u32, Vec<u32>>,
        known: &mut HashMap<Compared, Option<Vec<RuleListId>>>,
    ) -> Option<Vec<u32>> {
        let world = self.world;
        let role = world.role_of(binding)?;
        let in_namespace = binding.namespace.is_some();
        let mut shadowing: BTreeSet<u32> = BTreeSet::new();
        let mut has_holder = false;
        for holder in world.subjects(binding).iter().filter_map(|subject| world.holder(*subject, binding.namespace)) {
            has_holder = true;
            if holder.is_group && world.symbols.text(holder.name) == MASTERS {
                return None;
            }
            let others = self.others(holder, binding, id, removed)?;
            let lists: BTreeSet<RuleListId> = others.iter().map(|(_, list)| *list).collect();
            if lists.is_empty() || lists.len() > MAXIMUM_LISTS {
                return None;
            }
            let key = (role.rules, in_namespace, lists.into_iter().collect::<Vec<_>>());
            let covering =
                known.entry(key).or_insert_with_key(|(list, _, lists)| self.covering(*list, in_namespace, lists));
            let covering = covering.as_ref()?;
            for list in covering {
                shadowing.extend(others.iter().find(|(_, other)| other == list).map(|(id, _)| *id));
            }
        }
        has_holder.then(|| shadowing.into_iter().collect())
    }

    /// Returns the other bindings that apply together with a binding, with their rules.
    fn others(
        &self,
        holder: Holder,
        binding: &Binding,
        own: u32,
        removed: &HashMap<u32, Vec<u32>>,
    ) -> Option<Vec<(u32, RuleListId)>> {
        let wide = self.world.bound_rules(holder, None);
        let here = self.world.bound_rules_in(holder, binding.namespace);
        if wide.len() + here.len() > MAXIMUM_BINDINGS {
            return None;
        }
        let others = wide.iter().chain(here).filter(|held| held.binding != own && !removed.contains_key(&held.binding));
        Some(others.filter_map(|held| Some((held.binding, held.rules?))).collect())
    }

    /// Returns the lists that cover a list together: one covering it alone, or all that cover some of it.
    fn covering(&self, list: RuleListId, in_namespace: bool, others: &[RuleListId]) -> Option<Vec<RuleListId>> {
        let texts = |list: RuleListId| -> Vec<PolicyRule> {
            let rules = self.world.lists.get(list).iter().map(|rule| rule.to_policy_rule(&self.world.symbols));
            // No URL is granted by a RoleBinding.
            rules.filter(|rule| !in_namespace || rule.non_resource_urls.is_empty()).collect()
        };
        if std::iter::once(&list).chain(others).any(|&list| parts(self.world.lists.get(list)) > MAXIMUM_PARTS) {
            return None;
        }
        let wanted = texts(list);
        if wanted.is_empty() {
            return None;
        }
        let held: Vec<(RuleListId, Vec<PolicyRule>)> = others.iter().map(|&other| (other, texts(other))).collect();
        if let Some((alone, _)) = held.iter().find(|(_, rules)| cover::uncovered(rules, &wanted).is_empty()) {
            return Some(vec![*alone]);
        }
        let all: Vec<PolicyRule> = held.iter().flat_map(|(_, rules)| rules).cloned().collect();
        let atoms: usize = wanted.iter().flat_map(PolicyRule::atoms).count();
        let is_useful = |rules: &[PolicyRule]| cover::uncovered(rules, &wanted).len() < atoms;
        cover::uncovered(&all, &wanted)
            .is_empty()
            .then(|| held.iter().filter(|(_, rules)| is_useful(rules)).map(|(other, _)| *other).collect())
    }

    /// Returns for each subject of given bindings the number of its roles with different rules, with the place of the
    /// first of these bindings.
    pub(super) fn roles_of_subjects(&self) -> Vec<(Holder, usize, Option<Origin>)> {
        type Held = (Holder, BTreeSet<RuleListId>, Option<Origin>);
        let mut subjects: BTreeMap<(bool, &'w str), Held> = BTreeMap::new();
        for (id, binding) in (0..).zip(&self.world.bindings) {
            let given = !self.is_default_binding(id, binding);
            let Some(role) = self.world.role_of(binding).filter(|_| given) else { continue };
            for subject in self.world.subjects(binding) {
                let Some(holder) = self.world.holder(*subject, binding.namespace) else { continue };
                let key = (holder.is_group, self.world.symbols.text(holder.name));
                let (_, roles, _) =
                    subjects.entry(key).or_insert_with(|| (holder, BTreeSet::new(), place(binding.layer)));
                roles.insert(role.rules);
            }
        }
        subjects.into_values().map(|(holder, roles, place)| (holder, roles.len(), place)).collect()
    }
}

/// Whether objects are from several places: the objects of one place are written once.
fn are_many(places: impl Iterator<Item = Option<Origin>>) -> bool {
    let distinct: HashSet<_> = places.flatten().map(|place| (place.file, place.span.start, place.span.end)).collect();
    distinct.len() >= MINIMUM_PLACES
}

/// Returns the number of smallest parts of rules.
fn parts(rules: &[InternedRule]) -> usize {
    let of_rule = |rule: &InternedRule| {
        let lists = [rule.groups(), rule.resources(), rule.names(), rule.urls(), rule.verbs()];
        lists.into_iter().fold(1usize, |product, list| product.saturating_mul(list.len().max(1)))
    };
    rules.iter().map(of_rule).fold(0, usize::saturating_add)
}

fn sorted_rules(rules: &[InternedRule]) -> Vec<SortedRule> {
    let sorted = |list: &[Symbol]| list.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
    let of_rule =
        |rule: &InternedRule| [rule.verbs(), rule.groups(), rule.resources(), rule.names(), rule.urls()].map(sorted);
    rules.iter().map(of_rule).collect::<BTreeSet<_>>().into_iter().collect()
}
