//! The options that name targets, shards and deletions, and the opening of a workspace for a command.

use std::mem::ManuallyDrop;
use std::path::PathBuf;

use clap::Args;

use super::printing::print;
use super::{Global, Outcome};
use crate::app::{Consent, Diagnostics, Error, Shard, ShardCommand, Workspace, partly_checked};
use crate::diag::{RunError, Severity};
use crate::emit::writer;
use crate::model::{Part, Target};
use crate::report::checks;

/// Options of the commands that can do a part of their work.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ShardArguments {
    /// Process only the K-th of N parts of the namespaces. The first part includes the cluster-scoped objects.
    #[arg(long, value_name = "K/N")]
    shard: Option<Part>,
    /// File for the summary of the part, for `bailiwick merge`.
    #[arg(long, value_name = "FILE", requires = "shard")]
    summary_to: Option<PathBuf>,
}

impl ShardArguments {
    /// Whether the run does a part of the work only.
    pub(super) fn is_part(&self) -> bool {
        self.shard.is_some()
    }

    /// Returns the file of the summary.
    pub(super) fn summary(&self) -> impl Iterator<Item = &PathBuf> {
        self.summary_to.iter()
    }
}

/// Deletions that `render` refuses without an option.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ConsentArguments {
    /// Accept the loss of all objects of a target.
    #[arg(long)]
    allow_empty: bool,
    /// Accept the deletion of any number of namespaces.
    #[arg(long)]
    allow_mass_delete: bool,
    /// Accept the deletion of this namespace, with everything in it, from every target.
    #[arg(long, value_name = "NAME")]
    delete_namespace: Vec<String>,
    /// Accept the deletion of the output of this target, which is no longer in the workspace.
    #[arg(long, value_name = "NAME")]
    remove_target: Vec<String>,
}

impl From<&ConsentArguments> for Consent {
    fn from(arguments: &ConsentArguments) -> Self {
        let ConsentArguments { allow_empty, allow_mass_delete, delete_namespace, remove_target } = arguments.clone();
        Self { allow_empty, allow_mass_delete, delete_namespace, remove_target }
    }
}

/// Opens the workspace and runs a command on the targets with these names, or on all targets.
pub(super) fn with_targets(
    global: &Global,
    names: &[String],
    run: impl FnOnce(&Workspace, &[&Target]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    with_part(global, names, &ShardArguments::default(), run)
}

/// Works as [`with_targets`] does, for the shard of the options.
pub(super) fn with_part(
    global: &Global,
    names: &[String],
    arguments: &ShardArguments,
    run: impl FnOnce(&Workspace, &[&Target]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let workspace = open_part(global, arguments)?;
    run(&workspace, &workspace.targets(names)?)
}

/// Opens the workspace for the shard of the options.
pub(super) fn open_part(global: &Global, arguments: &ShardArguments) -> Result<ManuallyDrop<Workspace>, Error> {
    // A part that ends early leaves no summary. An earlier one would be taken for the part.
    for path in arguments.summary().map(|path| global.at(path)) {
        writer::remove(&path).map_err(|error| RunError::io("remove the earlier summary", &path, &error))?;
    }
    // The program ends with the command: freeing the memory of a million objects one by one would take time.
    let mut workspace = ManuallyDrop::new(Workspace::open(&global.options())?);
    if let Some(part) = arguments.shard {
        workspace.shard = Some(Shard::new(part, arguments.summary_to.clone(), &workspace.project().files));
    }
    Ok(workspace)
}

/// Ends a command: a shard leaves the summary for the merge.
pub(super) fn finish(
    global: &Global,
    workspace: &Workspace,
    outcome: Outcome,
    command: ShardCommand,
) -> Result<Outcome, Error> {
    if let Some(shard) = &workspace.shard
        && !shard.finish(workspace, command)?
    {
        global.terminal().note(&format!(
            "part {}: checks across namespaces are left to `bailiwick merge`, which needs `--summary-to FILE`\n",
            shard.part
        ));
    }
    Ok(outcome)
}

/// Prints diagnostics. The outcome is invalid if one of them is an error.
pub(super) fn tell(global: &Global, diagnostics: Diagnostics) -> Outcome {
    let outcome = if diagnostics.has_errors() { Outcome::Invalid } else { Outcome::Fine };
    print(global, diagnostics.list, &diagnostics.files);
    outcome
}

/// Prints diagnostics for `check`: some warnings are errors to it, for which the answer is no.
pub(super) fn tell_checked(global: &Global, mut diagnostics: Diagnostics) -> Outcome {
    let mut outcome = if diagnostics.has_errors() { Outcome::Invalid } else { Outcome::Fine };
    for diagnostic in &mut diagnostics.list {
        if diagnostic.severity != Severity::Error && diagnostic.fails_check {
            diagnostic.severity = Severity::Error;
            outcome = outcome.worse(Outcome::No);
        }
    }
    print(global, diagnostics.list, &diagnostics.files);
    outcome
}

/// Prints how many objects are not checked by every rule. A run of shards prints them when the shards are merged.
pub(super) fn note_partly_checked(global: &Global, workspace: &Workspace, targets: &[&Target]) {
    if workspace.shard.is_none() {
        global.terminal().note(&checks::partly_checked(&partly_checked(workspace, targets)));
    }
}
