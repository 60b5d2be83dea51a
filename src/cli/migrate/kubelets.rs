//! `bailiwick migrate kubelets`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hashbrown::HashSet;
use serde::Deserialize;

use super::super::can_i::AnswerForm;
use super::super::printing::print;
use super::super::worlds::{WorldArguments, with_worlds};
use super::super::{Global, Outcome};
use crate::app::loaded_world::each_tree;
use crate::app::{Error, LoadedWorld};
use crate::codes;
use crate::diag::{Diagnostic, Files, Severity, Sink};
use crate::node::identity::NODES;
use crate::node::migration::{self, ApiServer, Binding, Inventory, Kubelet, Report, State};
use crate::node::system_node;
use crate::report::page::Page;
use crate::report::worlds;
use crate::yaml::de::from_node;

/// Options of `migrate kubelets`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The inventory.
    inventory: PathBuf,
    #[command(flatten)]
    world: WorldArguments,
    /// Output format of the report.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// An inventory as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    #[serde(default)]
    apiserver: ApiServer,
    #[serde(default)]
    kubelets: Vec<Kubelet>,
    #[serde(default)]
    nodes: Vec<String>,
    #[serde(default)]
    bindings: Vec<Binding>,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let path = global.input_at(&arguments.inventory);
    let mut read: Option<Written> = None;
    let mut count = 0;
    each_tree(&path, global.jobs(), &files, &mut sink, &mut |tree, sink| {
        for document in tree.documents() {
            count += 1;
            match from_node::<Written>(document) {
                Ok(written) => read = Some(written),
                Err(error) => sink.push(
                    Diagnostic::error(codes::WRONG_TYPE, error.message.clone())
                        .at_maybe(error.origin)
                        .help("`bailiwick migrate kubelets --help` tells what an inventory has"),
                ),
            }
        }
    })?;
    if count != 1 {
        let message = format!("an inventory is one document, and here are {count}");
        sink.push(Diagnostic::error(codes::INVALID_QUESTION, message).help("name a file with one document"));
    }
    let diagnostics = sink.into_sorted(&files);
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    print(global, diagnostics, &files);
    let Some(written) = read.filter(|_| !failed) else { return Ok(Outcome::Invalid) };
    let options = arguments.world.options(true);
    with_worlds(global, &arguments.world.targets, &options, |loaded_worlds| {
        let mut outcome = Outcome::Fine;
        for loaded in loaded_worlds {
            let report = migration::report(&inventory(&written, loaded));
            let told = match arguments.format {
                AnswerForm::Text => format!("{}{}", worlds::heading(loaded), text(&report)),
                AnswerForm::Json => worlds::json_line(loaded, serde_json::json!(report)),
            };
            global.terminal().result(&told);
            let is_open = |state: State| matches!(state, State::Todo | State::Blocked);
            if report.steps.iter().any(|step| is_open(step.state)) {
                outcome = outcome.worse(Outcome::No);
            }
        }
        Ok(outcome)
    })
}

/// The inventory with what the manifests tell of bindings and nodes.
fn inventory(written: &Written, loaded: &LoadedWorld) -> Inventory {
    let mut bindings = written.bindings.clone();
    // Bindings of other roles matter where they name a kubelet; those of `system:node` always.
    let users: HashSet<&str> = written.kubelets.iter().map(|kubelet| kubelet.user.as_str()).collect();
    let named = |subject: &str| match subject.split_once('/') {
        Some(("Group", group)) => group == NODES,
        Some(("User", user)) => users.contains(user),
        _ => false,
    };
    let mut known: HashSet<String> = bindings.iter().map(|binding| binding.name.clone()).collect();
    for (role, is_own) in loaded.world.bound_cluster_roles().iter().map(|role| (role, role == system_node::NAME)) {
        for (binding, subjects) in loaded.world.bound_by(None, role) {
            let relevant = is_own || subjects.iter().any(|subject| named(subject));
            let name = binding.name.rsplit('/').next().unwrap_or_default().to_owned();
            let subjects = subjects.iter().map(|subject| subject.replacen('/', " ", 1)).collect();
            if relevant && known.insert(name.clone()) {
                bindings.push(Binding { name, role: Some(role.clone()), subjects });
            }
        }
    }
    let mut nodes = written.nodes.clone();
    if let Some(cluster) = loaded.cluster() {
        nodes.extend(cluster.nodes.keys().cloned());
    }
    nodes.sort();
    nodes.dedup();
    Inventory { api_server: written.apiserver.clone(), kubelets: written.kubelets.clone(), nodes, bindings }
}

/// The report as lines.
fn text(report: &Report) -> String {
    let mut text = Page::new();
    text.push_str("kubelets\n");
    for kubelet in &report.kubelets {
        let class = serde_json::to_value(kubelet.class).unwrap_or_default();
        writeln!(text, "  `{}`: {}", kubelet.user, class.as_str().unwrap_or_default());
        for (what, told) in
            [("Node authorizer", kubelet.node_authorizer), ("NodeRestriction", kubelet.node_restriction)]
        {
            told.iter().for_each(|told| writeln!(text, "    {what}: {told}"));
        }
        kubelet.also.iter().for_each(|also| writeln!(text, "    {also}"));
        kubelet.kept_by.iter().for_each(|kept| writeln!(text, "    kept going by {kept}"));
    }
    if !report.nodes_without_identity.is_empty() {
        writeln!(text, "nodes that no kubelet's name tells of: {}", report.nodes_without_identity.join(", "));
    }
    text.push_str("steps\n");
    for step in &report.steps {
        let state = serde_json::to_value(step.state).unwrap_or_default();
        let by = if step.blocked_by.is_empty() { String::new() } else { format!(" by {}", step.blocked_by.join(", ")) };
        writeln!(text, "  {}. {}{by}: {}", step.step, state.as_str().unwrap_or_default(), step.what);
    }
    text.finish()
}
