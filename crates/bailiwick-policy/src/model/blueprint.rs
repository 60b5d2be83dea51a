//! Data with patterns in it, prepared once and filled in per account.
//!
//! A typed policy value is serialised into a blueprint: strings become patterns, parts without variables become
//! shared constants.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bailiwick_yaml::{NodeRef, NodeValue};
use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde::{Deserialize, Deserializer};

use super::{BoundValue, Data, Fill, Pattern};

/// Data with places for variables.
#[derive(Debug, Clone, PartialEq)]
pub enum Blueprint {
    /// A value without variables.
    Constant(Data),
    /// A text with variables.
    Text(Pattern),
    /// A value of one variable, with the type of the variable.
    Typed(Pattern),
    /// Values in order.
    List(Vec<Blueprint>),
    /// A map; keys may have variables too.
    Map(Vec<(Pattern, Blueprint)>),
    /// Something else on each target, by the target's name.
    ByTarget(Arc<[(String, Blueprint)]>),
    /// An item of a list or a value of a map that exists only with values of some variables.
    Present(Arc<[String]>, Box<Blueprint>),
    /// The form of several items of a list: one item for each element of a list variable.
    Spread(Arc<str>, Box<Blueprint>),
}

impl Blueprint {
    /// Converts a policy value with checked patterns.
    pub fn from_value<T: Serialize>(value: &T) -> Self {
        value.serialize(Builder).unwrap_or(Blueprint::Constant(Data::Null))
    }

    /// Converts an object as it is written: texts are patterns, and a text that is a variable and nothing else has the type of the variable.
    /// Texts below `metadata` stay texts.
    pub fn from_node(node: NodeRef<'_>) -> Self {
        Self::from_part(node, false)
    }

    fn from_part(node: NodeRef<'_>, is_metadata: bool) -> Self {
        match node.value() {
            NodeValue::Seq(_) => Self::list(node.items().map(|item| Self::from_part(item, is_metadata)).collect()),
            NodeValue::Map(_) => {
                let entries = node.entries().map(|(key, value)| {
                    let name = key.as_str().map_or("", |name| name);
                    (Pattern::parse_checked(name), Self::from_part(value, is_metadata || name == "metadata"))
                });
                Self::map(entries.collect())
            }
            NodeValue::Str(_) => {
                let text = Self::text(node.as_str().map_or("", |text| text));
                if is_metadata { text } else { text.typed() }
            }
            _ => Blueprint::Constant(Data::from_node(node)),
        }
    }

    /// Returns a text of one variable with the type of the variable.
    fn typed(self) -> Self {
        match self {
            Blueprint::Text(pattern) if pattern.pieces().len() == 1 => Blueprint::Typed(pattern),
            Blueprint::Present(variables, inner) => Blueprint::Present(variables, Box::new(inner.typed())),
            other => other,
        }
    }

    /// Sets an entry of nested maps, if there is none.
    #[must_use]
    pub fn with_entry(self, path: &[&str], value: &Blueprint) -> Self {
        let Some((first, rest)) = path.split_first() else { return value.clone() };
        let mut entries = match self.into_entries() {
            Ok(entries) => entries,
            Err(other) => return other,
        };
        match entries.iter_mut().find(|(key, _)| *key == Pattern::constant(first)) {
            Some(_) if rest.is_empty() => {}
            Some((_, inner)) => *inner = inner.clone().with_entry(rest, value),
            None => entries.push((Pattern::constant(first), Blueprint::Map(Vec::new()).with_entry(rest, value))),
        }
        Blueprint::Map(entries)
    }

    /// Returns the entries of a map; the value itself if it is no map.
    fn into_entries(self) -> Result<Vec<(Pattern, Blueprint)>, Self> {
        match self {
            Blueprint::Map(entries) => Ok(entries),
            Blueprint::Constant(Data::Map(entries)) => {
                let constant =
                    |(key, data): &(Arc<str>, Data)| (Pattern::constant(key), Blueprint::Constant(data.clone()));
                Ok(entries.iter().map(constant).collect())
            }
            other => Err(other),
        }
    }

