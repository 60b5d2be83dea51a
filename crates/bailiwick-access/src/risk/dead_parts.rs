//! Parts of rules without a matching request. [`bailiwick_kubernetes::dead`] decides, for the compiler too.
//!
//! The rules of an aggregated role are judged in their source roles.

use std::rc::Rc;

use super::Severity;
use super::judge::Judge;
use super::objects::{Applied, RoleHit, few};
use crate::request::split_at_first;
use crate::world::Role;
use bailiwick_kubernetes::dead::{self, Cell, Dead, Part, Reason};
use bailiwick_kubernetes::rbac::PolicyRule;

/// A dead part with the position of its rule.
pub(super) type DeadPart = (usize, Dead);

/// Returns the hits of D004, dead verbs.
pub(super) fn verbs(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| (reason == Reason::Verb).then_some(None))
}

/// Returns the hits of D005, with D012 (spelling) and D017 (version). D001 reports stars in names of resources.
pub(super) fn resources(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| match reason {
        Reason::WrongGroup | Reason::NotServed | Reason::Misspelt => Some(None),
        Reason::Moved | Reason::OtherVersion => Some(Some(Severity::Low)),
        Reason::UnknownGroup => Some(Some(Severity::Info)),
        Reason::StarInResource | Reason::Verb | Reason::NamelessRequest | Reason::Url => None,
    })
}

/// Returns the hits of D019, dead URLs.
pub(super) fn urls(applied: &Applied<'_>) -> Vec<RoleHit> {
    hits(applied, |reason| (reason == Reason::Url).then_some(None))
}

/// Returns one hit for each rule and severity with dead parts for such a reason; `severity` returns the severity of a
/// wanted reason, if it differs from the rule's.
fn hits(applied: &Applied<'_>, severity: impl Fn(Reason) -> Option<Option<Severity>>) -> Vec<RoleHit> {
    let parts = applied.judge.dead_parts(applied.role);
    let mut hits: Vec<(usize, Option<Severity>, Vec<&Dead>)> = Vec::new();
    for (rule, dead) in parts.iter() {
        let Some(severity) = severity(dead.reason) else { continue };
        match hits.iter_mut().find(|(known, of_known, _)| known == rule && *of_known == severity) {
            Some((_, _, list)) => list.push(dead),
            None => hits.push((*rule, severity, vec![dead])),
        }
    }
    let hit = |(rule, severity, list): (usize, Option<Severity>, Vec<&Dead>)| {
        let messages: Vec<String> = list.iter().map(|dead| dead.message.clone()).collect();
        RoleHit { rule, what: few(&messages), severity, help: list.first().map(|dead| dead.help.clone()) }
    };
    hits.into_iter().map(hit).collect()
}

impl Judge<'_> {
    /// Returns the dead parts of the rules of a role, rule by rule.
    fn dead_parts(&self, role: &Role) -> Rc<[DeadPart]> {
        if role.aggregation.is_some() {
            return Rc::default();
        }
        let find = || {
            let rules = self.world.rules_of(role).iter().enumerate();
            let of_rule = |(position, rule): (usize, &crate::rules::Rule)| {
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
    let cell = |resource: &String| Cell { groups: rule.api_groups.clone(), resource: resource.clone() };
    let cells: Vec<Cell> = rule.resources.iter().map(cell).collect();
    let mut found = dead::of_resources(judge.world.api(), &cells, &rule.resource_names, &rule.verbs);
    found.retain(|dead| !has_rule_of_its_own(rule, dead));
    found
}

/// Whether D008 or D009 reports a dead verb, with the intended one.
fn has_rule_of_its_own(rule: &PolicyRule, dead: &Dead) -> bool {
    let Part::Verb(position) = dead.part else { return false };
    let names_any =
        |names: &[&str]| rule.resources.iter().any(|resource| names.contains(&split_at_first(resource, '/').0));
    match rule.verbs.get(position).map(String::as_str) {
        Some("bind" | "escalate") => names_any(&["rolebindings", "clusterrolebindings"]),
        Some("impersonate") => names_any(&["users", "groups", "serviceaccounts", "userextras", "uids"]),
        _ => false,
    }
}
