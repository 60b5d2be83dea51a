//! The JSON Schema of the field at a place.

use bailiwick_policy::kinds;
use serde_json::Value;

use super::cursor::Step;

/// Returns the schema at a path of a document of a kind; none for a path without one.
pub(super) fn at_path(kind: &str, path: &[Step]) -> Option<Value> {
    let schema = kinds::schema_of(kind)?;
    path.iter().try_fold(&schema, |schema, step| below(schema, step)).cloned()
}

fn below<'s>(schema: &'s Value, step: &Step) -> Option<&'s Value> {
    match step {
        Step::Item => schema.get("items"),
        Step::Field(name) => {
            let named = schema.get("properties").and_then(|fields| fields.get(name));
            named.or_else(|| schema.get("additionalProperties")).filter(|schema| schema.is_object())
        }
    }
}

/// Returns the description of a schema; empty without one.
pub(super) fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).map_or("", |text| text)
}

/// Returns the fields of a map with their schemas, in the order of the schema.
pub(super) fn fields(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// Returns the words that a value can have; none for another value.
pub(super) fn words(schema: &Value) -> Vec<String> {
    let constant = schema.get("const").into_iter();
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let booleans = ["true", "false"].into_iter().filter(|_| has_type(schema, "boolean"));
    let words = constant.chain(listed).filter_map(Value::as_str).chain(booleans);
    words.map(str::to_owned).collect()
}

/// Whether a schema has a type.
pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(own)) => own == name,
        Some(Value::Array(several)) => several.iter().any(|own| own == name),
        _ => false,
    }
}
