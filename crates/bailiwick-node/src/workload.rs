//! Workloads with the constraints on their nodes and their references.

use super::cluster::{NamespacedName, namespace_of};
use super::placement::Constraints;
use super::pod::{References, items};
use super::version::ServerVersion;
use super::volume::text;
use bailiwick_admission::workload::template_of_kind;
use bailiwick_yaml::NodeRef;

/// A source of pods on nodes unknown yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterWorkload {
    /// Kind of the object.
    pub kind: &'static str,
    /// Its namespace and name.
    pub id: NamespacedName,
    /// The references of its pods.
    pub references: References,
    /// The constraints on their nodes.
    pub constraints: Constraints,
    /// Prefix and suffix of the names of the claims made for its pods.
    pub made_claims: Vec<(String, String)>,
}

impl ClusterWorkload {
    /// Reads an object of a kind; none for a kind without pods, or for a bound pod.
    pub fn read(group: &str, kind: &str, object: NodeRef<'_>, version: &ServerVersion) -> Option<Self> {
        let (kind, template) = match (group, kind) {
            // OpenShift's own, before there were Deployments.
            ("apps.openshift.io", "DeploymentConfig") => ("DeploymentConfig", object.path(&["spec", "template"])?),
            _ => template_of_kind(group, kind, object)?,
        };
        let spec = template.get("spec")?;
        let is_bound = kind == "Pod" && text(spec, &["nodeName"]).is_some();
        // A template without a controller.
        if is_bound || kind == "PodTemplate" {
            return None;
        }
        let name = text(object, &["metadata", "name"])?;
        let namespace = namespace_of(object);
        let mut references = References::read(spec, version);
        if kind == "Pod" {
            // The name is known, and therefore the names of the claims made for it.
            let made = std::mem::take(&mut references.ephemeral);
            references.claims.extend(made.iter().map(|volume| format!("{name}-{volume}")));
        }
        let made_for_pods = references.ephemeral.iter().map(|volume| (format!("{name}-"), format!("-{volume}")));
        let own = object.get("spec").into_iter().flat_map(|spec| items(spec, "volumeClaimTemplates"));
        let kept = own.filter_map(|template| text(template, &["metadata", "name"]));
        let made_claims = made_for_pods.chain(kept.map(|claim| (format!("{claim}-{name}-"), String::new()))).collect();
        Some(Self {
            kind,
            id: (namespace.to_owned(), name.to_owned()),
            constraints: Constraints::read(spec, kind == "DaemonSet"),
            references,
            made_claims,
        })
    }

    /// Whether every possible node has a pod of it.
    pub fn is_daemon(&self) -> bool {
        self.kind == "DaemonSet"
    }

    /// Returns the service account of its pods.
    pub fn account(&self) -> &str {
        if self.references.account.is_empty() { "default" } else { &self.references.account }
    }

    /// Whether this is a claim in its namespace made for one of its pods.
    pub fn makes_claim(&self, claim: &str) -> bool {
        let fits = |(start, end): &(String, String)| {
            claim
                .strip_prefix(start.as_str())
                .is_some_and(|rest| rest.len() > end.len() && rest.ends_with(end.as_str()))
        };
        self.made_claims.iter().any(fits)
    }
}

impl std::fmt::Display for ClusterWorkload {
    /// Prints `DaemonSet kube-system/agent`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}/{}", self.kind, self.id.0, self.id.1)
    }
}
