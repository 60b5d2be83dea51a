//! The objects of files, folders and standard input.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use bailiwick_access::Builder;
use bailiwick_access::world::Added;
use bailiwick_base::parallel;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::report_page;
use bailiwick_kubernetes::{absent, list};
use bailiwick_policy::source::manifests::{self, FileFilter, Held, SkippedFiles};
use bailiwick_workspace::Options;
use bailiwick_workspace::words::number;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

use super::{Baseline, Surroundings};
use crate::memberships::Memberships;

/// Reads manifests into a world, and into its surroundings where they are wanted.
pub(super) struct ManifestReader<'r> {
    pub(super) run: &'r Options,
    pub(super) files: &'r Arc<Files>,
    pub(super) surroundings: &'r mut Option<Surroundings>,
    /// The groups of users.
    pub(super) memberships: Memberships,
}

impl ManifestReader<'_> {
    /// Returns a builder with the baseline.
    pub(super) fn start(&mut self, minor: u32, baseline: &Baseline, sink: &mut Sink) -> Result<Builder, RunError> {
        let mut builder = Builder::new(minor);
        match baseline {
            Baseline::None => {}
            Baseline::DefaultPolicy(minor) => builder = builder.with_default_policy(*minor),
            Baseline::Dump(path) => {
                self.add(&mut builder, path, sink)?;
                builder.end_baseline();
            }
        }
        Ok(builder)
    }

    /// Adds every object of a file, a folder or standard input.
    pub(super) fn add(&mut self, builder: &mut Builder, path: &Path, sink: &mut Sink) -> Result<(), RunError> {
        let input = Input::read(path, ManifestReading::of_all(self.run, self.files), sink)?;
        self.add_input(builder, &input, sink);
        Ok(())
    }

    /// Adds every object of an input.
    pub(super) fn add_input(&mut self, builder: &mut Builder, input: &Input, sink: &mut Sink) {
        let mut taken = 0;
        for tree in &input.trees {
            tree.documents().for_each(|document| self.memberships.add_document(document));
            taken += add_with_surroundings(builder, tree, self.surroundings, sink);
        }
        match &input.nothing_left {
            Some(nothing) if !sink.has_errors() => sink.push(nothing.clone()),
            _ => refuse_nothing(taken, &input.path.to_string_lossy(), sink),
        }
    }
}

/// The objects of a file, a folder or standard input.
pub(super) struct Input {
    path: PathBuf,
    trees: Vec<Tree>,
    /// The error of a folder in which the globs leave no file.
    nothing_left: Option<Diagnostic>,
}

impl Input {
    /// Reads the objects at a path.
    pub(super) fn read(path: &Path, reading: ManifestReading<'_>, sink: &mut Sink) -> Result<Self, RunError> {
        let mut trees = Vec::new();
        each_filtered_tree(path, reading, sink, &mut |tree, _| {
            let file = tree.file();
            trees.push(std::mem::replace(tree, Tree::new(file)));
        })?;
        let ManifestReading { run, filter, .. } = reading;
        let is_folder = trees.is_empty() && run.inputs.is_folder(path);
        let nothing_left = match is_folder && run.inputs.find(path, filter)?.is_empty() {
            true => filter.nothing_left(&path.to_string_lossy()),
            false => None,
        };
        Ok(Self { path: path.to_owned(), trees, nothing_left })
    }

    /// Returns the first object of an API group that OpenShift alone serves, as its kind and its API version, with its place.
    pub(super) fn object_of_openshift(&self) -> Option<(String, Origin)> {
        let mut objects = self.trees.iter().flat_map(Tree::documents).flat_map(list::typed_objects);
        objects.find_map(|(api_version, kind, object)| {
            let (group, _) = absent::group_and_version(&api_version);
            OPENSHIFT_GROUPS.contains(&group).then(|| (format!("a `{kind}` of `{api_version}`"), object.origin()))
        })
    }
}

/// The API groups that OpenShift alone serves.
pub const OPENSHIFT_GROUPS: [&str; 6] = [
    "authorization.openshift.io",
    "config.openshift.io",
    "project.openshift.io",
    "route.openshift.io",
    "security.openshift.io",
    "user.openshift.io",
];

