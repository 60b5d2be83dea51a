//! The questions of `bailiwick ask` about nodes; `docs/ask.md` shows each with its answer. None needs a world.

use serde_json::{Value, json};

use super::AskError;
use super::access::judged_as_newest;
use super::keys::{Keys, check_keys};
use crate::access::{Builder, Identity, ObjectSource, Request, ResourceRequest, UrlRequest, World};
use crate::diag::{FileId, Origin, Span};
use crate::k8s::list;
use crate::k8s::rbac::PolicyRule;
use crate::node::agent::{AgentScopeError, NodeAgent, OwnNodeWrites, refusal_of_read};
use crate::node::authorize::{Authorizer, NodeAuthorization, field_selector};
use crate::node::cluster::{Cluster, NamespacedName};
use crate::node::graph::{Graph, ObjectKind};
use crate::node::migration::{self, Inventory};
use crate::node::mirror::{annotation_problems, static_pod_problems};
use crate::node::powers::Powers;
use crate::node::reach::{Certainty, NodeReachability};
use crate::node::restriction::{NodeOperation, NodeWrite, SIGNER_VERB, admit};
use crate::node::version::ServerVersion;
use crate::yaml::{self, Tree};

/// Answers a question if it is of a kind that is known here.
///
/// # Errors
/// Inside: why it cannot be answered.
pub(super) fn answer(kind: &str, body: &Value) -> Option<Result<Value, AskError>> {
    let answer: fn(&Value) -> Result<Value, AskError> = match kind {
        "node" => node,
        "node-agent" => node_agent,
        "node-chain" => node_chain,
        "node-migration" => node_migration,
        "node-reach" => node_reach,
        "static-pod" => static_pod,
        _ => return None,
    };
    let is_newer = ServerVersion::is_newer_than_known(text(body, "version"));
    let answer = check_keys(KEYS, kind, body).and_then(|()| answer(body));
    Some(answer.map(|answer| if is_newer { judged_as_newest(answer) } else { answer }))
}

/// The keys of a request in a question.
const REQUEST: &[&str] =
    &["user", "groups", "verb", "path", "apiGroup", "resource", "subresource", "namespace", "name", "fieldSelector"];

/// The keys of the version of a question.
const VERSION: &[&str] = &["version", "gates"];

/// The keys of each kind of question.
const KEYS: &[Keys] = &[
    ("node", &[VERSION, &["openshift", "objects", "requests", "admission", "validation"]]),
    ("node/requests/*", &[REQUEST]),
    (
        "node/admission/*",
        &[
            &["user", "groups", "extra", "operation", "apiGroup", "version", "resource", "subresource", "kind"],
            &["namespace", "name", "object", "oldObject", "audiencesAllowed", "signersAllowed", "authz"],
        ],
    ),
    ("node/validation/*", &[&["object", "oldObject"]]),
    ("node-chain", &[VERSION, &["objects", "state", "chain", "requests"]]),
    ("node-chain/requests/*", &[REQUEST]),
    ("node-reach", &[VERSION, &["objects"]]),
    ("node-agent", &[VERSION, &["agent"]]),
    ("node-agent/agent", &[&["name", "serviceAccount", "reads", "ownNode"]]),
    ("node-agent/agent/serviceAccount", &[&["namespace", "name"]]),
    ("node-agent/agent/reads/*", &[&["apiGroup", "resources", "verbs"]]),
    ("node-agent/agent/ownNode/*", &[&["apiGroup", "resources", "verbs", "node", "labels"]]),
    ("node-migration", &[VERSION, &["apiserver", "kubelets", "nodes", "bindings"]]),
    ("static-pod", &[VERSION, &["pod"]]),
];

/// Returns the version of a question with its feature gates; the newest where it names none.
fn version(body: &Value) -> Result<ServerVersion, AskError> {
    let version = match text(body, "version") {
        "" => ServerVersion::new(crate::node::version::LAST_MINOR).map_err(AskError::refused)?,
        text => ServerVersion::parse(text).map_err(AskError::refused)?,
    };
    let gates = body.get("gates").and_then(Value::as_object).into_iter().flatten();
    gates.into_iter().try_fold(version, |version, (name, is_on)| {
        let is_on =
            is_on.as_bool().ok_or_else(|| AskError::Value(format!("the gate `{name}` is neither true nor false")))?;
        version.with_gate(name, is_on).map_err(AskError::refused)
    })
}

