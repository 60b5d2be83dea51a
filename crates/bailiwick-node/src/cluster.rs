//! The objects with an effect on the permissions of nodes, from any source.

use super::volume::DriverError;
use bailiwick_kubernetes::absent;
use std::collections::{BTreeMap, BTreeSet};

use super::placement::Constraints;
use super::pod::{ClusterPod, items};
use super::version::{FeatureGate, ServerVersion};
use super::volume::{driver_of, field, secrets_of_persistent, text};
use super::workload::ClusterWorkload;
use bailiwick_yaml::NodeRef;

/// A namespace and a name.
pub type NamespacedName = (String, String);

/// The type of Secrets with a token of a service account.
const TOKEN_SECRET: &str = "kubernetes.io/service-account-token";

/// The annotation of such a Secret with the name of the service account.
const ACCOUNT_OF_TOKEN: &str = "kubernetes.io/service-account.name";

/// The known objects of a cluster.
#[derive(Debug)]
pub struct Cluster {
    /// The version of its API server.
    pub version: ServerVersion,
    /// Whether it is OpenShift, with a NodeRestriction open to registration with a role.
    pub is_openshift: bool,
    /// Its nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// Pods by namespace and name.
    pub pods: BTreeMap<NamespacedName, ClusterPod>,
    /// Workloads with pods on nodes unknown yet, by kind and name.
    pub workloads: BTreeMap<(&'static str, NamespacedName), ClusterWorkload>,
    /// Its PersistentVolumeClaims, with the volume of each; empty for none.
    pub claims: BTreeMap<NamespacedName, String>,
    /// Its PersistentVolumes.
    pub volumes: BTreeMap<String, PersistentVolume>,
    /// The node of each VolumeAttachment.
    pub attachments: BTreeMap<String, String>,
    /// The node of each ResourceSlice with one.
    pub slices: BTreeMap<String, String>,
    /// The node of each PodCertificateRequest.
    pub certificate_requests: BTreeMap<NamespacedName, String>,
    /// Its ServiceAccounts.
    pub accounts: BTreeMap<NamespacedName, ServiceAccount>,
    /// The account of each Secret with a token of a service account.
    pub token_secrets: BTreeMap<NamespacedName, String>,
    /// The additions of each RuntimeClass to its pods.
    pub runtime_classes: BTreeMap<String, Constraints>,
    /// The audiences of tokens requested by each CSIDriver.
    pub drivers: BTreeMap<String, Vec<String>>,
}

/// The relevant parts of a Node object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its UID; empty if the object has none.
    pub uid: String,
    /// Labels by key.
    pub labels: BTreeMap<String, String>,
    /// Taints in the object.
    pub taints: Vec<Taint>,
    /// The ConfigMap with its configuration, in minors with this field.
    pub config_map: Option<NamespacedName>,
}

/// The data of a service account that matter to its pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its UID; empty if the object has none.
    pub uid: String,
    /// Secrets added to every pod of the account at its creation, unless the pod names some itself.
    pub pull_secrets: Vec<String>,
}

/// A taint of a node against pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Label-like key.
    pub key: String,
    /// Its value; empty for none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A volume of the cluster with its claim and its Secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistentVolume {
    /// The claim it is bound to.
    pub claim: Option<NamespacedName>,
    /// The Secrets it lets a kubelet read.
    pub secrets: Vec<NamespacedName>,
    /// Its CSI driver, or the reason for an unknown driver.
    pub driver: Result<Option<String>, DriverError>,
}

impl Cluster {
    /// Returns a cluster without objects.
    pub fn new(version: ServerVersion) -> Self {
        Self {
            version,
            is_openshift: false,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            workloads: BTreeMap::new(),
            claims: BTreeMap::new(),
            volumes: BTreeMap::new(),
            attachments: BTreeMap::new(),
            slices: BTreeMap::new(),
            certificate_requests: BTreeMap::new(),
            accounts: BTreeMap::new(),
            token_secrets: BTreeMap::new(),
            runtime_classes: BTreeMap::new(),
            drivers: BTreeMap::new(),
        }
    }

