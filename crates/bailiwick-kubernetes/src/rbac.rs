//! The one RBAC type common to questions and answers: the rule.

use schemars::JsonSchema;
use serde::Serialize;

use bailiwick_yaml::NodeRef;

/// The API group of RBAC.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// The API group of the roles and bindings of OpenShift 3. OpenShift 4 serves it, and stores its objects as RBAC objects.
pub const OPENSHIFT_GROUP: &str = "authorization.openshift.io";

/// The form of roles and bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RbacForm {
    /// The group `rbac.authorization.k8s.io`.
    Rbac,
    /// The group `authorization.openshift.io`: references are object references
    /// (`pkg/authorization/apis/authorization/rbacconversion` of openshift/openshift-apiserver).
    Openshift,
}

/// A subject of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectFields<'t> {
    /// `User`, `Group` or `ServiceAccount`; another word as it is written.
    pub kind: &'t str,
    /// The user, group or service account.
    pub name: &'t str,
    /// The namespace as it is written; empty without one.
    pub namespace: &'t str,
}

/// A reference to a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleRefFields<'t> {
    /// `Role` or `ClusterRole`; another word as it is written.
    pub kind: &'t str,
    /// The bound role.
    pub name: &'t str,
}

impl RbacForm {
    /// Returns the form of the roles and bindings of an API group; none for a group without them.
    pub fn of_group(group: &str) -> Option<Self> {
        match group {
            GROUP => Some(Self::Rbac),
            OPENSHIFT_GROUP => Some(Self::Openshift),
            _ => None,
        }
    }

    /// Returns the form of the roles and bindings of an API version; none for a group without them.
    pub fn of_api_version(api_version: &str) -> Option<Self> {
        api_version.rsplit_once('/').and_then(|(group, _)| Self::of_group(group))
    }

    /// Returns the role of a binding.
    pub fn role_ref(self, binding: NodeRef<'_>) -> RoleRefFields<'_> {
        let field = |key| binding.get("roleRef").map_or("", |role_ref| role_ref.text_at(key));
        let kind = match self {
            Self::Rbac => field("kind"),
            Self::Openshift if field("namespace").is_empty() => "ClusterRole",
            Self::Openshift => "Role",
        };
        RoleRefFields { kind, name: field("name") }
    }

    /// Returns the subjects of a binding. On OpenShift, `userNames` and `groupNames` take the place of `subjects`
    /// (`Convert_v1_RoleBinding_To_authorization_RoleBinding`).
    pub fn subjects<'t>(self, binding: NodeRef<'t>) -> Vec<SubjectFields<'t>> {
        let items = |key| binding.get(key).into_iter().flat_map(NodeRef::items);
        let has_names =
            || ["userNames", "groupNames"].iter().any(|key| binding.get(key).is_some_and(|names| !names.is_null()));
        if self == Self::Openshift && has_names() {
            let users = items("userNames").filter_map(NodeRef::as_str).map(SubjectFields::of_user);
            let groups = items("groupNames").filter_map(NodeRef::as_str);
            return users.chain(groups.map(|name| SubjectFields { kind: "Group", name, namespace: "" })).collect();
        }
        let subject = |subject: NodeRef<'t>| {
            let kind = match (self, subject.text_at("kind")) {
                (Self::Openshift, "SystemUser") => "User",
                (Self::Openshift, "SystemGroup") => "Group",
                (_, kind) => kind,
            };
            SubjectFields { kind, name: subject.text_at("name"), namespace: subject.text_at("namespace") }
        };
        items("subjects").map(subject).collect()
    }

    /// Whether a rule counts: OpenShift leaves out rules with `attributeRestrictions`.
    pub fn counts(self, rule: NodeRef<'_>) -> bool {
        self == Self::Rbac || rule.get("attributeRestrictions").is_none_or(NodeRef::is_null)
    }
}

impl<'t> SubjectFields<'t> {
    /// Returns the subject of a user name: a service account, or another user.
    fn of_user(user: &'t str) -> Self {
        match user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':')) {
            Some((namespace, name)) => Self { kind: "ServiceAccount", name, namespace },
            None => Self { kind: "User", name: user, namespace: "" },
        }
    }
}

/// The verbs for reading resources (`access: read` of a policy).
pub const READ_VERBS: &[&str] = &["get", "list", "watch"];

/// The verbs for reading and writing resources (`access: write` of a policy).
pub const WRITE_VERBS: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// A rule of a Role or ClusterRole (`rbac/v1 PolicyRule`).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// API groups; the core group is the empty string.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources, with their subresource after a slash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names the rule is limited to; none means every name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// URL paths.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Words in `verbs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<String>,
}

impl PolicyRule {
    /// Reads a rule; a value other than a list of strings counts as absent.
    pub fn from_node(rule: NodeRef<'_>) -> Self {
        let strings = |key| strings(rule, key).map(str::to_owned).collect();
        Self {
            api_groups: strings("apiGroups"),
            resources: strings("resources"),
            resource_names: strings("resourceNames"),
            non_resource_urls: strings("nonResourceURLs"),
            verbs: strings("verbs"),
        }
    }

    /// Returns the rule split into its smallest parts: one group, resource, verb and name each, then one URL and verb
    /// each. A rule with an empty list has none (`BreakdownRule` of `pkg/registry/rbac/validation`).
    pub fn atoms(&self) -> Vec<PolicyRule> {
        let one = |text: &String| vec![text.clone()];
        let mut atoms = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let atom = PolicyRule {
                        api_groups: one(group),
                        resources: one(resource),
                        verbs: one(verb),
                        ..PolicyRule::default()
                    };
                    if self.resource_names.is_empty() {
                        atoms.push(atom);
                    } else {
                        let named = |name| PolicyRule { resource_names: one(name), ..atom.clone() };
                        atoms.extend(self.resource_names.iter().map(named));
                    }
                }
            }
        }
        for url in &self.non_resource_urls {
            let atom = |verb| PolicyRule { non_resource_urls: one(url), verbs: one(verb), ..PolicyRule::default() };
            atoms.extend(self.verbs.iter().map(atom));
        }
        atoms
    }
}

/// Returns the strings of a list under `key`.
pub fn strings<'t>(parent: NodeRef<'t>, key: &str) -> impl Iterator<Item = &'t str> {
    parent.get(key).into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str)
}
