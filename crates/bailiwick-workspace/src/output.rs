//! Compares the output of a workspace with an earlier one, and reports what else is in the output folder.

use bailiwick_base::parallel;
use bailiwick_base::stats::Stage;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, ObjectForm, OutputFile, ShardSummary};
use bailiwick_compiler::emit::committed::{Committed, Differing, Entry, EntryKind};
use bailiwick_compiler::emit::file::{self, FileOwnership};
use bailiwick_compiler::emit::objects::{Depth, FileChange, Memory};
use bailiwick_compiler::emit::plan::{FilePlan, TargetPlan};
use bailiwick_compiler::emit::write::link_on_the_way;
use bailiwick_policy::model::Target;
use bailiwick_policy::source::{DiskSource, FileSource as _};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use bailiwick_yaml::digest::digest_of_run;
use hashbrown::HashSet;

use super::part_files::is_of_part;
use super::unclaimed::Unclaimed;
use super::workspace::{Workspace, keeps, part_of_run};
use crate::judged_files::judged_output;

/// From how many files on the output is listed by a thread of its own.
const LONG_RUN: usize = 2_000;

impl Workspace {
    /// Compiles a target and compares every file with earlier output. `detail_of` is called on the compiling threads
    /// for each changed file; `each` receives its results, first the results of kept and new files in order of
    /// namespace, then of deleted files in order of path.
    pub fn compare_output<T: Send>(
        &self,
        target: &Target,
        earlier: EarlierOutput<'_>,
        detail_of: &DetailOf<'_, T>,
        each: &mut dyn FnMut(T),
        sink: &mut Sink,
    ) -> Result<ComparedTarget, RunError> {
        let EarlierOutput { committed, depth, each_file } = earlier;
        let mut comparison = OutputComparison {
            workspace: self,
            target,
            committed,
            memory: Memory::new(depth),
            each_file,
            detail_of,
            each,
            paths: HashSet::new(),
            compared: ComparedTarget::default(),
            found: Sink::new(),
        };
        let (ledger, listing) = comparison.compare_compiled_files()?;
        let gone = comparison.sort_other_entries(listing)?;
        comparison.compare_gone_files(&gone)?;
        comparison.report_foreign_files();
        let OutputComparison { mut compared, found, .. } = comparison;
        compared.plan.changes.sort_by(|left, right| left.path.cmp(&right.path));
        self.keep_namespaces_of_other_files(committed, &mut compared.plan)?;
        if let Some(delivery) = &target.delivery {
            for file in &mut compared.plan.changes {
                file.namespaces.keep_by(delivery.argocd.is_some(), delivery.flux.is_some());
            }
        }
        if let Some(shard) = &self.shard {
            shard.note_target(target, ledger, found.diagnostics(), &compared.plan);
        }
        sink.absorb(found);
        Ok(compared)
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
        part_of_run(self).is_none_or(|part| is_in_the_way || is_of_part(&entry.path, part))
    }

