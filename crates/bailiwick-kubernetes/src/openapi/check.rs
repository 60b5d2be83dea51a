//! Checks the fields of an object as the API server's strict decoding does.
//!
//! The server turns YAML into JSON (sigs.k8s.io/yaml), and JSON into Go types (sigs.k8s.io/json, case-sensitive, with
//! `DisallowUnknownFields`). Null is absent everywhere. A number without a fraction is written without one: `80.0` is
//! a whole number.

use crate::absent;
use data_encoding::BASE64;
use jsonschema::JsonType;

use super::{Field, FieldType, KindFields, METADATA, Minors, Table, TypeId, time};
use crate::catalogue::{FIRST_MINOR, LAST_MINOR};
use crate::quantity::Quantity;
use bailiwick_yaml::schema::Problem;
use bailiwick_yaml::{NodeRef, NodeValue};

impl KindFields {
    /// Whether an object has only fields of the kind, with values of their types.
    pub fn fits(self, object: NodeRef<'_>) -> bool {
        self.problems(object).is_empty()
    }

    /// Returns each unknown field and wrong value of an object, in the order of the text.
    pub fn problems(self, object: NodeRef<'_>) -> Vec<Problem<'_>> {
        let mut check = Check { fields: self, is_strict: true, path: Vec::new(), problems: Vec::new() };
        check.object(object, TypeId::of_kind(self));
        check.problems
    }
}

/// Returns each unknown field and wrong value of the metadata of an object of any kind.
pub fn metadata_problems(minor: u32, object: NodeRef<'_>) -> Vec<Problem<'_>> {
    let (Some(of_type), Some(metadata)) = (TypeId::of_metadata(), object.get("metadata")) else {
        return Vec::new();
    };
    let fields = KindFields { type_name: METADATA, minor: minor.clamp(FIRST_MINOR, LAST_MINOR), checks_words: true };
    let mut check = Check { fields, is_strict: true, path: Vec::new(), problems: Vec::new() };
    check.at(Step::Key("metadata"), |check| check.value(metadata, &FieldType::Object(of_type)));
    check.problems
}

/// A step from a value to one inside it.
#[derive(Debug, Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

/// A walk over an object.
struct Check<'t> {
    fields: KindFields,
    /// Whether unknown fields are reported.
    is_strict: bool,
    path: Vec<Step<'t>>,
    problems: Vec<Problem<'t>>,
}

impl<'t> Check<'t> {
    fn value(&mut self, node: NodeRef<'t>, form: &FieldType) {
        if node.is_null() {
            return;
        }
        match form {
            FieldType::Any | FieldType::AnyObject => {}
            FieldType::Boolean => self.expect(node, node.as_bool().is_some(), JsonType::Boolean),
            FieldType::Int32 => self.whole_number(node, i32::MIN.into(), i32::MAX.into()),
            FieldType::Int64 => self.whole_number(node, i64::MIN, i64::MAX),
            FieldType::Number => {
                let is_number = matches!(node.value(), NodeValue::Int(_) | NodeValue::Float(_));
                self.expect(node, is_number, JsonType::Number);
            }
            FieldType::Text => self.expect(node, node.as_str().is_some(), JsonType::String),
            FieldType::IntOrString => match node.value() {
                NodeValue::Str(_) => {}
                NodeValue::Int(_) | NodeValue::Float(_) => self.whole_number(node, i32::MIN.into(), i32::MAX.into()),
                _ => self.wrong_type(node, &[JsonType::Integer, JsonType::String]),
            },
            FieldType::Word(words) => self.word(node, words),
            FieldType::Bytes | FieldType::Time | FieldType::MicroTime => self.encoded_text(node, form),
            FieldType::Quantity => self.quantity(node),
            FieldType::List(items) => self.list(node, items),
            FieldType::Map(values) => self.map(node, values),
            FieldType::Object(id) => self.object(node, *id),
            FieldType::SchemaOrBool | FieldType::SchemaOrList | FieldType::SchemaOrStrings => {
                self.schema_or_else(node, form)
            }
        }
    }

    /// Checks values with decoders of their own in the server (`marshal.go` of k8s.io/apiextensions-apiserver
    /// v0.37.2): unknown fields and values of another form are dropped, except for [`FieldType::SchemaOrBool`].
    fn schema_or_else(&mut self, node: NodeRef<'t>, form: &FieldType) {
        let was_strict = std::mem::replace(&mut self.is_strict, false);
        match form {
            FieldType::SchemaOrBool if !node.is_map() && node.as_bool().is_none() => {
                self.wrong_type(node, &[JsonType::Boolean, JsonType::Object]);
            }
            FieldType::SchemaOrStrings if node.is_seq() => self.list(node, &FieldType::Text),
            FieldType::SchemaOrList if node.is_seq() => {
                Table::get().json_schema().into_iter().for_each(|id| self.list(node, &FieldType::Object(id)));
            }
            _ if node.is_map() => Table::get().json_schema().into_iter().for_each(|id| self.object(node, id)),
            _ => {}
        }
        self.is_strict = was_strict;
    }

    fn at(&mut self, step: Step<'t>, check: impl FnOnce(&mut Self)) {
        self.path.push(step);
        check(self);
        self.path.pop();
    }

    fn list(&mut self, node: NodeRef<'t>, items: &FieldType) {
        if !node.is_seq() {
            return self.wrong_type(node, &[JsonType::Array]);
        }
        for (index, item) in node.items().enumerate() {
            self.at(Step::Index(index), |check| check.value(item, items));
        }
    }

    fn map(&mut self, node: NodeRef<'t>, values: &FieldType) {
        if !node.is_map() {
            return self.wrong_type(node, &[JsonType::Object]);
        }
        for (key, value) in node.entries() {
            self.at(Step::Key(absent::text(key.as_str())), |check| check.value(value, values));
        }
    }

