//! The folder of the workspace of an import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_analysis::loaded_world::OPENSHIFT_GROUPS;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, WORKSPACE_FILE};
use bailiwick_compiler::emit::writer::{self, WrittenPlace};
use bailiwick_import::ClusterObjects;
use bailiwick_import::layout::{self, NewTarget, NewWorkspace};
use bailiwick_policy::model::{Platform, Target};
use bailiwick_policy::source::{DiskSource, FileContent, FileSource, MemorySource, Sources};
use bailiwick_workspace::Options;
use bailiwick_workspace::words::number;
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink, Span};
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;

use super::{ImportOptions, ImportSource, written};
use crate::import::verify::ImportedFiles;

/// The name of the target of a cluster without a name.
const DEFAULT_TARGET: &str = "cluster";

/// The folder of the workspace of an import, with its targets.
pub(crate) struct ImportPlace {
    /// The folder of the workspace.
    pub(crate) root: PathBuf,
    /// The path of the folder of the policies below it.
    pub(crate) policies: String,
    /// The targets of the workspace.
    pub(super) targets: Vec<Target>,
    /// The workspace file to write; none for an existing workspace.
    pub(crate) new_workspace: Option<NewWorkspace>,
    /// The files of an earlier import.
    earlier: BTreeSet<String>,
}

impl ImportPlace {
    /// Opens the folder. None if it cannot be used; the reason is then in the sink.
    pub(crate) fn open(
        run: &Options,
        options: &ImportOptions,
        files: &Arc<Files>,
        sink: &mut Sink,
    ) -> Result<Option<Self>, RunError> {
        let root = run.at(&options.into);
        let is_workspace = root.join(WORKSPACE_FILE).symlink_metadata().is_ok();
        let new_workspace = (!is_workspace).then(|| new_workspace(options, &root));
        let source: Box<dyn FileSource> = match &new_workspace {
            Some(new) => {
                Box::new(MemorySource::new([(WORKSPACE_FILE, layout::workspace_file(new, std::iter::empty()))]))
            }
            None => Box::new(DiskSource::new(&root)),
        };
        let mut sources = Sources::new(source, Arc::clone(files));
        let Some(settings) = compile::load_workspace(&mut sources, sink)? else { return Ok(None) };
        let known: Vec<&str> = settings.targets.iter().map(|target| target.name.as_str()).collect();
        for ImportSource { target, path } in &options.from {
            let message = match target {
                Some(name) if known.contains(&name.as_str()) => continue,
                Some(name) => format!("there is no target `{name}`"),
                None if known.len() == 1 => continue,
                None => format!("the objects in `{}` have no target", path.display()),
            };
            let help = format!("write `--from TARGET={}`; the targets are: {}", path.display(), known.join(", "));
            sink.push(Diagnostic::error(codes::UNKNOWN_TARGET, message).help(help));
        }
        let policies = settings.policies.clone();
        let mut place = Self { root, policies, targets: settings.targets, new_workspace, earlier: BTreeSet::new() };
        place.find_earlier(files, sink)?;
        let is_named = |target: &Target| options.from.iter().any(|from| from.is_of(target, &place.targets));
        let unnamed: Vec<&str> =
            place.targets.iter().filter(|target| !is_named(target)).map(|target| target.name.as_str()).collect();
        if let (Some(name), false) = (unnamed.first(), sink.has_errors()) {
            let message = format!("there are no objects for the target `{name}`");
            let help = format!("add `--from {name}=PATH`: an import replaces the policies of all targets");
            sink.push(Diagnostic::error(codes::UNKNOWN_TARGET, message).help(help));
        }
        Ok((!sink.has_errors()).then_some(place))
    }

    /// Returns the error for objects of OpenShift and a new target without a stated platform.
    pub(super) fn unstated_platform(&self, options: &ImportOptions, cluster: &ClusterObjects) -> Option<Diagnostic> {
        self.new_workspace.as_ref().filter(|_| options.platform.is_none())?;
        let found = cluster.objects.iter().find(|object| OPENSHIFT_GROUPS.contains(&object.identity.group()))?;
        let message = format!("the objects are of OpenShift: `{}`", written(&found.identity));
        let help = "add `--platform openshift` with the version of OpenShift, or `--platform kubernetes`";
        Some(Diagnostic::error(codes::INVALID_USAGE, message).help(help))
    }

    /// Returns the files of the folder without its policies.
    pub(super) fn disk_source(&self) -> Box<dyn FileSource> {
        Box::new(DiskSource::new(&self.root))
    }

    /// Finds the files of an earlier import, and reports every other policy.
    fn find_earlier(&mut self, files: &Files, sink: &mut Sink) -> Result<(), RunError> {
        if !self.root.is_dir() {
            return Ok(());
        }
        let disk = DiskSource::new(&self.root);
        let listing = disk.list(&self.policies)?;
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for path in &listing.files {
            if let FileContent::Bytes(bytes) = disk.read(path, MAXIMUM_FILE_SIZE as u64)? {
                texts.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        let below =
            |path: &str| path.strip_prefix(&format!("{}/", self.policies)).map_or(path, |below| below).to_owned();
        let by_path: BTreeMap<String, &str> = texts.iter().map(|(path, text)| (below(path), text.as_str())).collect();
        let unchanged = layout::unchanged(&by_path);
        let others = listing.files.iter().chain(listing.refused.iter().map(|(path, _)| path));
        let others: Vec<&String> = others.filter(|path| !unchanged.contains(&below(path))).collect();
        if let Some(first) = others.first() {
            let message = match others.len() {
                1 => format!("`{first}` is not an unchanged file of an import"),
                count => {
                    format!("`{first}` and {} are not unchanged files of an import", number(count - 1, "more file"))
                }
            };
            let help = "import into an empty folder, and move the policies by hand; nothing was written";
            let text = texts.get(*first).map_or("", String::as_str);
            let place = Origin { file: files.add(first.as_str(), text), span: Span::default() };
            sink.push(Diagnostic::error(codes::POLICIES_EXIST, message).at(place).help(help));
        }
        self.earlier = listing.files.into_iter().collect();
        Ok(())
    }

    /// Writes the files, and removes the files of an earlier import without a successor.
    pub(crate) fn write(&self, imported: &ImportedFiles) -> Result<(), RunError> {
        let place = |path: &str| WrittenPlace::Below(self.root.clone(), path.to_owned());
        writer::replace_all(imported.texts().map(|(path, text)| (place(path), text)))?;
        for path in self.earlier.iter().filter(|path| !imported.has(path)) {
            writer::remove_below(&self.root, path)?;
        }
        Ok(())
    }
}

/// Returns the workspace of the targets in the options.
pub(crate) fn new_workspace(options: &ImportOptions, root: &std::path::Path) -> NewWorkspace {
    let names = options.from.iter().map(|from| from.target.as_deref().map_or(DEFAULT_TARGET, |name| name).to_owned());
    let names: BTreeSet<String> = names.collect();
    let platform = options.platform.map_or(Platform::Kubernetes, |platform| platform);
    let version = match &options.version {
        Some(version) => version.clone(),
        None => platform.newest_version(),
    };
    let platform = (platform != Platform::Kubernetes).then(|| platform.as_str().to_owned());
    let targets =
        names.into_iter().map(|name| NewTarget { name, platform: platform.clone(), version: version.clone() });
    let name = root.file_name().map_or_else(|| "imported".into(), |name| name.to_string_lossy());
    NewWorkspace { name: name.into_owned(), targets: targets.collect() }
}
