//! A plan for the removal of PodSecurityPolicy: the policies of each workload today, the policies and the level needed by each
//! namespace, and the obstacles.
//!
//! A namespace needs the policies of its workloads, by their service accounts; without workloads, the policy of its `default`
//! service account. [`super::migrate`] has the migration of the policies themselves.

mod levels;
mod needs;
mod observed;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::PodSecurityPolicy;
use super::admit::PspProvider;
use super::mapping::{Mapping, Reading, map};
use super::migrate::{FieldOutcome, Filled, Migration, differences, migrate, migrate_to_level, relied_on};
use crate::level::Level;
use crate::pod::Pod;
use bailiwick_access::World;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::workers::Workers;

pub use self::levels::{LevelBlocker, LevelChoice, PossibleLevels};
pub use self::needs::{AccountNeed, Need, NeededPolicies};
use self::needs::{Judge, Planned, stored};
pub use self::observed::{ObservedWorkload, OwnerReference, RunningPods, WorkloadOwner, is_extended};

/// The objects of a cluster.
#[derive(Debug)]
pub struct PspCluster<'w> {
    /// The RBAC permissions.
    pub world: &'w World,
    /// The policies, each name once.
    pub policies: &'w [PodSecurityPolicy],
    /// All known namespaces.
    pub namespaces: &'w BTreeSet<String>,
    /// Workloads, and the pods that run.
    pub workloads: &'w [ObservedWorkload],
    /// The minors whose Pod Security checks the levels have to stand.
    pub minors: &'w BTreeSet<u32>,
}

/// The migration plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Every policy, by name.
    pub policies: Vec<PolicyPlan>,
    /// Every namespace, by name.
    pub namespaces: Vec<NamespacePlan>,
    /// Every workload, by namespace, kind and name.
    pub workloads: Vec<WorkloadPlan>,
    /// The policies that replace several policies of the cluster.
    pub merged: Vec<PodSecurityPolicy>,
}

/// A policy and its migration.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyPlan {
    /// Name in the cluster; a new name for a merged policy.
    pub name: String,
    /// The policies that a merged policy replaces; none for a policy of the cluster.
    pub merges: Vec<String>,
    /// The errors of an unusable policy.
    pub broken: Vec<String>,
    /// The level by each reading of the mapping.
    pub levels: Vec<(Reading, Mapping)>,
    /// The migration of its fields, with the loosest level of its namespaces.
    pub migration: Migration,
    /// The namespaces in need of it.
    pub namespaces: Vec<String>,
    /// Number of workloads with pods under the policy.
    pub workloads: usize,
    /// Whether it has to be carried over: a namespace needs it, or cannot do without it.
    pub is_needed: bool,
}

/// A namespace and the policy needed for its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePlan {
    /// Name in the cluster.
    pub name: String,
    /// How many workloads it has.
    pub workloads: usize,
    /// The needed policies.
    pub needs: NeededPolicies,
    /// The levels of its pods.
    pub levels: PossibleLevels,
}

/// A default of pods with a later change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DefaultChange {
    /// The field of the pod.
    pub field: String,
    /// The value today.
    pub before: Option<Value>,
    /// The value under the policy of the namespace.
    pub after: Option<Value>,
}

/// A workload and the policy of its pods.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadPlan {
    /// Kind of the object.
    pub kind: &'static str,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Name of the service account of its pods.
    pub account: String,
    /// The object that owns the workload.
    pub owner: WorkloadOwner,
    /// The number of its pods that run.
    pub pods: usize,
    /// The policies in the annotations of these pods, with the number of pods.
    pub recorded: BTreeMap<String, usize>,
    /// The policy of its pods; none for pods already rejected.
    pub policy: Option<String>,
    /// The origin of the policy.
    pub evidence: PolicyEvidence,
    /// A new pod as 1.24 stores it, with the defaults of the policy; none for a rejected pod.
    pub stored: Option<Pod>,
    /// Whether a patch of the template can set the defaults of the policy.
    pub is_patchable: bool,
    /// The defaults filled in for them.
    pub relied_on: Vec<Filled>,
    /// Changed defaults under the policy of their namespace.
    pub changes: Vec<DefaultChange>,
    /// Why new pods are rejected today. Pods of an earlier template may run.
    pub refusals: Vec<String>,
}

/// The origin of the policy of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyEvidence {
    /// The grants of its controller and its service account.
    Grants,
    /// The annotations of its pods: their creator is unknown, or the grants are not among the objects.
    Recorded,
    /// The grants of users that may create pods in the namespace, as `User/name`. They have to create the pods themselves.
    Creators(Vec<String>),
}

