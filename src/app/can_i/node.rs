//! The decision of the Node authorizer, which comes before RBAC, and the decision of admission, which comes after.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::access::{Answer, Identity, Request, ResourceRequest};
use crate::admission::gate::{AdmittingConstraints, Gate};
use crate::admission::pod::Pod;
use crate::admission::policy::{self, AdmissionRequest};
use crate::app::Options;
use crate::app::loaded_world::{LoadedWorld, Surroundings, each_tree};
use crate::app::words::rule_text;
use crate::diag::{Files, RunError, Sink};
use crate::k8s::absent::text_at;
use crate::k8s::list;
use crate::node::Cluster;
use crate::node::authorize::{Authorizer, FieldRequirement, NodeAuthorization, NodeReason};
use crate::node::graph::Graph;
use crate::node::identity::NodeIdentity;
use crate::node::mirror::annotation_problems;
use crate::node::reach::{Certainty, NodeReachability};
use crate::node::restriction::{NodeOperation, NodeWrite, admit};
use crate::yaml::schema::to_json;
use crate::yaml::{NodeRef, Tree};

/// The decision of the Node authorizer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeDecision {
    /// Yes; unknown where it depends on where pods are scheduled; no where it has no opinion.
    pub answer: Answer,
    /// The reasons, one line each.
    pub reasons: Vec<String>,
}

/// Asks the Node authorizer; none for an identity that is no node.
pub(super) fn ask(
    cluster: &Cluster,
    graph: &Graph,
    who: &Identity,
    request: &Request,
    selector: &[FieldRequirement],
) -> Option<NodeDecision> {
    let identity = NodeIdentity::from_identity(who);
    if identity == NodeIdentity::None {
        return None;
    }
    let said = |answer, reasons| Some(NodeDecision { answer, reasons });
    let no_opinion = match Authorizer::new(&cluster.version, graph).decide(who, request, selector) {
        NodeAuthorization::Allow(reason) => return said(Answer::Yes, vec![words(&reason)]),
        NodeAuthorization::NoOpinion(why) => why,
    };
    let NodeIdentity::Node(node) = identity else { return said(Answer::No, told(&no_opinion)) };
    // The same with the pods of workloads where they may come to.
    let atlas = NodeReachability::new(cluster, graph);
    let reach = atlas.of_node(node, false);
    let wider = Graph::of_reach(&reach, node);
    let NodeAuthorization::Allow(NodeReason::Way(way)) =
        Authorizer::new(&cluster.version, &wider).decide(who, request, selector)
    else {
        return said(Answer::No, told(&no_opinion));
    };
    let reached = way.first().and_then(|object| reach.objects.get(object));
    let (certainty, via) =
        reached.map_or((Certainty::Maybe, String::new()), |reached| (reached.certainty, reached.via.to_string()));
    let lines = match certainty {
        Certainty::Yes => {
            vec![format!("the Node authorizer: {via} has a pod on every node it may come to, and names it")]
        }
        Certainty::Maybe => vec![
            format!("the Node authorizer: {via} names it, and its pods may come to `{node}`"),
            "as long as every pod comes from these objects, and the node has these labels and taints".to_owned(),
        ],
    };
    said(if certainty == Certainty::Yes { Answer::Yes } else { Answer::Unknown }, lines)
}

fn told(no_opinion: &str) -> Vec<String> {
    if no_opinion.is_empty() { Vec::new() } else { vec![format!("the Node authorizer: {no_opinion}")] }
}

fn words(reason: &NodeReason) -> String {
    match reason {
        NodeReason::Way(way) => {
            let steps: Vec<String> = way.iter().map(ToString::to_string).collect();
            format!("the Node authorizer: {}", steps.join(" <- "))
        }
        NodeReason::Rule(rule) => format!("the Node authorizer, for every node: {}", rule_text(rule)),
        NodeReason::Own => {
            "the Node authorizer: it is about the node itself, or limited to what belongs to it".to_owned()
        }
        NodeReason::LeftToAdmission => {
            "the Node authorizer: NodeRestriction looks at the object when it is written".to_owned()
        }
    }
}

/// The user of a request, as admission gets it (`k8s.io/apiserver` `user.Info`).
pub(super) struct UserInfo<'u> {
    pub(super) identity: &'u Identity,
    /// The extra fields, with keys in lower case.
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

/// The new object and the old object.
pub(super) struct Written {
    new: Option<Tree>,
    old: Option<Tree>,
}

