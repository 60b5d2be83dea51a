//! Questions about PodSecurityPolicies as JSON, for `bailiwick ask`.

use serde_json::{Map, Value, json};

use super::AskError;
use crate::admission::pod::{Container, Pod};
use crate::admission::psp::admit::PspProvider;
use crate::admission::psp::mapping::{self, Mapping, Reading};
use crate::admission::psp::migrate::{self, FieldOutcome};
use crate::admission::psp::select::{PodOperation, choose_among};
use crate::admission::psp::{PodSecurityPolicy, PspViolation, compare, merge, synchronise, validity};
use crate::yaml;

/// Answers `{"psp": {...}}`: the level in each reading, and the contribution of each field.
///
/// # Errors
/// Why it is not a question.
pub(super) fn level(body: &Value) -> Result<Value, AskError> {
    let policy = policy(body, "psp")?;
    let answers = Reading::ALL.map(|reading| (reading.name().to_owned(), mapped(&mapping::map(&policy, reading))));
    Ok(Value::Object(answers.into_iter().collect()))
}

fn mapped(mapping: &Mapping) -> Value {
    let fields = mapping
        .fields
        .iter()
        .map(|field| json!({ "field": field.field, "level": field.level.name(), "reason": field.reason }));
    json!({
        "level": mapping.level.name(),
        "deciding": mapping.deciding().map(|field| field.field).collect::<Vec<_>>(),
        "fields": fields.collect::<Vec<_>>(),
    })
}

/// Answers `{"psp": {...}, "pod": {...}}`: the verdict of one policy on a pod. `errors` are the violations of the policy,
/// `invalid` the reasons why the pod is invalid by itself or with the defaults of the policy, and `broken` the reason why the
/// policy is unusable.
///
/// # Errors
/// Why it is not a question.
pub(super) fn admit(body: &Value) -> Result<Value, AskError> {
    let (policy, pod) = (policy(body, "psp")?, pod(body)?);
    let provider = match PspProvider::new(&policy) {
        Ok(provider) => provider,
        Err(error) => return Ok(json!({ "allowed": false, "broken": error.texts() })),
    };
    let admission = provider.admit(&pod);
    let mut stored = admission.pod.clone();
    synchronise(&mut stored);
    let invalid = validity::problems(&stored);
    Ok(json!({
        "allowed": admission.violations.is_empty() && invalid.is_empty(),
        "mutated": admission.is_mutated,
        "pod": parts(&admission.pod),
        "errors": violations(&admission.violations),
        "invalid": violations(&invalid),
    }))
}

/// Answers `{"psps": [...], "usable": [names], "pod": {...}, "update": false}`: the policy that a pod gets. Without `usable`
/// every policy can be used.
///
/// # Errors
/// Why it is not a question.
pub(super) fn choose(body: &Value) -> Result<Value, AskError> {
    let policies = policies(body)?;
    let usable = body.get("usable").and_then(Value::as_array);
    let may_use = |name: &str| usable.is_none_or(|names| names.iter().any(|usable| usable.as_str() == Some(name)));
    let is_update = body.get("update").and_then(Value::as_bool).unwrap_or_default();
    let operation = if is_update { PodOperation::Update } else { PodOperation::Create };
    let choice = choose_among(&policies, may_use, &pod(body)?, operation);
    let refusals = choice.refusals.iter();
    let refusals = refusals.map(|refusal| (refusal.policy.clone(), violations(&refusal.violations)));
    let broken = choice.broken.iter().map(|(name, reasons)| (name.clone(), json!(reasons)));
    Ok(json!({
        "allowed": choice.is_allowed(),
        "psp": choice.policy,
        "mutated": choice.is_mutated,
        "pod": choice.pod.as_ref().map(parts),
        "invalid": violations(&choice.invalid),
        "refusals": Value::Object(refusals.collect()),
        "broken": Value::Object(broken.collect()),
    }))
}

/// Answers `{"old": {...}, "new": {...}}`: the meaning of a change of a policy.
///
/// # Errors
/// Why it is not a question.
pub(super) fn compare(body: &Value) -> Result<Value, AskError> {
    Ok(json!(compare::compare(&policy(body, "old")?, &policy(body, "new")?)))
}

/// Answers `{"psps": [...]}`: `psp`, one policy in their place.
///
/// # Errors
/// Why it is not a question.
pub(super) fn merge(body: &Value) -> Result<Value, AskError> {
    let policies = policies(body)?;
    let merged = merge::merge("merged", &policies.iter().collect::<Vec<_>>());
    Ok(json!({ "psp": merged }))
}

