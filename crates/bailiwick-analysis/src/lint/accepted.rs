//! The findings accepted by a workspace: by `metadata.allow` of a policy, or by the setting of a code in the workspace file.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::risk::{Finding, FindingDecision, RiskRule, RiskSeverity};
use bailiwick_compiler::compile::{Accepted, WORKSPACE_FILE};
use bailiwick_policy::model::DiagnosticSetting;
use bailiwick_workspace::{FindingRecord, Workspace};
use bailiwick_yaml::diag::{Code, Diagnostic, Files, Origin, Sink};
use schemars::JsonSchema;
use serde::Serialize;

use super::severity;

/// A finding that is not reported, since it is accepted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AcceptedFinding {
    /// The accepting policy, such as `Grant/debuggers`, or the workspace file.
    pub by: String,
    /// The record of the finding, as reported findings have one.
    #[serde(flatten)]
    pub finding: FindingRecord,
    /// The finding, to be reported after all.
    #[serde(skip)]
    pub(super) diagnostic: Diagnostic,
}

/// An entry of a workspace to accept findings of a code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acceptance {
    /// The policy, such as `Grant/debuggers`, or the workspace file.
    pub by: String,
    /// The code of the diagnostic.
    pub code: String,
    /// The place of the entry, or of the document with the entry.
    pub place: Origin,
}

/// Returns the entries to accept findings: `metadata.allow` of policies, and settings of the workspace file.
pub fn acceptances(workspace: &Workspace) -> Vec<Acceptance> {
    let project = &workspace.project();
    let hides = |setting: DiagnosticSetting| {
        use DiagnosticSetting::{Ignore, Info, Low, Medium};
        matches!(setting, Ignore | Medium | Low | Info)
    };
    let settings = project.workspace.diagnostics.settings().iter().filter(|(_, setting)| hides(setting.value));
    let of_workspace = settings.map(|(code, setting)| Acceptance {
        by: WORKSPACE_FILE.to_owned(),
        code: code.clone(),
        place: setting.origin,
    });
    let of_policies = project.valid_acceptances().map(|Accepted { code, document, .. }| {
        let mut metas = project.policies.iter().map(|policy| policy.meta());
        let is_within = |origin: Origin| origin.file == document.file && document.span.contains(origin.span);
        let by = match metas.find(|meta| is_within(meta.origin)) {
            Some(meta) => format!("{}/{}", meta.kind, meta.name),
            None => project.files.get(document.file).path().to_owned(),
        };
        Acceptance { by, code: code.id().to_owned(), place: *document }
    });
    of_workspace.chain(of_policies).collect()
}

/// The decisions of a workspace about findings.
pub(super) struct Decisions<'w> {
    workspace: &'w Workspace,
    /// The least severity of a reported finding.
    least: RiskSeverity,
}

/// A finding after the decision of the workspace.
pub(super) enum Decided {
    /// The finding with the severity of the workspace.
    Reported(Finding),
    /// It is accepted, by a policy or the workspace file.
    Accepted { by: String, finding: Finding },
}

impl<'w> Decisions<'w> {
    pub(super) fn new(workspace: &'w Workspace, least: RiskSeverity) -> Self {
        Self { workspace, least }
    }

    /// Returns the decision about a finding of a rule at a place.
    pub(super) fn about(&self, rule: &RiskRule, place: Option<Origin>, own: RiskSeverity) -> FindingDecision {
        match self.set(rule.code, own) {
            None => FindingDecision::Ignored,
            Some(_) if self.accepts(rule.code, place) => FindingDecision::Accepted,
            Some(severity) => FindingDecision::Reported(severity),
        }
    }

    /// Returns the severity of a code in the workspace; none if the code is ignored, or if the finding is not reported because of the
    /// severity.
    fn set(&self, code: Code, own: RiskSeverity) -> Option<RiskSeverity> {
        let setting = self.workspace.project().workspace.diagnostics.of_finding(code);
        let set = severity(setting, own);
        let is_hidden = setting == Some(DiagnosticSetting::Ignore) || (own >= self.least && set < self.least);
        (!is_hidden).then_some(set)
    }

    /// Sets the severities of a finding and of its folded findings.
    pub(super) fn decide(&self, finding: Finding) -> Decided {
        let (code, place) = (finding.rule.code, finding.place);
        let judged =
            finding.clone().with_folded_judged(|folded| match self.about(folded.rule, place, folded.severity) {
                FindingDecision::Reported(severity) => Some(severity),
                FindingDecision::Accepted | FindingDecision::Ignored => None,
            });
        let by_workspace = || WORKSPACE_FILE.to_owned();
        let by_policy = || self.name_at(place);
        let Some(mut judged) = judged else {
            let by = if self.accepts_any(&finding) { by_policy() } else { by_workspace() };
            return Decided::Accepted { by, finding };
        };
        let Some(severity) = self.set(code, judged.severity) else {
            return Decided::Accepted { by: by_workspace(), finding };
        };
        judged.severity = severity;
        if self.accepts(code, place) {
            return Decided::Accepted { by: by_policy(), finding: judged };
        }
        Decided::Reported(judged)
    }

