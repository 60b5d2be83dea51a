//! The policy kinds, one file each, and their list.
//!
//! A new kind is one file here, its module and its line in [`ALL`], a folder of templates and a folder of cases. The
//! order of the list is the order of linking (a kind comes after those it refers to) and of every listing.

pub mod access_test;
mod account_profiles;
pub mod approval_policy;
mod built_in_schema;
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

use bailiwick_yaml::de::{DeError, from_node};
use bailiwick_yaml::diag::Sink;

use crate::model::{Kind, Linker, Patterns, Policy, RawDocument};
pub use built_in_schema::BuiltInSchema;
pub use findings::Findings;

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
    /// The schema of its documents.
    pub schema: BuiltInSchema,
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
            schema: BuiltInSchema::of_kind::<K>(),
            link: link::<K>,
            check_together: K::check_together,
        }
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

/// The schema of the workspace file.
pub static WORKSPACE_SCHEMA: BuiltInSchema = BuiltInSchema::of_workspace();

/// Returns the schema of a document by its kind, including the workspace file.
pub fn schema_of(kind: &str) -> Option<serde_json::Value> {
    let schema = if kind == WORKSPACE { &WORKSPACE_SCHEMA } else { &find(kind)?.schema };
    Some(schema.document())
}

/// Returns the names of all document kinds, including the workspace.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name).chain([WORKSPACE])
}

fn link<K: Kind>(
    document: &RawDocument<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Result<Option<Box<dyn Policy>>, DeError> {
    let spec: K::Spec = from_node(document.spec)?;
    Ok(K::link(document, spec, linker, sink))
}
