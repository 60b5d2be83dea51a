//! Coverage of rules by rules, the comparison behind every escalation check (`pkg/registry/rbac/validation`).
//!
//! The wanted rules are split into their smallest parts, and one held rule has to cover each part. A list never
//! covers a star, and a rule with names never covers one without.

use hashbrown::HashMap;

use super::decide::url_matches;
use bailiwick_kubernetes::rbac::PolicyRule;

/// Returns the smallest parts of `wanted` that no rule of `held` covers, in order.
pub fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let atoms = wanted.iter().flat_map(PolicyRule::atoms);
    let is_short = |rule: &PolicyRule| {
        [&rule.api_groups, &rule.resources, &rule.resource_names, &rule.non_resource_urls]
            .iter()
            .all(|list| list.len() <= FEW)
    };
    if held.len() <= FEW && held.iter().all(is_short) {
        return atoms.filter(|atom| !held.iter().any(|rule| rule_covers(rule, atom))).collect();
    }
    let index = Index::of(held);
    atoms.filter(|atom| index.covering(atom).next().is_none()).collect()
}

/// So many rules, with lists of so many entries, are faster looked at one by one.
const FEW: usize = 16;

/// Most places of an index: larger rules are compared one by one.
const MOST_PLACES: usize = 1 << 22;

/// The place of a smallest part: its group, its resource, and its name (none: every name).
type Place<'r> = (&'r str, &'r str, Option<&'r str>);

/// Rules by the common properties of a rule and a covered part, so that many parts and many rules cost no more than
/// their sum.
struct Index<'r> {
    by_place: HashMap<Place<'r>, Vec<&'r PolicyRule>>,
    by_url: HashMap<&'r str, Vec<&'r PolicyRule>>,
    /// Rules with patterns as URLs, and rules with too many places.
    others: Vec<&'r PolicyRule>,
}

impl<'r> Index<'r> {
    fn of(rules: impl IntoIterator<Item = &'r PolicyRule>) -> Self {
        let mut index = Self { by_place: HashMap::new(), by_url: HashMap::new(), others: Vec::new() };
        let mut left = MOST_PLACES;
        for rule in rules {
            let places = rule.api_groups.len() * rule.resources.len() * rule.resource_names.len().max(1);
            if places > left || rule.non_resource_urls.iter().any(|url| url.contains('*')) {
                index.others.push(rule);
                continue;
            }
            left -= places;
            for (group, resource) in
                rule.api_groups.iter().flat_map(|group| rule.resources.iter().map(move |resource| (group, resource)))
            {
                let mut add = |name| index.by_place.entry((group, resource, name)).or_default().push(rule);
                match rule.resource_names.as_slice() {
                    [] => add(None),
                    names => names.iter().for_each(|name| add(Some(name))),
                }
            }
            rule.non_resource_urls.iter().for_each(|url| index.by_url.entry(url).or_default().push(rule));
        }
        index
    }

    /// Returns the rules that may cover a smallest part.
    fn covering<'i>(&'i self, atom: &'i PolicyRule) -> impl Iterator<Item = &'r PolicyRule> + 'i {
        let group = atom.api_groups.first().map(String::as_str);
        let resource = atom.resources.first().map_or("", String::as_str);
        let of_any = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        let name = atom.resource_names.first().map(String::as_str);
        let mut found: Vec<&'r PolicyRule> = Vec::new();
        for group in group.into_iter().flat_map(|group| [group, "*"]) {
            for resource in [resource, "*"].into_iter().chain(of_any.as_deref()) {
                for name in [None].into_iter().chain(name.map(Some)) {
                    found.extend(self.by_place.get(&(group, resource, name)).into_iter().flatten());
                }
            }
        }
        let url = atom.non_resource_urls.first();
        found.extend(url.and_then(|url| self.by_url.get(url.as_str())).into_iter().flatten());
        let verb = atom.verbs.first();
        let has_verb = move |rule: &PolicyRule| rule.verbs.iter().any(|own| own == "*" || Some(own) == verb);
        let others = self.others.iter().copied().filter(|rule| rule_covers(rule, atom));
        found.into_iter().filter(move |rule| has_verb(rule)).chain(others)
    }
}

/// Whether one rule covers a smallest part.
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

