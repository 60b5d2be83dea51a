//! Completions, documentation and definitions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::client::Client;
use crate::support::repository;

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: deployer}
spec:
  as: ClusterRole
  rules:
  - apiGroups: [apps]
    resources: [deployments, statefulsets]
    verbs: [get, list]
---
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  namespaces:
  - name: team-a
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: team-a}
spec:
  to: {groups: [team-a]}
  permissionSets: [deployer]
  clusterRoles: [view]
  namespaces: [team-a]
";

const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: test}
spec:
  targets:
  - {name: production, version: \"1.37\"}
";

/// Returns an editor with the policies open.
fn editor(root: &Path) -> Client {
    fs::create_dir(root.join("policies")).expect("a folder");
    fs::write(root.join("bailiwick.yaml"), WORKSPACE).expect("a file");
    fs::write(root.join("policies/team.yaml"), POLICIES).expect("a file");
    let mut client = Client::start(root);
    client.open("policies/team.yaml", POLICIES);
    client.wait_for("policies/team.yaml");
    assert_eq!(client.shown(), []);
    client
}

/// Returns the line and column behind a text of the policies.
fn behind(text: &str, marked: &str) -> (u64, u64) {
    let at = text.find(marked).unwrap_or_else(|| panic!("no `{marked}`")) + marked.len();
    let before = &text[..at];
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    (before.matches('\n').count() as u64, column as u64)
}

/// Returns the labels of the completions behind a text, after an edit of the policies.
fn completions(client: &mut Client, from: &str, to: &str, behind_text: &str) -> Vec<String> {
    let text = POLICIES.replace(from, to);
    assert_ne!(text, POLICIES, "{from}");
    client.replace("policies/team.yaml", &text);
    client.wait_for("policies/team.yaml");
    let (line, column) = behind(&text, behind_text);
    let found = client.request_at("textDocument/completion", "policies/team.yaml", line, column);
    found.as_array().expect("a list").iter().map(|item| item["label"].as_str().expect("a label").to_owned()).collect()
}

/// A text and its replacement, the text before the cursor, labels of completions, and labels that are no completions.
type CompletionRow<'r> = (&'r str, &'r str, &'r str, &'r [&'r str], &'r [&'r str]);

#[test]
fn completions_are_the_fields_and_names_of_a_place() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut client = editor(scratch.path());
    let rows: [CompletionRow; 11] = [
        ("  clusterRoles: [view]", "  clu", "  clu", &["clusterRoles", "clusterWide"], &["permissionSets", "rules"]),
        ("    verbs: [get, list]", "    ve", "    ve", &["verbs", "access", "resourceNames"], &["resources", "to"]),
        ("verbs: [get, list]", "verbs: [get, ", "verbs: [get, ", &["list", "deletecollection"], &["post"]),
        (
            "resources: [deployments, statefulsets]",
            "resources: [dep",
            "resources: [dep",
            &["deployments", "deployments/scale"],
            &["pods"],
        ),
        ("apiGroups: [apps]", "apiGroups: [", "apiGroups: [", &["apps", "rbac.authorization.k8s.io"], &[]),
        ("permissionSets: [deployer]", "permissionSets: [de", "permissionSets: [de", &["deployer"], &["team-a"]),
        (
            "clusterRoles: [view]",
            "clusterRoles: [vi]",
            "clusterRoles: [vi",
            &["view", "cluster-admin", "deployer"],
            &[],
        ),
        ("namespaces: [team-a]", "namespaces: [t", "namespaces: [t", &["team-a"], &[]),
        ("kind: Grant", "kind: Gr", "kind: Gr", &["Grant", "Tenancy"], &[]),
        ("  as: ClusterRole", "  as: ", "  as: ", &["Role", "ClusterRole"], &[]),
        ("  to: {groups: [team-a]}", "  targets: [p", "  targets: [p", &["production"], &[]),
    ];
    for (from, to, at, expected, absent) in rows {
        let labels = completions(&mut client, from, to, at);
        for name in expected {
            assert!(labels.iter().any(|label| label == name), "{to}: no {name} in {labels:?}");
        }
        for name in absent {
            assert!(!labels.iter().any(|label| label == name), "{to}: {name} in {labels:?}");
        }
    }
    assert_eq!(client.shut_down(), Some(0));
}

