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

fn stdout(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn the_example_with_another_role_fails_the_gate() {
    let folder = example();
    let fine = bailiwick(folder.path(), &["check"]);
    assert_status(&fine, 0);
    assert!(stderr(&fine).contains("1 test: 21 questions asked, 0 failed\n"), "{}", stderr(&fine));
    edit(folder.path(), "policies/team.yaml", "[view]", "[admin]");
    let drift = bailiwick(folder.path(), &["check"]);
    assert_status(&drift, 1);
    assert!(stderr(&drift).contains("the output differs from what the policies say"), "{}", stderr(&drift));
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    let (check, test) = (bailiwick(folder.path(), &["check"]), bailiwick(folder.path(), &["test"]));
    for run in [&drift, &check, &test] {
        assert_status(run, 1);
        assert!(stdout(run).contains("FAIL team-a on `production`"), "{}", stdout(run));
        assert!(stderr(run).contains("1 test: 21 questions asked, 3 failed\n"), "{}", stderr(run));
    }
    assert_eq!(stdout(&check), stdout(&test));
    assert!(!stderr(&check).contains("the output differs"), "{}", stderr(&check));
    let without = bailiwick(folder.path(), &["check", "--no-tests"]);
    assert_status(&without, 0);
    assert!(stdout(&without).is_empty() && !stderr(&without).contains("asked"), "{}", stderr(&without));
    for part in ["1/2", "2/2"] {
        let run = bailiwick(folder.path(), &["check", "--shard", part]);
        assert_status(&run, 0);
        let note = "AccessTests are not run in parts; run `bailiwick test`\n";
        assert!(stderr(&run).contains(note), "{}", stderr(&run));
    }
}

#[test]
fn tests_of_the_chosen_targets_run() {
    let folder = example();
    edit(
        folder.path(),
        "bailiwick.yaml",
        "version: \"1.36\"\n",
        "version: \"1.36\"\n  - name: staging\n    version: \"1.36\"\n",
    );
    edit(
        folder.path(),
        "policies/team.yaml",
        "  name: team-a\nspec:\n  who:",
        "  name: team-a\nspec:\n  targets: [staging]\n  who:",
    );
    edit(folder.path(), "policies/team.yaml", "[view]", "[admin]");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    assert_status(&bailiwick(folder.path(), &["check"]), 1);
    assert_status(&bailiwick(folder.path(), &["check", "-t", "staging"]), 1);
    let other = bailiwick(folder.path(), &["check", "-t", "production"]);
    assert_status(&other, 0);
    assert!(!stderr(&other).contains("asked"), "{}", stderr(&other));
}

#[test]
fn a_test_that_cannot_be_asked_is_invalid_input_beside_drift() {
    let folder = example();
    edit(folder.path(), "policies/team.yaml", "[secrets]", "[sekrets]");
    edit(folder.path(), "policies/team.yaml", "[view]", "[admin]");
    let run = bailiwick(folder.path(), &["check"]);
    assert_status(&run, 2);
    assert!(stderr(&run).contains("error[unknown-resource]"), "{}", stderr(&run));
    edit(folder.path(), "policies/team.yaml", "kind: AccessTest", "kind: AccessText");
    assert_status(&bailiwick(folder.path(), &["check"]), 2);
}

#[test]
fn a_workspace_without_tests_passes() {
    let folder = example();
    let path = folder.path().join("policies/team.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    let (without, _) = text.rsplit_once("---\n").expect("the test is the last document");
    fs::write(&path, without).expect("a file");
    assert_status(&bailiwick(folder.path(), &["test"]), 2);
    assert_status(&bailiwick(folder.path(), &["check"]), 0);
}
