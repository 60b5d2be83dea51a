//! Objects of the control plane and its controllers: an import has them in no policy.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use bailiwick_kubernetes::rbac::GROUP;
use bailiwick_kubernetes::server_fields;
use bailiwick_yaml::{NodeId, NodeRef, from_json, schema};

use crate::access::harmless_difference;
use crate::normal::normalize;
use crate::object::{Object, ObjectKey};
use crate::values::{InternedValues, ValueId};

/// The Namespaces of every cluster (`pkg/controlplane/instance.go` of Kubernetes 1.37).
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The service accounts of controllers in every namespace: `default` (`pkg/controller/serviceaccount`), `builder` and
/// `deployer` (`pkg/serviceaccounts/controllers` of openshift-controller-manager).
const SERVICE_ACCOUNTS: [&str; 3] = ["builder", "default", "deployer"];

/// Kinds of objects of controllers and kubelets, with their groups.
const KINDS: [(&str, &str); 5] = [
    ("", "Endpoints"),
    ("", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("events.k8s.io", "Event"),
];

/// Markers of objects of the API server itself: a group and a kind, and a label or an annotation with its value.
const KEPT_BY_SERVER: [(&str, &str, &str, &str, &str); 3] = [
    ("apiregistration.k8s.io", "APIService", "labels", "kube-aggregator.kubernetes.io/automanaged", ""),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", "annotations", "apf.kubernetes.io/autoupdate-spec", "true"),
    (
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "annotations",
        "apf.kubernetes.io/autoupdate-spec",
        "true",
    ),
];

/// The fields of the tables of default policies beside the objects: the versions, and the condition.
const TABLE_FIELDS: [&str; 3] = ["minors", "releases", "capability"];

/// The reason for objects of controllers.
const CONTROLLERS: &str = "made by controllers";

/// The reason for objects of the API server itself.
const API_SERVER: &str = "made by the API server";

/// The objects of the control plane of a version.
#[derive(Debug)]
pub struct ControlPlane {
    default_policy: HashMap<ObjectKey, ValueId>,
}

impl ControlPlane {
    /// Returns the objects of a server of a minor. `policy` has the default policy of Kubernetes and of its platform, with the
    /// fields of its tables.
    pub fn new<'p>(minor: u32, policy: impl Iterator<Item = NodeRef<'p>>, values: &mut InternedValues) -> Self {
        let default_policy = policy.filter_map(|object| {
            let mut tree = from_json(&schema::to_json(object));
            let root = tree.document(0)?.id();
            let of_tables = TABLE_FIELDS.iter().filter_map(|field| tree.at(root).get(field));
            let of_tables: BTreeSet<NodeId> = of_tables.map(NodeRef::id).collect();
            server_fields::remove(&mut tree, root, &of_tables);
            normalize(&mut tree, root, minor);
            let value = values.intern_node(tree.at(root));
            Some((ObjectKey::of(values, value), value))
        });
        Self { default_policy: default_policy.collect() }
    }

    /// Returns the reason to leave an object out of the policies; none for an object of a person or a tool.
    pub fn reason_to_omit(&self, values: &InternedValues, object: &Object) -> Option<&'static str> {
        let Object { identity, value, .. } = object;
        let (group, kind, name) = (identity.group(), &*identity.kind, &*identity.name);
        if let Some(default) = self.default_policy.get(identity).filter(|_| group == GROUP) {
            let is_same = default == value || harmless_difference(values, *default, *value).is_some();
            return is_same.then_some("default policy of the version");
        }
        let has_own_fields = |allowed: &[&str]| {
            let metadata = values.at(*value, &["metadata"]);
            !values.has_only(*value, allowed)
                || !metadata.is_some_and(|metadata| values.has_only(metadata, &["name", "namespace"]))
        };
        match (group, kind) {
            _ if KINDS.contains(&(group, kind)) => Some(CONTROLLERS),
            ("", "Namespace") if NAMESPACES.contains(&name) && !has_own_fields(&["apiVersion", "kind", "metadata"]) => {
                Some(API_SERVER)
            }
            ("", "ServiceAccount")
                if SERVICE_ACCOUNTS.contains(&name)
                    && !has_own_fields(&["apiVersion", "kind", "metadata", "imagePullSecrets"]) =>
            {
                Some(CONTROLLERS)
            }
            // A Node of a repository has no status.
            ("", "Node") if values.at(*value, &["status"]).is_some() => Some("made by a kubelet"),
            // Its data would be in the repository of the policies.
            ("", "Secret") if object.is_live => Some("a Secret of a running cluster"),
            ("", "ConfigMap") if name == "kube-root-ca.crt" => Some(CONTROLLERS),
            ("", "Service") if name == "kubernetes" && &*identity.namespace == "default" => Some(API_SERVER),
            ("scheduling.k8s.io", "PriorityClass") if name.starts_with("system-") => Some(API_SERVER),
            _ => KEPT_BY_SERVER
                .iter()
                .find(|(of, known, section, key, wanted)| {
                    let found = values.at(*value, &["metadata", section, key]).and_then(|found| values.as_text(found));
                    (*of, *known) == (group, kind) && found.is_some_and(|found| wanted.is_empty() || found == *wanted)
                })
                .map(|_| API_SERVER),
        }
    }
}