impl Written {
    /// Reads them.
    pub(super) fn read(new: &Path, old: Option<&Path>, files: &Arc<Files>, sink: &mut Sink) -> Result<Self, RunError> {
        let mut read = |path: Option<&Path>| -> Result<Option<Tree>, RunError> {
            let Some(path) = path else { return Ok(None) };
            let (mut found, mut objects) = (None, 0);
            each_tree(path, &Options::default(), files, sink, &mut |tree, _| {
                objects += tree.documents().flat_map(list::objects).count();
                found.get_or_insert_with(|| tree.clone());
            })?;
            if objects != 1 && !sink.has_errors() {
                let path = path.display();
                return Err(RunError::new(format!("`{path}` has {objects} objects; a write has one object")));
            }
            Ok(found)
        };
        Ok(Self { new: read(Some(new))?, old: read(old)? })
    }
}

fn first(tree: Option<&Tree>) -> Option<NodeRef<'_>> {
    list::objects(tree?.document(0)?).into_iter().next()
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

/// The reason why admission is not asked about a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdmissionQuestionError {
    /// The verb writes nothing.
    #[error("admission is not asked about `{0}`")]
    Verb(String),
    /// A change has no object before the change.
    #[error("the object before the change is missing: give it with --admission-old")]
    NoOldObject,
}

/// Asks NodeRestriction, validation of mirror pods, and the admission policies that are bound.
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
    let write = write_of(request, written)?;
    let cluster = &surroundings.cluster;
    let authorizer = Authorizer::new(&cluster.version, graph);
    let may_also = |who: &Identity, request: &Request| {
        authorizer.decide(who, request, &[]).is_allowed() || loaded.world.allows(who, request)
    };
    if let Err(refusal) = admit(cluster, user.identity, &write, &may_also) {
        return Ok(Admission::Refuses(format!("NodeRestriction rejects: {}", refusal.0)));
    }
    let is_pod = (write.group, write.resource, write.subresource) == ("", "pods", "");
    let old = first(written.old.as_ref());
    let problems = write.object.filter(|_| is_pod).map(|object| annotation_problems(object, old)).unwrap_or_default();
    if let Some((_, message)) = problems.into_iter().next() {
        return Ok(Admission::Refuses(format!("the object is invalid: {message}")));
    }
    let admitting = match by_constraints(loaded, surroundings, user, &write) {
        Ok(admitting) => admitting,
        Err(decided) => return Ok(decided),
    };
    Ok(after_mutation(surroundings, user, &write, asked(user, &write, admitting.as_ref())))
}

/// Returns the write of a request, as admission gets it.
fn write_of<'w>(request: &'w ResourceRequest, written: &'w Written) -> Result<NodeWrite<'w>, AdmissionQuestionError> {
    let operation = match request.verb.as_str() {
        "create" => NodeOperation::Create,
        "update" | "patch" => NodeOperation::Update,
        "delete" | "deletecollection" => NodeOperation::Delete,
        other => return Err(AdmissionQuestionError::Verb(other.to_owned())),
    };
    let (object, old) = (first(written.new.as_ref()), first(written.old.as_ref()));
    if operation == NodeOperation::Update && old.is_none() {
        return Err(AdmissionQuestionError::NoOldObject);
    }
    let (is_create, is_removed) = (operation == NodeOperation::Create, operation == NodeOperation::Delete);
    // The URL of a create has no name, and authorization gets none. Admission gets the name of the object, and the name of a new
    // Namespace as its namespace, too (`apiserver/pkg/endpoints/handlers/create.go` of Kubernetes 1.37).
    let own_name =
        object.filter(|_| is_create && request.name.is_empty()).map(|object| text_at(object, &["metadata", "name"]));
    let name = own_name.map_or(request.name.as_str(), |own| own);
    let is_new_namespace = is_create && (request.group.as_str(), request.resource.as_str()) == ("", "namespaces");
    Ok(NodeWrite {
        operation,
        group: &request.group,
        resource: &request.resource,
        subresource: &request.subresource,
        namespace: if is_new_namespace && request.namespace.is_empty() { name } else { &request.namespace },
        name,
        object: object.filter(|_| !is_removed),
        old: old.or(object.filter(|_| is_removed)),
    })
}

