//! `bailiwick pack`.

use std::path::PathBuf;

use clap::Args;

use super::sandbox::Paths;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::words::number;
use crate::app::{Error, PackOptions, pack};

/// Options of `pack`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Target to pack.
    target: String,
    /// Folder for the layout. It must not exist, or be empty.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Revision of the sources, for the annotation `org.opencontainers.image.revision`.
    #[arg(long, value_name = "TEXT")]
    revision: Option<String>,
    /// Address of the sources, for the annotation `org.opencontainers.image.source`.
    #[arg(long, value_name = "URL")]
    source: Option<String>,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_reads([&self.output]).and_writes([&self.output])
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Arguments { target, output, revision, source } = arguments;
    with_targets(global, &[], |workspace, _| {
        let options = PackOptions {
            target: target.clone(),
            output: output.clone(),
            revision: revision.clone(),
            source: source.clone(),
        };
        let packed = pack(workspace, &options)?;
        let outcome = tell(global, packed.diagnostics);
        let terminal = global.terminal();
        terminal.result(&format!("{}\n", packed.digest));
        terminal.note(&format!("{target}: {} in `{}`\n", number(packed.files, "file"), output.display()));
        Ok(outcome)
    })
}
