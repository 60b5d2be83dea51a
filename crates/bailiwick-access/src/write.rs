//! May this identity write this object? The permission for the verb, and then the escalation check of the RBAC kinds
//! (`pkg/registry/rbac/*/policybased`, `pkg/registry/rbac/escalation_check.go`).

use serde_json::Value;

use super::cover;
use super::reconcile;
use super::request::{Identity, Request, ResourceRequest};
use super::world::{RoleKind, World};
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_yaml::NodeRef;

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteVerb {
    /// POST to the collection: the request carries no name.
    Create,
    /// PUT.
    Update,
    /// PATCH, and server-side apply of new objects.
    Patch,
}

impl WriteVerb {
    /// Returns the verb in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            WriteVerb::Create => "create",
            WriteVerb::Update => "update",
            WriteVerb::Patch => "patch",
        }
    }
}

/// The result of the escalation check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Escalation {
    /// Nothing is gained beyond the identity's permissions, or the identity may escalate.
    Fine,
    /// These smallest parts are not held.
    Forbidden(Vec<PolicyRule>),
    /// The role of the binding is missing, so `bind` on it is required.
    NotFound(String),
    /// No server takes this object.
    Invalid(String),
}

/// Whether an object can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteDecision {
    /// The request to be allowed by plain RBAC.
    pub request: Request,
    /// Whether it is.
    pub verb_allowed: bool,
    /// The result of the escalation check; fine for kinds without one.
    pub escalation: Escalation,
}

impl WriteDecision {
    /// Whether both checks pass.
    pub fn allowed(&self) -> bool {
        self.verb_allowed && self.escalation == Escalation::Fine
    }
}

/// An object to write.
#[derive(Debug, Clone, Copy)]
pub struct Write<'o> {
    /// The new object.
    pub object: NodeRef<'o>,
    /// The present object.
    pub old: Option<NodeRef<'o>>,
    /// How it is written.
    pub verb: WriteVerb,
    /// The resource its kind is served as, and whether it lives in a namespace.
    pub resource: (&'o str, bool),
}

impl World {
    /// Decides whether an identity may write an object.
    pub fn may_write(&self, who: &Identity, write: Write<'_>) -> WriteDecision {
        let metadata = |key| write.object.get("metadata").map_or("", |metadata| metadata.text_at(key));
        let name = metadata("name");
        let (resource, namespaced) = write.resource;
        let namespace = match (namespaced, metadata("namespace")) {
            (false, _) if resource == "namespaces" && write.verb != WriteVerb::Create => name,
            (false, _) => "",
            (true, "") => "default",
            (true, namespace) => namespace,
        };
        let group = write.object.text_at("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        let request = ResourceRequest {
            verb: write.verb.as_str().to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: if write.verb == WriteVerb::Create { String::new() } else { name.to_owned() },
            ..ResourceRequest::default()
        };
        let escalation = match (group, resource) {
            (GROUP, "roles" | "clusterroles") => self.role_escalation(who, &request, write),
            (GROUP, "rolebindings" | "clusterrolebindings") => self.binding_escalation(who, &request, write),
            _ => Escalation::Fine,
        };
        // An update of an absent object creates it, and needs `create` on that name as well.
        let makes_it = write.old.is_none() && write.verb != WriteVerb::Create;
        let create = Request::Resource(ResourceRequest { verb: "create".to_owned(), ..request.clone() });
        let request = Request::Resource(request);
        let verb_allowed = self.allows(who, &request) && (!makes_it || self.allows(who, &create));
        WriteDecision { verb_allowed, request, escalation }
    }

