//! The sections of a review that are lists of entries.

use bailiwick_review::{EffectSeverity, FailedTest, RemovedExpectation, ReviewedFinding, Verdict};
use bailiwick_workspace::{FindingRecord, NotJudged};

use super::phrase::Phrase;
use super::view::{MAXIMUM_NAMES, ReviewView};
use super::words::{self, Entry, grouped, number};

/// The first questions of a failing AccessTest that are shown.
const MAXIMUM_QUESTIONS: usize = 3;

/// Returns the workspace, the earlier and the reviewed state, and the exit code.
pub(super) fn states(view: &ReviewView<'_>) -> Phrase {
    let review = view.review;
    let mut phrase = match review.workspace.as_str() {
        "." | "" => Phrase::new("base "),
        workspace => Phrase::default().name(workspace).words(": base "),
    };
    phrase = phrase.name(review.base.name.as_str());
    if let Some(commit) = &review.base.commit {
        phrase = phrase.words(" (").name(short_hash(commit)).words(")");
    }
    phrase = phrase.words(" → head");
    if let Some(commit) = &review.head.commit {
        phrase = phrase.words(" ").name(short_hash(commit));
    }
    phrase.words(format!("; exit code {}", review.exit))
}

/// Returns the sentence about output files that the review is not about; empty without such files.
pub(super) fn not_judged(view: &ReviewView<'_>) -> Phrase {
    let NotJudged { nested, fixtures } = &view.review.head.not_judged;
    let output_files = |count| number(count, "output file");
    let mut phrase = Phrase::default();
    if !nested.is_empty() {
        let workspace = if nested.len() == 1 { "workspace" } else { "workspaces" };
        let inside = format!("not reviewed here: {} of the {workspace} ", output_files(nested.values().sum()));
        phrase = phrase.words(inside).names(nested.keys().map(String::as_str), MAXIMUM_NAMES);
    }
    if *fixtures > 0 {
        let start = if nested.is_empty() { "not reviewed: " } else { "; " };
        phrase = phrase.words(format!("{start}{}, by ", output_files(*fixtures))).name("spec.fixtures");
    }
    phrase
}

