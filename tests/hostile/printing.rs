//! Foreign text on terminals, in CI logs, in reports.
//!
//! Most attacks are cases below `tests/hostile/printing/`; here are names that no folder of the repository can have.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::runs::bailiwick;

/// A name with what a terminal, a log or a reader obeys.
const NAME: &str =
    "x\u{1b}[2J\u{1b}]0;t\u{7}\r\n::error::a\n\t\u{3000}::stop-commands::b\u{202e}\u{200b}\u{2028}\u{85}##[error]c";

/// Returns the fault of a text for a terminal or a log.
fn harm(text: &str) -> Option<String> {
    let bad = |letter: char| letter != '\n' && (letter.is_control() || "\u{202e}\u{200b}\u{2028}".contains(letter));
    if let Some(letter) = text.chars().find(|letter| bad(*letter)) {
        return Some(format!("{letter:?} in {text:?}"));
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("::") || line.contains("##["));
    line.map(|line| format!("a command: {line:?}"))
}

fn assert_harmless(folder: &Path, arguments: &[&str]) -> String {
    let output = bailiwick(folder, arguments);
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(harm(&stdout), None, "{arguments:?}");
    assert_eq!(harm(&stderr), None, "{arguments:?}");
    assert!(!stdout.is_empty() || !stderr.is_empty(), "{arguments:?} prints nothing");
    stdout + &stderr
}

fn workspace(folder: &Path) {
    let text = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: x}\nspec: {targets: [{name: t, version: \"1.30\"}]}\n";
    std::fs::create_dir_all(folder.join("policies")).unwrap();
    std::fs::write(folder.join("bailiwick.yaml"), text).unwrap();
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: x}\nspec: {namespaces: [{name: team-a}]}\n";
    std::fs::write(folder.join("policies/a.yaml"), policy).unwrap();
}

#[test]
fn arguments_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let object = format!("User/{NAME}");
    let option = format!("--no-such-{NAME}");
    let runs: &[&[&str]] = &[
        &["render", &option],
        &[NAME],
        &["render", "--target", NAME],
        &["render", "--color", NAME],
        &["table", NAME],
        &["explain", NAME],
        &["explain", &object],
        &["explain", "namespace", NAME],
        &["explain", "--baseline", NAME],
        &["explain", "get", "pods", "--as", NAME],
        &["can-i", "get", NAME, "--as", "a"],
        &["can-i", "get", "pods", "--as", NAME, "-n", NAME],
        &["can-i", "--http", NAME, "--as", "a"],
        &["can-i", "--list", "--as", NAME],
        &["who-can", NAME, NAME],
        &["who-can", "get", "pods", "--from", NAME],
        &["diff", "--against", NAME],
        &["schema", NAME],
        &["node-reach", NAME],
        &["test", NAME],
        &["-C", NAME, "render"],
        &["merge", NAME],
        &["migrate", "psp", "--from", NAME],
        &["migrate", "psp", "--from", "policies", "--platform", NAME],
        &["migrate", "psp", "--from", "policies", "--platform", "openshift", "--to", NAME],
        &["render", "--trace", &format!("{NAME}/x")],
        &["index", "--output", &format!("{NAME}/x")],
        &["init", NAME, "--ci", "--parts", NAME],
    ];
    for arguments in runs {
        assert_harmless(folder.path(), arguments);
    }
}

#[test]
fn paths_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    // A folder name has no slash, and is of any bytes otherwise.
    let root = folder.path().join(NAME);
    workspace(&root);
    std::fs::write(root.join(format!("policies/{NAME}.yaml")), "a: [\n").unwrap();
    std::fs::write(root.join(OsStr::from_bytes(b"policies/\xff\x1b[2J.yaml")), "a: [\n").unwrap();
    std::fs::create_dir_all(root.join("out/t")).unwrap();
    std::fs::write(root.join(format!("out/t/{NAME}.yaml")), "a: b\n").unwrap();
    std::fs::write(root.join("dump.yaml"), "a: [\n").unwrap();
    for arguments in [&["render"][..], &["check"], &["diff"], &["lint"], &["lint", "--from", "policies"]] {
        assert_harmless(&root, arguments);
        assert_harmless(&root, &[arguments, &["--diagnostics", "json"]].concat());
    }
}

/// A repository gives git's messages its names.
#[test]
fn words_of_git_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let git = Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().unwrap();
    assert!(git.success());
    std::fs::write(folder.path().join(".git/HEAD"), format!("ref: refs/heads/{NAME}\n")).unwrap();
    assert_harmless(folder.path(), &["diff", "--against", NAME]);
    assert_harmless(folder.path(), &["diff", "--against", "HEAD"]);
}

#[test]
fn every_command_of_a_log_is_one_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let policy = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {{name: {0}}}\nspec: {{namespaces: [{{name: {0}}}]}}\n",
        serde_json::to_string(NAME).unwrap()
    );
    std::fs::write(folder.path().join("policies/a,b:c%d.yaml"), policy).unwrap();
    let output = bailiwick(folder.path(), &["render", "--diagnostics", "github"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.lines().count() > 0);
    for line in stdout.lines() {
        assert!(line.starts_with("::error file=policies/a%2Cb%3Ac%25d.yaml,line="), "{line}");
        assert_eq!(line.matches("##[").count(), 0, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}
