//! `bailiwick merge`: the parts of a run, judged together. The report is the report of a single run.

use std::path::PathBuf;

use clap::Args;

use super::check::tell_broken;
use super::reporting::FormatArguments;
use super::workspaces::{ConsentArguments, note_partly_checked, tell, tell_checked, with_targets};
use super::{DiagnosticForm, Global, Outcome};
use crate::app::{Error, MergeOptions, Merged, ShardCommand, Workspace};
use crate::report::comparison::{Form, Renewals, differences, note_of_drift, target_changes, written};

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

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let options = MergeOptions { files: arguments.files.clone(), consent: (&arguments.consent).into() };
        let merged = workspace.merge(&options)?;
        Ok(match merged.command {
            ShardCommand::Render { .. } => conclude_render(global, workspace, merged),
            ShardCommand::Check { summary, .. } => conclude_check(global, workspace, merged, summary),
        })
    })
}

/// Reports a whole run of `render`.
fn conclude_render(global: &Global, workspace: &Workspace, mut merged: Merged<'_>) -> Outcome {
    let outcome = tell(global, std::mem::take(&mut merged.diagnostics));
    let terminal = global.terminal();
    if outcome == Outcome::Invalid {
        if global.diagnostics == DiagnosticForm::Human {
            terminal.problem("the parts make no whole: what some of them wrote is not to be used\n");
        }
        return outcome;
    }
    note_partly_checked(global, workspace, &merged.targets);
    global.record_changes(merged.totals.iter().map(|(target, totals)| (&**target, totals.counts)));
    let form = Form::new(global.quiet, false);
    let mut lines = target_changes(&merged.target_changes(&workspace.project.workspace.output, false));
    lines.extend(merged.totals.iter().map(|(target, totals)| written(target, totals, form)));
    terminal.problem(&lines);
    outcome
}

/// Reports a whole run of `check`. The parts printed the differences.
fn conclude_check(global: &Global, workspace: &Workspace, mut merged: Merged<'_>, is_summary: bool) -> Outcome {
    let judged = tell_checked(global, std::mem::take(&mut merged.diagnostics));
    if judged == Outcome::Invalid {
        return judged;
    }
    let terminal = global.terminal();
    let output = &workspace.project.workspace.output;
    global.record_changes(merged.totals.iter().map(|(target, totals)| (&**target, totals.counts)));
    let form = Form::new(global.quiet, is_summary);
    let mut lines = target_changes(&merged.target_changes(output, true));
    let mut renewals = Renewals::default();
    for (target, totals) in &merged.totals {
        lines.push_str(&differences(target, totals, "", form));
        renewals.add(&format!("{output}/{target}"), &totals.renewals);
    }
    if is_summary {
        terminal.result(&lines);
    } else {
        terminal.problem(&lines);
    }
    terminal.note(&renewals.note());
    let is_drift = merged.is_drift();
    if is_drift {
        let is_committed = matches!(merged.command, ShardCommand::Check { commit: Some(_), .. });
        terminal.note(note_of_drift(is_committed));
    }
    note_partly_checked(global, workspace, &merged.targets);
    let outcome = judged.worse(if is_drift { Outcome::No } else { Outcome::Fine });
    tell_broken(global, outcome, merged.broken)
}