    /// Adds the entries of another map whose keys this map lacks.
    #[must_use]
    pub fn with_missing(self, other: &Blueprint) -> Self {
        let Ok(further) = other.clone().into_entries() else { return self };
        let mut entries = match self.into_entries() {
            Ok(entries) => entries,
            Err(other) => return other,
        };
        for (key, value) in further {
            if !entries.iter().any(|(known, _)| *known == key) {
                entries.push((key, value));
            }
        }
        Blueprint::Map(entries)
    }

    /// Builds the value from one value per target; equal values become one blueprint.
    pub fn by_target(mut each: Vec<(String, Blueprint)>) -> Self {
        match each.split_first() {
            Some(((_, first), others)) if others.iter().all(|(_, other)| other == first) => each.swap_remove(0).1,
            _ => Blueprint::ByTarget(each.into()),
        }
    }

    /// Returns the data with its variables filled in.
    pub fn fill(&self, from: Fill<'_>) -> Data {
        match self {
            Blueprint::Constant(data) => data.clone(),
            Blueprint::Text(pattern) => Data::Str(pattern.fill(from)),
            Blueprint::Typed(pattern) => pattern.fill_typed(from),
            Blueprint::List(items) => {
                let mut filled = Vec::with_capacity(items.len());
                items.iter().for_each(|item| item.fill_item(from, &mut filled));
                Data::List(filled.into())
            }
            Blueprint::Map(entries) => {
                let present = entries.iter().filter(|(_, value)| value.exists(from));
                Data::Map(present.map(|(key, value)| (key.fill(from), value.fill(from))).collect())
            }
            Blueprint::Present(_, inner) | Blueprint::Spread(_, inner) => {
                if self.exists(from) {
                    inner.fill(from)
                } else {
                    Data::Null
                }
            }
            Blueprint::ByTarget(each) => each
                .iter()
                .find(|(target, _)| *target == from.target.name)
                .map_or(Data::Null, |(_, blueprint)| blueprint.fill(from)),
        }
    }

    /// Whether the value exists with the given values.
    pub(super) fn exists(&self, from: Fill<'_>) -> bool {
        match self {
            Blueprint::Present(variables, inner) => {
                variables.iter().all(|name| from.has_value(name)) && inner.exists(from)
            }
            _ => true,
        }
    }

    /// Adds the items of a list: none for an item that does not exist, and one for each different element of a list variable.
    fn fill_item(&self, from: Fill<'_>, items: &mut Vec<Data>) {
        match self {
            Blueprint::Spread(name, inner) => {
                let Some(Data::List(elements)) = from.value(name) else { return };
                let mut seen = BTreeSet::new();
                for value in elements.iter() {
                    let mut text = String::new();
                    value.write_json(&mut text);
                    if seen.insert(text) {
                        inner.fill_item(from.within(Some(&BoundValue { name, value, outer: from.bound })), items);
                    }
                }
            }
            Blueprint::Present(_, inner) if self.exists(from) => inner.fill_item(from, items),
            Blueprint::Present(..) => {}
            _ => items.extend(self.fill_unless_lost(from)),
        }
    }

    /// Returns the data of an item; none if a list of the item has lost all its items. An empty list often means everything: a rule
    /// without `resourceNames` is about every object.
    fn fill_unless_lost(&self, from: Fill<'_>) -> Option<Data> {
        match self {
            Blueprint::List(_) => Some(self.fill(from)).filter(|list| !list.is_empty()),
            Blueprint::Typed(_) => {
                Some(self.fill(from)).filter(|value| !matches!(value, Data::List(list) if list.is_empty()))
            }
            Blueprint::Map(entries) => {
                let present = entries.iter().filter(|(_, value)| value.exists(from));
                let filled = present.map(|(key, value)| Some((key.fill(from), value.fill_unless_lost(from)?)));
                filled.collect::<Option<Arc<[_]>>>().map(Data::Map)
            }
            Blueprint::Present(_, inner) => inner.fill_unless_lost(from),
            _ => Some(self.fill(from)),
        }
    }

