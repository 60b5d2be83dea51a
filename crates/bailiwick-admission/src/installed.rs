//! ValidatingAdmissionPolicies that are in a cluster, and what they make of workloads.
//!
//! The API server asks a policy about a workload when the workload is created, and about each pod when a controller creates
//! it. Both requests are made up from the manifest. Parts of them are not known: the user, the names that the API server makes,
//! and the changes of webhooks. A policy that reads such a part gives no answer, and the reason is kept.
//!
//! Left out on purpose: the Jobs of a CronJob and the ReplicaSets of a Deployment, which are requests of their own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::created::stored;
use super::defaulted::{fill_pod, fill_template};
use super::policy::{Action, AdmissionRequest, Answer, Binding, Known, Policy};
use super::workload::{Workload, resource_of, template_within_mut};
use bailiwick_yaml::NodeRef;

/// The API group of admission policies.
const GROUP: &str = "admissionregistration.k8s.io";

/// Parts of any request that are not known.
const NEVER_KNOWN: [(&str, &str); 8] = [
    ("userInfo", "it reads the user of the request"),
    ("authorizer", "it reads the permissions of the user"),
    ("request.options", "it reads the options of the request"),
    ("metadata.uid", "it reads fields that the API server sets"),
    ("creationTimestamp", "it reads fields that the API server sets"),
    ("managedFields", "it reads fields that the API server sets"),
    ("resourceVersion", "it reads fields that the API server sets"),
    ("dryRun", "it reads whether the request is a dry run"),
];

/// Further parts that are not known of the pods of a controller.
const UNKNOWN_OF_PODS: [(&str, &str); 4] = [
    ("metadata.name", "it reads the name of a pod that the API server names"),
    ("generateName", "it reads the name of a pod that the API server names"),
    ("request.name", "it reads the name of a pod that the API server names"),
    ("ownerReferences", "it reads the owner of a pod"),
];

/// A part that is not known in a namespace with a LimitRange.
const UNKNOWN_UNDER_LIMITS: (&str, &str) = ("resources", "a LimitRange of the namespace sets resources of containers");

/// How many letters of a reason are kept.
const LONGEST_REASON: usize = 200;

/// The admission policies of a cluster.
#[derive(Debug, Default)]
pub struct Installed {
    minor: u32,
    policies: BTreeMap<String, Policy>,
    bindings: BTreeMap<String, Vec<Binding>>,
    /// The namespaces with a LimitRange.
    limited: BTreeSet<String>,
    /// Whether a mutating policy or webhook may change objects before.
    may_change: bool,
    /// The policies and bindings that cannot be read.
    unreadable: BTreeSet<String>,
}

/// A policy that rejects a workload or its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The name of the policy.
    pub policy: String,
    /// Whether the workload itself is rejected, and not only its pods.
    pub is_workload: bool,
    /// The messages of the validations that fail.
    pub reasons: Vec<String>,
}

/// The decisions about a workload.
#[derive(Debug, Default)]
pub struct Decisions {
    /// The policies that reject the workload or its pods.
    pub rejections: Vec<Rejection>,
    /// The policies that give no answer, each with the first reason.
    pub unknown: BTreeMap<String, String>,
}

impl Installed {
    /// Begins with no policies, in a cluster of a Kubernetes minor.
    pub fn new(minor: u32) -> Self {
        Self { minor, ..Self::default() }
    }

    /// Adds an object that matters; any other is passed over.
    pub fn add(&mut self, object: NodeRef<'_>) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        let (api_version, kind, name) = (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        match (group, kind) {
            ("", "LimitRange") if version == "v1" => {
                _ = self.limited.insert(text(&["metadata", "namespace"]).to_owned())
            }
            (GROUP, "ValidatingAdmissionPolicy") => match Policy::read(object, self.minor) {
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

    /// The names of the policies that have a binding.
    pub fn bound(&self) -> impl Iterator<Item = &str> {
        self.policies.keys().filter(|name| self.bindings.contains_key(*name)).map(String::as_str)
    }

    /// Whether a mutating policy or webhook may change an object before a policy sees it.
    pub fn may_change(&self) -> bool {
        self.may_change
    }

    /// The policies and bindings that cannot be read, each with a reason.
    pub fn unreadable(&self) -> impl Iterator<Item = (String, String)> {
        self.unreadable.iter().map(|name| (name.clone(), "it is not an object that the API server takes".to_owned()))
    }

    /// Decides about a workload, given as JSON, and about its pod as the API server creates it. The Namespace object is none
    /// where it is not known.
    pub fn judge(&self, workload: &Workload, object: &Json, pod: Option<Json>, namespace: Option<&Json>) -> Decisions {
        let mut decisions = Decisions::default();
        if !workload.is_pod() {
            let mut object = stored(object);
            fill_workload(workload, &mut object);
            self.ask(workload, (object, true), namespace, &mut decisions);
        }
        if let Some(mut pod) = pod.filter(|_| workload.kind != "PodTemplate") {
            fill_pod(&mut pod);
            self.ask(workload, (pod, false), namespace, &mut decisions);
        }
        decisions
    }

    /// Asks every bound policy about one request.
    fn ask(
        &self,
        workload: &Workload,
        (object, is_workload): (Json, bool),
        namespace: Option<&Json>,
        decisions: &mut Decisions,
    ) {
        let is_of_controller = !is_workload && !workload.is_pod();
        let kind = if is_workload { workload.kind } else { "Pod" };
        let Some((group, resource)) = resource_of(kind) else { return };
        let in_namespace = workload.namespace();
        let version = object.get("apiVersion").and_then(Json::as_str).unwrap_or("v1");
        let request = AdmissionRequest {
            operation: "CREATE".to_owned(),
            api_group: group.to_owned(),
            version: version.rsplit('/').next().unwrap_or(version).to_owned(),
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
            // A policy that only warns or audits rejects nothing.
            let denies = |binding: &&Binding| binding.actions.contains(&Action::Deny);
            let mut bindings = self.bindings.get(name).into_iter().flatten().filter(denies).peekable();
            if bindings.peek().is_none() || decisions.rejections.iter().any(|known| known.policy == *name) {
                continue;
            }
            let known = Known::without(policy, &words);
            let verdicts = bindings.map(|binding| policy.evaluate_knowing(&request, Some(binding), namespace, &known));
            let verdicts: Vec<_> = verdicts.collect();
            if let Some(verdict) = verdicts.iter().find(|verdict| verdict.answer == Answer::Deny) {
                let reasons = verdict.denials.clone();
                decisions.rejections.push(Rejection { policy: name.clone(), is_workload, reasons });
            } else if let Some(verdict) = verdicts.iter().find(|verdict| verdict.answer == Answer::Unknown) {
                let reason = verdict.message.chars().take(LONGEST_REASON).collect();
                decisions.unknown.entry(name.clone()).or_insert(reason);
            }
        }
    }
}

/// Fills in the defaults of a workload that policies commonly read.
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
