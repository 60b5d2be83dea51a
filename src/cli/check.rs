//! `bailiwick check`.

use clap::Args;

use super::diff::{Wanted, compare_and_print};
use super::recall::{Recall, unless_unchanged};
use super::session::{Session, print, with_targets};
use super::{Global, Outcome, isolation};
use crate::cache::KeptTarget;
use crate::diag::{RunError, Sink};
use crate::emit::plan::Counts;
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
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let done =
        |target: &KeptTarget| human::target(&target.name, Counts { unchanged: target.objects, ..Counts::default() });
    unless_unchanged(global, &arguments.targets, done, arguments.summary, |recall| {
        let recall = recall.as_ref();
        with_targets(global, &arguments.targets, |session, targets| {
            let outcome = check(session, targets, arguments, recall)?;
            if let Some(recall) = recall.filter(|_| outcome == Outcome::Fine && arguments.targets.is_empty()) {
                recall.keep(global, &session.project, &session.answers)?;
            }
            Ok(outcome)
        })
    })
}

fn check(
    session: &Session<'_>,
    targets: &[&Target],
    arguments: &Arguments,
    recall: Option<&Recall>,
) -> Result<Outcome, RunError> {
    let global = session.global;
    let mut sink = Sink::new();
    let leftovers = session.beside_targets(&mut sink)?;
    let wanted = Wanted { summary: arguments.summary, recall, ..Wanted::default() };
    let mut outcome = compare_and_print(session, targets, wanted, sink)?;
    if outcome == Outcome::Fine && arguments.targets.is_empty() && leftovers.is_drift() {
        let count = human::number(leftovers.changes.len(), "file");
        global.terminal().note(&format!("left over from targets that are gone: {count}\n"));
        outcome = Outcome::No;
    }
    if outcome == Outcome::No {
        global.terminal().note("the output differs from what the policies say; `bailiwick render` writes it\n");
    }
    if outcome == Outcome::Invalid {
        return Ok(outcome);
    }
    let mut sink = Sink::new();
    for target in targets {
        isolation::judge(session, target, &mut sink)?;
    }
    let broken = session.project.without_accepted(sink.into_sorted(&session.project.files));
    if !broken.is_empty() {
        print(global, broken, &session.project.files);
        return Ok(Outcome::No);
    }
    Ok(outcome)
}
