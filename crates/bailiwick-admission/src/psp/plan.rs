//! A plan for the removal of PodSecurityPolicy: the policies of each workload today, the one policy needed by each
//! namespace, and the obstacles.
//!
//! A namespace needs the policy of its workloads; without workloads, the policy of its `default` service account.
//! [`super::migrate`] has the migration of the policies themselves.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::admit::PspProvider;
use super::mapping::{Mapping, Reading, map};
use super::migrate::{FieldOutcome, Filled, Migration, migrate, relied_on};
use super::select::{Choice, PodOperation, choose_among, may_use, usable_names};
use super::{PodSecurityPolicy, PspViolation};
use crate::pod::{Container, Pod};
use crate::workload::Workload;
use bailiwick_access::World;
use bailiwick_access::request::Identity;
use bailiwick_access::world::account_user;
use bailiwick_kubernetes::absent;

/// The annotation of a mirror pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The objects of a cluster.
#[derive(Debug)]
pub struct PspCluster<'w> {
    /// The RBAC permissions.
    pub world: &'w World,
    /// The policies, each name once.
    pub policies: &'w [PodSecurityPolicy],
    /// All known namespaces.
    pub namespaces: &'w BTreeSet<String>,
    /// Workloads and pods.
    pub workloads: &'w [Workload],
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
}

/// A policy and its migration.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyPlan {
    /// Name in the cluster.
    pub name: String,
    /// The errors of an unusable policy.
    pub broken: Vec<String>,
    /// The level by each reading of the mapping.
    pub levels: Vec<(Reading, Mapping)>,
    /// The migration of its fields, by the practical reading.
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
    /// The needed policy.
    pub need: Need,
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

/// The policy needed by a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The one policy of its pods.
    One(String),
    /// Its pods get several, and this one admits all of them.
    Chosen {
        /// The policy for all.
        policy: String,
        /// The policies of its pods today.
        among: Vec<String>,
        /// Service accounts without permission to use it today.
        widened: Vec<String>,
    },
    /// Its pods get several, and none admits all of them.
    Conflict(Vec<String>),
    /// No pod gets in today.
    Nothing,
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
    /// The policy of its pods; none for pods already rejected.
    pub policy: Option<String>,
    /// The defaults filled in for them.
    pub relied_on: Vec<Filled>,
    /// Changed defaults under the policy of their namespace.
    pub changes: Vec<DefaultChange>,
    /// Why they are refused.
    pub refusals: Vec<String>,
}

