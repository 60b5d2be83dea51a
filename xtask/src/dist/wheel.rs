//! The wheel, by maturin. Cargo finds the program built, since the flags and the folder are the same as for the other packages.

use std::fs;
use std::io;
use std::process::Command;

use super::program::Build;
use super::source::{read, succeeded};
use super::sums;

/// The settings of maturin. Their path from the root has as many folders as the stage: both name Cargo.toml by the same relative path.
const SETTINGS: &str = "packaging/wheel/pyproject.toml";

/// Returns the wheel, which must have the name `name`.
///
/// # Errors
/// When maturin fails, or gives the wheel other tags: then the program needs more of its platform than expected.
pub(crate) fn build(build: &Build<'_>, name: &str) -> io::Result<Vec<u8>> {
    let stage = &build.release.stage;
    fs::write(stage.join("pyproject.toml"), read(&build.release.root, SETTINGS)?)?;
    let output = stage.join("wheel");
    let mut tool = Command::new("maturin");
    tool.args(["build", "--locked", "--quiet", "--profile", build.profile, "--target", build.platform.target]);
    if build.platform.is_static() {
        tool.args(["--compatibility", "manylinux2014", "--auditwheel", "check"]);
    }
    tool.arg("--out").arg(&output).current_dir(stage);
    succeeded(build.with_environment(&mut tool))?;
    let found = sums::files(&output)?;
    if found != [name] {
        return Err(io::Error::other(format!("maturin wrote {} instead of {name}", found.join(", "))));
    }
    fs::read(output.join(name))
}