    /// Adds an object; other kinds have no effect. Of two objects with one name the last counts.
    pub fn add(&mut self, object: NodeRef<'_>) {
        self.add_as(absent::text_at(object, &["apiVersion"]), absent::text_at(object, &["kind"]), object);
    }

    /// Adds an object with an API version and kind from elsewhere, such as a typed list.
    pub fn add_as(&mut self, api_version: &str, kind: &str, object: NodeRef<'_>) {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let Some(name) = text(object, &["metadata", "name"]).map(str::to_owned) else { return };
        let own = |path: &[&str]| absent::text_at(object, path).to_owned();
        let named = |name: String| (namespace_of(object).to_owned(), name);
        match (group, kind) {
            ("", "Node") => {
                self.nodes.insert(name, Node::read(object));
            }
            ("", "Pod") => {
                let pod = ClusterPod::read(object, &self.version);
                let id = named(name);
                self.pods.insert(id.clone(), ClusterPod { namespace: id.0.clone(), ..pod });
                match ClusterWorkload::read(group, kind, object, &self.version) {
                    Some(pending) => self.add_workload(pending),
                    // It was bound to a node since.
                    None => _ = self.workloads.remove(&("Pod", id)),
                }
            }
            ("", "PersistentVolumeClaim") => {
                self.claims.insert(named(name), own(&["spec", "volumeName"]));
            }
            ("", "PersistentVolume") => {
                self.volumes.insert(name, PersistentVolume::read(object, &self.version));
            }
            ("", "ServiceAccount") => {
                self.accounts.insert(named(name), ServiceAccount::read(object));
            }
            ("", "Secret") => {
                self.token_secrets.extend(account_of_token(object).map(|account| (named(name), account.to_owned())));
            }
            ("storage.k8s.io", "VolumeAttachment") => {
                self.attachments.insert(name, own(&["spec", "nodeName"]));
            }
            ("node.k8s.io", "RuntimeClass") => {
                // An object without `scheduling` has no such fields either.
                let scheduling = object.get("scheduling").unwrap_or(object);
                self.runtime_classes.insert(name, Constraints::read(scheduling, false));
            }
            ("storage.k8s.io", "CSIDriver") => {
                let requests = object.path(&["spec", "tokenRequests"]).into_iter().flat_map(NodeRef::items);
                let audience = |request| absent::text_at(request, &["audience"]).to_owned();
                self.drivers.insert(name, requests.map(audience).collect());
            }
            ("resource.k8s.io", "ResourceSlice") => {
                // Its first version had the node beside its metadata.
                let node = text(object, &["spec", "nodeName"]).or_else(|| text(object, &["nodeName"]));
                self.slices.insert(name, absent::text(node).to_owned());
            }
            ("certificates.k8s.io", "PodCertificateRequest") => {
                self.certificate_requests.insert(named(name), own(&["spec", "nodeName"]));
            }
            ("" | "apps" | "batch" | "apps.openshift.io", _) => {
                if let Some(workload) = ClusterWorkload::read(group, kind, object, &self.version) {
                    self.add_workload(workload);
                }
            }
            _ => {}
        }
    }

