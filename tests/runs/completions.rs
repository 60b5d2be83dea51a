//! The values that completion scripts ask for.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the candidates for the last word of a line, as fish asks for them.
fn candidates(folder: &Path, line: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .current_dir(folder)
        .env("BAILIWICK_COMPLETE", "fish")
        .args(["--", "bailiwick"])
        .args(line)
        .output()
        .expect("the program starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

fn workspace(targets: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: w}}\nspec:\n  targets: [{targets}]\n"
    );
    fs::write(folder.path().join("bailiwick.yaml"), file).expect("a file");
    folder
}

#[test]
fn values_of_the_workspace_are_completed() {
    let folder = workspace("{name: staging, version: \"1.36\"}, {name: production, version: \"1.36\"}");
    let root = folder.path().to_str().expect("UTF-8");
    let elsewhere = tempfile::tempdir().expect("a folder");
    for line in
        [&["check", "--target", ""][..], &["-C", root, "lint", "--target", ""], &["can-i", "get", "pods", "-t", ""]]
    {
        let mut found = candidates(folder.path(), line);
        found.sort();
        assert_eq!(found, ["production", "staging"], "{line:?}");
    }
    assert_eq!(candidates(elsewhere.path(), &["-C", root, "render", "--target", "st"]), ["staging"]);
    assert_eq!(candidates(elsewhere.path(), &["render", "--target", ""]), [""; 0]);
    assert_eq!(candidates(folder.path(), &["lint", "--ignore", "risky-work"]), ["risky-workload"]);
    assert_eq!(candidates(folder.path(), &["explain", "GroupS"]), ["GroupSet"]);
    assert_eq!(candidates(folder.path(), &["schema", "node-re"]), ["node-reach"]);
}

/// A shell inserts candidates into the line of the user.
#[test]
fn names_of_an_attacker_are_not_completed() {
    for name in ["\"$(touch x)\"", "\"a\\e[31mb\"", "\"a\\nb\""] {
        let folder = workspace(&format!("{{name: {name}, version: \"1.36\"}}"));
        assert_eq!(candidates(folder.path(), &["check", "--target", ""]), [""; 0], "{name}");
    }
}
