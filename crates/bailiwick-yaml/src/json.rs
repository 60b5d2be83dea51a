//! JSON values as trees, for the readers of YAML trees.

use crate::internal;
use serde_json::Value;

use super::tree::{NodeId, Tree};
use crate::diag::{FileId, Span};

/// Returns a tree with the value as its one document. It has no places.
pub fn from_json(value: &Value) -> Tree {
    let mut tree = Tree::new(FileId::default());
    let root = add(value, &mut tree);
    tree.add_document(root);
    tree
}

fn add(value: &Value, tree: &mut Tree) -> NodeId {
    let span = Span::default();
    match value {
        Value::Null => tree.add(super::NodeValue::Null, span),
        Value::Bool(truth) => tree.add_bool(*truth, span),
        Value::Number(number) => match number.as_i64() {
            Some(number) => tree.add_int(number, span),
            None => {
                let number = internal::value(number.as_f64(), "a number of JSON has no value");
                tree.add(super::NodeValue::Float(number), span)
            }
        },
        Value::String(text) => tree.add_string(text, span),
        Value::Array(items) => {
            let items: Vec<NodeId> = items.iter().map(|item| add(item, tree)).collect();
            let list = tree.add_seq(span);
            tree.set_items(list, &items);
            list
        }
        Value::Object(entries) => {
            let entries: Vec<(NodeId, NodeId)> =
                entries.iter().map(|(key, value)| (tree.add_string(key, span), add(value, tree))).collect();
            let map = tree.add_map(span);
            tree.set_entries(map, &entries);
            map
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::to_json;

    #[test]
    fn a_value_comes_back() {
        let value = serde_json::json!({"a": [1, -2.5, null, true, "x: y"], "b": {"": {}}, "c": []});
        let tree = from_json(&value);
        assert_eq!(tree.document(0).map(to_json), Some(value));
    }
}
