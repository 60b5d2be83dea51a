//! Lists of objects, as `kubectl get -o yaml` prints them.

use crate::absent;
use bailiwick_yaml::NodeRef;

/// Returns the objects of a document: itself, or the items of a list.
pub fn objects(document: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let is_list = document.get("kind").and_then(NodeRef::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").filter(|items| is_list && items.is_seq()) {
        Some(items) => items.items().collect(),
        None => vec![document],
    }
}

/// Returns the objects of a document, each with its API version and kind. Items of a typed list, as the API server
/// prints it, take both from the list.
pub fn typed_objects<'t>(document: NodeRef<'t>) -> Vec<(String, String, NodeRef<'t>)> {
    let text = |node: NodeRef<'_>, key: &str| absent::text(node.get(key).and_then(NodeRef::as_str)).to_owned();
    let (version, kind) = (text(document, "apiVersion"), text(document, "kind"));
    let item_kind = match kind.strip_suffix("List") {
        Some(item_kind) => item_kind,
        None => &kind,
    };
    let typed = |object: NodeRef<'t>| match (text(object, "apiVersion"), text(object, "kind")) {
        (own, kind) if !own.is_empty() && !kind.is_empty() => (own, kind, object),
        _ => (version.clone(), item_kind.to_owned(), object),
    };
    objects(document).into_iter().map(typed).collect()
}
