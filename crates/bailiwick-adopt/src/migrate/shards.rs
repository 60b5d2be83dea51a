//! The steps for moving the files of namespaces to another number of folders, without the deletion of an object.

use bailiwick_codes as codes;
use bailiwick_compiler::compile;
use bailiwick_compiler::emit::file;
use bailiwick_workspace::{Error, Workspace};
use bailiwick_yaml::diag::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;

/// A move of the files of namespaces to another number of folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardMigration {
    /// The number of folders of the workspace; none without shards.
    pub from: Option<u32>,
    /// The wanted number of folders.
    pub to: u32,
    /// Each target with delivery objects.
    pub targets: Vec<MovingTarget>,
    /// The next step.
    pub next: ShardStep,
}

/// The number of moving files of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MovingTarget {
    /// The name of the target.
    pub target: String,
    /// The number of namespaces with a moving file.
    pub moving: usize,
    /// The number of namespaces.
    pub namespaces: usize,
}

/// A step of a move. Each is a commit of its own, and the next one waits until it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ShardStep {
    /// The appliers stop pruning.
    StopPruning,
    /// The files move, and the appliers of the new folders take over their objects.
    Move,
    /// The appliers delete again what goes.
    PruneAgain,
    /// Nothing is left to do.
    Done,
}

/// Returns the steps for moving the files of namespaces to `to` folders.
///
/// # Errors
/// When the workspace has no delivery objects: without them, it is not known who applies a folder.
pub fn shard_migration(workspace: &Workspace, to: u32) -> Result<ShardMigration, Error> {
    let settings = &workspace.project().workspace;
    let delivered = settings.targets.iter().filter_map(|target| Some((target, target.delivery.as_ref()?)));
    let delivered: Vec<_> = delivered.collect();
    if delivered.is_empty() {
        let message = "no target has delivery objects, so it is not known who applies the folders of the output";
        let help =
            "add `spec.delivery` to `bailiwick.yaml`; without it, stop the pruning of your appliers before the move";
        return Err(Error::invalid(Diagnostic::error(codes::INVALID_WORKSPACE, message).help(help)));
    }
    let place = |name: &str, shards: Option<u32>| file::path(Some(name), "Namespace", shards);
    let moving = |target| {
        let mut names: Vec<String> = Vec::new();
        names.extend(compile::output_files(workspace.project(), target).namespaces().map(str::to_owned));
        names.dedup();
        let moves = names.iter().filter(|name| place(name, settings.shards) != place(name, Some(to))).count();
        (moves, names.len())
    };
    let targets = delivered.iter().map(|(target, _)| {
        let (moving, namespaces) = moving(target);
        MovingTarget { target: target.name.clone(), moving, namespaces }
    });
    let is_pruning = delivered.iter().any(|(_, delivery)| delivery.prune);
    let next = match (settings.shards == Some(to), is_pruning) {
        (false, true) => ShardStep::StopPruning,
        (false, false) => ShardStep::Move,
        (true, false) => ShardStep::PruneAgain,
        (true, true) => ShardStep::Done,
    };
    Ok(ShardMigration { from: settings.shards, to, targets: targets.collect(), next })
}
