//! Lists of objects, as `kubectl get -o yaml` prints them and as every client opens them.
//!
//! An object with a key `items` is a list, whatever its kind. Source: `unstructuredJSONScheme` in
//! `pkg/apis/meta/v1/unstructured/helpers.go` of k8s.io/apimachinery 0.36.

use crate::catalogue::Catalogue;
use bailiwick_yaml::{NodeId, NodeRef, Tree};

/// Returns the first place in a document that is no list of the Kubernetes API for a client that opens lists: the `items` of
/// another kind, another value of `items` than a list, or an item that is no object.
pub fn odd_items(document: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let items = document.get("items")?;
    if !document.text_at("kind").ends_with("List") || !(items.is_seq() || items.is_null()) {
        return document.entry("items").map(|(key, _)| key);
    }
    items.items().find_map(|item| if item.is_map() { odd_items(item) } else { Some(item) })
}

/// Returns the objects of a document: itself, or the items of a list and of the lists in the list.
pub fn objects(document: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut found = Vec::new();
    visit(Typed::of(document), &mut |typed| found.push(typed.object));
    found
}

/// Returns the objects of a document, each with its API version and kind. Items of a typed list, as the API server
/// prints it, take both from the list.
pub fn typed_objects<'t>(document: NodeRef<'t>) -> Vec<(String, String, NodeRef<'t>)> {
    let mut found = Vec::new();
    visit(Typed::of(document), &mut |Typed { api_version, kind, object }| {
        found.push((api_version.to_owned(), kind.to_owned(), object));
    });
    found
}

/// Returns a copy of a tree in which the items of typed lists have the API version and kind that they take from the list; none if
/// every item has its own.
pub fn with_types(tree: &Tree) -> Option<Tree> {
    let mut untyped: Vec<(NodeId, String, String)> = Vec::new();
    for document in tree.documents() {
        visit(Typed::of(document), &mut |Typed { api_version, kind, object }| {
            if !Typed::of(object).is_untyped() || !object.is_map() || kind.is_empty() {
                return;
            }
            untyped.push((object.id(), api_version.to_owned(), kind.to_owned()));
        });
    }
    let mut completed = (!untyped.is_empty()).then(|| tree.clone())?;
    for (object, api_version, kind) in untyped {
        let node = completed.at(object);
        let span = node.span();
        let is_type = |key: &str| matches!(key, "apiVersion" | "kind");
        let own = node.entries().filter(|(key, _)| !is_type(key.as_key()));
        let own: Vec<(NodeId, NodeId)> = own.map(|(key, value)| (key.id(), value.id())).collect();
        let mut entries = Vec::with_capacity(own.len() + 2);
        for (key, text) in [("apiVersion", api_version), ("kind", kind)] {
            entries.push((completed.add_string(key, span), completed.add_string(&text, span)));
        }
        entries.extend(own);
        completed.set_entries(object, &entries);
    }
    Some(completed)
}

/// Gives a namespace to each object of a built-in namespaced kind that has none, as `kubectl -n` does. Returns the number of these
/// objects.
pub fn fill_namespace(tree: &mut Tree, namespace: &str) -> usize {
    let mut without: Vec<NodeId> = Vec::new();
    for document in tree.documents() {
        visit(Typed::of(document), &mut |Typed { api_version, kind, object }| {
            let metadata = object.get("metadata").filter(|metadata| metadata.text_at("namespace").is_empty());
            let is_namespaced = || Catalogue::get().is_namespaced(api_version, kind) == Some(true);
            without.extend(metadata.filter(|metadata| metadata.is_map() && is_namespaced()).map(NodeRef::id));
        });
    }
    for &metadata in &without {
        let node = tree.at(metadata);
        let span = node.span();
        let own = node.entries().filter(|(key, _)| key.as_key() != "namespace");
        let mut entries: Vec<(NodeId, NodeId)> = own.map(|(key, value)| (key.id(), value.id())).collect();
        entries.push((tree.add_string("namespace", span), tree.add_string(namespace, span)));
        tree.set_entries(metadata, &entries);
    }
    without.len()
}

/// A list with only a part of its objects.
#[derive(Debug, Clone, Copy)]
pub struct ListPage<'t> {
    /// `metadata.continue` or `metadata.remainingItemCount`.
    pub field: NodeRef<'t>,
    /// How many objects are behind the part; none if the API server did not count them.
    pub remaining: Option<u64>,
}

/// Returns the first list of a tree that ends before its last object, as `limit` of a request cuts it off; also a list in a list.
///
/// Source: `metav1.ListMeta` (`continue`, `remainingItemCount`) in `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go`, 1.37.
pub fn first_page(tree: &Tree) -> Option<ListPage<'_>> {
    tree.documents().find_map(|document| page_in(document))
}

fn page_in(object: NodeRef<'_>) -> Option<ListPage<'_>> {
    let items = Typed::of(object).items()?;
    let own = |field: &str| object.path(&["metadata", field]);
    let counted = own("remainingItemCount").and_then(|field| Some((field, u64::try_from(field.as_int()?).ok()?)));
    let counted = counted.filter(|(_, count)| *count > 0);
    let token = own("continue").filter(|token| token.as_str().is_some_and(|token| !token.is_empty()));
    match (token, counted) {
        (None, None) => items.items().find_map(page_in),
        (Some(field), counted) => Some(ListPage { field, remaining: counted.map(|(_, count)| count) }),
        (None, Some((field, count))) => Some(ListPage { field, remaining: Some(count) }),
    }
}

/// An object or a list with its type.
#[derive(Clone, Copy)]
struct Typed<'t> {
    api_version: &'t str,
    kind: &'t str,
    object: NodeRef<'t>,
}

