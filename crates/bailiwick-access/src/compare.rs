//! Comparison of two worlds by the permissions of each subject, not by the text of the objects.
//!
//! A subject is a user, group or account in a binding. Its permissions in a scope are the union of its rules, reduced
//! to the smallest parts that no other part covers; a part is gained if no earlier permission there, or cluster-wide,
//! covers it. Order, splitting, renamed bindings and repeated grants make no difference. Subjects with the same
//! change are one class: of 3,000 tenants with the same role, one is compared.

use std::sync::Arc;

use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::cover;
use super::index;
use super::request::{Identity, MASTERS};
use super::risk::subject_of_user;
use super::rules::{InternedRule, RuleListId};
use super::symbols::Symbol;
use super::who_can::PermissionScope;
use super::world::World;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::digest::digest_of_run;

/// The gains and losses of a class of subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Smallest parts of the new permissions.
    pub gained: Vec<PolicyRule>,
    /// Smallest parts of the lost permissions.
    pub lost: Vec<PolicyRule>,
    /// The subjects with their scopes, sorted.
    pub subjects: Vec<Affected>,
    /// Whether names in the rules are names of the first subject, and every other subject has its own names instead.
    pub own_names: bool,
}

/// A subject with a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Affected {
    /// As `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The namespace of the change; absent for the whole cluster.
    #[serde(rename = "namespace", skip_serializing_if = "PermissionScope::is_cluster")]
    pub scope: PermissionScope,
}

impl Affected {
    /// Returns the namespace of the change; for the whole cluster the namespace in the name of the subject, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        let of_subject = || self.subject.split_once('/')?.1.split_once('/').map(|(namespace, _)| namespace);
        self.scope.namespace().or_else(of_subject)
    }
}

/// The rules of a subject in a place, by the contents of its roles.
type Held = Vec<u128>;

/// Gained and lost permissions.
type Difference = (Vec<PolicyRule>, Vec<PolicyRule>);

/// The text of a world, as far as a comparison needs it.
struct Side<'w> {
    world: &'w World,
    /// A hash of the smallest parts of each list of rules, equal in both worlds: however the parts are joined into rules.
    prints: Vec<u128>,
    rules: HashMap<u128, RuleListId>,
    held: HashMap<(Holding, Option<String>), Held>,
}

/// A subject by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Holding {
    is_group: bool,
    name: String,
}

/// The groups of a subject that count for its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpliedGroups {
    /// No groups: a subject has the permissions of its own bindings alone.
    Ignored,
    /// The groups of every identity with this name, such as `system:authenticated`: their permissions are neither gained
    /// nor lost by a member.
    Counted,
}

/// Returns every change of the permissions of subjects, largest class first.
pub fn compare(old: &World, new: &World, groups: ImpliedGroups) -> Vec<Change> {
    let (old, new) = (Side::new(old), Side::new(new));
    let differs = |key: &&(Holding, Option<String>)| old.held.get(*key) != new.held.get(*key);
    let mut keys: Vec<&(Holding, Option<String>)> = old.held.keys().chain(new.held.keys()).filter(differs).collect();
    keys.sort();
    keys.dedup();
    let mut classes: HashMap<(bool, [Held; 4]), Arc<Difference>> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    let mut positions: HashMap<Difference, usize> = HashMap::new();
    for key in keys {
        let own = |side: &Side<'_>| side.held.get(key).cloned().unwrap_or_default();
        let (before, after) = (own(&old), own(&new));
        let wide = |side: &Side<'_>| side.held_otherwise(&key.0, key.1.as_deref(), groups);
        let in_namespace = key.1.is_some();
        let class = (in_namespace, [before, wide(&old), after, wide(&new)]);
        let difference =
            classes.entry(class).or_insert_with_key(|(in_namespace, [before, wide_before, after, wide_after])| {
                let before = old.rules_of(before, *in_namespace);
                let after = new.rules_of(after, *in_namespace);
                // Cluster-wide permissions are reported there, and not again in each namespace; permissions of implied groups
                // are reported for the group.
                let wide = [old.rules_of(wide_before, false), new.rules_of(wide_after, false)].concat();
                let beyond = |rules: &[PolicyRule], known: &[PolicyRule]| {
                    cover::maximal(&cover::uncovered(&[known, &wide].concat(), rules))
                };
                Arc::new((beyond(&after, &before), beyond(&before, &after)))
            });
        let difference = Arc::clone(difference);
        if difference.0.is_empty() && difference.1.is_empty() {
            continue;
        }
        let scope =
            key.1.as_ref().map_or(PermissionScope::Cluster, |namespace| PermissionScope::Namespace(namespace.clone()));
        let affected = Affected { subject: key.0.to_string(), scope };
        let next = changes.len();
        match positions.get(&*difference).and_then(|&position| changes.get_mut(position)) {
            Some(change) => change.subjects.push(affected),
            None => {
                positions.insert((*difference).clone(), next);
                let (gained, lost) = (*difference).clone();
                changes.push(Change { gained, lost, subjects: vec![affected], own_names: false });
            }
        }
    }
    sort(&mut changes);
    changes
}

/// Puts changes in order, largest class first, and their subjects.
pub fn sort(changes: &mut [Change]) {
    for change in changes.iter_mut() {
        change.subjects.sort();
    }
    // Gains come first for a reviewer.
    changes.sort_by(|left, right| {
        let key = |change: &Change| (change.gained.is_empty(), usize::MAX - change.subjects.len());
        key(left).cmp(&key(right)).then_with(|| left.subjects.cmp(&right.subjects))
    });
}

