//! Every failure of a run is printed in the form of `--diagnostics`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::{bailiwick, stderr};

/// A run that fails: the arguments, the exit code and the code of the error.
struct Failure {
    arguments: &'static [&'static str],
    status: i32,
    code: &'static str,
}

const fn failure(arguments: &'static [&'static str], status: i32, code: &'static str) -> Failure {
    Failure { arguments, status, code }
}

/// At least one failure of every command, and every error that is neither of the input nor of the system.
const FAILURES: &[Failure] = &[
    failure(&["frobnicate"], 2, "invalid-usage"),
    failure(&["lint", "--severty", "high"], 2, "invalid-usage"),
    failure(&["render", "--jobs", "0"], 2, "invalid-usage"),
    failure(&["index"], 2, "invalid-usage"),
    failure(&["init"], 2, "invalid-usage"),
    failure(&["render", "--target", "nowhere"], 2, "unknown-target"),
    failure(&["check", "--target", "nowhere"], 2, "unknown-target"),
    failure(&["diff", "--against", "no-such-revision"], 3, "run-failed"),
    failure(&["diff", "--target", "nowhere"], 2, "unknown-target"),
    failure(&["merge", "no-such-summary"], 3, "run-failed"),
    failure(&["table", "nothing"], 2, "invalid-usage"),
    failure(&["lint", "--select", "X999"], 2, "unknown-rule"),
    failure(&["lint", "--from", "no-such-file"], 3, "run-failed"),
    failure(&["test"], 2, "invalid-usage"),
    failure(&["can-i", "get", "pods"], 2, "invalid-question"),
    failure(&["can-i", "get", "podz", "--as", "ann"], 2, "unknown-resource"),
    failure(&["who-can", "get"], 2, "invalid-question"),
    failure(&["node-reach", "no-such-node"], 2, "invalid-question"),
    failure(&["index", "--output", "index"], 2, "invalid-usage"),
    failure(&["index", "--target", "a", "--output", "no-such-folder/index"], 3, "run-failed"),
    failure(&["ask", "no-such-file"], 2, "invalid-usage"),
    failure(&["migrate", "psp", "--from", "no-such-file"], 3, "run-failed"),
    failure(&["migrate", "psp", "--from", "psp.yaml", "--report", "psp.yaml/x"], 3, "run-failed"),
    failure(&["migrate", "psp", "--from", "psp.yaml", "--report", "psp.yaml"], 2, "invalid-usage"),
    failure(&["explain", "Tenanci"], 2, "invalid-usage"),
    failure(&["explain", "ClusterRole/nothing"], 2, "invalid-usage"),
    failure(&["explain", "get", "pods"], 2, "invalid-question"),
    failure(&["explain", "namespace", "nothing"], 2, "invalid-usage"),
    failure(&["explain", "namespace", "nothing", "--from", "psp.yaml"], 2, "invalid-usage"),
    failure(&["explain", "out/a/nothing.yaml"], 2, "invalid-usage"),
    failure(&["explain", "out/nothing/a.yaml"], 2, "invalid-usage"),
    failure(&["explain", "elsewhere.yaml"], 2, "invalid-usage"),
    failure(&["explain", "stacks"], 2, "invalid-usage"),
    failure(&["explain", "stacks", "--from", "psp.yaml"], 2, "invalid-usage"),
    failure(&["explain", "--baseline=0.9"], 2, "unknown-version"),
    failure(&["schema", "Tenanci"], 2, "invalid-usage"),
    failure(&["schema", "--output", "psp.yaml/x"], 3, "run-failed"),
    failure(&["completions", "no-such-shell"], 2, "invalid-usage"),
    failure(&["man", "--output", "psp.yaml/x"], 3, "run-failed"),
    failure(&["render", "-C", "no-such-folder"], 3, "run-failed"),
    failure(&["render", "-C", "empty"], 2, "workspace-not-found"),
    failure(&["render", "-C", "broken"], 2, "unknown-field"),
    failure(&["render", "--trace", "no-such-folder/trace"], 3, "run-failed"),
];

const POLICY: &str = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: p}\nspec:\n  runAsUser: {rule: RunAsAny}\n  seLinux: {rule: RunAsAny}\n  fsGroup: {rule: RunAsAny}\n  supplementalGroups: {rule: RunAsAny}\n";

fn workspace(folder: &Path) {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: w}\nspec:\n";
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let targets = "  targets: [{name: a, version: \"1.37\"}, {name: b, version: \"1.37\"}]\n";
    write("bailiwick.yaml", &format!("{head}{targets}"));
    write("policies/none", "");
    write("psp.yaml", POLICY);
    write("empty/none", "");
    // The work tree ends here, so that no workspace is found above.
    write("empty/.git/HEAD", "");
    write("broken/bailiwick.yaml", &format!("{head}{targets}  polices: p\n"));
}

fn run(folder: &Path, failure: &Failure, form: &str) -> Output {
    let mut arguments = failure.arguments.to_vec();
    arguments.extend(["--diagnostics", form]);
    bailiwick(folder, &arguments)
}

