//! Changes that must not pass in silence.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::weaker::assert_shown;
use crate::runs::{bailiwick, snapshot, stderr};

/// Returns the workspace that `init` writes, rendered.
pub(super) fn example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["init", "render"] {
        assert_status(&bailiwick(folder.path(), &[command]), 0);
    }
    folder
}

/// Replaces a text in a file.
pub(super) fn edit(folder: &Path, path: &str, from: &str, to: &str) {
    let path = folder.join(path);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{} has no `{from}`", path.display());
    fs::write(path, text.replace(from, to)).expect("a file");
}

#[track_caller]
pub(super) fn assert_status(run: &Output, status: i32) {
    assert_eq!(run.status.code(), Some(status), "{}{}", String::from_utf8_lossy(&run.stdout), stderr(run));
}

pub(super) fn stdout(run: &Output) -> String {
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
    assert!(stderr(&drift).contains("the output differs from the compiled policies"), "{}", stderr(&drift));
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
        "version: \"1.37\"\n",
        "version: \"1.37\"\n  - name: staging\n    version: \"1.37\"\n",
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

pub(super) const TEAMS: &str = "policies/team.yaml";

/// Writes a policy that adds plain manifests: a Namespace with a ConfigMap.
fn with_manifests(folder: &Path) {
    let policy =
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: plain}\nspec: {files: [plain/*.yaml]}\n";
    let objects = "apiVersion: v1\nkind: Namespace\nmetadata: {name: plain}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: plain-x, namespace: plain}\n";
    fs::create_dir_all(folder.join("policies/plain")).expect("a folder");
    fs::write(folder.join("policies/plain.yaml"), policy).expect("a file");
    fs::write(folder.join("policies/plain/objects.yaml"), objects).expect("a file");
}

/// Checks that `check`, `diff` and `render` name the namespace, and that `render` refuses the deletion, writes nothing,
/// and deletes the namespace with `--delete-namespace`.
fn assert_named(folder: &Path, name: &str, remark: &str) {
    let line = format!("  deletes the namespace `{name}`, with everything in it{remark}\n");
    let before = snapshot(&folder.join("out"));
    for command in [["check", "--no-tests"].as_slice(), &["diff"]] {
        let run = bailiwick(folder, command);
        assert_status(&run, 1);
        assert!(stderr(&run).contains(&line), "{command:?}: {}", stderr(&run));
    }
    for arguments in [["render"].as_slice(), &["render", "--delete-namespace", "another"], &["render", "--allow-empty"]]
    {
        let refused = bailiwick(folder, arguments);
        assert_status(&refused, 2);
        let message = format!(
            "error[namespace-delete]: the namespace `{name}` of the target `production` would be deleted, with everything in it\n"
        );
        assert!(stderr(&refused).contains(&message), "{}", stderr(&refused));
        let help = format!("run `bailiwick render --delete-namespace {name}` to confirm the deletion");
        assert!(stderr(&refused).contains(&help), "{}", stderr(&refused));
    }
    assert!(before == snapshot(&folder.join("out")), "a refused run wrote something");
    let done = bailiwick(folder, &["render", "--delete-namespace", name]);
    assert_status(&done, 0);
    assert!(stderr(&done).contains(&line), "{}", stderr(&done));
    assert_status(&bailiwick(folder, &["check", "--no-tests"]), 0);
}

#[test]
fn a_namespace_that_a_policy_drops_is_named() {
    let folder = example();
    edit(folder.path(), TEAMS, "  - name: team-b\n", "");
    assert_named(folder.path(), "team-b", "");
}

#[test]
fn a_namespace_whose_policy_leaves_the_target_is_named() {
    let folder = example();
    edit(
        folder.path(),
        "bailiwick.yaml",
        "version: \"1.37\"\n",
        "version: \"1.37\"\n  - {name: staging, version: \"1.37\"}\n",
    );
    with_manifests(folder.path());
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    edit(folder.path(), "policies/plain.yaml", "spec: {", "spec: {targets: [staging], ");
    assert_named(folder.path(), "plain", "");
    // The other target has it still.
    assert!(folder.path().join("out/staging/namespaces/plain.yaml").is_file());
}

#[test]
fn a_namespace_that_manifests_no_longer_write_is_named() {
    for (from, to) in [("spec: {", "spec: {emit: false, "), ("kind: Manifests", "kind: Manifests # gone")] {
        let folder = example();
        with_manifests(folder.path());
        assert_status(&bailiwick(folder.path(), &["render"]), 0);
        edit(folder.path(), "policies/plain.yaml", from, to);
        if to.ends_with("gone") {
            fs::remove_file(folder.path().join("policies/plain.yaml")).expect("a file");
            fs::remove_dir_all(folder.path().join("policies/plain")).expect("a folder");
        }
        assert_named(folder.path(), "plain", "");
    }
}

#[test]
fn a_namespace_that_goes_while_its_objects_stay_is_named() {
    let folder = example();
    with_manifests(folder.path());
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    let objects = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: plain-x, namespace: plain}\n";
    fs::write(folder.path().join("policies/plain/objects.yaml"), objects).expect("a file");
    assert_named(folder.path(), "plain", "");
    assert!(folder.path().join("out/production/namespaces/plain.yaml").is_file());
}

#[test]
fn a_rename_is_a_deletion_and_a_creation() {
    let folder = example();
    edit(folder.path(), TEAMS, "  - name: team-b\n", "  - name: team-bee\n");
    let remark = "; the new namespace `team-bee` has the same objects: a rename is a deletion and a creation";
    assert_named(folder.path(), "team-b", remark);
    // Two that are alike are no rename of one.
    edit(folder.path(), TEAMS, "  - name: team-bee\n", "  - name: team-c\n  - name: team-d\n");
    assert_named(folder.path(), "team-bee", "");
}

#[test]
fn a_namespace_that_moves_to_another_file_stays() {
    let folder = example();
    edit(folder.path(), "bailiwick.yaml", "spec:\n", "spec:\n  layout: {shards: 3}\n");
    let check = bailiwick(folder.path(), &["check"]);
    assert_status(&check, 1);
    assert!(!stderr(&check).contains("deletes the namespace"), "{}", stderr(&check));
    assert_status(&bailiwick(folder.path(), &["render", "--allow-mass-delete"]), 0);
    // Another copy of it in a file that goes.
    let copy = |from: &str, to: &str| fs::copy(folder.path().join(from), folder.path().join(to)).expect("a file");
    let files = snapshot(&folder.path().join("out"));
    let (own, _) = files.iter().find(|(path, _)| path.ends_with("team-b.yaml")).expect("the file of team-b");
    copy(&format!("out/{own}"), "out/production/namespaces/team-x.yaml");
    let run = bailiwick(folder.path(), &["render"]);
    assert_status(&run, 0);
    assert!(!stderr(&run).contains("deletes the namespace"), "{}", stderr(&run));
}

#[test]
fn a_namespace_of_an_edited_file_is_named() {
    for (from, to) in [
        ("apiVersion: v1\nkind: Namespace\nmetadata:\n", "kind:   Namespace\napiVersion: v1\nmetadata:\n"),
        ("apiVersion: v1\nkind: Namespace\n", "<<<<<<< a\n=======\n>>>>>>> b\napiVersion: v1\nkind: Namespace\n"),
    ] {
        let folder = example();
        edit(folder.path(), "out/production/namespaces/team-b.yaml", from, to);
        edit(folder.path(), TEAMS, "  - name: team-b\n", "");
        let refused = bailiwick(folder.path(), &["render", "--allow-empty"]);
        assert_status(&refused, 2);
        assert!(stderr(&refused).contains("error[namespace-delete]: the namespace `team-b`"), "{}", stderr(&refused));
        assert_status(&bailiwick(folder.path(), &["render", "--force", "--delete-namespace", "team-b"]), 0);
    }
}

#[test]
fn many_namespaces_are_counted() {
    let folder = example();
    let many: String = (10..40).map(|number| format!("  - name: many-{number}\n")).collect();
    edit(folder.path(), TEAMS, "  - name: team-b\n", &format!("  - name: team-b\n{many}"));
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    edit(folder.path(), TEAMS, &many, "");
    let diff = bailiwick(folder.path(), &["diff", "--summary"]);
    assert_status(&diff, 1);
    assert_eq!(stdout(&diff).matches("  deletes the namespace `many-").count(), 20);
    assert!(stdout(&diff).contains("  and 10 more\n"), "{}", stdout(&diff));
    let refused = bailiwick(folder.path(), &["render"]);
    assert_status(&refused, 2);
    assert!(stderr(&refused).contains("10 more namespaces of the target `production`"), "{}", stderr(&refused));
    assert_status(&bailiwick(folder.path(), &["render", "--allow-mass-delete"]), 0);
}

#[test]
fn parts_and_their_merge_refuse_as_one_run_does() {
    let folder = example();
    edit(folder.path(), TEAMS, "  - name: team-b\n", "");
    let before = snapshot(&folder.path().join("out"));
    let summaries = tempfile::tempdir().expect("a folder");
    let paths: Vec<String> =
        (1..=2).map(|part| summaries.path().join(part.to_string()).display().to_string()).collect();
    let parts = |consent: &[&str]| {
        let run = |(path, part): (&String, &str)| {
            let run = bailiwick(folder.path(), &[&["render", "--shard", part, "--summary-to", path], consent].concat());
            run.status.code()
        };
        paths.iter().zip(["1/2", "2/2"]).map(run).collect::<Vec<_>>()
    };
    assert!(parts(&[]).contains(&Some(2)));
    assert!(before == snapshot(&folder.path().join("out")), "a refused run wrote something");
    let merged = bailiwick(folder.path(), &["merge", &paths[0], &paths[1]]);
    assert_status(&merged, 2);
    assert!(stderr(&merged).contains("error[namespace-delete]: the namespace `team-b`"), "{}", stderr(&merged));
    let consent = ["--delete-namespace", "team-b"];
    let merged = bailiwick(folder.path(), &[&["merge", &paths[0], &paths[1]], consent.as_slice()].concat());
    assert_status(&merged, 0);
    assert!(stderr(&merged).contains("deletes the namespace `team-b`"), "{}", stderr(&merged));
    assert_eq!(parts(&consent), [Some(0), Some(0)]);
    assert_status(&bailiwick(folder.path(), &["merge", &paths[0], &paths[1]]), 0);
}

/// Commits everything in a folder.
pub(super) fn commit(folder: &Path) {
    for arguments in [
        ["init", "-q"].as_slice(),
        &["add", "-A"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
    ] {
        let run = Command::new("git").args(arguments).current_dir(folder).output().expect("git");
        assert!(run.status.success(), "{}", stderr(&run));
    }
}

#[test]
fn a_target_that_is_gone_is_named() {
    let folder = example();
    let path = folder.path();
    let two = "version: \"1.37\"\n  - {name: staging, version: \"1.37\"}\n";
    edit(path, "bailiwick.yaml", "version: \"1.37\"\n", two);
    assert_status(&bailiwick(path, &["render"]), 0);
    commit(path);
    edit(path, "bailiwick.yaml", two, "version: \"1.37\"\n");
    let line = "target `staging` is gone: 8 objects deleted, among them the namespaces `team-a`, `team-b`\n";
    for command in [["check"].as_slice(), &["diff"], &["diff", "--against", "HEAD"], &["diff", "--against", "./out"]] {
        let run = bailiwick(path, command);
        assert_status(&run, 1);
        assert!(stderr(&run).contains(line), "{command:?}: {}", stderr(&run));
    }
    let before = snapshot(&path.join("out"));
    for consent in [[].as_slice(), &["--allow-mass-delete"], &["--allow-empty"], &["--remove-target", "production"]] {
        let refused = bailiwick(path, &[&["render"], consent].concat());
        assert_status(&refused, 2);
        let message = format!("error[target-delete]: {line}");
        assert!(stderr(&refused).contains(&message), "{}", stderr(&refused));
    }
    assert!(before == snapshot(&path.join("out")), "a refused run wrote something");
    let done = bailiwick(path, &["render", "--remove-target", "staging"]);
    assert_status(&done, 0);
    assert!(stderr(&done).contains(line), "{}", stderr(&done));
    assert_status(&bailiwick(path, &["check"]), 0);
    // The revision also has objects that the folder lost.
    let run = bailiwick(path, &["diff", "--against", "HEAD"]);
    assert_status(&run, 1);
    assert!(stderr(&run).contains(line), "{}", stderr(&run));
}

#[test]
fn a_target_that_is_renamed_is_named() {
    let folder = example();
    let path = folder.path();
    commit(path);
    edit(path, "bailiwick.yaml", "name: production", "name: prod");
    let line = "target `production` is renamed to `prod`: an applier of `out/production` would delete 8 objects\n";
    for command in [["check"].as_slice(), &["diff"], &["diff", "--against", "HEAD"]] {
        let run = bailiwick(path, command);
        assert_status(&run, 1);
        assert!(stderr(&run).contains(line) && !stderr(&run).contains("is new"), "{command:?}: {}", stderr(&run));
    }
    let refused = bailiwick(path, &["render"]);
    assert_status(&refused, 2);
    assert!(stderr(&refused).contains(&format!("error[target-delete]: {line}")), "{}", stderr(&refused));
    // With less in it, it is another one.
    edit(path, TEAMS, "  - name: team-b\n", "");
    let check = bailiwick(path, &["check", "--no-tests"]);
    assert!(stderr(&check).contains("target `production` is gone: 8 objects deleted"), "{}", stderr(&check));
    assert!(stderr(&check).contains("target `prod` is new\n"), "{}", stderr(&check));
    assert_status(&bailiwick(path, &["render", "--remove-target", "production"]), 0);
    assert!(!path.join("out/production").exists());
}

#[test]
fn a_folder_without_the_target_is_no_empty_cluster() {
    let folder = example();
    let path = folder.path();
    fs::create_dir_all(path.join("other/staging/namespaces")).expect("a folder");
    fs::copy(path.join("out/production/namespaces/team-a.yaml"), path.join("other/staging/namespaces/team-a.yaml"))
        .expect("a file");
    fs::create_dir(path.join("other/production")).expect("a folder");
    let run = bailiwick(path, &["diff", "--against", "other"]);
    assert_status(&run, 2);
    assert!(stderr(&run).contains("error[unknown-target]: `other` has no target `production`\n"), "{}", stderr(&run));
    assert!(stderr(&run).contains("= help: its folders are `staging`\n"), "{}", stderr(&run));
    let staging = "version: \"1.37\"\n  - {name: staging, version: \"1.37\"}\n";
    edit(path, "bailiwick.yaml", "version: \"1.37\"\n", staging);
    let run = bailiwick(path, &["diff", "--against", "other"]);
    assert_status(&run, 1);
    assert!(stderr(&run).contains("target `production` is new\n"), "{}", stderr(&run));
}

#[test]
fn parts_and_their_merge_refuse_a_target_that_is_gone() {
    let folder = example();
    edit(folder.path(), "bailiwick.yaml", "name: production", "name: prod");
    let summaries = tempfile::tempdir().expect("a folder");
    let paths: Vec<String> =
        (1..=2).map(|part| summaries.path().join(part.to_string()).display().to_string()).collect();
    for (path, part) in paths.iter().zip(["1/2", "2/2"]) {
        bailiwick(folder.path(), &["render", "--shard", part, "--summary-to", path]);
    }
    assert!(folder.path().join("out/production").exists());
    let merged = bailiwick(folder.path(), &["merge", &paths[0], &paths[1]]);
    assert_status(&merged, 2);
    let message = "error[target-delete]: target `production` is renamed to `prod`";
    assert!(stderr(&merged).contains(message), "{}", stderr(&merged));
    let merged = bailiwick(folder.path(), &["merge", "--remove-target", "production", &paths[0], &paths[1]]);
    assert_status(&merged, 0);
}

/// `--quiet` hides counts, and keeps the lines about changes that destroy or weaken something.
#[test]
fn quiet_keeps_what_is_dangerous() {
    let folder = example();
    let path = folder.path();
    let staging = "version: \"1.37\"\n  - {name: staging, version: \"1.37\"}\n";
    edit(path, "bailiwick.yaml", "version: \"1.37\"\n", staging);
    assert_status(&bailiwick(path, &["render"]), 0);
    commit(path);
    for command in
        [["check", "-q"].as_slice(), &["diff", "-q"], &["diff", "-q", "--against", "HEAD"], &["render", "-q"]]
    {
        let run = bailiwick(path, command);
        assert_status(&run, 0);
        assert_eq!(stderr(&run).replace("1 test: 42 questions asked, 0 failed\n", ""), "", "{command:?}");
    }
    edit(path, "bailiwick.yaml", staging, "version: \"1.37\"\n");
    edit(path, "bailiwick.yaml", "spec:\n", "spec:\n  diagnostics: {grant-expired: ignore}\n");
    edit(path, TEAMS, "  - name: team-b\n", "");
    edit(path, TEAMS, "[view]", "[admin]");
    let gone = "target `staging` is gone: 8 objects deleted, among them the namespaces `team-a`, `team-b`\n";
    let deleted = "production:\n  deletes the namespace `team-b`, with everything in it\n";
    let set = "`spec.diagnostics` sets `grant-expired` to `ignore`\n";
    let consent = ["render", "-q", "--delete-namespace", "team-b", "--remove-target", "staging"];
    for (command, status, lines) in [
        (["check", "-q", "--no-tests"].as_slice(), 1, [gone, deleted].as_slice()),
        (&["diff", "-q"], 1, &[gone, deleted]),
        (&["diff", "-q", "--against", "HEAD"], 1, &[gone, deleted, set]),
        (&consent, 0, &[gone, deleted]),
    ] {
        let run = bailiwick(path, command);
        assert_status(&run, status);
        let stderr = stderr(&run);
        for line in lines {
            assert!(stderr.contains(line), "{command:?} {line}: {stderr}");
        }
        assert!(!stderr.contains("unchanged") && !stderr.contains("  Namespace: "), "{command:?}: {stderr}");
    }
}

/// Runs a command in two parts, and merges them.
fn merged(folder: &Path, command: &[&str], merge: &[&str]) -> Output {
    let summaries = tempfile::tempdir().expect("a folder");
    let mut paths: Vec<String> = Vec::new();
    for part in 1..=2 {
        let path = summaries.path().join(part.to_string()).display().to_string();
        let shard = ["--shard", &format!("{part}/2"), "--summary-to", &path];
        bailiwick(folder, &[command, shard.as_slice()].concat());
        paths.push(path);
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    bailiwick(folder, &[&["merge"], merge, &paths].concat())
}

#[test]
fn a_merge_names_renames_as_one_run_does() {
    let renamed = "target `production` is renamed to `prod`: an applier of `out/production` would delete 8 objects\n";
    let bee = "; the new namespace `team-bee` has the same objects: a rename is a deletion and a creation\n";
    for (path, from, to, lines) in [
        ("bailiwick.yaml", "name: production", "name: prod", [renamed].as_slice()),
        (TEAMS, "  - name: team-b\n", "  - name: team-bee\n", &[bee]),
        // With less in it, the target is another one.
        (
            "bailiwick.yaml",
            "name: production",
            "name: prod # less",
            &["target `production` is gone: 8 objects deleted", "target `prod` is new\n"],
        ),
    ] {
        let folder = example();
        edit(folder.path(), path, from, to);
        if to.ends_with("less") {
            edit(folder.path(), TEAMS, "  - name: team-b\n", "");
        }
        let check = ["check", "--no-tests"];
        let (whole, parts) = (bailiwick(folder.path(), &check), merged(folder.path(), &check, &[]));
        assert_status(&whole, 1);
        assert_status(&parts, 1);
        assert_eq!(stderr(&parts), stderr(&whole));
        for line in lines {
            assert!(stderr(&parts).contains(line), "{line}: {}", stderr(&parts));
        }
        assert!(lines.len() > 1 || !stderr(&parts).contains("is new"), "{}", stderr(&parts));
    }
    // The first part removes the former target, and the second one finds it gone.
    let folder = example();
    edit(folder.path(), "bailiwick.yaml", "name: production", "name: prod");
    let run = merged(folder.path(), &["render", "--remove-target", "production"], &[]);
    assert_status(&run, 0);
    assert!(!folder.path().join("out/production").exists());
    assert!(stderr(&run).contains(renamed), "{}", stderr(&run));
}

#[test]
fn what_is_judged_and_not_written_is_shown() {
    let folder = example();
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: seen}\nspec: {files: [seen/*.yaml], emit: false}\n";
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: monitoring}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n";
    fs::create_dir_all(folder.path().join("policies/seen")).expect("a folder");
    fs::write(folder.path().join("policies/seen.yaml"), policy).expect("a file");
    fs::write(folder.path().join("policies/seen/role.yaml"), role).expect("a file");
    fs::write(folder.path().join("base.yaml"), role).expect("a file");
    edit(
        folder.path(),
        "bailiwick.yaml",
        "    version: \"1.37\"\n",
        "    version: \"1.37\"\n    baseline: base.yaml\n",
    );
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
    edit(
        folder.path(),
        "policies/seen/role.yaml",
        "resources: [pods], verbs: [get]",
        "resources: [\"*\"], verbs: [\"*\"]",
    );
    assert_shown(
        folder.path(),
        &[
            "target `production`: ClusterRole monitoring, which is judged and not written, is another: with * on *; without get on pods\n",
        ],
    );
    fs::write(folder.path().join("policies/seen/role.yaml"), role).expect("a file");
    edit(folder.path(), "base.yaml", "[get]", "[list]");
    assert_shown(folder.path(), &["target `production`: its baseline changes, which the output does not show\n"]);
    fs::write(folder.path().join("base.yaml"), role).expect("a file");
    edit(folder.path(), "bailiwick.yaml", "\"1.37\"", "\"1.35\"");
    assert_shown(folder.path(), &["target `production`: its version changes from 1.37 to 1.35"]);
}

/// A kept object counts for `lint`, questions and `diff`, whether a policy names its file or none does.
#[test]
fn kept_objects_are_judged() {
    const KEPT: &str = "out/production/extra.yaml";
    let binding = |role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: extra}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\nsubjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}}]\n"
        )
    };
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: extra}\nspec: {files: [../out/production/extra.yaml], emit: false}\n";
    let folder = example();
    edit(folder.path(), "bailiwick.yaml", "spec:\n", "spec:\n  keep: [\"*/extra.yaml\", \"*/kustomization.yaml\"]\n");
    let output = folder.path().join("out/production");
    let compiled: String = snapshot(&output).iter().map(|(path, _)| format!("- {path}\n")).collect();
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
    let kustomization = format!("{head}{compiled}");
    fs::write(folder.path().join("out/production/kustomization.yaml"), kustomization).expect("a file");
    commit(folder.path());
    let quiet = bailiwick(folder.path(), &["diff", "--against", "HEAD"]);
    assert_status(&quiet, 0);
    assert!(!stderr(&quiet).contains("kept"), "{}", stderr(&quiet));
    let is_administrator = || {
        let lint = bailiwick(folder.path(), &["lint"]);
        let holders = stdout(&bailiwick(folder.path(), &["who-can", "get", "secrets"]));
        let finding =
            "warning[cluster-admin-binding]: `ClusterRoleBinding/extra` grants full authority to `User/mallory`";
        let (is_found, is_holder) = (stderr(&lint).contains(finding), holders.contains("User/mallory\n"));
        assert_eq!(is_found, is_holder, "{}{holders}", stderr(&lint));
        assert!(!is_found || stderr(&lint).contains(&format!("--> {KEPT}:")), "{}", stderr(&lint));
        is_found
    };
    assert!(!is_administrator());
    fs::write(folder.path().join(KEPT), binding("cluster-admin")).expect("a file");
    assert!(is_administrator());
    assert_shown(
        folder.path(),
        &["target `production`: ClusterRoleBinding extra is kept in the output folder, and no policy names it\n"],
    );
    assert_status(&bailiwick(folder.path(), &["check"]), 1);
    fs::write(folder.path().join("policies/extra.yaml"), policy).expect("a file");
    assert!(is_administrator());
    assert_shown(folder.path(), &["ClusterRoleBinding extra, which is judged and not written, is new\n"]);
    fs::write(folder.path().join(KEPT), binding("view")).expect("a file");
    assert!(!is_administrator());
    assert_status(&bailiwick(folder.path(), &["check"]), 0);
    commit(folder.path());
    fs::write(folder.path().join(KEPT), binding("cluster-admin")).expect("a file");
    assert!(is_administrator());
    assert_shown(folder.path(), &["ClusterRoleBinding extra, which is judged and not written, changes\n"]);
}

#[test]
fn an_expired_grant_and_a_wrong_group_fail_check_alone() {
    let changes = [
        ("  to:\n", "  expires: 2020-01-01\n  to:\n", "grant-expired"),
        (
            "apiGroups: [apps]\n    resources: [deployments]",
            "apiGroups: [\"\"]\n    resources: [deployments]",
            "unserved-resource",
        ),
    ];
    for (from, to, code) in changes {
        let folder = example();
        edit(folder.path(), TEAMS, from, to);
        let render = bailiwick(folder.path(), &["render"]);
        assert_status(&render, 0);
        assert!(stderr(&render).contains(&format!("warning[{code}]")), "{}", stderr(&render));
        let check = bailiwick(folder.path(), &["check", "--no-tests"]);
        assert_status(&check, 1);
        assert!(stderr(&check).contains(&format!("error[{code}]")), "{}", stderr(&check));
        assert!(!stderr(&check).contains("the output differs"), "{}", stderr(&check));
        assert_status(&bailiwick(folder.path(), &["diff"]), 0);
        assert_status(&bailiwick(folder.path(), &["diff", "--deny-warnings"]), 1);
        for (setting, status) in [("warning", 0), ("ignore", 0), ("error", 2)] {
            edit(folder.path(), "bailiwick.yaml", "spec:\n", &format!("spec:\n  diagnostics: {{{code}: {setting}}}\n"));
            assert_status(&bailiwick(folder.path(), &["check", "--no-tests"]), status);
            assert_status(&bailiwick(folder.path(), &["render"]), status);
            let denied = bailiwick(folder.path(), &["check", "--no-tests", "--deny-warnings"]);
            assert_status(&denied, if setting == "warning" { 1 } else { status });
            edit(folder.path(), "bailiwick.yaml", &format!("  diagnostics: {{{code}: {setting}}}\n"), "");
        }
    }
}

#[test]
fn what_anybody_may_serve_does_not_fail_check() {
    for (groups, resource) in [("apps", "deployments/finalizers"), ("example.com", "deployments"), ("", "widgets")] {
        let folder = example();
        let rule = format!("  - apiGroups: [\"{groups}\"]\n    resources: [{resource}]\n    verbs: [update]\n");
        edit(folder.path(), TEAMS, "  rules:\n", &format!("  rules:\n{rule}"));
        assert_status(&bailiwick(folder.path(), &["render"]), 0);
        assert_status(&bailiwick(folder.path(), &["check"]), 0);
    }
}

#[test]
fn settings_of_diagnostics_are_checked() {
    for (entry, words) in [
        ("grant-expird: error", "did you mean `grant-expired`?"),
        ("invalid-value: ignore", "error[invalid-workspace]"),
        ("namespace-delete: warning", "error[invalid-workspace]: `namespace-delete` is an error by itself"),
        ("unused-policy: high", "error[invalid-workspace]"),
        ("warnings: ignore", "error[invalid-workspace]"),
        ("unused-policy: off", "error["),
    ] {
        let folder = example();
        edit(folder.path(), "bailiwick.yaml", "spec:\n", &format!("spec:\n  diagnostics: {{{entry}}}\n"));
        let run = bailiwick(folder.path(), &["check"]);
        assert_status(&run, 2);
        assert!(stderr(&run).contains(words), "{entry}: {}", stderr(&run));
    }
    let folder = example();
    edit(
        folder.path(),
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  diagnostics: {warnings: error, change-workloads: info}\n",
    );
    assert_status(&bailiwick(folder.path(), &["check"]), 0);
    assert_status(&bailiwick(folder.path(), &["lint"]), 0);
    for (setting, status) in [("ignore", 0), ("error", 2), ("low", 1)] {
        edit(folder.path(), "bailiwick.yaml", "change-workloads: info", &format!("change-workloads: {setting}"));
        let threshold = if setting == "low" { "low" } else { "high" };
        let run = bailiwick(folder.path(), &["lint", "--severity", threshold]);
        assert_status(&run, status);
        edit(folder.path(), "bailiwick.yaml", &format!("change-workloads: {setting}"), "change-workloads: info");
    }
    edit(folder.path(), TEAMS, "kind: Grant\nmetadata:\n", "kind: Grant\nmetadata:\n  allow: [grant-expired]\n");
    edit(folder.path(), TEAMS, "  to:\n", "  expires: 2020-01-01\n  to:\n");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    assert_status(&bailiwick(folder.path(), &["check", "--deny-warnings"]), 0);
}

#[test]
fn what_lets_in_other_pods_is_named() {
    let folder = example();
    let policies = |level: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: plain\n  labels: {{{level}}}\n---\n\
             apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: x, namespace: plain}}\n"
        )
    };
    let (enforce, profile) = ("pod-security.kubernetes.io/enforce", "bailiwick.dev/pod-security-profile");
    with_manifests(folder.path());
    let objects = folder.path().join("policies/plain/objects.yaml");
    fs::write(&objects, policies(&format!("{enforce}: restricted, {profile}: web"))).expect("a file");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    for (labels, words) in [
        (
            format!("{enforce}: privileged, {profile}: web"),
            "lowers the Pod Security level to enforce from restricted to privileged",
        ),
        (
            format!("{enforce}: baseline, {profile}: web"),
            "lowers the Pod Security level to enforce from restricted to baseline",
        ),
        (format!("{profile}: web"), "loses the Pod Security level restricted to enforce"),
        (format!("{enforce}: restricted"), "loses the label of its profile"),
        (format!("{enforce}: restricted, {profile}: other"), "changes its profile"),
    ] {
        fs::write(&objects, policies(&labels)).expect("a file");
        let run = bailiwick(folder.path(), &["diff", "--summary"]);
        assert_status(&run, 1);
        assert!(stdout(&run).contains(&format!("  Namespace plain {words}\n")), "{}", stdout(&run));
    }
}
