//! Workloads with a token, and the service accounts of their pods.

use std::collections::{BTreeMap, BTreeSet};

use super::world::ObjectSource;
use bailiwick_kubernetes::templates::template_of_kind;
use bailiwick_yaml::NodeRef;

/// The kind, namespace and name of a workload.
type WorkloadId = (&'static str, String, String);

/// The kind and the name of an object. An object without a namespace has the namespace `default`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectReference<'o> {
    pub(super) group: &'o str,
    pub(super) kind: &'o str,
    pub(super) namespace: &'o str,
    pub(super) name: &'o str,
}

/// A workload with pods with a token of their service account.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    /// The workload, as `Deployment/namespace/name`.
    pub(crate) workload: String,
    /// The namespace and name of the service account.
    pub(crate) account: (String, String),
    /// The place of the pod template.
    pub(crate) layer: ObjectSource,
}

/// The workloads and service accounts read so far. A later object replaces an earlier one of its name.
#[derive(Debug, Default)]
pub(super) struct Workloads {
    /// By workload the service account, the decision of the template about tokens, and the place.
    pods: BTreeMap<WorkloadId, (String, Option<bool>, ObjectSource)>,
    /// The namespaces and names of the service accounts without tokens for their pods, unless the template decides
    /// otherwise.
    without_token: BTreeSet<(String, String)>,
}

impl Workloads {
    /// Reads a ServiceAccount.
    pub(super) fn add_account(&mut self, object: NodeRef<'_>, namespace: &str, name: &str) {
        let account = (namespace.to_owned(), name.to_owned());
        if object.get("automountServiceAccountToken").and_then(NodeRef::as_bool) == Some(false) {
            self.without_token.insert(account);
        } else {
            self.without_token.remove(&account);
        }
    }

    /// Reads an object of any other kind. Pods of another workload are left out: the workload represents them.
    pub(super) fn add(&mut self, reference: ObjectReference<'_>, object: NodeRef<'_>, layer: ObjectSource) {
        let ObjectReference { group, kind, namespace, name } = reference;
        let found = match (group, kind) {
            // Kinds of OpenShift have no line in the table of Pod Security.
            ("apps.openshift.io", "DeploymentConfig") => {
                object.path(&["spec", "template"]).map(|template| ("DeploymentConfig", template))
            }
            (_, "PodTemplate") => None,
            _ => template_of_kind(group, kind, object),
        };
        let Some((kind, template)) = found else { return };
        let Some(spec) = template.get("spec").filter(|_| !is_made_by_workload(object)) else { return };
        let text = |key| spec.get(key).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
        let account = text("serviceAccountName").or_else(|| text("serviceAccount"));
        let automounts = spec.get("automountServiceAccountToken").and_then(NodeRef::as_bool);
        let has_token = if projects_token(spec) { Some(true) } else { automounts };
        let place = match layer {
            // A compiled object has the place of its policy.
            ObjectSource::Input(place) if place == object.origin() => ObjectSource::Input(template.origin()),
            ObjectSource::Input(_) | ObjectSource::Dump(_) | ObjectSource::Baseline => layer,
        };
        let id = (kind, namespace.to_owned(), name.to_owned());
        self.pods.insert(id, (account_or_default(account).to_owned(), has_token, place));
    }

    /// Returns the workloads with pods with a token, by kind, namespace and name.
    pub(super) fn finish(self) -> Vec<Running> {
        let Self { pods, without_token } = self;
        let running = pods.into_iter().filter_map(|((kind, namespace, name), (account, has_token, layer))| {
            let workload = format!("{kind}/{namespace}/{name}");
            let account = (namespace, account);
            // The pod's own field comes before the account's.
            let has_token = has_token == Some(true) || has_token.is_none() && !without_token.contains(&account);
            has_token.then_some(Running { workload, account, layer })
        });
        running.collect()
    }
}

/// Returns the account of a pod: `default` for a pod that names none, as the admission plugin `ServiceAccount` of the API
/// server sets it (`plugin/pkg/admission/serviceaccount/admission.go` of Kubernetes 1.37).
fn account_or_default(account: Option<&str>) -> &str {
    account.unwrap_or("default")
}

/// Whether another workload of these kinds makes an object.
fn is_made_by_workload(object: NodeRef<'_>) -> bool {
    let owners = object.path(&["metadata", "ownerReferences"]).into_iter().flat_map(NodeRef::items);
    let mut controllers = owners.filter(|owner| owner.get("controller").and_then(NodeRef::as_bool) == Some(true));
    controllers.any(|owner| {
        let text = |key| owner.text_at(key);
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        matches!(
            (group, text("kind")),
            ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
                | ("batch", "CronJob" | "Job")
                | ("" | "apps.openshift.io", "ReplicationController" | "DeploymentConfig")
        )
    })
}

/// Whether a volume brings a token for the API server.
fn projects_token(spec: NodeRef<'_>) -> bool {
    let volumes = spec.get("volumes").into_iter().flat_map(NodeRef::items);
    let sources = volumes.filter_map(|volume| volume.path(&["projected", "sources"])).flat_map(NodeRef::items);
    let mut tokens = sources.filter_map(|source| source.get("serviceAccountToken"));
    // A token for another audience is worth nothing to the API server.
    tokens.any(|token| token.get("audience").and_then(NodeRef::as_str).is_none_or(str::is_empty))
}