#[test]
fn every_failure_is_json_where_json_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let mut wrong = Vec::new();
    for failure in FAILURES {
        let run = run(folder.path(), failure, "json");
        let told = stderr(&run);
        let records: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let has_code = records.iter().any(|record| record["code"] == failure.code && record["severity"] == "error");
        let is_plain = told.lines().any(|line| line.starts_with("error") || line.starts_with("help"));
        if run.status.code() != Some(failure.status) || !has_code || is_plain {
            wrong.push(format!("{:?}: {:?}\n{told}", failure.arguments, run.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_failure_is_a_workflow_command_where_they_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let mut wrong = Vec::new();
    for failure in FAILURES {
        let run = run(folder.path(), failure, "github");
        let printed = String::from_utf8_lossy(&run.stdout).into_owned();
        let title = format!("title={}::", failure.code);
        let has_command = printed.lines().any(|line| line.starts_with("::error ") && line.contains(&title));
        let is_plain = stderr(&run).lines().any(|line| line.starts_with("error") || line.starts_with("help"));
        if run.status.code() != Some(failure.status) || !has_command || is_plain {
            wrong.push(format!("{:?}: {:?}\n{printed}{}", failure.arguments, run.status.code(), stderr(&run)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_failure_is_text_for_people() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    for failure in FAILURES {
        let run = run(folder.path(), failure, "human");
        let told = stderr(&run);
        assert_eq!(run.status.code(), Some(failure.status), "{:?}\n{told}", failure.arguments);
        assert!(told.lines().any(|line| line.starts_with("error")), "{:?}\n{told}", failure.arguments);
    }
}

/// The form is found on a command line that cannot be read as a whole; an unknown form, and a form behind `--`, are
/// ignored.
#[test]
fn the_form_of_wrong_usage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let is_json = |arguments: &[&str]| {
        let run = bailiwick(folder.path(), arguments);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        stderr(&run).lines().all(|line| serde_json::from_str::<Value>(line).is_ok())
    };
    assert!(is_json(&["--diagnostics", "json", "frobnicate"]));
    assert!(is_json(&["--diagnostics=json", "frobnicate"]));
    assert!(is_json(&["--diagnostics", "json"]));
    assert!(is_json(&["frobnicate\u{1b}[2J\n::error::x", "--diagnostics", "json"]));
    assert!(!is_json(&["frobnicate", "--", "--diagnostics", "json"]));
    assert!(!is_json(&["frobnicate", "--diagnostics", "xml"]));
    assert!(!is_json(&["frobnicate", "--diagnostics"]));
    assert!(!is_json(&["frobnicate", "--diagnosticsjson"]));
}

/// A word of another tool leads to the command that does the same here.
#[test]
fn unknown_commands_lead_to_known_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    for (word, command) in [
        ("validate", Some("check")),
        ("verify", Some("check")),
        ("plan", Some("diff")),
        ("build", Some("render")),
        ("audit", Some("lint")),
        ("lintt", Some("lint")),
        ("whocan", Some("who-can")),
        ("chekc", Some("check")),
        ("frobnicate", None),
        ("\u{1b}]0;x\u{7}", None),
    ] {
        let told = stderr(&bailiwick(folder.path(), &[word]));
        let tip = command.map(|command| format!("tip: a similar subcommand exists: '{command}'"));
        assert!(tip.as_ref().is_none_or(|tip| told.contains(tip)), "{word}: {told}");
        assert!(tip.is_some() || !told.contains("tip:"), "{word}: {told}");
        assert!(told.lines().all(|line| !line.contains(char::is_control)), "{told:?}");
    }
}

const OF_BOTH_TARGETS: &str = "apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: unused}
spec:
  as: Role
  rules: [{resources: [pods], verbs: [get]}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  namespaces: [{name: team-a}, {name: team-b}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: viewers}
spec:
  to: {groups: [devs, \"system:authenticated\"]}
  clusterRoles: [view]
  namespaces: [team-a, team-b]
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata: {name: viewers}
spec:
  who: {groups: [devs]}
  must: [{verbs: [get, list], resources: [pods], namespaces: [team-a, team-b]}]
";

/// A warning about the workspace is printed once, and neither for each target nor for each question.
#[test]
fn a_warning_about_the_workspace_is_printed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    fs::write(folder.path().join("policies/a.yaml"), OF_BOTH_TARGETS).expect("a file");
    for arguments in [
        &["render"][..],
        &["check"],
        &["diff"],
        &["test"],
        &["lint"],
        &["can-i", "get", "pods", "-n", "team-a", "--as-group", "devs"],
        &["can-i", "--list", "-n", "team-a", "--as-group", "devs"],
        &["who-can", "get", "pods"],
        &["node-reach"],
        &["explain", "namespace", "team-a"],
        &["explain", "Group/devs"],
        &["table", "view"],
    ] {
        let told = stderr(&bailiwick(folder.path(), arguments));
        let count = told.matches("no policy uses the PermissionSet `unused`").count();
        assert_eq!(count, 1, "{arguments:?}: {told}");
    }
}