impl Need {
    /// Returns the policy needed by the namespace.
    pub fn policy(&self) -> Option<&str> {
        match self {
            Need::One(policy) | Need::Chosen { policy, .. } => Some(policy),
            Need::Conflict(_) | Need::Nothing => None,
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
    /// Whether a decision is needed before the removal of the policies.
    pub fn needs_decision(&self) -> bool {
        let is_conflict = |namespace: &NamespacePlan| matches!(namespace.need, Need::Conflict(_));
        self.namespaces.iter().any(is_conflict)
            || self.workloads.iter().any(|workload| workload.policy.is_none() || !workload.changes.is_empty())
            || self.policies.iter().any(|policy| policy.is_needed && policy.lost().next().is_some())
    }
}

/// Makes the plan.
pub fn plan(cluster: &PspCluster<'_>) -> Plan {
    let by_name = cluster.policies.iter().map(|policy| (policy.name(), policy)).collect();
    let judge = Judge { world: cluster.world, by_name };
    let mut found: Vec<(&Workload, WorkloadPlan)> =
        cluster.workloads.iter().map(|workload| (workload, judge.workload(workload))).collect();
    let key = |plan: &WorkloadPlan| (plan.namespace.clone(), plan.kind, plan.name.clone());
    found.sort_by_key(|(_, plan)| key(plan));
    let mut here: BTreeMap<&str, Vec<&(&Workload, WorkloadPlan)>> = BTreeMap::new();
    for workload in &found {
        here.entry(&workload.1.namespace).or_default().push(workload);
    }
    let namespaces: Vec<NamespacePlan> =
        cluster.namespaces.iter().map(|name| judge.namespace(name, absent::list(here.get(name.as_str())))).collect();
    let needs = namespaces.iter().filter_map(|namespace| Some((namespace.name.as_str(), namespace.need.policy()?)));
    let needs: BTreeMap<&str, &str> = needs.collect();
    let workloads: Vec<WorkloadPlan> = found
        .into_iter()
        .map(|(workload, mut plan)| {
            let policy = needs.get(plan.namespace.as_str()).and_then(|name| judge.by_name.get(name));
            if let Some(policy) = policy.filter(|policy| plan.policy.as_deref().is_some_and(|own| own != policy.name()))
            {
                plan.changes = changes(&plan.relied_on, &filled_by(policy, &workload.pod()));
            }
            plan
        })
        .collect();
    Plan { policies: policy_plans(&judge, &namespaces, &workloads), namespaces, workloads }
}

/// Returns the namespace of an object.
pub fn namespace_of(workload: &Workload) -> &str {
    if workload.namespace.is_empty() { "default" } else { &workload.namespace }
}

fn changes(before: &[Filled], after: &[Filled]) -> Vec<DefaultChange> {
    let value = |list: &[Filled], field: &str| {
        list.iter().find(|filled| filled.field == field).map(|filled| filled.value.clone())
    };
    let mut fields: Vec<&str> = before.iter().chain(after).map(|filled| filled.field.as_str()).collect();
    fields.sort_unstable();
    fields.dedup();
    let all = fields.into_iter().map(|field| DefaultChange {
        field: field.to_owned(),
        before: value(before, field),
        after: value(after, field),
    });
    all.filter(|change| change.before != change.after).collect()
}

fn policy_plans(judge: &Judge<'_>, namespaces: &[NamespacePlan], workloads: &[WorkloadPlan]) -> Vec<PolicyPlan> {
    let mut needing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut disputed: BTreeSet<&str> = BTreeSet::new();
    for namespace in namespaces {
        if let Some(policy) = namespace.need.policy() {
            needing.entry(policy).or_default().push(namespace.name.clone());
        }
        if let Need::Conflict(among) = &namespace.need {
            disputed.extend(among.iter().map(String::as_str));
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for policy in workloads.iter().filter_map(|workload| workload.policy.as_deref()) {
        *counts.entry(policy).or_default() += 1;
    }
    let plans = judge.by_name.iter().map(|(name, policy)| {
        let namespaces = needing.remove(name).into_iter().flatten().collect::<Vec<_>>();
        PolicyPlan {
            name: (*name).to_owned(),
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

/// Returns the creator of the pods of a workload: a controller or a kubelet; none for an unknown user.
fn creator(workload: &Workload, pod: &Pod) -> Option<Identity> {
    let controller = match workload.kind {
        "CronJob" | "Job" => "job-controller",
        "DaemonSet" => "daemon-set-controller",
        "Deployment" | "ReplicaSet" => "replicaset-controller",
        "ReplicationController" => "replication-controller",
        "StatefulSet" => "statefulset-controller",
        "Pod" if pod.metadata.annotations.contains_key(MIRROR) => {
            let mut node = Identity::from_user("system:node:any");
            node.groups.push("system:nodes".to_owned());
            return Some(node);
        }
        _ => return None,
    };
    Some(Identity::from_user(&account_user("kube-system", controller)))
}

/// The permissions to use policies.
struct Judge<'c> {
    world: &'c World,
    by_name: BTreeMap<&'c str, &'c PodSecurityPolicy>,
}

impl<'c> Judge<'c> {
    /// Returns the policies usable by one of some identities, by name.
    fn usable(&self, who: &[&Identity], namespace: &str) -> Vec<&'c PodSecurityPolicy> {
        let mut names = BTreeSet::new();
        for identity in who {
            match usable_names(self.world, identity, namespace) {
                None => return self.by_name.values().copied().collect(),
                Some(more) => names.extend(more),
            }
        }
        names.iter().filter_map(|name| self.by_name.get(name.as_str()).copied()).collect()
    }

    fn workload(&self, workload: &Workload) -> WorkloadPlan {
        let namespace = namespace_of(workload);
        let pod = workload.pod();
        let account = account(namespace, workload.service_account());
        let creator = creator(workload, &pod);
        let who: Vec<&Identity> = std::iter::once(&account).chain(&creator).collect();
        let usable = self.usable(&who, namespace);
        let choice = choose_among(usable.iter().copied(), |_| true, &pod, PodOperation::Create);
        let refusals = if choice.is_allowed() { Vec::new() } else { reasons(&choice) };
        let policy = choice.policy.filter(|_| refusals.is_empty());
        let chosen = policy.as_ref().and_then(|name| self.by_name.get(name.as_str()));
        let relied_on = chosen.map_or_else(Vec::new, |chosen| filled_by(chosen, &pod));
        WorkloadPlan {
            kind: workload.kind,
            namespace: namespace.to_owned(),
            name: workload.name.clone(),
            policy,
            relied_on,
            changes: Vec::new(),
            refusals,
        }
    }

    fn namespace(&self, name: &str, here: &[&(&Workload, WorkloadPlan)]) -> NamespacePlan {
        let got: BTreeSet<&str> = here.iter().filter_map(|(_, plan)| plan.policy.as_deref()).collect();
        let need = match got.iter().copied().collect::<Vec<_>>().as_slice() {
            [] => self.of_default_account(name).map_or(Need::Nothing, Need::One),
            [only] => Need::One((*only).to_owned()),
            several => self.one_for_all(name, here, several),
        };
        NamespacePlan { name: name.to_owned(), workloads: here.len(), need }
    }

    /// Returns the policy of a minimal pod of the `default` service account, or else the first policy usable by the
    /// account.
    fn of_default_account(&self, namespace: &str) -> Option<String> {
        let usable = self.usable(&[&account(namespace, "default")], namespace);
        let mut pod = Pod::default();
        pod.spec.containers.push(Container { name: "container".to_owned(), ..Container::default() });
        let choice = choose_among(usable.iter().copied(), |_| true, &pod.defaulted(), PodOperation::Create);
        let first =
            || usable.iter().find(|policy| PspProvider::new(policy).is_ok()).map(|policy| policy.name().to_owned());
        choice.policy.or_else(first)
    }

    /// Returns one policy for all admitted pods of the workloads, out of the policies usable by some account:
    /// preferably a policy usable by every account, then the strictest, then one in use.
    fn one_for_all(&self, namespace: &str, here: &[&(&Workload, WorkloadPlan)], among: &[&str]) -> Need {
        let admitted: Vec<&Workload> =
            here.iter().filter(|(_, plan)| plan.policy.is_some()).map(|(workload, _)| *workload).collect();
        let accounts: BTreeMap<&str, Identity> = admitted
            .iter()
            .map(|workload| (workload.service_account(), account(namespace, workload.service_account())))
            .collect();
        let admits = |policy: &PodSecurityPolicy| {
            admitted.iter().all(|workload| {
                choose_among(std::iter::once(policy), |_| true, &workload.pod(), PodOperation::Create).is_allowed()
            })
        };
        let outsiders = |policy: &PodSecurityPolicy| -> Vec<String> {
            let may = |who: &Identity| may_use(self.world, who, namespace, policy.name());
            accounts.iter().filter(|(_, who)| !may(who)).map(|(name, _)| (*name).to_owned()).collect()
        };
        let usable = self.usable(&accounts.values().collect::<Vec<_>>(), namespace);
        let in_use = among.iter().filter_map(|name| self.by_name.get(name).copied());
        let candidates: BTreeMap<&str, &PodSecurityPolicy> =
            usable.into_iter().chain(in_use).map(|policy| (policy.name(), policy)).collect();
        let fitting = candidates.into_values().filter(|policy| admits(policy));
        let best = fitting.map(|policy| (policy, outsiders(policy))).min_by_key(|(policy, without)| {
            let mapping = map(policy, Reading::Practical);
            let looseness = (mapping.level, mapping.deciding().count());
            (!without.is_empty(), looseness, !among.contains(&policy.name()), policy.name().to_owned())
        });
        match best {
            Some((policy, widened)) => Need::Chosen {
                policy: policy.name().to_owned(),
                among: among.iter().map(|name| (*name).to_owned()).collect(),
                widened,
            },
            None => Need::Conflict(among.iter().map(|name| (*name).to_owned()).collect()),
        }
    }
}

fn account(namespace: &str, name: &str) -> Identity {
    Identity::from_user(&account_user(namespace, name))
}

fn reasons(choice: &Choice) -> Vec<String> {
    let described = |violation: &PspViolation| format!("{}: {}", violation.field, violation.message);
    let mut reasons: Vec<String> = choice.invalid.iter().map(described).collect();
    for refusal in &choice.refusals {
        let problems: Vec<String> = refusal.violations.iter().map(described).collect();
        reasons.push(format!("`{}`: {}", refusal.policy, problems.join(", ")));
    }
    if reasons.is_empty() {
        reasons.push("neither its service account nor its controller may use any policy".to_owned());
    }
    reasons
}
