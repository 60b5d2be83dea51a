//! Migrations as JSON.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::other_controllers::{OtherRuleRecord, records};
use super::{PspMigrationReport, level, own_levels};
use crate::admission::level::Level;
use crate::admission::psp::mapping::Mapping;
use crate::admission::psp::migrate::{FieldOutcome, Filled, PspDefault};
use crate::admission::psp::plan::{DefaultChange, NamespacePlan, Need, PolicyPlan, WorkloadPlan};
use crate::node::migration::KubeletMigration;
use crate::report::result::CommandResult;

/// The result of `migrate psp`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PspMigrationResult {
    /// Whether a decision is left to a person.
    needs_decision: bool,
    /// The PodSecurityPolicies.
    policies: Vec<PolicyRecord>,
    /// The namespaces that become a Tenancy.
    tenancies: Vec<TenancyRecord>,
    namespaces: Vec<NamespaceRecord>,
    workloads: Vec<WorkloadRecord>,
    /// The number of objects that another object has made.
    made_by_others: usize,
    /// The policies of other admission controllers.
    other_controllers: Vec<OtherRuleRecord>,
    /// The roles and bindings that grant nothing any more.
    superfluous: SuperfluousRecord,
}

/// A PodSecurityPolicy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PolicyRecord {
    name: String,
    /// The PodSecurityProfile; none if no namespace needs the policy.
    profile: Option<String>,
    /// The errors of an unusable policy.
    broken: Vec<String>,
    /// The Pod Security level.
    level: String,
    /// The level by each reading of the mapping.
    #[schemars(with = "BTreeMap<String, ReadingRecord>")]
    readings: Map<String, Value>,
    fields: Vec<FieldRecord>,
    /// The defaults of the policy.
    mutating: Vec<PspDefault>,
    /// The namespaces that need it.
    namespaces: Vec<String>,
    /// The number of workloads with pods under the policy.
    workloads: usize,
}

/// A reading of the mapping.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ReadingRecord {
    level: String,
    /// The fields that decide the level.
    deciding: Vec<DecidingField>,
}

/// A field that decides a level.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct DecidingField {
    field: String,
    reason: String,
}

/// A field of a PodSecurityPolicy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FieldRecord {
    field: String,
    /// The outcome: `unlimited`, `level`, `policy`, `filledIn`, `noEffect` or `dropped`.
    fate: String,
    /// The limit or the reason.
    text: Option<String>,
}

/// Namespaces that become a Tenancy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct TenancyRecord {
    /// The name of the Tenancy.
    tenancy: String,
    /// The PodSecurityProfile.
    profile: String,
    /// The variables of the accounts.
    variables: Vec<String>,
    namespaces: Vec<String>,
    /// Their PodSecurityPolicies, in the same order.
    policies: Vec<String>,
}

/// A namespace with the policy that it needs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NamespaceRecord {
    name: String,
    /// `one`, `chosen`, `conflict` or `nothing`.
    need: String,
    /// The PodSecurityPolicy that it needs.
    policy: Option<String>,
    /// The PodSecurityProfile.
    profile: Option<String>,
    /// The Pod Security level; none if a person has to decide.
    level: Option<String>,
    /// The PodSecurityPolicies of its pods, if there are several.
    among: Vec<String>,
    /// The service accounts that may not use the policy today.
    widened: Vec<String>,
    /// The Pod Security labels of the Namespace.
    own_labels: Vec<String>,
    /// The number of workloads.
    workloads: usize,
}

/// A workload with the effect on its pods.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkloadRecord {
    kind: String,
    namespace: String,
    name: String,
    /// The PodSecurityPolicy of its pods; none for pods that are rejected.
    policy: Option<String>,
    /// The defaults that its pods get.
    relied_on: Vec<Filled>,
    /// The defaults that differ under the policy of the namespace.
    changes: Vec<DefaultChange>,
    /// The reasons why its pods are rejected.
    refusals: Vec<String>,
}

/// The roles and bindings that grant nothing any more.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct SuperfluousRecord {
    roles: BTreeSet<String>,
    bindings: BTreeSet<String>,
    /// The rules of other roles.
    rules: BTreeSet<String>,
}

/// The result of `migrate kubelets`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KubeletMigrationResult {
    /// The kubelets and the steps.
    #[serde(flatten)]
    pub migration: KubeletMigration,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl CommandResult for PspMigrationResult {
    const NAME: &'static str = "migrate-psp";
}

