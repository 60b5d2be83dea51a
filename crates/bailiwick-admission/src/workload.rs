//! Workloads: pods themselves, and the workload kinds of Kubernetes with their templates.
//!
//! Kinds of others are left out, however much they look like these: Pod Security does not know them either.

use std::fmt;

use super::pod::Pod;
use bailiwick_kubernetes::absent::{self, group_and_version, text_at};
use bailiwick_kubernetes::templates::KINDS;
pub use bailiwick_kubernetes::templates::template_of_kind;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::diag::Origin;

/// Returns the kind of a workload, and its template; a pod is its own template.
fn template_of(object: NodeRef<'_>) -> Option<(&'static str, NodeRef<'_>)> {
    let (group, _) = group_and_version(text_at(object, &["apiVersion"]));
    template_of_kind(group, text_at(object, &["kind"]), object)
}

/// Returns the template in the JSON of a workload.
pub fn template_within<'o>(kind: &str, object: &'o serde_json::Value) -> Option<&'o serde_json::Value> {
    let (_, _, path) = KINDS.iter().find(|(_, known, _)| *known == kind)?;
    path.iter().try_fold(object, |node, key| node.get(key))
}

/// Returns the template in the JSON of a workload, to change it.
pub(super) fn template_within_mut<'o>(
    kind: &str,
    object: &'o mut serde_json::Value,
) -> Option<&'o mut serde_json::Value> {
    let (_, _, path) = KINDS.iter().find(|(_, known, _)| *known == kind)?;
    path.iter().try_fold(object, |node, key| node.get_mut(key))
}

/// Returns the API group of a workload kind, and the path to its template.
pub fn template_path(kind: &str) -> Option<(&'static str, &'static [&'static str])> {
    let (group, _, path) = KINDS.iter().find(|(_, known, _)| *known == kind)?;
    Some((group, path))
}

/// Returns the API group and the resource of a workload kind.
pub(super) fn resource_of(kind: &str) -> Option<(&'static str, String)> {
    let (group, kind, _) = KINDS.iter().find(|(_, known, _)| *known == kind)?;
    Some((group, format!("{}s", kind.to_lowercase())))
}

/// An object with a pod template, or a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Kind in the manifest.
    pub kind: &'static str,
    /// Name in the manifest.
    pub name: String,
    /// Namespace; empty if the manifest has none.
    pub namespace: String,
    /// Its template as the API server holds it, or the pod itself.
    pub template: Pod,
    /// The location of the template.
    pub origin: Origin,
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slash, namespace) = if self.namespace.is_empty() { ("", "") } else { ("/", self.namespace.as_str()) };
        write!(formatter, "{}/{namespace}{slash}{}", self.kind, self.name)
    }
}

impl Workload {
    /// Reads an object; none if it brings no pods, or has no template.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read(object: NodeRef<'_>) -> Result<Option<Self>, DeError> {
        let text = |node: Option<NodeRef<'_>>| absent::text(node.and_then(NodeRef::as_str)).to_owned();
        let Some((kind, template)) = template_of(object) else { return Ok(None) };
        let read = if kind == "Pod" { Pod::read } else { Pod::read_template };
        let metadata = object.get("metadata");
        Ok(Some(Self {
            kind,
            name: text(metadata.and_then(|metadata| metadata.get("name"))),
            namespace: text(metadata.and_then(|metadata| metadata.get("namespace"))),
            template: read(template)?,
            origin: template.origin(),
        }))
    }

    /// Whether it is a pod, with an enforced level, or an object with a template, with warnings alone.
    pub fn is_pod(&self) -> bool {
        self.kind == "Pod"
    }

    /// Returns the pod of the workload, in its namespace.
    pub fn pod(&self) -> Pod {
        let mut pod = self.template.clone().defaulted();
        pod.metadata.namespace.clone_from(&self.namespace);
        pod
    }

    /// Returns the namespace of the object.
    pub fn namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }

    /// Returns the user that creates its pods: its controller. The empty text for a pod, which any user can create.
    ///
    /// The names are by `pkg/controller` of Kubernetes 1.37, for a controller manager with `--use-service-account-credentials`.
    pub fn creator(&self) -> &'static str {
        match self.kind {
            "CronJob" | "Job" => "system:serviceaccount:kube-system:job-controller",
            "DaemonSet" => "system:serviceaccount:kube-system:daemon-set-controller",
            "Deployment" | "ReplicaSet" => "system:serviceaccount:kube-system:replicaset-controller",
            "ReplicationController" => "system:serviceaccount:kube-system:replication-controller",
            "StatefulSet" => "system:serviceaccount:kube-system:statefulset-controller",
            _ => "",
        }
    }

    /// Returns the name of the service account of its pods.
    pub fn service_account(&self) -> &str {
        match self.template.spec.service_account_name.as_str() {
            "" => "default",
            name => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn read(text: &str) -> Result<Option<Workload>, DeError> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        Workload::read(tree.document(0).expect("a document"))
    }

    const TEMPLATE: &str = "{metadata: {labels: {a: b}}, spec: {hostNetwork: true, serviceAccountName: runner, \
                            containers: [{name: c, ports: [{containerPort: 80}]}]}}";

    #[test]
    fn every_kind_has_its_template() {
        for (group, kind, path) in KINDS.iter().filter(|(_, kind, _)| *kind != "Pod") {
            let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
            let inner = path.iter().rev().fold(TEMPLATE.to_owned(), |inner, key| format!("{{{key}: {inner}}}"));
            let inner = inner.strip_prefix('{').expect("a map");
            let text = format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: x, namespace: ns}}, {inner}");
            let workload = read(&text).expect("right types").unwrap_or_else(|| panic!("{kind} brings pods: {text}"));
            assert_eq!((workload.name.as_str(), workload.service_account()), ("x", "runner"), "{kind}");
            assert!(!workload.is_pod());
            // The ports of the node are in the pod, and not in its template.
            assert_eq!(workload.template.spec.containers[0].ports[0].host_port, 0);
            let pod = workload.pod();
            assert_eq!((pod.metadata.namespace.as_str(), pod.spec.containers[0].ports[0].host_port), ("ns", 80));
        }
    }

    #[test]
    fn a_pod_is_its_own_template() {
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {hostNetwork: true, \
                    containers: [{name: c, ports: [{containerPort: 80}]}]}}";
        let pod = read(text).expect("right types").expect("a pod");
        assert!(pod.is_pod());
        assert_eq!(pod.service_account(), "default");
        assert_eq!(pod.template.spec.containers[0].ports[0].host_port, 80);
    }

    #[test]
    fn what_brings_no_pods_is_none() {
        for text in [
            "{apiVersion: v1, kind: Service, spec: {template: {spec: {}}}}",
            "{apiVersion: example.com/v1, kind: Deployment, spec: {template: {spec: {}}}}",
            "{apiVersion: v1, kind: ReplicationController, spec: {template: null}}",
            "{apiVersion: v1, kind: ReplicationController}",
            "[]",
        ] {
            assert_eq!(read(text).expect("right types"), None, "{text}");
        }
        read("{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {hostPID: 1}}}}").expect_err("no boolean");
    }
}
