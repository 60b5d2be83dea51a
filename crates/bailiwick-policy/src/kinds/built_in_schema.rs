//! The schemas of the documents that this program reads: policies, the workspace file and files of packages.
//!
//! A schema has two forms. The published form has descriptions, for editors and for diagnostics. The rules are its keywords with an effect on
//! a check. A document is accepted if it plainly fits the rules. Any other document takes the published form, compiled on first use.
//!
//! The rules are generated: `UPDATE=1 cargo test --lib built_in_schema` writes `built_in_schema/rules.in`.

mod rules;

use std::sync::OnceLock;

use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::diag::Sink;
use bailiwick_yaml::internal;
use bailiwick_yaml::schema::Schema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use self::rules::{JsonType, OtherProperties, Property, Rules};
use super::{API_VERSION, WORKSPACE, shared};
use crate::model::{Kind, WorkspaceSpec};

/// The rules of the schema of a name.
struct NamedRules {
    name: &'static str,
    rules: &'static Rules,
}

/// The rules of each schema.
static RULES: &[NamedRules] = include!("built_in_schema/rules.in");

/// The schema of a document that this program reads.
pub struct BuiltInSchema {
    /// The kind of the documents, or the name of the file.
    name: &'static str,
    generate: fn(&'static str) -> Value,
    compiled: OnceLock<Option<Schema>>,
}

impl BuiltInSchema {
    /// Returns the schema of the documents of a policy kind.
    pub(super) const fn of_kind<K: Kind>() -> Self {
        Self::new(K::NAME, |kind| document_schema(kind, spec_schema::<K::Spec>()))
    }

    /// Returns the schema of the workspace file.
    pub(super) const fn of_workspace() -> Self {
        Self::new(WORKSPACE, |kind| document_schema(kind, spec_schema::<WorkspaceSpec>()))
    }

    /// Returns the schema of a file without the fields of a policy, such as `app.yaml` of a package.
    pub(super) const fn of_file<S: JsonSchema>(name: &'static str) -> Self {
        Self::new(name, |_| spec_schema::<S>())
    }

    const fn new(name: &'static str, generate: fn(&'static str) -> Value) -> Self {
        Self { name, generate, compiled: OnceLock::new() }
    }

    /// Returns the published form.
    pub fn document(&self) -> Value {
        (self.generate)(self.name)
    }

    /// Whether a document fits.
    pub fn fits(&self, root: NodeRef<'_>) -> bool {
        let is_plain = self.rules().is_some_and(|rules| rules.fit(root));
        if is_plain && cfg!(debug_assertions) && !self.fits_compiled(root) {
            internal::record("the two forms of a schema disagree about a document");
        }
        is_plain || self.fits_compiled(root)
    }

    /// Reports all problems of a document, see [`Schema::report`].
    pub fn report(&self, root: NodeRef<'_>, error: Option<DeError>, sink: &mut Sink) {
        if let Some(schema) = self.compiled() {
            schema.report(root, error, sink);
        }
    }

    fn fits_compiled(&self, root: NodeRef<'_>) -> bool {
        self.compiled().is_some_and(|schema| schema.fits(root))
    }

    /// Returns the rules. Without rules, the compiled schema decides about each document.
    fn rules(&self) -> Option<&'static Rules> {
        RULES.iter().find(|known| known.name == self.name).map(|known| known.rules)
    }

    fn compiled(&self) -> Option<&Schema> {
        let compiled = self.compiled.get_or_init(|| Schema::compile(self.document()).ok()).as_ref();
        if compiled.is_none() {
            internal::record("a built-in schema is no JSON Schema");
        }
        compiled
    }
}

/// Builds the schema of a type.
fn spec_schema<S: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|own| own.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<S>().to_value();
    shared::simplify_schema(&mut schema);
    schema
}

/// Wraps the schema of a `spec` into the schema of a document.
fn document_schema(kind: &str, mut spec: Value) -> Value {
    let description = spec.get("description").cloned();
    if let Some(object) = spec.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        object.remove("description");
    }
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind,
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": { "description": "The version of the policy format.", "type": "string", "const": API_VERSION },
            "kind": { "description": "The policy kind.", "type": "string", "const": kind },
            "metadata": {
                "description": "How other policies and reports call this one.",
                "type": "object",
                "additionalProperties": false,
                "required": ["name"],
                "properties": {
                    "name": {
                        "description": "The policy's name, unique within its kind.",
                        "type": "string",
                        "minLength": 1
                    },
                    "allow": {
                        "description": "Warnings that are known and accepted for this policy: codes, or maps with a code.",
                        "type": "array",
                        "items": {
                            "type": ["string", "object"],
                            "additionalProperties": false,
                            "required": ["code"],
                            "properties": {
                                "code": { "description": "The code of the warnings.", "type": "string" },
                                "reason": { "description": "The reason of the acceptance.", "type": "string" },
                                "expires": {
                                    "description": "The last day of the acceptance: `2027-03-31`. After that day the warning is reported again.",
                                    "type": "string"
                                }
                            }
                        }
                    }
                }
            },
            "spec": spec
        }
    })
}

#[cfg(test)]
mod tests;
