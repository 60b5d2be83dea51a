//! Branches that change the output, merged by git.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{bailiwick, snapshot, stderr};

/// Policies of the base: two teams, each from a file of its own, and what both of them get.
const BASE: [(&str, &str); 5] = [
    (
        "bailiwick.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: t, version: \"1.30\"}]\n",
    ),
    (
        "policies/quota.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: a}\nspec:\n  resourceQuota: {name: quota, hard: {pods: \"10\"}}\n  namespaces: [{name: team-a}]\n",
    ),
    (
        "policies/b.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: b}\nspec:\n  namespaces: [{name: team-b}]\n",
    ),
    (
        "policies/roles.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {name: reader}\nspec:\n  rules:\n  - apiGroups: [\"\"]\n    resources: [pods]\n    verbs: [get]\n",
    ),
    (
        "policies/readers.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: readers}\nspec:\n  to: {groups: [readers]}\n  permissionSets: [reader]\n  namespaceSelector: {}\n",
    ),
];

fn grant(name: &str, set: &str) -> String {
    format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: {name}}}\nspec:\n  to: {{groups: [{name}]}}\n  permissionSets: [{set}]\n  namespaces: [team-a]\n"
    )
}

fn team(name: &str) -> String {
    format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {{name: {name}}}\nspec:\n  namespaces: [{{name: {name}}}]\n"
    )
}

fn git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git is there")
}

fn git_fine(folder: &Path, arguments: &[&str]) {
    let run = git(folder, arguments);
    assert!(run.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&run.stdout));
}

/// Changes of one branch: a path and the text in place of a former one (none: the file goes), or the text of a new file.
#[derive(Clone, Copy)]
enum Change<'c> {
    Write(&'c str, &'c str),
    Replace(&'c str, &'c str, &'c str),
    Remove(&'c str),
}

/// Renders a branch with a change on top of the base, and commits it with its output.
fn branch(root: &Path, name: &str, changes: &[Change<'_>], consent: &[&str]) {
    git_fine(root, &["checkout", "-q", "-b", name, "main"]);
    for change in changes {
        match *change {
            Change::Write(path, text) => fs::write(root.join(path), text).expect("a file"),
            Change::Replace(path, from, to) => {
                let text = fs::read_to_string(root.join(path)).expect("a file");
                assert!(text.contains(from), "{path} has no `{from}`");
                fs::write(root.join(path), text.replace(from, to)).expect("a file");
            }
            Change::Remove(path) => fs::remove_file(root.join(path)).expect("a file"),
        }
    }
    render(root, consent);
    git_fine(root, &["add", "-A"]);
    git_fine(root, &["commit", "-qm", name]);
}

fn render(root: &Path, consent: &[&str]) {
    let run = bailiwick(root, &[&["render"], consent].concat());
    assert!(run.status.success(), "{}", stderr(&run));
}

/// Returns a repository with the base and its output.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir_all(root.join("policies")).expect("a folder");
    BASE.iter().for_each(|(path, text)| fs::write(root.join(path), text).expect("a file"));
    render(root, &[]);
    git_fine(root, &["init", "-q"]);
    git_fine(root, &["add", "-A"]);
    git_fine(root, &["commit", "-qm", "base"]);
    folder
}

/// Merges two branches; true where git finds no conflict.
fn merge(root: &Path, ours: &[Change<'_>], theirs: &[Change<'_>], consent: &[&str]) -> bool {
    branch(root, "ours", ours, consent);
    branch(root, "theirs", theirs, consent);
    git_fine(root, &["checkout", "-q", "ours"]);
    git(root, &["merge", "-q", "--no-edit", "theirs"]).status.success()
}

/// Returns the output that the policies of a folder give where there is none yet.
fn fresh(root: &Path) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(root.join("bailiwick.yaml"), folder.path().join("bailiwick.yaml")).expect("a copy");
    fs::create_dir(folder.path().join("policies")).expect("a folder");
    for entry in fs::read_dir(root.join("policies")).expect("a folder").flatten() {
        fs::copy(entry.path(), folder.path().join("policies").join(entry.file_name())).expect("a copy");
    }
    render(folder.path(), &[]);
    snapshot(&folder.path().join("out"))
}

