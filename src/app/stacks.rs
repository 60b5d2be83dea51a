//! The stacks of a target as the commands that judge them see them.

use std::collections::BTreeSet;

use super::loaded_world::{LoadedWorld, each_object};
use super::workspace::Workspace;
use crate::access::write::{Escalation, Write, WriteVerb};
use crate::crossplane::object::Account;
use crate::crossplane::reach::identity;
use crate::crossplane::stack::Stack;
use crate::diag::{Origin, RunError, Sink};
use crate::k8s::rbac::PolicyRule;
use crate::model::Target;
use crate::yaml::NodeRef;

/// The result of a manager's requests for every object of every stack.
#[derive(Debug, Default)]
pub(crate) struct Installing {
    /// How many objects were asked about.
    pub(crate) objects: usize,
    /// The objects that it cannot create.
    pub(crate) refused: Vec<Refused>,
}

/// An object that a manager cannot create.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Kind and name.
    pub(crate) object: String,
    /// The place of its content.
    pub(crate) place: Origin,
    /// Permissions that the object grants and the manager does not hold; empty if the manager may not write it at all.
    pub(crate) missing: Vec<PolicyRule>,
}

/// Holds the rights of a manager against every object of the stacks, as the API server would.
pub(crate) fn install_all(
    workspace: &Workspace,
    target: &Target,
    loaded: &LoadedWorld,
    manager: &Account,
) -> Result<Installing, RunError> {
    let stacks = || workspace.project.stacks_of(target);
    let objects = stacks().flat_map(Stack::objects).map(|object| (object.kind(), object.namespace, object.name));
    let definitions = stacks().flat_map(|stack| &stack.package.definitions);
    let definitions = definitions.map(|definition| ("CustomResourceDefinition", None, definition.name.clone()));
    let wanted: BTreeSet<(&str, Option<String>, String)> = objects.chain(definitions).collect();
    let who = identity(manager);
    let mut found = Installing::default();
    each_object(workspace, target, &mut Sink::new(), &mut |object, place| {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        let (Some(kind), Some(name)) = (text(&["kind"]), text(&["metadata", "name"])) else { return };
        let namespace = text(&["metadata", "namespace"]).map(str::to_owned);
        if !wanted.contains(&(kind, namespace, name.to_owned())) {
            return;
        }
        let Some(resource) = loaded.world.resource_of(object) else { return };
        found.objects += 1;
        let decision = loaded.world.may_write(&who, Write { object, old: None, verb: WriteVerb::Create, resource });
        if !decision.allowed() {
            let missing = match decision.escalation {
                Escalation::Forbidden(missing) => missing,
                _ => Vec::new(),
            };
            found.refused.push(Refused { object: format!("{kind} {name}"), place, missing });
        }
    })?;
    Ok(found)
}
