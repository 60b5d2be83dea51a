//! `bailiwick test`.

use crate::codes;
use std::collections::BTreeSet;

use clap::Args;

use super::can_i::AnswerForm;
use super::printing::{print, refuse_usage};
use super::question::is_about_one_namespace;
use super::scene::{Scene, SceneArguments, of_target};
use super::session::{Session, with_targets};
use super::{Global, Outcome};
use crate::access::{Answer, Identity, Liveness, Request, ResourceRequest, UrlRequest};
use crate::diag::{Diagnostic, RunError, Severity, Sink};
use crate::model::{AccessCheck, Expectation, Target, Tested};
use crate::report::access::{Told, place_text};
use crate::report::human::number;
use crate::report::machine;
use crate::report::page::Page;

/// Options of `test`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only tests whose name contains one of these.
    names: Vec<String>,
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Output format of the results.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
    /// End with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
}

/// How many failures of one expectation are told in full.
const MAXIMUM_FAILURES: usize = 5;

/// The questions that were asked, and those that failed.
#[derive(Debug, Default)]
pub(super) struct Tally<'s> {
    tests: BTreeSet<&'s str>,
    questions: usize,
    failures: usize,
    text: Page,
    json: Vec<serde_json::Value>,
    /// Expectations that cannot be asked, whole or in part.
    problems: Sink,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_targets(global, &arguments.targets, |session, targets| test(session, targets, arguments))
}

fn test(session: &Session<'_>, targets: &[&Target], arguments: &Arguments) -> Result<Outcome, RunError> {
    let mut tally = Tally::default();
    for target in targets {
        let checks = checks(session, target, &arguments.names);
        if checks.is_empty() {
            continue;
        }
        let Some(scene) = of_target(session, target, &SceneArguments::default())? else { return Ok(Outcome::Invalid) };
        tally.ask(&scene, &checks);
    }
    if tally.tests.is_empty() {
        let help = "`bailiwick explain AccessTest` shows how to write one";
        return Ok(refuse_usage(session.global, "there is no AccessTest to run", help));
    }
    Ok(tally.conclude(session, arguments.format))
}

/// Returns the AccessTests of a target whose names contain one of these; all of them without any name.
pub(super) fn checks<'s>(session: &'s Session<'_>, target: &Target, names: &[String]) -> Vec<&'s AccessCheck> {
    let is_of_target = |check: &&AccessCheck| check.meta.targets.contains(&target.name);
    let is_named = |check: &&AccessCheck| names.is_empty() || names.iter().any(|name| check.meta.name.contains(name));
    session.project.access_checks.iter().filter(is_of_target).filter(is_named).collect()
}

/// Asks everything that one expectation is about.
fn run_check(scene: &Scene, check: &AccessCheck, tally: &mut Tally<'_>) {
    let Some(requests) = requests(scene, check, &mut tally.problems) else { return };
    let mut failed = 0;
    for tested in &check.who {
        let who = match tested {
            Tested::User(name) => Identity::of(name),
            Tested::Group(name) => Identity::member_of(name),
        };
        // A request for one object carries its name: where none is said, whoever may for any name fails the test.
        let mut asked = requests.clone();
        if check.expectation == Expectation::MustNot && check.names.is_empty() {
            asked.extend(requests.iter().flat_map(|request| scene.world.named_variants(&who, request)));
        }
        for request in &asked {
            tally.questions += 1;
            let allowed = scene.world.allows(&who, request);
            // Most answers are as expected, and need no reasons; only a request that nobody can make is looked at again.
            if !allowed && check.expectation == Expectation::MustNot && scene.world.is_free_of_gaps(&who, request) {
                continue;
            }
            let decision = scene.world.decide(&who, request);
            let answer = decision.answer(false);
            let is_as_expected = match check.expectation {
                Expectation::Must => answer == Answer::Yes,
                Expectation::MustNot => matches!(answer, Answer::No | Answer::Dead),
            };
            if is_as_expected {
                continue;
            }
            failed += 1;
            tally.failures += 1;
            if failed > MAXIMUM_FAILURES {
                continue;
            }
            let told =
                Told { world: &scene.world, files: &scene.files, who: &who, request, decision: &decision, answer };
            tally.tell(scene, check, tested, &told);
        }
    }
    if failed > MAXIMUM_FAILURES {
        let more = number(failed - MAXIMUM_FAILURES, "more failure");
        writeln!(tally.text, "... and {more} of the same expectation");
        tally.text.push_str("\n");
    }
}

