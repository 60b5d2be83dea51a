//! Compares each keyword of the rules with the crate `jsonschema`.

use bailiwick_yaml::schema::{Schema, VARIABLE};
use bailiwick_yaml::{NodeRef, from_json};
use serde_json::{Value, json};

use super::generate::rules_of;

/// Returns a schema with each keyword.
fn schema() -> Value {
    let port = json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 65_535, "pattern": VARIABLE });
    json!({
        "title": "Service",
        "type": "object",
        "additionalProperties": false,
        "required": ["kind", "name"],
        "properties": {
            "kind": { "const": "Service" },
            "name": { "type": "string", "minLength": 2 },
            "policy": { "enum": ["Always", "Never"], "default": "Never" },
            "ports": { "type": "array", "items": port, "minItems": 2 },
            "count": { "type": "integer" },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "data": { "type": "object", "additionalProperties": true },
            "enabled": { "type": "boolean" },
            "nothing": { "type": "null" },
            "owner": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }
        }
    })
}

/// Returns each field with values that fit, and with values that do not.
fn values() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
    let port = |port: Value| json!([80, port]);
    let fitting = [json!(1), json!(65_535), json!("{a}"), json!("{\u{e9}\n}")].map(port).to_vec();
    let texts = ["", "5", "{}", "{a", "a}", "{a}{b}", "x{a}", "{a}\n", "{{a}}"].map(Value::from);
    let others =
        [json!(0), json!(65_536), json!(-1), json!(i64::MAX), json!(u64::MAX), json!(1.5), json!(null), json!([80])];
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
        ("labels", vec![json!({}), json!({"a": ""})], vec![json!({"a": 1}), json!({"a": "b", "c": null}), json!([])]),
        ("data", vec![json!({"a": [1, null]})], vec![json!("a")]),
        ("enabled", vec![json!(false)], vec![json!("false"), json!(0), json!(null)]),
        ("nothing", vec![json!(null)], vec![json!(""), json!({}), json!(0), json!(false)]),
        ("owner", vec![json!("a"), json!(["a"]), json!([])], vec![json!([1]), json!({}), json!(null)]),
        ("other", vec![], vec![json!(null)]),
    ]
}

fn fits(schema: &Value, node: NodeRef<'_>) -> bool {
    rules_of(schema).unwrap().fit(node)
}

fn answers(document: &Value) -> (bool, bool) {
    let tree = from_json(document);
    let root = tree.document(0).unwrap();
    (fits(&schema(), root), Schema::compile(schema()).unwrap().fits(root))
}

#[test]
fn every_keyword_is_checked() {
    let base = json!({"kind": "Service", "name": "ab"});
    assert_eq!(answers(&base), (true, true));
    for (field, fitting, others) in values() {
        for (value, fits) in fitting.iter().map(|value| (value, true)).chain(others.iter().map(|value| (value, false)))
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
fn fractions_are_left_to_the_schema() {
    let base = json!({"kind": "Service", "name": "ab"});
    for (field, value) in [("ports", json!([80, 1.0])), ("count", json!(1.0))] {
        let mut document = base.clone();
        document[field] = value;
        assert_eq!(answers(&document), (false, true), "{document}");
    }
    for (schema, value) in [(json!({ "minimum": 1 }), json!(1.5)), (json!({ "maximum": 1 }), json!(0.5))] {
        assert!(!fits(&schema, from_json(&value).document(0).unwrap()), "{schema}");
    }
}

#[test]
fn a_schema_with_another_keyword_has_no_rules() {
    for schema in [
        json!({ "maxLength": 5 }),
        json!({ "not": false }),
        json!({ "pattern": "a" }),
        json!({ "const": 1 }),
        json!({ "enum": [null] }),
        json!({ "type": "number" }),
        json!({ "$ref": "#/$defs/A" }),
        json!({ "properties": { "a": { "maxLength": 5 } } }),
        json!(true),
    ] {
        assert_eq!(rules_of(&schema), None, "{schema}");
    }
}

/// The time is linear: a square of the number of fields would be 40 thousand million steps.
#[test]
fn wide_documents_are_fast() {
    let fields = (0..200_000).map(|number| (format!("label-{number}"), json!("a"))).collect();
    let document = json!({"kind": "Service", "name": "ab", "labels": Value::Object(fields)});
    let tree = from_json(&document);
    assert!(fits(&schema(), tree.document(0).unwrap()));
}
