//! `bailiwick table`.

use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::printing::refuse_usage;
use super::reporting::{Formats, OutputFormat, ReportArguments};
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{Error, Workspace, find_role};
use crate::diag::nearest;
use crate::model::Target;
use crate::report::ReportFormat;
use crate::report::table::{self, TableResult};

/// Options of `table`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Name of a compiled ClusterRole or Role.
    role: String,
    /// Namespace of the Role. Default: the ClusterRole of this name, or the first Role.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Target. Default: the first target with the role.
    #[arg(short, long, value_name = "NAME")]
    target: Option<String>,
    /// Output format of the table.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: TableFormat,
    #[command(flatten)]
    report: ReportArguments,
}

/// The forms of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// A format of every command.
    Other(OutputFormat),
}

impl ValueEnum for TableFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static VARIANTS: LazyLock<Vec<TableFormat>> = LazyLock::new(|| {
            let others = OutputFormat::value_variants().iter().copied().map(TableFormat::Other);
            others.chain([TableFormat::Csv]).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Csv => Some(PossibleValue::new("csv").help("Comma-separated values")),
            Self::Other(format) => format.to_possible_value(),
        }
    }
}

impl Arguments {
    /// Returns the formats of the results, and the reports to write. The table has Markdown of its own.
    pub(super) fn formats(&self) -> Formats {
        let (format, is_own) = match self.format {
            TableFormat::Csv | TableFormat::Other(OutputFormat::Report(ReportFormat::Markdown)) => {
                (OutputFormat::Text, true)
            }
            TableFormat::Other(format) => (format, matches!(format, OutputFormat::Text | OutputFormat::JSON)),
        };
        Formats { format, has_results: true, is_own, reports: self.report.reports.clone(), ..Formats::default() }
    }
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
    let search = find_role(workspace, targets, &arguments.role, arguments.namespace.as_deref())?;
    if let Some((target, role)) = &search.found {
        let rules = role.document(0).and_then(|root| root.get("rules"));
        let rows = rules.map(|rules| table::rows(rules, &workspace.project().api(target))).unwrap_or_default();
        let summary = table::summary(&rows);
        let text = match arguments.format {
            TableFormat::Csv => table::csv(&rows),
            TableFormat::Other(OutputFormat::Report(ReportFormat::Markdown)) => table::markdown(&rows),
            TableFormat::Other(_) => table::text(&rows),
        };
        let (name, version) = (target.name.clone(), target.version.to_string());
        global.print_result(|| TableResult { target: name, kubernetes_version: version, rows }, || text);
        terminal.note(&format!("`{}` at Kubernetes {}: {summary}", target.name, target.version));
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
