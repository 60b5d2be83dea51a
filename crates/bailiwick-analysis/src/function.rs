//! KRM functions: `bailiwick fn` as a generator or a validator of kustomize and kpt, and as a filter of manifests.
//!
//! The input comes from a build that the authors of a repository control. A generator opens no folder outside of the folder in
//! which the function runs.

mod resource_list;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_kubernetes::catalogue::LAST_MINOR;
use bailiwick_kubernetes::list;
use bailiwick_policy::kinds;
use bailiwick_policy::model::Platform;
use bailiwick_policy::source::{MemorySource, manifests};
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_workspace::workspace::open_in_memory;
use bailiwick_workspace::{CompiledFile, Diagnostics, Error, Options, Workspace};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Spanned, Tree, de, schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::resource_list::ResourceList;
use super::loaded_world::{LoadedWorld, WorldOptions, WorldParts, load_live, load_target_seen};
use super::test::{TestEvent, TestRun, test_checks};

/// The kind of the settings of a generator.
const GENERATOR: &str = "Bailiwick";
/// The kind of the settings of a validator.
const VALIDATOR: &str = "AccessTest";
/// The place of the settings of a validator in a workspace in memory.
const CONFIG_PATH: &str = "policies/functionConfig.yaml";
/// The annotations with the file of an item and its position there.
const PATH: &str = "internal.config.kubernetes.io/path";
const INDEX: &str = "internal.config.kubernetes.io/index";

/// The cluster and the namespace that an AccessTest is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionOptions {
    /// The version of the cluster of a validator: of Kubernetes, or of OpenShift on that platform. Default: the newest version.
    pub version: Option<String>,
    /// The platform of the cluster of a validator.
    pub platform: Option<Platform>,
    /// The namespace of namespaced objects without one. Without a name, such an object is an error.
    pub default_namespace: Option<String>,
}

/// The list after a run.
pub enum FunctionOutcome {
    /// The list with the generated objects, and the warnings about the policies.
    Generated(String, Diagnostics),
    /// The list, and the AccessTest that was asked of its items.
    Validated(Box<Validation>),
}

/// The questions of an AccessTest to the items of a list, or of the AccessTests of a target to manifests.
pub struct Validation {
    /// The list of the function; none for manifests.
    pub list: Option<ResourceList>,
    /// The questions and failures.
    pub tests: TestRun,
    /// The warnings about the inputs.
    pub diagnostics: Diagnostics,
    /// The expectations that cannot be asked.
    pub problems: Diagnostics,
}

/// The `spec` of the settings of a generator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GeneratorSpec {
    /// The folder of the workspace, below the folder in which the function runs.
    directory: Spanned<String>,
    /// The name of the target; none for the only one.
    target: Option<String>,
}

/// Runs a function on a ResourceList. `each` is called with every failed question of a validator.
///
/// # Errors
/// When the input is no list, the settings are invalid, or the policies cannot be compiled.
pub fn run_function(
    run: &Options,
    options: &FunctionOptions,
    input: Vec<u8>,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<FunctionOutcome, Error> {
    let (files, mut sink) = (Arc::new(Files::new()), Sink::new());
    let list = ResourceList::read(input, &files, &mut sink);
    let invalid = |sink: Sink| Error::Invalid(Diagnostics::new(sink.into_sorted(&files), &files));
    let Some(list) = list else { return Err(invalid(sink)) };
    match list.config().map(|config| (config, config.text_at("kind"))) {
        Some((config, GENERATOR)) => {
            let Some(spec) = generator_spec(config, &mut sink) else { return Err(invalid(sink)) };
            let (items, diagnostics) = generate(run, &spec, &list, &mut sink)?;
            if sink.has_errors() {
                return Err(invalid(sink));
            }
            Ok(FunctionOutcome::Generated(list.with_items(items), diagnostics))
        }
        Some((config, VALIDATOR)) => {
            let config = settings_of_test(config);
            let workspace = open_in_memory(run, workspace_of(options, &list, &config), &files)?;
            let validation = validate(&workspace, options, list, each)?;
            Ok(FunctionOutcome::Validated(Box::new(validation)))
        }
        config => {
            let message = format!("`functionConfig` is no `{GENERATOR}` and no `{VALIDATOR}`");
            let diagnostic = Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message)
                .at_maybe(config.map(|(config, _)| config.origin()))
                .help(format!("`kind: {GENERATOR}` adds the objects of a target, `kind: {VALIDATOR}` tests the items"));
            sink.push(diagnostic);
            Err(invalid(sink))
        }
    }
}

