//! Agents on every node with writes to objects of their own node only: permissions for all of them, and an admission
//! policy with a check of the node in their token.
//!
//! The policy has `failurePolicy: Fail`, and its expression handles a token without a node. It checks the object
//! before and after a change: a check of the new object alone would let an agent take over objects of other nodes.

use crate::codes;
use serde_json::{Value, json};

use super::cluster::NamespacedName;
use super::version::ServerVersion;
use bailiwick_access::world::account_user;
use bailiwick_cel as cel;
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_yaml::diag::Code;

/// The first minor with the node in tokens and with admission policies.
pub const FIRST_MINOR: u32 = 30;

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// The field of a token with the node it is bound to.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The resources with labels of a Node: an update of the status contains labels and owners, and they are stored
/// (`pkg/registry/core/node/strategy.go`).
pub const NODES: [&str; 2] = ["nodes", "nodes/status"];

/// Groups with objects outside of admission policies: policies themselves, and reviews.
const UNSEEN_GROUPS: [&str; 3] = ["admissionregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];

/// Subresources without the node in their object.
const WITHOUT_NODE: [&str; 9] =
    ["attach", "binding", "eviction", "exec", "finalize", "portforward", "proxy", "scale", "token"];

/// An agent of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAgent {
    /// Name of its objects.
    pub name: String,
    /// The service account.
    pub account: NamespacedName,
    /// Reads of all objects.
    pub reads: Vec<PolicyRule>,
    /// Writes to objects of its own node.
    pub own_node: Vec<OwnNodeWrites>,
}

/// The permitted writes to objects of the agent's own node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnNodeWrites {
    /// The API group.
    pub group: String,
    /// The resources, with their subresource after a slash.
    pub resources: Vec<String>,
    /// Such as `update`.
    pub verbs: Vec<String>,
    /// The field of the object with the name of its node, such as `metadata.name` or `spec.nodeName`.
    pub node: String,
    /// For Nodes and their status: prefix of the keys of changeable labels. Taints and owners are then fixed.
    pub labels: Option<String>,
}

/// Why an agent cannot be held to its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentScopeError {
    /// The version has no such policies, or no node in its tokens.
    NeedsNewerKubernetes,
    /// Admission is not asked about reads.
    Read(String),
    /// A policy has to list every resource by name.
    Wildcard(String),
    /// The object does not contain its node.
    NotExpressible(String),
    /// A rule with a write in `reads`.
    WriteAmongReads(String),
    /// No field of an object.
    NotAField(String),
}

impl AgentScopeError {
    /// Returns the code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            AgentScopeError::NeedsNewerKubernetes => codes::AGENT_NEEDS_NEWER_KUBERNETES,
            AgentScopeError::Read(_) => codes::AGENT_READS_CANNOT_BE_SCOPED,
            AgentScopeError::Wildcard(_) => codes::AGENT_WILDCARD,
            AgentScopeError::NotExpressible(_) => codes::AGENT_NOT_EXPRESSIBLE,
            AgentScopeError::WriteAmongReads(_) | AgentScopeError::NotAField(_) => {
                bailiwick_yaml::diag::codes::INVALID_VALUE
            }
        }
    }
}

impl OwnNodeWrites {
    /// Returns the reason against a limit to the node.
    pub fn refusal(&self) -> Option<AgentScopeError> {
        let wild = std::iter::once(&self.group).chain(&self.resources).find(|text| text.contains('*'));
        if let Some(wild) = wild {
            return Some(AgentScopeError::Wildcard(wild.clone()));
        }
        let is_read = |verb: &&String| matches!(verb.as_str(), "get" | "list" | "watch" | "*");
        if let Some(verb) = self.verbs.iter().find(is_read) {
            return Some(AgentScopeError::Read(verb.clone()));
        }
        let says_nothing = |resource: &&String| {
            let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
            resource.as_str() == "bindings"
                || subresource.is_some_and(|subresource| WITHOUT_NODE.contains(&subresource))
        };
        if let Some(resource) = self.resources.iter().find(says_nothing) {
            return Some(AgentScopeError::NotExpressible(resource.clone()));
        }
        if UNSEEN_GROUPS.contains(&self.group.as_str()) {
            return Some(AgentScopeError::NotExpressible(self.group.clone()));
        }
        if let Some(verb) = self.verbs.iter().find(|verb| operation(verb).is_none()) {
            return Some(AgentScopeError::NotExpressible(verb.clone()));
        }
        let is_name = |part: &str| {
            let mut letters = part.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
                && !cel::RESERVED.contains(&part)
        };
        (!self.node.split('.').all(is_name) || !self.node.contains('.'))
            .then(|| AgentScopeError::NotAField(self.node.clone()))
    }