impl CommandResult for KubeletMigrationResult {
    const NAME: &'static str = "migrate-kubelets";
}

impl PspMigrationReport<'_> {
    /// Returns the report as JSON.
    pub fn record(&self) -> PspMigrationResult {
        let plan = self.plan;
        let tenancies = self.policies.tenancies.iter().map(|tenants| TenancyRecord {
            tenancy: tenants.tenancy.clone(),
            profile: tenants.profile.clone(),
            variables: tenants.variables.clone(),
            namespaces: tenants.namespaces.clone(),
            policies: tenants.policies.clone(),
        });
        PspMigrationResult {
            needs_decision: plan.needs_decision(),
            policies: plan.policies.iter().map(|policy| self.policy_record(policy)).collect(),
            tenancies: tenancies.collect(),
            namespaces: plan.namespaces.iter().map(|namespace| self.namespace_record(namespace)).collect(),
            workloads: plan.workloads.iter().map(WorkloadRecord::new).collect(),
            made_by_others: self.made_by_others,
            other_controllers: records(self),
            superfluous: SuperfluousRecord {
                roles: self.superfluous.roles.clone(),
                bindings: self.superfluous.bindings.clone(),
                rules: self.superfluous.rules.clone(),
            },
        }
    }

    fn policy_record(&self, policy: &PolicyPlan) -> PolicyRecord {
        let readings = policy
            .levels
            .iter()
            .map(|(reading, mapping)| (reading.name().to_owned(), json!(ReadingRecord::new(mapping))));
        let fields = policy.migration.fields.iter().map(|field| {
            let (fate, text) = match &field.fate {
                FieldOutcome::Unlimited => ("unlimited", None),
                FieldOutcome::KeptByLevel => ("level", None),
                FieldOutcome::NeedsPolicy(limit) => ("policy", Some(limit)),
                FieldOutcome::FilledIn => ("filledIn", None),
                FieldOutcome::NoEffect(reason) => ("noEffect", Some(reason)),
                FieldOutcome::Dropped(reason) => ("dropped", Some(reason)),
            };
            FieldRecord { field: field.field.to_owned(), fate: fate.to_owned(), text: text.cloned() }
        });
        PolicyRecord {
            name: policy.name.clone(),
            profile: policy.is_needed.then(|| self.profile_of(&policy.name).to_owned()),
            broken: policy.broken.clone(),
            level: policy.migration.level.name().to_owned(),
            readings: readings.collect(),
            fields: fields.collect(),
            mutating: policy.migration.mutating.clone(),
            namespaces: policy.namespaces.clone(),
            workloads: policy.workloads,
        }
    }

    fn namespace_record(&self, namespace: &NamespacePlan) -> NamespaceRecord {
        let policy = namespace.need.policy();
        let (need, among, widened): (_, &[String], &[String]) = match &namespace.need {
            Need::One(_) => ("one", &[], &[]),
            Need::Chosen { among, widened, .. } => ("chosen", among, widened),
            Need::Conflict(among) => ("conflict", among, &[]),
            Need::Nothing => ("nothing", &[], &[]),
        };
        NamespaceRecord {
            name: namespace.name.clone(),
            need: need.to_owned(),
            policy: policy.map(str::to_owned),
            profile: policy.map(|policy| self.profile_of(policy).to_owned()),
            level: level(self.plan, &namespace.need).map(|level| Level::name(level).to_owned()),
            among: among.to_vec(),
            widened: widened.to_vec(),
            own_labels: own_levels(self, &namespace.name),
            workloads: namespace.workloads,
        }
    }

    /// Returns the profile that replaces a policy.
    fn profile_of<'p>(&'p self, policy: &'p str) -> &'p str {
        self.policies.tenants_of(policy).map_or(policy, |tenants| &tenants.profile)
    }
}

impl ReadingRecord {
    fn new(mapping: &Mapping) -> Self {
        let deciding = mapping
            .deciding()
            .map(|field| DecidingField { field: field.field.to_string(), reason: field.reason.to_string() });
        Self { level: mapping.level.name().to_owned(), deciding: deciding.collect() }
    }
}

impl WorkloadRecord {
    fn new(workload: &WorkloadPlan) -> Self {
        let WorkloadPlan { kind, namespace, name, policy, relied_on, changes, refusals } = workload.clone();
        Self { kind: kind.to_owned(), namespace, name, policy, relied_on, changes, refusals }
    }
}
