//! Reads a workspace and links its policies.

use crate::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Project, known, order};
use crate::admission::scc::defaults;
use crate::diag::{Code, Diagnostic, Files, Origin, RunError, Sink, Span, nearest};
use crate::k8s::list;
use crate::kinds::{self, KindEntry};
use crate::label;
use crate::model::{
    Identity, KnownSpec, Linker, Namespaces, ObjectType, Patterns, Policy, PolicyMeta, RawDocument, RawWorkspace,
    RoleKind, Scope, Surroundings, Target, Workspace, WorkspaceSpec, check_patterns,
};
use crate::render::TemplateSet;
use crate::source::{Sources, World, names};
use crate::validate::Trees;
use crate::yaml::de::from_node;
use crate::yaml::{self, NodeRef, Tree};

/// The name of the workspace file.
pub const WORKSPACE_FILE: &str = "bailiwick.yaml";

/// Reads the workspace file of a world. None when it cannot be used; why is then in the sink.
///
/// # Errors
/// When the file cannot be read.
pub fn load_workspace(sources: &mut Sources, sink: &mut Sink) -> Result<Option<Workspace>, RunError> {
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
    let schema = kinds::compiled_workspace_schema()?;
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
            let Some(mut workspace) = Workspace::link(raw, root, sink).filter(|_| !sink.has_errors()) else {
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

/// Reads and links every policy of a world. None when some input cannot be used; why is then in the sink. After errors
/// that leave the policies readable there is a project, so that the objects are judged in the same run.
///
/// # Errors
/// When a file cannot be read.
pub fn load(world: Box<dyn World>, files: Arc<Files>, sink: &mut Sink) -> Result<Option<Project>, RunError> {
    let mut sources = Sources::new(world, Arc::clone(&files));
    let Some(workspace) = load_workspace(&mut sources, sink)? else {
        return Ok(None);
    };
    let trees = read_policies(&workspace, &mut sources, sink)?;
    let templates = TemplateSet::load(&workspace.templates, &mut sources, sink)?;
    let mut documents: Vec<Document> = Vec::new();
    let mut strays: Vec<(String, Origin)> = Vec::new();
    for (path, tree) in &trees {
        for (index, root) in tree.documents().enumerate() {
            match policy_kind(root, sink) {
                Found::Policy(kind) => {
                    documents.push(Document { path: path.clone(), tree: Arc::clone(tree), index, kind })
                }
                Found::Stray => strays.push((path.clone(), root.origin())),
                Found::Unknown => {}
            }
        }
    }
    documents.sort_by_key(|document| kinds::ALL.iter().position(|entry| entry.name == document.kind.name));
    let mut linker = Linker::new(&workspace.targets, &mut sources);
    let mut linked = Linked::default();
    for document in &documents {
        linker.announce(document.kind.name, document.name().unwrap_or_default());
    }
    let mut previous = None;
    for document in &order::by_inclusion(documents, sink) {
        if previous.replace(document.kind.name) != Some(document.kind.name) {
            linker.learn();
        }
        link(document, &mut linker, &mut linked, sink)?;
    }
    linker.learn();
    kinds::weigh_stacks(&linker, sink);
    report_strays(strays, &linker.claimed, sink);
    if !sink.has_errors() {
        // After a mistyped reference the policy it meant would seem unused.
        report_unused(&linker, sink);
    }
    let mut surroundings = Surroundings { namespaces: Namespaces::default(), providers: &linker.providers };
    if linked.policies.iter().any(|policy| policy.selects_namespaces()) {
        surroundings.namespaces = Namespaces::of(&linked.policies, &workspace.targets);
    }
    let mut settled = Sink::new();
    linked.policies.iter_mut().for_each(|policy| policy.settle(&surroundings, &mut settled));
    // A selector may fit the namespaces of accounts that could not be read.
    let is_certain = |found: &Diagnostic| !(linker.lacks_accounts && found.code == codes::SELECTS_NO_NAMESPACE);
    settled.into_list().into_iter().filter(is_certain).for_each(|found| sink.push(found));
    let mut accepting: BTreeMap<(Code, Origin), usize> = BTreeMap::new();
    linked.accepted_there.iter().for_each(|accepted| *accepting.entry(*accepted).or_default() += 1);
    let by_all = accepting.into_iter().filter(|((_, origin), count)| linked.brought.get(origin) == Some(count));
    linked.accepted.extend(by_all.map(|(accepted, _)| accepted));
    let baselines = read_baselines(&workspace, linker.sources, sink)?;
    linker.sources.report_refused(sink);
    refuse_sources_in_output(&workspace, linker.sources, sink)?;
    let mut existing = std::mem::take(&mut linker.existing);
    for target in &workspace.targets {
        let roles = baselines.get(&target.name).into_iter().flatten().flat_map(roles_of_baseline);
        existing.entry(target.name.clone()).or_default().extend(roles.chain(roles_of_platform(target)));
    }
    let surroundings = known::Surroundings {
        policies: &linked.policies,
        mentions: &linker.mentions,
        targets: &workspace.targets,
        baselines: &baselines,
        files: &files,
        lacks_accounts: linker.lacks_accounts,
    };
    known::check(&surroundings, sink);
    let expiries = std::mem::take(&mut linker.expiries);
    let apis = std::mem::take(&mut linker.apis);
    let custom_fields = std::mem::take(&mut linker.custom_fields);
    let access_checks = std::mem::take(&mut linker.access_checks);
    kinds::node_access::unknown_pools(&linker.node_access, sink);
    let node_access = std::mem::take(&mut linker.node_access);
    let stacks = std::mem::take(&mut linker.stacks);
    let stack_managers = std::mem::take(&mut linker.managers);
    refuse_names(&files, sink);
    let mut by_file = Trees::default();
    trees.into_values().for_each(|tree| by_file.insert(tree));
    if sink.must_stop() {
        // Without a project, no command can give the diagnostics the severities that the workspace sets.
        let diagnostics = std::mem::take(sink).into_list();
        let set = diagnostics.into_iter().filter_map(|diagnostic| workspace.diagnostics.apply(diagnostic));
        set.for_each(|diagnostic| sink.push(diagnostic));
        return Ok(None);
    }
    Ok(Some(Project {
        workspace,
        policies: linked.policies,
        templates: Arc::new(templates),
        files,
        trees: by_file,
        existing,
        baselines,
        apis,
        custom_fields,
        expiries,
        access_checks,
        node_access,
        stacks,
        stack_managers,
        accepted: linked.accepted,
    }))
}

/// The roles that a cluster has beside the output.
fn roles_of_baseline(tree: &Tree) -> impl Iterator<Item = Identity> {
    tree.documents().flat_map(list::typed_objects).filter_map(|(api_version, kind, object)| {
        let is_role = api_version == RBAC && matches!(kind.as_str(), "Role" | "ClusterRole");
        let metadata = object.get("metadata").filter(|_| is_role)?;
        let text = |field: &str| metadata.get(field).and_then(NodeRef::as_str);
        Some(Identity {
            object_type: ObjectType::new(RBAC, &kind),
            namespace: text("namespace").filter(|_| kind == "Role").map(Arc::from),
            name: text("name")?.into(),
        })
    })
}

/// The ClusterRoles that grant the constraints which OpenShift itself makes; none on another platform.
fn roles_of_platform(target: &Target) -> Vec<Identity> {
    let names = label::settings(target).into_iter().flat_map(|settings| defaults::names(settings.release));
    let role = |name| Identity {
        object_type: ObjectType::new(RBAC, "ClusterRole"),
        namespace: None,
        name: defaults::role_name(name).into(),
    };
    names.map(role).collect()
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

/// The objects of clusters beside the output.
fn read_baselines(
    workspace: &Workspace,
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
    let is_manifest = |path: &String| [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
    let mut paths: Vec<String> = sources.list(baseline, named_at)?.into_iter().filter(is_manifest).collect();
    if paths.is_empty() {
        paths.push(baseline.value.clone());
    }
    for path in paths {
        let before = sink.len();
        match sources.passing_text(&path, named_at, sink)? {
            Some((file, text)) => visit(yaml::read(&text, file, sink), sink),
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

/// The output folder may be overwritten and removed: nothing that decides it lies there. Files that `spec.keep` names stay,
/// and a Manifests policy may bring their objects in.
fn refuse_sources_in_output(workspace: &Workspace, sources: &mut Sources, sink: &mut Sink) -> Result<(), RunError> {
    let prefix = format!("{}/", workspace.output);
    let is_in_danger = |path: &&str| path.strip_prefix(&prefix).is_some_and(|below| !workspace.keep.is_match(below));
    let Some(path) = sources.asked().find(is_in_danger).map(str::to_owned) else { return Ok(()) };
    let tree = sources.tree(WORKSPACE_FILE, None, sink)?;
    let root = tree.as_ref().and_then(|tree| tree.document(0));
    let written = root.and_then(|root| root.path(&["spec", "output"]).or(Some(root)));
    let message = format!("the output folder `{}` contains the input file `{path}`", workspace.output);
    let found = Diagnostic::error(codes::INVALID_WORKSPACE, message)
        .help("use a separate folder for the output: the program can overwrite or remove every file in it");
    sink.push(written.map_or(found.clone(), |written| found.at(written.origin())));
    Ok(())
}

/// A policy document that waits to be linked.
pub(super) struct Document {
    pub(super) path: String,
    pub(super) tree: Arc<Tree>,
    /// The index of the document in its file.
    pub(super) index: usize,
    pub(super) kind: &'static KindEntry,
}

impl Document {
    /// The policy's name, where it has one.
    pub(super) fn name(&self) -> Option<&str> {
        self.tree.document(self.index)?.path(&["metadata", "name"])?.as_str()
    }
}

/// The result of linking.
#[derive(Default)]
struct Linked {
    policies: Vec<Box<dyn Policy>>,
    accepted: Vec<(Code, Origin)>,
    /// How many policies bring a document of another file, such as a package that is installed twice.
    brought: BTreeMap<Origin, usize>,
    /// Warnings that policies accept there. A warning counts as accepted if every policy accepts it.
    accepted_there: Vec<(Code, Origin)>,
    names: BTreeMap<(&'static str, Arc<str>), Origin>,
}

fn read_policies(
    workspace: &Workspace,
    sources: &mut Sources,
    sink: &mut Sink,
) -> Result<BTreeMap<String, Arc<Tree>>, RunError> {
    let prefix = format!("{}/", workspace.policies);
    let mut trees = BTreeMap::new();
    for path in sources.list(&workspace.policies, None)? {
        let relative = path.strip_prefix(&prefix).unwrap_or(&path).to_owned();
        if workspace.include.is_match(&relative)
            && !workspace.exclude.is_match(&relative)
            && let Some(tree) = sources.tree(&path, None, sink)?
        {
            trees.insert(path, tree);
        }
    }
    Ok(trees)
}

/// The kind of a document of the policy folder.
enum Found {
    Policy(&'static KindEntry),
    /// Not a policy; a file that some policy claims may hold it.
    Stray,
    /// A policy of a kind that is not there; reported.
    Unknown,
}

fn policy_kind(root: NodeRef<'_>, sink: &mut Sink) -> Found {
    let api_version = root.get("apiVersion");
    let Some(group) = api_version.and_then(NodeRef::as_str).and_then(|version| version.split_once('/')) else {
        return Found::Stray;
    };
    if group.0 != "bailiwick.dev" {
        return Found::Stray;
    }
    if api_version.and_then(NodeRef::as_str) != Some(kinds::API_VERSION) {
        let written = api_version.and_then(NodeRef::as_str).unwrap_or_default();
        sink.push(
            Diagnostic::error(codes::UNKNOWN_KIND, format!("`{written}` is not a version of the policy format"))
                .at(api_version.unwrap_or(root).origin())
                .help(format!("write `{}`", kinds::API_VERSION)),
        );
        return Found::Unknown;
    }
    let kind = root.get("kind");
    let name = kind.and_then(NodeRef::as_str).unwrap_or_default();
    if let Some(entry) = kinds::find(name) {
        return Found::Policy(entry);
    }
    let message = match kind {
        _ if name == kinds::WORKSPACE => "a Workspace is not a policy".to_owned(),
        Some(kind) if kind.as_str().is_none() => format!("the kind of a policy is a string, not {}", kind.describe()),
        Some(_) => format!("there is no policy kind `{name}`"),
        None => "this policy has no `kind`".to_owned(),
    };
    let near = nearest(name, kinds::ALL.iter().map(|entry| entry.name));
    let help = near.filter(|_| name != kinds::WORKSPACE).map_or_else(
        || format!("the kinds are: {}", kinds::ALL.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    let help =
        if name == kinds::WORKSPACE { format!("move it to `{WORKSPACE_FILE}` in the root folder") } else { help };
    sink.push(
        Diagnostic::error(codes::UNKNOWN_KIND, message)
            .at(kind.map_or_else(|| root.beginning(), NodeRef::origin))
            .help(help),
    );
    Found::Unknown
}

/// The parts of a document that every kind has.
struct Head<'t> {
    api_version: &'t str,
    kind: &'t str,
    name: &'t str,
    name_origin: Origin,
    allow: Vec<(&'t str, Origin)>,
    spec: NodeRef<'t>,
}

impl<'t> Head<'t> {
    /// None when the document has another shape; the schema then tells what is wrong.
    fn read(root: NodeRef<'t>) -> Option<Self> {
        let known = |node: NodeRef<'t>, names: &[&str]| {
            node.entries().all(|(key, _)| key.as_str().is_some_and(|key| names.contains(&key)))
        };
        let metadata = root.get("metadata")?;
        let name = metadata.get("name")?;
        let allow = metadata.get("allow");
        let fits = known(root, &["apiVersion", "kind", "metadata", "spec"])
            && known(metadata, &["name", "allow"])
            && allow.is_none_or(|allow| allow.is_seq() && allow.items().all(|code| code.as_str().is_some()));
        let spec = root.get("spec").filter(|spec| spec.is_map())?;
        fits.then_some(())?;
        Some(Self {
            api_version: root.get("apiVersion")?.as_str()?,
            kind: root.get("kind")?.as_str()?,
            name: name.as_str().filter(|name| !name.is_empty())?,
            name_origin: name.origin(),
            allow: allow
                .into_iter()
                .flat_map(NodeRef::items)
                .filter_map(|code| Some((code.as_str()?, code.origin())))
                .collect(),
            spec,
        })
    }
}

fn link(document: &Document, linker: &mut Linker<'_>, linked: &mut Linked, sink: &mut Sink) -> Result<(), RunError> {
    let Some(root) = document.tree.document(document.index) else { return Ok(()) };
    let schema = document.kind.compiled_schema()?;
    // The schema alone has constraints that a type cannot state, such as a list that may not be empty.
    let Some(head) = Head::read(root).filter(|_| schema.fits(root)) else {
        schema.report(root, None, sink);
        return Ok(());
    };
    let name: Arc<str> = head.name.into();
    let key = (document.kind.name, Arc::clone(&name));
    if let Some(first) = linked.names.get(&key) {
        sink.push(
            Diagnostic::error(
                codes::DUPLICATE_POLICY,
                format!("two policies have the name {} `{name}`", document.kind.name),
            )
            .at(head.name_origin)
            .and(*first, "the first one")
            .help("rename one of them"),
        );
        return Ok(());
    }
    linked.names.insert(key, head.name_origin);
    for (code, origin) in &head.allow {
        match codes::find(code) {
            Some(code) => linked.accepted.push((code, root.origin())),
            None => {
                let near = nearest(code, codes::all().iter().map(|code| code.id()));
                sink.push(
                    Diagnostic::error(codes::UNKNOWN_VALUE, format!("there is no diagnostic `{code}`"))
                        .at(*origin)
                        .help_maybe(near.map(|near| format!("did you mean `{near}`?"))),
                );
            }
        }
    }
    let targets = matching_targets(head.spec, linker.targets, sink);
    let meta = PolicyMeta { kind: document.kind.name, name, origin: head.name_origin, targets: Arc::new(targets) };
    let raw = RawDocument { meta, root, spec: head.spec, path: &document.path };
    if document.kind.patterns != Patterns::Own {
        let targets = linker.targets_of(&raw.meta);
        let open = document.kind.patterns == Patterns::Open;
        check_patterns(raw.spec, Scope { accounts: None, targets: &targets, open }, sink);
    }
    match document.kind.link(&raw, linker, sink) {
        Ok(Some(policy)) => {
            let codes: Vec<Code> = head.allow.iter().filter_map(|(code, _)| codes::find(code)).collect();
            policy.brought(&mut |origin| {
                *linked.brought.entry(origin).or_default() += 1;
                linked.accepted_there.extend(codes.iter().map(|code| (*code, origin)));
            });
            linked.policies.push(policy);
        }
        Ok(None) => {}
        Err(error) => {
            schema.report(root, Some(error), sink);
        }
    }
    Ok(())
}

/// The names of the targets that `spec.targets` matches; all of them without it.
fn matching_targets(spec: NodeRef<'_>, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let Some(globs) = spec.get("targets").filter(|globs| !globs.is_empty()) else {
        return targets.iter().map(|target| target.name.clone()).collect();
    };
    let mut found = BTreeSet::new();
    for glob in globs.items() {
        let Some(text) = glob.as_str() else { continue };
        let Ok(matcher) = globset::Glob::new(text) else {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("`{text}` is not a glob"))
                    .at(glob.origin())
                    .help("`*` matches any text, such as `prod-*`; close every `[` and `{`"),
            );
            continue;
        };
        let matcher = matcher.compile_matcher();
        let before = found.len();
        found.extend(targets.iter().filter(|target| matcher.is_match(&target.name)).map(|target| target.name.clone()));
        let matched = targets.iter().any(|target| matcher.is_match(&target.name));
        if found.len() == before && !matched {
            let near = nearest(text, targets.iter().map(|target| target.name.as_str()));
            sink.push(
                Diagnostic::error(codes::UNKNOWN_TARGET, format!("no target matches `{text}`")).at(glob.origin()).help(
                    near.map_or_else(
                        || {
                            format!(
                                "the targets are: {}",
                                targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ")
                            )
                        },
                        |near| format!("did you mean `{near}`?"),
                    ),
                ),
            );
        }
    }
    found
}

fn report_strays(strays: Vec<(String, Origin)>, claimed: &BTreeSet<String>, sink: &mut Sink) {
    for (path, mut origin) in strays.into_iter().filter(|(path, _)| !claimed.contains(path)) {
        origin.span.end = origin.span.start + 1;
        let file = path.rsplit('/').next().unwrap_or_default();
        sink.push(
            Diagnostic::error(codes::NOT_A_POLICY, "this document is not a policy")
                .at(origin)
                .help(format!("a policy begins with `apiVersion: {}`", kinds::API_VERSION))
                .help(format!("to bring in plain manifests, name the file in a Manifests policy: `files: [{file}]`")),
        );
    }
}

/// Policies with account variables exist for tenancies only.
fn report_unused(linker: &Linker<'_>, sink: &mut Sink) {
    let sets = linker.permission_sets.unused().map(|set| {
        let alone = set.content.role_kind == RoleKind::ClusterRole && set.variables.is_empty();
        (&set.meta, alone)
    });
    let profiles = linker.profiles.unused().map(|profile| (&profile.meta, profile.variables.is_empty()));
    for (meta, stands_alone) in sets.chain(profiles) {
        if !stands_alone {
            sink.push(
                Diagnostic::warning(codes::UNUSED_POLICY, format!("no policy uses the {} `{}`", meta.kind, meta.name))
                    .at(meta.origin)
                    .help("bind it in a Grant or a Tenancy, or remove it"),
            );
        }
    }
}
