//! The results of a review for programs: one for each right, power, class of subjects and class of namespaces.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_review::{
    AccessChange, EffectChange, EffectSeverity, HazardKind, PathChange, PathChangeKind, ReviewedFinding, ReviewedStep,
};
use bailiwick_workspace::fingerprint::fingerprint;

use super::phrase::Phrase;
use super::sections;
use super::view::{ReviewView, split_place};
use super::words::{self, Entry};
use crate::WORKSPACE_FILE;

/// The code of a gain without a risk rule.
pub(super) const GAIN: &str = "access-gained";

/// One alert of code scanning.
#[derive(Debug, Clone)]
pub(super) struct ReviewResult<'r> {
    /// The code, such as `create-pods`.
    pub(super) code: String,
    /// How bad it is.
    pub(super) severity: EffectSeverity,
    /// The result in words.
    pub(super) message: String,
    /// The cause.
    pub(super) place: ResultPlace,
    /// Further causes.
    pub(super) related: Vec<ResultPlace>,
    /// The names of the targets.
    pub(super) targets: &'r [String],
    /// The number of subjects or objects.
    pub(super) count: usize,
    /// The steps of a path.
    pub(super) steps: &'r [ReviewedStep],
    /// Whether only the earlier state has it.
    pub(super) is_absent: bool,
    /// A stable identity, unique among the results.
    pub(super) fingerprint: String,
}

/// A range of a file; lines and columns begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResultPlace {
    /// The path from the root of the git work tree.
    pub(super) path: String,
    /// The first line.
    pub(super) line: usize,
    /// The first column, the last line and the column after the last character; none for the whole line.
    pub(super) range: Option<[usize; 3]>,
}

/// Returns the results, the worst first. Results of the earlier state alone are last, and only on request.
pub(super) fn results<'r>(view: &ReviewView<'r>) -> Vec<ReviewResult<'r>> {
    let review = view.review;
    let mut list: Vec<ReviewResult<'r>> = hazards(view);
    let (mut with_steps, reached) = paths(view);
    list.append(&mut with_steps);
    let gains = review.effects.iter().filter(|effect| effect.change == EffectChange::Gained);
    list.extend(gains.filter_map(|effect| gain(view, effect, reached.get(&effect.id))));
    list.extend(pods(view));
    list.extend(tests(view));
    // A finding about a reported effect is the same result.
    let known: BTreeSet<String> = list.iter().map(|result| result.fingerprint.clone()).collect();
    let new = review.findings.new.iter().filter(|finding| !known.contains(&finding.fingerprint));
    list.extend(new.map(|found| finding(view, found, false)));
    if view.options.writes_absent {
        let gone = review.paths.iter().filter(|path| path.change == PathChangeKind::Gone);
        list.extend(gone.map(|path| one_path(view, path, None)));
        list.extend(review.findings.fixed.iter().map(|fixed| finding(view, fixed, true)));
    }
    number_equal(&mut list);
    list.sort_by_key(|result| (result.is_absent, std::cmp::Reverse(result.severity)));
    list
}

/// Makes equal fingerprints different, in the order of the places.
fn number_equal(list: &mut [ReviewResult<'_>]) {
    let mut equal: BTreeMap<String, Vec<(ResultPlace, usize)>> = BTreeMap::new();
    for (index, result) in list.iter().enumerate() {
        equal.entry(result.fingerprint.clone()).or_default().push((result.place.clone(), index));
    }
    for mut places in equal.into_values() {
        places.sort();
        for (number, (_, index)) in places.iter().enumerate().skip(1) {
            if let Some(result) = list.get_mut(*index) {
                result.fingerprint.push_str(&format!(":{}", number + 1));
            }
        }
    }
}

/// Returns the first cause of a list as a place; the workspace file without one.
fn place(view: &ReviewView<'_>, causes: &[usize]) -> ResultPlace {
    match places(view, causes).next() {
        Some(place) => place,
        None => workspace_place(view),
    }
}

fn places(view: &ReviewView<'_>, causes: &[usize]) -> impl Iterator<Item = ResultPlace> {
    view.causes(causes).map(|cause| ResultPlace {
        path: cause.path.clone(),
        line: cause.line.max(1),
        range: Some([cause.column.max(1), cause.end_line.max(cause.line).max(1), cause.end_column.max(1)]),
    })
}

fn workspace_place(view: &ReviewView<'_>) -> ResultPlace {
    let path = match view.review.workspace.as_str() {
        "." | "" => WORKSPACE_FILE.to_owned(),
        folder => format!("{folder}/{WORKSPACE_FILE}"),
    };
    ResultPlace { path, line: 1, range: None }
}

/// Returns a place in the form `path:line`.
fn written_place(text: &str) -> ResultPlace {
    let (path, line) = split_place(text);
    ResultPlace { path: path.to_owned(), line: line.map_or(1, |line| line.max(1)), range: None }
}

/// A result without its words.
struct Facts<'f> {
    code: String,
    severity: EffectSeverity,
    place: ResultPlace,
    related: Vec<ResultPlace>,
    fingerprint: &'f str,
}

