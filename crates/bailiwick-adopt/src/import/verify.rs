//! Compiles the policies of an import and compares the compiled objects with the objects of the cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use bailiwick_access::{Builder, ObjectSource, World};
use bailiwick_base::parallel;
use bailiwick_compiler::compile::{self, CompiledObject, FileConsumer, LinkedWorkspace, ObjectForm, WORKSPACE_FILE};
use bailiwick_import::fold::FoldDecisions;
use bailiwick_import::layout::{Home, PolicyFiles};
use bailiwick_import::{ClusterObjects, InternedValues, ObjectKey, access};
use bailiwick_policy::source::{self, DiskSource, FileContent, FileSource, Listing, ReadRefusal, Sources};
use bailiwick_workspace::{Event, Options};
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Severity, Sink};
use bailiwick_yaml::internal;
use hashbrown::HashSet;

use super::inputs::{positions, start_world};

/// The files of a workspace with the policies of an import: nothing else counts as a policy.
#[derive(Clone)]
pub(crate) struct ImportedFiles {
    /// The folder of the workspace, if it exists.
    disk: Option<DiskSource>,
    /// The path of the folder of the policies.
    policies: String,
    /// The workspace file, and the policies by their paths from the folder of the workspace. They are as large as the output.
    texts: Arc<BTreeMap<String, Arc<str>>>,
}

impl ImportedFiles {
    /// Returns the files of a folder with these texts in place of its policies.
    pub(crate) fn new(folder: &Path, policies: &str, texts: BTreeMap<String, String>) -> Self {
        let disk = folder.is_dir().then(|| DiskSource::new(folder));
        let texts: BTreeMap<String, Arc<str>> = texts.into_iter().map(|(path, text)| (path, text.into())).collect();
        Self { disk, policies: policies.to_owned(), texts: Arc::new(texts) }
    }

    /// Returns the files to write, by their paths from the folder of the workspace.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), &**text))
    }

    /// Whether a file is among the files to write.
    pub(super) fn has(&self, path: &str) -> bool {
        self.texts.contains_key(path)
    }

    fn is_policy(&self, path: &str) -> bool {
        path.strip_prefix(&self.policies).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

impl FileSource for ImportedFiles {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        match (self.texts.get(path), &self.disk) {
            (Some(text), _) if text.len() as u64 > most => {
                Ok(FileContent::Refused(ReadRefusal::TooLarge(text.len() as u64)))
            }
            (Some(text), _) => Ok(FileContent::Text(Arc::clone(text))),
            (None, Some(disk)) if !self.is_policy(path) => disk.read(path, most),
            (None, _) => Ok(FileContent::Missing),
        }
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        match &self.disk {
            Some(disk) if !self.is_policy(folder) => disk.list(folder),
            _ => Ok(source::listing_below(&self.texts, folder)),
        }
    }
}

/// The outcome of one comparison with a cluster.
#[derive(Default)]
pub(super) struct Outcome {
    /// Objects whose policies do not compile to them.
    pub(super) different: HashSet<usize>,
    /// Whether a policy beside Manifests has an error: one of its objects may be the reason.
    pub(super) has_errors: bool,
    /// Objects that the checks refuse, with the first reason.
    pub(super) refused: BTreeMap<usize, String>,
    /// Objects that differ from their stored form and grant the same, with the difference.
    pub(super) equal_in_access: BTreeMap<usize, &'static str>,
    /// How many objects are equal in stored form.
    pub(super) equal: usize,
    /// The world of the compiled objects.
    pub(super) world: Option<Builder>,
}

/// Compiles policies and compares the result with the clusters.
pub(super) struct Verification<'v> {
    pub(super) run: &'v Options,
    pub(super) files: &'v ImportedFiles,
    pub(super) layout: &'v PolicyFiles,
    pub(super) clusters: &'v [ClusterObjects],
    pub(super) decisions: &'v [FoldDecisions],
    /// Whether objects have to be equal in stored form.
    pub(super) is_exact: bool,
}

