//! YAML as Kubernetes reads and stores it.
//!
//! Text is read once into a [`Tree`]: nodes with the bytes they came from. Typed policies ([`de`]), JSON Schema
//! ([`schema`]), the API server's rules and the canonical writer ([`write`]) all work on that one
//! representation. Plain scalars mean what kubectl's reader makes of them (`specs/kubernetes.md` section 6), so
//! that a bare `y` is a boolean here as it is there.
//!
//! ```text
//! text -> fast (the block YAML we and our templates write) -> Tree -> write -> canonical text
//!    \ -> full (anything else, by granit-parser)         /
//! ```
//!
//! Left out on purpose: comments, tags of other vocabularies, and keys that are not scalars.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod cut;
pub mod de;
pub mod diag;
pub mod digest;
mod fast;
mod foreign;
mod full;
pub mod internal;
mod json;
mod readback;
pub mod scalar;
pub mod schema;
mod tree;
pub mod write;

pub use cut::{Blank, Cut};
pub use de::Spanned;
pub use full::{MAXIMUM_ALIASED_NODES, MAXIMUM_DEPTH};
pub use json::from_json;
pub use readback::{Difference, ReadBack};
pub use tree::{NodeId, NodeRef, Tree, Value};

use crate::diag::{FileId, Sink};

/// Reads every document of `text` into a new tree.
///
/// Problems go to `sink`; the tree then holds the readable rest. A text in the restricted form of templates and of
/// the [writer](write) takes the fast reader, any other text the full one; for a text in this form both return the
/// same tree.
pub fn read(text: &str, file: FileId, sink: &mut Sink) -> Tree {
    let mut tree = Tree::new(file);
    read_into(text, &mut tree, sink);
    tree
}

/// Reads a text as [`read`] does, into a tree with memory for reuse.
pub fn read_into(text: &str, tree: &mut Tree, sink: &mut Sink) {
    tree.clear();
    if fast::read(text, tree).is_err() {
        tree.clear();
        full::read(text, tree, sink);
    }
}

/// Reads a text with the fast reader alone; none if the reader refuses it.
pub fn read_fast(text: &str, file: FileId) -> Option<Tree> {
    let mut tree = Tree::new(file);
    fast::read(text, &mut tree).ok().map(|()| tree)
}

/// Reads a text with the full parser alone, for comparisons with the fast reader.
pub fn read_full(text: &str, file: FileId, sink: &mut Sink) -> Tree {
    let mut tree = Tree::new(file);
    full::read(text, &mut tree, sink);
    tree
}
