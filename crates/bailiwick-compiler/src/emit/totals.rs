//! The printed figures of a plan, without the plan itself. Totals of several shards add up to the totals of the whole.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file;
use super::first_lines::FirstLines;
use super::namespaces::NamespaceChanges;
use super::plan::{Counts, FileAction, TargetPlan};

/// The beginning of the path of the file of a namespace.
const NAMESPACES: &str = "namespaces/";

/// Totals of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The changes of the objects.
    pub counts: Counts,
    /// The same by kind; unchanged files do not count here.
    pub by_kind: BTreeMap<String, Counts>,
    /// How many files there are afterwards.
    pub files: usize,
    /// How many files there were before.
    pub files_before: usize,
    /// How many files do not stay as they are.
    pub changed_files: usize,
    /// How many files of namespaces go.
    pub gone_namespaces: usize,
    /// How many files of namespaces were there.
    pub namespaces_before: usize,
    /// In how many files an object of a kind goes while another of the same kind comes: a rename.
    pub renamed: BTreeMap<String, usize>,
    /// Paths of files that differ only in the header, and the header is the header of an earlier version.
    pub renewals: FirstLines,
    /// Roles whose rules grant more or less than before.
    pub changed_roles: FirstLines,
    /// Objects that admit other pods than before.
    pub changed_pods: FirstLines,
    /// Bindings whose role changes under the same name.
    pub changed_role_refs: FirstLines,
    /// Namespace objects that go, and the Namespace objects that come and matter for these.
    pub namespaces: NamespaceChanges,
}

impl Totals {
    /// Computes the totals of a plan.
    pub fn from_plan(plan: &TargetPlan) -> Self {
        Self::of(plan, false)
    }

    /// Computes the totals of the plan of a part. The totals of other parts are added to them.
    pub fn of_part(plan: &TargetPlan) -> Self {
        Self::of(plan, true)
    }

    fn of(plan: &TargetPlan, is_part: bool) -> Self {
        let count = |action: FileAction| plan.count(action, "");
        let (created, changed, removed) =
            (count(FileAction::Create), count(FileAction::Change), count(FileAction::Delete));
        let of_namespaces = |action: FileAction| plan.count(action, NAMESPACES);
        let deleted = of_namespaces(FileAction::Delete);
        Self {
            counts: plan.counts,
            by_kind: plan.by_kind.iter().map(|(kind, counts)| (kind.to_string(), *counts)).collect(),
            files: plan.kept_files + created + changed,
            files_before: plan.kept_files + changed + removed,
            changed_files: created + changed + removed,
            gone_namespaces: deleted - if deleted > 0 { moved(plan) } else { 0 },
            namespaces_before: deleted + of_namespaces(FileAction::Change) + plan.kept_namespaces,
            renamed: plan.renamed.clone(),
            renewals: plan.renewals.clone(),
            changed_roles: plan.changed_roles.clone(),
            changed_pods: plan.changed_pods.clone(),
            changed_role_refs: plan.changed_role_refs.clone(),
            namespaces: plan.namespaces(is_part),
        }
    }

    /// Adds the totals of another part.
    pub fn add(&mut self, other: Self) {
        self.counts.add(other.counts);
        for (kind, counts) in other.by_kind {
            self.by_kind.entry(kind).or_default().add(counts);
        }
        self.files += other.files;
        self.files_before += other.files_before;
        self.changed_files += other.changed_files;
        self.gone_namespaces += other.gone_namespaces;
        self.namespaces_before += other.namespaces_before;
        for (kind, files) in other.renamed {
            *self.renamed.entry(kind).or_default() += files;
        }
        self.renewals.add(other.renewals);
        self.changed_roles.add(other.changed_roles);
        self.changed_pods.add(other.changed_pods);
        self.changed_role_refs.add(other.changed_role_refs);
        self.namespaces.add(&other.namespaces);
    }

