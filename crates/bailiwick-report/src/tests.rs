//! Failures of AccessTests, for people and for programs.

use bailiwick_access::Answer;
use bailiwick_analysis::{FailedQuestion, LoadedWorld, ReachedByTest, TestEvent, TestRun};
use bailiwick_paths::Certainty;
use bailiwick_policy::model::{Expectation, Tested};
use bailiwick_workspace::SourceRange;
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::{DecisionRecord, DecisionReport, place_text};
use super::human::number;
use super::page::Page;
use super::paths::{self, PathRecord};
use super::result::CommandResult;
use super::run::TestResult;
use super::worlds;

/// The failures of a run in both forms.
#[derive(Debug, Default)]
pub struct Failures {
    text: Page,
    /// The failures as JSON.
    pub records: Vec<TestFailure>,
    /// The failures of the expectation that is being asked, one line each.
    lines: Vec<String>,
    /// The places of these expectations.
    places: Vec<SourceRange>,
    results: Vec<TestResult>,
}

/// A question of an AccessTest with another answer than the expected one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TestFailure {
    /// The decision of RBAC; none for an expectation about a power.
    #[serde(flatten)]
    pub decision: Option<DecisionRecord>,
    /// The path to a power; none for an expectation about a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRecord>,
    /// The name of the AccessTest.
    pub test: String,
    /// The cluster configuration of the workspace.
    pub target: String,
    /// `must`, `must not`, or `must not become` with a power.
    pub expected: String,
    /// The place of the expectation, as `path:line:column`.
    pub place: String,
}

impl CommandResult for TestFailure {
    const NAME: &'static str = "test";
}

impl Failures {
    /// Adds a step of the run.
    pub fn add(&mut self, event: &TestEvent<'_>) {
        match event {
            TestEvent::Failure(failure) => self.add_failure(failure),
            TestEvent::MoreFailures(count) => {
                writeln!(self.text, "... and {} of the same expectation", number(*count, "more failure"));
                self.text.push_str("\n");
            }
            TestEvent::Asked { loaded, check, questions, failures } => {
                self.add_result(loaded, &check.meta.name, *questions, *failures);
            }
            TestEvent::Reached(reached) => self.add_reached(reached),
            TestEvent::PathsAsked { loaded, check, questions, failures } => {
                self.add_result(loaded, &check.meta.name, *questions, *failures);
            }
        }
    }

    /// Adds an expectation to the result of its test on a target.
    fn add_result(&mut self, loaded: &LoadedWorld, test: &str, questions: usize, failed: usize) {
        let (failures, places) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.places));
        let (target, test) = (loaded.target.clone().unwrap_or_default(), test.to_owned());
        match self.results.last_mut().filter(|result| result.target == target && result.test == test) {
            Some(result) => {
                result.questions += questions;
                result.failed += failed;
                result.failures.extend(failures);
                result.places.extend(places);
            }
            None => self.results.push(TestResult { target, test, questions, failed, failures, places }),
        }
    }

    /// Returns the result of each test on each target, in the order in which they were asked.
    pub fn results(&self) -> Vec<TestResult> {
        self.results.clone()
    }

    fn add_failure(&mut self, failure: &FailedQuestion<'_>) {
        let FailedQuestion { loaded, check, tested, who, request, decision, answer } = *failure;
        let report = DecisionReport { world: &loaded.world, files: &loaded.files, who, request, decision, answer };
        let target = loaded.target.as_deref().unwrap_or_default();
        let place = place_text(check.origin, &loaded.files);
        let name = &check.meta.name;
        let (expected, found) = expected_and_found(check.expectation, answer);
        let line = format!("FAIL {name} on `{target}` ({place}): {tested} {expected} {request}, {found}");
        writeln!(self.text, "{line}");
        self.lines.push(foreign::line(&line).into_owned());
        self.places.push(SourceRange::new(check.origin, &loaded.files));
        self.text.append(&worlds::memberships(loaded, &who.user));
        self.text.append(&report.reasons());
        self.text.push_str("\n");
        self.records.push(TestFailure {
            decision: Some(report.record()),
            path: None,
            test: (**name).to_owned(),
            target: target.to_owned(),
            expected: expected.to_owned(),
            place,
        });
    }

    fn add_reached(&mut self, reached: &ReachedByTest<'_>) {
        let ReachedByTest { loaded, check, tested, path } = *reached;
        let target: String = loaded.target.iter().map(String::as_str).collect();
        let (name, files) = (&check.meta.name, &loaded.files);
        let does = if path.certainty == Certainty::Proven { "does" } else { "possibly does" };
        let steps = number(path.steps.len(), "step");
        let line =
            format!("FAIL {name} on `{target}`: {tested} must not become `{}`, and {does} in {steps}", check.power);
        writeln!(self.text, "{line}");
        self.lines.push(foreign::line(&line).into_owned());
        self.places.push(SourceRange::new(check.origin, files));
        let place = place_text(check.origin, files);
        writeln!(self.text, "  expected by {place}");
        if let Tested::User(name) = tested {
            self.text.append(&worlds::memberships(loaded, name));
        }
        self.text.append(&paths::steps(path, files));
        self.text.push_str("\n");
        self.records.push(TestFailure {
            decision: None,
            path: PathRecord::list(std::slice::from_ref(path), files).into_iter().next(),
            test: (**name).to_owned(),
            target,
            expected: format!("must not become {}", check.power),
            place,
        });
    }

    /// Returns the failures in words.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }
}

/// Returns the words for an expectation, and for the answer in its place.
pub(super) fn expected_and_found(expectation: Expectation, answer: Answer) -> (&'static str, &'static str) {
    match (expectation, answer) {
        (Expectation::Must, Answer::Dead) => ("must", "but no API server accepts the request"),
        (Expectation::Must, Answer::Unknown) => ("must", "and the decision is unknown"),
        (Expectation::Must, _) => ("must", "and may not"),
        (Expectation::MustNot, Answer::Unknown) => ("must not", "and the decision is unknown"),
        (Expectation::MustNot, _) => ("must not", "and may"),
    }
}

/// Counts the tests, the questions and the failures.
pub fn counts(run: &TestRun) -> String {
    format!(
        "{}: {} asked, {} failed\n",
        number(run.tests.len(), "test"),
        number(run.questions, "question"),
        run.failures
    )
}
