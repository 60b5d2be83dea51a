//! A schema reduced to the needs of the stored form, for a fast walk.

use bailiwick_yaml::NodeRef;

/// The form of a value.
#[derive(Debug, Default)]
pub(super) enum Shape {
    /// Anything: keys are sorted, nothing else.
    #[default]
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
    pub(super) fn from_schema(schema: NodeRef<'_>, shared: NodeRef<'_>) -> Shape {
        let find = |name: &str| keyword(schema, shared, name);
        let nested = |schema: NodeRef<'_>| Shape::from_schema(schema, shared);
        if is_set(schema, shared, "x-quantity") {
            return Shape::Quantity;
        }
        if let Some(properties) = find("properties") {
            let field = |(name, schema): (NodeRef<'_>, NodeRef<'_>)| Field {
                name: name.as_key().to_owned(),
                omit_zero: is_set(schema, shared, "x-omit-zero"),
                shape: nested(schema),
            };
            let mut fields: Vec<Field> = properties.entries().map(field).collect();
            fields.sort_by(|left, right| left.name.cmp(&right.name));
            return Shape::Object(fields);
        }
        if let Some(items) = find("items") {
            return Shape::List(Box::new(nested(items)));
        }
        if let Some(values) = find("additionalProperties").filter(|values| values.is_map()) {
            return Shape::Map(Box::new(nested(values)));
        }
        let types = find("type");
        let takes = |name: &str| types.is_some_and(|types| types.items().any(|known| known.as_str() == Some(name)));
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
fn keyword<'t>(schema: NodeRef<'t>, shared: NodeRef<'t>, name: &str) -> Option<NodeRef<'t>> {
    schema.get(name).or_else(|| shared.get(schema.get("$ref")?.as_str()?)?.get(name))
}

fn is_set(schema: NodeRef<'_>, shared: NodeRef<'_>, name: &str) -> bool {
    keyword(schema, shared, name).and_then(NodeRef::as_bool) == Some(true)
}
