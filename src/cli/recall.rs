//! Runs that have nothing to do because an earlier one found everything as it should be.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::printing::print;
use super::session::find_root;
use super::{CacheFolder, Global, Outcome};
use crate::cache::{Cache, Kept, KeptFile, KeptTarget, Place, Told, WatchedFolder};
use crate::compile::Project;
use crate::diag::{Diagnostic, FileId, Files, RunError};
use crate::digest::{Digest, digest};
use crate::emit::committed::{Entry, Folder};
use crate::emit::write::STAGING;
use crate::git;
use crate::model::{Target, Workspace};
use crate::render::BUILTIN;
use crate::source::{Answers, Content, DiskWorld, MAXIMUM_FILE_SIZE, World};
use crate::stats::Stage;

/// The results of earlier runs in a workspace, and of this run.
#[derive(Debug)]
pub(super) struct Recall {
    cache: Cache,
    root: PathBuf,
    kept: Option<Kept>,
    now: i64,
    found: RefCell<Kept>,
}

impl Recall {
    /// Opens the cache for the workspace of the command; none without a workspace, or if no cache may be used. If a cache
    /// that the user asked for is not used, a note gives the reason.
    pub(super) fn open(global: &Global) -> Result<Option<Self>, RunError> {
        let Some(root) = find_root(global)? else { return Ok(None) };
        let (folder, is_asked_for) = match global.cache_folder() {
            CacheFolder::Asked(folder) => (folder, true),
            CacheFolder::Usual(folder) => (folder, false),
            CacheFolder::None(why) => {
                global.terminal().note(why);
                return Ok(None);
            }
        };
        let work_tree = git::work_tree(&root);
        let around: Vec<&Path> = work_tree.iter().chain([&root]).map(PathBuf::as_path).collect();
        let place = match Place::judge(&folder, &around) {
            Ok(place) => place,
            Err(why) => {
                if is_asked_for {
                    global.terminal().note(&format!("no cache is used in `{}`: {why}\n", folder.display()));
                }
                return Ok(None);
            }
        };
        let cache = Cache::of(place, &root);
        let kept = cache.load();
        Ok(Some(Self { cache, root, kept, now: global.nanoseconds(), found: RefCell::default() }))
    }

    /// Returns the targets of these names, or all targets without names, if nothing changed since an earlier run found all of
    /// them as they should be. The warnings of that run are printed again.
    pub(super) fn unchanged(&self, global: &Global, names: &[String]) -> Result<Option<Vec<&KeptTarget>>, RunError> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.is_result) else { return Ok(None) };
        let world = DiskWorld::new(&self.root);
        let is_today = kept.today.as_ref().is_none_or(|day| *day == global.today().to_string());
        if !is_today || !kept.has_same_inputs(&world) {
            return Ok(None);
        }
        let output = self.root.join(&kept.output);
        if beside(&output, kept.targets.iter().map(|target| target.name.as_str()))? != kept.beside {
            return Ok(None);
        }
        // The kept warnings do not name their target.
        if !names.is_empty() && !kept.told.is_empty() && kept.targets.len() > 1 {
            return Ok(None);
        }
        let wanted = |target: &&KeptTarget| names.is_empty() || names.contains(&target.name);
        let targets: Vec<&KeptTarget> = kept.targets.iter().filter(wanted).collect();
        if names.iter().any(|name| kept.target(name).is_none()) {
            return Ok(None);
        }
        for target in &targets {
            let folder = Folder::new(output.join(&target.name));
            if !target.is_there(&folder, global.jobs(), global.verifies())? {
                return Ok(None);
            }
        }
        let files = Arc::new(Files::new());
        let Some(diagnostics) = said_again(&kept.told, &self.root, &files) else { return Ok(None) };
        print(global, diagnostics, &files);
        Ok(Some(targets))
    }

    /// Looks at what lies beside the folders of the targets, before it is judged: what comes later was not.
    pub(super) fn look_beside(&self, project: &Project) -> Result<(), RunError> {
        let Workspace { output, targets, .. } = &project.workspace;
        let names = targets.iter().map(|target| target.name.as_str());
        self.found.borrow_mut().beside = beside(&self.root.join(output), names)?;
        Ok(())
    }

    /// The output folder of a target, from now on watched.
    pub(super) fn watch(&self, folder: Folder, target: &Target) -> WatchedFolder {
        let earlier = self.kept.as_ref().and_then(|kept| kept.target(&target.name));
        WatchedFolder::new(folder, earlier, self.now)
    }

    /// Notes the files of a target, as they are or as they are to be written.
    pub(super) fn found(&self, target: &Target, objects: usize, files: Vec<KeptFile>, others: &[String]) {
        let others = others.iter().map(|path| digest(path.as_bytes())).collect();
        let target = KeptTarget { name: target.name.clone(), objects, files, others };
        self.found.borrow_mut().targets.push(target);
    }

    /// Notes the warnings of the run.
    pub(super) fn told(&self, diagnostics: &[Diagnostic], files: &Files) {
        self.found.borrow_mut().told.extend(diagnostics.iter().filter_map(|diagnostic| Told::of(diagnostic, files)));
    }

    /// Writes the results of this run to the cache: every target as it should be.
    pub(super) fn keep(&self, global: &Global, project: &Project, answers: &Answers) {
        let mut found = self.found.take();
        found.is_result = true;
        found.output.clone_from(&project.workspace.output);
        found.today = (!project.expiries.is_empty()).then(|| global.today().to_string());
        found.answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        self.cache.save(found);
    }

    /// Forgets the earlier run: what it knows of files no longer holds once some are written.
    pub(super) fn forget(&self) {
        self.cache.forget();
    }

    /// Keeps what this run wrote. Of targets that it left alone, what the earlier run knew still holds.
    pub(super) fn keep_written(&self, project: &Project) {
        let mut targets = self.found.take().targets;
        let is_other = |target: &KeptTarget| {
            !targets.iter().any(|written| written.name == target.name)
                && project.workspace.targets.iter().any(|known| known.name == target.name)
        };
        let earlier = self.kept.iter().flat_map(|kept| &kept.targets);
        let others: Vec<KeptTarget> = earlier.filter(|target| is_other(target)).cloned().collect();
        targets.extend(others);
        self.cache.save(Kept { targets, ..Kept::default() });
    }
}

