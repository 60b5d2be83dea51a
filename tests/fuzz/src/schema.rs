//! Values that fit a JSON Schema, chosen by the bytes of the fuzzer.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

use crate::TEXTS;

/// How deep a value may be nested.
const MAXIMUM_DEPTH: usize = 9;

/// Generates a value for `schema`; `root` is the document that `$ref` points into. One choice in 64 ignores the schema, so
/// that values of a wrong type occur too.
///
/// # Errors
/// When the bytes of the fuzzer end.
pub fn value(root: &Value, schema: &Value, depth: usize, input: &mut Unstructured<'_>) -> Result<Value> {
    if depth > MAXIMUM_DEPTH || input.is_empty() {
        return Ok(Value::Null);
    }
    if input.ratio(1_u8, 64)? {
        return any(depth, input);
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(pointer.trim_start_matches('#')).unwrap_or(&Value::Null);
        return value(root, target, depth + 1, input);
    }
    if let Some(constant) = schema.get("const") {
        return Ok(constant.clone());
    }
    for key in ["enum", "oneOf", "anyOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array).filter(|choices| !choices.is_empty()) {
            let choice = input.choose(choices)?;
            return if key == "enum" { Ok(choice.clone()) } else { value(root, choice, depth + 1, input) };
        }
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let mut whole = Map::new();
        for part in parts {
            if let Value::Object(map) = value(root, part, depth + 1, input)? {
                whole.extend(map);
            }
        }
        return Ok(Value::Object(whole));
    }
    match type_of(schema, input)? {
        "object" => object(root, schema, depth, input),
        "array" => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            let count = input.int_in_range(0..=3)?;
            (0..count).map(|_| value(root, items, depth + 1, input)).collect::<Result<Vec<_>>>().map(Value::Array)
        }
        "integer" => Ok(json!(input.int_in_range(-2..=70_000_i64)?)),
        "number" => Ok(json!(f64::from(input.arbitrary::<i16>()?) / 4.0)),
        "boolean" => Ok(Value::Bool(input.arbitrary()?)),
        "null" => Ok(Value::Null),
        _ => text(input).map(Value::String),
    }
}

fn type_of<'s>(schema: &'s Value, input: &mut Unstructured<'_>) -> Result<&'s str> {
    Ok(match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) if !names.is_empty() => input.choose(names)?.as_str().unwrap_or("string"),
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    })
}

fn object(root: &Value, schema: &Value, depth: usize, input: &mut Unstructured<'_>) -> Result<Value> {
    let mut map = Map::new();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_required = required.iter().any(|known| known == name);
        if (is_required && !input.ratio(1_u8, 64)?) || (!is_required && input.ratio(2_u8, 5)?) {
            map.insert(name.clone(), value(root, property, depth + 1, input)?);
        }
    }
    let additional = schema.get("additionalProperties");
    if let Some(additional) = additional.filter(|schema| schema.is_object() || **schema == Value::Bool(true)) {
        for _ in 0..input.int_in_range(0..=2)? {
            map.insert(text(input)?, value(root, additional, depth + 1, input)?);
        }
    } else if input.ratio(1_u8, 64)? {
        map.insert(text(input)?, any(depth, input)?);
    }
    Ok(Value::Object(map))
}

/// Generates a text: mostly one of [`TEXTS`], sometimes two of them joined, sometimes any.
///
/// # Errors
/// When the bytes of the fuzzer end.
pub fn text(input: &mut Unstructured<'_>) -> Result<String> {
    Ok(match input.int_in_range(0..=9)? {
        0 => input.arbitrary::<&str>()?.chars().take(300).collect(),
        1 => format!("{}{}", input.choose(TEXTS)?, input.choose(TEXTS)?),
        _ => (*input.choose(TEXTS)?).to_owned(),
    })
}

/// Generates any JSON value.
///
/// # Errors
/// When the bytes of the fuzzer end.
pub fn any(depth: usize, input: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match input.int_in_range(0..=if depth < MAXIMUM_DEPTH { 6 } else { 4 })? {
        0 => Value::Null,
        1 => Value::Bool(input.arbitrary()?),
        2 => json!(input.arbitrary::<i64>()?),
        3 | 4 => Value::String(text(input)?),
        5 => {
            let count = input.int_in_range(0..=3)?;
            Value::Array((0..count).map(|_| any(depth + 1, input)).collect::<Result<_>>()?)
        }
        _ => {
            let count = input.int_in_range(0..=3)?;
            let entry = |_| Ok((text(input)?, any(depth + 1, input)?));
            Value::Object((0..count).map(entry).collect::<Result<_>>()?)
        }
    })
}
