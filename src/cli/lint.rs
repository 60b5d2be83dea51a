//! `bailiwick lint`.

mod alike;
mod applier;
mod constraints;
mod installed;
mod nodes;
mod stacks;
mod tenants;
mod workloads;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use self::installed::Unanswered;
use super::printing::print;
use super::sandbox::{Paths, SandboxArguments};
use super::scene::{Scene, SceneArguments, of_manifests, of_target_into};
use super::selection::{Selection, SelectionArguments};
use super::session::{Session, with_targets};
use super::{DiagnosticForm, Global, Outcome};
use crate::access::risk::{self, Finding, Tenants};
use crate::compile;
use crate::diag::{Diagnostic, Files, RunError, Severity, Sink};
use crate::model::{DiagnosticSetting, Target};
use crate::node::Version;
use crate::report::{self, rule_places::RulePlaces};

/// Options of `lint`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Also check the manifests in this folder of static pods of a kubelet; may be repeated.
    #[arg(long, value_name = "PATH")]
    static_pods: Vec<PathBuf>,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

impl Arguments {
    /// Confines the process, if it is to be.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, RunError> {
        let named = self.scene.from.iter().chain(&self.static_pods).cloned();
        let baseline = self.scene.baseline.iter().map(PathBuf::from);
        let reads = named.chain(baseline).map(|path| global.at(&path)).collect();
        self.sandbox.apply(global, Paths { reads, ..Paths::default() })
    }
}

/// How many missing rights a finding names.
const MAXIMUM_RIGHTS: usize = 5;

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let selection = match arguments.selection.read() {
        Ok(selection) => selection,
        Err(problem) => {
            print(global, vec![*problem], &Files::new());
            return Ok(Outcome::Invalid);
        }
    };
    if arguments.scene.from.is_empty() {
        return with_targets(global, &arguments.scene.targets, |session, targets| {
            lint(session, targets, arguments, &selection)
        });
    }
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let mut unanswered = Unanswered::default();
    let scene = of_manifests(global, &arguments.scene, &files, &mut sink)?;
    if let Some(scene) = &scene {
        find_risks(scene, &selection, &mut sink);
        nodes::check_role(scene, &mut sink);
        constraints::check_manifests(scene, &mut sink);
        unanswered = installed::check_manifests(scene, &mut sink);
        let version = Version::new(scene.world.minor()).map_err(RunError::new)?;
        nodes::check_static_pods(global, &arguments.static_pods, &version, &files, &mut sink)?;
    }
    let findings = selection.choose(sink.into_sorted(&files));
    let outcome = outcome(&findings);
    if findings.is_empty() {
        global.terminal().note("no findings\n");
    }
    print(global, findings, &files);
    global.terminal().note(&unanswered.note());
    Ok(if scene.is_none() { Outcome::Invalid } else { outcome })
}

fn lint(
    session: &Session<'_>,
    targets: &[&Target],
    arguments: &Arguments,
    selection: &Selection,
) -> Result<Outcome, RunError> {
    let mut all = Sink::new();
    let mut unanswered = Unanswered::default();
    let access = &session.project.node_access;
    let scene_arguments = SceneArguments { with_surroundings: true, ..arguments.scene.clone() };
    for target in targets {
        let mut sink = Sink::new();
        let scene = of_target_into(session, target, &scene_arguments, &mut sink)?;
        if let Some(scene) = scene.filter(|_| !sink.has_errors() && !all.has_errors()) {
            applier::check(session, target, &scene, &mut sink)?;
            let labels = compile::labels(&session.project, target, session.global.options(), &mut Sink::new())?;
            workloads::check(session, target, (&scene, labels.as_ref()), &mut unanswered, &mut sink)?;
            if let Some(labels) = &labels {
                constraints::check(labels.world(), &|finding| session.project.accepts(finding), &mut sink);
            }
            stacks::check(session, target, &scene, &mut sink)?;
            nodes::check_role(&scene, &mut sink);
            nodes::check_agents(&scene, access.agents_on(&target.name), &mut sink);
            nodes::check_selectors(&scene, access.pools_on(&target.name), &mut sink);
            find_risks_of_target(&scene, selection, (session, target), &mut sink);
        }
        all.absorb_of_target(sink, &target.name);
    }
    let mut sink = all.with_targets_together();
    if let Some(target) = targets.first() {
        let version = Version::new(target.version.minor()).map_err(RunError::new)?;
        nodes::check_static_pods(session.global, &arguments.static_pods, &version, &session.project.files, &mut sink)?;
    }
    let mut findings = selection.choose(session.findings(sink));
    if session.project.workspace.targets.len() == 1 && session.global.diagnostics == DiagnosticForm::Human {
        // The only target goes without saying.
        findings.iter_mut().for_each(|finding| finding.targets.clear());
    }
    let outcome = outcome(&findings);
    if findings.is_empty() {
        session.global.terminal().note("no findings\n");
    }
    print(session.global, findings, &session.project.files);
    session.global.terminal().note(&unanswered.note());
    Ok(outcome)
}

