//! The results of earlier runs: a run has nothing to do if an earlier one found everything as it should be.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::workspace::Workspace;
use super::{Diagnostics, Options};
use crate::cache::{Cache, CachedWarning, Kept, KeptDelivery, KeptFile, KeptTarget, Place, WatchedFolder};
use crate::compile::LinkedWorkspace;
use crate::diag::{Diagnostic, FileId, Files, RunError};
use crate::digest::{Digest, digest};
use crate::emit::committed::{Committed, Entry, EntryKind, Folder};
use crate::emit::write::STAGING;
use crate::git;
use crate::model::{self, Target};
use crate::render::BUILTIN;
use crate::source::{DiskSource, FileContent, FileSource};
use crate::yaml::limits::MAXIMUM_FILE_SIZE;

/// The folder and the use of the cache of one run.
#[derive(Debug, Clone)]
pub(crate) struct CacheOptions {
    /// The path of the folder, which need not exist.
    pub(crate) folder: PathBuf,
    /// The time in nanoseconds since 1970: a file that was changed just before may change again unseen.
    pub(crate) now: i64,
    /// Whether every file is compared by its content, and not by its metadata.
    pub(crate) verify: bool,
}

/// The results of earlier runs in a workspace, and of this run.
#[derive(Debug)]
pub(crate) struct RunCache {
    cache: Cache,
    root: PathBuf,
    /// The results of an earlier run, until this run has to compile.
    kept: Option<Kept>,
    /// The output files that an earlier run kept, for the targets that this run has not compared.
    earlier: RefCell<Vec<KeptTarget>>,
    options: CacheOptions,
    found: RefCell<Kept>,
}

/// The targets that are as an earlier run found them, with the warnings of that run.
pub(crate) struct Unchanged<'c> {
    pub(crate) targets: Vec<&'c KeptTarget>,
    /// The delivery folder, in a run about all targets.
    pub(crate) delivery: Option<&'c KeptDelivery>,
    pub(crate) diagnostics: Diagnostics,
}

/// The outcome of opening a cache.
pub(crate) enum OpenedCache {
    /// The cache of the workspace.
    Open(Box<RunCache>),
    /// There is no workspace.
    NoWorkspace,
    /// No cache may lie in the folder: the reason.
    Refused(String),
}

impl RunCache {
    /// Opens the cache for the workspace in which the run starts.
    pub(crate) fn open(options: &Options, cache: CacheOptions) -> Result<OpenedCache, RunError> {
        let Some(root) = Workspace::find_root(options)? else { return Ok(OpenedCache::NoWorkspace) };
        let work_tree = git::work_tree(&root);
        let around: Vec<&Path> = work_tree.iter().chain([&root]).map(PathBuf::as_path).collect();
        let place = match Place::judge(&cache.folder, &around) {
            Ok(place) => place,
            Err(reason) => return Ok(OpenedCache::Refused(reason.to_string())),
        };
        let opened = Cache::new(place, &root);
        let kept = opened.load();
        let (earlier, found) = (RefCell::default(), RefCell::default());
        let opened = Self { cache: opened, root, kept, earlier, options: cache, found };
        Ok(OpenedCache::Open(Box::new(opened)))
    }

