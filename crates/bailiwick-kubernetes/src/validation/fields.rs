//! The fields of an object, and the types of their values.

use std::sync::Arc;

use crate::custom_fields::CustomFields;
use crate::openapi::KindFields;
use crate::openapi::metadata_problems;
use crate::schemas;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::schema::{Problem, Schema};

/// How far the checks of a kind reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValidationDepth {
    /// Metadata alone.
    Metadata,
    /// Metadata, fields, types and words.
    Fields,
    /// All rules of the server.
    Rules,
}

impl ValidationDepth {
    /// Returns the name in answers of `bailiwick ask`.
    pub fn id(self) -> &'static str {
        match self {
            ValidationDepth::Metadata => "metadata",
            ValidationDepth::Fields => "fields",
            ValidationDepth::Rules => "rules",
        }
    }

    /// Returns the coverage of the checks of a kind at a minor of Kubernetes.
    pub fn find(minor: u32, definitions: &[Arc<CustomFields>], api_version: &str, kind: &str) -> Self {
        match KnownFields::find(minor, definitions, api_version, kind) {
            _ if super::has_rules(api_version, kind) => ValidationDepth::Rules,
            KnownFields::MetadataAlone(_) => ValidationDepth::Metadata,
            _ => ValidationDepth::Fields,
        }
    }
}

/// The knowledge about the fields of a kind.
#[derive(Debug, Clone, Copy)]
pub enum KnownFields<'d> {
    /// A built-in kind at one minor.
    BuiltIn(KindFields),
    /// A kind of OpenShift.
    Schema(&'static Schema),
    /// A custom resource with a definition among the inputs, at a minor.
    Custom(&'d CustomFields, u32),
    /// Nothing but the metadata, at a minor.
    MetadataAlone(u32),
}

impl<'d> KnownFields<'d> {
    /// Returns the fields of a kind at a minor of Kubernetes. Of two definitions of one kind the last counts.
    pub fn find(minor: u32, definitions: &'d [Arc<CustomFields>], api_version: &str, kind: &str) -> Self {
        // The server's rules for a StatefulSet leave out most of its templates.
        let has_other_rules = super::has_rules(api_version, kind) || kind == "StatefulSet";
        if let Some(fields) = KindFields::find(minor, api_version, kind) {
            return KnownFields::BuiltIn(if has_other_rules { fields.without_words() } else { fields });
        }
        if let Some(schema) = schemas::schema_of(api_version, kind) {
            return KnownFields::Schema(schema);
        }
        let custom = definitions.iter().rev().find(|definition| definition.is_of(api_version, kind));
        custom.map_or(KnownFields::MetadataAlone(minor), |custom| KnownFields::Custom(custom, minor))
    }

    /// Returns each unknown field and wrong value of an object, in the order of the text.
    pub fn problems(self, object: NodeRef<'_>) -> Vec<Problem<'_>> {
        match self {
            KnownFields::BuiltIn(fields) => fields.problems(object),
            KnownFields::Schema(schema) if !schema.fits(object) => schema.problems(object),
            KnownFields::Schema(_) => Vec::new(),
            KnownFields::Custom(fields, minor) => {
                let mut problems = metadata_problems(minor, object);
                problems.extend(fields.problems(object));
                problems
            }
            KnownFields::MetadataAlone(minor) => metadata_problems(minor, object),
        }
    }
}
