//! The actions of a ValidatingAdmissionPolicyBinding on a violation.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

/// An action of a ValidatingAdmissionPolicyBinding on a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
pub enum ValidationAction {
    /// The audit log has a note of it.
    Audit,
    /// The request is refused.
    Deny,
    /// The user gets a warning.
    Warn,
}

impl ValidationAction {
    /// Every action, in the order of their names.
    pub const ALL: [Self; 3] = [Self::Audit, Self::Deny, Self::Warn];

    /// Returns the word in a binding.
    pub fn name(self) -> &'static str {
        match self {
            Self::Audit => "Audit",
            Self::Deny => "Deny",
            Self::Warn => "Warn",
        }
    }

    /// Whether the API server refuses a binding with these actions together: `Deny` and `Warn`, since the user of a denied request
    /// reads the message anyway. Source: `validateValidationActions` in
    /// `pkg/apis/admissionregistration/validation/validation.go` of Kubernetes 1.37.
    pub fn exclude_each_other(actions: impl IntoIterator<Item = Self>) -> bool {
        let actions: BTreeSet<Self> = actions.into_iter().collect();
        actions.contains(&Self::Deny) && actions.contains(&Self::Warn)
    }
}
