//! The world that questions are asked about: the compiled workspace, or any manifests.

mod asked;
mod baseline;
mod cluster_version;
mod manifests;
mod surroundings;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_access::namespaces::WorldLabels;
use bailiwick_access::request_filter::RequestFilter;
use bailiwick_access::snapshot::InconsistentSnapshot;
use bailiwick_access::world::RoleKind;
use bailiwick_access::{Builder, Identity, ObjectSource, Request, World};
use bailiwick_admission::gate::AdmissionObjects;
use bailiwick_admission::scc::bootstrap;
use bailiwick_admission::scc::defaults::{self, Start};
use bailiwick_admission::scc::release::Release;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, CompiledObject, ObjectForm};
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_kubernetes::{list, names};
use bailiwick_node::{Cluster, ServerVersion as NodeVersion};
use bailiwick_paths::{EscalationGraph, GraphInputs};
use bailiwick_policy::model::{ApiServerSettings, Category, DeclaredNames, NameSet, NamespaceSample, Platform, Target};
use bailiwick_policy::source::manifests::{self as files, FileFilter};
use bailiwick_policy::source::{InputFiles, NamedFile};
use bailiwick_workspace::file_format::{Broken, FileFormat};
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_workspace::{Diagnostics, Error, Options, Workspace};
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_INDEX_SIZE;
use bailiwick_yaml::{NodeRef, Tree};
pub use baseline::{BaselineInputs, platform_world};
pub(crate) use baseline::{add_committed, below_output};
pub(crate) use surroundings::{Surroundings, WebhookKind};

use self::cluster_version::ClusterVersion;
pub use self::cluster_version::{release_of, version_of};
pub(crate) use self::manifests::standard_input;
use self::manifests::{Input, ManifestReader};
pub use self::manifests::{
    ManifestReading, MissingNamespace, OPENSHIFT_GROUPS, add_tree, duplicate_object, each_filtered_tree, each_tree,
};
use super::classes;
use super::memberships::{MembersByGroup, Memberships};
use super::pod_inputs::PodInputs;

/// The objects that questions are asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldOptions {
    /// The manifests in these files and folders, or on standard input (`-`), instead of the workspace.
    pub from: Vec<PathBuf>,
    /// The baseline RBAC below the manifests: the default policy of a version (`1.36`), `none`, or the objects of a file or
    /// folder. Default: the baseline of the target, else the default policy of its version.
    pub baseline: Option<String>,
    /// Globs of the files of the folders in `from` that are read, relative to the folder. Without globs, all files are read.
    pub include: Vec<String>,
    /// Globs of the files of the folders in `from` that are not read, in the same form.
    pub exclude: Vec<String>,
    /// The namespace of objects in `from` without one. Default: `default`.
    pub default_namespace: Option<String>,
    /// Globs of the roles of the manifests that others make, with `from`. For a workspace, `spec.known` has them.
    pub external: Vec<String>,
    /// Whether the objects are the whole cluster: a role that is not among them does not exist, even if it is declared.
    pub is_complete: bool,
    /// The platform of the cluster of the manifests, or of a new cluster without manifests. Default: OpenShift if the manifests
    /// have an object of an API group that OpenShift alone serves, else Kubernetes.
    pub platform: Option<Platform>,
    /// The version of the cluster of the manifests: of Kubernetes, or of OpenShift on that platform. Default: the newest version.
    pub kubernetes_version: Option<String>,
    /// Whether the objects that decide beside RBAC are read too: nodes, pods and volumes, and admission policies.
    pub with_surroundings: bool,
    /// Whether the objects of escalation paths are read too: the surroundings, and the admission of pods. An index has none.
    pub with_paths: bool,
}

impl WorldOptions {
    /// Whether the options name neither manifests nor a platform: the world is the workspace.
    pub fn is_workspace(&self) -> bool {
        self.from.is_empty() && self.platform.is_none()
    }
}