    /// Returns the targets of these names, or all targets without names, if nothing changed since an earlier run found all of
    /// them as they should be.
    pub(crate) fn unchanged(&self, options: &Options, names: &[String]) -> Result<Option<Unchanged<'_>>, RunError> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.is_result) else { return Ok(None) };
        let world = DiskSource::new(&self.root);
        let is_today = kept.today.as_ref().is_none_or(|day| *day == day_of(options));
        if !is_today || !kept.has_same_inputs(&world) {
            return Ok(None);
        }
        let output = self.root.join(&kept.output);
        if beside(&output, kept.targets.iter().map(|target| target.name.as_str()))? != kept.beside {
            return Ok(None);
        }
        if let Some(delivery) = &kept.delivery
            && kept_delivery(&self.root, &delivery.folder)? != *delivery
        {
            return Ok(None);
        }
        // The kept warnings do not name their target.
        if !names.is_empty() && !kept.warnings.is_empty() && kept.targets.len() > 1 {
            return Ok(None);
        }
        let wanted = |target: &&KeptTarget| names.is_empty() || names.contains(&target.name);
        let targets: Vec<&KeptTarget> = kept.targets.iter().filter(wanted).collect();
        if names.iter().any(|name| kept.target(name).is_none()) {
            return Ok(None);
        }
        for target in &targets {
            let folder = Folder::new(output.join(&target.name));
            if !target.is_there(&folder, options.threads(), self.options.verify)? {
                return Ok(None);
            }
        }
        let files = Arc::new(Files::new());
        let Some(list) = restored(&kept.warnings, &self.root, &files) else { return Ok(None) };
        let delivery = kept.delivery.as_ref();
        Ok(Some(Unchanged { targets, delivery, diagnostics: Diagnostics { list, files } }))
    }

    /// Records the entries beside the folders of the targets, and the delivery folder, before they are judged; later entries
    /// are not judged.
    pub(crate) fn look_beside(&self, project: &LinkedWorkspace) -> Result<(), RunError> {
        let model::WorkspaceSettings { output, targets, delivery, .. } = &project.workspace;
        let names = targets.iter().map(|target| target.name.as_str());
        let mut found = self.found.borrow_mut();
        found.beside = beside(&self.root.join(output), names)?;
        found.delivery = match delivery {
            Some(delivery) => Some(kept_delivery(&self.root, &delivery.folder)?),
            None => None,
        };
        Ok(())
    }

    /// Forgets the results of the earlier run, because this run has other results. The record of the output files remains.
    pub(crate) fn begin(&mut self) {
        let kept = self.kept.take();
        self.earlier.replace(kept.map_or_else(Vec::new, |kept| kept.targets));
    }

    /// Returns the output folder of a target, from now on watched.
    pub(crate) fn watch(&self, folder: Folder, target: &Target) -> WatchedFolder {
        let mut targets = self.earlier.borrow_mut();
        let earlier = targets.iter_mut().find(|earlier| earlier.name == target.name);
        let files = earlier.map_or_else(Vec::new, |earlier| std::mem::take(&mut earlier.files));
        WatchedFolder::new(folder, files, self.options.now)
    }

    /// Notes the files of a target, as they are or as they are to be written.
    pub(crate) fn add_target(&self, target: &Target, objects: usize, files: Vec<KeptFile>, others: &[String]) {
        let others = others.iter().map(|path| digest(path.as_bytes())).collect();
        let target = KeptTarget { name: target.name.clone(), objects, files, others };
        self.found.borrow_mut().targets.push(target);
    }

    /// Notes the warnings of the run.
    pub(crate) fn add_diagnostics(&self, diagnostics: &[Diagnostic], files: &Files) {
        let warnings = diagnostics.iter().filter_map(|diagnostic| CachedWarning::from_diagnostic(diagnostic, files));
        self.found.borrow_mut().warnings.extend(warnings);
    }

    /// Writes the results of this run to the cache: every target as it should be.
    pub(crate) fn keep(&self, workspace: &Workspace) {
        let Workspace { options, project, answers, .. } = workspace;
        let mut found = self.found.take();
        found.is_result = true;
        found.output.clone_from(&project.workspace.output);
        found.today = project.depends_on_day().then(|| day_of(options));
        found.answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        self.cache.save(found);
    }

    /// Forgets the earlier run: its record of files is wrong once some files are written.
    pub(crate) fn forget(&self) {
        self.cache.forget();
    }

    /// Keeps the record of this run. For the targets outside this run, the record of the earlier run holds.
    pub(crate) fn keep_written(&self, project: &LinkedWorkspace) {
        let mut targets = self.found.take().targets;
        let is_other = |target: &KeptTarget| {
            !targets.iter().any(|written| written.name == target.name)
                && project.workspace.targets.iter().any(|known| known.name == target.name)
        };
        let others: Vec<KeptTarget> = self.earlier.take().into_iter().filter(is_other).collect();
        targets.extend(others);
        self.cache.save(Kept { targets, ..Kept::default() });
    }
}

/// Returns the day on which grants are judged; empty without one.
fn day_of(options: &Options) -> String {
    options.today.map_or_else(String::new, |today| today.to_string())
}

/// Returns a hash of the entries of the output folder beside the folders of the targets.
fn beside<'t>(output: &Path, targets: impl Iterator<Item = &'t str> + Clone) -> Result<Digest, RunError> {
    let is_of_target = |top: &str| top == STAGING || targets.clone().any(|target| target == top);
    let entries = Folder::new(output.to_path_buf()).list_except(&is_of_target)?;
    let listed = |entry: &Entry| format!("{}\0{:?}\0", entry.path, entry.kind);
    Ok(digest(entries.iter().map(listed).collect::<String>().as_bytes()))
}

/// Returns the delivery folder as it is.
fn kept_delivery(root: &Path, folder: &str) -> Result<KeptDelivery, RunError> {
    let place = Folder::new(root.join(folder));
    let mut listed = Vec::new();
    let mut files = 0;
    for Entry { path, kind } in place.list()? {
        listed.extend(digest(format!("{kind:?} {path}").as_bytes()));
        if kind == EntryKind::File
            && let Some(bytes) = place.read(&path)?
        {
            files += 1;
            listed.extend(digest(&bytes));
        }
    }
    Ok(KeptDelivery { folder: folder.to_owned(), files, content: digest(&listed) })
}

/// Returns the diagnostics of an earlier run; none if one of their files cannot be read.
fn restored(warnings: &[CachedWarning], root: &Path, files: &Files) -> Option<Vec<Diagnostic>> {
    let mut known: Vec<(String, FileId)> = Vec::new();
    let mut find = |path: &str| {
        if let Some((_, id)) = known.iter().find(|(known, _)| known == path) {
            return Some(*id);
        }
        let builtin = path.strip_prefix("<built-in>/");
        let id = match builtin.and_then(|name| BUILTIN.iter().find(|(known, _)| *known == name)) {
            Some((_, text)) => files.add(path, *text),
            None => {
                let Ok(FileContent::Bytes(bytes)) = DiskSource::new(root).read(path, MAXIMUM_FILE_SIZE as u64) else {
                    return None;
                };
                files.add(path, String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        known.push((path.to_owned(), id));
        Some(id)
    };
    warnings.iter().map(|warning| warning.to_diagnostic(&mut find)).collect()
}