fn text<'v>(body: &'v Value, key: &str) -> &'v str {
    body.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(body: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    body.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Takes the objects at a key of a question, lists of them too.
fn add_all(cluster: &mut Cluster, body: &Value, key: &str) {
    for object in list(body, key) {
        let tree = yaml::from_json(object);
        for (version, kind, object) in tree.documents().flat_map(list::typed_objects) {
            cluster.add_as(&version, &kind, object);
        }
    }
}

/// Returns the decisions of the Node authorizer, of NodeRestriction and of validation about a cluster.
fn node(body: &Value) -> Result<Value, AskError> {
    let mut cluster = Cluster::new(version(body)?);
    cluster.is_openshift = body.get("openshift").and_then(Value::as_bool).unwrap_or_default();
    add_all(&mut cluster, body, "objects");
    let graph = Graph::from_cluster(&cluster);
    let authorizer = Authorizer::new(&cluster.version, &graph);
    let requests: Vec<Value> =
        list(body, "requests").map(|asked| request(&authorizer, asked)).collect::<Result<_, _>>()?;
    let admission: Vec<Value> =
        list(body, "admission").map(|asked| admission(&cluster, asked)).collect::<Result<_, _>>()?;
    let validation: Vec<Value> = list(body, "validation").map(validation).collect();
    Ok(json!({ "requests": requests, "admission": admission, "validation": validation }))
}

fn identity(asked: &Value) -> Identity {
    let groups = list(asked, "groups").filter_map(Value::as_str).map(str::to_owned).collect();
    Identity { user: text(asked, "user").to_owned(), groups }
}

fn attributes(asked: &Value) -> Request {
    let own = |key| text(asked, key).to_owned();
    if asked.get("path").is_some() {
        Request::Url(UrlRequest { verb: own("verb"), path: own("path") })
    } else {
        Request::Resource(ResourceRequest {
            verb: own("verb"),
            group: own("apiGroup"),
            version: String::new(),
            resource: own("resource"),
            subresource: own("subresource"),
            namespace: own("namespace"),
            name: own("name"),
        })
    }
}

fn request(authorizer: &Authorizer<'_>, asked: &Value) -> Result<Value, AskError> {
    let request = attributes(asked);
    // A selector that cannot be read selects nothing that is known.
    let selector = field_selector(text(asked, "fieldSelector")).unwrap_or_default();
    Ok(match authorizer.decide(&identity(asked), &request, &selector) {
        NodeAuthorization::Allow(_) => json!({ "decision": "allow" }),
        NodeAuthorization::NoOpinion(why) => json!({ "decision": "no-opinion", "reason": why }),
    })
}

fn admission(cluster: &Cluster, asked: &Value) -> Result<Value, AskError> {
    let tree = |key: &str| asked.get(key).filter(|object| object.is_object()).map(yaml::from_json);
    let (object, old): (Option<Tree>, Option<Tree>) = (tree("object"), tree("oldObject"));
    let operation = text(asked, "operation");
    let write = NodeWrite {
        operation: NodeOperation::from_word(operation)
            .ok_or_else(|| AskError::Value(format!("there is no operation `{operation}`")))?,
        group: text(asked, "apiGroup"),
        resource: text(asked, "resource"),
        subresource: text(asked, "subresource"),
        namespace: text(asked, "namespace"),
        name: text(asked, "name"),
        object: object.as_ref().and_then(|tree| tree.document(0)),
        old: old.as_ref().and_then(|tree| tree.document(0)),
    };
    let may_also = |_: &Identity, request: &Request| {
        let Request::Resource(request) = request else { return false };
        let granted = if request.verb == SIGNER_VERB { "signersAllowed" } else { "audiencesAllowed" };
        let listed = || list(asked, granted).any(|resource| resource.as_str() == Some(&request.resource));
        text(asked, "authz") == "allow" || listed()
    };
    Ok(match admit(cluster, &identity(asked), &write, &may_also) {
        Ok(()) => json!({ "allowed": true }),
        Err(refusal) => json!({ "allowed": false, "message": refusal.0 }),
    })
}

fn validation(asked: &Value) -> Value {
    let tree = |key: &str| asked.get(key).filter(|object| object.is_object()).map(yaml::from_json);
    let (object, old) = (tree("object"), tree("oldObject"));
    let Some(root) = object.as_ref().and_then(|tree| tree.document(0)) else { return json!({ "errors": [] }) };
    let problems = annotation_problems(root, old.as_ref().and_then(|tree| tree.document(0)));
    json!({ "errors": problems.into_iter().map(|(_, message)| message).collect::<Vec<_>>() })
}

/// Returns the world of the RBAC objects of a question, on nothing.
fn world(body: &Value, key: &str) -> World {
    let mut builder = Builder::new(crate::node::version::LAST_MINOR);
    let nowhere = ObjectSource::Input(Origin { file: FileId::default(), span: Span::default() });
    for object in list(body, key) {
        yaml::from_json(object).documents().for_each(|object| _ = builder.add(object, nowhere));
    }
    builder.build()
}

/// The authorizers that a question may name, in the order in which a server asks them by default.
const AUTHORIZERS: [&str; 2] = ["Node", "RBAC"];

/// Returns the authorizers of a question in their order: `chain`, or all.
fn chain(body: &Value) -> Result<Vec<&str>, AskError> {
    let Some(stated) = body.get("chain").filter(|stated| !stated.is_null()) else { return Ok(AUTHORIZERS.to_vec()) };
    let names = stated.as_array().ok_or(AskError::NotAList("chain"))?.iter();
    let named = |name: &'_ Value| {
        let known = AUTHORIZERS.into_iter().find(|known| name.as_str() == Some(*known));
        known.ok_or_else(|| {
            AskError::Value(format!("`{name}` is no authorizer that is known here: {}", AUTHORIZERS.join(", ")))
        })
    };
    names.map(named).collect()
}

