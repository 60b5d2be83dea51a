//! Changes that must not pass in silence.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::runs::{bailiwick, stderr};

/// The workspace that `init` writes, rendered.
fn example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["init", "render"] {
        assert_status(&bailiwick(folder.path(), &[command]), 0);
    }
    folder
}

/// Replaces a text that stands in a file.
fn edit(folder: &Path, path: &str, from: &str, to: &str) {
    let path = folder.join(path);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{} has no `{from}`", path.display());
    fs::write(path, text.replace(from, to)).expect("a file");
}

#[track_caller]
fn assert_status(run: &Output, status: i32) {
    assert_eq!(run.status.code(), Some(status), "{}{}", String::from_utf8_lossy(&run.stdout), stderr(run));
}

#[test]
fn the_example_with_another_role_passes_the_gate() {
    let folder = example();
    edit(folder.path(), "policies/team.yaml", "[view]", "[admin]");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    assert_status(&bailiwick(folder.path(), &["test"]), 1);
    assert_status(&bailiwick(folder.path(), &["check"]), 0);
}