/// A world that questions can be asked about.
#[derive(Debug)]
pub struct LoadedWorld {
    /// The target's name; none for manifests from elsewhere.
    pub target: Option<String>,
    /// The RBAC objects.
    pub world: World,
    /// The files of the objects.
    pub files: Arc<Files>,
    /// The warnings about the objects, and about the workspace.
    pub diagnostics: Vec<Diagnostic>,
    /// The objects that decide beside RBAC, if they were requested.
    pub(crate) surroundings: Option<Surroundings>,
    /// The sample of the namespaces that the world has.
    pub(crate) sample: Arc<NamespaceSample>,
    /// The groups of users.
    pub memberships: Memberships,
    /// Whether the bindings have too many groups for their members to be subjects of the world, see [`WorldParts::members`].
    pub lacks_members: bool,
    /// The authorizers of the API server, as a policy states them; empty where none does: Node and RBAC.
    pub authorization_modes: Vec<String>,
    /// The release of OpenShift; none on Kubernetes.
    pub(crate) release: Option<Release>,
}

impl LoadedWorld {
    /// Returns the world of a target: its compiled objects, the objects of its Manifests, and its baseline.
    ///
    /// # Errors
    /// When one of the objects cannot be compiled or read.
    ///
    /// # Examples
    /// ```
    /// # use bailiwick_workspace::{Error, Options, Workspace};
    /// # use bailiwick_analysis::{LoadedWorld, WorldOptions};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// for target in workspace.targets(&[])? {
    ///     let loaded = LoadedWorld::from_target(&workspace, target, &WorldOptions::default())?;
    ///     assert_eq!(loaded.target.as_deref(), Some(target.name.as_str()));
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_target(workspace: &Workspace, target: &Target, options: &WorldOptions) -> Result<Self, Error> {
        let mut sink = Sink::new();
        let loaded = load_target(workspace, target, options, &mut sink)?;
        Self::checked(loaded, workspace.diagnostics(sink))
    }

    /// Returns the worlds of targets for questions about one subject. A world has one namespace of each class of namespaces
    /// that are alike, also in their relation to the subject.
    ///
    /// # Errors
    /// As with [`LoadedWorld::from_target`].
    pub fn about_subject(
        workspace: &Workspace,
        targets: &[&Target],
        options: &WorldOptions,
        subject: &Identity,
    ) -> Result<Vec<Self>, Error> {
        let names: Vec<&str> = std::iter::once(&subject.user).chain(&subject.groups).map(String::as_str).collect();
        let spread = classes::spread(None, workspace, None, &names)?;
        let sampled = workspace.with_sample(spread.sample());
        let load = |target: &&Target| {
            let mut sink = Sink::new();
            let loaded = load_target(&sampled, target, options, &mut sink)?;
            let sink = spread.with_all_warnings(workspace, target, sink);
            Self::checked(loaded, workspace.diagnostics(sink))
        };
        targets.iter().map(load).collect()
    }

    /// Iterates over the namespaces that stand for their class, each with the size of its class, in order of name.
    pub fn representatives(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut names: Vec<&str> = self.sample.representatives().map(|name| &**name).collect();
        names.sort_unstable();
        names.into_iter().map(|name| (name, self.sample.weight(name)))
    }

