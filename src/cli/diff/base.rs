//! The earlier side of `diff`: the output folder, a folder, or a revision in git.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::scene::{Ground, SceneArguments, add_committed, of_target_into};
use super::super::session::Session;
use super::super::targets::{TargetChanges, is_ours};
use super::super::unclaimed::kept_before;
use super::{gate, whole};
use crate::compile::{self, Project};
use crate::diag::{Code, Diagnostic, Files, RunError, Severity, Sink};
use crate::emit::committed::{Committed, EntryKind, Folder};
use crate::emit::revision::Revision;
use crate::emit::totals::Totals;
use crate::git::Repository;
use crate::model::{Target, Workspace};
use crate::report::access::place_text;
use crate::source::{Content, Listing, Refusal, Sources, World};

/// The earlier side of the comparison.
pub(in crate::cli) enum Base {
    /// The output folder.
    Output,
    /// A folder of the same form, with the name that it was given.
    Folder(PathBuf, String),
    /// The output in a revision.
    Revision(Box<Earlier>),
}

/// A revision.
pub(in crate::cli) struct Earlier {
    repository: Repository,
    revision: String,
    /// The workspace's folder below the root of the work tree; empty for the root itself.
    folder: String,
    policies: Policies,
    /// Its files, for what they say that is not written.
    world: Arc<RevisionWorld>,
}

/// The policies of a revision.
enum Policies {
    Read(Box<Project>),
    /// They cannot be read: the first reason, and the workspace if its own file can be.
    Broken {
        reason: String,
        workspace: Option<Box<Workspace>>,
    },
}

impl Earlier {
    fn project(&self) -> Option<&Project> {
        match &self.policies {
            Policies::Read(project) => Some(project),
            Policies::Broken { .. } => None,
        }
    }

    fn workspace(&self) -> Option<&Workspace> {
        match &self.policies {
            Policies::Read(project) => Some(&project.workspace),
            Policies::Broken { workspace, .. } => workspace.as_deref(),
        }
    }

    fn target(&self, name: &str) -> Option<&Target> {
        self.workspace()?.targets.iter().find(|target| target.name == name)
    }
}

impl Policies {
    fn read(world: &Arc<RevisionWorld>) -> Result<Self, RunError> {
        let shared = || Box::new(Shared(Arc::clone(world)));
        let (files, mut sink) = (Arc::new(Files::new()), Sink::new());
        if let Some(project) = compile::load(shared(), Arc::clone(&files), &mut sink)? {
            return Ok(Self::Read(Box::new(project)));
        }
        let errors = sink.into_sorted(&files).into_iter().filter(|found| found.severity == Severity::Error);
        let reason = errors.take(1).map(|error| match error.origin {
            Some(origin) => format!("{}: {}", place_text(origin, &files), error.message),
            None => error.message,
        });
        let mut sources = Sources::new(shared(), Arc::new(Files::new()));
        let workspace = compile::load_workspace(&mut sources, &mut Sink::new())?;
        Ok(Self::Broken { reason: reason.collect(), workspace: workspace.map(Box::new) })
    }
}

impl Base {
    /// Finds what a name stands for; the output folder without a name.
    pub(in crate::cli) fn open(session: &Session<'_>, against: Option<&str>) -> Result<Self, RunError> {
        let Some(against) = against else { return Ok(Self::Output) };
        let repository = Repository::find(&session.root);
        let folder = session.global.at(Path::new(against));
        if folder.is_dir() {
            // A commit can bring a folder that is called like a branch.
            let is_path = against.starts_with(['.', '/']);
            if !is_path
                && let Ok(Some(repository)) = &repository
                && repository.commit(against)?.is_some()
            {
                return Err(RunError::new(format!("`{against}` is a folder and a revision"))
                    .help(format!("write `./{against}` for the folder, or the full name of the revision")));
            }
            return Ok(Self::Folder(folder, against.to_owned()));
        }
        let Some(repository) = repository? else {
            return Err(
                RunError::new("this workspace is not in a git repository").help("compare with a folder instead")
            );
        };
        let below = session.root.strip_prefix(repository.work_tree()).unwrap_or(Path::new(""));
        let folder = below.to_string_lossy().into_owned();
        let world = Arc::new(RevisionWorld(Revision::open(&repository, against, &folder)?));
        let policies = Policies::read(&world)?;
        let revision = against.to_owned();
        Ok(Self::Revision(Box::new(Earlier { repository, revision, folder, policies, world })))
    }

    /// Opens the output of a target; that of all of them without one.
    pub(in crate::cli) fn output(
        &self,
        session: &Session<'_>,
        target: Option<&Target>,
    ) -> Result<Box<dyn Committed>, RunError> {
        let below = |folder: PathBuf| target.map_or(folder.clone(), |target| folder.join(&target.name));
        Ok(match self {
            Self::Output => Box::new(Folder::new(below(session.output()))),
            Self::Folder(folder, _) => Box::new(Folder::new(below(folder.clone()))),
            Self::Revision(earlier) => {
                let output = earlier.workspace().unwrap_or(&session.project.workspace);
                let path = below(Path::new(&earlier.folder).join(&output.output));
                Box::new(Revision::open(&earlier.repository, &earlier.revision, &path.to_string_lossy())?)
            }
        })
    }

