//! `review --codeowners` in a workspace below the root of a repository, with hostile file names.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{bailiwick, stderr};

const WORKSPACE: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: w}\nspec:\n  targets:\n  - {name: prod, version: \"1.34\", baseline: cluster/prod}\n  - {name: test, version: \"1.34\", baseline: cluster/test}\n";

const APPROVALS: &str = r#"apiVersion: bailiwick.dev/v1alpha1
kind: ApprovalPolicy
metadata: {name: all}
spec:
  rules:
  - {when: {severity: high}, needs: ["@example/platform", alice]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: ApprovalPolicy
metadata: {name: production}
spec:
  targets: [prod]
  rules:
  - {when: {becomes: [cluster-admin]}, needs: ["@example/security"]}
  - {when: {losesOf: {owner: "*"}}, needs: ["{owner}"]}
"#;

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: one}\nrules: []\n";

const GRANT: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: NAME}\nspec: {to: {groups: [g]}, clusterRoles: [view], clusterWide: true}\n";

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn every_input_has_the_approvers_of_its_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status().expect("git is there");
    assert!(run.success());
    let root = folder.path().join("the access");
    write(&root, "bailiwick.yaml", WORKSPACE);
    write(&root, "policies/approvals.yaml", APPROVALS);
    write(&root, "policies/z #1.yaml", &GRANT.replace("NAME", "z"));
    write(&root, "cluster/prod/roles.yaml", ROLE);
    write(&root, "cluster/test/roles.yaml", ROLE);
    let output = bailiwick(&root, &["review", "--codeowners"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (notes, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let (both, platform) = ("@example/platform @example/security", "@example/platform");
    let expected = [
        format!("/the\\ access/bailiwick.yaml {both}"),
        format!("/the\\ access/cluster/prod/ {both}"),
        format!("/the\\ access/cluster/prod/roles.yaml {both}"),
        format!("/the\\ access/cluster/test/ {platform}"),
        format!("/the\\ access/cluster/test/roles.yaml {platform}"),
        format!("/the\\ access/policies/ {both}"),
        format!("/the\\ access/policies/z\\ \\#1.yaml {both}"),
        format!("/the\\ access/templates/ {both}"),
        format!("/the\\ access/policies/approvals.yaml {both}"),
    ];
    assert_eq!(lines, expected, "{text}");
    let notes = notes.join("\n");
    assert!(notes.contains("CODEOWNERS cannot express effects"), "{notes}");
    assert!(notes.contains("`alice`") && notes.contains("`{owner}`"), "{notes}");
}

#[test]
fn a_workspace_without_approvals_has_no_owners() {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        folder.path(),
        "bailiwick.yaml",
        &WORKSPACE.replace(", baseline: cluster/prod", "").replace(", baseline: cluster/test", ""),
    );
    let output = bailiwick(folder.path(), &["review", "--codeowners"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
    for option in ["--base=HEAD", "--report=json=-", "--fail-on=high"] {
        assert_eq!(bailiwick(folder.path(), &["review", "--codeowners", option]).status.code(), Some(2), "{option}");
    }
}
