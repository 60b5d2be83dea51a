//! Lists of objects, as `kubectl get -o yaml` prints them.

use bailiwick_yaml::NodeRef;

/// Returns the objects of a document: itself, or the items of the list that it is.
pub fn objects(document: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let is_list = document.get("kind").and_then(NodeRef::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").filter(|items| is_list && items.is_seq()) {
        Some(items) => items.items().collect(),
        None => vec![document],
    }
}

/// The objects of a document, each with its API version and kind: the items of a list of one kind, as the API server itself prints it,
/// leave out what the list says.
pub fn typed_objects<'t>(document: NodeRef<'t>) -> Vec<(String, String, NodeRef<'t>)> {
    let text = |node: NodeRef<'_>, key: &str| node.get(key).and_then(NodeRef::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text(document, "apiVersion"), text(document, "kind"));
    let item_kind = kind.strip_suffix("List").unwrap_or(&kind);
    let typed = |object: NodeRef<'t>| match (text(object, "apiVersion"), text(object, "kind")) {
        (own, kind) if !own.is_empty() && !kind.is_empty() => (own, kind, object),
        _ => (version.clone(), item_kind.to_owned(), object),
    };
    objects(document).into_iter().map(typed).collect()
}
