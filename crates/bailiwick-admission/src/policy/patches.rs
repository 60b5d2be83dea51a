//! The mutations of a MutatingAdmissionPolicy: expressions with JSON patches, applied in order.
//!
//! Each patch is a `JSONPatch{op: .., path: .., value: ..}` or the same fields as a map; other typed objects are not
//! supported here. Only `add` is applied, the one operation in policies of profiles
//! (`apiserver/pkg/admission/plugin/policy/mutating/patch/json_patch.go` of Kubernetes v1.37.2).

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::request::{AdmissionRequest, namespace_value};
use bailiwick_cel::{Environment, Fail, Key, Names, Program, Value};

/// The steps of all expressions together, with the values of the objects that they read.
const BUDGET: u64 = 10_000_000;
/// The most bytes of all patches together, with [`OF_A_VALUE`] bytes for each value beside its text.
const LARGEST: usize = 8 << 20;
const OF_A_VALUE: usize = 64;
/// The deepest path of a patch, and the deepest value.
const DEEPEST: usize = 100;

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
    /// More steps, or more values, than are evaluated here.
    TooMuch,
}

impl fmt::Display for PatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluation(reason) => formatter.write_str(reason),
            Self::NoList => formatter.write_str("an expression makes no list of patches"),
            Self::NoJson => formatter.write_str("a patch has a value that is no JSON, or a deep one"),
            Self::TooMuch => formatter.write_str("the patches take too many steps to be evaluated here"),
            Self::Inapplicable(patch) => write!(formatter, "a patch cannot be applied: {patch}"),
        }
    }
}

impl Error for PatchError {}

impl Patches {
    /// Reads the variables, by name and in the order of their declaration, and the expressions, as an API server of a minor.
    pub fn compile(variables: &[(String, String)], expressions: &[String], minor: u32) -> Self {
        let mut names = Names { minor, patches: true, ..Names::default() };
        let mut compiled = BTreeMap::new();
        for (name, expression) in variables {
            compiled.insert(name.clone(), Program::compile(expression, &names));
            names.variables.insert(name);
        }
        let programs = expressions.iter().map(|expression| Program::compile(expression, &names)).collect();
        Self { variables: compiled, programs }
    }

    /// Patches a new object of a namespace. Expressions see no request.
    ///
    /// # Errors
    /// Why an expression has no patches, or why one cannot be applied.
    pub fn apply(&self, object: &mut Json, namespace: &Json) -> Result<(), PatchError> {
        self.apply_in(object, |environment| environment.namespace = Some(namespace_value(namespace)))
    }

    /// Patches the object of a request. Without the Namespace object, expressions on it have no value.
    ///
    /// # Errors
    /// Why an expression has no patches, or why one cannot be applied.
    pub(super) fn apply_to(
        &self,
        object: &mut Json,
        request: &AdmissionRequest,
        namespace: Option<&Json>,
    ) -> Result<(), PatchError> {
        self.apply_in(object, |environment| {
            environment.old_object = request.old_object.as_ref().map_or(Value::Null, Value::from_json);
            environment.request = request.value();
            environment.namespace =
                if request.namespace.is_empty() { Some(Value::Null) } else { namespace.map(namespace_value) };
        })
    }

