//! Any Kubernetes object of a namespace or an account: `objects`.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_kubernetes::absent::{self, group_and_version};
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use bailiwick_yaml::{NodeRef, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::{StringMap, with_metadata};
use crate::model::{Blueprint, Linker, OWN_NAMESPACE, ObjectBlueprint, Pattern, Target, TemplateName};

/// A Kubernetes object of any kind: the object itself, or its identity and a template. Texts are patterns; a text of `object` and `values` that is
/// a variable and nothing else has the type of the variable.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ObjectSpec {
    /// The object. Without `metadata.namespace`, an object of a namespaced kind is in the namespace itself.
    #[serde(default)]
    pub object: Option<BTreeMap<String, serde_json::Value>>,
    /// A template of the object in place of `object`: a path below the template folder, such as `argocd/appproject.yaml.j2`.
    #[serde(default)]
    pub template: Option<Spanned<String>>,
    /// The API version of the object, such as `argoproj.io/v1alpha1`. Only with `template`.
    #[serde(default)]
    pub api_version: Option<Spanned<String>>,
    /// The kind of the object. Only with `template`.
    #[serde(default)]
    pub kind: Option<Spanned<String>>,
    /// The namespace of the object. Default: for a namespaced kind, the namespace itself. Only with `template`.
    #[serde(default)]
    pub namespace: Option<Spanned<String>>,
    /// The name of the object. Only with `template`.
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// Labels of the object. Only with `template`.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object. Only with `template`.
    #[serde(default)]
    pub annotations: StringMap,
    /// Further values for the template, by name. Only with `template`.
    #[serde(default)]
    pub values: BTreeMap<String, serde_json::Value>,
    /// The scope of a kind that is neither built in nor defined by a Manifests policy.
    #[serde(default)]
    pub scope: Option<Spanned<ObjectScope>>,
    /// A loop over the elements of a list variable: `{stage: stages}`. Only in a Tenancy.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL. Only in a Tenancy.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

/// The scope of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum ObjectScope {
    /// The objects of the kind are in no namespace.
    Cluster,
    /// Each object of the kind is in a namespace.
    Namespaced,
}

/// The namespace of an object, or the whole cluster.
#[derive(Debug, Clone)]
pub(crate) enum ObjectPlace {
    /// The namespace of the policy.
    Own,
    /// Another namespace, with the location of its name.
    In(Pattern, Origin),
    /// The whole cluster.
    Cluster,
}

/// An object with its place.
pub(crate) struct LinkedObject {
    pub(crate) object: ObjectBlueprint,
    pub(crate) place: ObjectPlace,
}

/// The prefix of the labels and annotations of this program.
const OWN_PREFIX: &str = "bailiwick.dev/";

/// The built-in template of `object`.
const OBJECT: &str = "manifests/object.yaml.j2";

/// The fields of an item with `template`.
const TEMPLATE_FIELDS: [&str; 7] = ["annotations", "apiVersion", "kind", "labels", "name", "namespace", "values"];

