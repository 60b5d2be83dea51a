//! The use of the rights of bindings by requests.
//!
//! A right is a smallest part of the rules of a role: one group, resource, verb and name, or one URL and verb. A right below another
//! right of the role does not count. A request uses a right of each allowing binding, and not of the first one alone.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::decide::{Query, url_matches};
use super::proof::{Link, RuleLink};
use super::request::{Identity, Request};
use super::rules::RuleListId;
use super::symbols::{Symbol, Symbols};
use super::world::{Binding, Holder, ObjectSource, World};
use crate::cover;
use bailiwick_kubernetes::rbac::PolicyRule;

/// Records the use of rights by requests.
#[derive(Debug)]
pub struct Usage<'w> {
    world: &'w World,
    rights: HashMap<RuleListId, Rights>,
    /// The used rights by binding and holder.
    used: HashMap<(u32, Holder), HashMap<usize, UsedRight>>,
}

/// How requests use a right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedRight {
    /// How many requests use it.
    pub requests: u64,
    /// The rights without a wildcard for these requests; empty for a right without a wildcard.
    pub narrower: BTreeSet<PolicyRule>,
}

/// A right of a subject of a binding, with its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightUsage {
    /// One group, resource, verb and name, or one URL and verb.
    pub right: PolicyRule,
    /// Its use; none for an unused right.
    pub used: Option<UsedRight>,
}

/// The use of the rights of a subject of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectUsage {
    /// The subject, such as `User/ann` or `ServiceAccount/team-a/deployer`.
    pub subject: String,
    /// The user name, or the name of the group.
    pub name: String,
    /// Whether the subject is a group.
    pub is_group: bool,
    /// The rights in order.
    pub rights: Vec<RightUsage>,
}

/// The use of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingUsage {
    /// The number of the binding in answers.
    pub id: u32,
    /// The binding with its place.
    pub binding: Link,
    /// Its namespace; none for a ClusterRoleBinding.
    pub namespace: Option<String>,
    /// The bound role.
    pub role: Link,
    /// The rules of the role.
    pub rules: Vec<RuleLink>,
    /// The subjects, in the order of the binding.
    pub subjects: Vec<SubjectUsage>,
}

/// The group, the resource and the name (none: every name) of a right.
type Place = (Symbol, Symbol, Option<Symbol>);

/// The rights of a list of rules.
#[derive(Debug, Default)]
struct Rights {
    list: Vec<PolicyRule>,
    /// The rights at each place, with their verbs.
    by_place: HashMap<Place, Vec<(Symbol, usize)>>,
    /// The rights about URLs.
    urls: Vec<usize>,
}

impl Rights {
    fn new(rules: &[PolicyRule], symbols: &Symbols) -> Self {
        let mut rights = Self { list: cover::maximal(rules), ..Self::default() };
        for (position, right) in rights.list.iter().enumerate() {
            let first = |list: &[String]| list.first().map(|text| symbols.find(text));
            match (first(&right.api_groups), first(&right.resources), first(&right.verbs)) {
                (Some(group), Some(resource), Some(verb)) => {
                    let place = (group, resource, first(&right.resource_names));
                    rights.by_place.entry(place).or_default().push((verb, position));
                }
                _ => rights.urls.push(position),
            }
        }
        rights
    }

    /// Returns the positions of the rights to a request.
    fn of_request(&self, query: &Query<'_>, symbols: &Symbols) -> Vec<usize> {
        let mut found = Vec::new();
        match *query {
            Query::Resource { verb, group, resource, any_of_subresource, name } => {
                let fits = |own: Symbol| own == verb || own == Symbol::STAR;
                for group in [group, Symbol::STAR] {
                    for resource in [Some(resource), Some(Symbol::STAR), any_of_subresource].into_iter().flatten() {
                        for name in [None, Some(name)] {
                            let rights = self.by_place.get(&(group, resource, name)).into_iter().flatten();
                            found.extend(rights.filter(|(own, _)| fits(*own)).map(|(_, position)| *position));
                        }
                    }
                }
            }
            Query::Url { verb, path } => {
                let fits = |right: &PolicyRule| {
                    right.verbs.iter().any(|own| own == "*" || symbols.find(own) == verb)
                        && right.non_resource_urls.iter().any(|url| url_matches(url, path))
                };
                let positions = self.urls.iter().copied();
                found.extend(positions.filter(|position| self.list.get(*position).is_some_and(fits)));
            }
        }
        found
    }
}

/// Whether a right has a wildcard.
fn is_wide(right: &PolicyRule) -> bool {
    let lists = [&right.verbs, &right.api_groups, &right.resources, &right.non_resource_urls];
    lists.into_iter().flatten().any(|word| word.contains('*'))
}