/// The reason why a default value is no limit.
const FILLED_IN: &str = "a default for pods that do not set the field; those pods have to set the field themselves";

/// Answers `{"psp": {...}, "reading": "practical", "pod": {...}}`: the replacement of a policy on a version without
/// PodSecurityPolicy, and the defaults that the pod relied on.
///
/// # Errors
/// Why it is not a question.
pub(super) fn migrate(body: &Value) -> Result<Value, AskError> {
    let policy = policy(body, "psp")?;
    let name = body.get("reading").and_then(Value::as_str).unwrap_or(Reading::Practical.name());
    let reading = Reading::ALL.into_iter().find(|reading| reading.name() == name);
    let migration =
        migrate::migrate(&policy, reading.ok_or_else(|| AskError::Value(format!("there is no reading `{name}`")))?);
    let fates = migration.fields.iter().map(|field| {
        let (fate, text) = match &field.fate {
            FieldOutcome::Unlimited => ("unlimited", None),
            FieldOutcome::KeptByLevel => ("level", None),
            FieldOutcome::NeedsPolicy(limit) => ("policy", Some(limit.as_str())),
            FieldOutcome::FilledIn => ("dropped", Some(FILLED_IN)),
            FieldOutcome::NoEffect(reason) | FieldOutcome::Dropped(reason) => ("dropped", Some(reason.as_str())),
        };
        json!({ "field": field.field, "fate": fate, "text": text })
    });
    let relied = match body.get("pod") {
        Some(_) => Some(migrate::relied_on(&policy, &pod(body)?).map_err(AskError::refused)?),
        None => None,
    };
    Ok(json!({
        "level": migration.level.name(),
        "fields": fates.collect::<Vec<_>>(),
        "mutating": migration.mutating,
        "reliedOn": relied,
    }))
}

fn policy(body: &Value, key: &'static str) -> Result<PodSecurityPolicy, AskError> {
    read_policy(body.get(key).ok_or(AskError::Missing(key))?)
}

fn policies(body: &Value) -> Result<Vec<PodSecurityPolicy>, AskError> {
    let list = body.get("psps").and_then(Value::as_array).ok_or(AskError::NotAList("psps"))?;
    list.iter().map(read_policy).collect()
}

fn read_policy(value: &Value) -> Result<PodSecurityPolicy, AskError> {
    let tree = yaml::from_json(value);
    let root = tree.document(0).ok_or_else(|| AskError::value("a policy is an object"))?;
    PodSecurityPolicy::read(root).map_err(|problem| AskError::Value(format!("not a policy: {problem}")))
}

fn pod(body: &Value) -> Result<Pod, AskError> {
    let tree = yaml::from_json(body.get("pod").ok_or(AskError::Missing("pod"))?);
    let root = tree.document(0).ok_or(AskError::Missing("pod"))?;
    Pod::read(root).map_err(|problem| AskError::Value(format!("not a pod: {problem}")))
}

fn violations(violations: &[PspViolation]) -> Value {
    json!(violations)
}

/// Returns the parts of a pod that a policy fills in, and those beside them.
fn parts(pod: &Pod) -> Value {
    let spec = &pod.spec;
    let mut parts = Map::new();
    for (list, containers) in [
        ("initContainers", &spec.init_containers),
        ("containers", &spec.containers),
        ("ephemeralContainers", &spec.ephemeral_containers),
    ] {
        if !containers.is_empty() {
            parts.insert(list.to_owned(), containers.iter().map(container).collect());
        }
    }
    parts.insert("runtimeClassName".to_owned(), json!(spec.runtime_class_name));
    parts.insert("securityContext".to_owned(), json!(spec.security_context));
    pruned(json!({ "metadata": { "annotations": pod.metadata.annotations }, "spec": parts }))
}

fn container(container: &Container) -> Value {
    json!({ "name": container.name, "securityContext": container.security_context })
}

/// Returns a value without null, empty lists and empty texts, which have no meaning. An empty object has a meaning, and an
/// annotation may be empty.
fn pruned(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let is_empty = |value: &Value| {
                value.is_null()
                    || value.as_array().is_some_and(Vec::is_empty)
                    || value.as_str().is_some_and(str::is_empty)
            };
            let annotations = "annotations";
            let entries = map.into_iter().filter(|(_, value)| !is_empty(value));
            let entries =
                entries.map(|(key, value)| if key == annotations { (key, value) } else { (key, pruned(value)) });
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.into_iter().map(pruned).collect(),
        other => other,
    }
}
