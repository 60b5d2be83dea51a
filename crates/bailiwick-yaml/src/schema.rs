//! JSON Schema over the tree: the crate `jsonschema` walks the nodes in place.
//!
//! A schema reports every mismatch, with the names that would fit; [`Problem`] keeps the facts, and the caller
//! chooses place and code.

use crate::diag::codes;
use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::{Draft, JsonType, PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator};

use super::de::DeError;
use super::limits::LARGEST_PATTERN;
use super::tree::{Entries, Items, NodeRef, NodeValue};
use crate::diag::{Diagnostic, Sink, nearest};

/// The pattern of a text in place of a number.
pub const VARIABLE: &str = "^\\{[^{}]+\\}$";

/// A compiled schema with the document it was compiled from.
#[derive(Debug)]
pub struct Schema {
    validator: Validator<TreeJson>,
    document: serde_json::Value,
}

/// One mismatch between a node and a schema.
#[derive(Debug, Clone)]
pub struct Problem<'t> {
    /// The wrong node: the key of an unknown field, the map without a missing field.
    pub node: NodeRef<'t>,
    /// Key path from the root of the check, such as `spec.rules[0].verbs`; empty for the root.
    pub path: String,
    /// The kind of mismatch.
    pub kind: ProblemKind,
    /// One line, lower case.
    pub message: String,
    /// The remedy, if there is a sensible one.
    pub help: Option<String>,
    /// The path of the field beside an unknown field that should contain it.
    belongs: Option<String>,
}

/// Keywords of JSON Schema without effect in draft 7, and keywords with an effect on others only in later drafts.
pub const LATER_KEYWORDS: [&str; 16] = [
    "$anchor",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$vocabulary",
    "contentSchema",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The kinds of mismatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A field the schema does not know.
    UnknownField,
    /// A field the schema demands.
    MissingField,
    /// A value of another type.
    WrongType,
    /// A value outside a list of words.
    UnknownValue,
    /// Anything else: length, range, pattern.
    OutOfBounds,
}

/// The error of an invalid schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    reason: String,
}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for SchemaError {}

impl Schema {
    /// Compiles a schema.
    ///
    /// The document is read as draft 7 of JSON Schema, whatever it declares: the schemas of this program have no
    /// later keyword ([`LATER_KEYWORDS`]), and the meta-schema of draft 7, compiled as well, is by far the smallest.
    ///
    /// # Errors
    /// The document is not a valid schema.
    pub fn compile(document: serde_json::Value) -> Result<Self, SchemaError> {
        Self::build(jsonschema::options_for::<TreeJson>(), document)
    }

    /// Compiles a schema of another author: its patterns are matched in linear time, and each takes at most
    /// [`LARGEST_PATTERN`].
    ///
    /// # Errors
    /// The document is not a valid schema, or a pattern is too large.
    pub fn compile_foreign(document: serde_json::Value) -> Result<Self, SchemaError> {
        let patterns = PatternOptions::regex().size_limit(LARGEST_PATTERN);
        Self::build(jsonschema::options_for::<TreeJson>().with_pattern_options(patterns), document)
    }

    fn build(
        options: ValidationOptions<'_, Arc<dyn Retrieve>, TreeJson>,
        document: serde_json::Value,
    ) -> Result<Self, SchemaError> {
        let options = options.with_draft(Draft::Draft7).should_validate_formats(false);
        let validator = options.build(&document).map_err(|error| SchemaError { reason: error.to_string() })?;
        Ok(Self { validator, document })
    }

    /// Returns the schema as a document.
    pub fn document(&self) -> &serde_json::Value {
        &self.document
    }

    /// Whether a node fits.
    pub fn fits(&self, node: NodeRef<'_>) -> bool {
        self.validator.is_valid(Instance::Node(node))
    }

