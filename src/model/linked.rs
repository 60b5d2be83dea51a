//! Linked policies that other policies use: what roles and pod security policies are made of.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Blueprint, ObjectBlueprint, Pattern, Piece};
use crate::admission::level::Level;
use crate::diag::Origin;
use crate::k8s::rules::RuleSet;

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
    /// What it grants on each target it applies to, by the target's name. None of them for an aggregated set, whose
    /// rules the cluster gathers. The texts are patterns.
    granted: BTreeMap<String, RuleSet>,
    aggregated: bool,
    /// The fields of the role.
    fields: Vec<(&'static str, Blueprint)>,
}

/// What a permission set is made of.
#[derive(Debug, Clone)]
pub struct PermissionSetParts {
    /// What it becomes.
    pub role_kind: RoleKind,
    /// Labels of the role.
    pub labels: Blueprint,
    /// Annotations of the role.
    pub annotations: Blueprint,
    /// What it grants on each target.
    pub granted: BTreeMap<String, RuleSet>,
    /// Which roles the cluster gathers its rules from, instead of any of its own.
    pub aggregation: Option<Blueprint>,
}

impl PermissionSet {
    /// A set from its parts.
    pub fn new(parts: PermissionSetParts) -> Self {
        let rules = parts.granted.iter().map(|(target, granted)| (target.clone(), Blueprint::of(&granted.rules())));
        let aggregated = parts.aggregation.is_some();
        let none = Blueprint::Constant(super::Data::Null);
        let fields = vec![
            ("labels", parts.labels),
            ("annotations", parts.annotations),
            ("rules", Blueprint::by_target(rules.collect())),
            ("aggregationRule", parts.aggregation.unwrap_or(none)),
        ];
        Self { role_kind: parts.role_kind, granted: parts.granted, aggregated, fields }
    }

    /// What it grants on a target; none where it does not apply, and for an aggregated set.
    pub fn granted(&self, target: &str) -> Option<&RuleSet> {
        self.granted.get(target)
    }

    /// The names of objects that its rules are restricted to, on whatever target; the texts are patterns.
    pub fn resource_names(&self) -> BTreeSet<String> {
        self.granted.values().flat_map(RuleSet::rules).flat_map(|rule| rule.resource_names).collect()
    }

    /// True when the cluster gathers its rules from other roles.
    pub fn is_aggregated(&self) -> bool {
        self.aggregated
    }

    /// The account variables that its texts use.
    pub fn account_variables(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        self.fields.iter().for_each(|(_, value)| value.account_variables(&mut names));
        names.into_iter().collect()
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
    parts: PodSecurityProfileParts,
}

/// What a profile is made of.
#[derive(Debug, Clone)]
pub struct PodSecurityProfileParts {
    /// Its name.
    pub name: String,
    /// The account variables it uses.
    pub variables: Vec<String>,
    /// Those of them that stand for numbers.
    pub numbers: BTreeSet<String>,
    /// Annotations of a PodSecurityPolicy.
    pub annotations: Blueprint,
    /// The spec of a PodSecurityPolicy, as its template takes it.
    pub profile: Blueprint,
    /// The fields of SecurityContextConstraints; nothing where no target has them.
    pub constraints: Blueprint,
    /// What it fills in, where an admission policy does.
    pub defaults: ProfileDefaults,
    /// The Pod Security level that goes with it, beside an admission policy.
    pub level: Option<Level>,
}

/// What a profile fills in where a pod says nothing: expressions as [`crate::admission::policy::Patches`] takes them.
#[derive(Debug, Clone, Default)]
pub struct ProfileDefaults {
    /// The variables of the expressions, by name.
    pub variables: Vec<(String, String)>,
    /// The expressions of the patches, for each target whose admission policies fill in.
    pub patches: BTreeMap<String, Vec<String>>,
}

impl PodSecurityProfile {
    /// The label of namespaces that a profile's admission policies hold in; its value is the profile's name.
    pub const LABEL: &'static str = "bailiwick.dev/pod-security-profile";

    /// A profile from its parts.
    pub fn new(parts: PodSecurityProfileParts) -> Self {
        Self { parts }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The account variables it uses.
    pub fn variables(&self) -> &[String] {
        &self.parts.variables
    }

    /// The account variables that stand for numbers.
    pub fn numbers(&self) -> &BTreeSet<String> {
        &self.parts.numbers
    }

    /// The Pod Security level that goes with it, beside an admission policy, by the official mapping.
    pub fn level(&self) -> Option<Level> {
        self.parts.level
    }

    /// What it fills in, where an admission policy does.
    pub fn defaults(&self) -> &ProfileDefaults {
        &self.parts.defaults
    }

    /// A value with its variables filled in; the bounds of a range are numbers then.
    pub fn filled(value: Value, variable: &dyn Fn(&str) -> Option<String>) -> Value {
        match value {
            Value::String(text) => {
                let pattern = Pattern::parse_checked(&text);
                let pieces = pattern.pieces().iter().map(|piece| match piece {
                    Piece::Text(text) => text.to_string(),
                    Piece::Variable(name) => variable(name).unwrap_or_default(),
                });
                pieces.collect::<String>().into()
            }
            Value::Array(items) => items.into_iter().map(|item| Self::filled(item, variable)).collect(),
            Value::Object(map) => {
                let filled = map.into_iter().map(|(key, value)| {
                    let mut value = Self::filled(value, variable);
                    // The bounds of ranges are the only numbers of a PodSecurityPolicy: a path of digits stays a path.
                    if matches!(key.as_str(), "min" | "max")
                        && let Some(number) = value.as_str().and_then(|text| text.parse::<i64>().ok())
                    {
                        value = number.into();
                    }
                    (key, value)
                });
                filled.collect::<Map<_, _>>().into()
            }
            plain => plain,
        }
    }

    /// The name of the admission policies and bindings of a profile: policies of other purposes are there too.
    pub fn admission_policy(profile: &str) -> String {
        format!("pod-security-profile-{profile}")
    }

    /// The annotation of a namespace that holds what an account's variable says.
    pub fn annotation(variable: &str) -> String {
        format!("bailiwick.dev/{variable}")
    }

    /// True when it can exist for a tenant only.
    pub fn needs_account(&self) -> bool {
        self.parts.annotations.needs_account() || self.parts.profile.needs_account()
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
            .with("annotations", self.parts.annotations.clone())
            .with("profile", self.parts.profile.clone())
            .content_at(content)
    }

    /// The SecurityContextConstraints under a name.
    pub fn security_context_constraints(
        &self,
        template: &'static str,
        name: &str,
        asked: Origin,
        content: Origin,
    ) -> ObjectBlueprint {
        let kind = "SecurityContextConstraints";
        ObjectBlueprint::new("security.openshift.io/v1", kind, template, Pattern::parse_checked(name), asked)
            .with("constraints", self.parts.constraints.clone())
            .content_at(content)
    }
}
