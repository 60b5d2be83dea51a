//! `bailiwick migrate verify`.

use std::path::PathBuf;

use clap::Args;

use super::super::printing::print;
use super::super::reporting::FormatArguments;
use super::super::sandbox::Paths;
use super::super::workspaces::with_targets;
use super::super::{Global, Outcome};
use crate::app::{Error, PodDump, PodVerificationOptions, verify_pods};
use crate::report::verification;

/// Options of `migrate verify`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Read the pods and workloads in this file or folder, or from standard input (`-`); may be repeated
    #[arg(long, value_name = "PATH", required = true)]
    from: Vec<PathBuf>,
    /// Apply the strategic merge patches in this file or folder to the workloads first; may be repeated
    #[arg(long, value_name = "PATH")]
    patches: Vec<PathBuf>,
    /// Verify only this target; may be repeated
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_reads(self.from.iter().chain(&self.patches))
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Arguments { from, patches, targets, .. } = arguments;
    let options = PodVerificationOptions { from: from.clone(), patches: patches.clone() };
    let dump = PodDump::read(&global.options(), &options)?;
    print(global, dump.diagnostics.list.clone(), &dump.diagnostics.files);
    with_targets(global, targets, |workspace, targets| {
        let mut outcome = Outcome::Fine;
        for target in targets {
            let verification = verify_pods(workspace, target, &dump)?;
            global.print_result(|| verification.clone(), || verification::text(&verification));
            if !verification.refused.is_empty() {
                outcome = outcome.worse(Outcome::No);
            }
        }
        Ok(outcome)
    })
}
