//! The table of plain tokens that was computed with kubectl's own decoder.

use bailiwick::yaml::scalar::{self, Quoting};
use bailiwick::yaml::{self, NodeRef, NodeValue};

use super::{full, reading, written};

const TABLE: &str = include_str!("plain-scalars.yaml");

/// Returns each token with how a manifest reads it. The table itself leaves some tokens bare; they are taken as written.
pub(super) fn table() -> Vec<(String, String)> {
    let tree = full(TABLE).expect("the table is YAML");
    let text = |node: NodeRef<'_>| {
        let span = node.span();
        node.as_str().unwrap_or_else(|| &TABLE[span.start as usize..span.end as usize]).to_owned()
    };
    let rows = tree.document(0).and_then(|root| root.get("scalars")).expect("a list");
    let row = |row: NodeRef<'_>| Some((text(row.get("token")?), text(row.get("read")?)));
    rows.items().map(|node| row(node).expect("a token and how it is read")).collect()
}

#[test]
fn plain_tokens_mean_what_kubectl_makes_of_them() {
    let rows = table();
    assert_eq!(rows.len(), 134);
    for (token, read) in rows {
        let text = format!("key: {token}\n");
        for tree in [full(&text), yaml::read_fast(&text, Default::default())] {
            let Some(tree) = tree else { continue };
            let root = tree.document(0).expect("a document");
            let value = root.get("key").expect("the key");
            let found = match value.value() {
                NodeValue::Null => "null",
                NodeValue::Bool(_) => "bool",
                NodeValue::Int(_) | NodeValue::Float(_) => "number",
                NodeValue::Str(_) if value.as_str() == Some(&token) => "string",
                // The table holds what arrives in a map of strings, where null and nothing are one.
                NodeValue::Str(_) if value.as_str() == Some("") => "null",
                NodeValue::Str(_) => "changed",
                NodeValue::Seq(_) => "array",
                NodeValue::Map(_) => "object",
            };
            assert_eq!(found, read, "{token:?}");
        }
        // A refused text is an error there too, or has a tag, and tags are refused.
        if full(&text).is_none() {
            assert!(read == "error" || token.starts_with('!'), "{token:?} reads as {read} there");
        }
    }
}

#[test]
fn no_token_that_reads_as_something_else_is_written_plain() {
    for (token, read) in table() {
        if read != "string" {
            assert_ne!(scalar::quoting(&token), Quoting::Plain, "{token:?}");
        }
        let text = format!("- {}", serde_json::to_string(&token).expect("JSON"));
        let tree = full(&text).expect("a list");
        let out = written(tree.document(0).expect("a document"));
        assert_eq!(reading(&out).documents[0][0], token.as_str(), "{out}");
    }
}
