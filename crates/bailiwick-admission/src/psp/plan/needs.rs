//! The policy of each workload today, and the policies needed by a namespace.
//!
//! The policy of pods from a template follows from the grants of their controller and their service account. For a pod of an unknown
//! creator, the recorded policy counts, in the annotation `kubernetes.io/psp`: the creator may use other policies than the service
//! account.

use std::collections::{BTreeMap, BTreeSet};

use super::{ObservedWorkload, PolicyEvidence, WorkloadPlan, filled_by};
use crate::pod::{Container, Pod};
use crate::psp::admit::PspProvider;
use crate::psp::mapping::{Reading, map};
use crate::psp::merge::merge;
use crate::psp::select::{Choice, PodOperation, choose_among, may_use, usable_names};
use crate::psp::{PodSecurityPolicy, PspViolation};
use bailiwick_access::World;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::who_can::Where;
use bailiwick_access::world::account_user;
use bailiwick_kubernetes::absent;

/// The subject with every permission.
const MASTERS: &str = "Group/system:masters";

/// The policies needed by a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededPolicies {
    /// The policy of every service account without a policy of its own.
    pub common: Need,
    /// The service accounts whose pods get another policy, by name.
    pub accounts: Vec<AccountNeed>,
}

/// A service account with a policy of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountNeed {
    /// Name of the service account.
    pub account: String,
    /// The needed policy.
    pub need: Need,
}

/// The policy needed by pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The one policy of the pods.
    One(String),
    /// The pods get several, and this one admits all of them.
    Chosen {
        /// The policy for all.
        policy: String,
        /// The policies of the pods today.
        among: Vec<String>,
        /// Service accounts without permission to use it today.
        widened: Vec<String>,
    },
    /// The pods get several, none admits all of them, and a merged policy does.
    Merged {
        /// The name of the merged policy.
        policy: String,
        /// The policies of the pods today.
        among: Vec<String>,
        /// Service accounts without permission to use one of them today.
        widened: Vec<String>,
    },
    /// The pods of one service account get several, and neither one of them nor a merged policy admits all pods.
    Conflict(Vec<String>),
    /// No pod gets in today.
    Nothing,
}

impl Need {
    /// Returns the needed policy.
    pub fn policy(&self) -> Option<&str> {
        match self {
            Need::One(policy) | Need::Chosen { policy, .. } | Need::Merged { policy, .. } => Some(policy),
            Need::Conflict(_) | Need::Nothing => None,
        }
    }

    /// Returns the policies of the pods that the need replaces by a merged one.
    pub fn merged(&self) -> &[String] {
        match self {
            Need::Merged { among, .. } => among,
            _ => &[],
        }
    }
}

impl NeededPolicies {
    /// Returns the need of the pods of a service account.
    pub fn need_of(&self, account: &str) -> &Need {
        let own = self.accounts.iter().find(|own| own.account == account);
        own.map_or(&self.common, |own| &own.need)
    }

    /// Returns the policy of the pods of a service account.
    pub fn policy_of(&self, account: &str) -> Option<&str> {
        self.need_of(account).policy()
    }

    /// Iterates over the needed policies, each once.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.each().filter_map(Need::policy).collect::<BTreeSet<_>>().into_iter()
    }

    /// Iterates over the needs of the namespace and of its service accounts.
    pub fn each(&self) -> impl Iterator<Item = &Need> {
        std::iter::once(&self.common).chain(self.accounts.iter().map(|own| &own.need))
    }

    /// Whether no policy admits all pods of a service account.
    pub fn is_conflict(&self) -> bool {
        matches!(self.common, Need::Conflict(_))
    }

    /// Returns the policies of pods that no single policy admits.
    pub fn disputed(&self) -> &[String] {
        match &self.common {
            Need::Conflict(among) => among,
            _ => &[],
        }
    }
}

