//! All subjects that may make a request.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::decide::{MissingRole, Query};
use super::possible::PossibleGrant;
use super::request::{MASTERS, Request};
use super::symbols::Symbol;
use super::world::{Subject, SubjectKind, World};

/// The whole cluster or a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PermissionScope {
    /// In every namespace, and outside of them.
    Cluster,
    /// A single namespace.
    Namespace(String),
}

impl PermissionScope {
    /// Whether the scope is the whole cluster.
    pub fn is_cluster(&self) -> bool {
        *self == Self::Cluster
    }

    /// Returns the namespace; none for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Cluster => None,
            Self::Namespace(namespace) => Some(namespace),
        }
    }
}

/// The namespace, or null for the whole cluster.
impl Serialize for PermissionScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.namespace().serialize(serializer)
    }
}

impl JsonSchema for PermissionScope {
    fn schema_name() -> Cow<'static, str> {
        "PermissionScope".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<String>::json_schema(generator)
    }
}

/// A subject that may make the request, with the proving binding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capable {
    /// The scope of the permission.
    pub scope: PermissionScope,
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The binding; none for `system:masters`.
    pub binding: Option<u32>,
}

/// The answer to "who can".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhoCan {
    /// The subjects with their permissions, sorted by scope and subject.
    pub capable: Vec<Capable>,
    /// Missing roles of bindings in this scope: their subjects may have the permission too.
    pub missing: Vec<MissingRole>,
    /// Bindings that the cluster may have, with roles that allow the request, sorted by capability and namespace.
    pub possible: Vec<PossibleGrant>,
}

impl WhoCan {
    /// Returns the subjects, each once, sorted.
    pub fn subjects(&self) -> Vec<String> {
        let subjects: BTreeSet<&String> = self.capable.iter().map(|capable| &capable.subject).collect();
        subjects.into_iter().cloned().collect()
    }
}

/// The bindings to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The bindings for the namespace of the request, as in the server.
    AsRequested,
    /// The bindings of every namespace, each for its own.
    Everywhere,
}

impl World {
    /// Returns every subject that may make a request.
    pub fn who_can(&self, request: &Request, place: Where) -> WhoCan {
        let query = Query::new(request, &self.symbols);
        let allowing: Vec<bool> = self
            .lists
            .ids()
            .map(|id| self.lists.get(id).iter().any(|rule| query.is_allowed_by(rule, &self.symbols)))
            .collect();
        let masters = Capable { scope: PermissionScope::Cluster, subject: format!("Group/{MASTERS}"), binding: None };
        let mut found = WhoCan { capable: vec![masters], ..WhoCan::default() };
        let namespace = self.namespace_symbol(request.namespace());
        // A URL belongs to no namespace, so no RoleBinding applies to it.
        let everywhere = place == Where::Everywhere && matches!(request, Request::Resource(_));
        for (id, binding) in (0..).zip(&self.bindings) {
            if binding.namespace.is_some() && binding.namespace != namespace && !everywhere {
                continue;
            }
            let Some(role) = self.role_of(binding) else {
                found.missing.push(self.missing_role(binding));
                continue;
            };
            if allowing.get(role.rules.number()) != Some(&true) {
                continue;
            }
            let scope = || match binding.namespace {
                Some(namespace) => PermissionScope::Namespace(self.symbols.text(namespace).to_owned()),
                None => PermissionScope::Cluster,
            };
            let subjects =
                self.subjects(binding).iter().filter_map(|subject| self.subject_name(*subject, binding.namespace));
            found.capable.extend(subjects.map(|subject| Capable { scope: scope(), subject, binding: Some(id) }));
        }
        if !self.possible.is_empty() {
            let every = if everywhere { self.given_namespaces() } else { [request.namespace()].into() };
            found.possible = self.possible_in_each(every, &query);
            found.possible.sort();
        }
        found.capable.sort();
        found.capable.dedup();
        found.missing.sort();
        found.missing.dedup_by(|left, right| left.to_string() == right.to_string());
        found
    }

    /// Returns every subject of a binding, sorted.
    pub fn bound_subjects(&self) -> BTreeSet<String> {
        let named = self.bindings.iter().flat_map(|binding| {
            self.subjects(binding).iter().filter_map(|subject| self.subject_name(*subject, binding.namespace))
        });
        named.collect()
    }

    /// Returns a subject by kind and name, an account with its namespace; none for a subject without identities.
    pub(crate) fn subject_name(&self, subject: Subject, binding_namespace: Option<Symbol>) -> Option<String> {
        let name = self.symbols.text(subject.name);
        Some(match subject.kind {
            SubjectKind::User => format!("User/{name}"),
            SubjectKind::Group => format!("Group/{name}"),
            SubjectKind::ServiceAccount => {
                let own = (subject.namespace != Symbol::EMPTY).then_some(subject.namespace);
                format!("ServiceAccount/{}/{name}", self.symbols.text(own.or(binding_namespace)?))
            }
            SubjectKind::Unknown => return None,
        })
    }
}
