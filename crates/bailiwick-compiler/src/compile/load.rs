//! Reads a workspace and links its policies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_admission::scc::{bootstrap, defaults};
use bailiwick_codes as codes;
use bailiwick_kubernetes::list;
use bailiwick_policy::kinds;
use bailiwick_policy::model::{
    ExistingObjects, KnownSpec, Linker, ObjectId, PolicyFacts, RawWorkspace, Target, TypeMeta, UnreadAccounts,
    WorkspaceSettings, WorkspaceSpec,
};
use bailiwick_policy::source::{FileSource, Sources, glob, names};
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::words::number;
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink, Span};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

use super::link::{self, Head, Linked};
use super::{LinkedWorkspace, NamedPolicies, known};
use crate::render::TemplateSet;
use crate::validate::Trees;
/// The name of the workspace file.
pub const WORKSPACE_FILE: &str = "bailiwick.yaml";

/// Reads the workspace file of a world. None when it cannot be used; why is then in the sink.
///
/// # Errors
/// When the file cannot be read.
pub fn load_workspace(sources: &mut Sources, sink: &mut Sink) -> Result<Option<WorkspaceSettings>, RunError> {
    let Some(tree) = sources.tree(WORKSPACE_FILE, None, sink)? else {
        if !sink.has_errors() {
            sink.push(
                Diagnostic::error(codes::WORKSPACE_NOT_FOUND, format!("this folder has no `{WORKSPACE_FILE}`"))
                    .help("run `bailiwick init` to create a workspace"),
            );
        }
        return Ok(None);
    };
    if sink.has_errors() {
        return Ok(None);
    }
    let root = match (tree.document(0), tree.document(1)) {
        (Some(root), None) => root,
        (_, second) => {
            let span = second.map_or(Span::default(), NodeRef::span);
            sink.push(
                Diagnostic::error(codes::INVALID_WORKSPACE, "a workspace file must be one document")
                    .at(Origin { file: tree.file(), span })
                    .help("run `bailiwick explain Workspace` for an example"),
            );
            return Ok(None);
        }
    };
    let head = Head::read(root);
    let schema = &kinds::WORKSPACE_SCHEMA;
    let spec = match head {
        Some(_) if !schema.fits(root) => Err(None),
        Some(head) if head.kind == kinds::WORKSPACE && head.api_version == kinds::API_VERSION => {
            from_node::<WorkspaceSpec>(head.spec).map(|spec| (head, spec)).map_err(Some)
        }
        _ => Err(None),
    };
    match spec {
        Ok((head, spec)) => {
            let common = spec.known.clone();
            let own: Vec<(String, KnownSpec)> =
                spec.targets.iter().map(|target| (target.name.value.clone(), target.known.clone())).collect();
            let raw = RawWorkspace { name: head.name.to_owned(), spec };
            let Some(mut workspace) = WorkspaceSettings::link(raw, root, sink).filter(|_| !sink.has_errors()) else {
                return Ok(None);
            };
            known::declare(&mut workspace.targets, &common, &own, sources, sink);
            Ok((!sink.has_errors()).then_some(workspace))
        }
        Err(error) => {
            schema.report(root, error, sink);
            Ok(None)
        }
    }
}