/// The permissions to use policies.
pub(super) struct Judge<'c> {
    world: &'c World,
    by_name: BTreeMap<&'c str, &'c PodSecurityPolicy>,
    /// Merged policies, by the names of the policies that they replace.
    merged: BTreeMap<Vec<String>, PodSecurityPolicy>,
}

/// The number of policies in the name of a merged policy.
const NAMED: usize = 3;

/// A workload with its plan.
pub(super) type Planned<'c> = (&'c ObservedWorkload, WorkloadPlan);

impl<'c> Judge<'c> {
    pub(super) fn new(world: &'c World, by_name: BTreeMap<&'c str, &'c PodSecurityPolicy>) -> Self {
        Self { world, by_name, merged: BTreeMap::new() }
    }

    /// Returns a policy of the cluster by its name.
    pub(super) fn policy(&self, name: &str) -> Option<&'c PodSecurityPolicy> {
        self.by_name.get(name).copied()
    }

    /// Returns the needed policy: of the cluster, or a merged one.
    pub(super) fn needed(&self, need: &Need) -> Option<&PodSecurityPolicy> {
        match need {
            Need::Merged { among, .. } => self.merged.get(among),
            other => self.policy(other.policy()?),
        }
    }

    /// Merges the policies of each conflict.
    pub(super) fn merge<'n>(&mut self, needs: impl Iterator<Item = &'n AccountNeed>) {
        let conflicts = needs.filter_map(|own| match &own.need {
            Need::Conflict(among) => Some(among),
            _ => None,
        });
        let mut taken: BTreeSet<String> = self.by_name.keys().map(|name| (*name).to_owned()).collect();
        for among in conflicts.collect::<BTreeSet<_>>() {
            let name = merged_name(among, &taken);
            let mut policies: Vec<&PodSecurityPolicy> = among.iter().filter_map(|name| self.policy(name)).collect();
            // The defaults of the strictest policy come first.
            policies.sort_by_key(|policy| looseness(policy));
            self.merged.insert(among.clone(), merge(&name, &policies));
            taken.insert(name);
        }
    }

    /// Iterates over the merged policies, with the names of the policies that they replace.
    pub(super) fn merged(&self) -> impl Iterator<Item = (&Vec<String>, &PodSecurityPolicy)> {
        self.merged.iter()
    }

    /// Returns the merged policies, by the names of the policies that they replace.
    pub(super) fn into_merged(self) -> BTreeMap<Vec<String>, PodSecurityPolicy> {
        self.merged
    }

    /// Iterates over the policies by name.
    pub(super) fn policies(&self) -> impl Iterator<Item = &'c PodSecurityPolicy> {
        self.by_name.values().copied()
    }

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

    /// Makes the plan of a workload.
    pub(super) fn workload(&self, observed: &ObservedWorkload) -> WorkloadPlan {
        let workload = &observed.workload;
        let (namespace, pod) = (workload.namespace(), workload.pod());
        let creator = observed.creator();
        let account = observed.account();
        let who: Vec<&Identity> = std::iter::once(&account).chain(&creator).collect();
        let choice = choose_among(self.usable(&who, namespace), |_| true, &pod, PodOperation::Create);
        let by_grants = choice.policy.clone().filter(|_| choice.is_allowed());
        // Pods of an earlier template may run although the present template is rejected.
        let is_rejected = by_grants.is_none() && creator.is_some();
        let (policy, evidence) = self.evidence(observed, by_grants, &pod);
        let refusals = if policy.is_some() && !is_rejected { Vec::new() } else { reasons(&choice) };
        let is_by_grants = policy == choice.policy && refusals.is_empty();
        let chosen = policy.as_deref().and_then(|name| self.policy(name));
        let relied_on = chosen.map_or_else(Vec::new, |chosen| filled_by(chosen, &pod));
        let stored = if is_by_grants { choice.pod } else { chosen.and_then(|chosen| stored(chosen, &pod)) };
        WorkloadPlan {
            kind: workload.kind,
            namespace: namespace.to_owned(),
            name: workload.name.clone(),
            account: workload.service_account().to_owned(),
            owner: observed.owner.clone(),
            pods: observed.pods(),
            recorded: observed.recorded().into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            policy,
            evidence,
            stored,
            is_patchable: observed.is_patchable(),
            relied_on,
            changes: Vec::new(),
            refusals,
        }
    }

    /// Returns the policy of a workload, and its origin.
    fn evidence(
        &self,
        observed: &ObservedWorkload,
        by_grants: Option<String>,
        pod: &Pod,
    ) -> (Option<String>, PolicyEvidence) {
        let recorded = self.recorded(observed, pod);
        let knows_creator = observed.creator().is_some();
        match (by_grants, recorded) {
            (Some(policy), None) => (Some(policy), PolicyEvidence::Grants),
            (Some(policy), Some(_)) if knows_creator => (Some(policy), PolicyEvidence::Grants),
            (_, Some(recorded)) => (Some(recorded), PolicyEvidence::Recorded),
            (None, None) if knows_creator => match self.recorded_before(observed) {
                Some(recorded) => (Some(recorded), PolicyEvidence::Recorded),
                None => (None, PolicyEvidence::Grants),
            },
            (None, None) => self.by_creators(observed.workload.namespace(), pod),
        }
    }

    /// Returns the recorded policy of most pods, out of the policies that still admit the pod.
    fn recorded(&self, observed: &ObservedWorkload, pod: &Pod) -> Option<String> {
        let admits = |policy: &PodSecurityPolicy| admits(policy, pod);
        let counts = observed.recorded();
        let known = counts.iter().filter_map(|(name, count)| Some((self.policy(name)?, *count)));
        let best = known.filter(|(policy, _)| admits(policy)).max_by_key(|(_, count)| *count);
        best.map(|(policy, _)| policy.name().to_owned())
    }

    /// Returns the recorded policy of most pods, also if it rejects new ones.
    fn recorded_before(&self, observed: &ObservedWorkload) -> Option<String> {
        let counts = observed.recorded();
        let known = counts.iter().filter(|(name, _)| self.policy(name).is_some());
        known.max_by_key(|(_, count)| **count).map(|(name, _)| (*name).to_owned())
    }

    /// Returns the policy of a pod of a user that may create pods in a namespace, with these users.
    fn by_creators(&self, namespace: &str, pod: &Pod) -> (Option<String>, PolicyEvidence) {
        let request = Request::Resource(ResourceRequest {
            verb: "create".to_owned(),
            resource: "pods".to_owned(),
            namespace: namespace.to_owned(),
            ..ResourceRequest::default()
        });
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // Members of `system:masters` may use every policy: their grants are no evidence.
        let mut subjects = self.world.who_can(&request, Where::AsRequested).subjects(self.world);
        subjects.retain(|subject| subject != MASTERS);
        for subject in subjects {
            let Some(identity) = identity_of(&subject) else { continue };
            let usable = self.usable(&[&identity], namespace);
            let choice = choose_among(usable, |_| true, pod, PodOperation::Create);
            if let Some(policy) = choice.policy.clone().filter(|_| choice.is_allowed()) {
                found.entry(policy).or_default().push(subject);
            }
        }
        let strictest = found.into_iter().min_by_key(|(name, _)| self.policy(name).map(looseness));
        match strictest {
            Some((policy, creators)) => (Some(policy), PolicyEvidence::Creators(creators)),
            None => (None, PolicyEvidence::Grants),
        }
    }

    /// Returns the needs of the service accounts with pods in a namespace.
    pub(super) fn account_needs(&self, namespace: &str, here: &[&Planned<'_>]) -> Vec<AccountNeed> {
        let need = |(account, workloads): (&str, Vec<&Planned<'_>>)| AccountNeed {
            account: account.to_owned(),
            need: self.need_of(namespace, account, &workloads),
        };
        by_account(here).into_iter().map(need).collect()
    }

    /// Returns the policies needed by a namespace with some workloads. Merged policies take the place of conflicts.
    pub(super) fn needs(&self, name: &str, here: &[&Planned<'_>], mut needs: Vec<AccountNeed>) -> NeededPolicies {
        let workloads = by_account(here);
        for own in &mut needs {
            let workloads = absent::list(workloads.get(own.account.as_str()));
            if let Some(merged) = self.merged_need(name, own, workloads) {
                own.need = merged;
            }
        }
        if let Some(conflict) = needs.iter().find(|own| matches!(own.need, Need::Conflict(_))) {
            return NeededPolicies { common: conflict.need.clone(), accounts: Vec::new() };
        }
        let policies = needs.iter().filter_map(|own| self.needed(&own.need));
        // Service accounts without a pod, and new ones, get the strictest policy.
        let Some(common) = policies.min_by_key(|policy| looseness(policy)).map(|policy| policy.name().to_owned())
        else {
            let common = self.of_default_account(name).map_or(Need::Nothing, Need::One);
            return NeededPolicies { common, accounts: Vec::new() };
        };
        let (of_common, accounts): (Vec<_>, Vec<_>) =
            needs.into_iter().partition(|own| own.need.policy() == Some(common.as_str()));
        NeededPolicies { common: combined(common, of_common), accounts }
    }

    /// Returns the merged policy for a conflict, if it admits all pods of the service account.
    fn merged_need(&self, namespace: &str, own: &AccountNeed, workloads: &[&Planned<'_>]) -> Option<Need> {
        let Need::Conflict(among) = &own.need else { return None };
        let policy = self.merged.get(among).filter(|policy| admits_all(policy, workloads))?;
        let identity = Identity::from_user(&account_user(namespace, &own.account));
        let may = among.iter().all(|name| may_use(self.world, &identity, namespace, name));
        Some(Need::Merged {
            policy: policy.name().to_owned(),
            among: among.clone(),
            widened: if may { Vec::new() } else { vec![own.account.clone()] },
        })
    }

    /// Returns the policy needed by the pods of a service account.
    fn need_of(&self, namespace: &str, account: &str, workloads: &[&Planned<'_>]) -> Need {
        let got: BTreeSet<&str> = workloads.iter().filter_map(|(_, plan)| plan.policy.as_deref()).collect();
        match got.iter().copied().collect::<Vec<_>>().as_slice() {
            [] => Need::Nothing,
            [only] => Need::One((*only).to_owned()),
            several => self.one_for_all(namespace, account, workloads, several),
        }
    }

    /// Returns the policy of a minimal pod of the `default` service account, or else the first policy usable by the
    /// account.
    fn of_default_account(&self, namespace: &str) -> Option<String> {
        let account = Identity::from_user(&account_user(namespace, "default"));
        let usable = self.usable(&[&account], namespace);
        let mut pod = Pod::default();
        pod.spec.containers.push(Container { name: "container".to_owned(), ..Container::default() });
        let choice = choose_among(usable.iter().copied(), |_| true, &pod.defaulted(), PodOperation::Create);
        let first =
            || usable.iter().find(|policy| PspProvider::new(policy).is_ok()).map(|policy| policy.name().to_owned());
        choice.policy.or_else(first)
    }

    /// Returns one policy for all pods of a service account, out of the policies that the account may use and the policies of its pods:
    /// preferably a policy that the account may use, then the strictest, then one in use.
    fn one_for_all(&self, namespace: &str, account: &str, workloads: &[&Planned<'_>], among: &[&str]) -> Need {
        let identity = Identity::from_user(&account_user(namespace, account));
        let usable = self.usable(&[&identity], namespace);
        let in_use = among.iter().filter_map(|name| self.policy(name));
        let candidates: BTreeMap<&str, &PodSecurityPolicy> =
            usable.into_iter().chain(in_use).map(|policy| (policy.name(), policy)).collect();
        let fitting = candidates.into_values().filter(|policy| admits_all(policy, workloads));
        let may = |policy: &PodSecurityPolicy| may_use(self.world, &identity, namespace, policy.name());
        let best = fitting
            .map(|policy| (policy, may(policy)))
            .min_by_key(|(policy, may)| (!may, looseness(policy), !among.contains(&policy.name())));
        let among = among.iter().map(|name| (*name).to_owned()).collect();
        match best {
            Some((policy, may)) => Need::Chosen {
                policy: policy.name().to_owned(),
                among,
                widened: if may { Vec::new() } else { vec![account.to_owned()] },
            },
            None => Need::Conflict(among),
        }
    }
}

/// Groups workloads whose pods have a policy by their service accounts.
fn by_account<'h, 'c>(here: &[&'h Planned<'c>]) -> BTreeMap<&'h str, Vec<&'h Planned<'c>>> {
    let mut by_account: BTreeMap<&str, Vec<&Planned<'_>>> = BTreeMap::new();
    for planned in here.iter().copied().filter(|(_, plan)| plan.policy.is_some()) {
        by_account.entry(&planned.1.account).or_default().push(planned);
    }
    by_account
}

/// Combines the needs of service accounts with one policy.
fn combined(policy: String, needs: Vec<AccountNeed>) -> Need {
    let (mut among, mut widened, mut is_merged) = (BTreeSet::new(), Vec::new(), false);
    for own in needs {
        is_merged |= matches!(own.need, Need::Merged { .. });
        if let Need::Chosen { among: more, widened: accounts, .. }
        | Need::Merged { among: more, widened: accounts, .. } = own.need
        {
            among.extend(more);
            widened.extend(accounts);
        }
    }
    let among: Vec<String> = among.into_iter().collect();
    match among.is_empty() {
        true => Need::One(policy),
        false if is_merged => Need::Merged { policy, among, widened },
        false => Need::Chosen { policy, among, widened },
    }
}

/// Returns the name of a merged policy. Taken names are not used.
fn merged_name(among: &[String], taken: &BTreeSet<String>) -> String {
    let mut parts: Vec<String> = among.iter().take(NAMED).cloned().collect();
    if among.len() > NAMED {
        parts.push(format!("{}-others", among.len() - NAMED));
    }
    let all = parts.join("-or-");
    let (mut name, mut number) = (all.clone(), 1);
    while taken.contains(&name) {
        number += 1;
        name = format!("{all}-{number}");
    }
    name
}

/// Returns the order of policies from strict to loose: the level, the number of fields that decide it, and the name.
fn looseness(policy: &PodSecurityPolicy) -> impl Ord + use<> {
    let mapping = map(policy, Reading::Practical);
    (mapping.level, mapping.deciding().count(), policy.name().to_owned())
}

/// Whether a policy admits new pods of all workloads. A template that is rejected today stays rejected.
fn admits_all(policy: &PodSecurityPolicy, workloads: &[&Planned<'_>]) -> bool {
    let mut admitted = workloads.iter().filter(|(_, plan)| plan.refusals.is_empty());
    admitted.all(|(observed, _)| admits(policy, &observed.workload.pod()))
}

/// Returns a new pod as 1.24 stores it under a policy; none for a rejected pod.
pub(super) fn stored(policy: &PodSecurityPolicy, pod: &Pod) -> Option<Pod> {
    choose_among([policy], |_| true, pod, PodOperation::Create).pod
}

/// Whether a policy admits a new pod.
fn admits(policy: &PodSecurityPolicy, pod: &Pod) -> bool {
    choose_among([policy], |_| true, pod, PodOperation::Create).is_allowed()
}

/// Returns the identity of a subject; a group stands for one of its members.
fn identity_of(subject: &str) -> Option<Identity> {
    let (kind, name) = subject.split_once('/')?;
    match kind {
        "User" => Some(Identity::from_user(name)),
        "ServiceAccount" => {
            let (namespace, name) = name.split_once('/')?;
            Some(Identity::from_user(&account_user(namespace, name)))
        }
        "Group" => {
            let mut member = Identity::from_user("");
            member.groups.push(name.to_owned());
            Some(member)
        }
        _ => None,
    }
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
