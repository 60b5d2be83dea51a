//! All subjects that may make a request.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::decide::{MissingRole, Query};
use super::possible::PossibleGrant;
use super::request::{MASTERS, Request};
use super::risk::identity_of_subject;
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

/// A subject of a binding that may make the request, by numbers of the world: an answer can have millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grantee {
    /// The binding; none for `system:masters`.
    binding: Option<u32>,
    subject: Subject,
}

/// The name of a subject, in the order of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SubjectName<'w> {
    kind: &'static str,
    /// The namespace of a service account.
    namespace: Option<&'w str>,
    name: &'w str,
}

impl SubjectName<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let namespace = self.namespace.into_iter().flat_map(|namespace| namespace.bytes().chain(*b"/"));
        namespace.chain(self.name.bytes())
    }
}

impl Ord for SubjectName<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.kind.cmp(other.kind).then_with(|| self.bytes().cmp(other.bytes()))
    }
}

impl PartialOrd for SubjectName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
impl Display for SubjectName<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace {
            Some(namespace) => write!(formatter, "{kind}/{namespace}/{name}"),
            None => write!(formatter, "{kind}/{name}"),
        }
    }
}

/// The answer to "who can".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhoCan {
    /// The subjects with their permissions, sorted by scope and subject.
    grantees: Vec<Grantee>,
    /// Missing roles of bindings in this scope: their subjects may have the permission too.
    pub missing: Vec<MissingRole>,
    /// Bindings that the cluster may have, with roles that allow the request, sorted by capability and namespace.
    pub possible: Vec<PossibleGrant>,
}

impl WhoCan {
    /// Iterates over the subjects with their permissions in the world of the answer, sorted by scope and subject.
    pub fn capable<'w>(&'w self, world: &'w World) -> impl Iterator<Item = Capable> + 'w {
        self.grantees.iter().filter_map(|grantee| {
            Some(Capable {
                scope: match world.scope_of(grantee) {
                    Some(namespace) => PermissionScope::Namespace(namespace.to_owned()),
                    None => PermissionScope::Cluster,
                },
                subject: world.name_of(grantee)?.to_string(),
                binding: grantee.binding,
            })
        })
    }

    /// Removes the subjects without a further permission that the server asks for, such as `create` for a stream by `get` since 1.35, in
    /// the same scope.
    pub fn retain_allowed(&mut self, world: &World, also: &Request) {
        let is_allowed = |capable: Capable| {
            let mut also = also.clone();
            if let (Request::Resource(also), Some(namespace)) = (&mut also, capable.scope.namespace()) {
                namespace.clone_into(&mut also.namespace);
            }
            identity_of_subject(&capable.subject).is_some_and(|who| world.allows(&who, &also))
        };
        let kept: Vec<bool> = self.capable(world).map(is_allowed).collect();
        let mut kept = kept.into_iter();
        self.grantees.retain(|_| kept.next() == Some(true));
    }

    /// Returns the subjects in the world of the answer, each once, sorted.
    pub fn subjects(&self, world: &World) -> Vec<String> {
        let subjects: BTreeSet<String> = self.capable(world).map(|capable| capable.subject).collect();
        subjects.into_iter().collect()
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
        let masters = Subject { kind: SubjectKind::Group, name: Symbol::EMPTY, namespace: Symbol::EMPTY };
        let masters = Grantee { binding: None, subject: masters };
        let mut found = WhoCan { grantees: vec![masters], ..WhoCan::default() };
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
            let is_named = |subject: &&Subject| self.name_of_subject(**subject, binding.namespace).is_some();
            let subjects = self.subjects(binding).iter().filter(is_named);
            found.grantees.extend(subjects.map(|subject| Grantee { binding: Some(id), subject: *subject }));
        }
        if !self.possible.is_empty() {
            let every = if everywhere { self.given_namespaces() } else { [request.namespace()].into() };
            found.possible = self.possible_in_each(every, &query);
            found.possible.sort();
        }
        found.grantees.sort_unstable_by(|left, right| self.compare(left, right));
        found.grantees.dedup_by(|left, right| self.compare(left, right) == Ordering::Equal);
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
        self.name_of_subject(subject, binding_namespace).map(|name| name.to_string())
    }

    fn name_of_subject(&self, subject: Subject, binding_namespace: Option<Symbol>) -> Option<SubjectName<'_>> {
        let (kind, namespace) = match subject.kind {
            SubjectKind::User => ("User", None),
            SubjectKind::Group => ("Group", None),
            SubjectKind::ServiceAccount => {
                let own = (subject.namespace != Symbol::EMPTY).then_some(subject.namespace);
                ("ServiceAccount", Some(self.symbols.text(own.or(binding_namespace)?)))
            }
            SubjectKind::Unknown => return None,
        };
        Some(SubjectName { kind, namespace, name: self.symbols.text(subject.name) })
    }

    /// Returns the namespace of a permission; none for the whole cluster.
    fn scope_of(&self, grantee: &Grantee) -> Option<&str> {
        let binding = self.binding(grantee.binding?)?;
        binding.namespace.map(|namespace| self.symbols.text(namespace))
    }

    fn name_of(&self, grantee: &Grantee) -> Option<SubjectName<'_>> {
        match grantee.binding {
            Some(id) => self.name_of_subject(grantee.subject, self.binding(id)?.namespace),
            None => Some(SubjectName { kind: "Group", namespace: None, name: MASTERS }),
        }
    }

    /// Compares scopes, then subjects, then bindings.
    fn compare(&self, left: &Grantee, right: &Grantee) -> Ordering {
        let scopes = self.scope_of(left).cmp(&self.scope_of(right));
        let subjects = || self.name_of(left).cmp(&self.name_of(right));
        scopes.then_with(subjects).then_with(|| left.binding.cmp(&right.binding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ResourceRequest;

    #[test]
    fn an_answer_is_in_the_order_of_its_texts() {
        let mut text = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, \
                        rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}\n"
            .to_owned();
        for (number, place) in ["a/b", "a", "a-b", ""].into_iter().enumerate() {
            let kind = if place.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
            text.push_str(&format!(
                "---\n{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: b{number}, namespace: '{place}'}}, \
                 roleRef: {{kind: ClusterRole, name: reader}}, subjects: [{{kind: User, name: z}}, {{kind: User, name: z}}, \
                 {{kind: ServiceAccount, name: x, namespace: a}}, {{kind: ServiceAccount, name: x, namespace: a-b}}, \
                 {{kind: ServiceAccount, name: x}}, {{kind: Group, name: g/h}}, {{kind: Group, name: g}}, {{kind: Other, name: o}}]}}\n"
            ));
        }
        let world = World::from_text(&text);
        let request =
            ResourceRequest { verb: "get".to_owned(), resource: "pods".to_owned(), ..ResourceRequest::default() };
        let found = world.who_can(&Request::Resource(request), Where::Everywhere);
        let answer: Vec<Capable> = found.capable(&world).collect();
        let mut sorted = answer.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(answer, sorted);
        // Each scope has a user, two groups and two accounts, and three accounts where the third has the namespace of the binding.
        assert_eq!(answer.len(), 1 + 5 + 5 + 5 + 6);
    }
}
