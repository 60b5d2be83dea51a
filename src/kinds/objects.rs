//! Any Kubernetes object of a namespace or an account: `objects`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::codes;
use crate::diag::{Diagnostic, Origin, Sink};
use crate::k8s::absent::group_and_version;
use crate::model::{Blueprint, Linker, OWN_NAMESPACE, ObjectBlueprint, Pattern, Target};
use crate::yaml::{NodeRef, Spanned};

/// A Kubernetes object of any kind. Texts are patterns; a text that is a variable and nothing else has the type of the variable.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ObjectSpec {
    /// The object. Without `metadata.namespace`, an object of a namespaced kind is in the namespace itself.
    pub object: BTreeMap<String, serde_json::Value>,
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

/// Links an object from its item in a list; none for an object that cannot be made.
pub(crate) fn link(
    item: NodeRef<'_>,
    scope: Option<ObjectScope>,
    targets: &[Target],
    linker: &Linker<'_>,
    sink: &mut Sink,
) -> Option<LinkedObject> {
    let root = item.get("object")?;
    let (api_version, kind) = (constant(root, "apiVersion", sink)?, constant(root, "kind", sink)?);
    let metadata = root.get("metadata");
    let Some(name) = metadata.and_then(|metadata| metadata.get("name")) else {
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, format!("this {kind} has no name")).at(root.origin());
        sink.push(diagnostic.help("add `metadata.name`"));
        return None;
    };
    check(root, api_version, kind, sink)?;
    let namespace = metadata.and_then(|metadata| metadata.get("namespace"));
    if let Some(other) = [Some(name), namespace].into_iter().flatten().find(|node| node.as_str().is_none()) {
        let message = format!("this name is {}, not a string", other.describe());
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(other.origin());
        sink.push(diagnostic.help("put it in quotes"));
        return None;
    }
    let typed = Typed { api_version, kind, origin: root.origin() };
    let is_namespaced = typed.is_namespaced(scope, namespace.is_some(), targets, linker, sink)?;
    let place = match namespace {
        Some(other) if !is_namespaced => {
            let message = format!("a {kind} is in no namespace");
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(other.origin());
            sink.push(diagnostic.help("remove `metadata.namespace`"));
            return None;
        }
        Some(other) => {
            let text = other.as_str().map_or("", |text| text);
            ObjectPlace::In(Pattern::parse_checked(text), other.origin())
        }
        None if is_namespaced => ObjectPlace::Own,
        None => ObjectPlace::Cluster,
    };
    let pattern = Pattern::parse_checked(name.as_str().map_or("", |name| name));
    let mut content = Blueprint::from_node(root);
    if is_namespaced {
        let own = Blueprint::from_value(&format!("{{{OWN_NAMESPACE}}}"));
        content = content.with_entry(&["metadata", "namespace"], &own);
    }
    let object = ObjectBlueprint::new(api_version, kind, "manifests/object.yaml.j2", pattern, root.origin());
    Some(LinkedObject { object: object.with("object", content), place })
}

/// Returns a text without variables that the identity of an object needs.
fn constant<'n>(root: NodeRef<'n>, field: &str, sink: &mut Sink) -> Option<&'n str> {
    let node = root.get(field);
    let text = node.and_then(NodeRef::as_str).filter(|text| !text.is_empty() && !text.contains('{'));
    if text.is_none() {
        let message = format!("the object needs `{field}` as a text without variables");
        let place = node.map_or(root.origin(), NodeRef::origin);
        let help = "write for instance `apiVersion: networking.k8s.io/v1` and `kind: NetworkPolicy`";
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(place).help(help));
    }
    text
}

/// Reports objects and keys that other fields make.
fn check(root: NodeRef<'_>, api_version: &str, kind: &str, sink: &mut Sink) -> Option<()> {
    let refused = match (api_version, kind) {
        ("v1", "Namespace") => Some(("a Namespace is no object of a namespace", "use `namespaces`")),
        _ if api_version.starts_with(OWN_PREFIX) => {
            Some(("a policy is no object of a cluster", "write it as a document of its own"))
        }
        _ => None,
    };
    if let Some((message, help)) = refused {
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(root.origin()).help(help));
        return None;
    }
    for map in ["labels", "annotations"].iter().filter_map(|field| root.path(&["metadata", field])) {
        for (key, _) in map.entries().filter(|(key, _)| key.as_str().is_some_and(|key| key.starts_with(OWN_PREFIX))) {
            let message = format!("only this program writes `{}`", key.as_str().map_or("", |key| key));
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(key.origin()).help("remove it"));
        }
    }
    Some(())
}

/// The type of an object.
struct Typed<'o> {
    api_version: &'o str,
    kind: &'o str,
    origin: Origin,
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
                let help = "bring its CustomResourceDefinition with a Manifests policy, or write `metadata.namespace` or `scope`";
                sink.push(Diagnostic::error(codes::UNKNOWN_SCOPE, message).at(self.origin).help(help));
                None
            }
        }
    }
}
