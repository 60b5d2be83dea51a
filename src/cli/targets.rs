//! Targets that come and go between earlier output and what the policies say.

use std::collections::{BTreeMap, BTreeSet};

use super::removal;
use super::session::Session;
use super::summary::Consent;
use crate::diag::{Code, Diagnostic, RunError, Sink, foreign};
use crate::emit::committed::{Committed, Folder};
use crate::emit::file::{Ownership, bears_header, ownership};
use crate::emit::plan::{FilePlan, TargetPlan, identities};
use crate::emit::totals::Totals;
use crate::report::human::number;

/// The targets that only one side of a comparison has.
#[derive(Debug, Default)]
pub(super) struct TargetChanges {
    /// Those that are gone, with what goes with them.
    gone: BTreeMap<String, Totals>,
    /// The identities of the objects of those; none where they are not known, as after a run of parts.
    objects: BTreeMap<String, BTreeSet<String>>,
    /// Those that are new, with the identities of their objects.
    new: BTreeMap<String, BTreeSet<String>>,
}

impl TargetChanges {
    /// Of parts, which leave the totals of each target that is gone.
    pub(super) fn of_parts(gone: BTreeMap<String, Totals>) -> Self {
        Self { gone, ..Self::default() }
    }

    /// Of what is left in the output folder, a plan with paths below it.
    pub(super) fn of_leftovers(session: &Session<'_>, leftovers: &TargetPlan) -> Result<Self, RunError> {
        let mut changes = Self::of_parts(Totals::by_folder(leftovers));
        let output = Folder::new(session.output());
        for file in &leftovers.changes {
            changes.add_objects(&file.path, &output.read(&file.path)?.unwrap_or_default());
        }
        Ok(changes)
    }

    /// Of the folders of another output that no target of the workspace has, where they hold a file of ours.
    pub(super) fn of_folders(session: &Session<'_>, output: &dyn Committed) -> Result<Self, RunError> {
        let mut plan = TargetPlan::default();
        let mut texts = Vec::new();
        for entry in output.list()?.into_iter().filter(|entry| entry.is_file()) {
            let Some((_, below)) = entry.path.split_once('/').filter(|(target, _)| !session.has_target(target)) else {
                continue;
            };
            let bytes = output.read(&entry.path)?.unwrap_or_default();
            if is_ours(below, &bytes) {
                plan.add(FilePlan { path: entry.path.clone(), ..FilePlan::compare(below, None, Some(&bytes)) });
                texts.push((entry.path, bytes));
            }
        }
        let mut changes = Self::of_parts(Totals::by_folder(&plan));
        texts.iter().for_each(|(path, bytes)| changes.add_objects(path, bytes));
        Ok(changes)
    }

    fn add_objects(&mut self, path: &str, bytes: &[u8]) {
        let (target, _) = path.split_once('/').unwrap_or((path, ""));
        let objects = self.objects.entry(target.to_owned()).or_default();
        objects.extend(identities(&String::from_utf8_lossy(bytes)));
    }

    /// Adds a target that is gone and has no output.
    pub(super) fn add_gone(&mut self, target: &str) {
        self.gone.entry(target.to_owned()).or_default();
    }

    /// Adds a target that is new, with the identities of its objects.
    pub(super) fn add_new(&mut self, target: &str, objects: BTreeSet<String>) {
        self.new.insert(target.to_owned(), objects);
    }

    /// Whether the objects of new targets have to be known, to find renames.
    pub(super) fn asks_for_objects(&self) -> bool {
        !self.objects.is_empty()
    }

    /// Whether a target is gone.
    pub(super) fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Returns the new target that has every object of one that is gone.
    fn renamed_to(&self, gone: &str) -> Option<&str> {
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

    /// Names each target that is gone, one line each, and with `with_new` those that are new.
    pub(super) fn lines(&self, output: &str, with_new: bool) -> String {
        let mut lines: Vec<String> = self.gone.iter().map(|(name, totals)| self.loss(name, totals, output)).collect();
        let renamed: BTreeSet<&str> = self.gone.keys().filter_map(|name| self.renamed_to(name)).collect();
        let only_new = self.new.keys().filter(|name| with_new && !renamed.contains(name.as_str()));
        lines.extend(only_new.map(|name| format!("target `{name}` is new")));
        lines.iter().map(|line| format!("{}\n", foreign::line(line))).collect()
    }

    /// Refuses to delete the output of targets that nobody named.
    pub(super) fn refuse(&self, output: &str, consent: &Consent, sink: &mut Sink) {
        for (name, totals) in self.gone.iter().filter(|(name, _)| !consent.remove_target.contains(name)) {
            let help = format!("`bailiwick render --remove-target {name}` says that it is meant");
            sink.push(Diagnostic::error(Code::TargetDelete, self.loss(name, totals, output)).help(help));
        }
    }
}

/// Whether a file of an output folder is one of a target; `below` is its path below the target's folder. Without a
/// header it may be anybody's.
pub(super) fn is_ours(below: &str, bytes: &[u8]) -> bool {
    ownership(below, bytes) == Ownership::Ours && bears_header(bytes)
}