/// From how many smallest parts on a rule counts as a whole.
const MOST_PARTS: usize = 1 << 16;

/// Returns the hash of a word of a rule.
fn word(words: &mut HashMap<Symbol, u128>, symbol: Symbol, world: &World) -> u128 {
    *words.entry(symbol).or_insert_with(|| digest_of_run(world.symbols.text(symbol)))
}

/// Adds a hash of each smallest part of a rule: a group, a resource, a verb and a name (none: every name), or a URL and a verb.
fn add_parts(rule: &InternedRule, word: &mut dyn FnMut(Symbol) -> u128, parts: &mut Vec<u128>) {
    let mut words = |list: &[Symbol]| list.iter().map(|symbol| word(*symbol)).collect::<Vec<u128>>();
    let (verbs, groups, resources) = (words(rule.verbs()), words(rule.groups()), words(rule.resources()));
    let (names, urls) = (words(rule.names()), words(rule.urls()));
    let names: Vec<Option<u128>> = if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
    let count = verbs.len().saturating_mul(groups.len()).saturating_mul(resources.len()).saturating_mul(names.len());
    if count > MOST_PARTS {
        // A rule as long as an object can be has more parts than memory.
        parts.push(digest_of_run(&(verbs, groups, resources, names, urls)));
        return;
    }
    for verb in verbs {
        parts.extend(urls.iter().map(|url| digest_of_run(&(verb, url))));
        for (group, resource) in groups.iter().flat_map(|group| resources.iter().map(move |resource| (group, resource)))
        {
            parts.extend(names.iter().map(|name| digest_of_run(&(verb, group, resource, name))));
        }
    }
}

impl<'w> Side<'w> {
    fn new(world: &'w World) -> Self {
        let mut prints = Vec::with_capacity(world.lists.len());
        let mut rules = HashMap::new();
        let mut words = HashMap::new();
        for id in world.lists.ids() {
            let mut parts = Vec::new();
            for rule in world.lists.get(id) {
                add_parts(rule, &mut |symbol| word(&mut words, symbol, world), &mut parts);
            }
            parts.sort_unstable();
            parts.dedup();
            let print = digest_of_run(&parts);
            rules.insert(print, id);
            prints.push(print);
        }
        let mut side = Self { world, prints, rules, held: HashMap::new() };
        for (holder, namespace) in world.index.places() {
            // No binding changes its members: they have all permissions before the authorizer.
            if holder.is_group && world.symbols.text(holder.name) == MASTERS {
                continue;
            }
            let held = side.held_by(world.bound_rules(holder, namespace));
            if !held.is_empty() {
                let name = side.text(holder.name);
                let holding = Holding { is_group: holder.is_group, name };
                side.held.insert((holding, namespace.map(|namespace| side.text(namespace))), held);
            }
        }
        side
    }

    fn text(&self, symbol: Symbol) -> String {
        self.world.symbols.text(symbol).to_owned()
    }

    fn held_by(&self, held: &[index::BoundRules]) -> Held {
        let rules = held.iter().filter_map(|held| held.rules).filter(|rules| !self.world.lists.get(*rules).is_empty());
        let mut held: Held = rules.filter_map(|rules| self.prints.get(rules.number()).copied()).collect();
        held.sort_unstable();
        held.dedup();
        held
    }

    /// Returns the permissions of a holder in a scope beside its own bindings there: its cluster-wide permissions in a namespace,
    /// and the permissions of its implied groups.
    fn held_otherwise(&self, holder: &Holding, namespace: Option<&str>, groups: ImpliedGroups) -> Held {
        let mut all = Held::new();
        let mut add = |holder: &Holding, namespace: Option<&str>| {
            all.extend(self.held.get(&(holder.clone(), namespace.map(str::to_owned))).into_iter().flatten());
        };
        if namespace.is_some() {
            add(holder, None);
        }
        let implied = if groups == ImpliedGroups::Counted { holder.implied_groups() } else { Vec::new() };
        for group in implied {
            add(&group, None);
            if namespace.is_some() {
                add(&group, namespace);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the permissions, without rules that never take effect: `pods/*`, and URLs in a namespace.
    fn rules_of(&self, held: &Held, in_namespace: bool) -> Vec<PolicyRule> {
        let lists = held.iter().filter_map(|print| self.rules.get(print)).map(|&id| self.world.lists.get(id));
        lists
            .flatten()
            .map(|rule| {
                let mut rule = rule.to_policy_rule(&self.world.symbols);
                rule.resources.retain(|resource| !resource.ends_with("/*"));
                if in_namespace {
                    rule.non_resource_urls.clear();
                }
                rule
            })
            .collect()
    }
}

impl Holding {
    /// Returns the groups of every identity with this name: `system:authenticated`, and the groups of service accounts.
    fn implied_groups(&self) -> Vec<Holding> {
        let identity = if self.is_group { Identity::member_of(&self.name) } else { Identity::from_user(&self.name) };
        let others = identity.groups.into_iter().filter(|group| !self.is_group || *group != self.name);
        others.map(|name| Holding { is_group: true, name }).collect()
    }
}

impl std::fmt::Display for Holding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_group {
            true => write!(formatter, "Group/{}", self.name),
            false => formatter.write_str(&subject_of_user(&self.name)),
        }
    }
}
