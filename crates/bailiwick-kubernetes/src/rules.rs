//! Rules as a set of single permissions, and the one list of rules for exactly this set.
//!
//! Two lists of rules with the same grants lead to the same bytes, in any order and split. No permission is added: a
//! rule multiplies its lists, and permissions are united only into an exact product.
//!
//! ```text
//! rules    by group, without names before with, by verbs, by resources; URLs last
//! verbs    get, list, watch, then alphabetical, as seed 000 lists them
//! others   alphabetical; one group for each rule
//! ```
//!
//! Left out on purpose: coverage. `get` on one name stays beside `get` on all, and `get` beside `*`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::rbac::PolicyRule;

/// Single permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Verbs by group, resource and name; no name for all of them.
    resources: BTreeMap<Target, BTreeSet<Verb>>,
    /// Verbs by URL.
    urls: BTreeMap<String, BTreeSet<Verb>>,
}

/// Group, resource and name.
type Target = (String, String, Option<String>);

/// Group, names and verbs of a rule.
type Terms<'s> = (&'s str, Vec<&'s str>, Vec<&'s Verb>);

/// A verb, in the order of verbs in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verb(String);

impl Verb {
    fn rank(&self) -> (usize, &str) {
        let rank = match self.0.as_str() {
            "get" => 0,
            "list" => 1,
            "watch" => 2,
            _ => 3,
        };
        (rank, &self.0)
    }
}

impl PartialOrd for Verb {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Verb {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// How many permissions the rules of a set state at most. A set keeps each of them apart: this number takes 100 MB of memory.
pub const MOST_PERMISSIONS: usize = 1_000_000;

/// Returns the number of permissions that a rule states: its groups, resources, names and verbs multiplied, and its URLs and verbs.
pub fn permission_count(rule: &PolicyRule) -> usize {
    let names = rule.resource_names.len().max(1);
    let targets = rule.api_groups.len().saturating_mul(rule.resources.len()).saturating_mul(names);
    targets.saturating_add(rule.non_resource_urls.len()).saturating_mul(rule.verbs.len())
}

impl RuleSet {
    /// Returns the permissions of a list of rules.
    pub fn from_rules(rules: &[PolicyRule]) -> Self {
        let mut set = Self::default();
        rules.iter().for_each(|rule| set.add(rule));
        set
    }

    /// Adds the permissions of a rule.
    pub fn add(&mut self, rule: &PolicyRule) {
        let verbs = || rule.verbs.iter().cloned().map(Verb);
        for url in &rule.non_resource_urls {
            self.urls.entry(url.clone()).or_default().extend(verbs());
        }
        let names: Vec<Option<&String>> =
            if rule.resource_names.is_empty() { vec![None] } else { rule.resource_names.iter().map(Some).collect() };
        for group in &rule.api_groups {
            for resource in &rule.resources {
                for name in &names {
                    let target = (group.clone(), resource.clone(), name.cloned());
                    self.resources.entry(target).or_default().extend(verbs());
                }
            }
        }
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.urls.is_empty()
    }

    /// Returns how many resources of groups it names.
    pub fn resource_count(&self) -> usize {
        self.resources.keys().map(|(group, resource, _)| (group, resource)).collect::<BTreeSet<_>>().len()
    }

    /// Returns the rules for exactly this set.
    pub fn rules(&self) -> Vec<PolicyRule> {
        // Resources with the same names and verbs go together; first, for each resource, the names with the same
        // verbs.
        let mut names: BTreeMap<(&str, &str, bool, Vec<&Verb>), Vec<&str>> = BTreeMap::new();
        for ((group, resource, name), verbs) in &self.resources {
            let key = (group.as_str(), resource.as_str(), name.is_some(), verbs.iter().collect());
            names.entry(key).or_default().extend(name.as_deref());
        }
        let mut resources: BTreeMap<Terms<'_>, Vec<&str>> = BTreeMap::new();
        for ((group, resource, _, verbs), names) in names {
            resources.entry((group, names, verbs)).or_default().push(resource);
        }
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let spelt = |verbs: &[&Verb]| verbs.iter().map(|verb| verb.0.clone()).collect::<Vec<_>>();
        let mut rules: Vec<PolicyRule> = resources
            .into_iter()
            .map(|((group, names, verbs), resources)| PolicyRule {
                api_groups: own(&[group]),
                resources: own(&resources),
                resource_names: own(&names),
                non_resource_urls: Vec::new(),
                verbs: spelt(&verbs),
            })
            .collect();
        let mut urls: BTreeMap<Vec<&Verb>, Vec<&str>> = BTreeMap::new();
        for (url, verbs) in &self.urls {
            urls.entry(verbs.iter().collect()).or_default().push(url);
        }
        rules.extend(urls.into_iter().map(|(verbs, urls)| PolicyRule {
            non_resource_urls: own(&urls),
            verbs: spelt(&verbs),
            ..PolicyRule::default()
        }));
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator: the same numbers in every run, and no crate for it.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }

