//! The delivery folder: the objects of Argo CD and Flux of all targets, compared with earlier ones, and staged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_base::alike::{Group, Own};
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, LinkedWorkspace};
use bailiwick_compiler::delivery::{self, DeliveredFolder, DeliveryFile};
use bailiwick_compiler::emit::committed::{Committed, Entry, EntryKind, Folder};
use bailiwick_compiler::emit::diff::unified;
use bailiwick_compiler::emit::file::{FileOwnership, delivery_ownership};
use bailiwick_compiler::emit::group::{First, Groups};
use bailiwick_compiler::emit::objects::ChangeSignature;
use bailiwick_compiler::emit::plan::{FileAction, FilePlan, TargetPlan};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_compiler::emit::write::{STAGING, Stager};
use bailiwick_git as git;
use bailiwick_policy::model::Target;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use bailiwick_yaml::digest::{digest, digest_of_run};

use super::Event;
use super::output::{help_with_stray, stray};
use super::part_files::PartFiles;
use super::workspace::Workspace;

/// The delivery objects of some targets, by their paths below the delivery folder.
#[derive(Debug, Default)]
pub struct DeliveryObjects {
    files: BTreeMap<String, DeliveryFile>,
    /// The names of the targets of the run.
    targets: BTreeSet<String>,
    /// Whether these are all targets of the workspace.
    is_whole: bool,
}

/// The differences of the delivery folder.
#[derive(Debug, Default)]
pub struct ComparedDelivery {
    /// The files of the folder that are written or removed.
    pub plan: TargetPlan,
    /// The empty folders, by their paths below the workspace.
    pub empty: BTreeSet<String>,
}

/// A differing delivery file.
pub struct DeliveryChange<'c> {
    /// The path below the delivery folder.
    pub(crate) path: &'c str,
    /// The new text; none for a removed file.
    pub(crate) new: Option<&'c str>,
    /// The old bytes; none for a new file.
    pub(crate) old: Option<&'c [u8]>,
}

impl DeliveryObjects {
    /// Returns no objects, for a run about some targets or about all of them.
    pub fn new(is_whole: bool) -> Self {
        Self { is_whole, ..Self::default() }
    }

    /// Adds the objects of a target. `has_cluster` is whether its output has cluster-scoped objects in files of their own.
    pub fn add(&mut self, project: &LinkedWorkspace, target: &Target, has_cluster: bool) {
        self.targets.insert(target.name.clone());
        let Some(delivery) = &target.delivery else { return };
        let index = compile::output_files(project, target);
        let folders = DeliveredFolder::all(index.namespaces(), has_cluster, project.workspace.shards);
        let files = delivery::files(delivery, &folders);
        self.files.extend(files.into_iter().map(|file| (format!("{}/{}", target.name, file.path), file)));
    }

    /// Returns the text of each file, by its path below the delivery folder.
    pub fn into_texts(self) -> BTreeMap<String, String> {
        self.files.into_iter().map(|(path, file)| (path, file.text)).collect()
    }

    /// Whether an entry of the delivery folder is judged: in a run about some targets, only the folders of these.
    fn covers(&self, path: &str) -> bool {
        let top = top_of(path);
        top != STAGING && (self.is_whole || self.targets.contains(top))
    }
}

/// Reports a path of the workspace in its repository that differs from `spec.delivery.path`: the delivery objects would
/// apply another folder. Without a repository the path is not known.
pub fn check_path(workspace: &Workspace, sink: &mut Sink) {
    let Some(delivery) = &workspace.project.workspace.delivery else { return };
    let Some(top) = git::work_tree(&workspace.root) else { return };
    let Ok(below) = workspace.root.strip_prefix(&top) else { return };
    let below = below.to_string_lossy();
    if below != delivery.path.value {
        let shown = |path: &str| if path.is_empty() { "the root".to_owned() } else { format!("`{path}`") };
        let message = format!(
            "the workspace is in {} of its repository, and `spec.delivery.path` is {}",
            shown(&below),
            shown(&delivery.path)
        );
        let help = match below.is_empty() {
            true => "remove `spec.delivery.path`, and run `bailiwick render`".to_owned(),
            false => format!("write `path: {below}` under `spec.delivery`, and run `bailiwick render`"),
        };
        let place = Some(delivery.path.origin).filter(|origin| *origin != Origin::default());
        sink.push(Diagnostic::error(codes::DELIVERY_PATH, message).at_maybe(place).help(help));
    }
}