    /// Returns every mismatch of a node, in the order of the text.
    pub fn problems<'t>(&self, root: NodeRef<'t>) -> Vec<Problem<'t>> {
        let mut problems = Vec::new();
        for error in self.validator.iter_errors(Instance::Node(root)) {
            self.translate(root, &error, &mut problems);
        }
        let begun: Vec<String> = problems.iter().filter_map(|problem| problem.belongs.clone()).collect();
        // A map without entries next to its entries is the same mistake.
        problems.retain(|problem| !(problem.node.is_null() && begun.contains(&problem.path)));
        problems.sort_by(|left, right| (left.node.span(), &left.message).cmp(&(right.node.span(), &right.message)));
        problems
    }

    /// Reports all problems of a document refused by a typed reader. Its `error`, the first mismatch, is reported
    /// only if the schema finds none.
    pub fn report(&self, root: NodeRef<'_>, error: Option<DeError>, sink: &mut Sink) {
        let problems = self.problems(root);
        if problems.is_empty() {
            let (message, origin) = match error {
                Some(error) => (error.message, error.origin),
                None => ("this document cannot be read".to_owned(), None),
            };
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message);
            sink.push(diagnostic.at_maybe(origin.or_else(|| Some(root.origin()))));
        }
        for problem in problems {
            let code = match problem.kind {
                ProblemKind::UnknownField => codes::UNKNOWN_FIELD,
                ProblemKind::MissingField => codes::MISSING_FIELD,
                ProblemKind::WrongType => codes::WRONG_TYPE,
                ProblemKind::UnknownValue => codes::UNKNOWN_VALUE,
                ProblemKind::OutOfBounds => codes::INVALID_VALUE,
            };
            let is_missing = problem.kind == ProblemKind::MissingField;
            let origin = if is_missing { problem.node.beginning() } else { problem.node.origin() };
            let diagnostic = Diagnostic::error(code, problem.message).at(origin).help_maybe(problem.help);
            sink.push(if problem.path.is_empty() {
                diagnostic
            } else {
                diagnostic.note(format!("at `{}`", problem.path))
            });
        }
    }

    fn translate<'t>(&self, root: NodeRef<'t>, error: &ValidationError<'_>, problems: &mut Vec<Problem<'t>>) {
        let (node, path) = follow(root, error.instance_path().as_str());
        let mut push = |node, path, kind, message, help| {
            problems.push(Problem { node, path, kind, message, help, belongs: None });
        };
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let keyword = error.schema_path();
                let object = keyword.as_str().rsplit_once('/').map_or("", |(object, _)| object);
                let known = self.names_at(object);
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                for name in unexpected {
                    let key = node.entry(name).map_or(node, |(key, _)| key);
                    let mut problem = Problem::unknown_field(key, join(&path, name), name, &known);
                    if nearest(name, known.iter().copied()).is_some() {
                        problems.push(problem);
                        continue;
                    }
                    if let Some(field) = self.field_with(object, name, node) {
                        problem.belongs = Some(join(&path, field));
                        problem.help = Some(format!("`{name}` belongs in `{field}`: write it there, indented deeper"));
                    } else if let Some(above) = self.above_with(object, name) {
                        problem.help = Some(format!("`{name}` belongs in `{above}`: write it there, indented less"));
                    }
                    problems.push(problem);
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = plain(property);
                let message = format!("the field `{name}` is missing");
                push(node, join(&path, &name), ProblemKind::MissingField, message, Some(format!("add `{name}:`")));
            }
            ValidationErrorKind::Type { kind } => {
                let expected: Vec<JsonType> = match kind {
                    TypeKind::Single(one) => vec![*one],
                    TypeKind::Multiple(several) => several.iter().collect(),
                };
                problems.push(Problem::wrong_type(node, path, &expected));
            }
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().into_iter().flatten();
                let options: Vec<&str> = options.filter_map(serde_json::Value::as_str).collect();
                problems.push(Problem::unknown_value(node, path, &options));
            }
            ValidationErrorKind::Constant { expected_value } => {
                let message = format!("expected `{}`, found {}", plain(expected_value), node.describe());
                let help = format!("write `{}`", plain(expected_value));
                push(node, path, ProblemKind::UnknownValue, message, Some(help));
            }
            ValidationErrorKind::PropertyNames { error } => {
                push(node, path, ProblemKind::OutOfBounds, format!("a key does not fit: {}", bound(error, node)), None);
            }
            _ => {
                let message = bound(error, node);
                push(node, path, ProblemKind::OutOfBounds, message, bound_help(error));
            }
        }
    }

    /// Returns the names of the fields of an object in the schema.
    fn names_at(&self, object: &str) -> Vec<String> {
        self.fields_at(object).into_iter().flat_map(|names| names.keys().cloned()).collect()
    }

    fn fields_at(&self, object: &str) -> Option<&serde_json::Map<String, serde_json::Value>> {
        self.document.pointer(object)?.get("properties")?.as_object()
    }

    /// Returns the field of an object that is a map with a field of this name: a present one first, then any. None if
    /// several are equally likely.
    fn field_with(&self, object: &str, name: &str, node: NodeRef<'_>) -> Option<&str> {
        let has =
            |schema: &serde_json::Value| schema.get("properties").is_some_and(|fields| fields.get(name).is_some());
        let known = self.fields_at(object);
        let fields = || known.into_iter().flatten().filter(|(_, schema)| has(schema)).map(|(field, _)| field.as_str());
        let there: Vec<&str> = fields().filter(|field| node.get(field).is_some()).collect();
        let fields: Vec<&str> = fields().collect();
        match (there.as_slice(), fields.as_slice()) {
            ([only], _) | ([], [only]) => Some(only),
            _ => None,
        }
    }

    /// Returns the nearest field around an object with a field of this name.
    fn above_with<'k>(&self, object: &'k str, name: &str) -> Option<&'k str> {
        let mut inner = object;
        while let Some((outer, _)) = inner.rsplit_once("/properties/") {
            if self.fields_at(outer).is_some_and(|fields| fields.contains_key(name)) {
                // An item of a list, and the document itself, have no name.
                return outer.rsplit_once("/properties/").map(|(_, field)| field).filter(|field| !field.contains('/'));
            }
            inner = outer;
        }
        None
    }
}

