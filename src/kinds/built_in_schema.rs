//! The schemas of the documents that this program reads: policies, the workspace file and files of packages.
//!
//! A schema has two forms. The published form repeats each type at each of its fields, for editors and for diagnostics. The short form has
//! one definition for each type. A document is accepted if it plainly fits the short form. Any other document takes the published form, compiled
//! on first use.

use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{API_VERSION, WORKSPACE, shared};
use crate::diag::Sink;
use crate::model::{Kind, WorkspaceSpec};
use crate::yaml::NodeRef;
use crate::yaml::de::DeError;
use crate::yaml::internal;
use crate::yaml::schema::{Schema, plainly_fits};

/// The schema of a document that this program reads.
pub struct BuiltInSchema {
    generate: fn(Form) -> Value,
    short: OnceLock<Value>,
    compiled: OnceLock<Option<Schema>>,
}

/// The form of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Each type at each of its fields.
    Published,
    /// One definition for each type.
    Short,
}

impl BuiltInSchema {
    /// Returns the schema of the documents of a policy kind.
    pub(super) const fn of_kind<K: Kind>() -> Self {
        Self::new(|form| document_schema(K::NAME, spec_schema::<K::Spec>(form)))
    }

    /// Returns the schema of the workspace file.
    pub(super) const fn of_workspace() -> Self {
        Self::new(|form| document_schema(WORKSPACE, spec_schema::<WorkspaceSpec>(form)))
    }

    /// Returns the schema of a file without the fields of a policy, such as `app.yaml` of a package.
    pub(super) const fn of_file<S: JsonSchema>() -> Self {
        Self::new(spec_schema::<S>)
    }

    const fn new(generate: fn(Form) -> Value) -> Self {
        Self { generate, short: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// Returns the published form.
    pub fn document(&self) -> Value {
        (self.generate)(Form::Published)
    }

    /// Whether a document fits.
    pub fn fits(&self, root: NodeRef<'_>) -> bool {
        let is_plain = plainly_fits(self.short(), root);
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

    fn short(&self) -> &Value {
        self.short.get_or_init(|| (self.generate)(Form::Short))
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
fn spec_schema<S: JsonSchema>(form: Form) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|own| own.inline_subschemas = form == Form::Published);
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
    let definitions = spec.as_object_mut().and_then(|spec| spec.remove("$defs"));
    let mut document = serde_json::json!({
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
    });
    if let (Some(document), Some(definitions)) = (document.as_object_mut(), definitions) {
        document.insert("$defs".to_owned(), definitions);
    }
    document
}

#[cfg(test)]
mod tests;
