//! The decision of the Node authorizer about a request of a node
//! (`plugin/pkg/auth/authorizer/node/node_authorizer.go`): it allows or has no opinion, and then another authorizer
//! may still allow.

use super::graph::{Graph, GraphObject, ObjectKind};
use super::identity::NodeIdentity;
use super::system_node;
use super::version::{FeatureGate, ServerVersion};
use bailiwick_access::{Identity, Request, ResourceRequest};
use bailiwick_kubernetes::rbac::PolicyRule;
use std::error::Error;
use std::fmt;

/// The namespace of node leases.
pub const LEASES: &str = "kube-node-lease";

/// The decision of the authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAuthorization {
    /// It allows, and why.
    Allow(NodeReason),
    /// No opinion, with the reason; the reason may be empty.
    NoOpinion(String),
}

/// Why a node may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeReason {
    /// A way leads from the object to the node.
    Way(Vec<GraphObject>),
    /// A rule of `system:node` for all nodes.
    Rule(PolicyRule),
    /// The request is about the node itself, or limited to its own objects.
    Own,
    /// The object is only looked at when it is written, by NodeRestriction.
    LeftToAdmission,
}

impl NodeAuthorization {
    /// Whether it allows.
    pub fn is_allowed(&self) -> bool {
        matches!(self, NodeAuthorization::Allow(_))
    }
}

/// A requirement of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    /// Path to compare.
    pub field: String,
    /// True when it has to be equal, false when it must not.
    pub is_equal: bool,
    /// Value to compare with.
    pub value: String,
}

/// An error of reading a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldSelectorError {
    /// A part without an operator.
    NoRequirement(String),
    /// A value with a backslash before a plain character.
    NeedlessBackslash(String),
    /// A value with an operator or a comma without a backslash.
    Unescaped {
        /// The whole value.
        value: String,
        /// The character.
        letter: char,
    },
}

impl fmt::Display for FieldSelectorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRequirement(part) => write!(formatter, "`{part}` is no requirement of a field"),
            Self::NeedlessBackslash(value) => {
                write!(formatter, "`{value}` has a backslash before nothing that needs one")
            }
            Self::Unescaped { value, letter } => write!(formatter, "`{value}` has a `{letter}` without a backslash"),
        }
    }
}

impl Error for FieldSelectorError {}

/// Reads a field selector of a URL (`k8s.io/apimachinery/pkg/fields`): requirements `a=b`, `a==b` or `a!=b` with
/// commas between them; a backslash makes the next character a plain one.
///
/// # Errors
/// The invalid requirement.
pub fn field_selector(text: &str) -> Result<Vec<FieldRequirement>, FieldSelectorError> {
    let mut requirements = Vec::new();
    for part in split_unescaped(text) {
        if part.is_empty() {
            continue;
        }
        let (field, is_equal, value) =
            split_operator(part).ok_or_else(|| FieldSelectorError::NoRequirement(part.to_owned()))?;
        requirements.push(FieldRequirement { field: field.to_owned(), is_equal, value: unescape(value)? });
    }
    Ok(requirements)
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (position, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ',' => {
                parts.extend(text.get(start..position));
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}

/// Returns the first operator in a requirement decides.
fn split_operator(part: &str) -> Option<(&str, bool, &str)> {
    (0..part.len()).find_map(|position| {
        let (field, rest) = part.split_at_checked(position)?;
        let operators = [("!=", false), ("==", true), ("=", true)];
        operators.iter().find_map(|(operator, is_equal)| Some((field, *is_equal, rest.strip_prefix(operator)?)))
    })
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                _ => return Err(FieldSelectorError::NeedlessBackslash(value.to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped { value: value.to_owned(), letter }),
            letter => plain.push(letter),
        }
    }
    Ok(plain)
}

/// The authorizer of a cluster.
#[derive(Debug)]
pub struct Authorizer<'c> {
    version: &'c ServerVersion,
    graph: &'c Graph,
    rules: Vec<PolicyRule>,
}

