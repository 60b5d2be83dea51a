//! `Manifests`: plain manifests brought in.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::absent::group_and_version;
use bailiwick_kubernetes::catalogue::{Api, FIRST_MINOR, Resource, read_custom};
use bailiwick_kubernetes::custom_fields::CustomFields;
use bailiwick_kubernetes::rbac::{self, RbacForm};
use bailiwick_kubernetes::server_fields::{self, ServerField};
use bailiwick_kubernetes::user_group;
use bailiwick_kubernetes::{list, names};
use bailiwick_yaml::diag::words::{grouped, number};
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeId, NodeRef, Spanned, Tree};
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::matching_files::{GlobMatches, matchers, matches};
use crate::model::{
    AnalyzedManifest, Category, CommonMetadataSpec, Contribution, Data, DependentPolicy, ExistingObjects,
    ForeignDocuments, GroupMembers, Kind, Linker, Mention, MentionedBy, Mentions, ObjectId, OutputFileKey, Pattern,
    Patterns, Policy, PolicyMeta, PolicyNamespace, RawDocument, Surroundings, Target, TypeMeta, Unit, UnitSource,
    WrittenManifests, WrittenNamespaces, shared_text, subjects,
};
use crate::source::ManifestFile;
use crate::source::manifests::SkippedFiles;

/// The policy kind `Manifests`.
pub struct ManifestsKind;

/// Plain Kubernetes manifests as part of the workspace. Bailiwick checks them, and either writes them to the output in
/// the form of compiled objects or only analyzes them.
///
/// The metadata of every object is checked by the rules of the API server. Objects of built-in kinds are checked for
/// unknown fields, types and enum values at the version of each target. RBAC objects, Namespaces, quotas, limits,
/// NetworkPolicies, PodSecurityPolicies, SecurityContextConstraints and admission policies are checked by all rules of
/// the server. `render` and `check` print the number of objects with fewer checks.
///
/// The objects may come from a cluster: fields that the API server sets, such as `status` and `metadata.uid`, are left out,
/// and a note counts them (`server-field`).
///
/// A CustomResourceDefinition adds its custom resources to the targets, whether it is written or not. Rules may then
/// omit the group of these resources, and Bailiwick finds mistakes in rules and objects about them. Custom resources
/// are checked by the schema of their definition: unknown fields, types, required fields, enum values, patterns and
/// bounds. `x-kubernetes-validations`, `allOf`, `anyOf`, `oneOf`, `not`, `format` and patterns outside JSON Schema,
/// such as `(?i)`, are not checked.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Manifests
/// metadata:
///   name: operators
/// spec:
///   files: [operators/*.yaml]
///   emit: false
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ManifestsSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// Globs of the manifest files, relative to the folder of this policy. Files without objects, such as a `kustomization.yaml`,
    /// values and templates of a chart, are skipped and counted (`skipped-file`). A path without wildcards names a file that
    /// has to hold objects. A hidden file matches no glob, and is read by its path.
    #[schemars(length(min = 1))]
    pub files: Vec<Spanned<String>>,
    /// Globs of files that are not read, even if `files` matches them, in the same form.
    #[serde(default)]
    pub exclude: Vec<Spanned<String>>,
    /// The namespace of objects of namespaced kinds without a namespace. Subjects of bindings stay as they are.
    #[serde(default)]
    pub namespace: Option<Spanned<String>>,
    /// False when the objects are only evaluated: others may refer to them, and nothing is written. Default: true.
    #[serde(default = "yes")]
    pub emit: bool,
}

fn yes() -> bool {
    true
}

impl Kind for ManifestsKind {
    type Spec = ManifestsSpec;

