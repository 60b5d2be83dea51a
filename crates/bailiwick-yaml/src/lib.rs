//! YAML as Kubernetes reads and stores it, with locations and diagnostics.
//!
//! The crate answers three questions about a text: its value for kubectl and the API server, the place of each part, and the
//! problems that kubectl passes in silence, such as doubled keys.
//!
//! ```text
//! text -> fast reader (block YAML of templates and of the writer) -> Tree -> writer -> canonical text
//!    \ -> JSON reader (dumps of kubectl)                        /
//!    \ -> full reader (any other text, by granit-parser)        /
//! ```
//!
//! # Types
//!
//! - [`read`] reads all documents of a text into a [`Tree`] of nodes with byte ranges. A [`NodeRef`] is a node with its tree.
//! - [`diag::Sink`] collects each [`diag::Diagnostic`]; [`diag::Files`] has the texts and computes lines and columns.
//! - [`de::from_node`] reads a node into a type with serde; [`Spanned`] keeps the place of a value.
//! - [`schema::Schema`] checks a node against a JSON Schema and reports every mismatch with a remedy.
//! - [`mod@write`] writes canonical text, and [`ReadBack`] proves that other readers of YAML read the same object from it.
//! - [`internal`] records broken invariants of the program itself.
//!
//! # Example
//!
//! ```
//! use bailiwick_yaml::NodeRef;
//! use bailiwick_yaml::diag::{Files, Sink};
//!
//! let (files, mut sink) = (Files::new(), Sink::new());
//! let file = files.add("role.yaml", "kind: Role\nverbs: [get, get, y]\nkind: ClusterRole\n");
//! let tree = bailiwick_yaml::read(files.get(file).text(), file, &mut sink);
//!
//! let verbs = tree.document(0).and_then(|root| root.get("verbs"));
//! let last = verbs.and_then(|verbs| verbs.items().last());
//! assert_eq!(last.and_then(NodeRef::as_bool), Some(true), "a bare `y` is a boolean for Kubernetes");
//!
//! let found = sink.into_sorted(&files);
//! let origin = found.first().and_then(|first| first.origin).expect("a doubled key");
//! assert_eq!(files.get(file).line_column(origin.span.start).line, 3);
//! ```
//!
//! # Limits
//!
//! Plain scalars have the values of sigs.k8s.io/yaml, the reader of kubectl and the API server. Comments, tags of other
//! vocabularies, and keys other than scalars are left out: no Kubernetes object contains them. Depth, aliases and the number of
//! diagnostics are bounded.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod blank;
pub mod de;
pub mod diag;
pub mod digest;
mod fast;
mod foreign;
mod full;
pub mod internal;
mod json;
mod json_list;
mod json_text;
pub mod limits;
mod readback;
pub mod scalar;
pub mod schema;
mod tree;
pub mod write;

pub use blank::Blank;
pub use de::Spanned;
pub use json::from_json;
pub use json_list::{ListForm, each_item};
pub use limits::{MAXIMUM_ALIASED_NODES, MAXIMUM_DEPTH};
pub use readback::{Difference, ReadBack, has_one_type};
pub use tree::{NodeId, NodeRef, NodeValue, Tree};

use crate::diag::{FileId, Sink};

/// Reads every document of `text` into a new tree.
///
/// Problems go to `sink`; the tree then holds the readable rest. A text in the restricted form of templates and of
/// the [writer](mod@write) takes the fast reader, JSON its own, any other text the full one; for a text in a restricted form,
/// the full reader returns the same tree.
pub fn read(text: &str, file: FileId, sink: &mut Sink) -> Tree {
    let mut tree = Tree::new(file);
    read_into(text, &mut tree, sink);
    tree.shrink();
    tree
}

/// Reads a text as [`read`] does, into a tree with memory for reuse.
pub fn read_into(text: &str, tree: &mut Tree, sink: &mut Sink) {
    if !read_restricted(text, tree) {
        tree.clear();
        full::read(text, tree, sink);
    }
}

/// Reads a text with the readers of restricted forms; false if each of them refuses it.
fn read_restricted(text: &str, tree: &mut Tree) -> bool {
    tree.clear();
    if text.starts_with('{') {
        if json_text::read(text, tree).is_ok() {
            return true;
        }
        tree.clear();
    }
    fast::read(text, tree).is_ok()
}

/// Reads a text with the readers of restricted forms alone; none if each of them refuses it.
pub fn read_fast(text: &str, file: FileId) -> Option<Tree> {
    let mut tree = Tree::new(file);
    read_restricted(text, &mut tree).then_some(tree)
}

/// Reads a text with the full parser alone, for comparisons with the fast reader.
pub fn read_full(text: &str, file: FileId, sink: &mut Sink) -> Tree {
    let mut tree = Tree::new(file);
    full::read(text, &mut tree, sink);
    tree
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
