//! Lists of objects, as `kubectl get -o yaml` prints them.

use crate::yaml::NodeRef;

/// The objects of a document: itself, or the items of the list that it is.
pub fn objects(document: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let is_list = document.get("kind").and_then(NodeRef::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").filter(|items| is_list && items.is_seq()) {
        Some(items) => items.items().collect(),
        None => vec![document],
    }
}