    /// Whether the agent can give its Node any labels and taints: without a limit on labels, or by creating the Node
    /// again.
    pub fn relabels_nodes(&self) -> bool {
        let changes = |verb: &String| match operation(verb) {
            Some("UPDATE") => self.labels.is_none(),
            operation => operation.is_some(),
        };
        self.group.is_empty()
            && self.resources.iter().any(|resource| NODES.contains(&resource.as_str()))
            && self.verbs.iter().any(changes)
    }

    /// Returns the operations of its verbs, in the order of the API.
    fn operations(&self) -> Vec<&'static str> {
        let has = |wanted| self.verbs.iter().any(|verb| operation(verb) == Some(wanted));
        ["CREATE", "UPDATE", "DELETE"].into_iter().filter(|operation| has(operation)).collect()
    }

    fn rule(&self) -> PolicyRule {
        PolicyRule {
            api_groups: vec![self.group.clone()],
            resources: self.resources.clone(),
            verbs: self.verbs.clone(),
            ..PolicyRule::default()
        }
    }
}

/// Returns the operation of a verb in admission.
pub fn operation(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "create" => "CREATE",
        "update" | "patch" => "UPDATE",
        "delete" | "deletecollection" => "DELETE",
        _ => return None,
    })
}

/// Returns the reason against a rule as a read: a verb for writing, a wildcard, or a subresource with a connection,
/// with more effect than a read (`pods/exec` is opened by GET too).
pub fn refusal_of_read(rule: &PolicyRule) -> Option<AgentScopeError> {
    const CONNECTED: [&str; 4] = ["attach", "exec", "portforward", "proxy"];
    let is_read = |verb: &&String| matches!(verb.as_str(), "get" | "list" | "watch");
    let connects = |resource: &&String| {
        let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
        subresource.is_some_and(|subresource| CONNECTED.contains(&subresource))
    };
    let wild = rule.api_groups.iter().chain(&rule.resources).find(|text| text.contains('*'));
    let write = rule.verbs.iter().find(|verb| !is_read(verb)).or_else(|| rule.resources.iter().find(connects));
    wild.map(|text| AgentScopeError::Wildcard(text.clone()))
        .or(write.map(|text| AgentScopeError::WriteAmongReads(text.clone())))
}

impl NodeAgent {
    /// Returns the name of its objects.
    pub fn object_name(&self) -> String {
        format!("node-access-{}", self.name)
    }

    /// Whether a version can hold it to its node.
    pub fn is_expressible(version: &ServerVersion) -> bool {
        version.since(FIRST_MINOR)
    }

    /// Returns the rules: the reads, and the writes permitted by the policy.
    pub fn rules(&self) -> Vec<PolicyRule> {
        self.reads.iter().cloned().chain(self.own_node.iter().map(OwnNodeWrites::rule)).collect()
    }

