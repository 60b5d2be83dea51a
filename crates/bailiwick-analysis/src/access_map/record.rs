//! The map as data: every form is a view of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::EffectSeverity;
use bailiwick_workspace::FindingRecord;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::questions::AccessQuestion;
use crate::Unanswered;
use crate::path_step::ReviewedStep;
use crate::subject_classes::SubjectClass;

/// The version of the schema.
pub const API_VERSION: &str = "bailiwick.dev/report/v1";

/// The map of who can do what, for an audit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessMap {
    /// The version of the schema.
    pub api_version: &'static str,
    /// The questions of the matrix.
    pub questions: Vec<AccessQuestion>,
    /// The access on each target.
    pub targets: Vec<TargetAccess>,
    /// The classes of subjects with equal access, to which `subjects` and `paths` refer.
    pub classes: Vec<SubjectClass>,
    /// The findings of `lint`.
    pub findings: ReportedFindings,
    /// The admission policies that are not evaluated for every workload.
    pub unanswered: Unanswered,
}

/// The access on one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetAccess {
    /// The name of the target; none for manifests.
    pub target: Option<String>,
    /// The minor version of Kubernetes, such as `1.36`.
    pub version: String,
    /// The number of namespaces among the inputs.
    pub namespace_count: usize,
    /// The PodSecurityPolicies of manifests; none for a target, whose policies are compiled from PodSecurityProfiles.
    pub pod_security_policies: Option<ReportedPolicies>,
    /// The access of each class of subjects, the most powerful first.
    pub subjects: Vec<SubjectAccess>,
    /// The number of subjects of the default policy alone. They have the access of every cluster.
    pub default_subjects: usize,
    /// The escalation paths, the worst first.
    pub paths: Vec<ReportedPath>,
    /// The namespaces by owner and Pod Security level.
    pub namespaces: Vec<NamespaceGroup>,
    /// Inputs that are missing, so that the access of some subjects is not known.
    pub unknown: Vec<String>,
}

/// The numbers of PodSecurityPolicies of manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedPolicies {
    /// The policies that decide about the pods of escalation paths.
    pub evaluated: usize,
    /// The policies that the version of the cluster does not have.
    pub ignored: usize,
}

impl ReportedPolicies {
    /// Whether there is a policy.
    pub fn has_any(&self) -> bool {
        self.evaluated + self.ignored > 0
    }
}

/// The access of a class of subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectAccess {
    /// The number of the class in the map.
    pub class: usize,
    /// The permissions by scope.
    pub grants: Vec<GrantedAccess>,
    /// The powers within reach, the worst first.
    pub powers: Vec<ReportedPower>,
    /// One cell of the matrix for each question.
    pub cells: Vec<AccessCell>,
}

/// Permissions with one scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantedAccess {
    /// The number of namespaces for each subject; none for the whole cluster.
    pub namespaces: Option<usize>,
    /// The roles of the first subject with this scope, such as `ClusterRole/edit`.
    pub roles: Vec<String>,
    /// The rules, without rules that another scope has. With `own_names`, the names are the names of the first subject.
    pub rules: Vec<PolicyRule>,
    /// Whether every subject has names of its own in the rules.
    pub own_names: bool,
}

/// A power within reach of a subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedPower {
    /// How dangerous the power is.
    pub severity: EffectSeverity,
    /// The kind of the power, such as `cluster-admin` or `namespace-admin`.
    pub power: String,
    /// `proven`, or `possible`.
    pub certainty: String,
}

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "scope")]
pub enum AccessCell {
    /// The request is allowed nowhere.
    Nowhere,
    /// The request is allowed in this number of namespaces.
    Namespaces {
        /// The number for each subject.
        count: usize,
    },
    /// The request is allowed for the whole cluster.
    Everywhere,
}

/// Escalation paths with equal kinds of steps to a kind of power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedPath {
    /// The position in the list of all targets.
    pub id: usize,
    /// The class of the subjects with such a path.
    pub class: usize,
    /// The power of the first path, such as `nodes` or `secrets:shop`.
    pub reaches: String,
    /// How dangerous the power is.
    pub severity: EffectSeverity,
    /// `proven`, or `possible`.
    pub certainty: String,
    /// The steps of the first path.
    pub steps: Vec<ReviewedStep>,
}

/// Namespaces with one owner, one Pod Security level and equal profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceGroup {
    /// The position in the list of all targets.
    pub id: usize,
    /// The policy, such as `Tenancy/teams`; none for namespaces of manifests.
    pub policy: Option<String>,
    /// The enforced Pod Security level; none without a label.
    pub level: Option<String>,
    /// The PodSecurityProfiles: of the label of the namespaces if its admission policy is bound, or the profiles that the service
    /// accounts may use by the policy.
    pub profiles: Vec<String>,
    /// The number of namespaces.
    pub count: usize,
    /// The names, at most 1,000 of each group.
    #[serde(serialize_with = "write_names")]
    #[schemars(with = "Vec<String>")]
    pub names: Vec<Arc<str>>,
    /// The first namespaces.
    pub sample: Vec<String>,
}

// serde passes a reference.
fn write_names<S: Serializer>(names: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(|name| &**name))
}

/// The findings of `lint`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedFindings {
    /// The number of findings by severity.
    pub counts: BTreeMap<String, usize>,
    /// The first findings, in the order of severity.
    pub worst: Vec<FindingRecord>,
}
