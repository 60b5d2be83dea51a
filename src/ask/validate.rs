//! The question `validate` of `bailiwick ask`: the API server's answer to a create or an update; `docs/ask.md` has an example.

use std::sync::Arc;

use serde_json::{Value, json};

use super::AskError;
use super::keys::{Keys, check_keys};
use crate::k8s::catalogue::{Api, Catalogue, LAST_MINOR, Served, read_custom};
use crate::k8s::custom_fields::CustomFields;
use crate::k8s::stored::{StoredForm, to_stored};
use crate::k8s::validation;
use crate::k8s::validation::expression_types::{Misfit, misfits};
use crate::k8s::validation::fields::{KnownFields, ValidationDepth};
use crate::yaml::schema::{Problem, ProblemKind, to_json};
use crate::yaml::{self, NodeRef, Tree};

/// The keys of a question.
const KEYS: &[Keys] = &[("validate", &[&["object", "old", "minor", "definitions"]])];

/// Answers a question if it is of the kind of this file.
///
/// # Errors
/// Inside: why it cannot be answered.
pub(super) fn answer(kind: &str, body: &Value) -> Option<Result<Value, AskError>> {
    (kind == "validate").then(|| check_keys(KEYS, kind, body).and_then(|()| validate(body)))
}

fn validate(body: &Value) -> Result<Value, AskError> {
    let minor = minor(body)?;
    let read = |key: &str| body.get(key).filter(|object| object.is_object()).map(yaml::from_json);
    let definitions = CustomDefinitions::read(body);
    let mut tree = read("object").ok_or_else(|| AskError::value("`object` is no object"))?;
    let old = read("old");
    let object = root(&tree).ok_or_else(|| AskError::value("`object` is no object"))?;
    let text = |key: &str| object.get(key).and_then(NodeRef::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        return Err(AskError::value("`object` has no `apiVersion` or no `kind`"));
    }
    let (group, catalogue) = (api_version.rsplit_once('/').map_or("", |(group, _)| group), Catalogue::get());
    let checked = ValidationDepth::find(minor, &definitions.fields, api_version, kind).id();
    let errors = if catalogue.is_builtin_group(group) && catalogue.kind(minor, api_version, kind) == Served::No {
        let message = format!("Kubernetes 1.{minor} does not serve {api_version} {kind}");
        vec![json!({ "field": "kind", "type": "not-served", "message": message })]
    } else {
        let fields = KnownFields::find(minor, &definitions.fields, api_version, kind);
        errors(&fields, object, old.as_ref().and_then(root), minor)
    };
    if !errors.is_empty() {
        return Ok(json!({ "accepted": false, "checked": checked, "errors": errors }));
    }
    let warnings = match kind {
        "ValidatingAdmissionPolicy" => expression_warnings(object, minor, &definitions)?,
        _ => Vec::new(),
    };
    let id = object.id();
    to_stored(&mut tree, id, StoredForm::Stored);
    let stored = root(&tree).map(to_json);
    let mut answer = json!({ "accepted": true, "checked": checked, "errors": [], "stored": stored });
    if let (Some(answer), false) = (answer.as_object_mut(), warnings.is_empty()) {
        answer.insert("warnings".to_owned(), Value::from(warnings));
    }
    Ok(answer)
}

/// Returns the minor version of Kubernetes in a question; the newest one by default.
fn minor(body: &Value) -> Result<u32, AskError> {
    match body.get("minor") {
        None => Ok(LAST_MINOR),
        Some(minor) => minor
            .as_u64()
            .and_then(|minor| u32::try_from(minor).ok())
            .ok_or_else(|| AskError::value("`minor` is no number")),
    }
}

/// The CustomResourceDefinitions of a question.
struct CustomDefinitions {
    trees: Vec<Arc<Tree>>,
    fields: Vec<Arc<CustomFields>>,
}

impl CustomDefinitions {
    fn read(body: &Value) -> Self {
        let definitions = body.get("definitions").and_then(Value::as_array).into_iter().flatten();
        let trees: Vec<Arc<Tree>> = definitions.map(|definition| Arc::new(yaml::from_json(definition))).collect();
        let fields = trees
            .iter()
            .flat_map(|tree| root(tree).map(|object| CustomFields::read(tree, object)).unwrap_or_default())
            .map(Arc::new)
            .collect();
        Self { trees, fields }
    }
}

/// Returns the errors of decoding an object; without any, the errors of its validation.
fn errors(fields: &KnownFields<'_>, object: NodeRef<'_>, old: Option<NodeRef<'_>>, minor: u32) -> Vec<Value> {
    let problems = fields.problems(object);
    if !problems.is_empty() {
        let error =
            |problem: &Problem| json!({ "field": problem.path, "type": id(problem.kind), "message": problem.message });
        return problems.iter().map(error).collect();
    }
    let mut errors = Vec::new();
    validation::check(object, old, minor, &mut errors);
    errors
        .iter()
        .map(|error| json!({ "field": error.path, "type": error.kind.id(), "message": error.message }))
        .collect()
}

/// Returns the warnings of expressions that do not fit the kinds that an admission policy matches.
fn expression_warnings(
    object: NodeRef<'_>,
    minor: u32,
    definitions: &CustomDefinitions,
) -> Result<Vec<Value>, AskError> {
    let mut api = Api::new(minor);
    api.extend(&definitions.trees.iter().filter_map(|tree| root(tree).and_then(read_custom)).collect::<Vec<_>>());
    let misfits = misfits(object, api.minor(), api.catalogue(), &definitions.fields).map_err(|unchecked| {
        AskError::Value(format!("the expressions of `object` are not compiled for their kinds: {unchecked}"))
    })?;
    let warning = |misfit: &Misfit| {
        json!({
            "field": misfit.field,
            "apiVersion": misfit.kind.api_version(),
            "kind": misfit.kind.name,
            "message": misfit.reason,
        })
    };
    Ok(misfits.iter().map(warning).collect())
}

fn root(tree: &Tree) -> Option<NodeRef<'_>> {
    tree.document(0)
}

/// Returns the name of an error of decoding.
fn id(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::UnknownField => "unknown-field",
        ProblemKind::MissingField => "missing-field",
        ProblemKind::WrongType => "wrong-type",
        ProblemKind::UnknownValue | ProblemKind::OutOfBounds => "wrong-value",
    }
}
