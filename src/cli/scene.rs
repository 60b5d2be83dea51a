//! The world that questions are asked about: the compiled workspace, or any manifests.

mod ground;
mod surroundings;

use crate::codes;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::printing::print;
use super::session::{Session, with_targets};
use super::{Global, Outcome};
use crate::access::world::Added;
use crate::access::{Builder, Layer, World};
use crate::compile::{Objects, Shown, Viewer, Wanted};
use crate::diag::{Diagnostic, Files, Origin, RunError, Severity, Sink};
use crate::emit::committed::Committed;
use crate::file_format::FileFormat;
use crate::k8s::catalogue::{FIRST_MINOR, LAST_MINOR};
use crate::model::{Platform, Target, Version};
use crate::node::{Cluster, Version as NodeVersion};
use crate::parallel;
use crate::report::machine;
use crate::source::manifests;
use crate::yaml::{self, NodeRef, Tree};

pub(super) use ground::{Ground, add_committed, ground, platform_objects};
pub(super) use surroundings::Surroundings;

/// Options of every command that asks.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SceneArguments {
    /// Ask about the manifests in this file or folder, or on standard input (`-`), instead of the workspace.
    #[arg(long, value_name = "PATH")]
    pub(super) from: Vec<PathBuf>,
    /// Only these targets of the workspace.
    #[arg(short, long = "target", value_name = "NAME", conflicts_with = "from")]
    pub(super) targets: Vec<String>,
    /// Baseline RBAC to load before the manifests: the default policy of a version (`1.36`), `none`, or the objects of a
    /// file or folder. Default: the baseline of the target, else the default policy of its version.
    #[arg(long, value_name = "VERSION-or-PATH")]
    pub(super) baseline: Option<String>,
    /// The version of the cluster, with --from.
    #[arg(long, value_name = "VERSION", requires = "from")]
    pub(super) kubernetes_version: Option<String>,
    /// Treat the manifests as the whole cluster: a role that is not among them does not exist.
    #[arg(long)]
    pub(super) complete: bool,
    /// Whether what decides beside RBAC is to be read too: nodes, pods and volumes, and admission policies.
    #[arg(skip)]
    pub(super) with_surroundings: bool,
}

/// A world to ask, and how to talk about it.
pub(super) struct Scene {
    /// The target's name; none for manifests from elsewhere.
    pub(super) target: Option<String>,
    pub(super) world: World,
    pub(super) files: Arc<Files>,
    /// The objects that decide beside RBAC, if they were requested.
    pub(super) surroundings: Option<Surroundings>,
    /// The authorizers of the API server, as a policy states them; empty where none does: Node and RBAC.
    pub(super) authorization_modes: Vec<String>,
}

impl Scene {
    /// True when the API server asks an authorizer that is known here: `Node` or `RBAC`.
    pub(super) fn asks(&self, authorizer: &str) -> bool {
        self.authorization_modes.is_empty() || self.authorization_modes.iter().any(|mode| mode == authorizer)
    }

    /// The authorizers of the API server that may allow what Node and RBAC do not.
    pub(super) fn unknown_authorizers(&self) -> Vec<&str> {
        let modes = self.authorization_modes.iter().map(String::as_str);
        modes.filter(|mode| matches!(*mode, "ABAC" | "Webhook")).collect()
    }

    /// Nodes, pods and volumes, where they were asked for.
    pub(super) fn cluster(&self) -> Option<&Cluster> {
        self.surroundings.as_ref().map(|surroundings| &surroundings.cluster)
    }

    /// The start of a short answer: the target, if there can be several.
    pub(super) fn prefix(&self) -> String {
        self.target.as_ref().map_or_else(String::new, |target| format!("{target}: "))
    }

    /// An answer as a line of JSON, with the target in it.
    pub(super) fn json_line(&self, mut answer: serde_json::Value) -> String {
        if let (Some(target), Some(map)) = (&self.target, answer.as_object_mut()) {
            map.insert("target".to_owned(), target.as_str().into());
        }
        machine::line(&answer)
    }

    /// The heading of a long answer.
    pub(super) fn heading(&self) -> String {
        self.target.as_ref().map_or_else(String::new, |target| format!("# {target}\n"))
    }
}

/// The baseline below the objects.
enum Baseline {
    DefaultPolicy(u32),
    None,
    Dump(PathBuf),
}

