//! The printed figures of a plan, without the plan itself. Totals of several shards add up to the totals of the whole.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file;
use super::namespaces::NamespaceChanges;
use super::plan::{Counts, FileAction, FilePlan, TargetPlan};

/// The number of changed roles that are printed one by one.
pub const MAXIMUM_LINES: usize = 20;

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
    /// Namespace objects that come and go.
    pub namespaces: NamespaceChanges,
}

/// The first of many lines, with how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLines {
    /// At most [`MAXIMUM_LINES`], each with the path of its file, in order of path.
    first: Vec<(String, String)>,
    /// All of them.
    pub count: usize,
}

impl FirstLines {
    fn from_lines(plan: &TargetPlan, lines: impl Fn(&FilePlan) -> &Vec<String>) -> Self {
        let all = plan.changes.iter().flat_map(|file| lines(file).iter().map(|line| (&file.path, line)));
        let first = all.take(MAXIMUM_LINES).map(|(path, line)| (path.clone(), line.clone())).collect();
        Self { first, count: plan.changes.iter().map(|file| lines(file).len() * file.files).sum() }
    }

    fn renewals(plan: &TargetPlan) -> Self {
        let all = plan.changes.iter().filter(|file| file.is_renewal);
        let first = all.clone().take(MAXIMUM_LINES).map(|file| (file.path.clone(), file.path.clone())).collect();
        Self { first, count: all.map(|file| file.files).sum() }
    }

    /// Returns the first lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|(_, line)| line.as_str())
    }

    /// Whether there are as many lines as are named, and no more are named than a run names.
    fn is_plausible(&self) -> bool {
        self.first.len() <= self.count.min(MAXIMUM_LINES) && u32::try_from(self.count).is_ok()
    }

    fn add(&mut self, other: Self) {
        self.first.extend(other.first);
        // A file is in one part, so that its lines keep their order.
        self.first.sort_by(|left, right| left.0.cmp(&right.0));
        self.first.truncate(MAXIMUM_LINES);
        self.count += other.count;
    }
}

impl Totals {
    /// Computes the totals of a plan whose changes are sorted by path.
    pub fn from_plan(plan: &TargetPlan) -> Self {
        let count = |is_counted: fn(&&FilePlan) -> bool| {
            plan.changes.iter().filter(is_counted).map(|file| file.files).sum::<usize>()
        };
        let is_of_namespace = |file: &&FilePlan| file.path.starts_with("namespaces/");
        let of =
            |action: FileAction| plan.changes.iter().filter(is_of_namespace).filter(move |file| file.action == action);
        // With another number of shards, the file of a namespace moves to another folder.
        let created: BTreeSet<&str> = of(FileAction::Create).filter_map(|file| file::namespace(&file.path)).collect();
        let is_moved = |file: &&FilePlan| file::namespace(&file.path).is_some_and(|name| created.contains(name));
        let moved: usize = of(FileAction::Delete).filter(is_moved).map(|file| file.files).sum();
        let deleted: usize = of(FileAction::Delete).map(|file| file.files).sum();
        let gone_namespaces = deleted - moved;
        let changed = count(|file| file.action == FileAction::Change && file.path.starts_with("namespaces/"));
        let mut namespaces = NamespaceChanges::default();
        plan.changes.iter().for_each(|file| namespaces.add(&file.namespaces));
        Self {
            counts: plan.counts,
            by_kind: plan.by_kind.iter().map(|(kind, counts)| (kind.to_string(), *counts)).collect(),
            files: plan.kept_files + count(|file| file.action != FileAction::Delete),
            files_before: plan.kept_files + count(|file| file.action != FileAction::Create),
            changed_files: count(|_| true),
            gone_namespaces,
            namespaces_before: deleted + changed + plan.kept_namespaces,
            renamed: plan.renamed.clone(),
            renewals: FirstLines::renewals(plan),
            changed_roles: FirstLines::from_lines(plan, |file| &file.changed_roles),
            changed_pods: FirstLines::from_lines(plan, |file| &file.changed_pods),
            changed_role_refs: FirstLines::from_lines(plan, |file| &file.changed_role_refs),
            namespaces,
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

    /// Computes the totals of each top folder of a plan whose paths begin with a top folder.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let of = |files: Vec<FilePlan>| {
            let mut plan = TargetPlan::default();
            files.into_iter().for_each(|file| plan.add(file));
            Totals::from_plan(&plan)
        };
        let whole = of(files());
        assert_eq!((whole.files, whole.changed_files), (4, 4));
        assert_eq!((whole.gone_namespaces, whole.namespaces_before), (1, 3));
        // The parts in the wrong order, and their files in turns.
        let of_part = |odd: usize| files().into_iter().enumerate().filter(move |(at, _)| at % 2 == odd);
        let mut sum = of(of_part(1).map(|(_, file)| file).collect());
        sum.add(of(of_part(0).map(|(_, file)| file).collect()));
        assert_eq!(sum, whole);
        assert_eq!(sum.changed_roles.lines().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}
