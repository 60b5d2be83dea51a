//! The changes of the findings of `lint`.

use std::collections::BTreeSet;

use bailiwick_access::risk;
use bailiwick_analysis::classes::Spread;
use bailiwick_analysis::lint::{AcceptedFinding, AcceptedPowers, LintOptions, MatchedFindings, lint_sample};
use bailiwick_base::parallel::both;
use bailiwick_workspace::workspace::has_target;
use bailiwick_workspace::{Error, FindingRecord, Workspace};

use super::record::{EffectSeverity, FindingChanges, ReviewedFinding};

/// The findings of a state.
#[derive(Default)]
struct Found {
    reported: Vec<FindingRecord>,
    accepted: Vec<AcceptedFinding>,
    /// The powers of the accepted findings.
    powers: AcceptedPowers,
    /// The compared targets of the state.
    targets: BTreeSet<String>,
}

impl Found {
    fn in_state(workspace: &Workspace, targets: &[String], spread: &Spread<'_>) -> Result<Self, Error> {
        let known = |name: &&String| has_target(workspace, name);
        let targets: Vec<String> = targets.iter().filter(known).cloned().collect();
        if targets.is_empty() {
            return Ok(Self::default());
        }
        let names = targets.iter().cloned().collect();
        let report = lint_sample(workspace, &LintOptions { targets, ..LintOptions::default() }, spread)?;
        let reported = report.findings.records().filter(|finding| !finding.is_error()).collect();
        let powers = AcceptedPowers::of(workspace, &report.accepted);
        Ok(Self { reported, accepted: report.accepted, powers, targets: names })
    }
}

/// The changes of findings, and the acceptances of new findings.
#[derive(Default)]
pub(super) struct FindingComparison {
    pub(super) changes: FindingChanges,
    /// The policy or workspace file, and the code, of each acceptance of a new finding.
    pub(super) hiding: BTreeSet<(String, String)>,
}

/// Searches both states for findings and compares them.
pub(super) fn compare(
    base: Option<&Workspace>,
    head: &Workspace,
    targets: &[String],
    spread: &Spread<'_>,
    root: &str,
) -> Result<FindingComparison, Error> {
    let find_base = || base.map_or_else(|| Ok(Found::default()), |base| Found::in_state(base, targets, spread));
    let (before, after) = both(head.options().threads(), find_base, || Found::in_state(head, targets, spread));
    let (before, after) = (before?, after?);
    let accepted_before = before.accepted.into_iter().map(|accepted| accepted.finding).collect();
    let mut accepted_before = MatchedFindings::new(accepted_before, before.targets.clone());
    let mut reported_before = MatchedFindings::new(before.reported, before.targets);
    let mut changes = FindingChanges { accepted: after.accepted.len(), ..FindingChanges::default() };
    for finding in &after.reported {
        if reported_before.take(finding) {
            changes.known += 1;
        } else {
            changes.new.push(reviewed(finding, root));
        }
    }
    let mut hiding = BTreeSet::new();
    for accepted in &after.accepted {
        let AcceptedFinding { by, finding, .. } = accepted;
        // An accepted finding with a further power is new: the acceptance was given without the power.
        let is_outgrown = !before.powers.new_powers(accepted).is_empty();
        let was_reported = reported_before.take(finding);
        let was_accepted = accepted_before.take(finding);
        if is_outgrown {
            changes.new.push(reviewed(finding, root));
        } else if base.is_some() && !before.powers.has(by, &finding.code) && !was_reported && !was_accepted {
            hiding.insert((by.clone(), finding.code.clone()));
        }
    }
    changes.fixed.extend(reported_before.into_fixed().iter().map(|finding| reviewed(finding, root)));
    Ok(FindingComparison { changes, hiding })
}

fn reviewed(finding: &FindingRecord, root: &str) -> ReviewedFinding {
    let risk = finding.risk.as_ref();
    let id_of = |code: &str| risk::all().find(|rule| rule.code.id() == code).map(|rule| rule.id.to_owned());
    ReviewedFinding {
        rule: risk.map_or_else(|| finding.code.clone(), |risk| risk.rule.to_string()),
        also: risk.into_iter().flat_map(|risk| &risk.folded).filter_map(|code| id_of(code)).collect(),
        code: finding.code.clone(),
        severity: severity(finding.level()),
        who: risk.map(|risk| subject(&risk.subject, &finding.message)),
        namespaces: risk.and_then(|risk| risk.namespace.clone()).into_iter().collect(),
        count: risk.map_or(1, |risk| risk.count),
        targets: finding.targets.clone(),
        message: finding.message.clone(),
        path: finding.place.as_ref().map(|place| format!("{root}{}", place.path)),
        line: finding.place.as_ref().map(|place| place.line),
        fingerprint: finding.fingerprint(),
    }
}

/// Returns the subject of a finding; of a finding about a binding the first subject in its message.
fn subject(subject: &str, message: &str) -> String {
    let is_subject = |text: &&str| ["User/", "Group/", "ServiceAccount/"].iter().any(|kind| text.starts_with(kind));
    if is_subject(&subject) {
        return subject.to_owned();
    }
    message.split('`').find(is_subject).map_or(subject, |found| found).to_owned()
}

fn severity(word: &str) -> EffectSeverity {
    match word {
        "critical" => EffectSeverity::Critical,
        "high" => EffectSeverity::High,
        "medium" => EffectSeverity::Medium,
        "low" => EffectSeverity::Low,
        _ => EffectSeverity::Info,
    }
}
