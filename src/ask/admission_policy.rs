//! The question about an admission policy as JSON, for `bailiwick ask`.

use serde_json::{Value, json};

use super::AskError;
use crate::admission::policy::{AdmissionRequest, Binding, ValidatingAdmissionPolicy};
use crate::k8s::catalogue::LAST_MINOR;
use crate::yaml;

/// Answers `{"minor": 37, "policy": {...}, "binding": {...}, "namespace": {...}, "requests": [...]}`: the verdict of the policy
/// on each request.
///
/// # Errors
/// Why it is not a question.
pub(super) fn admission_policy(body: &Value) -> Result<Value, AskError> {
    let given = |key: &str| body.get(key).filter(|value| !value.is_null());
    let tree = yaml::from_json(given("policy").ok_or(AskError::Missing("policy"))?);
    let root = tree.document(0).ok_or(AskError::Missing("policy"))?;
    let minor = match given("minor") {
        Some(minor) => minor
            .as_u64()
            .and_then(|minor| u32::try_from(minor).ok())
            .ok_or_else(|| AskError::value("`minor` is not a number"))?,
        None => LAST_MINOR,
    };
    let policy =
        ValidatingAdmissionPolicy::read(root, minor).map_err(|error| AskError::unreadable("policy", error.message))?;
    let binding = match given("binding") {
        Some(binding) => {
            let tree = yaml::from_json(binding);
            let root = tree.document(0).ok_or(AskError::Missing("binding"))?;
            Some(Binding::read(root).map_err(|error| AskError::unreadable("binding", error.message))?)
        }
        None => None,
    };
    let requests = given("requests").and_then(Value::as_array).ok_or(AskError::NotAList("requests"))?;
    let answers = requests.iter().map(|request| {
        let request = AdmissionRequest::from_json(request).map_err(AskError::refused)?;
        let verdict = policy.evaluate(&request, binding.as_ref(), given("namespace"));
        Ok(json!({
            "answer": verdict.answer.name(),
            "matched": verdict.matched,
            "message": verdict.message,
            "reason": verdict.reason,
            "warnings": verdict.warnings,
            "audit": verdict.audit,
            "unknown": verdict.unknown,
        }))
    });
    Ok(json!({ "answers": answers.collect::<Result<Vec<_>, AskError>>()? }))
}
