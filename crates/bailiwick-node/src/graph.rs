//! The paths from objects to nodes: the graph of the Node authorizer (`plugin/pkg/auth/authorizer/node/graph.go`).
//!
//! ```text
//! Secret, ConfigMap, ServiceAccount, ResourceClaim -> Pod -> Node
//! Secret -> PersistentVolume -> PersistentVolumeClaim -> Pod
//! VolumeAttachment, ResourceSlice, PodCertificateRequest -> Node
//! ```

use std::collections::{BTreeMap, HashMap};

use super::cluster::Cluster;
use super::pod::ClusterPod;
use super::reach::Reachable;
use super::version::FeatureGate;

/// The kinds of objects in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
#[expect(missing_docs, reason = "the names are kinds of Kubernetes")]
pub enum ObjectKind {
    ConfigMap,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodCertificateRequest,
    ResourceClaim,
    ResourceSlice,
    Secret,
    ServiceAccount,
    VolumeAttachment,
    Node,
}

impl ObjectKind {
    /// Returns the name of the kind.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::ConfigMap => "ConfigMap",
            ObjectKind::PersistentVolume => "PersistentVolume",
            ObjectKind::PersistentVolumeClaim => "PersistentVolumeClaim",
            ObjectKind::Pod => "Pod",
            ObjectKind::PodCertificateRequest => "PodCertificateRequest",
            ObjectKind::ResourceClaim => "ResourceClaim",
            ObjectKind::ResourceSlice => "ResourceSlice",
            ObjectKind::Secret => "Secret",
            ObjectKind::ServiceAccount => "ServiceAccount",
            ObjectKind::VolumeAttachment => "VolumeAttachment",
            ObjectKind::Node => "Node",
        }
    }
}

/// A vertex: an object that a node may reach.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphObject {
    /// Resource of the vertex.
    pub kind: ObjectKind,
    /// Its namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name in the namespace.
    pub name: String,
}

impl GraphObject {
    /// Names an object by kind, namespace and name.
    pub fn new(kind: ObjectKind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl std::fmt::Display for GraphObject {
    /// Prints `Secret a/web` or `Node n1`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{} {}", self.kind.word(), self.name)
        } else {
            write!(formatter, "{} {}/{}", self.kind.word(), self.namespace, self.name)
        }
    }
}

type Vertex = usize;

/// The graph of a cluster.
#[derive(Debug, Default)]
pub struct Graph {
    objects: Vec<GraphObject>,
    vertices: HashMap<GraphObject, Vertex>,
    /// Targets of the edges of each vertex.
    onward: Vec<Vec<Vertex>>,
    /// Sources of the edges to each vertex.
    back: Vec<Vec<Vertex>>,
}

impl Graph {
    /// Returns the graph of all objects of a cluster.
    pub fn from_cluster(cluster: &Cluster) -> Self {
        let mut graph = Self::default();
        cluster.pods.values().filter(|pod| !pod.node.is_empty()).for_each(|pod| graph.add_pod(pod));
        for (name, volume) in &cluster.volumes {
            let Some((namespace, claim)) = &volume.claim else { continue };
            let volume_vertex = graph.vertex(GraphObject::new(ObjectKind::PersistentVolume, "", name));
            let claim = graph.vertex(GraphObject::new(ObjectKind::PersistentVolumeClaim, namespace, claim));
            graph.connect(volume_vertex, claim);
            for (namespace, secret) in &volume.secrets {
                let secret = graph.vertex(GraphObject::new(ObjectKind::Secret, namespace, secret));
                graph.connect(secret, volume_vertex);
            }
        }
        let version = &cluster.version;
        let bound = |of: &BTreeMap<String, String>| {
            of.iter().filter(|(_, node)| !node.is_empty()).map(|(name, node)| (name.clone(), node.clone())).collect()
        };
        let mut at_nodes: Vec<(GraphObject, String)> = Vec::new();
        let mut add = |kind, bound: Vec<(String, String)>| {
            at_nodes.extend(bound.into_iter().map(|(name, node)| (GraphObject::new(kind, "", &name), node)));
        };
        add(ObjectKind::VolumeAttachment, bound(&cluster.attachments));
        // The API server watches these two kinds only in versions with them.
        if version.since(30) && version.is_on(FeatureGate::DynamicResourceAllocation) {
            add(ObjectKind::ResourceSlice, bound(&cluster.slices));
        }
        if version.is_on(FeatureGate::PodCertificateRequest) {
            let requests = cluster.certificate_requests.iter();
            at_nodes.extend(requests.map(|((namespace, name), node)| {
                (GraphObject::new(ObjectKind::PodCertificateRequest, namespace, name), node.clone())
            }));
        }
        if cluster.follows_node_configuration() {
            let sources = cluster.nodes.iter().filter_map(|(name, node)| Some((name, node.config_map.as_ref()?)));
            at_nodes.extend(sources.map(|(node, (namespace, name))| {
                (GraphObject::new(ObjectKind::ConfigMap, namespace, name), node.clone())
            }));
        }
        for (object, node) in at_nodes {
            let (object, node) = (graph.vertex(object), graph.vertex(GraphObject::new(ObjectKind::Node, "", &node)));
            graph.connect(object, node);
        }
        graph
    }