/// Asks Pod Security and the admission policies about the object after the MutatingAdmissionPolicies.
fn after_mutation(
    surroundings: &Surroundings,
    user: &UserInfo<'_>,
    write: &NodeWrite<'_>,
    mut asked: AdmissionRequest,
) -> Admission {
    let mut pod = write.object.map(to_json);
    match surroundings.mutated(&asked) {
        Ok(None) => {}
        Ok(Some(object)) => {
            pod = Some(object.clone());
            asked.object = Some(object);
        }
        Err(error) => return Admission::Unknown(error.to_string()),
    }
    match by_level(surroundings, user, write, pod.as_ref()) {
        Admission::Passes => by_policies(surroundings, &asked),
        decided => decided,
    }
}

/// Returns the SecurityContextConstraints that admit a new pod; none without admission by constraints.
fn by_constraints(
    loaded: &LoadedWorld,
    surroundings: &Surroundings,
    user: &UserInfo<'_>,
    write: &NodeWrite<'_>,
) -> Result<Option<AdmittingConstraints>, Admission> {
    let is_new_pod = write.operation == NodeOperation::Create
        && (write.group, write.resource, write.subresource) == ("", "pods", "");
    let Some(pod) = write.object.filter(|_| is_new_pod) else { return Ok(None) };
    let pod = Pod::read(pod)
        .map_err(|problem| Admission::Unknown(format!("admission cannot read the pod: {}", problem.message)))?;
    let gate = Gate::new(&loaded.world, &surroundings.admission);
    gate.constraints_for(user.identity, write.namespace, &pod).map_err(|reasons| {
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        Admission::Refuses(format!("no SecurityContextConstraints admit the pod{reasons}"))
    })
}

/// Asks Pod Security about a new pod, after all mutations. Of the changes of a pod it judges new ephemeral containers alone.
fn by_level(
    surroundings: &Surroundings,
    user: &UserInfo<'_>,
    write: &NodeWrite<'_>,
    object: Option<&Json>,
) -> Admission {
    let is_judged = match (write.operation, write.subresource) {
        (NodeOperation::Create, "") => true,
        (NodeOperation::Update, subresource) => subresource == "ephemeralcontainers",
        _ => false,
    };
    let is_pod = write.group.is_empty() && write.resource == "pods";
    let Some(pod) = object.filter(|_| is_judged && is_pod) else { return Admission::Passes };
    match surroundings.admission.refusal_by_level(&user.identity.user, write.namespace, pod) {
        Ok(None) => Admission::Passes,
        Ok(Some(reason)) => Admission::Refuses(reason),
        Err(problem) => Admission::Unknown(format!("Pod Security cannot read the pod: {}", problem.message)),
    }
}

/// Returns the request of a write, as the API server hands it to admission.
fn asked(user: &UserInfo<'_>, write: &NodeWrite<'_>, admitting: Option<&AdmittingConstraints>) -> AdmissionRequest {
    let of_object = |path: &[&str]| {
        let object = write.object.or(write.old);
        object.and_then(|object| object.path(path)).and_then(NodeRef::as_str).unwrap_or_default()
    };
    let (api_version, kind) = (of_object(&["apiVersion"]), of_object(&["kind"]));
    let name = if write.name.is_empty() { of_object(&["metadata", "name"]) } else { write.name };
    AdmissionRequest {
        user: user.identity.user.clone(),
        groups: user.identity.groups.clone(),
        extra: user.extra.clone(),
        operation: write.operation.word().to_owned(),
        api_group: write.group.to_owned(),
        version: api_version.rsplit('/').next().unwrap_or_default().to_owned(),
        resource: write.resource.to_owned(),
        subresource: write.subresource.to_owned(),
        kind: kind.to_owned(),
        namespace: write.namespace.to_owned(),
        name: name.to_owned(),
        object: write.object.map(|object| {
            let mut object = to_json(object);
            admitting.into_iter().for_each(|constraints| constraints.fill_in(&mut object));
            object
        }),
        old_object: write.old.map(to_json),
        ..AdmissionRequest::default()
    }
}

/// Asks the admission policies. A rejection by one policy decides.
fn by_policies(surroundings: &Surroundings, asked: &AdmissionRequest) -> Admission {
    let objections = surroundings.objections(asked);
    let refused = objections.iter().find(|(_, verdict)| verdict.answer == policy::PolicyAnswer::Deny);
    match (refused, objections.first()) {
        // The message names the policy.
        (Some((_, verdict)), _) => Admission::Refuses(verdict.message.clone()),
        (None, Some((name, verdict))) => {
            Admission::Unknown(format!("ValidatingAdmissionPolicy '{name}' has no known answer: {}", verdict.message))
        }
        (None, None) => Admission::Passes,
    }
}
