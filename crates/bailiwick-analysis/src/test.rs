//! Runs the AccessTests of a workspace.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;

use bailiwick_access::{Answer, Decision, Identity, Liveness, Request, ResourceRequest, UrlRequest};
use bailiwick_codes as codes;
use bailiwick_paths::{Certainty, EscalationGraph, EscalationPath};
use bailiwick_policy::model::{AccessCheck, Expectation, PathCheck, Target, Tested};
use bailiwick_workspace::words::{grouped, number};
use bailiwick_workspace::{Diagnostics, Error, Workspace};
use bailiwick_yaml::diag::{Diagnostic, Sink};
use bailiwick_yaml::limits::MAXIMUM_QUESTIONS;
use schemars::JsonSchema;
use serde::Serialize;

use super::classes::{self, Spread};
use super::loaded_world::{LoadedWorld, WorldOptions, load_target};
use super::question::is_about_one_namespace;

/// The options of a run of AccessTests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestOptions {
    /// The names of the targets; all targets without names.
    pub targets: Vec<String>,
    /// Parts of the names of the tests to run; all tests without names.
    pub names: Vec<String>,
    /// Whether every namespace is compiled, and not one of each class of alike namespaces. The answers are the same.
    pub without_classes: bool,
}

/// How many failures of one expectation are reported.
const MAXIMUM_FAILURES: usize = 5;

/// The questions of the AccessTests that were asked.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct TestRun {
    /// The names of the tests.
    pub tests: BTreeSet<String>,
    /// How many questions were asked.
    pub questions: usize,
    /// How many questions have another answer than the expected one.
    pub failures: usize,
    /// Expectations that cannot be asked, whole or in part.
    #[serde(skip)]
    problems: Sink,
}

/// A step of a run of AccessTests that is reported.
#[derive(Debug)]
pub enum TestEvent<'t> {
    /// A question has another answer than the expected one.
    Failure(FailedQuestion<'t>),
    /// So many more questions of the same expectation have another answer than the expected one.
    MoreFailures(usize),
    /// A subject reaches a power that it must not reach.
    Reached(ReachedByTest<'t>),
    /// An expectation about a power was asked on a world.
    PathsAsked {
        /// The world of the question.
        loaded: &'t LoadedWorld,
        /// The expectation.
        check: &'t PathCheck,
        /// How many questions were asked.
        questions: usize,
        /// How many of them have another answer than the expected one.
        failures: usize,
    },
    /// An expectation was asked on a world.
    Asked {
        /// The world of the question.
        loaded: &'t LoadedWorld,
        /// The expectation.
        check: &'t AccessCheck,
        /// How many questions were asked.
        questions: usize,
        /// How many of them have another answer than the expected one.
        failures: usize,
    },
}

/// A question of an AccessTest that has another answer than the expected one.
#[derive(Debug)]
pub struct FailedQuestion<'t> {
    /// The world of the question.
    pub loaded: &'t LoadedWorld,
    /// The expectation.
    pub check: &'t AccessCheck,
    /// The subject, as it is written.
    pub tested: &'t Tested,
    /// The subject.
    pub who: &'t Identity,
    /// The verb, resource and scope of the expectation.
    pub request: &'t Request,
    /// The decision of RBAC.
    pub decision: &'t Decision,
    /// Yes, no, unknown, or dead for a request that no API server accepts.
    pub answer: Answer,
}

/// A path of a subject to a power that it must not reach.
#[derive(Debug)]
pub struct ReachedByTest<'t> {
    /// The world of the question.
    pub loaded: &'t LoadedWorld,
    /// The expectation.
    pub check: &'t PathCheck,
    /// The subject, as it is written.
    pub tested: &'t Tested,
    /// The steps to the power.
    pub path: &'t EscalationPath,
}

/// The expectations of some tests.
#[derive(Debug, Default)]
pub struct TestChecks<'w> {
    /// The expectations about requests.
    pub access: Vec<&'w AccessCheck>,
    /// The expectations about powers.
    pub paths: Vec<&'w PathCheck>,
}