/// Returns the decisions of the authorizers of a chain: the first that allows decides.
fn node_chain(body: &Value) -> Result<Value, AskError> {
    let mut cluster = Cluster::new(version(body)?);
    add_all(&mut cluster, body, "state");
    let graph = Graph::from_cluster(&cluster);
    let authorizer = Authorizer::new(&cluster.version, &graph);
    let world = world(body, "objects");
    let chain = chain(body)?;
    let decide = |asked: &Value| {
        let (who, request) = (identity(asked), attributes(asked));
        let selector = field_selector(text(asked, "fieldSelector")).unwrap_or_default();
        let allows = |name: &&&str| match **name {
            "Node" => authorizer.decide(&who, &request, &selector).is_allowed(),
            _ => world.allows(&who, &request),
        };
        let by = chain.iter().find(allows);
        Ok(json!({ "allowed": by.is_some(), "by": by }))
    };
    let answers: Vec<Value> = list(body, "requests").map(decide).collect::<Result<_, AskError>>()?;
    Ok(json!({ "answers": answers }))
}

/// Returns the objects of an agent, or why there can be none.
fn node_agent(body: &Value) -> Result<Value, AskError> {
    let agent = body.get("agent").ok_or(AskError::Missing("agent"))?;
    let texts = |body: &Value, key: &str| list(body, key).filter_map(Value::as_str).map(str::to_owned).collect();
    let account = agent.get("serviceAccount").ok_or(AskError::Missing("serviceAccount"))?;
    let agent = NodeAgent {
        name: text(agent, "name").to_owned(),
        account: (text(account, "namespace").to_owned(), text(account, "name").to_owned()),
        reads: list(agent, "reads")
            .map(|read| PolicyRule {
                api_groups: vec![text(read, "apiGroup").to_owned()],
                resources: texts(read, "resources"),
                verbs: texts(read, "verbs"),
                ..PolicyRule::default()
            })
            .collect(),
        own_node: list(agent, "ownNode")
            .map(|own| OwnNodeWrites {
                group: text(own, "apiGroup").to_owned(),
                resources: texts(own, "resources"),
                verbs: texts(own, "verbs"),
                node: Some(text(own, "node")).filter(|node| !node.is_empty()).unwrap_or("metadata.name").to_owned(),
                labels: own.get("labels").and_then(Value::as_str).map(str::to_owned),
            })
            .collect(),
    };
    let refusal = (!NodeAgent::is_expressible(&version(body)?)).then_some(AgentScopeError::NeedsNewerKubernetes);
    let refusal = refusal.or_else(|| agent.own_node.iter().find_map(OwnNodeWrites::refusal));
    let refusal = refusal.or_else(|| agent.reads.iter().find_map(refusal_of_read));
    Ok(match refusal {
        Some(refusal) => json!({ "error": refusal.code().id() }),
        None => json!({ "objects": agent.objects() }),
    })
}

