//! The changes of the AccessTests: expectations that fail, that are removed, and that would fail if they were still there.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_analysis::lint::{Acceptance, acceptances};
use bailiwick_analysis::test::{TestEvent, TestRun, access_tests, test_checks};
use bailiwick_policy::model::{AccessCheck, Expectation, PathCheck};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::words::place_text;
use bailiwick_yaml::diag::{Files, Origin};

use super::paths::graph;
use super::record::{AcceptedWarning, FailedTest, RemovedExpectation, TestChanges};
use super::state::TargetState;

/// How many failed questions of a test are named.
const MAXIMUM_NAMED: usize = 5;

/// An expectation by its content: the test, the kind, and the question.
type ExpectationKey = (String, &'static str, String);

/// The results of the AccessTests of both states, target by target.
#[derive(Default)]
pub(super) struct TestComparison {
    failing: BTreeMap<String, FailedTest>,
    base_failing: BTreeMap<String, FailedTest>,
    /// The expectations of the earlier state with a failed question in the reviewed state.
    failed_before: BTreeSet<ExpectationKey>,
    /// The expectations of the earlier state about namespaces that are gone.
    obsolete: BTreeSet<ExpectationKey>,
    /// Expectations with a failed question that matters: about a namespace that is there, or a right that no subject may have.
    lost: BTreeSet<ExpectationKey>,
    questions: usize,
    failures: usize,
}

impl TestComparison {
    /// Asks the AccessTests of both states about the reviewed state of a target.
    pub(super) fn add(&mut self, base: Option<&TargetState<'_>>, head: &TargetState<'_>) {
        let checks = access_tests(head.workspace, head.target, &[]);
        let mut run = TestRun::default();
        let target = &head.target.name;
        let files = &head.workspace.project().files;
        run.ask(&head.loaded, &checks, &mut |event| record(&event, target, files, &mut self.failing));
        let paths = test_checks(head.workspace, head.target, &[]).paths;
        let before = base.map_or_else(Vec::new, |base| test_checks(base.workspace, base.target, &[]).paths);
        let graph = if paths.is_empty() && before.is_empty() { None } else { graph(head, &[]) };
        if let Some(graph) = &graph {
            run.ask_paths(&head.loaded, graph, &paths, &mut |event| record(&event, target, files, &mut self.failing));
        }
        self.questions += run.questions;
        self.failures += run.failures;
        let Some(base) = base else { return };
        for (graph, check) in graph.iter().flat_map(|graph| before.iter().map(move |check| (graph, check))) {
            let mut run = TestRun::default();
            let files = &base.workspace.project().files;
            let mut add = |event: TestEvent<'_>| record(&event, target, files, &mut self.base_failing);
            run.ask_paths(&head.loaded, graph, &[check], &mut add);
            if run.failures > 0 {
                self.failed_before.insert(path_key(check));
            }
        }
        let known = head.loaded.world.known_namespaces();
        let before = access_tests(base.workspace, base.target, &[]);
        let files = &base.workspace.project().files;
        for check in before {
            let mut run = TestRun::default();
            run.ask(&head.loaded, &[check], &mut |event| record(&event, target, files, &mut self.base_failing));
            let is_gone = |namespace: &String| namespace != "*" && !known.contains(namespace);
            let is_obsolete = !check.namespaces.is_empty() && check.namespaces.iter().all(is_gone);
            if run.failures > 0 {
                self.failed_before.insert(key(check));
                if !is_obsolete || check.expectation == Expectation::MustNot {
                    self.lost.insert(key(check));
                }
            }
            if is_obsolete {
                self.obsolete.insert(key(check));
            }
        }
    }

    /// Whether every question that fails here fails in another comparison, too.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let fails = |test: &FailedTest, tests: &BTreeMap<String, FailedTest>| {
            tests.get(&test.test).is_some_and(|own| {
                test.failures <= own.failures && test.targets.iter().all(|target| own.targets.contains(target))
            })
        };
        self.failing.values().all(|test| fails(test, &other.failing))
            && self.base_failing.values().all(|test| fails(test, &other.base_failing))
            && self.failed_before.is_subset(&other.failed_before)
    }

    /// Returns the changes of the tests. `hiding` has the policy or workspace file, and the code, of each acceptance of a new
    /// finding.
    pub(super) fn finish(
        self,
        base: Option<&Workspace>,
        head: &Workspace,
        root: &str,
        hiding: &BTreeSet<(String, String)>,
    ) -> TestChanges {
        let mut removed = Vec::new();
        let mut obsolete = Vec::new();
        if let Some(base) = base {
            let after = KeptExpectations::of(head);
            let mut positions: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
            for (key, origin, targets) in keys(base) {
                let position = positions.entry((key.0.clone(), key.1)).or_default();
                let index = *position;
                *position += 1;
                if after.has(&key, targets) {
                    continue;
                }
                let place = place_text(origin, &base.project().files);
                let expectation = RemovedExpectation {
                    test: key.0.clone(),
                    expectation: key.1.to_owned(),
                    index,
                    would_fail: self.failed_before.contains(&key),
                    question: key.2.clone(),
                    place: format!("{root}{}", without_column(&place)),
                };
                let is_obsolete = self.obsolete.contains(&key) && !self.lost.contains(&key);
                let list = if is_obsolete { &mut obsolete } else { &mut removed };
                list.push(expectation);
            }
        }
        let from_root = |mut test: FailedTest| {
            test.place.insert_str(0, root);
            test
        };
        TestChanges {
            failing: self.failing.into_values().map(from_root).collect(),
            base_failing: self.base_failing.into_values().map(from_root).collect(),
            removed,
            obsolete,
            accepted: accepted(base, head, root, hiding),
            questions: self.questions,
            failures: self.failures,
            suggested: None,
        }
    }
}

