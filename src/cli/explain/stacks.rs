//! `bailiwick explain stacks`.

use super::super::printing::refuse_usage;
use super::super::workspaces::with_targets;
use super::super::worlds::load_target;
use super::super::{Global, Outcome};
use super::Arguments;
use crate::app::{Error, WorldOptions, stacks_report};
use crate::model::InstalledStack;
use crate::report::explain::ExplainResult;
use crate::report::{stacks, worlds};

/// Prints for each target in which order its stacks can be installed, how far each reaches, and who may request them.
pub(super) fn explain(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    if !arguments.from.is_empty() {
        let help = "leave out --from; a package is not among manifests";
        return Ok(refuse_usage(global, "stacks are explained from the workspace", help));
    }
    with_targets(global, &arguments.targets, |workspace, targets| {
        let mut found = false;
        for target in targets {
            if workspace.project().facts.on::<InstalledStack>(&target.name).next().is_none() {
                continue;
            }
            let loaded = load_target(global, workspace, target, &WorldOptions::default())?;
            let report = stacks_report(workspace, target, &loaded)?;
            found = true;
            global.print_result(
                || ExplainResult::Stacks(stacks::record(&report, loaded.target.clone())),
                || format!("{}{}", worlds::heading(&loaded), stacks::text(&report)),
            );
        }
        if found {
            return Ok(Outcome::Fine);
        }
        let help = "`bailiwick explain Stack` shows how to write one; packages of the RBAC manager have no order, and work everywhere";
        Ok(refuse_usage(global, "no target has a package of the Stack Manager", help))
    })
}
