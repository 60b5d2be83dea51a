//! ValidatingAdmissionPolicies of a cluster, and their decisions about workloads.
//!
//! The API server evaluates a policy for a workload at its creation, and for each pod created by a controller. Both
//! requests are derived from the manifest. Some parts are unknown: the user, generated names, and the changes of
//! webhooks. A policy with an expression on such a part gives no answer, and the reason is kept.
//!
//! Left out on purpose: the Jobs of a CronJob and the ReplicaSets of a Deployment, because they have requests of their
//! own.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::created::stored;
use super::defaulted::{fill_pod, fill_template};
use super::policy::{AdmissionRequest, Binding, KnownRequest, PolicyAnswer, ValidatingAdmissionPolicy};
use super::workload::{Workload, resource_of, template_within_mut};
use bailiwick_kubernetes::absent::{group_and_version, text_at};
use bailiwick_yaml::NodeRef;

/// The API group of admission policies.
const GROUP: &str = "admissionregistration.k8s.io";

/// Parts unknown in any request.
pub(crate) const NEVER_KNOWN: [(&str, &str); 8] = [
    ("userInfo", "it reads the user of the request"),
    ("authorizer", "it reads the permissions of the user"),
    ("request.options", "it reads the options of the request"),
    ("metadata.uid", "it reads fields that the API server sets"),
    ("creationTimestamp", "it reads fields that the API server sets"),
    ("managedFields", "it reads fields that the API server sets"),
    ("resourceVersion", "it reads fields that the API server sets"),
    ("dryRun", "it reads whether the request is a dry run"),
];

/// Further parts unknown in the pods of a controller.
const UNKNOWN_OF_PODS: [(&str, &str); 4] = [
    ("metadata.name", "it reads the name of a pod that the API server names"),
    ("generateName", "it reads the name of a pod that the API server names"),
    ("request.name", "it reads the name of a pod that the API server names"),
    ("ownerReferences", "it reads the owner of a pod"),
];

/// The part unknown in a namespace with a LimitRange.
const UNKNOWN_UNDER_LIMITS: (&str, &str) = ("resources", "a LimitRange of the namespace sets resources of containers");

/// How many letters of a reason are kept.
const LONGEST_REASON: usize = 200;

/// The admission policies of a cluster.
#[derive(Debug, Default)]
pub struct InstalledPolicies {
    minor: u32,
    policies: BTreeMap<String, ValidatingAdmissionPolicy>,
    bindings: BTreeMap<String, Vec<Binding>>,
    /// The namespaces with a LimitRange.
    limited: BTreeSet<String>,
    /// Whether a mutating policy or webhook may change objects before.
    may_change: bool,
    /// Unreadable policies and bindings.
    unreadable: BTreeSet<String>,
}

/// The rejection of a workload or its pods by one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The name of the policy.
    pub policy: String,
    /// Whether the workload itself is rejected, and not only its pods.
    pub is_workload: bool,
    /// The messages of the failed validations.
    pub reasons: Vec<String>,
}

/// The decisions about a workload.
#[derive(Debug, Default)]
pub struct Decisions {
    /// The policies with a rejection of the workload or its pods.
    pub rejections: Vec<Rejection>,
    /// The policies without an answer, each with the first reason.
    pub unknown: BTreeMap<String, String>,
}

impl InstalledPolicies {
    /// Begins with no policies, in a cluster of a Kubernetes minor.
    pub fn new(minor: u32) -> Self {
        Self { minor, ..Self::default() }
    }

    /// Adds an object; an object of another kind has no effect.
    pub fn add(&mut self, object: NodeRef<'_>) {
        let (kind, name) = (text_at(object, &["kind"]), text_at(object, &["metadata", "name"]));
        let (group, version) = group_and_version(text_at(object, &["apiVersion"]));
        match (group, kind) {
            ("", "LimitRange") if version == "v1" => {
                _ = self.limited.insert(text_at(object, &["metadata", "namespace"]).to_owned())
            }
            (GROUP, "ValidatingAdmissionPolicy") => match ValidatingAdmissionPolicy::read(object, self.minor) {
                Ok(policy) => _ = self.policies.insert(policy.name.clone(), policy),
                Err(_) => _ = self.unreadable.insert(name.to_owned()),
            },
            (GROUP, "ValidatingAdmissionPolicyBinding") => match Binding::read(object) {
                Ok(binding) => self.bindings.entry(binding.policy.clone()).or_default().push(binding),
                Err(_) => _ = self.unreadable.insert(name.to_owned()),
            },
            (GROUP, "MutatingAdmissionPolicy" | "MutatingWebhookConfiguration") => self.may_change = true,
            _ => {}
        }
    }

