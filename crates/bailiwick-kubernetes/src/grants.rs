//! Rules split into single grants (group, resource, verb), and the effect of a grant on a version.

use std::collections::BTreeSet;

use super::catalogue::{Catalogue, Served};
use bailiwick_yaml::NodeRef;

/// One group, resource and verb in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant<'t> {
    /// The API group.
    pub group: &'t str,
    /// The resource, with its subresource after a slash.
    pub resource: &'t str,
    /// Word in `verbs`.
    pub verb: &'t str,
}

/// The effect of a grant on a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Some request needs it.
    Live,
    /// The resource is served and never takes this verb.
    DeadVerb,
    /// The resource is not served by default.
    NotServed,
}

/// Returns every grant of a list of rules, each once, in the order of the rules. URL rules have none.
pub fn grants(rules: NodeRef<'_>) -> Vec<Grant<'_>> {
    let mut seen = BTreeSet::new();
    let mut list = Vec::new();
    for rule in rules.items() {
        for group in strings(rule, "apiGroups") {
            for resource in strings(rule, "resources") {
                for verb in strings(rule, "verbs") {
                    let grant = Grant { group, resource, verb };
                    if seen.insert(grant) {
                        list.push(grant);
                    }
                }
            }
        }
    }
    list
}

impl Grant<'_> {
    /// Returns the effect of the grant on a minor. A wildcard is always live, and so is a name known from rules alone.
    pub fn effect(&self, catalogue: &Catalogue, minor: u32) -> Effect {
        if self.group == "*" || self.resource.starts_with('*') {
            return Effect::Live;
        }
        if catalogue.is_virtual(minor, self.group, self.resource, self.verb) {
            return Effect::Live;
        }
        let presence = catalogue.presence(minor, self.group, self.resource);
        if presence.served != Served::Yes {
            // A wrong verb is dead even on a name known from rules alone.
            let is_known = catalogue.virtual_entries(minor, self.group, self.resource).next().is_some();
            return if is_known && presence.served == Served::No { Effect::DeadVerb } else { Effect::NotServed };
        }
        if self.verb == "*" || presence.verbs.contains(&self.verb) { Effect::Live } else { Effect::DeadVerb }
    }
}

fn strings<'t>(rule: NodeRef<'t>, key: &str) -> impl Iterator<Item = &'t str> {
    rule.get(key).into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_only_rules_know_are_live() {
        let effect = |group, resource, verb, minor| Grant { group, resource, verb }.effect(Catalogue::get(), minor);
        assert_eq!(effect("policy", "podsecuritypolicies", "use", 24), Effect::Live);
        assert_eq!(effect("policy", "podsecuritypolicies", "use", 25), Effect::NotServed);
        assert_eq!(effect("", "nodes/metrics", "get", 36), Effect::Live);
        assert_eq!(effect("", "nodes/metrics", "list", 36), Effect::DeadVerb);
        assert_eq!(effect("", "pods", "*", 36), Effect::Live);
        assert_eq!(effect("", "pods/log", "create", 36), Effect::DeadVerb);
        assert_eq!(effect("example.com", "widgets", "get", 36), Effect::NotServed);
    }
}
