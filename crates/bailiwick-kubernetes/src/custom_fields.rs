//! The fields of custom resources, by the schema of their definition.
//!
//! A structural schema (`openAPIV3Schema` of a CustomResourceDefinition) becomes a JSON Schema with the rejections of
//! the API server (k8s.io/apiextensions-apiserver v0.37.2). Unknown fields are errors, as in strict decoding, rather
//! than pruned. Types, required fields without a default, words, patterns, lengths and bounds are checked. A null
//! value of a field is absent, because the server prunes it.
//!
//! Left out on purpose: `x-kubernetes-validations`, `allOf`, `anyOf`, `oneOf`, `not`, `format`, `multipleOf` and
//! `uniqueItems`, and the fields of the metadata of embedded objects. A pattern unsupported by the crate `jsonschema`,
//! such as one with `(?i)`, is left out too.

mod pattern;

use crate::absent;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use self::pattern::from_go;
use bailiwick_yaml::schema::{Problem, Schema, to_json};
use bailiwick_yaml::{NodeId, NodeRef, Tree};

/// The fields of a custom resource at one version.
#[derive(Debug)]
pub struct CustomFields {
    api_version: String,
    kind: String,
    tree: Arc<Tree>,
    schema: NodeId,
    /// Whether the server prunes unknown fields: always, except for definitions of v1beta1 without a request for it.
    is_closed: bool,
    compiled: OnceLock<Option<Schema>>,
    /// The schemas of the fields of each object in the schema, by name.
    properties: OnceLock<HashMap<NodeId, HashMap<String, NodeId>>>,
}

impl CustomFields {
    /// Reads the versions of a definition with a schema. Other objects have none.
    pub fn read(tree: &Arc<Tree>, object: NodeRef<'_>) -> Vec<CustomFields> {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        let is_definition = text(&["kind"]) == Some("CustomResourceDefinition");
        let definition = text(&["apiVersion"]).filter(|_| is_definition);
        let Some(definition) = definition.and_then(|version| version.strip_prefix("apiextensions.k8s.io/")) else {
            return Vec::new();
        };
        let (Some(group), Some(kind)) = (text(&["spec", "group"]), text(&["spec", "names", "kind"])) else {
            return Vec::new();
        };
        let preserves = object.path(&["spec", "preserveUnknownFields"]).and_then(NodeRef::as_bool);
        // `preserveUnknownFields` is true by default in v1beta1 alone
        // (`pkg/apis/apiextensions/v1beta1/defaults.go` of k8s.io/apiextensions-apiserver).
        let is_closed = match preserves {
            Some(preserves) => !preserves,
            None => definition != "v1beta1",
        };
        // v1beta1 may have one schema for all versions, and one version without a list.
        let common = object.path(&["spec", "validation", "openAPIV3Schema"]);
        let listed = object.path(&["spec", "versions"]).into_iter().flat_map(NodeRef::items);
        let listed = listed.filter_map(|version| {
            let name = version.get("name")?.as_str()?;
            Some((name, version.path(&["schema", "openAPIV3Schema"]).or(common)?))
        });
        let alone = text(&["spec", "version"]).zip(common);
        let versions: Vec<(&str, NodeRef<'_>)> = listed.chain(alone).collect();
        let fields = versions.into_iter().map(|(version, schema)| CustomFields {
            api_version: format!("{group}/{version}"),
            kind: kind.to_owned(),
            tree: Arc::clone(tree),
            schema: schema.id(),
            is_closed,
            compiled: OnceLock::new(),
            properties: OnceLock::new(),
        });
        fields.collect()
    }

    /// Whether the fields belong to a kind.
    pub fn is_of(&self, api_version: &str, kind: &str) -> bool {
        self.api_version == api_version && self.kind == kind
    }

    /// Returns the `openAPIV3Schema`.
    pub fn schema(&self) -> NodeRef<'_> {
        self.tree.at(self.schema)
    }

    /// Returns a schema inside the `openAPIV3Schema`.
    pub fn schema_at(&self, id: NodeId) -> NodeRef<'_> {
        self.tree.at(id)
    }

    /// Returns the fields of an object, each with its schema, by the schema of the object.
    pub fn properties_of(&self, schema: NodeId) -> Option<&HashMap<String, NodeId>> {
        let all = self.properties.get_or_init(|| {
            let mut all = HashMap::new();
            index_properties(self.schema(), &mut all);
            all
        });
        all.get(&schema)
    }

    /// Returns each unknown field and wrong value of an object outside of its metadata, in the order of the text.
    pub fn problems<'t>(&self, object: NodeRef<'t>) -> Vec<Problem<'t>> {
        let schema = self.compiled.get_or_init(|| {
            let compile = |patterns| {
                let mut conversion = Conversion { is_closed: self.is_closed, patterns };
                Schema::compile_foreign(conversion.object(self.tree.at(self.schema))).ok()
            };
            // A schema with patterns too large to compile together still has its fields.
            compile(0).or_else(|| compile(MOST_PATTERNS))
        });
        schema.as_ref().filter(|schema| !schema.fits(object)).map_or_else(Vec::new, |schema| schema.problems(object))
    }
}

