//! The differences of a target as data for programs.

use bailiwick_admission::psp::compare::PspComparison;
use bailiwick_compiler::emit::first_lines::FirstLines;
use bailiwick_compiler::emit::plan::Counts;
use bailiwick_crossplane::upgrade::Upgrade;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{AccessEffect, Comparison, TargetComparison};

/// The differences of a target, as `diff` and `check` write them in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetDifferences {
    /// The name of the target.
    pub target: String,
    /// The number of objects by their difference.
    pub objects: Counts,
    /// Roles whose rules grant more or less than before, each in words.
    pub changed_roles: NamedLines,
    /// Objects that admit other pods than before, each in words.
    pub changed_pods: NamedLines,
    /// Bindings that are deleted and created because their role changes.
    pub recreated_bindings: NamedLines,
    /// The namespaces whose Namespace object is deleted.
    pub deleted_namespaces: Vec<String>,
    /// The differences of the files as unified diffs. Files that change in the same way are one diff.
    pub diff: String,
    /// The effect on access; absent where the effects were not computed or no file differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessEffect>,
    /// The PodSecurityPolicies that change.
    pub pod_security_policies: Vec<ChangedPodSecurityPolicy>,
    /// The stacks with another version.
    pub upgrades: Vec<Upgrade>,
}

/// The first of many lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedLines {
    /// At most 20 lines.
    pub first: Vec<String>,
    /// The number of all lines.
    pub count: usize,
}

/// A PodSecurityPolicy that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedPodSecurityPolicy {
    /// The `metadata.name`, the same before and after.
    pub name: String,
    /// The effect of the change on pods.
    #[serde(flatten)]
    pub comparison: PspComparison,
}

impl TargetComparison {
    /// Returns the differences as data for programs.
    pub fn record(&self) -> TargetDifferences {
        let totals = &self.totals;
        TargetDifferences {
            target: self.target.clone(),
            objects: totals.counts,
            changed_roles: NamedLines::from(&totals.changed_roles),
            changed_pods: NamedLines::from(&totals.changed_pods),
            recreated_bindings: NamedLines::from(&totals.changed_role_refs),
            deleted_namespaces: totals.namespaces.deleted().map(|deleted| deleted.name.to_owned()).collect(),
            diff: self.diff.clone(),
            access: self.access.clone(),
            pod_security_policies: self.pod_security_policies.clone(),
            upgrades: self.upgrades.clone(),
        }
    }
}

/// The list of the [`TargetDifferences`] of each target.
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.targets.iter().map(TargetComparison::record))
    }
}

impl From<&FirstLines> for NamedLines {
    fn from(lines: &FirstLines) -> Self {
        Self { first: lines.lines().map(str::to_owned).collect(), count: lines.count }
    }
}