/// The kinds that decide beside RBAC, with their API groups. A workload counts by its group alone.
const DECIDING_KINDS: [(&str, &str); 16] = [
    ("", "LimitRange"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ReplicationController"),
    ("", "Secret"),
    ("certificates.k8s.io", "PodCertificateRequest"),
    ("extensions", "PodSecurityPolicy"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodSecurityPolicy"),
    ("resource.k8s.io", "ResourceSlice"),
    ("security.openshift.io", "SecurityContextConstraints"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "VolumeAttachment"),
];

/// The API groups whose kinds all decide beside RBAC: workloads and admission.
const DECIDING_GROUPS: [&str; 4] = ["admissionregistration.k8s.io", "apps", "apps.openshift.io", "batch"];

/// Returns the number of objects of a tree that decide beside RBAC.
fn count_of_surroundings(tree: &Tree) -> usize {
    let decides = |api_version: &str, kind: &str| {
        let (group, _) = absent::group_and_version(api_version);
        DECIDING_GROUPS.contains(&group) || DECIDING_KINDS.contains(&(group, kind))
    };
    let objects = tree.documents().flat_map(list::typed_objects);
    objects.filter(|(api_version, kind, _)| decides(api_version, kind)).count()
}

/// Adds a tree, and returns the number of its objects that count. For questions about nodes, objects about access can
/// be absent.
pub(super) fn add_with_surroundings(
    builder: &mut Builder,
    tree: &Tree,
    surroundings: &mut Option<Surroundings>,
    sink: &mut Sink,
) -> usize {
    let mut taken = add_tree(builder, tree, sink, &mut |_, _| {});
    for known in surroundings.iter_mut() {
        tree.documents().for_each(|document| known.add_document(document, sink));
        taken += count_of_surroundings(tree);
    }
    taken
}

pub(super) fn refuse_nothing(taken: usize, path: &str, sink: &mut Sink) {
    if taken == 0 && !sink.has_errors() {
        let place = if path == "-" { "standard input".to_owned() } else { format!("`{path}`") };
        sink.push(
            Diagnostic::error(
                codes::NOTHING_TO_JUDGE,
                format!("there is no role, binding, namespace or account in {place}"),
            )
            .help("run `kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml` to print the RBAC objects of a cluster"),
        );
    }
}

/// Adds every object of a tree, and shows the well-formed objects. Returns the number of objects that count.
pub fn add_tree<'t>(
    builder: &mut Builder,
    tree: &'t Tree,
    sink: &mut Sink,
    visit: &mut dyn FnMut(NodeRef<'t>, &mut Sink),
) -> usize {
    let mut taken = 0;
    for document in tree.documents() {
        builder.add_document(document, |object, added| match added {
            Added::Taken => {
                taken += 1;
                visit(object, sink);
            }
            Added::Replaced(first) => {
                taken += 1;
                sink.push(duplicate_object(object.origin(), first));
                visit(object, sink);
            }
            Added::Malformed => sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, "this is not a Kubernetes object")
                    .at(object.origin())
                    .help("an object has `apiVersion`, `kind` and `metadata.name`"),
            ),
            Added::Misshapen(why) => sink.push(rejected(object.origin(), why)),
            Added::Ignored => visit(object, sink),
        });
    }
    taken
}

/// Reads every file at a path, or standard input.
pub fn each_tree(
    path: &Path,
    run: &Options,
    files: &Arc<Files>,
    sink: &mut Sink,
    visit: &mut dyn FnMut(&mut Tree, &mut Sink),
) -> Result<(), RunError> {
    each_filtered_tree(path, ManifestReading::of_all(run, files), sink, visit)
}

/// How the files at a path are read.
#[derive(Clone, Copy)]
pub struct ManifestReading<'r> {
    /// The options of the run.
    pub run: &'r Options,
    /// The registry of the files that are read.
    pub files: &'r Arc<Files>,
    /// The files of a folder that are read.
    pub filter: &'r FileFilter,
    /// The namespace of the objects without one.
    pub namespace: MissingNamespace<'r>,
}

impl<'r> ManifestReading<'r> {
    /// Returns the reading of every file, whose objects stay without a namespace.
    pub(crate) fn of_all(run: &'r Options, files: &'r Arc<Files>) -> Self {
        static ALL: LazyLock<FileFilter> = LazyLock::new(FileFilter::default);
        Self { run, files, filter: &ALL, namespace: MissingNamespace::None }
    }
}

/// The namespace of namespaced objects without one.
#[derive(Clone, Copy)]
pub enum MissingNamespace<'r> {
    /// They stay without one.
    None,
    /// The namespace of `--default-namespace`.
    Stated(&'r str),
    /// `default`, with a note about the number of these objects.
    Assumed,
}

impl MissingNamespace<'_> {
    /// Gives the objects of a tree their namespace. Returns the number of objects in an assumed one.
    fn fill(self, tree: &mut Tree) -> usize {
        match self {
            MissingNamespace::None => 0,
            MissingNamespace::Stated(namespace) => {
                list::fill_namespace(tree, namespace);
                0
            }
            MissingNamespace::Assumed => list::fill_namespace(tree, DEFAULT_NAMESPACE),
        }
    }
}