    /// Returns whether a path below a target's folder can be a folder of output files.
    fn is_folder_of_ours(&self, path: &str) -> bool {
        matches!(path, "" | "cluster" | "namespaces")
            || (self.project.workspace.shards.is_some() && file::is_shard(path))
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
}

/// Looks at the entries beside the folders of the targets. Files of ours are left over from targets that are gone;
/// other entries are reported. Of the parts of a run only the first reports them.
pub fn beside_targets(workspace: &Workspace, sink: &mut Sink) -> Result<BesideTargets, RunError> {
    let mut beside = BesideTargets::default();
    if part_of_run(workspace).is_some_and(|part| !part.is_first()) {
        let skip = |top: &str| workspace.is_of_target_or_staging(top);
        let entries = judged_output(workspace, None).list_except(&skip)?;
        beside.has_files = entries.iter().any(Entry::is_file);
        return Ok(beside);
    }
    let mut told = Sink::new();
    let settings = &workspace.project.workspace;
    let world = DiskSource::new(&workspace.root);
    let is_link = |path: &str| workspace.tree.as_ref().map_or_else(|| world.is_link(path), |tree| tree.is_link(path));
    if let Some(link) = link_on_the_way(&settings.output, is_link) {
        sink.push(
            stray(link, EntryKind::Link)
                .help("name the folder itself under `spec.output`: links are not followed when writing"),
        );
        return Ok(beside);
    }
    let delivery = settings.delivery.as_ref();
    if let Some(link) = delivery.and_then(|delivery| link_on_the_way(&delivery.folder, is_link)) {
        sink.push(stray(link, EntryKind::Link).help("remove it: links are not followed when writing"));
    }
    let whole = judged_output(workspace, None);
    let entries = whole.list_except(&|top: &str| workspace.is_of_target_or_staging(top))?;
    beside.unclaimed.add(workspace, "", &entries);
    beside.has_files = entries.iter().any(Entry::is_file);
    for Entry { path, kind } in entries {
        if matches!(kind, EntryKind::EmptyFolder | EntryKind::Submodule) {
            continue;
        }
        let old = whole.read(&path)?.unwrap_or_default();
        let below_target = path.split_once('/').map_or("", |(_, below)| below);
        let plan = FilePlan { path: path.clone(), ..FilePlan::compare(below_target, None, Some(&old)) };
        // The folders of removed targets are unknown: a file without a header can have any origin.
        let is_ours =
            kind == EntryKind::File && plan.ownership == Some(FileOwnership::Ours) && file::bears_header(&old);
        if kind == EntryKind::File && !is_ours && workspace.keeps(&path) {
            continue;
        }
        if !is_ours {
            let path = format!("{}/{path}", settings.output);
            told.push(stray(path.trim_end_matches('/'), kind).help(help_with_stray(kind)));
        } else {
            beside.leftovers.add(plan);
        }
    }
    if let Some(shard) = &workspace.shard {
        shard.note_beside_targets(told.diagnostics(), &beside.leftovers);
    }
    sink.absorb(told);
    Ok(beside)
}

/// Whether `spec.keep` keeps a file below a target's folder, if it is not ours.
pub fn is_kept(workspace: &Workspace, target: &Target, path: &str) -> bool {
    workspace.keeps(&format!("{}/{path}", target.name))
}

/// The comparison of the output of a target with earlier output, while it runs.
struct OutputComparison<'c, T> {
    workspace: &'c Workspace,
    target: &'c Target,
    committed: &'c dyn Committed,
    memory: Memory,
    each_file: EachFile<'c>,
    detail_of: &'c DetailOf<'c, T>,
    each: &'c mut dyn FnMut(T),
    /// Hashes of the paths of the compiled files. Many files stay as they are, and a hash is all that is kept of them.
    paths: HashSet<u64>,
    compared: ComparedTarget,
    found: Sink,
}

