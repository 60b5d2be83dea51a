//! A schema reduced to the needs of the stored form, for a fast walk.

use serde_json::Value;

/// The form of a value.
#[derive(Debug)]
pub(super) enum Shape {
    /// Anything: keys are sorted, nothing else.
    Any,
    /// A boolean or a number.
    Scalar,
    /// A string; null means the empty string in a list or map.
    Text,
    /// A number with a suffix, such as `500m`.
    Quantity,
    /// A list of values of one form.
    List(Box<Shape>),
    /// A map from free keys.
    Map(Box<Shape>),
    /// A map with known fields, sorted by name.
    Object(Vec<Field>),
}

/// One known field.
#[derive(Debug)]
pub(super) struct Field {
    /// Key in the object.
    pub(super) name: String,
    /// True when it is not stored while it is zero or empty.
    pub(super) omit_zero: bool,
    /// The form of its value.
    pub(super) shape: Shape,
}

/// The shape of an unknown field.
pub(super) static ANY: Shape = Shape::Any;

impl Shape {
    /// Reads a schema of `schema/`, with the shared definitions that its `$ref`s name.
    pub(super) fn from_schema(schema: &Value, shared: &Value) -> Shape {
        let find = |name: &str| keyword(schema, shared, name);
        let nested = |schema: &Value| Shape::from_schema(schema, shared);
        if is_set(schema, shared, "x-quantity") {
            return Shape::Quantity;
        }
        if let Some(properties) = find("properties").and_then(Value::as_object) {
            let mut fields: Vec<Field> = properties
                .iter()
                .map(|(name, schema)| Field {
                    name: name.clone(),
                    omit_zero: is_set(schema, shared, "x-omit-zero"),
                    shape: nested(schema),
                })
                .collect();
            fields.sort_by(|left, right| left.name.cmp(&right.name));
            return Shape::Object(fields);
        }
        if let Some(items) = find("items") {
            return Shape::List(Box::new(nested(items)));
        }
        if let Some(values) = find("additionalProperties").filter(|values| values.is_object()) {
            return Shape::Map(Box::new(nested(values)));
        }
        let types = find("type").and_then(Value::as_array);
        let takes = |name: &str| types.is_some_and(|types| types.iter().any(|known| known == name));
        if takes("boolean") || takes("integer") {
            Shape::Scalar
        } else if takes("string") {
            Shape::Text
        } else {
            Shape::Any
        }
    }

    /// Returns the field of a name.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        let Shape::Object(fields) = self else { return None };
        let index = fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok()?;
        fields.get(index)
    }
}

/// Returns the value of a keyword of a schema, or else of the definition that the schema names.
fn keyword<'s>(schema: &'s Value, shared: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get(name).or_else(|| shared.get(schema.get("$ref")?.as_str()?)?.get(name))
}

fn is_set(schema: &Value, shared: &Value, name: &str) -> bool {
    keyword(schema, shared, name) == Some(&Value::Bool(true))
}
