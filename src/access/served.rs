//! Could a server ever receive this request? The authorizer does not know which resources there are and which live in
//! namespaces, so it says yes to requests that nobody can make. An answer for people has to know.

use serde::{Deserialize, Serialize};

use crate::k8s::catalogue::{Catalogue, Served};
use crate::k8s::rbac::strings;
use crate::yaml::NodeRef;

use super::request::{Request, ResourceRequest, UrlRequest};
use super::world::World;

/// Whether a server could receive a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// It could.
    Live,
    /// It could not, and why.
    Dead(String),
    /// Nobody here knows the resource, and why.
    Unknown(String),
}

/// What a CustomResourceDefinition adds to the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomResource {
    /// The API group.
    pub group: String,
    /// The name in rules.
    pub plural: String,
    /// The singular name, the short names and the kind, by which people may call it.
    pub aliases: Vec<String>,
    /// True when its objects live in namespaces.
    pub namespaced: bool,
    /// Which of `status` and `scale` some version has.
    pub subresources: Vec<String>,
}

impl CustomResource {
    /// Reads a CustomResourceDefinition of `apiextensions.k8s.io/v1` or `v1beta1`.
    pub fn from_node(definition: NodeRef<'_>) -> Option<Self> {
        let spec = definition.get("spec")?;
        let text = |keys: &[&str]| spec.path(keys).and_then(NodeRef::as_str);
        let names = spec.get("names")?;
        let mut aliases: Vec<String> = strings(names, "shortNames").map(str::to_owned).collect();
        let kind = text(&["names", "kind"]).unwrap_or_default();
        aliases.push(text(&["names", "singular"]).map_or_else(|| kind.to_lowercase(), str::to_owned));
        aliases.push(kind.to_owned());
        let mut subresources = Vec::new();
        let versions = spec.get("versions").into_iter().flat_map(NodeRef::items);
        // In v1beta1 subresources may stand beside the versions, for all of them.
        for holder in versions.chain([spec]) {
            for (name, _) in holder.get("subresources").into_iter().flat_map(NodeRef::entries) {
                subresources
                    .extend(name.as_str().filter(|name| matches!(*name, "status" | "scale")).map(str::to_owned));
            }
        }
        subresources.sort();
        subresources.dedup();
        Some(Self {
            group: text(&["group"])?.to_owned(),
            plural: text(&["names", "plural"])?.to_owned(),
            aliases,
            // The default of v1beta1.
            namespaced: text(&["scope"]).is_none_or(|scope| scope == "Namespaced"),
            subresources,
        })
    }
}

/// Verbs on objects of custom resources.
const CUSTOM_VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Verbs on their subresources.
const CUSTOM_SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

impl World {
    /// Whether a server of the world's minor could receive a request.
    pub fn liveness(&self, request: &Request) -> Liveness {
        match request {
            Request::Url(request) => url_liveness(request),
            Request::Resource(request) => self.resource_liveness(request),
        }
    }

    fn resource_liveness(&self, request: &ResourceRequest) -> Liveness {
        let catalogue = Catalogue::get();
        let minor = self.minor();
        let full = request.full_resource();
        let is_wild = [&request.verb, &request.group, &request.resource].iter().any(|text| text.contains('*'));
        if is_wild || catalogue.is_virtual(minor, &request.group, &full, &request.verb) {
            return Liveness::Live;
        }
        let shown = shown(&request.group, &full);
        if let Some(custom) = self.custom_resource(&request.group, &request.resource) {
            let verbs = match request.subresource.as_str() {
                "" => CUSTOM_VERBS,
                name if custom.subresources.iter().any(|known| known == name) => CUSTOM_SUBRESOURCE_VERBS,
                _ => return Liveness::Dead(format!("its definition gives `{shown}` no such subresource")),
            };
            return judged(request, verbs, custom.namespaced, &shown);
        }
        let presence = catalogue.presence(minor, &request.group, &full);
        match presence.served {
            Served::Yes => {
                let entry = catalogue.find(&request.group, &request.resource);
                judged(request, &presence.verbs, entry.is_none_or(|entry| entry.namespaced), &shown)
            }
            Served::Off => {
                Liveness::Unknown(format!("Kubernetes 1.{minor} serves {shown} only where its operator turned it on"))
            }
            Served::No if catalogue.is_builtin_group(&request.group) => {
                let groups = catalogue.groups_of(minor, &full);
                let elsewhere = groups.first().map_or_else(String::new, |group| {
                    if group.is_empty() {
                        "; it is in the core group".to_owned()
                    } else {
                        format!("; it is in `{group}`")
                    }
                });
                Liveness::Dead(format!("Kubernetes 1.{minor} serves no {shown}{elsewhere}"))
            }
            Served::No => Liveness::Unknown(format!("no CustomResourceDefinition among the inputs tells of {shown}")),
        }
    }

    /// The custom resource of a name.
    pub fn custom_resource(&self, group: &str, plural: &str) -> Option<&CustomResource> {
        self.custom.iter().find(|custom| custom.group == group && custom.plural == plural)
    }

    /// The custom resources.
    pub fn custom_resources(&self) -> &[CustomResource] {
        &self.custom
    }
}

fn shown(group: &str, resource: &str) -> String {
    if group.is_empty() { format!("`{resource}`") } else { format!("`{resource}` in `{group}`") }
}

/// Verb, namespace and name of a request held against what the resource is.
fn judged(request: &ResourceRequest, verbs: &[&str], namespaced: bool, shown: &str) -> Liveness {
    let verb = request.verb.as_str();
    if !verbs.contains(&verb) {
        return Liveness::Dead(format!("{shown} takes {} only", verbs.join(", ")));
    }
    let is_own_namespace =
        request.group.is_empty() && request.resource == "namespaces" && request.name == request.namespace;
    if namespaced {
        let over_all_namespaces = matches!(verb, "list" | "watch") && request.subresource.is_empty();
        if request.namespace.is_empty() && !over_all_namespaces {
            return Liveness::Dead(format!("{shown} lives in namespaces, and only list and watch go over all of them"));
        }
    } else if !request.namespace.is_empty() && !is_own_namespace {
        return Liveness::Dead(format!("{shown} belongs to no namespace, so that a request for it carries none"));
    }
    if verb == "deletecollection" && !request.name.is_empty() {
        return Liveness::Dead("deletecollection names no object".to_owned());
    }
    Liveness::Live
}

fn url_liveness(request: &UrlRequest) -> Liveness {
    let is_method = matches!(
        request.verb.as_str(),
        "*" | "get" | "head" | "post" | "put" | "patch" | "delete" | "options" | "trace" | "connect"
    );
    if !is_method {
        return Liveness::Dead(format!("`{}` is no HTTP method, and URLs know no other verbs", request.verb));
    }
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["api", _, _, ..] | ["apis", _, _, _, ..] => Liveness::Dead(
            "a path this deep below /api or /apis asks for objects, which URL rules never grant".to_owned(),
        ),
        _ => Liveness::Live,
    }
}
