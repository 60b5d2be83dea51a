//! `bailiwick table`.

use clap::{Args, ValueEnum};

use super::printing::refuse_usage;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{Error, Workspace};
use crate::compile::Wanted;
use crate::diag::{FileId, Sink, nearest};
use crate::model::Target;
use crate::report::table;
use crate::yaml::{self, NodeRef};

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
    let mut known: Vec<String> = Vec::new();
    let mut sink = Sink::new();
    for target in targets {
        let mut found: Option<String> = None;
        workspace.compile_files(
            target,
            Wanted::Text,
            &|file| Ok(roles(&file.text)),
            &mut |roles| {
                for role in roles {
                    let wanted = role.name == arguments.role
                        && arguments.namespace.as_ref().is_none_or(|namespace| *namespace == role.namespace);
                    if wanted && found.is_none() {
                        found = Some(role.text);
                    }
                    known.push(role.name);
                }
            },
            &mut sink,
        )?;
        if let Some(text) = found.filter(|_| !sink.has_errors()) {
            let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
            let rules = tree.document(0).and_then(|root| root.get("rules"));
            let rows = rules.map(|rules| table::rows(rules, &workspace.project.api(target))).unwrap_or_default();
            terminal.result(&match arguments.format {
                TableForm::Text => table::text(&rows),
                TableForm::Markdown => table::markdown(&rows),
                TableForm::Csv => table::csv(&rows),
            });
            terminal.note(&format!("`{}` at Kubernetes {}: {}", target.name, target.version, table::summary(&rows)));
            return Ok(Outcome::Fine);
        }
    }
    if tell(global, workspace.diagnostics(sink)) == Outcome::Invalid {
        return Ok(Outcome::Invalid);
    }
    known.sort();
    known.dedup();
    let near = nearest(&arguments.role, known.iter().map(String::as_str));
    let help = near.map_or_else(
        || format!("the roles are: {}", known.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Ok(refuse_usage(global, format!("no compiled role is called `{}`", arguments.role), help))
}

/// A role of the output, as text of its own.
struct FoundRole {
    name: String,
    namespace: String,
    text: String,
}

fn roles(file: &str) -> Vec<FoundRole> {
    let tree = yaml::read(file, FileId::default(), &mut Sink::new());
    let text =
        |root: NodeRef<'_>, keys: &[&str]| root.path(keys).and_then(NodeRef::as_str).unwrap_or_default().to_owned();
    tree.documents()
        .filter(|root| matches!(text(*root, &["kind"]).as_str(), "Role" | "ClusterRole"))
        .map(|root| {
            let mut document = String::new();
            yaml::write::document(root, &mut document);
            FoundRole {
                name: text(root, &["metadata", "name"]),
                namespace: text(root, &["metadata", "namespace"]),
                text: document,
            }
        })
        .collect()
}