/// Makes the scenes that the arguments ask for and hands them to `run`. When one cannot be had, the reasons are
/// printed.
pub(super) fn with_scenes(
    global: &Global,
    arguments: &SceneArguments,
    run: impl FnOnce(&[Scene]) -> Result<Outcome, RunError>,
) -> Result<Outcome, RunError> {
    if arguments.from.is_empty() {
        return with_targets(global, &arguments.targets, |session, targets| {
            let mut scenes = Vec::new();
            for target in targets {
                match of_target(session, target, arguments)? {
                    Some(scene) => scenes.push(scene),
                    None => return Ok(Outcome::Invalid),
                }
            }
            run(&scenes)
        });
    }
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let scene = of_manifests(global, arguments, &files, &mut sink)?;
    let diagnostics = sink.into_sorted(&files);
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    print(global, diagnostics, &files);
    match scene.filter(|_| !failed) {
        Some(scene) => run(&[scene]),
        None => Ok(Outcome::Invalid),
    }
}

/// Returns the world of a target: its compiled objects, the objects of its Manifests, and its baseline. Diagnostics are
/// printed; none after an error.
pub(super) fn of_target(
    session: &Session<'_>,
    target: &Target,
    arguments: &SceneArguments,
) -> Result<Option<Scene>, RunError> {
    let mut sink = Sink::new();
    let scene = of_target_into(session, target, arguments, &mut sink)?;
    Ok(if session.report(sink) { scene } else { None })
}

/// As [`of_target`], with what was found left in the sink.
pub(super) fn of_target_into(
    session: &Session<'_>,
    target: &Target,
    arguments: &SceneArguments,
    sink: &mut Sink,
) -> Result<Option<Scene>, RunError> {
    of_target_seen(session, target, arguments, &mut |_, _| {}, sink)
}

