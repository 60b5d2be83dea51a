//! `bailiwick explain stacks`.

use super::super::can_i::AnswerForm;
use super::super::printing::refuse_usage;
use super::super::workspaces::with_targets;
use super::super::worlds::load_target;
use super::super::{Global, Outcome};
use super::Arguments;
use crate::app::stacks::install_all;
use crate::app::{Error, WorldOptions};
use crate::crossplane::conflicts::Owners;
use crate::crossplane::install::InstallKind;
use crate::crossplane::order::order;
use crate::crossplane::reach::{reach, requesters};
use crate::crossplane::stack::Stack;
use crate::report::stacks::{Told, ToldManager, ToldStack};
use crate::report::worlds;

/// Tells of each target in which order its stacks can be installed, how far each reaches, and who may request them.
pub(super) fn explain(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    if !arguments.from.is_empty() {
        let help = "leave out --from; a package is not among manifests";
        return Ok(refuse_usage(global, "stacks are explained from the workspace", help));
    }
    with_targets(global, &arguments.targets, |workspace, targets| {
        let mut found = false;
        for target in targets {
            let stacks: Vec<&Stack> = workspace.project.stacks_of(target).collect();
            if stacks.is_empty() {
                continue;
            }
            let loaded = load_target(global, workspace, target, &WorldOptions::default())?;
            let bound = loaded.world.bound_subjects();
            let steps = order(&stacks);
            let mut kinds: Vec<InstallKind> = stacks.iter().map(|stack| stack.install.kind).collect();
            kinds.sort();
            kinds.dedup();
            let mut managers = Vec::new();
            for manager in
                workspace.project.stack_managers.iter().filter(|manager| manager.targets.contains(&target.name))
            {
                let installing = install_all(workspace, target, &loaded, &manager.account)?;
                managers.push(ToldManager {
                    account: manager.account.clone(),
                    objects: installing.objects,
                    refused: installing.refused.into_iter().map(|refused| refused.object).collect(),
                });
            }
            let told = Told {
                stacks: steps
                    .into_iter()
                    .filter_map(|step| {
                        let stack = *stacks.get(step.stack)?;
                        Some(ToldStack { stack, reach: reach(&loaded.world, &bound, &stack.install.account()), step })
                    })
                    .collect(),
                all: &stacks,
                owners: Owners::of(&stacks),
                requesters: kinds.iter().map(|kind| (*kind, requesters(&loaded.world, kind.resource()))).collect(),
                managers,
                files: &loaded.files,
            };
            found = true;
            global.terminal().result(&match arguments.format {
                AnswerForm::Text => format!("{}{}", worlds::heading(&loaded), told.text()),
                AnswerForm::Json => worlds::json_line(&loaded, told.json()),
            });
        }
        if found {
            return Ok(Outcome::Fine);
        }
        let help = "`bailiwick explain Stack` shows how to write one; packages of the RBAC manager have no order, and work everywhere";
        Ok(refuse_usage(global, "no target has a package of the Stack Manager", help))
    })
}
