//! `bailiwick check`.

use std::mem::ManuallyDrop;
use std::path::Path;

use clap::Args;

use super::diff::{JudgedOutput, Shown, print_comparison};
use super::every_workspace::WorkspacesArguments;
use super::printing::{print, settle};
use super::reporting::GateArguments;
use super::sandbox::Paths;
use super::workspaces::{ShardArguments, finish, note_partly_checked, open_part, tell_checked};
use super::{Global, Outcome, test};
use crate::app::{
    CompareOptions, Comparison, Diagnostics, Error, JudgedTree, NotJudged, PreparedTests, ShardCommand, TreeOptions,
    Workspace, access_tests, compare_output_folder, is_in_repository, is_in_work_tree, judge_output_folder,
    judge_targets, prepare_tests, uncommitted_inputs,
};
use crate::diag::foreign;
use crate::model::Target;
use crate::parallel;
use crate::report::{checks, tests};

/// Options of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Check only this target; may be repeated.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print only the counts.
    #[arg(long)]
    summary: bool,
    /// Skip the AccessTests.
    #[arg(long)]
    no_tests: bool,
    #[command(flatten)]
    tree: TreeArguments,
    #[command(flatten)]
    pub(super) workspaces: WorkspacesArguments,
    #[command(flatten)]
    shard: ShardArguments,
    /// Print the changes of every file, without grouping files with similar changes.
    #[arg(long)]
    no_group: bool,
    /// Check again after each change of a file, until the program is interrupted.
    #[arg(long, conflicts_with_all = ["shard", "tree", "workspaces", "format", "reports"])]
    pub(super) watch: bool,
    #[command(flatten)]
    pub(super) gate: GateArguments,
}

/// Options that choose the files that are compared with the compiled policies.
#[derive(Debug, Default, Args)]
struct TreeArguments {
    /// Compare with the files of this commit in git, which Argo CD and Flux apply, and open no output file on disk. Equal ids of
    /// git decide; `--verify` compares the contents. Default in CI: HEAD.
    #[arg(long, value_name = "REF")]
    tree: Option<String>,
    /// Compare with the files on disk, also in CI.
    #[arg(long, conflicts_with = "tree")]
    work_tree: bool,
}

/// A workspace with the commit that the run judges, if there is one.
struct Opened {
    workspace: ManuallyDrop<Workspace>,
    /// A sentence about the files that are compiled or compared in place of the files of a commit.
    other_files: Option<String>,
}

/// The revision that CI checks out.
const HEAD: &str = "HEAD";

impl Arguments {
    /// Whether the run does a part of the work only.
    pub(super) fn is_part(&self) -> bool {
        self.shard.is_part()
    }

    /// Whether the run judges the commit that CI checks out: no option names another one or the files on disk.
    fn judges_head_by_default(&self, global: &Global) -> bool {
        let TreeArguments { tree, work_tree } = &self.tree;
        tree.is_none() && global.is_in_ci() && !work_tree && !self.watch
    }

    /// Returns the commit that a run in the workspaces of a folder judges; none for the files on disk.
    pub(super) fn judged_tree(&self, global: &Global, folder: &Path) -> Option<TreeOptions> {
        let by_default = || {
            let is_default = self.judges_head_by_default(global) && is_in_work_tree(folder);
            is_default.then(|| HEAD.to_owned())
        };
        let revision = self.tree.tree.clone().or_else(by_default)?;
        Some(TreeOptions { revision, compares_bytes: global.verify })
    }

    /// Opens the workspace, and the commit that the run judges. Each takes time with many files, and neither needs the other.
    fn open(&self, global: &Global) -> Result<Opened, Error> {
        let is_default = self.judges_head_by_default(global);
        let options = global.options();
        if is_default && !is_in_repository(&options)? {
            let sentence = "this workspace is not in a git repository: the files on disk are checked".to_owned();
            return Ok(Opened { workspace: open_part(global, &self.shard)?, other_files: Some(sentence) });
        }
        let Some(revision) = self.tree.tree.clone().or_else(|| is_default.then(|| HEAD.to_owned())) else {
            return Ok(Opened { workspace: open_part(global, &self.shard)?, other_files: None });
        };
        let tree_options = TreeOptions { revision, compares_bytes: global.verify };
        let open_tree = || JudgedTree::open(&options, &tree_options);
        let (tree, workspace) = parallel::both(global.jobs(), open_tree, || open_part(global, &self.shard));
        let mut workspace = workspace?;
        match tree {
            Ok(tree) => workspace.judge_tree(tree),
            Err(Error::Run(error)) if is_default => {
                let remedy = "`--work-tree` checks the files on disk";
                let help = error.help.as_ref().map_or_else(|| remedy.to_owned(), |help| format!("{help}; {remedy}"));
                return Err(error.help(help).into());
            }
            Err(error) => return Err(error),
        }
        let other_files = uncommitted_inputs(&workspace);
        Ok(Opened { workspace, other_files })
    }

    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths { writes: self.shard.summary().cloned().collect(), ..Paths::default() }
    }
}

