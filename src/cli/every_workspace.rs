//! `--workspaces`: a command in every workspace below a folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use clap::Args;

use super::printing::{end, print, refuse, refuse_usage};
use super::reporting::OutputFormat;
use super::{Command, DiagnosticForm, Global, Outcome, run_in_workspace};
use crate::app::{Error, FoundWorkspace, Workspace};
use crate::codes;
use crate::compile::WORKSPACE_FILE;
use crate::diag::{Diagnostic, Files, foreign};
use crate::report::RunReport;

/// The option `--workspaces`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct WorkspacesArguments {
    /// Run in every workspace in DIR and below it, as with `-C`, and exit with the highest code. Default of DIR: the current
    /// folder.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    workspaces: Option<Option<PathBuf>>,
}

impl WorkspacesArguments {
    /// Returns the folder with the workspaces; none without the option.
    pub(super) fn folder(&self, global: &Global) -> Option<PathBuf> {
        self.workspaces.as_ref().map(|folder| global.at(folder.as_deref().map_or(Path::new("."), |folder| folder)))
    }
}

/// Runs a command in every workspace below a folder.
pub(super) fn run(global: &Global, command: &Command, folder: &Path) -> Result<Outcome, Error> {
    if let Some(option) = mismatch(global, command) {
        let message = format!("`--workspaces` cannot be used with {option}");
        return Ok(refuse_usage(global, message, "run the command in each workspace, with `-C DIR`"));
    }
    let found = Workspace::find_below(folder)?;
    if found.is_empty() {
        let message = format!("there is no `{WORKSPACE_FILE}` in `{}` or below it", folder.display());
        let diagnostic = Diagnostic::error(codes::WORKSPACE_NOT_FOUND, message);
        return Ok(refuse(global, diagnostic.help("name a folder with workspaces")));
    }
    let (mut outcome, mut has_tests) = (left_without(global, command, folder, &found)?, false);
    for workspace in found {
        let own = global.of_workspace(workspace.folder, command);
        own.terminal().problem(&format!("workspace `{}`\n", foreign::line(&workspace.path)));
        outcome = outcome.worse(match workspace.refusal {
            Some(refusal) => {
                print(&own, refusal.list, &refusal.files);
                Outcome::Invalid
            }
            None => match run_in_workspace(&own, command) {
                Ok(outcome) => outcome,
                Err(error) => end(&own, error),
            },
        });
        has_tests |= own.has_tests();
        global.absorb(&own);
    }
    if matches!(command, Command::Test(_)) && !has_tests && outcome == Outcome::Fine {
        return Ok(refuse_usage(global, "no workspace has such an AccessTest", "run `bailiwick explain AccessTest`"));
    }
    Ok(outcome)
}

/// Reports the output files of no workspace, which no run of `check` in a workspace compares.
fn left_without(global: &Global, command: &Command, folder: &Path, found: &[FoundWorkspace]) -> Result<Outcome, Error> {
    let Command::Check(arguments) = command else { return Ok(Outcome::Fine) };
    let tree = arguments.judged_tree(global, folder);
    let left = FoundWorkspace::left_without(found, folder, tree.as_ref())?;
    if left.is_empty() {
        return Ok(Outcome::Fine);
    }
    print(global, left, &Files::new());
    Ok(Outcome::Invalid)
}

/// Returns the option that has no meaning for several workspaces: their results are text, workspace by workspace.
fn mismatch(global: &Global, command: &Command) -> Option<&'static str> {
    if global.diagnostics != DiagnosticForm::Human {
        return Some("`--diagnostics`");
    }
    if global.formats.format != OutputFormat::Text {
        return Some("`--format`");
    }
    if !global.formats.reports.is_empty() {
        return Some("`--report`");
    }
    match command {
        Command::Check(arguments) => arguments.is_part().then_some("`--shard`"),
        Command::Render(arguments) => arguments.mismatch_with_workspaces(),
        Command::Lint(arguments) => arguments.reads_manifests().then_some("`--from` or `--platform`"),
        _ => None,
    }
}

impl Global {
    /// Returns the options of the run in a workspace. The run prints its diagnostics even if another workspace has equal ones.
    fn of_workspace(&self, folder: PathBuf, command: &Command) -> Self {
        Self {
            directory: Some(folder),
            is_one_of_several: true,
            warned: Arc::default(),
            printed: Arc::default(),
            collected: Arc::new(Mutex::new(RunReport::new(command.name()))),
            ..self.clone()
        }
    }

    /// Adds the codes and the warnings of a workspace.
    fn absorb(&self, own: &Self) {
        self.warned.fetch_or(own.warned.load(Ordering::Relaxed), Ordering::Relaxed);
        let own = std::mem::take(&mut *own.printed());
        self.printed().absorb(own);
    }
}
