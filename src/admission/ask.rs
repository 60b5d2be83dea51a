//! Questions about admission as JSON, for `bailiwick ask`: those that need no world.

use serde_json::Value;

use super::psp;

/// Answers a question about admission; none where it is about something else.
pub fn answer(question: &Value) -> Option<Result<Value, String>> {
    let (kind, body) = question.as_object().filter(|map| map.len() == 1)?.iter().next()?;
    match kind.as_str() {
        "psp-level" => Some(psp::ask::level(body)),
        "psp-admit" => Some(psp::ask::admit(body)),
        "psp-choose" => Some(psp::ask::choose(body)),
        "psp-compare" => Some(psp::ask::compare(body)),
        "psp-migrate" => Some(psp::ask::migrate(body)),
        _ => None,
    }
}
