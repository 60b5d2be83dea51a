//! The labels allowed to a kubelet on its own Node (`k8s.io/kubelet/pkg/apis/well_known_labels.go`).

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use bailiwick_yaml::NodeRef;

/// Labels of Kubernetes allowed to a kubelet.
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Domains with all labels below allowed to a kubelet.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// The domain with all labels below forbidden to a kubelet, for the isolation of nodes.
const RESTRICTED: &str = "node-restriction.kubernetes.io";

/// The roles allowed to a node at its registration by OpenShift.
const OPENSHIFT_ROLES: [&str; 5] = ["control-plane", "master", "worker", "etcd", "arbiter"];

/// Returns the part of a label's key before the slash.
fn domain(key: &str) -> &str {
    key.split_once('/').map_or("", |(domain, _)| domain)
}

fn is_within(domain: &str, whole: &str) -> bool {
    domain == whole || domain.strip_suffix(whole).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether this is a label of Kubernetes for kubelets.
pub fn is_kubelet_label(key: &str) -> bool {
    KUBELET_LABELS.contains(&key) || KUBELET_DOMAINS.iter().any(|whole| is_within(domain(key), whole))
}

/// Whether NodeRestriction always allows a kubelet to set the label on its own Node. A controlled node can attract
/// pods limited to nodes with such a label.
pub fn is_settable_by_kubelet(key: &str) -> bool {
    let domain = domain(key);
    let is_of_kubernetes = ["kubernetes.io", "k8s.io"].iter().any(|whole| is_within(domain, whole));
    !is_within(domain, RESTRICTED) && (!is_of_kubernetes || is_kubelet_label(key))
}

/// Whether this is a label forbidden to all kubelets.
pub(crate) fn is_restricted(key: &str) -> bool {
    is_within(domain(key), RESTRICTED)
}

/// Returns the changed labels of a Node outside of its kubelet's permission.
pub(super) fn forbidden(cluster: &Cluster, new: NodeRef<'_>, old: Option<NodeRef<'_>>) -> Vec<String> {
    let version = &cluster.version;
    if !version.since(13) {
        return Vec::new();
    }
    let labels = |node: NodeRef<'_>| {
        let labels = node.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
        let text =
            |(key, value): (NodeRef<'_>, NodeRef<'_>)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned()));
        labels.filter_map(text).collect::<BTreeSet<(String, String)>>()
    };
    let (new, is_creation) = (labels(new), old.is_none());
    let old = old.map_or_else(BTreeSet::new, labels);
    let changed: BTreeSet<&String> = new.symmetric_difference(&old).map(|(key, _)| key).collect();
    let is_forbidden = |key: &String| {
        // Until 1.18 a Node could register with any unrestricted label.
        if is_creation && !version.since(19) {
            return is_restricted(key);
        }
        let role = key.strip_prefix("node-role.kubernetes.io/");
        let is_openshift_role =
            cluster.is_openshift && is_creation && role.is_some_and(|role| OPENSHIFT_ROLES.contains(&role));
        !is_settable_by_kubelet(key) && !is_openshift_role
    };
    changed.into_iter().filter(|key| is_forbidden(key)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_a_kubelet_may_set() {
        for key in ["team", "example.com/team", "kubernetes.io/os", "kubelet.kubernetes.io/x", "a.node.kubernetes.io/x"]
        {
            assert!(is_settable_by_kubelet(key), "{key}");
        }
        for key in [
            "node-restriction.kubernetes.io/x",
            "example.com.node-restriction.kubernetes.io/x",
            "node-role.kubernetes.io/worker",
            "xkubelet.kubernetes.io/x",
            "k8s.io/x",
            "a.k8s.io/x",
        ] {
            assert!(!is_settable_by_kubelet(key), "{key}");
        }
        assert!(is_settable_by_kubelet("xk8s.io/x") && is_settable_by_kubelet("kubernetes.io"));
    }
}