    const NAME: &'static str = "Manifests";
    const TEMPLATES: &'static [&'static str] = &["manifests/object.yaml.j2"];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: ManifestsSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let namespace = spec.namespace.as_ref().map(|name| checked_namespace(name, sink));
        let Contents { mut objects, custom, custom_fields, named, trees } =
            Contents::read(document, &spec, linker, sink);
        let odd_items = || trees.iter().flat_map(|tree| tree.documents()).filter_map(list::odd_items);
        odd_items().filter(|_| spec.emit).for_each(|place| sink.push(read_as_list(place)));
        let apis: Vec<&Api> = document.meta.targets.iter().filter_map(|target| linker.apis.get(target)).collect();
        let warnings = objects.iter_mut().filter_map(|object| object.settle_namespace(&apis, None));
        warnings.filter(|_| spec.emit).for_each(|warning| sink.push(warning));
        objects
            .iter()
            .filter(|object| spec.emit && object.is_legacy_rbac())
            .for_each(|object| sink.push(object.legacy_rbac()));
        let is_there = |object: &&Object| !spec.emit || &*object.identity.object_type.kind == "ClusterRole";
        let existing = objects.iter().filter(is_there).map(|object| object.identity.clone());
        let targets = || Arc::clone(&document.meta.targets);
        let existing = ExistingObjects { objects: existing.collect(), targets: targets() };
        if !existing.objects.is_empty() {
            linker.facts.push(existing);
        }
        linker.bring(&document.meta.targets, &custom);
        linker.bring_fields(&document.meta.targets, &custom_fields);
        for (by, names) in [(MentionedBy::Made, made(&objects)), (MentionedBy::Manifest, mentions(named))] {
            if !names.is_empty() {
                linker.facts.push(Mentions::new(document.meta.clone(), by, names));
            }
        }
        trees.iter().flat_map(|tree| tree.documents()).flat_map(list::objects).for_each(|object| {
            group_members(object, &document.meta).into_iter().for_each(|members| linker.facts.push(members));
        });
        let namespaces = objects.iter().filter_map(Object::namespace).collect();
        let objects = if spec.emit { objects } else { Vec::new() };
        let mut origins: Vec<Origin> = objects.iter().map(|object| object.origin).collect();
        for tree in trees.into_iter().filter(|_| !spec.emit) {
            origins.extend(tree.documents().map(NodeRef::origin));
            linker.facts.push(AnalyzedManifest { tree, targets: targets() });
        }
        linker.facts.push(ForeignDocuments { origins, policy: document.meta.clone() });
        linker.facts.push(WrittenManifests { counts: counts(&objects), targets: targets() });
        let is_namespace = |object: &&Object| object.identity.object_type == TypeMeta::new("v1", "Namespace");
        let origins = objects.iter().filter(is_namespace).map(|object| object.origin).collect();
        linker.facts.push(WrittenNamespaces { origins, targets: targets() });
        let namespace = namespace.map(str::to_owned);
        Some(Box::new(Linked { meta: document.meta.clone(), objects, namespace, namespaces }))
    }
}

/// Returns the files of a policy by their paths: the place of the first glob of each, and whether some glob is its path.
fn files_of<'m>(
    document: &RawDocument<'_>,
    spec: &ManifestsSpec,
    matches: &'m [GlobMatches],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> BTreeMap<&'m str, (Origin, bool)> {
    let excluded = matchers(document, &spec.exclude, sink);
    let mut files: BTreeMap<&str, (Origin, bool)> = BTreeMap::new();
    for found in matches {
        for path in &found.paths {
            linker.claimed.insert(path.clone());
            if excluded.iter().any(|excluded| excluded.is_match(path)) {
                linker.sources.exclude(path);
            } else {
                files.entry(path).or_insert((found.origin, false)).1 |= found.is_path;
            }
        }
    }
    files
}

/// Returns the warning for a glob that matches files without objects alone.
fn without_objects(found: &GlobMatches) -> Diagnostic {
    Diagnostic::warning(codes::NO_OBJECTS, "no file that this glob matches holds an object")
        .at(found.origin)
        .help("remove the glob, or correct it; `--list-skipped` prints why each file is skipped")
}

/// Returns the error for `items` without a list of objects.
fn read_as_list(place: NodeRef<'_>) -> Diagnostic {
    let message = "every client takes an object with `items` for a list of objects";
    Diagnostic::error(codes::SEVERAL_READINGS, message)
        .at(place.origin())
        .help("write a list of objects, of a kind that ends in `List`; no applier can apply another kind with `items`")
}

/// Returns a tree in which the items of lists have their types, and objects without a namespace have this one.
fn filled(tree: Arc<Tree>, namespace: Option<&str>) -> Arc<Tree> {
    let mut tree = list::with_types(&tree).map_or(tree, Arc::new);
    if let Some(namespace) = namespace {
        list::fill_namespace(Arc::make_mut(&mut tree), namespace);
    }
    tree
}