/// Returns the text of the documentation at the end of a text of the policies.
fn hover(client: &mut Client, marked: &str) -> String {
    let (line, column) = behind(POLICIES, marked);
    let found = client.request_at("textDocument/hover", "policies/team.yaml", line, column - 1);
    found["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn documentation_describes_fields_kinds_resources_and_roles() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut client = editor(scratch.path());
    let rows = [
        ("permissionSets", "Permission sets of this workspace."),
        ("kind: Grant", "# Grant"),
        ("[deployments", "production: `deployments` in apps, in namespaces: create,"),
        ("permissionSets: [deployer", "get, list on deployments, statefulsets in apps"),
        ("clusterRoles: [view", "get, list, watch on configmaps"),
    ];
    for (marked, expected) in rows {
        let text = hover(&mut client, marked);
        assert!(text.contains(expected), "{marked}: {text}");
    }
    assert_eq!(hover(&mut client, "metadata: {name: team-a"), "");
}

#[test]
fn a_definition_is_the_policy_the_target_the_template_or_the_account() {
    let root = repository();
    let mut client = Client::start(root);
    let rows = [
        ("policies/company/teams.yaml", "file: teams.csv", "policies/company/teams.csv", "name,"),
        ("out/company-test/namespaces/catalog-dev.yaml", "name: viewers", "policies/company/teams.yaml", "view"),
    ];
    for (path, marked, expected, text) in rows {
        let own = fs::read_to_string(root.join(path)).expect("a text");
        client.open(path, &own);
        let (line, column) = behind(&own, marked);
        let found = client.request_at("textDocument/definition", path, line, column - 1);
        assert_definition(&client, &found, expected, text);
    }
}

#[test]
fn a_definition_of_a_name_is_in_the_newest_texts() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut client = editor(scratch.path());
    client.edit("policies/team.yaml", [0, 0, 0, 0], "# moved\n");
    client.wait_for("policies/team.yaml");
    let text = format!("# moved\n{POLICIES}");
    for (marked, line) in [("permissionSets: [deployer", 3), ("namespaces: [team-a", 13)] {
        let (at, column) = behind(&text, marked);
        let found = client.request_at("textDocument/definition", "policies/team.yaml", at, column - 1);
        assert_eq!(found[0]["range"]["start"]["line"], line, "{marked}: {found}");
    }
}

#[test]
fn the_namespace_of_a_tenant_leads_to_the_row_of_its_account() {
    let root = repository();
    let path = "policies/company/access.yaml";
    let own = fs::read_to_string(root.join(path)).expect("a text");
    let text = format!(
        "{own}---\napiVersion: bailiwick.dev/v1alpha1\nkind: AccessTest\nmetadata: {{name: new}}\nspec:\n  targets: [company-test]\n  \
         who: {{groups: [company:search]}}\n  must:\n  - {{verbs: [get], resources: [pods], namespaces: [catalog-dev]}}\n"
    );
    let mut client = Client::start(root);
    client.open(path, &text);
    client.wait_for(path);
    let (line, column) = behind(&text, "namespaces: [catalog-dev");
    let found = client.request_at("textDocument/definition", path, line, column - 1);
    assert_definition(&client, &found, "policies/company/teams.csv", "catalog,");
}

/// Checks that the first place of a definition is in a file and begins a line, or a part of it, with a text.
fn assert_definition(client: &Client, found: &Value, path: &str, text: &str) {
    assert_eq!(found[0]["uri"], client.uri(path), "{found}");
    let start = &found[0]["range"]["start"];
    let (line, column) = (start["line"].as_u64().expect("a line"), start["character"].as_u64().expect("a column"));
    let own = fs::read_to_string(repository().join(path)).expect("a text");
    let rest: String = own.lines().nth(line as usize).unwrap_or_default().chars().skip(column as usize).collect();
    assert!(rest.starts_with(text), "{path}:{line}: {rest}");
}
