//! Stacks that are less isolated than their scope, and managers that cannot install them.

use std::collections::BTreeSet;

use bailiwick_codes as codes;
use bailiwick_crossplane::controller::Controller;
use bailiwick_crossplane::object::ServiceAccountName;
use bailiwick_crossplane::reach::reach;
use bailiwick_crossplane::stack::Stack;
use bailiwick_policy::model::{InstalledManager, InstalledStack, Target};
use bailiwick_workspace::words::{chain_text, rule_text};
use bailiwick_workspace::{Workspace, words};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};

use super::MAXIMUM_RIGHTS;
use crate::loaded_world::LoadedWorld;
use crate::stacks::{Refused, install_all};

/// Reports the stacks of a target with too many permissions, and the stacks that no manager can install.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    loaded: &LoadedWorld,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let bound = loaded.world.bound_subjects();
    let facts = &workspace.project().facts;
    for InstalledStack { stack, .. } in facts.on(&target.name) {
        if !stack.is_cluster() {
            check_isolation(stack, loaded, &bound, sink);
        }
    }
    for InstalledStack { stack, .. } in facts.on(&target.name) {
        stack.package.controllers.iter().for_each(|controller| check_controller(stack, controller, sink));
    }
    for manager in facts.on::<InstalledManager>(&target.name) {
        for refused in install_all(workspace, target, loaded, &manager.account)?.refused {
            sink.push(cannot_install(&manager.account, &refused).at(manager.origin).foldable());
        }
    }
    Ok(())
}

fn check_isolation(stack: &Stack, loaded: &LoadedWorld, bound: &BTreeSet<String>, sink: &mut Sink) {
    let reach = reach(&loaded.world, bound, &stack.install.account());
    let install = &stack.install;
    if let Some(first) = reach.outside.first() {
        let message = format!("{install} holds grants outside its namespace");
        let mut told = Diagnostic::warning(codes::STACK_REACHES_OUT, message).at(install.origin);
        told = reach.outside.iter().fold(told, |told, chain| told.note(chain_text(chain, &loaded.files)));
        if let Some(place) = first.binding.place {
            told = told.and(place, "granted here");
        }
        sink.push(told.help("bind its account only in its own namespace"));
    }
    if reach.requests_cluster_packages {
        let message = format!("{install} can request packages for the whole cluster");
        let told = Diagnostic::warning(codes::STACK_REACHES_OUT, message).at(install.origin);
        sink.push(
            told.help(
                "a stack has the permissions of the packages that it requests: remove the request from `dependsOn`",
            ),
        );
    }
    if let Some((first, _)) = reach.stepping_stones.first() {
        let others = match reach.stepping_stones.len() - 1 {
            0 => ", which has further permissions".to_owned(),
            more => format!(" and {}, which have further permissions", words::number(more, "other")),
        };
        let message = format!("{install} can act as the account `{}`{others}", first.name);
        let chains = reach.stepping_stones.iter().flat_map(|(_, chains)| chains).take(MAXIMUM_RIGHTS);
        let told = Diagnostic::warning(codes::STACK_BESIDE_PRIVILEGED, message).at(install.origin);
        let told = chains.fold(told, |told, chain| told.note(chain_text(chain, &loaded.files)));
        sink.push(told.help("give the other account, or the stack, a namespace of its own"));
    }
}

/// Reports a controller whose pod on the node belongs to no namespace.
fn check_controller(stack: &Stack, controller: &Controller, sink: &mut Sink) {
    let parts = controller.on_node(stack.revision);
    if parts.is_empty() {
        return;
    }
    let message = format!("the controller of {} uses {}", stack.install, parts.join(", "));
    sink.push(
        Diagnostic::warning(codes::STACK_CONTROLLER_ON_NODE, message)
            .at(controller.origin)
            .and(stack.install.origin, "installed here")
            .help("remove the setting from `install.yaml`, or install the package only if its author may control the node"),
    );
}

fn cannot_install(account: &ServiceAccountName, refused: &Refused) -> Diagnostic {
    let message = format!("`{}` cannot create the {}", account.name, refused.object);
    let told = Diagnostic::warning(codes::STACK_MANAGER_CANNOT_INSTALL, message).and(refused.place, "of this stack");
    let missing = refused.missing.iter().take(MAXIMUM_RIGHTS);
    let told = missing.fold(told, |told, rule| told.note(format!("it lacks {}", rule_text(rule))));
    told.help("restore the compiled role of the manager, or grant the missing permission")
}