/// Returns the first 12 digits of a hash.
pub(super) fn short_hash(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Returns the sentences about the needed approvals: the effect, the approvers and the place of the rule.
pub(super) fn approvals(view: &ReviewView<'_>) -> Vec<Entry> {
    let approvals = &view.review.approvals;
    let mut entries: Vec<Entry> = Vec::new();
    for needed in &approvals.needed {
        let mut phrase = Phrase::new("needs ");
        phrase = match needed.approvers.as_slice() {
            [] => phrase.words("a review"),
            approvers if needed.count > 1 => {
                phrase.words(format!("{} of ", grouped(needed.count))).then(words::names(approvers))
            }
            approvers => phrase.then(words::names(approvers)),
        };
        phrase = phrase.words(": ").then(Phrase::sentence(&needed.why));
        if let Some(rule) = &needed.rule {
            phrase = phrase.words(", by the rule at ").place(view.earlier_place(rule));
        }
        entries.push(Entry::new(phrase));
    }
    if !approvals.given.is_empty() {
        entries.push(Entry::new(Phrase::new("approved by ").then(words::names(&approvals.given))));
    }
    if !approvals.missing.is_empty() && !approvals.given.is_empty() {
        entries.push(Entry::new(Phrase::new("missing: ").then(words::names(&approvals.missing))));
    }
    entries
}

/// Whether a review asks for approvals.
pub(super) fn needs_approval(view: &ReviewView<'_>) -> bool {
    view.review.verdict == Some(Verdict::NeedsApproval)
}

/// Returns the dangers of the application.
pub(super) fn hazards(view: &ReviewView<'_>) -> Vec<Entry> {
    view.review.hazards.iter().map(|hazard| words::hazard(view, hazard)).collect()
}

/// Returns the differences of the inputs, and the new and removed accounts.
pub(super) fn ground(view: &ReviewView<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = view.review.ground.iter().map(words::ground).collect();
    let accounts = &view.review.accounts;
    for (word, list) in [("new", &accounts.added), ("removed", &accounts.removed)] {
        if !list.is_empty() {
            let count = number(list.len(), &format!("{word} account"));
            let names = words::names(list);
            entries.push(Entry::new(Phrase::new(count).words(" with the effects of an unchanged class: ").then(names)));
        }
    }
    entries
}

/// Returns the changes of pods, nodes, the applier and lifetimes.
pub(super) fn pods(view: &ReviewView<'_>) -> Vec<Entry> {
    let review = view.review;
    let pods = review.pods.iter().map(|change| words::pod(view, change));
    let nodes = review.nodes.iter().map(words::node);
    let applier = review.applier.iter().map(words::applier);
    let lifetimes = review.lifetimes.iter().map(|change| words::lifetime(view, change));
    pods.chain(nodes).chain(applier).chain(lifetimes).collect()
}

/// Returns the changes of the AccessTests.
pub(super) fn tests(view: &ReviewView<'_>) -> Vec<Entry> {
    let tests = &view.review.tests;
    let mut entries: Vec<Entry> = tests.failing.iter().map(|test| failed(view, test, "fails", false)).collect();
    // A test of both states that fails is one entry.
    let is_known = |test: &&FailedTest| !tests.failing.iter().any(|failing| failing.test == test.test);
    let earlier = tests.base_failing.iter().filter(is_known);
    entries.extend(earlier.map(|test| failed(view, test, "of the base fails", true)));
    entries.extend(tests.removed.iter().map(|expectation| removed(view, expectation)));
    entries.extend(tests.obsolete.iter().map(|removed| removed_expectation(view, removed, "obsolete")));
    for accepted in &tests.accepted {
        let phrase = Phrase::new("accepted: ").name(accepted.code.as_str()).words(" at ");
        let hides = if accepted.hides_new { ", and it hides a new finding" } else { "" };
        entries.push(Entry::new(phrase.place(view.place(&accepted.place)).words(hides)));
    }
    entries
}

fn failed(view: &ReviewView<'_>, test: &FailedTest, word: &'static str, is_earlier: bool) -> Entry {
    let place = if is_earlier { view.earlier_place(&test.place) } else { view.place(&test.place) };
    let phrase = Phrase::new("AccessTest ").name(test.test.as_str()).words(format!(" {word}"));
    let phrase = phrase.then(words::on_targets(&test.targets));
    let phrase = phrase.words(format!(": {} at ", number(test.failures, "question"))).place(place);
    let mut entry = Entry::new(phrase).rated(EffectSeverity::High);
    for question in test.first.iter().take(MAXIMUM_QUESTIONS) {
        entry = entry.with(Phrase::sentence(question));
    }
    let more = test.failures.saturating_sub(test.first.len().min(MAXIMUM_QUESTIONS));
    entry.with(Phrase::default().words(if more > 0 { format!("and {} more", grouped(more)) } else { String::new() }))
}

/// Returns an expectation that is no longer asked.
pub(super) fn removed(view: &ReviewView<'_>, removed: &RemovedExpectation) -> Entry {
    removed_expectation(view, removed, "removed or narrower")
}

fn removed_expectation(view: &ReviewView<'_>, removed: &RemovedExpectation, word: &'static str) -> Entry {
    let phrase = Phrase::new("expectation ")
        .name(format!("{}[{}]", removed.expectation, removed.index))
        .words(" of ")
        .name(removed.test.as_str())
        .words(format!(" {word}, "))
        .words(if removed.would_fail { "and it would fail: " } else { "and it would pass: " })
        .then(Phrase::sentence(&removed.question))
        .words(" at ")
        .place(view.earlier_place(&removed.place));
    let severity = if removed.would_fail { EffectSeverity::High } else { EffectSeverity::Info };
    Entry::new(phrase).rated(severity)
}

/// Returns the new findings, and the fixed ones without a severity.
pub(super) fn findings(view: &ReviewView<'_>) -> Vec<Entry> {
    let findings = &view.review.findings;
    let new = findings.new.iter().map(|found| finding(view, found, "").rated(found.severity));
    new.chain(findings.fixed.iter().map(|found| finding(view, found, "fixed: "))).collect()
}

fn finding(view: &ReviewView<'_>, finding: &ReviewedFinding, word: &'static str) -> Entry {
    let phrase = Phrase::new(word).name(finding.code.as_str()).words(": ").then(Phrase::sentence(&finding.message));
    let phrase = phrase.then(words::on_targets(&finding.targets));
    let place = finding.path.as_ref().map(|path| match finding.line {
        Some(line) => format!("{path}:{line}"),
        None => path.clone(),
    });
    let entry = match place {
        Some(place) => Entry::new(phrase.words(", ").place(view.place(&place))),
        None => Entry::new(phrase),
    };
    if finding.also.is_empty() {
        return entry;
    }
    entry.with(Phrase::new("also: ").names(finding.also.iter().map(String::as_str), 2 * MAXIMUM_NAMES))
}

/// Returns the numbers of known and accepted findings; none without such findings.
pub(super) fn known_findings(view: &ReviewView<'_>) -> Option<String> {
    let findings = &view.review.findings;
    let known = number(findings.known, "known finding");
    let accepted = number(findings.accepted, "accepted finding");
    match (findings.known, findings.accepted) {
        (0, 0) => None,
        (_, 0) => Some(known),
        (0, _) => Some(accepted),
        _ => Some(format!("{known}, {accepted}")),
    }
}

/// Returns the diagnostics of both states.
pub(super) fn diagnostics(view: &ReviewView<'_>) -> Vec<Entry> {
    view.review.diagnostics.iter().map(|record| diagnostic(view, record)).collect()
}

fn diagnostic(view: &ReviewView<'_>, record: &FindingRecord) -> Entry {
    let level = if record.is_error() { "error " } else { "warning " };
    let mut phrase = Phrase::new(level).name(record.code.as_str()).words(": ").then(Phrase::sentence(&record.message));
    if let Some(place) = &record.place {
        phrase = phrase.words(", ").place(view.place(&format!("{}:{}", place.path, place.line)));
    }
    let help = record.help.iter().take(1).map(|help| Phrase::new("help: ").then(Phrase::sentence(help)));
    help.fold(Entry::new(phrase), Entry::with)
}

/// Returns the sections of the comparison without a difference, and the sections that could not be compared.
pub(super) fn unchanged(view: &ReviewView<'_>) -> Vec<Phrase> {
    let review = view.review;
    let differs = |section: &str| match section {
        "access" => !review.effects.is_empty() || !review.paths.is_empty(),
        "pods" | "admission" => !review.pods.is_empty(),
        "nodes" => !review.nodes.is_empty(),
        "applier" => !review.applier.is_empty(),
        "lifetimes" => !review.lifetimes.is_empty(),
        _ => false,
    };
    let equal = review.compared.iter().filter(|compared| compared.comparable && !differs(&compared.section));
    let equal: Vec<&str> = equal.map(|compared| compared.section.as_str()).collect();
    let mut lines = Vec::new();
    let targets: std::collections::BTreeSet<&str> =
        review.compared.iter().flat_map(|compared| &compared.targets).map(String::as_str).collect();
    let targets = Phrase::new(" on ").names(targets, MAXIMUM_NAMES);
    lines.push(match equal.as_slice() {
        [] => Phrase::new("no section of the comparison"),
        sections => Phrase::sentence(&sections.join(", ")).then(targets),
    });
    for compared in review.compared.iter().filter(|compared| !compared.comparable) {
        let phrase = Phrase::new("not comparable: ").then(Phrase::sentence(&compared.section));
        let phrase = phrase.then(words::on_targets(&compared.targets)).words(": ").then(words::names(&compared.why));
        lines.push(phrase);
    }
    lines
}

/// Returns the numbers of objects by their difference, one line for each target.
pub(super) fn object_counts(view: &ReviewView<'_>) -> Vec<Phrase> {
    let counts = view.review.objects.counts.iter();
    counts
        .map(|(target, counts)| {
            Phrase::default().name(target.as_str()).words(format!(": {}", crate::human::counts(*counts)))
        })
        .collect()
}