impl<'s> Tally<'s> {
    /// Asks what these tests of a target expect. An expectation that cannot be asked is a problem, and the others are asked.
    pub(super) fn ask(&mut self, scene: &Scene, checks: &[&'s AccessCheck]) {
        for check in checks {
            self.tests.insert(&check.meta.name);
            run_check(scene, check, self);
        }
    }

    /// Prints the problems, the failures and the counts.
    pub(super) fn conclude(self, session: &Session<'_>, format: AnswerForm) -> Outcome {
        let problems = session.project.without_accepted(self.problems.into_sorted(&session.project.files));
        let is_invalid = problems.iter().any(|problem| problem.severity == Severity::Error);
        print(session.global, problems, &session.project.files);
        let terminal = session.global.terminal();
        match format {
            AnswerForm::Text => terminal.result(self.text.as_str()),
            AnswerForm::Json => self.json.iter().for_each(|failure| terminal.result(&machine::line(failure))),
        }
        if is_invalid && self.questions == 0 {
            return Outcome::Invalid;
        }
        terminal.note(&format!(
            "{}: {} asked, {} failed\n",
            number(self.tests.len(), "test"),
            number(self.questions, "question"),
            self.failures
        ));
        match (is_invalid, self.failures) {
            (true, _) => Outcome::Invalid,
            (false, 0) => Outcome::Fine,
            (false, _) => Outcome::No,
        }
    }

    fn tell(&mut self, scene: &Scene, check: &AccessCheck, tested: &Tested, told: &Told<'_>) {
        let target = scene.target.as_deref().unwrap_or_default();
        let (expected, found) = match (check.expectation, told.answer) {
            (Expectation::Must, Answer::Dead) => ("must", "but no server ever receives that"),
            (Expectation::Must, Answer::Unknown) => ("must", "and nobody can tell"),
            (Expectation::Must, _) => ("must", "and may not"),
            (Expectation::MustNot, Answer::Unknown) => ("must not", "and nobody can tell"),
            (Expectation::MustNot, _) => ("must not", "and may"),
        };
        writeln!(
            self.text,
            "FAIL {} on `{target}` ({}): {tested} {expected} {}, {found}",
            check.meta.name,
            place_text(check.origin, &scene.files),
            told.request
        );
        self.text.append(&told.reasons());
        self.text.push_str("\n");
        let mut json = told.json();
        if let Some(map) = json.as_object_mut() {
            map.insert("test".to_owned(), (*check.meta.name).into());
            map.insert("target".to_owned(), target.into());
            map.insert("expected".to_owned(), expected.into());
            map.insert("place".to_owned(), place_text(check.origin, &scene.files).into());
        }
        self.json.push(json);
    }
}

/// Every request that an expectation is about; none where it cannot be asked.
fn requests(scene: &Scene, check: &AccessCheck, problems: &mut Sink) -> Option<Vec<Request>> {
    let mut requests = Vec::new();
    for verb in &check.verbs {
        for path in &check.urls {
            requests.push(Request::Url(UrlRequest { verb: verb.clone(), path: path.clone() }));
        }
    }
    let known = scene.world.known_namespaces();
    for written in &check.resources {
        let (resource, subresource) = written.split_once('/').unwrap_or((written, ""));
        let found = match scene.world.find_resource(resource) {
            Ok(found) => found,
            Err(problem) => {
                let message = format!("Kubernetes 1.{} serves no resource `{}`", scene.world.minor(), problem.name);
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
        drop_dead(scene, check, &mut requests, problems);
    }
    Some(requests).filter(|requests| !requests.is_empty())
}

/// Takes away the requests that no server receives: a `mustNot` about them cannot fail. A list of verbs and resources is about the
/// pairs that exist, with a warning for each of the others; where none exists the expectation is an error.
fn drop_dead(scene: &Scene, check: &AccessCheck, requests: &mut Vec<Request>, problems: &mut Sink) {
    let mut dead: Vec<(Request, String)> = Vec::new();
    requests.retain(|request| match scene.world.liveness(request) {
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
        let message = format!("no server ever receives `{request}`");
        if requests.is_empty() {
            problems.push(Diagnostic::error(codes::DEAD_EXPECTATION, message).at(check.origin).note(reason).help(
                "a test that cannot fail proves nothing: ask for what a request can be, or narrow `spec.targets`",
            ));
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
