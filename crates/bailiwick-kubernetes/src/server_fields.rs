//! The fields of a live object that the server sets: the difference between the output of `kubectl get -o yaml` and a
//! manifest.
//!
//! Sources: `pkg/registry/core/node/strategy.go` (a create stores the status of a Node) and
//! `pkg/registry/core/namespace/strategy.go` (the label with the name) of Kubernetes 1.36.3.

use std::collections::BTreeSet;

use bailiwick_yaml::{NodeId, NodeRef, Tree};

use crate::absent;
use crate::validation::metadata::{NAME_LABEL, NAME_LABEL_SINCE};

/// The fields of `metadata` that only the server and controllers set. An owner that does not exist makes the garbage
/// collector delete the object (`pkg/controller/garbagecollector/garbagecollector.go`, 1.37).
pub const METADATA: [&str; 10] = [
    "creationTimestamp",
    DELETION,
    "deletionGracePeriodSeconds",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The field of an object that is being deleted.
const DELETION: &str = "deletionTimestamp";

/// The annotations of clients and controllers about a live object.
const ANNOTATIONS: [&str; 2] =
    ["deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration"];

/// The secrets of a ServiceAccount that controllers make, by the text behind the name of the account.
const ACCOUNT_SECRETS: [&str; 2] = ["-token-", "-dockercfg-"];

/// A field that the server sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerField {
    /// The path of the field, such as `metadata.uid`.
    pub path: String,
    /// The value.
    pub node: NodeId,
    /// Whether the value has no content: every leaf is null or empty. Clients write such a field without a live object.
    pub is_empty: bool,
}

/// Returns the fields of an object that the server of a minor sets, in a fixed order. Custom resources can store `status`,
/// see [`Resource::stores_status`](crate::catalogue::Resource::stores_status).
pub fn find(object: NodeRef<'_>, minor: u32) -> Vec<ServerField> {
    let field = |path: String, value: NodeRef<'_>| ServerField { path, node: value.id(), is_empty: is_blank(value) };
    let metadata = |key: &str| object.path(&["metadata", key]);
    let name = absent::text_at(object, &["metadata", "name"]);
    let of_core = |kind: &str| object.text_at("apiVersion") == "v1" && object.text_at("kind") == kind;
    let mut found: Vec<ServerField> =
        METADATA.iter().filter_map(|key| Some(field(format!("metadata.{key}"), metadata(key)?))).collect();
    for key in ANNOTATIONS {
        let value = metadata("annotations").and_then(|annotations| annotations.get(key));
        found.extend(value.map(|value| field(format!("metadata.annotations.{key}"), value)));
    }
    let label = metadata("labels").and_then(|labels| labels.get(NAME_LABEL));
    let label = label.filter(|_| of_core("Namespace") && minor >= NAME_LABEL_SINCE);
    let label = label.filter(|label| label.as_str() == Some(name));
    found.extend(label.map(|label| field(format!("metadata.labels.{NAME_LABEL}"), label)));
    let secrets = object.get("secrets").filter(|_| of_core("ServiceAccount"));
    let is_made = |secret: &NodeRef<'_>| {
        let rest = secret.text_at("name").strip_prefix(name);
        rest.is_some_and(|rest| ACCOUNT_SECRETS.iter().any(|infix| rest.starts_with(infix)))
    };
    let made = secrets.into_iter().flat_map(NodeRef::items).filter(is_made);
    found.extend(made.map(|secret| field("secrets".to_owned(), secret)));
    let status = object.get("status").filter(|status| is_blank(*status) || !of_core("Node"));
    found.extend(status.map(|status| field("status".to_owned(), status)));
    found
}

/// Whether an object is being deleted.
pub fn is_being_deleted(object: NodeRef<'_>) -> bool {
    object.path(&["metadata", DELETION]).is_some_and(|time| !is_blank(time))
}