fn node_migration(body: &Value) -> Result<Value, AskError> {
    let part = |key: &str| body.get(key).cloned().unwrap_or_else(|| json!([]));
    let inventory = Inventory {
        api_server: serde_json::from_value(body.get("apiserver").cloned().unwrap_or_else(|| json!({})))
            .map_err(|problem| AskError::unreadable("apiserver", problem))?,
        kubelets: serde_json::from_value(part("kubelets"))
            .map_err(|problem| AskError::unreadable("kubelets", problem))?,
        nodes: serde_json::from_value(part("nodes")).map_err(|problem| AskError::unreadable("nodes", problem))?,
        bindings: serde_json::from_value(part("bindings"))
            .map_err(|problem| AskError::unreadable("bindings", problem))?,
    };
    Ok(json!(migration::report(&inventory)))
}

/// Answers `node-reach`: the Secrets and accounts within reach of each node, certain and possible, and the permissions of the accounts.
fn node_reach(body: &Value) -> Result<Value, AskError> {
    let mut cluster = Cluster::new(version(body)?);
    add_all(&mut cluster, body, "objects");
    let graph = Graph::from_cluster(&cluster);
    let atlas = NodeReachability::new(&cluster, &graph);
    let world = world(body, "objects");
    let mut powers = Powers::new(&world, &cluster.version);
    let mut nodes = serde_json::Map::new();
    for name in cluster.nodes.keys() {
        let reach = atlas.of_node(name, false);
        let of = |kind: ObjectKind, certainty: Certainty| -> Vec<String> {
            let found = reach.of_kind(kind).filter(|(_, reached)| reached.certainty == certainty);
            found.map(|(object, _)| format!("{}/{}", object.namespace, object.name)).collect()
        };
        let accounts: Vec<NamespacedName> = reach
            .of_kind(ObjectKind::ServiceAccount)
            .filter(|(_, reached)| reached.certainty == Certainty::Yes)
            .map(|(object, _)| (object.namespace.clone(), object.name.clone()))
            .collect();
        let mut effective: Vec<String> = accounts.iter().flat_map(|account| powers.effective(account)).collect();
        effective.sort();
        effective.dedup();
        let carried = powers.carried(&reach);
        let trampolines = carried.iter().filter(|carried| !carried.powers.is_empty());
        let findings: Vec<String> = trampolines.map(|carried| carried.finding(&atlas)).collect();
        nodes.insert(
            name.clone(),
            json!({
                "secrets": { "yes": of(ObjectKind::Secret, Certainty::Yes), "maybe": of(ObjectKind::Secret, Certainty::Maybe) },
                "serviceAccounts": {
                    "yes": of(ObjectKind::ServiceAccount, Certainty::Yes),
                    "maybe": of(ObjectKind::ServiceAccount, Certainty::Maybe),
                },
                "effective": effective,
                "findings": findings,
            }),
        );
    }
    Ok(json!({ "nodes": nodes }))
}

/// Answers `static-pod`: the problems of a manifest in the folder of static pods.
fn static_pod(body: &Value) -> Result<Value, AskError> {
    let tree = yaml::from_json(body.get("pod").ok_or(AskError::Missing("pod"))?);
    let root = tree.document(0).ok_or_else(|| AskError::value("`pod` is empty"))?;
    Ok(json!({ "problems": static_pod_problems(root, &version(body)?) }))
}
