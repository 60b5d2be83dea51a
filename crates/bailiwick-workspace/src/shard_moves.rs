//! Moves of output files between the folders of delivery objects.
//!
//! An applier deletes the objects of a file missing in its folder, unless the applier of the new folder takes them over
//! first. The order of the two is a race, so a run refuses such a move while the old folder is pruned.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_compiler::delivery::pruned_folder;
use bailiwick_compiler::emit::committed::{Committed, Folder};
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::plan::TargetPlan;
use bailiwick_policy::model::Target;
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{Diagnostic, FileId, RunError, Sink};

use super::unclaimed::is_below;
use super::words::number;
use super::workspace::Workspace;

/// A moved file: its paths before and after, below the folder of the target.
struct MovedFile {
    before: String,
    after: String,
}

/// Refuses to move files of a target out of a folder with a pruning delivery object.
///
/// # Errors
/// When the delivery objects cannot be read.
pub(crate) fn refuse(
    workspace: &Workspace,
    target: &Target,
    plan: &TargetPlan,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let moved = moved_files(plan);
    let Some(delivery) = workspace.project.workspace.delivery.as_ref().filter(|_| !moved.is_empty()) else {
        return Ok(());
    };
    let committed = Folder::new(workspace.root.join(&delivery.folder).join(&target.name));
    let pruned = pruned_folders(&committed)?;
    let leaves_pruned = |file: &&MovedFile| {
        // The whole folder of a target contains both places.
        let mut shards = pruned.iter().filter(|folder| !folder.is_empty());
        shards.any(|folder| is_below(&file.before, folder) && !is_below(&file.after, folder))
    };
    let leaving: Vec<&MovedFile> = moved.iter().filter(leaves_pruned).collect();
    if let Some(first) = leaving.first() {
        let message = format!(
            "{} of the target `{}` would move out of folders whose appliers delete what goes, such as `{}` to `{}`",
            number(leaving.len(), "file"),
            target.name,
            first.before,
            first.after
        );
        let to = workspace.project.workspace.shards.map_or(1, |shards| shards);
        let help = format!("run `bailiwick migrate shards --to {to}`: it prints three steps that delete nothing");
        sink.push(Diagnostic::error(codes::SHARD_MOVE, message).help(help));
    }
    Ok(())
}

/// Returns the moved files of namespaces of a plan, in order of their namespaces.
fn moved_files(plan: &TargetPlan) -> Vec<MovedFile> {
    let by_namespace = |path: String| Some((file::namespace(&path)?.to_owned(), path));
    let deleted: BTreeMap<String, String> = plan.deleted().filter_map(by_namespace).collect();
    if deleted.is_empty() {
        return Vec::new();
    }
    let mut created: BTreeMap<String, String> = plan.created().filter_map(by_namespace).collect();
    let moved = deleted.into_iter().filter_map(|(name, before)| Some((before, created.remove(&name)?)));
    moved.map(|(before, after)| MovedFile { before, after }).collect()
}

/// Returns the folders, below the folder of the target, with pruning delivery objects in the committed folder.
fn pruned_folders(committed: &Folder) -> Result<Vec<String>, RunError> {
    let mut folders = Vec::new();
    for entry in committed.list()?.into_iter().filter(|entry| entry.is_file()) {
        let Some(text) = committed.read(&entry.path)? else { continue };
        let tree = yaml::read(&String::from_utf8_lossy(&text), FileId::default(), &mut Sink::new());
        tree.documents().for_each(|object| folders.extend(pruned_folder(object)));
    }
    Ok(folders)
}