/// Removes fields of an object, and each map and list without further content.
pub fn remove(tree: &mut Tree, root: NodeId, fields: &BTreeSet<NodeId>) {
    let node = tree.at(root);
    if fields.is_empty() || node.is_empty() {
        return;
    }
    let entries: Vec<(NodeId, NodeId)> = node.entries().map(|(key, value)| (key.id(), value.id())).collect();
    let items: Vec<NodeId> = node.items().map(NodeRef::id).collect();
    let mut is_left = |id: &NodeId| {
        let had_content = !tree.at(*id).is_empty();
        remove(tree, *id, fields);
        let is_emptied = had_content && tree.at(*id).is_empty();
        !(is_emptied || fields.contains(id))
    };
    let kept_items: Vec<NodeId> = items.iter().copied().filter(&mut is_left).collect();
    let kept_entries: Vec<(NodeId, NodeId)> = entries.iter().copied().filter(|(_, value)| is_left(value)).collect();
    if kept_items.len() < items.len() {
        tree.set_items(root, &kept_items);
    }
    if kept_entries.len() < entries.len() {
        tree.set_entries(root, &kept_entries);
    }
}

/// Whether every leaf of a value is null or empty.
fn is_blank(value: NodeRef<'_>) -> bool {
    let is_blank_leaf = value.is_null() || value.as_str() == Some("") || value.is_map() || value.is_seq();
    is_blank_leaf && value.items().all(is_blank) && value.entries().all(|(_, value)| is_blank(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// The paths of the fields, those without content in brackets, and the object without them.
    fn without(text: &str) -> (Vec<String>, String) {
        let mut tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
        let root = tree.document(0).expect("an object").id();
        let fields = find(tree.at(root), 36);
        let ids: BTreeSet<NodeId> = fields.iter().map(|field| field.node).collect();
        remove(&mut tree, root, &ids);
        let path = |field: ServerField| if field.is_empty { format!("({})", field.path) } else { field.path };
        let rest = bailiwick_yaml::schema::to_json(tree.at(root)).to_string();
        (fields.into_iter().map(path).collect(), rest)
    }

    #[test]
    fn fields_of_the_server_are_found_and_removed() {
        let (paths, rest) = without(
            "{apiVersion: v1, kind: Namespace, metadata: {name: a, uid: u, creationTimestamp: null, labels: {kubernetes.io/metadata.name: a}, annotations: {kubectl.kubernetes.io/last-applied-configuration: x, b: c}}, status: {phase: ''}}",
        );
        let expected = [
            "(metadata.creationTimestamp)",
            "metadata.uid",
            "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
            "metadata.labels.kubernetes.io/metadata.name",
            "(status)",
        ];
        assert_eq!(paths, expected);
        assert_eq!(rest, r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","annotations":{"b":"c"}}}"#);
    }

    #[test]
    fn fields_of_the_same_name_at_other_places_stay() {
        let text = "{apiVersion: example.com/v1, kind: Widget, metadata: &m {name: a, uid: u}, spec: {metadata: *m, status: 1}}";
        let (paths, rest) = without(text);
        assert_eq!(paths, ["metadata.uid"]);
        assert!(rest.contains(r#""spec":{"metadata":{"name":"a","uid":"u"},"status":1}"#), "{rest}");
        let (paths, _) = without("{apiVersion: v1, kind: Node, metadata: {name: n}, status: {phase: Running}}");
        assert!(paths.is_empty());
    }

    #[test]
    fn secrets_that_controllers_make_go_and_others_stay() {
        let (paths, rest) = without(
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: a-token-x}, {name: a-dockercfg-x}, {name: own}, {name: ab-token-x}]}",
        );
        assert_eq!(paths, ["secrets", "secrets"]);
        assert!(rest.ends_with(r#""secrets":[{"name":"own"},{"name":"ab-token-x"}]}"#), "{rest}");
        let (_, rest) =
            without("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: a-token-x}]}");
        assert!(!rest.contains("secrets"), "{rest}");
    }
}