/// Returns the name of a namespace; reports an invalid name.
fn checked_namespace<'n>(name: &'n Spanned<String>, sink: &mut Sink) -> &'n str {
    if let Some(message) = names::namespace_problem(&name.value) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, message)
                .at(name.origin)
                .help("write a name of lower-case letters, digits and `-`"),
        );
    }
    &name.value
}

/// Returns the minor of the oldest target.
fn oldest_minor(targets: &[Target]) -> u32 {
    targets.iter().map(|target| target.version.minor()).min().map_or(FIRST_MINOR, |minor| minor)
}

/// The contents of the files of a policy.
#[derive(Default)]
struct Contents {
    objects: Vec<Object>,
    /// The custom resources of the definitions among the objects.
    custom: Vec<Resource>,
    /// The fields of the custom resources.
    custom_fields: Vec<Arc<CustomFields>>,
    /// The subjects and namespaces that the objects name.
    named: BTreeSet<(Category, String)>,
    trees: Vec<Arc<Tree>>,
}

impl Contents {
    /// Reads the files of a policy, without the files that hold no objects.
    fn read(document: &RawDocument<'_>, spec: &ManifestsSpec, linker: &mut Linker<'_>, sink: &mut Sink) -> Self {
        let minor = oldest_minor(&linker.targets_of(&document.meta));
        let namespace = spec.namespace.as_ref().map(|name| name.value.as_str());
        let matches = matches(document, &spec.files, linker, sink);
        let files = files_of(document, spec, &matches, linker, sink);
        let (mut contents, mut skipped) = (Self::default(), SkippedFiles::default());
        let mut with_objects: BTreeSet<&str> = BTreeSet::new();
        for (path, (named_at, is_path)) in &files {
            // A file that is named on its own has to hold objects.
            let read = match is_path {
                true => {
                    let tree = linker.sources.tree(path, Some(*named_at), sink);
                    tree.map(|tree| tree.map(|tree| ManifestFile { tree, cause: None }))
                }
                false => linker.sources.manifests(path, Some(*named_at), sink),
            };
            match read {
                Ok(Some(ManifestFile { cause: Some(cause), .. })) => skipped.add(cause, (*path).to_owned()),
                Ok(Some(ManifestFile { tree, .. })) => {
                    with_objects.insert(path);
                    contents.add(filled(tree, namespace), minor, sink);
                }
                Ok(None) => {}
                Err(error) => sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(*named_at)),
            }
        }
        let has_errors = sink.has_errors();
        let is_vain = |found: &&GlobMatches| !found.paths.iter().any(|path| with_objects.contains(path.as_str()));
        let vain = matches.iter().filter(|found| !has_errors && !found.paths.is_empty()).filter(is_vain);
        vain.for_each(|found| sink.push(without_objects(found)));
        let of = format!(" of {}/{}", document.meta.kind, document.meta.name);
        let note = skipped.note(files.len(), &of).map(|note| note.at(document.meta.origin));
        note.into_iter().for_each(|note| sink.push(note));
        contents
    }

    /// Adds the objects of a file.
    fn add(&mut self, tree: Arc<Tree>, minor: u32, sink: &mut Sink) {
        let manifest = Manifest::new(&tree, minor);
        for object in tree.documents().flat_map(list::objects) {
            manifest.read_object(object, &mut self.objects, &mut self.custom, sink);
            note_names(object, &mut self.named);
            self.custom_fields.extend(CustomFields::read(&tree, object).into_iter().map(Arc::new));
        }
        drop(manifest);
        self.trees.push(tree);
    }
}

/// A text with manifests, with the fields of its objects that the server sets.
struct Manifest<'t> {
    /// The fields of each object, by its root.
    server_fields: BTreeMap<NodeId, Vec<ServerField>>,
    /// The tree without the fields.
    tree: Cow<'t, Tree>,
}

impl<'t> Manifest<'t> {
    /// Finds the fields that the server of a minor sets.
    fn new(tree: &'t Tree, minor: u32) -> Self {
        let objects = tree.documents().flat_map(list::objects);
        let found = objects.map(|object| (object.id(), server_fields::find(object, minor)));
        let server_fields: BTreeMap<NodeId, Vec<ServerField>> =
            found.filter(|(_, fields)| !fields.is_empty()).collect();
        let mut tree = Cow::Borrowed(tree);
        for (root, fields) in &server_fields {
            let fields = fields.iter().map(|field| field.node).collect();
            server_fields::remove(tree.to_mut(), *root, &fields);
        }
        Self { server_fields, tree }
    }