    /// Returns a graph with short paths from every object in reach of a node to this node.
    pub fn of_reach(reach: &Reachable<'_>, node: &str) -> Self {
        let mut graph = Self::default();
        let goal = graph.vertex(GraphObject::new(ObjectKind::Node, "", node));
        for object in reach.objects.keys() {
            let object = graph.vertex((*object).clone());
            graph.connect(object, goal);
        }
        graph
    }

    fn add_pod(&mut self, pod: &ClusterPod) {
        let vertex = self.vertex(GraphObject::new(ObjectKind::Pod, &pod.namespace, &pod.name));
        let node = self.vertex(GraphObject::new(ObjectKind::Node, "", &pod.node));
        self.connect(vertex, node);
        // A node writes its mirror pods itself: they open nothing to it.
        if pod.is_mirror {
            return;
        }
        let references = &pod.references;
        let account = std::slice::from_ref(&references.account);
        let lists = [
            (ObjectKind::ServiceAccount, account),
            (ObjectKind::Secret, references.secrets.as_slice()),
            (ObjectKind::ConfigMap, references.config_maps.as_slice()),
            (ObjectKind::PersistentVolumeClaim, references.claims.as_slice()),
            (ObjectKind::ResourceClaim, references.resource_claims.as_slice()),
        ];
        for (kind, names) in lists {
            for name in names.iter().filter(|name| !name.is_empty() || kind == ObjectKind::ResourceClaim) {
                let object = self.vertex(GraphObject::new(kind, &pod.namespace, name));
                self.connect(object, vertex);
            }
        }
    }

    fn vertex(&mut self, object: GraphObject) -> Vertex {
        if let Some(&known) = self.vertices.get(&object) {
            return known;
        }
        let vertex = self.objects.len();
        self.objects.push(object.clone());
        self.vertices.insert(object, vertex);
        self.onward.push(Vec::new());
        self.back.push(Vec::new());
        vertex
    }

    fn connect(&mut self, from: Vertex, to: Vertex) {
        if let Some(onward) = self.onward.get_mut(from) {
            onward.push(to);
        }
        if let Some(back) = self.back.get_mut(to) {
            back.push(from);
        }
    }

    /// Returns the path from an object to a node, both ends included; none without a path.
    pub fn way(&self, object: &GraphObject, node: &str) -> Option<Vec<&GraphObject>> {
        let start = *self.vertices.get(object)?;
        let goal = *self.vertices.get(&GraphObject::new(ObjectKind::Node, "", node))?;
        // Each vertex with the one it was reached from; the graph has no cycles, but a pod may be reached twice.
        let mut reached: HashMap<Vertex, Vertex> = HashMap::from([(start, start)]);
        let mut waiting = vec![start];
        while let Some(vertex) = waiting.pop() {
            if vertex == goal {
                let mut way = vec![vertex];
                let mut last = vertex;
                while let Some(&before) = reached.get(&last).filter(|before| **before != last) {
                    way.push(before);
                    last = before;
                }
                return Some(way.iter().rev().filter_map(|vertex| self.objects.get(*vertex)).collect());
            }
            for &next in self.onward.get(vertex).into_iter().flatten() {
                reached.entry(next).or_insert_with(|| {
                    waiting.push(next);
                    vertex
                });
            }
        }
        None
    }

    /// Returns every object with a path to a node, each with the next object on its path.
    pub fn reach(&self, node: &str) -> BTreeMap<&GraphObject, &GraphObject> {
        let mut reached = BTreeMap::new();
        let Some(&goal) = self.vertices.get(&GraphObject::new(ObjectKind::Node, "", node)) else { return reached };
        let mut waiting = vec![goal];
        while let Some(vertex) = waiting.pop() {
            let Some(next) = self.objects.get(vertex) else { continue };
            for &before in self.back.get(vertex).into_iter().flatten() {
                let Some(object) = self.objects.get(before) else { continue };
                reached.entry(object).or_insert_with(|| {
                    waiting.push(before);
                    next
                });
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectKind;

    #[test]
    fn data_and_text_have_the_same_names_of_kinds() {
        let kinds = [
            ObjectKind::ConfigMap,
            ObjectKind::PersistentVolume,
            ObjectKind::PersistentVolumeClaim,
            ObjectKind::Pod,
            ObjectKind::PodCertificateRequest,
            ObjectKind::ResourceClaim,
            ObjectKind::ResourceSlice,
            ObjectKind::Secret,
            ObjectKind::ServiceAccount,
            ObjectKind::VolumeAttachment,
            ObjectKind::Node,
        ];
        for kind in kinds {
            assert_eq!(serde_json::json!(kind), kind.word());
        }
    }
}