impl<'t> Problem<'t> {
    /// Returns the problem of an unknown field; `key` is its name in the text.
    pub fn unknown_field(key: NodeRef<'t>, path: String, name: &str, known: &[&str]) -> Self {
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if known.is_empty() => Some("remove it".to_owned()),
            None => Some(match known.split_at_checked(MOST_LISTED) {
                Some((first, rest @ [_, ..])) => format!("the fields are: {}, and {} more", listed(first), rest.len()),
                _ => format!("the fields are: {}", listed(known)),
            }),
        };
        Self {
            node: key,
            path,
            kind: ProblemKind::UnknownField,
            message: format!("unknown field `{name}`"),
            help,
            belongs: None,
        }
    }

    /// Returns the problem of a value out of bounds.
    pub fn out_of_bounds(node: NodeRef<'t>, path: String, message: String, help: &str) -> Self {
        Self { node, path, kind: ProblemKind::OutOfBounds, message, help: Some(help.to_owned()), belongs: None }
    }

    /// Returns the problem of a value outside of a list of words.
    pub fn unknown_value(node: NodeRef<'t>, path: String, known: &[&str]) -> Self {
        let near = node.as_str().and_then(|text| nearest(text, known.iter().copied()));
        let help = near.map_or_else(|| format!("one of: {}", listed(known)), |near| format!("did you mean `{near}`?"));
        let message = format!("unknown value {}", bare(node));
        Self { node, path, kind: ProblemKind::UnknownValue, message, help: Some(help), belongs: None }
    }

    /// Returns the problem of a value of the wrong type.
    pub fn wrong_type(node: NodeRef<'t>, path: String, expected: &[JsonType]) -> Self {
        let message = format!("expected {}, found {}", expected_type(expected), node.describe());
        let help = type_help(expected, node);
        Self { node, path, kind: ProblemKind::WrongType, message, help, belongs: None }
    }
}

