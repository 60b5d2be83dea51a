//! Another workspace that the current one is compared with: a revision in git, or a folder with a workspace file. Its
//! policies are compiled with its own workspace file. If they do not compile, its committed output takes their place.

use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, CompileOptions, LinkedWorkspace, SampledFiles};
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_git::Repository;
use bailiwick_policy::model::{self, Target};
use bailiwick_policy::source::{FileSource, Sources};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::delivery::{DeliveryObjects, DeliveryTexts};
use bailiwick_workspace::words::{number, place_text};
use bailiwick_workspace::workspace_files::WorkspaceFiles;
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Severity, Sink};

use super::compiled::{CompiledTarget, CompiledTargets, OutputOfTarget, WholeOutput};

/// How many diagnostics of policies that do not compile are shown.
const NAMED_ERRORS: usize = 3;

/// Another workspace.
pub(crate) struct Earlier {
    /// The name that the user gave to it.
    name: String,
    files: WorkspaceFiles,
    policies: Policies,
    world: Arc<dyn FileSource>,
    /// The files of the sample of an opened workspace.
    sampled: Option<Arc<SampledFiles>>,
    /// The compiled output; none where the policies do not compile.
    compiled: Option<Arc<CompiledTargets>>,
    /// Files of the committed output that are not what the policies compile to, below the output folder.
    stale: Vec<String>,
}

/// The policies of another workspace.
enum Policies {
    /// They can be read, with the errors that leave something to go on with.
    Read { project: Arc<LinkedWorkspace>, errors: Vec<String> },
    /// They cannot be read: the reasons, and the workspace if its own file can be.
    Broken { errors: Vec<String>, workspace: Option<Box<model::WorkspaceSettings>> },
}

impl Policies {
    fn read(place: &WorkspaceFiles) -> Result<Self, RunError> {
        let (files, mut sink) = (Arc::new(Files::new()), Sink::new());
        let project = compile::load(place.boxed_source(), Arc::clone(&files), &mut sink)?;
        let errors = errors(sink, &files);
        if let Some(project) = project {
            return Ok(Self::Read { project: Arc::new(project), errors });
        }
        let mut sources = Sources::new(place.boxed_source(), Arc::new(Files::new()));
        let workspace = compile::load_workspace(&mut sources, &mut Sink::new())?;
        Ok(Self::Broken { errors, workspace: workspace.map(Box::new) })
    }
}

/// Returns the errors among diagnostics, each as one line with its place.
fn errors(sink: Sink, files: &Files) -> Vec<String> {
    let errors = sink.into_sorted(files).into_iter().filter(|found| found.severity == Severity::Error);
    errors
        .map(|error| match error.origin {
            Some(origin) => format!("{}: {}", place_text(origin, files), error.message),
            None => error.message,
        })
        .collect()
}

impl Earlier {
    /// Reads the workspace of a revision; `folder` is its path below the root of the work tree.
    pub(super) fn of_revision(repository: &Repository, revision: &str, folder: &str) -> Result<Self, RunError> {
        Self::read(revision, WorkspaceFiles::of_revision(repository, revision, folder)?)
    }

    /// Reads the workspace in a folder.
    pub(super) fn of_folder(name: &str, folder: PathBuf) -> Result<Self, RunError> {
        Self::read(name, WorkspaceFiles::Folder(folder))
    }

    /// Returns an opened workspace, without reading its policies again.
    pub(super) fn of_workspace(name: &str, workspace: &Workspace) -> Self {
        let policies = Policies::Read { project: Arc::clone(workspace.project()), errors: Vec::new() };
        Self { sampled: Some(Arc::clone(workspace.sampled())), ..Self::new(name, workspace.files().clone(), policies) }
    }

    fn read(name: &str, files: WorkspaceFiles) -> Result<Self, RunError> {
        let policies = Policies::read(&files)?;
        Ok(Self::new(name, files, policies))
    }

    fn new(name: &str, files: WorkspaceFiles, policies: Policies) -> Self {
        let world = files.source();
        Self { name: name.to_owned(), files, policies, world, sampled: None, compiled: None, stale: Vec::new() }
    }

    /// Compiles the targets with these names, or all of them, unless an error keeps the policies from compiling.
    pub(super) fn compile(&mut self, workspace: &Workspace, names: Option<&[&Target]>) -> Result<(), RunError> {
        let Policies::Read { project, errors } = &mut self.policies else { return Ok(()) };
        if !errors.is_empty() {
            return Ok(());
        }
        let is_wanted = |target: &&Target| names.is_none_or(|names| names.iter().any(|one| one.name == target.name));
        let sample = workspace.compiler().sample.map(|files| {
            let own = self.sampled.as_ref().filter(|own| Arc::ptr_eq(own.sample(), files.sample()));
            own.map_or_else(|| Arc::new(SampledFiles::new(Arc::clone(files.sample()))), Arc::clone)
        });
        let (mut compiled, mut stale, mut has_output) = (CompiledTargets::default(), Vec::new(), false);
        for target in project.workspace.targets.iter().filter(is_wanted) {
            let mut sink = Sink::new();
            let committed = self.files.output(&project.workspace.output, Some(&target.name));
            let options = CompileOptions {
                sample: sample.as_deref(),
                accepts_never_pruned: true,
                ..workspace.options().compiler()
            };
            let (output, files) = CompiledTarget::of(project, target, options, committed, &mut sink)?;
            if sink.has_errors() {
                *errors = self::errors(sink, &project.files);
                return Ok(());
            }
            has_output |= files.has_output;
            stale.extend(files.paths.into_iter().map(|path| format!("{}/{path}", target.name)));
            compiled.0.insert(target.name.clone(), output);
        }
        self.compiled = Some(Arc::new(compiled));
        // A workspace that commits no output has no stale output.
        self.stale = if has_output { stale } else { Vec::new() };
        Ok(())
    }

