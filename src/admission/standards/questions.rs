//! The questions about Pod Security.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::labels::{Mode, Policy};
use crate::admission::ask::text;
use crate::admission::level::{Level, PolicyVersion};

/// `namespace-policy`: which levels the labels of a namespace mean.
pub(in crate::admission) fn namespace_policy(body: &Value) -> Result<Value, String> {
    let (policy, errors) = defaults(body)?.of(&labels(body)?);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Ok(json!({
        "enforce": policy.enforce.to_string(),
        "audit": policy.audit.to_string(),
        "warn": policy.warn.to_string(),
        "errors": errors,
    }))
}

/// The labels of a question.
fn labels(body: &Value) -> Result<BTreeMap<String, String>, String> {
    match body.get("labels") {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(labels) => serde_json::from_value(labels.clone()).map_err(|problem| format!("`labels`: {problem}")),
    }
}

/// The cluster's own policy in a question, with the keys of an admission configuration.
fn defaults(body: &Value) -> Result<Policy, String> {
    let mut policy = Policy::UPSTREAM;
    let Some(given) = body.get("defaults") else { return Ok(policy) };
    for mode in Mode::ALL {
        let chosen = policy.get_mut(mode);
        if let Some(name) = text(given, mode.name())?.filter(|name| !name.is_empty()) {
            chosen.level = Level::parse(name).ok_or_else(|| format!("`{name}` is no level"))?;
        }
        if let Some(name) = text(given, &format!("{}-version", mode.name()))?.filter(|name| !name.is_empty()) {
            chosen.version = PolicyVersion::parse(name).ok_or_else(|| format!("`{name}` is no version"))?;
        }
    }
    Ok(policy)
}