/// Links an object from its item in a list; none for an object that cannot be made.
pub(crate) fn link(
    spec: &ObjectSpec,
    item: NodeRef<'_>,
    targets: &[Target],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<LinkedObject> {
    let written = WrittenObject::find(item, sink)?;
    let template = match &spec.template {
        Some(name) => own_template(name, linker, sink),
        None => Some(OBJECT.into()),
    };
    let (api_version, kind) = (written.constant("apiVersion", sink)?, written.constant("kind", sink)?);
    let name = written.name(kind, sink)?;
    written.check(api_version, kind, sink)?;
    let namespace = written.part("namespace");
    if let Some(other) = [Some(name), namespace].into_iter().flatten().find(|node| node.as_str().is_none()) {
        let message = format!("this name is {}, not a string", other.describe());
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(other.origin());
        sink.push(diagnostic.help("put it in quotes"));
        return None;
    }
    let typed = Typed { api_version, kind, origin: written.origin, prefix: written.prefix };
    let scope = spec.scope.as_ref().map(|scope| scope.value);
    let is_namespaced = typed.is_namespaced(scope, namespace.is_some(), targets, linker, sink)?;
    let place = match namespace {
        Some(other) if !is_namespaced => {
            let message = format!("a {kind} is in no namespace");
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(other.origin());
            sink.push(diagnostic.help(format!("remove `{}namespace`", written.prefix)));
            return None;
        }
        Some(other) => ObjectPlace::In(Pattern::parse_checked(absent::text(other.as_str())), other.origin()),
        None if is_namespaced => ObjectPlace::Own,
        None => ObjectPlace::Cluster,
    };
    let pattern = Pattern::parse_checked(absent::text(name.as_str()));
    let object = ObjectBlueprint::new(api_version, kind, template?, pattern, written.origin);
    if spec.template.is_none() {
        let mut content = Blueprint::from_node(written.root);
        if is_namespaced {
            let own = Blueprint::from_value(&format!("{{{OWN_NAMESPACE}}}"));
            content = content.with_entry(&["metadata", "namespace"], &own);
        }
        return Some(LinkedObject { object: object.with("object", content), place });
    }
    let values = item.get("values").map_or_else(|| Blueprint::from_value(&StringMap::new()), Blueprint::from_node);
    let object = with_metadata(object, &spec.labels, &spec.annotations).with("values", values);
    Some(LinkedObject { object, place })
}

/// Returns the template of an item, and records its use; reports another path than the path of a template of the workspace.
fn own_template(name: &Spanned<String>, linker: &mut Linker<'_>, sink: &mut Sink) -> Option<TemplateName> {
    let templates = &mut linker.templates;
    let (folder, path) = (&templates.folder, name.value.as_str());
    let (code, message, help) = if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        let help = "write a path below that folder".to_owned();
        (codes::PATH_OUTSIDE, format!("`{path}` leaves the template folder `{folder}`"), help)
    } else if templates.built_in.contains(path) {
        let help = "write a template with another path; it can include the built-in template".to_owned();
        (codes::INVALID_VALUE, format!("`{path}` is the template of another object"), help)
    } else if !templates.own.contains(path) {
        let near = nearest(path, templates.own.iter().map(String::as_str));
        let help = near.map_or_else(
            || format!("write the path of a file below the folder `{folder}`"),
            |near| format!("did you mean `{near}`?"),
        );
        (codes::MISSING_FILE, format!("there is no template `{folder}/{path}`"), help)
    } else {
        templates.named.insert(path.to_owned());
        return Some(TemplateName::Own(path.into()));
    };
    sink.push(Diagnostic::error(code, message).at(name.origin).help(help));
    None
}

/// The identity of an object as it is written.
struct WrittenObject<'n> {
    /// The map with the type of the object.
    root: NodeRef<'n>,
    /// The map with the name and the namespace.
    identity: Option<NodeRef<'n>>,
    /// The path of that map in the other one.
    prefix: &'static str,
    /// The place of the whole object, or of the name of its template.
    origin: Origin,
}

