//! The API server's defaulting, kind by kind (`pkg/apis/*/defaults.go` of Kubernetes 1.37).

use crate::absent;
use bailiwick_yaml::{NodeId, NodeRef, Tree};

use super::scc;

/// The only API group of role references, users and groups.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Fills in the defaults of a kind.
pub(super) fn apply(tree: &mut Tree, root: NodeId, kind: &str) {
    match kind {
        "RoleBinding" | "ClusterRoleBinding" => binding(tree, root),
        "PodSecurityPolicy" => pod_security_policy(tree, root),
        "LimitRange" => limit_range(tree, root),
        "NetworkPolicy" => network_policy(tree, root),
        "ServiceAccount" => service_account(tree, root),
        "SecurityContextConstraints" => scc::apply(tree, root),
        kind if is_admission_policy(kind) => admission_policy(tree, root, kind),
        _ => {}
    }
}

/// Adds the fields set by the server, and drops the fields ignored by it, to compare an object in stored form with a
/// live one.
pub fn server_owned(tree: &mut Tree, root: NodeId) {
    let node = tree.at(root);
    let kind = absent::text(node.get("kind").and_then(NodeRef::as_str)).to_owned();
    let api_version = absent::text(node.get("apiVersion").and_then(NodeRef::as_str));
    let namespaced = crate::schemas::find(api_version, &kind).is_none_or(|entry| entry.namespaced);
    let span = node.span();
    let Some(metadata) = ensure_map(tree, root, "metadata") else { return };
    if !namespaced {
        remove(tree, metadata, "namespace");
    }
    match kind.as_str() {
        "Namespace" => namespace(tree, root, metadata),
        "ResourceQuota" => {
            ensure_map(tree, root, "status");
        }
        "NetworkPolicy" => {
            let one = tree.add_int(1, span);
            put(tree, metadata, "generation", one);
        }
        "SecurityContextConstraints" if tree.at(root).get("userNamespaceLevel").is_none() => {
            put_string(tree, root, "userNamespaceLevel", "AllowHostLevel");
        }
        kind if is_admission_policy(kind) => {
            let one = tree.add_int(1, span);
            put(tree, metadata, "generation", one);
            if kind == "ValidatingAdmissionPolicy" {
                ensure_map(tree, root, "status");
            }
        }
        _ => {}
    }
}

/// Removes an empty list of rules from an aggregated role: writing it would empty the rules of the controller.
pub(super) fn drop_aggregated_rules(tree: &mut Tree, root: NodeId) {
    let node = tree.at(root);
    if node.get("aggregationRule").is_some_and(NodeRef::is_map) && node.get("rules").is_some_and(NodeRef::is_empty) {
        remove(tree, root, "rules");
    }
}

fn namespace(tree: &mut Tree, root: NodeId, metadata: NodeId) {
    let span = tree.at(root).span();
    let name = absent::text(tree.at(metadata).get("name").and_then(NodeRef::as_str)).to_owned();
    let Some(labels) = ensure_map(tree, metadata, "labels") else { return };
    put_string(tree, labels, "kubernetes.io/metadata.name", &name);
    let Some(spec) = ensure_map(tree, root, "spec") else { return };
    let mut finalizers: Vec<NodeId> =
        tree.at(spec).get("finalizers").into_iter().flat_map(NodeRef::items).map(NodeRef::id).collect();
    if !finalizers.iter().any(|&id| tree.at(id).as_str() == Some("kubernetes")) {
        finalizers.push(tree.add_string("kubernetes", span));
    }
    let list = tree.add_seq(span);
    tree.set_items(list, &finalizers);
    put(tree, spec, "finalizers", list);
    let Some(status) = ensure_map(tree, root, "status") else { return };
    put_string(tree, status, "phase", "Active");
}

fn binding(tree: &mut Tree, root: NodeId) {
    let role_ref = tree.at(root).get("roleRef").filter(|role_ref| role_ref.is_map() && lacks(*role_ref, "apiGroup"));
    if let Some(role_ref) = role_ref.map(NodeRef::id) {
        put_string(tree, role_ref, "apiGroup", RBAC_GROUP);
    }
    let needs_group = |subject: &NodeRef<'_>| {
        matches!(subject.get("kind").and_then(NodeRef::as_str), Some("User" | "Group")) && lacks(*subject, "apiGroup")
    };
    for subject in wanted_items(tree, root, "subjects", needs_group) {
        put_string(tree, subject, "apiGroup", RBAC_GROUP);
    }
}

