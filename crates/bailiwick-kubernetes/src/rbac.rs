//! The one RBAC type common to questions and answers: the rule.

use schemars::JsonSchema;
use serde::Serialize;

use bailiwick_yaml::NodeRef;

/// The API group of RBAC.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// A rule of a Role or ClusterRole (`rbac/v1 PolicyRule`).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// API groups; the core group is the empty string.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources, with their subresource after a slash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names the rule is limited to; none means every name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// URL paths.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Words in `verbs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<String>,
}

impl PolicyRule {
    /// Reads a rule; a value other than a list of strings counts as absent.
    pub fn from_node(rule: NodeRef<'_>) -> Self {
        let strings = |key| strings(rule, key).map(str::to_owned).collect();
        Self {
            api_groups: strings("apiGroups"),
            resources: strings("resources"),
            resource_names: strings("resourceNames"),
            non_resource_urls: strings("nonResourceURLs"),
            verbs: strings("verbs"),
        }
    }

    /// Returns the rule split into its smallest parts: one group, resource, verb and name each, then one URL and verb
    /// each. A rule with an empty list has none (`BreakdownRule` of `pkg/registry/rbac/validation`).
    pub fn atoms(&self) -> Vec<PolicyRule> {
        let one = |text: &String| vec![text.clone()];
        let mut atoms = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let atom = PolicyRule {
                        api_groups: one(group),
                        resources: one(resource),
                        verbs: one(verb),
                        ..PolicyRule::default()
                    };
                    if self.resource_names.is_empty() {
                        atoms.push(atom);
                    } else {
                        let named = |name| PolicyRule { resource_names: one(name), ..atom.clone() };
                        atoms.extend(self.resource_names.iter().map(named));
                    }
                }
            }
        }
        for url in &self.non_resource_urls {
            let atom = |verb| PolicyRule { non_resource_urls: one(url), verbs: one(verb), ..PolicyRule::default() };
            atoms.extend(self.verbs.iter().map(atom));
        }
        atoms
    }
}

/// Returns the strings of a list under `key`.
pub fn strings<'t>(parent: NodeRef<'t>, key: &str) -> impl Iterator<Item = &'t str> {
    parent.get(key).into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str)
}
