//! The questions of `bailiwick ask` about admission; `docs/ask.md` shows each with its answer.
//!
//! A kind of question is one line here and a function in the module that it is about. None needs a world.

use serde_json::Value;

use super::AskError;
use super::keys::{Keys, check_keys};
use super::{admission_policy, labels, pod_security, psp, scc};
use crate::admission::pod::Pod;
use crate::yaml;

/// Answers a question if it is of a kind that is known here.
///
/// # Errors
/// Inside: why it cannot be answered.
pub(super) fn answer(kind: &str, body: &Value) -> Option<Result<Value, AskError>> {
    let answer: fn(&Value) -> Result<Value, AskError> = match kind {
        "pod-security" => pod_security::pod_security,
        "pod-admission" => pod_security::pod_admission,
        "namespace-policy" => pod_security::namespace_policy,
        "scc-level" => scc::scc_level,
        "scc-order" => scc::scc_order,
        "scc-admit" => scc::scc_admit,
        "namespace-labels" => labels::namespace_labels,
        "namespace-neighbours" => labels::namespace_neighbours,
        "psp-level" => psp::level,
        "psp-admit" => psp::admit,
        "psp-choose" => psp::choose,
        "psp-compare" => psp::compare,
        "psp-merge" => psp::merge,
        "psp-migrate" => psp::migrate,
        "admission-policy" => admission_policy::admission_policy,
        _ => return None,
    };
    Some(check_keys(KEYS, kind, body).and_then(|()| answer(body)))
}

/// The keys of the defaults of a cluster for Pod Security.
const DEFAULTS: &[&str] = &["enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"];

/// The keys of a question about the label syncer of OpenShift.
const LABELS: &[&str] =
    &["release", "mode", "version", "objects", "namespace", "declared", "defaults", "upgraded", "stored"];

/// The keys of each kind of question. Objects of Kubernetes are read as a server reads them.
const KEYS: &[Keys] = &[
    ("pod-security", &[&["pod", "level", "version", "policies"]]),
    ("pod-admission", &[&["object", "user", "labels", "defaults", "exemptions"]]),
    ("pod-admission/defaults", &[DEFAULTS]),
    ("pod-admission/exemptions", &[&["usernames", "namespaces", "runtimeClasses"]]),
    ("namespace-policy", &[&["labels", "old", "defaults"]]),
    ("namespace-policy/defaults", &[DEFAULTS]),
    ("scc-level", &[&["scc", "uidRange", "release", "version", "stored"]]),
    ("scc-order", &[&["sccs", "stored"]]),
    ("scc-admit", &[&["sccs", "pod", "annotations", "stored"]]),
    ("namespace-labels", &[LABELS]),
    ("namespace-neighbours", &[LABELS]),
    ("psp-level", &[&["psp"]]),
    ("psp-admit", &[&["psp", "pod"]]),
    ("psp-choose", &[&["psps", "usable", "pod", "update"]]),
    ("psp-compare", &[&["old", "new"]]),
    ("psp-merge", &[&["psps"]]),
    ("psp-migrate", &[&["psp", "reading", "pod"]]),
    ("admission-policy", &[&["minor", "policy", "binding", "namespace", "requests"]]),
    (
        "admission-policy/requests/*",
        &[
            &["user", "uid", "groups", "extra", "operation", "apiGroup", "version", "resource", "subresource", "kind"],
            &["namespace", "name", "object", "oldObject", "dryRun", "options"],
        ],
    ),
];

/// Returns the pod at a key of a question.
pub(super) fn pod(body: &Value, key: &'static str) -> Result<Pod, AskError> {
    let tree = body.get(key).filter(|pod| pod.is_object()).map(yaml::from_json);
    let root = tree
        .as_ref()
        .and_then(|tree| tree.document(0))
        .ok_or_else(|| AskError::Value(format!("`{key}` is no object")))?;
    Pod::read(root).map_err(|problem| AskError::unreadable(key, problem))
}

/// Returns the text at a key of a question, or none.
pub(super) fn text<'v>(body: &'v Value, key: &'static str) -> Result<Option<&'v str>, AskError> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(AskError::NotAString(key)),
    }
}
