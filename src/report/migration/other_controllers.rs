//! The policies of other admission controllers in the report of a migration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, PspMigrationReport, number};
use crate::admission::level::{Level, PolicyVersion};
use crate::admission::others::judge::{Judgement, ProtectedNamespace, RuleVerdict, judge};
use crate::admission::others::{Demand, OtherRule, RuleAction, RuleContent};
use crate::admission::standards::labels::{LevelVersion, PodSecurityLevels};
use crate::diag::foreign;

/// How many rules with one outcome are named.
const RULES_SHOWN: usize = 12;

/// A rule of a policy of another admission controller.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtherRuleRecord {
    /// The controller: `Kyverno` or `Gatekeeper`.
    controller: String,
    /// The kind of the policy.
    kind: String,
    /// The namespace of the policy; none for a policy of the cluster.
    namespace: Option<String>,
    /// The name of the policy.
    name: String,
    /// The rule of the policy; none for a policy without a list of rules.
    rule: Option<String>,
    /// The recognition: `stated` for a known content, `nameOnly` for a known name alone, or `notCompared`.
    content: String,
    /// The reason why the content was not compared.
    reason: Option<String>,
    /// The controls of Pod Security that the rule states, by the ids of their checks, or other demands in words.
    controls: Vec<String>,
    /// The effect on a pod: `refuses`, `reports` or `undecided`.
    action: String,
    /// The comparison with the levels of the selected namespaces.
    outcomes: Vec<OtherOutcomeRecord>,
}

/// The longest name that is printed whole.
const LONGEST_NAME: usize = 100;

/// The comparison of a rule with the levels of some namespaces.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OtherOutcomeRecord {
    /// `redundant`, `stricter` or `unknown`.
    verdict: String,
    /// The pods that only the rule refuses, or the reason for `unknown`.
    reasons: Vec<String>,
    /// The reason why the rule selects only a part of the pods, or why that is undecided.
    undecided: Option<String>,
    namespaces: Vec<String>,
}

/// A rule with its judgements.
struct Judged<'r> {
    rule: &'r OtherRule,
    judgements: Vec<Judgement>,
}

fn judged<'r>(report: &PspMigrationReport<'r>) -> Vec<Judged<'r>> {
    let limits: BTreeMap<&str, _> = report.others.limits.iter().map(|policy| (policy.name(), policy)).collect();
    let namespaces = report.plan.namespaces.iter().map(|namespace| {
        let labels = report.declared.get(&namespace.name).map(|declared| &declared.labels);
        // With profiles of service accounts, no profile applies to every pod.
        let common = namespace.needs.common.policy().filter(|_| namespace.needs.accounts.is_empty());
        ProtectedNamespace {
            name: &namespace.name,
            labels,
            level: report.policies.level_of(&namespace.name).map(|level| enforced(level, labels)),
            profile: common.and_then(|policy| limits.get(policy).copied()),
        }
    });
    let namespaces: Vec<ProtectedNamespace<'_>> = namespaces.collect();
    let rules = report.others.rules.iter();
    rules.map(|rule| Judged { rule, judgements: judge(rule, &namespaces) }).collect()
}

/// Returns the enforced level of a namespace with its version: a label of the Namespace with the same level stays.
fn enforced(level: Level, labels: Option<&BTreeMap<String, String>>) -> LevelVersion {
    let planned = LevelVersion { level, version: PolicyVersion::Latest };
    let levels = PodSecurityLevels { enforce: planned, ..PodSecurityLevels::UPSTREAM };
    let own = labels.map_or(planned, |labels| levels.with_labels(labels).0.enforce);
    if own.level == level { own } else { planned }
}

/// Returns the rules as lines. Rules with one outcome are one entry.
pub(super) fn entries(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let mut groups: Vec<(String, Vec<Judged<'_>>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for judged in judged(report) {
        let key = judged.key();
        match places.get(&key).and_then(|place| groups.get_mut(*place)) {
            Some((_, group)) => group.push(judged),
            None => {
                places.insert(key, groups.len());
                groups.push((judged.title(), vec![judged]));
            }
        }
    }
    groups.into_iter().map(|(title, group)| entry(&title, &group)).collect()
}

