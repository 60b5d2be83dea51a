//! The questions about Pod Security.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::AskError;
use super::admission::{pod, text};
use crate::admission::level::{Level, PolicyVersion};
use crate::admission::pod::Pod;
use crate::admission::standards::admit::{PodSecurityRequest, refused_labels, review};
use crate::admission::standards::configuration::Configuration;
use crate::admission::standards::labels::LevelVersion;
use crate::admission::standards::{details, message, reasons, strictest, violations};
use crate::admission::workload::Workload;
use crate::yaml;

/// Answers `pod-security`: the violations of a pod at a level, or at the level of each of several policies.
pub(super) fn pod_security(body: &Value) -> Result<Value, AskError> {
    let pod = pod(body, "pod")?;
    let policies = body.get("policies").filter(|policies| !policies.is_null());
    let Some(policies) = policies else {
        let version = text(body, "version")?.unwrap_or("latest");
        let version =
            PolicyVersion::parse(version).ok_or_else(|| AskError::Value(format!("`{version}` is no version")))?;
        let level = text(body, "level")?.unwrap_or("restricted");
        let level = Level::parse(level).ok_or_else(|| AskError::Value(format!("`{level}` is no level")))?;
        let mut answer = verdict(&pod, LevelVersion { level, version });
        if let Some(map) = answer.as_object_mut() {
            map.insert("fits".to_owned(), strictest(&pod, version).name().into());
        }
        return Ok(answer);
    };
    let policies = policies.as_array().ok_or_else(|| AskError::value("`policies` is no list"))?.iter().map(|policy| {
        let policy = policy
            .as_str()
            .and_then(LevelVersion::parse)
            .ok_or_else(|| AskError::Value(format!("`{policy}` is no policy")))?;
        Ok(verdict(&pod, policy))
    });
    Ok(json!({ "answers": policies.collect::<Result<Vec<_>, AskError>>()? }))
}

fn verdict(pod: &Pod, policy: LevelVersion) -> Value {
    let found = violations(pod, policy.level, policy.version);
    let message = if found.is_empty() { String::new() } else { message(policy, &found) };
    json!({
        "allowed": found.is_empty(),
        "reason": reasons(&found),
        "detail": details(&found),
        "message": message,
        "checks": found.iter().map(|violation| violation.check).collect::<Vec<_>>(),
    })
}

/// Answers `pod-admission`: the verdict of the admission plugin on a pod, or on an object with a pod template.
pub(super) fn pod_admission(body: &Value) -> Result<Value, AskError> {
    let object = body.get("object").filter(|object| object.is_object()).map(yaml::from_json);
    let root =
        object.as_ref().and_then(|tree| tree.document(0)).ok_or_else(|| AskError::value("`object` is no object"))?;
    let workload = Workload::read(root).map_err(|problem| AskError::unreadable("object", problem))?;
    let workload = workload.ok_or_else(|| AskError::value("`object` brings no pods"))?;
    let configuration = configuration(body)?;
    let review = review(
        &configuration,
        PodSecurityRequest {
            user: text(body, "user")?.unwrap_or_default(),
            namespace: &workload.namespace,
            labels: &labels(body, "labels")?.unwrap_or_default(),
            pod: &workload.template,
            is_pod: workload.is_pod(),
        },
    );
    Ok(json!({
        "allowed": review.refused.is_none(),
        "message": review.refused.unwrap_or_default(),
        "warnings": review.warning.into_iter().collect::<Vec<_>>(),
        "audit": review.audit,
    }))
}

/// Answers `namespace-policy`: the levels in the labels of a namespace.
pub(super) fn namespace_policy(body: &Value) -> Result<Value, AskError> {
    let defaults = configuration(body)?.defaults;
    let (labels, old) = (labels(body, "labels")?.unwrap_or_default(), labels(body, "old")?);
    let (policy, errors) = defaults.with_labels(&labels);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Ok(json!({
        "enforce": policy.enforce.to_string(),
        "audit": policy.audit.to_string(),
        "warn": policy.warn.to_string(),
        "errors": errors,
        "accepted": refused_labels(defaults, old.as_ref(), &labels).is_empty(),
    }))
}

/// Labels of a question, if it has them.
fn labels(body: &Value, key: &'static str) -> Result<Option<BTreeMap<String, String>>, AskError> {
    let labels = body.get(key).cloned().unwrap_or_default();
    serde_json::from_value(labels).map_err(|problem| AskError::unreadable(key, problem))
}

/// Returns the configuration of the cluster in a question.
fn configuration(body: &Value) -> Result<Configuration, AskError> {
    let tree = yaml::from_json(body);
    let root = tree.document(0).ok_or_else(|| AskError::value("the question is empty"))?;
    Configuration::read(root).map_err(AskError::refused)
}
