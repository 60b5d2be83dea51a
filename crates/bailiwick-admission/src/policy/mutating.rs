//! MutatingAdmissionPolicy: the object of a request after the patches of a policy.
//!
//! Left out on purpose: apply configurations, parameters, and patches other than `add`. Their effect is unknown.

use std::error::Error;
use std::fmt;

use serde::Deserialize;
use serde_json::Value as Json;

use super::read::{Binding, RawVariable, ValidatingAdmissionPolicy};
use super::{AdmissionRequest, Patches, PolicyAnswer};
use crate::pod::or_default;
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// A MutatingAdmissionPolicy, ready to be applied.
#[derive(Debug, Clone)]
pub struct MutatingAdmissionPolicy {
    /// The rules, conditions and variables, as a policy without validations.
    matching: ValidatingAdmissionPolicy,
    /// The mutations; none if there is an apply configuration.
    patches: Option<Patches>,
}

/// Why the effect of a policy on a request is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutationError {
    /// The name of the policy.
    pub policy: String,
    /// The part of the policy or of the request that is not evaluated.
    pub reason: String,
}

impl fmt::Display for MutationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, reason } = self;
        write!(formatter, "MutatingAdmissionPolicy '{policy}' may change the object: {reason}")
    }
}

impl Error for MutationError {}

#[derive(Deserialize)]
struct RawPolicy {
    spec: RawSpec,
}

#[derive(Deserialize)]
struct RawSpec {
    #[serde(default, deserialize_with = "or_default")]
    variables: Vec<RawVariable>,
    #[serde(default, deserialize_with = "or_default")]
    mutations: Vec<RawMutation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMutation {
    json_patch: Option<RawPatch>,
}

#[derive(Deserialize)]
struct RawPatch {
    expression: String,
}

impl MutatingAdmissionPolicy {
    /// Reads a policy as the API server of a minor reads a stored one.
    ///
    /// # Errors
    /// When the object is no policy.
    pub fn read(node: NodeRef<'_>, minor: u32) -> Result<Self, DeError> {
        let RawPolicy { spec } = from_node(node)?;
        let expressions: Option<Vec<String>> =
            spec.mutations.into_iter().map(|mutation| Some(mutation.json_patch?.expression)).collect();
        let variables: Vec<_> = spec.variables.into_iter().map(|raw| (raw.name, raw.expression)).collect();
        Ok(Self {
            matching: ValidatingAdmissionPolicy::read(node, minor)?,
            patches: expressions.map(|expressions| Patches::compile(&variables, &expressions, minor)),
        })
    }

    /// Reads a binding.
    ///
    /// # Errors
    /// When the object is no binding.
    pub fn read_binding(node: NodeRef<'_>) -> Result<Binding, DeError> {
        // A failed condition is then a denial.
        Ok(Binding { actions: vec![ValidationAction::Deny], ..Binding::read(node)? })
    }

    /// Returns the name of the policy.
    pub fn name(&self) -> &str {
        &self.matching.name
    }

    /// Returns the patched object of a request; none if the policy does not match the request.
    ///
    /// # Errors
    /// Why the effect of the policy is unknown.
    pub fn patched(
        &self,
        request: &AdmissionRequest,
        binding: &Binding,
        namespace: Option<&Json>,
    ) -> Result<Option<Json>, MutationError> {
        let unknown = |reason: String| MutationError { policy: self.name().to_owned(), reason };
        let matched = self.matching.evaluate(request, Some(binding), namespace);
        if matched.answer != PolicyAnswer::Allow {
            // A failed condition is worded as a denial of a ValidatingAdmissionPolicy.
            return Err(unknown(match matched.denials.into_iter().next() {
                Some(failure) => failure,
                None => matched.message,
            }));
        }
        let Some(mut object) = request.object.clone().filter(|_| matched.matched) else { return Ok(None) };
        let patches = self.patches.as_ref();
        let patches = patches.ok_or_else(|| unknown("it has an apply configuration".to_owned()))?;
        patches.apply_to(&mut object, request, namespace).map_err(|error| unknown(error.to_string()))?;
        Ok(Some(object))
    }
}
