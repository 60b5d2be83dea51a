//! `bailiwick drift`.

use std::path::PathBuf;

use clap::Args;

use super::check::tell_broken;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{DriftOptions, Error, Workspace, drift, resources_to_dump};
use crate::report::drift::{DriftText, text};
use crate::report::tests;

/// Options of `drift`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Objects of the live cluster in this file or folder, or on standard input (`-`), as `kubectl get -o json` prints them
    #[arg(long, value_name = "PATH", required_unless_present = "resources")]
    live: Option<PathBuf>,
    /// Target of the cluster. Default: the only target of the workspace.
    #[arg(short, long = "target", value_name = "NAME")]
    target: Option<String>,
    /// Leave out the kinds without any object in the dump, and print their names.
    #[arg(long)]
    partial: bool,
    /// List unmanaged objects elsewhere in the cluster, too.
    #[arg(long)]
    all: bool,
    /// List unmanaged objects with an owner, such as a Helm release, too.
    #[arg(long)]
    owners: bool,
    /// Print the resources to dump, for `kubectl get`, and compare nothing.
    #[arg(long, conflicts_with = "live")]
    resources: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_reads(&self.live)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| match &arguments.live {
        Some(live) => {
            let options =
                DriftOptions { live: live.clone(), target: arguments.target.clone(), is_partial: arguments.partial };
            compare(global, workspace, arguments, &options)
        }
        None => {
            let resources = resources_to_dump(workspace, arguments.target.as_ref())?;
            global.terminal().result(&format!("{}\n", resources.join(",")));
            Ok(Outcome::Fine)
        }
    })
}

fn compare(
    global: &Global,
    workspace: &Workspace,
    arguments: &Arguments,
    options: &DriftOptions,
) -> Result<Outcome, Error> {
    let mut failures = tests::Failures::default();
    let mut found = drift(workspace, options, &mut |event| failures.add(&event))?;
    let told = tell(global, found.diagnostics);
    let form = DriftText { lists_all: arguments.all, lists_owned: arguments.owners };
    let failed = failures.text().to_owned();
    let drift = &found.drift;
    global.print_result(|| drift.clone(), || format!("{}{failed}", text(drift, form)));
    let outcome = tell_broken(global, told, found.broken).worse(tell(global, found.tests.take_problems(workspace)));
    if !found.tests.tests.is_empty() {
        global.terminal().note(&tests::counts(&found.tests));
    }
    Ok(outcome.worse(if found.drift.is_as_wanted() { Outcome::Fine } else { Outcome::No }))
}