    fn object(&mut self, node: NodeRef<'t>, id: TypeId) {
        if !node.is_map() {
            return self.wrong_type(node, &[JsonType::Object]);
        }
        let fields = Table::get().fields(id);
        for (key, value) in node.entries() {
            let name = absent::text(key.as_str());
            let entries = entries_of(fields, name);
            match entries.iter().find(|field| field.minors.holds(self.fields.minor)) {
                Some(field) => self.at(Step::Key(name), |check| check.value(value, &field.form)),
                None if self.is_strict => {
                    self.at(Step::Key(name), |check| check.unknown_field(key, name, fields, entries))
                }
                None => {}
            }
        }
    }

    fn whole_number(&mut self, node: NodeRef<'t>, least: i64, most: i64) {
        let number = match node.value() {
            NodeValue::Int(number) => Some(i128::from(number)),
            // Go writes larger numbers with an exponent, and they are no whole numbers.
            NodeValue::Float(number) if number.fract() == 0.0 && number.abs() < 1e21 => Some(number as i128),
            _ => None,
        };
        match number {
            None => self.wrong_type(node, &[JsonType::Integer]),
            Some(number) if number < i128::from(least) || number > i128::from(most) => {
                let help = if number < i128::from(least) { "write a larger number" } else { "write a smaller number" };
                self.add(node, format!("{number} is not between {least} and {most}"), help);
            }
            Some(_) => {}
        }
    }

    fn encoded_text(&mut self, node: NodeRef<'t>, form: &FieldType) {
        let is_byte =
            |item: NodeRef<'_>| item.is_null() || item.as_int().is_some_and(|byte| u8::try_from(byte).is_ok());
        if *form == FieldType::Bytes && node.is_seq() && node.items().all(is_byte) {
            // Go takes a list of numbers for bytes too.
            return;
        }
        let Some(text) = node.as_str() else { return self.wrong_type(node, &[JsonType::String]) };
        let (is_right, what, help) = match form {
            FieldType::Bytes => (is_base64(text), "base64", "encode the value, for example with `base64 -w0`"),
            FieldType::Time => (time::is_rfc3339(text), "a time", "write it as `2026-01-02T15:04:05Z`"),
            _ => {
                let help = "write it with six digits of a second, as `2026-01-02T15:04:05.000000Z`";
                (time::is_rfc3339_micro(text), "a time in microseconds", help)
            }
        };
        if !is_right {
            self.add(node, format!("{} is not {what}", node.describe()), help);
        }
    }

    fn word(&mut self, node: NodeRef<'t>, words: &[String]) {
        let Some(text) = node.as_str() else { return self.wrong_type(node, &[JsonType::String]) };
        // A create drops the status before its words are checked.
        let is_status = matches!(self.path.first(), Some(Step::Key("status")));
        let is_known = text.is_empty() || words.iter().any(|word| word == text);
        if self.fields.checks_words && !is_status && !is_known {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.problems.push(Problem::unknown_value(node, written(&self.path), &words));
        }
    }

    fn quantity(&mut self, node: NodeRef<'t>) {
        let is_scalar = matches!(node.value(), NodeValue::Str(_) | NodeValue::Int(_) | NodeValue::Float(_));
        if !is_scalar {
            self.wrong_type(node, &[JsonType::String, JsonType::Number]);
        } else if Quantity::from_node(node).is_none() {
            let help = "write a number with a suffix, such as `500m` or `1Gi`";
            self.add(node, format!("{} is not a quantity", node.describe()), help);
        }
    }

    fn expect(&mut self, node: NodeRef<'t>, is_right: bool, expected: JsonType) {
        if !is_right {
            self.wrong_type(node, &[expected]);
        }
    }

    fn wrong_type(&mut self, node: NodeRef<'t>, expected: &[JsonType]) {
        self.problems.push(Problem::wrong_type(node, written(&self.path), expected));
    }

    /// Reports the field of the path, missing from the type at this minor; `entries` are its entries at other minors.
    fn unknown_field(&mut self, key: NodeRef<'t>, name: &str, fields: &[Field], entries: &[Field]) {
        let known = fields.iter().filter(|field| field.minors.holds(self.fields.minor)).map(|field| field.name);
        let mut problem = Problem::unknown_field(key, written(&self.path), name, &known.collect::<Vec<_>>());
        if !entries.is_empty() {
            let minors = Minors::union(entries.iter().map(|field| field.minors));
            problem.help = Some(format!(
                "Kubernetes has this field {}, and the target is 1.{}",
                minors.describe(),
                self.fields.minor
            ));
        }
        self.problems.push(problem);
    }

    fn add(&mut self, node: NodeRef<'t>, message: String, help: &str) {
        self.problems.push(Problem::out_of_bounds(node, written(&self.path), message, help));
    }
}

/// Returns the entries of a name.
fn entries_of<'f>(fields: &'f [Field], name: &str) -> &'f [Field] {
    let (_, rest) = fields.split_at(fields.partition_point(|field| field.name < name));
    let (entries, _) = rest.split_at(rest.partition_point(|field| field.name == name));
    entries
}

/// Returns a path in Kubernetes' notation.
fn written(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(key);
            }
        }
    }
    text
}

/// Whether Go decodes a text as base64: line breaks are skipped, padding is needed.
fn is_base64(text: &str) -> bool {
    if text.contains(['\r', '\n']) {
        return BASE64.decode(text.replace(['\r', '\n'], "").as_bytes()).is_ok();
    }
    BASE64.decode(text.as_bytes()).is_ok()
}