fn pod_security_policy(tree: &mut Tree, root: NodeId) {
    let Some(spec) = tree.at(root).get("spec").filter(|spec| spec.is_map()).map(NodeRef::id) else { return };
    let span = tree.at(spec).span();
    if tree.at(spec).get("allowPrivilegeEscalation").is_none_or(NodeRef::is_null) {
        let yes = tree.add_bool(true, span);
        put(tree, spec, "allowPrivilegeEscalation", yes);
    }
    for strategy in ["fsGroup", "runAsGroup", "runAsUser", "supplementalGroups"] {
        if let Some(strategy) = tree.at(spec).get(strategy).map(NodeRef::id) {
            complete_ranges(tree, strategy, "ranges");
        }
    }
    complete_ranges(tree, spec, "hostPorts");
    // The gate ProcMountType was never on by default, so the server drops the field unread.
    if tree.at(spec).get("allowedProcMountTypes").is_some() {
        remove(tree, spec, "allowedProcMountTypes");
    }
}

/// Adds the missing end of a range.
fn complete_ranges(tree: &mut Tree, map: NodeId, list: &str) {
    for end in ["min", "max"] {
        for range in wanted_items(tree, map, list, |range| range.is_null() || (range.is_map() && lacks(*range, end))) {
            let span = tree.at(range).span();
            let zero = tree.add_int(0, span);
            put(tree, range, end, zero);
        }
    }
}

/// Adds the missing default of a container from `max`, and its missing default request from the default, then from `min`.
fn limit_range(tree: &mut Tree, root: NodeId) {
    let Some(limits) = tree.at(root).path(&["spec", "limits"]) else { return };
    let items: Vec<NodeId> = limits
        .items()
        .filter(|item| item.get("type").and_then(NodeRef::as_str) == Some("Container"))
        .map(NodeRef::id)
        .collect();
    for item in items {
        copy_missing(tree, item, "max", "default");
        copy_missing(tree, item, "default", "defaultRequest");
        copy_missing(tree, item, "min", "defaultRequest");
    }
}

