//! The verdict of a review: one of five, always given.

use bailiwick_workspace::words::number;

use super::approvals::ApprovableEffect;
use super::assembly::OTHER_OBJECTS;
use super::record::{
    ApprovalState, ChangeReview, Direction, EffectChange, EffectSeverity, HazardKind, PathChangeKind, Verdict,
};

/// The verdict with everything that follows from it.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) line: String,
    pub(super) severity: EffectSeverity,
    pub(super) exit: u8,
    pub(super) approvals: ApprovalState,
}

/// Judges the sections of a review. `effects` are its effects, the worst first.
pub(super) fn judge(review: &ChangeReview, effects: &[ApprovableEffect], approvals: ApprovalState) -> Judged {
    let severity = severity(review);
    let worst = effects.first().map_or("a change", |effect| &effect.words);
    let claimed = review.compared.iter().filter(|section| section.section != OTHER_OBJECTS);
    let missing: Vec<&String> = claimed.flat_map(|section| &section.why).collect();
    let verdict = if !approvals.needed.is_empty() {
        Verdict::NeedsApproval
    } else if !missing.is_empty() {
        Verdict::CannotTell
    } else if has_more(review) || has_other(review) {
        Verdict::WithinLimits
    } else if has_less(review) {
        Verdict::OnlyLess
    } else {
        Verdict::NoChange
    };
    let mut line = match verdict {
        Verdict::NeedsApproval => {
            format!("{}, needs {}: {worst}", word(review), approvals.approvers())
        }
        Verdict::CannotTell => {
            let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            format!("cannot tell: {} {verb} missing", names.join(", "))
        }
        Verdict::WithinLimits => {
            let count = review.effects.len() + review.paths.len() + review.pods.len() + review.lifetimes.len();
            format!(
                "{}, within the approved limits: {}, worst {}",
                word(review),
                number(count, "effect"),
                severity.word()
            )
        }
        Verdict::OnlyLess => only_less(review),
        Verdict::NoChange => {
            let differing =
                review.objects.counts.values().map(|counts| counts.created + counts.changed + counts.deleted);
            let targets = review.objects.counts.len();
            let objects = number(differing.sum(), "object");
            let differ = if objects == "1 object" { "differs" } else { "differ" };
            format!("no effective change (proven): {objects} {differ} on {}", number(targets, "target"))
        }
    };
    line.push_str(&appended(review));
    let fails = !review.tests.failing.is_empty() || review.tests.removed.iter().any(|removed| removed.would_fail);
    let is_no = matches!(verdict, Verdict::CannotTell)
        || (verdict == Verdict::NeedsApproval && !approvals.is_complete())
        || fails;
    Judged { verdict, line, severity, exit: u8::from(is_no), approvals }
}

/// Returns the highest severity of effects, paths, pods, lifetimes, hazards above `info`, and disarmed tests.
fn severity(review: &ChangeReview) -> EffectSeverity {
    let effects = review.effects.iter().map(|effect| effect.severity);
    let paths = review.paths.iter().filter(|path| path.change != PathChangeKind::Gone).map(|path| path.severity);
    let pods = review.pods.iter().map(|pod| pod.severity);
    let lifetimes = review.lifetimes.iter().map(|lifetime| lifetime.severity);
    let hazards =
        review.hazards.iter().map(|hazard| hazard.severity).filter(|severity| *severity > EffectSeverity::Info);
    let nodes = review.nodes.iter().map(|node| node.severity);
    let disarmed = is_disarmed(review).then_some(EffectSeverity::High);
    let all = effects.chain(paths).chain(pods).chain(lifetimes).chain(hazards).chain(nodes).chain(disarmed);
    all.fold(EffectSeverity::None, EffectSeverity::max)
}

/// Whether an expectation is removed that would fail, or a new accepted warning hides a new finding.
fn is_disarmed(review: &ChangeReview) -> bool {
    review.tests.removed.iter().any(|removed| removed.would_fail)
        || review.tests.accepted.iter().any(|accepted| accepted.hides_new)
}

/// Whether a subject gains, or more pods are admitted.
fn has_more(review: &ChangeReview) -> bool {
    review.effects.iter().any(|effect| effect.change == EffectChange::Gained)
        || review.paths.iter().any(|path| path.change != PathChangeKind::Gone)
        || review.pods.iter().any(|pod| pod.direction == Direction::Wider)
        || review.lifetimes.iter().any(|one| matches!(one.direction, Direction::Longer | Direction::Removed))
        || review.nodes.iter().any(|node| !node.gained.is_empty())
        || !review.accounts.added.is_empty()
}

/// Whether something changes that is neither more nor less.
fn has_other(review: &ChangeReview) -> bool {
    review.pods.iter().any(|pod| matches!(pod.direction, Direction::Both | Direction::Order) || !pod.refused.is_empty())
        || review.applier.iter().any(|applier| applier.is_new)
        || review.hazards.iter().any(|hazard| hazard.kind == HazardKind::SettingChanged)
}

/// Whether a subject loses, or fewer pods are admitted.
fn has_less(review: &ChangeReview) -> bool {
    let has_hazard = review.hazards.iter().any(|hazard| hazard.severity > EffectSeverity::Info);
    !review.effects.is_empty()
        || !review.paths.is_empty()
        || !review.pods.is_empty()
        || !review.lifetimes.is_empty()
        || !review.nodes.is_empty()
        || !review.accounts.removed.is_empty()
        || has_hazard
}

fn word(review: &ChangeReview) -> &'static str {
    if has_more(review) {
        "more"
    } else if has_other(review) || !has_less(review) {
        "changed"
    } else {
        "less"
    }
}

fn only_less(review: &ChangeReview) -> String {
    let lost = review.effects.iter().filter(|effect| effect.change == EffectChange::Lost);
    let subjects: usize = lost.filter_map(|effect| review.classes.get(effect.class)).map(|class| class.count).sum();
    if subjects > 0 {
        let verb = if subjects == 1 { "loses" } else { "lose" };
        return format!("only less: {} {verb} access; nobody gains", number(subjects, "subject"));
    }
    let changes = review.pods.len() + review.lifetimes.len() + review.paths.len() + review.accounts.removed.len();
    format!("only less: {}; nobody gains", number(changes, "change"))
}

/// Returns the end of the line of every verdict: failed questions, removed expectations, stale output.
fn appended(review: &ChangeReview) -> String {
    let mut text = String::new();
    if review.tests.failures > 0 {
        let verb = if review.tests.failures == 1 { "fails" } else { "fail" };
        text.push_str(&format!("; {} {verb}", number(review.tests.failures, "test question")));
    }
    let removed = review.tests.removed.len();
    if removed > 0 {
        text.push_str(&format!("; {} removed", number(removed, "expectation")));
    }
    if !review.head.is_output_current {
        text.push_str("; out/ is not up to date");
    }
    text
}
