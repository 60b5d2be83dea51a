//! Linked policies for use by other policies: the content of roles and of pod security policies.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::level::Level;
use bailiwick_admission::scc;
use bailiwick_kubernetes::rules::RuleSet;
use bailiwick_yaml::diag::Origin;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Blueprint, Fill, ObjectBlueprint, Pattern, Piece, Target};

/// The kind of object for a permission set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "RoleKind")]
pub enum RoleObjectKind {
    /// A Role in each namespace with a binding.
    #[default]
    Role,
    /// One ClusterRole, for bindings in a namespace or for the whole cluster.
    ClusterRole,
}

/// A linked permission set.
#[derive(Debug, Clone)]
pub struct PermissionSet {
    /// The kind of the role object.
    pub role_kind: RoleObjectKind,
    /// The name of the role object, a pattern.
    role_name: String,
    /// The rules on each target by its name. An aggregated set has none, since the cluster collects its rules. The
    /// texts are patterns.
    granted: BTreeMap<String, RuleSet>,
    aggregated: bool,
    /// The fields of the role.
    fields: Vec<(&'static str, Blueprint)>,
}

/// Arguments of [`PermissionSet::new`].
#[derive(Debug, Clone)]
pub struct PermissionSetParts {
    /// The kind of the role object.
    pub role_kind: RoleObjectKind,
    /// The name of the role object, a pattern.
    pub role_name: String,
    /// Labels of the role.
    pub labels: Blueprint,
    /// Annotations of the role.
    pub annotations: Blueprint,
    /// The rules on each target.
    pub granted: BTreeMap<String, RuleSet>,
    /// The aggregation rule, in place of rules.
    pub aggregation: Option<Blueprint>,
}

impl PermissionSet {
    /// Builds a set from its parts.
    pub fn new(parts: PermissionSetParts) -> Self {
        let rules =
            parts.granted.iter().map(|(target, granted)| (target.clone(), Blueprint::from_value(&granted.rules())));
        let aggregated = parts.aggregation.is_some();
        let none = Blueprint::Constant(super::Data::Null);
        let fields = vec![
            ("labels", parts.labels),
            ("annotations", parts.annotations),
            ("rules", Blueprint::by_target(rules.collect())),
            ("aggregationRule", parts.aggregation.unwrap_or(none)),
        ];
        Self { role_kind: parts.role_kind, role_name: parts.role_name, granted: parts.granted, aggregated, fields }
    }

    /// Returns the name of the role object outside of a Tenancy, a pattern.
    pub fn role_name(&self) -> &str {
        &self.role_name
    }

    /// Returns how many resources the rules name on each target.
    pub fn resource_counts(&self) -> impl Iterator<Item = usize> {
        self.granted.values().map(RuleSet::resource_count)
    }

    /// Returns the rules on a target; none for another target and for an aggregated set.
    pub fn granted(&self, target: &str) -> Option<&RuleSet> {
        self.granted.get(target)
    }

    /// Returns the object names in its rules, on any target; the texts are patterns.
    pub fn resource_names(&self) -> BTreeSet<String> {
        self.granted.values().flat_map(RuleSet::rules).flat_map(|rule| rule.resource_names).collect()
    }

    /// Whether the cluster collects its rules from other roles.
    pub fn is_aggregated(&self) -> bool {
        self.aggregated
    }

    /// Returns the account variables of its texts.
    pub fn account_variables(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        self.fields.iter().for_each(|(_, value)| value.account_variables(&mut names));
        names.into_iter().collect()
    }

    /// Whether it needs the values of an account.
    pub fn needs_account(&self) -> bool {
        self.fields.iter().any(|(_, value)| value.needs_account())
    }

