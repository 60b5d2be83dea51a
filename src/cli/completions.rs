//! `bailiwick completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Global, Outcome};
use crate::app::Error;

/// Options of `completions`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shell to print the completion script for
    shell: Shell,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "bailiwick", &mut script);
    global.terminal().result(&String::from_utf8_lossy(&script));
    Ok(Outcome::Fine)
}
