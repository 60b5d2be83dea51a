//! The ResourceList of the KRM functions specification, v1: the input and the output of a function.
//!
//! The text of the input stays as it is where further items or results can be written below it, with its comments. Otherwise the
//! list is written anew, with the same values in the same order.

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::list;
use bailiwick_policy::source::manifests;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree, schema, write};
use serde_json::{Map, Value};

/// The versions of the specification. Their lists have the same fields.
const VERSIONS: [&str; 3] =
    ["config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"];

/// A list of objects, with the settings of a function.
pub struct ResourceList {
    files: Arc<Files>,
    file: FileId,
    tree: Tree,
}

impl ResourceList {
    /// Reads a list; none if the bytes are no list, with the reason in the sink.
    pub(super) fn read(bytes: Vec<u8>, files: &Arc<Files>, sink: &mut Sink) -> Option<Self> {
        let file = manifests::take(bytes, files, sink)?;
        let tree = yaml::read(files.get(file).text(), file, sink);
        let list = Self { files: Arc::clone(files), file, tree };
        (!sink.has_errors() && list.is_list(sink)).then_some(list)
    }

    /// Whether the text is one list; reports why it is not.
    fn is_list(&self, sink: &mut Sink) -> bool {
        let root = self.root();
        let is_one = self.tree.documents().count() == 1;
        let has_type = |root: NodeRef<'_>| {
            root.text_at("kind") == "ResourceList" && VERSIONS.contains(&root.text_at("apiVersion"))
        };
        let has_items = |root: NodeRef<'_>| root.get("items").is_some_and(|items| items.is_seq() || items.is_null());
        let problem = match root {
            Some(root) if is_one && has_type(root) && has_items(root) => None,
            Some(root) if is_one && has_type(root) => Some("the ResourceList has no list `items`"),
            _ => Some("standard input is no ResourceList of `config.kubernetes.io/v1`"),
        };
        let Some(problem) = problem else { return self.has_objects_only(sink) };
        let help = "kustomize and kpt write a ResourceList to a function; `fn --stream` takes plain manifests";
        let diagnostic = Diagnostic::error(codes::INVALID_FUNCTION_INPUT, problem).help(help);
        sink.push(diagnostic.at_maybe(root.map(NodeRef::beginning)));
        false
    }

    /// Whether each item is an object with an identity; reports the first other one.
    fn has_objects_only(&self, sink: &mut Sink) -> bool {
        let is_object = |item: &NodeRef<'_>| {
            let name = item.path(&["metadata", "name"]).and_then(NodeRef::as_str);
            !item.text_at("kind").is_empty() && !item.text_at("apiVersion").is_empty() && name.is_some()
        };
        let Some(other) = self.items().find(|item| !is_object(item)) else { return true };
        let message = "this item is not a Kubernetes object";
        let diagnostic = Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message).at(other.origin());
        sink.push(diagnostic.help("an item has `apiVersion`, `kind` and `metadata.name`"));
        false
    }

    /// Returns the list itself.
    fn root(&self) -> Option<NodeRef<'_>> {
        self.tree.documents().next().filter(|root| root.is_map())
    }

    /// Returns the items as they are written: objects, and lists of objects.
    fn items(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.root().and_then(|root| root.get("items")).into_iter().flat_map(NodeRef::items)
    }

    /// Returns the objects, as a client makes them of the items.
    pub(super) fn objects(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.items().flat_map(list::objects)
    }

    /// Returns the first object with an identity.
    pub(super) fn find(&self, wanted: &IdentityKey) -> Option<NodeRef<'_>> {
        self.objects().find(|item| IdentityKey::of(*item) == *wanted)
    }

    /// Returns the settings of the function.
    pub(super) fn config(&self) -> Option<NodeRef<'_>> {
        self.root()?.get("functionConfig").filter(|config| config.is_map())
    }

    /// Returns the list, whose items have the places of the input.
    pub(super) fn tree(&self) -> Tree {
        self.tree.clone()
    }

    /// Returns the text of the list with further items.
    pub(super) fn with_items(&self, items: Vec<Value>) -> String {
        let items_node = self.root().and_then(|root| root.get("items"));
        let text = items_node.and_then(|node| self.text_with_items(node, &items));
        self.with_entry("items", items, text)
    }

    /// Returns the text of the list with results: objects of the field `results`. A list without results stays as it is.
    pub fn with_results(&self, results: Vec<Value>) -> String {
        let text = results.is_empty().then(|| self.text());
        let text = text.or_else(|| {
            let mut text = self.text();
            end_line(&mut text);
            text.push_str("results:\n");
            results.iter().for_each(|result| push_item(&mut text, "", result));
            Some(text)
        });
        self.with_entry("results", results, text)
    }

    fn text(&self) -> String {
        self.files.get(self.file).text().to_owned()
    }

    /// Returns the text with further items below the last one; none unless the items are a block sequence.
    fn text_with_items(&self, node: NodeRef<'_>, items: &[Value]) -> Option<String> {
        let (first, last) = (node.items().next()?, node.items().last()?);
        let mut text = self.text();
        let line_of_first = text.get(..first.span().start as usize)?.rfind('\n').map_or(0, |at| at + 1);
        let before = text.get(line_of_first..first.span().start as usize)?;
        let indent = before.strip_suffix("- ").filter(|indent| indent.chars().all(|each| each == ' '))?.to_owned();
        let end = last.span().end as usize;
        // The span of a block ends at the start of a line, or within its last line.
        let ends_line = text.get(..end)?.ends_with('\n');
        let at = if ends_line { end } else { text.get(end..)?.find('\n').map_or(text.len(), |at| end + at + 1) };
        let after = text.split_off(at);
        end_line(&mut text);
        items.iter().for_each(|item| push_item(&mut text, &indent, item));
        text.push_str(&after);
        Some(text)
    }

    /// Returns `text` if it reads as the list with these values at the end of a field. Otherwise, the list is written anew.
    fn with_entry(&self, field: &str, values: Vec<Value>, text: Option<String>) -> String {
        let mut wanted = self.root().map_or_else(|| Value::Object(Map::new()), schema::to_json);
        if let Some(root) = wanted.as_object_mut()
            && !values.is_empty()
        {
            let mut all = root.get_mut(field).and_then(Value::as_array_mut).map_or_else(Vec::new, std::mem::take);
            all.extend(values);
            root.insert(field.to_owned(), Value::Array(all));
        }
        match text.filter(|text| reads_as(text, &wanted)) {
            Some(text) => text,
            None => yaml_of(&wanted),
        }
    }
}

/// Whether a text is one YAML document with this value.
fn reads_as(text: &str, wanted: &Value) -> bool {
    let mut sink = Sink::new();
    let tree = yaml::read(text, Files::new().add("output", ""), &mut sink);
    let is_wanted = tree.documents().map(schema::to_json).eq(std::iter::once(wanted).cloned());
    is_wanted && !sink.has_errors()
}

/// Returns a value as a YAML document.
fn yaml_of(value: &Value) -> String {
    let mut text = String::new();
    yaml::from_json(value).documents().for_each(|root| write::document(root, &mut text));
    text
}

/// Adds an item of a block sequence.
fn push_item(text: &mut String, indent: &str, item: &Value) {
    let mut lead = "- ";
    for line in yaml_of(item).lines() {
        if line.is_empty() {
            text.push('\n');
        } else {
            [indent, lead, line, "\n"].iter().for_each(|part| text.push_str(part));
        }
        lead = "  ";
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
