//! Replaces the wildcards of a rule by the names that a target serves.
//!
//! The names come from the catalogue of the version and from the CustomResourceDefinitions of Manifests policies.
//! Left out on purpose: aggregated APIs, because no manifest describes them, and special verbs such as `escalate`,
//! because they are no verbs of discovery.

use bailiwick_kubernetes::catalogue::{Api, ServedName};
use bailiwick_kubernetes::dead::RuleResource;
use bailiwick_kubernetes::names::dns_subdomain;
use bailiwick_yaml::diag::nearest;

use super::except::covers;
use crate::model::RoleObjectKind;

/// The names that a target serves.
pub(super) struct Expansion<'a> {
    api: &'a Api,
    served: Vec<ServedName<'a>>,
}

impl<'a> Expansion<'a> {
    /// Collects the names for rules of a role of this kind.
    pub(super) fn new(api: &'a Api, role_kind: RoleObjectKind) -> Self {
        // A definition that the API server refuses may have a wildcard as its name.
        let is_name = |text: &str| text.split('/').all(|part| dns_subdomain(part).is_ok());
        let mut served = api.served_names();
        served.retain(|served| is_name(&served.name) && (served.group.is_empty() || is_name(served.group)));
        // A request for one Namespace is checked in that namespace.
        let is_namespace = |served: &ServedName<'_>| {
            served.group.is_empty() && (served.name == "namespaces" || served.name.starts_with("namespaces/"))
        };
        let has_effect = |served: &ServedName<'_>| served.is_namespaced || is_namespace(served);
        served.retain(|served| role_kind == RoleObjectKind::ClusterRole || has_effect(served));
        Self { api, served }
    }

    /// Returns the resources for an entry of a rule, each with its verbs among the verbs of the rule.
    pub(super) fn resources(&self, group: &str, resource: &str, verbs: &[String]) -> Vec<(RuleResource, Vec<String>)> {
        let own = |group: &str, resource: &str, served: &[&str]| {
            let verbs = self.verbs_of(group, resource, served, verbs);
            let cell = RuleResource { groups: vec![group.to_owned()], resource: resource.to_owned() };
            (!verbs.is_empty()).then_some((cell, verbs))
        };
        if !group.contains('*') && !resource.contains('*') {
            return own(group, resource, &self.api.presence(group, resource).verbs).into_iter().collect();
        }
        let fitting = self.served.iter().filter(|served| covers(group, served.group) && covers(resource, &served.name));
        fitting.filter_map(|served| own(served.group, &served.name, &served.verbs)).collect()
    }

    /// Returns the group whose name is nearest to an unknown group; none for a group with resources.
    pub(super) fn nearest_group(&self, group: &str) -> Option<&str> {
        let groups = || self.served.iter().map(|served| served.group);
        if groups().any(|known| covers(group, known)) { None } else { nearest(group, groups()) }
    }

    /// Returns the verbs of a resource among the verbs of a rule.
    fn verbs_of(&self, group: &str, resource: &str, served: &[&str], verbs: &[String]) -> Vec<String> {
        let takes = |verb: &str| !self.api.knows(group, resource) || self.api.takes(group, resource, verb);
        let all = verbs.iter().any(|verb| verb == "*").then_some(served);
        let named = verbs.iter().map(String::as_str).filter(|verb| *verb != "*" && takes(verb));
        all.into_iter().flatten().copied().chain(named).map(str::to_owned).collect()
    }
}
