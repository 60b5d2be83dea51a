//! The fields of every built-in kind, each with its minors.
//!
//! The table `facts/openapi.txt` covers 1.16 to 1.37. `tests/conformance/validation/cmd/openapi` makes it from the OpenAPI
//! documents of Kubernetes (`api/openapi-spec/swagger.json`). It has two sorts of lines and the fields of each type:
//!
//! ```text
//! = apps/v1 Deployment apps.v1.Deployment        the type of a kind
//! apps.v1.DeploymentSpec 217                     a type, with the length of its fields in bytes, and then the fields
//!  paused boolean                                a field: name, form of the value
//!  revisionHistoryLimit int32 16-21,25-          minors of the field, where they are not all minors of the type
//!  policy =Never|Not%20always 24-                a text that is one of these words
//! ```
//!
//! A form is a scalar, `=` and words, `[]` and the form of the items, `{}` and the form of the values, or the name of a type. A type is
//! read when a value of it is first checked: most runs need few.
//!
//! Left out on purpose: `required`, because the API server does not enforce it in decoding.

mod check;
mod time;

use std::sync::OnceLock;

pub use check::metadata_problems;

use bailiwick_yaml::internal;

use super::catalogue::{FIRST_MINOR, LAST_MINOR};

const TEXT: &str = include_str!("facts/openapi.txt");

/// The type of the metadata of all objects.
const METADATA: &str = "meta.v1.ObjectMeta";

/// A built-in kind at one minor.
#[derive(Debug, Clone, Copy)]
pub struct KindFields {
    /// The name of the type in the table. The table is read when an object is first checked.
    type_name: &'static str,
    minor: u32,
    checks_words: bool,
}

/// A type of the table, by its place in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeId(usize);

/// A set of minors: bit N stands for 1.N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Minors(u64);

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// Any JSON value.
    Any,
    /// An object with unknown fields. The server takes any JSON value for it.
    AnyObject,
    /// True or false.
    Boolean,
    /// Base64.
    Bytes,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A whole number of 32 bits, or a text.
    IntOrString,
    /// RFC 3339 with exactly six digits of a second.
    MicroTime,
    /// Any number.
    Number,
    /// A quantity such as `100Mi`.
    Quantity,
    /// A `JSONSchemaProps` or a list of them, without strict decoding of its fields.
    SchemaOrList,
    /// A `JSONSchemaProps` or a boolean, without strict decoding of its fields.
    SchemaOrBool,
    /// A `JSONSchemaProps` or a list of strings, without strict decoding of its fields.
    SchemaOrStrings,
    /// A string value.
    Text,
    /// RFC 3339.
    Time,
    /// One of these words, or nothing: defaulting fills most of such fields.
    Word(Vec<String>),
    /// A list of values.
    List(Box<FieldType>),
    /// A map from texts to values.
    Map(Box<FieldType>),
    /// A map with the fields of a type.
    Object(TypeId),
}

/// A field of a type.
#[derive(Debug, Clone)]
struct Field {
    name: &'static str,
    form: FieldType,
    minors: Minors,
}

/// A kind in the table.
#[derive(Debug)]
struct KindRow {
    api_version: &'static str,
    kind: &'static str,
    type_name: &'static str,
    minors: Minors,
}

/// The fields of all types.
#[derive(Default)]
struct Table {
    /// Each type with the lines of its fields, sorted by name.
    types: Vec<(&'static str, &'static str)>,
    /// The fields of each type, sorted by name, read on demand.
    fields: Vec<OnceLock<Vec<Field>>>,
}

impl KindFields {
    /// Returns the fields of a kind at a minor; none for a kind unknown at the minor. A minor newer than the newest
    /// known one has the fields of the newest.
    pub fn find(minor: u32, api_version: &str, kind: &str) -> Option<KindFields> {
        let minor = minor.clamp(FIRST_MINOR, LAST_MINOR);
        let is_found = |row: &&KindRow| row.api_version == api_version && row.kind == kind && row.minors.holds(minor);
        let row = kinds().iter().find(is_found)?;
        Some(KindFields { type_name: row.type_name, minor, checks_words: true })
    }
}

impl KindFields {
    /// Returns the same fields without the list of words for a text, for a kind with such rules elsewhere.
    #[must_use]
    pub fn without_words(self) -> Self {
        Self { checks_words: false, ..self }
    }
}

impl TypeId {
    /// Returns the type of the objects of a kind.
    pub fn of_kind(kind: KindFields) -> TypeId {
        internal::value(Table::get().find(kind.type_name), "a kind has an unknown type")
    }