    /// Returns the world of the manifests, or of an index, that the options name.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_workspace::{Error, Options};
    /// use bailiwick_analysis::{LoadedWorld, WorldOptions};
    /// let options = Options::in_folder("../..");
    /// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
    /// let loaded = LoadedWorld::from_manifests(&options, &world)?;
    /// assert!(loaded.world.size().bindings > 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_manifests(run: &Options, options: &WorldOptions) -> Result<Self, Error> {
        let files = Arc::new(Files::new());
        let mut sink = Sink::new();
        let loaded = load_manifests(run, options, &files, &mut sink)?;
        Self::checked(loaded, Diagnostics { list: sink.into_sorted(&files), files })
    }

    /// Returns the world of an index that `bailiwick index` wrote.
    ///
    /// # Errors
    /// When the file is no index.
    ///
    /// # Examples
    /// ```no_run
    /// use bailiwick_workspace::{Error, Options};
    /// use bailiwick_analysis::LoadedWorld;
    /// let loaded = LoadedWorld::from_index(&Options::default(), "production.index".as_ref())?;
    /// assert!(loaded.world.size().bindings > 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_index(run: &Options, path: &Path) -> Result<Self, Error> {
        let files = Arc::new(Files::new());
        let mut sink = Sink::new();
        let loaded = match read_saved(run, &run.at(path))? {
            Some(bytes) => load_saved(&bytes, path, &WorldOptions::default(), &files, &mut sink),
            None => {
                sink.push(
                    Diagnostic::error(codes::UNUSABLE_INDEX, format!("`{}` is no index", path.display()))
                        .help("write one with `bailiwick index`"),
                );
                None
            }
        };
        Self::checked(loaded, Diagnostics { list: sink.into_sorted(&files), files })
    }

    /// Returns a loaded world with its warnings.
    ///
    /// # Errors
    /// When there is an error among the diagnostics, or no world.
    pub(super) fn checked(loaded: Option<Self>, diagnostics: Diagnostics) -> Result<Self, Error> {
        match loaded.filter(|_| !diagnostics.has_errors()) {
            Some(loaded) => Ok(Self { diagnostics: diagnostics.list, ..loaded }),
            None => Err(Error::Invalid(diagnostics)),
        }
    }

    /// Returns the bytes of an index of this world.
    ///
    /// # Errors
    /// When the world is too large for an index.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_workspace::{Error, Options};
    /// use bailiwick_analysis::{LoadedWorld, WorldOptions};
    /// let options = Options::in_folder("../..");
    /// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
    /// let index = LoadedWorld::from_manifests(&options, &world)?.to_index()?;
    /// assert!(!index.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_index(&self) -> Result<Vec<u8>, Error> {
        let bytes = FileFormat::INDEX.close(&self.world.snapshot(&self.files));
        bytes.map_err(|why| Error::Run(RunError::new(why.to_string())))
    }

    /// Whether the API server asks an authorizer that is known here: `Node` or `RBAC`.
    pub fn asks(&self, authorizer: &str) -> bool {
        self.authorization_modes.is_empty() || self.authorization_modes.iter().any(|mode| mode == authorizer)
    }

    /// Returns the world of a new cluster of the version: the roles and bindings that the platform makes.
    pub fn default_world(&self) -> World {
        let minor = self.world.minor();
        let mut builder = Builder::new(minor).with_default_policy(minor);
        if let Some(release) = self.release {
            bootstrap::add_to(&mut builder, release);
        }
        builder.build()
    }

    /// Returns the authorizers of the API server that may allow what Node and RBAC do not.
    pub fn unknown_authorizers(&self) -> Vec<&str> {
        let modes = self.authorization_modes.iter().map(String::as_str);
        modes.filter(|mode| matches!(*mode, "ABAC" | "Webhook")).collect()
    }

    /// Returns the graph of escalation paths, if its objects were requested and are there.
    pub fn escalation_graph(&self) -> Option<EscalationGraph<'_>> {
        let surroundings = self.surroundings.as_ref()?;
        Some(EscalationGraph::new(GraphInputs {
            world: &self.world,
            cluster: &surroundings.cluster,
            admission: &surroundings.admission,
            installed: Some(&surroundings.installed).filter(|installed| !installed.is_empty()),
            is_openshift: surroundings.cluster.is_openshift,
            further_subjects: &[],
        }))
    }

    /// Returns the PodSecurityProfile that the labels of a namespace name, if its admission policy was requested and
    /// rejects pods.
    pub(super) fn profile_of<'l>(&self, labels: WorldLabels<'l>) -> Option<&'l str> {
        self.surroundings.as_ref()?.profile_of(labels)
    }

    /// Returns the objects that decide about pods, if they were requested.
    pub(super) fn admission_objects(&self) -> Option<&AdmissionObjects> {
        self.surroundings.as_ref().map(|surroundings| &surroundings.admission)
    }

    /// Returns the nodes, pods and volumes, if they were requested.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.surroundings.as_ref().map(|surroundings| &surroundings.cluster)
    }
}

/// The baseline below the objects.
enum Baseline {
    DefaultPolicy(u32),
    None,
    Dump(PathBuf),
}

/// Loads the world of a target, and reports what is wrong with its objects.
pub(crate) fn load_target(
    workspace: &Workspace,
    target: &Target,
    options: &WorldOptions,
    sink: &mut Sink,
) -> Result<Option<LoadedWorld>, RunError> {
    load_target_seen(workspace, target, options, WorldParts::seen_by(&mut |_, _| {}), sink)
}

/// The most subjects that members of groups add to the bindings of a world.
const MOST_MEMBERS: usize = 200_000;

