//! The scope of the rules of a role for a subject confined to its namespaces.

use super::RiskSeverity;
use crate::Builder;
use crate::cover::uncovered;
use crate::request::split_at_first;
use crate::request::{AUTHENTICATED, UNAUTHENTICATED};
use crate::scope::is_checked_in_namespaces;
use crate::world::{Holder, World};
use bailiwick_kubernetes::rbac::PolicyRule;

/// A rule with more combinations of verbs, groups and resources is not compared with the rules of all users.
const MOST_COMPARED: usize = 1 << 16;

/// The groups of questions about permissions and identities. Their objects are not stored.
const REVIEWS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// The resources of a world by their scope, and the grants of the default policy to all users.
pub(super) struct Scopes<'w> {
    world: &'w World,
    everybody: Vec<PolicyRule>,
}

/// The scope of a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Cluster,
    Namespaced,
    Unknown,
}

impl<'w> Scopes<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        let minor = world.minor_of_defaults();
        let default = Builder::new(minor).with_default_policy(minor).build();
        let groups = [AUTHENTICATED, UNAUTHENTICATED].map(|name| default.symbols.find(name));
        let held = groups.iter().flat_map(|name| default.bound_rules(Holder { is_group: true, name: *name }, None));
        let rules = held.filter_map(|held| held.rules).flat_map(|list| default.lists.get(list));
        Self { world, everybody: rules.map(|rule| rule.to_policy_rule(&default.symbols)).collect() }
    }

    /// Returns the severity of a rule in the namespace of another tenant, or in the whole cluster, without the table
    /// of risk rules; none if it adds nothing to other rules and to the default policy.
    pub(super) fn level(&self, rule: &PolicyRule, in_namespace: bool, beside: &[PolicyRule]) -> Option<RiskSeverity> {
        let size = rule.verbs.len() * (rule.api_groups.len() * rule.resources.len() + rule.non_resource_urls.len());
        let is_new = |part: &PolicyRule| {
            let names = part.resource_names.len().max(1);
            size.saturating_mul(names) > MOST_COMPARED
                || !uncovered(beside, &uncovered(&self.everybody, std::slice::from_ref(part))).is_empty()
        };
        if !is_new(rule) {
            return None;
        }
        let mut level = self.level_of_urls(rule).filter(|_| !in_namespace);
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let Some((severity, verbs)) = self.level_of(rule, group, resource, in_namespace) else { continue };
                let part = || PolicyRule {
                    verbs,
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    resource_names: rule.resource_names.clone(),
                    non_resource_urls: Vec::new(),
                };
                if level.is_none_or(|level| level < severity) && is_new(&part()) {
                    level = Some(severity);
                }
            }
        }
        level
    }

    /// Returns the severity of a rule for a resource, with its verbs that match a request; none if no request
    /// matches.
    fn level_of(
        &self,
        rule: &PolicyRule,
        group: &str,
        resource: &str,
        in_namespace: bool,
    ) -> Option<(RiskSeverity, Vec<String>)> {
        let (base, subresource) = split_at_first(resource, '/');
        let scope = self.scope(group, resource, base)?;
        let is_served = |verb: &str| {
            let is_wild = verb == "*" || group == "*" || base == "*";
            let api = self.world.api();
            is_wild || !api.is_builtin_group(group) || api.takes(group, resource, verb)
        };
        let is_here = |verb: &str| {
            !in_namespace || scope != Scope::Cluster || is_checked_in_namespaces(group, base, subresource, verb)
        };
        let verbs = rule.verbs.iter().filter(|verb| is_served(verb) && is_here(verb));
        let verbs: Vec<String> = verbs.cloned().collect();
        if verbs.is_empty() {
            return None;
        }
        let only_reads = verbs.iter().all(|verb| matches!(verb.as_str(), "get" | "list" | "watch"));
        let severity = match scope {
            _ if in_namespace => RiskSeverity::Medium,
            Scope::Cluster if only_reads => RiskSeverity::Low,
            Scope::Cluster | Scope::Namespaced if REVIEWS.contains(&group) && verbs == ["create"] => RiskSeverity::Low,
            Scope::Namespaced => RiskSeverity::High,
            Scope::Cluster | Scope::Unknown => RiskSeverity::Medium,
        };
        Some((severity, verbs))
    }

    fn level_of_urls(&self, rule: &PolicyRule) -> Option<RiskSeverity> {
        let only_urls = PolicyRule {
            verbs: rule.verbs.clone(),
            non_resource_urls: rule.non_resource_urls.clone(),
            ..PolicyRule::default()
        };
        let size = rule.verbs.len() * rule.non_resource_urls.len();
        let is_new = size > MOST_COMPARED || !uncovered(&self.everybody, &[only_urls]).is_empty();
        let only_reads = rule.verbs.iter().all(|verb| matches!(verb.as_str(), "get" | "head"));
        let level = if only_reads { RiskSeverity::Low } else { RiskSeverity::Medium };
        (is_new && size > 0).then_some(level)
    }

    /// Returns the scope of a resource of a rule; none if the server has no such resource.
    fn scope(&self, group: &str, resource: &str, base: &str) -> Option<Scope> {
        let api = self.world.api();
        let of_group = |group: &str| match self.world.is_cluster_scoped(group, base) {
            true => Scope::Cluster,
            false => Scope::Namespaced,
        };
        if base == "*" {
            return Some(Scope::Namespaced);
        }
        if group == "*" {
            let groups = api.catalogue().groups_of(api.minor(), resource);
            let is_cluster = !groups.is_empty() && groups.iter().all(|group| of_group(group) == Scope::Cluster);
            return Some(match (is_cluster, groups.is_empty()) {
                (true, _) => Scope::Cluster,
                (false, true) => Scope::Unknown,
                (false, false) => Scope::Namespaced,
            });
        }
        if api.find(group, base).is_some() || of_group(group) == Scope::Cluster {
            return Some(of_group(group));
        }
        (!api.is_builtin_group(group)).then_some(Scope::Unknown)
    }
}