    /// Returns the type of the metadata of all objects.
    pub fn of_metadata() -> Option<TypeId> {
        Table::get().find(METADATA)
    }

    /// Returns the fields of the type at a minor.
    pub fn fields(self, minor: u32) -> impl Iterator<Item = (&'static str, &'static FieldType)> {
        let minor = minor.clamp(FIRST_MINOR, LAST_MINOR);
        let fields = Table::get().fields(self).iter().filter(move |field| field.minors.holds(minor));
        fields.map(|field| (field.name, &field.form))
    }
}

/// Returns the bit of a minor; the table has no minor above 63.
fn bit(minor: u32) -> u64 {
    1u64.checked_shl(minor).unwrap_or_default()
}

/// Reads a minor of a range; the empty end of an open range is the last known minor.
fn minor_or_last(text: &str) -> u32 {
    match text.parse() {
        Ok(minor) => minor,
        Err(_) => LAST_MINOR,
    }
}

impl Minors {
    const ALL: Minors = Minors(u64::MAX);

    fn holds(self, minor: u32) -> bool {
        self.0 & bit(minor) != 0
    }

    /// Reads ranges such as `16-21,25-`; an absent text means all minors.
    fn parse(text: Option<&str>) -> Minors {
        let Some(text) = text else { return Minors::ALL };
        let mut minors = Minors(0);
        for stretch in text.split(',') {
            let (first, last) = match stretch.split_once('-') {
                Some(range) => range,
                None => (stretch, stretch),
            };
            let (first, last) = (minor_or_last(first), minor_or_last(last));
            (first..=last).for_each(|minor| minors.0 |= bit(minor));
        }
        minors
    }

    fn union(minors: impl Iterator<Item = Minors>) -> Minors {
        Minors(minors.fold(0, |all, minors| all | minors.0))
    }

    /// Returns the minors as a text such as `1.16 to 1.21`.
    fn describe(self) -> String {
        let mut stretches = Vec::new();
        let mut minor = FIRST_MINOR;
        while minor <= LAST_MINOR {
            if !self.holds(minor) {
                minor += 1;
                continue;
            }
            let first = minor;
            while minor < LAST_MINOR && self.holds(minor + 1) {
                minor += 1;
            }
            stretches.push(match (first, minor) {
                (FIRST_MINOR, last) => format!("up to 1.{last}"),
                (first, LAST_MINOR) => format!("since 1.{first}"),
                (first, last) if first == last => format!("in 1.{first}"),
                (first, last) => format!("from 1.{first} to 1.{last}"),
            });
            minor += 1;
        }
        stretches.join(", ")
    }
}

impl Table {
    fn get() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| internal::value(Table::index(TEXT), "the table of fields has a wrong length"))
    }

    /// Finds the types of the text, in its order; the fields stay text.
    fn index(text: &'static str) -> Option<Table> {
        let mut rest = text;
        while rest.starts_with(['#', '=']) {
            rest = rest.split_once('\n')?.1;
        }
        let mut types = Vec::new();
        while !rest.is_empty() {
            let (line, after) = rest.split_once('\n')?;
            let (name, length) = line.split_once(' ')?;
            let (fields, after) = after.split_at_checked(length.parse().ok()?)?;
            types.push((name, fields));
            rest = after;
        }
        Some(Table { fields: vec![OnceLock::new(); types.len()], types })
    }

    fn find(&self, name: &str) -> Option<TypeId> {
        self.types.binary_search_by_key(&name, |(name, _)| name).ok().map(TypeId)
    }

    /// Returns the type of a definition's `openAPIV3Schema`. The versions of CustomResourceDefinition have the same
    /// fields.
    fn json_schema(&self) -> Option<TypeId> {
        self.find("apiextensions.v1.JSONSchemaProps")
    }

    /// Returns the fields of a type, sorted by name. A name has one entry for each form in its history.
    fn fields(&self, id: TypeId) -> &[Field] {
        let (Some(fields), Some((_, lines))) = (self.fields.get(id.0), self.types.get(id.0)) else { return &[] };
        fields.get_or_init(|| lines.lines().filter_map(|line| self.parse_field(line)).collect())
    }

    fn parse_field(&self, line: &'static str) -> Option<Field> {
        let mut words = line.trim_start().split(' ');
        let (name, form) = (words.next()?, words.next()?);
        Some(Field { name, form: self.parse_form(form)?, minors: Minors::parse(words.next()) })
    }

    fn parse_form(&self, text: &str) -> Option<FieldType> {
        Some(match text {
            "any" => FieldType::Any,
            "object" => FieldType::AnyObject,
            "boolean" => FieldType::Boolean,
            "bytes" => FieldType::Bytes,
            "int32" => FieldType::Int32,
            "int64" => FieldType::Int64,
            "int-or-string" => FieldType::IntOrString,
            "micro-time" => FieldType::MicroTime,
            "number" => FieldType::Number,
            "quantity" => FieldType::Quantity,
            "schema-or-list" => FieldType::SchemaOrList,
            "schema-or-bool" => FieldType::SchemaOrBool,
            "schema-or-strings" => FieldType::SchemaOrStrings,
            "string" => FieldType::Text,
            "time" => FieldType::Time,
            _ => match (text.strip_prefix("[]"), text.strip_prefix("{}"), text.strip_prefix('=')) {
                (Some(items), _, _) => FieldType::List(Box::new(self.parse_form(items)?)),
                (_, Some(values), _) => FieldType::Map(Box::new(self.parse_form(values)?)),
                (_, _, Some(words)) => FieldType::Word(words.split('|').map(|word| word.replace("%20", " ")).collect()),
                _ => FieldType::Object(self.find(text)?),
            },
        })
    }
}

