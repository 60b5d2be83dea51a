//! `bailiwick man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::{Cli, Global, Outcome};
use crate::app::Error;
use crate::diag::RunError;

/// Options of `man`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write a page for the program and for each command into this folder.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let command = Cli::command();
    if let Some(folder) = arguments.output.as_ref().map(|folder| global.at(folder)) {
        std::fs::create_dir_all(&folder).map_err(|error| RunError::io("make the folder", &folder, &error))?;
        clap_mangen::generate_to(command, &folder).map_err(|error| RunError::io("write into", &folder, &error))?;
        return Ok(Outcome::Fine);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| RunError::new(format!("cannot make the page: {error}")))?;
    global.terminal().result(&String::from_utf8_lossy(&page));
    Ok(Outcome::Fine)
}