impl<T: Send> OutputComparison<'_, T> {
    /// Compiles the target and compares each file. The earlier output is listed on a thread of its own in a long run, and
    /// afterwards in a short run.
    fn compare_compiled_files(&mut self) -> Result<(ShardSummary, Listing), RunError> {
        let Self { workspace, target, committed, memory, each_file, detail_of, each, paths, compared, found } = self;
        let (workspace, committed, each_file, detail_of) = (*workspace, *committed, *each_file, *detail_of);
        let stats = &workspace.options.stats;
        let compare = |file: OutputFile| {
            each_file(target, &file);
            let path = hash_of(&file.path);
            let read = || committed.differing(&file.path, &file.text);
            let old = match stats.time(Stage::Compare, read, |_| (1, file.text.len()))? {
                Differing::Same => {
                    let is_of_namespace = file.path.starts_with("namespaces/");
                    let files = workspace.files_alike(&file.path);
                    return Ok(ComparedFile::Same { path, objects: file.kinds.len(), is_of_namespace, files });
                }
                Differing::Missing => None,
                Differing::Different(old) => Some(old),
            };
            let columns = workspace.project.columns_of(&file);
            let new = Some((&*file.text, &*file.kinds));
            let change = memory.compare(&file.path, &columns, new, old.as_deref());
            let detail = detail_of(&ChangedFile { file: Some(&file), old: old.as_deref(), change: &change })?;
            let plan = FilePlan { files: workspace.files_alike(&file.path), ..change.plan };
            Ok(ComparedFile::Different { path, plan: Box::new(plan), detail })
        };
        let list = || stats.time(Stage::List, || Listing::of(committed), |_| (1, 0));
        std::thread::scope(|scope| {
            let mut listing_thread = None;
            let mut add = |file| {
                let path = match file {
                    ComparedFile::Same { path, objects, is_of_namespace, files } => {
                        compared.has_cluster |= !is_of_namespace;
                        compared.plan.keep(objects, is_of_namespace, files);
                        path
                    }
                    ComparedFile::Different { path, plan, detail } => {
                        compared.has_cluster |= file::namespace(&plan.path).is_none();
                        each(detail);
                        compared.plan.add(*plan);
                        path
                    }
                };
                paths.insert(path);
                if paths.len() == LONG_RUN && workspace.options.threads() > 1 {
                    listing_thread = Some(scope.spawn(list));
                }
            };
            let options = compile::CompileOptions {
                wanted: ObjectForm::Text,
                part: part_of_run(workspace),
                ..workspace.compiler()
            };
            let ledger = workspace.compile_part(target, options, &compare, &mut add, found)?;
            let listing = match listing_thread.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(listing)) => listing,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => list(),
            };
            Ok((ledger, listing?))
        })
    }

    /// Sorts the entries without a compiled file: foreign files that stay, and entries that are reported. Returns the files
    /// that go.
    fn sort_other_entries(&mut self, listing: Listing) -> Result<Vec<Entry>, RunError> {
        let Self { workspace, target, committed, paths, compared, found, .. } = self;
        let mut others = listing.others(*committed, paths)?;
        compared.unclaimed.add(workspace, &target.name, &others);
        let is_judged_elsewhere = |kind| matches!(kind, EntryKind::EmptyFolder | EntryKind::Submodule);
        others.retain(|entry| !is_judged_elsewhere(entry.kind) && workspace.looks_at(entry));
        others.sort();
        let mut gone: Vec<Entry> = Vec::new();
        for entry in others {
            // The output would be written through a link, or in the place of a file.
            let is_in_the_way = workspace.is_folder_of_ours(&entry.path) || paths.contains(&hash_of(&entry.path));
            let stays = !is_in_the_way && entry.is_file() && is_kept(workspace, target, &entry.path);
            // An empty path is the target's folder itself, which is a file.
            match entry.is_file() && !entry.path.is_empty() {
                true if stays => {}
                true => gone.push(entry),
                false => workspace.report_stray(target, entry, found),
            }
        }
        Ok(gone)
    }

    /// Compares files that the policies do not make with nothing.
    fn compare_gone_files(&mut self, gone: &[Entry]) -> Result<(), RunError> {
        let Self { workspace, target, committed, memory, detail_of, each, compared, found, .. } = self;
        let (workspace, committed, detail_of) = (*workspace, *committed, *detail_of);
        let compare = |path: &str| {
            let old = committed.read(path)?.unwrap_or_default();
            let change = memory.compare(path, &[], None, Some(&old));
            let is_foreign = change.plan.ownership == Some(FileOwnership::Foreign);
            let file = ChangedFile { file: None, old: Some(&old), change: &change };
            let detail = if is_foreign { None } else { Some(detail_of(&file)?) };
            Ok((FilePlan { files: workspace.files_alike(path), ..change.plan }, detail))
        };
        let mut failed = None;
        parallel::in_order(
            gone.len(),
            workspace.options.threads(),
            || (),
            |(), position| compare(gone.get(position).map_or("", |entry| &entry.path)),
            |_, made| {
                match made {
                    Ok((plan, Some(detail))) => {
                        each(detail);
                        compared.plan.add(plan);
                    }
                    Ok((plan, None)) => {
                        workspace.report_stray(target, Entry { path: plan.path, kind: EntryKind::File }, found);
                    }
                    Err(error) => failed = Some(error),
                }
                failed.is_none()
            },
        );
        failed.map_or(Ok(()), Err)
    }

    /// Reports the files in the places of compiled files that Bailiwick did not write.
    fn report_foreign_files(&mut self) {
        let Self { workspace, target, compared, found, .. } = self;
        let is_foreign = |file: &&FilePlan| file.ownership == Some(FileOwnership::Foreign);
        for file in compared.plan.changes.iter().filter(is_foreign) {
            workspace.report_stray(target, Entry { path: file.path.clone(), kind: EntryKind::File }, found);
        }
    }
}

