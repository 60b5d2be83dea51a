//! Our data as minijinja sees it, and back as text.

use std::cell::RefCell;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind, Output};

use crate::model::Data;
use crate::yaml;

type Entries = Arc<[(Arc<str>, Data)]>;

/// A map of ours.
#[derive(Debug)]
struct MapObject(Entries);

/// A list of ours.
#[derive(Debug)]
struct ListObject(Arc<[Data]>);

/// A map as a template value.
pub(super) fn map(entries: Entries) -> Value {
    Value::from_object(MapObject(entries))
}

fn value(data: &Data) -> Value {
    match data {
        Data::Null => Value::from(()),
        Data::Bool(truth) => Value::from(*truth),
        Data::Int(number) => Value::from(*number),
        Data::Float(number) => Value::from(*number),
        Data::Str(text) => Value::from(Arc::clone(text)),
        Data::List(items) => Value::from_object(ListObject(Arc::clone(items))),
        Data::Map(entries) => map(Arc::clone(entries)),
    }
}

impl Object for MapObject {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.iter().find(|(name, _)| **name == *key).map(|(_, data)| value(data))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(name, _)| Value::from(Arc::clone(name))).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}

impl Object for ListObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).map(value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}

thread_local! {
    /// What is printed next: nearly every value is short, and there are many.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Writes a value as JSON on one line.
pub(super) fn write(out: &mut Output<'_>, value: &Value) -> Result<(), Error> {
    let mut text = TEXT.take();
    text.clear();
    let written = json(value, &mut text, 0).and_then(|()| {
        out.write_str(&text).map_err(|_| Error::new(ErrorKind::WriteFailure, "the object cannot be held"))
    });
    TEXT.set(text);
    written
}

fn json(value: &Value, text: &mut String, depth: usize) -> Result<(), Error> {
    if let Some(ours) = value.downcast_object_ref::<MapObject>() {
        Data::Map(Arc::clone(&ours.0)).write_json(text);
        return Ok(());
    }
    if let Some(ours) = value.downcast_object_ref::<ListObject>() {
        Data::List(Arc::clone(&ours.0)).write_json(text);
        return Ok(());
    }
    if depth > yaml::MAXIMUM_DEPTH {
        return Err(Error::new(ErrorKind::InvalidOperation, "this value nests too deeply"));
    }
    match value.kind() {
        ValueKind::None => text.push_str("null"),
        ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => {
            let number = value.to_string();
            if number.contains("inf") || number.contains("nan") || number.contains("NaN") {
                return Err(Error::new(ErrorKind::InvalidOperation, "a number that JSON cannot hold"));
            }
            text.push_str(&number);
        }
        ValueKind::String => yaml::write::double_quoted(value.as_str().unwrap_or_default(), text),
        ValueKind::Seq | ValueKind::Iterable => {
            text.push('[');
            for (index, item) in value.try_iter()?.enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                json(&item, text, depth + 1)?;
            }
            text.push(']');
        }
        ValueKind::Map => {
            text.push('{');
            for (index, key) in value.try_iter()?.enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                let Some(name) = key.as_str() else {
                    return Err(Error::new(ErrorKind::InvalidOperation, "a map's key is not a string"));
                };
                yaml::write::double_quoted(name, text);
                text.push_str(": ");
                json(&value.get_item(&key)?, text, depth + 1)?;
            }
            text.push('}');
        }
        ValueKind::Undefined => return Err(Error::new(ErrorKind::UndefinedError, "an undefined value")),
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "this value cannot be written as YAML")),
    }
    Ok(())
}
