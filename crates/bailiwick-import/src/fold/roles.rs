//! Roles as PermissionSets.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_kubernetes::catalogue::{Api, Served};
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule, READ_VERBS, WRITE_VERBS};
use bailiwick_kubernetes::rules::{MOST_PERMISSIONS, RuleSet, permission_count};
use hashbrown::HashMap;
use serde_json::{Map, Value};

use super::metadata::Metadata;
use super::{Folding, Names, PolicyKind, dns_label, escaped};
use crate::values::{InternedValues, ValueId};

/// A PermissionSet before it is written.
#[derive(Debug)]
pub(super) struct RoleSet {
    pub(super) is_cluster_role: bool,
    role_name: Box<str>,
    pub(super) metadata: Metadata,
    pub(super) rules: Vec<PolicyRule>,
    aggregation: Option<ValueId>,
    /// The objects by namespace; a ClusterRole is in the namespace without a name.
    objects: BTreeMap<Box<str>, usize>,
    /// The name of the policy.
    pub(super) name: String,
}

/// The PermissionSets of a cluster.
#[derive(Debug, Default)]
pub(super) struct RoleSets {
    pub(super) sets: Vec<RoleSet>,
    /// The position of the set of a role, by namespace and name.
    by_role: HashMap<(Box<str>, Box<str>), usize>,
    /// The names of PermissionSets.
    pub(super) names: Names,
}

impl RoleSets {
    /// Returns the position of the set of a role; the namespace of a ClusterRole is empty.
    pub(super) fn find(&self, namespace: &str, name: &str) -> Option<usize> {
        self.by_role.get(&(Box::from(namespace), Box::from(name))).copied()
    }

    /// Leaves out the Roles of other policies, and the Roles without a binding in `used`, by set and namespace. Names the sets
    /// of the other Roles.
    pub(super) fn settle(&mut self, left: &BTreeSet<usize>, used: &BTreeSet<(usize, Box<str>)>) {
        for (position, set) in self.sets.iter_mut().enumerate().filter(|(_, set)| !set.is_cluster_role) {
            let is_used = |namespace: &str| used.contains(&(position, namespace.into()));
            set.objects.retain(|namespace, index| left.contains(index) && is_used(namespace));
            if !set.objects.is_empty() {
                set.name = self.names.take(&policy_name(&set.role_name));
            }
        }
    }

    /// Adds the PermissionSets.
    pub(super) fn finish(self, folding: &mut Folding<'_>) {
        let mut first_with: HashMap<Vec<PolicyRule>, String> = HashMap::new();
        for set in self.sets.into_iter().filter(|set| !set.objects.is_empty()) {
            let include = first_with.get(&set.rules).cloned().filter(|_| !set.rules.is_empty());
            if include.is_none() {
                first_with.insert(set.rules.clone(), set.name.clone());
            }
            let spec = set.spec(folding.values, include, folding.cluster.minor);
            folding.add(PolicyKind::PermissionSet, set.name, spec, set.objects.into_values().collect());
        }
    }
}

/// Returns the name of a PermissionSet for a role. Braces in the name of a policy would start a variable in the name of its role.
fn policy_name(role_name: &str) -> String {
    if role_name.contains(['{', '}']) { dns_label(role_name) } else { role_name.to_owned() }
}

impl RoleSet {
    fn spec(&self, values: &InternedValues, include: Option<String>, minor: u32) -> Value {
        let mut spec = Map::new();
        if self.is_cluster_role && self.aggregation.is_none() {
            spec.insert("as".to_owned(), "ClusterRole".into());
        }
        if *self.role_name != *self.name {
            spec.insert("roleName".to_owned(), escaped(&self.role_name).into());
        }
        self.metadata.write(values, &mut spec);
        if let Some(aggregation) = self.aggregation {
            spec.insert("aggregationRule".to_owned(), values.to_json(aggregation, &escaped));
        }
        if let Some(name) = include {
            spec.insert("include".to_owned(), vec![name].into());
        } else if !self.rules.is_empty() {
            spec.insert("rules".to_owned(), written_rules(&self.rules, minor, &escaped));
        }
        spec.into()
    }
}

/// The values of `access`, with their verbs.
const ACCESS: [(&str, &[&str]); 2] = [("read", READ_VERBS), ("write", WRITE_VERBS)];

/// Returns a rule with all texts in the form of a policy.
pub(super) fn escaped_rule(rule: &PolicyRule) -> PolicyRule {
    let PolicyRule { api_groups, resources, resource_names, non_resource_urls, verbs } = rule;
    let all = |texts: &[String]| texts.iter().map(|text| escaped(text)).collect();
    PolicyRule {
        api_groups: all(api_groups),
        resources: all(resources),
        resource_names: all(resource_names),
        non_resource_urls: all(non_resource_urls),
        verbs: all(verbs),
    }
}

/// Returns rules as a PermissionSet states them, with all groups of equal resources and verbs in one rule: a former group of a
/// resource is harmless beside the present one, and an error alone.
pub(super) fn written_rules(rules: &[PolicyRule], minor: u32, text: &dyn Fn(&str) -> String) -> Value {
    let mut joined: Vec<PolicyRule> = Vec::new();
    let mut positions: HashMap<PolicyRule, usize> = HashMap::new();
    for rule in rules {
        let without_groups = PolicyRule { api_groups: Vec::new(), ..rule.clone() };
        let position = *positions.entry(without_groups).or_insert(joined.len());
        match joined.get_mut(position) {
            Some(first) => first.api_groups.extend(rule.api_groups.iter().cloned()),
            None => joined.push(rule.clone()),
        }
    }
    joined.iter().map(|rule| written_rule(rule, minor, text)).collect()
}

