//! A workspace that is opened: finding it, loading it, its targets, and compiling them.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bailiwick_base::stats::Stage;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{
    self, FileConsumer, LinkedWorkspace, ObjectForm, OutputFile, SampledFiles, ShardSummary,
};
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::group::FurtherFiles;
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_compiler::emit::write::STAGING;
use bailiwick_git as git;
use bailiwick_policy::model::{self, NamespaceSample, Part, Target};
use bailiwick_policy::source::{DiskSource, InputFiles, MemorySource, Sources};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink, nearest};

use super::judged_files::JudgedTree;
use super::shard::Shard;
use super::words::number;
use super::workspace_files::WorkspaceFiles;
use super::{Diagnostics, Error, Event, Options};

/// How many files of a class of a sample are named beside its representative.
const NAMED_ALIKE: usize = 4;

/// A workspace that is read and linked, with the options of the run.
pub struct Workspace {
    /// The options of the run.
    pub(crate) options: Options,
    pub(crate) root: PathBuf,
    /// The files of the workspace, on disk or in a revision.
    pub(crate) files: WorkspaceFiles,
    /// The linked policies.
    pub(crate) project: Arc<LinkedWorkspace>,
    /// The sample of the namespaces that this run compiles; all of them for a whole sample.
    pub(crate) sampled: Arc<SampledFiles>,
    /// The shard of the namespaces that this run compiles; all of them without one.
    pub shard: Option<Shard>,
    /// The commit that `check` judges; the files on disk without one.
    pub(crate) tree: Option<Arc<JudgedTree>>,
    /// Whether this is an earlier state, whose objects are in the cluster.
    pub(crate) is_earlier: bool,
    /// The diagnostics of loading: warnings, and errors after which loading could continue.
    found: Vec<Diagnostic>,
}

/// The result of loading the files of a workspace.
struct Loaded {
    project: Arc<LinkedWorkspace>,
    /// The diagnostics of loading.
    found: Vec<Diagnostic>,
}

/// Returns a path without `.` and `..`.
pub fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            part => normal.push(part),
        }
        normal
    })
}

/// Whether `spec.keep` of a workspace keeps a file below its output folder. In the folders of a target where the layout has places it keeps nothing.
pub fn keeps(workspace: &model::WorkspaceSettings, path: &str) -> bool {
    let (top, below) = path.split_once('/').unwrap_or((path, ""));
    let is_of_layout = matches!(below.split('/').next(), Some("cluster" | "namespaces"))
        && workspace.targets.iter().any(|target| target.name == top);
    !is_of_layout && workspace.keep.is_match(path)
}

/// Returns the names of the targets of the workspace of a folder; none if it has errors or cannot be found. Reads the workspace file
/// alone.
pub fn target_names(options: &Options) -> Vec<String> {
    let Ok(Some(root)) = Workspace::find_root(options) else { return Vec::new() };
    let targets = settings(&root).into_iter().flat_map(|workspace| workspace.targets);
    targets.map(|target| target.name).collect()
}

/// Reads the workspace file of a folder; none if it has errors.
fn settings(root: &Path) -> Option<model::WorkspaceSettings> {
    let mut sources = Sources::new(Box::new(DiskSource::new(root)), Arc::new(Files::new()));
    compile::load_workspace(&mut sources, &mut Sink::new()).ok().flatten()
}

