//! `bailiwick migrate shards`.

use clap::Args;

use super::super::reporting::FormatArguments;
use super::super::workspaces::with_targets;
use super::super::{Global, Outcome};
use crate::app::Error;
use crate::report::shards;

/// Options of `migrate shards`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Number of folders for the files of namespaces
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    to: u32,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let migration = workspace.shard_migration(arguments.to)?;
        global.print_result(|| migration.clone(), || shards::text(&migration));
        Ok(Outcome::Fine)
    })
}
