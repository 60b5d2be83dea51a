//! `Manifests`: plain manifests brought in.

use crate::codes;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::matching_files::matching_files;
use crate::diag::{Diagnostic, Origin, Sink};
use crate::k8s::catalogue::{Resource, read_custom};
use crate::k8s::custom_fields::CustomFields;
use crate::k8s::list;
use crate::k8s::rbac::{self, RbacForm};
use crate::k8s::user_group;
use crate::model::{
    AnalyzedManifest, Category, CommonMetadataSpec, Contribution, Data, ExistingObjects, ForeignDocuments,
    GroupMembers, Kind, Linker, Mention, MentionedBy, Mentions, ObjectId, OutputFileKey, Pattern, Patterns, Policy,
    PolicyMeta, PolicyNamespace, RawDocument, Target, TypeMeta, Unit, UnitSource, WrittenManifests, subjects,
};
use crate::yaml::{NodeRef, Spanned};

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
    /// Globs of the manifest files, relative to the folder of this policy.
    #[schemars(length(min = 1))]
    pub files: Vec<Spanned<String>>,
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
        let mut objects = Vec::new();
        let mut custom = Vec::new();
        let mut trees = Vec::new();
        let mut custom_fields = Vec::new();
        let mut named = BTreeSet::new();
        for (path, named_at) in matching_files(document, &spec.files, linker, sink) {
            linker.claimed.insert(path.clone());
            let tree = match linker.sources.tree(&path, Some(named_at), sink) {
                Ok(Some(tree)) => tree,
                Ok(None) => continue,
                Err(error) => {
                    sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(named_at));
                    continue;
                }
            };
            for root in tree.documents() {
                read_object(root, &mut objects, &mut custom, sink);
                for object in list::objects(root) {
                    note_names(object, &mut named);
                    custom_fields.extend(CustomFields::read(&tree, object).into_iter().map(Arc::new));
                }
            }
            trees.push(tree);
        }
        objects
            .iter()
            .filter(|object| spec.emit && object.is_legacy_rbac())
            .for_each(|object| sink.push(object.legacy_rbac()));
        let is_there = |object: &&Object| !spec.emit || &*object.identity.object_type.kind == "ClusterRole";
        let existing = objects.iter().filter(is_there).map(|object| object.identity.clone());
        let targets = || Arc::clone(&document.meta.targets);
        linker.facts.push(ExistingObjects { objects: existing.collect(), targets: targets() });
        linker.bring(&document.meta.targets, &custom);
        linker.bring_fields(&document.meta.targets, &custom_fields);
        for (by, names) in [(MentionedBy::Made, made(&objects)), (MentionedBy::Manifest, mentions(named))] {
            linker.facts.push(Mentions::new(document.meta.clone(), by, names));
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
        Some(Box::new(Linked { meta: document.meta.clone(), objects, namespaces }))
    }
}

/// Reads one document: an object, or a list of objects.
fn read_object(root: NodeRef<'_>, objects: &mut Vec<Object>, custom: &mut Vec<Resource>, sink: &mut Sink) {
    let text = |keys: &[&str]| root.path(keys).and_then(NodeRef::as_str);
    let (Some(api_version), Some(kind)) = (text(&["apiVersion"]), text(&["kind"])) else {
        sink.push(
            Diagnostic::error(codes::MALFORMED_OBJECT, "this document is not a Kubernetes object")
                .at(root.origin())
                .help("add `apiVersion`, `kind` and `metadata`"),
        );
        return;
    };
    if kind == "List" && api_version == "v1" {
        for item in root.get("items").into_iter().flat_map(NodeRef::items) {
            read_object(item, objects, custom, sink);
        }
        return;
    }
    let Some(name) = text(&["metadata", "name"]) else {
        sink.push(
            Diagnostic::error(codes::MALFORMED_OBJECT, format!("this {kind} has no name"))
                .at(root.get("metadata").unwrap_or(root).origin())
                .help("add `metadata.name`: git cannot track a generated name"),
        );
        return;
    };
    custom.extend(read_custom(root));
    objects.push(Object {
        identity: ObjectId {
            object_type: TypeMeta::new(api_version, kind),
            namespace: text(&["metadata", "namespace"]).map(Arc::from),
            name: name.into(),
        },
        data: Data::map([("object", Data::from_node(root))]),
        origin: root.origin(),
    });
}

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
}

impl Object {
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
    /// Namespaces, even if no object is written.
    namespaces: Vec<DeclaredNamespace>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
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
            source: UnitSource::default(),
        }));
    }
}