/// Returns a rule as a PermissionSet states it. `text` brings a text into the form of a policy.
pub(crate) fn written_rule(rule: &PolicyRule, minor: u32, text: &dyn Fn(&str) -> String) -> Value {
    let PolicyRule { api_groups, resources, resource_names, non_resource_urls, verbs } = rule;
    let access = access(rule, minor);
    let fields = [
        ("apiGroups", api_groups),
        ("resources", resources),
        ("resourceNames", resource_names),
        ("nonResourceURLs", non_resource_urls),
        ("verbs", verbs),
    ];
    let fields = fields.into_iter().filter(|(key, texts)| !(texts.is_empty() || access.is_some() && *key == "verbs"));
    let fields = fields.map(|(key, texts)| (key.to_owned(), texts.iter().map(|found| text(found)).collect()));
    let access = access.map(|access| ("access".to_owned(), access.into()));
    fields.chain(access).collect::<Map<String, Value>>().into()
}

/// Returns the value of `access` for exactly the verbs of a rule; none for other verbs, or if a resource may not have all of
/// them: a custom subresource has the verbs of its definition.
fn access(rule: &PolicyRule, minor: u32) -> Option<&'static str> {
    let own: BTreeSet<&str> = rule.verbs.iter().map(String::as_str).collect();
    let (word, verbs) =
        ACCESS.into_iter().find(|(_, verbs)| own.iter().copied().eq(BTreeSet::from_iter(verbs.iter().copied())))?;
    let api = Api::new(minor);
    let has_all = |group: &String, resource: &String| {
        let is_served = api.availability(group, resource) == Served::Yes;
        let is_known =
            is_served || api.catalogue().is_builtin_group(group) || resource.contains(['*', '/']) || group == "*";
        !is_known || is_served && verbs.iter().all(|verb| api.takes(group, resource, verb))
    };
    let is_exact = rule.api_groups.iter().all(|group| rule.resources.iter().all(|resource| has_all(group, resource)));
    (is_exact && rule.non_resource_urls.is_empty()).then_some(word)
}

/// Reads the roles that are left.
pub(super) fn read(folding: &Folding<'_>) -> RoleSets {
    type Key = (Box<str>, bool, Vec<PolicyRule>, Metadata, Option<ValueId>);
    let mut found: BTreeMap<Key, BTreeMap<Box<str>, usize>> = BTreeMap::new();
    let mut rule_lists: HashMap<Option<ValueId>, Option<Vec<PolicyRule>>> = HashMap::new();
    for kind in ["ClusterRole", "Role"] {
        for index in folding.left_of(GROUP, kind) {
            let Some(object) = folding.object(index) else { continue };
            let values = &*folding.values;
            let fields = ["apiVersion", "kind", "metadata", "rules", "aggregationRule"];
            let Some(metadata) =
                Metadata::read(values, object.value).filter(|_| values.has_only(object.value, &fields))
            else {
                continue;
            };
            let list = values.at(object.value, &["rules"]);
            let rules = rule_lists.entry(list).or_insert_with(|| normal_rules(values, list)).clone();
            let aggregation = values.at(object.value, &["aggregationRule"]);
            let Some(rules) = rules.filter(|rules| rules.is_empty() == aggregation.is_some()) else { continue };
            let identity = &object.identity;
            let key = (identity.name.clone(), kind == "Role", rules, metadata, aggregation);
            found.entry(key).or_default().insert(identity.namespace.clone(), index);
        }
    }
    let mut sets = RoleSets::default();
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|(left, objects), (right, others)| {
        let order = |key: &Key| (key.0.clone(), key.1);
        order(left).cmp(&order(right)).then_with(|| others.len().cmp(&objects.len())).then_with(|| objects.cmp(others))
    });
    for ((role_name, is_role, rules, metadata, aggregation), objects) in found {
        // A Role has a set only if a binding of a Grant names it, so its set gets a name later.
        let name = if is_role { String::new() } else { sets.names.take(&policy_name(&role_name)) };
        let position = sets.sets.len();
        let of_role = objects.keys().map(|namespace| ((namespace.clone(), role_name.clone()), position));
        sets.by_role.extend(of_role);
        sets.sets.push(RoleSet { is_cluster_role: !is_role, role_name, metadata, rules, aggregation, objects, name });
    }
    sets
}

/// Returns the normal form of a list of rules; none for a list that a PermissionSet cannot state.
pub(crate) fn normal_rules(values: &InternedValues, list: Option<ValueId>) -> Option<Vec<PolicyRule>> {
    let items = list.map_or(&[][..], |list| values.items(list));
    let rules: Option<Vec<PolicyRule>> = items.iter().map(|item| read_rule(values, *item)).collect();
    let rules = rules?;
    let count = rules.iter().map(permission_count).fold(0, usize::saturating_add);
    (count <= MOST_PERMISSIONS).then(|| RuleSet::from_rules(&rules).rules())
}

/// Reads a rule; none for a rule of another shape.
fn read_rule(values: &InternedValues, rule: ValueId) -> Option<PolicyRule> {
    let fields = ["apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"];
    if !values.has_only(rule, &fields) {
        return None;
    }
    let texts = |field: &str| -> Option<Vec<String>> {
        let items = values.at(rule, &[field]).map_or(&[][..], |list| values.items(list));
        items.iter().map(|item| values.as_text(*item).map(str::to_owned)).collect()
    };
    Some(PolicyRule {
        api_groups: texts("apiGroups")?,
        resources: texts("resources")?,
        resource_names: texts("resourceNames")?,
        non_resource_urls: texts("nonResourceURLs")?,
        verbs: texts("verbs")?,
    })
}