    /// Builds the role object with a name, of its own kind or as a Role for a tenant.
    pub fn role(
        &self,
        kind: RoleObjectKind,
        template: &'static str,
        name: &str,
        asked: Origin,
        content: Origin,
    ) -> ObjectBlueprint {
        let kind = match kind {
            RoleObjectKind::Role => "Role",
            RoleObjectKind::ClusterRole => "ClusterRole",
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

/// Arguments of [`PodSecurityProfile::new`].
#[derive(Debug, Clone)]
pub struct PodSecurityProfileParts {
    /// The name of the policy.
    pub name: String,
    /// The account variables it uses.
    pub variables: Vec<String>,
    /// The account variables with number values.
    pub numbers: BTreeSet<String>,
    /// The labels of a PodSecurityPolicy.
    pub labels: Blueprint,
    /// Annotations of a PodSecurityPolicy.
    pub annotations: Blueprint,
    /// The spec of a PodSecurityPolicy, as its template takes it.
    pub profile: Blueprint,
    /// The fields of SecurityContextConstraints; empty if no target has them.
    pub constraints: Blueprint,
    /// Whether an admission policy beside the constraints has a part of the limits.
    pub is_limited_beside: bool,
    /// The defaults set by an admission policy.
    pub defaults: ProfileDefaults,
    /// The defaults set by an admission policy that applies to some service accounts of a namespace.
    pub defaults_by_account: ProfileDefaults,
    /// The Pod Security level beside an admission policy.
    pub level: Option<Level>,
}

/// The defaults of a profile for fields missing from a pod: expressions for [`bailiwick_admission::policy::Patches`].
#[derive(Debug, Clone, Default)]
pub struct ProfileDefaults {
    /// The variables of the expressions, by name.
    pub variables: Vec<(String, String)>,
    /// The expressions of the patches, for each target with a mutating admission policy.
    pub patches: BTreeMap<String, Vec<String>>,
}

impl PodSecurityProfile {
    /// The label of namespaces selected by the admission policies of a profile; its value is the name of the profile.
    pub const LABEL: &'static str = "bailiwick.dev/pod-security-profile";

    /// The annotation of a pod with the name of the constraints that admitted it.
    pub const CONSTRAINTS: &'static str = scc::admit::CONSTRAINTS;

    /// Builds a profile from its parts.
    pub fn new(parts: PodSecurityProfileParts) -> Self {
        Self { parts }
    }

    /// Returns the name of the profile.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// Returns its account variables.
    pub fn variables(&self) -> &[String] {
        &self.parts.variables
    }

    /// Returns the account variables with number values.
    pub fn numbers(&self) -> &BTreeSet<String> {
        &self.parts.numbers
    }

    /// Returns the Pod Security level beside an admission policy, by the mapping in the Kubernetes documentation.
    pub fn level(&self) -> Option<Level> {
        self.parts.level
    }

    /// Whether an admission policy beside its constraints, for the constraints with the name of the profile, has a part of the
    /// limits.
    pub fn is_limited_beside(&self) -> bool {
        self.parts.is_limited_beside
    }

    /// Returns the defaults set by an admission policy.
    pub fn defaults(&self) -> &ProfileDefaults {
        &self.parts.defaults
    }

    /// Returns the defaults set by an admission policy that applies to some service accounts of a namespace.
    pub fn defaults_by_account(&self) -> &ProfileDefaults {
        &self.parts.defaults_by_account
    }

    /// Fills in the variables of a value; the bounds of a range become numbers.
    pub fn filled(value: Value, variable: &dyn Fn(&str) -> Option<String>) -> Value {
        match value {
            Value::String(text) => {
                let pattern = Pattern::parse_checked(&text);
                let pieces = pattern.pieces().iter().map(|piece| match piece {
                    Piece::Text(text) => text.to_string(),
                    Piece::Variable(name) | Piece::Optional(name) => variable(name).unwrap_or_default(),
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

    /// Returns the name of the admission policies and bindings of a profile; the prefix separates them from other
    /// policies.
    pub fn admission_policy(profile: &str) -> String {
        format!("pod-security-profile-{profile}")
    }

    /// Returns the annotation of a namespace with the value of an account variable.
    pub fn annotation(variable: &str) -> String {
        format!("bailiwick.dev/{variable}")
    }

    /// Whether it needs the values of an account.
    pub fn needs_account(&self) -> bool {
        self.parts.annotations.needs_account() || self.parts.profile.needs_account()
    }

    /// Returns the spec of a PodSecurityPolicy with variables left as they are written.
    pub fn spec(&self, target: &Target) -> Value {
        self.parts.profile.fill(Fill::from_target(target)).to_json()
    }

    /// Builds the PodSecurityPolicy with a name.
    pub fn pod_security_policy(
        &self,
        template: &'static str,
        name: &str,
        asked: Origin,
        content: Origin,
    ) -> ObjectBlueprint {
        ObjectBlueprint::new("policy/v1beta1", "PodSecurityPolicy", template, Pattern::parse_checked(name), asked)
            .with("labels", self.parts.labels.clone())
            .with("annotations", self.parts.annotations.clone())
            .with("profile", self.parts.profile.clone())
            .content_at(content)
    }

    /// Builds the SecurityContextConstraints with a name.
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
