//! The permissions of the installer of stacks: the least set with all objects accepted by the API server.
//!
//! The design gives `cluster-admin` to the Stack Manager, because an account cannot grant permissions without having
//! them. The permissions of the stacks are known here. The manager needs the same permissions in the same places, and
//! the permission to write these very objects (`pkg/registry/rbac/escalation_check.go`).

use std::collections::{BTreeMap, HashMap};

use super::object::{PackageObject, words};
use super::stack::Stack;
use bailiwick_access::cover;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_kubernetes::rules::RuleSet;
use bailiwick_kubernetes::size::{self, MAXIMUM_APPLIED};

/// The permissions of a manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// In the whole cluster.
    pub cluster: Vec<PolicyRule>,
    /// Further permissions in single namespaces.
    pub namespaces: BTreeMap<String, Vec<PolicyRule>>,
}

/// Returns the least permissions for the installation of stacks: their objects and their definitions can be created,
/// applied again, read and removed by name. `further` are the manager's own needs.
pub fn rights(stacks: &[&Stack], further: &[PolicyRule]) -> Rights {
    let mut cluster = Wanted::default();
    let mut namespaces: BTreeMap<&str, Wanted> = BTreeMap::new();
    let objects: Vec<PackageObject> = stacks.iter().flat_map(|stack| stack.objects()).collect();
    for object in &objects {
        let wanted = match &object.namespace {
            Some(namespace) => namespaces.entry(namespace).or_default(),
            None => &mut cluster,
        };
        wanted.writes(object.group(), object.resource(), &object.name);
        wanted.holds(object.rules());
    }
    for definition in stacks.iter().flat_map(|stack| &stack.package.definitions) {
        cluster.writes("apiextensions.k8s.io", "customresourcedefinitions", &definition.name);
    }
    cluster.holds(further);
    let cluster = cluster.least(&Held::default());
    let held = Held::of(&cluster);
    let namespaces = namespaces.into_iter().map(|(name, wanted)| (name.to_owned(), wanted.least(&held)));
    Rights { namespaces: namespaces.filter(|(_, rules)| !rules.is_empty()).collect(), cluster }
}

/// Permissions needed in one place.
#[derive(Debug, Default)]
struct Wanted {
    /// The smallest parts by API group, since hardly any covers one of another group; URLs count as of the core group.
    by_group: BTreeMap<String, Vec<PolicyRule>>,
}

impl Wanted {
    /// Adds the permission to write an object. A request to create has no name, and a name cannot limit it.
    fn writes(&mut self, group: &str, resource: &str, name: &str) {
        let rule = |verbs: &[&str], names: Vec<String>| PolicyRule {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            resource_names: names,
            verbs: words(verbs),
            ..PolicyRule::default()
        };
        self.holds(&[rule(&["create"], Vec::new()), rule(&["get", "patch", "delete"], vec![name.to_owned()])]);
    }

    fn holds(&mut self, rules: &[PolicyRule]) {
        for atom in rules.iter().flat_map(PolicyRule::atoms) {
            // A rule for URLs has no group.
            let group = atom.api_groups.concat();
            self.by_group.entry(group).or_default().push(atom);
        }
    }

    /// Returns the permissions as rules, without permissions held by other means.
    fn least(self, held: &Held) -> Vec<PolicyRule> {
        let mut rules = Vec::new();
        for mut atoms in self.by_group.into_values() {
            atoms.retain(|atom| !held.covers(atom));
            rules.extend(cover::maximal(&atoms));
        }
        RuleSet::from_rules(&rules).rules()
    }
}

/// Single permissions, found by group and resource: one for each object of thousands of stacks.
#[derive(Debug, Default)]
struct Held {
    exact: HashMap<(String, String), Vec<PolicyRule>>,
    /// Permissions with a pattern as group or resource, and URLs.
    wide: Vec<PolicyRule>,
}

impl Held {
    fn of(rules: &[PolicyRule]) -> Self {
        let mut held = Self::default();
        for atom in rules.iter().flat_map(PolicyRule::atoms) {
            match key_of(&atom).filter(|(group, resource)| !group.contains('*') && !resource.contains('*')) {
                Some(key) => held.exact.entry(key).or_default().push(atom),
                None => held.wide.push(atom),
            }
        }
        held
    }

    fn covers(&self, atom: &PolicyRule) -> bool {
        let exact = key_of(atom).and_then(|key| self.exact.get(&key));
        exact.into_iter().flatten().chain(&self.wide).any(|own| cover::rule_covers(own, atom))
    }
}

/// Returns group and resource of a single permission; none for a URL.
fn key_of(atom: &PolicyRule) -> Option<(String, String)> {
    Some((atom.api_groups.first()?.clone(), atom.resources.first()?.clone()))
}

/// Splits rules into roles of a valid size, with the same permissions in total.
pub fn in_roles(rules: &[PolicyRule]) -> Vec<Vec<PolicyRule>> {
    let mut roles: Vec<Vec<PolicyRule>> = vec![Vec::new()];
    let mut room = MAXIMUM_APPLIED;
    for rule in rules.iter().flat_map(|rule| by_names(rule, size::applied(rule).div_ceil(MAXIMUM_APPLIED / 2))) {
        let needed = size::applied(&rule);
        if needed > room && roles.last().is_some_and(|role| !role.is_empty()) {
            roles.push(Vec::new());
            room = MAXIMUM_APPLIED;
        }
        room = room.saturating_sub(needed);
        if let Some(role) = roles.last_mut() {
            role.push(rule);
        }
    }
    roles.retain(|role| !role.is_empty());
    roles
}

/// Returns a rule in so many parts, each for some of its names, or else for some of its resources.
fn by_names(rule: &PolicyRule, parts: usize) -> Vec<PolicyRule> {
    let in_parts = |list: &[String]| -> Vec<Vec<String>> {
        list.chunks(list.len().div_ceil(parts).max(1)).map(<[String]>::to_vec).collect()
    };
    if parts <= 1 {
        vec![rule.clone()]
    } else if rule.resource_names.is_empty() {
        in_parts(&rule.resources).into_iter().map(|resources| PolicyRule { resources, ..rule.clone() }).collect()
    } else {
        let names = in_parts(&rule.resource_names).into_iter();
        names.map(|resource_names| PolicyRule { resource_names, ..rule.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_takes_in_one_role_is_cut() {
        let names: Vec<String> = (0..20_000).map(|number| format!("things{number}.example.org")).collect();
        let rule = |names: &[String], verb: &str| PolicyRule {
            api_groups: vec!["apiextensions.k8s.io".to_owned()],
            resources: words(&["customresourcedefinitions"]),
            resource_names: names.to_vec(),
            verbs: words(&[verb]),
            ..PolicyRule::default()
        };
        let rules = [rule(&[], "create"), rule(&names, "get"), rule(&[], "list")];
        let roles = in_roles(&rules);
        assert!(roles.len() >= 3, "{}", roles.len());
        for role in &roles {
            assert!(serde_json::to_string(role).expect("JSON").len() <= MAXIMUM_APPLIED);
        }
        let held: Vec<PolicyRule> = roles.concat();
        assert!(cover::uncovered(&held, &rules).is_empty() && cover::uncovered(&rules, &held).is_empty());
        assert_eq!(in_roles(&rules[..1]), [rules[..1].to_vec()]);
        assert_eq!(in_roles(&[]), Vec::<Vec<PolicyRule>>::new());
    }
}
