//! Requests that a server can receive. The authorizer has no list of resources and their scopes, so it allows
//! impossible requests. An answer for people marks them as dead.

use bailiwick_kubernetes::catalogue::Served;

use super::request::{Request, ResourceRequest, UrlRequest};
use super::scope::is_checked_in_namespaces;
use super::world::World;

/// Whether a server could receive a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// It could.
    Live,
    /// It could not, and why.
    Dead(String),
    /// The resource is unknown, with the reason.
    Unknown(String),
}

impl World {
    /// Returns whether a server of the world's minor could receive a request.
    pub fn liveness(&self, request: &Request) -> Liveness {
        match request {
            Request::Url(request) => url_liveness(request),
            Request::Resource(request) => self.resource_liveness(request),
        }
    }

    fn resource_liveness(&self, request: &ResourceRequest) -> Liveness {
        let api = self.api();
        let full = request.full_resource();
        let is_wild = [&request.verb, &request.group, &request.resource].iter().any(|text| text.contains('*'));
        if is_wild {
            return Liveness::Live;
        }
        if api.catalogue().is_virtual(api.minor(), &request.group, &full, &request.verb) {
            let carries_namespace = !request.namespace.is_empty();
            let has_none = self.is_cluster_scoped(&request.group, &request.resource)
                && !is_checked_in_namespaces(&request.group, &request.resource, &request.subresource, &request.verb);
            return if carries_namespace && has_none {
                Liveness::Dead(format!("`{}` on `{full}` is asked for no namespace", request.verb))
            } else {
                Liveness::Live
            };
        }
        let minor = api.minor();
        let shown = shown(&request.group, &full);
        let presence = api.presence(&request.group, &full);
        let entry = api.find(&request.group, &request.resource);
        match presence.served {
            Served::Yes => judged(request, &presence.verbs, entry.is_none_or(|entry| entry.namespaced), &shown),
            Served::Off => {
                Liveness::Unknown(format!("Kubernetes 1.{minor} serves {shown} only where its operator turned it on"))
            }
            Served::No if entry.is_some_and(|entry| entry.is_custom) => {
                Liveness::Dead(format!("its definition gives {shown} no such subresource"))
            }
            Served::No if api.is_builtin_group(&request.group) => {
                let groups = api.catalogue().groups_of(minor, &full);
                let elsewhere = groups.first().map_or_else(String::new, |group| {
                    if group.is_empty() {
                        "; it is in the core group".to_owned()
                    } else {
                        format!("; it is in `{group}`")
                    }
                });
                Liveness::Dead(format!("Kubernetes 1.{minor} serves no {shown}{elsewhere}"))
            }
            Served::No => Liveness::Unknown(format!("no CustomResourceDefinition among the inputs has {shown}")),
        }
    }
}

fn shown(group: &str, resource: &str) -> String {
    if group.is_empty() { format!("`{resource}`") } else { format!("`{resource}` in `{group}`") }
}

/// Compares verb, namespace and name of a request with the resource.
fn judged(request: &ResourceRequest, verbs: &[&str], namespaced: bool, shown: &str) -> Liveness {
    let verb = request.verb.as_str();
    if !verbs.contains(&verb) {
        return Liveness::Dead(format!("{shown} takes {} only", verbs.join(", ")));
    }
    let is_own_namespace = request.name == request.namespace
        && request.resource == "namespaces"
        && is_checked_in_namespaces(&request.group, &request.resource, &request.subresource, verb);
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
