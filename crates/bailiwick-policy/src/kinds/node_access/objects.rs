//! The objects of a NodeAccess policy on a target.

use std::sync::Arc;

use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_node::agent;
use bailiwick_node::system_node::{self, SystemNodeBinding};
use bailiwick_node::version::ServerVersion;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::Origin;
use serde_json::Value;

use super::{Agent, NodeAccessSpec, OwnNode, Part, Reads, SystemNode};
use crate::model::{Data, ObjectId, OutputFileKey, Target, TypeMeta, Unit, UnitSource};

/// The templates of the kind.
pub(super) const TEMPLATES: &[&str] = &[
    "node-access/clusterrole.yaml.j2",
    "node-access/clusterrolebinding.yaml.j2",
    "node-access/serviceaccount.yaml.j2",
    "node-access/validatingadmissionpolicy.yaml.j2",
    "node-access/validatingadmissionpolicybinding.yaml.j2",
];

/// Builds all objects of a target; without a version, all except the role of nodes.
pub(super) fn of_target(spec: &NodeAccessSpec, target: &Target, version: Option<&ServerVersion>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let (Some(system_node), Some(version)) = (&spec.system_node, version) {
        let binding = binding_of(system_node, version);
        let objects = system_node::objects(version, binding);
        parts.extend(objects.iter().filter_map(|object| part(object, system_node.origin)));
    }
    for written in spec.agents.iter().filter(|_| target.version.minor() >= agent::FIRST_MINOR) {
        let agent = agent(written);
        if written.service_account.create {
            parts.extend(part(&agent.account_object(), written.service_account.name.origin));
        }
        parts.extend(agent.objects().iter().filter_map(|object| part(object, written.name.origin)));
    }
    parts
}

/// Returns the binding of `system:node`.
pub(super) fn binding_of(system_node: &SystemNode, version: &ServerVersion) -> SystemNodeBinding {
    let modes = &system_node.authorization_mode;
    let has_node = modes.is_empty() || modes.iter().any(|mode| mode.as_str() == "Node");
    system_node.binding.style().map_or(SystemNodeBinding::Bound, |style| system_node::binding(version, style, has_node))
}

/// Converts an agent for compilation.
pub(super) fn agent(written: &Agent) -> agent::NodeAgent {
    let account = &written.service_account;
    agent::NodeAgent {
        name: written.name.value.clone(),
        account: (account.namespace.value.clone(), account.name.value.clone()),
        reads: written.reads.iter().map(read_rule).collect(),
        own_node: written.own_node.iter().map(own_node).collect(),
    }
}

pub(super) fn read_rule(reads: &Spanned<Reads>) -> PolicyRule {
    PolicyRule {
        api_groups: vec![reads.api_group.clone()],
        resources: reads.resources.clone(),
        verbs: reads.verbs.clone(),
        ..PolicyRule::default()
    }
}

pub(super) fn own_node(own: &Spanned<OwnNode>) -> agent::OwnNodeWrites {
    agent::OwnNodeWrites {
        group: own.api_group.clone(),
        resources: own.resources.clone(),
        verbs: own.verbs.clone(),
        node: own.node.clone().unwrap_or_else(|| "metadata.name".to_owned()),
        labels: own.labels.clone(),
    }
}

/// Converts a manifest to an object with its output file.
fn part(object: &Value, origin: Origin) -> Option<Part> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind")?;
    let name: Arc<str> = text("/metadata/name")?.into();
    let namespace: Option<Arc<str>> = text("/metadata/namespace").map(Arc::from);
    let template = TEMPLATES.iter().find(|path| **path == format!("node-access/{}.yaml.j2", kind.to_lowercase()))?;
    let at = |pointer: &str| object.pointer(pointer).map_or(Data::Null, Data::from_json);
    let data = [
        ("name", Data::Str(Arc::clone(&name))),
        ("namespace", namespace.clone().map_or(Data::Null, Data::Str)),
        ("labels", at("/metadata/labels")),
        ("annotations", at("/metadata/annotations")),
        ("rules", at("/rules")),
        ("aggregationRule", Data::Null),
        ("roleRef", at("/roleRef")),
        ("subjects", at("/subjects")),
        ("matchConditions", at("/spec/matchConditions")),
        ("resourceRules", at("/spec/matchConstraints/resourceRules")),
        ("validations", at("/spec/validations")),
        ("variables", at("/spec/variables")),
    ];
    Some(Part {
        output_file: namespace.clone().map_or(OutputFileKey::Cluster, OutputFileKey::Namespace),
        unit: Unit {
            identity: ObjectId { object_type: TypeMeta::new(text("/apiVersion")?, kind), namespace, name },
            template: (*template).into(),
            data: Data::map(data),
            origin,
            content: origin,
            account: None,
            without_levels: false,
            source: UnitSource::default(),
        },
    })
}
