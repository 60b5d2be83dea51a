//! The changes of the findings of `lint`.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{EffectSeverity, FindingChanges, ReviewedFinding};
use crate::access::risk;
use crate::app::classes::Spread;
use crate::app::lint::LintOptions;
use crate::app::workspace::Workspace;
use crate::app::{Error, FindingRecord};
use crate::parallel::both;

/// Searches both states for findings and compares them.
pub(super) fn compare(
    base: Option<&Workspace>,
    head: &Workspace,
    targets: &[String],
    spread: &Spread<'_>,
    root: &str,
) -> Result<FindingChanges, Error> {
    let find = |workspace: &Workspace| -> Result<Vec<FindingRecord>, Error> {
        let known = |name: &&String| workspace.has_target(name);
        let targets: Vec<String> = targets.iter().filter(known).cloned().collect();
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let report = workspace.lint_sample(&LintOptions { targets, ..LintOptions::default() }, spread)?;
        Ok(report.findings.records().filter(|finding| !finding.is_error()).collect())
    };
    let find_base = || base.map_or_else(|| Ok(Vec::new()), find);
    let (before, after) = both(head.options.threads(), find_base, || find(head));
    let (before, after) = (before?, after?);
    let (old, new) = (Keys::of(&before), Keys::of(&after));
    let mut changes = FindingChanges::default();
    for finding in &after {
        if old.has(finding) {
            changes.known += 1;
        } else {
            changes.new.push(reviewed(finding, root));
        }
    }
    changes.fixed.extend(before.iter().filter(|finding| !new.has(finding)).map(|finding| reviewed(finding, root)));
    changes.accepted = head.project.accepted.len();
    Ok(changes)
}

/// The findings of a state by code, subject and namespace, each with its targets.
struct Keys(BTreeMap<(String, String, Option<String>), BTreeSet<String>>);

impl Keys {
    fn of(findings: &[FindingRecord]) -> Self {
        let mut keys = Self(BTreeMap::new());
        for finding in findings {
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