/// The most fields listed without a near name.
const MOST_LISTED: usize = 20;

/// Returns the message for a bound.
fn bound(error: &ValidationError<'_>, node: NodeRef<'_>) -> String {
    let what = bare(node);
    match error.kind() {
        ValidationErrorKind::MinItems { limit } => {
            format!("this list needs at least {limit} {}", plural(*limit, "item"))
        }
        ValidationErrorKind::MaxItems { limit } => {
            format!("this list takes at most {limit} {}", plural(*limit, "item"))
        }
        ValidationErrorKind::MinProperties { limit } => {
            format!("this map needs at least {limit} {}", plural(*limit, "entry"))
        }
        ValidationErrorKind::MaxProperties { limit } => {
            format!("this map takes at most {limit} {}", plural(*limit, "entry"))
        }
        ValidationErrorKind::MinLength { limit: 1 } => "this text must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("{what} is shorter than {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("{what} is longer than {limit} characters"),
        ValidationErrorKind::Minimum { limit } => format!("{what} is less than {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{what} is more than {limit}"),
        ValidationErrorKind::Pattern { pattern } if pattern == VARIABLE => {
            format!("{what} is not a variable in braces")
        }
        ValidationErrorKind::Pattern { pattern } => format!("{what} does not match `{pattern}`"),
        ValidationErrorKind::UniqueItems => "an item is in the list twice".to_owned(),
        ValidationErrorKind::OneOfMultipleValid { .. } => "more than one of the alternatives is present".to_owned(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{} has none of the accepted forms", node.describe())
        }
        _ => format!("{} is not allowed here", node.describe()),
    }
}

/// Returns the remedy for a bound.
fn bound_help(error: &ValidationError<'_>) -> Option<String> {
    Some(match error.kind() {
        ValidationErrorKind::MinItems { .. } | ValidationErrorKind::MinProperties { .. } => {
            "add the missing items".to_owned()
        }
        ValidationErrorKind::MaxItems { .. } | ValidationErrorKind::MaxProperties { .. } => {
            "remove some of them".to_owned()
        }
        ValidationErrorKind::MinLength { .. } => "write a longer text".to_owned(),
        ValidationErrorKind::MaxLength { .. } => "shorten it".to_owned(),
        ValidationErrorKind::Minimum { limit } => format!("write {limit} or more"),
        ValidationErrorKind::Maximum { limit } => format!("write {limit} or less"),
        ValidationErrorKind::UniqueItems => "keep one of them".to_owned(),
        ValidationErrorKind::Pattern { pattern } if pattern == VARIABLE => {
            "write a number, or a variable such as `{uid}`".to_owned()
        }
        _ => return None,
    })
}

fn plural(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    }
}

/// Returns the value in backticks, without its type.
fn bare(node: NodeRef<'_>) -> String {
    let described = node.describe();
    described.find('`').and_then(|position| described.get(position..)).map_or(described.clone(), str::to_owned)
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn listed(names: &[impl std::fmt::Display]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn expected_type(expected: &[JsonType]) -> String {
    // Null is valid for Kubernetes in most places, and not a useful advice.
    let types: Vec<&str> = expected.iter().filter(|one| **one != JsonType::Null).map(|one| type_name(*one)).collect();
    types.join(" or ")
}

fn type_name(json_type: JsonType) -> &'static str {
    match json_type {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "a map",
        JsonType::String => "a string",
    }
}

/// Returns the remedy for a wrong type: most often quotes.
fn type_help(expected: &[JsonType], node: NodeRef<'_>) -> Option<String> {
    let wants = |json_type: JsonType| expected.contains(&json_type);
    match node.value() {
        NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) if wants(JsonType::String) => {
            Some("put it in quotes; kubectl reads the value without quotes in the same way".to_owned())
        }
        NodeValue::Str(_) if wants(JsonType::Integer) || wants(JsonType::Boolean) => {
            Some("remove the quotes, and write only the value".to_owned())
        }
        NodeValue::Float(_) if wants(JsonType::Integer) => Some("write a number without a fraction".to_owned()),
        NodeValue::Map(_) if wants(JsonType::Array) => Some("write a list: put `- ` before the first key".to_owned()),
        NodeValue::Seq(_) if wants(JsonType::Object) => Some("write a map: remove the `- ` before the keys".to_owned()),
        NodeValue::Seq(_) | NodeValue::Map(_) => Some("write a single value".to_owned()),
        NodeValue::Str(_) | NodeValue::Int(_) | NodeValue::Float(_) | NodeValue::Bool(_) if wants(JsonType::Object) => {
            Some("write it as a map: lines of `name: value`, or `{name: value}`".to_owned())
        }
        NodeValue::Null => Some("write a value, or remove the field".to_owned()),
        _ if wants(JsonType::Array) => Some("write it as a list: `[ ... ]`, or lines that begin with `- `".to_owned()),
        _ => None,
    }
}

