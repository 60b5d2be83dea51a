//! Reads the objects of clusters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bailiwick_access::Builder;
use bailiwick_analysis::loaded_world::{
    ManifestReading, default_namespace, duplicate_object, each_filtered_tree, platform_world,
};
use bailiwick_base::parallel;
use bailiwick_codes as codes;
use bailiwick_compiler::emit::file::HEADER;
use bailiwick_import::{ClusterObjects, InternedValues, Object, ObjectKey, SourcePlace, ValueId, normalize};
use bailiwick_kubernetes::list;
use bailiwick_policy::model::{Platform, Target};
use bailiwick_policy::source::Sources;
use bailiwick_policy::source::manifests::FileFilter;
use bailiwick_workspace::Options;
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink, SourceFile};
use bailiwick_yaml::{NodeId, NodeRef, Tree};
use hashbrown::HashMap;

use super::{ImportOptions, ImportSource};

/// The objects of a cluster, with the world of their access.
pub(super) struct Input {
    pub(super) cluster: ClusterObjects,
    pub(super) world: Builder,
    /// How many fields of the server were left out, by path.
    pub(super) dropped: BTreeMap<String, usize>,
}

/// The objects to read, and the files of the workspace.
pub(super) struct Inputs<'i> {
    pub(super) run: &'i Options,
    pub(super) options: &'i ImportOptions,
    pub(super) targets: &'i [Target],
    pub(super) sources: &'i mut Sources,
    pub(super) files: &'i Arc<Files>,
}

/// Reads the objects of each target.
pub(super) fn read(inputs: Inputs<'_>, values: &mut InternedValues, sink: &mut Sink) -> Result<Vec<Input>, RunError> {
    let Inputs { run, options, targets, sources, files } = inputs;
    let filter = FileFilter::new(&options.include, &options.exclude, sink);
    let namespace = default_namespace(options.default_namespace.as_deref(), sink);
    let reading = ManifestReading { run, files, filter: &filter, namespace };
    let mut inputs = Vec::new();
    for target in targets {
        let mut reader = Reader {
            jobs: run.threads(),
            values,
            objects: HashMap::new(),
            minor: target.version.minor(),
            dropped: BTreeMap::new(),
            world: Mutex::new(start_world(target, sources, sink)?),
            texts: Texts { files, from: PathBuf::new(), lines: None },
        };
        for ImportSource { path, .. } in options.from.iter().filter(|from| from.is_of(target, targets)) {
            let at = run.input_at(path);
            each_filtered_tree(&at, reading, sink, &mut |tree, sink| {
                reader.texts = Texts { files, from: at.clone(), lines: None };
                reader.add_tree(tree, sink);
                reader.texts.lines = None;
            })?;
        }
        if reader.objects.is_empty() && !sink.has_errors() {
            let message = format!("there are no objects for the target `{}`", target.name);
            sink.push(Diagnostic::error(codes::NOTHING_TO_JUDGE, message).help(
                "run `kubectl get -A -o yaml` for the kinds to import, or name a folder with manifests after `--from`",
            ));
        }
        let mut objects: Vec<Object> = reader.objects.into_values().map(|(object, _)| object).collect();
        objects.sort_by(|left, right| left.identity.cmp(&right.identity));
        let is_openshift = target.platform == Platform::Openshift;
        let cluster =
            ClusterObjects { target: target.name.clone(), is_openshift, minor: target.version.minor(), objects };
        inputs.push(Input { cluster, world: parallel::unlocked(reader.world), dropped: reader.dropped });
    }
    Ok(inputs)
}

/// Returns the world of a target without the objects of policies.
pub(super) fn start_world(target: &Target, sources: &mut Sources, sink: &mut Sink) -> Result<Builder, RunError> {
    if target.baseline.is_some() {
        let mut builder = Builder::new(target.version.minor());
        bailiwick_compiler::compile::each_baseline(target, sources, sink, &mut |tree, _| {
            tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
        })?;
        builder.end_baseline();
        return Ok(builder);
    }
    Ok(platform_world(target))
}

struct Reader<'r> {
    jobs: usize,
    values: &'r mut InternedValues,
    objects: HashMap<ObjectKey, (Object, Origin)>,
    world: Mutex<Builder>,
    minor: u32,
    dropped: BTreeMap<String, usize>,
    texts: Texts<'r>,
}

/// An object of a tree in its stored form.
struct ReadObject {
    id: NodeId,
    origin: Origin,
    place: SourcePlace,
    comments: Vec<String>,
    is_live: bool,
}

/// The number of objects of a tree from which on a second thread is worth its start.
const WORTH_A_THREAD: usize = 1000;

