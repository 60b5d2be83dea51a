//! ValidatingAdmissionPolicy: what a policy answers to a request, as kube-apiserver 1.37 evaluates it.
//!
//! ```text
//! policy, binding -> read -> matching (rules, selectors) -> conditions -> validations -> Verdict
//!                                                             \ cel, variables /
//! ```
//!
//! What cannot be told from the input, or is not evaluated here ([`cel`] says what), never becomes an answer:
//! [`Answer::Unknown`] says why. A condition that is false, or a validation that fails, decides all the same.
//!
//! Left out on purpose: parameters (`params` are null or unknown), the authorizer, and what the API server does to an
//! object before, such as filling in defaults; objects are taken as they are given. `tests/conformance/admissionpolicy`
//! holds this against the real code.
//!
//! [`Patches`] are what a MutatingAdmissionPolicy of ours does to an object, for pods that are judged after it.
mod decide;
mod known;
mod matching;
mod patches;
mod read;
mod request;
#[cfg(test)]
mod tests;

pub use known::Known;
pub use patches::Patches;
pub use read::{Action, Binding, Policy};
pub use request::AdmissionRequest;

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The request may pass, as far as the policy goes.
    Allow,
    /// It is refused.
    Deny,
    /// It cannot be told.
    Unknown,
}

impl Answer {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Unknown => "unknown",
        }
    }
}

/// What a policy makes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What is answered.
    pub answer: Answer,
    /// Whether the policy is about the request at all: its rules, its binding's, and its conditions. False where that
    /// cannot be told.
    pub matched: bool,
    /// Why it is refused, as the API server words it behind the name of the object; or why it cannot be told.
    pub message: String,
    /// The reason that the API server answers with, for one that is refused.
    pub reason: Option<String>,
    /// Every reason for which the request is refused; `message` has the first.
    pub denials: Vec<String>,
    /// What is told to the user, who may go on.
    pub warnings: Vec<String>,
    /// What goes to the audit log.
    pub audit: Vec<String>,
    /// What cannot be told, whether it decides or not: beside a refusal, what may have been the first thing that the
    /// API server says.
    pub unknown: Vec<String>,
}

impl Verdict {
    fn new(answer: Answer, matched: bool, message: impl Into<String>) -> Self {
        let message = message.into();
        let unknown = if answer == Answer::Unknown { vec![message.clone()] } else { Vec::new() };
        let (denials, warnings, audit) = (Vec::new(), Vec::new(), Vec::new());
        Self { answer, matched, message, reason: None, denials, warnings, audit, unknown }
    }
}
