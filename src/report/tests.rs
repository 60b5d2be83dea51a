//! Failures of AccessTests, for people and for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::access::{DecisionRecord, DecisionReport, place_text};
use super::human::number;
use super::page::Page;
use super::result::CommandResult;
use super::run::TestResult;
use crate::access::Answer;
use crate::app::{FailedQuestion, LoadedWorld, TestEvent, TestRun};
use crate::diag::foreign;
use crate::model::{AccessCheck, Expectation};

/// The failures of a run in both forms.
#[derive(Debug, Default)]
pub struct Failures {
    text: Page,
    /// The failures as JSON.
    pub records: Vec<TestFailure>,
    /// The failures of the expectation that is being asked, one line each.
    lines: Vec<String>,
    results: Vec<TestResult>,
}

/// A question of an AccessTest with another answer than the expected one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TestFailure {
    /// The decision of RBAC.
    #[serde(flatten)]
    pub decision: DecisionRecord,
    /// The name of the AccessTest.
    pub test: String,
    /// The cluster configuration of the workspace.
    pub target: String,
    /// `must` or `must not`.
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
                self.add_result(loaded, check, *questions, *failures);
            }
        }
    }

    /// Adds an expectation to the result of its test on a target.
    fn add_result(&mut self, loaded: &LoadedWorld, check: &AccessCheck, questions: usize, failed: usize) {
        let failures = std::mem::take(&mut self.lines);
        let (target, test) = (loaded.target.clone().unwrap_or_default(), (*check.meta.name).to_owned());
        match self.results.last_mut().filter(|result| result.target == target && result.test == test) {
            Some(result) => {
                result.questions += questions;
                result.failed += failed;
                result.failures.extend(failures);
            }
            None => self.results.push(TestResult { target, test, questions, failed, failures }),
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
        let (expected, found) = match (check.expectation, answer) {
            (Expectation::Must, Answer::Dead) => ("must", "but no API server accepts the request"),
            (Expectation::Must, Answer::Unknown) => ("must", "and the decision is unknown"),
            (Expectation::Must, _) => ("must", "and may not"),
            (Expectation::MustNot, Answer::Unknown) => ("must not", "and the decision is unknown"),
            (Expectation::MustNot, _) => ("must not", "and may"),
        };
        let place = place_text(check.origin, &loaded.files);
        let name = &check.meta.name;
        let line = format!("FAIL {name} on `{target}` ({place}): {tested} {expected} {request}, {found}");
        writeln!(self.text, "{line}");
        self.lines.push(foreign::line(&line).into_owned());
        self.text.append(&report.reasons());
        self.text.push_str("\n");
        self.records.push(TestFailure {
            decision: report.record(),
            test: (**name).to_owned(),
            target: target.to_owned(),
            expected: expected.to_owned(),
            place,
        });
    }

    /// Returns the failures in words.
    pub fn text(&self) -> &str {
        self.text.as_str()
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