impl<'c> Authorizer<'c> {
    /// Returns the authorizer of a version, with the graph of the cluster.
    pub fn new(version: &'c ServerVersion, graph: &'c Graph) -> Self {
        Self { version, graph, rules: system_node::rules(version) }
    }

    /// Decides about a request.
    pub fn decide(&self, who: &Identity, request: &Request, selector: &[FieldRequirement]) -> NodeAuthorization {
        let node = match NodeIdentity::from_identity(who) {
            NodeIdentity::None => return NodeAuthorization::NoOpinion(String::new()),
            NodeIdentity::Unnamed => return no(format!("unknown node: the user `{}` names none", who.user)),
            NodeIdentity::Node(node) => node,
        };
        let Request::Resource(resource) = request else { return self.by_rules(request) };
        let asked = Asked { authorizer: self, node, request: resource, selector };
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "secrets") => asked.readable(ObjectKind::Secret),
            ("", "configmaps") => asked.readable(ObjectKind::ConfigMap),
            ("", "persistentvolumeclaims") => asked.claim(),
            ("", "persistentvolumes") => asked.single(ObjectKind::PersistentVolume),
            ("resource.k8s.io", "resourceclaims") if self.version.since(28) => asked.single(ObjectKind::ResourceClaim),
            ("storage.k8s.io", "volumeattachments") if self.version.since(9) => asked.attachment(),
            ("", "serviceaccounts") if self.version.since(10) => asked.account(),
            ("coordination.k8s.io", "leases") if self.version.since(12) => asked.lease(),
            ("storage.k8s.io", "csinodes") if self.version.since(14) => asked.csi_node(),
            ("csi.storage.k8s.io", "csinodeinfos") if (12..14).contains(&self.version.minor()) => asked.csi_node(),
            ("resource.k8s.io", "resourceslices") if self.version.since(30) => asked.slice(),
            ("", "nodes") if self.selects_by_node() => asked.own_node(),
            ("", "pods") if self.selects_by_node() => asked.pod(),
            ("certificates.k8s.io", "podcertificaterequests") if self.version.since(34) => asked.certificate_request(),
            _ => self.by_rules(request),
        }
    }

    fn selects_by_node(&self) -> bool {
        self.version.is_on(FeatureGate::AuthorizeNodeWithSelectors)
    }

    /// Decides by the rules common to all nodes.
    fn by_rules(&self, request: &Request) -> NodeAuthorization {
        let Request::Resource(request) = request else { return NodeAuthorization::NoOpinion(String::new()) };
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == wanted);
        let rule = self.rules.iter().find(|rule| {
            has(&rule.verbs, &request.verb)
                && has(&rule.api_groups, &request.group)
                && has(&rule.resources, &request.full_resource())
        });
        rule.map_or_else(
            || NodeAuthorization::NoOpinion(String::new()),
            |rule| NodeAuthorization::Allow(NodeReason::Rule(rule.clone())),
        )
    }
}

fn no(why: impl Into<String>) -> NodeAuthorization {
    NodeAuthorization::NoOpinion(why.into())
}

/// A request of a node.
struct Asked<'a> {
    authorizer: &'a Authorizer<'a>,
    node: &'a str,
    request: &'a ResourceRequest,
    selector: &'a [FieldRequirement],
}

