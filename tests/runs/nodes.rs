//! The repository's own nodes: an isolated node stays isolated only while no permission grows.

use std::fs;
use std::path::Path;

use super::{bailiwick, stderr};
use crate::support::repository;

/// Writes the policies of the example into a workspace of their own.
fn example(folder: &Path) {
    let own = repository().join("policies/nodes");
    for entry in walkdir::WalkDir::new(&own).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let path = folder.join("policies").join(entry.path().strip_prefix(&own).expect("below the folder"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::copy(entry.path(), path).expect("a file");
    }
    let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: nodes, version: \"1.36\"}]\n";
    fs::write(folder.join("bailiwick.yaml"), workspace).expect("a file");
    assert_eq!(bailiwick(folder, &["render"]).status.code(), Some(0));
}

/// Changes a text of the policies, renders, and checks.
fn check_with(file: &str, from: &str, to: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    let path = folder.path().join("policies").join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{file} has no `{from}`");
    fs::write(&path, text.replacen(from, to, 1)).expect("a file");
    assert_eq!(bailiwick(folder.path(), &["render"]).status.code(), Some(0));
    let output = bailiwick(folder.path(), &["check"]);
    (output.status.code(), stderr(&output))
}

#[test]
fn the_isolation_holds_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    let output = bailiwick(folder.path(), &["check"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn it_breaks_when_the_rights_of_the_agent_grow() {
    let reads = "- {apiGroup: \"\", resources: [nodes], verbs: [get]}";
    let (status, told) = check_with("nodes.yaml", reads, &reads.replace("[nodes]", "[nodes, secrets]"));
    assert_eq!(status, Some(1), "{told}");
    assert!(
        told.contains("error[isolation-broken]: on `nodes`, Secrets of `payments` are within reach of the pool `shop`"),
        "{told}"
    );
    assert!(told.contains("DaemonSet disks/disk-agent runs as disks/disk-agent"), "{told}");
    assert!(told.contains("disks/disk-agent reads Secrets in `payments`"), "{told}");
}

#[test]
fn it_breaks_when_a_kubelet_can_draw_the_pods() {
    let (status, told) = check_with(
        "manifests/workloads.yaml",
        "        node-restriction.kubernetes.io/pool: vault\n",
        "        example.org/pool: vault\n",
    );
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("its kubelet can attract them with labels that it may set"), "{told}");
}
