//! `bailiwick lsp`.

use clap::Args;

use super::{Global, Outcome};
use crate::app::Error;
use crate::lsp::{self, End, Settings};

/// Options of `lsp`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Has no effect: standard input and output are the only connection. Editors pass it.
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Arguments { stdio: _ } = arguments;
    let own = global.clone();
    let settings = Settings { options: global.options(), today: Box::new(move || own.today()) };
    Ok(match lsp::run(settings)? {
        End::ShutDown => Outcome::Fine,
        End::Gone => Outcome::No,
    })
}
