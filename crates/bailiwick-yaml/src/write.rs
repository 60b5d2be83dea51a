//! The canonical writer: one tree, one text.
//!
//! Two spaces a level, sequences at their key's own indent, entries in the order of the tree, quotes only for a text
//! with another meaning in some reader ([`super::scalar::quoting`]).

use crate::internal;
use std::fmt::Write as _;

use super::scalar::{Quoting, quoting};
use super::tree::{NodeRef, NodeValue};
use crate::diag::foreign;

/// The line between two documents.
pub const SEPARATOR: &str = "---\n";

/// Appends a document, ending with a line feed.
pub fn document(root: NodeRef<'_>, out: &mut String) {
    match root.value() {
        NodeValue::Map(_) if !root.is_empty() => map(root, 0, false, out),
        NodeValue::Seq(_) if !root.is_empty() => sequence(root, 0, out),
        _ => {
            scalar(root, out);
            out.push('\n');
        }
    }
}

/// How many bytes a key has on the line of its value. Readers look at most 1,024 characters ahead for the colon; a longer
/// key has a line of its own, behind a question mark.
const LONGEST_SIMPLE_KEY: usize = 1000;

/// Writes entries at `indent`; with `behind_dash` the first key is on the line of its dash.
fn map(node: NodeRef<'_>, indent: usize, behind_dash: bool, out: &mut String) {
    for (index, (key, value)) in node.entries().enumerate() {
        if index > 0 || !behind_dash {
            spaces(indent, out);
        }
        let start = out.len();
        string(key.as_key(), out);
        if out.len() - start > LONGEST_SIMPLE_KEY {
            out.insert_str(start, "? ");
            out.push('\n');
            spaces(indent, out);
        }
        out.push(':');
        match value.value() {
            NodeValue::Map(_) if !value.is_empty() => {
                out.push('\n');
                map(value, indent + 2, false, out);
            }
            NodeValue::Seq(_) if !value.is_empty() => {
                out.push('\n');
                sequence(value, indent, out);
            }
            _ => {
                out.push(' ');
                scalar(value, out);
                out.push('\n');
            }
        }
    }
}

fn sequence(node: NodeRef<'_>, indent: usize, out: &mut String) {
    for item in node.items() {
        spaces(indent, out);
        out.push_str("- ");
        match item.value() {
            NodeValue::Map(_) if !item.is_empty() => map(item, indent + 2, true, out),
            NodeValue::Seq(_) if !item.is_empty() => nested_sequence(item, indent + 2, out),
            _ => {
                scalar(item, out);
                out.push('\n');
            }
        }
    }
}

/// Writes a sequence as an item: its first dash is behind the outer one.
fn nested_sequence(node: NodeRef<'_>, indent: usize, out: &mut String) {
    let start = out.len();
    sequence(node, indent, out);
    out.replace_range(start..start + indent, "");
}

/// Appends a scalar, or an empty collection.
pub fn scalar(node: NodeRef<'_>, out: &mut String) {
    match node.value() {
        NodeValue::Null => out.push_str("null"),
        NodeValue::Bool(truth) => out.push_str(if truth { "true" } else { "false" }),
        NodeValue::Int(number) => {
            let _ = write!(out, "{number}");
        }
        NodeValue::Float(number) => out.push_str(&float(number)),
        NodeValue::Str(text) => string(node.tree().text(text), out),
        NodeValue::Seq(_) => out.push_str("[]"),
        NodeValue::Map(_) => out.push_str("{}"),
    }
}

/// Returns a number in a form that is a number for every reader.
fn float(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 { format!("{number:.0}") } else { format!("{number}") }
}

/// Returns a number as JSON writes it: `1.0`, `1e16`. A number without a form in JSON is `null`.
pub fn json_float(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// Appends a string with the quotes it needs.
pub fn string(text: &str, out: &mut String) {
    match quoting(text) {
        Quoting::Plain => out.push_str(text),
        Quoting::Single => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        Quoting::Double => double_quoted(text, out),
    }
}

/// Appends a string between double quotes, escaped as in JSON, and so a YAML scalar as well.
pub fn double_quoted(text: &str, out: &mut String) {
    out.push('"');
    let needs_escape =
        text.bytes().fold(false, |odd, byte| odd | !(0x20..=0x7e).contains(&byte) | (byte == b'"') | (byte == b'\\'));
    if !needs_escape && !foreign::has_old_command(text) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for (offset, character) in text.char_indices() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Controls, line breaks, and invisible characters. JSON has no escape of one part for the planes above.
            '\0'..='\u{ffff}' if foreign::is_hidden(character) => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            '#' if foreign::is_old_command(text, offset) => out.push_str("\\u0023"),
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn spaces(count: usize, out: &mut String) {
    const BLANK: &str = "                                                                ";
    let mut left = count;
    while left > 0 {
        let part = left.min(BLANK.len());
        out.push_str(internal::slice(BLANK, ..part));
        left -= part;
    }
}

#[cfg(test)]
mod tests {
    use crate::diag::{FileId, Sink};

    fn canonical(text: &str) -> String {
        let mut sink = Sink::new();
        let tree = crate::read(text, FileId::default(), &mut sink);
        assert!(sink.is_empty(), "{sink:?}");
        let mut out = String::new();
        for root in tree.documents() {
            super::document(root, &mut out);
        }
        out
    }

    #[test]
    fn writes_sequences_at_the_indent_of_their_key() {
        assert_eq!(
            canonical("a:\n    - b: 1\n      c: [x, [u, z]]\n    - {}\n"),
            "a:\n- b: 1\n  c:\n  - x\n  - - u\n    - z\n- {}\n"
        );
    }

    #[test]
    fn a_long_key_has_a_line_of_its_own() {
        let (short, long) = ("k".repeat(1000), "k".repeat(1001));
        assert_eq!(canonical(&format!("{short}: x\n")), format!("{short}: x\n"));
        let values = [" x\n", "\n  b: x\n", "\n- x\n- b: x\n", " {}\n"];
        for value in values {
            let text = format!("- ? {long}\n  :{}", value.replace("\n-", "\n  -").replace("\n  b", "\n    b"));
            assert_eq!(canonical(&text), text);
            let text = format!("a: z\n? {long}\n:{value}c: z\n");
            assert_eq!(canonical(&text), text);
        }
    }

    #[test]
    fn is_a_fixed_point_of_itself() {
        let once = canonical("k: 'y'\nl: \"a\\nb\"\nm: '*'\np: [\"\", 1.5, 1e3, null, \"é\"]\n");
        assert_eq!(canonical(&once), once);
    }
}