/// Names the commit that is judged, and prints a sentence about the files that are compiled or compared instead of its files.
pub(super) fn note_commit(global: &Global, commit: Option<&str>, other_files: Option<&str>) {
    let terminal = global.terminal();
    if let Some(commit) = commit {
        terminal.note(&format!("compared with the commit {commit}, and not with the files on disk\n"));
    }
    if let Some(sentence) = other_files {
        terminal.problem(&format!("note: {}\n", foreign::line(sentence)));
    }
}

/// Names the output files outside the output folder that are not judged.
pub(super) fn note_not_judged(global: &Global, not_judged: &NotJudged) {
    let terminal = global.terminal();
    // A quiet run relies on the exit code, which covers no other workspace.
    terminal.problem(&checks::nested_workspaces(&not_judged.nested));
    terminal.note(&checks::fixtures(not_judged));
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Opened { mut workspace, other_files } = arguments.open(global)?;
    note_commit(global, workspace.judged_commit(), other_files.as_deref());
    let prepared = (!arguments.no_tests).then(|| prepare_tests(&workspace, &arguments.targets));
    let outcome = workspace.targets(&arguments.targets).and_then(|targets| {
        let run = CheckRun { global, workspace: &workspace, targets: &targets, prepared: prepared.as_ref(), arguments };
        settle(global, run.check())
    });
    let commit = workspace.close_tree();
    let outcome = outcome?;
    let command = ShardCommand::Check {
        targets: arguments.targets.clone(),
        summary: arguments.summary,
        ungrouped: arguments.no_group,
        commit,
        other_files,
    };
    finish(global, &workspace, outcome, command)
}

/// A run of the command in a workspace.
struct CheckRun<'r> {
    global: &'r Global,
    workspace: &'r Workspace,
    targets: &'r [&'r Target],
    prepared: Option<&'r PreparedTests>,
    arguments: &'r Arguments,
}

impl CheckRun<'_> {
    fn check(&self) -> Result<Outcome, Error> {
        let Self { global, workspace, targets, prepared, arguments } = *self;
        let options = CompareOptions {
            targets: arguments.targets.clone(),
            without_text: arguments.summary,
            ungrouped: arguments.no_group,
            without_effects: true,
            without_values: false,
        };
        let mut comparison = compare_output_folder(workspace, &options, prepared)?;
        let judged = tell_checked(global, std::mem::take(&mut comparison.diagnostics));
        if judged == Outcome::Invalid {
            return Ok(judged);
        }
        let output = JudgedOutput::of(workspace.judged_commit());
        let shown = Shown { is_summary: arguments.summary, judged: Some(output) };
        let outcome = judged.worse(print_comparison(global, workspace, &comparison, &[], shown));
        note_partly_checked(global, workspace, targets);
        self.judge(&comparison, outcome)
    }

    /// Judges the compiled objects by the isolation of nodes and by AccessTests, which need the whole target. In a run of
    /// shards the first shard judges the isolation.
    fn judge(&self, comparison: &Comparison, outcome: Outcome) -> Result<Outcome, Error> {
        let Self { global, workspace, targets, prepared, .. } = *self;
        let has_tests =
            prepared.is_some() && targets.iter().any(|target| !access_tests(workspace, target, &[]).is_empty());
        if let Some(shard) = &workspace.shard {
            if has_tests {
                global.terminal().note("AccessTests are not run in parts; run `bailiwick test`\n");
            }
            if !shard.part.is_first() {
                return Ok(outcome);
            }
        }
        let has_tests = has_tests && workspace.shard.is_none();
        let folder = judge_output_folder(workspace, comparison)?;
        note_not_judged(global, &folder.not_judged);
        let mut failures = tests::Failures::default();
        let assertions = judge_targets(workspace, targets, prepared.filter(|_| has_tests), folder, &mut |event| {
            failures.add(&event)
        })?;
        let outcome = tell_broken(global, outcome, assertions.broken);
        if !has_tests {
            return Ok(outcome);
        }
        Ok(outcome.worse(test::conclude(global, workspace, assertions.tests, failures)))
    }
}

/// Prints the assertions that do not hold.
pub(super) fn tell_broken(global: &Global, outcome: Outcome, broken: Diagnostics) -> Outcome {
    let is_broken = !broken.list.is_empty();
    print(global, broken.list, &broken.files);
    if is_broken { Outcome::No } else { outcome }
}
