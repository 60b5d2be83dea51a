//! `bailiwick index`.

use std::path::PathBuf;

use clap::Args;

use super::printing::refuse_usage;
use super::scene::{SceneArguments, with_scenes};
use super::{Global, Outcome};
use crate::diag::RunError;
use crate::emit::write;
use crate::file_format::FileFormat;
use crate::report::human::{grouped, number};

/// Options of `index`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the command: what was compiled or read once is kept in a file, and `--from FILE` asks it again.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_scenes(global, &arguments.scene, |scenes| {
        let [scene] = scenes else {
            let message = format!("an index is of one target, and there are {}", scenes.len());
            return Ok(refuse_usage(global, message, "name one with --target"));
        };
        let path = global.at(&arguments.output);
        let bytes = FileFormat::INDEX.close(&scene.world.snapshot(&scene.files)).map_err(RunError::new)?;
        write::replace(&path, &bytes).map_err(|error| RunError::io("write", &path, &error))?;
        let size = scene.world.size();
        global.terminal().note(&format!(
            "{}: {}, {} with {} lists of rules, {} bytes on disk; {} bytes of memory a binding\n",
            path.display(),
            number(size.bindings, "binding"),
            number(size.roles, "role"),
            grouped(size.rule_lists),
            grouped(bytes.len()),
            size.bytes / size.bindings.max(1)
        ));
        Ok(Outcome::Fine)
    })
}
