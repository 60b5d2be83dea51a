//! The questions about admission among those of `bailiwick ask`; `docs/ask.md` shows each with its answer.
//!
//! A kind of question is one line here and a function in the module that it is about. None needs a world.

use serde_json::Value;

use super::pod::Pod;
use super::standards::questions as standards;
use super::{labels, policy, psp, scc};
use crate::yaml;

/// Answers a question if it is of a kind that is known here.
///
/// # Errors
/// Inside: why it cannot be answered.
pub fn answer(kind: &str, body: &Value) -> Option<Result<Value, String>> {
    Some(match kind {
        "pod-security" => standards::pod_security(body),
        "pod-admission" => standards::pod_admission(body),
        "namespace-policy" => standards::namespace_policy(body),
        "scc-level" => scc::ask::scc_level(body),
        "scc-order" => scc::ask::scc_order(body),
        "scc-admit" => scc::ask::scc_admit(body),
        "namespace-labels" => labels::ask::namespace_labels(body),
        "namespace-neighbours" => labels::ask::namespace_neighbours(body),
        "psp-level" => psp::ask::level(body),
        "psp-admit" => psp::ask::admit(body),
        "psp-choose" => psp::ask::choose(body),
        "psp-compare" => psp::ask::compare(body),
        "psp-migrate" => psp::ask::migrate(body),
        "admission-policy" => policy::ask::admission_policy(body),
        _ => return None,
    })
}

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
