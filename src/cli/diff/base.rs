//! The earlier side of `diff`: the output folder, a folder, or another workspace.

use crate::codes;
use std::path::{Path, PathBuf};

use super::super::Global;
use super::super::scene::{Ground, SceneArguments, add_committed, of_target_into};
use super::super::session::Session;
use super::super::targets::{TargetChanges, is_ours};
use super::super::unclaimed::kept_before;
use super::earlier::Earlier;
use super::{gate, whole};
use crate::compile::WORKSPACE_FILE;
use crate::diag::{Diagnostic, RunError, Sink};
use crate::emit::committed::{Committed, Folder};
use crate::emit::totals::Totals;
use crate::git::Repository;
use crate::model::Target;
use crate::report::page::Page;

/// The earlier side of the comparison.
pub(in crate::cli) enum Base {
    /// The output folder.
    Output,
    /// A folder of the same form, with the name that it was given.
    Folder(PathBuf, String),
    /// Another workspace.
    Workspace(Box<Earlier>),
}

impl Base {
    /// Returns the folder that a name can stand for: the folder of a workspace file for the file.
    pub(in crate::cli) fn folder(global: &Global, against: &str) -> PathBuf {
        let path = global.at(Path::new(against));
        let is_file = path.file_name().is_some_and(|name| name == WORKSPACE_FILE) && path.is_file();
        match path.parent().filter(|_| is_file) {
            Some(folder) if folder == Path::new("") => PathBuf::from("."),
            Some(folder) => folder.to_owned(),
            None => path,
        }
    }

    /// Finds what a name stands for; the output folder without a name.
    pub(in crate::cli) fn open(session: &Session<'_>, against: Option<&str>) -> Result<Self, RunError> {
        let Some(against) = against else { return Ok(Self::Output) };
        let repository = Repository::find(&session.root);
        let folder = Self::folder(session.global, against);
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
            if folder.join(WORKSPACE_FILE).symlink_metadata().is_ok() {
                return Ok(Self::Workspace(Box::new(Earlier::of_folder(against, folder)?)));
            }
            return Ok(Self::Folder(folder, against.to_owned()));
        }
        let Some(repository) = repository? else {
            return Err(
                RunError::new("this workspace is not in a git repository").help("compare with a folder instead")
            );
        };
        let below = session.root.strip_prefix(repository.work_tree()).unwrap_or(Path::new(""));
        let folder = below.to_string_lossy();
        Ok(Self::Workspace(Box::new(Earlier::of_revision(&repository, against, &folder)?)))
    }

    /// Compiles the policies of another workspace: the targets of these names, or all of them.
    pub(in crate::cli) fn compile(
        &mut self,
        session: &Session<'_>,
        targets: Option<&[&Target]>,
        sink: &mut Sink,
    ) -> Result<(), RunError> {
        if let Self::Workspace(earlier) = self {
            earlier.compile(session, targets)?;
            earlier.problem().into_iter().for_each(|problem| sink.push(problem));
        }
        Ok(())
    }

    /// Describes what a folder is taken for; empty for any other base.
    pub(in crate::cli) fn kind(&self) -> String {
        let mut page = Page::new();
        match self {
            Self::Folder(_, name) => {
                writeln!(page, "`{name}` has no `{WORKSPACE_FILE}`: it is compared as a folder of output");
            }
            Self::Workspace(earlier) if earlier.is_folder() => {
                writeln!(page, "`{}` is a workspace: the output of its policies is compared", earlier.name());
            }
            Self::Output | Self::Workspace(_) => {}
        }
        page.finish()
    }

    /// Describes committed output of another workspace that is not what its policies compile to; empty without such output.
    pub(in crate::cli) fn staleness(&self) -> String {
        match self {
            Self::Workspace(earlier) => earlier.staleness(),
            Self::Output | Self::Folder(..) => String::new(),
        }
    }

    /// Opens the output of a target; that of all of them without one.
    pub(in crate::cli) fn output(&self, session: &Session<'_>, target: Option<&Target>) -> Box<dyn Committed> {
        let below = |folder: PathBuf| target.map_or(folder.clone(), |target| folder.join(&target.name));
        match self {
            Self::Output => Box::new(Folder::new(below(session.output()))),
            Self::Folder(folder, _) => Box::new(Folder::new(below(folder.clone()))),
            Self::Workspace(earlier) => earlier.output(session, target),
        }
    }

    /// Returns the targets that are gone since then.
    pub(in crate::cli) fn gone(&self, session: &Session<'_>) -> Result<TargetChanges, RunError> {
        if let Self::Output = self {
            // `check` reports all other entries.
            let beside = session.beside_targets(&mut Sink::new())?;
            return TargetChanges::of_leftovers(session, &beside);
        }
        let mut changes = TargetChanges::of_folders(session, &*self.output(session, None))?;
        if let Self::Workspace(earlier) = self {
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
            Self::Workspace(earlier) => earlier.target(&target.name).is_some(),
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
        Ok(Some(Diagnostic::error(codes::UNKNOWN_TARGET, message).help(help)))
    }

    /// Describes what changed since then beside the output: the gate itself, and what is judged and not written.
    pub(in crate::cli) fn changes(&self, session: &Session<'_>) -> Result<Vec<String>, RunError> {
        let Self::Workspace(earlier) = self else { return Ok(Vec::new()) };
        let Some(project) = earlier.project() else {
            let message = "cannot be read: changes of the gate, and of access beside the output, are not known";
            let mut lines = vec![format!("the policies of `{}` {message} ({})", earlier.name(), earlier.reason())];
            let workspace = earlier.workspace().into_iter();
            lines.extend(workspace.flat_map(|old| gate::of_workspaces(old, &session.project.workspace)));
            return Ok(lines);
        };
        gate::changes(project, earlier.world(), &*earlier.committed(session), session)
    }

    /// Compares all access on a target, if its version, its baseline or the objects beside its output changed since then.
    pub(in crate::cli) fn whole_effect(
        &self,
        session: &Session<'_>,
        target: &Target,
    ) -> Result<Option<String>, RunError> {
        let Self::Workspace(earlier) = self else { return Ok(None) };
        let (Some(project), Some(before)) = (earlier.project(), earlier.target(&target.name)) else { return Ok(None) };
        let whole = earlier.committed(session);
        if !gate::is_other_below(project, before, (earlier.world(), &*whole), session, target)? {
            return Ok(None);
        }
        let mut sink = Sink::new();
        let inputs = Ground {
            global: session.global,
            project,
            files: earlier.shared_world(),
            kept: kept_before(project, &target.name, &*whole)?,
        };
        let old = inputs.builder(before, &SceneArguments::default(), &mut None, &mut sink)?;
        let Some(mut old) = old.filter(|_| !sink.has_errors()) else {
            return Ok(Some("  access: the baseline before cannot be read, and the change is not known\n".to_owned()));
        };
        add_committed(&mut old, project, before, &*self.output(session, Some(target)))?;
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