/// The parts of a load beside the world of a target.
pub struct WorldParts<'p> {
    /// Takes each compiled object with the place of its policy.
    pub see: &'p mut dyn FnMut(NodeRef<'_>, Origin),
    /// Users that are subjects of the bindings of their groups.
    pub members: Option<&'p MembersByGroup>,
    /// Manifests above the compiled objects: a compiled object with the identity of one of theirs is left out. A role of a
    /// binding that neither side has may exist in the cluster.
    pub above: &'p [Tree],
    /// Objects of no policy that stay in the cluster.
    pub staying: &'p [Tree],
    /// The compiled objects of the world.
    pub content: WorldContent<'p>,
}

impl<'p> WorldParts<'p> {
    /// Returns the parts of a load that shows each compiled object.
    pub fn seen_by(see: &'p mut dyn FnMut(NodeRef<'_>, Origin)) -> Self {
        Self { see, members: None, above: &[], staying: &[], content: WorldContent::Whole }
    }
}

/// The compiled objects of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorldContent<'p> {
    /// All of them.
    Whole,
    /// The ClusterRoles, for the doubts about them.
    ClusterRoles,
    /// The objects that decide who may make a request.
    Asked(&'p Request),
}

/// Loads a target with the parts beside its world.
pub fn load_target_seen(
    workspace: &Workspace,
    target: &Target,
    options: &WorldOptions,
    parts: WorldParts<'_>,
    sink: &mut Sink,
) -> Result<Option<LoadedWorld>, RunError> {
    let WorldParts { see, members, above, staying, content } = parts;
    let api_server = workspace.project().facts.on::<ApiServerSettings>(&target.name).next();
    let mut surroundings = surroundings_of(options, target.version.minor(), target.platform == Platform::Openshift);
    if let Some(known) = &mut surroundings {
        known.configure(target.pod_security.clone());
        api_server.into_iter().for_each(|api_server| known.switch(&api_server.feature_gates));
    }
    let Some(mut builder) = below_output(workspace, target, options, &mut surroundings, sink)? else { return Ok(None) };
    let mut pods = options.with_paths.then(|| PodInputs::new(workspace, target));
    let mut add_pods = |object: NodeRef<'_>, place| {
        pods.iter_mut().for_each(|pods| pods.add(object, Some(place), &mut Sink::new()));
    };
    let replaced: BTreeSet<IdentityKey> = objects_of(above).map(IdentityKey::of).collect();
    let filter = asked::filter(content, &builder);
    each_selected_object(workspace, target, filter.as_ref(), sink, &mut |object, place| {
        see(object, place);
        if content == WorldContent::ClusterRoles && object.text_at("kind") != "ClusterRole" {
            return;
        }
        if !replaced.is_empty() && replaced.contains(&IdentityKey::of(object)) {
            return;
        }
        _ = builder.add(object, ObjectSource::Input(place));
        surroundings.iter_mut().for_each(|known| known.add_document(object, &mut Sink::new()));
        add_pods(object, place);
    })?;
    objects_of(above).for_each(|object| add_pods(object, object.origin()));
    let beside = above.iter().chain(staying);
    beside.for_each(|tree| _ = manifests::add_with_surroundings(&mut builder, tree, &mut surroundings, sink));
    if let (Some(known), Some(mut pods)) = (&mut surroundings, pods) {
        // Others report objects that cannot be read.
        let unheard = &mut Sink::new();
        pods.add_cluster_objects();
        pods.add_analyzed_documents(unheard);
        let labels = compile::labels(workspace.project(), target, workspace.compiler(), unheard)?;
        pods.finish(labels.as_ref(), unheard);
        known.hold_to(pods);
    }
    let lacks_members = members.is_some_and(|members| !builder.bind_members(members, MOST_MEMBERS));
    let world = finished(builder, target, options, above, sink);
    Ok(Some(LoadedWorld {
        target: Some(target.name.clone()),
        world,
        files: Arc::clone(&workspace.project().files),
        diagnostics: Vec::new(),
        surroundings,
        sample: Arc::clone(workspace.sampled().sample()),
        memberships: Memberships::on(&workspace.project().facts, &target.name),
        lacks_members,
        authorization_modes: api_server.map_or_else(Vec::new, |server| server.authorization_modes.clone()),
        release: target.version.release(),
    }))
}

/// Shows each tree of the objects of a cluster to a function.
pub(crate) type EachTree<'e> = dyn FnMut(&mut dyn FnMut(&Tree)) -> Result<(), RunError> + 'e;