#[test]
fn independent_changes_merge_without_conflict() {
    let quota = Change::Replace("policies/quota.yaml", "\"10\"", "\"20\"");
    let (new_grant, new_c, new_d) = (grant("writers", "reader"), team("team-c"), team("team-d"));
    let gone = Change::Remove("policies/b.yaml");
    let cases = [
        ("quota and role", quota, Change::Replace("policies/roles.yaml", "[get]", "[get, list]")),
        ("quota and a new grant in a new file", quota, Change::Write("policies/writers.yaml", &new_grant)),
        ("two new teams", Change::Write("policies/c.yaml", &new_c), Change::Write("policies/d.yaml", &new_d)),
        ("both remove a team", gone, gone),
    ];
    for (name, ours, theirs) in cases {
        let folder = repository();
        let root = folder.path();
        assert!(merge(root, &[ours], &[theirs], &["--delete-namespace", "team-b"]), "{name}: a conflict");
        let check = bailiwick(root, &["check"]);
        assert_eq!(check.status.code(), Some(0), "{name}: {}", stderr(&check));
        let merged = snapshot(&root.join("out"));
        render(root, &[]);
        assert_eq!(snapshot(&root.join("out")), merged, "{name}");
        assert_eq!(merged, fresh(root), "{name}");
    }
}

#[test]
fn render_repairs_the_output_of_a_merge_with_conflicts() {
    let (editors, owners) = (grant("editors", "reader"), grant("owners", "reader"));
    let role = Change::Replace("policies/roles.yaml", "[get]", "[get, list]");
    let cases: [(&str, Change<'_>, Change<'_>, &[&str]); 3] = [
        (
            "bindings that are neighbours",
            Change::Write("policies/editors.yaml", &editors),
            Change::Write("policies/owners.yaml", &owners),
            &[],
        ),
        ("changed here, removed there", role, Change::Remove("policies/b.yaml"), &["--delete-namespace", "team-b"]),
        ("removed here, changed there", Change::Remove("policies/b.yaml"), role, &["--delete-namespace", "team-b"]),
    ];
    for (name, ours, theirs, consent) in cases {
        let folder = repository();
        let root = folder.path();
        assert!(!merge(root, &[ours], &[theirs], consent), "{name}: git finds a conflict");
        let check = bailiwick(root, &["check"]);
        assert_ne!(check.status.code(), Some(0), "{name}: the conflict is a difference");
        render(root, consent);
        assert_eq!(snapshot(&root.join("out")), fresh(root), "{name}");
        git_fine(root, &["add", "-A"]);
        git_fine(root, &["commit", "-qm", "merged"]);
        let check = bailiwick(root, &["check"]);
        assert_eq!(check.status.code(), Some(0), "{name}: {}", stderr(&check));
    }
}

#[test]
fn a_merge_that_git_finds_clean_can_be_wrong() {
    let folder = repository();
    let root = folder.path();
    let rename = [
        Change::Replace("policies/roles.yaml", "name: reader", "name: viewer"),
        Change::Replace("policies/readers.yaml", "[reader]", "[viewer]"),
    ];
    // In a namespace of its own, so git finds no conflict.
    let elsewhere = grant("writers", "reader").replace("team-a", "team-z");
    let new = [Change::Write("policies/z.yaml", &team("team-z")), Change::Write("policies/writers.yaml", &elsewhere)];
    assert!(merge(root, &rename, &new, &[]), "git finds no conflict");
    let check = bailiwick(root, &["check"]);
    assert_eq!(check.status.code(), Some(2), "{}", stderr(&check));
    assert!(stderr(&check).contains("reader"), "{}", stderr(&check));
}
