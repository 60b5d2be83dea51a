//! The least rights for requests.
//!
//! Nothing is widened unless an option asks for it: a request for a named object needs the right on this name alone. A `create` has no
//! name where the authorizer saw none, and an object that server-side apply or an update created needs a `create` of its name.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::{Request, ResourceRequest};
use bailiwick_kubernetes::catalogue::Api;
use bailiwick_kubernetes::names::dns_label;
use bailiwick_kubernetes::rbac::{PolicyRule, READ_VERBS};

/// The verbs that go together with `--round write`.
const CHANGE_VERBS: [&str; 3] = ["get", "update", "patch"];

/// How the rights are widened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Widening {
    /// Whether a right to read has all verbs to read.
    pub rounds_read: bool,
    /// Whether a right to change has the verbs `get`, `update` and `patch`.
    pub rounds_write: bool,
    /// From how many distinct names on a right has every name.
    pub any_name: Option<usize>,
    /// From how many namespaces on a right holds in the whole cluster.
    pub any_namespace: Option<usize>,
}

/// The namespace of rights; none for the whole cluster.
pub type RightScope = Option<String>;

/// Rights by their scope.
pub type ScopedRights = BTreeMap<RightScope, BTreeSet<PolicyRule>>;

/// A set of rights with the scopes in which subjects need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSet {
    /// The rights as rules.
    pub rules: Vec<PolicyRule>,
    /// The scopes of each subject, by its user name.
    pub subjects: BTreeMap<String, BTreeSet<RightScope>>,
}

/// Returns the scope and the right of a request; none for a request that no narrow rule names: without a verb, with a star in the place
/// of a word, or in a namespace that cannot exist. A client chooses the words of its path, so a star in a right would be its choice.
pub fn right_of(request: &Request) -> Option<(RightScope, PolicyRule)> {
    let one = |text: &str| vec![text.to_owned()];
    let is_word = |text: &str| !text.contains('*');
    match request {
        Request::Resource(request) => {
            let resource = request.full_resource();
            let namespace = Some(request.namespace.clone()).filter(|namespace| !namespace.is_empty());
            let is_possible = namespace.as_ref().is_none_or(|namespace| dns_label(namespace).is_ok());
            let has_words = !request.verb.is_empty() && !request.resource.is_empty();
            let has_stars = ![&request.verb, &request.group, &resource].into_iter().all(|text| is_word(text));
            (is_possible && has_words && !has_stars).then(|| {
                let right = PolicyRule {
                    api_groups: one(&request.group),
                    resources: vec![resource],
                    resource_names: Some(request.name.clone()).filter(|name| !name.is_empty()).into_iter().collect(),
                    verbs: one(&request.verb),
                    ..PolicyRule::default()
                };
                (namespace, right)
            })
        }
        Request::Url(request) => {
            (!request.verb.is_empty() && is_word(&request.verb) && is_word(&request.path)).then(|| {
                let urls = one(&request.path);
                (None, PolicyRule { non_resource_urls: urls, verbs: one(&request.verb), ..PolicyRule::default() })
            })
        }
    }
}

/// Returns the least rights for requests, widened as the options ask.
pub fn least_rights<'r>(requests: impl Iterator<Item = &'r Request>, widening: Widening, api: &Api) -> ScopedRights {
    let mut rights = ScopedRights::new();
    for (scope, right) in requests.filter_map(right_of) {
        rights.entry(scope).or_default().insert(right);
    }
    for rights in rights.values_mut() {
        if let Some(most) = widening.any_name {
            drop_names(rights, most);
        }
        if widening.rounds_read {
            round(rights, READ_VERBS, api);
        }
        if widening.rounds_write {
            round_changes(rights, api);
        }
        drop_covered_names(rights);
    }
    if let Some(most) = widening.any_namespace {
        widen_namespaces(&mut rights, most);
    }
    let cluster = rights.get(&None).cloned();
    for (_, rights) in rights.iter_mut().filter(|(scope, _)| scope.is_some()) {
        let is_covered = |right: &PolicyRule| {
            cluster.as_ref().is_some_and(|cluster| cluster.contains(right) || cluster.contains(&nameless(right)))
        };
        rights.retain(|right| !is_covered(right));
    }
    rights.retain(|_, rights| !rights.is_empty());
    rights
}

fn nameless(right: &PolicyRule) -> PolicyRule {
    PolicyRule { resource_names: Vec::new(), ..right.clone() }
}

/// Replaces rights with enough distinct names by a right to every name.
fn drop_names(rights: &mut BTreeSet<PolicyRule>, most: usize) {
    let mut names: BTreeMap<PolicyRule, usize> = BTreeMap::new();
    for right in rights.iter().filter(|right| !right.resource_names.is_empty()) {
        *names.entry(nameless(right)).or_default() += 1;
    }
    rights.extend(names.into_iter().filter(|(_, count)| *count >= most).map(|(right, _)| right));
}

/// Removes rights to a name beside the right to every name.
fn drop_covered_names(rights: &mut BTreeSet<PolicyRule>) {
    let covered: Vec<PolicyRule> = rights
        .iter()
        .filter(|right| !right.resource_names.is_empty() && rights.contains(&nameless(right)))
        .cloned()
        .collect();
    covered.iter().for_each(|right| _ = rights.remove(right));
}