/// Loads the live objects of a target's cluster: they are the whole cluster, above the default policy of the platform. `each_tree`
/// shows the trees of the objects to its argument.
///
/// # Errors
/// The error of `each_tree`.
pub(crate) fn load_live(
    workspace: &Workspace,
    target: &Target,
    each_tree: &mut EachTree<'_>,
    options: &WorldOptions,
    sink: &mut Sink,
) -> Result<LoadedWorld, RunError> {
    let api_server = workspace.project().facts.on::<ApiServerSettings>(&target.name).next();
    let mut surroundings = surroundings_of(options, target.version.minor(), target.platform == Platform::Openshift);
    if let Some(known) = &mut surroundings {
        known.configure(target.pod_security.clone());
        api_server.into_iter().for_each(|api_server| known.switch(&api_server.feature_gates));
    }
    let mut builder = platform_world(target);
    let mut memberships = Memberships::on(&workspace.project().facts, &target.name);
    each_tree(&mut |tree| {
        tree.documents().for_each(|document| memberships.add_document(document));
        manifests::add_with_surroundings(&mut builder, tree, &mut surroundings, sink);
    })?;
    Ok(LoadedWorld {
        target: Some(target.name.clone()),
        world: builder.build(),
        files: Arc::clone(&workspace.project().files),
        diagnostics: Vec::new(),
        surroundings,
        sample: Arc::default(),
        memberships,
        lacks_members: false,
        authorization_modes: api_server.map_or_else(Vec::new, |server| server.authorization_modes.clone()),
        release: target.version.release(),
    })
}

/// Returns the world of a target with its declared roles; with manifests above its objects, any role may exist.
fn finished(builder: Builder, target: &Target, options: &WorldOptions, above: &[Tree], sink: &mut Sink) -> World {
    let mut world = builder.build();
    match above {
        [] => declare_roles(&mut world, &target.known, options),
        _ => world.declare_roles(|_, _| true),
    }
    report_doubts(&world, sink);
    world
}

/// Returns the objects of manifests, with the items of lists.
fn objects_of(trees: &[Tree]) -> impl Iterator<Item = NodeRef<'_>> {
    trees.iter().flat_map(Tree::documents).flat_map(list::objects)
}

/// Declares the roles that others make, unless the objects are the whole cluster.
fn declare_roles(world: &mut World, declared: &DeclaredNames, options: &WorldOptions) {
    let category = |kind| if kind == RoleKind::ClusterRole { Category::ClusterRoles } else { Category::Roles };
    if !options.is_complete {
        world.declare_roles(|kind, name| declared.declares(category(kind), name));
    }
}

/// Returns the roles that match globs of the command line; reports an invalid glob.
fn external_roles(globs: &[String], sink: &mut Sink) -> DeclaredNames {
    let globs = files::glob_set(globs, false, sink);
    let names = Arc::new(NameSet::new(globs, Vec::new(), Vec::new(), Vec::new()));
    let mut declared = DeclaredNames::default();
    for category in [Category::ClusterRoles, Category::Roles] {
        declared.state(category, Arc::clone(&names));
    }
    declared
}

/// Returns the collection for the objects that decide beside RBAC, if they were requested.
fn surroundings_of(options: &WorldOptions, minor: u32, is_openshift: bool) -> Option<Surroundings> {
    let is_wanted = options.with_surroundings || options.with_paths;
    let version = NodeVersion::new(minor).ok().filter(|_| is_wanted)?;
    Some(Surroundings::new(version, is_openshift))
}

/// Compiles a target and shows each object with the place of its policy.
pub fn each_object(
    workspace: &Workspace,
    target: &Target,
    sink: &mut Sink,
    visit: &mut dyn FnMut(NodeRef<'_>, Origin),
) -> Result<(), RunError> {
    each_selected_object(workspace, target, None, sink, visit)
}

/// Compiles a target and shows the objects that pass a filter, as [`each_object`] does. Compiling threads filter.
fn each_selected_object(
    workspace: &Workspace,
    target: &Target,
    filter: Option<&RequestFilter<'_>>,
    sink: &mut Sink,
    visit: &mut dyn FnMut(NodeRef<'_>, Origin),
) -> Result<(), RunError> {
    let mut show = |objects: Vec<CompiledObject>| {
        objects.iter().for_each(|compiled| visit(compiled.object(), compiled.place()));
    };
    workspace.compile_files(target, ObjectForm::Trees, &|file| Ok(asked::needed(filter, file.objects)), &mut show, sink)
}

/// Returns the world of a target as its earlier output has it.
pub(crate) fn load_committed(
    workspace: &Workspace,
    target: &Target,
    committed: &dyn Committed,
) -> Result<Option<World>, RunError> {
    let mut sink = Sink::new();
    let Some(mut builder) = below_output(workspace, target, &WorldOptions::default(), &mut None, &mut sink)? else {
        return Ok(None);
    };
    add_committed(&mut builder, workspace.project(), target, committed)?;
    Ok(Some(builder.build()))
}

/// Returns the namespace of `--default-namespace`; reports an invalid name.
pub fn default_namespace<'n>(name: Option<&'n str>, sink: &mut Sink) -> MissingNamespace<'n> {
    let Some(name) = name else { return MissingNamespace::Assumed };
    if let Some(message) = names::namespace_problem(name) {
        let diagnostic = Diagnostic::error(codes::INVALID_USAGE, message);
        sink.push(diagnostic.help("write a name of lower-case letters, digits and `-`"));
    }
    MissingNamespace::Stated(name)
}

