//! Parts of rules without a matching request. [`bailiwick_kubernetes::dead`] decides, for the compiler too.
//!
//! The rules of an aggregated role are judged in their source roles.

use std::rc::Rc;

use super::RiskSeverity;
use super::judge::Judge;
use super::objects::{Applied, RoleHit, few};
use crate::request::split_at_first;
use crate::world::Role;
use bailiwick_kubernetes::dead::{self, Dead, DeadPart, DeadReason, RuleResource};
use bailiwick_kubernetes::rbac::PolicyRule;

/// A dead part with the position of its rule.
pub(super) type DeadRulePart = (usize, Dead);

/// Returns the hits of D004, dead verbs.
pub(super) fn verbs(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| (reason == DeadReason::Verb).then_some(None))
}

/// Returns the hits of D005, with D012 (spelling) and D017 (version). D001 reports stars in names of resources.
pub(super) fn resources(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| match reason {
        DeadReason::WrongGroup | DeadReason::NotServed | DeadReason::Misspelt => Some(None),
        DeadReason::Moved | DeadReason::OtherVersion => Some(Some(RiskSeverity::Low)),
        DeadReason::UnknownGroup => Some(Some(RiskSeverity::Info)),
        DeadReason::StarInResource | DeadReason::Verb | DeadReason::NamelessRequest | DeadReason::Url => None,
    })
}

/// Returns the hits of D019, dead URLs.
pub(super) fn urls(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| (reason == DeadReason::Url).then_some(None))
}

/// Returns one hit for each rule and severity with dead parts for such a reason; `severity` returns the severity of a
/// wanted reason, if it differs from the rule's.
fn hits(applied: &Applied<'_>, severity: impl Fn(DeadReason) -> Option<Option<RiskSeverity>>) -> Vec<RoleHit> {
    let parts = applied.judge.dead_parts(applied.role);
    let mut hits: Vec<(usize, Option<RiskSeverity>, Vec<&Dead>)> = Vec::new();
    for (rule, dead) in parts.iter() {
        let Some(severity) = severity(dead.reason) else { continue };
        match hits.iter_mut().find(|(known, of_known, _)| known == rule && *of_known == severity) {
            Some((_, _, list)) => list.push(dead),
            None => hits.push((*rule, severity, vec![dead])),
        }
    }
    let hit = |(rule, severity, list): (usize, Option<RiskSeverity>, Vec<&Dead>)| {
        let messages: Vec<String> = list.iter().map(|dead| dead.message.clone()).collect();
        RoleHit { rule, what: few(&messages), severity, help: list.first().map(|dead| dead.help.clone()) }
    };
    hits.into_iter().map(hit).collect()
}

impl Judge<'_> {
    /// Returns the dead parts of the rules of a role, rule by rule.
    fn dead_parts(&self, role: &Role) -> Rc<[DeadRulePart]> {
        if role.aggregation.is_some() {
            return Rc::default();
        }
        let find = || {
            let rules = self.world.rules_of(role).iter().enumerate();
            let of_rule = |(position, rule): (usize, &crate::rules::InternedRule)| {
                let found = dead_in(self, &rule.to_policy_rule(&self.world.symbols));
                found.into_iter().map(move |dead| (position, dead))
            };
            rules.flat_map(of_rule).collect()
        };
        Rc::clone(self.dead_parts.borrow_mut().entry(role.rules).or_insert_with(find))
    }
}

fn dead_in(judge: &Judge<'_>, rule: &PolicyRule) -> Vec<Dead> {
    if rule.resources.is_empty() {
        return dead::of_urls(&rule.non_resource_urls, &rule.verbs);
    }
    let cell = |resource: &String| RuleResource { groups: rule.api_groups.clone(), resource: resource.clone() };
    let cells: Vec<RuleResource> = rule.resources.iter().map(cell).collect();
    let mut found = dead::of_resources(judge.world.api(), &cells, &rule.resource_names, &rule.verbs);
    found.retain(|dead| !has_rule_of_its_own(rule, dead));
    found
}

/// Whether D008 or D009 reports a dead verb, with the intended one.
fn has_rule_of_its_own(rule: &PolicyRule, dead: &Dead) -> bool {
    let DeadPart::Verb(position) = dead.part else { return false };
    let names_any =
        |names: &[&str]| rule.resources.iter().any(|resource| names.contains(&split_at_first(resource, '/').0));
    match rule.verbs.get(position).map(String::as_str) {
        Some("bind" | "escalate") => names_any(&["rolebindings", "clusterrolebindings"]),
        Some("impersonate") => names_any(&["users", "groups", "serviceaccounts", "userextras", "uids"]),
        _ => false,
    }
}
