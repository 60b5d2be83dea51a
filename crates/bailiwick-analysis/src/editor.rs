//! A workspace in an editor: the diagnostics of texts that are not saved, completions, documentation, definitions and corrections.
//!
//! Each answer is about the newest texts of the open documents. The files that are not open are read once, until they change.

mod completion;
mod correction;
mod cursor;
mod definition;
mod hover;
mod names;
mod schema;
mod vocabulary;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_policy::model::Date;
use bailiwick_policy::source::{DiskSource, EditorFiles, FileContent, FileSource};
use bailiwick_workspace::workspace::open_files;
use bailiwick_workspace::workspace_files::WorkspaceFiles;
use bailiwick_workspace::{Diagnostics, Error, Options, Workspace};
use bailiwick_yaml::diag::{Files, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_TREE_SIZE;

pub use self::completion::Completion;
pub use self::correction::Correction;
pub use self::definition::DefinitionPlace;
pub use self::hover::{Hover, HoverText};
use self::names::WorkspaceNames;
use super::loaded_world::{LoadedWorld, WorldOptions, load_target};
use crate::LintOptions;
use crate::lint::lint;

/// The extension of a template file.
const TEMPLATE_EXTENSION: &str = ".j2";

/// A workspace with documents that are open in an editor.
///
/// Paths of documents begin at the root of the workspace and have forward slashes.
pub struct EditorWorkspace {
    options: Options,
    root: PathBuf,
    files: Arc<EditorFiles>,
    /// The newest texts with which the policies could be linked.
    linked: Option<Arc<Workspace>>,
    analysis: Analysis,
}

/// The result of the newest texts. Parts of it are computed when they are needed.
#[derive(Default)]
struct Analysis {
    /// The texts that were read.
    files: Arc<Files>,
    diagnostics: Diagnostics,
    names: OnceCell<WorkspaceNames>,
    /// The access that each target of the linked policies gives.
    worlds: OnceCell<Vec<LoadedWorld>>,
}

impl EditorWorkspace {
    /// Opens the workspace of a folder: the folder itself, or the nearest above it with a workspace file. None without one.
    ///
    /// # Errors
    /// When the folder cannot be entered.
    pub fn open(options: &Options) -> Result<Option<Self>, RunError> {
        let Some(root) = Workspace::find_root(options)? else { return Ok(None) };
        let files = Arc::new(EditorFiles::new(Arc::new(DiskSource::new(&root))));
        Ok(Some(Self { options: options.clone(), root, files, linked: None, analysis: Analysis::default() }))
    }

    /// Returns the folder of the workspace file.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a document, or replaces its text.
    pub fn set_text(&mut self, path: &str, text: String) {
        self.files.open(path, text);
    }

    /// Closes a document: its text is the file again.
    pub fn close(&mut self, path: &str) {
        self.files.close(path);
    }

    /// Reads all files anew: some of them changed.
    pub fn files_changed(&mut self) {
        self.files.forget();
    }

    /// Returns the text of a document or file; none for a file that cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.text(path).or_else(|| match self.files.read(path, MAXIMUM_TREE_SIZE as u64).ok()? {
            FileContent::Bytes(bytes) => String::from_utf8(bytes).ok(),
            FileContent::Text(text) => Some(text.to_string()),
            FileContent::Missing | FileContent::Refused(_) => None,
        })
    }

    /// Compiles the newest texts, and returns the diagnostics. `today` is the day on which grants are judged.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn analyze(&mut self, today: Date) -> Result<&Diagnostics, Error> {
        self.options.today = Some(today);
        let files = WorkspaceFiles::Editor(self.root.clone(), Arc::clone(&self.files));
        let diagnostics = match open_files(&self.options, self.root.clone(), files) {
            Ok(workspace) => {
                let diagnostics = compile_diagnostics(&workspace)?;
                free_beside(self.linked.replace(Arc::new(workspace)));
                diagnostics
            }
            Err(Error::Invalid(diagnostics)) => diagnostics,
            Err(error) => return Err(error),
        };
        let analysis = Analysis { files: Arc::clone(&diagnostics.files), diagnostics, ..Analysis::default() };
        free_beside(std::mem::replace(&mut self.analysis, analysis));
        Ok(&self.analysis.diagnostics)
    }

    /// Returns the diagnostics of the last analysis.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.analysis.diagnostics
    }

    /// Returns the newest workspace that could be linked. It can be older than the newest texts.
    pub fn linked(&self) -> Option<&Arc<Workspace>> {
        self.linked.as_ref()
    }

    /// Returns the access that each target of the newest linked policies gives; none for a target with errors.
    pub fn worlds(&self) -> &[LoadedWorld] {
        self.analysis.worlds.get_or_init(|| {
            let Some(workspace) = &self.linked else { return Vec::new() };
            let targets = workspace.project().workspace.targets.iter();
            let load = |target| load_target(workspace, target, &WorldOptions::default(), &mut Sink::new());
            targets.filter_map(|target| load(target).ok().flatten()).collect()
        })
    }

    fn names(&self) -> &WorkspaceNames {
        self.analysis.names.get_or_init(|| WorkspaceNames::read(&self.analysis.files))
    }

    /// Returns the names of the ClusterRoles of all targets, sorted.
    fn cluster_roles(&self) -> Vec<String> {
        let all = self.worlds().iter().flat_map(|loaded| loaded.world.object_names());
        let mut names: Vec<String> =
            all.filter_map(|name| name.strip_prefix("ClusterRole/").map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the paths of the own templates of the workspace, below its folder of templates.
    fn template_names(&self) -> Vec<String> {
        let Some(workspace) = &self.linked else { return Vec::new() };
        let prefix = format!("{}/", workspace.project().workspace.templates);
        let paths = self.analysis.files.paths();
        let templates = paths.iter().filter(|path| path.ends_with(TEMPLATE_EXTENSION));
        templates.filter_map(|path| path.strip_prefix(&prefix).map(str::to_owned)).collect()
    }
}

/// Frees the memory of a result on another thread: the editor waits for the next one.
fn free_beside<T: Send + 'static>(result: T) {
    // Without another thread, the result is freed here.
    let _ = std::thread::Builder::new().spawn(move || drop(result));
}

/// Compiles every target, and returns the diagnostics only.
///
/// # Errors
/// When the run fails.
pub(crate) fn compile_diagnostics(workspace: &Workspace) -> Result<Diagnostics, Error> {
    let mut sink = Sink::new();
    workspace.project().check_terms(&mut sink);
    for target in workspace.targets(&[])? {
        let mut found = Sink::new();
        workspace.compile_part(target, workspace.compiler(), &|_| Ok(()), &mut |()| {}, &mut found)?;
        sink.absorb_of_target(found, &target.name);
    }
    Ok(workspace.diagnostics(sink.with_targets_together()))
}

/// Returns the findings of `lint` about the compiled policies, without the diagnostics of the compiler.
///
/// # Errors
/// When the run fails.
pub fn editor_findings(workspace: &Workspace) -> Result<Diagnostics, Error> {
    let mut findings = lint(workspace, &LintOptions::default())?.findings;
    findings.list.retain(|finding| finding.code.is_finding());
    Ok(findings)
}