/// Finds the properties of a schema and of the schemas inside it.
fn index_properties(schema: NodeRef<'_>, all: &mut HashMap<NodeId, HashMap<String, NodeId>>) {
    for key in ["items", "additionalProperties"] {
        schema.get(key).filter(|inner| inner.is_map()).into_iter().for_each(|inner| index_properties(inner, all));
    }
    let Some(properties) = schema.get("properties") else { return };
    let mut known = HashMap::new();
    for (name, inner) in properties.entries() {
        known.extend(name.as_str().map(|name| (name.to_owned(), inner.id())));
        index_properties(inner, all);
    }
    all.insert(schema.id(), known);
}

/// The limit of checked patterns in a definition: each costs time to compile.
const MOST_PATTERNS: usize = 2_000;

/// Keywords with a number and the same meaning in both sorts of schema.
const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// The conversion of one definition.
struct Conversion {
    is_closed: bool,
    patterns: usize,
}

impl Conversion {
    /// Returns the schema of a custom resource.
    fn object(&mut self, schema: NodeRef<'_>) -> Value {
        let mut converted = self.value(schema, false);
        converted.as_object_mut().into_iter().for_each(add_identity);
        converted
    }

    /// Returns the schema of a value. `is_pruned` is set for a null pruned by the server: the value of a field without
    /// `nullable`.
    fn value(&mut self, schema: NodeRef<'_>, is_pruned: bool) -> Value {
        let flag = |key: &str| schema.get(key).and_then(NodeRef::as_bool) == Some(true);
        // The default takes the place of a null.
        let is_pruned = (is_pruned || schema.get("default").is_some()) && !flag("nullable");
        let may_be_null = is_pruned || flag("nullable");
        let mut converted = Map::new();
        let types = match schema.get("type").and_then(NodeRef::as_str) {
            _ if flag("x-kubernetes-int-or-string") => vec!["integer", "string"],
            Some(name @ ("object" | "array" | "string" | "integer" | "number" | "boolean")) => vec![name],
            _ => Vec::new(),
        };
        if !types.is_empty() {
            let null = may_be_null.then_some("null");
            converted.insert("type".to_owned(), types.iter().copied().chain(null).collect());
        }
        self.add_fields(schema, &types, &mut converted);
        if let Some(items) = schema.get("items").filter(|items| items.is_map()) {
            converted.insert("items".to_owned(), self.value(items, false));
        }
        if let Some(words) = schema.get("enum").filter(|words| words.is_seq()) {
            let null = is_pruned.then_some(Value::Null);
            converted.insert("enum".to_owned(), words.items().map(to_json).chain(null).collect());
        }
        self.add_bounds(schema, &mut converted);
        if flag("x-kubernetes-embedded-resource") {
            add_identity(&mut converted);
        }
        Value::Object(converted)
    }

    fn add_fields(&mut self, schema: NodeRef<'_>, types: &[&str], converted: &mut Map<String, Value>) {
        let flag = |key: &str| schema.get(key).and_then(NodeRef::as_bool) == Some(true);
        // Defaulting comes before validation.
        let has_default = |name: &str| schema.path(&["properties", name, "default"]).is_some();
        let required = schema.get("required").into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str);
        let required: BTreeSet<&str> = required.filter(|name| !has_default(name)).collect();
        let mut properties = Map::new();
        for (name, field) in schema.get("properties").into_iter().flat_map(NodeRef::entries) {
            let name = absent::text(name.as_str());
            // A pruned required field is missing.
            let field = self.value(field, !required.contains(name));
            properties.insert(name.to_owned(), field);
        }
        let additional = schema.get("additionalProperties");
        let has_fields = !properties.is_empty() || types == ["object"];
        match additional {
            Some(values) if values.is_map() => {
                converted.insert("additionalProperties".to_owned(), self.value(values, true));
            }
            None if has_fields && self.is_closed && !flag("x-kubernetes-preserve-unknown-fields") => {
                converted.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            _ => {}
        }
        if !required.is_empty() {
            converted.insert("required".to_owned(), required.into_iter().collect());
        }
        if !properties.is_empty() {
            converted.insert("properties".to_owned(), Value::Object(properties));
        }
    }

    fn add_bounds(&mut self, schema: NodeRef<'_>, converted: &mut Map<String, Value>) {
        for keyword in BOUNDS {
            if let Some(number) = schema.get(keyword).and_then(NodeRef::as_int).filter(|number| *number >= 0) {
                converted.insert(keyword.to_owned(), Value::from(number));
            }
        }
        for (keyword, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            let Some(bound) = schema.get(keyword).map(to_json).filter(Value::is_number) else { continue };
            let is_exclusive = schema.get(exclusive).and_then(NodeRef::as_bool) == Some(true);
            converted.insert(if is_exclusive { exclusive } else { keyword }.to_owned(), bound);
        }
        let pattern = schema.get("pattern").and_then(NodeRef::as_str).filter(|_| self.patterns < MOST_PATTERNS);
        if let Some(pattern) = pattern {
            self.patterns += 1;
            let is_read = |pattern: &String| Schema::compile_foreign(json!({ "pattern": pattern })).is_ok();
            if let Some(pattern) = from_go(pattern).filter(is_read) {
                converted.insert("pattern".to_owned(), Value::from(pattern));
            }
        }
    }
}

/// Adds the fields common to every object of the API. The server checks the metadata by itself.
fn add_identity(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("apiVersion".to_owned(), json!({ "type": "string" }));
        properties.insert("kind".to_owned(), json!({ "type": "string" }));
        properties.insert("metadata".to_owned(), json!({ "type": ["object", "null"] }));
    }
}
