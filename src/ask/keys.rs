//! The keys that questions may have. A key that is misspelt would be a question about something else.

use serde_json::Value;

use super::AskError;
use crate::diag::nearest;

/// The keys of one object of a question. The path of the object begins with the kind of the question, and `*` in it stands
/// for each item of a list. The keys are in groups.
pub(super) type Keys = (&'static str, &'static [&'static [&'static str]]);

/// The keys of a rule of a role.
pub(super) const RULE: &[&str] = &["apiGroups", "resources", "verbs", "resourceNames", "nonResourceURLs"];

/// Keys that are the asker's own, in any object of a question: names, comments, and expected answers beside a question. Nothing
/// reads them.
const OWN_KEYS: &[&str] = &["id", "note", "why", "source", "expect", "allow", "by", "missing", "reason", "error"];

/// Checks that the objects of a question have none but the keys of a table.
///
/// # Errors
/// The first key that is not known, with what was meant; a kind of question that is not in the table.
pub(super) fn check_keys(table: &[Keys], kind: &str, body: &Value) -> Result<(), AskError> {
    let mut is_known = false;
    for (path, keys) in table {
        let (own, below) = path.split_once('/').unwrap_or((path, ""));
        if own == kind {
            is_known = true;
            check_at(body, below, keys)?;
        }
    }
    if is_known { Ok(()) } else { Err(AskError::UnknownQuestion(kind.to_owned())) }
}

fn check_at(value: &Value, path: &str, keys: &[&[&str]]) -> Result<(), AskError> {
    let (step, below) = path.split_once('/').unwrap_or((path, ""));
    match (step, value) {
        ("", object) => only_keys(object, keys),
        ("*", Value::Array(items)) => items.iter().try_for_each(|item| check_at(item, below, keys)),
        (step, _) => value.get(step).map_or(Ok(()), |value| check_at(value, below, keys)),
    }
}

/// Checks that an object of a question has none but these keys and the asker's own.
///
/// # Errors
/// The first key that is not known, with what was meant.
fn only_keys(body: &Value, known: &[&[&str]]) -> Result<(), AskError> {
    let Some(map) = body.as_object() else { return Ok(()) };
    let keys = || known.iter().flat_map(|keys| keys.iter().copied());
    let is_known = |key: &str| OWN_KEYS.contains(&key) || keys().any(|known| known == key);
    let Some(unknown) = map.keys().find(|key| !is_known(key)) else { return Ok(()) };
    // The other questions have the name that Kubernetes' objects have.
    let other_name = match unknown.as_str() {
        "apiGroup" => keys().find(|known| *known == "group"),
        "group" => keys().find(|known| *known == "apiGroup"),
        _ => None,
    };
    let suggestion = match other_name.or_else(|| nearest(unknown, keys())) {
        Some(near) => format!(": did you mean `{near}`?"),
        None if keys().next().is_none() => String::new(),
        None => format!(": the keys are {}", keys().collect::<Vec<_>>().join(", ")),
    };
    Err(AskError::UnknownKey { key: unknown.clone(), suggestion })
}