    /// Adds an object, without the fields that the server sets; reports a document that is no object.
    fn read_object(&self, root: NodeRef<'_>, objects: &mut Vec<Object>, custom: &mut Vec<Resource>, sink: &mut Sink) {
        let text = |keys: &[&str]| root.path(keys).and_then(NodeRef::as_str);
        let (Some(api_version), Some(kind)) = (text(&["apiVersion"]), text(&["kind"])) else {
            sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, "this document is not a Kubernetes object")
                    .at(root.origin())
                    .help("add `apiVersion`, `kind` and `metadata`"),
            );
            return;
        };
        let Some(name) = text(&["metadata", "name"]) else {
            sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, format!("this {kind} has no name"))
                    .at(root.get("metadata").unwrap_or(root).origin())
                    .help("add `metadata.name`: git cannot track a generated name"),
            );
            return;
        };
        custom.extend(read_custom(root));
        let dropped = self.server_fields.get(&root.id()).map_or(&[][..], Vec::as_slice);
        let dropped = dropped.iter().filter(|field| !field.is_empty).map(|field| field.path.clone()).collect();
        objects.push(Object {
            identity: ObjectId {
                object_type: TypeMeta::new(api_version, kind),
                namespace: text(&["metadata", "namespace"]).map(Arc::from),
                name: name.into(),
            },
            data: Data::map([(shared_text("object"), Data::from_node(self.tree.at(root.id())))]),
            origin: root.origin(),
            dropped,
            status: root.get(STATUS).map(Data::from_node),
            is_being_deleted: server_fields::is_being_deleted(root),
            namespace_origin: root.path(&["metadata", "namespace"]).map(NodeRef::origin),
            role: root.path(&["roleRef", "name"]).map(NodeRef::origin),
        });
    }
}

/// The field for the state of an object.
const STATUS: &str = "status";

impl Object {
    /// Whether this is a role or binding of OpenShift 3.
    fn is_legacy_rbac(&self) -> bool {
        let ObjectId { object_type, .. } = &self.identity;
        RbacForm::of_api_version(&object_type.api_version) == Some(RbacForm::Openshift)
            && matches!(&*object_type.kind, "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding")
    }

    fn legacy_rbac(&self) -> Diagnostic {
        let TypeMeta { api_version, kind } = &self.identity.object_type;
        let message = format!("{} has the API version `{api_version}` of OpenShift 3", self.identity);
        Diagnostic::warning(codes::LEGACY_RBAC_KIND, message)
            .at(self.origin)
            .note(format!("OpenShift stores it as a {kind} of `{}/v1`", rbac::GROUP))
            .help(format!("write the {kind} of `{}/v1`", rbac::GROUP))
    }
}

/// Counts the objects of each type.
fn counts(objects: &[Object]) -> HashMap<TypeMeta, usize> {
    let mut counts: HashMap<TypeMeta, usize> = HashMap::new();
    for object in objects {
        *counts.entry_ref(&object.identity.object_type).or_default() += 1;
    }
    counts
}

/// Returns the users and groups created by manifests: only OpenShift has objects for them.
fn made(objects: &[Object]) -> Vec<Mention> {
    let made = objects.iter().filter_map(|object| {
        let ObjectId { object_type, name, .. } = &object.identity;
        let category = match (&*object_type.api_version, &*object_type.kind) {
            ("user.openshift.io/v1", "User") => Category::Users,
            ("user.openshift.io/v1", "Group") => Category::Groups,
            _ => return None,
        };
        Some(Mention { category, text: Pattern::constant(name), origin: object.origin, repeated: Vec::new() })
    });
    made.collect()
}

/// Returns the members of a group of OpenShift; none for another object.
fn group_members(object: NodeRef<'_>, policy: &PolicyMeta) -> Option<GroupMembers> {
    let users = user_group::members(object.text_at("apiVersion"), object.text_at("kind"), object)?;
    let users = users.filter_map(|user| Some(Spanned::new(user.as_str()?.to_owned(), user.origin()))).collect();
    let group = object.path(&["metadata", "name"]).and_then(NodeRef::as_str)?.to_owned();
    Some(GroupMembers { group, origin: object.origin(), users, policy: policy.clone() })
}