impl TestChecks<'_> {
    /// Whether there is no expectation.
    pub fn is_empty(&self) -> bool {
        self.access.is_empty() && self.paths.is_empty()
    }

    /// Returns the options of a world for these expectations.
    pub fn world_options(&self) -> WorldOptions {
        WorldOptions { with_paths: !self.paths.is_empty(), ..WorldOptions::default() }
    }
}

/// Returns the expectations of a target in tests whose names contain one of these; all of them without names.
pub fn test_checks<'w>(workspace: &'w Workspace, target: &Target, names: &[String]) -> TestChecks<'w> {
    let is_named = |check: &&PathCheck| names.is_empty() || names.iter().any(|name| check.meta.name.contains(name));
    let paths = workspace.project().facts.on(&target.name).filter(is_named).collect();
    TestChecks { access: access_tests(workspace, target, names), paths }
}

/// Returns the AccessTests of a target whose names contain one of these; all of them without names.
pub fn access_tests<'w>(workspace: &'w Workspace, target: &Target, names: &[String]) -> Vec<&'w AccessCheck> {
    let is_named = |check: &&AccessCheck| names.is_empty() || names.iter().any(|name| check.meta.name.contains(name));
    workspace.project().facts.on(&target.name).filter(is_named).collect()
}

/// Returns the names of the AccessTests of targets.
pub fn test_names(workspace: &Workspace, targets: &[&Target]) -> BTreeSet<String> {
    let checks = targets.iter().map(|target| test_checks(workspace, target, &[]));
    let names = checks.flat_map(|TestChecks { access, paths }| {
        let access = access.into_iter().map(|check| check.meta.name.to_string());
        access.chain(paths.into_iter().map(|check| check.meta.name.to_string())).collect::<Vec<_>>()
    });
    names.collect()
}

/// Runs the AccessTests on each target. `each` is called with every failure.
///
/// # Errors
/// When no target has one of the names, or the policies cannot be compiled.
///
/// # Examples
/// ```
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # use bailiwick_analysis::{TestOptions, run_tests};
/// # let options = Options::in_folder("../..");
/// # let workspace = Workspace::open(&options)?;
/// let run = run_tests(&workspace, &TestOptions::default(), &mut |_failure| {})?;
/// assert_eq!(run.failures, 0);
/// # Ok::<(), Error>(())
/// ```
pub fn run_tests(
    workspace: &Workspace,
    options: &TestOptions,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<TestRun, Error> {
    let mut run = TestRun::default();
    let tested = TestedWorkspace::new(workspace, options)?;
    for target in workspace.targets(&options.targets)? {
        tested.ask(target, &mut run, each)?;
    }
    Ok(run)
}

/// Returns the names in the expectations of targets about requests.
pub(super) fn names_in_tests<'w>(workspace: &'w Workspace, targets: &[&Target], names: &[String]) -> Vec<&'w str> {
    let mut found: Vec<&str> = Vec::new();
    for check in targets.iter().flat_map(|target| access_tests(workspace, target, names)) {
        found.extend(check.who.iter().map(|tested| match tested {
            Tested::User(name) | Tested::Group(name) => name.as_str(),
        }));
        found.extend(check.namespaces.iter().chain(&check.names).map(String::as_str));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A workspace with its AccessTests.
pub struct TestedWorkspace<'w> {
    workspace: &'w Workspace,
    /// Parts of the names of the tests to run.
    names: &'w [String],
    /// The classes of the namespaces.
    spread: Spread<'w>,
}

impl<'w> TestedWorkspace<'w> {
    /// Divides the namespaces of a workspace into classes, if there are expectations about requests.
    ///
    /// # Errors
    /// When no target has one of the names, or an input cannot be read.
    pub fn new(workspace: &'w Workspace, options: &'w TestOptions) -> Result<Self, Error> {
        let asked = names_in_tests(workspace, &workspace.targets(&options.targets)?, &options.names);
        let spread = match asked.is_empty() || options.without_classes {
            true => Spread::default(),
            false => classes::spread(None, workspace, None, &asked)?,
        };
        Ok(Self { workspace, names: &options.names, spread })
    }

