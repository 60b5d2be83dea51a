//! `lint --base`: the findings of a change against an earlier state in git or in a folder.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::{bailiwick, git, stderr};

const WORKSPACE: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: w}\nspec:\n  targets:\n  - {name: prod, version: \"1.34\"}\n  - {name: test, version: \"1.34\"}\n";

const TENANCY: &str = r#"apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: tenant}
spec:
  rules:
  - {resources: [pods], verbs: [create]}
  - {resources: [serviceaccounts], verbs: [impersonate]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: accounts.csv}
  variables: {name: {type: string}, team: {type: string}}
  class:
    namespace: {name: "t-{name}"}
    roles: [{name: own, permissionSet: tenant}]
    grants: [{name: own, role: own, to: {groups: ["{team}"]}}]
"#;

/// Returns a policy by which a group reads secrets in the whole cluster.
fn secrets(name: &str) -> String {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
    format!(
        "{head} PermissionSet\nmetadata: {{name: {name}}}\nspec:\n  as: ClusterRole\n  rules: [{{resources: [secrets], verbs: [get, list]}}]\n---\n\
         {head} Grant\nmetadata: {{name: {name}}}\nspec:\n  to: {{groups: [{name}]}}\n  permissionSets: [{name}]\n  clusterWide: true\n"
    )
}

fn commit(folder: &Path) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "state", "--allow-empty"]);
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Returns a repository with a commit of a workspace, in which a group reads secrets.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "bailiwick.yaml", WORKSPACE);
    write(folder.path(), "policies/old.yaml", &secrets("old"));
    git(folder.path(), &["init", "-q"]);
    commit(folder.path());
    folder
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the command, and returns its exit code, the messages of the printed findings, and the last line.
fn lint(folder: &Path, arguments: &[&str]) -> (i32, Vec<String>, String) {
    let output = bailiwick(folder, &[&["lint", "--diagnostics", "json"], arguments].concat());
    let lines = stderr(&output);
    let findings = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let messages = findings.map(|finding| finding["message"].as_str().expect("a message").to_owned()).collect();
    (output.status.code().expect("a code"), messages, stdout(&output))
}

/// Asserts the exit code, a word in each printed finding, and the counts.
fn assert_lint(folder: &Path, arguments: &[&str], code: i32, words: &[&str], counts: &str) {
    let (found, messages, line) = lint(folder, arguments);
    assert_eq!((found, line.as_str()), (code, format!("{counts}\n").as_str()), "{arguments:?}: {messages:#?}");
    assert_eq!(messages.len(), words.len(), "{arguments:?}: {messages:#?}");
    for (message, word) in messages.iter().zip(words) {
        assert!(message.contains(word), "{message}: {word}");
    }
}

