//! `cargo xtask facts`: the tables of facts about Kubernetes.
//!
//! The generator is `tests/conformance/facts`, because only Go reads the modules of Kubernetes.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Add a release of Kubernetes to the tables of facts, or check that the tables are current
///
/// Needs Go. Ends with 0 when the tables are current, 1 when a table is not, 2 on wrong usage, 3 when the generator
/// cannot run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Release to add, such as 1.38.0
    #[arg(required_unless_present = "check", conflicts_with = "check")]
    release: Option<String>,
    /// Compare the tables with the releases that they are made from
    #[arg(long)]
    check: bool,
}

/// Runs the generator.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let status = Command::new(root.join("tests/conformance/facts"))
        .arg(arguments.release.as_deref().unwrap_or("--check"))
        .current_dir(root)
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(3)))
}
