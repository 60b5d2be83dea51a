//! Which fields an object may have, and values of which types.

use super::rules;
use crate::k8s::openapi::KindFields;
use crate::k8s::schemas;
use crate::yaml::NodeRef;
use crate::yaml::schema::{Problem, Schema};

/// What is known about the fields of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownFields {
    /// A built-in kind at one minor.
    BuiltIn(KindFields),
    /// A kind of OpenShift.
    Schema(&'static Schema),
    /// Nothing.
    Unknown,
}

impl KnownFields {
    /// The fields of a kind at a minor of Kubernetes.
    pub(super) fn find(minor: u32, api_version: &str, kind: &str) -> Self {
        // The server's rules for a StatefulSet leave out most of its templates.
        let has_other_rules = rules::has_rules(api_version, kind) || kind == "StatefulSet";
        let built_in = KindFields::find(minor, api_version, kind)
            .map(|fields| if has_other_rules { fields.without_words() } else { fields })
            .map(KnownFields::BuiltIn);
        let schema = || schemas::schema_of(api_version, kind).map(KnownFields::Schema);
        built_in.or_else(schema).unwrap_or(KnownFields::Unknown)
    }

    /// Each unknown field and wrong value of an object, in the order of the text.
    pub(super) fn problems(self, object: NodeRef<'_>) -> Vec<Problem<'_>> {
        match self {
            KnownFields::BuiltIn(fields) => fields.problems(object),
            KnownFields::Schema(schema) if !schema.fits(object) => schema.problems(object),
            KnownFields::Schema(_) | KnownFields::Unknown => Vec::new(),
        }
    }
}
