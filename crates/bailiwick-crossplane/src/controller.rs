//! The controller of a package in `install.yaml`, as the manager creates it: a Deployment or a Job in the namespace of
//! the install, with the name and the account of the install (`pkg/controller/stacks/stack` of Crossplane v0.9). From
//! v0.11 on the manager also replaces the security context of each container.

use serde_json::{Map, Value, json};

use super::install::Install;
use super::revision::ManagerRevision;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::schema::to_json;

/// The controller of a package.
#[derive(Debug, Clone)]
pub struct Controller {
    /// The object as the package has it.
    object: Value,
    /// The location of the object.
    pub origin: Origin,
}

impl Controller {
    /// Reads a document of `install.yaml`; none for a kind without pods.
    pub fn read(root: NodeRef<'_>) -> Option<Self> {
        let kind = root.get("kind").and_then(NodeRef::as_str)?;
        matches!(kind, "Deployment" | "Job").then(|| Self { object: to_json(root), origin: root.beginning() })
    }

    fn pod(&self) -> Option<&Map<String, Value>> {
        self.object.pointer("/spec/template/spec").and_then(Value::as_object)
    }

    /// Returns the account in the package; the manager replaces it.
    pub fn named_account(&self) -> Option<&str> {
        let pod = self.pod()?;
        let named = ["serviceAccountName", "serviceAccount"].into_iter().find_map(|key| pod.get(key)?.as_str());
        named.filter(|name| !name.is_empty())
    }

    /// Returns the parts of the node used by its pods, as texts, without the parts replaced by the manager.
    pub fn on_node(&self, revision: ManagerRevision) -> Vec<&'static str> {
        let Some(pod) = self.pod() else { return Vec::new() };
        let is_on = |key: &str| pod.get(key).and_then(Value::as_bool) == Some(true);
        let mut parts = Vec::new();
        for (key, words) in [
            ("hostNetwork", "the network of the node"),
            ("hostPID", "the processes of the node"),
            ("hostIPC", "the inter-process communication of the node"),
        ] {
            parts.extend(is_on(key).then_some(words));
        }
        let items = |key: &str| pod.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut containers = items("containers").chain(items("initContainers"));
        let is_privileged =
            |container: &Value| container.pointer("/securityContext/privileged").and_then(Value::as_bool) == Some(true);
        if revision != ManagerRevision::PackageManager && containers.any(is_privileged) {
            parts.push("privileged containers");
        }
        if items("volumes").any(|volume| volume.get("hostPath").is_some_and(|path| !path.is_null())) {
            parts.push("paths of the node");
        }
        parts
    }

    /// Returns the object as the manager makes it for an install.
    pub fn made_for(&self, install: &Install, revision: ManagerRevision) -> Value {
        let mut object = self.object.clone();
        if let Some(map) = object.as_object_mut() {
            let metadata = json!({ "name": format!("{}-controller", install.name), "namespace": install.namespace });
            map.insert("metadata".to_owned(), metadata);
        }
        let Some(pod) = object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) else { return object };
        pod.remove("serviceAccount");
        pod.insert("serviceAccountName".to_owned(), install.name.as_str().into());
        if revision == ManagerRevision::PackageManager {
            for list in ["containers", "initContainers"] {
                let containers = pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
                for container in containers.filter_map(Value::as_object_mut) {
                    let context =
                        json!({ "allowPrivilegeEscalation": false, "privileged": false, "runAsNonRoot": true });
                    container.insert("securityContext".to_owned(), context);
                }
            }
        }
        object
    }
}