        fn some(&mut self, words: &[&str], least: usize) -> Vec<String> {
            let count = least + self.below(words.len().min(4));
            (0..count).map(|_| words[self.below(words.len())].to_owned()).collect()
        }

        fn rule(&mut self) -> PolicyRule {
            let verbs = self.some(&["get", "list", "watch", "create", "update", "*", "use"], 1);
            if self.below(6) == 0 {
                let non_resource_urls = self.some(&["/healthz", "/metrics", "/api/*"], 1);
                return PolicyRule { non_resource_urls, verbs, ..PolicyRule::default() };
            }
            PolicyRule {
                api_groups: self.some(&["", "apps", "*", "extensions"], 1),
                resources: self.some(&["pods", "pods/log", "*", "deployments", "secrets"], 1),
                resource_names: if self.below(2) == 0 { Vec::new() } else { self.some(&["a", "b", "", "c"], 1) },
                non_resource_urls: Vec::new(),
                verbs,
            }
        }
    }

    /// Every single permission of a list of rules, by the plainest means.
    fn atoms(rules: &[PolicyRule]) -> BTreeSet<String> {
        let mut atoms = BTreeSet::new();
        for rule in rules {
            let names: Vec<String> = if rule.resource_names.is_empty() {
                vec!["any".to_owned()]
            } else {
                rule.resource_names.iter().map(|name| format!("`{name}`")).collect()
            };
            for verb in &rule.verbs {
                atoms.extend(rule.non_resource_urls.iter().map(|url| format!("{verb} {url}")));
                for group in &rule.api_groups {
                    for resource in &rule.resources {
                        atoms.extend(names.iter().map(|name| format!("{verb} {group} {resource} {name}")));
                    }
                }
            }
        }
        atoms
    }

    #[test]
    fn any_list_of_rules_grants_the_same_afterwards() {
        let mut random = Random(7);
        for _ in 0..2_000 {
            let rules: Vec<PolicyRule> = (0..1 + random.below(6)).map(|_| random.rule()).collect();
            let canonical = RuleSet::from_rules(&rules).rules();
            assert_eq!(atoms(&canonical), atoms(&rules), "{rules:#?}");
            assert_eq!(RuleSet::from_rules(&canonical).rules(), canonical, "what is canonical stays");
            let mut other = rules.clone();
            other.rotate_left(random.below(rules.len()));
            other.push(rules[0].clone());
            for rule in &mut other {
                rule.verbs.reverse();
                rule.resources.reverse();
            }
            assert_eq!(RuleSet::from_rules(&other).rules(), canonical, "order and repetition do not show");
            let sizes = |rule: &PolicyRule| {
                rule.verbs.len()
                    * (rule.non_resource_urls.len()
                        + rule.api_groups.len() * rule.resources.len() * rule.resource_names.len().max(1))
            };
            assert_eq!(canonical.iter().map(sizes).sum::<usize>(), atoms(&rules).len(), "nothing is said twice");
        }
    }

    #[test]
    fn verbs_and_rules_have_one_order() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let rule = |resources: &str, verbs: &str| PolicyRule {
            api_groups: vec![String::new()],
            resources: words(resources),
            verbs: words(verbs),
            ..PolicyRule::default()
        };
        let rules = RuleSet::from_rules(&[
            rule("secrets pods", "update create patch watch list get deletecollection delete"),
            rule("events", "watch get list"),
        ])
        .rules();
        assert_eq!(
            rules,
            [
                rule("events", "get list watch"),
                rule("pods secrets", "get list watch create delete deletecollection patch update"),
            ]
        );
    }
}
