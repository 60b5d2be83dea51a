//! The YAML layer: two readers of ours against each other and against a foreign one, the writer against all of
//! them, and input that means harm.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "helpers of tests fail loudly and print what they measured"
)]

mod corpus;
mod generate;
mod hostile;
mod readers;
mod readings;
mod strings;
mod tokens;

use bailiwick::diag::{Code, Files, Sink};
use bailiwick::yaml::{self, NodeRef, Tree};
use serde_json::Value as Json;

/// The documents of a text as data, and what is wrong with it as code, line and column.
struct Reading {
    documents: Vec<Json>,
    problems: Vec<(Code, usize, usize)>,
}

/// Reads a text the way the program does.
fn reading(text: &str) -> Reading {
    let files = Files::new();
    let file = files.add("input.yaml", text);
    let mut sink = Sink::new();
    let tree = yaml::read(text, file, &mut sink);
    assert_eq!(yaml::internal::first(), None, "{text}");
    let problems = sink
        .into_sorted(&files)
        .into_iter()
        .map(|diagnostic| {
            let origin = diagnostic.origin.expect("a problem of a text has a place");
            assert_eq!(origin.file, file, "the place lies in the text");
            assert!(origin.span.end as usize <= text.len(), "the place ends within the text: {diagnostic:?}");
            let at = files.get(file).line_column(origin.span.start);
            (diagnostic.code, at.line, at.column)
        })
        .collect();
    Reading { documents: data(&tree), problems }
}

/// Returns every document of a tree as data.
fn data(tree: &Tree) -> Vec<Json> {
    tree.documents().map(yaml::schema::to_json).collect()
}

/// Returns a text read by the full reader: none when it finds anything wrong.
fn full(text: &str) -> Option<Tree> {
    let mut sink = Sink::new();
    let tree = yaml::read_full(text, Default::default(), &mut sink);
    assert_eq!(yaml::internal::first(), None, "{text}");
    sink.is_empty().then_some(tree)
}

/// Returns the canonical text of a node.
fn written(root: NodeRef<'_>) -> String {
    let mut out = String::new();
    yaml::write::document(root, &mut out);
    out
}
