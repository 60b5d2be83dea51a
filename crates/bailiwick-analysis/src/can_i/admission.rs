//! The decision of admission about a write, after the decision of the authorizers.
//!
//! The order is the order of the API server: the life of the namespace, NodeRestriction, PodSecurityPolicies and
//! SecurityContextConstraints, mutation, Pod Security, validation, and the escalation check of RBAC objects.

use std::collections::BTreeMap;

use bailiwick_access::write::{Escalation, Write, WriteVerb};
use bailiwick_access::{Identity, Request};
use bailiwick_admission::gate::{AdmittingConstraints, Gate, LevelDecision, label_with_name};
use bailiwick_admission::pod::Pod;
use bailiwick_admission::policy::{AdmissionRequest, PolicyAnswer};
use bailiwick_admission::standards::admit::is_significant_update;
use bailiwick_kubernetes::{absent, rbac};
use bailiwick_node::authorize::Authorizer;
use bailiwick_node::graph::Graph;
use bailiwick_node::mirror::annotation_problems;
use bailiwick_node::restriction::{NodeOperation, admit};
use bailiwick_workspace::words::rule_text;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::schema::to_json;
use serde_json::Value as Json;

use super::written::{AdmissionQuestionError, ObjectWrite, Written};
use crate::loaded_world::{LoadedWorld, Surroundings, WebhookKind};

/// The namespaces without deletion (`plugin/namespace/lifecycle/admission.go` of k8s.io/apiserver 1.37).
const IMMORTAL_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

/// The subresources of pods without a check by Pod Security (`pod-security-admission/admission/admission.go`, 1.37).
const IGNORED_SUBRESOURCES: [&str; 8] =
    ["attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "status"];

/// The user of a request, as admission gets it (`k8s.io/apiserver` `user.Info`).
pub(super) struct UserInfo<'u> {
    pub(super) identity: &'u Identity,
    /// The extra fields, with keys in lower case.
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

/// The decision of admission on a write.
pub(super) enum Admission {
    /// Nothing is against it.
    Passes,
    /// It is refused, and why.
    Refuses(String),
    /// The decision is unknown, with the reason.
    Unknown(String),
}

impl Admission {
    /// Returns the decision of the next step if nothing is against the write so far.
    fn and_then(self, next: impl FnOnce() -> Admission) -> Admission {
        match self {
            Self::Passes => next(),
            decided => decided,
        }
    }
}

/// A write, with the state of the cluster.
struct AskedWrite<'w> {
    loaded: &'w LoadedWorld,
    surroundings: &'w Surroundings,
    user: &'w UserInfo<'w>,
    write: &'w ObjectWrite<'w>,
}

/// Asks admission about a write.
///
/// # Errors
/// Why the question makes no sense.
pub(super) fn admission(
    loaded: &LoadedWorld,
    graph: Option<&Graph>,
    user: &UserInfo<'_>,
    request: &Request,
    written: &Written,
) -> Result<Admission, AdmissionQuestionError> {
    let (Some(surroundings), Some(graph), Request::Resource(request)) = (&loaded.surroundings, graph, request) else {
        return Ok(Admission::Passes);
    };
    let write = ObjectWrite::new(request, written, &loaded.world)?;
    let asked = AskedWrite { loaded, surroundings, user, write: &write };
    if write.needs_namespace {
        return Ok(Admission::Unknown("the namespace of the object is not given: pass `--namespace`".to_owned()));
    }
    Ok(asked.by_lifecycle().and_then(|| asked.by_node_restriction(graph)).and_then(|| asked.by_the_rest()))
}

