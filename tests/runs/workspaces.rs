//! `--workspaces`: one run for every workspace below a folder.

use std::fs;
use std::path::Path;

use super::{bailiwick, git, stderr};

/// Writes a workspace with a Grant of a ClusterRole.
fn workspace(folder: &Path, role: &str) {
    fs::create_dir_all(folder.join("policies")).expect("a folder");
    let file = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: t, version: \"1.36\"}]\n";
    fs::write(folder.join("bailiwick.yaml"), file).expect("a file");
    let grant = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: g}}\nspec:\n  to: {{users: [ann]}}\n  clusterRoles: [{role}]\n  clusterWide: true\n"
    );
    fs::write(folder.join("policies/grants.yaml"), grant).expect("a file");
}

/// Returns the headings of a run.
fn headings(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("workspace ")).collect()
}

#[test]
fn every_workspace_is_run_in_the_order_of_the_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in ["b", "a/second", "a-c", "a/first"] {
        workspace(&folder.path().join(path), "view");
    }
    let order = ["`a/first`", "`a/second`", "`a-c`", "`b`"];
    let render = bailiwick(folder.path(), &["render", "--workspaces"]);
    assert!(render.status.success(), "{}", stderr(&render));
    assert_eq!(headings(&stderr(&render)), order);
    assert!(folder.path().join("a/second/out/t/cluster/clusterrolebinding.yaml").is_file());
    let check = bailiwick(folder.path(), &["check", "--workspaces"]);
    assert!(check.status.success(), "{}", stderr(&check));
    let below = bailiwick(folder.path(), &["check", "--workspaces", "a"]);
    assert_eq!(headings(&stderr(&below)), ["`first`", "`second`"]);
    let start = folder.path().join("a");
    let start = start.to_str().expect("UTF-8");
    assert_eq!(headings(&stderr(&bailiwick(folder.path(), &["-C", start, "lint", "--workspaces"]))).len(), 2);
}

#[test]
fn the_highest_exit_code_counts_and_no_workspace_hides_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, role) in [("a", "no/such"), ("b", "view"), ("c", "view")] {
        workspace(&folder.path().join(path), role);
    }
    let code = |arguments: &[&str]| bailiwick(folder.path(), arguments).status.code();
    assert_eq!(code(&["render", "--workspaces"]), Some(2));
    assert!(!folder.path().join("a/out").exists() && folder.path().join("c/out/t").is_dir());
    workspace(&folder.path().join("a"), "view");
    assert_eq!(code(&["check", "--workspaces"]), Some(1), "`a` is not rendered");
    assert_eq!(code(&["render", "--workspaces"]), Some(0));
    assert_eq!(code(&["check", "--workspaces"]), Some(0));
    // Equal findings of two workspaces are two findings.
    for path in ["b", "c"] {
        workspace(&folder.path().join(path), "cluster-admin");
    }
    let lint = bailiwick(folder.path(), &["lint", "--workspaces"]);
    assert_eq!(lint.status.code(), Some(1));
    let finding = stderr(&bailiwick(&folder.path().join("b"), &["lint"]));
    let finding = finding.lines().next().expect("a finding").to_owned();
    assert_eq!(stderr(&lint).matches(&finding).count(), 2, "{}", stderr(&lint));
}

#[test]
fn a_folder_without_a_workspace_and_a_run_without_tests_are_no_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = bailiwick(folder.path(), &["check", "--workspaces"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert_eq!(bailiwick(folder.path(), &["check", "--workspaces", "none"]).status.code(), Some(3));
    workspace(&folder.path().join("a"), "view");
    workspace(&folder.path().join("b"), "view");
    assert_eq!(bailiwick(folder.path(), &["test", "--workspaces"]).status.code(), Some(2));
    let test = "apiVersion: bailiwick.dev/v1alpha1\nkind: AccessTest\nmetadata: {name: viewers}\nspec:\n  who: {users: [ann]}\n  must:\n  - {verbs: [get], resources: [pods], namespaces: [x]}\n";
    fs::write(folder.path().join("b/policies/test.yaml"), test).expect("a file");
    let run = bailiwick(folder.path(), &["test", "--workspaces"]);
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(stderr(&run).contains("no AccessTest to run"), "{}", stderr(&run));
}

#[test]
fn a_workspace_in_a_folder_of_another_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in ["", "policies/inner", "templates/inner", "out/deep/inner", "beside"] {
        workspace(&folder.path().join(path), "view");
    }
    let run = bailiwick(folder.path(), &["render", "--workspaces"]);
    let text = stderr(&run);
    assert_eq!(run.status.code(), Some(2), "{text}");
    assert_eq!(headings(&text), ["`.`", "`beside`", "`out/deep/inner`", "`policies/inner`", "`templates/inner`"]);
    assert_eq!(text.matches("error[invalid-workspace]: this workspace is inside").count(), 3, "{text}");
    assert!(folder.path().join("beside/out/t").is_dir() && !folder.path().join("policies/inner/out").exists());
}

