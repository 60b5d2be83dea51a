//! The differences of a target as data for programs.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{AccessEffect, Comparison, TargetComparison};
use crate::access::compare::{Affected, Change};
use crate::access::who_can::PermissionScope;
use crate::admission::psp::compare::PspComparison;
use crate::crossplane::upgrade::Upgrade;
use crate::emit::plan::Counts;
use crate::emit::totals::FirstLines;
use crate::k8s::rbac::PolicyRule;

/// The differences of a target, as `diff` and `check` write them in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetDifferences {
    /// The name of the target.
    pub target: String,
    /// The number of objects by their difference.
    pub objects: ObjectCounts,
    /// The first roles whose rules grant more or less than before, each in words.
    pub changed_roles: Vec<String>,
    /// The number of all roles whose rules grant more or less than before.
    pub changed_roles_count: usize,
    /// The first objects that admit other pods than before, each in words.
    pub changed_pods: Vec<String>,
    /// The number of all objects that admit other pods than before.
    pub changed_pods_count: usize,
    /// The first bindings that are deleted and created because their role changes.
    pub recreated_bindings: Vec<String>,
    /// The number of all bindings that are deleted and created because their role changes.
    pub recreated_bindings_count: usize,
    /// The namespaces whose Namespace object is deleted.
    pub deleted_namespaces: Vec<String>,
    /// The differences of the files as unified diffs. Files that change in the same way are one diff.
    pub diff: String,
    /// The effect on access; absent where the effects were not computed or no file differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessDifference>,
    /// The PodSecurityPolicies that change.
    pub pod_security_policies: Vec<PodSecurityPolicyDifference>,
    /// The stacks with another version.
    pub upgrades: Vec<StackUpgrade>,
}

/// The number of objects of a target by their difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObjectCounts {
    /// Objects that only the policies have.
    pub created: usize,
    /// Objects that differ.
    pub changed: usize,
    /// Objects that only the earlier output has.
    pub deleted: usize,
    /// Equal objects.
    pub unchanged: usize,
}

/// The effect of the differences of a target on access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessDifference {
    /// Whether both sides could be evaluated. If not, the lists are empty and nothing follows from them.
    pub is_known: bool,
    /// The permissions that subjects gain and lose.
    pub changes: Vec<PermissionDifference>,
    /// The components of the cluster whose access changes with the default policy.
    pub components: BTreeSet<String>,
}

/// Permissions that subjects gain and lose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionDifference {
    /// The subjects with the same gains and losses, sorted.
    pub subjects: Vec<ScopedSubjectName>,
    /// The smallest permissions that no earlier permission covers.
    pub gained: Vec<PolicyRule>,
    /// The smallest permissions that no new permission covers.
    pub lost: Vec<PolicyRule>,
    /// Whether `resourceNames` are names of the first subject, and every other subject has its own names instead.
    pub own_names: bool,
}

/// A subject with the scope of its permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopedSubjectName {
    /// `User/NAME`, `Group/NAME` or `ServiceAccount/NAMESPACE/NAME`.
    pub subject: String,
    /// The namespace; absent for the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A PodSecurityPolicy that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSecurityPolicyDifference {
    /// The `metadata.name`, the same before and after.
    pub name: String,
    /// New permissions of pods, each a field with its change.
    pub widened: Vec<String>,
    /// Lost permissions of pods.
    pub narrowed: Vec<String>,
    /// Changed defaults for pods.
    pub defaults: Vec<String>,
    /// Changes of form without an effect.
    pub unchanged_meaning: Vec<String>,
}

/// A stack with another version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StackUpgrade {
    /// The namespace that the stack is installed in.
    pub namespace: String,
    /// The name of the installation, not of its package.
    pub name: String,
    /// The version before; absent if its objects do not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
    /// The version after; absent if its objects do not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_version: Option<String>,
    /// Whether the permissions of the controller were in a namespace, and are in the whole cluster.
    pub widened: bool,
    /// Roles and bindings that are deleted and created under another name, as `OLD -> NEW`.
    pub renamed: Vec<String>,
    /// Bindings that are deleted and created because their role changes.
    pub rebound: Vec<String>,
    /// Gained permissions of the controller.
    pub gained: Vec<PolicyRule>,
    /// Lost permissions of the controller.
    pub lost: Vec<PolicyRule>,
}

impl TargetComparison {
    /// Returns the differences as data for programs.
    pub fn record(&self) -> TargetDifferences {
        let lines = |first: &FirstLines| first.lines().map(str::to_owned).collect();
        let totals = &self.totals;
        TargetDifferences {
            target: self.target.clone(),
            objects: ObjectCounts::from(totals.counts),
            changed_roles: lines(&totals.changed_roles),
            changed_roles_count: totals.changed_roles.count,
            changed_pods: lines(&totals.changed_pods),
            changed_pods_count: totals.changed_pods.count,
            recreated_bindings: lines(&totals.changed_role_refs),
            recreated_bindings_count: totals.changed_role_refs.count,
            deleted_namespaces: totals.namespaces.deleted().map(|deleted| deleted.name.to_owned()).collect(),
            diff: self.diff.clone(),
            access: self.access.as_ref().map(AccessDifference::from),
            pod_security_policies: self
                .pod_security_policies
                .iter()
                .map(|(name, comparison)| policy_difference(name, comparison))
                .collect(),
            upgrades: self.upgrades.iter().map(StackUpgrade::from).collect(),
        }
    }
}

/// The list of the [`TargetDifferences`] of each target.
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.targets.iter().map(TargetComparison::record))
    }
}

impl From<Counts> for ObjectCounts {
    fn from(counts: Counts) -> Self {
        let Counts { created, changed, deleted, unchanged } = counts;
        Self { created, changed, deleted, unchanged }
    }
}

impl From<&AccessEffect> for AccessDifference {
    fn from(effect: &AccessEffect) -> Self {
        match effect {
            AccessEffect::Unknown => Self { is_known: false, changes: Vec::new(), components: BTreeSet::new() },
            AccessEffect::Known { changes, components } => Self {
                is_known: true,
                changes: changes.iter().map(PermissionDifference::from).collect(),
                components: components.clone(),
            },
        }
    }
}

impl From<&Change> for PermissionDifference {
    fn from(change: &Change) -> Self {
        let Change { gained, lost, subjects, own_names } = change;
        Self {
            subjects: subjects.iter().map(ScopedSubjectName::from).collect(),
            gained: gained.clone(),
            lost: lost.clone(),
            own_names: *own_names,
        }
    }
}

impl From<&Affected> for ScopedSubjectName {
    fn from(affected: &Affected) -> Self {
        let namespace = match &affected.scope {
            PermissionScope::Cluster => None,
            PermissionScope::Namespace(namespace) => Some(namespace.clone()),
        };
        Self { subject: affected.subject.clone(), namespace }
    }
}

fn policy_difference(name: &str, comparison: &PspComparison) -> PodSecurityPolicyDifference {
    let PspComparison { widened, narrowed, defaults, unchanged_meaning } = comparison.clone();
    PodSecurityPolicyDifference { name: name.to_owned(), widened, narrowed, defaults, unchanged_meaning }
}

impl From<&Upgrade> for StackUpgrade {
    fn from(upgrade: &Upgrade) -> Self {
        let Upgrade { stack, versions, renamed, widened, rebound, gained, lost } = upgrade.clone();
        let ((namespace, name), (old_version, new_version)) = (stack, versions);
        let renamed = renamed.into_iter().map(|(old, new)| format!("{old} -> {new}")).collect();
        Self { namespace, name, old_version, new_version, widened, renamed, rebound, gained, lost }
    }
}
