//! `bailiwick check`.

use clap::Args;

use super::diff::{Wanted, compare_and_print, told};
use super::recall::{Recall, unless_unchanged};
use super::session::{Session, print, with_part};
use super::shard::{self, ShardArguments};
use super::summary::Command;
use super::{Global, Outcome, isolation};
use crate::cache::KeptTarget;
use crate::diag::{RunError, Sink};
use crate::model::Target;
use crate::report::human;

/// Options of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print the counts only.
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    shard: ShardArguments,
    /// Print every file whole, also those that change in the same way as others.
    #[arg(long)]
    no_group: bool,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let done = |target: &KeptTarget| told(&target.name, &target.totals());
    // What is kept is of the whole.
    let recall = if arguments.shard.is_part() { None } else { Recall::open(global)? };
    let recall = recall.as_ref();
    unless_unchanged(global, recall, &arguments.targets, done, arguments.summary, || {
        with_part(global, &arguments.targets, &arguments.shard, |session, targets| {
            if let Some(recall) = recall {
                recall.look_beside(&session.project)?;
            }
            let outcome = check(session, targets, arguments, recall)?;
            if let Some(recall) = recall.filter(|_| outcome == Outcome::Fine && arguments.targets.is_empty()) {
                recall.keep(global, &session.project, &session.answers);
            }
            let command = Command::Check { targets: arguments.targets.clone(), summary: arguments.summary };
            shard::finish(session, outcome, command)
        })
    })
}

fn check(
    session: &Session<'_>,
    targets: &[&Target],
    arguments: &Arguments,
    recall: Option<&Recall>,
) -> Result<Outcome, RunError> {
    let mut sink = Sink::new();
    let leftovers = session.beside_targets(&mut sink)?;
    let (summary, every) = (arguments.summary, arguments.no_group);
    let wanted = Wanted { summary, every, recall, ..Wanted::default() };
    let outcome = compare_and_print(session, targets, wanted, sink)?;
    let left_over = if arguments.targets.is_empty() { leftovers.changes.len() } else { 0 };
    let outcome = conclude(session, outcome, left_over);
    // What one namespace does to a node needs the whole target, and is for one part to tell.
    if outcome == Outcome::Invalid || session.part().is_some_and(|part| !part.is_first()) {
        return Ok(outcome);
    }
    let mut sink = Sink::new();
    for target in targets {
        isolation::judge(session, target, &mut sink)?;
    }
    if let Some(shard) = &session.shard {
        shard.note_isolation(sink.diagnostics());
    }
    Ok(tell_isolation(session, outcome, sink))
}

/// Tells how the output differs as a whole; `left_over` are the files of targets that are gone.
pub(super) fn conclude(session: &Session<'_>, mut outcome: Outcome, left_over: usize) -> Outcome {
    let terminal = session.global.terminal();
    if outcome == Outcome::Fine && left_over > 0 {
        terminal.note(&format!("left over from targets that are gone: {}\n", human::number(left_over, "file")));
        outcome = Outcome::No;
    }
    if outcome == Outcome::No {
        terminal.note("the output differs from what the policies say; `bailiwick render` writes it\n");
    }
    outcome
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
