//! A check of a node against a schema in JSON, without a compiled form.
//!
//! To compile the schemas of the policies takes longer than the rest of a run on a small workspace. [`plainly_fits`] needs no preparation:
//! it walks the schema and the node together. It implements the keywords that the schemas of the policies have. Every other keyword, every
//! fraction in place of a whole number and every key other than a string is left to [`Schema`](super::Schema), which also reports mismatches.

use serde_json::{Map, Value};

use super::VARIABLE;
use crate::full::MAXIMUM_DEPTH;
use crate::tree::{NodeRef, NodeValue};

/// The most schemas inside of each other: for each node of a branch, its field, its definition and an alternative.
const MAXIMUM_NESTING: usize = 4 * MAXIMUM_DEPTH;

/// The keywords without an effect on a check.
const ANNOTATIONS: [&str; 7] = ["$defs", "$schema", "default", "description", "examples", "title", "writeOnly"];

/// Whether a node fits a schema for sure. If false, [`Schema::fits`](super::Schema::fits) decides.
///
/// `schema` is the whole document: a `$ref` names one of its `$defs`. The time is linear in the size of the node, and the walk ends at a
/// fixed depth.
pub fn plainly_fits(schema: &Value, node: NodeRef<'_>) -> bool {
    Walk { definitions: schema.get("$defs") }.fits(schema, node, MAXIMUM_NESTING)
}

/// The walk over a schema and a node.
struct Walk<'s> {
    definitions: Option<&'s Value>,
}

impl<'s> Walk<'s> {
    /// Whether a node fits a schema with at most `depth` schemas inside of each other.
    fn fits(&self, schema: &Value, node: NodeRef<'_>, depth: usize) -> bool {
        let (Some(keywords), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return false };
        keywords.iter().all(|(keyword, value)| match keyword.as_str() {
            "$ref" => self.definition(value).is_some_and(|definition| self.fits(definition, node, depth)),
            "anyOf" => list(value).iter().any(|schema| self.fits(schema, node, depth)),
            "items" => !node.is_seq() || node.items().all(|item| self.fits(value, item, depth)),
            "properties" => {
                let fits = |name: &str, field| value.get(name).is_none_or(|schema| self.fits(schema, field, depth));
                each_field(node, fits)
            }
            "additionalProperties" => each_field(node, |name, field| {
                is_named(keywords, name) || *value == Value::Bool(true) || self.fits(value, field, depth)
            }),
            keyword => fits_value(keyword, value, node),
        })
    }

    fn definition(&self, reference: &Value) -> Option<&'s Value> {
        self.definitions?.get(reference.as_str()?.strip_prefix("#/$defs/")?)
    }
}

/// Whether a node fits a keyword without schemas in it.
fn fits_value(keyword: &str, value: &Value, node: NodeRef<'_>) -> bool {
    match keyword {
        "type" => has_type(node, value) || list(value).iter().any(|name| has_type(node, name)),
        "const" => is_text(node, value),
        "enum" => list(value).iter().any(|word| is_text(node, word)),
        "required" => {
            let has = |name: &Value| name.as_str().is_some_and(|name| node.get(name).is_some());
            !node.is_map() || list(value).iter().all(has)
        }
        "minItems" => !node.is_seq() || is_at_least(node.items().count(), value),
        "minLength" => node.as_str().is_none_or(|text| is_at_least(text.chars().count(), value)),
        "pattern" => node.as_str().is_none_or(|text| value == VARIABLE && is_variable(text)),
        "minimum" => is_bounded(node, value, |number, limit| number >= limit),
        "maximum" => is_bounded(node, value, |number, limit| number <= limit),
        _ => ANNOTATIONS.contains(&keyword),
    }
}

/// Returns the items of a list; a value of another type has none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether a node is not a map, or each of its fields passes.
fn each_field<'t>(node: NodeRef<'t>, passes: impl Fn(&str, NodeRef<'t>) -> bool) -> bool {
    !node.is_map() || node.entries().all(|(key, field)| key.as_str().is_some_and(|name| passes(name, field)))
}