    /// Returns the blueprint with the items of lists that name a list variable as items for each of its elements.
    #[must_use]
    pub fn spreading(self, lists: &BTreeSet<String>) -> Self {
        match self {
            Blueprint::List(items) => {
                let of_item = |item: Blueprint| {
                    let mut used = BTreeSet::new();
                    item.variables_of_item(&mut used);
                    let list = used.iter().find(|name| lists.contains(*name)).map(|name| Arc::from(name.as_str()));
                    let item = item.spreading(lists);
                    list.map_or_else(|| item.clone(), |list| Blueprint::Spread(list, Box::new(item.clone())))
                };
                Blueprint::List(items.into_iter().map(of_item).collect())
            }
            Blueprint::Map(entries) => {
                Blueprint::Map(entries.into_iter().map(|(key, value)| (key, value.spreading(lists))).collect())
            }
            Blueprint::ByTarget(each) => {
                let spread = |(target, own): &(String, Blueprint)| (target.clone(), own.clone().spreading(lists));
                Blueprint::ByTarget(each.iter().map(spread).collect())
            }
            Blueprint::Present(variables, inner) => Blueprint::Present(variables, Box::new(inner.spreading(lists))),
            other => other,
        }
    }

    /// Returns a list whose maps exist only with the value of a key, such as the subjects of a binding by `name`.
    #[must_use]
    pub fn of_items_with(self, key: &str) -> Self {
        let Blueprint::List(items) = self else { return self };
        let lifted = |item: Blueprint| {
            let Blueprint::Map(mut entries) = item else { return item };
            let mut deciding: Arc<[String]> = Arc::default();
            for (_, value) in entries.iter_mut().filter(|(name, _)| name.pieces() == Pattern::constant(key).pieces()) {
                if let Blueprint::Present(variables, inner) = value {
                    deciding = Arc::clone(variables);
                    *value = (**inner).clone();
                }
            }
            let map = Blueprint::Map(entries);
            if deciding.is_empty() { map } else { Blueprint::Present(deciding, Box::new(map)) }
        };
        Blueprint::List(items.into_iter().map(lifted).collect())
    }

    /// Adds the names of the variables of an item, without the variables of lists in the item.
    fn variables_of_item(&self, names: &mut BTreeSet<String>) {
        match self {
            Blueprint::Text(pattern) | Blueprint::Typed(pattern) => names.extend(pattern.account_variables()),
            Blueprint::Map(entries) => {
                // A field of a map that is a list variable and nothing else has the whole list.
                let spread = entries.iter().filter(|(_, value)| !matches!(value, Blueprint::Typed(_)));
                spread.for_each(|(_, value)| value.variables_of_item(names));
            }
            Blueprint::ByTarget(each) => each.iter().for_each(|(_, own)| own.variables_of_item(names)),
            Blueprint::Present(_, inner) | Blueprint::Spread(_, inner) => inner.variables_of_item(names),
            Blueprint::Constant(_) | Blueprint::List(_) => {}
        }
    }

    /// Copies the blueprint without shared parts, see [`super::TenancyPolicy::detached`].
    #[must_use]
    pub fn detached(&self) -> Self {
        match self {
            Blueprint::Constant(data) => Blueprint::Constant(data.detached()),
            Blueprint::Text(pattern) => Blueprint::Text(pattern.detached()),
            Blueprint::Typed(pattern) => Blueprint::Typed(pattern.detached()),
            Blueprint::List(items) => Blueprint::List(items.iter().map(Blueprint::detached).collect()),
            Blueprint::Map(entries) => {
                Blueprint::Map(entries.iter().map(|(key, value)| (key.detached(), value.detached())).collect())
            }
            Blueprint::ByTarget(each) => {
                Blueprint::ByTarget(each.iter().map(|(target, own)| (target.clone(), own.detached())).collect())
            }
            Blueprint::Present(variables, inner) => {
                Blueprint::Present(variables.iter().cloned().collect(), Box::new(inner.detached()))
            }
            Blueprint::Spread(list, inner) => Blueprint::Spread(Arc::from(&**list), Box::new(inner.detached())),
        }
    }