/// Returns the entry of rules with one outcome.
fn entry(title: &str, group: &[Judged<'_>]) -> Entry {
    let names: Vec<String> = group.iter().map(|judged| judged.name()).collect();
    let more = names.len().saturating_sub(RULES_SHOWN);
    let mut text = names.into_iter().take(RULES_SHOWN).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    let Some(first) = group.first() else { return Entry::new(title) };
    let mut details = Vec::new();
    for (place, judgement) in first.judgements.iter().enumerate() {
        let of_all = group.iter().filter_map(|judged| judged.judgements.get(place));
        let mut namespaces: Vec<String> = of_all.flat_map(|judgement| judgement.namespaces.clone()).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        details.push(outcome(judgement, namespaces));
    }
    if details.is_empty() {
        details.push(Entry::new("selects no namespace of the manifests"));
    }
    Entry::new(format!("{title}: {text}")).with(details)
}

fn outcome(judgement: &Judgement, namespaces: Vec<String>) -> Entry {
    let at = number(namespaces.len(), "namespace");
    let joined =
        |reasons: &mut dyn Iterator<Item = &String>| reasons.map(String::as_str).collect::<Vec<_>>().join("; ");
    let (verdict, mut reason) = match &judgement.verdict {
        RuleVerdict::Redundant { except } if except.is_empty() => ("redundant in".to_owned(), String::new()),
        RuleVerdict::Redundant { except } => {
            (format!("redundant, except for {}, in", joined(&mut except.iter())), String::new())
        }
        RuleVerdict::Stricter(further) => ("stricter in".to_owned(), format!(" ({})", joined(&mut further.iter()))),
        RuleVerdict::Unknown(reason) => ("not compared in".to_owned(), format!(" ({reason})")),
    };
    if let Some(undecided) = &judgement.undecided {
        reason.push_str(&format!("; selects pods only in part, or undecided: {undecided}"));
    }
    Entry::listed(format!("{verdict} {at}: "), namespaces, reason)
}

impl Judged<'_> {
    /// Returns the name of the rule, with its controls.
    fn name(&self) -> String {
        let OtherRule { kind, namespace, name, rule, .. } = self.rule;
        let namespace = if namespace.is_empty() { String::new() } else { format!("{}/", plain(namespace)) };
        let rule = rule.as_ref().map_or_else(String::new, |rule| format!(" rule `{}`", plain(rule)));
        let (kind, name) = (plain(kind), plain(name));
        let controls = self.controls();
        let controls = if controls.is_empty() { String::new() } else { format!(" ({})", controls.join(", ")) };
        format!("{kind} `{namespace}{name}`{rule}{controls}")
    }

    /// Returns the controller, the effect, and the recognition.
    fn title(&self) -> String {
        let effect = match &self.rule.action {
            RuleAction::Refuses => "refuses pods",
            RuleAction::Reports => "only reports",
            RuleAction::Undecided(reason) => reason,
        };
        let recognition = match &self.rule.content {
            RuleContent::Stated(_) | RuleContent::NotCompared(_) => String::new(),
            RuleContent::NameOnly { reason, .. } => {
                format!(", known by the name alone ({reason}; its rules were not compared)")
            }
        };
        format!("{}, {effect}{recognition}", self.rule.controller.name())
    }

    /// Returns the title and the outcome. A policy of a namespace has the outcome of its own namespace.
    fn key(&self) -> String {
        let is_of_namespace = !self.rule.namespace.is_empty();
        let outcomes = self.judgements.iter().map(|judgement| {
            let namespaces: &[String] = if is_of_namespace { &[] } else { &judgement.namespaces };
            (&judgement.verdict, &judgement.undecided, namespaces)
        });
        format!("{} {is_of_namespace} {:?}", self.title(), outcomes.collect::<Vec<_>>())
    }

    /// Returns the controls, each once.
    fn controls(&self) -> Vec<String> {
        let demands: &[Demand] = match &self.rule.content {
            RuleContent::Stated(demands) | RuleContent::NameOnly { would_state: demands, .. } => demands,
            RuleContent::NotCompared(_) => &[],
        };
        let mut controls: Vec<String> = Vec::new();
        for control in demands.iter().map(Demand::control) {
            if !controls.contains(&control) {
                controls.push(control);
            }
        }
        controls
    }

    fn record(&self) -> OtherRuleRecord {
        let OtherRule { controller, kind, namespace, name, rule, content, action, .. } = self.rule;
        let (content, reason) = match content {
            RuleContent::Stated(_) => ("stated", None),
            RuleContent::NameOnly { reason, .. } => ("nameOnly", Some((*reason).to_owned())),
            RuleContent::NotCompared(reason) => ("notCompared", Some(reason.clone())),
        };
        let action = match action {
            RuleAction::Refuses => "refuses",
            RuleAction::Reports => "reports",
            RuleAction::Undecided(_) => "undecided",
        };
        OtherRuleRecord {
            controller: controller.name().to_owned(),
            kind: kind.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.clone()),
            name: name.clone(),
            rule: rule.clone(),
            content: content.to_owned(),
            reason,
            controls: self.controls(),
            action: action.to_owned(),
            outcomes: self.judgements.iter().map(OtherOutcomeRecord::new).collect(),
        }
    }
}

/// Returns a name of bounded length that does not end its backticks.
fn plain(name: &str) -> String {
    foreign::shortened(name, LONGEST_NAME).replace('`', "'")
}

impl OtherOutcomeRecord {
    fn new(judgement: &Judgement) -> Self {
        let (verdict, reasons) = match &judgement.verdict {
            RuleVerdict::Redundant { except } => ("redundant", except.iter().cloned().collect()),
            RuleVerdict::Stricter(further) => ("stricter", further.iter().cloned().collect()),
            RuleVerdict::Unknown(reason) => ("unknown", vec![reason.clone()]),
        };
        Self {
            verdict: verdict.to_owned(),
            reasons,
            undecided: judgement.undecided.clone(),
            namespaces: judgement.namespaces.clone(),
        }
    }
}

/// Returns the rules as JSON.
pub(super) fn records(report: &PspMigrationReport<'_>) -> Vec<OtherRuleRecord> {
    judged(report).iter().map(Judged::record).collect()
}