/// Reads the settings of a generator; reports why they are not valid.
fn generator_spec(config: NodeRef<'_>, sink: &mut Sink) -> Option<GeneratorSpec> {
    let refused = |message: String| {
        Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message)
            .help("write `spec: {directory: FOLDER, target: NAME}`; a workspace with one target needs no `target`")
    };
    if config.text_at("apiVersion") != kinds::API_VERSION {
        let message = format!("the `apiVersion` of the settings is not `{}`", kinds::API_VERSION);
        sink.push(refused(message).at(config.origin()));
        return None;
    }
    let Some(spec) = config.get("spec").filter(|spec| spec.is_map()) else {
        sink.push(refused("the settings have no `spec`".to_owned()).at(config.origin()));
        return None;
    };
    match de::from_node::<GeneratorSpec>(spec) {
        Ok(spec) => Some(spec),
        Err(error) => {
            sink.push(refused(error.message).at_maybe(error.origin));
            None
        }
    }
}

/// Returns the objects of a target with the annotations of their files.
fn generate(
    run: &Options,
    spec: &GeneratorSpec,
    list: &ResourceList,
    sink: &mut Sink,
) -> Result<(Vec<Value>, Diagnostics), Error> {
    let Some(directory) = workspace_below(run, &spec.directory, sink)? else {
        return Ok((Vec::new(), Diagnostics::default()));
    };
    let workspace = Workspace::open(&Options { directory: Some(directory), ..run.clone() })?;
    let target = workspace.only_target(spec.target.as_deref(), "a function generates the objects of one target")?;
    let compiled = workspace.compile(std::slice::from_ref(&target.name), true)?;
    let diagnostics = compiled.diagnostics.checked()?;
    let mut items = Vec::new();
    for file in &compiled.files {
        for (index, object) in file.objects.iter().enumerate() {
            let object = annotated(file, index, object)?;
            report_double(list, &object, sink);
            items.push(object);
        }
    }
    Ok((items, diagnostics))
}

/// Returns the folder of a workspace below the folder in which the function runs; reports one that lies elsewhere.
fn workspace_below(run: &Options, written: &Spanned<String>, sink: &mut Sink) -> Result<Option<PathBuf>, RunError> {
    let start = run.at(Path::new("."));
    let start = start.canonicalize().map_err(|error| RunError::io("enter", &start, &error))?;
    let path = Path::new(&written.value);
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // The folder itself has the workspace file: no folder above it is searched.
    let folder = start.join(path).canonicalize().ok().filter(|folder| stays && folder.starts_with(&start));
    let folder = folder.filter(|folder| folder.join(WORKSPACE_FILE).symlink_metadata().is_ok());
    if folder.is_none() {
        let message = format!("`{}` is no folder with a workspace below the folder of the function", written.value);
        let help = "`spec.directory` is a relative path without `..`, to a folder with `bailiwick.yaml`; no link leaves the folder";
        sink.push(Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message).at(written.origin).help(help));
    }
    Ok(folder)
}