/// As [`of_target_into`], and shows each compiled object with the place of its policy.
pub(super) fn of_target_seen(
    session: &Session<'_>,
    target: &Target,
    arguments: &SceneArguments,
    see: &mut dyn FnMut(NodeRef<'_>, Origin),
    sink: &mut Sink,
) -> Result<Option<Scene>, RunError> {
    let api_server = session.project.node_access.api_server_of(&target.name);
    let mut surroundings = surroundings_of(arguments, target.version.minor(), target.platform == Platform::Openshift);
    if let (Some(known), Some(api_server)) = (&mut surroundings, api_server) {
        known.switch(&api_server.feature_gates);
    }
    let Some(mut builder) = ground(session, target, arguments, &mut surroundings, sink)? else { return Ok(None) };
    each_shown(session, target, sink, &mut |Shown { object, place, same_rules }| {
        see(object, place);
        builder.add_marked(object, Layer::Input(place), same_rules);
        surroundings.iter_mut().for_each(|known| known.add_document(object));
    })?;
    let world = builder.build();
    report_doubts(&world, sink);
    let files = Arc::clone(&session.project.files);
    let authorization_modes = api_server.map_or_else(Vec::new, |server| server.authorization_modes.clone());
    Ok(Some(Scene { target: Some(target.name.clone()), world, files, surroundings, authorization_modes }))
}

/// Returns the collection for the objects that decide beside RBAC, if they were requested.
fn surroundings_of(arguments: &SceneArguments, minor: u32, is_openshift: bool) -> Option<Surroundings> {
    let version = NodeVersion::new(minor).ok().filter(|_| arguments.with_surroundings)?;
    Some(Surroundings::new(version, is_openshift))
}

/// Compiles a target and shows each object with the place of its policy.
pub(super) fn each_object(
    session: &Session<'_>,
    target: &Target,
    sink: &mut Sink,
    visit: &mut dyn FnMut(NodeRef<'_>, Origin),
) -> Result<(), RunError> {
    each_shown(session, target, sink, &mut |shown| visit(shown.object, shown.place))
}

/// As [`each_object`], with what else is known of each.
fn each_shown(
    session: &Session<'_>,
    target: &Target,
    sink: &mut Sink,
    visit: &mut dyn FnMut(Shown<'_>),
) -> Result<(), RunError> {
    let mut viewer = Viewer::default();
    let mut show = |objects| viewer.show(&objects, visit);
    session.compile(target, Wanted::Trees, &|file| Ok(Objects::of(file)), &mut show, sink)
}

/// The world of a target as its earlier output has it.
pub(super) fn of_committed(
    session: &Session<'_>,
    target: &Target,
    committed: &dyn Committed,
) -> Result<Option<World>, RunError> {
    let mut sink = Sink::new();
    let Some(mut builder) = ground(session, target, &SceneArguments::default(), &mut None, &mut sink)? else {
        return Ok(None);
    };
    add_committed(&mut builder, &session.project, target, committed)?;
    Ok(Some(builder.build()))
}

pub(super) fn of_manifests(
    global: &Global,
    arguments: &SceneArguments,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<Scene>, RunError> {
    if let [only] = arguments.from.as_slice()
        && let Some(bytes) = read_saved(&global.input_at(only))?
    {
        return Ok(load_saved(&bytes, only, arguments, files, sink));
    }
    let minor = match &arguments.kubernetes_version {
        Some(version) => version_of(version, sink),
        None => Some(LAST_MINOR),
    };
    let baseline = match &arguments.baseline {
        Some(written) => read_baseline(written, global, sink),
        None => minor.map(Baseline::DefaultPolicy),
    };
    let (Some(minor), Some(baseline)) = (minor, baseline) else { return Ok(None) };
    let mut surroundings = surroundings_of(arguments, minor, false);
    let mut builder = start(minor, &baseline, &mut surroundings, global.jobs(), files, sink)?;
    for path in &arguments.from {
        add_manifests(&mut builder, &global.input_at(path), &mut surroundings, global.jobs(), files, sink)?;
    }
    let world = builder.build();
    report_doubts(&world, sink);
    Ok(Some(Scene { target: None, world, files: Arc::clone(files), surroundings, authorization_modes: Vec::new() }))
}

/// The bytes of a file that `index` wrote; none for anything else.
fn read_saved(path: &Path) -> Result<Option<Vec<u8>>, RunError> {
    if !path.is_file() {
        return Ok(None);
    }
    let read = |error: std::io::Error| RunError::io("read", path, &error);
    let mut file = manifests::open(path).map_err(read)?;
    let mut bytes = Vec::new();
    file.by_ref().take(FileFormat::INDEX.mark_length() as u64).read_to_end(&mut bytes).map_err(read)?;
    if !FileFormat::INDEX.is_on(&bytes) {
        return Ok(None);
    }
    file.read_to_end(&mut bytes).map_err(read)?;
    Ok(Some(bytes))
}

fn open_index(bytes: &[u8], files: &Files) -> Result<World, String> {
    let snapshot = FileFormat::INDEX.open(bytes).map_err(|broken| broken.to_string())?;
    World::restore(snapshot, files).map_err(|inconsistent| inconsistent.to_string())
}

fn load_saved(
    bytes: &[u8],
    path: &Path,
    arguments: &SceneArguments,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Option<Scene> {
    if arguments.with_surroundings {
        sink.push(
            Diagnostic::error(
                codes::UNUSABLE_INDEX,
                format!("`{}` keeps what RBAC decides by, and neither nodes nor admission policies", path.display()),
            )
            .help("ask the manifests that it was made from"),
        );
        return None;
    }
    if arguments.baseline.is_some() || arguments.kubernetes_version.is_some() {
        sink.push(
            Diagnostic::error(
                codes::UNUSABLE_INDEX,
                format!("`{}` brings its own version and baseline", path.display()),
            )
            .help("leave out --baseline and --kubernetes-version, or ask the manifests it was made from"),
        );
        return None;
    }
    match open_index(bytes, files) {
        Ok(world) => {
            report_doubts(&world, sink);
            Some(Scene {
                target: None,
                world,
                files: Arc::clone(files),
                surroundings: None,
                authorization_modes: Vec::new(),
            })
        }
        Err(reason) => {
            sink.push(
                Diagnostic::error(codes::UNUSABLE_INDEX, format!("`{}` cannot be used: {reason}", path.display()))
                    .help("write it anew with `bailiwick index`"),
            );
            None
        }
    }
}

/// A builder with what lies underneath.
fn start(
    minor: u32,
    baseline: &Baseline,
    surroundings: &mut Option<Surroundings>,
    jobs: usize,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Builder, RunError> {
    let mut builder = Builder::new(minor);
    match baseline {
        Baseline::None => {}
        Baseline::DefaultPolicy(minor) => builder = builder.with_default_policy(*minor),
        Baseline::Dump(path) => {
            add_manifests(&mut builder, path, surroundings, jobs, files, sink)?;
            builder.end_baseline();
        }
    }
    Ok(builder)
}

/// Adds a tree, and returns how many of its objects count. Where nodes are asked about, there need be nothing about access.
fn add_with_surroundings(
    builder: &mut Builder,
    tree: &Tree,
    surroundings: &mut Option<Surroundings>,
    sink: &mut Sink,
) -> usize {
    let mut taken = add_tree(builder, tree, sink, &mut |_, _| {});
    for known in surroundings.iter_mut() {
        tree.documents().for_each(|document| known.add_document(document));
        taken += usize::from(tree.documents().next().is_some());
    }
    taken
}

fn refuse_nothing(taken: usize, path: &str, sink: &mut Sink) {
    if taken == 0 && !sink.has_errors() {
        sink.push(
            Diagnostic::error(
                codes::NOTHING_TO_JUDGE,
                format!("there is no role, binding, namespace or account in `{path}`"),
            )
            .help("`kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml` prints all that decides access"),
        );
    }
}

/// Adds every object of a file, a folder or standard input.
fn add_manifests(
    builder: &mut Builder,
    path: &Path,
    surroundings: &mut Option<Surroundings>,
    jobs: usize,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let mut taken = 0;
    each_tree(path, jobs, files, sink, &mut |tree, sink| {
        taken += add_with_surroundings(builder, tree, surroundings, sink);
    })?;
    refuse_nothing(taken, &path.to_string_lossy(), sink);
    Ok(())
}

/// Adds every object of a tree, and shows those that are well-formed. How many count is returned.
pub(super) fn add_tree<'t>(
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
                sink.push(duplicate(object.origin(), first));
                visit(object, sink);
            }
            Added::Malformed => sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, "this is not a Kubernetes object")
                    .at(object.origin())
                    .help("an object has `apiVersion`, `kind` and `metadata.name`"),
            ),
            Added::Misshapen(why) => sink.push(misshapen(object.origin(), why)),
            Added::Ignored => visit(object, sink),
        });
    }
    taken
}