/// Gives each right with one of the verbs the others, where the resource takes them.
fn round(rights: &mut BTreeSet<PolicyRule>, verbs: &[&str], api: &Api) {
    let has_one =
        |right: &PolicyRule| !right.resources.is_empty() && right.verbs.iter().any(|own| verbs.contains(&own.as_str()));
    let rounded: Vec<PolicyRule> = rights.iter().filter(|right| has_one(right)).cloned().collect();
    for right in rounded {
        let (Some(group), Some(resource)) = (right.api_groups.first(), right.resources.first()) else { continue };
        let is_known = api.knows(group, resource);
        for verb in verbs.iter().filter(|verb| !is_known || api.takes(group, resource, verb)) {
            rights.insert(PolicyRule { verbs: vec![(*verb).to_owned()], ..right.clone() });
        }
    }
}

/// Gives each right to change an object the other verbs to read and to change it.
fn round_changes(rights: &mut BTreeSet<PolicyRule>, api: &Api) {
    let is_change = |right: &PolicyRule| right.verbs.iter().any(|verb| matches!(verb.as_str(), "update" | "patch"));
    let mut changes: BTreeSet<PolicyRule> = rights.iter().filter(|right| is_change(right)).cloned().collect();
    round(&mut changes, &CHANGE_VERBS, api);
    rights.append(&mut changes);
}

/// Moves rights of enough namespaces into the whole cluster.
fn widen_namespaces(rights: &mut ScopedRights, most: usize) {
    let mut namespaces: BTreeMap<PolicyRule, usize> = BTreeMap::new();
    for (_, rights) in rights.iter().filter(|(scope, _)| scope.is_some()) {
        for right in rights {
            *namespaces.entry(right.clone()).or_default() += 1;
        }
    }
    let wide = namespaces.into_iter().filter(|(_, count)| *count >= most).map(|(right, _)| right);
    let wide: BTreeSet<PolicyRule> = wide.collect();
    if !wide.is_empty() {
        rights.entry(None).or_default().extend(wide);
    }
}

/// Returns each distinct set of rights once, in the order of the first subject and scope that need it.
pub fn distinct_sets(subjects: &BTreeMap<String, ScopedRights>) -> Vec<NeededSet> {
    let mut numbers: BTreeMap<&BTreeSet<PolicyRule>, usize> = BTreeMap::new();
    let mut sets: Vec<NeededSet> = Vec::new();
    for (subject, scopes) in subjects {
        for (scope, rights) in scopes {
            let number = *numbers.entry(rights).or_insert(sets.len());
            if number == sets.len() {
                sets.push(NeededSet { rules: rules(rights), subjects: BTreeMap::new() });
            }
            if let Some(set) = sets.get_mut(number) {
                set.subjects.entry(subject.clone()).or_default().insert(scope.clone());
            }
        }
    }
    sets
}

/// Joins rights into rules: the verbs of a resource first, then resources with the same verbs, then names.
pub fn rules<'r>(rights: impl IntoIterator<Item = &'r PolicyRule>) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<PolicyRule, BTreeSet<String>> = BTreeMap::new();
    for right in rights {
        let target = PolicyRule { verbs: Vec::new(), ..right.clone() };
        verbs.entry(target).or_default().extend(right.verbs.iter().cloned());
    }
    let ordered = |verbs: BTreeSet<String>| -> Vec<String> {
        let mut verbs: Vec<String> = verbs.into_iter().collect();
        verbs.sort_by_key(|verb| (position_of(verb), verb.clone()));
        verbs
    };
    let rules = verbs.into_iter().map(|(target, verbs)| PolicyRule { verbs: ordered(verbs), ..target });
    let rules = joined(rules.collect(), |rule| &mut rule.resources);
    let rules = joined(rules, |rule| &mut rule.resource_names);
    joined(rules, |rule| &mut rule.non_resource_urls)
}

/// Returns the place of a verb in a rule.
fn position_of(verb: &str) -> usize {
    const ORDER: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    ORDER.iter().position(|known| *known == verb).map_or(ORDER.len(), |position| position)
}

/// Joins rules that differ in one list alone.
fn joined(rules: Vec<PolicyRule>, list: impl Fn(&mut PolicyRule) -> &mut Vec<String>) -> Vec<PolicyRule> {
    let mut joined: BTreeMap<PolicyRule, BTreeSet<String>> = BTreeMap::new();
    let mut apart = Vec::new();
    for mut rule in rules {
        let words = std::mem::take(list(&mut rule));
        if words.is_empty() {
            apart.push(rule);
        } else {
            joined.entry(rule).or_default().extend(words);
        }
    }
    let joined = joined.into_iter().map(|(mut rule, words)| {
        *list(&mut rule) = words.into_iter().collect();
        rule
    });
    let mut rules: Vec<PolicyRule> = joined.chain(apart).collect();
    rules.sort();
    rules
}

/// Returns the request of a `create` without the name: an unnamed right to create allows `kubectl create` too.
pub fn nameless_create(request: &ResourceRequest) -> Option<ResourceRequest> {
    let is_named_create = request.verb == "create" && request.subresource.is_empty() && !request.name.is_empty();
    is_named_create.then(|| ResourceRequest { name: String::new(), ..request.clone() })
}
