//! Do these rules cover those? The comparison behind every escalation check (`pkg/registry/rbac/validation`).
//!
//! What is wanted is split into its smallest parts, and each part has to be covered by one rule that is held. A list
//! never covers a star, and a rule with names never covers one without.

use super::decide::url_matches;
use crate::k8s::rbac::PolicyRule;

/// The smallest parts of `wanted` that no rule of `held` covers, in order; none when all is covered.
pub fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let atoms = wanted.iter().flat_map(PolicyRule::atoms);
    atoms.filter(|atom| !held.iter().any(|rule| rule_covers(rule, atom))).collect()
}

/// True when one rule covers a smallest part.
pub fn rule_covers(held: &PolicyRule, atom: &PolicyRule) -> bool {
    let covers_all = |held: &[String], wanted: &[String], star: bool| {
        (star && held.iter().any(|entry| entry == "*")) || wanted.iter().all(|entry| held.contains(entry))
    };
    covers_all(&held.verbs, &atom.verbs, true)
        && covers_all(&held.api_groups, &atom.api_groups, true)
        && atom.resources.iter().all(|resource| resource_covered(&held.resources, resource))
        && if atom.resource_names.is_empty() {
            held.resource_names.is_empty()
        } else {
            held.resource_names.is_empty() || covers_all(&held.resource_names, &atom.resource_names, false)
        }
        && atom.non_resource_urls.iter().all(|url| held.non_resource_urls.iter().any(|own| url_covers(own, url)))
}

fn resource_covered(held: &[String], resource: &str) -> bool {
    held.iter().any(|own| own == "*" || own == resource)
        || resource.split_once('/').is_some_and(|(_, subresource)| {
            held.iter().any(|own| own.strip_prefix("*/").is_some_and(|covered| covered == subresource))
        })
}

/// A pattern covers a narrower pattern too, since stars are characters like others here.
fn url_covers(held: &str, wanted: &str) -> bool {
    url_matches(held, wanted)
}

/// Smallest parts put together again by group, resource and names, as the server's message lists them.
pub fn compacted(atoms: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut united: Vec<PolicyRule> = Vec::new();
    for atom in atoms {
        let same = |rule: &&mut PolicyRule| {
            !atom.resources.is_empty()
                && rule.api_groups == atom.api_groups
                && rule.resources == atom.resources
                && rule.resource_names == atom.resource_names
        };
        match united.iter_mut().find(same) {
            Some(rule) => rule
                .verbs
                .extend(atom.verbs.iter().filter(|verb| !rule.verbs.contains(verb)).cloned().collect::<Vec<_>>()),
            None => united.push(atom.clone()),
        }
    }
    united
}

/// What a rule grants, without what another of the rules covers anyway: the form in which two sets are compared.
pub fn maximal(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut atoms: Vec<PolicyRule> = rules.iter().flat_map(PolicyRule::atoms).collect();
    atoms.sort();
    atoms.dedup();
    // Without a wildcard a part covers nothing but itself, and itself with a name.
    let is_wide = |atom: &PolicyRule| {
        let has_star = |list: &[String]| list.iter().any(|entry| entry.contains('*'));
        has_star(&atom.verbs)
            || has_star(&atom.api_groups)
            || has_star(&atom.resources)
            || has_star(&atom.non_resource_urls)
    };
    let wide: Vec<&PolicyRule> = atoms.iter().filter(|atom| is_wide(atom)).collect();
    let is_covered = |atom: &PolicyRule| {
        let nameless = || PolicyRule { resource_names: Vec::new(), ..atom.clone() };
        wide.iter().any(|rule| *rule != atom && rule_covers(rule, atom) && (!rule_covers(atom, rule) || *rule < atom))
            || (!atom.resource_names.is_empty() && atoms.binary_search(&nameless()).is_ok())
    };
    atoms.iter().filter(|atom| !is_covered(atom)).cloned().collect()
}
