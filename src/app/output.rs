//! Compares the output of a workspace with an earlier one, and reports what else is in the output folder.

use crate::codes;
use hashbrown::HashSet;

use super::unclaimed::Unclaimed;
use super::workspace::{Workspace, keeps};
use crate::compile::{OutputFile, Wanted};
use crate::diag::{Diagnostic, RunError, Sink};
use crate::digest::digest_of_run;
use crate::emit::committed::{Committed, Differing, Entry, EntryKind, Folder};
use crate::emit::file::{self, Ownership};
use crate::emit::objects::{Depth, FileChange, Memory};
use crate::emit::plan::{FilePlan, TargetPlan};
use crate::emit::write::link_on_the_way;
use crate::model::Target;
use crate::parallel;
use crate::source::{DiskWorld, RecordedWorld, World as _};
use crate::stats::Stage;

/// From how many files on the output is listed by a thread of its own.
const LONG_RUN: usize = 2_000;

impl Workspace {
    /// Compiles a target and compares every file with earlier output. `detail_of` is called on the compiling threads
    /// for each changed file; `each` receives its results, first the results of kept and new files in order of
    /// namespace, then of deleted files in order of path. `depth` is the depth of the comparison.
    pub(crate) fn compare_output<T: Send>(
        &self,
        target: &Target,
        committed: &dyn Committed,
        depth: Depth,
        detail_of: &DetailOf<'_, T>,
        each: &mut dyn FnMut(T),
        sink: &mut Sink,
    ) -> Result<ComparedTarget, RunError> {
        let mut comparison = ComparedTarget::default();
        let stats = &self.options.stats;
        let memory = Memory::new(depth);
        // Of the many files that stay, a hash of the path is all that is kept.
        let mut paths: HashSet<u128> = HashSet::new();
        let compared = |file: OutputFile| {
            let path = hash_of(&file.path);
            let compare = || committed.differing(&file.path, &file.text);
            let old = match stats.time(Stage::Compare, compare, |_| (1, file.text.len()))? {
                Differing::Same => {
                    let is_of_namespace = file.path.starts_with("namespaces/");
                    return Ok(Compared::Same { path, objects: file.kinds.len(), is_of_namespace });
                }
                Differing::Missing => None,
                Differing::Different(old) => Some(old),
            };
            let columns = self.project.columns_of(&file);
            let new = Some((&*file.text, &*file.kinds));
            let change = memory.compare(&file.path, &columns, new, old.as_deref());
            let detail = detail_of(&ChangedFile { file: Some(&file), old: old.as_deref(), change: &change })?;
            Ok(Compared::Different { path, plan: Box::new(change.plan), detail })
        };
        let mut told = Sink::new();
        let list = || stats.time(Stage::List, || Listing::of(committed), |_| (1, 0));
        let (ledger, listing) = std::thread::scope(|scope| {
            // Beside long work; where there is little, or but one thread, afterwards.
            let mut beside = None;
            let mut add = |compared| {
                let path = match compared {
                    Compared::Same { path, objects, is_of_namespace } => {
                        comparison.plan.keep(objects, is_of_namespace);
                        path
                    }
                    Compared::Different { path, plan, detail } => {
                        each(detail);
                        comparison.plan.add(*plan);
                        path
                    }
                };
                paths.insert(path);
                if paths.len() == LONG_RUN && self.options.threads() > 1 {
                    beside = Some(scope.spawn(list));
                }
            };
            let ledger = self.compile_part(target, (Wanted::Text, self.part()), &compared, &mut add, &mut told)?;
            let listing = match beside.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(listing)) => listing,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => list(),
            };
            Ok::<_, RunError>((ledger, listing?))
        })?;
        let mut others = listing.others(committed, &paths)?;
        comparison.unclaimed.add(self, &target.name, &others);
        others.retain(|entry| entry.kind != EntryKind::EmptyFolder && self.looks_at(entry));
        others.sort();
        let mut gone: Vec<Entry> = Vec::new();
        for entry in others {
            // The output would be written through a link, or in the place of a file.
            let is_in_the_way = self.is_folder_of_ours(&entry.path) || paths.contains(&hash_of(&entry.path));
            let stays = !is_in_the_way && entry.is_file() && self.is_kept(target, &entry.path);
            // An empty path is the target's folder itself, which is a file.
            match entry.is_file() && !entry.path.is_empty() {
                true if stays => comparison.others.push(entry.path),
                true => gone.push(entry),
                false => self.report_stray(target, entry, &mut told),
            }
        }
        let mut failed = None;
        parallel::in_order(
            gone.len(),
            self.options.threads(),
            || (),
            |(), position| {
                let path = gone.get(position).map_or("", |entry| &entry.path);
                let old = committed.read(path)?.unwrap_or_default();
                let change = memory.compare(path, &[], None, Some(&old));
                let is_foreign = change.plan.ownership == Some(Ownership::Foreign);
                let found = ChangedFile { file: None, old: Some(&old), change: &change };
                let detail = if is_foreign { None } else { Some(detail_of(&found)?) };
                Ok((change.plan, detail))
            },
            |_, made| {
                match made {
                    Ok((plan, Some(detail))) => {
                        each(detail);
                        comparison.plan.add(plan);
                    }
                    Ok((plan, None)) => {
                        self.report_stray(target, Entry { path: plan.path, kind: EntryKind::File }, &mut told)
                    }
                    Err(error) => failed = Some(error),
                }
                failed.is_none()
            },
        );
        if let Some(error) = failed {
            return Err(error);
        }
        let foreign = |file: &&FilePlan| file.ownership == Some(Ownership::Foreign);
        for file in comparison.plan.changes.iter().filter(foreign) {
            self.report_stray(target, Entry { path: file.path.clone(), kind: EntryKind::File }, &mut told);
        }
        comparison.plan.changes.sort_by(|left, right| left.path.cmp(&right.path));
        self.keep_namespaces_of_other_files(committed, &mut comparison.plan)?;
        if let Some(shard) = &self.shard {
            shard.note_target(target, ledger, told.diagnostics(), &comparison.plan);
        }
        sink.absorb(told);
        Ok(comparison)
    }

    /// Keeps a Namespace object that goes from a foreign file and stays in its own file.
    fn keep_namespaces_of_other_files(&self, committed: &dyn Committed, plan: &mut TargetPlan) -> Result<(), RunError> {
        let place = |name: &str| file::path(Some(name), "", self.project.workspace.shards);
        let mut stay: HashSet<String> = HashSet::new();
        for file in &plan.changes {
            for name in file.namespaces.lost().filter(|name| place(name) != file.path) {
                let bytes = committed.read(&place(name))?.unwrap_or_default();
                let has = FilePlan::compare(&place(name), None, Some(&bytes)).namespaces.lost().any(|own| own == name);
                let goes = |file: &FilePlan| file.path == place(name) && file.namespaces.lost().any(|own| own == name);
                if has && !plan.changes.iter().any(goes) {
                    stay.insert(name.to_owned());
                }
            }
        }
        for file in plan.changes.iter_mut().filter(|_| !stay.is_empty()) {
            file.namespaces.retain_lost(|name| stay.contains(name));
        }
        Ok(())
    }

    /// Returns whether this run judges an entry of a target's folder. A link, and a file in the place of a folder,
    /// concern every shard; an entry for objects without a namespace concerns only the first shard.
    fn looks_at(&self, entry: &Entry) -> bool {
        let is_in_the_way = !entry.is_file() || (self.is_folder_of_ours(&entry.path) && entry.path != "cluster");
        self.part().is_none_or(|part| is_in_the_way || part.has_file(&entry.path))
    }

    /// Returns whether a path below a target's folder can be a folder of output files.
    fn is_folder_of_ours(&self, path: &str) -> bool {
        matches!(path, "" | "cluster" | "namespaces")
            || (self.project.workspace.shards.is_some() && file::is_shard(path))
    }

    /// Whether `spec.keep` keeps a file below a target's folder, if it is not ours.
    pub(crate) fn is_kept(&self, target: &Target, path: &str) -> bool {
        self.keeps(&format!("{}/{path}", target.name))
    }

    /// Whether `spec.keep` keeps a file below the output folder, if it is not ours. In the folders of a target where the
    /// layout has places it keeps nothing.
    pub(crate) fn keeps(&self, path: &str) -> bool {
        keeps(&self.project.workspace, path)
    }

    /// Reports a link, or a file that is not ours, among the output of a target.
    fn report_stray(&self, target: &Target, entry: Entry, sink: &mut Sink) {
        let path = format!("{}/{}/{}", self.project.workspace.output, target.name, entry.path);
        let told = stray(path.trim_end_matches('/'), entry.kind);
        let is_named = || self.project.workspace.keep.is_match(format!("{}/{}", target.name, entry.path));
        sink.push(if entry.is_file() && is_named() {
            told.help("move it to another folder: `spec.keep` cannot keep a file at the path of an output file")
        } else {
            told.help(help_with_stray(entry.kind))
        });
    }

    /// Looks at the entries beside the folders of the targets. Files of ours are left over from targets that are gone;
    /// other entries are reported. Of the parts of a run only the first reports them.
    pub(crate) fn beside_targets(&self, sink: &mut Sink) -> Result<BesideTargets, RunError> {
        let mut beside = BesideTargets::default();
        if self.part().is_some_and(|part| !part.is_first()) {
            let skip = |top: &str| self.is_of_target_or_staging(top);
            let entries = Folder::new(self.output()).list_except(&skip)?;
            beside.has_files = entries.iter().any(Entry::is_file);
            return Ok(beside);
        }
        let mut told = Sink::new();
        let workspace = &self.project.workspace;
        // Asked of the workspace, so that a run which recalls this one asks again.
        let world = RecordedWorld::with(Box::new(DiskWorld::new(&self.root)), &self.answers);
        if let Some(link) = link_on_the_way(&workspace.output, |path| world.is_link(path)) {
            sink.push(
                stray(link, EntryKind::Link)
                    .help("name the folder itself under `spec.output`: links are not followed when writing"),
            );
            return Ok(beside);
        }
        let whole = Folder::new(self.output());
        let entries = whole.list_except(&|top: &str| self.is_of_target_or_staging(top))?;
        beside.unclaimed.add(self, "", &entries);
        beside.has_files = entries.iter().any(Entry::is_file);
        for Entry { path, kind } in entries {
            if kind == EntryKind::EmptyFolder {
                continue;
            }
            let old = whole.read(&path)?.unwrap_or_default();
            let below_target = path.split_once('/').map_or("", |(_, below)| below);
            let plan = FilePlan { path: path.clone(), ..FilePlan::compare(below_target, None, Some(&old)) };
            // The folders of removed targets are unknown: a file without a header can have any origin.
            let is_ours =
                kind == EntryKind::File && plan.ownership == Some(Ownership::Ours) && file::bears_header(&old);
            if kind == EntryKind::File && !is_ours && self.keeps(&path) {
                continue;
            }
            if !is_ours {
                let path = format!("{}/{path}", workspace.output);
                told.push(stray(path.trim_end_matches('/'), kind).help(help_with_stray(kind)));
            } else {
                beside.leftovers.add(plan);
            }
        }
        if let Some(shard) = &self.shard {
            shard.note_beside_targets(told.diagnostics(), &beside.leftovers);
        }
        sink.absorb(told);
        Ok(beside)
    }
}

