//! `bailiwick check`.

use clap::Args;

use super::diff::compare_and_print;
use super::session::with_targets;
use super::{Global, Outcome};
use crate::diag::{RunError, Sink};

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
    with_targets(global, &arguments.targets, |session, targets| {
        let mut sink = Sink::new();
        session.beside_targets(&mut sink)?;
        let outcome = compare_and_print(session, targets, None, arguments.summary, sink)?;
        if outcome == Outcome::No {
            global.terminal().note("the output differs from what the policies say; `bailiwick render` writes it\n");
        }
        Ok(outcome)
    })
}
