//! `bailiwick diff`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::reporting::GateArguments;
use super::sandbox::Paths;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{Base, CompareOptions, Comparison, Error, Workspace, changes_beside_output, compare};
use crate::compile::WORKSPACE_FILE;
use crate::report::comparison::{
    Form, Renewals, described_base, differences, effects, note_of_drift, stale_files, target_changes,
};
use crate::report::human;

/// Options of `diff`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Git revision, workspace folder or output folder to compare with. The policies of a revision or workspace are compiled.
    /// Default: the output folder.
    #[arg(long, value_name = "REF-or-DIR")]
    against: Option<String>,
    /// Compare only this target; may be repeated.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print only the counts.
    #[arg(long)]
    summary: bool,
    /// Print the changes of every file, without grouping files with similar changes.
    #[arg(long)]
    no_group: bool,
    #[command(flatten)]
    pub(super) gate: GateArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        // A workspace file stands for its folder.
        let named = self.against.iter().map(PathBuf::from);
        let folder = |path: PathBuf| match path.file_name().is_some_and(|name| name == WORKSPACE_FILE) {
            true => path.parent().map_or_else(PathBuf::new, Path::to_owned),
            false => path,
        };
        Paths { reads: named.map(folder).collect(), ..Paths::default() }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &arguments.targets, |workspace, _| {
        let base = Base::open(workspace, arguments.against.as_deref(), &arguments.targets)?;
        global.terminal().note(&described_base(&base));
        global.terminal().problem(&stale_files(&base));
        let options = CompareOptions {
            targets: arguments.targets.clone(),
            without_text: arguments.summary,
            ungrouped: arguments.no_group,
            without_effects: false,
            without_values: false,
        };
        let mut comparison = compare(workspace, &base, &options)?;
        let outcome = tell(global, std::mem::take(&mut comparison.diagnostics));
        if outcome == Outcome::Invalid {
            return Ok(outcome);
        }
        let beside = changes_beside_output(workspace, &base)?;
        let shown = Shown { is_summary: arguments.summary, judged: None };
        Ok(print_comparison(global, workspace, &comparison, &beside, shown))
    })
}

/// How a comparison is printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// The counts alone.
    pub(super) is_summary: bool,
    /// The output that `check` judges; none for `diff`.
    pub(super) judged: Option<JudgedOutput>,
}

/// The output that is compared with the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JudgedOutput {
    /// The files on disk.
    OnDisk,
    /// The files of a commit.
    Committed,
}

impl JudgedOutput {
    /// Returns the output that a run with this commit judges.
    pub(super) fn of(commit: Option<&str>) -> Self {
        if commit.is_some() { Self::Committed } else { Self::OnDisk }
    }
}

/// Prints the differences, and sentences about changes `beside` the output. The outcome is no if there are any.
pub(super) fn print_comparison(
    global: &Global,
    workspace: &Workspace,
    comparison: &Comparison,
    beside: &[String],
    shown: Shown,
) -> Outcome {
    let terminal = global.terminal();
    let output = &workspace.project().workspace.output;
    let form = Form::new(global.quiet, shown.is_summary);
    let mut text = String::new();
    let mut further = comparison.target_changes(output, workspace.shard.is_none());
    further.extend_from_slice(beside);
    let mut lines = target_changes(&further);
    global.record_changes(comparison.counts());
    global.record_further_changes(further);
    let mut renewals = Renewals::default();
    for target in &comparison.targets {
        text.push_str(&target.diff);
        renewals.add(&format!("{output}/{}", target.target), &target.totals.renewals);
        let of_target = differences(&target.title, &target.totals, &effects(target), form);
        lines.push_str(&of_target);
        global.record_result(|| target.record(), || format!("{}{of_target}", target.diff));
    }
    terminal.result(&text);
    if comparison.left_out > 0 {
        terminal
            .problem(&format!("{} left out of the difference\n", human::number(comparison.left_out, "further file")));
    }
    if shown.is_summary {
        terminal.result(&lines);
    } else {
        terminal.problem(&lines);
    }
    terminal.note(&renewals.note());
    let is_drift = comparison.is_drift() || !beside.is_empty();
    if let Some(judged) = shown.judged.filter(|_| is_drift) {
        terminal.note(note_of_drift(judged == JudgedOutput::Committed));
    }
    if is_drift { Outcome::No } else { Outcome::Fine }
}
