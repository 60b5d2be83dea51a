//! API paths as rules, parsed as kube-apiserver parses request paths
//! (`staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`).
//!
//! ```text
//! /api/v1/namespaces/{namespace}/pods/{name}/log      core group, pods/log
//! /apis/apps/v1/deployments                           group apps, deployments
//! /api/v1/namespaces/{namespace}/configmaps/settings  configmaps, limited to the name `settings`
//! /healthz  /metrics/*  /api/*  /apis/apps/v1         URLs
//! ```
//!
//! `<resource>/status` is accepted without a name between the two: the segment after a resource is a subresource if the
//! resource has one of that name, and an object name otherwise.

use bailiwick_kubernetes::catalogue::Api;

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApiPath {
    /// A path below `/api` or `/apis`.
    Resource(ResourcePath),
    /// A URL outside the resource API.
    Url(String),
}

/// A resource, as rules name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourcePath {
    /// The API group; empty for the core group.
    pub(super) group: String,
    /// The version; no part of a rule.
    pub(super) version: String,
    /// The resource, its subresource behind a slash.
    pub(super) resource: String,
    /// The name it is limited to.
    pub(super) name: Option<String>,
    /// True when the path goes through a namespace.
    pub(super) in_namespace: bool,
    /// The error on the newest built-in version, for a newer target that may serve the path.
    pub(super) doubt: Option<PathError>,
}

/// Why a path cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathError {
    /// The problem: lower case, without a full stop.
    pub(super) message: String,
    /// The remedy.
    pub(super) help: String,
}

fn error<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, PathError> {
    Err(PathError { message: message.into(), help: help.into() })
}

const NAMESPACE: &str = "{namespace}";
const NAME: &str = "{name}";

/// Reads a path for a target.
pub(super) fn read(path: &str, api: &Api) -> Result<ApiPath, PathError> {
    let parts = split(path)?;
    match parts.as_slice() {
        [] => Ok(ApiPath::Url(path.to_owned())),
        ["api"] | ["api", "*" | "v1"] | ["apis"] | ["apis", _] => url(path, &parts),
        ["api", version, rest @ ..] => {
            let (help, is_version) = core_help(version, rest, api);
            if *version == "v1" {
                resource(path, "", version, rest, api)
            } else if is_version {
                error(format!("the core group has no version `{version}`"), help)
            } else {
                error(format!("`{path}` lacks the version after `/api`"), help)
            }
        }
        ["apis", group, version, rest @ ..] => {
            if is_version(group) {
                return error(
                    format!("`{path}` has the version `{group}` at the place of a group"),
                    format!("write `/api/v1/...` for the core group, and `/apis/GROUP/{group}/...` for another group"),
                );
            }
            if *version == "*" && rest.is_empty() {
                return Ok(ApiPath::Url(path.to_owned()));
            }
            if !is_version(version) {
                let served = api.versions_of(group);
                let newest = newest(&served).unwrap_or("VERSION");
                let tail: Vec<&str> = std::iter::once(*version).chain(rest.iter().copied()).collect();
                return error(
                    format!("`{path}` lacks the version of the group `{group}`"),
                    format!("did you mean `/apis/{group}/{newest}/{}`?", tail.join("/")),
                );
            }
            if rest.is_empty() { url(path, &parts) } else { resource(path, group, version, rest, api) }
        }
        _ => url(path, &parts),
    }
}

/// Splits a path at its slashes; the root has no part.
fn split(path: &str) -> Result<Vec<&str>, PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        let help = match path.split_once("://") {
            Some((_, rest)) => format!("did you mean `/{}`?", rest.split_once('/').map_or("", |(_, path)| path)),
            None => format!("did you mean `/{path}`?"),
        };
        return error(format!("`{path}` is not a path: it does not begin with `/`"), help);
    };
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    if let Some((before, _)) = path.split_once(['?', '#']) {
        return error(
            format!("`{path}` contains more than a path"),
            format!("write `{before}`, and list the actions under `verbs`"),
        );
    }
    if let Some(shorter) = path.strip_suffix('/') {
        return error(
            format!("`{path}` ends in a slash"),
            format!("did you mean `{}`?", shorter.trim_end_matches('/')),
        );
    }
    let parts: Vec<&str> = rest.split('/').collect();
    if parts.iter().any(|part| part.is_empty() || matches!(*part, "." | "..")) {
        let clean: Vec<&str> = parts.into_iter().filter(|part| !matches!(*part, "" | "." | "..")).collect();
        return error(format!("`{path}` has an empty part"), format!("did you mean `/{}`?", clean.join("/")));
    }
    Ok(parts)
}