impl<'t> Typed<'t> {
    /// Returns an object with the type that it states.
    fn of(object: NodeRef<'t>) -> Self {
        Self { api_version: object.text_at("apiVersion"), kind: object.text_at("kind"), object }
    }

    fn is_untyped(self) -> bool {
        self.api_version.is_empty() && self.kind.is_empty()
    }

    /// Returns the items of a list; none for another object. A value that is no list of objects is refused by clients, and
    /// holds no object here.
    fn items(self) -> Option<NodeRef<'t>> {
        self.object.get("items")
    }
}

/// Visits an object, or each object of a list.
fn visit<'t>(typed: Typed<'t>, found: &mut dyn FnMut(Typed<'t>)) {
    match typed.items() {
        Some(items) => visit_items(typed, items, found),
        None => found(typed),
    }
}

/// Visits each object of a list. An object in a list is a list only if its `items` are one (`Unstructured.IsList`). The depth
/// is bounded by the reader.
fn visit_items<'t>(list: Typed<'t>, items: NodeRef<'t>, found: &mut dyn FnMut(Typed<'t>)) {
    let item_kind = list.kind.strip_suffix("List").map_or(list.kind, |kind| kind);
    for object in items.items() {
        let own = Typed::of(object);
        let inferred = Typed { api_version: list.api_version, kind: item_kind, object };
        let typed = if own.is_untyped() { inferred } else { own };
        match typed.items().filter(|items| items.is_seq()) {
            Some(items) => visit_items(typed, items, found),
            None => found(typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Sink};

    #[test]
    fn objects_without_a_namespace_get_one() {
        let text = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Node, metadata: {name: n}}, {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: own}}, {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}]}";
        let mut tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
        fill_namespace(&mut tree, "team-a");
        let namespaces = tree.documents().flat_map(objects).map(|object| object.path(&["metadata", "namespace"]));
        let namespaces: Vec<Option<&str>> = namespaces.map(|node| node.and_then(NodeRef::as_str)).collect();
        assert_eq!(namespaces, [Some("team-a"), None, Some("own"), None]);
    }

    #[test]
    fn a_list_with_further_pages_is_the_first_one() {
        let page = |metadata: &str, items: &str| {
            let text = format!("{{apiVersion: v1, kind: PodList, metadata: {metadata}, items: [{items}]}}");
            let tree = bailiwick_yaml::read(&text, FileId::default(), &mut Sink::new());
            first_page(&tree).map(|page| page.remaining)
        };
        assert_eq!(page("{continue: abc, remainingItemCount: 7}", ""), Some(Some(7)));
        assert_eq!(page("{continue: abc}", ""), Some(None));
        assert_eq!(page("{remainingItemCount: 1}", ""), Some(Some(1)));
        assert_eq!(page("{}", "{kind: List, metadata: {continue: abc}, items: []}"), Some(None));
        for whole in
            ["{}", "null", "{resourceVersion: ''}", "{continue: ''}", "{continue: null, remainingItemCount: 0}"]
        {
            assert_eq!(page(whole, "{metadata: {name: a, continue: abc}}"), None, "{whole}");
        }
    }

    #[test]
    fn items_in_a_list_that_are_no_list_make_no_list() {
        let objects_of = |text: &str| {
            let tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
            tree.documents().flat_map(objects).map(|object| object.text_at("kind").to_owned()).collect::<Vec<String>>()
        };
        for items in ["null", "{}", "a"] {
            assert_eq!(objects_of(&format!("{{kind: ClusterRoleBinding, items: {items}}}")), [""; 0], "{items}");
            let within = format!("{{kind: List, items: [{{kind: ClusterRoleBinding, items: {items}}}]}}");
            assert_eq!(objects_of(&within), ["ClusterRoleBinding"], "{items}");
        }
    }

    #[test]
    fn lists_in_lists_are_flat_and_items_take_the_type_of_their_list() {
        let text = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, a: 1}]}, {apiVersion: v1, kind: NodeList, items: [{b: 2}, {kind: Pod, c: 3}]}, {apiVersion: v1, kind: PodList, items: null}, {apiVersion: v1, kind: Foo, items: [{d: 4}]}]}";
        let tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
        let types: Vec<(String, String)> =
            tree.documents().flat_map(typed_objects).map(|(version, kind, _)| (version, kind)).collect();
        // An item with a part of its type takes nothing from the list.
        let expected = [("v1", "Pod"), ("v1", "Node"), ("", "Pod"), ("v1", "PodList"), ("v1", "Foo")];
        assert_eq!(types, expected.map(|(version, kind)| (version.to_owned(), kind.to_owned())));
        let completed = with_types(&tree).expect("items without a type");
        let written: Vec<String> = completed
            .documents()
            .flat_map(objects)
            .map(|object| bailiwick_yaml::schema::to_json(object).to_string())
            .collect();
        let expected = [
            r#"{"apiVersion":"v1","kind":"Pod","a":1}"#,
            r#"{"apiVersion":"v1","kind":"Node","b":2}"#,
            r#"{"kind":"Pod","c":3}"#,
            r#"{"apiVersion":"v1","kind":"PodList","items":null}"#,
            r#"{"apiVersion":"v1","kind":"Foo","d":4}"#,
        ];
        assert_eq!(written, expected);
        assert!(with_types(&completed).is_none());
    }
}