impl<'n> WrittenObject<'n> {
    /// Finds the object of an item; reports an item with both forms, or with none.
    fn find(item: NodeRef<'n>, sink: &mut Sink) -> Option<Self> {
        let (message, place) = match (item.get("object"), item.get("template")) {
            (Some(root), None) => match TEMPLATE_FIELDS.iter().find_map(|field| item.entry(field)) {
                Some((field, _)) => {
                    let message = format!("`{}` belongs to `template`, not to `object`", field.as_key());
                    (message, field.origin())
                }
                None => {
                    return Some(Self {
                        root,
                        identity: root.get("metadata"),
                        prefix: "metadata.",
                        origin: root.origin(),
                    });
                }
            },
            (None, Some(template)) => {
                return Some(Self { root: item, identity: Some(item), prefix: "", origin: template.origin() });
            }
            (Some(_), Some(template)) => ("this item has both `object` and `template`".to_owned(), template.origin()),
            (None, None) => ("this item has neither `object` nor `template`".to_owned(), item.origin()),
        };
        let help = "use `object` for an object as it is written, `template` for an object by a template";
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(place).help(help));
        None
    }

    /// Returns a text without variables that the identity of an object needs.
    fn constant(&self, field: &str, sink: &mut Sink) -> Option<&'n str> {
        let node = self.root.get(field);
        let text = node.and_then(NodeRef::as_str).filter(|text| !text.is_empty() && !text.contains('{'));
        if text.is_none() {
            let message = format!("the object needs `{field}` as a text without variables");
            let place = node.map_or(self.origin, NodeRef::origin);
            let help = "write for instance `apiVersion: networking.k8s.io/v1` and `kind: NetworkPolicy`";
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(place).help(help));
        }
        text
    }

    /// Returns a field beside the name.
    fn part(&self, field: &str) -> Option<NodeRef<'n>> {
        self.identity.and_then(|identity| identity.get(field))
    }

    /// Returns the name; reports an object without a name.
    fn name(&self, kind: &str, sink: &mut Sink) -> Option<NodeRef<'n>> {
        let name = self.part("name");
        if name.is_none() {
            let message = format!("this {kind} has no name");
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(self.origin);
            sink.push(diagnostic.help(format!("add `{}name`", self.prefix)));
        }
        name
    }

    /// Reports objects and keys that other fields make.
    fn check(&self, api_version: &str, kind: &str, sink: &mut Sink) -> Option<()> {
        let refused = match (api_version, kind) {
            ("v1", "Namespace") => Some(("a Namespace is no object of a namespace", "use `namespaces`")),
            _ if api_version.starts_with(OWN_PREFIX) => {
                Some(("a policy is no object of a cluster", "write it as a document of its own"))
            }
            _ => None,
        };
        if let Some((message, help)) = refused {
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(self.origin).help(help));
            return None;
        }
        for map in ["labels", "annotations"].iter().filter_map(|field| self.part(field)) {
            let own = map.entries().map(|(key, _)| key).filter(|key| key.as_key().starts_with(OWN_PREFIX));
            for key in own {
                let message = format!("only this program writes `{}`", key.as_key());
                sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(key.origin()).help("remove it"));
            }
        }
        Some(())
    }
}

/// The type of an object.
struct Typed<'o> {
    api_version: &'o str,
    kind: &'o str,
    origin: Origin,
    /// The path of the map with the namespace.
    prefix: &'o str,
}

impl Typed<'_> {
    /// Returns whether the objects of the type are in a namespace; reports a type of unknown scope.
    fn is_namespaced(
        &self,
        scope: Option<ObjectScope>,
        has_namespace: bool,
        targets: &[Target],
        linker: &Linker<'_>,
        sink: &mut Sink,
    ) -> Option<bool> {
        let (group, _) = group_and_version(self.api_version);
        let apis = targets.iter().filter_map(|target| linker.apis.get(&target.name));
        let known = apis
            .filter_map(|api| api.catalogue().find_kind(group, self.kind))
            .map(|resource| resource.namespaced)
            .next();
        match (known, scope) {
            (Some(is_namespaced), None) => Some(is_namespaced),
            (Some(is_namespaced), Some(scope)) if is_namespaced == (scope == ObjectScope::Namespaced) => {
                Some(is_namespaced)
            }
            (Some(is_namespaced), Some(_)) => {
                let form = if is_namespaced { "in a namespace" } else { "in no namespace" };
                let message = format!("a {} is {form}", self.kind);
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(self.origin);
                sink.push(diagnostic.help("remove `scope`"));
                None
            }
            (None, Some(scope)) => Some(scope == ObjectScope::Namespaced),
            (None, None) if has_namespace => Some(true),
            (None, None) => {
                let message =
                    format!("whether a {} of `{}` is in a namespace is not known", self.kind, self.api_version);
                let help = format!(
                    "bring its CustomResourceDefinition with a Manifests policy, or write `{}namespace` or `scope`",
                    self.prefix
                );
                sink.push(Diagnostic::error(codes::UNKNOWN_SCOPE, message).at(self.origin).help(help));
                None
            }
        }
    }
}
