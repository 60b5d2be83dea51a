//! Reads the rules of a schema from its published form, and writes them as constants.

use std::fmt::Write as _;

use bailiwick_yaml::schema::VARIABLE;
use serde_json::{Map, Value};

use crate::kinds::built_in_schema::rules::{JsonType, OtherProperties, Property, Rules};

/// The keywords without an effect on a check.
const ANNOTATIONS: [&str; 6] = ["$schema", "default", "description", "examples", "title", "writeOnly"];

/// Returns the rules of a schema; none for a schema with a keyword that [`Rules`] do not have. The rules stay in memory.
pub(super) fn rules_of(schema: &Value) -> Option<&'static Rules> {
    let mut rules = Rules::ANY;
    for (keyword, value) in schema.as_object()? {
        match keyword.as_str() {
            "type" => rules.types = leaked(types(value)?),
            "anyOf" => rules.any_of = leaked(value.as_array()?.iter().map(rules_of).collect::<Option<_>>()?),
            "const" => rules.words = leaked(vec![text(value)?]),
            "enum" => rules.words = leaked(texts(value)?),
            "minLength" => rules.minimum_length = count(value)?,
            "pattern" => rules.is_variable = value == VARIABLE || return None,
            "minimum" => rules.minimum = Some(value.as_i64()?),
            "maximum" => rules.maximum = Some(value.as_i64()?),
            "items" => rules.items = Some(rules_of(value)?),
            "minItems" => rules.minimum_items = count(value)?,
            "required" => rules.required = leaked(texts(value)?),
            "properties" => rules.properties = leaked(properties(value.as_object()?)?),
            "additionalProperties" => rules.other_properties = other_properties(value)?,
            keyword if ANNOTATIONS.contains(&keyword) => {}
            _ => return None,
        }
    }
    Some(&*Box::leak(Box::new(rules)))
}

fn types(value: &Value) -> Option<Vec<JsonType>> {
    let of_name = |name: &Value| {
        Some(match name.as_str()? {
            "null" => JsonType::Null,
            "boolean" => JsonType::Boolean,
            "integer" => JsonType::Integer,
            "string" => JsonType::String,
            "array" => JsonType::Array,
            "object" => JsonType::Object,
            _ => return None,
        })
    };
    value.as_array().map_or_else(|| of_name(value).map(|one| vec![one]), |names| names.iter().map(of_name).collect())
}

fn properties(schemas: &Map<String, Value>) -> Option<Vec<Property>> {
    let property = |(name, schema): (&String, &Value)| {
        Some(Property { name: String::leak(name.clone()), rules: rules_of(schema)? })
    };
    schemas.iter().map(property).collect()
}

fn other_properties(value: &Value) -> Option<OtherProperties> {
    Some(match value {
        Value::Bool(true) => OtherProperties::Any,
        Value::Bool(false) => OtherProperties::None,
        schema => OtherProperties::Fit(rules_of(schema)?),
    })
}

fn leaked<T>(items: Vec<T>) -> &'static [T] {
    items.leak()
}

fn text(value: &Value) -> Option<&'static str> {
    value.as_str().map(|text| &*String::leak(text.to_owned()))
}

fn texts(value: &Value) -> Option<Vec<&'static str>> {
    value.as_array()?.iter().map(text).collect()
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The source of constants: equal rules have one.
#[derive(Default)]
pub(super) struct Source {
    written: Vec<&'static Rules>,
    text: String,
}

impl Source {
    /// Returns an expression with the rules of each name.
    pub(super) fn of(named: &[(&'static str, &'static Rules)]) -> String {
        let mut source = Self::default();
        let mut list = String::new();
        for (name, rules) in named {
            let number = source.number(rules);
            let _ = writeln!(list, "    NamedRules {{ name: {name:?}, rules: &R{number} }},");
        }
        format!("{{\n{}&[\n{list}] }}\n", source.text)
    }

    /// Returns the number of the constant with these rules. The constants of their parts come before it.
    fn number(&mut self, rules: &'static Rules) -> usize {
        if let Some(number) = self.written.iter().position(|written| *written == rules) {
            return number;
        }
        let fields = self.fields(rules);
        let number = self.written.len();
        self.written.push(rules);
        let _ = writeln!(self.text, "static R{number}: Rules = Rules {{ {fields}..Rules::ANY }};");
        number
    }

    /// Returns the fields with another value than in [`Rules::ANY`], each with a comma after it.
    fn fields(&mut self, rules: &'static Rules) -> String {
        let mut fields = String::new();
        let mut field = |is_set: bool, name: &str, value: String| {
            if is_set {
                let _ = write!(fields, "{name}: {value}, ");
            }
        };
        let types = rules.types.iter().map(|one| format!("JsonType::{one:?}"));
        field(!rules.types.is_empty(), "types", list(types));
        let any_of: Vec<String> = rules.any_of.iter().map(|one| format!("&R{}", self.number(one))).collect();
        field(!rules.any_of.is_empty(), "any_of", list(any_of));
        field(!rules.words.is_empty(), "words", format!("&{:?}", rules.words));
        field(rules.minimum_length > 0, "minimum_length", rules.minimum_length.to_string());
        field(rules.is_variable, "is_variable", "true".to_owned());
        field(rules.minimum.is_some(), "minimum", format!("{:?}", rules.minimum));
        field(rules.maximum.is_some(), "maximum", format!("{:?}", rules.maximum));
        if let Some(items) = rules.items {
            let number = self.number(items);
            field(true, "items", format!("Some(&R{number})"));
        }
        field(rules.minimum_items > 0, "minimum_items", rules.minimum_items.to_string());
        field(!rules.required.is_empty(), "required", format!("&{:?}", rules.required));
        let properties: Vec<String> = rules.properties.iter().map(|known| self.property(known)).collect();
        field(!rules.properties.is_empty(), "properties", list(properties));
        match rules.other_properties {
            OtherProperties::Any => {}
            OtherProperties::None => field(true, "other_properties", "OtherProperties::None".to_owned()),
            OtherProperties::Fit(rules) => {
                let number = self.number(rules);
                field(true, "other_properties", format!("OtherProperties::Fit(&R{number})"));
            }
        }
        fields
    }

    fn property(&mut self, known: &Property) -> String {
        format!("Property {{ name: {:?}, rules: &R{} }}", known.name, self.number(known.rules))
    }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("&[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}
