//! The objects that decide beside RBAC, gathered from the same manifests: nodes, pods and volumes, and admission policies.

use std::collections::BTreeMap;

use bailiwick_access::namespaces::WorldLabels;
use bailiwick_admission::gate::{AdmissionObjects, label_with_name};
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_admission::policy::{
    AdmissionRequest, Binding, KnownRequest, MutatingAdmissionPolicy, MutationError, PolicyAnswer, PolicyDecision,
    ValidatingAdmissionPolicy, Webhook,
};
use bailiwick_admission::standards::configuration::Configuration;
use bailiwick_kubernetes::absent::{group_and_version, text_at};
use bailiwick_kubernetes::list;
use bailiwick_node::{Cluster, ServerVersion};
use bailiwick_policy::model::PodSecurityProfile;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::diag::Sink;
use bailiwick_yaml::schema::to_json;
use serde_json::Value;

use super::manifests::rejected;
use crate::pod_inputs::{FIRST_MINOR_WITH_POLICIES, PodInputs};

/// The fields of a new object that the API server sets before validation, with the reason why they are unknown.
const SET_BY_SERVER: [(&str, &str); 4] = [
    ("metadata.uid", "it reads fields that the API server sets"),
    ("creationTimestamp", "it reads fields that the API server sets"),
    ("managedFields", "it reads fields that the API server sets"),
    ("generation", "it reads fields that the API server sets"),
];

/// The effect of the answer of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WebhookKind {
    /// It can change the object.
    Mutating,
    /// It can refuse the object.
    Validating,
}

/// The gathered objects.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// Nodes, pods and volumes.
    pub(crate) cluster: Cluster,
    policies: Vec<(String, ValidatingAdmissionPolicy)>,
    bindings: Vec<Binding>,
    mutating: Vec<MutatingAdmissionPolicy>,
    mutating_bindings: Vec<Binding>,
    namespaces: BTreeMap<String, Value>,
    /// The webhooks of each configuration, by its kind and name.
    webhooks: BTreeMap<(WebhookKind, String), Vec<Webhook>>,
    /// The objects that decide about pods.
    pub(crate) admission: AdmissionObjects,
    /// The admission policies that are not compiled from profiles.
    pub(crate) installed: InstalledPolicies,
}

impl Surroundings {
    /// Creates empty surroundings in a cluster of a version.
    pub(crate) fn new(version: ServerVersion, is_openshift: bool) -> Self {
        let minor = version.minor();
        let mut cluster = Cluster::new(version);
        cluster.is_openshift = is_openshift;
        Self {
            cluster,
            policies: Vec::new(),
            bindings: Vec::new(),
            mutating: Vec::new(),
            mutating_bindings: Vec::new(),
            namespaces: BTreeMap::new(),
            webhooks: BTreeMap::new(),
            admission: AdmissionObjects::new(minor, is_openshift),
            installed: InstalledPolicies::new(minor),
        }
    }

    /// Sets the configuration of Pod Security admission.
    pub(crate) fn configure(&mut self, pod_security: Configuration) {
        self.admission.configure(pod_security);
    }

    /// Takes the objects that decide about pods from a compiled target, with its profiles and default levels.
    pub(crate) fn hold_to(&mut self, pods: PodInputs<'_>) {
        self.admission = pods.objects;
        self.installed = pods.admission_policies;
    }

    /// Switches feature gates of the API server. One that cannot be switched was reported where it is written.
    pub(crate) fn switch(&mut self, gates: &BTreeMap<String, bool>) {
        for (name, is_on) in gates {
            if let Ok(version) = self.cluster.version.clone().with_gate(name, *is_on) {
                self.cluster.version = version;
            }
        }
    }

    /// Takes each object of a document that matters. An object that the API server rejects is an error: without it, more would seem
    /// to be admitted. A caller whose objects are validated, too, drops these errors.
    pub(crate) fn add_document(&mut self, document: NodeRef<'_>, sink: &mut Sink) {
        for (version, kind, object) in list::typed_objects(document) {
            self.cluster.add_as(&version, &kind, object);
            if let Err(problem) = self.add_policy(object).and_then(|()| self.admission.add(object)) {
                sink.push(rejected(problem.origin.unwrap_or_else(|| object.origin()), problem.message));
            }
            if self.cluster.version.minor() >= FIRST_MINOR_WITH_POLICIES {
                self.installed.add(object);
            }
        }
    }