impl Reader<'_> {
    fn add_tree(&mut self, tree: &mut Tree, sink: &mut Sink) {
        if let Some(typed) = list::with_types(tree) {
            *tree = typed;
        }
        let documents: Vec<(NodeId, bool)> = tree
            .documents()
            .flat_map(|document| {
                list::objects(document).into_iter().map(move |object| (object.id(), object.id() == document.id()))
            })
            .collect();
        let mut objects = Vec::with_capacity(documents.len());
        for (id, is_document) in documents {
            objects.extend(self.normal_object(tree, id, is_document, sink));
        }
        let Self { jobs, values, world, .. } = self;
        let jobs = if objects.len() < WORTH_A_THREAD { 1 } else { *jobs };
        let add_to_world = || {
            let mut world = parallel::locked(world);
            objects.iter().for_each(|object| world.add_document(tree.at(object.id), |_, _| {}));
        };
        let intern = || objects.iter().map(|object| values.intern_node(tree.at(object.id))).collect::<Vec<ValueId>>();
        let ((), interned) = parallel::both(jobs, add_to_world, intern);
        for (object, value) in objects.into_iter().zip(interned) {
            self.add(object, value, sink);
        }
    }

    /// Brings an object into its stored form. None for an object without a name, a kind or a version, which is reported.
    fn normal_object(&mut self, tree: &mut Tree, id: NodeId, is_document: bool, sink: &mut Sink) -> Option<ReadObject> {
        let object = tree.at(id);
        let has = |path: &[&str]| object.path(path).and_then(NodeRef::as_str).is_some_and(|text| !text.is_empty());
        if !has(&["apiVersion"]) || !has(&["kind"]) || !has(&["metadata", "name"]) {
            let diagnostic = Diagnostic::error(codes::MALFORMED_OBJECT, "this object has no name, kind or version");
            let help = "an object has `apiVersion`, `kind` and `metadata.name`: git cannot track a generated name";
            sink.push(diagnostic.at(object.origin()).help(help));
            return None;
        }
        let origin = object.origin();
        let (place, comments) = self.texts.place(origin, is_document);
        let dropped = normalize(tree, id, self.minor);
        let is_live = dropped.iter().any(|path| path == "metadata.uid");
        for path in dropped {
            *self.dropped.entry(path).or_default() += 1;
        }
        Some(ReadObject { id, origin, place, comments, is_live })
    }

    /// Adds an object, and reports a second one of the same identity.
    fn add(&mut self, object: ReadObject, value: ValueId, sink: &mut Sink) {
        let ReadObject { origin, place, comments, is_live, .. } = object;
        let identity = ObjectKey::of(self.values, value);
        let object = Object { identity: identity.clone(), value, place, is_live, comments };
        if let Some((_, first)) = self.objects.insert(identity, (object, origin)) {
            sink.push(duplicate_object(origin, first));
        }
    }
}

/// The texts of the files of the input.
struct Texts<'t> {
    files: &'t Files,
    /// The file or folder that the command line names.
    from: PathBuf,
    /// The path of the present file for messages, and the starts of its lines.
    lines: Option<Lines>,
}

struct Lines {
    path: Arc<str>,
    file: Arc<SourceFile>,
    /// The text of a file that is not kept.
    loaded: Option<String>,
    /// The byte at which each line begins.
    starts: Vec<usize>,
}

impl Texts<'_> {
    /// Returns the place of an object, and the lines of the comment above its document.
    fn place(&mut self, origin: Origin, is_document: bool) -> (SourcePlace, Vec<String>) {
        let lines = self.lines.get_or_insert_with(|| Lines::of(self.files.get(origin.file), &self.from));
        let text = lines.text();
        let start = origin.span.start as usize;
        let line = lines.starts.partition_point(|begins| *begins <= start);
        let place = SourcePlace { path: Arc::clone(&lines.path), line };
        let above = lines.starts.get(..line.saturating_sub(1)).filter(|_| is_document);
        let mut comments: Vec<String> = Vec::new();
        for begins in above.into_iter().flatten().rev() {
            let line = text.get(*begins..).and_then(|rest| rest.lines().next()).map_or("", str::trim_end);
            // Output of this program has no comment of a person.
            if !line.starts_with('#') || line == HEADER.trim_end() {
                break;
            }
            comments.push(line.to_owned());
        }
        comments.reverse();
        (place, comments)
    }
}

impl Lines {
    fn of(file: Arc<SourceFile>, from: &Path) -> Self {
        let path = file.path();
        let loaded = file.load();
        let text = match &loaded {
            Some(loaded) => loaded,
            None => file.text(),
        };
        let below = Path::new(path).strip_prefix(from).ok().filter(|below| !below.as_os_str().is_empty());
        let name = || Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy().into());
        let shown: String = below.map_or_else(name, |below| below.to_string_lossy().replace('\\', "/"));
        let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(position, _)| position + 1);
        let starts = std::iter::once(0).chain(feeds).collect();
        Self { path: shown.into(), starts, loaded, file }
    }

    fn text(&self) -> &str {
        match &self.loaded {
            Some(loaded) => loaded,
            None => self.file.text(),
        }
    }
}

/// Returns the positions of the objects of a cluster by identity.
pub(super) fn positions(cluster: &ClusterObjects) -> std::collections::HashMap<&ObjectKey, usize> {
    cluster.objects.iter().enumerate().map(|(index, object)| (&object.identity, index)).collect()
}