impl WorkloadPlan {
    /// Returns a new pod of the workload under a policy, after the patches of the migration; none if the policy rejects the pod. A
    /// patched pod keeps the defaults of its own policy.
    pub fn created(&self, observed: &ObservedWorkload, policy: &PodSecurityPolicy) -> Option<Cow<'_, Pod>> {
        let of_template = || stored(policy, &observed.workload.pod()).map(Cow::Owned);
        match &self.stored {
            Some(stored) if self.policy.as_deref() == Some(policy.name()) => Some(Cow::Borrowed(stored)),
            Some(patched) if self.is_patchable => stored(policy, patched).map(Cow::Owned).or_else(of_template),
            _ => of_template(),
        }
    }
}

impl PolicyPlan {
    /// Returns the limits lost in the migration.
    pub fn lost(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.migration.fields.iter().filter_map(|field| match &field.fate {
            FieldOutcome::Dropped(reason) => Some((field.field, reason.as_str())),
            _ => None,
        })
    }
}

impl Plan {
    /// Judges the fields of each needed policy by the loosest level of its namespaces.
    pub fn set_levels(&mut self, policies: &[PodSecurityPolicy], level_of: impl Fn(&str) -> Option<Level>) {
        let policies: BTreeMap<&str, &PodSecurityPolicy> =
            policies.iter().map(|policy| (policy.name(), policy)).collect();
        for plan in &mut self.policies {
            let levels = plan.namespaces.iter().filter_map(|namespace| level_of(namespace));
            if let (Some(level), Some(policy)) = (levels.max(), policies.get(plan.name.as_str())) {
                plan.migration = migrate_to_level(policy, level);
            }
        }
    }

    /// Whether a decision is needed before the removal of the policies.
    pub fn needs_decision(&self) -> bool {
        self.namespaces.iter().any(|namespace| namespace.needs.is_conflict())
            || self.workloads.iter().any(|workload| !workload.refusals.is_empty() || !workload.changes.is_empty())
            || self.policies.iter().any(|policy| policy.is_needed && policy.lost().next().is_some())
    }
}

/// Makes the plan.
pub fn plan(cluster: &PspCluster<'_>, workers: Workers<'_>) -> Plan {
    let by_name: BTreeMap<&str, &PodSecurityPolicy> =
        cluster.policies.iter().map(|policy| (policy.name(), policy)).collect();
    let mut judge = Judge::new(cluster.world, by_name);
    let mut sorted: Vec<&ObservedWorkload> = cluster.workloads.iter().collect();
    sorted.sort_by_key(|observed| (observed.workload.namespace(), observed.workload.kind, &observed.workload.name));
    let found: Vec<Planned<'_>> = workers.map_each(&sorted, |observed| (*observed, judge.workload(observed)));
    let namespaces = namespace_plans(&mut judge, cluster, &found, workers);
    let needs: BTreeMap<&str, &NeededPolicies> =
        namespaces.iter().map(|namespace| (namespace.name.as_str(), &namespace.needs)).collect();
    let changed = workers.map_each(&found, |(observed, plan)| {
        let needed = judge.needed(needs.get(plan.namespace.as_str())?.need_of(&plan.account))?;
        let is_other = plan.policy.as_deref().is_some_and(|own| own != needed.name());
        is_other.then(|| changes(plan, observed, needed))
    });
    let workloads = found.into_iter().zip(changed).map(|((_, mut plan), changed)| {
        plan.changes.extend(changed.into_iter().flatten());
        plan
    });
    let workloads: Vec<WorkloadPlan> = workloads.collect();
    let policies = policy_plans(&judge, &namespaces, &workloads);
    Plan { policies, namespaces, workloads, merged: judge.into_merged().into_values().collect() }
}

