//! The defaulting of SecurityContextConstraints by OpenShift (`pkg/securitycontextconstraints/sccdefaults/defaults.go`
//! of openshift/apiserver-library-go).

use crate::absent;
use crate::volumes::KINDS;
use bailiwick_yaml::{NodeId, NodeRef, Tree};

use super::defaults::{ensure_map, put, put_string};

const BOOLEANS: [&str; 7] = [
    "allowHostDirVolumePlugin",
    "allowHostIPC",
    "allowHostNetwork",
    "allowHostPID",
    "allowHostPorts",
    "allowPrivilegedContainer",
    "readOnlyRootFilesystem",
];

/// Fills in the defaults.
pub(super) fn apply(tree: &mut Tree, root: NodeId) {
    let span = tree.at(root).span();
    let is_missing = |tree: &Tree, key: &str| tree.at(root).get(key).is_none_or(NodeRef::is_null);
    for key in BOOLEANS {
        if is_missing(tree, key) {
            let no = tree.add_bool(false, span);
            put(tree, root, key, no);
        }
    }
    for key in ["users", "groups"] {
        if is_missing(tree, key) {
            let nobody = tree.add_seq(span);
            put(tree, root, key, nobody);
        }
    }
    if is_missing(tree, "allowPrivilegeEscalation") {
        let yes = tree.add_bool(true, span);
        put(tree, root, "allowPrivilegeEscalation", yes);
    }
    for key in ["fsGroup", "supplementalGroups"] {
        let Some(strategy) = ensure_map(tree, root, key) else { continue };
        let has_type =
            tree.at(strategy).get("type").and_then(NodeRef::as_str).is_some_and(|strategy| !strategy.is_empty());
        if !has_type {
            put_string(tree, strategy, "type", "RunAsAny");
        }
    }
    volumes(tree, root);
}

fn volumes(tree: &mut Tree, root: NodeId) {
    let node = tree.at(root);
    let host_paths = node.get("allowHostDirVolumePlugin").and_then(NodeRef::as_bool) == Some(true);
    let written = node.get("volumes").filter(|list| !list.is_null());
    let names = effective_volumes(written, host_paths);
    let is_same =
        written.is_some_and(|list| list.items().map(NodeRef::as_str).eq(names.iter().map(|name| Some(*name))));
    if is_same {
        return;
    }
    let span = written.map_or(node.span(), NodeRef::span);
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let items: Vec<NodeId> = names.iter().map(|name| tree.add_string(name, span)).collect();
    let list = tree.add_seq(span);
    tree.set_items(list, &items);
    put(tree, root, "volumes", list);
}

/// Returns the stored volumes, sorted: the flag for host paths wins over the list.
pub fn effective_volumes(written: Option<NodeRef<'_>>, host_paths: bool) -> Vec<&str> {
    let mut names: Vec<&str> = match written {
        None => vec!["*"],
        Some(list) if list.is_empty() => vec![if host_paths { "hostPath" } else { "none" }],
        Some(list) => list.items().map(|item| absent::text(item.as_str())).collect(),
    };
    if host_paths {
        if !names.contains(&"*") {
            names.push("hostPath");
        }
    } else {
        let everything = names.contains(&"*");
        names.retain(|name| !matches!(*name, "*" | "hostPath"));
        if everything {
            names.extend(KINDS.iter().map(|kind| kind.constraints).filter(|name| *name != "hostPath"));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}
