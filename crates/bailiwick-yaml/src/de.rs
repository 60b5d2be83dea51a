//! Typed reading: a serde deserializer over the tree, and [`Spanned`] values with their places.
//!
//! Nothing is converted: a number is not a string and `yes` is a boolean, as in Kubernetes. The deserializer stops at
//! the first mismatch; [`super::schema`] then finds all of them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::tree::{Entries, Items, NodeRef, NodeValue};
use crate::diag::{FileId, Origin, Span};

/// Reads a value from a node.
///
/// # Errors
/// The node has another shape than `T`.
pub fn from_node<'t, T: Deserialize<'t>>(node: NodeRef<'t>) -> Result<T, DeError> {
    T::deserialize(Node(node))
}

/// The first mismatch of a node with its type.
#[derive(Debug, Clone)]
pub struct DeError {
    /// The mismatch, in serde's words.
    pub message: String,
    /// The place, as near as possible.
    pub origin: Option<Origin>,
}

impl DeError {
    fn at(mut self, node: NodeRef<'_>) -> Self {
        self.origin.get_or_insert(node.origin());
        self
    }
}

impl fmt::Display for DeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for DeError {}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), origin: None }
    }
}

/// A value with the place it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value without its place.
    pub value: T,
    /// The place of the value.
    pub origin: Origin,
}

impl<T> Spanned<T> {
    /// Returns a value with its place.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// The struct name by which [`Spanned`] requests a place from the deserializer.
const SPANNED: &str = "$bailiwick::Spanned";
const SPANNED_FIELDS: &[&str] = &["file", "start", "end", "value"];

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpannedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
            type Value = Spanned<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value with its place")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Spanned<T>, A::Error> {
                let missing = || de::Error::custom("a place is incomplete");
                let file: FileId = parts.next_element::<Place>()?.ok_or_else(missing)?.0;
                let start: u32 = parts.next_element()?.ok_or_else(missing)?;
                let end: u32 = parts.next_element()?.ok_or_else(missing)?;
                let value: T = parts.next_element()?.ok_or_else(missing)?;
                Ok(Spanned { value, origin: Origin { file, span: Span { start, end } } })
            }
        }

        deserializer.deserialize_struct(SPANNED, SPANNED_FIELDS, SpannedVisitor(PhantomData))
    }
}

/// A file id on its way through serde, as its raw number.
struct Place(FileId);

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|number| Place(FileId::from_number(number)))
    }
}

struct SpannedParts<'t> {
    node: NodeRef<'t>,
    part: usize,
}

impl<'de> SeqAccess<'de> for SpannedParts<'de> {
    type Error = DeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DeError> {
        self.part += 1;
        let origin = self.node.origin();
        match self.part {
            1 => seed.deserialize(origin.file.number().into_deserializer()).map(Some),
            2 => seed.deserialize(origin.span.start.into_deserializer()).map(Some),
            3 => seed.deserialize(origin.span.end.into_deserializer()).map(Some),
            4 => seed.deserialize(Node(self.node)).map(Some),
            _ => Ok(None),
        }
    }
}

/// Returns an expectation of serde in the words of a YAML file: serde names types of Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a map",
        other => other,
    }
}

/// A node as a deserializer.
#[derive(Clone, Copy)]
struct Node<'t>(NodeRef<'t>);

impl<'t> Node<'t> {
    fn mismatch(self, expected: &dyn de::Expected) -> DeError {
        let message = format!("expected {}, found {}", in_words(&expected.to_string()), self.0.describe());
        DeError { message, origin: Some(self.0.origin()) }
    }

    fn any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        let node = self.0;
        match node.value() {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(truth) => visitor.visit_bool(truth),
            NodeValue::Int(number) => visitor.visit_i64(number),
            NodeValue::Float(number) => visitor.visit_f64(number),
            NodeValue::Str(text) => visitor.visit_borrowed_str(node.tree().text(text)),
            NodeValue::Seq(_) => visitor.visit_seq(ItemsAccess(node.items())),
            NodeValue::Map(_) => visitor.visit_map(EntriesAccess { entries: node.entries(), value: None }),
        }
        .map_err(|error: DeError| error.at(node))
    }
}

macro_rules! only {
    ($($method:ident => $pattern:pat),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
            if matches!(self.0.value(), $pattern) { self.any(visitor) } else { Err(self.mismatch(&visitor)) }
        })*
    };
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = DeError;

    only! {
        deserialize_bool => NodeValue::Bool(_),
        deserialize_i8 => NodeValue::Int(_),
        deserialize_i16 => NodeValue::Int(_),
        deserialize_i32 => NodeValue::Int(_),
        deserialize_i64 => NodeValue::Int(_),
        deserialize_u8 => NodeValue::Int(_),
        deserialize_u16 => NodeValue::Int(_),
        deserialize_u32 => NodeValue::Int(_),
        deserialize_u64 => NodeValue::Int(_),
        deserialize_f32 => NodeValue::Int(_) | NodeValue::Float(_),
        deserialize_f64 => NodeValue::Int(_) | NodeValue::Float(_),
        deserialize_char => NodeValue::Str(_),
        deserialize_str => NodeValue::Str(_),
        deserialize_string => NodeValue::Str(_),
        deserialize_bytes => NodeValue::Str(_),
        deserialize_byte_buf => NodeValue::Str(_),
        deserialize_identifier => NodeValue::Str(_),
        deserialize_unit => NodeValue::Null,
        deserialize_seq => NodeValue::Seq(_),
        deserialize_map => NodeValue::Map(_),
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self).map_err(|error: DeError| error.at(self.0))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        if name == SPANNED {
            return visitor.visit_seq(SpannedParts { node: self.0, part: 0 });
        }
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self.0.as_str() {
            Some(variant) => visitor.visit_enum(variant.into_deserializer()).map_err(|error: DeError| error.at(self.0)),
            None => Err(self.mismatch(&visitor)),
        }
    }
}

struct ItemsAccess<'t>(Items<'t>);

impl<'de> SeqAccess<'de> for ItemsAccess<'de> {
    type Error = DeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DeError> {
        self.0.next().map(|node| seed.deserialize(Node(node)).map_err(|error| error.at(node))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint().1
    }
}

struct EntriesAccess<'t> {
    entries: Entries<'t>,
    value: Option<NodeRef<'t>>,
}

impl<'de> MapAccess<'de> for EntriesAccess<'de> {
    type Error = DeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DeError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(Node(key)).map(Some).map_err(|error| error.at(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DeError> {
        let node = self.value.take().ok_or_else(|| de::Error::custom("a value without its key"))?;
        seed.deserialize(Node(node)).map_err(|error| error.at(node))
    }
}
