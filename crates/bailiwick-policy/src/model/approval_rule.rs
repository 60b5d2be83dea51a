//! The rules of an ApprovalPolicy, in a form to be evaluated on any change.

use bailiwick_admission::level::Level;
use bailiwick_yaml::diag::Origin;
use globset::Glob;

use super::{EffectSeverity, HazardKind, PolicyMeta, PowerPattern};

/// One rule of an ApprovalPolicy.
#[derive(Debug, Clone)]
pub struct ApprovalRule {
    /// The changes that need an approval.
    pub when: ApprovalCondition,
    /// The possible approvers.
    pub needs: Vec<Approver>,
    /// How many approvals are needed.
    pub count: usize,
    /// The globs of `targets` of its policy; empty for all targets, and for each new target.
    pub targets: Vec<Glob>,
    /// The location of the rule.
    pub origin: Origin,
    /// Name, place and targets of its policy.
    pub policy: PolicyMeta,
}

/// A condition about one effect of a change. Each part that is present has to match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalCondition {
    /// A subject reaches one of the powers; empty for any effect.
    pub becomes: Vec<PowerPattern>,
    /// The effect is at least as bad.
    pub severity: Option<EffectSeverity>,
    /// A subject gains one of the permissions.
    pub gains: Option<GainedPermissions>,
    /// A subject loses permissions of a grant with a matching owner.
    pub loses_of: Option<Glob>,
    /// A namespace gets the Pod Security level.
    pub pod_level: Option<Level>,
    /// The effect is one of the hazards; empty for any effect.
    pub hazards: Vec<HazardKind>,
    /// Whether the effect disarms a test.
    pub disarms: Option<bool>,
    /// The effect is about more namespaces.
    pub more_namespaces: Option<usize>,
}

/// Permissions to look for among the gained ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GainedPermissions {
    /// RBAC verbs; empty for any verb.
    pub verbs: Vec<String>,
    /// Resources; empty for any resource.
    pub resources: Vec<ResourcePattern>,
    /// Whether the permission is for the whole cluster; none for any scope.
    pub cluster_wide: Option<bool>,
}

/// A resource as people write it: `secrets`, `deployments.apps`, `pods/exec`, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePattern {
    /// The name with the subresource.
    pub resource: String,
    /// The API group; none for any group.
    pub group: Option<String>,
}

/// A possible approver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approver {
    /// A user or a team of the forge.
    Name(String),
    /// The owners of the grants that lose permissions.
    Owner,
}

impl Approver {
    /// Whether two names are names of one approver: without case after an `@`.
    pub fn is_same(left: &str, right: &str) -> bool {
        left == right || (left.starts_with('@') && left.eq_ignore_ascii_case(right))
    }

    /// Whether a name is the name of a team, such as `@example/security`.
    pub fn is_team(name: &str) -> bool {
        name.starts_with('@') && name.contains('/')
    }
}

impl ApprovalCondition {
    /// Whether the condition has no part.
    pub fn is_empty(&self) -> bool {
        let Self { becomes, severity, gains, loses_of, pod_level, hazards, disarms, more_namespaces } = self;
        becomes.is_empty()
            && hazards.is_empty()
            && severity.is_none()
            && gains.is_none()
            && loses_of.is_none()
            && pod_level.is_none()
            && disarms.is_none()
            && more_namespaces.is_none()
    }
}

impl ResourcePattern {
    /// Reads a resource: the group after a dot, the subresource after a slash.
    pub fn parse(text: &str) -> Self {
        let (object, subresource) = text.split_once('/').map_or((text, None), |(object, rest)| (object, Some(rest)));
        let (name, group) = object.split_once('.').map_or((object, None), |(name, group)| (name, Some(group)));
        let resource = subresource.map_or_else(|| name.to_owned(), |subresource| format!("{name}/{subresource}"));
        Self { resource, group: group.map(str::to_owned) }
    }

    /// Whether a rule about a resource of a group gives access to a matching resource. `*` in a rule is every
    /// resource, and `*/scale` the subresource of every resource.
    pub fn matches(&self, group: &str, resource: &str) -> bool {
        let is_group = self.group.as_deref().is_none_or(|own| own == group || group == "*");
        let subresource = |text: &str| text.split_once('/').map(|(_, subresource)| subresource.to_owned());
        let is_resource = self.resource == "*"
            || resource == "*"
            || self.resource == resource
            || (resource.starts_with("*/") && subresource(resource) == subresource(&self.resource))
            || (self.resource.starts_with("*/") && subresource(resource) == subresource(&self.resource));
        is_group && is_resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_match_rules_that_give_access_to_them() {
        for (pattern, group, resource, expected) in [
            ("secrets", "", "secrets", true),
            ("secrets", "", "*", true),
            ("secrets", "", "configmaps", false),
            ("deployments.apps", "apps", "deployments", true),
            ("deployments.apps", "*", "*", true),
            ("deployments.apps", "extensions", "deployments", false),
            ("deployments", "extensions", "deployments", true),
            ("pods/exec", "", "pods/exec", true),
            ("pods/exec", "", "pods", false),
            ("pods/exec", "", "*/exec", true),
            ("pods/exec", "", "*/attach", false),
            ("deployments.apps/scale", "apps", "deployments/scale", true),
            ("*", "apps", "deployments/scale", true),
            ("*/scale", "apps", "deployments/scale", true),
            ("*/scale", "apps", "deployments", false),
        ] {
            assert_eq!(ResourcePattern::parse(pattern).matches(group, resource), expected, "{pattern} {resource}");
        }
    }
}