#[test]
fn formats_for_programs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(&folder.path().join("a"), "view");
    for arguments in [
        &["check", "--format", "sarif"][..],
        &["lint", "--format", "json"],
        &["test", "--report", "junit=tests.xml"],
        &["--diagnostics", "json", "check"],
        &["render", "--stdout"],
        &["render", "--shard", "1/2"],
        &["check", "--shard", "1/2"],
        &["lint", "--from", "a"],
    ] {
        let run = bailiwick(folder.path(), &[arguments, &["--workspaces"]].concat());
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        if arguments.contains(&"json") || arguments.contains(&"sarif") {
            let text = [run.stdout, run.stderr].concat();
            serde_json::from_slice::<serde_json::Value>(&text).expect("JSON alone");
        }
    }
}

#[cfg(unix)]
#[test]
fn names_of_folders_are_escaped_and_links_are_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = tempfile::tempdir().expect("a folder");
    workspace(outside.path(), "view");
    workspace(&folder.path().join("a\nworkspace `b`\n\u{1b}[31m\u{202e}"), "view");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).expect("a link");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("ring")).expect("a link");
    let run = bailiwick(folder.path(), &["render", "--workspaces"]);
    let text = stderr(&run);
    assert_eq!(headings(&text).len(), 1, "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    assert!(!outside.path().join("out").exists());
    // A workspace file that is a link is a workspace; it is not left out.
    fs::create_dir(folder.path().join("file")).expect("a folder");
    std::os::unix::fs::symlink(outside.path().join("bailiwick.yaml"), folder.path().join("file/bailiwick.yaml"))
        .expect("a link");
    let run = bailiwick(folder.path(), &["check", "--workspaces"]);
    assert_eq!((run.status.code(), headings(&stderr(&run)).len()), (Some(2), 2), "{}", stderr(&run));
}

#[test]
fn output_of_a_workspace_without_its_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for path in ["a", "b"] {
        workspace(&root.join(path), "view");
    }
    assert!(bailiwick(root, &["render", "--workspaces"]).status.success());
    let is_refused = |arguments: &[&str]| {
        let check = bailiwick(root, &[&["check", "--workspaces"], arguments].concat());
        let error = "error[left-behind]: `b/out/t/cluster/clusterrolebinding.yaml` is an output file of no workspace\n";
        let has_error = stderr(&check).contains(error);
        assert_eq!(check.status.code(), Some(if has_error { 2 } else { 0 }), "{}", stderr(&check));
        has_error
    };
    assert!(!is_refused(&[]));
    fs::rename(root.join("b/bailiwick.yaml"), root.join("b/bailiwick.yaml.old")).expect("renamed");
    let output = root.join("b/out/t/cluster/clusterrolebinding.yaml");
    let edited = fs::read_to_string(&output).expect("a file").replace("name: view", "name: cluster-admin");
    fs::write(&output, edited).expect("a file");
    assert!(is_refused(&[]));
    assert_eq!(bailiwick(root, &["check", "--workspaces", "a"]).status.code(), Some(0));
    // A folder with the tag of a cache, in a repository.
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "one"]);
    fs::write(root.join("b/CACHEDIR.TAG"), "").expect("a file");
    assert!(is_refused(&[]));
    assert!(is_refused(&["--tree", "HEAD"]));
    // The commit decides, and not the files on disk.
    fs::remove_dir_all(root.join("b")).expect("removed");
    assert!(is_refused(&["--tree", "HEAD"]));
    assert!(!is_refused(&[]));
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "two"]);
    assert!(!is_refused(&["--tree", "HEAD"]));
}
