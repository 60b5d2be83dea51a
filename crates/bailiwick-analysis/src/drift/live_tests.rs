//! The AccessTests and isolations of a target, judged on the live objects of its cluster.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_policy::model::Target;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::words::number;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use bailiwick_yaml::{ListForm, Tree};

use super::comparison::LiveComparison;
use crate::isolation;
use crate::loaded_world::{LoadedWorld, WorldOptions, load_live};
use crate::test::{TestEvent, TestRun, test_checks};

/// Runs the AccessTests of a target on the live objects, and judges its isolations if the dump has nodes.
pub(super) fn judge_live(
    comparison: &LiveComparison<'_>,
    desired: &LoadedWorld,
    each: &mut dyn FnMut(TestEvent<'_>),
    broken: &mut Sink,
) -> Result<TestRun, RunError> {
    let LiveComparison { workspace, target, live, dump, .. } = comparison;
    let mut tests = TestRun::default();
    let checks = test_checks(workspace, target, &[]);
    let judges_nodes = isolation::is_asserted(workspace, target) && live.has_kind("", "Node");
    if judges_nodes || !checks.is_empty() {
        let options = WorldOptions { with_surroundings: judges_nodes, ..checks.world_options() };
        let mut each_tree = |visit: &mut dyn FnMut(&Tree)| match dump.each_tree(visit)? {
            ListForm::Items => Ok(()),
            ListForm::Other => Err(RunError::new("the dump changes while it is read")),
        };
        let loaded: LoadedWorld = load_live(workspace, target, &mut each_tree, &options, &mut Sink::new())?;
        if judges_nodes {
            isolation::judge(workspace, target, &loaded, broken);
        }
        let mut failed = FailedExpectations::default();
        tests.ask_all(&loaded, &checks, &mut |event| {
            failed.add(&event);
            each(event);
        });
        let mut failed_by_policies = FailedExpectations::default();
        TestRun::default().ask_all(desired, &checks, &mut |event| failed_by_policies.add(&event));
        failed.without(&failed_by_policies).for_each(|found| broken.push(found));
    }
    Ok(tests)
}

/// Whether AccessTests are asked of the policies, too.
pub(super) fn are_asked(workspace: &Workspace, target: &Target) -> bool {
    !test_checks(workspace, target, &[]).is_empty()
}

/// The failed expectations of a run of tests, by their places.
#[derive(Default)]
struct FailedExpectations(BTreeMap<Origin, FailedExpectation>);

/// The numbers of an expectation with failures.
struct FailedExpectation {
    test: String,
    questions: usize,
    failures: usize,
}

impl FailedExpectations {
    fn add(&mut self, event: &TestEvent<'_>) {
        let (name, origin, questions, failures) = match event {
            TestEvent::Asked { check, questions, failures, .. } => {
                (&check.meta.name, check.origin, *questions, *failures)
            }
            TestEvent::PathsAsked { check, questions, failures, .. } => {
                (&check.meta.name, check.origin, *questions, *failures)
            }
            _ => return,
        };
        if failures > 0 {
            self.0.insert(origin, FailedExpectation { test: (**name).to_owned(), questions, failures });
        }
    }

    /// Returns the errors about expectations that fail here and not in the other run.
    fn without(&self, other: &Self) -> impl Iterator<Item = Diagnostic> {
        let own = self.0.iter().filter(|(origin, _)| !other.0.contains_key(origin));
        own.map(|(origin, FailedExpectation { test, questions, failures })| {
            let message = format!(
                "the AccessTest `{test}` passes on the policies and fails in the cluster: {failures} of {}",
                number(*questions, "question")
            );
            let help = "undo the difference that gives or takes the access, or change the test";
            Diagnostic::error(codes::LIVE_TEST_FAILED, message).at(*origin).help(help)
        })
    }
}