/// Reads the manifests that the options name.
fn read_inputs(
    run: &Options,
    options: &WorldOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Vec<Input>, RunError> {
    let filter = FileFilter::new(&options.include, &options.exclude, sink);
    let namespace = default_namespace(options.default_namespace.as_deref(), sink);
    let reading = ManifestReading { run, files, filter: &filter, namespace };
    options.from.iter().map(|path| Input::read(&run.input_at(path), reading, sink)).collect()
}

/// Loads the world of manifests, and reports what is wrong with them.
pub fn load_manifests(
    run: &Options,
    options: &WorldOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<LoadedWorld>, RunError> {
    if let [only] = options.from.as_slice()
        && let Some(bytes) = read_saved(run, &run.input_at(only))?
    {
        return Ok(load_saved(&bytes, only, options, files, sink));
    }
    let inputs = read_inputs(run, options, files, sink)?;
    let version = version_of_inputs(options, &inputs, sink);
    let baseline = match &options.baseline {
        Some(written) => read_baseline(written, run, sink),
        None => version.map(|version| Baseline::DefaultPolicy(version.minor)),
    };
    let (Some(version), Some(baseline)) = (version, baseline) else { return Ok(None) };
    let mut surroundings = surroundings_of(options, version.minor, version.release.is_some());
    let memberships = Memberships::default();
    let mut reader = ManifestReader { run, files, surroundings: &mut surroundings, memberships };
    let mut builder = reader.start(version.minor, &baseline, sink)?;
    if let (Baseline::DefaultPolicy(_), Some(release)) = (&baseline, version.release) {
        bootstrap::add_to(&mut builder, release);
        for (known, tree) in reader.surroundings.iter_mut().zip([defaults::trees(Start::new(release))]) {
            tree.iter().flat_map(Tree::documents).for_each(|object| known.add_document(object, sink));
        }
    }
    inputs.iter().for_each(|input| reader.add_input(&mut builder, input, sink));
    let memberships = reader.memberships;
    let mut world = builder.build();
    declare_roles(&mut world, &external_roles(&options.external, sink), options);
    report_doubts(&world, sink);
    Ok(Some(LoadedWorld {
        target: None,
        world,
        files: Arc::clone(files),
        diagnostics: Vec::new(),
        surroundings,
        sample: Arc::default(),
        memberships,
        lacks_members: false,
        authorization_modes: Vec::new(),
        release: version.release,
    }))
}

/// Returns the version of the cluster of the manifests. Without a platform in the options, the first object that OpenShift alone
/// serves decides, with a note.
fn version_of_inputs(options: &WorldOptions, inputs: &[Input], sink: &mut Sink) -> Option<ClusterVersion> {
    let written = options.kubernetes_version.as_ref();
    if let Some(platform) = options.platform {
        return ClusterVersion::of(platform, written, sink);
    }
    let Some((object, place)) = inputs.iter().find_map(Input::object_of_openshift) else {
        return ClusterVersion::of(Platform::Kubernetes, written, sink);
    };
    let version = match written {
        // A version of Kubernetes names the release that is built on it.
        Some(version) if version.trim_start_matches('v').starts_with("1.") => {
            ClusterVersion::read(Platform::Kubernetes, version, sink).map(ClusterVersion::on_openshift)
        }
        _ => ClusterVersion::of(Platform::Openshift, written, sink),
    }?;
    let release = version.release.map_or_else(String::new, |release| format!(" {release}"));
    let message = format!("the cluster is evaluated as OpenShift{release}: the inputs have {object}");
    let note = Diagnostic::remark(codes::INFERRED_PLATFORM, message).at(place);
    sink.push(note.help("pass `--platform openshift` or `--platform kubernetes`"));
    Some(version)
}

/// Returns the bytes of a file that `index` wrote; none for anything else.
fn read_saved(run: &Options, path: &Path) -> Result<Option<Vec<u8>>, RunError> {
    if let InputFiles::Memory(_) = &run.inputs {
        return Ok(run.inputs.bytes_in_memory(path).filter(|bytes| FileFormat::INDEX.is_on(bytes)));
    }
    if !path.is_file() {
        return Ok(None);
    }
    let read = |error: std::io::Error| RunError::io("read", path, &error);
    let mut file = NamedFile::open(path, MAXIMUM_INDEX_SIZE).map_err(read)?;
    let mut bytes = Vec::new();
    file.by_ref().take(FileFormat::INDEX.mark_length() as u64).read_to_end(&mut bytes).map_err(read)?;
    if !FileFormat::INDEX.is_on(&bytes) {
        return Ok(None);
    }
    file.read_to_end(&mut bytes).map_err(read)?;
    Ok(Some(bytes))
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum IndexError {
    /// The file is not a complete index of this version.
    File(#[from] Broken),
    /// The values of the file contradict each other.
    Content(#[from] InconsistentSnapshot),
}

fn open_index(bytes: &[u8], files: &Files) -> Result<World, IndexError> {
    Ok(World::restore(FileFormat::INDEX.open(bytes)?, files)?)
}

fn load_saved(
    bytes: &[u8],
    path: &Path,
    options: &WorldOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Option<LoadedWorld> {
    if options.with_surroundings {
        sink.push(
            Diagnostic::error(
                codes::UNUSABLE_INDEX,
                format!("the index `{}` has only RBAC data, and no nodes or admission policies", path.display()),
            )
            .help("use the manifests of the index"),
        );
        return None;
    }
    if options.baseline.is_some() || options.kubernetes_version.is_some() {
        sink.push(
            Diagnostic::error(
                codes::UNUSABLE_INDEX,
                format!("`{}` brings its own version and baseline", path.display()),
            )
            .help("leave out --baseline and --kubernetes-version, or use the manifests of the index"),
        );
        return None;
    }
    match open_index(bytes, files) {
        Ok(world) => {
            report_doubts(&world, sink);
            Some(LoadedWorld {
                target: None,
                world,
                files: Arc::clone(files),
                diagnostics: Vec::new(),
                surroundings: None,
                sample: Arc::default(),
                memberships: Memberships::default(),
                lacks_members: false,
                authorization_modes: Vec::new(),
                release: None,
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

/// Reads the value of `--baseline`.
fn read_baseline(written: &str, run: &Options, sink: &mut Sink) -> Option<Baseline> {
    if written == "none" {
        return Some(Baseline::None);
    }
    let path = run.input_at(Path::new(written));
    if written == "-" || run.inputs.has(&path) {
        return Some(Baseline::Dump(path));
    }
    version_of(written, sink).map(Baseline::DefaultPolicy)
}

/// Reports ClusterRoles whose rules do not follow from the manifests.
fn report_doubts(world: &World, sink: &mut Sink) {
    for ring in &world.doubts().rings {
        let names = ring.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        sink.push(
            Diagnostic::warning(codes::AGGREGATION_RING, format!("the ClusterRoles {names} aggregate each other's rules"))
                .at_maybe(ring.first().and_then(|name| world.place_of_cluster_role(name)))
                .note("the rules in such a ring depend on the history of the cluster; this evaluation uses only rules from outside the ring")
                .help("remove the label from one of them, so that no role aggregates its own rules"),
        );
    }
    for name in &world.doubts().stated {
        sink.push(
            Diagnostic::warning(
                codes::AGGREGATED_ROLE_WITH_RULES,
                format!("the aggregated ClusterRole `{name}` has rules of its own"),
            )
            .at_maybe(world.place_of_cluster_role(name))
            .note("this evaluation ignores them; a cluster keeps them only while no other role matches the selectors")
            .help("remove `rules`, and move them to a ClusterRole with a label of `aggregationRule`"),
        );
    }
}