    fn accepts(&self, code: Code, place: Option<Origin>) -> bool {
        place.is_some_and(|place| self.workspace.project().accepts_at(code, place))
    }

    /// Whether a policy accepts one of the folded findings.
    fn accepts_any(&self, finding: &Finding) -> bool {
        finding.folded.iter().any(|folded| self.accepts(folded.rule.code, finding.place))
    }

    /// Returns the policy with a place, or the path of its file.
    fn name_at(&self, place: Option<Origin>) -> String {
        let project = &self.workspace.project();
        place.map_or_else(String::new, |place| match project.policy_at(place) {
            Some(meta) => format!("{}/{}", meta.kind, meta.name),
            None => project.files.get(place.file).path().to_owned(),
        })
    }
}

/// The accepted findings of several targets, by what accepts them.
#[derive(Default)]
pub(super) struct AcceptedFindings(BTreeMap<String, Sink>);

impl AcceptedFindings {
    /// Adds a finding about a target.
    pub(super) fn add(&mut self, by: String, diagnostic: Diagnostic, target: &str) {
        let mut sink = Sink::new();
        sink.push(diagnostic);
        self.0.entry(by).or_default().absorb_of_target(sink, target);
    }

    /// Returns the findings, equal findings of several targets as one.
    pub(super) fn into_list(self, files: &Files, is_chosen: impl Fn(&Diagnostic) -> bool) -> Vec<AcceptedFinding> {
        let of_one = |(by, sink): (String, Sink)| {
            let list = sink.with_targets_together().into_sorted(files);
            let chosen: Vec<Diagnostic> = list.into_iter().filter(&is_chosen).collect();
            chosen.into_iter().map(move |diagnostic| AcceptedFinding {
                by: by.clone(),
                finding: FindingRecord::new(&diagnostic, files),
                diagnostic,
            })
        };
        self.0.into_iter().flat_map(of_one).collect()
    }
}

/// The powers of the accepted findings of an earlier state, by acceptance: the policy or workspace file, and the code.
#[derive(Debug, Default)]
pub struct AcceptedPowers(BTreeMap<(String, String), BTreeSet<String>>);

impl AcceptedPowers {
    /// Returns the powers of the acceptances of a state, with its accepted findings.
    pub fn of(workspace: &Workspace, accepted: &[AcceptedFinding]) -> Self {
        let none =
            acceptances(workspace).into_iter().map(|acceptance| ((acceptance.by, acceptance.code), BTreeSet::new()));
        let mut powers = Self(none.collect());
        for AcceptedFinding { by, finding, .. } in accepted {
            let of_acceptance = powers.0.entry((by.clone(), finding.code.clone())).or_default();
            of_acceptance.extend(reaches(finding).cloned());
        }
        powers
    }

    /// Whether the state has an acceptance.
    pub fn has(&self, by: &str, code: &str) -> bool {
        self.0.contains_key(&(by.to_owned(), code.to_owned()))
    }

    /// Returns the powers of an accepted finding without the powers of its acceptance in this state; none for a new acceptance.
    pub fn new_powers<'f>(&self, accepted: &'f AcceptedFinding) -> Vec<&'f str> {
        let known = self.0.get(&(accepted.by.clone(), accepted.finding.code.clone()));
        let new = |known: &BTreeSet<String>| {
            let all = reaches(&accepted.finding).filter(|power| !known.contains(*power));
            all.map(String::as_str).collect()
        };
        known.map_or_else(Vec::new, new)
    }

    /// Takes the accepted findings with further powers than their acceptances had in this state. They are reported again.
    pub(super) fn take_outgrown(&self, accepted: &mut Vec<AcceptedFinding>) -> Vec<Diagnostic> {
        let mut outgrown = Vec::new();
        accepted.retain(|accepted| {
            let new = self.new_powers(accepted);
            let words: Vec<String> = new.iter().map(|power| format!("`{power}`")).collect();
            let note =
                || format!("{} accepts the finding, which did not reach {} before", accepted.by, words.join(", "));
            outgrown.extend((!new.is_empty()).then(|| accepted.diagnostic.clone().note(note())));
            new.is_empty()
        });
        outgrown
    }
}

/// Iterates over the powers of a finding.
fn reaches(finding: &FindingRecord) -> impl Iterator<Item = &String> {
    finding.risk.iter().flat_map(|risk| &risk.reaches)
}