impl Workspace {
    /// Finds the folder of the workspace: this one, or the nearest above it with a workspace file, up to the root of the git
    /// work tree. Folders above are not in the hands of the authors of the repository.
    pub fn find_root(options: &Options) -> Result<Option<PathBuf>, RunError> {
        let start = match &options.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir()
                .map_err(|error| RunError::new(format!("there is no current folder: {error}")))?,
        };
        let start = start.canonicalize().map_err(|error| RunError::io("enter", &start, &error))?;
        let top = git::work_tree(&start);
        let within = start.ancestors().take_while(|folder| top.as_ref().is_none_or(|top| folder.starts_with(top)));
        let mut folders = within.map(Path::to_path_buf);
        Ok(folders.find(|folder| folder.join(compile::WORKSPACE_FILE).symlink_metadata().is_ok()))
    }

    /// Finds and loads the workspace: the folder in which the run starts, or the nearest above it with a workspace file.
    ///
    /// # Errors
    /// When there is none, or its policies cannot be linked.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_workspace::{Error, Options, Workspace};
    /// let options = Options::in_folder("../..");
    /// let workspace = Workspace::open(&options)?;
    /// assert!(workspace.output().ends_with("out"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn open(options: &Options) -> Result<Self, Error> {
        let Some(place) = find_files(options)? else {
            let diagnostic = Diagnostic::error(
                codes::WORKSPACE_NOT_FOUND,
                "there is no `bailiwick.yaml` in this folder or above it",
            )
            .help("run `bailiwick init` to create a workspace here");
            return Err(Error::invalid(diagnostic));
        };
        let root = match &place {
            WorkspaceFiles::Folder(root) => root.clone(),
            _ => PathBuf::new(),
        };
        open_files(options, root, place)
    }

    /// Returns a workspace in which nothing is left out.
    fn of(options: Options, root: PathBuf, files: WorkspaceFiles, loaded: Loaded) -> Self {
        let Loaded { project, found } = loaded;
        Self {
            options,
            root,
            files,
            project,
            sampled: Arc::default(),
            shard: None,
            tree: None,
            is_earlier: false,
            found,
        }
    }

    /// Returns this workspace with a sample of its namespaces: only the namespaces of the sample are compiled.
    pub fn with_sample(&self, sample: &Arc<NamespaceSample>) -> Self {
        let loaded = Loaded { project: Arc::clone(&self.project), found: self.found.clone() };
        let whole = Self::of(self.options.clone(), self.root.clone(), self.files.clone(), loaded);
        let sampled = Arc::new(SampledFiles::new(Arc::clone(sample)));
        Self { sampled, tree: self.tree.clone(), is_earlier: self.is_earlier, ..whole }
    }

    /// Returns how many files a file stands for in the sample of this workspace, itself included. The path is below the folder
    /// of a target.
    pub(crate) fn files_alike(&self, path: &str) -> usize {
        file::namespace(path).map_or(1, |namespace| self.sample().weight(namespace))
    }

    /// Returns the sample of the namespaces that this run compiles.
    pub fn sample(&self) -> &NamespaceSample {
        self.sampled.sample()
    }

    /// Returns the options of the compiler, with the sample of this workspace.
    pub fn compiler(&self) -> compile::CompileOptions<'_> {
        let sample = Some(&*self.sampled).filter(|sampled| !sampled.sample().is_whole());
        compile::CompileOptions { sample, accepts_never_pruned: self.is_earlier, ..self.options.compiler() }
    }

    /// Returns the options of the run.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the files of the workspace: on disk, in a revision, in memory or in an editor.
    pub fn files(&self) -> &WorkspaceFiles {
        &self.files
    }

    /// Returns the files of a sample of the namespaces that this run compiles; all files for a whole sample.
    pub fn sampled(&self) -> &Arc<SampledFiles> {
        &self.sampled
    }

    /// Returns the folder of the workspace file.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the linked policies.
    pub fn project(&self) -> &Arc<LinkedWorkspace> {
        &self.project
    }

    /// Returns the path of the output folder.
    pub fn output(&self) -> PathBuf {
        self.root.join(&self.project.workspace.output)
    }

    /// Returns the targets with these names, or all targets without names.
    ///
    /// # Errors
    /// When no target has one of the names.
    ///
    /// # Examples
    /// ```
    /// # use bailiwick_workspace::{Error, Options, Workspace};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// let production = workspace.targets(&["modern".to_owned()])?;
    /// assert_eq!(production.len(), 1);
    /// assert!(workspace.targets(&["nowhere".to_owned()]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn targets(&self, names: &[String]) -> Result<Vec<&Target>, Error> {
        let all = &self.project.workspace.targets;
        let unknown = names.iter().find(|name| !all.iter().any(|target| target.name == **name));
        if let Some(name) = unknown {
            let known = || all.iter().map(|target| target.name.as_str());
            let help = nearest(name, known()).map_or_else(
                || format!("the targets are: {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Error::invalid(
                Diagnostic::error(codes::UNKNOWN_TARGET, format!("there is no target `{name}`")).help(help),
            ));
        }
        Ok(all.iter().filter(|target| names.is_empty() || names.contains(&target.name)).collect())
    }

    /// Compiles a whole target; see [`compile::compile`].
    pub fn compile_files<R: Send>(
        &self,
        target: &Target,
        wanted: ObjectForm,
        work: &(dyn Fn(OutputFile) -> Result<R, RunError> + Sync),
        each: &mut dyn FnMut(R),
        sink: &mut Sink,
    ) -> Result<(), RunError> {
        let options = compile::CompileOptions { wanted, ..self.compiler() };
        self.compile_part(target, options, work, each, sink).map(|_| ())
    }

    /// Compiles the part of a target that the options name. The sink has to be the target's own.
    pub fn compile_part<R: Send>(
        &self,
        target: &Target,
        options: compile::CompileOptions<'_>,
        work: &(dyn Fn(OutputFile) -> Result<R, RunError> + Sync),
        each: &mut dyn FnMut(R),
        sink: &mut Sink,
    ) -> Result<ShardSummary, RunError> {
        let mut each = |made, done, total| {
            self.options.tell(Event::Compiling { target: &target.name, done, total });
            each(made);
        };
        let consumer = FileConsumer { work, each: &mut each };
        let result = compile::compile_part(&self.project, target, options, consumer, sink);
        self.options.tell(Event::Compiled);
        result
    }

    /// Whether a folder of the output folder belongs to a target, or holds new contents of a run.
    pub(crate) fn is_of_target_or_staging(&self, top: &str) -> bool {
        top == STAGING || has_target(self, top)
    }

    /// Returns the diagnostics of the run and of loading, without the accepted ones.
    pub fn findings(&self, sink: Sink) -> Vec<Diagnostic> {
        let mut diagnostics = self.found.clone();
        diagnostics.extend(self.project.without_accepted(sink.into_sorted(&self.project.files)));
        diagnostics
    }

    /// Returns the diagnostics as [`Workspace::findings`] does, with the files that they point into.
    pub fn diagnostics(&self, sink: Sink) -> Diagnostics {
        Diagnostics::new(self.findings(sink), &self.project.files)
    }

    /// Returns diagnostics without the accepted ones, and without the diagnostics of loading.
    pub fn own_diagnostics(&self, sink: Sink) -> Diagnostics {
        let list = self.project.without_accepted(sink.into_sorted(&self.project.files));
        Diagnostics::new(list, &self.project.files)
    }

    /// Returns the target with a name, or the only one. `why` is the reason for one target in the error.
    ///
    /// # Errors
    /// When no target has the name, or the workspace has several targets and no name is given.
    pub fn only_target(&self, name: Option<&str>, why: &str) -> Result<&Target, Error> {
        let names: Vec<String> = name.into_iter().map(str::to_owned).collect();
        match self.targets(&names)?.as_slice() {
            [only] => Ok(only),
            several => {
                let names: Vec<&str> = several.iter().map(|target| target.name.as_str()).collect();
                let message = format!("{why}, and the workspace has several targets");
                let help = format!("name the target with `-t`: {}", names.join(", "));
                Err(Error::invalid(Diagnostic::error(codes::INVALID_USAGE, message).help(help)))
            }
        }
    }
}