fn core_help(version: &str, rest: &[&str], api: &Api) -> (String, bool) {
    let tail = rest.join("/");
    if is_version(version) {
        return (format!("did you mean `/api/v1/{tail}`?"), true);
    }
    if api.is_builtin_group(version) || version.contains('.') {
        let version_is_next = rest.first().is_some_and(|next| is_version(next));
        let served = api.versions_of(version);
        let newest = newest(&served).unwrap_or("VERSION");
        let middle = if version_is_next { String::new() } else { format!("{newest}/") };
        return (format!("groups are below `/apis`: did you mean `/apis/{version}/{middle}{tail}`?"), false);
    }
    let tail = if tail.is_empty() { String::new() } else { format!("/{tail}") };
    (format!("did you mean `/api/v1/{version}{tail}`?"), false)
}

/// Returns the newest of some versions: `v1` before `v1beta1`, `v2` before `v1`.
fn newest<'v>(versions: &[&'v str]) -> Option<&'v str> {
    let rank = |version: &str| {
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        let rest = version.strip_prefix('v').unwrap_or(version);
        if let Some((major, minor)) = rest.split_once("beta") {
            (1, number(major), number(minor))
        } else if let Some((major, minor)) = rest.split_once("alpha") {
            (0, number(major), number(minor))
        } else {
            (2, number(rest), 0)
        }
    };
    versions.iter().copied().max_by_key(|version| rank(version))
}

/// Whether the text is a version such as `v1`, `v2beta1` or `v1alpha3`.
fn is_version(part: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(rest) = part.strip_prefix('v') else { return false };
    let stage = rest.split_once("alpha").or_else(|| rest.split_once("beta"));
    stage.map_or_else(|| digits(rest), |(major, minor)| digits(major) && digits(minor))
}

fn url(path: &str, parts: &[&str]) -> Result<ApiPath, PathError> {
    let (Some((last, before)), false) = (parts.split_last(), parts.contains(&NAMESPACE) || parts.contains(&NAME))
    else {
        return error(
            format!("`{path}` is not a resource, and has no namespace and no name"),
            "write a URL without placeholders, or a resource below `/api/v1/` or `/apis/GROUP/VERSION/`",
        );
    };
    if before.iter().any(|part| part.contains('*')) || last.trim_end_matches('*').contains('*') {
        return error(
            format!("the `*` inside `{path}` is a literal character"),
            "use `*` only at the end: elsewhere it is a literal character",
        );
    }
    Ok(ApiPath::Url(path.to_owned()))
}

fn resource(path: &str, group: &str, version: &str, rest: &[&str], api: &Api) -> Result<ApiPath, PathError> {
    if let Some(part) = rest.iter().find(|part| part.contains('*')) {
        return error(
            format!("`{part}` cannot be a resource in a path"),
            "for all resources, write a rule with `apiGroups` and `resources: [\"*\"]`; placeholders are `{name}` and `{namespace}`",
        );
    }
    if let ["watch" | "proxy", ..] = rest {
        return error(
            format!("`{path}` has an old form with the verb in the path"),
            "remove the verb from the path and list it under `verbs`",
        );
    }
    let (in_namespace, rest) = behind_namespace(group, rest)?;
    let ResourceParts { name, object, subresource } = ResourceParts::read(path, group, rest, api)?;
    let resource = subresource.map_or_else(|| name.to_owned(), |subresource| format!("{name}/{subresource}"));
    let doubt = match check_version(path, group, version, &resource, api) {
        // A newer version may serve it. The check of the rule reports the unknown resource.
        Err(error) if api.is_newer_than_known() => {
            Some(error).filter(|_| !api.presence(group, &resource).versions.is_empty())
        }
        checked => checked.map(|()| None)?,
    };
    Ok(ApiPath::Resource(ResourcePath {
        doubt,
        group: group.to_owned(),
        version: version.to_owned(),
        resource,
        name: object.map(str::to_owned),
        in_namespace,
    }))
}

