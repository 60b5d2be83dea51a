//! The dangerous permissions of an identity: the rules of the table with a power, if it meets their conditions
//! cluster-wide.

use std::collections::HashMap;

use super::condition::Condition;
use super::matching::{EffectiveRules, PermissionSource};
use super::table::{self, RiskRule};
use crate::request::Identity;
use crate::world::{Holder, World};
use bailiwick_kubernetes::rbac::PolicyRule;

/// The dangerous permissions of the identities of one world. Identities with the same rules are judged once.
pub struct DangerousPermissions<'w> {
    world: &'w World,
    conditions: Vec<(&'static RiskRule, Condition)>,
    known: HashMap<EffectiveRules, Vec<&'static RiskRule>>,
}

impl<'w> DangerousPermissions<'w> {
    /// Reads the conditions of the table for a world.
    pub fn new(world: &'w World) -> Self {
        let of_rule = |rule: &'static RiskRule| Some((rule, Condition::parse(rule.condition()?, world)?));
        let conditions = table::all()
            .filter(|rule| rule.power.is_some() && rule.has_what_it_needs(world))
            .filter_map(of_rule)
            .collect();
        Self { world, conditions, known: HashMap::new() }
    }

    /// Returns the rules with a power and a condition met cluster-wide, without a limit by names; in the order of the
    /// table, the worst first. Beside full authority no other rule is listed.
    pub fn rules_of(&mut self, who: &Identity) -> Vec<&'static RiskRule> {
        let held = self.effective_rules(who);
        if let Some(known) = self.known.get(&held) {
            return known.clone();
        }
        let found = self.met(&held, |_| true);
        self.known.insert(held, found.clone());
        found
    }

    /// Returns the rules as [`DangerousPermissions::rules_of`] does, without rules limited by other means than RBAC: `counts` receives
    /// the part of a rule relevant for the condition.
    pub fn unlimited_rules_of(&self, who: &Identity, counts: impl Fn(&PolicyRule) -> bool) -> Vec<&'static RiskRule> {
        self.met(&self.effective_rules(who), counts)
    }

    fn effective_rules(&self, who: &Identity) -> EffectiveRules {
        let mut held = EffectiveRules::nothing(false);
        let holders: Vec<Holder> = self.world.holders(who).collect();
        for holder in holders {
            for grant in self.world.index.bound_rules(holder, None, &self.world.symbols) {
                if let Some(role) = self.world.binding(grant.binding).and_then(|binding| self.world.role_of(binding)) {
                    held.add(PermissionSource::Own, role.rules);
                }
            }
        }
        held
    }

    fn met(&self, held: &EffectiveRules, counts: impl Fn(&PolicyRule) -> bool) -> Vec<&'static RiskRule> {
        let is_met = |condition: &Condition| {
            let is_unlimited = |_, rule: &_| {
                condition.cases.iter().all(|case| {
                    let part = self.world.narrowed(case, rule);
                    part.verbs.is_empty() || counts(&part)
                })
            };
            self.world.meets_by(condition, held, &is_unlimited).is_some_and(|met| !met.is_named())
        };
        let met: Vec<&'static RiskRule> =
            self.conditions.iter().filter(|(_, condition)| is_met(condition)).map(|(rule, _)| *rule).collect();
        if let Some(full) = met.iter().find(|rule| rule.id == table::FULL_AUTHORITY) {
            return vec![*full];
        }
        let has_more = |rule: &RiskRule| met.iter().any(|other| rule.behind.contains(&other.id));
        met.iter().copied().filter(|rule| !has_more(rule)).collect()
    }
}
