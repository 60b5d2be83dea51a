//! Migrations as JSON.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::level::Level;
use bailiwick_admission::psp::mapping::Mapping;
use bailiwick_admission::psp::migrate::{FieldOutcome, Filled, PspDefault};
use bailiwick_admission::psp::plan::{
    DefaultChange, LevelBlocker, NamespacePlan, Need, PolicyEvidence, PolicyPlan, WorkloadPlan,
};
use bailiwick_adopt::psp_policies::enforced_level;
use bailiwick_adopt::psp_policies::stages::{MigrationStage, stages};
use bailiwick_node::migration::KubeletMigration;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::PspMigrationReport;
use super::other_controllers::{OtherPolicyRecord, records};
use crate::result::CommandResult;

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
    /// The number of templates that another workload owns, such as the ReplicaSets of a Deployment.
    owned_templates: usize,
    /// The number of workloads with a patch.
    patched: usize,
    /// The stages of the migration, in order.
    stages: Vec<StageRecord>,
    /// The policies of other admission controllers.
    other_controllers: Vec<OtherPolicyRecord>,
    /// The roles and bindings that grant nothing any more.
    superfluous: SuperfluousRecord,
}

/// A PodSecurityPolicy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PolicyRecord {
    name: String,
    /// The policies that a merged policy replaces; empty for a policy of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    merges: Vec<String>,
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
    /// `one`, `chosen`, `merged`, `conflict` or `nothing`.
    need: String,
    /// The PodSecurityPolicy that it needs.
    policy: Option<String>,
    /// The PodSecurityProfile.
    profile: Option<String>,
    /// The Pod Security level.
    level: String,
    /// The strictest level that admits its pods; none without pods.
    observed_level: Option<String>,
    /// The level that the texts of its PodSecurityPolicies allow; none without a policy.
    stated_level: Option<String>,
    /// The level of its own `enforce` label.
    own_level: Option<String>,
    /// The workloads that a stricter level rejects.
    blockers: Vec<BlockerRecord>,
    /// The PodSecurityPolicies of its pods, if there are several for one service account.
    among: Vec<String>,
    /// The service accounts that may not use the policy today.
    widened: Vec<String>,
    /// The service accounts with a policy of their own.
    accounts: Vec<AccountRecord>,
    /// The number of workloads.
    workloads: usize,
}

/// A service account with a policy of its own.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct AccountRecord {
    name: String,
    policy: String,
    profile: String,
    /// The PodSecurityPolicies of its pods, if there are several.
    among: Vec<String>,
    /// Whether the service account may not use the policy today.
    widened: bool,
}

/// A workload whose pods a level rejects.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct BlockerRecord {
    kind: String,
    name: String,
    /// The strictest level that admits its pods.
    level: String,
    /// The checks that reject them by level, each with the values of one pod.
    checks: BTreeMap<String, BTreeMap<String, String>>,
}

/// A stage of the migration.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StageRecord {
    /// The name of its target.
    target: String,
    /// The platform of the cluster: `kubernetes` or `openshift`.
    platform: String,
    /// The version of the platform.
    version: String,
    /// The modes of the Pod Security labels; none for all.
    modes: Option<Vec<String>>,
    /// The actions of the bindings of admission policies; none for `Deny`, and the empty list for no admission policy.
    validation_actions: Option<Vec<String>>,
}

