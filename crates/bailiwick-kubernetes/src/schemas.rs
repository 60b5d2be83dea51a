//! The shape of each kind as a JSON Schema: unknown fields and wrong types.
//!
//! The files in `schema/` are strict (`additionalProperties: false`) and contain no rule of the API server's own
//! validation: a missing verb is an error of [`crate::validation`]. Every value may be null, read as absent by the
//! server. Two keywords are our own: `x-omit-zero` marks a field not stored while it is zero or empty, `x-quantity` a
//! quantity. One file may serve several versions of a kind: the version in it is replaced by the version of the table.
//! `$ref` names a definition of `shared.json` and is replaced when a schema is loaded, for near misses beside every
//! mismatch.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::shape::Shape;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::schema::Schema;
use bailiwick_yaml::{Tree, internal};

/// The strict schema of its objects, with the parts derived from it.
#[derive(Debug)]
pub struct KindSchema {
    /// Such as `rbac.authorization.k8s.io/v1`.
    pub api_version: &'static str,
    /// Such as `Role`.
    pub kind: &'static str,
    /// True when objects of the kind live in a namespace.
    pub namespaced: bool,
    source: &'static str,
    schema: OnceLock<Option<Schema>>,
    shape: OnceLock<Shape>,
}

/// Returns every kind with a schema.
pub fn all() -> &'static [KindSchema] {
    &KINDS
}

/// Returns the entry of a kind.
pub fn find(api_version: &str, kind: &str) -> Option<&'static KindSchema> {
    KINDS.iter().find(|entry| entry.kind == kind && entry.api_version == api_version)
}

/// Returns the compiled schema of a kind; compiled when it is first asked for.
pub fn schema_of(api_version: &str, kind: &str) -> Option<&'static Schema> {
    find(api_version, kind)?.schema()
}

impl KindSchema {
    /// Returns the compiled schema.
    pub fn schema(&'static self) -> Option<&'static Schema> {
        self.schema.get_or_init(|| Schema::compile(self.document()).ok()).as_ref()
    }

    /// Returns the schema as a self-contained document.
    pub fn document(&self) -> Value {
        let mut document = resolved(parse(self.source), &parse(SHARED));
        if let Some(api_version) = document.pointer_mut("/properties/apiVersion/const") {
            *api_version = self.api_version.into();
        }
        document
    }

    /// Returns the shape of the stored form.
    pub(super) fn shape(&'static self) -> &'static Shape {
        let of_source = || Some(Shape::from_schema(read(self.source).document(0)?, shared().document(0)?));
        self.shape.get_or_init(|| internal::value(of_source(), "a built-in schema is unreadable"))
    }
}

const SHARED: &str = include_str!("schema/shared.json");

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const ADMISSION_BETA: &str = "admissionregistration.k8s.io/v1beta1";

static KINDS: [KindSchema; 17] = [
    entry(RBAC, "Role", true, include_str!("schema/Role.json")),
    entry(RBAC, "RoleBinding", true, include_str!("schema/RoleBinding.json")),
    entry(RBAC, "ClusterRole", false, include_str!("schema/ClusterRole.json")),
    entry(RBAC, "ClusterRoleBinding", false, include_str!("schema/ClusterRoleBinding.json")),
    entry("v1", "ServiceAccount", true, include_str!("schema/ServiceAccount.json")),
    entry("v1", "Namespace", false, include_str!("schema/Namespace.json")),
    entry("v1", "ResourceQuota", true, include_str!("schema/ResourceQuota.json")),
    entry("v1", "LimitRange", true, include_str!("schema/LimitRange.json")),
    entry("networking.k8s.io/v1", "NetworkPolicy", true, include_str!("schema/NetworkPolicy.json")),
    entry("policy/v1beta1", "PodSecurityPolicy", false, include_str!("schema/PodSecurityPolicy.json")),
    entry(
        "security.openshift.io/v1",
        "SecurityContextConstraints",
        false,
        include_str!("schema/SecurityContextConstraints.json"),
    ),
    entry(ADMISSION, "ValidatingAdmissionPolicy", false, VALIDATING),
    entry(ADMISSION, "ValidatingAdmissionPolicyBinding", false, VALIDATING_BINDING),
    entry(ADMISSION, "MutatingAdmissionPolicy", false, MUTATING),
    entry(ADMISSION, "MutatingAdmissionPolicyBinding", false, MUTATING_BINDING),
    entry(ADMISSION_BETA, "MutatingAdmissionPolicy", false, MUTATING),
    entry(ADMISSION_BETA, "MutatingAdmissionPolicyBinding", false, MUTATING_BINDING),
];

const VALIDATING: &str = include_str!("schema/ValidatingAdmissionPolicy.json");
const VALIDATING_BINDING: &str = include_str!("schema/ValidatingAdmissionPolicyBinding.json");
const MUTATING: &str = include_str!("schema/MutatingAdmissionPolicy.json");
const MUTATING_BINDING: &str = include_str!("schema/MutatingAdmissionPolicyBinding.json");

const fn entry(api_version: &'static str, kind: &'static str, namespaced: bool, source: &'static str) -> KindSchema {
    KindSchema { api_version, kind, namespaced, source, schema: OnceLock::new(), shape: OnceLock::new() }
}

/// Returns an embedded file; a unit test reads every one of them.
fn parse(source: &str) -> Value {
    serde_json::from_str(source).unwrap_or_default()
}

/// Returns an embedded file as a tree, for a fast walk.
fn read(source: &str) -> Tree {
    bailiwick_yaml::read(source, FileId::default(), &mut Sink::new())
}

/// Returns the shared definitions as a tree.
fn shared() -> &'static Tree {
    static DEFINITIONS: OnceLock<Tree> = OnceLock::new();
    DEFINITIONS.get_or_init(|| read(SHARED))
}

/// Replaces every `$ref` by the shared definition, with the keywords beside it.
fn resolved(schema: Value, shared: &Value) -> Value {
    match schema {
        Value::Object(mut members) => {
            let name = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            let mut merged = Map::new();
            if let Some(Value::Object(definition)) = name.and_then(|name| shared.get(name)).cloned() {
                members.remove("$ref");
                merged = definition;
            }
            merged.extend(members);
            Value::Object(merged.into_iter().map(|(key, value)| (key, resolved(value, shared))).collect())
        }
        Value::Array(items) => items.into_iter().map(|item| resolved(item, shared)).collect(),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use bailiwick_yaml::from_json;

    use super::*;

    #[test]
    fn a_shape_is_the_shape_of_the_whole_schema() {
        for entry in all() {
            let (document, nothing) = (from_json(&entry.document()), from_json(&Value::Null));
            let shape = Shape::from_schema(document.document(0).unwrap(), nothing.document(0).unwrap());
            let whole = format!("{shape:?}");
            assert!(whole.len() > 100 && whole == format!("{:?}", entry.shape()), "{}: {whole}", entry.kind);
        }
    }

    #[test]
    fn every_schema_compiles_and_is_closed() {
        for entry in all() {
            let document = entry.document();
            assert_eq!(document.pointer("/properties/kind/const"), Some(&Value::from(entry.kind)));
            assert_eq!(document.pointer("/properties/apiVersion/const"), Some(&Value::from(entry.api_version)));
            assert!(!document.to_string().contains("$ref"), "{} is self-contained", entry.kind);
            assert!(Schema::compile(document).is_ok(), "{}", entry.kind);
        }
    }
}
