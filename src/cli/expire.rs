//! `bailiwick expire`.

use clap::Args;

use super::workspaces::ConsentArguments;
use super::{Global, Outcome, render};
use crate::app::{Error, expire};

/// Options of `expire`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    consent: ConsentArguments,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let moved = expire(&global.options(), global.today())?;
    let note = if moved.before == moved.after {
        format!("`asOf` stays {}\n", moved.after)
    } else {
        format!("`asOf` is {}, it was {}\n", moved.after, moved.before)
    };
    global.terminal().note(&note);
    render::run(global, &render::Arguments::of_all_targets(arguments.consent.clone()))
}