/// Returns the right without a wildcard for a request of a right with one.
fn narrower(right: &PolicyRule, request: &Request) -> PolicyRule {
    match request {
        Request::Resource(request) => PolicyRule {
            api_groups: vec![request.group.clone()],
            resources: vec![request.full_resource()],
            resource_names: right.resource_names.clone(),
            verbs: vec![request.verb.clone()],
            ..PolicyRule::default()
        },
        Request::Url(request) => PolicyRule {
            non_resource_urls: vec![request.path.clone()],
            verbs: vec![request.verb.clone()],
            ..PolicyRule::default()
        },
    }
}

impl<'w> Usage<'w> {
    /// Creates a record without requests.
    pub fn new(world: &'w World) -> Self {
        Self { world, rights: HashMap::new(), used: HashMap::new() }
    }

    /// Records requests of an identity. Returns the numbers of the allowing bindings, sorted. A member of `system:masters`
    /// needs no binding and uses none.
    pub fn record(&mut self, who: &Identity, request: &Request, requests: u64) -> Vec<u32> {
        let world = self.world;
        if who.is_master() {
            return Vec::new();
        }
        let query = Query::new(request, &world.symbols);
        let namespace = world.namespace_symbol(request.namespace());
        let mut bindings = Vec::new();
        for holder in world.holders(who) {
            let held = world.bound_rules(holder, None).iter().chain(world.bound_rules_in(holder, namespace));
            for held in held {
                let Some(rules) = held.rules else { continue };
                let rights = self.rights.entry(rules).or_insert_with(|| world.rights_of(rules));
                let positions = rights.of_request(&query, &world.symbols);
                if positions.is_empty() {
                    continue;
                }
                bindings.push(held.binding);
                let used = self.used.entry((held.binding, holder)).or_default();
                for position in positions {
                    let used = used.entry(position).or_default();
                    used.requests += requests;
                    let right = rights.list.get(position).filter(|right| is_wide(right));
                    used.narrower.extend(right.map(|right| narrower(right, request)));
                }
            }
        }
        bindings.sort_unstable();
        bindings.dedup();
        bindings
    }

    /// Returns the use of each binding of the inputs, in the order of the inputs. Subjects of `defaults`, the world of a new cluster,
    /// are left out, and so are bindings without a role among the objects.
    pub fn bindings(&mut self, defaults: &World) -> Vec<BindingUsage> {
        let world = self.world;
        let own = (0..).zip(&world.bindings).filter(|(_, binding)| matches!(binding.layer, ObjectSource::Input(_)));
        own.filter_map(|(id, binding)| self.binding(id, binding, defaults)).collect()
    }

    fn binding(&mut self, id: u32, binding: &Binding, defaults: &World) -> Option<BindingUsage> {
        let world = self.world;
        let role = world.role_of(binding)?;
        let namespace = binding.namespace.map(|namespace| world.symbols.text(namespace));
        let name = world.symbols.text(binding.name);
        let by_default: Vec<String> = match defaults.describe_binding(namespace, name) {
            Some((_, Ok(default), subjects)) if default.name == world.role_link(role).name => subjects,
            _ => Vec::new(),
        };
        let rights = self.rights.entry(role.rules).or_insert_with(|| world.rights_of(role.rules));
        let mut seen = BTreeSet::new();
        let mut subjects = Vec::new();
        for subject in world.subjects(binding) {
            let (Some(holder), Some(subject)) =
                (world.holder(*subject, binding.namespace), world.subject_name(*subject, binding.namespace))
            else {
                continue;
            };
            if by_default.contains(&subject) || !seen.insert(holder) {
                continue;
            }
            let used = self.used.get(&(id, holder));
            let of_right = |(position, right): (usize, &PolicyRule)| RightUsage {
                right: right.clone(),
                used: used.and_then(|used| used.get(&position)).cloned(),
            };
            let name = world.symbols.text(holder.name).to_owned();
            let rights = rights.list.iter().enumerate().map(of_right).collect();
            subjects.push(SubjectUsage { subject, name, is_group: holder.is_group, rights });
        }
        (!subjects.is_empty()).then(|| BindingUsage {
            id,
            binding: world.binding_link(binding),
            namespace: namespace.map(str::to_owned),
            role: world.role_link(role),
            rules: world.rule_links(role),
            subjects,
        })
    }
}

impl World {
    fn rights_of(&self, rules: RuleListId) -> Rights {
        let rules: Vec<PolicyRule> =
            self.lists.get(rules).iter().map(|rule| rule.to_policy_rule(&self.symbols)).collect();
        Rights::new(&rules, &self.symbols)
    }
}