/// The remedy for a foreign file: `spec.keep` keeps nothing in the delivery folder.
const HELP_WITH_FOREIGN: &str = "move it to another folder: an applier of the delivery folder would apply it";

/// Delivery files staged beside the delivery folder.
pub(crate) struct StagedDelivery {
    stager: Stager,
    removed: Vec<String>,
}

/// The new content of the delivery folder.
pub(crate) struct RenderedDelivery {
    pub(crate) plan: TargetPlan,
    /// The name in the summary: the folder with a slash at its end.
    pub(crate) title: String,
    /// None if every file stays as it is.
    pub(crate) staged: Option<StagedDelivery>,
}

impl StagedDelivery {
    /// Puts the staged files into place, and removes the files without a target.
    ///
    /// # Errors
    /// When the file system refuses.
    pub(crate) fn commit(self) -> Result<(), RunError> {
        self.stager.commit(&self.removed)
    }
}

impl RenderedDelivery {
    /// Returns the counts of files and objects.
    pub(crate) fn totals(&self) -> Totals {
        Totals::from_plan(&self.plan)
    }
}

impl Workspace {
    /// Compares delivery objects with the delivery folder, and stages the differing files; none without a delivery folder.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub(crate) fn stage_delivery(
        &self,
        objects: &DeliveryObjects,
        sink: &mut Sink,
    ) -> Result<Option<RenderedDelivery>, RunError> {
        let Some(delivery) = &self.project.workspace.delivery else { return Ok(None) };
        let folder = delivery.folder.as_str();
        let committed = Folder::new(self.root.join(folder));
        let mut written: Vec<(String, String, bool)> = Vec::new();
        let mut removed = Vec::new();
        let mut each = |change: DeliveryChange<'_>| {
            match change.new {
                Some(text) => written.push((change.path.to_owned(), text.to_owned(), change.old.is_some())),
                None => removed.push(change.path.to_owned()),
            }
            Ok(())
        };
        let ComparedDelivery { plan, .. } = compare_delivery(self, objects, &committed, &mut each, sink)?;
        let title = format!("{folder}/");
        if !plan.is_drift() {
            return Ok(Some(RenderedDelivery { plan, title, staged: None }));
        }
        let stager = Stager::open(&self.root, folder, &|| self.options.tell(Event::Waiting))?;
        written.iter().try_for_each(|(path, text, replaces)| stager.stage(path, text, *replaces))?;
        Ok(Some(RenderedDelivery { plan, title, staged: Some(StagedDelivery { stager, removed }) }))
    }
}