    /// Returns the service account as a manifest.
    pub fn account_object(&self) -> Value {
        let (namespace, name) = &self.account;
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "namespace": namespace, "name": name } })
    }

    /// Returns the objects of the agent: the role, its binding, and a policy with its binding for each node field.
    pub fn objects(&self) -> Vec<Value> {
        let name = self.object_name();
        let (namespace, account) = &self.account;
        let mut objects = vec![
            json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
                "metadata": { "name": name },
                "rules": self.rules(),
            }),
            json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding",
                "metadata": { "name": name },
                "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": name },
                "subjects": [{ "kind": "ServiceAccount", "namespace": namespace, "name": account }],
            }),
        ];
        for policy in self.policies() {
            objects.push(json!({
                "apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy",
                "metadata": { "name": policy.name },
                "spec": policy.spec,
            }));
            objects.push(json!({
                "apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": { "name": policy.name },
                "spec": { "policyName": policy.name, "validationActions": ["Deny"] },
            }));
        }
        objects
    }

    /// Returns the policies: one for each field with the node, and for each limit on labels.
    pub fn policies(&self) -> Vec<AgentPolicy> {
        let mut groups: Vec<Vec<&OwnNodeWrites>> = Vec::new();
        for own in &self.own_node {
            let same = |group: &&mut Vec<&OwnNodeWrites>| {
                group.first().is_some_and(|first| first.node == own.node && first.labels == own.labels)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(own),
                None => groups.push(vec![own]),
            }
        }
        let is_alone = groups.len() == 1;
        let policies = groups.iter().enumerate().map(|(index, group)| {
            let name = if is_alone { self.object_name() } else { format!("{}-{}", self.object_name(), index + 1) };
            AgentPolicy { name, spec: self.spec(group) }
        });
        policies.collect()
    }

    fn spec(&self, group: &[&OwnNodeWrites]) -> Value {
        let (namespace, account) = &self.account;
        let user = account_user(namespace, account);
        let rules = group.iter().map(|own| {
            json!({
                "apiGroups": [own.group], "apiVersions": ["*"], "operations": own.operations(), "resources": own.resources,
            })
        });
        let field = group.first().map_or("metadata.name", |own| own.node.as_str());
        let prefix = group.first().and_then(|own| own.labels.as_deref());
        let node_of = |object: &str| format!("{object} == null ? '' : {object}.?{field}.orValue('')");
        let mut variables = vec![
            json!({ "name": "userNode", "expression": format!("request.userInfo.?extra[?'{NODE_NAME}'][0].orValue('')") }),
            json!({ "name": "oldNode", "expression": node_of("oldObject") }),
            json!({ "name": "newNode", "expression": node_of("object") }),
        ];
        let refusal = |what: &str, side: &str| {
            format!(
                "'an agent on node ' + variables.userNode + ' may not {what} node ' + (variables.{side} == '' ? '(none)' : variables.{side})"
            )
        };
        let mut validations = vec![
            json!({
                "expression": "variables.userNode != ''",
                "message": "the token of this agent carries no node name; use a pod bound token (Kubernetes 1.30 or later)",
            }),
            json!({
                "expression": "request.operation == 'CREATE' || variables.oldNode == variables.userNode",
                "messageExpression": refusal("change an object of", "oldNode"),
            }),
            json!({
                "expression": "request.operation == 'DELETE' || variables.newNode == variables.userNode",
                "messageExpression": refusal("write an object for", "newNode"),
            }),
        ];
        if let Some(prefix) = prefix {
            let is_always_there = group.iter().all(|own| own.operations() == ["UPDATE"]);
            let labels = |object: &str| {
                let labels = format!("{object}.?metadata.labels.orValue({{}})");
                if is_always_there { labels } else { format!("{object} == null ? {{}} : {labels}") }
            };
            variables.push(json!({ "name": "oldLabels", "expression": labels("oldObject") }));
            variables.push(json!({ "name": "newLabels", "expression": labels("object") }));
            validations.extend(label_validations(prefix));
        }
        json!({
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": rules.collect::<Vec<_>>() },
            "matchConditions": [{
                "name": "is-agent",
                "expression": format!("request.userInfo.username == '{user}'"),
            }],
            "variables": variables,
            "validations": validations,
        })
    }
}

/// A ValidatingAdmissionPolicy that limits an agent to its node.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPolicy {
    /// Name of the object.
    pub name: String,
    /// Contents of `spec`.
    pub spec: Value,
}

/// Returns validations of a Node: only labels below a prefix may change, and neither taints nor owners.
fn label_validations(prefix: &str) -> [Value; 3] {
    let unchanged = |field: &str| {
        format!("request.operation != 'UPDATE' || object.?{field}.orValue([]) == oldObject.?{field}.orValue([])")
    };
    [
        json!({
            "expression": format!(
                "request.operation == 'DELETE' || (variables.newLabels.all(k, (k in variables.oldLabels && variables.oldLabels[k] == variables.newLabels[k]) || k.startsWith('{prefix}')) && variables.oldLabels.all(k, k in variables.newLabels || k.startsWith('{prefix}')))"
            ),
            "message": format!("only labels under {prefix} may change"),
        }),
        json!({ "expression": unchanged("spec.taints"), "message": "taints may not change" }),
        json!({ "expression": unchanged("metadata.ownerReferences"), "message": "ownerReferences may not change" }),
    ]
}