fn copy_missing(tree: &mut Tree, item: NodeId, from: &str, to: &str) {
    let node = tree.at(item);
    let Some(source) = node.get(from) else { return };
    let target = node.get(to);
    let missing: Vec<(String, String)> = source
        .entries()
        .filter_map(|(key, value)| {
            let name = key.as_str()?;
            let is_missing = target.is_none_or(|target| target.get(name).is_none());
            let amount = super::Quantity::from_node(value)?;
            is_missing.then(|| (name.to_owned(), amount.to_string()))
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    let Some(target) = ensure_map(tree, item, to) else { return };
    for (name, amount) in missing {
        put_string(tree, target, &name, &amount);
    }
}

fn network_policy(tree: &mut Tree, root: NodeId) {
    let span = tree.at(root).span();
    let Some(spec) = ensure_map(tree, root, "spec") else { return };
    ensure_map(tree, spec, "podSelector");
    let node = tree.at(spec);
    if node.get("policyTypes").is_none_or(NodeRef::is_empty) {
        let has_egress = node.get("egress").is_some_and(|rules| !rules.is_empty());
        let mut types = vec![tree.add_string("Ingress", span)];
        if has_egress {
            types.push(tree.add_string("Egress", span));
        }
        let list = tree.add_seq(span);
        tree.set_items(list, &types);
        put(tree, spec, "policyTypes", list);
    }
    let lacks_protocol = |port: &NodeRef<'_>| port.is_null() || (port.is_map() && lacks(*port, "protocol"));
    for direction in ["ingress", "egress"] {
        let rules: Vec<NodeId> =
            tree.at(spec).get(direction).into_iter().flat_map(NodeRef::items).map(NodeRef::id).collect();
        for rule in rules {
            for port in wanted_items(tree, rule, "ports", lacks_protocol) {
                put_string(tree, port, "protocol", "TCP");
            }
        }
    }
}

/// Keeps only the name of a secret reference.
fn service_account(tree: &mut Tree, root: NodeId) {
    let has_more = |secret: &NodeRef<'_>| secret.len() > 1 && secret.get("name").is_some();
    for secret in wanted_items(tree, root, "secrets", has_more) {
        let name = tree.at(secret).entry("name").map(|(key, value)| (key.id(), value.id()));
        tree.set_entries(secret, name.as_slice());
    }
}

fn is_admission_policy(kind: &str) -> bool {
    matches!(
        kind,
        "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
    )
}

/// Completes a policy: it fails closed, and its matching gets the defaults; a binding has another name for the
/// matching.
fn admission_policy(tree: &mut Tree, root: NodeId, kind: &str) {
    let is_binding = kind.ends_with("Binding");
    let Some(spec) = tree.at(root).get("spec").filter(|spec| spec.is_map()).map(NodeRef::id) else { return };
    if !is_binding {
        complete(tree, spec, "failurePolicy", "Fail");
    }
    let field = if is_binding { "matchResources" } else { "matchConstraints" };
    let Some(matching) = tree.at(spec).get(field).filter(|matching| matching.is_map()).map(NodeRef::id) else { return };
    complete(tree, matching, "matchPolicy", "Equivalent");
    ensure_map(tree, matching, "namespaceSelector");
    ensure_map(tree, matching, "objectSelector");
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in wanted_items(tree, matching, list, |rule| rule.is_map() || rule.is_null()) {
            complete(tree, rule, "scope", "*");
        }
    }
}

/// Writes a word for an absent value; unlike for [`lacks`], an empty string is present.
fn complete(tree: &mut Tree, map: NodeId, key: &str, word: &str) {
    if tree.at(map).get(key).is_none_or(NodeRef::is_null) {
        put_string(tree, map, key, word);
    }
}

fn lacks(map: NodeRef<'_>, key: &str) -> bool {
    map.get(key).is_none_or(|value| value.is_null() || value.as_str() == Some(""))
}

/// Returns the items of a list without a default: mostly none, without an allocation.
fn wanted_items(tree: &Tree, map: NodeId, list: &str, wanted: impl Fn(&NodeRef<'_>) -> bool) -> Vec<NodeId> {
    tree.at(map).get(list).into_iter().flat_map(NodeRef::items).filter(wanted).map(NodeRef::id).collect()
}

/// Returns the map at a key, made when it is missing or null; none when something else stands there.
pub(super) fn ensure_map(tree: &mut Tree, map: NodeId, key: &str) -> Option<NodeId> {
    match tree.at(map).get(key).filter(|value| !value.is_null()) {
        Some(value) => value.is_map().then(|| value.id()),
        None => {
            let span = tree.at(map).span();
            let value = tree.add_map(span);
            put(tree, map, key, value);
            Some(value)
        }
    }
}

/// Sets the value of a key; a new key comes last.
pub(super) fn put(tree: &mut Tree, map: NodeId, key: &str, value: NodeId) {
    let mut entries = entries_of(tree, map);
    match entries.iter_mut().find(|(found, _)| tree.at(*found).as_str() == Some(key)) {
        Some(entry) => entry.1 = value,
        None => {
            let span = tree.at(map).span();
            entries.push((tree.add_string(key, span), value));
        }
    }
    tree.set_entries(map, &entries);
}

/// Sets a string, as [`put`] does.
pub(super) fn put_string(tree: &mut Tree, map: NodeId, key: &str, text: &str) {
    let span = tree.at(map).span();
    let value = tree.add_string(text, span);
    put(tree, map, key, value);
}

/// Removes a key.
pub(super) fn remove(tree: &mut Tree, map: NodeId, key: &str) {
    let mut entries = entries_of(tree, map);
    entries.retain(|(found, _)| tree.at(*found).as_str() != Some(key));
    tree.set_entries(map, &entries);
}

fn entries_of(tree: &Tree, map: NodeId) -> Vec<(NodeId, NodeId)> {
    tree.at(map).entries().map(|(key, value)| (key.id(), value.id())).collect()
}
