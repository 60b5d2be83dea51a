//! The tree: all nodes of a text in one vector, linked, so that a normal form needs only a few new links.

use crate::diag::{FileId, Origin, Span};
use crate::internal;

/// Names a node of one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// Returns the bare number.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// The end of a chain of siblings.
const NONE: NodeId = NodeId(u32::MAX);

/// The content of a scalar, sequence or mapping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeValue {
    /// `null`, `~` or nothing at all.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string: a range of the tree's string buffer.
    Str(Text),
    /// A sequence: its first item and how many there are.
    Seq(Children),
    /// A mapping: its first key and how many entries there are. Keys and values alternate in the chain.
    Map(Children),
}

/// A range of the string buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    start: u32,
    end: u32,
}

/// The chain of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Children {
    first: NodeId,
    len: u32,
}

/// A node of the vector, in 24 bytes: a large workspace has millions of nodes.
#[derive(Debug, Clone, Copy)]
struct Node {
    kind: NodeKind,
    /// The content of a scalar in two halves, the ends of a text, or the first child and the number of children.
    halves: [u32; 2],
    span: Span,
    next: NodeId,
}

/// The kind of a [`NodeValue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    Null,
    False,
    True,
    Int,
    Float,
    Str,
    Seq,
    Map,
}

impl Node {
    fn new(value: NodeValue, span: Span) -> Self {
        let (kind, halves) = packed(value);
        Self { kind, halves, span, next: NONE }
    }

    fn set(&mut self, value: NodeValue) {
        (self.kind, self.halves) = packed(value);
    }

    fn value(self) -> NodeValue {
        let [first, second] = self.halves;
        let bits = u64::from(first) << 32 | u64::from(second);
        let children = Children { first: NodeId(first), len: second };
        match self.kind {
            NodeKind::Null => NodeValue::Null,
            NodeKind::False => NodeValue::Bool(false),
            NodeKind::True => NodeValue::Bool(true),
            NodeKind::Int => NodeValue::Int(bits.cast_signed()),
            NodeKind::Float => NodeValue::Float(f64::from_bits(bits)),
            NodeKind::Str => NodeValue::Str(Text { start: first, end: second }),
            NodeKind::Seq => NodeValue::Seq(children),
            NodeKind::Map => NodeValue::Map(children),
        }
    }
}

/// Returns a value in the form of a [`Node`].
fn packed(value: NodeValue) -> (NodeKind, [u32; 2]) {
    let halves = |bits: u64| [(bits >> 32) as u32, bits as u32];
    match value {
        NodeValue::Null => (NodeKind::Null, [0, 0]),
        NodeValue::Bool(truth) => (if truth { NodeKind::True } else { NodeKind::False }, [0, 0]),
        NodeValue::Int(number) => (NodeKind::Int, halves(number.cast_unsigned())),
        NodeValue::Float(number) => (NodeKind::Float, halves(number.to_bits())),
        NodeValue::Str(Text { start, end }) => (NodeKind::Str, [start, end]),
        NodeValue::Seq(Children { first, len }) => (NodeKind::Seq, [first.0, len]),
        NodeValue::Map(Children { first, len }) => (NodeKind::Map, [first.0, len]),
    }
}

/// The documents of one text.
#[derive(Debug, Clone)]
pub struct Tree {
    file: FileId,
    nodes: Vec<Node>,
    strings: String,
    documents: Vec<NodeId>,
    has_aliases: bool,
}

impl Tree {
    /// Creates an empty tree for a registered file.
    pub fn new(file: FileId) -> Self {
        Self { file, nodes: Vec::new(), strings: String::new(), documents: Vec::new(), has_aliases: false }
    }

    /// Returns a tree with a copy of a node as its one document, with its places.
    pub fn copy_of(node: NodeRef<'_>) -> Self {
        let mut copy = Self::new(node.tree.file);
        let root = copy.add_copy(node);
        copy.add_document(root);
        copy.nodes.shrink_to_fit();
        copy.strings.shrink_to_fit();
        copy
    }