impl Asked<'_> {
    fn verb(&self) -> &str {
        &self.request.verb
    }

    fn is_on(&self, gate: FeatureGate) -> bool {
        self.authorizer.version.is_on(gate)
    }

    /// Whether the request is limited to objects of the node.
    fn is_limited_to_node(&self) -> bool {
        let is_own =
            |entry: &FieldRequirement| entry.field == "spec.nodeName" && entry.is_equal && entry.value == self.node;
        self.selector.iter().any(is_own)
    }

    /// Decides by a path from the object to the node.
    fn by_way(&self, kind: ObjectKind) -> NodeAuthorization {
        if self.request.name.is_empty() {
            return no("No Object name found in the request, and only named objects can belong to a node");
        }
        let object = GraphObject::new(kind, &self.request.namespace, &self.request.name);
        match self.authorizer.graph.way(&object, self.node) {
            Some(way) => NodeAuthorization::Allow(NodeReason::Way(way.into_iter().cloned().collect())),
            None => no(format!("no relationship found between the node `{}` and {object}", self.node)),
        }
    }

    /// Decides about an object readable with `get` alone.
    fn single(&self, kind: ObjectKind) -> NodeAuthorization {
        if self.verb() != "get" {
            return no("a node can only get individual resources of this type");
        }
        if !self.request.subresource.is_empty() {
            return no("a node cannot get a subresource of this type");
        }
        self.by_way(kind)
    }

    /// Decides about an object readable one by one; since 1.11 also by a list or a watch of one name.
    fn readable(&self, kind: ObjectKind) -> NodeAuthorization {
        if !self.authorizer.version.since(11) {
            return self.single(kind);
        }
        if !matches!(self.verb(), "get" | "list" | "watch") {
            return no("a node can only read resources of this type");
        }
        if !self.request.subresource.is_empty() {
            return no("a node cannot read a subresource of this type");
        }
        if self.request.namespace.is_empty() {
            return no("a node can only read namespaced object of this type where the request names the namespace");
        }
        self.by_way(kind)
    }

    fn claim(&self) -> NodeAuthorization {
        let writes_status = self.request.subresource == "status" && self.is_on(FeatureGate::ExpandPersistentVolumes);
        match (writes_status, self.verb()) {
            (false, _) => self.single(ObjectKind::PersistentVolumeClaim),
            (true, "update" | "patch") => self.by_way(ObjectKind::PersistentVolumeClaim),
            (true, _) => no("a node can only update or patch the status of a claim"),
        }
    }

    fn attachment(&self) -> NodeAuthorization {
        if self.is_on(FeatureGate::CSIPersistentVolume) {
            self.single(ObjectKind::VolumeAttachment)
        } else {
            no("the feature gate CSIPersistentVolume is off")
        }
    }

    fn account(&self) -> NodeAuthorization {
        let gates = [FeatureGate::KubeletServiceAccountTokenForCredentialProviders, FeatureGate::PodCertificateRequest];
        if self.authorizer.version.since(33) && self.verb() == "get" && self.request.subresource.is_empty() {
            if !gates.iter().any(|gate| self.is_on(*gate)) {
                return no("a node is not allowed to get service accounts");
            }
            return self.readable(ObjectKind::ServiceAccount);
        }
        if !self.is_on(FeatureGate::TokenRequest) {
            return no("the feature gate TokenRequest is off");
        }
        if self.verb() != "create" || self.request.name.is_empty() {
            return no("a node can only create tokens for individual service accounts");
        }
        if self.request.subresource != "token" {
            return no("a node can only create the subresource `token` of a service account");
        }
        self.by_way(ObjectKind::ServiceAccount)
    }

    /// Decides about the verbs of a node on an object of its own name. An object has no name at its creation:
    /// NodeRestriction checks it.
    fn by_own_name(&self, what: &str) -> NodeAuthorization {
        match self.verb() {
            "create" => NodeAuthorization::Allow(NodeReason::LeftToAdmission),
            "get" | "update" | "patch" | "delete" if self.request.name == self.node => {
                NodeAuthorization::Allow(NodeReason::Own)
            }
            "get" | "update" | "patch" | "delete" => no(format!("a node can only access the {what} with its own name")),
            _ => no(format!("a node can only get, create, update, patch or delete a {what}")),
        }
    }

    fn lease(&self) -> NodeAuthorization {
        if !self.is_on(FeatureGate::NodeLease) {
            return no("the feature gate NodeLease is off");
        }
        let verbs = ["get", "create", "update", "patch", "delete"];
        if verbs.contains(&self.verb()) && self.request.namespace != LEASES {
            return no(format!("a node can only access leases in the namespace `{LEASES}`"));
        }
        self.by_own_name("lease")
    }

    fn csi_node(&self) -> NodeAuthorization {
        if !self.is_on(FeatureGate::CSINodeInfo)
            || !self.authorizer.version.since(16) && !self.is_on(FeatureGate::KubeletPluginsWatcher)
        {
            return no("the feature gate CSINodeInfo is off");
        }
        match self.request.subresource.as_str() {
            "" => self.by_own_name("CSINode"),
            // `authorizeCSINode` of plugin/pkg/auth/authorizer/node/node_authorizer.go, 1.37.
            "status" if self.authorizer.version.since(37) && !self.is_on(FeatureGate::CSIVolumeHealth) => {
                no("the feature gate CSIVolumeHealth is off")
            }
            "status" if self.authorizer.version.since(37) => match self.verb() {
                "get" | "update" | "patch" => self.by_own_name("CSINode"),
                _ => no("a node can only get, update or patch the status of a CSINode"),
            },
            _ => no("a CSINode has no subresources"),
        }
    }

    fn slice(&self) -> NodeAuthorization {
        if !self.request.subresource.is_empty() {
            return no("a ResourceSlice has no subresources");
        }
        match self.verb() {
            "create" => NodeAuthorization::Allow(NodeReason::LeftToAdmission),
            "get" | "update" | "patch" | "delete" => self.by_way(ObjectKind::ResourceSlice),
            "deletecollection" if !self.authorizer.version.since(31) => {
                no("a node can only get, list, watch, create, update, patch or delete a ResourceSlice")
            }
            "list" | "watch" | "deletecollection" => {
                if !self.authorizer.selects_by_node() || self.is_limited_to_node() {
                    NodeAuthorization::Allow(NodeReason::Own)
                } else {
                    no("a node can only list, watch or delete many ResourceSlices with a nodeName field selector")
                }
            }
            _ => no("a node cannot do this to a ResourceSlice"),
        }
    }

    fn own_node(&self) -> NodeAuthorization {
        match (self.request.subresource.as_str(), self.verb()) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => {
                NodeAuthorization::Allow(NodeReason::LeftToAdmission)
            }
            ("", "get" | "list" | "watch") if self.request.name == self.node => {
                NodeAuthorization::Allow(NodeReason::Own)
            }
            ("", "get" | "list" | "watch") if self.request.name.is_empty() => {
                no(format!("the node `{}` cannot read all nodes, only its own Node", self.node))
            }
            ("", "get" | "list" | "watch") => no(format!("the node `{}` can only read its own Node", self.node)),
            _ => NodeAuthorization::NoOpinion(String::new()),
        }
    }

    fn pod(&self) -> NodeAuthorization {
        match (self.request.subresource.as_str(), self.verb()) {
            ("", "get") => self.single(ObjectKind::Pod),
            ("", "list" | "watch") if self.is_limited_to_node() => NodeAuthorization::Allow(NodeReason::Own),
            ("", "list" | "watch") if !self.request.name.is_empty() => self.by_way(ObjectKind::Pod),
            ("", "list" | "watch") => no("a node can only list or watch pods with a spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                NodeAuthorization::Allow(NodeReason::LeftToAdmission)
            }
            _ => NodeAuthorization::NoOpinion(String::new()),
        }
    }

    fn certificate_request(&self) -> NodeAuthorization {
        if !self.is_on(FeatureGate::PodCertificateRequest) || !self.authorizer.selects_by_node() {
            // Only 1.34 continued with the rules, present with the gate on.
            return NodeAuthorization::NoOpinion(String::new());
        }
        if !self.request.subresource.is_empty() {
            return no("a node has no business with a subresource of a PodCertificateRequest");
        }
        match self.verb() {
            "create" => NodeAuthorization::Allow(NodeReason::LeftToAdmission),
            "get" => self.by_way(ObjectKind::PodCertificateRequest),
            "list" | "watch" if self.is_limited_to_node() => NodeAuthorization::Allow(NodeReason::Own),
            "list" | "watch" => {
                no("a node can only list or watch PodCertificateRequests with a nodeName field selector")
            }
            _ => no("a node cannot do this to a PodCertificateRequest"),
        }
    }
}