#[test]
fn only_new_findings_are_printed() {
    let folder = repository();
    let root = folder.path();
    assert_lint(root, &["--base", "HEAD"], 0, &[], "1 known, 0 fixed");
    write(root, "policies/new.yaml", &secrets("new"));
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/new"], "1 known, 0 fixed");
    assert_lint(root, &["--against", "main"], 1, &["Group/new"], "1 known, 0 fixed");
    assert_lint(root, &["--base", "HEAD", "--all"], 1, &["Group/new", "Group/old"], "1 known, 0 fixed");
    assert_lint(root, &["--base", "HEAD", "--select", "create-pods"], 0, &[], "0 known, 0 fixed");
    fs::rename(root.join("policies/old.yaml"), root.join("policies/renamed.yaml")).expect("renamed");
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/new"], "1 known, 0 fixed");
    fs::remove_file(root.join("policies/renamed.yaml")).expect("removed");
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/new"], "0 known, 1 fixed");
    // Known findings pass the gate, unless all are asked for.
    commit(root);
    assert_lint(root, &["--base", "HEAD"], 0, &[], "1 known, 0 fixed");
    assert_lint(root, &["--base", "HEAD", "--all"], 1, &["Group/new"], "1 known, 0 fixed");
    // The usual base, and the range form.
    git(root, &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    git(root, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    let output = bailiwick(root, &["lint", "--base"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(1), "0 known, 1 fixed\n"),
        "{}",
        stderr(&output)
    );
    assert_lint(root, &["--base", "origin/main...HEAD"], 1, &["Group/new"], "0 known, 1 fixed");
}

#[test]
fn a_known_finding_that_grew_is_new() {
    let folder = repository();
    let root = folder.path();
    // Another target that the base has.
    write(root, "policies/some.yaml", &format!("{}  targets: [test]\n", secrets("some")));
    commit(root);
    assert_lint(root, &["--base", "HEAD"], 0, &[], "2 known, 0 fixed");
    write(root, "policies/some.yaml", &secrets("some"));
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/some"], "1 known, 0 fixed");
    commit(root);
    // A target that the base does not have.
    write(root, "bailiwick.yaml", &format!("{WORKSPACE}  - {{name: third, version: \"1.34\"}}\n"));
    assert_lint(root, &["--base", "HEAD"], 0, &[], "2 known, 0 fixed");
    assert_lint(root, &["--base", "HEAD", "-t", "third"], 1, &["Group/old", "Group/some"], "0 known, 0 fixed");
    // Another severity.
    write(root, "bailiwick.yaml", &format!("{WORKSPACE}  diagnostics: {{read-secrets: high}}\n"));
    commit(root);
    write(root, "bailiwick.yaml", WORKSPACE);
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/old", "Group/some"], "0 known, 0 fixed");
}

#[test]
fn an_accepted_finding_is_accepted_for_its_policy_alone() {
    let folder = repository();
    let root = folder.path();
    let grant = "Grant\nmetadata: {name: old";
    let accepted = secrets("old").replace(grant, &format!("{grant}, allow: [read-secrets]"));
    write(root, "policies/old.yaml", &accepted);
    write(root, "policies/new.yaml", &secrets("new"));
    assert_lint(root, &["--base", "HEAD"], 1, &["Group/new"], "0 known, 0 fixed, 1 accepted");
    commit(root);
    assert_lint(root, &["--base", "HEAD"], 0, &[], "1 known, 0 fixed, 1 accepted");
    fs::remove_file(root.join("policies/old.yaml")).expect("removed");
    assert_lint(root, &["--base", "HEAD"], 0, &[], "1 known, 0 fixed");
}

/// Returns a policy by which the group `dev` has a rule in the namespace `shop`, with this head of the Grant and these labels.
fn in_shop(rule: &str, grant: &str, labels: &str) -> String {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
    format!(
        "{head} NamespaceSet\nmetadata: {{name: shop}}\nspec: {{namespaces: [{{name: shop, labels: {{{labels}}}}}]}}\n---\n\
         {head} PermissionSet\nmetadata: {{name: dev}}\nspec: {{rules: [{rule}]}}\n---\n\
         {head} Grant\nmetadata: {{name: dev{grant}}}\nspec: {{to: {{groups: [dev]}}, permissionSets: [dev], namespaces: [shop]}}\n"
    )
}

const RESTRICTED: &str = "pod-security.kubernetes.io/enforce: restricted";

#[test]
fn a_further_permission_of_a_rule_is_new() {
    let folder = repository();
    let root = folder.path();
    let state = |resources: &str, verbs: &str| {
        let rule = format!("{{resources: [{resources}], verbs: [{verbs}]}}");
        write(root, "policies/shop.yaml", &in_shop(&rule, "", RESTRICTED));
    };
    let all = &["--base", "HEAD", "--severity", "info"];
    state("pods", "create");
    commit(root);
    // The finding has the same name and the same severity, and stands for a second finding.
    state("pods, pods/exec", "create");
    assert_lint(root, all, 1, &["Group/dev"], "1 known, 0 fixed");
    commit(root);
    assert_lint(root, all, 0, &[], "2 known, 0 fixed");
    // The worst permission goes, and the other one stays.
    state("pods/exec", "create");
    assert_lint(root, all, 0, &[], "2 known, 1 fixed");
    // The worst permission goes, and the other one grows.
    state("secrets", "get, update");
    commit(root);
    state("secrets", "update, patch");
    assert_lint(root, all, 1, &["Group/dev"], "1 known, 1 fixed");
}

#[test]
fn an_accepted_finding_that_reaches_more_is_new() {
    let folder = repository();
    let root = folder.path();
    let rule = "{resources: [pods], verbs: [create]}";
    let allow = ", allow: [create-pods]";
    write(root, "policies/shop.yaml", &in_shop(rule, allow, RESTRICTED));
    commit(root);
    let all = &["--base", "HEAD", "--severity", "info"];
    assert_lint(root, all, 0, &[], "1 known, 0 fixed, 1 accepted");
    // Without the level, a pod reaches its node.
    write(root, "policies/shop.yaml", &in_shop(rule, allow, "team: shop"));
    assert_lint(root, all, 1, &["Group/dev"], "1 known, 0 fixed");
    let output = bailiwick(root, &["lint", "--base", "HEAD"]);
    let note = "Grant/dev accepts the finding, which did not reach `nodes` before";
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    // The merged state has it, and a new acceptance is a decision of this change.
    commit(root);
    assert_lint(root, all, 0, &[], "1 known, 0 fixed, 1 accepted");
    write(root, "policies/shop.yaml", &in_shop(rule, "", "team: shop"));
    commit(root);
    write(root, "policies/shop.yaml", &in_shop(rule, allow, "team: shop"));
    assert_lint(root, all, 0, &[], "1 known, 0 fixed, 1 accepted");
    // The workspace file can hide a finding, too.
    write(root, "policies/shop.yaml", &in_shop(rule, "", "team: shop"));
    write(root, "bailiwick.yaml", &format!("{WORKSPACE}  diagnostics: {{create-pods: ignore}}\n"));
    assert_lint(root, all, 0, &[], "1 known, 0 fixed, 1 accepted");
}

#[test]
fn json_has_the_state_of_each_finding() {
    let folder = repository();
    let root = folder.path();
    write(root, "policies/gone.yaml", &secrets("gone"));
    commit(root);
    fs::remove_file(root.join("policies/gone.yaml")).expect("removed");
    write(root, "policies/new.yaml", &secrets("new"));
    let states = |arguments: &[&str]| {
        let output = bailiwick(root, &[&["lint", "--base", "HEAD", "--format", "json"], arguments].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        ["findings", "otherFindings"].map(|list| {
            let findings = report[list].as_array().expect("a list").iter();
            let states = findings.map(|finding| finding["state"].as_str().expect("a state").to_owned());
            states.collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(states(&[]), ["new", "known fixed"]);
    assert_eq!(states(&["--all"]), ["new known", "fixed"]);
}

#[test]
fn a_base_that_does_not_compile_has_no_known_findings() {
    let folder = repository();
    let root = folder.path();
    write(root, "policies/old.yaml", &secrets("old").replace("permissionSets", "permissionsets"));
    commit(root);
    write(root, "policies/old.yaml", &secrets("old"));
    let words = ["the policies of `HEAD` do not compile; every finding counts as new", "Group/old"];
    assert_lint(root, &["--base", "HEAD"], 1, &words, "0 known, 0 fixed");
    // The warning is no finding.
    fs::remove_file(root.join("policies/old.yaml")).expect("removed");
    assert_lint(root, &["--base", "HEAD"], 0, &words[..1], "0 known, 0 fixed");
}

#[test]
fn a_base_without_a_workspace_is_empty() {
    let folder = repository();
    let root = folder.path();
    git(root, &["checkout", "-q", "--orphan", "empty"]);
    git(root, &["rm", "-rqf", "."]);
    commit(root);
    git(root, &["checkout", "-q", "main"]);
    assert_lint(root, &["--base", "empty"], 1, &["Group/old"], "0 known, 0 fixed");
    let output = bailiwick(root, &["lint", "--base", "empty"]);
    assert!(stderr(&output).contains("the base has no workspace: every finding is new\n"), "{}", stderr(&output));
    // A folder works as a revision does.
    let other = root.join("other");
    write(&other, "bailiwick.yaml", WORKSPACE);
    assert_lint(root, &["--base-dir", "other"], 1, &["Group/old"], "0 known, 0 fixed");
    write(&other, "policies/old.yaml", &secrets("old"));
    assert_lint(root, &["--base-dir", "other"], 0, &[], "1 known, 0 fixed");
}

#[test]
fn hostile_names_of_a_base_are_refused() {
    let folder = repository();
    let root = folder.path();
    // Git refuses to create such a branch; its file can be written by hand.
    let head = fs::read_to_string(root.join(".git/refs/heads/main")).expect("a commit");
    fs::write(root.join(".git/refs/heads/--output=x"), head).expect("a file");
    for name in ["--output=x", "-h", "no-such", "HEAD\n", "", "a...b", "main:policies/old.yaml", "$(touch x)"] {
        let output = bailiwick(root, &["lint", &format!("--base={name}")]);
        assert_eq!(output.status.code(), Some(2), "{name:?}: {}", stderr(&output));
        assert!(!root.join("x").exists(), "{name:?}");
    }
    // Outside a repository, and options without a base.
    let elsewhere = tempfile::tempdir().expect("a folder");
    write(elsewhere.path(), "bailiwick.yaml", WORKSPACE);
    for arguments in [&["--base", "main"][..], &["--base-dir", "none"], &["--all"], &["--base", "--from", "x"]] {
        let output = bailiwick(elsewhere.path(), &[&["lint"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_new_tenant_of_a_known_class_has_no_new_finding() {
    let folder = repository();
    let root = folder.path();
    write(root, "policies/tenants.yaml", TENANCY);
    write(root, "policies/accounts.csv", "name,team\nmm,shop\nnn,core\n");
    commit(root);
    let (code, messages, before) = lint(root, &["--base", "HEAD", "--severity", "info"]);
    assert_eq!((code, messages.len()), (0, 0), "{messages:#?}");
    write(root, "policies/accounts.csv", "name,team\naa,early\nmm,shop\nnn,core\n");
    assert_lint(root, &["--base", "HEAD", "--severity", "info"], 0, &[], before.trim_end());
}

/// Asserts that a command ends with a code, and that its messages have a text.
fn assert_ends(folder: &Path, arguments: &[&str], code: i32, text: &str) {
    let output = bailiwick(folder, arguments);
    let messages = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {messages}");
    assert!(messages.contains(text), "{arguments:?}: {messages}");
}

#[test]
fn a_tag_or_a_branch_does_not_become_the_branch_of_a_remote() {
    let folder = repository();
    let root = folder.path();
    git(root, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(root, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    write(root, "policies/new.yaml", &secrets("new"));
    commit(root);
    let counts = "1 known, 0 fixed";
    let full = "refs/remotes/origin/main";
    for kind in ["tags", "heads"] {
        let name = format!("refs/{kind}/origin/main");
        // Two names of one commit are no question.
        git(root, &["update-ref", &name, full]);
        assert_lint(root, &["--base", "origin/main"], 1, &["Group/new"], counts);
        git(root, &["update-ref", &name, "HEAD"]);
        let message = format!(
            "error: the revision `origin/main` is ambiguous: `{name}` and `{full}` are different commits\n\
             help: write the full name, such as `{full}`\n"
        );
        for revision in ["origin/main", "origin/main^{commit}", "origin/main...HEAD"] {
            assert_ends(root, &["lint", "--base", revision], 3, &message);
            assert_ends(root, &["review", "--base", revision], 3, &message);
        }
        assert_ends(root, &["diff", "--against", "origin/main"], 3, &message);
        assert_ends(root, &["check", "--tree", "origin/main"], 3, &message);
        assert_lint(root, &["--base", full], 1, &["Group/new"], counts);
        git(root, &["update-ref", "-d", &name]);
    }
    // The usual base, and a name that git completes with `HEAD`.
    git(root, &["update-ref", "refs/tags/origin/HEAD", "HEAD"]);
    assert_lint(root, &["--base"], 1, &["Group/new"], counts);
    git(root, &["update-ref", "refs/heads/origin", "HEAD"]);
    let found = assert_is_ambiguous(root, "origin");
    assert!(found.contains("`refs/remotes/origin/HEAD`"), "{found}");
}

/// Returns the messages of a run with an ambiguous base.
fn assert_is_ambiguous(folder: &Path, revision: &str) -> String {
    let output = bailiwick(folder, &["lint", "--base", revision]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let messages = stderr(&output);
    assert!(messages.contains(&format!("the revision `{revision}` is ambiguous")), "{messages}");
    messages
}

#[test]
fn a_tag_does_not_become_an_absent_reference_or_a_short_id() {
    let folder = repository();
    let root = folder.path();
    let first = fs::read_to_string(root.join(".git/refs/heads/main")).expect("a commit");
    let (id, short) = (first.trim(), &first[..10]);
    write(root, "policies/new.yaml", &secrets("new"));
    commit(root);
    // Git takes a tag of the full name if the reference is not there.
    git(root, &["update-ref", "refs/tags/refs/remotes/origin/HEAD", "HEAD"]);
    assert_ends(root, &["lint", "--base"], 2, "git has no base `origin/HEAD` to compare with");
    assert_ends(root, &["lint", "--base", "refs/remotes/origin/HEAD"], 2, "git has no base");
    assert_lint(root, &["--base", short], 1, &["Group/new"], "1 known, 0 fixed");
    for name in [short.to_owned(), format!("v1-2-g{short}"), id.to_owned()] {
        fs::write(
            root.join(".git/refs/tags").join(&name),
            fs::read(root.join(".git/refs/heads/main")).expect("a commit"),
        )
        .expect("a tag");
    }
    assert_is_ambiguous(root, short);
    assert_is_ambiguous(root, &format!("v1-2-g{short}"));
    // A whole id is taken as it is.
    assert_lint(root, &["--base", id], 1, &["Group/new"], "1 known, 0 fixed");
    // A reference of git itself comes before a branch of its name.
    git(root, &["update-ref", "refs/heads/HEAD", id]);
    assert_lint(root, &["--base", "HEAD"], 0, &[], "2 known, 0 fixed");
}

/// Runs `lint --base` as a job of GitHub for the branch `main`; returns the exit code and the messages.
fn lint_on_github(folder: &Path) -> (i32, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["lint", "--base"])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("GITHUB_BASE_REF", "main")
        .env_remove("CI_MERGE_REQUEST_DIFF_BASE_SHA")
        .output()
        .expect("the program starts");
    (output.status.code().expect("a code"), format!("{}{}", stdout(&output), stderr(&output)))
}

#[test]
fn a_change_that_merges_its_base_branch_is_not_its_own_base() {
    let folder = repository();
    let root = folder.path();
    git(root, &["checkout", "-qb", "change"]);
    write(root, "policies/new.yaml", &secrets("new"));
    commit(root);
    git(root, &["checkout", "-q", "main"]);
    write(root, "other.txt", "a later commit\n");
    commit(root);
    git(root, &["update-ref", "refs/remotes/origin/main", "main"]);
    let assert_is_new = |counts: &str| {
        let (code, messages) = lint_on_github(root);
        assert_eq!(code, 1, "{messages}");
        assert!(messages.contains("Group/new") && messages.contains(counts), "{messages}");
    };
    // The merge that GitHub makes.
    git(root, &["checkout", "-q", "--detach", "main"]);
    git(root, &["merge", "-q", "--no-edit", "change"]);
    assert_is_new("1 known, 0 fixed");
    // The branch of the change after "Update branch".
    git(root, &["checkout", "-q", "change"]);
    git(root, &["merge", "-q", "--no-edit", "main"]);
    assert_is_new("1 known, 0 fixed");
    // A clone without the branch has no other base than the first parent.
    git(root, &["update-ref", "-d", "refs/remotes/origin/main"]);
    let (code, messages) = lint_on_github(root);
    assert_eq!(code, 0, "{messages}");
    assert!(messages.contains("2 known, 0 fixed"), "{messages}");
}

#[test]
fn an_older_state_of_the_base_branch_is_not_the_base() {
    let folder = repository();
    let root = folder.path();
    write(root, "policies/gone.yaml", &secrets("gone"));
    commit(root);
    git(root, &["tag", "older"]);
    fs::remove_file(root.join("policies/gone.yaml")).expect("removed");
    commit(root);
    git(root, &["update-ref", "refs/remotes/origin/main", "main"]);
    // A merge of the branch into its own older state, with the files of that state, brings the finding back.
    git(root, &["checkout", "-q", "--detach", "older"]);
    git(root, &["merge", "-q", "--no-ff", "--no-edit", "-s", "ours", "main"]);
    let (code, messages) = lint_on_github(root);
    assert_eq!(code, 1, "{messages}");
    assert!(messages.contains("Group/gone"), "{messages}");
}

#[test]
fn a_clone_without_common_history_names_the_command_that_fetches_it() {
    let folder = repository();
    let root = folder.path();
    git(root, &["checkout", "-q", "--orphan", "other"]);
    write(root, "other.txt", "another history\n");
    commit(root);
    git(root, &["update-ref", "refs/remotes/origin/HEAD", "main"]);
    assert_ends(root, &["lint", "--base"], 2, "git has no common commit of `HEAD` and `origin/HEAD`");
    assert_ends(root, &["lint", "--base"], 2, "fetch their history first: `git fetch --unshallow origin HEAD`");
}
