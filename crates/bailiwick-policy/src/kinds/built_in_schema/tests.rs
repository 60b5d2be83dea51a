//! Compares the rules of each schema with its published form, compiled by the crate `jsonschema`.

mod generate;
mod keywords;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bailiwick_yaml::diag::{Files, Sink};
use bailiwick_yaml::schema::{Schema, to_json};
use bailiwick_yaml::{NodeRef, NodeValue, from_json, read};
use serde_json::{Map, Value, json};

use self::generate::{Source, rules_of};
use super::BuiltInSchema;
use super::rules::Rules;
use crate::kinds::{ALL, WORKSPACE_SCHEMA, stack};

/// The keywords that change the answer of a check.
const KEYWORDS: [&str; 13] = [
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
];

/// A schema in both forms.
struct Forms {
    name: &'static str,
    rules: &'static Rules,
    published: Value,
    compiled: Schema,
}

/// Returns every schema.
fn all() -> Vec<Forms> {
    let kinds = ALL.iter().map(|entry| &entry.schema);
    let schemas = kinds.chain([&WORKSPACE_SCHEMA, &stack::APP_SCHEMA, &stack::METADATA_SCHEMA]);
    let forms = |schema: &BuiltInSchema| {
        let published = schema.document();
        let compiled = Schema::compile(published.clone()).unwrap();
        Forms { name: schema.name, rules: schema.rules().map_or(&Rules::ANY, |rules| rules), published, compiled }
    };
    schemas.map(forms).collect()
}

impl Forms {
    /// Asserts that both forms give the same answer; returns the answer. Only the published form accepts fractions.
    fn check(&self, root: NodeRef<'_>) -> bool {
        let (is_plain, fits) = (self.rules.fit(root), self.compiled.fits(root));
        assert!(!is_plain || fits, "{}: only the rules accept {}", self.name, to_json(root));
        assert!(is_plain || !fits || has_fraction(root), "{}: the rules refuse {}", self.name, to_json(root));
        fits
    }
}

fn has_fraction(node: NodeRef<'_>) -> bool {
    let is_fraction = matches!(node.value(), NodeValue::Float(_));
    is_fraction || node.items().any(has_fraction) || node.entries().any(|(_, field)| has_fraction(field))
}

/// Calls a function with each schema inside of a schema.
fn each_schema(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Some(keywords) = schema.as_object_mut() else { return };
    visit(keywords);
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "items" | "additionalProperties" => each_schema(value, visit),
            "properties" => {
                value.as_object_mut().unwrap().values_mut().for_each(|schema| each_schema(schema, visit));
            }
            "anyOf" => value.as_array_mut().unwrap().iter_mut().for_each(|schema| each_schema(schema, visit)),
            _ => {}
        }
    }
}

/// `UPDATE=1` writes the file with the rules.
#[test]
fn the_rules_are_generated_from_the_published_forms() {
    let all = all();
    let generated: Vec<_> = all.iter().map(|forms| (forms.name, rules_of(&forms.published).unwrap())).collect();
    if std::env::var_os("UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kinds/built_in_schema/rules.in");
        return std::fs::write(path, Source::of(&generated)).unwrap();
    }
    for (forms, (name, rules)) in all.iter().zip(generated) {
        assert!(forms.rules == rules, "{name}: UPDATE=1 writes the rules");
    }
}

/// Builds a document with every field: each map once with all of its fields, and then with the required ones.
fn sample(schema: &Value, seen: &mut BTreeSet<String>) -> Value {
    if let Some(word) = schema.get("const").or(schema.pointer("/enum/0")).cloned() {
        return word;
    }
    if let Some(first) = schema.pointer("/anyOf/0") {
        return sample(first, seen);
    }
    let types = schema["type"].as_array().map_or(vec![&schema["type"]], |types| types.iter().collect());
    let type_name = types.iter().filter_map(|name| name.as_str()).find(|name| *name != "string");
    match type_name {
        Some("array") => json!([sample(&schema["items"], seen)]),
        Some("boolean") => json!(true),
        Some("integer") => schema.get("minimum").map_or(json!(5), Value::clone),
        Some("object") => {
            let is_whole = seen.insert(schema.to_string());
            let required: BTreeSet<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let properties = schema["properties"].as_object().into_iter().flatten();
            let properties = properties.filter(|(name, _)| is_whole || required.contains(name.as_str()));
            let mut fields: Map<String, Value> =
                properties.map(|(name, field)| (name.clone(), sample(field, seen))).collect();
            if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
                fields.insert("some-key".to_owned(), sample(values, seen));
            }
            Value::Object(fields)
        }
        _ => json!("text"),
    }
}

/// Adds the JSON pointer of each value of a document.
fn pointers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| pointers(value, &format!("{pointer}/{}", escaped(key)), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{pointer}/{index}"), found));
        }
        _ => {}
    }
}

