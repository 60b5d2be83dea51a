//! `bailiwick index`.

use std::path::PathBuf;

use clap::Args;

use super::printing::refuse_usage;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::worlds::{WorldArguments, with_worlds};
use super::{Global, Outcome};
use crate::app::Error;
use crate::diag::RunError;
use crate::emit::writer;
use crate::report::index::IndexResult;

/// Options of `index`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) world: WorldArguments,
    /// File to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        self.world.paths().and_writes([&self.output])
    }
}

/// Runs the command: what was compiled or read once is kept in a file, and `--from FILE` asks it again.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(false);
    with_worlds(global, &arguments.world.targets, &options, |worlds| {
        let [loaded] = worlds else {
            let message = format!("an index has one target, and there are {}", worlds.len());
            return Ok(refuse_usage(global, message, "name one with --target"));
        };
        let path = global.at(&arguments.output);
        let bytes = loaded.to_index()?;
        writer::replace(&path, &bytes).map_err(|error| RunError::io("write", &path, &error))?;
        let result = IndexResult::new(path.display().to_string(), &loaded.world.size(), bytes.len());
        if global.prints_text() {
            global.terminal().note(&result.text());
        }
        global.print_result(|| result, String::new);
        Ok(Outcome::Fine)
    })
}