fn visit_standard_input(
    reading: ManifestReading<'_>,
    sink: &mut Sink,
    visit: &mut dyn FnMut(&mut Tree, &mut Sink),
) -> Result<(), RunError> {
    let ManifestReading { files, namespace, .. } = reading;
    let Some(id) = standard_input(files, sink)? else { return Ok(()) };
    let mut tree = yaml::read(files.get(id).text(), id, sink);
    report_page(&tree, sink);
    let assumed = namespace.fill(&mut tree);
    visit(&mut tree, sink);
    assumed_namespace(assumed).into_iter().for_each(|note| sink.push(note));
    Ok(())
}

/// Reads the files at a path as [`each_tree`] does, without the files that the filter leaves out.
pub fn each_filtered_tree(
    path: &Path,
    reading: ManifestReading<'_>,
    sink: &mut Sink,
    visit: &mut dyn FnMut(&mut Tree, &mut Sink),
) -> Result<(), RunError> {
    if path.as_os_str() == "-" {
        return visit_standard_input(reading, sink, visit);
    }
    let ManifestReading { run, files, filter, namespace } = reading;
    let found_files = run.inputs.find(path, filter)?;
    found_files.report_unread(files, sink);
    let mut failed = None;
    let mut skipped = SkippedFiles::default();
    found_files.hidden().for_each(|path| skipped.add_hidden(path.to_string_lossy().into_owned()));
    let mut assumed = 0;
    parallel::in_order(
        found_files.len(),
        run.threads(),
        || (),
        |(), position| {
            let mut sink = Sink::new();
            let tree = found_files.read(position, files, &mut sink).map(|read| {
                let (id, text) = read?;
                let mut tree = yaml::read(&text, id, &mut sink);
                report_page(&tree, &mut sink);
                let path = found_files.is_folder().then(|| found_files.path(position));
                let held = path.map(|path| manifests::retain_objects(&path, &text, &mut tree, &mut sink));
                let assumed = namespace.fill(&mut tree);
                Some((tree, held.map_or(Held::Whole, |held| held), assumed))
            });
            (tree, sink)
        },
        |position, (tree, found)| {
            sink.absorb(found);
            let path = || found_files.path(position).to_string_lossy().into_owned();
            match tree {
                Ok(None) => {}
                Ok(Some((_, Held::Nothing(cause), _))) => skipped.add(cause, path()),
                Ok(Some((mut tree, held, own))) => {
                    assumed += own;
                    if held == Held::InPart {
                        skipped.add_in_part(path());
                    }
                    visit(&mut tree, sink);
                }
                Err(error) => _ = failed.get_or_insert(error),
            }
            failed.is_none()
        },
    );
    let notes = skipped.note(found_files.len(), "").into_iter().chain(assumed_namespace(assumed));
    notes.for_each(|note| sink.push(note));
    failed.map_or(Ok(()), Err)
}

/// The namespace of kubectl without another one.
const DEFAULT_NAMESPACE: &str = "default";

/// Returns the note about the number of objects that got [`DEFAULT_NAMESPACE`]; none without such objects.
fn assumed_namespace(count: usize) -> Option<Diagnostic> {
    let belong = if count == 1 { "belongs" } else { "belong" };
    let message = format!("{} without a namespace {belong} to `{DEFAULT_NAMESPACE}`", number(count, "object"));
    let note = Diagnostic::remark(codes::ASSUMED_NAMESPACE, message);
    (count > 0).then(|| note.help("`--default-namespace` names another one"))
}

/// The bytes of standard input, which is read once: `report` evaluates its manifests several times.
static STANDARD_INPUT: OnceLock<Vec<u8>> = OnceLock::new();

/// Reads standard input; none if it is not UTF-8, with the reason in the sink.
pub(crate) fn standard_input(files: &Arc<Files>, sink: &mut Sink) -> Result<Option<FileId>, RunError> {
    let bytes = match STANDARD_INPUT.get() {
        Some(bytes) => bytes,
        None => {
            let mut bytes = Vec::new();
            // One byte more shows the excess.
            let read = std::io::stdin().take(MAXIMUM_FILE_SIZE as u64 + 1).read_to_end(&mut bytes);
            read.map_err(|error| RunError::new(format!("cannot read standard input: {error}")))?;
            STANDARD_INPUT.get_or_init(|| bytes)
        }
    };
    Ok(manifests::take(bytes.clone(), files, sink))
}

/// Returns the error of an object that the API server rejects.
pub(super) fn rejected(place: Origin, why: String) -> Diagnostic {
    Diagnostic::error(codes::MALFORMED_OBJECT, why)
        .at(place)
        .help("the API server rejects this object, so its intended effect is unknown")
}

/// Returns the warning about an object that occurs twice.
pub fn duplicate_object(second: Origin, first: Origin) -> Diagnostic {
    Diagnostic::warning(codes::DUPLICATE_OBJECT, "this object occurs twice; the last one counts")
        .at(second)
        .and(first, "the first one")
        .help("remove one of the two")
}