    /// Adds a copy of a node of another tree, outside of all chains. The depth is bounded by the reader.
    fn add_copy(&mut self, node: NodeRef<'_>) -> NodeId {
        let value = match node.value() {
            NodeValue::Str(text) => self.intern(node.tree.text(text)),
            value => value,
        };
        let id = self.add(value, node.span());
        let mut children = Chain::new();
        match value {
            NodeValue::Seq(_) => {
                for item in node.items() {
                    let item = self.add_copy(item);
                    children.push(self, item);
                }
                self.set(id, children.items());
            }
            NodeValue::Map(_) => {
                for (key, value) in node.entries() {
                    let (key, value) = (self.add_copy(key), self.add_copy(value));
                    children.push(self, key);
                    children.push(self, value);
                }
                self.set(id, children.entries());
            }
            _ => {}
        }
        id
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.strings.clear();
        self.documents.clear();
        self.has_aliases = false;
    }

    /// Whether the text has an alias. The reader limits the length of all copies, so it may refuse a text that differs from
    /// this one only in the length of a value.
    pub fn has_aliases(&self) -> bool {
        self.has_aliases
    }

    /// Records that the text has an alias.
    pub(super) fn note_alias(&mut self) {
        self.has_aliases = true;
    }

    /// Returns the file of the spans.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// Returns the root of each document that is not empty, in order.
    pub fn documents(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.documents.iter().map(|&id| NodeRef { tree: self, id })
    }

    /// Returns the root of a document by its position.
    pub fn document(&self, index: usize) -> Option<NodeRef<'_>> {
        self.documents.get(index).map(|&id| NodeRef { tree: self, id })
    }

    /// Returns a node by its id.
    pub fn at(&self, id: NodeId) -> NodeRef<'_> {
        NodeRef { tree: self, id }
    }

    /// Removes the documents for which `keep` is false.
    pub fn retain_documents(&mut self, keep: impl Fn(NodeRef<'_>) -> bool) {
        let kept: Vec<NodeId> = self.documents().filter(|root| keep(*root)).map(NodeRef::id).collect();
        self.documents = kept;
    }

    /// Frees the spare memory of a read tree, if there is much of it.
    pub(super) fn shrink(&mut self) {
        if self.nodes.capacity() / 4 * 3 > self.nodes.len() {
            self.nodes.shrink_to_fit();
            self.strings.shrink_to_fit();
        }
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a root.
    pub(super) fn add_document(&mut self, root: NodeId) {
        self.documents.push(root);
    }

    /// Adds a node outside of all chains.
    pub(super) fn add(&mut self, value: NodeValue, span: Span) -> NodeId {
        let id = NodeId(internal::number(self.nodes.len()));
        self.nodes.push(Node::new(value, span));
        id
    }

    /// Adds a string node outside of all chains.
    pub fn add_string(&mut self, text: &str, span: Span) -> NodeId {
        let value = self.intern(text);
        self.add(value, span)
    }

    /// Adds a whole number outside of all chains.
    pub fn add_int(&mut self, number: i64, span: Span) -> NodeId {
        self.add(NodeValue::Int(number), span)
    }

    /// Adds a boolean outside of all chains.
    pub fn add_bool(&mut self, truth: bool, span: Span) -> NodeId {
        self.add(NodeValue::Bool(truth), span)
    }

    /// Adds a mapping without entries, outside of all chains.
    pub fn add_map(&mut self, span: Span) -> NodeId {
        self.add(NodeValue::Map(Children::EMPTY), span)
    }

    /// Adds a sequence without items, outside of all chains.
    pub fn add_seq(&mut self, span: Span) -> NodeId {
        self.add(NodeValue::Seq(Children::EMPTY), span)
    }

    /// Puts a string into the buffer.
    pub(super) fn intern(&mut self, text: &str) -> NodeValue {
        let start = self.strings.len();
        self.strings.push_str(text);
        NodeValue::Str(Text { start: internal::number(start), end: internal::number(self.strings.len()) })
    }

    /// Returns the length of the string buffer in bytes.
    pub(super) fn string_bytes(&self) -> usize {
        self.strings.len()
    }

    /// Truncates the string buffer to `length` bytes. Nodes with a later string have to be set again.
    pub(super) fn forget_strings(&mut self, length: usize) {
        self.strings.truncate(length);
    }

    /// Replaces the value of a node by a string.
    pub fn set_string(&mut self, id: NodeId, text: &str) {
        let value = self.intern(text);
        self.set(id, value);
    }

    /// Replaces the value of a node.
    pub fn set(&mut self, id: NodeId, value: NodeValue) {
        if let Some(node) = self.nodes.get_mut(id.0 as usize) {
            node.set(value);
        }
    }

    pub(super) fn set_span_end(&mut self, id: NodeId, end: u32) {
        if let Some(node) = self.nodes.get_mut(id.0 as usize) {
            node.span.end = end;
        }
    }

    /// Links `items` as the children of a sequence.
    pub fn set_items(&mut self, id: NodeId, items: &[NodeId]) {
        let children = self.chain(items.iter().copied(), items.len());
        self.set(id, NodeValue::Seq(children));
    }

    /// Links `entries` as the children of a mapping, in this order.
    pub fn set_entries(&mut self, id: NodeId, entries: &[(NodeId, NodeId)]) {
        let nodes = entries.iter().flat_map(|&(key, value)| [key, value]);
        let children = self.chain(nodes, entries.len());
        self.set(id, NodeValue::Map(children));
    }

    fn chain(&mut self, nodes: impl Iterator<Item = NodeId>, len: usize) -> Children {
        let (mut first, mut last) = (NONE, NONE);
        for id in nodes {
            if first == NONE {
                first = id;
            } else {
                self.link(last, id);
            }
            last = id;
        }
        self.link(last, NONE);
        Children { first, len: internal::number(len) }
    }

    pub(super) fn link(&mut self, id: NodeId, next: NodeId) {
        if let Some(node) = self.nodes.get_mut(id.0 as usize) {
            node.next = next;
        }
    }

    fn node(&self, id: NodeId) -> Node {
        if let Some(node) = self.nodes.get(id.0 as usize) {
            return *node;
        }
        internal::record("a node is of another tree");
        Node::new(NodeValue::Null, Span::default())
    }

    /// Returns the text of a string of this tree.
    pub fn text(&self, text: Text) -> &str {
        internal::slice(&self.strings, text.start as usize..text.end as usize)
    }
}

impl Children {
    /// No children.
    pub(super) const EMPTY: Children = Children { first: NONE, len: 0 };
}

/// A collection under construction: keeps the end of its chain while children arrive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    first: NodeId,
    last: NodeId,
    len: u32,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }

    /// Appends a node.
    pub(super) fn push(&mut self, tree: &mut Tree, id: NodeId) {
        if self.first == NONE {
            self.first = id;
        } else {
            tree.link(self.last, id);
        }
        self.last = id;
        self.len += 1;
    }

    /// Returns the chain as the children of a sequence.
    pub(super) fn items(self) -> NodeValue {
        NodeValue::Seq(Children { first: self.first, len: self.len })
    }

    /// Returns the chain of alternating keys and values as the children of a mapping.
    pub(super) fn entries(self) -> NodeValue {
        NodeValue::Map(Children { first: self.first, len: self.len / 2 })
    }
}

