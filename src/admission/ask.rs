//! Questions about admission, as JSON; `bailiwick ask` passes on what it is asked.

use serde_json::Value;

use super::{labels, scc};

/// Answers a question about admission; none for any other.
pub fn answer(question: &Value) -> Option<Result<Value, String>> {
    let (kind, body) = question.as_object().and_then(|map| map.iter().next().filter(|_| map.len() == 1))?;
    Some(match kind.as_str() {
        "scc-level" => scc::ask::scc_level(body),
        "scc-order" => scc::ask::scc_order(body),
        "scc-admit" => scc::ask::scc_admit(body),
        "namespace-labels" => labels::ask::namespace_labels(body),
        "namespace-neighbours" => labels::ask::namespace_neighbours(body),
        _ => return None,
    })
}