/// Makes the plans of all namespaces, with merged policies for conflicts.
fn namespace_plans(
    judge: &mut Judge<'_>,
    cluster: &PspCluster<'_>,
    found: &[Planned<'_>],
    workers: Workers<'_>,
) -> Vec<NamespacePlan> {
    let mut by_namespace: BTreeMap<&str, Vec<&Planned<'_>>> = BTreeMap::new();
    for workload in found {
        by_namespace.entry(&workload.1.namespace).or_default().push(workload);
    }
    let names: Vec<(&String, &[&Planned<'_>])> =
        cluster.namespaces.iter().map(|name| (name, absent::list(by_namespace.get(name.as_str())))).collect();
    let needs = workers.map_each(&names, |(name, here)| judge.account_needs(name, here));
    judge.merge(needs.iter().flatten());
    let judge = &*judge;
    let needs: Vec<_> = names.into_iter().zip(needs).collect();
    workers.map_each(&needs, |((name, here), needs)| {
        let needs = judge.needs(name, here, needs.clone());
        namespace_plan(judge, name, needs, here, cluster.minors)
    })
}

/// Makes the plan of a namespace with its workloads.
fn namespace_plan(
    judge: &Judge<'_>,
    name: &str,
    needs: NeededPolicies,
    here: &[&Planned<'_>],
    minors: &BTreeSet<u32>,
) -> NamespacePlan {
    let is_evidence = |(_, plan): &&Planned<'_>| plan.pods > 0 || plan.policy.is_some();
    let evidence: Vec<_> = here.iter().copied().filter(is_evidence).collect();
    let blockers: Vec<LevelBlocker> = evidence
        .iter()
        .filter_map(|(observed, plan)| {
            let own = || judge.policy(plan.policy.as_deref()?);
            let policy = judge.needed(needs.need_of(&plan.account)).or_else(own);
            let created = policy.and_then(|policy| plan.created(observed, policy));
            levels::blocker(observed, created, minors)
        })
        .collect();
    let observed = Level::loosest(blockers.iter().map(|blocker| blocker.level));
    let stated = needs.each().filter_map(|need| judge.needed(need)).map(|policy| map(policy, Reading::Practical).level);
    let stated: Vec<Level> = stated.collect();
    let levels = PossibleLevels {
        stated: (!stated.is_empty()).then(|| Level::loosest(stated)),
        observed: (!evidence.is_empty()).then_some(observed),
        blockers,
    };
    NamespacePlan { name: name.to_owned(), workloads: here.len(), needs, levels }
}

/// Returns the defaults of a workload that change under another policy than its own.
fn changes(plan: &WorkloadPlan, observed: &ObservedWorkload, policy: &PodSecurityPolicy) -> Vec<DefaultChange> {
    let template = observed.workload.pod();
    let after = plan.created(observed, policy).map_or_else(Vec::new, |created| differences(&template, &created));
    let value = |list: &[Filled], field: &str| {
        list.iter().find(|filled| filled.field == field).map(|filled| filled.value.clone())
    };
    let mut fields: Vec<&str> = plan.relied_on.iter().chain(&after).map(|filled| filled.field.as_str()).collect();
    fields.sort_unstable();
    fields.dedup();
    let all = fields.into_iter().map(|field| DefaultChange {
        field: field.to_owned(),
        before: value(&plan.relied_on, field),
        after: value(&after, field),
    });
    all.filter(|change| change.before != change.after).collect()
}

fn policy_plans(judge: &Judge<'_>, namespaces: &[NamespacePlan], workloads: &[WorkloadPlan]) -> Vec<PolicyPlan> {
    let mut needing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut disputed: BTreeSet<&str> = BTreeSet::new();
    for namespace in namespaces {
        for policy in namespace.needs.all() {
            needing.entry(policy).or_default().push(namespace.name.clone());
        }
        disputed.extend(namespace.needs.disputed().iter().map(String::as_str));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for policy in workloads.iter().filter_map(|workload| workload.policy.as_deref()) {
        *counts.entry(policy).or_default() += 1;
    }
    let merges: BTreeMap<&str, &Vec<String>> = judge.merged().map(|(among, policy)| (policy.name(), among)).collect();
    let all = judge.policies().chain(judge.merged().map(|(_, policy)| policy));
    let plans = all.map(|policy| {
        let name = policy.name();
        let namespaces = needing.remove(name).into_iter().flatten().collect::<Vec<_>>();
        PolicyPlan {
            name: name.to_owned(),
            merges: absent::list(merges.get(name).copied()).to_vec(),
            broken: PspProvider::new(policy).err().map_or_else(Vec::new, |error| error.texts()),
            levels: Reading::ALL.map(|reading| (reading, map(policy, reading))).into(),
            migration: migrate(policy, Reading::Practical),
            workloads: counts.get(name).map_or(0, |count| *count),
            is_needed: !namespaces.is_empty() || disputed.contains(name),
            namespaces,
        }
    });
    plans.collect()
}

/// Returns the defaults of a policy for a pod; an unusable policy fills in nothing.
fn filled_by(policy: &PodSecurityPolicy, pod: &Pod) -> Vec<Filled> {
    relied_on(policy, pod).unwrap_or_default()
}