/// Compares delivery objects with earlier ones. Reports foreign entries.
///
/// # Errors
/// When the earlier objects cannot be read.
pub fn compare_delivery(
    workspace: &Workspace,
    objects: &DeliveryObjects,
    committed: &dyn Committed,
    each: &mut dyn FnMut(DeliveryChange<'_>) -> Result<(), RunError>,
    sink: &mut Sink,
) -> Result<ComparedDelivery, RunError> {
    let folder = workspace.project.workspace.delivery.as_ref().map_or("", |delivery| delivery.folder.as_str());
    let mut compared = ComparedDelivery::default();
    let mut differs = |path: &str, file: Option<&DeliveryFile>, old: Option<&[u8]>| {
        let new = file.map(|file| (file.text.as_str(), &file.kinds[..]));
        let ownership = old.map(|old| delivery_ownership(path, old));
        let plan = FilePlan { ownership, ..FilePlan::compare(path, new, old) };
        if ownership == Some(FileOwnership::Foreign) {
            let kind = EntryKind::File;
            sink.push(stray(&format!("{folder}/{path}"), kind).help(HELP_WITH_FOREIGN));
            return Ok(None);
        }
        if plan.action != FileAction::Keep {
            each(DeliveryChange { path, new: file.map(|file| file.text.as_str()), old })?;
        }
        Ok::<_, RunError>(Some(plan))
    };
    for (path, file) in &objects.files {
        let old = committed.read(path)?;
        let plan = differs(path, Some(file), old.as_deref())?;
        plan.into_iter().for_each(|plan| compared.plan.add(plan));
    }
    let mut strays = Vec::new();
    for Entry { path, kind } in committed.list()? {
        let is_wanted = kind == EntryKind::File && objects.files.contains_key(&path);
        match kind {
            EntryKind::Submodule => {}
            _ if is_wanted || !objects.covers(&path) => {}
            EntryKind::EmptyFolder => {
                _ = compared.empty.insert(format!("{folder}/{path}").trim_end_matches('/').to_owned());
            }
            EntryKind::File => {
                let old = committed.read(&path)?;
                let plan = differs(&path, None, old.as_deref())?;
                plan.into_iter().for_each(|plan| compared.plan.add(plan));
            }
            kind => strays.push((path, kind)),
        }
    }
    for (path, kind) in strays {
        sink.push(stray(&format!("{folder}/{path}"), kind).help(help_with_stray(kind)));
    }
    compared.plan.changes.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(compared)
}

/// The differences of delivery files as text. Files with the same difference are folded.
pub struct DeliveryDiff<'d> {
    folder: &'d str,
    groups: Groups,
    /// The same files for a merge.
    of_part: Option<PartFiles>,
    seen: HashMap<u128, usize>,
}

impl<'d> DeliveryDiff<'d> {
    /// Creates an empty difference of a delivery folder, with room for so many bytes. Files are also added to `of_part`.
    pub fn new(folder: &'d str, room: usize, of_part: Option<PartFiles>) -> Self {
        Self { folder, groups: Groups::new(room), of_part, seen: HashMap::new() }
    }

    /// Adds a file.
    pub fn add(&mut self, change: &DeliveryChange<'_>, is_grouped: bool) {
        let shown = format!("{}/{}", self.folder, change.path);
        let old = change.old.map(String::from_utf8_lossy);
        let text = unified(&shown, old.as_deref(), change.new);
        let way = is_grouped.then(|| self.signature(change.path, &text));
        // All files are of one part, which has the order of the run.
        self.of_part.iter_mut().for_each(|files| files.add(change.path, false, way.as_ref(), &text));
        self.groups.add(&shown, way, text.into());
    }

    /// Takes the files for a merge.
    pub fn take_part_files(&mut self) -> Option<PartFiles> {
        self.of_part.take()
    }

    /// Returns the text, and how many files it leaves out.
    pub fn finish(self, describe: impl Fn(&Group<First>, &str) -> String) -> (String, usize) {
        self.groups.finish(describe)
    }

    /// Returns the signature of a difference: the text without the names of the object and of its folder.
    fn signature(&mut self, path: &str, text: &str) -> ChangeSignature {
        let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
        let name = file.strip_suffix(".yaml").map_or(file, |name| name);
        let shard = name.rsplit_once('-').map_or(name, |(_, shard)| shard);
        let without_name = text.replace(name, "\0").replace(&format!("/{shard}\n"), "/\0\n");
        let digest = digest(format!("{}/{without_name}", top_of(path)).as_bytes());
        let access_digest = digest_of_run(&digest);
        let seen = self.seen.entry(access_digest).or_default();
        *seen += 1;
        let seen = *seen - 1;
        ChangeSignature { digest, seen, access_digest, access_seen: seen, name: name.to_owned(), own: Own::default() }
    }
}

/// Returns the first folder of a path: the name of a target.
fn top_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(top, _)| top)
}

/// Delivery objects in memory, by their paths below the delivery folder.
pub struct DeliveryTexts(pub BTreeMap<String, String>);

impl Committed for DeliveryTexts {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        Ok(self.0.get(path).map(|text| text.as_bytes().to_vec()))
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.0.keys().for_each(|path| see(Entry { path: path.clone(), kind: EntryKind::File }));
        Ok(())
    }
}