/// Reads and links every policy of a world. Returns none if some input cannot be used; the diagnostics are in the sink.
/// After errors that leave the policies readable there is a workspace, so that the same run also checks the objects.
///
/// # Errors
/// When a file cannot be read.
pub fn load(
    world: Box<dyn FileSource>,
    files: Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<LinkedWorkspace>, RunError> {
    let mut sources = Sources::new(world, Arc::clone(&files));
    let Some(workspace) = load_workspace(&mut sources, sink)? else {
        return Ok(None);
    };
    let workspace_tree = sources.tree(WORKSPACE_FILE, None, sink)?;
    let trees = read_policies(&workspace, &mut sources, sink)?;
    let templates = TemplateSet::load(&workspace.templates, &mut sources, sink)?;
    let mut linker = Linker::new(&workspace, &mut sources);
    linker.templates = templates.for_policies(&workspace.templates);
    let Linked { policies, accepted } = link::policies(&trees, &mut linker, sink)?;
    // A policy with an error names its templates, too.
    let has_errors = sink.has_errors();
    let is_written = |name: &str| trees.values().any(|tree| files.get(tree.file()).text().contains(name));
    templates.report_unknown(&linker.templates, &|name| has_errors && is_written(name), sink);
    let baselines = read_baselines(&workspace, linker.sources, sink)?;
    linker.sources.report_refused(sink);
    refuse_sources_in_output(&workspace, linker.sources, sink)?;
    let Linker { facts, apis, custom_fields, .. } = linker;
    let surroundings = known::Surroundings {
        policies: &policies,
        facts: &facts,
        targets: &workspace.targets,
        baselines: &baselines,
        files: &files,
        lacks_accounts: facts.has::<UnreadAccounts>(),
    };
    known::check(&surroundings, sink);
    refuse_names(&files, sink);
    if sink.must_stop() {
        // Without a linked workspace, no command can give the diagnostics the severities that the workspace sets.
        let diagnostics = std::mem::take(sink).into_list();
        let set = diagnostics.into_iter().filter_map(|diagnostic| workspace.diagnostics.apply(diagnostic));
        set.for_each(|diagnostic| sink.push(diagnostic));
        return Ok(None);
    }
    let existing = existing_objects(&workspace, &facts, &baselines);
    let project = LinkedWorkspace {
        named: NamedPolicies::new(&policies, &workspace.targets),
        workspace,
        policies,
        templates: Arc::new(templates),
        files,
        trees: Trees::new(trees.into_values(), workspace_tree),
        existing,
        baselines,
        apis,
        custom_fields,
        facts,
        accepted,
        today: None,
    };
    project.check_acceptances(sink);
    Ok(Some(project))
}

fn read_policies(
    workspace: &WorkspaceSettings,
    sources: &mut Sources,
    sink: &mut Sink,
) -> Result<BTreeMap<String, Arc<Tree>>, RunError> {
    let prefix = format!("{}/", workspace.policies);
    let mut trees = BTreeMap::new();
    let paths = sources.list(&workspace.policies, workspace.policies_named_at)?;
    let below = |path: &String| path.strip_prefix(&prefix).map_or_else(|| path.clone(), str::to_owned);
    let relative: Vec<String> = paths.iter().map(below).collect();
    report_unused_globs(workspace, &relative, sink);
    if let Some(named_at) = workspace.policies_named_at.filter(|_| paths.is_empty()) {
        let message = format!("there is no folder `{}` with files", workspace.policies);
        let missing = Diagnostic::error(codes::MISSING_FILE, message).at(named_at);
        sink.push(missing.help("name the folder with the policies, relative to the folder of this file"));
    }
    for (path, relative) in paths.iter().zip(&relative) {
        if workspace.include.is_match(relative)
            && !workspace.exclude.is_match(relative)
            && let Some(tree) = sources.policies(path, sink)?
        {
            trees.insert(path.clone(), tree);
        }
    }
    Ok(trees)
}

/// Reports each glob of the policy files that matches none of the paths, which are relative to the policy folder.
fn report_unused_globs(workspace: &WorkspaceSettings, paths: &[String], sink: &mut Sink) {
    for written in &workspace.policy_globs {
        // The workspace has reported an invalid glob.
        let Ok(glob) = glob::compile(written, true) else { continue };
        let glob = glob.compile_matcher();
        if !paths.iter().any(|path| glob.is_match(path)) {
            let message = format!("no file in `{}` matches `{}`", workspace.policies, written.value);
            let unused = Diagnostic::warning(codes::UNUSED_GLOB, message).at(written.origin);
            sink.push(unused.help("write a glob of paths relative to the policy folder: `**` matches folders"));
        }
    }
}

/// Returns the objects of each target that exist without being compiled.
fn existing_objects(
    workspace: &WorkspaceSettings,
    facts: &PolicyFacts,
    baselines: &BTreeMap<String, Vec<Tree>>,
) -> BTreeMap<String, BTreeSet<ObjectId>> {
    let of_target = |target: &Target| {
        let brought = facts.on(&target.name).flat_map(|existing: &ExistingObjects| existing.objects.iter().cloned());
        let baseline = baselines.get(&target.name).into_iter().flatten().flat_map(roles_of_baseline);
        brought.chain(baseline).chain(roles_of_platform(target)).collect()
    };
    workspace.targets.iter().map(|target| (target.name.clone(), of_target(target))).collect()
}

/// Returns the roles that a cluster has beside the output.
fn roles_of_baseline(tree: &Tree) -> impl Iterator<Item = ObjectId> {
    let objects = tree.documents().flat_map(list::typed_objects);
    objects.filter_map(|(api_version, kind, object)| role_id(&api_version, &kind, object))
}

/// Returns the identity of a role; none for another object.
fn role_id(api_version: &str, kind: &str, object: NodeRef<'_>) -> Option<ObjectId> {
    let is_role = api_version == RBAC && matches!(kind, "Role" | "ClusterRole");
    let metadata = object.get("metadata").filter(|_| is_role)?;
    let text = |field: &str| metadata.get(field).and_then(NodeRef::as_str);
    Some(ObjectId {
        object_type: TypeMeta::new(RBAC, kind),
        namespace: text("namespace").filter(|_| kind == "Role").map(Arc::from),
        name: text("name")?.into(),
    })
}

/// Returns the roles that OpenShift itself makes, and the ClusterRoles that grant its constraints; none on another platform.
fn roles_of_platform(target: &Target) -> impl Iterator<Item = ObjectId> {
    let names = target.release_with_defaults().into_iter().flat_map(defaults::names);
    let role = |name| ObjectId {
        object_type: TypeMeta::new(RBAC, "ClusterRole"),
        namespace: None,
        name: defaults::role_name(name).into(),
    };
    let made = target.version.release().into_iter().flat_map(bootstrap::objects);
    made.filter_map(|object| role_id(object.text_at("apiVersion"), object.text_at("kind"), object))
        .chain(names.map(role))
}

/// The version of RBAC objects.
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Refuses every file that was read and whose name, or the name of a folder that it is in, cannot be seen as it is.
fn refuse_names(files: &Files, sink: &mut Sink) {
    let hidden: BTreeSet<String> = files.paths().iter().filter_map(|path| names::escaped(path)).collect();
    for path in hidden {
        sink.push(
            Diagnostic::error(
                codes::HIDDEN_CHARACTER_IN_NAME,
                format!("the file name `{path}` contains invisible characters"),
            )
            .help("rename the file or its folder"),
        );
    }
}

/// Returns the objects of clusters beside the output.
fn read_baselines(
    workspace: &WorkspaceSettings,
    sources: &mut Sources,
    sink: &mut Sink,
) -> Result<BTreeMap<String, Vec<Tree>>, RunError> {
    let mut baselines = BTreeMap::new();
    for target in workspace.targets.iter().filter(|target| target.baseline.is_some()) {
        let mut trees = Vec::new();
        each_baseline(target, sources, sink, &mut |tree, _| trees.push(tree))?;
        baselines.insert(target.name.clone(), trees);
    }
    Ok(baselines)
}

/// Reads what the cluster of a target has beside the output, by the `baseline` that the workspace names.
///
/// # Errors
/// When a file is there and the system does not let it be read.
pub fn each_baseline(
    target: &Target,
    sources: &mut Sources,
    sink: &mut Sink,
    visit: &mut dyn FnMut(Tree, &mut Sink),
) -> Result<(), RunError> {
    let Some(baseline) = &target.baseline else { return Ok(()) };
    let named_at = Some(baseline.origin);
    let is_manifest = |path: &&String| [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
    let mut paths: Vec<String> = sources.list(baseline, named_at)?.iter().filter(is_manifest).cloned().collect();
    if paths.is_empty() {
        paths.push(baseline.value.clone());
    }
    for path in paths {
        let before = sink.len();
        match sources.passing_text(&path, named_at, sink)? {
            Some((file, text)) => {
                let tree = yaml::read(&text, file, sink);
                report_page(&tree, sink);
                visit(tree, sink);
            }
            None if sink.len() > before => {}
            None => sink.push(
                Diagnostic::error(codes::MISSING_FILE, format!("there is no file or folder `{path}`"))
                    .at(baseline.origin)
                    .help(format!("the target `{}` names it as its `baseline`", target.name)),
            ),
        }
    }
    sources.report_refused(sink);
    Ok(())
}

/// Refuses an output folder or a delivery folder with inputs: a run can overwrite and remove its files. Files of `spec.keep` stay,
/// and a Manifests policy may read them.
fn refuse_sources_in_output(
    workspace: &WorkspaceSettings,
    sources: &mut Sources,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let below = |path: &str, folder: &str| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
    // `spec.keep` keeps files of the output folder alone.
    let stays = |folder: &str, below: &str| folder == workspace.output && workspace.keep.is_match(below);
    let in_danger = |path: &str| {
        workspace.written_folders().find(|folder| below(path, folder).is_some_and(|below| !stays(folder, &below)))
    };
    let found = sources.asked().find_map(|path| Some((path.to_owned(), in_danger(path)?)));
    let Some((path, folder)) = found else { return Ok(()) };
    let tree = sources.tree(WORKSPACE_FILE, None, sink)?;
    let root = tree.as_ref().and_then(|tree| tree.document(0));
    let written = root.and_then(|root| root.path(&["spec", "output"]).or(Some(root)));
    let message = format!("the output folder `{folder}` contains the input file `{path}`");
    let found = Diagnostic::error(codes::INVALID_WORKSPACE, message)
        .help("use a separate folder for the output: the program can overwrite or remove every file in it");
    sink.push(written.map_or(found.clone(), |written| found.at(written.origin())));
    Ok(())
}

/// Reports a list with only a part of its objects, as `limit` of a request cuts it off: an answer about it would be wrong.
pub fn report_page(tree: &Tree, sink: &mut Sink) {
    let Some(list::ListPage { field, remaining }) = list::first_page(tree) else { return };
    let more = remaining.map_or_else(
        || "more objects".to_owned(),
        |count| number(usize::try_from(count).map_or(usize::MAX, |count| count), "more object"),
    );
    let message = format!("this list is not complete: its cluster has {more}");
    sink.push(
        Diagnostic::error(codes::INCOMPLETE_DUMP, message)
            .at(field.origin())
            .help("write the list without `limit`, as `kubectl get KINDS -A -o yaml` does"),
    );
}