/// Whether a schema has a property of a name.
fn is_named(keywords: &Map<String, Value>, name: &str) -> bool {
    keywords.get("properties").is_some_and(|properties| properties.get(name).is_some())
}

fn has_type(node: NodeRef<'_>, name: &Value) -> bool {
    match node.value() {
        NodeValue::Null => name == "null",
        NodeValue::Bool(_) => name == "boolean",
        NodeValue::Int(_) => name == "integer",
        NodeValue::Float(_) => false,
        NodeValue::Str(_) => name == "string",
        NodeValue::Seq(_) => name == "array",
        NodeValue::Map(_) => name == "object",
    }
}

fn is_text(node: NodeRef<'_>, expected: &Value) -> bool {
    node.as_str().is_some_and(|text| expected == text)
}

fn is_at_least(count: usize, limit: &Value) -> bool {
    limit.as_u64().is_some_and(|limit| count as u64 >= limit)
}

fn is_bounded(node: NodeRef<'_>, limit: &Value, holds: fn(i64, i64) -> bool) -> bool {
    match node.value() {
        NodeValue::Int(number) => limit.as_i64().is_some_and(|limit| holds(number, limit)),
        NodeValue::Float(_) => false,
        _ => true,
    }
}

/// Whether a text matches [`VARIABLE`].
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && !name.contains(['{', '}']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diag::{FileId, Span};
    use crate::schema::Schema;
    use crate::{Tree, from_json};

    /// A schema with each keyword.
    fn schema() -> Value {
        json!({
            "$defs": { "Port": { "type": ["integer", "string"], "minimum": 1, "maximum": 65_535, "pattern": VARIABLE } },
            "title": "Service",
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "name"],
            "properties": {
                "kind": { "const": "Service" },
                "name": { "type": "string", "minLength": 2 },
                "policy": { "enum": ["Always", "Never"], "default": "Never" },
                "ports": { "type": "array", "items": { "$ref": "#/$defs/Port", "description": "A port." }, "minItems": 2 },
                "count": { "type": "integer" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "data": { "type": "object", "additionalProperties": true },
                "enabled": { "type": "boolean" },
                "nothing": { "type": "null" },
                "owner": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }
            }
        })
    }

    /// Each field with values that fit, and with values that do not.
    fn values() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
        let port = |port: Value| json!([80, port]);
        let fitting = [json!(1), json!(65_535), json!("{a}"), json!("{\u{e9}\n}")].map(port).to_vec();
        let texts = ["", "5", "{}", "{a", "a}", "{a}{b}", "x{a}", "{a}\n", "{{a}}"].map(Value::from);
        let others = [
            json!(0),
            json!(65_536),
            json!(-1),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1.5),
            json!(null),
            json!([80]),
        ];
        vec![
            ("kind", vec![json!("Service")], vec![json!("service"), json!(null), json!(["Service"])]),
            (
                "name",
                vec![json!("ab"), json!("\u{e9}\u{1f600}")],
                vec![json!("a"), json!("\u{1f600}"), json!(12), json!(true), json!(null)],
            ),
            ("policy", vec![json!("Always")], vec![json!("always"), json!("Always "), json!(null), json!(true)]),
            (
                "ports",
                fitting,
                texts.into_iter().chain(others).map(port).chain([json!([]), json!([80]), json!({})]).collect(),
            ),
            ("count", vec![json!(-7)], vec![json!(1.5), json!(true), json!("1")]),
            (
                "labels",
                vec![json!({}), json!({"a": ""})],
                vec![json!({"a": 1}), json!({"a": "b", "c": null}), json!([])],
            ),
            ("data", vec![json!({"a": [1, null]})], vec![json!("a")]),
            ("enabled", vec![json!(false)], vec![json!("false"), json!(0), json!(null)]),
            ("nothing", vec![json!(null)], vec![json!(""), json!({}), json!(0), json!(false)]),
            ("owner", vec![json!("a"), json!(["a"]), json!([])], vec![json!([1]), json!({}), json!(null)]),
            ("other", vec![], vec![json!(null)]),
        ]
    }

    fn answers(document: &Value) -> (bool, bool) {
        let tree = from_json(document);
        let root = tree.document(0).unwrap();
        (plainly_fits(&schema(), root), Schema::compile(schema()).unwrap().fits(root))
    }

    #[test]
    fn every_keyword_is_checked() {
        let base = json!({"kind": "Service", "name": "ab"});
        assert_eq!(answers(&base), (true, true));
        for (field, fitting, others) in values() {
            for (value, fits) in
                fitting.iter().map(|value| (value, true)).chain(others.iter().map(|value| (value, false)))
            {
                let mut document = base.clone();
                document[field] = value.clone();
                assert_eq!(answers(&document), (fits, fits), "{document}");
            }
        }
        for document in [json!({"kind": "Service"}), json!({"name": "ab"}), json!([]), json!(null), json!("")] {
            assert_eq!(answers(&document), (false, false), "{document}");
        }
    }

    /// `Schema` accepts these documents.
    #[test]
    fn the_rest_is_left_to_the_schema() {
        let base = json!({"kind": "Service", "name": "ab"});
        for (field, value) in [("ports", json!([80, 1.0])), ("count", json!(1.0))] {
            let mut document = base.clone();
            document[field] = value;
            assert_eq!(answers(&document), (false, true), "{document}");
        }
        for (schema, value) in [
            (json!({ "minimum": 1 }), json!(1.5)),
            (json!({ "maximum": 1 }), json!(0.5)),
            (json!({ "maxLength": 5 }), json!("a")),
            (json!({ "not": false }), json!("a")),
            (json!({ "pattern": "a" }), json!("{a}")),
            (json!({ "const": 1 }), json!(1)),
            (json!({ "enum": [null] }), json!(null)),
            (json!({ "$ref": "#/$defs/A" }), json!("a")),
            (json!(true), json!("a")),
        ] {
            assert!(!plainly_fits(&schema, from_json(&value).document(0).unwrap()), "{schema}");
        }
    }

    #[test]
    fn keys_are_strings() {
        let mut tree = Tree::new(FileId::default());
        let (key, value) = (tree.add_int(1, Span::default()), tree.add_int(1, Span::default()));
        let map = tree.add_map(Span::default());
        tree.set_entries(map, &[(key, value)]);
        tree.add_document(map);
        assert!(!plainly_fits(&json!({ "additionalProperties": true }), tree.document(0).unwrap()));
    }

    #[test]
    fn a_walk_ends() {
        let recursive = json!({
            "$defs": { "Map": { "additionalProperties": { "$ref": "#/$defs/Map" } }, "Self": { "$ref": "#/$defs/Self" } },
            "$ref": "#/$defs/Map",
        });
        let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
        let fits = |depth: usize| plainly_fits(&recursive, from_json(&nested(depth)).document(0).unwrap());
        assert!(fits(MAXIMUM_DEPTH), "a text cannot be deeper");
        assert!(!fits(2_000));
        let endless = json!({ "$defs": recursive["$defs"], "$ref": "#/$defs/Self" });
        assert!(!plainly_fits(&endless, from_json(&json!({})).document(0).unwrap()));
    }

    /// The time is linear: a square of the number of fields would be 40 thousand million steps.
    #[test]
    fn wide_documents_are_fast() {
        let fields = (0..200_000).map(|number| (format!("label-{number}"), json!("a"))).collect();
        let document = json!({"kind": "Service", "name": "ab", "labels": Value::Object(fields)});
        let tree = from_json(&document);
        assert!(plainly_fits(&schema(), tree.document(0).unwrap()));
    }
}