/// Walks a JSON pointer; returns the node and its path in Kubernetes' notation.
fn follow<'t>(root: NodeRef<'t>, pointer: &str) -> (NodeRef<'t>, String) {
    let mut node = root;
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = if node.is_seq() {
            path.push_str(&format!("[{step}]"));
            step.parse().ok().and_then(|index: usize| node.items().nth(index))
        } else {
            path = join(&path, &step);
            node.get(&step)
        };
        let Some(next) = next else { break };
        node = next;
    }
    (node, path)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Our tree as a JSON representation of the crate `jsonschema`.
#[derive(Debug)]
pub struct TreeJson;

/// A node, or a bare string for the check of a key.
#[derive(Debug, Clone, Copy)]
pub enum Instance<'t> {
    /// A node of a tree.
    Node(NodeRef<'t>),
    /// The name of a field.
    Key(&'t str),
}

impl Json for TreeJson {
    type Node<'t> = Instance<'t>;
    type PreparedKey = String;
    type StringBuffer = String;

    /// A lookup walks the entries, so a pass over all of them costs no more than one failing lookup.
    const KEYS_PER_LOOKUP: usize = 1;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut String, string: &str, check: impl FnOnce(Instance<'_>) -> T) -> T {
        buffer.clear();
        buffer.push_str(string);
        check(Instance::Key(buffer))
    }
}

/// A number in the form of the validator.
#[derive(Debug, Clone, Copy)]
pub enum TreeNumber {
    /// Whole.
    Int(i64),
    /// Any other.
    Float(f64),
}

impl JsonNumber for TreeNumber {
    fn as_u64(&self) -> Option<u64> {
        match *self {
            TreeNumber::Int(number) => u64::try_from(number).ok(),
            TreeNumber::Float(_) => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match *self {
            TreeNumber::Int(number) => Some(number),
            TreeNumber::Float(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        Some(match *self {
            TreeNumber::Int(number) => number as f64,
            TreeNumber::Float(number) => number,
        })
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Owned(match *self {
            TreeNumber::Int(number) => number.to_string(),
            TreeNumber::Float(_) => self.to_number().to_string(),
        })
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(match *self {
            TreeNumber::Int(number) => serde_json::Number::from(number),
            TreeNumber::Float(number) => {
                serde_json::Number::from_f64(number).unwrap_or_else(|| serde_json::Number::from(0))
            }
        })
    }
}

impl<'t> Node<'t, TreeJson> for Instance<'t> {
    type Object = MapView<'t>;
    type Array = SeqView<'t>;
    type Number = TreeNumber;

    fn as_object(&self) -> Option<MapView<'t>> {
        match self {
            Instance::Node(node) if node.is_map() => Some(MapView(*node)),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<SeqView<'t>> {
        match self {
            Instance::Node(node) if node.is_seq() => Some(SeqView(*node)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'t, str>> {
        match self {
            Instance::Node(node) => node.as_str().map(Cow::Borrowed),
            Instance::Key(key) => Some(Cow::Borrowed(key)),
        }
    }

    fn as_number(&self) -> Option<TreeNumber> {
        match self {
            Instance::Node(node) => match node.value() {
                NodeValue::Int(number) => Some(TreeNumber::Int(number)),
                NodeValue::Float(number) => Some(TreeNumber::Float(number)),
                _ => None,
            },
            Instance::Key(_) => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Instance::Node(node) => node.as_bool(),
            Instance::Key(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Instance::Node(node) if node.is_null())
    }

    fn json_type(&self) -> JsonType {
        match self {
            Instance::Key(_) => JsonType::String,
            Instance::Node(node) => match node.value() {
                NodeValue::Null => JsonType::Null,
                NodeValue::Bool(_) => JsonType::Boolean,
                NodeValue::Int(_) | NodeValue::Float(_) => JsonType::Number,
                NodeValue::Str(_) => JsonType::String,
                NodeValue::Seq(_) => JsonType::Array,
                NodeValue::Map(_) => JsonType::Object,
            },
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        match (self.as_string(), expected) {
            (Some(text), serde_json::Value::String(expected)) => text == expected.as_str(),
            (Some(_), _) => false,
            _ => *self.to_value() == *expected,
        }
    }

    fn to_value(&self) -> Cow<'t, serde_json::Value> {
        Cow::Owned(match self {
            Instance::Key(key) => serde_json::Value::String((*key).to_owned()),
            Instance::Node(node) => to_json(*node),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Instance::Node(node) => {
                Some(NodeIdentity::tagged(std::ptr::from_ref(node.tree()) as usize, node.id().number()))
            }
            Instance::Key(_) => None,
        }
    }
}

/// Converts a node to a JSON value.
pub fn to_json(node: NodeRef<'_>) -> serde_json::Value {
    match node.value() {
        NodeValue::Null => serde_json::Value::Null,
        NodeValue::Bool(truth) => serde_json::Value::Bool(truth),
        NodeValue::Int(number) => serde_json::Value::from(number),
        NodeValue::Float(number) => serde_json::Value::from(number),
        NodeValue::Str(text) => serde_json::Value::String(node.tree().text(text).to_owned()),
        NodeValue::Seq(_) => node.items().map(to_json).collect(),
        NodeValue::Map(_) => serde_json::Value::Object(
            node.entries().map(|(key, value)| (key.as_key().to_owned(), to_json(value))).collect(),
        ),
    }
}

/// A mapping as an object of JSON.
#[derive(Debug, Clone, Copy)]
pub struct MapView<'t>(NodeRef<'t>);

/// Members of a mapping.
#[derive(Debug)]
pub struct Members<'t>(Entries<'t>);

impl<'t> Iterator for Members<'t> {
    type Item = (&'t str, Instance<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_key(), Instance::Node(value)))
    }
}

impl<'t> Object<'t, TreeJson> for MapView<'t> {
    type Node = Instance<'t>;
    type MemberName = &'t str;
    type MembersIter = Members<'t>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Instance<'t>> {
        self.0.get(key).map(Instance::Node)
    }

    fn members(&self) -> Members<'t> {
        Members(self.0.entries())
    }
}

/// A sequence as an array of JSON.
#[derive(Debug, Clone, Copy)]
pub struct SeqView<'t>(NodeRef<'t>);

/// Elements of a sequence.
#[derive(Debug)]
pub struct Elements<'t>(Items<'t>);

impl<'t> Iterator for Elements<'t> {
    type Item = Instance<'t>;

    fn next(&mut self) -> Option<Instance<'t>> {
        self.0.next().map(Instance::Node)
    }
}

impl<'t> Array<'t, TreeJson> for SeqView<'t> {
    type Node = Instance<'t>;
    type ElementsIter = Elements<'t>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Elements<'t> {
        Elements(self.0.items())
    }
}
