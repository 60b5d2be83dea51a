//! JUnit XML: AccessTests by target, dangers, and the verdict.

use bailiwick_review::{ChangeReview, EffectSeverity, FailedTest};
use bailiwick_yaml::diag::foreign;

use super::results::hazard_code;
use super::view::ReviewView;
use super::words::{self, number};
use super::{ReviewFormOptions, sections};
use crate::junit::{Case, CaseOutcome, Suite, document};

/// The most cases.
const MAXIMUM_CASES: usize = 10_000;

/// Returns a review as JUnit XML, failures first.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let view = ReviewView::new(review, options);
    let mut room = MAXIMUM_CASES;
    let mut suites = vec![Suite::new("review".to_owned(), vec![verdict(&view)])];
    let hazards: Vec<Case> = hazards(&view);
    if !hazards.is_empty() {
        suites.push(Suite::new("hazards".to_owned(), limited(hazards, &mut room)));
    }
    let tests = &review.tests;
    for test in &tests.failing {
        suites.extend(suites_of(test, "AccessTest", &mut room));
    }
    let is_new = |test: &&FailedTest| !tests.failing.iter().any(|failing| failing.test == test.test);
    for test in tests.base_failing.iter().filter(is_new) {
        suites.extend(suites_of(test, "AccessTest of the base", &mut room));
    }
    let passed = tests.questions.saturating_sub(tests.failures);
    if passed > 0 {
        let name = format!("{} as expected", number(passed, "answer"));
        let case = Case { name, class: "AccessTest".to_owned(), outcome: CaseOutcome::Passed };
        suites.push(Suite::new("AccessTest".to_owned(), vec![case]));
    }
    document("bailiwick review", &suites)
}

/// Returns the first cases, and takes them from the room.
fn limited(mut cases: Vec<Case>, room: &mut usize) -> Vec<Case> {
    cases.truncate(*room);
    *room -= cases.len();
    cases
}

/// Returns the verdict as a case; diagnostics are an error of the case.
fn verdict(view: &ReviewView<'_>) -> Case {
    let review = view.review;
    let lines = |entries: Vec<words::Entry>| {
        entries.iter().map(|entry| format!("\n{}", entry.text.plain())).collect::<String>()
    };
    let line = foreign::line(&review.line).into_owned();
    let outcome = match (review.verdict, review.exit) {
        (None, _) => CaseOutcome::Broken("invalid".to_owned(), format!("{line}{}", lines(sections::diagnostics(view)))),
        (Some(_), 0) => CaseOutcome::Passed,
        (Some(_), _) => {
            CaseOutcome::Failed("verdict".to_owned(), format!("{line}{}", lines(sections::approvals(view))))
        }
    };
    Case { name: line, class: "review".to_owned(), outcome }
}

fn hazards(view: &ReviewView<'_>) -> Vec<Case> {
    let mut hazards: Vec<_> = view.review.hazards.iter().collect();
    hazards.sort_by_key(|hazard| hazard.severity < EffectSeverity::High);
    let cases = hazards.into_iter().map(|hazard| {
        let entry = words::hazard(view, hazard);
        let details: String = entry.details.iter().map(|detail| format!("\n{}", detail.plain())).collect();
        let text = format!("{}{details}", entry.text.plain());
        let code = hazard_code(hazard.kind);
        let outcome = match hazard.severity >= EffectSeverity::High {
            true => CaseOutcome::Failed(code.to_owned(), text),
            false => CaseOutcome::Noted(text),
        };
        Case { name: entry.text.plain(), class: code.to_owned(), outcome }
    });
    cases.collect()
}

/// Returns a suite for each target of a failed test, with a case for each question in words and one for the others.
fn suites_of(test: &FailedTest, title: &str, room: &mut usize) -> Vec<Suite> {
    let name = foreign::line(&test.test);
    let class = foreign::line(&test.place).into_owned();
    let mut suites = Vec::new();
    for target in &test.targets {
        let failed = |text: String| {
            let outcome = CaseOutcome::Failed("AccessTest".to_owned(), text.clone());
            Case { name: text, class: class.clone(), outcome }
        };
        let mut cases: Vec<Case> =
            test.first.iter().map(|question| failed(foreign::line(question).into_owned())).collect();
        let more = test.failures.saturating_sub(test.first.len());
        if more > 0 {
            cases.push(failed(format!("{} of all targets", number(more, "further failure"))));
        }
        let cases = limited(cases, room);
        if !cases.is_empty() {
            suites.push(Suite::new(format!("{title} {name} on {}", foreign::line(target)), cases));
        }
    }
    suites
}