    /// Whether there is no policy to ask.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty() && self.unreadable.is_empty()
    }

    /// Adds the keys of the namespace labels in the decisions of the policies. Returns false if an expression may read
    /// every label, or the name of the namespace.
    pub(super) fn add_namespace_labels(&self, keys: &mut BTreeSet<String>) -> bool {
        self.bindings.values().flatten().for_each(|binding| binding.add_namespace_labels(keys));
        let mut is_known = true;
        for policy in self.policies.values() {
            is_known &= policy.add_namespace_labels(keys);
        }
        is_known
    }

    /// Whether a namespace has a LimitRange.
    pub(super) fn is_limited(&self, namespace: &str) -> bool {
        self.limited.contains(namespace)
    }

    /// Returns the names of the policies with a binding.
    pub fn bound(&self) -> impl Iterator<Item = &str> {
        self.policies.keys().filter(|name| self.bindings.contains_key(*name)).map(String::as_str)
    }

    /// Whether a mutating policy or webhook may change an object before validation.
    pub fn may_change(&self) -> bool {
        self.may_change
    }

    /// Returns the unreadable policies and bindings, each with a reason.
    pub fn unreadable(&self) -> impl Iterator<Item = (String, String)> {
        self.unreadable.iter().map(|name| (name.clone(), "it is not an object that the API server takes".to_owned()))
    }

    /// Decides about a workload, given as JSON, and about its pod as created by the API server. `namespace` is none
    /// for an unknown Namespace object.
    pub fn judge(&self, workload: &Workload, object: &Json, pod: Option<Json>, namespace: Option<&Json>) -> Decisions {
        self.judge_within(&Cell::new(u64::MAX), workload, object, pod, namespace)
    }

    /// Decides as [`InstalledPolicies::judge`] does, and takes the steps of all expressions from the given number. A policy with an
    /// expression without a step left gives no answer.
    pub(super) fn judge_within(
        &self,
        steps: &Cell<u64>,
        workload: &Workload,
        object: &Json,
        pod: Option<Json>,
        namespace: Option<&Json>,
    ) -> Decisions {
        let mut decisions = Decisions::default();
        if !workload.is_pod() {
            let mut object = stored(object);
            fill_workload(workload, &mut object);
            self.ask(steps, workload, Asked::Workload(object), namespace, &mut decisions);
        }
        if let Some(mut pod) = pod.filter(|_| workload.kind != "PodTemplate") {
            fill_pod(&mut pod);
            self.ask(steps, workload, Asked::Pod(pod), namespace, &mut decisions);
        }
        decisions
    }

    /// Asks every bound policy about one request.
    fn ask(
        &self,
        steps: &Cell<u64>,
        workload: &Workload,
        asked: Asked,
        namespace: Option<&Json>,
        decisions: &mut Decisions,
    ) {
        let (object, is_workload) = match asked {
            Asked::Workload(object) => (object, true),
            Asked::Pod(object) => (object, false),
        };
        let is_of_controller = !is_workload && !workload.is_pod();
        let kind = if is_workload { workload.kind } else { "Pod" };
        let Some((group, resource)) = resource_of(kind) else { return };
        let in_namespace = workload.namespace();
        // A pod made of a template has no `apiVersion` of its own.
        let version = match object.get("apiVersion").and_then(Json::as_str) {
            Some(api_version) => group_and_version(api_version).1,
            None => "v1",
        };
        let request = AdmissionRequest {
            operation: "CREATE".to_owned(),
            api_group: group.to_owned(),
            version: version.to_owned(),
            resource,
            kind: kind.to_owned(),
            namespace: in_namespace.to_owned(),
            name: if is_of_controller { String::new() } else { workload.name.clone() },
            object: Some(object),
            ..AdmissionRequest::default()
        };
        let mut words = NEVER_KNOWN.to_vec();
        if is_of_controller {
            words.extend(UNKNOWN_OF_PODS);
        }
        if !is_workload && self.limited.contains(in_namespace) {
            words.push(UNKNOWN_UNDER_LIMITS);
        }
        for (name, policy) in &self.policies {
            // A policy with warnings or audit alone rejects nothing.
            let mut bindings =
                self.bindings.get(name).into_iter().flatten().filter(|binding| binding.denies()).peekable();
            if bindings.peek().is_none() || decisions.rejections.iter().any(|known| known.policy == *name) {
                continue;
            }
            let known = KnownRequest::without(policy, &words).within(steps.get());
            let verdicts = bindings.map(|binding| policy.evaluate_knowing(&request, Some(binding), namespace, &known));
            let verdicts: Vec<_> = verdicts.collect();
            steps.set(known.steps());
            if let Some(verdict) = verdicts.iter().find(|verdict| verdict.answer == PolicyAnswer::Deny) {
                let reasons = verdict.denials.clone();
                decisions.rejections.push(Rejection { policy: name.clone(), is_workload, reasons });
            } else if let Some(verdict) = verdicts.iter().find(|verdict| verdict.answer == PolicyAnswer::Unknown) {
                let reason = verdict.message.chars().take(LONGEST_REASON).collect();
                decisions.unknown.entry(name.clone()).or_insert(reason);
            }
        }
    }
}

/// The object of a request.
enum Asked {
    /// The workload itself.
    Workload(Json),
    /// The pod created for the workload.
    Pod(Json),
}

/// Fills in the defaults commonly read by policies.
fn fill_workload(workload: &Workload, object: &mut Json) {
    let has_replicas = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"].contains(&workload.kind);
    if let Some(spec) = object.get_mut("spec").and_then(Json::as_object_mut).filter(|_| has_replicas)
        && spec.get("replicas").is_none_or(Json::is_null)
    {
        spec.insert("replicas".to_owned(), json!(1));
    }
    if let Some(template) = template_within_mut(workload.kind, object) {
        fill_template(template);
    }
}
