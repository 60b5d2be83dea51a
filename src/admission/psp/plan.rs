//! Leaving PodSecurityPolicy behind, as a plan: which policy the pods of each workload get today, which one policy each
//! namespace needs where nobody chooses between policies any more, and what is in the way.
//!
//! A namespace needs the policy its workloads get; without workloads, the one that its `default` service account would
//! get. What the policies themselves become is the business of [`super::migrate`].

use std::collections::BTreeSet;

use super::admit::Provider;
use super::mapping::{Mapping, Reading, map};
use super::migrate::{Fate, Filled, Migration, migrate, relied_on};
use super::select::{Choice, Operation, choose, choose_among, may_use, usable};
use super::{PodSecurityPolicy, Violation};
use crate::access::World;
use crate::access::request::Identity;
use crate::access::world::account_user;
use crate::admission::pod::{Container, Pod};
use crate::admission::workload::Workload;

/// The annotation of a pod that a kubelet made of a file.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What there is in a cluster.
#[derive(Debug)]
pub struct Cluster<'w> {
    /// Who may use which policy.
    pub world: &'w World,
    /// The policies, each name once.
    pub policies: &'w [PodSecurityPolicy],
    /// Every namespace that something is known of.
    pub namespaces: &'w BTreeSet<String>,
    /// What brings pods.
    pub workloads: &'w [Workload],
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Every policy, by name.
    pub policies: Vec<PolicyPlan>,
    /// Every namespace, by name.
    pub namespaces: Vec<NamespacePlan>,
    /// Every workload, by namespace, kind and name.
    pub workloads: Vec<WorkloadPlan>,
}

/// A policy and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyPlan {
    /// Its name.
    pub name: String,
    /// Why nobody can use it.
    pub broken: Vec<String>,
    /// The level by each reading of the mapping.
    pub levels: Vec<(Reading, Mapping)>,
    /// What becomes of its fields, by the practical reading.
    pub migration: Migration,
    /// The namespaces that need it.
    pub namespaces: Vec<String>,
    /// How many workloads have pods that get it.
    pub workloads: usize,
    /// Whether it has to be carried over: a namespace needs it, or cannot do without it.
    pub is_needed: bool,
}

/// A namespace and the policy that its pods are to be held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePlan {
    /// Its name.
    pub name: String,
    /// How many workloads it has.
    pub workloads: usize,
    /// What it needs.
    pub need: Need,
}

/// What a namespace needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The one policy that its pods get.
    One(String),
    /// Its pods get several, and this one admits all of them.
    Chosen {
        /// The policy for all.
        policy: String,
        /// What its pods get today.
        among: Vec<String>,
        /// Service accounts that may not use it today.
        widened: Vec<String>,
    },
    /// Its pods get several, and none admits all of them.
    Conflict(Vec<String>),
    /// No pod gets in today.
    Nothing,
}

/// A workload and what its pods get.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadPlan {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The policy that admits its pods; none where they are refused already.
    pub policy: Option<String>,
    /// What they get because they say nothing.
    pub relied_on: Vec<Filled>,
    /// Why they are refused.
    pub refusals: Vec<String>,
}

impl Need {
    /// The policy that the namespace is to be held to.
    pub fn policy(&self) -> Option<&str> {
        match self {
            Need::One(policy) | Need::Chosen { policy, .. } => Some(policy),
            Need::Conflict(_) | Need::Nothing => None,
        }
    }
}

impl PolicyPlan {
    /// Limits that nothing keeps.
    pub fn lost(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.migration.fields.iter().filter_map(|field| match &field.fate {
            Fate::Dropped(reason) => Some((field.field, reason.as_str())),
            _ => None,
        })
    }
}

impl Plan {
    /// True when somebody has to decide something before the policies can go.
    pub fn needs_decision(&self) -> bool {
        let is_conflict = |namespace: &NamespacePlan| matches!(namespace.need, Need::Conflict(_));
        self.namespaces.iter().any(is_conflict)
            || self.workloads.iter().any(|workload| workload.policy.is_none())
            || self.policies.iter().any(|policy| policy.is_needed && policy.lost().next().is_some())
    }
}