    /// Returns the names of all nodes: the known ones, and the nodes of bound objects.
    pub fn node_names(&self) -> BTreeSet<&str> {
        let bound = self.pods.values().map(|pod| pod.node.as_str());
        let attached = self.attachments.values().map(String::as_str);
        let names = self.nodes.keys().map(String::as_str).chain(bound).chain(attached);
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Whether the API server tracks the ConfigMaps with the configuration of nodes.
    pub(super) fn follows_node_configuration(&self) -> bool {
        !self.version.since(26) && self.version.is_on(FeatureGate::DynamicKubeletConfig)
    }

    fn add_workload(&mut self, workload: ClusterWorkload) {
        self.workloads.insert((workload.kind, workload.id.clone()), workload);
    }
}

/// Returns the account of a Secret with a token; none for another Secret.
fn account_of_token(secret: NodeRef<'_>) -> Option<&str> {
    let account = secret.path(&["metadata", "annotations"])?.text_at(ACCOUNT_OF_TOKEN);
    (absent::text_at(secret, &["type"]) == TOKEN_SECRET && !account.is_empty()).then_some(account)
}

/// Returns the namespace of a namespaced object: `default` where the manifest names none, as kubectl fills it in.
pub(super) fn namespace_of<'t>(object: NodeRef<'t>) -> &'t str {
    text(object, &["metadata", "namespace"]).unwrap_or("default")
}

impl Node {
    /// Reads a Node of the API.
    pub fn read(object: NodeRef<'_>) -> Self {
        let labels = object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
        let labels = labels.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())));
        let taints = object.path(&["spec", "taints"]).into_iter().flat_map(NodeRef::items);
        let source = object.path(&["spec", "configSource", "configMap"]);
        Self {
            uid: absent::text_at(object, &["metadata", "uid"]).to_owned(),
            labels: labels.collect(),
            taints: taints.map(Taint::read).collect(),
            config_map: source.and_then(|source| {
                Some((text(source, &["namespace"])?.to_owned(), text(source, &["name"])?.to_owned()))
            }),
        }
    }
}

impl ServiceAccount {
    fn read(object: NodeRef<'_>) -> Self {
        let pull = items(object, "imagePullSecrets").filter_map(|secret| text(secret, &["name"]));
        Self {
            uid: absent::text_at(object, &["metadata", "uid"]).to_owned(),
            pull_secrets: pull.map(str::to_owned).collect(),
        }
    }
}

impl Taint {
    /// Reads key, value and effect.
    pub fn read(taint: NodeRef<'_>) -> Self {
        let own = |key| absent::text_at(taint, &[key]).to_owned();
        Self { key: own("key"), value: own("value"), effect: own("effect") }
    }
}

impl PersistentVolume {
    fn read(object: NodeRef<'_>, version: &ServerVersion) -> Self {
        let Some(spec) = field(object, "spec") else {
            return Self { claim: None, secrets: Vec::new(), driver: Ok(None) };
        };
        let claim = field(spec, "claimRef").map(|claim| {
            let own = |key| absent::text_at(claim, &[key]).to_owned();
            (own("namespace"), own("name"))
        });
        // The Secret for expanding on the node came with 1.25.
        let secrets = secrets_of_persistent(spec, version.since(25));
        Self { claim, secrets, driver: driver_of(spec, version.since(33)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    #[test]
    fn of_two_pods_with_one_name_the_last_counts() {
        let mut cluster = Cluster::new(ServerVersion::new(30).expect("a version"));
        let mut add = |name: &str, spec: &str| {
            let text =
                format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: team}}\nspec: {spec}\n");
            let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
            cluster.add(tree.document(0).expect("a document"));
            cluster.workloads.values().map(ClusterWorkload::to_string).collect::<Vec<_>>()
        };
        add("a", "{}");
        assert_eq!(add("b", "{}"), ["Pod team/a", "Pod team/b"]);
        assert_eq!(add("a", "{nodeName: node}"), ["Pod team/b"], "it waits for no node any more");
        assert_eq!(add("b", "{serviceAccountName: app}"), ["Pod team/b"]);
        assert_eq!(add("a", "{}"), ["Pod team/a", "Pod team/b"]);
        assert_eq!(add("b", "{nodeName: node}"), ["Pod team/a"]);
        let accounts: Vec<&str> = cluster.workloads.values().map(ClusterWorkload::account).collect();
        assert_eq!(accounts, ["default"]);
    }
}