/// A workload with the effect on its pods.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkloadRecord {
    kind: String,
    namespace: String,
    name: String,
    /// The service account of its pods.
    account: String,
    /// The owner of the workload, if it is not among the objects.
    owner: Option<String>,
    /// The number of its pods that run.
    pods: usize,
    /// The PodSecurityPolicies of these pods in the annotation `kubernetes.io/psp`, with the number of pods.
    recorded: BTreeMap<String, usize>,
    /// The PodSecurityPolicy of new pods; none for pods that are rejected.
    policy: Option<String>,
    /// The origin of the policy: `grants` of its controller and service account, `recorded`, or `creators` of pods.
    evidence: String,
    /// The users and groups that have to create the pods themselves.
    creators: Vec<String>,
    /// Whether a patch can set the defaults.
    is_patchable: bool,
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
            owned_templates: self.owned_templates,
            patched: self.patches.workloads(),
            stages: stages(self.to).into_iter().map(StageRecord::new).collect(),
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
            merges: policy.merges.clone(),
            profile: policy.is_needed.then(|| self.policies.profile_of(&policy.name).to_owned()),
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
        let common = &namespace.needs.common;
        let policy = common.policy();
        let need = match common {
            Need::One(_) => "one",
            Need::Chosen { .. } => "chosen",
            Need::Merged { .. } => "merged",
            Need::Conflict(_) => "conflict",
            Need::Nothing => "nothing",
        };
        let (among, widened) = choice(common);
        let accounts = namespace.needs.accounts.iter().filter_map(|own| {
            let policy = own.need.policy()?.to_owned();
            let (among, widened) = choice(&own.need);
            let profile = self.policies.account_profile_of(&policy).to_owned();
            Some(AccountRecord { name: own.account.clone(), policy, profile, among, widened: !widened.is_empty() })
        });
        let name = |level: Level| level.name().to_owned();
        let level = self.policies.level_of(&namespace.name);
        NamespaceRecord {
            name: namespace.name.clone(),
            need: need.to_owned(),
            policy: policy.map(str::to_owned),
            profile: policy.map(|policy| self.policies.profile_of(policy).to_owned()),
            level: level.map_or_else(String::new, name),
            observed_level: namespace.levels.observed.map(name),
            stated_level: namespace.levels.stated.map(name),
            own_level: self.declared.get(&namespace.name).and_then(enforced_level).map(name),
            blockers: namespace.levels.blockers.iter().map(BlockerRecord::new).collect(),
            among,
            widened,
            accounts: accounts.collect(),
            workloads: namespace.workloads,
        }
    }
}

/// Returns the policies out of which one was chosen, and the service accounts that may not use it today.
fn choice(need: &Need) -> (Vec<String>, Vec<String>) {
    match need {
        Need::Chosen { among, widened, .. } | Need::Merged { among, widened, .. } => (among.clone(), widened.clone()),
        Need::Conflict(among) => (among.clone(), Vec::new()),
        Need::One(_) | Need::Nothing => (Vec::new(), Vec::new()),
    }
}

impl BlockerRecord {
    fn new(blocker: &LevelBlocker) -> Self {
        let checks = blocker.checks.iter().map(|(level, checks)| {
            let checks = checks.iter().map(|(check, detail)| ((*check).to_owned(), detail.clone())).collect();
            (level.name().to_owned(), checks)
        });
        Self {
            kind: blocker.kind.to_owned(),
            name: blocker.name.clone(),
            level: blocker.level.name().to_owned(),
            checks: checks.collect(),
        }
    }
}

impl StageRecord {
    fn new(stage: MigrationStage) -> Self {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Self {
            target: stage.target.to_owned(),
            platform: stage.platform().to_owned(),
            version: stage.version(),
            modes: stage.modes.map(texts),
            validation_actions: stage.validation_actions.map(texts),
        }
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
        let plan = workload.clone();
        let (evidence, creators) = match plan.evidence {
            PolicyEvidence::Grants => ("grants", Vec::new()),
            PolicyEvidence::Recorded => ("recorded", Vec::new()),
            PolicyEvidence::Creators(creators) => ("creators", creators),
        };
        Self {
            kind: plan.kind.to_owned(),
            namespace: plan.namespace,
            name: plan.name,
            account: plan.account,
            owner: plan.owner.reference().map(ToString::to_string),
            pods: plan.pods,
            recorded: plan.recorded,
            policy: plan.policy.filter(|_| plan.refusals.is_empty()),
            evidence: evidence.to_owned(),
            creators,
            is_patchable: plan.is_patchable,
            relied_on: plan.relied_on,
            changes: plan.changes,
            refusals: plan.refusals,
        }
    }
}