    /// Returns the targets that are gone since then.
    pub(in crate::cli) fn gone(&self, session: &Session<'_>) -> Result<TargetChanges, RunError> {
        if let Self::Output = self {
            // `check` reports all other entries.
            let beside = session.beside_targets(&mut Sink::new())?;
            return TargetChanges::of_leftovers(session, &beside);
        }
        let mut changes = TargetChanges::of_folders(session, &*self.output(session, None)?)?;
        if let Self::Revision(earlier) = self {
            let targets = earlier.workspace().into_iter().flat_map(|workspace| &workspace.targets);
            targets
                .filter(|target| !session.has_target(&target.name))
                .for_each(|target| changes.add_gone(&target.name));
        }
        Ok(changes)
    }

    /// Whether a target with these totals is new.
    pub(in crate::cli) fn is_new(&self, target: &Target, totals: &Totals) -> bool {
        let was_declared = match self {
            Self::Revision(earlier) => earlier.target(&target.name).is_some(),
            _ => false,
        };
        totals.is_new() && !was_declared
    }

    /// Reports a folder that holds no output of a target. It may be new where there is output of another one.
    pub(in crate::cli) fn missing(
        &self,
        session: &Session<'_>,
        targets: &[&Target],
    ) -> Result<Option<Diagnostic>, RunError> {
        let Self::Folder(folder, shown) = self else { return Ok(None) };
        let holds = |name: &str| holds_output(&Folder::new(folder.join(name)));
        for target in &session.project.workspace.targets {
            if holds(&target.name)? {
                return Ok(None);
            }
        }
        let Some(target) = targets.first() else { return Ok(None) };
        let entries = Folder::new(folder.clone()).list()?;
        let mut names: Vec<&str> = entries.iter().filter_map(|entry| Some(entry.path.split_once('/')?.0)).collect();
        names.dedup();
        let names: Vec<String> = names.iter().take(20).map(|name| format!("`{name}`")).collect();
        let help = match names.as_slice() {
            [] => "it holds no folders with files; name a folder with one folder for each target".to_owned(),
            names => format!("its folders are {}", names.join(", ")),
        };
        let message = format!("`{shown}` has no target `{}`", target.name);
        Ok(Some(Diagnostic::error(Code::UnknownTarget, message).help(help)))
    }

    /// Describes what changed since then beside the output: the gate itself, and what is judged and not written.
    pub(in crate::cli) fn changes(&self, session: &Session<'_>) -> Result<Vec<String>, RunError> {
        let Self::Revision(earlier) = self else { return Ok(Vec::new()) };
        let project = match &earlier.policies {
            Policies::Read(project) => project,
            Policies::Broken { reason, workspace } => {
                let message = "cannot be read: changes of the gate, and of access beside the output, are not known";
                let mut lines = vec![format!("the policies of `{}` {message} ({reason})", earlier.revision)];
                lines.extend(workspace.iter().flat_map(|old| gate::of_workspaces(old, &session.project.workspace)));
                return Ok(lines);
            }
        };
        gate::changes(project, &*earlier.world, &*self.output(session, None)?, session)
    }

    /// Compares all access on a target, if its version, its baseline or the objects beside its output changed since then.
    pub(in crate::cli) fn whole_effect(
        &self,
        session: &Session<'_>,
        target: &Target,
    ) -> Result<Option<String>, RunError> {
        let Self::Revision(earlier) = self else { return Ok(None) };
        let (Some(project), Some(before)) = (earlier.project(), earlier.target(&target.name)) else { return Ok(None) };
        let whole = self.output(session, None)?;
        if !gate::is_other_below(project, before, (&*earlier.world, &*whole), session, target)? {
            return Ok(None);
        }
        let mut sink = Sink::new();
        let inputs = Ground {
            global: session.global,
            project,
            files: Box::new(Shared(Arc::clone(&earlier.world))),
            kept: kept_before(project, &target.name, &*whole)?,
        };
        let old = inputs.builder(before, &SceneArguments::default(), &mut None, &mut sink)?;
        let Some(mut old) = old.filter(|_| !sink.has_errors()) else {
            return Ok(Some("  access: the baseline before cannot be read, and the change is not known\n".to_owned()));
        };
        add_committed(&mut old, project, before, &*self.output(session, Some(target))?)?;
        let Some(new) = of_target_into(session, target, &SceneArguments::default(), &mut sink)? else {
            return Ok(None);
        };
        Ok(Some(whole::changes(&old.build(), &new.world, before, target)))
    }
}

/// Whether a target's folder holds a file of ours.
fn holds_output(folder: &Folder) -> Result<bool, RunError> {
    for entry in folder.list()?.iter().filter(|entry| entry.is_file()) {
        if is_ours(&entry.path, &folder.read(&entry.path)?.unwrap_or_default()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The files of a workspace in a revision. No link is followed.
pub(super) struct RevisionWorld(Revision);

impl World for RevisionWorld {
    fn read(&self, path: &str, most: u64) -> Result<Content, RunError> {
        Ok(match Committed::read(&self.0, path)? {
            None => Content::Missing,
            Some(bytes) if bytes.len() as u64 > most => Content::Refused(Refusal::TooLarge(bytes.len() as u64)),
            Some(bytes) => Content::Bytes(bytes),
        })
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
        let entries = self.0.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File);
        let files = entries.map(|entry| entry.path);
        let files = files.filter(|path| path.strip_prefix(&prefix).is_some_and(|below| !is_hidden(below))).collect();
        Ok(Listing { files, refused: Vec::new() })
    }
}

/// The same files for a loader, which keeps its own.
struct Shared(Arc<RevisionWorld>);

impl World for Shared {
    fn read(&self, path: &str, most: u64) -> Result<Content, RunError> {
        self.0.read(path, most)
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        self.0.list(folder)
    }
}