impl AskedWrite<'_> {
    /// Asks the plugin NamespaceLifecycle.
    fn by_lifecycle(&self) -> Admission {
        let write = self.write;
        let is_namespace = (write.group, write.resource) == ("", "namespaces");
        if is_namespace && write.operation == NodeOperation::Delete && IMMORTAL_NAMESPACES.contains(&write.name) {
            return Admission::Refuses(format!("the namespace `{}` may not be deleted", write.name));
        }
        let is_new_content = write.operation == NodeOperation::Create && !is_namespace;
        if is_new_content && self.surroundings.is_terminating(write.namespace) {
            return Admission::Refuses(format!("the namespace `{}` is being terminated", write.namespace));
        }
        Admission::Passes
    }

    fn by_node_restriction(&self, graph: &Graph) -> Admission {
        let (loaded, write) = (self.loaded, self.write);
        let cluster = &self.surroundings.cluster;
        let authorizer = Authorizer::new(&cluster.version, graph);
        let may_also = |who: &Identity, request: &Request| {
            authorizer.decide(who, request, &[]).is_allowed() || loaded.world.allows(who, request)
        };
        match admit(cluster, self.user.identity, &write.for_node_restriction(), &may_also) {
            Ok(()) => Admission::Passes,
            Err(refusal) => Admission::Refuses(format!("NodeRestriction rejects: {}", refusal.0)),
        }
    }

    /// Asks the parts of admission about the object, in their order.
    fn by_the_rest(&self) -> Admission {
        let problems = self.write.object.filter(|_| self.write.is_pod());
        let problems = problems.map(|object| annotation_problems(object, self.write.old));
        if let Some((_, message)) = problems.into_iter().flatten().next() {
            return Admission::Refuses(format!("the object is invalid: {message}"));
        }
        let admitting = match self.by_constraints() {
            Ok(admitting) => admitting,
            Err(decided) => return decided,
        };
        let mut request = self.request(admitting.as_ref());
        if let Some(webhook) = self.surroundings.called_webhook(&request, WebhookKind::Mutating) {
            return Admission::Unknown(format!("the webhook `{webhook}` can change or refuse the object"));
        }
        match self.surroundings.mutated(&request) {
            Ok(None) => {}
            Ok(Some(object)) => request.object = Some(object),
            Err(error) => return Admission::Unknown(error.to_string()),
        }
        let by_level = self.by_level(&request).and_then(|| self.by_levels_of_namespace(&request));
        let decided = by_level.and_then(|| self.by_policies(&request)).and_then(|| self.by_escalation_check());
        decided.and_then(|| match self.surroundings.called_webhook(&request, WebhookKind::Validating) {
            Some(webhook) => Admission::Unknown(format!("the webhook `{webhook}` can refuse the object")),
            None => Admission::Passes,
        })
    }

    /// Asks the PodSecurityPolicies and the SecurityContextConstraints about a new pod, and returns the constraints that admit it; none
    /// without admission by constraints.
    fn by_constraints(&self) -> Result<Option<AdmittingConstraints>, Admission> {
        let is_new_pod = self.write.operation == NodeOperation::Create && self.write.is_pod();
        let Some(pod) = self.write.object.filter(|_| is_new_pod) else { return Ok(None) };
        let pod = Pod::read(pod)
            .map_err(|problem| Admission::Unknown(format!("admission cannot read the pod: {}", problem.message)))?;
        let gate = Gate::new(&self.loaded.world, &self.surroundings.admission);
        gate.check_policies(self.user.identity, self.write.namespace, &pod).map_err(|reasons| {
            Admission::Refuses(format!("no PodSecurityPolicy admits the pod: {}", reasons.join("; ")))
        })?;
        gate.constraints_for(self.user.identity, self.write.namespace, &pod).map_err(|reasons| {
            let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
            Admission::Refuses(format!("no SecurityContextConstraints admit the pod{reasons}"))
        })
    }

    /// Returns the request of the write, as the API server hands it to admission: with the defaults of a pod, and with the label for
    /// the name of a Namespace.
    fn request(&self, admitting: Option<&AdmittingConstraints>) -> AdmissionRequest {
        let (user, write) = (self.user, self.write);
        let of_object = |key: &str| write.object.or(write.old).map_or("", |object| object.text_at(key));
        let (api_version, kind) = (of_object("apiVersion"), of_object("kind"));
        let as_stored = |object: NodeRef<'_>| {
            let mut object = to_json(object);
            if (write.group, kind) == ("", "Namespace") {
                label_with_name(&mut object);
            }
            object
        };
        let new_object = |object: NodeRef<'_>| {
            let mut object = as_stored(object);
            if write.operation == NodeOperation::Create && write.is_pod() {
                object = self.surroundings.admission.new_pod(&object, write.namespace);
            }
            admitting.into_iter().for_each(|constraints| constraints.fill_in(&mut object));
            object
        };
        AdmissionRequest {
            user: user.identity.user.clone(),
            groups: user.identity.groups.clone(),
            extra: user.extra.clone(),
            operation: write.operation.word().to_owned(),
            api_group: write.group.to_owned(),
            version: api_version.rsplit('/').take(1).collect(),
            resource: write.resource.to_owned(),
            subresource: write.subresource.to_owned(),
            kind: kind.to_owned(),
            namespace: write.namespace.to_owned(),
            name: write.name.to_owned(),
            object: write.object.map(new_object),
            old_object: write.old.map(as_stored),
            ..AdmissionRequest::default()
        }
    }

    /// Asks Pod Security about a new pod, or a pod with another container or image, after all mutations.
    fn by_level(&self, request: &AdmissionRequest) -> Admission {
        let write = self.write;
        let is_of_pod = write.group.is_empty()
            && write.resource == "pods"
            && matches!(write.operation, NodeOperation::Create | NodeOperation::Update)
            && !IGNORED_SUBRESOURCES.contains(&write.subresource);
        let Some(pod) = request.object.as_ref().filter(|_| is_of_pod) else { return Admission::Passes };
        if request.old_object.as_ref().is_some_and(|old| !is_significant_update(pod, old)) {
            return Admission::Passes;
        }
        match self.surroundings.admission.decision_by_level(&self.user.identity.user, write.namespace, pod) {
            Ok(LevelDecision::Admitted) => Admission::Passes,
            Ok(LevelDecision::Refused(reason)) => Admission::Refuses(reason),
            Ok(LevelDecision::UnknownNamespace) => Admission::Unknown(format!(
                "the Pod Security labels of the namespace `{}` are not given",
                write.namespace
            )),
            Err(problem) => Admission::Unknown(format!("Pod Security cannot read the pod: {}", problem.message)),
        }
    }

    /// Asks Pod Security about the labels of a new or changed Namespace.
    fn by_levels_of_namespace(&self, request: &AdmissionRequest) -> Admission {
        let write = self.write;
        let is_of_namespace = (write.group, write.resource, write.subresource) == ("", "namespaces", "")
            && matches!(write.operation, NodeOperation::Create | NodeOperation::Update);
        let Some(namespace) = request.object.as_ref().filter(|_| is_of_namespace) else { return Admission::Passes };
        let old = request.old_object.as_ref().map(labels);
        let invalid = self.surroundings.admission.invalid_levels(old.as_ref(), &labels(namespace));
        match invalid.is_empty() {
            true => Admission::Passes,
            false => Admission::Refuses(format!("the Namespace is invalid: {}", invalid.join(", "))),
        }
    }

    /// Asks the admission policies. A rejection by one policy decides.
    fn by_policies(&self, request: &AdmissionRequest) -> Admission {
        let objections = self.surroundings.objections(request);
        let refused = objections.iter().find(|(_, verdict)| verdict.answer == PolicyAnswer::Deny);
        match (refused, objections.first()) {
            // The message names the policy.
            (Some((_, verdict)), _) => Admission::Refuses(verdict.message.clone()),
            (None, Some((name, verdict))) => Admission::Unknown(format!(
                "ValidatingAdmissionPolicy '{name}' has no known answer: {}",
                verdict.message
            )),
            (None, None) => Admission::Passes,
        }
    }

    /// Asks whether a role or a binding gives more than the user has (`pkg/registry/rbac/escalation_check.go`, 1.37).
    fn by_escalation_check(&self) -> Admission {
        let write = self.write;
        let verb = match write.operation {
            NodeOperation::Create => WriteVerb::Create,
            NodeOperation::Update => WriteVerb::Update,
            NodeOperation::Delete | NodeOperation::Connect => return Admission::Passes,
        };
        let world = &self.loaded.world;
        let object = write.object.filter(|_| write.group == rbac::GROUP && write.subresource.is_empty());
        let Some((object, resource)) = object.and_then(|object| Some((object, world.resource_of(object)?))) else {
            return Admission::Passes;
        };
        let decision = world.may_write(self.user.identity, Write { object, old: write.old, verb, resource });
        match decision.escalation {
            Escalation::Fine => Admission::Passes,
            Escalation::Forbidden(missing) => {
                let first: String = missing.iter().take(1).map(rule_text).collect();
                Admission::Refuses(format!("the object gives rights that the user does not have, such as {first}"))
            }
            Escalation::NotFound(role) => Admission::Refuses(format!("the role is not found: {role}")),
            Escalation::Invalid(reason) => Admission::Refuses(format!("the object is invalid: {reason}")),
        }
    }
}

/// Returns the labels of an object.
fn labels(object: &Json) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Json::as_object).into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), absent::text(value.as_str()).to_owned())).collect()
}