    /// Computes the totals of each top folder of a plan of files that go, whose paths begin with a top folder.
    pub fn by_folder(plan: &TargetPlan) -> BTreeMap<String, Self> {
        let mut plans: BTreeMap<&str, TargetPlan> = BTreeMap::new();
        for file in &plan.changes {
            let folder = file.path.split_once('/').map_or(&*file.path, |(folder, _)| folder);
            plans.entry(folder).or_default().add(file.clone());
        }
        plans.into_iter().map(|(folder, plan)| (folder.to_owned(), Self::from_plan(&plan))).collect()
    }

    /// Whether there was no file before, and there is one now.
    pub fn is_new(&self) -> bool {
        self.files_before == 0 && self.files > 0
    }

    /// Returns whether a change is needed.
    pub fn is_drift(&self) -> bool {
        self.changed_files > 0
    }

    /// Returns the kinds renamed in more than `threshold` files, with the number of files.
    pub fn mass_recreates(&self, threshold: usize) -> impl Iterator<Item = (&str, usize)> {
        self.renamed.iter().filter(move |(_, files)| **files > threshold).map(|(kind, files)| (kind.as_str(), *files))
    }

    /// Returns whether a run can have these numbers. The numbers of any number of shards can then be added without
    /// overflow.
    pub fn is_plausible(&self) -> bool {
        let counts = self.by_kind.values().chain([&self.counts]);
        let counts = counts.flat_map(|of| [of.created, of.changed, of.deleted, of.unchanged]);
        let single = [self.files, self.files_before, self.changed_files, self.gone_namespaces, self.namespaces_before];
        let named = [&self.renewals, &self.changed_roles, &self.changed_pods, &self.changed_role_refs];
        named.into_iter().all(FirstLines::is_plausible)
            && counts.chain(single).chain(self.renamed.values().copied()).all(|count| u32::try_from(count).is_ok())
    }
}

/// Returns the number of files that go and whose namespace has a new file: with another number of shards, the file of a namespace moves
/// to another folder.
fn moved(plan: &TargetPlan) -> usize {
    let created: BTreeSet<String> =
        plan.created().filter_map(|path| file::namespace(&path).map(str::to_owned)).collect();
    let deleted = plan.changes.iter().filter(|file| file.action == FileAction::Delete);
    let is_moved = |path: &str| file::namespace(path).is_some_and(|name| created.contains(name));
    deleted.filter(|file| is_moved(&file.path)).map(|file| file.files).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::plan::FilePlan;

    fn file(path: &str, action: FileAction, role: &str) -> FilePlan {
        FilePlan { action, changed_roles: vec![role.to_owned()], ..FilePlan::keep(path, 2) }
    }

    #[test]
    fn the_totals_of_parts_are_those_of_the_whole() {
        let files = || {
            vec![
                file("cluster/clusterrole.yaml", FileAction::Change, "a"),
                file("namespaces/a.yaml", FileAction::Delete, "b"),
                file("namespaces/b.yaml", FileAction::Change, "c"),
                file("namespaces/c.yaml", FileAction::Create, "d"),
                FilePlan::keep("namespaces/d.yaml", 3),
            ]
        };
        let plan = |files: Vec<FilePlan>| {
            let mut plan = TargetPlan::default();
            files.into_iter().for_each(|file| plan.add(file));
            plan
        };
        let whole = Totals::from_plan(&plan(files()));
        assert_eq!((whole.files, whole.changed_files), (4, 4));
        assert_eq!((whole.gone_namespaces, whole.namespaces_before), (1, 3));
        // The parts in the wrong order, and their files in turns.
        let of_part = |odd: usize| files().into_iter().enumerate().filter(move |(at, _)| at % 2 == odd);
        let totals = |odd: usize| Totals::of_part(&plan(of_part(odd).map(|(_, file)| file).collect()));
        let mut sum = totals(1);
        sum.add(totals(0));
        assert_eq!(sum, whole);
        assert_eq!(sum.changed_roles.lines().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}
