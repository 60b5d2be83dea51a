//! `bailiwick check`.

use clap::Args;

use super::diff::{Wanted, compare_and_print};
use super::session::{print, with_targets};
use super::{Global, Outcome, isolation};
use crate::diag::{RunError, Sink};
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
    /// Print every file whole, also those that change in the same way as others.
    #[arg(long)]
    no_group: bool,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_targets(global, &arguments.targets, |session, targets| {
        let mut sink = Sink::new();
        let leftovers = session.beside_targets(&mut sink)?;
        let (summary, every) = (arguments.summary, arguments.no_group);
        let wanted = Wanted { summary, every, ..Wanted::default() };
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
    })
}
