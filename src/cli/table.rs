//! `bailiwick table`.

use clap::{Args, ValueEnum};

use super::printing::refuse_usage;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{Error, Workspace};
use crate::diag::nearest;
use crate::model::Target;
use crate::report::table;

/// Options of `table`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The name of a compiled ClusterRole or Role.
    role: String,
    /// The namespace of the Role. Default: the ClusterRole of this name, or the first Role.
    #[arg(short, long)]
    namespace: Option<String>,
    /// The target. Default: the first one that has the role.
    #[arg(short, long, value_name = "NAME")]
    target: Option<String>,
    /// Output format of the table.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: TableForm,
}

/// The forms of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableForm {
    /// Aligned columns.
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values.
    Csv,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, arguments.target.as_slice(), |workspace, targets| {
        print_table(global, workspace, targets, arguments)
    })
}

fn print_table(
    global: &Global,
    workspace: &Workspace,
    targets: &[&Target],
    arguments: &Arguments,
) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    let search = workspace.find_role(targets, &arguments.role, arguments.namespace.as_deref())?;
    if let Some((target, role)) = &search.found {
        let rules = role.document(0).and_then(|root| root.get("rules"));
        let rows = rules.map(|rules| table::rows(rules, &workspace.project.api(target))).unwrap_or_default();
        terminal.result(&match arguments.format {
            TableForm::Text => table::text(&rows),
            TableForm::Markdown => table::markdown(&rows),
            TableForm::Csv => table::csv(&rows),
        });
        terminal.note(&format!("`{}` at Kubernetes {}: {}", target.name, target.version, table::summary(&rows)));
        return Ok(Outcome::Fine);
    }
    if tell(global, search.diagnostics) == Outcome::Invalid {
        return Ok(Outcome::Invalid);
    }
    let near = nearest(&arguments.role, search.known.iter().map(String::as_str));
    let help = near.map_or_else(
        || format!("the roles are: {}", search.known.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Ok(refuse_usage(global, format!("no compiled role is called `{}`", arguments.role), help))
}