impl Facts<'_> {
    fn result<'r>(self, message: String, targets: &'r [String], count: usize) -> ReviewResult<'r> {
        ReviewResult {
            code: self.code,
            severity: self.severity,
            message,
            place: self.place,
            related: self.related,
            targets,
            count,
            steps: &[],
            is_absent: false,
            fingerprint: self.fingerprint.to_owned(),
        }
    }
}

/// Returns the code of a risk rule or the code itself.
fn code(rule: Option<&str>) -> String {
    let Some(rule) = rule else { return GAIN.to_owned() };
    let found = bailiwick_access::risk::of_id(rule);
    found.map_or(rule, |row| row.code.id()).to_owned()
}

/// The powers with a path of their own, by the effect that opens them.
type ReachedPowers<'r> = BTreeMap<usize, BTreeSet<&'r str>>;

/// Returns the results of paths, and the powers of effects that have a path: of the same subjects with the same cause.
fn paths<'r>(view: &ReviewView<'r>) -> (Vec<ReviewResult<'r>>, ReachedPowers<'r>) {
    let review = view.review;
    let mut list = Vec::new();
    let mut reached = ReachedPowers::new();
    let mut by_class: BTreeMap<&str, Vec<&AccessChange>> = BTreeMap::new();
    for effect in review.effects.iter().filter(|effect| effect.change == EffectChange::Gained) {
        by_class.entry(view.template(effect.class)).or_default().push(effect);
    }
    for path in review.paths.iter().filter(|path| path.change != PathChangeKind::Gone) {
        let of_class = by_class.get(view.template(path.class)).into_iter().flatten().copied();
        let has_cause = |effect: &&AccessChange| effect.causes.iter().any(|cause| path.causes.contains(cause));
        let effects = of_class.filter(has_cause).filter(|effect| effect.opens.contains(&path.reaches));
        let effects: Vec<&AccessChange> = effects.collect();
        for effect in &effects {
            reached.entry(effect.id).or_default().insert(path.reaches.as_str());
        }
        list.push(one_path(view, path, effects.first().copied()));
    }
    (list, reached)
}

fn one_path<'r>(view: &ReviewView<'r>, path: &'r PathChange, effect: Option<&AccessChange>) -> ReviewResult<'r> {
    let edge = path.steps.iter().find(|step| step.new).or(path.steps.first());
    let code = match effect.and_then(|effect| effect.rule.as_deref()) {
        Some(rule) => code(Some(rule)),
        None => edge.map_or("escalation-path", |step| step.edge.as_str()).to_owned(),
    };
    let mut phrase = words::path(view, path);
    if let Some(effect) = effect {
        phrase = phrase.words("; ").then(words::effect(view, effect)).words(", ").then(words::place_of(view, effect));
    }
    let is_absent = path.change == PathChangeKind::Gone;
    let facts = Facts {
        code,
        severity: path.severity,
        place: place(view, &path.causes),
        related: places(view, &path.causes).skip(1).collect(),
        fingerprint: &path.fingerprint,
    };
    let result = facts.result(phrase.plain(), &path.targets, view.count(path.class));
    ReviewResult { steps: &path.steps, is_absent, ..result }
}

/// Returns an effect with the powers that have no path of their own; none if paths include the effect.
fn gain<'r>(
    view: &ReviewView<'r>,
    effect: &'r AccessChange,
    reached: Option<&BTreeSet<&str>>,
) -> Option<ReviewResult<'r>> {
    let has_no_path = |power: &&String| !reached.is_some_and(|reached| reached.contains(power.as_str()));
    let opens: Vec<String> = effect.opens.iter().filter(has_no_path).cloned().collect();
    if reached.is_some() && opens.is_empty() {
        return None;
    }
    let mut phrase = words::effect(view, effect).words(", ").then(words::place_of(view, effect));
    if !opens.is_empty() {
        phrase = phrase.words("; opens ").then(words::names(&opens));
    }
    let facts = Facts {
        code: code(effect.rule.as_deref()),
        severity: effect.severity,
        place: place(view, &effect.causes),
        related: places(view, &effect.causes).skip(1).collect(),
        fingerprint: &effect.fingerprint,
    };
    Some(facts.result(phrase.plain(), &effect.targets, view.count(effect.class)))
}

/// Returns the code of a danger.
pub(super) fn hazard_code(kind: HazardKind) -> &'static str {
    match kind {
        HazardKind::NamespaceDeleted => "namespace-deleted",
        HazardKind::TargetRemoved => "target-removed",
        HazardKind::TargetRenamed => "target-renamed",
        HazardKind::SettingChanged => "setting-changed",
        HazardKind::LockOut => "lock-out",
        HazardKind::RolerefChanged => "roleref-changed",
        HazardKind::CrdDeleted => "crd-deleted",
        HazardKind::BindingReplaced => "binding-replaced",
        HazardKind::MassChange => "mass-change",
        HazardKind::NeverPruned => "never-pruned",
    }
}

