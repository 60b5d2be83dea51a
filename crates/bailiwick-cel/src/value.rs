//! Values: JSON values, and the values of expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Fail;

/// A value. Copies are cheap.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number without sign.
    UInt(u64),
    /// Any other number.
    Double(f64),
    /// A text.
    String(Arc<str>),
    /// A sequence of bytes.
    Bytes(Arc<[u8]>),
    /// Values in order.
    List(Arc<Vec<Value>>),
    /// Entries by key.
    Map(Arc<Map>),
    /// A value that may be absent.
    Optional(Option<Arc<Value>>),
    /// A type, by its name.
    Type(&'static str),
}

/// A constant of an expression.
pub(super) type Literal = Value;

/// The entries of a map, each with its key as a value.
pub type Map = BTreeMap<Key, (Value, Value)>;

/// The key of a map. A number is the same key in each of its types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Number(i128),
    /// A text.
    String(Arc<str>),
}

impl Key {
    /// Returns the key of a value, if the value can be a key.
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Int(number) => Self::Number(i128::from(*number)),
            Value::UInt(number) => Self::Number(i128::from(*number)),
            Value::Double(number) => Self::Number(whole(*number)?),
            Value::String(text) => Self::String(Arc::clone(text)),
            _ => return None,
        })
    }
}

/// Returns a double without a fraction as a whole number.
pub(super) fn whole(number: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    (number.fract() == 0.0 && number.abs() < 1e19).then_some(number as i128)
}

impl Value {
    /// Returns a text as a value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Returns a list as a value.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }

    /// Converts a JSON value. A number without fraction is an int if it fits, any other number a double.
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => {
                number.as_i64().map_or_else(|| Self::Double(number.as_f64().unwrap_or_default()), Self::Int)
            }
            Json::String(text) => Self::text(text.as_str()),
            Json::Array(items) => Self::list(items.iter().map(Self::from_json).collect()),
            Json::Object(entries) => Self::of_entries(entries.iter().map(|(key, value)| (key.as_str(), value.into()))),
        }
    }

    /// Returns a map with texts as keys.
    pub fn of_entries<'k>(entries: impl Iterator<Item = (&'k str, Value)>) -> Self {
        let entries = entries.map(|(key, value)| {
            let key: Arc<str> = key.into();
            (Key::String(Arc::clone(&key)), (Value::String(key), value))
        });
        Self::Map(Arc::new(entries.collect()))
    }

    /// Returns the value as an optional with a value.
    pub(super) fn some(self) -> Self {
        Self::Optional(Some(Arc::new(self)))
    }

    /// Returns the name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
        }
    }

    /// Whether the value is zero: null, false, 0, or empty.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) | Self::Int(0) | Self::UInt(0) | Self::Optional(None) => true,
            Self::Double(number) => *number == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Bool(true) | Self::Int(_) | Self::UInt(_) | Self::Optional(Some(_)) | Self::Type(_) => false,
        }
    }

    /// Returns the cost of reading the value: its values with all below, and one for every ten characters.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::String(text) => 1 + length(text.len()) / 10,
            Self::Bytes(bytes) => 1 + length(bytes.len()) / 10,
            Self::List(items) => items.iter().fold(1, |sum, item| sum + item.weight()),
            Self::Map(entries) => entries.values().fold(1, |sum, (_, value)| sum + 2 + value.weight()),
            Self::Optional(Some(inner)) => 1 + inner.weight(),
            _ => 1,
        }
    }

    /// Returns the value at a key or index, if there is one.
    ///
    /// # Errors
    /// The operand is a list and the key is not an index.
    pub(super) fn at(&self, index: &Value) -> Result<Option<Value>, Fail> {
        match self {
            Self::Map(entries) => {
                Ok(Key::from_value(index).and_then(|key| entries.get(&key)).map(|(_, value)| value.clone()))
            }
            Self::List(items) => {
                let position = index_of(index)?;
                Ok(usize::try_from(position).ok().and_then(|position| items.get(position)).cloned())
            }
            // Any other value has no members.
            _ => Ok(None),
        }
    }

    /// Returns the value at a key or index.
    ///
    /// # Errors
    /// There is no such value.
    pub(super) fn must_have(&self, index: &Value) -> Result<Value, Fail> {
        let kind = if matches!(self, Self::List(_)) { "index out of bounds" } else { "no such key" };
        self.at(index)?.ok_or_else(|| Fail::error(format!("{kind}: {}", index.printed())))
    }

    /// Returns the value as error messages print it.
    pub(super) fn printed(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(truth) => truth.to_string(),
            Self::Int(number) => number.to_string(),
            Self::UInt(number) => number.to_string(),
            Self::Double(number) => number.to_string(),
            Self::String(text) => text.to_string(),
            other => other.type_name().to_owned(),
        }
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        Self::from_json(json)
    }
}

/// Returns the number of an index.
pub(super) fn index_of(index: &Value) -> Result<i64, Fail> {
    let unsupported = || Fail::error(format!("unsupported index value {} in list", index.printed()));
    match index {
        Value::Int(number) => Ok(*number),
        Value::UInt(number) => i64::try_from(*number).map_err(|_| unsupported()),
        Value::Double(number) => whole(*number).and_then(|number| i64::try_from(number).ok()).ok_or_else(unsupported),
        other => Err(Fail::error(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

/// Whether two values are equal. Numbers are compared by value; values of different types are never equal.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            let has = |(key, (_, value)): (&Key, &(Value, Value))| {
                right.get(key).is_some_and(|(_, other)| equal(value, other))
            };
            left.len() == right.len() && left.iter().all(has)
        }
        (Value::Optional(Some(left)), Value::Optional(Some(right))) => equal(left, right),
        (Value::Int(_) | Value::UInt(_) | Value::Double(_), Value::Int(_) | Value::UInt(_) | Value::Double(_)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (left, right) => left == right,
    }
}

/// Compares two numbers exactly; none if one of them is not a number.
fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    let as_whole = |value: &Value| match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    match (left, right) {
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Double(left), right) => against(*left, as_whole(right)?),
        (left, Value::Double(right)) => against(*right, as_whole(left)?).map(Ordering::reverse),
        (left, right) => Some(as_whole(left)?.cmp(&as_whole(right)?)),
    }
}

/// Compares a double with a whole number. cel-go compares them as doubles within the range of whole numbers.
fn against(double: f64, number: i128) -> Option<Ordering> {
    #[expect(clippy::cast_precision_loss, reason = "as cel-go compares them")]
    double.partial_cmp(&(number as f64))
}

/// Compares two values.
///
/// # Errors
/// The values have no order.
pub(super) fn compare(left: &Value, right: &Value) -> Result<Ordering, Fail> {
    match (left, right) {
        (Value::Double(number), Value::Int(_) | Value::UInt(_) | Value::Double(_))
        | (Value::Int(_) | Value::UInt(_), Value::Double(number))
            if number.is_nan() =>
        {
            Err(Fail::error("NaN values cannot be ordered"))
        }
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        (left, right) => numbers(left, right).ok_or_else(Fail::no_such_overload),
    }
}

/// Returns a length as a number of steps.
pub(super) fn length(length: usize) -> u64 {
    length as u64
}
