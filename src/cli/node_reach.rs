//! `bailiwick node-reach`.

use clap::Args;

use super::printing::refuse;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::workspaces::with_targets;
use super::worlds::{WorldArguments, load_manifests, load_target};
use super::{Global, Outcome};
use crate::app::{DeclaredNodes, Error, LoadedWorld, NodeReachAnswer, NodeReachOptions, declared_nodes};
use crate::codes;
use crate::diag::{Diagnostic, nearest};
use crate::report::nodes::{NodeReachForm, NodeReachResult};
use crate::report::worlds;

/// Options of `node-reach`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Node, or pool of a NodeAccess policy. Default: one line for each.
    name: Option<String>,
    /// Print the steps from the node to the Secrets of this namespace; may be repeated.
    #[arg(long, value_name = "NAMESPACE", requires = "name")]
    secrets_of: Vec<String>,
    #[command(flatten)]
    pub(super) world: WorldArguments,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        self.world.paths()
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(true);
    let question = NodeReachOptions { name: arguments.name.clone(), secrets_of: arguments.secrets_of.clone() };
    let mut found = Lookup::default();
    if options.is_workspace() {
        return with_targets(global, &arguments.world.targets, |workspace, targets| {
            for target in targets {
                let loaded = load_target(global, workspace, target, &options)?;
                found.add(print_answer(global, &loaded, &declared_nodes(workspace, &target.name), &question));
            }
            Ok(found.outcome(global, &question))
        });
    }
    let loaded = load_manifests(global, &options)?;
    found.add(print_answer(global, &loaded, &DeclaredNodes::default(), &question));
    Ok(found.outcome(global, &question))
}

/// The result of a search for a name in several worlds.
#[derive(Default)]
struct Lookup {
    is_found: bool,
    /// Whether Secrets that the question names are within reach.
    is_open: bool,
    names: Vec<String>,
}

impl Lookup {
    fn add(&mut self, other: Lookup) {
        self.is_found |= other.is_found;
        self.is_open |= other.is_open;
        self.names.extend(other.names);
    }

    fn outcome(self, global: &Global, question: &NodeReachOptions) -> Outcome {
        match (&question.name, self.is_found, self.is_open) {
            (_, true, true) => Outcome::No,
            (_, true, false) => Outcome::Fine,
            (Some(name), false, _) => {
                let help = nearest(name, self.names.iter().map(String::as_str)).map_or_else(
                    || {
                        "name a Node among the objects, a node that a pod is bound to, or a pool of a NodeAccess policy"
                            .to_owned()
                    },
                    |near| format!("did you mean `{near}`?"),
                );
                let message = format!("there is no node and no pool `{name}`");
                refuse(global, Diagnostic::error(codes::INVALID_QUESTION, message).help(help))
            }
            (None, false, _) => {
                let help = "bring Nodes in by a Manifests policy or --from, or declare `pools` in a NodeAccess policy";
                refuse(global, Diagnostic::error(codes::INVALID_QUESTION, "there are no nodes and no pools").help(help))
            }
        }
    }
}

/// Prints the reach of a node or a pool, or a line for each.
fn print_answer(
    global: &Global,
    loaded: &LoadedWorld,
    declared: &DeclaredNodes<'_>,
    question: &NodeReachOptions,
) -> Lookup {
    let reach = match loaded.node_reach(declared, question) {
        NodeReachAnswer::Unknown(names) => return Lookup { names, ..Lookup::default() },
        NodeReachAnswer::List(nodes) if nodes.is_empty() => return Lookup::default(),
        NodeReachAnswer::List(nodes) => NodeReachForm::List { nodes },
        NodeReachAnswer::One(reach) => NodeReachForm::One(reach),
    };
    global.print_result(
        || NodeReachResult { reach: reach.clone(), target: loaded.target.clone() },
        || format!("{}{}", worlds::heading(loaded), reach.text(&question.secrets_of)),
    );
    Lookup { is_found: true, is_open: reach.has_breach(), names: Vec::new() }
}
