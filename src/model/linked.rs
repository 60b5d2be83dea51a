//! Linked policies that other policies use: what roles and pod security policies are made of.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Blueprint, ObjectBlueprint, Pattern};
use crate::diag::Origin;

/// What a permission set becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RoleKind {
    /// A Role in each namespace where it is bound.
    #[default]
    Role,
    /// One ClusterRole, which can be bound in a namespace or for the whole cluster.
    ClusterRole,
}

/// A linked permission set.
#[derive(Debug, Clone)]
pub struct PermissionSet {
    /// What it becomes.
    pub role_kind: RoleKind,
    /// The fields of the role.
    fields: Vec<(&'static str, Blueprint)>,
}

impl PermissionSet {
    /// A set from the fields of its role.
    pub fn new(role_kind: RoleKind, labels: Blueprint, annotations: Blueprint, rules: Blueprint) -> Self {
        Self { role_kind, fields: vec![("labels", labels), ("annotations", annotations), ("rules", rules)] }
    }

    /// True when it can exist for a tenant only.
    pub fn needs_account(&self) -> bool {
        self.fields.iter().any(|(_, value)| value.needs_account())
    }

    /// The role object under a name, in the role's own kind or as a Role for a tenant.
    pub fn role(
        &self,
        kind: RoleKind,
        template: &'static str,
        name: &str,
        asked: Origin,
        content: Origin,
    ) -> ObjectBlueprint {
        let kind = match kind {
            RoleKind::Role => "Role",
            RoleKind::ClusterRole => "ClusterRole",
        };
        let object =
            ObjectBlueprint::new("rbac.authorization.k8s.io/v1", kind, template, Pattern::parse_checked(name), asked);
        self.fields.iter().fold(object, |object, (field, value)| object.with(field, value.clone())).content_at(content)
    }
}

/// A linked profile.
#[derive(Debug, Clone)]
pub struct PodSecurityProfile {
    annotations: Blueprint,
    profile: Blueprint,
}

impl PodSecurityProfile {
    /// A profile from the fields of its template.
    pub fn new(annotations: Blueprint, profile: Blueprint) -> Self {
        Self { annotations, profile }
    }

    /// True when it can exist for a tenant only.
    pub fn needs_account(&self) -> bool {
        self.annotations.needs_account() || self.profile.needs_account()
    }

    /// The PodSecurityPolicy under a name.
    pub fn pod_security_policy(
        &self,
        template: &'static str,
        name: &str,
        asked: Origin,
        content: Origin,
    ) -> ObjectBlueprint {
        ObjectBlueprint::new("policy/v1beta1", "PodSecurityPolicy", template, Pattern::parse_checked(name), asked)
            .with("annotations", self.annotations.clone())
            .with("profile", self.profile.clone())
            .content_at(content)
    }
}