/// A hash of what lies in the output folder beside the folders of the targets.
fn beside<'t>(output: &Path, targets: impl Iterator<Item = &'t str> + Clone) -> Result<Digest, RunError> {
    let is_of_target = |top: &str| top == STAGING || targets.clone().any(|target| target == top);
    let entries = Folder::new(output.to_path_buf()).list_except(&is_of_target)?;
    let listed = |entry: &Entry| format!("{}\0{:?}\0", entry.path, entry.kind);
    Ok(digest(entries.iter().map(listed).collect::<String>().as_bytes()))
}

/// Diagnostics of an earlier run; none where they cannot be said again.
fn said_again(told: &[Told], root: &Path, files: &Files) -> Option<Vec<Diagnostic>> {
    let mut known: Vec<(String, FileId)> = Vec::new();
    let mut find = |path: &str| {
        if let Some((_, id)) = known.iter().find(|(known, _)| known == path) {
            return Some(*id);
        }
        let builtin = path.strip_prefix("<built-in>/");
        let id = match builtin.and_then(|name| BUILTIN.iter().find(|(known, _)| *known == name)) {
            Some((_, text)) => files.add(path, *text),
            None => {
                let Ok(Content::Bytes(bytes)) = DiskWorld::new(root).read(path, MAXIMUM_FILE_SIZE as u64) else {
                    return None;
                };
                files.add(path, String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        known.push((path.to_owned(), id));
        Some(id)
    };
    told.iter().map(|told| told.again(&mut find)).collect()
}

/// Runs a command that is done when nothing changed: `done` says so of each target; `run` does the work.
pub(super) fn unless_unchanged(
    global: &Global,
    recall: Option<&Recall>,
    names: &[String],
    done: impl Fn(&KeptTarget) -> String,
    run: impl FnOnce() -> Result<Outcome, RunError>,
) -> Result<Outcome, RunError> {
    let look = || recall.map_or(Ok(None), |recall| recall.unchanged(global, names));
    if let Some(targets) = global.stats().time(Stage::Recall, look, |_| (1, 0))? {
        global.stats().note(|| "nothing changed since an earlier run".to_owned());
        let lines: String = targets.into_iter().map(done).collect();
        global.terminal().note(&lines);
        return Ok(Outcome::Fine);
    }
    run()
}
