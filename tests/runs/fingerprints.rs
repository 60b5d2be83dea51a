//! Fingerprints of findings: equal after changes that keep a finding, and different for another permission.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{bailiwick, stderr};

const WORKSPACE: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: w}\nspec:\n  targets:\n  - {name: prod, version: \"1.34\"}\n";

const POLICIES: &str = r#"apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: reader}
spec:
  as: ClusterRole
  rules:
  - {resources: [pods], verbs: [get, list]}
  - {resources: [secrets], verbs: [get, list]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: readers}
spec:
  to: {groups: [readers]}
  permissionSets: [reader]
  clusterWide: true
---
apiVersion: bailiwick.dev/v1alpha1
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

const ACCOUNTS: &str = "name,team\nmm,shop\nnn,core\n";

/// Returns the fingerprints of all findings of a workspace with these files.
fn fingerprints(workspace: &str, path: &str, policies: &str, accounts: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(&folder.path().join("bailiwick.yaml"), workspace);
    write(&folder.path().join("policies").join(path), policies);
    write(&folder.path().join("policies/accounts.csv"), accounts);
    let output = bailiwick(folder.path(), &["lint", "--diagnostics", "json", "--severity", "info"]);
    let found: BTreeSet<String> = stderr(&output)
        .lines()
        .chain(String::from_utf8_lossy(&output.stdout).lines())
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line["fingerprint"].as_str().map(str::to_owned))
        .collect();
    assert!(found.len() > 2, "{}", stderr(&output));
    assert!(found.iter().all(|text| text.len() == 35 && text.starts_with("v1:")), "{found:?}");
    found
}

#[test]
fn a_finding_keeps_its_fingerprint() {
    let usual = fingerprints(WORKSPACE, "a.yaml", POLICIES, ACCOUNTS);
    assert_eq!(usual, fingerprints(WORKSPACE, "z-renamed.yaml", POLICIES, ACCOUNTS), "another file");
    let rules = "  - {resources: [pods], verbs: [get, list]}\n  - {resources: [secrets], verbs: [get, list]}\n";
    let other_order = "  - {resources: [secrets], verbs: [list, get]}\n  - {resources: [pods], verbs: [get, list]}\n";
    let reordered = POLICIES.replace(rules, other_order);
    assert_ne!(reordered, POLICIES);
    assert_eq!(usual, fingerprints(WORKSPACE, "a.yaml", &reordered, ACCOUNTS), "another order");
    let more = format!("{ACCOUNTS}aa,early\n");
    assert_eq!(usual, fingerprints(WORKSPACE, "a.yaml", POLICIES, &more), "a new tenant");
    let targets = format!("{WORKSPACE}  - {{name: test, version: \"1.34\"}}\n");
    assert_eq!(usual, fingerprints(&targets, "a.yaml", POLICIES, ACCOUNTS), "a new target");
}

#[test]
fn another_permission_has_another_fingerprint() {
    let usual = fingerprints(WORKSPACE, "a.yaml", POLICIES, ACCOUNTS);
    for (old, new) in [
        ("{resources: [secrets], verbs: [get, list]}", "{resources: [secrets], verbs: [get]}"),
        ("to: {groups: [readers]}", "to: {groups: [others]}"),
        ("to: {groups: [\"{team}\"]}", "to: {groups: [\"x-{team}\"]}"),
    ] {
        let changed = POLICIES.replace(old, new);
        assert_ne!(changed, POLICIES);
        assert_ne!(usual, fingerprints(WORKSPACE, "a.yaml", &changed, ACCOUNTS), "{new}");
    }
}