    fn apply_in(&self, object: &mut Json, set: impl Fn(&mut Environment<'_>)) -> Result<(), PatchError> {
        let (mut budget, mut bytes) = (BUDGET, LARGEST);
        for program in &self.programs {
            spend(&mut budget, object)?;
            let mut environment = Environment::new(&self.variables, budget);
            set(&mut environment);
            environment.object = Value::from_json(object);
            let made = program.evaluate(&environment).map_err(|fail| match fail {
                Fail::Error(reason) | Fail::Unknown(reason) => PatchError::Evaluation(reason),
            })?;
            budget = environment.budget();
            let Value::List(patches) = made else { return Err(PatchError::NoList) };
            for patch in patches.iter() {
                let patch = json_of(patch, DEEPEST, &mut bytes)?;
                add(object, &patch).ok_or_else(|| PatchError::Inapplicable(patch.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Takes a step for each value of an object. A patch can contain the object, so that it doubles with each patch.
fn spend(budget: &mut u64, object: &Json) -> Result<(), PatchError> {
    *budget = budget.checked_sub(1).ok_or(PatchError::TooMuch)?;
    match object {
        Json::Array(items) => items.iter().try_for_each(|item| spend(budget, item)),
        Json::Object(entries) => entries.values().try_for_each(|value| spend(budget, value)),
        _ => Ok(()),
    }
}

/// Returns a value as JSON, and subtracts its bytes from the bytes that are left.
///
/// # Errors
/// When the value is outside of JSON or deeper than `depth`, or there are too many.
fn json_of(value: &Value, depth: usize, left: &mut usize) -> Result<Json, PatchError> {
    let text = match value {
        Value::String(text) => text.len(),
        _ => 0,
    };
    *left = left.checked_sub(OF_A_VALUE + text).ok_or(PatchError::TooMuch)?;
    let below = depth.checked_sub(1).ok_or(PatchError::NoJson)?;
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::from(*truth),
        Value::Int(number) => Json::from(*number),
        Value::UInt(number) => Json::from(*number),
        Value::Double(number) => Json::from(*number),
        Value::String(text) => Json::from(&**text),
        Value::List(items) => {
            items.iter().map(|item| json_of(item, below, left)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Map(entries) => {
            let entry = |(key, (_, value)): (&Key, &(Value, Value))| match key {
                Key::String(key) => Ok((key.to_string(), json_of(value, below, left)?)),
                Key::Bool(_) | Key::Number(_) => Err(PatchError::NoJson),
            };
            entries.iter().map(entry).collect::<Result<Map<_, _>, _>>()?.into()
        }
        Value::Bytes(_) | Value::Optional(_) | Value::Type(_) => return Err(PatchError::NoJson),
    })
}

/// Applies a patch with the operation `add` (RFC 6902, 4.1); none for an inapplicable patch.
fn add(object: &mut Json, patch: &Json) -> Option<()> {
    let text = |key: &str| patch.get(key).and_then(Json::as_str);
    let value = patch.get("value").filter(|_| text("op") == Some("add"))?.clone();
    let (parent, key) = text("path").filter(|path| path.matches('/').count() <= DEEPEST)?.rsplit_once('/')?;
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
    fn a_patch_of_the_api_server_is_the_same_as_a_map() {
        let patches = ["[JSONPatch{op: 'add', path: '/spec/a', value: {'b': int(variables.uid)}}]"];
        assert_eq!(apply(&patches, json!({ "spec": {} })), Ok(json!({ "spec": { "a": { "b": 7 } } })));
    }

    #[test]
    fn lists_take_items_at_a_place_and_at_the_end() {
        let patches =
            ["[{'op': 'add', 'path': '/l/0', 'value': 1}, {'op': 'add', 'path': '/l/-', 'value': {'a~b/c': [null]}}]"];
        assert_eq!(apply(&patches, json!({ "l": [0] })), Ok(json!({ "l": [1, 0, { "a~b/c": [null] }] })));
    }

    /// Forty patches that double an object, and patches that nest it without end.
    #[test]
    fn an_object_does_not_grow_without_end() {
        let doubling = ["[JSONPatch{op: 'add', path: '/a', value: {'b': object.a, 'c': object.a}}]"; 40];
        assert_eq!(apply(&doubling, json!({ "a": 1 })), Err(PatchError::TooMuch));
        let nesting = ["[JSONPatch{op: 'add', path: '/a', value: [object.a]}]"; 200];
        assert_eq!(apply(&nesting, json!({ "a": 1 })), Err(PatchError::NoJson));
        let long = "x".repeat(1 << 20);
        let repeated = ["[1, 2, 3, 4, 5, 6, 7, 8, 9].map(n, JSONPatch{op: 'add', path: '/b', value: object.a})"];
        assert_eq!(apply(&repeated, json!({ "a": long })), Err(PatchError::TooMuch));
        let deep = format!("[JSONPatch{{op: 'add', path: '{}', value: 1}}]", "/a".repeat(200));
        assert!(apply(&[&deep], json!({ "a": 1 })).is_err());
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
            "[JSONPatch{op: 'remove', path: '/a'}]",
            "[JSONPatch{op: 'add', path: '/a', ?value: optional.of(1)}]",
            "[Object{spec: Object.spec{}}]",
            "[1]",
            "1",
            "object.nowhere",
            "a &&",
        ] {
            assert!(apply(&[patch], json!({ "a": 1, "l": [] })).is_err(), "{patch}");
        }
    }
}
