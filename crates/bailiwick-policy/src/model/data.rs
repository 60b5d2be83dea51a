//! Plain data on its way into a template.

use std::collections::HashMap;
use std::sync::Arc;

use bailiwick_yaml::{self as yaml, NodeRef, NodeValue};

use super::texts::shared_text;

/// A value for a template. Its parts are reference-counted, so a copy for each tenant needs little memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// Values in order.
    List(Arc<[Data]>),
    /// A map, in the order it is written.
    Map(Arc<[(Arc<str>, Data)]>),
}

impl Data {
    /// Makes a string value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Data::Str(text.into())
    }

    /// Builds a map from its entries.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Data)>) -> Self {
        Data::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Converts a YAML node.
    pub fn from_node(node: NodeRef<'_>) -> Self {
        match node.value() {
            NodeValue::Null => Data::Null,
            NodeValue::Bool(truth) => Data::Bool(truth),
            NodeValue::Int(number) => Data::Int(number),
            NodeValue::Float(number) => Data::Float(number),
            NodeValue::Str(_) => Data::Str(shared_text(node.as_str().unwrap_or_default())),
            NodeValue::Seq(_) => Data::List(node.items().map(Data::from_node).collect()),
            NodeValue::Map(_) => {
                let entry = |(key, value): (NodeRef<'_>, NodeRef<'_>)| {
                    (shared_text(key.as_str().unwrap_or_default()), Data::from_node(value))
                };
                Data::map(node.entries().map(entry))
            }
        }
    }

    /// Converts a JSON value.
    pub fn from_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Data::Null,
            serde_json::Value::Bool(truth) => Data::Bool(*truth),
            serde_json::Value::Number(number) => {
                number.as_i64().map_or_else(|| Data::Float(number.as_f64().unwrap_or_default()), Data::Int)
            }
            serde_json::Value::String(text) => Data::text(text.as_str()),
            serde_json::Value::Array(items) => Data::List(items.iter().map(Data::from_json).collect()),
            serde_json::Value::Object(map) => {
                Data::map(map.iter().map(|(key, value)| (key.as_str(), Data::from_json(value))))
            }
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Data::Null => serde_json::Value::Null,
            Data::Bool(truth) => (*truth).into(),
            Data::Int(number) => (*number).into(),
            Data::Float(number) => (*number).into(),
            Data::Str(text) => (&**text).into(),
            Data::List(items) => items.iter().map(Data::to_json).collect(),
            Data::Map(entries) => {
                let fields = entries.iter().map(|(key, value)| ((**key).to_owned(), value.to_json()));
                fields.collect::<serde_json::Map<_, _>>().into()
            }
        }
    }

    /// Returns the value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Data> {
        match self {
            Data::Map(entries) => entries.iter().find(|(found, _)| &**found == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the entries of a map with string values, such as labels.
    pub fn string_map(&self) -> super::LabelMap {
        let Data::Map(entries) = self else { return super::LabelMap::new() };
        let strings = entries.iter().filter_map(|(key, value)| match value {
            Data::Str(text) => Some((Arc::clone(key), Arc::clone(text))),
            _ => None,
        });
        strings.collect()
    }

    /// Returns the text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Data::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Copies the data without shared parts, see [`super::TenancyPolicy::detached`].
    #[must_use]
    pub fn detached(&self) -> Data {
        match self {
            Data::Str(text) => Data::text(&**text),
            Data::List(items) => Data::List(items.iter().map(Data::detached).collect()),
            Data::Map(entries) => Data::map(entries.iter().map(|(key, value)| (&**key, value.detached()))),
            scalar => scalar.clone(),
        }
    }

    /// Whether the value is null, an empty list or an empty map.
    pub fn is_empty(&self) -> bool {
        match self {
            Data::Null => true,
            Data::List(items) => items.is_empty(),
            Data::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// Copies the data without the value at a path of keys.
    #[must_use]
    pub fn without(&self, path: &[&str]) -> Data {
        let (Data::Map(entries), Some((first, rest))) = (self, path.split_first()) else { return self.clone() };
        let kept = entries.iter().filter(|(key, _)| !rest.is_empty() || **key != **first);
        let parts = kept.map(|(key, value)| {
            let is_on_path = **key == **first;
            (Arc::clone(key), if is_on_path { value.without(rest) } else { value.clone() })
        });
        Data::Map(parts.collect())
    }

    /// Merges another map over this one; new keys come last.
    #[must_use]
    pub fn merged_with(&self, over: &Data) -> Data {
        let (Data::Map(base), Data::Map(over)) = (self, over) else {
            return if over.is_empty() { self.clone() } else { over.clone() };
        };
        if over.is_empty() {
            return self.clone();
        }
        let mut entries: Vec<(Arc<str>, Data)> = base.to_vec();
        let places: HashMap<&str, usize> = base.iter().enumerate().map(|(place, (key, _))| (&**key, place)).collect();
        for (key, value) in over.iter() {
            match places.get(&**key).and_then(|place| entries.get_mut(*place)) {
                Some((_, place)) => *place = value.clone(),
                None => entries.push((Arc::clone(key), value.clone())),
            }
        }
        Data::Map(entries.into())
    }

    /// Appends the value as JSON on one line. JSON is YAML as well, and its quotes prevent an injection into a
    /// template.
    pub fn write_json(&self, out: &mut String) {
        self.write_json_by(&mut |nested, out| nested.write_json(out), out);
    }

    /// Works as [`Data::write_json`], with `part` to write the items of a list and the values of a map.
    pub fn write_json_by(&self, part: &mut dyn FnMut(&Data, &mut String), out: &mut String) {
        match self {
            Data::Null => out.push_str("null"),
            Data::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Data::Int(number) => out.push_str(&number.to_string()),
            Data::Float(number) => out.push_str(&yaml::write::json_float(*number)),
            Data::Str(text) => yaml::write::double_quoted(text, out),
            Data::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    part(item, out);
                }
                out.push(']');
            }
            Data::Map(entries) => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    yaml::write::double_quoted(key, out);
                    out.push_str(": ");
                    part(value, out);
                }
                out.push('}');
            }
        }
    }
}
