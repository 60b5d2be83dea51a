//! Findings with one cause: the same rules of the same roles give several dangerous permissions to the same holder. They are one
//! finding, under the worst of the risk rules.

use std::cmp::Reverse;

use super::condition::Case;
use super::holders::{Judged, RatedFinding, ScopedSubject, is_wide};
use super::judge::{FindingDecision, Findings, Folded, Judge};
use super::matching::Step;
use super::objects::few;
use super::reached::ReachedPower;
use super::table::{self, NEARLY_FULL};
use crate::proof::place;
use crate::rules::InternedRule;
use crate::symbols::Symbol;
use bailiwick_yaml::diag::Origin;

/// How many verbs a rule with a star has at least, so that the rule itself is the problem.
const MINIMUM_VERBS: usize = 3;

/// How many resources of every API group are as good as every resource.
const MANY_RESOURCES: usize = 10;

/// The verbs that read. A rule for every resource with these verbs alone is about reading everything.
const READING: [&str; 3] = ["get", "list", "watch"];

/// The findings of one cause.
struct Cause<'j> {
    /// The rules of roles, in order.
    steps: Vec<Step>,
    findings: Vec<RatedFinding<'j>>,
}

impl Judge<'_> {
    /// Adds the findings of a place: one for each cause, or one for each risk rule.
    pub(super) fn add_by_cause(&self, place: ScopedSubject, rated: &[RatedFinding<'_>], findings: &mut Findings) {
        let mut causes: Vec<Cause<'_>> = Vec::new();
        for found in rated {
            // An accepted or ignored finding is left alone for the caller, who does not report it.
            let (true, FindingDecision::Reported(severity)) = (self.options.one_per_cause, self.decision(place, found))
            else {
                self.add_finding(place, *found, &[], findings);
                continue;
            };
            let found = RatedFinding { severity, ..*found };
            let mut steps = found.judged.met.steps.clone();
            steps.sort_unstable_by_key(|step| (step.part, step.list, step.rule));
            match causes.iter_mut().find(|cause| cause.steps == steps) {
                Some(cause) => cause.findings.push(found),
                None => causes.push(Cause { steps, findings: vec![found] }),
            }
        }
        causes.iter().for_each(|cause| self.add_cause(place, cause, findings));
    }

    fn add_cause(&self, place: ScopedSubject, cause: &Cause<'_>, findings: &mut Findings) {
        let mut ordered = cause.findings.clone();
        ordered.sort_by_key(|found| {
            let reached = found.reached.map(|reached| (reached.severity, reached.is_proven, Reverse(reached.rank)));
            let is_everything = NEARLY_FULL.contains(&found.judged.rule.id) && !found.judged.is_named();
            Reverse((found.severity, is_everything, reached))
        });
        let Some((worst, others)) = ordered.split_first() else { return };
        let reached = ReachedPower::worst(ordered.iter().map(|found| found.reached));
        let near_star = self.near_star(cause, worst);
        let head = near_star.as_ref().map(|judged| RatedFinding { judged, severity: worst.severity, reached });
        match head.filter(|head| self.decision(place, head) != FindingDecision::Ignored) {
            Some(head) => self.add_finding(place, head, &ordered, findings),
            None => self.add_finding(place, RatedFinding { reached, ..*worst }, others, findings),
        }
    }

    /// Returns the finding about a rule with a star in place of the findings that the rule causes; none if the rule is limited.
    fn near_star(&self, cause: &Cause<'_>, worst: &RatedFinding<'_>) -> Option<Judged> {
        let [step] = cause.steps.as_slice() else { return None };
        let rule = table::of_id(NEARLY_FULL[0]).filter(|rule| self.is_selected(rule))?;
        let is_several = cause.findings.len() > 1;
        let granting = self.world.lists.get(step.list).get(step.rule)?;
        let is_it = is_several && self.is_near_star(granting);
        is_it.then(|| Judged { rule, level: worst.severity, severity: worst.severity, ..worst.judged.clone() })
    }

    /// Whether a rule has a star, or many resources of every API group, and several verbs.
    fn is_near_star(&self, rule: &InternedRule) -> bool {
        let text = |verb: &Symbol| self.world.symbols.text(*verb);
        let has_verbs = rule.verbs().contains(&Symbol::STAR)
            || (rule.verbs().len() >= MINIMUM_VERBS && rule.verbs().iter().any(|verb| !READING.contains(&text(verb))));
        let has_all_groups = rule.groups().contains(&Symbol::STAR);
        let has_resources =
            rule.resources().contains(&Symbol::STAR) || (has_all_groups && rule.resources().len() >= MANY_RESOURCES);
        has_verbs && has_resources && rule.names().is_empty()
    }

    /// Returns the decision of the workspace about a finding.
    pub(super) fn decision(&self, place: ScopedSubject, found: &RatedFinding<'_>) -> FindingDecision {
        match self.decisions {
            Some(decide) => decide(found.judged.rule, self.place_of(place, found.judged), found.severity),
            None => FindingDecision::Reported(found.severity),
        }
    }

    /// Returns the place of the binding that grants a finding, or of its role; none for the server's own.
    fn place_of(&self, (holder, namespace): ScopedSubject, judged: &Judged) -> Option<Origin> {
        let anchor = judged.met.steps.iter().find(|step| !step.part.is_default())?;
        let (binding, role) = self.granting(holder, namespace, *anchor)?;
        place(binding.layer).or_else(|| place(role.layer))
    }

    /// Returns the verbs and resources of rules for every resource in words.
    pub(super) fn near_star_in_words(&self, steps: &[Step]) -> String {
        let rules: Vec<&InternedRule> =
            steps.iter().filter_map(|step| self.world.lists.get(step.list).get(step.rule)).collect();
        let is_everything = rules.iter().any(|rule| is_wide(rule));
        let resources = match rules.first() {
            Some(rule) if !is_everything => self.resources_in_words(rule),
            _ => "every resource of every API group".to_owned(),
        };
        format!("{} {resources}", self.verbs(steps))
    }

    fn resources_in_words(&self, rule: &InternedRule) -> String {
        let group = |symbol: &Symbol| match self.world.symbols.text(*symbol) {
            "" => "the core group".to_owned(),
            group => format!("`{group}`"),
        };
        let resources = match rule.resources().len() {
            _ if rule.resources().contains(&Symbol::STAR) => "every resource".to_owned(),
            count => format!("{count} resources"),
        };
        let groups = if rule.groups().contains(&Symbol::STAR) {
            "every API group".to_owned()
        } else {
            few(&rule.groups().iter().map(group).collect::<Vec<_>>())
        };
        format!("{resources} of {groups}")
    }

    /// Returns the folded form of a finding.
    pub(super) fn folded(&self, found: &RatedFinding<'_>) -> Folded {
        let RatedFinding { judged, severity, reached } = *found;
        let own = judged.met.steps.iter().filter_map(|step| self.world.lists.get(step.list).get(step.rule));
        let rules = match self.case_of(judged) {
            Some(case) => own.map(|rule| self.world.narrowed(case, rule)).collect(),
            None => own.map(|rule| rule.to_policy_rule(&self.world.symbols)).collect(),
        };
        Folded { rule: judged.rule, severity, reached, rules }
    }

    /// Returns the case of the condition of a finding, which narrows the rules in its proof; none where the whole rules are the problem.
    pub(super) fn case_of(&self, judged: &Judged) -> Option<&Case> {
        let is_whole =
            judged.rule.id == NEARLY_FULL[0] || (NEARLY_FULL.contains(&judged.rule.id) && self.is_only_wide(judged));
        let (_, condition) =
            self.conditions.iter().find(|(rule, _)| rule.id == judged.rule.id).filter(|_| !is_whole)?;
        condition.cases.get(judged.met.case)
    }
}
