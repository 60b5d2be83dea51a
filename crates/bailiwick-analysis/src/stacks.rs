//! The stacks of a target: the order of their installation, their reach, and the permissions of the managers that install
//! them.

use std::collections::BTreeSet;

use bailiwick_access::who_can::PermissionScope;
use bailiwick_access::write::{Escalation, Write, WriteVerb};
use bailiwick_crossplane::conflicts::Owners;
use bailiwick_crossplane::install::InstallKind;
use bailiwick_crossplane::object::ServiceAccountName;
use bailiwick_crossplane::order::{Step, order};
use bailiwick_crossplane::reach::{AccountReach, identity, reach, requesters};
use bailiwick_crossplane::stack::Stack;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::{InstalledManager, InstalledStack, Target};
use bailiwick_workspace::{Error, Workspace};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Files, Origin, RunError, Sink};

use super::loaded_world::{LoadedWorld, each_object};

/// The stacks of a target.
#[derive(Debug)]
pub struct StacksReport<'a> {
    /// The stacks in the order of installation.
    pub stacks: Vec<StackReport<'a>>,
    /// The stacks as the steps number them.
    pub all: Vec<&'a Stack>,
    /// The stacks that bring each definition.
    pub owners: Owners<'a>,
    /// The subjects that may request installs of each kind.
    pub requesters: Vec<(InstallKind, Vec<(PermissionScope, String)>)>,
    /// The accounts that install the stacks.
    pub managers: Vec<ManagerReport>,
    /// Every text, for places.
    pub files: &'a Files,
}

/// One stack with its requirements and its reach.
#[derive(Debug)]
pub struct StackReport<'a> {
    /// The stack after its packages were linked.
    pub stack: &'a Stack,
    /// The stacks that it needs.
    pub step: Step,
    /// The permissions of its account.
    pub reach: AccountReach,
}

/// A manager, and whether it can install the stacks.
#[derive(Debug)]
pub struct ManagerReport {
    /// The service account that the manager runs as.
    pub account: ServiceAccountName,
    /// How many objects the stacks have.
    pub objects: usize,
    /// The objects that it cannot create.
    pub refused: Vec<String>,
}

/// Returns the order in which the stacks of a target can be installed, how far each reaches, and who may request them.
///
/// # Errors
/// When the run fails.
pub fn stacks_report<'a>(
    workspace: &'a Workspace,
    target: &'a Target,
    loaded: &'a LoadedWorld,
) -> Result<StacksReport<'a>, Error> {
    let all: Vec<&Stack> =
        workspace.project().facts.on(&target.name).map(|InstalledStack { stack, .. }| &**stack).collect();
    let bound = loaded.world.bound_subjects();
    let mut kinds: Vec<InstallKind> = all.iter().map(|stack| stack.install.kind).collect();
    kinds.sort();
    kinds.dedup();
    let mut managers = Vec::new();
    for manager in workspace.project().facts.on::<InstalledManager>(&target.name) {
        let installing = install_all(workspace, target, loaded, &manager.account)?;
        managers.push(ManagerReport {
            account: manager.account.clone(),
            objects: installing.objects,
            refused: installing.refused.into_iter().map(|refused| refused.object).collect(),
        });
    }
    let stacks = order(&all).into_iter().filter_map(|step| {
        let stack = *all.get(step.stack)?;
        Some(StackReport { stack, reach: reach(&loaded.world, &bound, &stack.install.account()), step })
    });
    Ok(StacksReport {
        stacks: stacks.collect(),
        owners: Owners::from_stacks(&all),
        requesters: kinds
            .iter()
            .map(|kind| (*kind, requesters(&loaded.world, kind.resource().0, kind.resource().1)))
            .collect(),
        managers,
        files: &loaded.files,
        all,
    })
}

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
    manager: &ServiceAccountName,
) -> Result<Installing, RunError> {
    let stacks = || workspace.project().facts.on(&target.name).map(|InstalledStack { stack, .. }| &**stack);
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
