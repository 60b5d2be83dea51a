//! The objects that decide who may make a request. Most roles of a cluster with many namespaces do not allow the request, and a world
//! without them and their bindings has the same answer.

use std::collections::BTreeSet;

use super::decide::url_matches;
use super::request::Request;
use super::world::{Builder, or_default};
use bailiwick_kubernetes::rbac::{RbacForm, strings};
use bailiwick_yaml::NodeRef;

/// Selects the objects that decide who may make a request.
#[derive(Debug)]
pub struct RequestFilter<'r> {
    request: &'r Request,
    /// The namespaces with a role or a binding of the baseline, which can belong to an object of the inputs.
    occupied: BTreeSet<String>,
}

/// A Role or RoleBinding of a namespace.
struct LocalObject<'t> {
    namespace: &'t str,
    /// The name of the Role, or of the Role that is bound.
    role: &'t str,
    is_role: bool,
}

impl Builder {
    /// Returns the filter of further objects for a question about a request; none where the answer has every namespace, because the
    /// cluster may have bindings in each.
    pub fn filter_for<'r>(&self, request: &'r Request) -> Option<RequestFilter<'r>> {
        self.possible.is_empty().then(|| RequestFilter { request, occupied: self.places() })
    }
}

impl RequestFilter<'_> {
    /// Returns for each of some objects whether it is needed. The objects have all Roles and RoleBindings of their namespaces beside
    /// the baseline.
    pub fn needed(&self, objects: &[NodeRef<'_>]) -> Vec<bool> {
        let local: Vec<Option<LocalObject<'_>>> =
            objects.iter().map(|object| LocalObject::from_node(*object)).collect();
        let mut present = BTreeSet::new();
        let mut allowing = BTreeSet::new();
        for (object, local) in objects.iter().zip(&local) {
            if let Some(role) = local.as_ref().filter(|local| local.is_role) {
                present.insert(role.key());
                if self.may_be_allowed_by(*object) {
                    allowing.insert(role.key());
                }
            }
        }
        let is_needed = |(object, local): (&NodeRef<'_>, &Option<LocalObject<'_>>)| match local {
            Some(local) => {
                let is_missing = !present.contains(&local.key());
                is_missing || allowing.contains(&local.key()) || self.occupied.contains(local.namespace)
            }
            None => !matches!(object.text_at("kind"), "Namespace" | "ServiceAccount"),
        };
        objects.iter().zip(&local).map(is_needed).collect()
    }

    /// Whether a rule of a role can allow the request (`RuleAllows`).
    fn may_be_allowed_by(&self, role: NodeRef<'_>) -> bool {
        role.get("rules").into_iter().flat_map(NodeRef::items).any(|rule| may_allow(rule, self.request))
    }
}

impl<'t> LocalObject<'t> {
    fn from_node(object: NodeRef<'t>) -> Option<Self> {
        let form = RbacForm::of_api_version(object.text_at("apiVersion"))?;
        let text = |key| object.path(&["metadata", key]).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
        let namespace = or_default(text("namespace"));
        match object.text_at("kind") {
            "Role" => Some(Self { namespace, role: text("name")?, is_role: true }),
            "RoleBinding" => {
                let role = form.role_ref(object);
                (role.kind == "Role").then_some(Self { namespace, role: role.name, is_role: false })
            }
            _ => None,
        }
    }

    fn key(&self) -> (&'t str, &'t str) {
        (self.namespace, self.role)
    }
}

/// Whether a rule allows the request if it counts.
fn may_allow(rule: NodeRef<'_>, request: &Request) -> bool {
    let has = |key: &str, wanted: &str| strings(rule, key).any(|text| text == "*" || text == wanted);
    match request {
        Request::Url(request) => {
            has("verbs", &request.verb) && strings(rule, "nonResourceURLs").any(|url| url_matches(url, &request.path))
        }
        Request::Resource(request) => {
            let is_meant = |entry: &str| match request.subresource.as_str() {
                _ if entry == "*" => true,
                "" => entry == request.resource,
                subresource => {
                    let resource = entry.strip_suffix(subresource).and_then(|entry| entry.strip_suffix('/'));
                    resource.is_some_and(|resource| resource == "*" || resource == request.resource)
                }
            };
            let mut names = strings(rule, "resourceNames").peekable();
            has("verbs", &request.verb)
                && has("apiGroups", &request.group)
                && strings(rule, "resources").any(is_meant)
                && (names.peek().is_none() || names.any(|name| name == request.name))
        }
    }
}