/// Whether a pattern covers a URL or a narrower pattern; a star in `wanted` is an ordinary character.
fn url_covers(held: &str, wanted: &str) -> bool {
    url_matches(held, wanted)
}

/// Joins smallest parts by group, resource and names, as the server's message lists them.
pub fn compacted(atoms: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut united: Vec<PolicyRule> = Vec::new();
    let mut places = HashMap::new();
    for atom in atoms {
        // Parts about URLs stay by themselves.
        let place = if atom.resources.is_empty() {
            united.len()
        } else {
            *places.entry((&atom.api_groups, &atom.resources, &atom.resource_names)).or_insert(united.len())
        };
        match united.get_mut(place) {
            Some(rule) => {
                let new = atom.verbs.iter().filter(|verb| !rule.verbs.contains(verb)).cloned().collect::<Vec<_>>();
                rule.verbs.extend(new);
            }
            None => united.push(atom.clone()),
        }
    }
    united
}

/// Returns the permissions of a rule without parts covered by others: the form for comparing two sets.
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
    let wide = Index::of(atoms.iter().filter(|atom| is_wide(atom)));
    let is_covered = |atom: &PolicyRule| {
        let nameless = || PolicyRule { resource_names: Vec::new(), ..atom.clone() };
        wide.covering(atom).any(|rule| rule != atom && (!rule_covers(atom, rule) || rule < atom))
            || (!atom.resource_names.is_empty() && atoms.binary_search(&nameless()).is_ok())
    };
    atoms.iter().filter(|atom| !is_covered(atom)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule of words by group, resource, verb and name, each a list with commas.
    fn rule(groups: &str, resources: &str, verbs: &str, names: &str) -> PolicyRule {
        let words = |list: &str| match list {
            "" => Vec::new(),
            "core" => vec![String::new()],
            list => list.split(',').map(str::to_owned).collect(),
        };
        PolicyRule {
            api_groups: words(groups),
            resources: words(resources),
            verbs: words(verbs),
            resource_names: words(names),
            ..PolicyRule::default()
        }
    }

    fn urls(list: &str, verbs: &str) -> PolicyRule {
        PolicyRule {
            non_resource_urls: list.split(',').map(str::to_owned).collect(),
            verbs: verbs.split(',').map(str::to_owned).collect(),
            ..PolicyRule::default()
        }
    }

    #[test]
    fn the_index_finds_what_looking_at_each_rule_finds() {
        let mut rules = vec![urls("/metrics", "get"), urls("/healthz/*", "get,post"), urls("/a,/b*", "*")];
        for groups in ["core", "apps", "*", "core,apps"] {
            for resources in ["pods", "pods/log", "*", "*/log", "pods,secrets"] {
                for verbs in ["get", "*", "get,list"] {
                    for names in ["", "a", "a,b"] {
                        rules.push(rule(groups, resources, verbs, names));
                    }
                }
            }
        }
        let atoms: Vec<PolicyRule> = rules.iter().flat_map(PolicyRule::atoms).collect();
        for atom in &atoms {
            let mut each: Vec<&PolicyRule> = rules.iter().filter(|rule| rule_covers(rule, atom)).collect();
            let index = Index::of(&rules);
            let mut found: Vec<&PolicyRule> = index.covering(atom).collect();
            each.sort();
            found.sort();
            found.dedup();
            each.dedup();
            assert_eq!(found, each, "{atom:?}");
        }
        for held in rules.chunks(37) {
            let slow: Vec<PolicyRule> =
                atoms.iter().filter(|atom| !held.iter().any(|rule| rule_covers(rule, atom))).cloned().collect();
            assert_eq!(uncovered(held, &rules), slow);
        }
    }

    #[test]
    fn parts_are_put_together_in_their_order() {
        let parts = [
            rule("core", "pods", "get", ""),
            urls("/a", "get"),
            rule("core", "secrets", "get", ""),
            rule("core", "pods", "list", ""),
            urls("/a", "get"),
            rule("core", "pods", "get", "a"),
        ];
        let [pods, url, secrets, _, other_url, named] = parts.clone();
        let pods = PolicyRule { verbs: vec!["get".to_owned(), "list".to_owned()], ..pods };
        assert_eq!(compacted(&parts), [pods, url, secrets, other_url, named]);
    }
}