    /// Whether a variable comes from an account.
    pub fn needs_account(&self) -> bool {
        match self {
            Blueprint::Constant(_) => false,
            Blueprint::Text(pattern) | Blueprint::Typed(pattern) => pattern.needs_account(),
            Blueprint::List(items) => items.iter().any(Blueprint::needs_account),
            Blueprint::Map(entries) => entries.iter().any(|(key, value)| key.needs_account() || value.needs_account()),
            Blueprint::ByTarget(each) => each.iter().any(|(_, blueprint)| blueprint.needs_account()),
            Blueprint::Present(_, inner) | Blueprint::Spread(_, inner) => inner.needs_account(),
        }
    }

    /// Adds the names of the account variables.
    pub fn account_variables(&self, names: &mut BTreeSet<String>) {
        match self {
            Blueprint::Constant(_) => {}
            Blueprint::Text(pattern) | Blueprint::Typed(pattern) => names.extend(pattern.account_variables()),
            Blueprint::List(items) => items.iter().for_each(|item| item.account_variables(names)),
            Blueprint::Map(entries) => {
                for (key, value) in entries {
                    names.extend(key.account_variables());
                    value.account_variables(names);
                }
            }
            Blueprint::ByTarget(each) => each.iter().for_each(|(_, blueprint)| blueprint.account_variables(names)),
            Blueprint::Present(_, inner) | Blueprint::Spread(_, inner) => inner.account_variables(names),
        }
    }

    fn text(text: &str) -> Self {
        let pattern = Pattern::parse_checked(text);
        if pattern.variables().next().is_some() {
            let deciding: Arc<[String]> = pattern.deciding_variables().map(str::to_owned).collect();
            let text = Blueprint::Text(pattern);
            return if deciding.is_empty() { text } else { Blueprint::Present(deciding, Box::new(text)) };
        }
        Blueprint::Constant(Data::Str(literal(&pattern)))
    }

    fn list(items: Vec<Blueprint>) -> Self {
        let constants: Option<Vec<Data>> = items.iter().map(Blueprint::constant).collect();
        constants.map_or(Blueprint::List(items), |items| Blueprint::Constant(Data::List(items.into())))
    }

    fn map(entries: Vec<(Pattern, Blueprint)>) -> Self {
        let constants: Option<Vec<(Arc<str>, Data)>> = entries
            .iter()
            .map(|(key, value)| match key.variables().next() {
                None => value.constant().map(|data| (literal(key), data)),
                Some(_) => None,
            })
            .collect();
        constants.map_or(Blueprint::Map(entries), |entries| Blueprint::Constant(Data::Map(entries.into())))
    }

    fn constant(&self) -> Option<Data> {
        match self {
            Blueprint::Constant(data) => Some(data.clone()),
            _ => None,
        }
    }
}

/// Returns the text of a pattern without variables.
fn literal(pattern: &Pattern) -> Arc<str> {
    match pattern.pieces() {
        [super::Piece::Text(text)] => Arc::clone(text),
        _ => Arc::from(""),
    }
}

/// A whole number, or a pattern of one variable with its value: `1000` or `"{uid}"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberOrVariable {
    /// The number itself.
    Literal(i64),
    /// The text with the variable.
    Variable(String),
}

const NUMBER: &str = "$bailiwick::Number";

impl Serialize for NumberOrVariable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NumberOrVariable::Literal(number) => serializer.serialize_i64(*number),
            NumberOrVariable::Variable(text) => serializer.serialize_newtype_struct(NUMBER, text),
        }
    }
}

