//! The text of policy documents: blocks outside, and short lists and maps on one line.

use bailiwick_yaml::scalar::{Quoting, quoting};
use bailiwick_yaml::write;
use serde_json::Value;

/// The longest line with a list or a map on it, in characters.
const LONGEST_LINE: usize = 120;

/// Appends a policy document.
pub(crate) fn document(kind: &str, name: &str, spec: &Value, out: &mut String) {
    out.push_str("apiVersion: bailiwick.dev/v1alpha1\nkind: ");
    out.push_str(kind);
    out.push_str("\nmetadata: {name: ");
    flow_text(name, out);
    out.push_str("}\n");
    entry("spec", spec, 0, out);
}

/// Appends the lines of a map or a list; each line begins with `indent` blanks.
fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                spaces(indent, out);
                entry(key, value, indent, out);
            }
        }
        Value::Array(items) => items.iter().for_each(|found| item(found, indent, out)),
        other => {
            spaces(indent, out);
            scalar(other, out);
            out.push('\n');
        }
    }
}

/// Appends a key with its value behind an indent.
fn entry(key: &str, value: &Value, indent: usize, out: &mut String) {
    write::string(key, out);
    out.push(':');
    match one_line(value, indent + key.len() + 2) {
        Some(line) => {
            out.push(' ');
            out.push_str(&line);
            out.push('\n');
        }
        None => {
            out.push('\n');
            block(value, if value.is_array() { indent } else { indent + 2 }, out);
        }
    }
}

/// Appends an item of a list.
fn item(value: &Value, indent: usize, out: &mut String) {
    spaces(indent, out);
    out.push_str("- ");
    if let Some(line) = one_line(value, indent + 2) {
        out.push_str(&line);
        out.push('\n');
        return;
    }
    let mut lines = String::new();
    block(value, indent + 2, &mut lines);
    out.push_str(lines.trim_start_matches(' '));
}

/// Returns a value on one line; none for a value that needs several lines. `column` is the start of the value.
fn one_line(value: &Value, column: usize) -> Option<String> {
    if !value.is_array() && !value.is_object() {
        let mut line = String::new();
        scalar(value, &mut line);
        return Some(line);
    }
    let mut line = String::new();
    flow(value, &mut line);
    (!has_deep_list(value) && column + line.chars().count() <= LONGEST_LINE).then_some(line)
}

/// Whether a list in a value has several maps with lists or maps inside: each of them has a line of its own.
fn has_deep_list(value: &Value) -> bool {
    let is_deep = |value: &Value| value.is_array() || value.is_object();
    let is_deep_map = |item: &Value| item.as_object().is_some_and(|entries| entries.values().any(is_deep));
    match value {
        Value::Array(items) => items.len() > 1 && items.iter().any(is_deep_map) || items.iter().any(has_deep_list),
        Value::Object(entries) => entries.values().any(has_deep_list),
        _ => false,
    }
}

/// Appends a value in flow style.
fn flow(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                flow_text(key, out);
                out.push_str(": ");
                flow(value, out);
            }
            out.push('}');
        }
        Value::String(text) => flow_text(text, out),
        other => scalar(other, out),
    }
}

/// Appends a text in flow style, where commas and brackets need quotes.
fn flow_text(text: &str, out: &mut String) {
    let is_simple = |character: char| character.is_ascii_alphanumeric() || "_./@+=*-: ".contains(character);
    let is_plain = quoting(text) == Quoting::Plain && text.chars().all(is_simple) && !text.ends_with(':');
    if is_plain {
        out.push_str(text);
    } else {
        write::double_quoted(text, out);
    }
}

fn scalar(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write::string(text, out),
        other => out.push_str(&other.to_string()),
    }
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

#[cfg(test)]
mod tests {
    use bailiwick_yaml::diag::{FileId, Sink};
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_are_on_one_line() {
        let spec = json!({
            "to": {"groups": ["a", "system:b", "x, y", "{{c}}", "*", "k: v", "z:"]},
            "rules": [{"apiGroups": [""], "verbs": ["get"]}, {"verbs": vec!["a-rather-long-verb"; 8]}],
            "hard": {"pods": "10"},
            "deep": {"list": [{"a": [1, true, null]}]},
            "maps": [{"a": "b"}, {"a": {"b": "c"}}],
            "text": "on",
            "empty": {"list": [], "map": {}},
        });
        let mut out = String::new();
        document("Grant", "a", &spec, &mut out);
        assert!(out.contains("  to: {groups: [a, system:b, \"x, y\", \"{{c}}\", \"*\", \"k: v\", \"z:\"]}\n"), "{out}");
        assert!(out.contains("  rules:\n  - {apiGroups: [\"\"], verbs: [get]}\n  - verbs:\n    - a-rather"), "{out}");
        assert!(out.contains("  maps:\n  - {a: b}\n  - {a: {b: c}}\n"), "{out}");
        let mut sink = Sink::new();
        let tree = bailiwick_yaml::read(&out, FileId::default(), &mut sink);
        assert!(sink.is_empty(), "{sink:?}\n{out}");
        let read = tree.document(0).and_then(|root| root.get("spec")).map(bailiwick_yaml::schema::to_json);
        assert_eq!(read, Some(spec));
    }
}