/// Records the subjects and the namespace of a manifest.
fn note_names(object: NodeRef<'_>, found: &mut BTreeSet<(Category, String)>) {
    let namespace = object.path(&["metadata", "namespace"]).and_then(NodeRef::as_str);
    let names = namespace.into_iter().map(|name| (Category::Namespaces, name)).chain(subjects(object));
    found.extend(names.map(|(category, name)| (category, name.to_owned())));
}

/// Names without places, since nothing is reported of them.
fn mentions(found: BTreeSet<(Category, String)>) -> Vec<Mention> {
    let mention = |(category, name): (Category, String)| {
        let text = Pattern::constant(&name);
        Mention { category, text, origin: Origin::default(), repeated: Vec::new() }
    };
    found.into_iter().map(mention).collect()
}

struct Object {
    identity: ObjectId,
    data: Data,
    origin: Origin,
    /// The paths of the fields that are left out because the server sets them.
    dropped: Vec<String>,
    /// The status, until the definitions of custom resources are known.
    status: Option<Data>,
    is_being_deleted: bool,
    /// The place of the namespace.
    namespace_origin: Option<Origin>,
    /// The place of the name of the role of a binding.
    role: Option<Origin>,
}

impl Object {
    /// Leaves the namespace of an object of a cluster-scoped kind out, as the API server does, and gives `default` to an object
    /// of a namespaced kind without a namespace. Returns the warning about the namespace that is left out.
    fn settle_namespace(&mut self, apis: &[&Api], default: Option<&str>) -> Option<Diagnostic> {
        let TypeMeta { api_version, kind } = &self.identity.object_type;
        let is_namespaced = apis.iter().find_map(|api| api.catalogue().is_namespaced(api_version, kind))?;
        if is_namespaced && self.identity.namespace.is_none() {
            let object = self.data.get("object");
            let own = Data::map([("namespace", Data::text(default?))]);
            let metadata = object?.get("metadata")?.merged_with(&own);
            let object = object?.merged_with(&Data::map([("metadata", metadata)]));
            self.data = Data::map([("object", object)]);
            self.identity.namespace = default.map(Arc::from);
        }
        if is_namespaced || self.identity.namespace.is_none() {
            return None;
        }
        let message = format!("a {kind} is cluster-scoped: the namespace is left out");
        self.identity.namespace = None;
        self.data = self.data.without(&["object", "metadata", "namespace"]);
        let warning = Diagnostic::warning(codes::NAMESPACE_ON_CLUSTER_SCOPED, message);
        let warning = warning.at(self.namespace_origin.map_or(self.origin, |place| place));
        let warning = warning.help("remove `metadata.namespace`: the API server drops it silently");
        Some(warning.note(format!("in {}", self.identity)).foldable())
    }

    /// Takes the status back if a create stores it: the custom resource has no subresource for the status.
    fn settle_status(&mut self, apis: &[&Api]) {
        let Some(status) = self.status.take() else { return };
        let (group, version) = group_and_version(&self.identity.object_type.api_version);
        let kind = &self.identity.object_type.kind;
        let found = apis.iter().filter_map(|api| api.catalogue().find_kind(group, kind));
        let Some(object) =
            self.data.get("object").filter(|_| found.into_iter().any(|found| found.stores_status(version)))
        else {
            return;
        };
        self.data = Data::map([("object", object.merged_with(&Data::map([(STATUS, status)])))]);
        self.dropped.retain(|path| path != STATUS);
    }

    fn is_namespace(&self) -> bool {
        &*self.identity.object_type.kind == "Namespace" && &*self.identity.object_type.api_version == "v1"
    }

    /// Returns a Namespace object with its labels and annotations.
    fn namespace(&self) -> Option<DeclaredNamespace> {
        let metadata = self.data.get("object").and_then(|object| object.get("metadata"));
        let map = |field| metadata.and_then(|metadata| metadata.get(field)).map_or(Data::Null, Data::clone);
        let name = Arc::clone(&self.identity.name);
        self.is_namespace().then(|| DeclaredNamespace { name, labels: map("labels"), annotations: map("annotations") })
    }