impl<'de> Deserialize<'de> for NumberOrVariable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl serde::de::Visitor<'_> for NumberVisitor {
            type Value = NumberOrVariable;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number or one variable such as \"{uid}\"")
            }

            fn visit_i64<E>(self, number: i64) -> Result<NumberOrVariable, E> {
                Ok(NumberOrVariable::Literal(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<NumberOrVariable, E> {
                i64::try_from(number).map(NumberOrVariable::Literal).map_err(|_| E::custom("the number is too large"))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NumberOrVariable, E> {
                let whole = text.starts_with('{') && text.ends_with('}') && text.matches('{').count() == 1;
                if whole {
                    Ok(NumberOrVariable::Variable(text.to_owned()))
                } else {
                    Err(E::custom("a number in quotes must be one variable such as `{uid}`"))
                }
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

impl schemars::JsonSchema for NumberOrVariable {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "pattern": bailiwick_yaml::schema::VARIABLE })
    }
}

/// Serialises a policy value into a blueprint.
struct Builder;

/// Returned only for bytes and tuple-like values; no policy has them.
#[derive(Debug)]
struct Unsupported(String);

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

impl ser::Error for Unsupported {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Unsupported(message.to_string())
    }
}

fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported(format!("{what} is not possible in a policy")))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, number: $type) -> Result<Blueprint, Unsupported> {
            Ok(Blueprint::Constant(Data::Int(number.into())))
        })*
    };
}

impl Serializer for Builder {
    type Ok = Blueprint;
    type Error = Unsupported;
    type SerializeSeq = Items;
    type SerializeTuple = ser::Impossible<Blueprint, Unsupported>;
    type SerializeTupleStruct = ser::Impossible<Blueprint, Unsupported>;
    type SerializeTupleVariant = ser::Impossible<Blueprint, Unsupported>;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = ser::Impossible<Blueprint, Unsupported>;

    integers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32);

    fn serialize_u64(self, number: u64) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::Constant(i64::try_from(number).map_or(Data::Float(number as f64), Data::Int)))
    }

    fn serialize_f32(self, number: f32) -> Result<Blueprint, Unsupported> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::Constant(Data::Float(number)))
    }

    fn serialize_bool(self, truth: bool) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::Constant(Data::Bool(truth)))
    }

    fn serialize_char(self, character: char) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::text(&character.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::text(text))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Blueprint, Unsupported> {
        unsupported("bytes")
    }

    fn serialize_none(self) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::Constant(Data::Null))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Blueprint, Unsupported> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Blueprint, Unsupported> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Blueprint, Unsupported> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::Constant(Data::text(variant)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Blueprint, Unsupported> {
        let inner = value.serialize(self)?;
        Ok(match inner {
            Blueprint::Text(pattern) if name == NUMBER => Blueprint::Typed(pattern),
            other => other,
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::map(vec![(Pattern::parse_checked(variant), value.serialize(Builder)?)]))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items, Unsupported> {
        Ok(Items(Vec::with_capacity(len.unwrap_or_default())))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unsupported> {
        unsupported("a tuple")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unsupported> {
        unsupported("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        unsupported("a tuple")
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Entries, Unsupported> {
        Ok(Entries { entries: Vec::with_capacity(len.unwrap_or_default()), key: None })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Entries, Unsupported> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unsupported> {
        unsupported("a variant")
    }
}

struct Items(Vec<Blueprint>);

impl SerializeSeq for Items {
    type Ok = Blueprint;
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        self.0.push(value.serialize(Builder)?);
        Ok(())
    }

    fn end(self) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::list(self.0))
    }
}

struct Entries {
    entries: Vec<(Pattern, Blueprint)>,
    key: Option<Pattern>,
}

impl SerializeMap for Entries {
    type Ok = Blueprint;
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unsupported> {
        self.key = match key.serialize(Builder)? {
            Blueprint::Text(pattern) => Some(pattern),
            Blueprint::Constant(Data::Str(text)) => Some(Pattern::parse_checked(&escape(&text))),
            _ => None,
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        if let Some(key) = self.key.take() {
            self.entries.push((key, value.serialize(Builder)?));
        }
        Ok(())
    }

    fn end(self) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::map(self.entries))
    }
}

impl SerializeStruct for Entries {
    type Ok = Blueprint;
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Unsupported> {
        self.entries.push((Pattern::parse_checked(key), value.serialize(Builder)?));
        Ok(())
    }

    fn end(self) -> Result<Blueprint, Unsupported> {
        Ok(Blueprint::map(self.entries))
    }
}

/// Escapes the braces of a text, for use as a pattern.
fn escape(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
