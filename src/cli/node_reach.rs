//! `bailiwick node-reach`.

use crate::codes;
use clap::Args;

use super::can_i::AnswerForm;
use super::printing::print;
use super::workspaces::with_targets;
use super::worlds::{WorldArguments, load_manifests, load_target};
use super::{Global, Outcome};
use crate::app::{Error, LoadedWorld};
use crate::diag::{Diagnostic, Files, nearest};
use crate::model::{NodePool, PlacedAgent};
use crate::node::agent::Agent;
use crate::node::graph::Graph;
use crate::node::powers::Powers;
use crate::node::reach::{Atlas, Pool};
use crate::report::nodes::{Line, Told};
use crate::report::worlds;

/// Options of `node-reach`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A node, or a pool of a NodeAccess policy. Without it: a line for each.
    name: Option<String>,
    /// Print the steps from the node to the Secrets of this namespace; may be repeated.
    #[arg(long, value_name = "NAMESPACE", requires = "name")]
    secrets_of: Vec<String>,
    #[command(flatten)]
    world: WorldArguments,
    /// Output format of the report.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(true);
    if options.from.is_empty() {
        return with_targets(global, &arguments.world.targets, |workspace, targets| {
            let mut found = Lookup::default();
            for target in targets {
                let loaded = load_target(global, workspace, target, &options)?;
                let pools: Vec<&NodePool> = workspace.project.facts.on(&target.name).collect();
                let agents: Vec<&Agent> =
                    workspace.project.facts.on(&target.name).map(|placed: &PlacedAgent| &placed.agent).collect();
                found.add(tell(global, &loaded, (&pools, &agents), arguments));
            }
            Ok(found.outcome(global, arguments, &workspace.project.files))
        });
    }
    let loaded = load_manifests(global, &options)?;
    let mut found = Lookup::default();
    found.add(tell(global, &loaded, (&[], &[]), arguments));
    Ok(found.outcome(global, arguments, &loaded.files))
}

/// The result of a search for a name in several worlds.
#[derive(Default)]
struct Lookup {
    is_found: bool,
    /// Secrets that are asked about are within reach.
    is_open: bool,
    names: Vec<String>,
}

impl Lookup {
    fn add(&mut self, other: Lookup) {
        self.is_found |= other.is_found;
        self.is_open |= other.is_open;
        self.names.extend(other.names);
    }

    fn outcome(self, global: &Global, arguments: &Arguments, files: &Files) -> Outcome {
        if self.is_found {
            return if self.is_open { Outcome::No } else { Outcome::Fine };
        }
        let (message, help) = match &arguments.name {
            Some(name) => {
                let near = nearest(name, self.names.iter().map(String::as_str));
                let help = near.map_or_else(
                    || {
                        "name a Node among the objects, a node that a pod is bound to, or a pool of a NodeAccess policy"
                            .to_owned()
                    },
                    |near| format!("did you mean `{near}`?"),
                );
                (format!("there is no node and no pool `{name}`"), help)
            }
            None => (
                "there are no nodes and no pools".to_owned(),
                "bring Nodes in by a Manifests policy or --from, or declare `pools` in a NodeAccess policy".to_owned(),
            ),
        };
        print(global, vec![Diagnostic::error(codes::INVALID_QUESTION, message).help(help)], files);
        Outcome::Invalid
    }
}

/// Tells of a node or a pool, or a line of each, knowing the pools and agents of the policies.
fn tell(
    global: &Global,
    loaded: &LoadedWorld,
    (pools, agents): (&[&NodePool], &[&Agent]),
    arguments: &Arguments,
) -> Lookup {
    let Some(cluster) = loaded.cluster() else { return Lookup::default() };
    let graph = Graph::of(cluster);
    let atlas = Atlas::new(cluster, &graph);
    let mut powers = Powers::new(&loaded.world, &cluster.version).with_agents(agents.iter().copied());
    let names = cluster.node_names();
    let pool_of = |pool: &NodePool| Pool::of(cluster, pool.like.clone());
    let terminal = global.terminal();
    let Some(name) = &arguments.name else {
        let mut lines: Vec<Line> = Vec::new();
        for pool in pools {
            lines.push(Line::of(&format!("pool {}", pool.name), &atlas.of_pool(&pool_of(pool), false), &mut powers));
        }
        for name in &names {
            lines.push(Line::of(name, &atlas.of_node(name, false), &mut powers));
        }
        let is_found = !lines.is_empty();
        if is_found {
            terminal.result(&match arguments.format {
                AnswerForm::Text => format!("{}{}", worlds::heading(loaded), Line::table(&lines)),
                AnswerForm::Json => worlds::json_line(loaded, serde_json::json!({ "nodes": lines })),
            });
        }
        return Lookup { is_found, ..Lookup::default() };
    };
    let pool = pools.iter().find(|pool| pool.name == *name);
    let known = pool.is_some() || names.contains(name.as_str());
    let all = names.iter().map(|name| (*name).to_owned()).chain(pools.iter().map(|pool| pool.name.clone()));
    if !known {
        return Lookup { names: all.collect(), ..Lookup::default() };
    }
    let pool = pool.map(|pool| pool_of(pool));
    let reach = |relabels: bool| match &pool {
        Some(pool) => atlas.of_pool(pool, relabels),
        None => atlas.of_node(name, relabels),
    };
    let (plain, relabelled) = (reach(false), reach(true));
    let alone = [name.clone()];
    let nodes = pool.as_ref().map_or(alone.as_slice(), |pool| &pool.members);
    let breaches = powers.breaches(nodes, &relabelled, &arguments.secrets_of);
    let told = Told {
        name,
        pool: pool.as_ref(),
        carried: powers.carried(&plain),
        kubelet: powers.of_kubelets(nodes),
        atlas: &atlas,
        plain: &plain,
        relabelled: &relabelled,
        asked: &arguments.secrets_of,
        breaches: &breaches,
    };
    terminal.result(&match arguments.format {
        AnswerForm::Text => format!("{}{}", worlds::heading(loaded), told.text(&mut powers)),
        AnswerForm::Json => worlds::json_line(loaded, told.json(&mut powers)),
    });
    Lookup { is_found: true, is_open: !breaches.is_empty(), names: Vec::new() }
}
