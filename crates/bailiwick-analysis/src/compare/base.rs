//! The earlier side of `diff`: the output folder, a folder, or another workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bailiwick_codes as codes;
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_compiler::emit::committed::{Committed, Folder};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_git::Repository;
use bailiwick_policy::model::Target;
use bailiwick_workspace::delivery::DeliveryTexts;
use bailiwick_workspace::judged_files::{judged_files, judged_output};
use bailiwick_workspace::kept_files::kept_before;
use bailiwick_workspace::output::beside_targets;
use bailiwick_workspace::target_changes::{TargetChanges, is_ours};
use bailiwick_workspace::workspace::has_target;
use bailiwick_workspace::workspace_files::WorkspaceFiles;
use bailiwick_workspace::{Error, Options, Workspace};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};

use super::earlier::Earlier;
use super::gate::{self, EarlierTarget};
use super::{AccessEffect, whole};
use crate::loaded_world::{BaselineInputs, WorldOptions, add_committed, load_target};

/// The earlier side of a comparison.
pub struct Base(Kind);

/// The meaning of the name of a base.
#[derive(Debug, Clone, Copy)]
pub enum DescribedBase<'b> {
    /// A folder of output, by its name.
    Output(&'b str),
    /// A workspace in a folder, by its name.
    Workspace(&'b str),
}

enum Kind {
    /// The output folder.
    Output,
    /// A folder of the same form, with the name that it was given.
    Folder(PathBuf, String),
    /// Another workspace.
    Workspace(Box<Earlier>),
}

impl Base {
    /// Returns the folder that a name can stand for: the folder of a workspace file for the file.
    pub(crate) fn folder(options: &Options, against: &str) -> PathBuf {
        let path = options.at(Path::new(against));
        let is_file = path.file_name().is_some_and(|name| name == WORKSPACE_FILE) && path.is_file();
        match path.parent().filter(|_| is_file) {
            Some(folder) if folder == Path::new("") => PathBuf::from("."),
            Some(folder) => folder.to_owned(),
            None => path,
        }
    }

    /// Finds what a name stands for; the output folder without a name. The policies of another workspace are compiled: the
    /// targets with these names, or all of them.
    ///
    /// # Errors
    /// When the name stands for nothing, or for a folder without output.
    ///
    /// # Examples
    /// ```no_run
    /// # use bailiwick_analysis::{Base, CompareOptions, compare};
    /// # use bailiwick_workspace::{Error, Options, Workspace};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// // What changed since a revision in git.
    /// let base = Base::open(&workspace, Some("main"), &[])?;
    /// let comparison = compare(&workspace, &base, &CompareOptions::default())?;
    /// let changed: usize = comparison.targets.iter().map(|target| target.totals.counts.changed).sum();
    /// assert!(changed < 1_000, "{changed} objects change");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn open(workspace: &Workspace, against: Option<&str>, names: &[String]) -> Result<Self, Error> {
        Self::find(workspace, against)?.compiled(workspace, names)
    }

    /// Returns an opened workspace with a name as the earlier side, compiled as by [`Base::open`].
    pub fn of_workspace(
        earlier: &Workspace,
        name: &str,
        workspace: &Workspace,
        names: &[String],
    ) -> Result<Self, Error> {
        let base = Self(Kind::Workspace(Box::new(Earlier::of_workspace(name, earlier))));
        base.compiled(workspace, names)
    }

    /// Compiles the targets of another workspace with these names, or all of them.
    fn compiled(mut self, workspace: &Workspace, names: &[String]) -> Result<Self, Error> {
        let targets = workspace.targets(names)?;
        if let Some(problem) = self.missing(workspace, &targets)? {
            return Err(Error::invalid(problem));
        }
        if let Kind::Workspace(earlier) = &mut self.0 {
            earlier.compile(workspace, (!names.is_empty()).then_some(&*targets))?;
        }
        Ok(self)
    }

    /// Returns the output folder.
    pub fn output_folder() -> Self {
        Self(Kind::Output)
    }

    /// Reports that the policies of another workspace do not compile.
    pub(super) fn problem(&self) -> Option<Diagnostic> {
        match &self.0 {
            Kind::Workspace(earlier) => earlier.problem(),
            Kind::Output | Kind::Folder(..) => None,
        }
    }

    fn find(workspace: &Workspace, against: Option<&str>) -> Result<Self, RunError> {
        let Some(against) = against else { return Ok(Self(Kind::Output)) };
        let repository = Repository::find(workspace.root());
        let folder = Self::folder(workspace.options(), against);
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
                return Ok(Self(Kind::Workspace(Box::new(Earlier::of_folder(against, folder)?))));
            }
            return Ok(Self(Kind::Folder(folder, against.to_owned())));
        }
        let Some(repository) = repository? else {
            return Err(
                RunError::new("this workspace is not in a git repository").help("compare with a folder instead")
            );
        };
        let folder = WorkspaceFiles::below_work_tree(&repository, workspace.root());
        Ok(Self(Kind::Workspace(Box::new(Earlier::of_revision(&repository, against, &folder)?))))
    }

    /// Returns what a name stands for, if it could stand for something else.
    pub fn described(&self) -> Option<DescribedBase<'_>> {
        match &self.0 {
            Kind::Folder(_, name) => Some(DescribedBase::Output(name)),
            Kind::Workspace(earlier) if earlier.is_folder() => Some(DescribedBase::Workspace(earlier.name())),
            Kind::Output | Kind::Workspace(_) => None,
        }
    }

    /// Returns the committed files of another workspace that are not what its policies compile to, with the name of the
    /// workspace.
    pub fn stale(&self) -> Option<(&str, Vec<String>)> {
        match &self.0 {
            Kind::Workspace(earlier) => {
                Some((earlier.name(), earlier.stale_files())).filter(|(_, files)| !files.is_empty())
            }
            Kind::Output | Kind::Folder(..) => None,
        }
    }

    /// Opens the output of a target, or of all targets.
    pub(crate) fn output(&self, workspace: &Workspace, target: Option<&Target>) -> Box<dyn Committed> {
        let below = |folder: PathBuf| target.map_or(folder.clone(), |target| folder.join(&target.name));
        match &self.0 {
            Kind::Output => judged_output(workspace, target),
            Kind::Folder(folder, _) => Box::new(Folder::new(below(folder.clone()))),
            Kind::Workspace(earlier) => earlier.output(workspace, target),
        }
    }

    /// Opens the delivery objects of all targets; none if neither side has any. A folder of output has no delivery objects.
    pub(crate) fn delivery(&self, workspace: &Workspace) -> Result<Option<Box<dyn Committed>>, RunError> {
        let folder = workspace.project().workspace.delivery.as_ref().map(|delivery| &delivery.folder);
        match &self.0 {
            Kind::Output if workspace.judged_commit().is_some() => {
                Ok(folder.map(|folder| judged_files(workspace).folder(folder)))
            }
            Kind::Output => Ok(folder.map(|folder| workspace.files().output(folder, None))),
            Kind::Folder(..) => Ok(None),
            Kind::Workspace(earlier) => {
                let earlier = earlier.delivery()?;
                let none = || Box::new(DeliveryTexts(BTreeMap::new())) as Box<dyn Committed>;
                Ok(earlier.or_else(|| folder.map(|_| none())))
            }
        }
    }

    /// Returns the targets that are gone since then.
    pub(crate) fn gone(&self, workspace: &Workspace) -> Result<TargetChanges, RunError> {
        if let Kind::Output = &self.0 {
            // `check` reports all other entries.
            let beside = beside_targets(workspace, &mut Sink::new())?;
            return TargetChanges::of_leftovers(workspace, &beside);
        }
        let mut changes = TargetChanges::of_folders(workspace, &*self.output(workspace, None))?;
        if let Kind::Workspace(earlier) = &self.0 {
            let targets = earlier.workspace().into_iter().flat_map(|workspace| &workspace.targets);
            targets
                .filter(|target| !has_target(workspace, &target.name))
                .for_each(|target| changes.add_gone(&target.name));
        }
        Ok(changes)
    }

    /// Whether a target with these totals is new.
    pub(crate) fn is_new(&self, target: &Target, totals: &Totals) -> bool {
        let was_declared = match &self.0 {
            Kind::Workspace(earlier) => earlier.target(&target.name).is_some(),
            _ => false,
        };
        totals.is_new() && !was_declared
    }

    /// Reports a folder that holds no output of a target. It may be new where there is output of another one.
    pub(crate) fn missing(&self, workspace: &Workspace, targets: &[&Target]) -> Result<Option<Diagnostic>, RunError> {
        let Kind::Folder(folder, shown) = &self.0 else { return Ok(None) };
        let holds = |name: &str| holds_output(&Folder::new(folder.join(name)));
        for target in &workspace.project().workspace.targets {
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
    pub(crate) fn changes(&self, workspace: &Workspace) -> Result<Vec<String>, RunError> {
        let Kind::Workspace(earlier) = &self.0 else { return Ok(Vec::new()) };
        let Some(project) = earlier.project() else {
            let message = "cannot be read: changes of the gate, and of access beside the output, are not known";
            let mut lines = vec![format!("the policies of `{}` {message} ({})", earlier.name(), earlier.reason())];
            let before = earlier.workspace().into_iter();
            lines.extend(before.flat_map(|old| gate::of_workspaces(old, &workspace.project().workspace)));
            return Ok(lines);
        };
        gate::changes(project, earlier.world(), &*earlier.committed(workspace), workspace)
    }

    /// Compares all access on a target, if its version, its baseline or the objects beside its output changed since then.
    pub(crate) fn whole_effect(
        &self,
        workspace: &Workspace,
        target: &Target,
    ) -> Result<Option<AccessEffect>, RunError> {
        let Kind::Workspace(earlier) = &self.0 else { return Ok(None) };
        let (Some(project), Some(before)) = (earlier.project(), earlier.target(&target.name)) else { return Ok(None) };
        let whole = earlier.committed(workspace);
        let earlier_target =
            EarlierTarget { workspace: project, target: before, world: earlier.world(), output: &*whole };
        if !earlier_target.differs_beside_output(workspace, target)? {
            return Ok(None);
        }
        let mut sink = Sink::new();
        let inputs = BaselineInputs {
            run: workspace.options(),
            project,
            files: earlier.shared_world(),
            kept: kept_before(project, &target.name, &*whole, &mut sink)?,
        };
        let old = inputs.builder(before, &WorldOptions::default(), &mut None, &mut sink)?;
        let Some(mut old) = old.filter(|_| !sink.has_errors()) else {
            return Ok(Some(AccessEffect::Unknown));
        };
        add_committed(&mut old, project, before, &*self.output(workspace, Some(target)))?;
        let Some(new) = load_target(workspace, target, &WorldOptions::default(), &mut sink)? else {
            return Ok(None);
        };
        Ok(Some(whole::changes(&old.build(), &new.world, before, target)))
    }
}

/// Returns whether a target's folder has an output file.
fn holds_output(folder: &Folder) -> Result<bool, RunError> {
    for entry in folder.list()?.iter().filter(|entry| entry.is_file()) {
        if is_ours(&entry.path, &folder.read(&entry.path)?.unwrap_or_default()) {
            return Ok(true);
        }
    }
    Ok(false)
}