/// Records a failed question.
fn record(event: &TestEvent<'_>, target: &str, files: &Files, tests: &mut BTreeMap<String, FailedTest>) {
    let (meta, origin, more, words) = match event {
        TestEvent::Failure(failed) => {
            let verb = match failed.check.expectation {
                Expectation::Must => "must be able to",
                Expectation::MustNot => "must not be able to",
            };
            let words = format!("{} {verb} {}", failed.tested, failed.request);
            (&failed.check.meta, failed.check.origin, 1, Some(words))
        }
        TestEvent::Reached(reached) => {
            let words = format!("{} must not become {}", reached.tested, reached.check.power);
            (&reached.check.meta, reached.check.origin, 1, Some(words))
        }
        TestEvent::MoreFailures(_) => return,
        TestEvent::Asked { check, failures, .. } => (&check.meta, check.origin, 0, (*failures > 0).then(String::new)),
        TestEvent::PathsAsked { check, failures, .. } => {
            (&check.meta, check.origin, 0, (*failures > 0).then(String::new))
        }
    };
    let Some(words) = words else { return };
    let test = tests.entry(meta.name.to_string()).or_insert_with(|| FailedTest {
        test: meta.name.to_string(),
        targets: Vec::new(),
        failures: 0,
        first: Vec::new(),
        place: without_column(&place_text(origin, files)).to_owned(),
    });
    if let TestEvent::Asked { failures, .. } | TestEvent::PathsAsked { failures, .. } = event {
        test.failures += failures;
    }
    if !test.targets.iter().any(|known| known == target) {
        test.targets.push(target.to_owned());
    }
    if more > 0 && test.first.len() < MAXIMUM_NAMED && !test.first.contains(&words) {
        test.first.push(words);
    }
}

