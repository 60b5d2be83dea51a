//! Bindings that a controller of a platform makes in every namespace, if the cluster has a capability.
//!
//! The inputs have no capabilities, so these bindings never prove a *yes*: a request that only they allow is *unknown*.

use std::collections::BTreeSet;
use std::fmt;

use bailiwick_kubernetes::absent;
use bailiwick_yaml::NodeRef;
use serde::{Deserialize, Serialize};

use super::decide::Query;
use super::request::{Identity, Request};
use super::risk::subject_of_user;
use super::rules::RuleListId;
use super::world::{ObjectSource, World, account_user};

/// The text for the namespace of a binding.
const NAMESPACE: &str = "{namespace}";

/// A possible binding of every namespace. Its texts have `{namespace}` in place of the namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PossibleBinding {
    name: String,
    cluster_role: String,
    capability: String,
    /// The rules of the role in a cluster with the capability, if the platform itself no longer makes the role.
    pub(super) rules: RuleListId,
    /// The users and groups by name.
    holders: Vec<PossibleHolder>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PossibleHolder {
    is_group: bool,
    name: String,
}

/// A possible binding of a namespace, with one of its subjects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PossibleGrant {
    /// The capability of a cluster with the binding.
    pub capability: String,
    /// The name of the RoleBinding.
    pub binding: String,
    /// The ClusterRole of the binding.
    pub cluster_role: String,
    /// The namespace of the binding.
    pub namespace: String,
    /// The subject, as `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
}

impl fmt::Display for PossibleGrant {
    /// Writes the binding, its role and its subject.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, binding, cluster_role, namespace, subject } = self;
        write!(
            formatter,
            "RoleBinding/{namespace}/{binding} binds ClusterRole/{cluster_role} to {subject} if the cluster has the capability {capability}"
        )
    }
}

impl PossibleBinding {
    /// Reads a RoleBinding with its `capability`.
    pub(super) fn from_node(binding: NodeRef<'_>, rules: RuleListId) -> Self {
        let text = |keys: &[&str]| absent::text(binding.path(keys).and_then(NodeRef::as_str)).to_owned();
        let holder = |subject: NodeRef<'_>| match subject.text_at("kind") {
            "ServiceAccount" => PossibleHolder {
                is_group: false,
                name: account_user(subject.text_at("namespace"), subject.text_at("name")),
            },
            kind => PossibleHolder { is_group: kind == "Group", name: subject.text_at("name").to_owned() },
        };
        Self {
            name: text(&["metadata", "name"]),
            cluster_role: text(&["roleRef", "name"]),
            capability: text(&["capability"]),
            rules,
            holders: binding.get("subjects").into_iter().flat_map(NodeRef::items).map(holder).collect(),
        }
    }

    /// Returns the binding in a namespace for each holder.
    fn in_namespace<'p>(&'p self, namespace: &'p str) -> impl Iterator<Item = (bool, String, PossibleGrant)> + 'p {
        self.holders.iter().map(move |holder| {
            let name = holder.name.replace(NAMESPACE, namespace);
            let grant = PossibleGrant {
                capability: self.capability.clone(),
                binding: self.name.clone(),
                cluster_role: self.cluster_role.clone(),
                namespace: namespace.to_owned(),
                subject: if holder.is_group { format!("Group/{name}") } else { subject_of_user(&name) },
            };
            (holder.is_group, name, grant)
        })
    }
}

impl World {
    /// Returns the possible bindings of a namespace, except for names that the objects have.
    fn possible_in<'w>(&'w self, namespace: &'w str) -> impl Iterator<Item = &'w PossibleBinding> {
        let possible = self.possible.iter().filter(move |_| !namespace.is_empty());
        possible.filter(move |possible| self.find_binding(Some(namespace), &possible.name).is_none())
    }

    /// Returns the possible bindings of an identity in a namespace.
    pub fn possible_grants_of(&self, who: &Identity, namespace: &str) -> Vec<PossibleGrant> {
        self.possible_of(who, namespace, &|_| true)
    }

    fn possible_of(
        &self,
        who: &Identity,
        namespace: &str,
        is_wanted: &dyn Fn(&PossibleBinding) -> bool,
    ) -> Vec<PossibleGrant> {
        let is_of = |is_group: bool, name: &str| {
            if is_group { who.groups.iter().any(|group| group == name) } else { who.user == name }
        };
        let wanted = self.possible_in(namespace).filter(|possible| is_wanted(possible));
        let all = wanted.flat_map(|possible| possible.in_namespace(namespace));
        all.filter(|(is_group, name, _)| is_of(*is_group, name)).map(|(.., grant)| grant).collect()
    }

    /// Returns the possible bindings of an identity whose roles allow a request.
    pub(crate) fn possible_grants(&self, who: &Identity, request: &Request, query: &Query<'_>) -> Vec<PossibleGrant> {
        self.possible_of(who, request.namespace(), &|possible| self.may_allow(possible, query))
    }

    /// Returns the possible bindings whose roles allow a request, in the given namespaces.
    pub(crate) fn possible_in_each(&self, namespaces: BTreeSet<&str>, query: &Query<'_>) -> Vec<PossibleGrant> {
        let allowing: Vec<&PossibleBinding> =
            self.possible.iter().filter(|possible| self.may_allow(possible, query)).collect();
        if allowing.is_empty() {
            return Vec::new();
        }
        let mut grants = Vec::new();
        for namespace in namespaces {
            let here = self.possible_in(namespace).filter(|possible| allowing.contains(possible));
            grants.extend(here.flat_map(|possible| possible.in_namespace(namespace)).map(|(.., grant)| grant));
        }
        grants
    }

    /// Returns the namespaces of the inputs: of Namespaces, roles and bindings.
    pub(crate) fn given_namespaces(&self) -> BTreeSet<&str> {
        let is_given = |layer: ObjectSource| layer != ObjectSource::Baseline;
        let roles = self.roles.iter().filter(|role| is_given(role.layer)).filter_map(|role| role.namespace);
        let bindings = self.bindings.iter().filter(|binding| is_given(binding.layer));
        let symbols = roles.chain(bindings.filter_map(|binding| binding.namespace));
        let named = symbols.map(|namespace| self.symbols.text(namespace));
        named.chain(self.namespace_names()).collect()
    }

    /// Whether the role of a possible binding allows a request.
    fn may_allow(&self, possible: &PossibleBinding, query: &Query<'_>) -> bool {
        let of_platform = self.lists.get(possible.rules);
        let rules = match self.role(None, &possible.cluster_role) {
            Some(role) if role.layer != ObjectSource::Baseline => self.rules_of(role),
            _ => of_platform,
        };
        rules.iter().any(|rule| query.is_allowed_by(rule, &self.symbols))
    }
}