/// A node together with its tree.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef<'t> {
    tree: &'t Tree,
    id: NodeId,
}

/// The first number beyond 64 bits.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

impl<'t> NodeRef<'t> {
    /// Returns the id of the node in its tree.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// Returns the tree of the node.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// Returns the value of the node.
    pub fn value(self) -> NodeValue {
        self.tree.node(self.id).value()
    }

    /// Returns the bytes of the node in the text.
    pub fn span(self) -> Span {
        self.tree.node(self.id).span
    }

    /// Returns the place of the node.
    pub fn origin(self) -> Origin {
        Origin { file: self.tree.file, span: self.span() }
    }

    /// Returns the place of the first character: an underlined map would be no help.
    pub fn beginning(self) -> Origin {
        let mut origin = self.origin();
        origin.span.end = origin.span.start + 1;
        origin
    }

    /// Returns the string, if the node is one.
    pub fn as_str(self) -> Option<&'t str> {
        match self.value() {
            NodeValue::Str(text) => Some(self.tree.text(text)),
            _ => None,
        }
    }

    /// Returns the text of a key. A key other than a string, an error for the readers, has an empty text.
    pub fn as_key(self) -> &'t str {
        match self.value() {
            NodeValue::Str(text) => self.tree.text(text),
            _ => "",
        }
    }

    /// Returns the string at a key of a mapping. An absent or null field reads as the empty string, as in Go's
    /// decoder for a field of type `string`.
    pub fn text_at(self, key: &str) -> &'t str {
        self.get(key).and_then(NodeRef::as_str).unwrap_or_default()
    }

    /// Returns the bytes of a string; none for another node.
    fn bytes(self) -> &'t [u8] {
        match self.value() {
            NodeValue::Str(text) => {
                let range = text.start as usize..text.end as usize;
                internal::items(self.tree.strings.as_bytes(), range)
            }
            _ => &[],
        }
    }

    /// Returns the whole number, if the node is one. `80.0` is one: on the way to the server it becomes `80`.
    pub fn as_int(self) -> Option<i64> {
        match self.value() {
            NodeValue::Int(number) => Some(number),
            NodeValue::Float(number) if number.fract() == 0.0 && number.abs() < I64_END => Some(number as i64),
            _ => None,
        }
    }

    /// Returns the boolean, if the node is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.value() {
            NodeValue::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// Whether the node is null.
    pub fn is_null(self) -> bool {
        self.value() == NodeValue::Null
    }

    /// Whether the node is a mapping.
    pub fn is_map(self) -> bool {
        matches!(self.value(), NodeValue::Map(_))
    }

    /// Whether the node is a sequence.
    pub fn is_seq(self) -> bool {
        matches!(self.value(), NodeValue::Seq(_))
    }

    /// Returns the number of items or entries; 0 for a scalar.
    pub fn len(self) -> usize {
        match self.value() {
            NodeValue::Seq(children) | NodeValue::Map(children) => children.len as usize,
            _ => 0,
        }
    }

    /// Whether the node is a scalar or an empty collection.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the items of a sequence; none for another node.
    pub fn items(self) -> Items<'t> {
        match self.value() {
            NodeValue::Seq(children) => Items { tree: self.tree, next: children.first, left: children.len },
            _ => Items { tree: self.tree, next: NONE, left: 0 },
        }
    }

    /// Returns key and value of each entry of a mapping, in order; none for another node.
    pub fn entries(self) -> Entries<'t> {
        match self.value() {
            NodeValue::Map(children) => Entries { tree: self.tree, next: children.first, left: children.len },
            _ => Entries { tree: self.tree, next: NONE, left: 0 },
        }
    }

    /// Returns the value of a key of a mapping.
    pub fn get(self, key: &str) -> Option<NodeRef<'t>> {
        self.entry(key).map(|(_, value)| value)
    }

    /// Returns key and value nodes of a key of a mapping.
    pub fn entry(self, key: &str) -> Option<(NodeRef<'t>, NodeRef<'t>)> {
        // The first byte differs for most keys, so that most need no call.
        let wanted = key.as_bytes();
        self.entries().find(|(found, _)| {
            let found = found.bytes();
            found.len() == wanted.len() && found.first() == wanted.first() && found == wanted
        })
    }

    /// Follows keys from this node.
    pub fn path(self, keys: &[&str]) -> Option<NodeRef<'t>> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Describes the kind of value, with its article, for messages.
    pub fn describe(self) -> String {
        match self.value() {
            NodeValue::Null => "null".to_owned(),
            NodeValue::Bool(truth) => format!("the boolean `{truth}`"),
            NodeValue::Int(number) => format!("the number `{number}`"),
            NodeValue::Float(number) => format!("the number `{number}`"),
            NodeValue::Str(text) => format!("the string `{}`", shorten(self.tree.text(text))),
            NodeValue::Seq(_) => "a list".to_owned(),
            NodeValue::Map(_) => "a map".to_owned(),
        }
    }
}

