//! `bailiwick explain namespace`.

use super::super::printing::{print, refuse_usage};
use super::super::workspaces::with_targets;
use super::super::{Global, Outcome};
use super::Arguments;
use crate::app::{Error, explain_namespace, limited_constraints};
use crate::diag::nearest;
use crate::report::explain::ExplainResult;
use crate::report::namespace::NamespaceReport;

/// Prints the admission rules for the pods of a namespace on each target.
pub(super) fn explain(global: &Global, arguments: &Arguments, name: &str) -> Result<Outcome, Error> {
    if !arguments.from.is_empty() {
        let help = "leave out --from; `bailiwick ask` answers `namespace-labels` about any objects";
        return Ok(refuse_usage(global, "namespaces are explained from the workspace", help));
    }
    with_targets(global, &arguments.targets, |workspace, targets| {
        let mut is_found = false;
        let mut known: Vec<String> = Vec::new();
        for target in targets {
            let search = explain_namespace(workspace, target, name)?;
            print(global, search.diagnostics.list, &search.diagnostics.files);
            known.extend(search.known);
            let Some(rules) = &search.found else { continue };
            let limited_constraints = &limited_constraints(workspace, target);
            let report =
                NamespaceReport { name, target, rules, limited_constraints, files: &workspace.project().files };
            is_found = true;
            global.print_result(|| ExplainResult::Namespace(report.record()), || report.text());
        }
        if is_found {
            return Ok(Outcome::Fine);
        }
        let help = nearest(name, known.iter().map(String::as_str)).map_or_else(
            || "only namespaces that are compiled are explained".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Ok(refuse_usage(global, format!("there is no namespace `{name}`"), help))
    })
}