    /// Asks the expectations of a target. `each` is called with every failure. Returns the warnings about the world of the target.
    ///
    /// # Errors
    /// When the policies cannot be compiled.
    pub fn ask(
        &self,
        target: &Target,
        run: &mut TestRun,
        each: &mut dyn FnMut(TestEvent<'_>),
    ) -> Result<Diagnostics, Error> {
        let Self { workspace, names, spread } = self;
        let checks = test_checks(workspace, target, names);
        if checks.is_empty() {
            return Ok(Diagnostics::new(Vec::new(), &workspace.project().files));
        }
        let load = |sampled: &Workspace| {
            let mut sink = Sink::new();
            let loaded = load_target(sampled, target, &checks.world_options(), &mut sink)?;
            let is_whole = sampled.sample().is_whole();
            let sink = if is_whole { sink } else { spread.with_all_warnings(workspace, target, sink) };
            LoadedWorld::checked(loaded, workspace.diagnostics(sink))
        };
        let mut loaded = DividedChecks { workspace, spread, checks: &checks }.ask(&load, run, each)?;
        Ok(Diagnostics::new(mem::take(&mut loaded.diagnostics), &loaded.files))
    }
}

/// The expectations of a target, for a workspace with classes of namespaces.
pub(super) struct DividedChecks<'t> {
    pub(super) workspace: &'t Workspace,
    pub(super) spread: &'t Spread<'t>,
    pub(super) checks: &'t TestChecks<'t>,
}

impl DividedChecks<'_> {
    /// Asks the expectations about one namespace of each class, and about all namespaces if a question fails and they are not too
    /// many, so that a failure has its own names. `load` returns the world of the target in a workspace. Returns the world of the questions.
    pub(super) fn ask(
        &self,
        load: &dyn Fn(&Workspace) -> Result<LoadedWorld, Error>,
        run: &mut TestRun,
        each: &mut dyn FnMut(TestEvent<'_>),
    ) -> Result<LoadedWorld, Error> {
        let Self { workspace, spread, checks } = self;
        // Escalation paths lead through all namespaces.
        if !spread.sample().is_whole() && checks.paths.is_empty() {
            let sampled = load(&workspace.with_sample(spread.sample()))?;
            let mut trial = TestRun::default();
            trial.ask_all(&sampled, checks, &mut |_| {});
            let whole = if trial.failures == 0 { None } else { Some(load(workspace)?) };
            let has_room = |whole: &LoadedWorld| {
                questions_up_to_each(whole, &checks.access).into_iter().all(|questions| questions <= MAXIMUM_QUESTIONS)
            };
            let loaded = match whole.filter(has_room) {
                Some(whole) => whole,
                None => sampled,
            };
            run.ask_all(&loaded, checks, each);
            return Ok(loaded);
        }
        let loaded = load(workspace)?;
        run.ask_all(&loaded, checks, each);
        Ok(loaded)
    }
}