    /// Adds an admission policy, a binding of one, the webhooks of a configuration, or a namespace; others are passed over.
    fn add_policy(&mut self, object: NodeRef<'_>) -> Result<(), DeError> {
        let minor = self.cluster.version.minor();
        let (group, _) = group_and_version(text_at(object, &["apiVersion"]));
        let name = text_at(object, &["metadata", "name"]).to_owned();
        match (group, text_at(object, &["kind"])) {
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
                self.policies.retain(|(known, _)| *known != name);
                self.policies.push((name, ValidatingAdmissionPolicy::read(object, minor)?));
            }
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
                self.bindings.retain(|known| known.name != name);
                self.bindings.push(Binding::read(object)?);
            }
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
                self.mutating.retain(|known| known.name() != name);
                self.mutating.push(MutatingAdmissionPolicy::read(object, minor)?);
            }
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding") => {
                self.mutating_bindings.retain(|known| known.name != name);
                self.mutating_bindings.push(MutatingAdmissionPolicy::read_binding(object)?);
            }
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
                self.webhooks.insert((WebhookKind::Mutating, name), Webhook::read_all(object, minor)?);
            }
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
                self.webhooks.insert((WebhookKind::Validating, name), Webhook::read_all(object, minor)?);
            }
            ("", "Namespace") | ("project.openshift.io", "Project") => {
                let mut namespace = to_json(object);
                label_with_name(&mut namespace);
                self.namespaces.insert(name, namespace);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a namespace is in deletion, so that no object can be created in it.
    pub(crate) fn is_terminating(&self, namespace: &str) -> bool {
        let phase = self.namespaces.get(namespace).and_then(|namespace| namespace.pointer("/status/phase"));
        phase.and_then(Value::as_str) == Some("Terminating")
    }

    /// Returns the name of the first webhook of a kind that the API server can call for a request.
    pub(crate) fn called_webhook(&self, request: &AdmissionRequest, kind: WebhookKind) -> Option<&str> {
        let namespace = self.namespaces.get(&request.namespace);
        let webhooks = self.webhooks.iter().filter(|((known, _), _)| *known == kind).flat_map(|(_, webhooks)| webhooks);
        let mut called = webhooks.filter(|webhook| webhook.can_be_called(request, namespace));
        called.next().map(|webhook| webhook.name.as_str())
    }

    /// Returns the PodSecurityProfile that the labels of a namespace name, if a binding of its admission policy has `Deny`.
    pub(crate) fn profile_of<'l>(&self, labels: WorldLabels<'l>) -> Option<&'l str> {
        let profile = labels.get(PodSecurityProfile::LABEL)?;
        let policy = PodSecurityProfile::admission_policy(profile);
        let is_there = self.policies.iter().any(|(name, _)| *name == policy);
        let denies = self.bindings.iter().any(|binding| binding.policy == policy && binding.denies());
        (is_there && denies).then_some(profile)
    }

    /// Returns the object of a request after the MutatingAdmissionPolicies; none if no policy changes it.
    ///
    /// # Errors
    /// The first policy with an unknown effect. The API server does not promise an order of several policies.
    pub(crate) fn mutated(&self, request: &AdmissionRequest) -> Result<Option<Value>, MutationError> {
        let namespace = self.namespaces.get(&request.namespace);
        let mut changed: Option<Value> = None;
        for policy in &self.mutating {
            for binding in self.mutating_bindings.iter().filter(|binding| binding.policy == policy.name()) {
                let object = policy.patched(request, binding, namespace)?;
                let Some(object) = object.filter(|object| request.object.as_ref() != Some(object)) else { continue };
                if changed.as_ref().is_some_and(|known| *known != object) {
                    let reason = "another policy changes it, too".to_owned();
                    return Err(MutationError { policy: policy.name().to_owned(), reason });
                }
                changed = Some(object);
            }
        }
        Ok(changed)
    }

    /// Returns the bound admission policies that deny a request, or whose decision is unknown.
    pub(crate) fn objections(&self, request: &AdmissionRequest) -> Vec<(&str, PolicyDecision)> {
        let namespace = self.namespaces.get(&request.namespace);
        let bound = self.policies.iter().flat_map(|(name, policy)| {
            let own = self.bindings.iter().filter(move |binding| binding.policy == *name);
            own.map(move |binding| {
                let known = match request.operation.as_str() {
                    "CREATE" => KnownRequest::without(policy, &SET_BY_SERVER),
                    _ => KnownRequest::default(),
                };
                (name.as_str(), policy.evaluate_knowing(request, Some(binding), namespace, &known))
            })
        });
        bound.filter(|(_, verdict)| verdict.answer != PolicyAnswer::Allow).collect()
    }
}