/// Returns an object with the annotations of its file.
fn annotated(file: &CompiledFile, index: usize, object: &str) -> Result<Value, RunError> {
    let unread =
        |why: &dyn std::fmt::Display| RunError::new(format!("an object of `{}` cannot be read: {why}", file.path));
    let mut object: Value = serde_json::from_str(object).map_err(|error| unread(&error))?;
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or_else(|| unread(&"it has no `metadata`"))?;
    let written = metadata.get_mut("annotations").and_then(Value::as_object_mut).map(std::mem::take);
    let mut annotations: Vec<(String, Value)> = written.into_iter().flatten().collect();
    annotations.push((PATH.to_owned(), json!(format!("{}/{}", file.target, file.path))));
    annotations.push((INDEX.to_owned(), json!(index.to_string())));
    annotations.sort_by(|(left, _), (right, _)| left.cmp(right));
    metadata.insert("annotations".to_owned(), Value::Object(Map::from_iter(annotations)));
    Ok(object)
}

/// Reports an item of the input with the identity of a generated object.
fn report_double(list: &ResourceList, object: &Value, sink: &mut Sink) {
    let tree = yaml::from_json(object);
    let Some(key) = tree.documents().next().map(IdentityKey::of) else { return };
    if let Some(item) = list.find(&key) {
        let message = format!("the input already has the generated object {key}");
        let diagnostic = Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message).at(item.origin());
        sink.push(diagnostic.help("take it out of the resources, or out of the policies"));
    }
}

/// Returns the settings of a validator as a policy: kustomize and kpt add metadata of their own.
fn settings_of_test(config: NodeRef<'_>) -> Value {
    let mut config = schema::to_json(config);
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| field == "name");
    }
    config
}

/// Returns the files of a workspace with one target and the AccessTest of the settings.
fn workspace_of(options: &FunctionOptions, list: &ResourceList, config: &Value) -> MemorySource {
    let platform = match options.platform {
        Some(platform) => platform,
        None => Platform::Kubernetes,
    };
    let version = match (&options.version, platform) {
        (Some(version), _) => version.clone(),
        (None, Platform::Kubernetes) => format!("1.{LAST_MINOR}"),
        (None, Platform::Openshift) => bailiwick_admission::scc::release::Release::LAST.to_string(),
    };
    let target = json!({"name": "items", "platform": platform.as_str(), "version": version});
    let workspace = json!({
        "apiVersion": kinds::API_VERSION, "kind": "Workspace", "metadata": {"name": "function"},
        "spec": {"targets": [target], "known": names_of(list)},
    });
    MemorySource::new([(WORKSPACE_FILE, workspace.to_string()), (CONFIG_PATH, config.to_string())])
}

/// Returns the names of the items, in the form of `spec.known` of a workspace.
fn names_of(list: &ResourceList) -> Value {
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut add = |category, name: String| _ = known.entry(category).or_default().insert(escape_glob(&name));
    for item in list.objects() {
        let text = |keys: &[&str]| item.path(keys).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
        let (name, namespace) = (text(&["metadata", "name"]), text(&["metadata", "namespace"]));
        let own_namespace = name.filter(|_| item.text_at("kind") == "Namespace");
        namespace.into_iter().chain(own_namespace).for_each(|name| add("namespaces", name.to_owned()));
        for subject in item.get("subjects").into_iter().flat_map(NodeRef::items) {
            let name = subject.text_at("name");
            match subject.text_at("kind") {
                "User" => add("users", name.to_owned()),
                "Group" => add("groups", name.to_owned()),
                _ => {}
            }
        }
    }
    json!(known)
}

/// Returns a glob that matches a name alone.
fn escape_glob(name: &str) -> String {
    let mut glob = String::with_capacity(name.len());
    for each in name.chars() {
        if matches!(each, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            glob.push('\\');
        }
        glob.push(each);
    }
    glob
}

/// Gives a namespace to namespaced objects without one. Without a name, each tree with such an object is an error.
fn place_in_namespace(trees: &mut [Tree], namespace: Option<&str>, sink: &mut Sink) {
    let placed: usize =
        trees.iter_mut().map(|tree| list::fill_namespace(tree, namespace.map_or("default", |name| name))).sum();
    if placed > 0 && namespace.is_none() {
        let message =
            format!("{} without a namespace", bailiwick_workspace::words::number(placed, "namespaced object"));
        let help = "`--default-namespace` names the namespace in which they are applied";
        sink.push(Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message).help(help));
    }
}