/// The entries of an output folder. Of a file only a hash of its path is kept.
struct Listing {
    files: Vec<u64>,
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
    fn others(self, committed: &dyn Committed, paths: &HashSet<u64>) -> Result<Vec<Entry>, RunError> {
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

/// The output that a comparison begins with.
pub struct EarlierOutput<'o> {
    /// The files of the earlier output.
    pub committed: &'o dyn Committed,
    /// How much of each difference is computed.
    pub depth: Depth,
    /// The function that is called with each compiled file, changed or not.
    pub each_file: EachFile<'o>,
}

/// A function that is called with each compiled file of a target, on the compiling threads.
pub type EachFile<'f> = &'f (dyn Fn(&Target, &OutputFile) + Sync);

/// The function of a command for each file that differs.
pub type DetailOf<'d, T> = dyn Fn(&ChangedFile<'_>) -> Result<T, RunError> + Sync + 'd;

/// A file that is not the same.
pub struct ChangedFile<'f> {
    /// As it is now; none for one that goes.
    pub file: Option<&'f OutputFile>,
    /// As it was; none for a new one.
    pub old: Option<&'f [u8]>,
    /// The difference of both texts.
    pub change: &'f FileChange<'f>,
}

/// Returns the diagnostic for a foreign entry of the output folder.
pub(super) fn stray(path: &str, kind: EntryKind) -> Diagnostic {
    match kind {
        EntryKind::File => {
            Diagnostic::error(codes::FOREIGN_FILE, format!("`{path}` is not an output file of Bailiwick"))
        }
        EntryKind::Link => Diagnostic::error(codes::LINK_IN_OUTPUT, format!("`{path}` is a symbolic link")),
        EntryKind::Other => {
            Diagnostic::error(codes::LINK_IN_OUTPUT, format!("`{path}` is neither a file nor a folder"))
        }
        EntryKind::EmptyFolder => Diagnostic::error(codes::FOLDER_IN_OUTPUT, format!("`{path}` is an empty folder")),
        EntryKind::Submodule => Diagnostic::error(codes::FOLDER_IN_OUTPUT, format!("`{path}` is a submodule")),
        EntryKind::NotText => Diagnostic::error(
            codes::FOREIGN_FILE,
            format!("`{path}` is not an output file of Bailiwick: its name is not UTF-8"),
        ),
    }
}

/// The remedy for a submodule.
const HELP_WITH_SUBMODULE: &str = "remove it with `git rm`: Argo CD and Flux apply what a submodule holds";

pub(super) fn help_with_stray(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "move it to another folder, or list it under `spec.keep` in `bailiwick.yaml`",
        EntryKind::Link => "remove it: links in the output folder are neither followed nor replaced",
        EntryKind::Other => "remove it: the output folder can contain only files and folders",
        EntryKind::EmptyFolder => "remove it",
        EntryKind::Submodule => HELP_WITH_SUBMODULE,
        EntryKind::NotText => "rename it, or move it to another folder: `spec.keep` cannot list it",
    }
}

/// The result of comparing the output of a target with earlier output.
#[derive(Default)]
pub struct ComparedTarget {
    /// The files that are written, removed or kept.
    pub plan: TargetPlan,
    /// Whether the compiled output has cluster-scoped objects in files of their own.
    pub has_cluster: bool,
    /// The entries that no policy accounts for.
    pub unclaimed: Unclaimed,
}

/// The entries beside the folders of the targets.
#[derive(Default)]
pub struct BesideTargets {
    /// The files of ours, as a plan to delete them, with paths below the output folder.
    pub(crate) leftovers: TargetPlan,
    /// Whether there is any file, ours or not.
    pub(crate) has_files: bool,
    /// The entries that no policy accounts for.
    pub unclaimed: Unclaimed,
}

/// A compiled file, compared with earlier output.
enum ComparedFile<T> {
    /// It stays as it is.
    Same { path: u64, objects: usize, is_of_namespace: bool, files: usize },
    /// It is new, or changes.
    Different { path: u64, plan: Box<FilePlan>, detail: T },
}

/// Returns a hash under a secret of this run. 64 bits are enough: an author cannot look for a path with the hash of another one.
fn hash_of(path: &str) -> u64 {
    (digest_of_run(path) >> 64) as u64
}