/// Returns the expectations of a workspace by their content, with their places and targets.
fn keys(workspace: &Workspace) -> impl Iterator<Item = (ExpectationKey, Origin, &BTreeSet<String>)> {
    let facts = &workspace.project().facts;
    let access = facts.all().map(|check: &AccessCheck| (key(check), check.origin, &*check.meta.targets));
    access.chain(facts.all().map(|check: &PathCheck| (path_key(check), check.origin, &*check.meta.targets)))
}

/// The expectations of the reviewed state.
struct KeptExpectations<'w> {
    /// The names of the targets of each expectation.
    targets: BTreeMap<ExpectationKey, BTreeSet<&'w str>>,
    /// The names of the targets.
    known: BTreeSet<&'w str>,
}

impl<'w> KeptExpectations<'w> {
    fn of(head: &'w Workspace) -> Self {
        let mut targets: BTreeMap<ExpectationKey, BTreeSet<&str>> = BTreeMap::new();
        for (key, _, own) in keys(head) {
            targets.entry(key).or_default().extend(own.iter().map(String::as_str));
        }
        let known = head.project().workspace.targets.iter().map(|target| target.name.as_str()).collect();
        Self { targets, known }
    }

    /// Whether an expectation is there, on the targets of it that are there.
    fn has(&self, key: &ExpectationKey, wanted: &BTreeSet<String>) -> bool {
        let Some(own) = self.targets.get(key) else { return false };
        let mut wanted = wanted.iter().map(String::as_str).filter(|target| self.known.contains(target));
        wanted.all(|target| own.contains(target))
    }
}

/// Returns the content of an expectation about a power.
fn path_key(check: &PathCheck) -> ExpectationKey {
    let subjects: Vec<String> = check.who.iter().map(ToString::to_string).collect();
    let possible = if check.allows_possible { " by a proven path" } else { "" };
    let question = format!("{}: {}{possible}", subjects.join(", "), check.power);
    (check.meta.name.to_string(), "mustNotBecome", question)
}

/// Returns the content of an expectation.
fn key(check: &AccessCheck) -> ExpectationKey {
    (check.meta.name.to_string(), kind(check), question(check))
}

fn kind(check: &AccessCheck) -> &'static str {
    match check.expectation {
        Expectation::Must => "must",
        Expectation::MustNot => "mustNot",
    }
}

/// Returns an expectation in words.
fn question(check: &AccessCheck) -> String {
    let subjects: Vec<String> = check.who.iter().map(ToString::to_string).collect();
    let parts = [&check.verbs, &check.resources, &check.urls, &check.namespaces, &check.names];
    let [verbs, resources, urls, namespaces, names] = parts.map(|list| list.join(","));
    let scope = if namespaces.is_empty() { String::new() } else { format!(" in {namespaces}") };
    let named = if names.is_empty() { String::new() } else { format!(" named {names}") };
    format!("{}: {verbs} {resources}{urls}{named}{scope}", subjects.join(", "))
}

/// Returns the warnings that policies and the workspace file newly accept.
fn accepted(
    base: Option<&Workspace>,
    head: &Workspace,
    root: &str,
    hiding: &BTreeSet<(String, String)>,
) -> Vec<AcceptedWarning> {
    let Some(base) = base else { return Vec::new() };
    let before: BTreeSet<(String, String)> =
        acceptances(base).into_iter().map(|acceptance| (acceptance.by, acceptance.code)).collect();
    let mut new = acceptances(head);
    new.retain(|acceptance| !before.contains(&(acceptance.by.clone(), acceptance.code.clone())));
    new.sort();
    let warning = |acceptance: Acceptance| {
        let place = place_text(acceptance.place, &head.project().files);
        AcceptedWarning {
            place: format!("{root}{}", without_column(&place)),
            hides_new: hiding.contains(&(acceptance.by, acceptance.code.clone())),
            code: acceptance.code,
        }
    };
    new.into_iter().map(warning).collect()
}

/// Returns `path:line` of `path:line:column`.
fn without_column(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(place, _)| place)
}
