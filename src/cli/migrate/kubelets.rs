//! `bailiwick migrate kubelets`.

use std::path::PathBuf;

use clap::Args;

use super::super::printing::print;
use super::super::reporting::FormatArguments;
use super::super::sandbox::Paths;
use super::super::worlds::{WorldArguments, with_worlds};
use super::super::{Global, Outcome};
use crate::app::{Error, KubeletInventory};
use crate::node::migration::StepState;
use crate::report::migration::{self, KubeletMigrationResult};
use crate::report::worlds;

/// Options of `migrate kubelets`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// File with the flags and configuration of the API server and the kubelets
    inventory: PathBuf,
    #[command(flatten)]
    world: WorldArguments,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        self.world.paths().and_reads([&self.inventory])
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let (inventory, diagnostics) = KubeletInventory::read(&global.options(), &arguments.inventory)?;
    print(global, diagnostics.list, &diagnostics.files);
    let options = arguments.world.options(true);
    with_worlds(global, &arguments.world.targets, &options, |loaded_worlds| {
        let mut outcome = Outcome::Fine;
        for loaded in loaded_worlds {
            let report = inventory.report(loaded);
            global.print_result(
                || KubeletMigrationResult { migration: report.clone(), target: loaded.target.clone() },
                || format!("{}{}", worlds::heading(loaded), migration::kubelets(&report)),
            );
            let is_open = |state: StepState| matches!(state, StepState::Todo | StepState::Blocked);
            if report.steps.iter().any(|step| is_open(step.state)) {
                outcome = outcome.worse(Outcome::No);
            }
        }
        Ok(outcome)
    })
}