    fn output_file(&self) -> OutputFileKey {
        if self.is_namespace() {
            return OutputFileKey::Namespace(Arc::clone(&self.identity.name));
        }
        self.identity
            .namespace
            .as_ref()
            .map_or(OutputFileKey::Cluster, |namespace| OutputFileKey::Namespace(Arc::clone(namespace)))
    }
}

/// A Namespace object of a manifest.
struct DeclaredNamespace {
    name: Arc<str>,
    labels: Data,
    annotations: Data,
}

struct Linked {
    meta: PolicyMeta,
    objects: Vec<Object>,
    /// The namespace of objects without one.
    namespace: Option<String>,
    /// Namespaces, even if no object is written.
    namespaces: Vec<DeclaredNamespace>,
}

impl DependentPolicy for Linked {
    fn needs_namespaces(&self) -> bool {
        false
    }

    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, sink: &mut Sink) {
        let apis = &surroundings.linker.apis;
        let apis: Vec<&Api> = self.meta.targets.iter().filter_map(|target| apis.get(target)).collect();
        for object in &mut self.objects {
            object
                .settle_namespace(&apis, self.namespace.as_deref())
                .into_iter()
                .for_each(|warning| sink.push(warning));
            object.settle_status(&apis);
        }
        self.dropped_fields().into_iter().for_each(|note| sink.push(note));
    }
}

impl Linked {
    /// Counts the fields that are left out of the objects; none if there are none.
    fn dropped_fields(&self) -> Option<Diagnostic> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let dropping = || self.objects.iter().filter(|object| !object.dropped.is_empty());
        dropping().flat_map(|object| &object.dropped).for_each(|path| *counts.entry(path).or_default() += 1);
        let mut by_count: Vec<(&str, usize)> = counts.into_iter().collect();
        by_count.sort_by_key(|(_, count)| Reverse(*count));
        let all = by_count.iter().map(|(_, count)| count).sum();
        let were = if all == 1 { "was" } else { "were" };
        let listed: Vec<String> = by_count.iter().map(|(path, count)| format!("{} {path}", grouped(*count))).collect();
        let message = format!(
            "{} that the server sets {were} left out of {} of {}/{}: {}{}",
            number(all, "field"),
            number(dropping().count(), "object"),
            self.meta.kind,
            self.meta.name,
            listed.join(", "),
            self.being_deleted()
        );
        let note = Diagnostic::remark(codes::SERVER_FIELD, message).at(self.meta.origin);
        let note = dropping()
            .fold(note, |note, object| note.note(format!("{}: {}", object.identity, object.dropped.join(", "))));
        (all > 0).then(|| note.help("`--list-dropped` names them"))
    }

    /// Names the objects that are being deleted, as the end of a message.
    fn being_deleted(&self) -> String {
        let mut names = self.objects.iter().filter(|object| object.is_being_deleted).map(|object| &object.identity);
        let named: Vec<String> = names.by_ref().take(NAMED_DELETED).map(ToString::to_string).collect();
        match (named.as_slice(), names.count()) {
            ([], _) => String::new(),
            (_, 0) => format!("; being deleted: {}", named.join(", ")),
            (_, more) => format!("; being deleted: {} and {}", named.join(", "), number(more, "more object")),
        }
    }
}

/// How many objects that are being deleted a note names.
const NAMED_DELETED: usize = 5;

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        Some(self)
    }

    fn namespaces(&self, _: &Target, visit: &mut dyn FnMut(&Arc<str>, PolicyNamespace<'_>)) {
        for DeclaredNamespace { name, labels, annotations } in &self.namespaces {
            visit(name, PolicyNamespace { labels, annotations: &|| annotations.clone(), account: None });
        }
    }

    fn contributions(&self, _: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, object) in self.objects.iter().enumerate() {
            visit(object.output_file(), Contribution::try_from(index).unwrap_or_default());
        }
    }

    fn expand(&self, _: &Target, _: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.objects.get(part as usize).map(|object| Unit {
            identity: object.identity.clone(),
            template: "manifests/object.yaml.j2".into(),
            data: object.data.clone(),
            origin: object.origin,
            content: object.origin,
            account: None,
            without_levels: false,
            source: UnitSource { is_manifest: true, role: object.role, ..UnitSource::default() },
        }));
    }
}
