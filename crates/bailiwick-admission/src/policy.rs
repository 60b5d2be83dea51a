//! ValidatingAdmissionPolicy: the decision of a policy about a request, as kube-apiserver 1.37 evaluates it.
//!
//! ```text
//! policy, binding -> read -> matching (rules, selectors) -> conditions -> validations -> Verdict
//!                                                             \ cel, variables /
//! ```
//!
//! An expression on unknown input, or outside of the supported part of CEL ([`bailiwick_cel`]), never becomes a
//! decision: the answer is [`PolicyAnswer::Unknown`] with the reason. A false condition or a failed validation decides all
//! the same.
//!
//! Left out on purpose: parameters (`params` are null or unknown), the authorizer, and changes by the API server
//! before admission, such as defaults. `tests/conformance/admissionpolicy` compares the results with the real code.
//!
//! [`MutatingAdmissionPolicy`] changes the object of a request before these decisions, and [`Patches`] are its mutations.
mod bound;
mod decide;
mod known;
mod matching;
mod mutating;
mod patches;
mod read;
mod request;
#[cfg(test)]
mod tests;

pub use bound::{BoundPolicy, NamespaceReads, PolicyCondition, PolicyState, RequestContext};
pub use known::KnownRequest;
pub use mutating::{MutatingAdmissionPolicy, MutationError};
pub use patches::{PatchError, Patches};
pub use read::{Binding, ValidatingAdmissionPolicy, Webhook};
pub use request::{AdmissionRequest, RequestError};

/// Admission or denial by a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAnswer {
    /// The request may pass, as far as the policy goes.
    Allow,
    /// It is refused.
    Deny,
    /// The input does not decide.
    Unknown,
}

impl PolicyAnswer {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Unknown => "unknown",
        }
    }
}

/// The decision of a policy about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Admission, denial or neither.
    pub answer: PolicyAnswer,
    /// Whether the rules, the binding and the conditions of the policy match the request. False if this is unknown.
    pub matched: bool,
    /// The reason for a denial, as the API server prints it after the name of the object; or the reason for an unknown
    /// answer.
    pub message: String,
    /// The status reason of the API server, for a denial.
    pub reason: Option<String>,
    /// Every reason for a denial; `message` has the first.
    pub denials: Vec<String>,
    /// The warnings for the user of an admitted request.
    pub warnings: Vec<String>,
    /// The annotations in the audit log.
    pub audit: Vec<String>,
    /// The unknown parts, whether they decide or not. Beside a denial, they may precede its message in the real
    /// server.
    pub unknown: Vec<String>,
}

impl PolicyDecision {
    fn new(answer: PolicyAnswer, matched: bool, message: impl Into<String>) -> Self {
        let message = message.into();
        let unknown = if answer == PolicyAnswer::Unknown { vec![message.clone()] } else { Vec::new() };
        let (denials, warnings, audit) = (Vec::new(), Vec::new(), Vec::new());
        Self { answer, matched, message, reason: None, denials, warnings, audit, unknown }
    }
}
