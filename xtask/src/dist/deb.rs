//! The package of Debian, by cargo-deb. Cargo.toml has its description and its files, which are taken from the stage.

use std::fs;
use std::io;
use std::process::Command;

use super::package::Platform;
use super::release::Release;
use super::source::succeeded;

/// Returns the package. The fast compression needs a fifth of the time, and is for tests.
pub(crate) fn build(release: &Release, platform: &Platform, is_fast: bool) -> io::Result<Vec<u8>> {
    let output = release.stage.join("bailiwick.deb");
    let mut tool = Command::new("cargo-deb");
    tool.args(["--package", "bailiwick", "--no-build", "--no-strip", "--locked", "--quiet"]);
    tool.args(is_fast.then_some("--fast"));
    tool.args(["--target", platform.target, "--output"]).arg(&output).current_dir(&release.root);
    tool.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("CARGO_TARGET_DIR", release.root.join("target"));
    succeeded(&mut tool)?;
    fs::read(&output)
}
