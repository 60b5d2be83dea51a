//! `bailiwick check`.

use clap::Args;

use super::can_i::AnswerForm;
use super::diff::{Base, Wanted, compare_and_print};
use super::printing::print;
use super::sandbox::{GateArguments, Paths};
use super::scene::{Scene, SceneArguments, of_target_into};
use super::session::{Session, with_part};
use super::shard::{self, ShardArguments};
use super::summary::Command;
use super::targets::TargetChanges;
use super::test::Tally;
use super::unclaimed::Unclaimed;
use super::{Global, Outcome, isolation, test, unchecked, unclaimed};
use crate::diag::{RunError, Severity, Sink};
use crate::model::Target;

/// Options of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print the counts only.
    #[arg(long)]
    summary: bool,
    /// Run no AccessTest.
    #[arg(long)]
    no_tests: bool,
    #[command(flatten)]
    shard: ShardArguments,
    /// Print every file whole, also files that change in the same way as others.
    #[arg(long)]
    no_group: bool,
    #[command(flatten)]
    pub(super) gate: GateArguments,
}

impl Arguments {
    /// Confines the process, if it is to be.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, RunError> {
        self.gate.sandbox.apply(global, Paths { writes: self.shard.written(global), ..Paths::default() })
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_part(global, &arguments.targets, &arguments.shard, |session, targets| {
        let outcome = check(session, targets, arguments)?;
        let command = Command::Check { targets: arguments.targets.clone(), summary: arguments.summary };
        shard::finish(session, outcome, command)
    })
}

fn check(session: &Session<'_>, targets: &[&Target], arguments: &Arguments) -> Result<Outcome, RunError> {
    let mut sink = Sink::new();
    let mut beside = session.beside_targets(&mut sink)?;
    let is_whole = arguments.targets.is_empty();
    let changes = if is_whole { TargetChanges::of_leftovers(session, &beside)? } else { TargetChanges::default() };
    let (summary, every) = (arguments.summary, arguments.no_group);
    let wanted = Wanted { base: &Base::Output, summary, every, is_check: true };
    let (outcome, unclaimed) = compare_and_print(session, targets, wanted, changes, sink)?;
    if outcome == Outcome::Invalid {
        return Ok(outcome);
    }
    beside.unclaimed.absorb(unclaimed);
    unchecked::note(session, targets);
    judge(session, targets, arguments, (outcome, &beside.unclaimed))
}

/// Judges what is compiled: isolations of nodes and AccessTests, for which the whole target is needed. In a run of parts
/// the first part judges the isolations.
fn judge(
    session: &Session<'_>,
    targets: &[&Target],
    arguments: &Arguments,
    (outcome, unclaimed): (Outcome, &Unclaimed),
) -> Result<Outcome, RunError> {
    let tests = |target: &Target| if arguments.no_tests { Vec::new() } else { test::checks(session, target, &[]) };
    let has_tests = targets.iter().any(|target| !tests(target).is_empty());
    if let Some(shard) = &session.shard {
        if has_tests {
            let note = "AccessTests are not run in parts; run `bailiwick test`\n";
            session.global.terminal().note(note);
        }
        if !shard.part.is_first() {
            return Ok(outcome);
        }
    }
    let has_tests = has_tests && session.shard.is_none();
    let mut broken = Sink::new();
    unclaimed::judge(session, unclaimed, &mut broken)?;
    let mut tally = Tally::default();
    for target in targets {
        let with_surroundings = isolation::is_asserted(session, target);
        let tests = if has_tests { tests(target) } else { Vec::new() };
        if !with_surroundings && tests.is_empty() {
            continue;
        }
        let Some(scene) = scene(session, target, with_surroundings)? else { return Ok(Outcome::Invalid) };
        if with_surroundings {
            isolation::judge(session, target, &scene, &mut broken);
        }
        tally.ask(&scene, &tests);
    }
    if let Some(shard) = &session.shard {
        shard.note_isolation(broken.diagnostics());
    }
    let outcome = tell_isolation(session, outcome, broken);
    Ok(if has_tests { outcome.worse(tally.conclude(session, AnswerForm::Text)) } else { outcome })
}

/// Returns what questions about a target are asked of. Comparing has printed what compiling found; of what else cannot
/// be read the errors are printed, and nothing is returned.
fn scene(session: &Session<'_>, target: &Target, with_surroundings: bool) -> Result<Option<Scene>, RunError> {
    let arguments = SceneArguments { with_surroundings, ..SceneArguments::default() };
    let mut sink = Sink::new();
    let scene = of_target_into(session, target, &arguments, &mut sink)?;
    if !sink.has_errors() {
        return Ok(scene);
    }
    let mut found = session.project.without_accepted(sink.into_sorted(&session.project.files));
    found.retain(|diagnostic| diagnostic.severity == Severity::Error);
    print(session.global, found, &session.project.files);
    Ok(None)
}

/// Prints which isolations of nodes do not hold.
pub(super) fn tell_isolation(session: &Session<'_>, outcome: Outcome, sink: Sink) -> Outcome {
    let broken = session.project.without_accepted(sink.into_sorted(&session.project.files));
    if broken.is_empty() {
        return outcome;
    }
    print(session.global, broken, &session.project.files);
    Outcome::No
}