fn hazards<'r>(view: &ReviewView<'r>) -> Vec<ReviewResult<'r>> {
    let list = view.review.hazards.iter().map(|hazard| {
        let code = hazard_code(hazard.kind);
        let (mut names, namespaces) = (hazard.names.join(","), hazard.namespaces.join(","));
        if hazard.kind == HazardKind::SettingChanged {
            // Two settings differ in the message alone.
            names.clone_from(&hazard.message);
        }
        let facts = Facts {
            code: code.to_owned(),
            severity: hazard.severity,
            place: place(view, &hazard.causes),
            related: places(view, &hazard.causes).skip(1).collect(),
            fingerprint: &fingerprint(&[code, &names, "", "", &namespaces]),
        };
        let count = hazard.namespaces.len().max(hazard.bindings).max(1);
        facts.result(entry_line(&words::hazard(view, hazard)), &hazard.targets, count)
    });
    list.collect()
}

/// Returns an entry with its details in one line.
fn entry_line(entry: &Entry) -> String {
    let details = entry.details.iter().map(Phrase::plain);
    std::iter::once(entry.text.plain()).chain(details).collect::<Vec<_>>().join("; ")
}

/// Returns the changes of pods and lifetimes with a severity.
fn pods<'r>(view: &ReviewView<'r>) -> Vec<ReviewResult<'r>> {
    let review = view.review;
    let pods = review.pods.iter().filter(|change| change.severity > EffectSeverity::None).map(|change| {
        let entry = words::pod(view, change);
        let after = change.after.as_deref().into_iter().collect::<String>();
        let facts = Facts {
            code: "pods-changed".to_owned(),
            severity: change.severity,
            place: place(view, &change.causes),
            related: places(view, &change.causes).skip(1).collect(),
            fingerprint: &fingerprint(&[
                "pods-changed",
                change.kind.as_str(),
                &after,
                "",
                &change.namespaces.join(","),
            ]),
        };
        facts.result(entry_line(&entry), std::slice::from_ref(&change.target), change.namespaces.len().max(1))
    });
    let longer = review.lifetimes.iter().filter(|change| change.severity > EffectSeverity::None);
    let lifetimes = longer.map(|change| {
        let grant = format!("{}/{}", change.kind, change.grant);
        let facts = Facts {
            code: "lifetime-changed".to_owned(),
            severity: change.severity,
            place: place(view, &change.causes),
            related: Vec::new(),
            fingerprint: &fingerprint(&["lifetime-changed", &grant, "", "", ""]),
        };
        facts.result(words::lifetime(view, change).text.plain(), &[], 1)
    });
    pods.chain(lifetimes).collect()
}

/// Returns the failing tests, and the removed expectations that would fail.
fn tests<'r>(view: &ReviewView<'r>) -> Vec<ReviewResult<'r>> {
    let tests = &view.review.tests;
    let mut list = Vec::new();
    let groups = [("test-failing", &tests.failing), ("test-disarmed", &tests.base_failing)];
    for (code, failed) in groups {
        for test in failed {
            let is_same = |other: &bailiwick_review::FailedTest| other.test == test.test;
            if code == "test-disarmed" && tests.failing.iter().any(is_same) {
                continue;
            }
            let first: Vec<&str> = test.first.iter().take(3).map(String::as_str).collect();
            let text = Phrase::new("AccessTest ").name(test.test.as_str()).words(": ");
            let facts = Facts {
                code: code.to_owned(),
                severity: EffectSeverity::High,
                place: written_place(&test.place),
                related: Vec::new(),
                fingerprint: &fingerprint(&[code, &test.test, "", "", ""]),
            };
            let text = text.then(Phrase::sentence(&first.join("; "))).plain();
            list.push(facts.result(text, &test.targets, test.failures));
        }
    }
    for removed in tests.removed.iter().filter(|removed| removed.would_fail) {
        let right = format!("{} {}", removed.expectation, removed.question);
        let facts = Facts {
            code: "test-disarmed".to_owned(),
            severity: EffectSeverity::High,
            place: written_place(&removed.place),
            related: Vec::new(),
            fingerprint: &fingerprint(&["test-disarmed", &right, "", &removed.test, ""]),
        };
        list.push(facts.result(entry_line(&sections::removed(view, removed)), &[], 1));
    }
    list
}

fn finding<'r>(view: &ReviewView<'r>, finding: &'r ReviewedFinding, is_absent: bool) -> ReviewResult<'r> {
    let place = match &finding.path {
        Some(path) => ResultPlace { path: path.clone(), line: finding.line.map_or(1, |line| line.max(1)), range: None },
        None => workspace_place(view),
    };
    let facts = Facts {
        code: finding.code.clone(),
        severity: finding.severity,
        place,
        related: Vec::new(),
        fingerprint: &finding.fingerprint,
    };
    let message = Phrase::sentence(&finding.message).plain();
    ReviewResult { is_absent, ..facts.result(message, &finding.targets, finding.count) }
}