/// Returns the kinds, which come before the types.
fn kinds() -> &'static [KindRow] {
    static KINDS: OnceLock<Vec<KindRow>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let lines = TEXT.lines().take_while(|line| line.starts_with(['#', '=']));
        lines.filter_map(|line| line.strip_prefix("= ")).filter_map(KindRow::parse).collect()
    })
}

impl KindRow {
    fn parse(line: &'static str) -> Option<KindRow> {
        let mut words = line.split(' ');
        let (api_version, kind, type_name) = (words.next()?, words.next()?, words.next()?);
        Some(KindRow { api_version, kind, type_name, minors: Minors::parse(words.next()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, Served};

    #[test]
    fn the_table_is_read_whole() {
        let table = Table::get();
        let lines = |is: fn(&str) -> bool| TEXT.lines().filter(|line| is(line)).count();
        assert_eq!(kinds().len(), lines(|line| line.starts_with("= ")));
        assert!(kinds().iter().all(|row| table.find(row.type_name).is_some()));
        assert_eq!(table.types.len(), lines(|line| !line.starts_with(['=', ' ', '#'])));
        assert!(table.types.is_sorted_by_key(|(name, _)| *name));
        let fields: usize = (0..table.types.len()).map(|place| table.fields(TypeId(place)).len()).sum();
        assert_eq!(fields, lines(|line| line.starts_with(' ')));
        for place in 0..table.types.len() {
            let fields = table.fields(TypeId(place));
            assert!(fields.is_sorted_by_key(|field| field.name), "{}", table.types[place].0);
            assert!(fields.iter().all(|field| field.minors != Minors(0)));
        }
        let all = TEXT.lines().next().unwrap();
        for minor in FIRST_MINOR..=LAST_MINOR {
            assert!(all.contains(&format!(" 1.{minor}.")), "{all}");
        }
    }

    /// The two tables come from the same documents by different ways.
    #[test]
    fn every_kind_that_a_minor_serves_has_fields() {
        let catalogue = Catalogue::get();
        for minor in FIRST_MINOR..=LAST_MINOR {
            let mut count = 0;
            for &KindRow { api_version, kind, minors, .. } in kinds() {
                if catalogue.kind(minor, api_version, kind) != Served::No {
                    assert!(minors.holds(minor), "1.{minor} {api_version} {kind}");
                    count += 1;
                }
            }
            assert!(count > 60, "1.{minor}: {count}");
            for kind in catalogue.kinds(minor) {
                for api_version in catalogue.api_versions_of_kind(minor, kind) {
                    assert!(KindFields::find(minor, &api_version, kind).is_some(), "1.{minor} {api_version} {kind}");
                }
            }
        }
    }

    #[test]
    fn minors_are_read_and_described() {
        assert_eq!(Minors::parse(Some("16-21,25-")).describe(), "up to 1.21, since 1.25");
        assert_eq!(Minors::parse(Some("22-22,24-30")).describe(), "in 1.22, from 1.24 to 1.30");
        assert!(Minors::parse(None).holds(37) && !Minors::parse(Some("16-21")).holds(22));
    }
}