/// Reports the findings of the world of manifests.
fn find_risks(scene: &Scene, selection: &Selection, sink: &mut Sink) {
    let mut rules = RulePlaces::new(&scene.files);
    for finding in scene.world.findings(&selection.options()) {
        if selection.shows(&finding) {
            sink.push(report::risk::diagnostic(&finding, &scene.files, &mut rules));
        }
    }
}

/// Reports the findings of the world of a target, with the severities of the workspace.
fn find_risks_of_target(
    scene: &Scene,
    selection: &Selection,
    (session, target): (&Session<'_>, &Target),
    sink: &mut Sink,
) {
    let mut options = selection.options_of_workspace();
    // A finding about tenants stands for others: where it is ignored, the others are reported.
    let settings = &session.project.workspace.diagnostics;
    let is_ignored = |rule: &risk::Rule| settings.of_finding(rule.code) == Some(DiagnosticSetting::Ignore);
    options.rules.retain(|rule| !rule.is_about_tenants() || !is_ignored(rule));
    let places = tenants::Places::of(&session.project);
    let is_own = |place| places.is_of_tenancy(place);
    let is_accepted = |code, place| session.project.accepts(&Diagnostic::warning(code, String::new()).at(place));
    let tenants = tenants::of_target(&session.project, target, Tenants::new(&is_own, &is_accepted));
    let mut rules = RulePlaces::new(&scene.files);
    for finding in scene.world.findings_among(Some(&tenants), &options) {
        let Some(finding) = as_set(session, finding) else { continue };
        if selection.shows(&finding) {
            sink.push(report::risk::diagnostic(&finding, &scene.files, &mut rules));
        }
    }
}

/// Gives a finding, and those that it stands for, the severities of a workspace. Returns none where it stood for nothing but what is
/// ignored or accepted.
fn as_set(session: &Session<'_>, finding: Finding) -> Option<Finding> {
    let settings = &session.project.workspace.diagnostics;
    let place = finding.place;
    let is_accepted = |code| session.project.accepts(&Diagnostic::warning(code, String::new()).at_maybe(place));
    let mut finding = finding.with_folded_judged(|folded| {
        let code = folded.rule.code;
        match settings.of_finding(code) {
            Some(DiagnosticSetting::Ignore) => None,
            _ if is_accepted(code) => None,
            setting => Some(severity(setting, folded.severity)),
        }
    })?;
    finding.severity = severity(settings.of_finding(finding.rule.code), finding.severity);
    Some(finding)
}

/// Returns the severity of a setting, or this one.
fn severity(setting: Option<DiagnosticSetting>, severity: risk::Severity) -> risk::Severity {
    match setting {
        Some(DiagnosticSetting::Critical) => risk::Severity::Critical,
        Some(DiagnosticSetting::High) => risk::Severity::High,
        Some(DiagnosticSetting::Medium) => risk::Severity::Medium,
        Some(DiagnosticSetting::Low) => risk::Severity::Low,
        Some(DiagnosticSetting::Info) => risk::Severity::Info,
        Some(DiagnosticSetting::Error | DiagnosticSetting::Warning | DiagnosticSetting::Ignore) | None => severity,
    }
}

/// Whatever is told makes the answer no; `--severity` says what is told. An error is of the input, not of a grant.
fn outcome(findings: &[Diagnostic]) -> Outcome {
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        Outcome::Invalid
    } else if findings.is_empty() {
        Outcome::Fine
    } else {
        Outcome::No
    }
}