impl TestRun {
    /// Asks the expectations of a target.
    pub fn ask_all(&mut self, loaded: &LoadedWorld, checks: &TestChecks<'_>, each: &mut dyn FnMut(TestEvent<'_>)) {
        self.ask(loaded, &checks.access, each);
        let Some(first) = checks.paths.first() else { return };
        match loaded.escalation_graph() {
            Some(graph) => self.ask_paths(loaded, &graph, &checks.paths, each),
            None => {
                let message = format!("the nodes of Kubernetes 1.{} are not known", loaded.world.minor());
                let help = "narrow `spec.targets`: escalation paths lead through nodes";
                self.problems.push(Diagnostic::error(codes::DEAD_EXPECTATION, message).at(first.origin).help(help));
            }
        }
    }

    /// Asks whether subjects reach powers that they must not reach.
    pub fn ask_paths(
        &mut self,
        loaded: &LoadedWorld,
        graph: &EscalationGraph<'_>,
        checks: &[&PathCheck],
        each: &mut dyn FnMut(TestEvent<'_>),
    ) {
        for check in checks {
            self.tests.insert((*check.meta.name).to_owned());
            let mut failures = 0;
            for tested in &check.who {
                if let Some(path) = reached(loaded, graph, check, tested) {
                    failures += 1;
                    each(TestEvent::Reached(ReachedByTest { loaded, check, tested, path: &path }));
                }
            }
            self.questions += check.who.len();
            self.failures += failures;
            each(TestEvent::PathsAsked { loaded, check, questions: check.who.len(), failures });
        }
    }

    /// Asks what these tests of a target expect. An expectation that cannot be asked is a problem, and the others are asked.
    pub fn ask(&mut self, loaded: &LoadedWorld, checks: &[&AccessCheck], each: &mut dyn FnMut(TestEvent<'_>)) {
        for (check, up_to_here) in checks.iter().zip(questions_up_to_each(loaded, checks)) {
            self.tests.insert((*check.meta.name).to_owned());
            let (questions, failures) = (self.questions, self.failures);
            if up_to_here > MAXIMUM_QUESTIONS {
                self.problems.push(too_many_questions(check, up_to_here));
                continue;
            }
            self.ask_check(loaded, check, each);
            let (questions, failures) = (self.questions - questions, self.failures - failures);
            each(TestEvent::Asked { loaded, check, questions, failures });
        }
    }

    /// Returns the expectations that cannot be asked, whole or in part.
    pub fn take_problems(&mut self, workspace: &Workspace) -> Diagnostics {
        workspace.own_diagnostics(std::mem::take(&mut self.problems))
    }

    /// Asks everything that one expectation is about.
    fn ask_check(&mut self, loaded: &LoadedWorld, check: &AccessCheck, each: &mut dyn FnMut(TestEvent<'_>)) {
        let Some(requests) = requests(loaded, check, &mut self.problems) else { return };
        let mut failed = 0;
        let mut asked: HashMap<Identity, AskedSubject> = HashMap::new();
        for tested in &check.who {
            let who = identity(loaded, tested);
            let known = loaded.world.known_names_of(&who);
            // A failure has the name of its own subject, as long as failures are shown.
            if let Some(same) = asked.get(&known).filter(|same| same.failed == 0 || failed > MAXIMUM_FAILURES) {
                self.questions += same.questions;
                self.failures += same.failed;
                failed += same.failed;
                continue;
            }
            let before = AskedSubject { questions: self.questions, failed };
            // A request for one object carries its name: without a name, a subject with the permission for any name
            // fails the test.
            let needs_variants = check.expectation == Expectation::MustNot && check.names.is_empty();
            let variants = requests.iter().filter(|_| needs_variants);
            let variants = variants.flat_map(|request| loaded.world.named_variants(&who, request)).map(Cow::Owned);
            for request in requests.iter().map(Cow::Borrowed).chain(variants) {
                let request = &*request;
                let namespaces = match request {
                    Request::Resource(request) => loaded.sample.weight(&request.namespace),
                    Request::Url(_) => 1,
                };
                self.questions += namespaces;
                let Some((decision, answer)) = unexpected(loaded, check.expectation, &who, request) else { continue };
                failed += namespaces;
                self.failures += namespaces;
                if failed <= MAXIMUM_FAILURES {
                    let (who, decision) = (&who, &decision);
                    each(TestEvent::Failure(FailedQuestion { loaded, check, tested, who, request, decision, answer }));
                }
            }
            let own = AskedSubject { questions: self.questions - before.questions, failed: failed - before.failed };
            asked.insert(known, own);
        }
        if failed > MAXIMUM_FAILURES {
            each(TestEvent::MoreFailures(failed - MAXIMUM_FAILURES));
        }
    }
}

/// How often a subject was asked about.
struct AskedSubject {
    /// The questions, with one for each namespace of a class.
    questions: usize,
    /// The failed questions.
    failed: usize,
}

fn identity(loaded: &LoadedWorld, tested: &Tested) -> Identity {
    match tested {
        Tested::User(name) => loaded.identity(name),
        Tested::Group(name) => Identity::member_of(name),
    }
}

/// Returns the number of questions of the test of each expectation, up to the expectation.
fn questions_up_to_each(loaded: &LoadedWorld, checks: &[&AccessCheck]) -> Vec<usize> {
    let mut by_test: BTreeMap<&str, usize> = BTreeMap::new();
    let mut up_to_each = Vec::with_capacity(checks.len());
    for check in checks {
        let of_test = by_test.entry(&*check.meta.name).or_insert(0);
        *of_test = of_test.saturating_add(number_of_questions(loaded, check));
        up_to_each.push(*of_test);
    }
    up_to_each
}

/// Returns the number of questions of an expectation on a world, where subjects with the same answers are one.
fn number_of_questions(loaded: &LoadedWorld, check: &AccessCheck) -> usize {
    let is_every = |namespace: &String| namespace == "*";
    let named = check.namespaces.iter().filter(|namespace| !is_every(namespace)).count();
    let known = LazyCell::new(|| loaded.world.known_namespaces().len());
    let every: usize = check.namespaces.iter().filter(|namespace| is_every(namespace)).map(|_| *known).sum();
    let objects = [check.resources.len(), (named + every).max(1), check.names.len().max(1)];
    let requests = objects.into_iter().fold(1, usize::saturating_mul).saturating_add(check.urls.len());
    let subjects = check.who.iter().map(|tested| loaded.world.known_names_of(&identity(loaded, tested)));
    let subjects = subjects.collect::<HashSet<_>>().len();
    requests.saturating_mul(check.verbs.len()).saturating_mul(subjects)
}

/// Returns the error of a test with too many questions, at the expectation that exceeds the limit.
fn too_many_questions(check: &AccessCheck, questions: usize) -> Diagnostic {
    let message = format!(
        "the AccessTest `{}` has {} up to here, and the limit is {}",
        check.meta.name,
        number(questions, "question"),
        grouped(MAXIMUM_QUESTIONS)
    );
    let lists = [
        ("who", check.who.len()),
        ("verbs", check.verbs.len()),
        ("resources", check.resources.len()),
        ("names", check.names.len()),
        ("namespaces", check.namespaces.len()),
        ("urls", check.urls.len()),
    ];
    let longest = lists.into_iter().max_by_key(|(_, length)| *length);
    let found = Diagnostic::error(codes::INVALID_VALUE, message).at(check.origin);
    longest.into_iter().fold(found, |found, (list, length)| {
        found.help(format!("shorten `{list}`, which has {}, or write several tests", number(length, "item")))
    })
}

/// Returns the path of a subject to a power that it must not reach.
fn reached(
    loaded: &LoadedWorld,
    graph: &EscalationGraph<'_>,
    check: &PathCheck,
    tested: &Tested,
) -> Option<EscalationPath> {
    let subjects = match tested {
        Tested::User(name) => loaded.subjects_of(name),
        Tested::Group(name) => vec![format!("Group/{name}")],
    };
    let paths = subjects.iter().filter_map(|subject| graph.path_to(subject, &check.power));
    paths.into_iter().find(|path| path.certainty == Certainty::Proven || !check.allows_possible)
}

/// Returns the decision on a request, if it is not the expected one.
fn unexpected(
    loaded: &LoadedWorld,
    expectation: Expectation,
    who: &Identity,
    request: &Request,
) -> Option<(Decision, Answer)> {
    let allowed = loaded.world.allows(who, request);
    // Most answers are as expected and need no reasons; only an impossible request is examined again.
    if !allowed && expectation == Expectation::MustNot && loaded.world.is_free_of_gaps(who, request) {
        return None;
    }
    let decision = loaded.world.decide(who, request);
    let answer = decision.answer(false);
    let is_as_expected = match expectation {
        Expectation::Must => answer == Answer::Yes,
        Expectation::MustNot => matches!(answer, Answer::No | Answer::Dead),
    };
    (!is_as_expected).then_some((decision, answer))
}

/// Returns every request that an expectation is about; none where it cannot be asked.
fn requests(loaded: &LoadedWorld, check: &AccessCheck, problems: &mut Sink) -> Option<Vec<Request>> {
    let mut requests = Vec::new();
    for verb in &check.verbs {
        for path in &check.urls {
            requests.push(Request::Url(UrlRequest { verb: verb.clone(), path: path.clone() }));
        }
    }
    // The sorted list takes longer than a question, and few expectations are about all namespaces.
    let known = LazyCell::new(|| loaded.world.known_namespaces());
    for written in &check.resources {
        let (resource, subresource) = written.split_once('/').unwrap_or((written, ""));
        let found = match loaded.world.find_resource(resource) {
            Ok(found) => found,
            Err(problem) => {
                let message = format!("Kubernetes 1.{} serves no resource `{}`", loaded.world.minor(), problem.name);
                let help = problem.near.map_or_else(
                    || "write `resource.group` for a custom resource, or narrow `spec.targets`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                problems.push(Diagnostic::error(codes::UNKNOWN_RESOURCE, message).at(check.origin).help(help));
                return None;
            }
        };
        let mut namespaces: Vec<&str> = Vec::new();
        for namespace in &check.namespaces {
            if namespace == "*" {
                namespaces.extend(known.iter().map(String::as_str))
            } else {
                namespaces.push(namespace)
            }
        }
        if check.namespaces.is_empty() {
            namespaces.push("");
        }
        let no_name = [String::new()];
        let names = if check.names.is_empty() { no_name.as_slice() } else { check.names.as_slice() };
        for namespace in namespaces {
            for name in names {
                for verb in &check.verbs {
                    // A request for one Namespace object carries that namespace.
                    let is_namespace = namespace.is_empty()
                        && is_about_one_namespace(&found.group, &found.resource, Some(verb.as_str()));
                    requests.push(Request::Resource(ResourceRequest {
                        verb: verb.clone(),
                        group: found.group.clone(),
                        version: String::new(),
                        resource: found.resource.clone(),
                        subresource: subresource.to_owned(),
                        namespace: if is_namespace { name.clone() } else { namespace.to_owned() },
                        name: name.clone(),
                    }));
                }
            }
        }
    }
    if check.expectation == Expectation::MustNot {
        drop_dead(loaded, check, &mut requests, problems);
    }
    Some(requests).filter(|requests| !requests.is_empty())
}

/// Takes away the requests that no server receives: a `mustNot` about them cannot fail. A list of verbs and resources is about the
/// pairs that exist, with a warning for each of the others; where none exists the expectation is an error.
fn drop_dead(loaded: &LoadedWorld, check: &AccessCheck, requests: &mut Vec<Request>, problems: &mut Sink) {
    let mut dead: Vec<(Request, String)> = Vec::new();
    requests.retain(|request| match loaded.world.liveness(request) {
        Liveness::Dead(reason) => {
            dead.push((request.clone(), reason));
            false
        }
        Liveness::Live | Liveness::Unknown(_) => true,
    });
    let pair = |request: &Request| match request {
        Request::Resource(request) => (request.verb.clone(), request.full_resource()),
        Request::Url(request) => (request.verb.clone(), request.path.clone()),
    };
    let asked: BTreeSet<(String, String)> = requests.iter().map(pair).collect();
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    for (request, reason) in dead {
        let message = format!("no API server accepts the request: {request}");
        if requests.is_empty() {
            problems.push(
                Diagnostic::error(codes::DEAD_EXPECTATION, message)
                    .at(check.origin)
                    .note(reason)
                    .help("state a possible request, or narrow `spec.targets`: a test that cannot fail proves nothing"),
            );
            return;
        }
        let pair = pair(&request);
        if !asked.contains(&pair) && told.insert(pair) {
            problems.push(
                Diagnostic::warning(codes::DEAD_EXPECTATION, message)
                    .at(check.origin)
                    .note(reason)
                    .help("the other verbs and resources of this expectation are asked; write this one out of it"),
            );
        }
    }
}
