//! B019: roles of the baseline in given bindings. The binding is the one cause of the findings about such a role, and
//! they are one finding.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::holders::{HolderClass, Judged, Powers, RatedFinding, ScopedSubject};
use super::judge::{Finding, Findings, Judge, Likeness, is_given};
use super::reached::ReachedPower;
use super::table::{BASELINE_ROLE, FULL_AUTHORITY, RiskRule, When};
use crate::compare::Affected;
use crate::proof::{Chain, place};
use crate::rules::{self, RuleListId};
use crate::world::{Binding, Role};
use bailiwick_yaml::digest::digest_of_run;

/// So many findings of one role are folded.
const MINIMUM_FOLDED: usize = 2;

/// The baseline roles of a holder by given bindings of a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Grants {
    /// The roles by number, in order.
    roles: Vec<u32>,
    /// The lists of these roles that no other given binding of the scope contains.
    lists: Vec<RuleListId>,
}

/// The findings of a set of lists, by their causes.
struct Parted {
    /// Findings that no baseline role causes by itself, or with further causes.
    others: Vec<Judged>,
    /// For each role by number the findings of the role alone.
    by_role: Vec<(u32, Vec<Judged>)>,
}

/// The known divisions, by class and roles.
#[derive(Default)]
pub(super) struct Parts(HashMap<(usize, Grants), Rc<Parted>>);

/// For each role by number its rules in the baseline.
pub(super) type RulesOfBaseline = RefCell<HashMap<u32, Rc<HashSet<rules::InternedRule>>>>;