/// The entries of an output folder. Of a file only a hash of its path is kept.
struct Listing {
    files: Vec<u128>,
    /// The entries that are not files.
    others: Vec<Entry>,
}

impl Listing {
    fn of(committed: &dyn Committed) -> Result<Self, RunError> {
        let mut listing = Self { files: Vec::new(), others: Vec::new() };
        committed.each(&mut |entry| match entry.kind {
            EntryKind::File => listing.files.push(hash_of(&entry.path)),
            _ => listing.others.push(entry),
        })?;
        Ok(listing)
    }

    /// Returns every entry that is no file, and every file with another path. If there are any, the folder is listed
    /// again for their names.
    fn others(self, committed: &dyn Committed, paths: &HashSet<u128>) -> Result<Vec<Entry>, RunError> {
        let mut others = self.others;
        if !self.files.iter().all(|path| paths.contains(path)) {
            committed.each(&mut |entry| {
                if entry.is_file() && !paths.contains(&hash_of(&entry.path)) {
                    others.push(entry);
                }
            })?;
        }
        Ok(others)
    }
}

/// The function of a command for each file that differs.
pub(crate) type DetailOf<'d, T> = dyn Fn(&ChangedFile<'_>) -> Result<T, RunError> + Sync + 'd;

/// A file that is not the same.
pub(crate) struct ChangedFile<'f> {
    /// As it is now; none for one that goes.
    pub(crate) file: Option<&'f OutputFile>,
    /// As it was; none for a new one.
    pub(crate) old: Option<&'f [u8]>,
    pub(crate) change: &'f FileChange<'f>,
}