    /// Reports that the policies do not compile.
    pub(super) fn problem(&self) -> Option<Diagnostic> {
        let errors = match &self.policies {
            Policies::Read { errors, .. } | Policies::Broken { errors, .. } => errors,
        };
        if self.compiled.is_some() {
            return None;
        }
        let message =
            format!("the policies of `{}` do not compile; its committed output is compared instead", self.name);
        let mut warning = Diagnostic::warning(codes::BROKEN_BASE, message);
        for error in errors.iter().take(NAMED_ERRORS) {
            warning = warning.note(error);
        }
        let more = errors.len().saturating_sub(NAMED_ERRORS);
        if more > 0 {
            warning = warning.note(format!("and {}", number(more, "more error")));
        }
        Some(warning.help("compare with a revision whose policies compile"))
    }

    /// Returns the paths of the committed files that are not what the policies compile to, below the workspace.
    pub(super) fn stale_files(&self) -> Vec<String> {
        let Some(workspace) = self.workspace() else { return Vec::new() };
        self.stale.iter().map(|path| format!("{}/{path}", workspace.output)).collect()
    }

    /// Returns the name that the user gave to the workspace.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the workspace is in a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.files.is_folder()
    }

    /// Returns the policies, if they can be read.
    pub(super) fn project(&self) -> Option<&LinkedWorkspace> {
        match &self.policies {
            Policies::Read { project, .. } => Some(project),
            Policies::Broken { .. } => None,
        }
    }

    /// Returns the first reason for which the policies cannot be read.
    pub(super) fn reason(&self) -> &str {
        match &self.policies {
            Policies::Read { errors, .. } | Policies::Broken { errors, .. } => {
                errors.first().map_or("", String::as_str)
            }
        }
    }

    /// Returns the workspace file, if it can be read.
    pub(super) fn workspace(&self) -> Option<&model::WorkspaceSettings> {
        match &self.policies {
            Policies::Read { project, .. } => Some(&project.workspace),
            Policies::Broken { workspace, .. } => workspace.as_deref(),
        }
    }

    /// Returns the target with a name.
    pub(super) fn target(&self, name: &str) -> Option<&Target> {
        self.workspace()?.targets.iter().find(|target| target.name == name)
    }

    /// Returns the files of the workspace.
    pub(super) fn world(&self) -> &dyn FileSource {
        &*self.world
    }

    /// Returns the files of the workspace, for a loader that keeps its own.
    pub(super) fn shared_world(&self) -> Box<dyn FileSource> {
        self.files.boxed_source()
    }

    /// Returns the committed output of all targets.
    pub(super) fn committed(&self, workspace: &Workspace) -> Box<dyn Committed> {
        self.files.output(&self.workspace().unwrap_or(&workspace.project().workspace).output, None)
    }

    /// Returns the delivery objects of the compiled policies, or the committed ones; none if the workspace has none.
    pub(super) fn delivery(&self) -> Result<Option<Box<dyn Committed>>, RunError> {
        let Some(folder) = self.workspace().and_then(|workspace| workspace.delivery.as_ref()) else { return Ok(None) };
        let (Some(compiled), Some(project)) = (&self.compiled, self.project()) else {
            return Ok(Some(self.files.output(&folder.folder, None)));
        };
        let mut objects = DeliveryObjects::new(true);
        for target in &project.workspace.targets {
            let mut has_cluster = false;
            OutputOfTarget(Arc::clone(compiled), target.name.clone())
                .each(&mut |entry| has_cluster |= entry.path.starts_with("cluster/"))?;
            objects.add(project, target, has_cluster);
        }
        Ok(Some(Box::new(DeliveryTexts(objects.into_texts()))))
    }

    /// Returns the output to compare with: of a target, or of all of them.
    pub(super) fn output(&self, workspace: &Workspace, target: Option<&Target>) -> Box<dyn Committed> {
        match (&self.compiled, target) {
            (Some(compiled), Some(target)) => Box::new(OutputOfTarget(Arc::clone(compiled), target.name.clone())),
            (Some(compiled), None) => Box::new(WholeOutput(Arc::clone(compiled))),
            (None, target) => {
                let workspace = self.workspace().unwrap_or(&workspace.project().workspace);
                self.files.output(&workspace.output, target.map(|target| target.name.as_str()))
            }
        }
    }
}