impl Verification<'_> {
    /// Returns the outcome for each cluster; the policies with an error first, if there are any. Errors without a policy are in
    /// the sink.
    pub(super) fn run(&self, values: &mut InternedValues, sink: &mut Sink) -> Result<Vec<Outcome>, RunError> {
        let sources = Arc::new(Files::new());
        let mut found = Sink::new();
        let project = compile::load(Box::new(self.files.clone()), Arc::clone(&sources), &mut found)?;
        let mut outcomes: Vec<Outcome> = self.clusters.iter().map(|_| Outcome::default()).collect();
        let Some(project) = project.filter(|_| !found.has_errors()) else {
            self.take_errors(found, &sources, &mut outcomes, sink);
            return Ok(outcomes);
        };
        for (position, outcome) in outcomes.iter_mut().enumerate() {
            self.compare(&project, position, outcome, values, &mut found)?;
        }
        if found.has_errors() {
            // Nothing is compiled beside an error, so that every object seems to be missing.
            outcomes.iter_mut().for_each(|outcome| outcome.different.clear());
        }
        self.take_errors(found, &sources, &mut outcomes, sink);
        Ok(outcomes)
    }

    /// Compiles the target of a cluster and compares it with the cluster.
    fn compare(
        &self,
        project: &LinkedWorkspace,
        position: usize,
        outcome: &mut Outcome,
        values: &mut InternedValues,
        sink: &mut Sink,
    ) -> Result<(), RunError> {
        let Some(cluster) = self.clusters.get(position) else { return Ok(()) };
        let targets = &project.workspace.targets;
        let Some(target) = targets.iter().find(|target| target.name == cluster.target) else { return Ok(()) };
        let mut unread = Sources::new(Box::new(self.files.clone()), Arc::clone(&project.files));
        let mut world = start_world(target, &mut unread, sink)?;
        for document in project.analyzed_documents(target) {
            world.add_document(document, |_, _| {});
        }
        let mut comparison = Comparison {
            cluster,
            positions: positions(cluster),
            seen: HashSet::new(),
            outcome,
            values,
            is_exact: self.is_exact,
            extra: Vec::new(),
        };
        compile::compile(
            project,
            target,
            compile::CompileOptions { wanted: ObjectForm::Trees, ..self.run.compiler() },
            FileConsumer {
                work: &|file| Ok(file.objects),
                each: &mut |objects: Vec<CompiledObject>, done, total| {
                    self.run.tell(Event::Compiling { target: &target.name, done, total });
                    for compiled in &objects {
                        // A compiled object is valid.
                        _ = world.add(compiled.object(), ObjectSource::Input(compiled.place()));
                        comparison.add(compiled);
                    }
                },
            },
            sink,
        )?;
        self.run.tell(Event::Compiled);
        let Comparison { seen, extra, .. } = comparison;
        let omitted = self.decisions.get(position).map(|decisions| &decisions.omitted);
        let is_omitted = |index: &usize| omitted.is_some_and(|omitted| omitted.contains_key(index));
        let missing = (0..cluster.objects.len()).filter(|index| !seen.contains(index) && !is_omitted(index));
        outcome.different.extend(missing.filter(|index| !self.layout.unwritten.contains(&(position, *index))));
        for place in extra {
            let file = project.files.get(place.file);
            let line = file.line_column(place.span.start).line;
            let home = self.layout.home(&self.policy_path(file.path()), line);
            let objects = home.into_iter().flat_map(|home| &home.objects);
            outcome.different.extend(objects.filter(|(of, _)| *of == position).map(|(_, index)| *index));
        }
        outcome.world = Some(world);
        Ok(())
    }

    /// Returns a path below the folder of the policies.
    fn policy_path(&self, path: &str) -> String {
        let below = path.strip_prefix(&self.files.policies).and_then(|below| below.strip_prefix('/'));
        below.map_or_else(|| path.to_owned(), str::to_owned)
    }

    /// Moves the objects of policies with errors. An object of a Manifests file with an error is refused.
    fn take_errors(&self, found: Sink, sources: &Files, outcomes: &mut [Outcome], sink: &mut Sink) {
        for diagnostic in found.into_sorted(sources) {
            if diagnostic.severity != Severity::Error {
                continue;
            }
            let home = diagnostic.origin.and_then(|origin| self.home_at(sources, origin));
            let Some(home) = home else {
                sink.push(without_place(diagnostic));
                continue;
            };
            for (position, index) in &home.objects {
                let Some(outcome) = outcomes.get_mut(*position) else { continue };
                if home.kind == "Manifests" {
                    outcome.refused.entry(*index).or_insert_with(|| diagnostic.message.clone());
                } else {
                    outcome.different.insert(*index);
                    outcome.has_errors = true;
                }
            }
        }
    }

    fn home_at(&self, sources: &Files, origin: Origin) -> Option<&Home> {
        let file = sources.get(origin.file);
        if file.path() == WORKSPACE_FILE {
            return None;
        }
        self.layout.home(&self.policy_path(file.path()), file.line_column(origin.span.start).line)
    }
}