/// Asks the AccessTest of this workspace of the items of a list.
fn validate(
    workspace: &Workspace,
    options: &FunctionOptions,
    list: ResourceList,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<Validation, Error> {
    let target = workspace.only_target(None, "a function tests one cluster")?;
    let checks = test_checks(workspace, target, &[]);
    let mut sink = Sink::new();
    if checks.is_empty() {
        let message = "the AccessTest of `functionConfig` expects nothing of the cluster `items`";
        sink.push(Diagnostic::error(codes::INVALID_FUNCTION_INPUT, message).help("leave out `spec.targets`"));
    }
    let mut trees = [list.tree()];
    place_in_namespace(&mut trees, options.default_namespace.as_deref(), &mut sink);
    let mut each_tree = |visit: &mut dyn FnMut(&Tree)| {
        trees.iter().for_each(visit);
        Ok(())
    };
    let mut loaded = load_live(workspace, target, &mut each_tree, &checks.world_options(), &mut sink)?;
    // A build is seldom a whole cluster: a role that it lacks may exist there.
    loaded.world.declare_roles(|_, _| true);
    let diagnostics = workspace.diagnostics(sink).checked()?;
    let mut tests = TestRun::default();
    tests.ask_all(&loaded, &checks, each);
    let problems = tests.take_problems(workspace);
    Ok(Validation { list: Some(list), tests, diagnostics, problems })
}

/// Asks the AccessTests of a target of its objects with manifests above them: a manifest replaces the object of the target with the
/// same identity. `each` is called with every failed question.
///
/// # Errors
/// When the policies cannot be compiled, the manifests cannot be read or are empty, or the target has no AccessTest.
pub fn test_manifests(
    workspace: &Workspace,
    target: Option<&str>,
    default_namespace: Option<&str>,
    manifests: Vec<u8>,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<Validation, Error> {
    let target = workspace.only_target(target, "the manifests are for one cluster")?;
    let (files, mut sink) = (&workspace.project().files, Sink::new());
    let checks = test_checks(workspace, target, &[]);
    if checks.is_empty() {
        let message = format!("the target `{}` has no AccessTest, so that nothing is tested", target.name);
        let help = "`bailiwick explain AccessTest` shows how to write one";
        return Err(Error::invalid(Diagnostic::error(codes::NOTHING_TO_JUDGE, message).help(help)));
    }
    let mut trees: Vec<Tree> = read_manifests(manifests, files, &mut sink).into_iter().collect();
    place_in_namespace(&mut trees, default_namespace, &mut sink);
    let options: WorldOptions = checks.world_options();
    let mut see_nothing = |_: NodeRef<'_>, _| {};
    let parts = WorldParts { above: &trees, ..WorldParts::seen_by(&mut see_nothing) };
    let loaded: Option<LoadedWorld> = load_target_seen(workspace, target, &options, parts, &mut sink)?;
    let diagnostics = workspace.diagnostics(sink).checked()?;
    let mut tests = TestRun::default();
    loaded.iter().for_each(|loaded| tests.ask_all(loaded, &checks, each));
    let problems = tests.take_problems(workspace);
    Ok(Validation { list: None, tests, diagnostics, problems })
}

/// Reads manifests; none if they cannot be read or are empty, with the reason in the sink.
fn read_manifests(bytes: Vec<u8>, files: &Arc<Files>, sink: &mut Sink) -> Option<Tree> {
    let file = manifests::take(bytes, files, sink)?;
    let tree = yaml::read(files.get(file).text(), file, sink);
    let tree = list::with_types(&tree).map_or(tree, |typed| typed);
    if !sink.has_errors() && tree.documents().all(NodeRef::is_null) {
        let message = "there is no manifest on standard input";
        sink.push(
            Diagnostic::error(codes::NOTHING_TO_JUDGE, message).help("the program before this one may have failed"),
        );
    }
    Some(tree)
}
