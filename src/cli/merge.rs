//! `bailiwick merge`: the parts of a run, judged together. The report is the report of a single run.

use std::path::PathBuf;

use clap::Args;

use super::check::{note_commit, note_not_judged, tell_broken};
use super::diff::{JudgedOutput, Shown, print_comparison};
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::workspaces::{ConsentArguments, note_partly_checked, tell, tell_checked, with_targets};
use super::{DiagnosticForm, Global, Outcome};
use crate::app::{Error, MergeOptions, Merged, ShardCommand, Workspace, merge};
use crate::report::comparison::{Form, target_changes, written};

/// Options of `merge`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Summaries of all parts of the run, written with `--summary-to`, in any order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    consent: ConsentArguments,
    /// Exit with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_reads(&self.files)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let options = MergeOptions { files: arguments.files.clone(), consent: (&arguments.consent).into() };
        let merged = merge(workspace, &options)?;
        // The report is the report of the whole run.
        merged.command.name().clone_into(&mut global.collected().command);
        let shown = match &merged.command {
            ShardCommand::Render { .. } => return Ok(conclude_render(global, workspace, merged)),
            ShardCommand::Check { summary, commit, other_files, .. } => {
                note_commit(global, commit.as_deref(), other_files.as_deref());
                Shown { is_summary: *summary, judged: Some(JudgedOutput::of(commit.as_deref())) }
            }
        };
        Ok(conclude_check(global, workspace, merged, shown))
    })
}

/// Reports a whole run of `render`.
fn conclude_render(global: &Global, workspace: &Workspace, mut merged: Merged<'_>) -> Outcome {
    let Merged { targets, comparison, .. } = &mut merged;
    let outcome = tell(global, std::mem::take(&mut comparison.diagnostics));
    let terminal = global.terminal();
    if outcome == Outcome::Invalid {
        if global.diagnostics == DiagnosticForm::Human {
            terminal.problem("the parts make no whole: what some of them wrote is not to be used\n");
        }
        return outcome;
    }
    note_partly_checked(global, workspace, targets);
    global.record_changes(comparison.targets.iter().map(|target| (&*target.target, target.totals.counts)));
    let form = Form::new(global.quiet, false);
    let mut lines = target_changes(&comparison.target_changes(&workspace.project().workspace.output, false));
    lines.extend(comparison.targets.iter().map(|target| written(&target.title, &target.totals, form)));
    terminal.problem(&lines);
    outcome
}

/// Reports a whole run of `check`.
fn conclude_check(global: &Global, workspace: &Workspace, merged: Merged<'_>, shown: Shown) -> Outcome {
    let Merged { targets, mut comparison, broken, not_judged, .. } = merged;
    let judged = tell_checked(global, std::mem::take(&mut comparison.diagnostics));
    if judged == Outcome::Invalid {
        return judged;
    }
    let outcome = judged.worse(print_comparison(global, workspace, &comparison, &[], shown));
    note_partly_checked(global, workspace, &targets);
    note_not_judged(global, &not_judged);
    tell_broken(global, outcome, broken)
}