impl Judge<'_> {
    /// Reports the baseline roles of a scope, each role as one finding, and returns the remaining findings.
    pub(super) fn report_baseline_roles<'j>(
        &self,
        place: ScopedSubject,
        class: HolderClass<'j>,
        powers: &Powers,
        parts: &mut Parts,
        findings: &mut Findings,
    ) -> Cow<'j, [Judged]> {
        let all = class.judged;
        let Some(rule) = self.options.rules.iter().find(|rule| rule.id == BASELINE_ROLE) else {
            return Cow::Borrowed(all);
        };
        // Full authority includes all other findings.
        if all.iter().any(|judged| judged.is_reported && judged.rule.id == FULL_AUTHORITY) {
            return Cow::Borrowed(all);
        }
        let grants = self.baseline_grants(place);
        if grants.roles.is_empty() {
            return Cow::Borrowed(all);
        }
        let parted = parts.0.entry((class.number, grants));
        let parted = Rc::clone(parted.or_insert_with_key(|(_, grants)| Rc::new(self.parted(class, grants))));
        let mut others = parted.others.clone();
        let chooses_powers = self.options.rules.iter().any(|rule| rule.condition().is_some());
        for (role, judged) in &parted.by_role {
            let is_counted = |rule: &RiskRule| !chooses_powers || self.is_selected(rule);
            let folded = self.rated(place, judged, powers, &is_counted);
            if folded.len() >= MINIMUM_FOLDED {
                self.report_baseline_role(rule, place, *role, &folded, findings);
                continue;
            }
            for found in folded {
                if !others.iter().any(|other| other.rule.id == found.judged.rule.id) {
                    others.push(found.judged.clone());
                }
            }
        }
        Cow::Owned(others)
    }

    /// Adds the finding about a role, with folded findings.
    fn report_baseline_role(
        &self,
        rule: &'static RiskRule,
        (holder, namespace): ScopedSubject,
        role: u32,
        folded: &[RatedFinding<'_>],
        findings: &mut Findings,
    ) {
        let bindings = self.world.index.bound_rules(holder, namespace, &self.world.symbols).iter();
        let granted = bindings.filter_map(|held| self.bound_by_given(held.binding)).find(|(id, ..)| *id == role);
        let Some((_, binding, role)) = granted else { return };
        let Some(severity) = folded.iter().map(|folded| folded.severity).max() else { return };
        let reached = ReachedPower::worst(folded.iter().map(|folded| folded.reached));
        let place = place(binding.layer);
        let link = self.world.role_link(role);
        let content: Vec<(&str, &str)> =
            folded.iter().map(|folded| (folded.judged.rule.id, folded.severity.word())).collect();
        let likeness = Likeness {
            rule: rule.id,
            severity,
            in_namespace: namespace.is_some(),
            shapes: vec![digest_of_run(&link.name), digest_of_run(&content)],
            place: self.apart(place),
            reached,
        };
        let affected = || Affected { subject: self.world.holder_name(holder), scope: self.scope(namespace) };
        findings.add(likeness, affected, || Finding {
            role: Some(link.clone()),
            folded: folded.iter().map(|folded| self.folded(folded)).collect(),
            reached,
            proof: vec![Chain {
                subject: self.world.holder_name(holder),
                binding: self.world.binding_link(binding),
                role: link,
                rules: Vec::new(),
            }],
            ..Finding::new(rule, severity, place)
        });
    }

    /// Returns the baseline roles of a holder by given bindings of a scope.
    fn baseline_grants(&self, (holder, namespace): ScopedSubject) -> Grants {
        let mut grants = Grants::default();
        let mut elsewhere: Vec<RuleListId> = Vec::new();
        for held in self.world.index.bound_rules(holder, namespace, &self.world.symbols) {
            let Some((id, _, role)) = self.bound_by_given(held.binding) else { continue };
            if self.is_of_baseline(role) {
                grants.roles.push(id);
                grants.lists.push(role.rules);
            } else {
                elsewhere.push(role.rules);
            }
        }
        grants.roles.sort_unstable();
        grants.roles.dedup();
        grants.lists.retain(|list| !elsewhere.contains(list));
        grants.lists.sort_unstable();
        grants.lists.dedup();
        grants
    }

    /// Parts the findings of a class by their causes.
    fn parted(&self, class: HolderClass<'_>, grants: &Grants) -> Parted {
        let HolderClass { permissions, judged: all, .. } = class;
        let of_baseline = |id: &u32| Some((*id, self.world.roles.get(*id as usize)?, self.rules_of_baseline(*id)?));
        let roles: Vec<(u32, &Role, Rc<HashSet<rules::InternedRule>>)> =
            grants.roles.iter().filter_map(of_baseline).collect();
        let is_in_all = |judged: &Judged| all.iter().any(|other| other.is_reported && other.rule.id == judged.rule.id);
        let judged_alone = |(id, role, own): &(u32, &Role, Rc<HashSet<rules::InternedRule>>)| {
            let mut judged = self.judged(&permissions.only(role.rules), &|_, rule| own.contains(rule));
            judged.retain(is_in_all);
            (*id, judged)
        };
        let by_role: Vec<(u32, Vec<Judged>)> = roles.iter().map(judged_alone).collect();
        // A rule added to such a role by the inputs is judged below, unless the role alone causes the same.
        let mut others = self.judged(permissions, &|list, _| !grants.lists.contains(&list));
        others.retain(is_in_all);
        // A finding with several causes belongs to none of them.
        for judged in all.iter().filter(|judged| judged.is_reported) {
            let mut alone = by_role.iter().flat_map(|(_, of_role)| of_role);
            let is_folded = alone.any(|other| other.rule.id == judged.rule.id && other.severity >= judged.severity);
            if !is_folded {
                others.retain(|other| other.rule.id != judged.rule.id);
                others.push(judged.clone());
            }
        }
        Parted { others, by_role }
    }

    /// Returns the number of a role, its binding, and the role; none for a binding of the server.
    fn bound_by_given(&self, binding: u32) -> Option<(u32, &Binding, &Role)> {
        let (id, binding) = (binding, self.world.binding(binding)?);
        let role = self.world.role_of(binding)?;
        let number = binding.role?;
        (!self.gives_default(id, binding, role)).then_some((number, binding, role))
    }

    /// Returns the rules of a role in the baseline: the rules that no given role adds by aggregation.
    fn rules_of_baseline(&self, id: u32) -> Option<Rc<HashSet<rules::InternedRule>>> {
        if let Some(known) = self.rules_of_baseline.borrow().get(&id) {
            return Some(Rc::clone(known));
        }
        let role = self.world.roles.get(id as usize)?;
        let is_own = |rule: &&rules::InternedRule| match self.world.sources_of(role, rule).last() {
            Some(source) => self.is_of_baseline(source),
            None => true,
        };
        let own = Rc::new(self.world.rules_of(role).iter().filter(is_own).cloned().collect::<HashSet<_>>());
        self.rules_of_baseline.borrow_mut().insert(id, Rc::clone(&own));
        Some(own)
    }

    /// Whether a role is as the baseline has it: not given, or given and equal to the server's own.
    pub(super) fn is_of_baseline(&self, role: &Role) -> bool {
        !is_given(role.layer) || self.is_unchanged(role)
    }
}

impl When {
    /// Whether findings of other rules are folded into findings of this one.
    pub(super) fn is_folding(&self) -> bool {
        matches!(self, When::BaselineRole)
    }
}
