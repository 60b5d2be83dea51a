//! The questions about admission among those of `bailiwick ask`; `docs/ask.md` shows each with its answer.
//!
//! A kind of question is one line here and a function in the module that it is about. None needs a world.

use serde_json::Value;

use super::pod::Pod;
use super::standards::questions as standards;
use super::{labels, policy, psp, scc};
use crate::access::ask::{Keys, check_keys};
use crate::yaml;

/// Answers a question if it is of a kind that is known here.
///
/// # Errors
/// Inside: why it cannot be answered.
pub fn answer(kind: &str, body: &Value) -> Option<Result<Value, String>> {
    let answer: fn(&Value) -> Result<Value, String> = match kind {
        "pod-security" => standards::pod_security,
        "pod-admission" => standards::pod_admission,
        "namespace-policy" => standards::namespace_policy,
        "scc-level" => scc::ask::scc_level,
        "scc-order" => scc::ask::scc_order,
        "scc-admit" => scc::ask::scc_admit,
        "namespace-labels" => labels::ask::namespace_labels,
        "namespace-neighbours" => labels::ask::namespace_neighbours,
        "psp-level" => psp::ask::level,
        "psp-admit" => psp::ask::admit,
        "psp-choose" => psp::ask::choose,
        "psp-compare" => psp::ask::compare,
        "psp-migrate" => psp::ask::migrate,
        "admission-policy" => policy::ask::admission_policy,
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

/// The pod at a key of a question.
pub(super) fn pod(body: &Value, key: &str) -> Result<Pod, String> {
    let tree = body.get(key).filter(|pod| pod.is_object()).map(yaml::from_json);
    let root = tree.as_ref().and_then(|tree| tree.document(0)).ok_or_else(|| format!("`{key}` is no object"))?;
    Pod::read(root).map_err(|problem| format!("`{key}`: {problem}"))
}

/// The text at a key of a question, or none.
pub(super) fn text<'v>(body: &'v Value, key: &str) -> Result<Option<&'v str>, String> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a string")),
    }
}