/// Makes the plan.
pub fn plan(cluster: &Cluster<'_>) -> Plan {
    let mut found: Vec<(&Workload, WorkloadPlan)> =
        cluster.workloads.iter().map(|workload| (workload, judge(cluster, workload))).collect();
    let key = |plan: &WorkloadPlan| (plan.namespace.clone(), plan.kind, plan.name.clone());
    found.sort_by_key(|(_, plan)| key(plan));
    let namespaces: Vec<NamespacePlan> =
        cluster.namespaces.iter().map(|name| needed_in(cluster, name, &found)).collect();
    let workloads: Vec<WorkloadPlan> = found.into_iter().map(|(_, plan)| plan).collect();
    let mut policies: Vec<PolicyPlan> =
        cluster.policies.iter().map(|policy| policy_plan(policy, &namespaces, &workloads)).collect();
    policies.sort_by(|left, right| left.name.cmp(&right.name));
    Plan { policies, namespaces, workloads }
}

/// The namespace that an object is in.
pub fn namespace_of(workload: &Workload) -> &str {
    if workload.namespace.is_empty() { "default" } else { &workload.namespace }
}

fn policy_plan(policy: &PodSecurityPolicy, namespaces: &[NamespacePlan], workloads: &[WorkloadPlan]) -> PolicyPlan {
    let name = policy.name();
    let needing = namespaces.iter().filter(|namespace| namespace.need.policy() == Some(name));
    let needing: Vec<String> = needing.map(|namespace| namespace.name.clone()).collect();
    let disputed = |namespace: &NamespacePlan| match &namespace.need {
        Need::Conflict(among) => among.iter().any(|among| among == name),
        _ => false,
    };
    PolicyPlan {
        name: name.to_owned(),
        broken: Provider::new(policy).err().unwrap_or_default(),
        levels: Reading::ALL.map(|reading| (reading, map(policy, reading))).into(),
        migration: migrate(policy, Reading::Practical),
        workloads: workloads.iter().filter(|workload| workload.policy.as_deref() == Some(name)).count(),
        is_needed: !needing.is_empty() || namespaces.iter().any(disputed),
        namespaces: needing,
    }
}

/// Who makes the pods of a workload: a controller, a kubelet, or else somebody who is not known.
fn creator(workload: &Workload, pod: &Pod) -> Option<Identity> {
    let controller = match workload.kind {
        "CronJob" | "Job" => "job-controller",
        "DaemonSet" => "daemon-set-controller",
        "Deployment" | "ReplicaSet" => "replicaset-controller",
        "ReplicationController" => "replication-controller",
        "StatefulSet" => "statefulset-controller",
        "Pod" if pod.metadata.annotations.contains_key(MIRROR) => {
            let mut node = Identity::of("system:node:any");
            node.groups.push("system:nodes".to_owned());
            return Some(node);
        }
        _ => return None,
    };
    Some(Identity::of(&account_user("kube-system", controller)))
}

fn judge(cluster: &Cluster<'_>, workload: &Workload) -> WorkloadPlan {
    let namespace = namespace_of(workload);
    let pod = workload.pod();
    let account = account(namespace, workload.service_account());
    let creator = creator(workload, &pod).unwrap_or(account);
    let choice = choose(cluster.world, &creator, namespace, cluster.policies, &pod, Operation::Create);
    let refusals = if choice.is_allowed() { Vec::new() } else { reasons(&choice) };
    let policy = choice.policy.filter(|_| refusals.is_empty());
    let chosen = cluster.policies.iter().find(|known| Some(known.name()) == policy.as_deref());
    let relied_on = chosen.and_then(|chosen| relied_on(chosen, &pod).ok()).unwrap_or_default();
    WorkloadPlan {
        kind: workload.kind,
        namespace: namespace.to_owned(),
        name: workload.name.clone(),
        policy,
        relied_on,
        refusals,
    }
}

fn account(namespace: &str, name: &str) -> Identity {
    Identity::of(&account_user(namespace, name))
}

