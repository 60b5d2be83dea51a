//! Our data as minijinja sees it, and back as text.

use std::cell::RefCell;
use std::sync::Arc;

use hashbrown::HashMap;
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
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// How many lists and maps are remembered, and up to how many bytes of text in all.
const MOST_KNOWN: usize = 1 << 14;
const MOST_BYTES: usize = 1 << 21;

/// The texts of lists and maps that are the same in one object after the other: what a policy says of all tenants. They
/// are known by their addresses, which nothing else gets as long as they are held here.
#[derive(Default)]
struct Known {
    /// None for what was seen once, or is too long.
    texts: HashMap<usize, Option<(Data, Box<str>)>>,
    bytes: usize,
}

impl Known {
    /// Appends a list or a map as JSON. One that more than `holders` hold is somebody else's too, and may come again.
    fn write(&mut self, data: &Data, holders: usize, out: &mut String) {
        // Empty ones of both kinds may share an address.
        let (address, held) = match data {
            _ if data.is_empty() => (0, 0),
            Data::List(items) => (Arc::as_ptr(items).addr(), Arc::strong_count(items)),
            Data::Map(entries) => (Arc::as_ptr(entries).addr(), Arc::strong_count(entries)),
            _ => (0, 0),
        };
        if held <= holders {
            return data.write_json_by(&mut |nested, out| self.write(nested, 1, out), out);
        }
        let seen = self.texts.get(&address);
        if let Some(Some((_, text))) = seen {
            return out.push_str(text);
        }
        let (is_new, start) = (seen.is_none(), out.len());
        data.write_json_by(&mut |nested, out| self.write(nested, 1, out), out);
        let text = out.get(start..).filter(|text| !is_new && text.len() <= MOST_BYTES);
        let bytes = text.map_or(0, str::len);
        if self.texts.len() >= MOST_KNOWN || self.bytes + bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.texts.insert(address, text.map(|text| (data.clone(), text.into())));
    }
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
    let map = value.downcast_object_ref::<MapObject>().map(|ours| Data::Map(Arc::clone(&ours.0)));
    let ours = || value.downcast_object_ref::<ListObject>().map(|ours| Data::List(Arc::clone(&ours.0)));
    if let Some(ours) = map.or_else(ours) {
        // The object's own data, the engine and this function hold it.
        KNOWN.with_borrow_mut(|known| known.write(&ours, 3, text));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_written_as_what_is_not() {
        let mut known = Known::default();
        let shared = Data::List([Data::text("a \"b\""), Data::Map([("c".into(), Data::Int(1))].into())].into());
        for round in 0..5 {
            let own = Data::map([("own", Data::Int(round)), ("shared", shared.clone())]);
            let mut text = String::new();
            known.write(&own, 1, &mut text);
            assert_eq!(text, format!("{{\"own\": {round}, \"shared\": [\"a \\\"b\\\"\", {{\"c\": 1}}]}}"));
        }
        assert_eq!(known.texts.values().flatten().count(), 1, "the shared list alone");
    }

    #[test]
    fn an_address_that_is_used_again_tells_nothing() {
        let mut known = Known::default();
        for round in 0..1000 {
            // Held twice, so that it looks like what a policy says; then it is gone, and its place is free.
            let data = Data::List([Data::Int(round), Data::Int(-round)].into());
            let other = data.clone();
            let mut text = String::new();
            known.write(&other, 1, &mut text);
            assert_eq!(text, format!("[{round}, {}]", -round));
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let mut known = Known::default();
        let long = "x".repeat(MOST_BYTES / 10);
        let mut lists: Vec<Data> = (0..50).map(|_| Data::List([Data::text(&*long)].into())).collect();
        lists.push(Data::List([Data::text("x".repeat(MOST_BYTES))].into()));
        for list in lists.iter().chain(&lists) {
            known.write(&list.clone(), 1, &mut String::new());
            let bytes: usize = known.texts.values().flatten().map(|(_, text)| text.len()).sum();
            assert!(bytes == known.bytes && bytes <= MOST_BYTES, "{bytes}");
        }
    }
}