/// Compiles the first target of policies, and returns its world. None if a policy has an error, which is then in the sink.
pub(crate) fn compiled_world(run: &Options, files: &ImportedFiles, sink: &mut Sink) -> Result<Option<World>, RunError> {
    let sources = Arc::new(Files::new());
    let mut found = Sink::new();
    let project = compile::load(Box::new(files.clone()), Arc::clone(&sources), &mut found)?;
    let mut world = None;
    if let Some(project) = project.filter(|_| !found.has_errors())
        && let Some(target) = project.workspace.targets.first()
    {
        let mut unread = Sources::new(Box::new(files.clone()), Arc::clone(&project.files));
        let mut builder = start_world(target, &mut unread, &mut found)?;
        compile::compile(
            &project,
            target,
            compile::CompileOptions { wanted: ObjectForm::Trees, ..run.compiler() },
            FileConsumer {
                work: &|file| Ok(file.objects),
                each: &mut |objects: Vec<CompiledObject>, _, _| {
                    for compiled in &objects {
                        // A compiled object is valid.
                        _ = builder.add(compiled.object(), ObjectSource::Input(compiled.place()));
                    }
                },
            },
            &mut found,
        )?;
        world = Some(builder.build());
    }
    let has_errors = found.has_errors();
    let errors = found.into_sorted(&sources).into_iter().filter(|found| found.severity == Severity::Error);
    errors.for_each(|error| sink.push(without_place(error)));
    Ok(world.filter(|_| !has_errors))
}

/// Returns an error of the generated policies without its place: the files are not written.
fn without_place(diagnostic: Diagnostic) -> Diagnostic {
    let Diagnostic { code, message, notes, help, .. } = diagnostic;
    let told = help.into_iter().fold(Diagnostic::error(code, message), Diagnostic::help);
    notes.into_iter().fold(told, Diagnostic::note)
}

/// The comparison of compiled objects with a cluster.
struct Comparison<'c> {
    cluster: &'c ClusterObjects,
    positions: HashMap<&'c ObjectKey, usize>,
    seen: HashSet<usize>,
    outcome: &'c mut Outcome,
    values: &'c mut InternedValues,
    is_exact: bool,
    /// The places of the policies of compiled objects that the cluster does not have.
    extra: Vec<Origin>,
}

impl Comparison<'_> {
    fn add(&mut self, compiled: &CompiledObject) {
        let value = self.values.intern_node(compiled.object());
        let identity = ObjectKey::of(self.values, value);
        let Some(index) = self.positions.get(&identity).copied() else {
            self.extra.push(compiled.place());
            return;
        };
        self.seen.insert(index);
        let wanted = self.cluster.objects.get(index).map(|object| object.value);
        if wanted == Some(value) {
            self.outcome.equal += 1;
            return;
        }
        let difference = wanted.and_then(|wanted| access::harmless_difference(self.values, wanted, value));
        match difference.filter(|_| !self.is_exact) {
            Some(reason) => _ = self.outcome.equal_in_access.insert(index, reason),
            None => _ = self.outcome.different.insert(index),
        }
    }
}

/// Returns the names of subjects whose access differs.
pub(super) fn changed_subjects(jobs: usize, before: Builder, after: Builder) -> BTreeSet<String> {
    use bailiwick_access::compare::{ImpliedGroups, compare};
    let before = Mutex::new(Some(before));
    let (before, after) =
        parallel::both(jobs, || parallel::locked(&before).take().map(Builder::build), || after.build());
    let Some(before) = before else {
        internal::record("the objects of the cluster have no world");
        return BTreeSet::new();
    };
    let changes = compare(&before, &after, ImpliedGroups::Counted);
    changes.into_iter().flat_map(|change| change.subjects).map(|affected| affected.subject).collect()
}
