//! Nodes and edges of the graph.

use std::collections::HashMap;

use bailiwick_access::risk::EdgeKind;

use crate::inventory::{NamespaceId, SubjectId};
use crate::path::PathCertainty;
use crate::probes::ProbeKind;

/// The number of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    /// Returns the position in lists by node.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The meaning of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeKey {
    ClusterAdmin,
    /// Any user other than a service account.
    AnyUser,
    /// Any user, service account or group of a certificate.
    AnyCertificate,
    AnyAccount,
    /// Some node, selected by the attacker.
    SomeNode,
    /// Nodes with these names, sorted.
    NamedNodes(Vec<String>),
    /// All nodes with their pods.
    EveryNode,
    AllSecrets,
    /// Reading and rejecting objects.
    Admission,
    /// Changing objects.
    Mutation,
    /// The controller of an API group.
    Gitops(&'static str),
    Subject(SubjectId),
    NamespaceAdmin(NamespaceId),
    Secrets(NamespaceId),
    /// Every account of a namespace, as the target of one step.
    Accounts(NamespaceId),
    /// The accounts of the pods of a namespace, as the target of one step.
    PodAccounts(NamespaceId),
    /// The accounts of all pods, as the target of one step.
    AllPodAccounts,
    /// The accounts with a name in any namespace, as the target of one step.
    AccountsNamed(String),
    /// A subject that gained a role.
    Role(RoleState),
    /// Every Role of a namespace, to be gained.
    RolesOf(NamespaceId),
    /// Every Role of every namespace, to be gained.
    EveryRole,
}

/// A gained role in a scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RoleState {
    /// The namespace of a Role; none for a ClusterRole.
    pub(crate) home: Option<NamespaceId>,
    pub(crate) name: String,
    pub(crate) scope: RoleScope,
}

/// The scope of a gained role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RoleScope {
    Cluster,
    /// Any namespace, without objects of the cluster.
    AnyNamespace,
    Namespace(NamespaceId),
}

impl NodeKey {
    /// Whether the node is a list of targets, and not a node of a path.
    pub(crate) fn is_hub(&self) -> bool {
        matches!(
            self,
            NodeKey::Accounts(_)
                | NodeKey::PodAccounts(_)
                | NodeKey::AllPodAccounts
                | NodeKey::AccountsNamed(_)
                | NodeKey::RolesOf(_)
                | NodeKey::EveryRole
        )
    }

    /// Whether the node is a power over the whole cluster.
    pub(crate) fn is_of_cluster(&self) -> bool {
        matches!(
            self,
            NodeKey::ClusterAdmin
                | NodeKey::AnyUser
                | NodeKey::AnyCertificate
                | NodeKey::AnyAccount
                | NodeKey::SomeNode
                | NodeKey::NamedNodes(_)
                | NodeKey::EveryNode
                | NodeKey::AllSecrets
                | NodeKey::Admission
                | NodeKey::Mutation
                | NodeKey::Gitops(_)
                | NodeKey::AllPodAccounts
                | NodeKey::EveryRole
        )
    }
}

/// A proof of an edge: an entry of a list of met edges, in a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) list: u32,
    pub(crate) entry: u32,
    pub(crate) scope: Option<NamespaceId>,
}

/// A condition or limit of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Note {
    /// The namespace admits a pod.
    Admits(ProbeKind),
    /// The namespace admits a pod; its Namespace object is unknown.
    AdmitsUnknown(ProbeKind),
    /// Some namespace admits a pod.
    SomewhereAdmits(ProbeKind, NamespaceId),
    LegacyTokens,
    TokenSecret,
    NoPodsKnown,
    NoWorkloadsKnown,
    Certificates,
    NodeCertificates,
    SignerKey,
    Constrained,
    LaterWrite,
    OtherObjects,
    Scheduling,
    NamedNodes,
    ControllerElsewhere,
    ControllerUnknown,
    Aggregation,
}

/// An edge of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) kind: EdgeKind,
    /// A preparing step before the step itself.
    pub(crate) after: Option<EdgeKind>,
    pub(crate) to: NodeId,
    pub(crate) namespace: Option<NamespaceId>,
    pub(crate) certainty: PathCertainty,
    pub(crate) proof: Option<Proof>,
    /// The proof of the preparing step.
    pub(crate) after_proof: Option<Proof>,
    pub(crate) note: Option<Note>,
}

impl Edge {
    /// Returns a proven edge without a namespace.
    pub(crate) fn new(kind: EdgeKind, to: NodeId) -> Self {
        Self {
            kind,
            after: None,
            to,
            namespace: None,
            certainty: PathCertainty::Proven,
            proof: None,
            after_proof: None,
            note: None,
        }
    }

    pub(crate) fn at(mut self, namespace: Option<NamespaceId>) -> Self {
        self.namespace = namespace;
        self
    }

    pub(crate) fn by(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof;
        self
    }

    pub(crate) fn noted(mut self, note: Note) -> Self {
        self.note = Some(note);
        self
    }

    pub(crate) fn with(mut self, certainty: PathCertainty) -> Self {
        self.certainty = certainty;
        self
    }

    pub(crate) fn possible(self) -> Self {
        self.with(PathCertainty::Possible)
    }

    /// Puts a preparing step before.
    pub(crate) fn after(mut self, kind: EdgeKind, proof: Option<Proof>) -> Self {
        self.after = Some(kind);
        self.after_proof = proof;
        self
    }
}

/// The nodes, each with its edges.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) keys: Vec<NodeKey>,
    ids: HashMap<NodeKey, NodeId>,
    pub(crate) edges: Vec<Vec<Edge>>,
}

impl Graph {
    /// Returns the node of a key, and whether it is new.
    pub(crate) fn node(&mut self, key: NodeKey) -> (NodeId, bool) {
        if let Some(known) = self.ids.get(&key) {
            return (*known, false);
        }
        let id = NodeId(bailiwick_yaml::internal::number(self.keys.len()));
        self.ids.insert(key.clone(), id);
        self.keys.push(key);
        self.edges.push(Vec::new());
        (id, true)
    }

    /// Returns the node of a key, if it is known.
    pub(crate) fn find(&self, key: &NodeKey) -> Option<NodeId> {
        self.ids.get(key).copied()
    }

    /// Returns the meaning of a node.
    pub(crate) fn key(&self, node: NodeId) -> Option<&NodeKey> {
        self.keys.get(node.index())
    }

    /// Adds an edge.
    pub(crate) fn add(&mut self, from: NodeId, edge: Edge) {
        if let Some(edges) = self.edges.get_mut(from.index()) {
            edges.push(edge);
        }
    }

    /// Sorts the edges of each node: the order of equally short paths.
    pub(crate) fn sort(&mut self) {
        for edges in &mut self.edges {
            edges.sort_by_key(|edge| (edge.to, edge.kind, edge.namespace, edge.after, edge.certainty));
            edges.dedup();
        }
    }

    /// Returns the edges of a node.
    pub(crate) fn edges_of(&self, node: NodeId) -> &[Edge] {
        self.edges.get(node.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of steps of an edge: none from a list of targets.
    pub(crate) fn steps_of(&self, from: NodeId, edge: &Edge) -> usize {
        match (self.key(from).is_some_and(NodeKey::is_hub), edge.after) {
            (true, _) => 0,
            (false, None) => 1,
            (false, Some(_)) => 2,
        }
    }
}