/// Returns the folders that `render` writes in a workspace, by their paths below its root; none if the workspace file has errors. Reads the
/// workspace file alone.
pub fn written_folders(root: &Path) -> Vec<String> {
    settings(root).map_or_else(Vec::new, |settings| settings.written_folders().map(str::to_owned).collect())
}

/// Finds the files of the workspace; none without one. Files in memory have the workspace file at their root.
pub fn find_files(options: &Options) -> Result<Option<WorkspaceFiles>, RunError> {
    match &options.inputs {
        InputFiles::Disk => Ok(Workspace::find_root(options)?.map(WorkspaceFiles::Folder)),
        InputFiles::Memory(files) => {
            let has_workspace = files.has_file(compile::WORKSPACE_FILE);
            Ok(has_workspace.then(|| WorkspaceFiles::Memory(Arc::clone(files))))
        }
    }
}

/// Opens a workspace whose files are in memory. It has no output folder.
///
/// # Errors
/// When its policies cannot be linked.
pub fn open_in_memory(options: &Options, source: MemorySource, files: &Arc<Files>) -> Result<Workspace, Error> {
    let mut sink = Sink::new();
    let project = compile::load(Box::new(source), Arc::clone(files), &mut sink)?;
    let has_errors = sink.has_errors();
    let list = sink.into_sorted(files);
    let Some(project) = project.filter(|_| !has_errors) else {
        return Err(Error::Invalid(Diagnostics::new(list, files)));
    };
    let found = project.without_accepted(list);
    let loaded = Loaded { project: Arc::new(project), found };
    Ok(Workspace::of(options.clone(), PathBuf::new(), WorkspaceFiles::Folder(PathBuf::new()), loaded))
}

