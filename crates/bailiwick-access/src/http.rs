//! From an HTTP request to the attributes of the authorizer
//! (`staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`): any method and path have attributes,
//! however odd.

mod query;

use super::request::{Request, ResourceRequest, UrlRequest};
use crate::request::split_at_first;

/// The error of a request without attributes: the server answers it before any authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRequest(pub String);

/// Reads `METHOD PATH[?QUERY]`.
///
/// # Errors
/// No server accepts the path.
pub fn attributes(request: &str) -> Result<Request, BadRequest> {
    let (method, target) =
        request.split_once(' ').ok_or_else(|| BadRequest("an HTTP request is `METHOD /path`".to_owned()))?;
    let (raw_path, raw_query) = split_at_first(target, '?');
    if !raw_path.starts_with('/') {
        return Err(BadRequest(format!("the path `{raw_path}` does not begin with `/`")));
    }
    let path = query::unescape(raw_path, false)
        .ok_or_else(|| BadRequest(format!("the path `{raw_path}` has a broken escape")))?;
    read(method, &path, raw_query)
}

fn read(method: &str, path: &str, raw_query: &str) -> Result<Request, BadRequest> {
    let url = || Request::Url(UrlRequest { verb: method.to_lowercase(), path: path.to_owned() });
    let parts = split_path(path);
    let (group, version, mut parts) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Ok(url()),
    };
    let mut verb = match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    };
    // The paths of long ago: /api/v1/watch/pods, /api/v1/proxy/nodes/n.
    if let [special @ ("proxy" | "watch"), rest @ ..] = parts {
        if rest.is_empty() {
            return Err(BadRequest(format!("`{path}` names no resource")));
        }
        verb = special;
        parts = rest;
    }
    let mut namespace = "";
    if let ["namespaces", name, rest @ ..] = parts {
        namespace = name;
        // The rest behind the name is inside the namespace, except for subresources of the namespace itself.
        if rest.first().is_some_and(|next| !matches!(*next, "status" | "finalize")) {
            parts = rest;
        }
    }
    let part = |position: usize| parts.get(position).copied().unwrap_or_default();
    let mut name = part(1).to_owned();
    if name.is_empty() && verb == "get" {
        let options = query::ListOptions::read(raw_query);
        verb = if options.watch { "watch" } else { "list" };
        if let Some(selected) = options.name {
            name = selected;
        }
    }
    if name.is_empty() && verb == "delete" {
        verb = "deletecollection";
    }
    Ok(Request::Resource(ResourceRequest {
        verb: verb.to_owned(),
        group: group.to_owned(),
        version: version.to_owned(),
        resource: part(0).to_owned(),
        subresource: if verb == "proxy" { String::new() } else { part(2).to_owned() },
        namespace: namespace.to_owned(),
        name,
    }))
}

/// Splits a path without the slashes around it; a double slash leaves an empty part.
fn split_path(path: &str) -> Vec<&str> {
    let trimmed = path.trim_matches('/');
    if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() }
}