/// Returns the parts behind the namespace, and whether there is one.
fn behind_namespace<'r, 'p>(group: &str, rest: &'r [&'p str]) -> Result<(bool, &'r [&'p str]), PathError> {
    match rest {
        // The namespace as an object of its own.
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
            Ok((false, rest))
        }
        ["namespaces", NAMESPACE, rest @ ..] => Ok((true, rest)),
        ["namespaces", namespace, ..] => error(
            format!("the namespace `{namespace}` cannot be chosen by a path"),
            "write `{namespace}`: the Grant decides the namespace",
        ),
        _ => Ok((false, rest)),
    }
}

/// The parts of a path that name a resource.
struct ResourceParts<'p> {
    name: &'p str,
    /// The name that the resource is limited to.
    object: Option<&'p str>,
    subresource: Option<&'p str>,
}

impl<'p> ResourceParts<'p> {
    fn read(path: &str, group: &str, rest: &[&'p str], api: &Api) -> Result<Self, PathError> {
        let Some((&name, behind)) = rest.split_first() else {
            return error(format!("`{path}` names no resource"), "add the resource, such as `/pods`");
        };
        if name.contains(['{', '}']) {
            return error(
                format!("`{name}` is at the place of the resource"),
                "write the resource in the plural, such as `pods`",
            );
        }
        let has = |subresource: &str| has_subresource(api, group, name, subresource);
        let (object, subresource) = match behind {
            [] => (None, None),
            [only] if has(only) => (None, Some(*only)),
            [object] => (Some(*object), None),
            [object, subresource] => (Some(*object), Some(*subresource)),
            [_, subresource, ..] => {
                return error(
                    format!("`{path}` continues after the subresource `{subresource}`"),
                    "remove the rest: a rule covers the whole subresource",
                );
            }
        };
        let object = object.filter(|object| *object != NAME && !(name == "namespaces" && *object == NAMESPACE));
        if object == Some(NAMESPACE) || subresource.is_some_and(|subresource| subresource.contains(['{', '}'])) {
            return error(
                format!("`{path}` has a placeholder at an invalid place"),
                "write `{namespace}` after `namespaces`, and `{name}` after the resource",
            );
        }
        Ok(Self { name, object, subresource })
    }
}

/// Whether a resource has a subresource; custom resources without a definition may have these two.
fn has_subresource(api: &Api, group: &str, name: &str, subresource: &str) -> bool {
    if api.find(group, name).is_some() || api.is_builtin_group(group) {
        return api.knows(group, &format!("{name}/{subresource}"));
    }
    matches!(subresource, "status" | "scale")
}

/// Checks that the version serves the resource, if the whole group is known.
fn check_version(path: &str, group: &str, version: &str, resource: &str, api: &Api) -> Result<(), PathError> {
    let presence = api.presence(group, resource);
    let group_version =
        |version: &str| if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    if presence.versions.contains(&version) || (presence.versions.is_empty() && api.knows(group, resource)) {
        return Ok(());
    }
    if let Some(newest) = newest(&presence.versions) {
        let here = path.replacen(&format!("/{version}/"), &format!("/{newest}/"), 1);
        return error(
            format!("Kubernetes 1.{} does not serve `{resource}` as `{}`", api.minor(), group_version(version)),
            format!("did you mean `{here}`?"),
        );
    }
    if !api.is_builtin_group(group) {
        return Ok(());
    }
    let elsewhere = api.catalogue().groups_of(api.minor(), resource);
    let help = match (elsewhere.as_slice(), api.nearest_resource(resource)) {
        ([other, ..], _) => {
            let versions = api.presence(other, resource).versions;
            let version = newest(&versions).unwrap_or(version);
            let prefix = if other.is_empty() { format!("/api/{version}") } else { format!("/apis/{other}/{version}") };
            format!("it is served below `{prefix}`")
        }
        ([], Some(near)) => format!("did you mean `{near}`?"),
        ([], None) => "remove the path, or exclude the target with `targets`".to_owned(),
    };
    error(format!("Kubernetes 1.{} does not serve `{resource}` in `{}`", api.minor(), group_version(version)), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(path: &str) -> String {
        match read(path, &Api::new(36)) {
            Ok(ApiPath::Url(url)) => format!("url {url}"),
            Ok(ApiPath::Resource(found)) => {
                let name = found.name.map_or_else(String::new, |name| format!(" named {name}"));
                let place = if found.in_namespace { " in a namespace" } else { "" };
                format!("{}: {}{name}{place}", found.group, found.resource)
            }
            Err(error) => format!("error: {}; {}", error.message, error.help),
        }
    }

    #[test]
    fn reads_the_paths_of_the_seed() {
        let namespaced = |rest: &str| described(&format!("/api/v1/namespaces/{{namespace}}/{rest}"));
        assert_eq!(namespaced("services"), ": services in a namespace");
        assert_eq!(namespaced("namespaces"), ": namespaces in a namespace");
        assert_eq!(namespaced("pods/{name}"), ": pods in a namespace");
        assert_eq!(namespaced("pods/{name}/log"), ": pods/log in a namespace");
        assert_eq!(namespaced("pods/log"), ": pods/log in a namespace");
        assert_eq!(namespaced("configmaps/settings"), ": configmaps named settings in a namespace");
        assert_eq!(namespaced("configmaps/status"), ": configmaps named status in a namespace");
        let cilium = "/apis/cilium.io/v2/namespaces/{namespace}/ciliumnetworkpolicies";
        assert_eq!(described(&format!("{cilium}/status")), "cilium.io: ciliumnetworkpolicies/status in a namespace");
        assert_eq!(described(&format!("{cilium}/{{name}}")), "cilium.io: ciliumnetworkpolicies in a namespace");
        assert_eq!(described("/api/v1/nodes/{name}"), ": nodes");
        assert_eq!(described("/api/v1/nodes/{name}/metrics"), ": nodes/metrics");
        assert_eq!(described("/apis/apps/v1/deployments"), "apps: deployments");
    }

    #[test]
    fn a_namespace_is_an_object_too() {
        assert_eq!(described("/api/v1/namespaces"), ": namespaces");
        assert_eq!(described("/api/v1/namespaces/{namespace}"), ": namespaces");
        assert_eq!(described("/api/v1/namespaces/{name}/status"), ": namespaces/status");
        assert_eq!(described("/api/v1/namespaces/kube-system"), ": namespaces named kube-system");
    }

    #[test]
    fn what_is_no_resource_is_a_url() {
        for url in [
            "/",
            "/healthz",
            "/metrics/*",
            "/api",
            "/api/*",
            "/api/v1",
            "/apis",
            "/apis/*",
            "/apis/apps",
            "/apis/apps/v1",
        ] {
            assert_eq!(described(url), format!("url {url}"));
        }
    }

    #[test]
    fn mistakes_say_what_was_meant() {
        let mut wrong = Vec::new();
        for (path, message, help) in [
            ("/api/apps/v1/deployments", "lacks the version after `/api`", "`/apis/apps/v1/deployments`"),
            ("/api/pods", "lacks the version", "`/api/v1/pods`"),
            ("/api/v2/pods", "no version `v2`", "`/api/v1/pods`"),
            ("/apis/v1/pods", "at the place of a group", "`/api/v1/...`"),
            ("/apis/apps/deployments", "lacks the version of the group `apps`", "`/apis/apps/v1/deployments`"),
            (
                "/apis/apps/v1beta1/deployments",
                "does not serve `deployments` as `apps/v1beta1`",
                "`/apis/apps/v1/deployments`",
            ),
            (
                "/apis/extensions/v1beta1/ingresses",
                "does not serve `ingresses` in `extensions/v1beta1`",
                "`/apis/networking.k8s.io/v1`",
            ),
            ("/api/v1/pod", "does not serve `pod` in `v1`", "`pods`"),
            ("/api/v1/pods/", "ends in a slash", "`/api/v1/pods`"),
            ("/api//v1/pods", "an empty part", "`/api/v1/pods`"),
            ("api/v1/pods", "does not begin with `/`", "`/api/v1/pods`"),
            ("https://host:6443/api/v1/pods", "does not begin", "`/api/v1/pods`"),
            ("/api/v1/pods?watch=1", "more than a path", "`/api/v1/pods`"),
            ("/api/v1/namespaces/kube-system/pods", "cannot be chosen by a path", "the Grant decides the namespace"),
            ("/api/v1/namespaces/{namespace}/*", "cannot be a resource in a path", "`resources: [\"*\"]`"),
            ("/api/v1/watch/pods", "old form", "under `verbs`"),
            ("/api/v1/pods/{name}/proxy/a/b", "continues after", "remove the rest"),
            ("/api/v1/{name}", "at the place of the resource", "in the plural"),
            ("/healthz/{name}", "is not a resource", "without placeholders"),
            ("/a/*/b", "is a literal character", "at the end"),
        ] {
            let found = described(path);
            if !(found.contains(message) && found.contains(help)) {
                wrong.push(format!("{path}: {found}"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}