/// Loads the workspace of a folder from its files.
///
/// # Errors
/// When its policies cannot be linked, or a file cannot be read.
pub fn open_files(options: &Options, root: PathBuf, place: WorkspaceFiles) -> Result<Workspace, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let load = || compile::load(place.boxed_source(), Arc::clone(&files), &mut sink);
    let mut project = options.stats.time(Stage::Load, load, |_| (1, 0))?;
    if let Some(project) = &mut project {
        project.today = options.today;
        project.warn_of_expiry(&mut sink);
    }
    let diagnostics = sink.into_sorted(&files);
    match project {
        Some(project) => {
            let found = project.without_accepted(diagnostics);
            Ok(Workspace::of(options.clone(), root, place, Loaded { project: Arc::new(project), found }))
        }
        None => Err(Error::Invalid(Diagnostics { list: diagnostics, files })),
    }
}

/// Opens another state of this workspace, such as a revision. Its diagnostics are reported at its own places.
///
/// # Errors
/// When the policies cannot be linked, or cannot be read.
pub fn open_other(workspace: &Workspace, place: WorkspaceFiles) -> Result<Workspace, Error> {
    let (files, mut sink) = (Arc::new(Files::new()), Sink::new());
    let project = compile::load(place.boxed_source(), Arc::clone(&files), &mut sink)?;
    let has_errors = sink.has_errors();
    let list = sink.into_sorted(&files);
    match project.filter(|_| !has_errors) {
        Some(mut project) => {
            project.today = workspace.options.today;
            let found = project.without_accepted(list);
            let options = Options { listener: None, ..workspace.options.clone() };
            let root = match &place {
                WorkspaceFiles::Folder(root) | WorkspaceFiles::Editor(root, _) => root.clone(),
                WorkspaceFiles::Revision(_) | WorkspaceFiles::Memory(_) | WorkspaceFiles::Edited(..) => {
                    workspace.root.clone()
                }
            };
            Ok(Workspace::of(options, root, place, Loaded { project: Arc::new(project), found }))
        }
        None => Err(Error::Invalid(Diagnostics { list, files })),
    }
}

/// Returns the files that a file stands for in the sample of this workspace.
pub fn further_files(workspace: &Workspace, target: &Target, path: &str) -> FurtherFiles {
    let Some(namespace) = file::namespace(path) else { return FurtherFiles::default() };
    let model::WorkspaceSettings { output, shards, .. } = &workspace.project.workspace;
    let shown = |name: &Arc<str>| format!("{output}/{}/{}", target.name, file::path(Some(name), "Namespace", *shards));
    let further = workspace.sample().further(namespace);
    FurtherFiles { first: further.iter().take(NAMED_ALIKE).map(shown).collect(), count: further.len() }
}

/// Warns of a rename in very many places and of bindings that have to be made anew, before anything is written.
pub fn warn_of_recreation(workspace: &Workspace, target: &Target, totals: &Totals, sink: &mut Sink) {
    for (kind, files) in totals.mass_recreates(workspace.project.workspace.mass_recreate_threshold) {
        sink.push(
            Diagnostic::warning(
                codes::MASS_RECREATE,
                format!(
                    "on `{}`, {kind} objects are deleted and created anew in {}",
                    target.name,
                    number(files, "namespace")
                ),
            )
            .help("roll it out in parts: add the new objects first, remove the old ones in a later change"),
        );
    }
    if let Some(first) = totals.changed_role_refs.lines().next() {
        let others = totals.changed_role_refs.count.saturating_sub(1);
        let more = if others > 0 { format!(" and {}", number(others, "other binding")) } else { String::new() };
        sink.push(
            Diagnostic::warning(
                codes::IMMUTABLE_ROLE_REF,
                format!("on `{}`, {first}{more} would change `roleRef`, which cannot be changed", target.name),
            )
            .help("give the binding a new name, or delete and create it by hand"),
        );
    }
}

/// Returns the title of the counts of a target: its name, and the part of the run.
pub fn target_title(workspace: &Workspace, target: &Target) -> String {
    part_of_run(workspace).map_or_else(|| target.name.clone(), |part| format!("{}, part {part}", target.name))
}

/// Returns the part of the work that this run does.
pub fn part_of_run(workspace: &Workspace) -> Option<Part> {
    workspace.shard.as_ref().map(|shard| shard.part)
}

/// Whether the workspace has a target of this name.
pub fn has_target(workspace: &Workspace, name: &str) -> bool {
    workspace.project.workspace.targets.iter().any(|target| target.name == name)
}
