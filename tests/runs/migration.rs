//! The way back and forth: what `migrate psp` makes of PodSecurityPolicies compiles to the same policies again.

use std::path::Path;

use serde_json::Value;

use super::{bailiwick, snapshot, stderr};
use crate::support::{identity, note, repository, shared, stored_objects};

const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: test}
spec:
  targets:
  - {name: first, version: \"1.21\"}
  - {name: last, version: \"1.24\"}
  - {name: modern, version: \"1.36\"}
";

/// Migrates manifests into a new workspace and renders it. The report is returned.
fn migrated(folder: &Path, from: &[&Path]) -> Value {
    std::fs::write(folder.join("bailiwick.yaml"), WORKSPACE).expect("a file");
    let mut arguments = vec!["migrate", "psp", "-o", "policies", "--format", "json"];
    for path in from {
        arguments.extend(["--from", path.to_str().expect("a path in UTF-8")]);
    }
    let run = bailiwick(folder, &arguments);
    assert!(run.status.success(), "{}", stderr(&run));
    let rendered = bailiwick(folder, &["render"]);
    assert!(rendered.status.success(), "{}", stderr(&rendered));
    serde_json::from_slice(&run.stdout).expect("a report in JSON")
}

/// Returns the PodSecurityPolicies of a text, without what describes the old object alone.
fn policies(text: &str) -> Vec<Value> {
    let objects = stored_objects(text).into_iter().filter(|object| object["kind"] == "PodSecurityPolicy");
    let mut policies: Vec<Value> = objects.collect();
    for policy in &mut policies {
        let metadata = policy["metadata"].as_object_mut().expect("metadata");
        metadata.remove("labels");
    }
    policies.sort_by_key(identity);
    policies
}

/// Asserts that a target has the policies of the inputs that are needed, and the names of those.
fn assert_same(folder: &Path, from: &[&Path], report: &Value) -> Vec<String> {
    let needed = report["policies"].as_array().expect("policies").iter().filter(|policy| !policy["profile"].is_null());
    let needed: Vec<String> = needed.map(|policy| policy["name"].as_str().expect("a name").to_owned()).collect();
    let is_needed = |policy: &Value| needed.iter().any(|name| policy["metadata"]["name"] == *name.as_str());
    let texts: Vec<String> = from.iter().map(|path| std::fs::read_to_string(path).expect("a file")).collect();
    let mut expected: Vec<Value> = texts.iter().flat_map(|text| policies(text)).filter(is_needed).collect();
    expected.sort_by_key(identity);
    assert_eq!(expected.len(), needed.len(), "{needed:?}");
    for target in ["first", "last"] {
        let files = snapshot(&folder.join("out").join(target));
        let texts = files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes));
        let mut found: Vec<Value> = texts.flat_map(|text| policies(&text)).collect();
        found.sort_by_key(identity);
        assert_eq!(found, expected, "{target}");
    }
    let modern = snapshot(&folder.join("out/modern"));
    assert!(modern.iter().any(|(path, _)| path.ends_with("validatingadmissionpolicy.yaml")), "{modern:?}");
    needed
}

#[test]
fn policies_of_a_cluster_come_back() {
    for (case, file) in [("ok-cluster", "cluster.yaml"), ("ok-tenants", "tools.yaml"), ("ok-everything", "pods.yaml")] {
        let folder = tempfile::tempdir().expect("a folder");
        let from = repository().join("tests/cases/migrate").join(case).join("elsewhere").join(file);
        let report = migrated(folder.path(), &[&from]);
        let needed = assert_same(folder.path(), &[&from], &report);
        assert!(needed.len() > 1, "{case}: {needed:?}");
    }
}

#[test]
fn toolforge_leaves_its_policies_behind() {
    let Some(shared) = shared() else {
        note("the shared folder is not there; Toolforge's own files are not migrated");
        return;
    };
    let files = [
        "puppet-2021-09-base-psp.yaml",
        "puppet-2024-06-tool-observer-and-tfb-psp.yaml",
        "recorded-objects-2023-07-new-tool-blurp.yaml",
    ];
    let files = files.map(|file| shared.join("reference/toolforge").join(file));
    let files: Vec<&Path> = files.iter().map(|file| file.as_path()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let report = migrated(folder.path(), &files);
    let needed = assert_same(folder.path(), &files, &report);
    assert!(
        needed.contains(&"tool-blurp-psp".to_owned()) && needed.contains(&"privileged-psp".to_owned()),
        "{needed:?}"
    );
    let namespaces = report["namespaces"].as_array().expect("namespaces");
    let tool = namespaces.iter().find(|namespace| namespace["name"] == "tool-blurp").expect("the tool's namespace");
    assert_eq!((&tool["policy"], &tool["level"]), (&"tool-blurp-psp".into(), &"privileged".into()));
}