fn reasons(choice: &Choice) -> Vec<String> {
    let told = |violation: &Violation| format!("{}: {}", violation.field, violation.message);
    let mut reasons: Vec<String> = choice.invalid.iter().map(told).collect();
    for refusal in &choice.refusals {
        let problems: Vec<String> = refusal.violations.iter().map(told).collect();
        reasons.push(format!("`{}`: {}", refusal.policy, problems.join(", ")));
    }
    if reasons.is_empty() {
        reasons.push("neither its service account nor its controller may use any policy".to_owned());
    }
    reasons
}

fn needed_in(cluster: &Cluster<'_>, name: &str, workloads: &[(&Workload, WorkloadPlan)]) -> NamespacePlan {
    let here: Vec<&(&Workload, WorkloadPlan)> = workloads.iter().filter(|(_, plan)| plan.namespace == name).collect();
    let got: BTreeSet<&str> = here.iter().filter_map(|(_, plan)| plan.policy.as_deref()).collect();
    let need = match got.iter().copied().collect::<Vec<_>>().as_slice() {
        [] => of_default_account(cluster, name).map_or(Need::Nothing, Need::One),
        [only] => Need::One((*only).to_owned()),
        several => one_for_all(cluster, name, &here, several),
    };
    NamespacePlan { name: name.to_owned(), workloads: here.len(), need }
}

/// The policy that a pod gets which says nothing and runs as the `default` service account; failing that, the first
/// one that the account may use.
fn of_default_account(cluster: &Cluster<'_>, namespace: &str) -> Option<String> {
    let account = account(namespace, "default");
    let mut pod = Pod::default();
    pod.spec.containers.push(Container { name: "container".to_owned(), ..Container::default() });
    let choice = choose(cluster.world, &account, namespace, cluster.policies, &pod.defaulted(), Operation::Create);
    choice.policy.or_else(|| {
        let usable = usable(cluster.world, &account, namespace, cluster.policies);
        usable.into_iter().find(|policy| Provider::new(policy).is_ok()).map(|policy| policy.name().to_owned())
    })
}

/// Of the policies that some account of the workloads may use, one that admits all that gets in today: if possible one
/// that every account may use, then the strictest, then one that is in use.
fn one_for_all(
    cluster: &Cluster<'_>,
    namespace: &str,
    workloads: &[&(&Workload, WorkloadPlan)],
    among: &[&str],
) -> Need {
    let admitted: Vec<&Workload> =
        workloads.iter().filter(|(_, plan)| plan.policy.is_some()).map(|(workload, _)| *workload).collect();
    let accounts: BTreeSet<&str> = admitted.iter().map(|workload| workload.service_account()).collect();
    let admits = |policy: &PodSecurityPolicy| {
        admitted.iter().all(|workload| {
            choose_among(std::slice::from_ref(policy), |_| true, &workload.pod(), Operation::Create).is_allowed()
        })
    };
    let outsiders = |policy: &PodSecurityPolicy| -> Vec<String> {
        let may = |name: &&str| may_use(cluster.world, &account(namespace, name), namespace, policy.name());
        accounts.iter().filter(|name| !may(name)).map(|name| (*name).to_owned()).collect()
    };
    let is_known = |policy: &PodSecurityPolicy, without: &[String]| {
        without.len() < accounts.len() || among.contains(&policy.name())
    };
    let candidates = cluster.policies.iter().map(|policy| (policy, outsiders(policy)));
    let candidates = candidates.filter(|(policy, without)| is_known(policy, without) && admits(policy));
    let best = candidates.min_by_key(|(policy, without)| {
        let mapping = map(policy, Reading::Practical);
        let looseness = (mapping.level, mapping.deciding().count());
        (!without.is_empty(), looseness, !among.contains(&policy.name()), policy.name().to_owned())
    });
    let among: Vec<String> = among.iter().map(|name| (*name).to_owned()).collect();
    match best {
        Some((policy, widened)) => Need::Chosen { policy: policy.name().to_owned(), among, widened },
        None => Need::Conflict(among),
    }
}