    fn role_escalation(&self, who: &Identity, request: &ResourceRequest, write: Write<'_>) -> Escalation {
        let escalate = Request::Resource(ResourceRequest { verb: "escalate".to_owned(), ..request.clone() });
        if self.allows(who, &escalate) || is_only_for_the_garbage_collector(write) {
            return Escalation::Fine;
        }
        let held = self.rules_for(who, &request.namespace).rules;
        let rules = write.object.get("rules").into_iter().flat_map(NodeRef::items);
        let rules: Vec<PolicyRule> = rules.map(PolicyRule::from_node).collect();
        let missing = cover::uncovered(&held, &rules);
        if !missing.is_empty() {
            return Escalation::Forbidden(missing);
        }
        let gathers = |object: NodeRef<'_>| {
            object.path(&["aggregationRule", "clusterRoleSelectors"]).is_some_and(|selectors| !selectors.is_empty())
        };
        if request.resource == "clusterroles" && (gathers(write.object) || write.old.is_some_and(gathers)) {
            let missing = cover::uncovered(&held, &full_authority());
            if !missing.is_empty() {
                return Escalation::Forbidden(missing);
            }
        }
        Escalation::Fine
    }

    fn binding_escalation(&self, who: &Identity, request: &ResourceRequest, write: Write<'_>) -> Escalation {
        let role_ref = |object: NodeRef<'_>, key: &str| {
            object.get("roleRef").map_or("", |role_ref| role_ref.text_at(key)).to_owned()
        };
        let reference = |object| {
            let group = role_ref(object, "apiGroup");
            // The server fills in the group before it looks.
            (
                if group.is_empty() { GROUP.to_owned() } else { group },
                role_ref(object, "kind"),
                role_ref(object, "name"),
            )
        };
        let (group, kind, name) = reference(write.object);
        let role_kind = match kind.as_str() {
            "ClusterRole" => RoleKind::ClusterRole,
            "Role" => RoleKind::Role,
            _ => RoleKind::Unknown,
        };
        let resource = match role_kind {
            RoleKind::ClusterRole => "clusterroles",
            RoleKind::Role => "roles",
            RoleKind::Unknown => "",
        };
        let bind = Request::Resource(ResourceRequest {
            verb: "bind".to_owned(),
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: request.namespace.clone(),
            name: name.clone(),
            ..ResourceRequest::default()
        });
        let may_bind = group == GROUP && role_kind != RoleKind::Unknown && self.allows(who, &bind);
        let is_free = who.is_master() || may_bind || is_only_for_the_garbage_collector(write);
        if !is_free {
            let namespace = (role_kind == RoleKind::Role).then_some(request.namespace.as_str());
            let Some(rules) = self.policy_rules(namespace, &name).filter(|_| role_kind != RoleKind::Unknown) else {
                return Escalation::NotFound(format!("{kind} `{name}`"));
            };
            let missing = cover::uncovered(&self.rules_for(who, &request.namespace).rules, &rules);
            if !missing.is_empty() {
                return Escalation::Forbidden(missing);
            }
        }
        // Validation comes after the check.
        if write.old.is_some_and(|old| reference(old) != (group, kind.clone(), name)) {
            return Escalation::Invalid(
                "`roleRef` cannot be changed: delete the binding and create it anew".to_owned(),
            );
        }
        if request.resource == "clusterrolebindings" && role_kind == RoleKind::Role {
            return Escalation::Invalid("a ClusterRoleBinding cannot bind a Role".to_owned());
        }
        Escalation::Fine
    }
}

/// Returns the rules required for writing an aggregation rule, since it can gather anything.
fn full_authority() -> Vec<PolicyRule> {
    let star = || vec!["*".to_owned()];
    vec![
        PolicyRule { api_groups: star(), resources: star(), verbs: star(), ..PolicyRule::default() },
        PolicyRule { non_resource_urls: star(), verbs: star(), ..PolicyRule::default() },
    ]
}

/// Whether an update changes only owner references and finalizers, which the garbage collector must be able to change
/// without the rules (`IsOnlyMutatingGCFields`).
fn is_only_for_the_garbage_collector(write: Write<'_>) -> bool {
    let Some(old) = write.old else { return false };
    let without = |object: NodeRef<'_>| {
        let mut json = reconcile::defaulted(object);
        if let Some(metadata) = json.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["ownerReferences", "finalizers", "managedFields", "selfLink"] {
                metadata.shift_remove(key);
            }
        }
        drop_empty(&mut json);
        json
    };
    without(old) == without(write.object)
}

/// Removes values equivalent to absence in the comparison: null, and lists and maps without entries, except for an
/// aggregation rule.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        Value::Object(entries) => {
            entries.values_mut().for_each(drop_empty);
            entries.retain(|key, value| match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::Object(inner) => !inner.is_empty() || key == "aggregationRule",
                _ => true,
            });
        }
        _ => {}
    }
}