/// Reads every file at a path, or standard input.
pub(super) fn each_tree(
    path: &Path,
    jobs: usize,
    files: &Arc<Files>,
    sink: &mut Sink,
    visit: &mut dyn FnMut(&Tree, &mut Sink),
) -> Result<(), RunError> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| RunError::new(format!("cannot read standard input: {error}")))?;
        if let Some(id) = manifests::take(bytes, files, sink) {
            let tree = yaml::read(files.get(id).text(), id, sink);
            visit(&tree, sink);
        }
        return Ok(());
    }
    let paths = manifests::find(path)?;
    let mut failed = None;
    parallel::in_order(
        paths.len(),
        jobs,
        || (),
        |(), position| {
            let mut sink = Sink::new();
            let read = paths.get(position).map(|path| manifests::read(path, files, &mut sink)).transpose();
            let tree = read.map(|text| text.flatten().map(|(id, text)| yaml::read(&text, id, &mut sink)));
            (tree, sink)
        },
        |_, (tree, found)| {
            sink.absorb(found);
            match tree {
                Ok(tree) => tree.iter().for_each(|tree| visit(tree, sink)),
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
            failed.is_none()
        },
    );
    failed.map_or(Ok(()), Err)
}

fn misshapen(place: Origin, why: String) -> Diagnostic {
    Diagnostic::error(codes::MALFORMED_OBJECT, why)
        .at(place)
        .help("the API server refuses this object; nobody can tell what it was meant to grant")
}

pub(super) fn duplicate(second: Origin, first: Origin) -> Diagnostic {
    Diagnostic::warning(codes::DUPLICATE_OBJECT, "this object is there twice, and the last one counts")
        .at(second)
        .and(first, "the first one")
        .help("remove one of the two")
}

/// Reads the value of `--baseline`.
fn read_baseline(written: &str, global: &Global, sink: &mut Sink) -> Option<Baseline> {
    if written == "none" {
        return Some(Baseline::None);
    }
    let path = global.input_at(Path::new(written));
    if written == "-" || path.exists() {
        return Some(Baseline::Dump(path));
    }
    version_of(written, sink).map(Baseline::DefaultPolicy)
}

/// The minor of a version. One that is newer than every known minor is judged as the newest, with a warning.
pub(super) fn version_of(written: &str, sink: &mut Sink) -> Option<u32> {
    let version = Version::parse(Platform::Kubernetes, written).filter(|version| version.minor() >= FIRST_MINOR);
    match version.map(Version::warning) {
        Some(None) => {}
        Some(Some(warning)) => {
            // `--baseline` and `--kubernetes-version` may name the same version.
            if sink.diagnostics().iter().all(|known| known.message != warning.message) {
                sink.push(warning);
            }
        }
        None => sink.push(
            Diagnostic::error(
                codes::UNKNOWN_VERSION,
                format!("`{written}` is no version of Kubernetes with known facts"),
            )
            .help(format!("name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}, `none`, or a file that is there")),
        ),
    }
    version.map(|version| version.api().asked())
}

/// Reports ClusterRoles whose rules nobody can tell for sure from the manifests.
fn report_doubts(world: &World, sink: &mut Sink) {
    for ring in &world.doubts().rings {
        let names = ring.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        sink.push(
            Diagnostic::warning(codes::AGGREGATION_RING, format!("the ClusterRoles {names} gather each other's rules"))
                .at_maybe(ring.first().and_then(|name| world.place_of_cluster_role(name)))
                .note("what a cluster keeps in such a ring depends on its history: here it is only what comes from outside")
                .help("take the label away from one of them, so that no role gathers itself by a detour"),
        );
    }
    for name in &world.doubts().stated {
        sink.push(
            Diagnostic::warning(
                codes::AGGREGATED_ROLE_WITH_RULES,
                format!("the aggregated ClusterRole `{name}` states rules that nothing gathers"),
            )
            .at_maybe(world.place_of_cluster_role(name))
            .note("they count for nothing here; in a cluster they stay for as long as the role gathers nothing")
            .help("leave out `rules`, and put them into a ClusterRole with the label that is gathered"),
        );
    }
}
