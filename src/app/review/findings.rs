//! The changes of the findings of `lint`.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{EffectSeverity, FindingChanges, ReviewedFinding};
use crate::access::risk;
use crate::app::classes::Spread;
use crate::app::lint::{AcceptedFinding, AcceptedPowers, LintOptions};
use crate::app::workspace::Workspace;
use crate::app::{Error, FindingRecord};
use crate::parallel::both;

/// The findings of a state.
#[derive(Default)]
struct Found {
    reported: Vec<FindingRecord>,
    accepted: Vec<AcceptedFinding>,
}

impl Found {
    fn in_state(workspace: &Workspace, targets: &[String], spread: &Spread<'_>) -> Result<Self, Error> {
        let known = |name: &&String| workspace.has_target(name);
        let targets: Vec<String> = targets.iter().filter(known).cloned().collect();
        if targets.is_empty() {
            return Ok(Self::default());
        }
        let report = workspace.lint_sample(&LintOptions { targets, ..LintOptions::default() }, spread)?;
        let reported = report.findings.records().filter(|finding| !finding.is_error()).collect();
        Ok(Self { reported, accepted: report.accepted })
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
    let (before, after) = both(head.options.threads(), find_base, || Found::in_state(head, targets, spread));
    let (before, after) = (before?, after?);
    let (old, new) = (Keys::of(&before), Keys::of(&after));
    let powers = base.map_or_else(AcceptedPowers::default, |base| AcceptedPowers::of(base, &before.accepted));
    let mut changes = FindingChanges::default();
    for finding in &after.reported {
        if old.has(finding) {
            changes.known += 1;
        } else {
            changes.new.push(reviewed(finding, root));
        }
    }
    let mut hiding = BTreeSet::new();
    for accepted in &after.accepted {
        let AcceptedFinding { by, finding, .. } = accepted;
        // An accepted finding with a further power is new: the acceptance was given without the power.
        if !powers.new_powers(accepted).is_empty() {
            changes.new.push(reviewed(finding, root));
        } else if base.is_some() && !powers.has(by, &finding.code) && !old.has(finding) {
            hiding.insert((by.clone(), finding.code.clone()));
        }
    }
    let fixed = before.reported.iter().filter(|finding| !new.has(finding));
    changes.fixed.extend(fixed.map(|finding| reviewed(finding, root)));
    changes.accepted = after.accepted.len();
    Ok(FindingComparison { changes, hiding })
}

/// The reported and accepted findings of a state by code, subject and namespace, each with its targets.
struct Keys(BTreeMap<(String, String, Option<String>), BTreeSet<String>>);

impl Keys {
    fn of(found: &Found) -> Self {
        let mut keys = Self(BTreeMap::new());
        for finding in found.reported.iter().chain(found.accepted.iter().map(|accepted| &accepted.finding)) {
            for key in keys_of(finding) {
                keys.0.entry(key).or_default().extend(finding.targets.iter().cloned());
            }
        }
        keys
    }

    /// Whether another finding is the same for each of its targets.
    fn has(&self, finding: &FindingRecord) -> bool {
        keys_of(finding).into_iter().all(|key| {
            self.0.get(&key).is_some_and(|targets| finding.targets.iter().all(|target| targets.contains(target)))
        })
    }
}

/// Returns the identities of a finding and of the findings folded into it.
fn keys_of(finding: &FindingRecord) -> Vec<(String, String, Option<String>)> {
    let (subject, namespace, folded) = match &finding.risk {
        Some(risk) => (risk.subject.clone(), risk.namespace.clone(), risk.folded.as_slice()),
        None => (finding.message.clone(), None, &[][..]),
    };
    let codes = std::iter::once(finding.code.as_str()).chain(folded.iter().map(|code| &**code));
    codes.map(|code| (code.to_owned(), subject.clone(), namespace.clone())).collect()
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
