//! The mutations of a MutatingAdmissionPolicy: expressions with JSON patches, applied in order.
//!
//! Each patch is a map, `{'op': .., 'path': .., 'value': ..}`, in the place of the `JSONPatch{..}` of a written
//! policy: typed objects are not supported here. Only `add` is applied, the one operation in policies of profiles
//! (`apiserver/pkg/admission/plugin/policy/mutating/patch/json_patch.go` of Kubernetes v1.37.2).

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::request::namespace_value;
use bailiwick_cel::{Environment, Fail, Key, Names, Program, Value};

/// The steps of all expressions together.
const BUDGET: u64 = 10_000_000;

/// Expressions of patches, ready to be evaluated.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    variables: BTreeMap<String, Program>,
    programs: Vec<Program>,
}

/// An error of patching an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// An expression without a value, with the reason.
    Evaluation(String),
    /// An expression with a value other than a list.
    NoList,
    /// A patch with a value outside of JSON.
    NoJson,
    /// A patch without a valid target in the object, as JSON.
    Inapplicable(String),
}

impl fmt::Display for PatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluation(reason) => formatter.write_str(reason),
            Self::NoList => formatter.write_str("an expression makes no list of patches"),
            Self::NoJson => formatter.write_str("a patch has a value that is no JSON"),
            Self::Inapplicable(patch) => write!(formatter, "a patch cannot be applied: {patch}"),
        }
    }
}

impl Error for PatchError {}

impl Patches {
    /// Reads the variables, by name and in the order of their declaration, and the expressions, as an API server of a minor.
    pub fn compile(variables: &[(String, String)], expressions: &[String], minor: u32) -> Self {
        let mut names = Names { minor, ..Names::default() };
        let mut compiled = BTreeMap::new();
        for (name, expression) in variables {
            compiled.insert(name.clone(), Program::compile(expression, &names));
            names.variables.insert(name);
        }
        let programs = expressions.iter().map(|expression| Program::compile(expression, &names)).collect();
        Self { variables: compiled, programs }
    }

    /// Patches a new object of a namespace.
    ///
    /// # Errors
    /// Why an expression has no patches, or why one cannot be applied.
    pub fn apply(&self, object: &mut Json, namespace: &Json) -> Result<(), PatchError> {
        for program in &self.programs {
            let mut environment = Environment::new(&self.variables, BUDGET);
            environment.object = Value::from_json(object);
            environment.namespace = Some(namespace_value(namespace));
            let made = program.evaluate(&environment).map_err(|fail| match fail {
                Fail::Error(reason) | Fail::Unknown(reason) => PatchError::Evaluation(reason),
            })?;
            let Value::List(patches) = made else { return Err(PatchError::NoList) };
            for patch in patches.iter() {
                let patch = json_of(patch).ok_or(PatchError::NoJson)?;
                add(object, &patch).ok_or_else(|| PatchError::Inapplicable(patch.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Returns a value as JSON; none for a value outside of JSON.
fn json_of(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::from(*truth),
        Value::Int(number) => Json::from(*number),
        Value::UInt(number) => Json::from(*number),
        Value::Double(number) => Json::from(*number),
        Value::String(text) => Json::from(&**text),
        Value::List(items) => items.iter().map(json_of).collect::<Option<Vec<_>>>()?.into(),
        Value::Map(entries) => {
            let entry = |(key, (_, value)): (&Key, &(Value, Value))| match key {
                Key::String(key) => Some((key.to_string(), json_of(value)?)),
                Key::Bool(_) | Key::Number(_) => None,
            };
            entries.iter().map(entry).collect::<Option<Map<_, _>>>()?.into()
        }
        Value::Bytes(_) | Value::Optional(_) | Value::Type(_) => return None,
    })
}

/// Applies a patch with the operation `add` (RFC 6902, 4.1); none for an inapplicable patch.
fn add(object: &mut Json, patch: &Json) -> Option<()> {
    let text = |key: &str| patch.get(key).and_then(Json::as_str);
    let value = patch.get("value").filter(|_| text("op") == Some("add"))?.clone();
    let (parent, key) = text("path")?.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent)? {
        Json::Object(entries) => {
            entries.insert(key, value);
        }
        Json::Array(items) => match key.as_str() {
            "-" => items.push(value),
            index => {
                let index = index.parse().ok().filter(|index| *index <= items.len())?;
                items.insert(index, value);
            }
        },
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(expressions: &[&str], mut object: Json) -> Result<Json, PatchError> {
        let expressions: Vec<String> = expressions.iter().map(|&expression| expression.to_owned()).collect();
        let variables = [("uid".to_owned(), "namespaceObject.metadata.?annotations[?'uid'].orValue('')".to_owned())];
        let namespace = json!({ "metadata": { "annotations": { "uid": "7" } } });
        Patches::compile(&variables, &expressions, 37).apply(&mut object, &namespace).map(|()| object)
    }

    #[test]
    fn each_expression_sees_what_the_ones_before_it_have_done() {
        let patches = [
            "has(object.spec.a) ? [] : [{'op': 'add', 'path': '/spec/a', 'value': {}}]",
            "has(object.spec.a) ? [{'op': 'add', 'path': '/spec/a/b', 'value': int(variables.uid)}] : []",
        ];
        assert_eq!(apply(&patches, json!({ "spec": {} })), Ok(json!({ "spec": { "a": { "b": 7 } } })));
    }

    #[test]
    fn lists_take_items_at_a_place_and_at_the_end() {
        let patches =
            ["[{'op': 'add', 'path': '/l/0', 'value': 1}, {'op': 'add', 'path': '/l/-', 'value': {'a~b/c': [null]}}]"];
        assert_eq!(apply(&patches, json!({ "l": [0] })), Ok(json!({ "l": [1, 0, { "a~b/c": [null] }] })));
    }

    #[test]
    fn what_cannot_be_patched_is_refused() {
        for patch in [
            "[{'op': 'remove', 'path': '/a'}]",
            "[{'op': 'add', 'path': 'a', 'value': 1}]",
            "[{'op': 'add', 'path': '/b/c', 'value': 1}]",
            "[{'op': 'add', 'path': '/a/0', 'value': 1}]",
            "[{'op': 'add', 'path': '/l/9', 'value': 1}]",
            "[{'op': 'add', 'path': '/l', 'value': b'x'}]",
            "[{'op': 'add', 'path': '/l', 'value': {1: 1}}]",
            "[1]",
            "1",
            "object.nowhere",
            "a &&",
        ] {
            assert!(apply(&[patch], json!({ "a": 1, "l": [] })).is_err(), "{patch}");
        }
    }
}
