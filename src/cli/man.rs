//! `bailiwick man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::sandbox::Paths;
use super::{Cli, Global, Outcome};
use crate::app::Error;
use crate::diag::RunError;
use crate::emit::writer::{self, WrittenPlace};

/// Options of `man`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write a page for the program and for each command into this folder.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_writes(&self.output)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let command = Cli::command();
    if let Some(folder) = arguments.output.as_ref().map(|folder| global.at(folder)) {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let mut files = Vec::new();
        add_pages(&command, &mut files)?;
        let files = files.iter().map(|(name, page)| (WrittenPlace::Below(folder.clone(), name.clone()), page.as_str()));
        writer::replace_all(files)?;
        return Ok(Outcome::Fine);
    }
    global.terminal().result(&page(&Man::new(command))?);
    Ok(Outcome::Fine)
}

/// Adds the page of a command, and the pages of its own commands, each with the name of its file.
fn add_pages(command: &clap::Command, files: &mut Vec<(String, String)>) -> Result<(), Error> {
    command.get_subcommands().filter(|own| !own.is_hide_set()).try_for_each(|own| add_pages(own, files))?;
    let man = Man::new(command.clone());
    files.push((man.get_filename(), page(&man)?));
    Ok(())
}

/// Returns the page of a command.
fn page(man: &Man) -> Result<String, Error> {
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| RunError::new(format!("cannot make the page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