/// Returns at most 40 characters of a string, for messages.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
    }
    let head: String = text.chars().take(39).collect();
    format!("{}…", head.escape_debug())
}

/// Iterates over the items of a sequence.
#[derive(Debug, Clone)]
pub struct Items<'t> {
    tree: &'t Tree,
    next: NodeId,
    left: u32,
}

impl<'t> Iterator for Items<'t> {
    type Item = NodeRef<'t>;

    fn next(&mut self) -> Option<NodeRef<'t>> {
        if self.next == NONE {
            return None;
        }
        let id = self.next;
        self.next = self.tree.node(id).next;
        self.left = self.left.saturating_sub(1);
        Some(NodeRef { tree: self.tree, id })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

/// Iterates over the entries of a mapping.
#[derive(Debug, Clone)]
pub struct Entries<'t> {
    tree: &'t Tree,
    next: NodeId,
    left: u32,
}

impl<'t> Iterator for Entries<'t> {
    type Item = (NodeRef<'t>, NodeRef<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == NONE {
            return None;
        }
        let key = self.next;
        let value = self.tree.node(key).next;
        self.next = self.tree.node(value).next;
        self.left = self.left.saturating_sub(1);
        Some((NodeRef { tree: self.tree, id: key }, NodeRef { tree: self.tree, id: value }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
