//! The policy kinds, one file each, and their list.
//!
//! A new kind is one file here, its module and its line in [`ALL`], a folder of templates and a folder of cases. The
//! order of the list is the order of linking (a kind comes after those it refers to) and of every listing.

pub mod access_test;
mod account_profiles;
pub mod approval_policy;
mod delivered;
mod findings;
pub mod grant;
pub mod group_set;
pub mod guard;
pub mod manifests;
mod matching_files;
pub mod namespace_set;
pub mod node_access;
mod objects;
mod packaged;
pub mod permission_set;
pub mod pod_security_profile;
mod requirements;
mod selector;
mod shared;
pub mod stack;
pub mod stack_manager;
mod stance;
pub mod tenancy;

pub(crate) use findings::Findings;
use std::sync::OnceLock;

use crate::diag::{RunError, Sink};
use crate::model::{Kind, Linker, Patterns, Policy, RawDocument, WorkspaceSpec};
use crate::yaml::de::{DeError, from_node};
use crate::yaml::schema::{Schema, SchemaError};

/// The API version of every policy.
pub const API_VERSION: &str = "bailiwick.dev/v1alpha1";

/// The kind of the workspace file; it is not a policy kind.
pub const WORKSPACE: &str = "Workspace";

/// Declares [`ALL`], whose length is the number of the kinds.
macro_rules! all_kinds {
    ($($kind:ty),* $(,)?) => {
        /// Every policy kind.
        pub static ALL: [KindEntry; [$(stringify!($kind)),*].len()] = [$(KindEntry::new::<$kind>()),*];
    };
}

all_kinds![
    manifests::ManifestsKind,
    stack::StackKind,
    permission_set::PermissionSetKind,
    pod_security_profile::PodSecurityProfileKind,
    grant::GrantKind,
    namespace_set::NamespaceSetKind,
    tenancy::TenancyKind,
    stack_manager::StackManagerKind,
    node_access::NodeAccessKind,
    group_set::GroupSetKind,
    guard::GuardKind,
    access_test::AccessTestKind,
    approval_policy::ApprovalPolicyKind,
];

/// The entry of a policy kind in the registry.
pub struct KindEntry {
    /// The `kind` of its documents.
    pub name: &'static str,
    /// The templates of its objects.
    pub templates: &'static [&'static str],
    /// The variables allowed in its texts.
    pub patterns: Patterns,
    /// The field with the names of policies of the same kind, linked first.
    pub includes: Option<&'static str>,
    schema: fn() -> schemars::Schema,
    compiled: OnceLock<Result<Schema, SchemaError>>,
    link: LinkFunction,
    check_together: fn(&Linker<'_>, bool, &mut Sink),
}

type LinkFunction = fn(&RawDocument<'_>, &mut Linker<'_>, &mut Sink) -> Result<Option<Box<dyn Policy>>, DeError>;

impl KindEntry {
    const fn new<K: Kind>() -> Self {
        Self {
            name: K::NAME,
            templates: K::TEMPLATES,
            patterns: K::PATTERNS,
            includes: K::INCLUDES,
            schema: spec_schema::<K::Spec>,
            compiled: OnceLock::new(),
            link: link::<K>,
            check_together: K::check_together,
        }
    }

    /// Returns the JSON Schema of a whole document of this kind.
    pub fn schema(&self) -> serde_json::Value {
        document_schema(self.name, (self.schema)())
    }

    /// Returns the compiled schema of a document; compiled on first use.
    ///
    /// # Errors
    /// Fails if the schema is invalid, a bug of this program.
    pub fn compiled_schema(&'static self) -> Result<&'static Schema, RunError> {
        self.compiled.get_or_init(|| Schema::compile(self.schema())).as_ref().map_err(wrong_schema)
    }

    /// Reads and links a document.
    ///
    /// # Errors
    /// The first mismatch between the document and the kind's shape.
    pub fn link(
        &self,
        document: &RawDocument<'_>,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Result<Option<Box<dyn Policy>>, DeError> {
        (self.link)(document, linker, sink)
    }
}

/// Checks the policies of each kind together, see [`Kind::check_together`].
pub fn check_together(linker: &Linker<'_>, is_whole: bool, sink: &mut Sink) {
    ALL.iter().for_each(|entry| (entry.check_together)(linker, is_whole, sink));
}

/// Returns the entry of a kind.
pub fn find(name: &str) -> Option<&'static KindEntry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// Returns the JSON Schema of the workspace file.
pub fn workspace_schema() -> serde_json::Value {
    document_schema(WORKSPACE, spec_schema::<WorkspaceSpec>())
}

/// Returns the compiled schema of the workspace file.
///
/// # Errors
/// Fails as [`KindEntry::compiled_schema`] does.
pub fn compiled_workspace_schema() -> Result<&'static Schema, RunError> {
    static COMPILED: OnceLock<Result<Schema, SchemaError>> = OnceLock::new();
    COMPILED.get_or_init(|| Schema::compile(workspace_schema())).as_ref().map_err(wrong_schema)
}

fn wrong_schema(error: &SchemaError) -> RunError {
    RunError::new(format!("a built-in schema is wrong: {error}"))
}

/// Returns the schema of a document by its kind, including the workspace file.
pub fn schema_of(kind: &str) -> Option<serde_json::Value> {
    if kind == WORKSPACE { Some(workspace_schema()) } else { find(kind).map(KindEntry::schema) }
}

/// Returns the names of all document kinds, including the workspace.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name).chain([WORKSPACE])
}

/// Builds the JSON Schema of a file other than a policy, such as `app.yaml` of a package.
fn file_schema<S: schemars::JsonSchema>() -> serde_json::Value {
    let mut schema = spec_schema::<S>().to_value();
    shared::simplify_schema(&mut schema);
    schema
}

fn link<K: Kind>(
    document: &RawDocument<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Result<Option<Box<dyn Policy>>, DeError> {
    let spec: K::Spec = from_node(document.spec)?;
    Ok(K::link(document, spec, linker, sink))
}

fn spec_schema<S: schemars::JsonSchema>() -> schemars::Schema {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<S>()
}

/// Wraps the schema of a `spec` into the schema of a document.
fn document_schema(kind: &str, spec: schemars::Schema) -> serde_json::Value {
    let mut spec = spec.to_value();
    shared::simplify_schema(&mut spec);
    let description = spec.get("description").cloned().unwrap_or_default();
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
