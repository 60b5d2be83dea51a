//! The questions about Pod Security.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::admit::{Configuration, Exemptions, Request, refused_labels, review};
use super::labels::{LevelVersion, Mode, Policy};
use super::{details, message, reasons, strictest, violations};
use crate::admission::ask::{pod, text};
use crate::admission::level::{Level, PolicyVersion};
use crate::admission::pod::Pod;
use crate::admission::workload::Workload;
use crate::yaml;

/// `pod-security`: what the checks of a level have against a pod, or those of each of several policies.
pub(in crate::admission) fn pod_security(body: &Value) -> Result<Value, String> {
    let pod = pod(body, "pod")?;
    let policies = body.get("policies").filter(|policies| !policies.is_null());
    let Some(policies) = policies else {
        let version = text(body, "version")?.unwrap_or("latest");
        let version = PolicyVersion::parse(version).ok_or_else(|| format!("`{version}` is no version"))?;
        let level = text(body, "level")?.unwrap_or("restricted");
        let level = Level::parse(level).ok_or_else(|| format!("`{level}` is no level"))?;
        let mut answer = verdict(&pod, LevelVersion { level, version });
        if let Some(map) = answer.as_object_mut() {
            map.insert("fits".to_owned(), strictest(&pod, version).name().into());
        }
        return Ok(answer);
    };
    let policies = policies.as_array().ok_or("`policies` is no list")?.iter().map(|policy| {
        let policy = policy.as_str().and_then(LevelVersion::parse).ok_or_else(|| format!("`{policy}` is no policy"))?;
        Ok(verdict(&pod, policy))
    });
    Ok(json!({ "answers": policies.collect::<Result<Vec<_>, String>>()? }))
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

/// `pod-admission`: what the admission plugin answers to who writes a pod, or an object that brings pods.
pub(in crate::admission) fn pod_admission(body: &Value) -> Result<Value, String> {
    let object = body.get("object").filter(|object| object.is_object()).map(yaml::from_json);
    let root = object.as_ref().and_then(|tree| tree.document(0)).ok_or("`object` is no object")?;
    let workload = Workload::read(root).map_err(|problem| format!("`object`: {problem}"))?;
    let workload = workload.ok_or("`object` brings no pods")?;
    let configuration = Configuration { defaults: defaults(body)?, exemptions: exemptions(body)? };
    let review = review(
        &configuration,
        Request {
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

/// `namespace-policy`: which levels the labels of a namespace mean.
pub(in crate::admission) fn namespace_policy(body: &Value) -> Result<Value, String> {
    let (defaults, labels, old) = (defaults(body)?, labels(body, "labels")?.unwrap_or_default(), labels(body, "old")?);
    let (policy, errors) = defaults.of(&labels);
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
fn labels(body: &Value, key: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    let labels = body.get(key).cloned().unwrap_or_default();
    serde_json::from_value(labels).map_err(|problem| format!("`{key}`: {problem}"))
}

/// Whom Pod Security does not concern in a question, with the keys of an admission configuration.
fn exemptions(body: &Value) -> Result<Exemptions, String> {
    let list = |key: &str| {
        let list = body.get("exemptions").and_then(|given| given.get(key)).cloned().unwrap_or_default();
        serde_json::from_value::<Option<Vec<String>>>(list)
            .map(Option::unwrap_or_default)
            .map_err(|problem| format!("`{key}`: {problem}"))
    };
    Ok(Exemptions {
        usernames: list("usernames")?,
        namespaces: list("namespaces")?,
        runtime_classes: list("runtimeClasses")?,
    })
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
