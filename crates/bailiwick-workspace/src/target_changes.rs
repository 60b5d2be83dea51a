//! Targets that come and go between earlier output and the policies.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_codes as codes;
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_compiler::emit::file::{FileOwnership, bears_header, ownership};
use bailiwick_compiler::emit::plan::{FilePlan, TargetPlan, object_digests};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use bailiwick_yaml::digest::Digest;

use super::output::BesideTargets;
use super::part_files::is_of_part;
use super::removal;
use super::removal::Consent;
use super::words::number;
use super::workspace::{Workspace, has_target, part_of_run};
use crate::judged_files::judged_output;

/// The targets that only one side of a comparison has.
#[derive(Debug, Default)]
pub struct TargetChanges {
    /// The targets that are gone, with the totals of their objects.
    gone: BTreeMap<String, Totals>,
    /// The objects of those; in a part of a run the objects that belong to the part.
    objects: ObjectsByTarget,
    /// The targets that are new, with their objects.
    new: ObjectsByTarget,
    /// Whether the objects of new targets have to be known, to find renames.
    asks_for_objects: bool,
}

/// The digests of the identities of objects, by target.
pub type ObjectsByTarget = BTreeMap<String, BTreeSet<Digest>>;

impl TargetChanges {
    /// Returns the targets that are gone, with the totals of their objects.
    pub fn gone(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.gone.iter().map(|(target, totals)| (target.as_str(), totals))
    }

    /// Returns the changes with these totals and objects of the targets that are gone.
    pub fn of_gone(gone: BTreeMap<String, Totals>, objects: ObjectsByTarget) -> Self {
        Self { gone, asks_for_objects: !objects.is_empty(), objects, new: BTreeMap::new() }
    }

    /// Returns the targets that are gone and have files in the output folder. A part of a run leaves the objects of all of
    /// them for the merge.
    pub fn of_leftovers(workspace: &Workspace, beside: &BesideTargets) -> Result<Self, RunError> {
        let (mut all, mut own) = (ObjectsByTarget::new(), ObjectsByTarget::new());
        let output = judged_output(workspace, None);
        for file in &beside.leftovers.changes {
            let (target, below) = file.path.split_once('/').unwrap_or((&file.path, ""));
            let digests = object_digests(&String::from_utf8_lossy(&output.read(&file.path)?.unwrap_or_default()));
            if part_of_run(workspace).is_none_or(|part| is_of_part(below, part)) {
                own.entry(target.to_owned()).or_default().extend(digests.iter().copied());
            }
            if workspace.shard.is_some() {
                all.entry(target.to_owned()).or_default().extend(digests);
            }
        }
        if let Some(shard) = &workspace.shard {
            shard.note_leftover_objects(all);
        }
        let mut changes = Self::of_gone(Totals::by_folder(&beside.leftovers), own);
        if workspace.shard.is_some() && beside.has_files {
            changes.ask_for_objects();
        }
        Ok(changes)
    }

    /// Finds the folders of other output without a target in the workspace that have an output file.
    pub fn of_folders(workspace: &Workspace, output: &dyn Committed) -> Result<Self, RunError> {
        let mut plan = TargetPlan::default();
        let mut texts = Vec::new();
        for entry in output.list()?.into_iter().filter(|entry| entry.is_file()) {
            let Some((_, below)) = entry.path.split_once('/').filter(|(target, _)| !has_target(workspace, target))
            else {
                continue;
            };
            let bytes = output.read(&entry.path)?.unwrap_or_default();
            if is_ours(below, &bytes) {
                let files = workspace.files_alike(below);
                plan.add(FilePlan { path: entry.path.clone(), files, ..FilePlan::compare(below, None, Some(&bytes)) });
                texts.push((entry.path, bytes));
            }
        }
        let mut objects = ObjectsByTarget::new();
        for (path, bytes) in &texts {
            let (target, _) = path.split_once('/').unwrap_or((path, ""));
            let digests = object_digests(&String::from_utf8_lossy(bytes));
            objects.entry(target.to_owned()).or_default().extend(digests);
        }
        Ok(Self::of_gone(Totals::by_folder(&plan), objects))
    }

    /// Adds a target that is gone and has no output.
    pub fn add_gone(&mut self, target: &str) {
        self.gone.entry(target.to_owned()).or_default();
    }

    /// Adds a target that is new, with its objects. A part of a run leaves them for the merge.
    pub fn add_new(&mut self, workspace: &Workspace, target: &str, objects: BTreeSet<Digest>) {
        if let Some(shard) = &workspace.shard {
            shard.note_new_objects(target, &objects);
        }
        self.new.insert(target.to_owned(), objects);
    }

    /// Whether the objects of new targets have to be known, to find renames.
    pub fn asks_for_objects(&self) -> bool {
        self.asks_for_objects
    }

    /// Requests the objects of new targets, for a merge.
    pub(crate) fn ask_for_objects(&mut self) {
        self.asks_for_objects = true;
    }

    /// Whether a target is gone.
    pub fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Returns the new target that has every object of one that is gone.
    pub fn renamed_to(&self, gone: &str) -> Option<&str> {
        let objects = self.objects.get(gone).filter(|objects| !objects.is_empty())?;
        self.new.iter().find(|(_, new)| objects.is_subset(new)).map(|(name, _)| name.as_str())
    }

    /// Describes what becomes of a target that is gone.
    fn loss(&self, name: &str, totals: &Totals, output: &str) -> String {
        let objects = number(totals.counts.deleted, "object");
        if let Some(new) = self.renamed_to(name) {
            return format!(
                "target `{name}` is renamed to `{new}`: an applier of `{output}/{name}` would delete {objects}"
            );
        }
        format!("target `{name}` is gone: {objects} deleted{}", removal::among_them(totals))
    }

    /// Names each removed target, one sentence each, and with `with_new` the new targets.
    pub fn sentences(&self, output: &str, with_new: bool) -> Vec<String> {
        let mut lines: Vec<String> = self.gone.iter().map(|(name, totals)| self.loss(name, totals, output)).collect();
        let renamed: BTreeSet<&str> = self.gone.keys().filter_map(|name| self.renamed_to(name)).collect();
        let only_new = self.new.keys().filter(|name| with_new && !renamed.contains(name.as_str()));
        lines.extend(only_new.map(|name| format!("target `{name}` is new")));
        lines
    }

    /// Refuses to delete the output of targets without consent.
    pub fn refuse(&self, output: &str, consent: &Consent, sink: &mut Sink) {
        for (name, totals) in self.gone.iter().filter(|(name, _)| !consent.remove_target.contains(name)) {
            let help = format!("run `bailiwick render --remove-target {name}` to confirm the deletion");
            sink.push(Diagnostic::error(codes::TARGET_DELETE, self.loss(name, totals, output)).help(help));
        }
    }
}

/// Whether a file of an output folder belongs to a target; `below` is its path below the target's folder. A file
/// without a header can have any origin.
pub fn is_ours(below: &str, bytes: &[u8]) -> bool {
    ownership(below, bytes) == FileOwnership::Ours && bears_header(bytes)
}
