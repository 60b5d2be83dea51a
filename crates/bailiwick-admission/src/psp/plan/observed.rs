//! The workloads of a cluster with the pods that run of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::scc::admit::REQUIRED_SCC;
use bailiwick_access::request::Identity;
use bailiwick_access::world::account_user;

use crate::pod::{Pod, PodMetadata};
use crate::psp::profiles::is_profile_annotation;
use crate::workload::Workload;

/// The annotation of a mirror pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A workload of the cluster, and its pods that run.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedWorkload {
    /// The object with the template, or a pod without a template among the objects.
    pub workload: Workload,
    /// The owner of the object.
    pub owner: WorkloadOwner,
    /// The pods that run, as the API server stores them. Pods that differ only in their names are one entry.
    pub running: Vec<RunningPods>,
}

/// The owner of a workload or a pod, by its owner reference with `controller: true`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadOwner {
    /// A user or an account made the object.
    None,
    /// The owner is of a kind without a known template, such as the kind of an operator.
    OtherKind(OwnerReference),
    /// The owner is of a kind of Kubernetes, and not among the objects.
    Missing(OwnerReference),
    /// The owner is among the objects, and its template has another service account.
    OtherAccount(OwnerReference),
}

/// The name of an owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerReference {
    /// The API group; empty for the core group.
    pub group: String,
    /// Kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
}

/// Pods of a workload that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningPods {
    /// The name of the first one.
    pub name: String,
    /// One of them, without a name.
    pub pod: Pod,
    /// The PodSecurityPolicy in the annotation `kubernetes.io/psp`.
    pub recorded: Option<String>,
    /// The number of pods.
    pub count: usize,
}

impl fmt::Display for OwnerReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(formatter, "{}{dot}{}/{}", self.kind, self.group, self.name)
    }
}

impl WorkloadOwner {
    /// Returns the reference to the owner.
    pub fn reference(&self) -> Option<&OwnerReference> {
        match self {
            Self::None => None,
            Self::OtherKind(owner) | Self::Missing(owner) | Self::OtherAccount(owner) => Some(owner),
        }
    }
}

impl ObservedWorkload {
    /// Returns a workload without running pods.
    pub fn new(workload: Workload, owner: WorkloadOwner) -> Self {
        Self { workload, owner, running: Vec::new() }
    }

    /// Adds a pod that runs.
    pub fn add_running(&mut self, name: &str, pod: Pod) {
        let recorded = pod.metadata.annotations.get(crate::psp::select::RECORDED).cloned();
        let pod = without_name(pod);
        match self.running.iter_mut().find(|known| known.recorded == recorded && known.pod == pod) {
            Some(known) => known.count += 1,
            None => self.running.push(RunningPods { name: name.to_owned(), pod, recorded, count: 1 }),
        }
    }

    /// Returns the recorded policies with the number of pods.
    pub fn recorded(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for pods in &self.running {
            if let Some(policy) = &pods.recorded {
                *counts.entry(policy.as_str()).or_default() += pods.count;
            }
        }
        counts
    }

    /// Returns the number of pods that run.
    pub fn pods(&self) -> usize {
        self.running.iter().map(|pods| pods.count).sum()
    }

    /// Whether its pods come from a template.
    pub fn has_template(&self) -> bool {
        !self.workload.is_pod()
    }

    /// Whether a change of the template lasts. The template of a Job is immutable (`pkg/apis/batch/validation` of Kubernetes 1.37),
    /// and an owner restores its own template.
    pub fn is_patchable(&self) -> bool {
        self.has_template() && self.workload.kind != "Job" && self.owner == WorkloadOwner::None
    }

    /// Returns the creator of the pods: a controller or a kubelet; none for an unknown user.
    pub(super) fn creator(&self) -> Option<Identity> {
        if self.workload.is_pod() {
            let is_mirror = self.workload.template.metadata.annotations.contains_key(MIRROR);
            return is_mirror.then(|| {
                let mut node = Identity::from_user("system:node:any");
                node.groups.push("system:nodes".to_owned());
                node
            });
        }
        let creator = self.workload.creator();
        (!creator.is_empty()).then(|| Identity::from_user(creator))
    }

    /// Returns the identity of the service account of the pods.
    pub(super) fn account(&self) -> Identity {
        Identity::from_user(&account_user(self.workload.namespace(), self.workload.service_account()))
    }
}

/// Whether something changed a pod after its template, such as a webhook that adds a container.
pub fn is_extended(pod: &Pod, template: &Pod) -> bool {
    let containers =
        |pod: &Pod| -> BTreeSet<String> { pod.containers().map(|container| container.name.clone()).collect() };
    let volumes = |pod: &Pod| -> BTreeSet<String> {
        let names = pod.spec.volumes.iter().map(|volume| volume.name.clone());
        names.filter(|name| !name.starts_with(TOKEN_VOLUME)).collect()
    };
    !containers(pod).is_subset(&containers(template)) || !volumes(pod).is_subset(&volumes(template))
}

/// The start of the name of the volume with the token of the service account; random characters follow.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// Returns a pod without the names, labels and annotations that decide nothing and can differ between the pods of one template.
fn without_name(mut pod: Pod) -> Pod {
    let PodMetadata { name, labels, annotations, .. } = &mut pod.metadata;
    name.clear();
    labels.clear();
    annotations.retain(|key, _| is_profile_annotation(key) || key == REQUIRED_SCC);
    let is_token = |name: &str| name.starts_with(TOKEN_VOLUME);
    for volume in pod.spec.volumes.iter_mut().filter(|volume| is_token(&volume.name)) {
        TOKEN_VOLUME.clone_into(&mut volume.name);
    }
    let spec = &mut pod.spec;
    for container in spec.init_containers.iter_mut().chain(&mut spec.containers) {
        for mount in container.volume_mounts.iter_mut().filter(|mount| is_token(&mount.name)) {
            TOKEN_VOLUME.clone_into(&mut mount.name);
        }
    }
    pod
}