/// Returns values in place of a value: of each type, at the bounds of all schemas, and small changes of the value itself.
fn mutated(value: &Value) -> Vec<Value> {
    let numbers = [-1, 0, 1, 2, 1500, 1501, 4096, 4097, 65_535, 65_536, i64::MAX, i64::MIN];
    let mut all: Vec<Value> = numbers.into_iter().map(Value::from).collect();
    all.extend([json!(1.0), json!(1.5), json!(-0.0), json!(1e300), json!(u64::MAX), json!(null), json!(true)]);
    let texts = ["", " ", "\u{301}", "\u{1f600}", "5", "{uid}", "{}", "{a}{b}", "x{a}", "{a}\n", "{a", "{\u{e9}\n}"];
    all.extend(texts.into_iter().map(Value::from));
    all.extend([json!([]), json!([null]), json!(["", ""]), json!({}), json!({"": null}), json!({"unknown": {}})]);
    match value {
        Value::String(text) => {
            all.extend([text.to_uppercase(), format!("{text} "), format!("{text}x")].map(Value::from));
            all.push(json!([text]));
        }
        Value::Array(items) => {
            all.extend([json!(items.iter().chain(items).collect::<Vec<_>>()), json!({"0": items.first()})]);
        }
        Value::Object(fields) => {
            for name in fields.keys() {
                let others =
                    || fields.iter().filter(|(other, _)| *other != name).map(|(key, value)| (key.clone(), value));
                let renamed = [format!("{name}x"), name.to_uppercase()].map(|key| (key, &fields[name]));
                all.push(json!(others().collect::<BTreeMap<_, _>>()));
                all.extend(renamed.map(|renamed| json!(others().chain([renamed]).collect::<BTreeMap<_, _>>())));
            }
            all.push(json!([fields]));
        }
        _ => {}
    }
    all
}

/// Calls a function with a document and with each of its mutations, of which each value gets every `step`th.
fn each_mutation(document: &Value, step: usize, mut visit: impl FnMut(&Value)) {
    visit(document);
    let mut found = Vec::new();
    pointers(document, "", &mut found);
    for (number, pointer) in found.iter().enumerate() {
        for new in mutated(document.pointer(pointer).unwrap()).into_iter().skip(number % step).step_by(step) {
            let mut changed = document.clone();
            *changed.pointer_mut(pointer).unwrap() = new;
            visit(&changed);
        }
    }
}

/// Returns the keywords of a schema, each with the form of a check that ignores the keyword. A bound has a second form, where it is
/// weaker by one.
fn weakened(schema: &Value) -> Vec<(String, &'static Rules)> {
    let mut all = Vec::new();
    let mut add = |name: String, change: &dyn Fn(&mut Map<String, Value>)| {
        let mut weaker = schema.clone();
        each_schema(&mut weaker, &mut |keywords| change(keywords));
        if weaker != *schema {
            all.push((name, rules_of(&weaker).unwrap()));
        }
    };
    for keyword in KEYWORDS {
        add(keyword.to_owned(), &|keywords| match keywords.get_mut(keyword) {
            // The names count for `additionalProperties`.
            Some(Value::Object(properties)) if keyword == "properties" => {
                properties.values_mut().for_each(|schema| *schema = json!({}));
            }
            _ => drop(keywords.remove(keyword)),
        });
    }
    for (bound, change) in [("minItems", -1), ("minLength", -1), ("minimum", -1), ("maximum", 1)] {
        add(format!("{bound} by one"), &|keywords| {
            if let Some(value) = keywords.get_mut(bound) {
                *value = json!(value.as_i64().unwrap() + change);
            }
        });
    }
    all
}

/// The two forms agree about a document with every field, and about each mutation of it; a check that ignores a keyword, or that has a bound
/// wrong by one, is seen in each kind.
#[test]
fn the_forms_agree_about_every_mutation() {
    for forms in all() {
        let document = sample(&forms.published, &mut BTreeSet::new());
        assert!(forms.check(from_json(&document).document(0).unwrap()), "{}: {document}", forms.name);
        let mut unseen = weakened(&forms.published);
        let (mut fitting, mut others) = (0, 0);
        each_mutation(&document, 1, |document| {
            let tree = from_json(document);
            let root = tree.document(0).unwrap();
            if forms.check(root) {
                fitting += 1;
            } else {
                others += 1;
                unseen.retain(|(_, weaker)| !weaker.fit(root));
            }
        });
        assert!(fitting > 10 && others > 500, "{}: {fitting} fit, {others} do not", forms.name);
        let unseen: Vec<String> = unseen.into_iter().map(|(keyword, _)| keyword).collect();
        assert!(unseen.is_empty(), "{}: changes without an effect: {unseen:?}", forms.name);
    }
}

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            found.push(path);
        }
    }
}

/// The two forms agree about every policy and every workspace file of the repository and of its cases, and about mutations of the
/// repository's own.
#[test]
fn the_forms_agree_about_every_policy_of_the_repository() {
    let all = all();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    ["policies", "tests/cases", "tests/hostile"].iter().for_each(|folder| yaml_files(&root.join(folder), &mut paths));
    paths.push(root.join("bailiwick.yaml"));
    let (mut fitting, mut others) = (BTreeSet::new(), 0);
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let files = Files::new();
        let file = files.add("policy.yaml", text.as_str());
        let tree = read(&text, file, &mut Sink::new());
        for document in tree.documents().filter(|document| document.text_at("apiVersion") == super::API_VERSION) {
            let kind = document.text_at("kind");
            let Some(forms) = all.iter().find(|forms| forms.name == kind) else { continue };
            if forms.check(document) {
                fitting.insert(forms.name);
            } else {
                others += 1;
            }
            if path.starts_with(root.join("policies")) {
                each_mutation(&to_json(document), 7, |changed| {
                    forms.check(from_json(changed).document(0).unwrap());
                });
            }
        }
    }
    assert!(fitting.len() == ALL.len() + 1 && others > 20, "{fitting:?}, {others}");
}