/// Returns the diagnostic for a foreign entry of the output folder.
fn stray(path: &str, kind: EntryKind) -> Diagnostic {
    match kind {
        EntryKind::File => {
            Diagnostic::error(codes::FOREIGN_FILE, format!("`{path}` is not an output file of Bailiwick"))
        }
        EntryKind::Link => Diagnostic::error(codes::LINK_IN_OUTPUT, format!("`{path}` is a symbolic link")),
        EntryKind::Other => {
            Diagnostic::error(codes::LINK_IN_OUTPUT, format!("`{path}` is neither a file nor a folder"))
        }
        EntryKind::EmptyFolder => Diagnostic::error(codes::FOLDER_IN_OUTPUT, format!("`{path}` is an empty folder")),
        EntryKind::NotText => Diagnostic::error(
            codes::FOREIGN_FILE,
            format!("`{path}` is not an output file of Bailiwick: its name is not UTF-8"),
        ),
    }
}

fn help_with_stray(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "move it to another folder, or list it under `spec.keep` in `bailiwick.yaml`",
        EntryKind::Link => "remove it: links in the output folder are neither followed nor replaced",
        EntryKind::Other => "remove it: the output folder can contain only files and folders",
        EntryKind::EmptyFolder => "remove it",
        EntryKind::NotText => "rename it, or move it to another folder: `spec.keep` cannot list it",
    }
}

/// The result of comparing the output of a target with earlier output.
#[derive(Default)]
pub(crate) struct ComparedTarget {
    pub(crate) plan: TargetPlan,
    /// The paths of the files that are not ours and stay.
    pub(crate) others: Vec<String>,
    /// The entries that no policy accounts for.
    pub(crate) unclaimed: Unclaimed,
}

/// The entries beside the folders of the targets.
#[derive(Default)]
pub(crate) struct BesideTargets {
    /// The files of ours, as a plan to delete them, with paths below the output folder.
    pub(crate) leftovers: TargetPlan,
    /// Whether there is any file, ours or not.
    pub(crate) has_files: bool,
    /// The entries that no policy accounts for.
    pub(crate) unclaimed: Unclaimed,
}

/// A file held against earlier output.
enum Compared<T> {
    /// It stays as it is.
    Same { path: u128, objects: usize, is_of_namespace: bool },
    /// It is new, or changes.
    Different { path: u128, plan: Box<FilePlan>, detail: T },
}

fn hash_of(path: &str) -> u128 {
    digest_of_run(path)
}
