//! The request of a question, in the words of `kubectl auth can-i`.

use bailiwick_access::lookup::ResourceMatch;
use bailiwick_access::{Request, ResourceRequest, UrlRequest, World, http, scope};
use bailiwick_codes as codes;
use bailiwick_workspace::Error;
use bailiwick_yaml::diag::{Diagnostic, foreign};

/// The request of a question, in the words of `kubectl auth can-i`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// The verb: `get`, `list`, `create`, `use`, or `*`.
    pub verb: Option<String>,
    /// The resource, as `pods`, `po`, `deployments.apps`, `pods/SUBRESOURCE` or `pods/NAME`; or a URL path that begins
    /// with `/`.
    pub resource: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// The namespace. Default: `default`, for a resource that lives in namespaces.
    pub namespace: Option<String>,
    /// Whether the request is for all namespaces at once.
    pub all_namespaces: bool,
    /// The subresource, such as `log` or `exec`.
    pub subresource: Option<String>,
    /// A URL path instead of a resource.
    pub path: Option<String>,
    /// A whole HTTP request instead, such as `GET /api/v1/namespaces/a/pods?watch=1`.
    pub http: Option<String>,
    /// Whether the resource may be one that no known API serves.
    pub any_resource: bool,
}

/// A name and a subresource that stand behind the slash of a resource.
#[derive(Debug, Default)]
struct Slashed<'w> {
    name: Option<&'w str>,
    subresource: Option<&'w str>,
}

impl RequestOptions {
    /// Returns the options of a request with a verb for a resource, in the words of `kubectl auth can-i`.
    pub fn new(verb: &str, resource: &str) -> Self {
        Self { verb: Some(verb.to_owned()), resource: Some(resource.to_owned()), ..Self::default() }
    }

    /// Whether the options name a resource, and no namespace for it.
    pub(crate) fn names_no_place(&self) -> bool {
        self.namespace.is_none() && !self.all_namespaces && self.http.is_none() && self.path.is_none()
    }

    /// Returns the request.
    ///
    /// # Errors
    /// When the options name no request, or a resource that is not served.
    pub fn request(&self, world: &World) -> Result<Request, Error> {
        if let Some(http) = &self.http {
            let explained = |problem: http::BadRequest| {
                Error::invalid(Diagnostic::error(codes::INVALID_QUESTION, problem.0).help("write `METHOD /path?query`"))
            };
            return http::attributes(http).map_err(explained);
        }
        let Some(verb) = self.verb.clone() else {
            return Err(Error::invalid(
                Diagnostic::error(codes::INVALID_QUESTION, "no request given")
                    .help("name a verb and a resource, such as `get pods`, or `--http 'GET /api/v1/pods'`"),
            ));
        };
        let path = self.path.clone().or_else(|| self.resource.clone().filter(|resource| resource.starts_with('/')));
        if let Some(path) = path {
            return Ok(Request::Url(UrlRequest { verb, path }));
        }
        let Some(written) = &self.resource else {
            return Err(Error::invalid(
                Diagnostic::error(codes::INVALID_QUESTION, format!("the request `{verb}` has no resource"))
                    .help("name a resource or a URL path: `can-i get pods`, `can-i get /metrics`"),
            ));
        };
        let (resource, behind) = written.split_once('/').map_or((written.as_str(), None), |(r, b)| (r, Some(b)));
        let found = match world.find_resource(resource) {
            Ok(found) => found,
            Err(_) if self.any_resource => {
                let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
                ResourceMatch { group: group.to_owned(), resource: resource.to_owned(), namespaced: None }
            }
            Err(problem) => {
                let message = format!("Kubernetes 1.{} serves no resource `{}`", world.minor(), problem.name);
                let help = problem.near.map_or_else(
                    || "write `resource.group`, or `--any-resource` to ask all the same".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                return Err(Error::invalid(Diagnostic::error(codes::UNKNOWN_RESOURCE, message).help(help)));
            }
        };
        let Slashed { name, subresource } = self.slashed(world, &found, behind);
        let name = name.or(self.name.as_deref()).unwrap_or_default().to_owned();
        let subresource = subresource.or(self.subresource.as_deref()).unwrap_or_default().to_owned();
        Ok(Request::Resource(ResourceRequest {
            namespace: self.namespace_of(&found, &name),
            verb,
            group: found.group,
            version: String::new(),
            resource: found.resource,
            subresource,
            name,
        }))
    }

    /// Reads the part behind the slash of a resource: `pods/exec` is the subresource, as in policies, `pods/web` the
    /// name of a pod, and `pods/web/exec` both. With `--subresource` the part is the name, as for kubectl.
    fn slashed<'w>(&self, world: &World, found: &ResourceMatch, behind: Option<&'w str>) -> Slashed<'w> {
        let Some(behind) = behind else { return Slashed::default() };
        let (name, last) = behind.rsplit_once('/').map_or((None, behind), |(name, last)| (Some(name), last));
        let is_subresource = world.api().catalogue().is_subresource(&found.group, &found.resource, last);
        if self.subresource.is_none() && is_subresource {
            return Slashed { name, subresource: Some(last) };
        }
        Slashed { name: Some(behind), subresource: None }
    }

    /// Returns a note that `pods/exec` was read as the subresource, which kubectl reads as a name.
    pub fn subresource_note(&self, request: &Request, world: &World) -> Option<String> {
        let Request::Resource(request) = request else { return None };
        let written = self.resource.as_deref()?;
        let (resource, name) = written.split_once('/').filter(|_| self.subresource.is_none())?;
        if request.subresource.is_empty() {
            return None;
        }
        let kind = world.api().find(&request.group, &request.resource).map(|found| found.kind.to_lowercase());
        let kind = kind.as_deref().unwrap_or("object");
        let note = format!(
            "note: `{written}` is the subresource, as in policies; kubectl reads it as the {kind} `{name}`, which is `{resource} {name}` here"
        );
        Some(format!("{}\n", foreign::line(&note)))
    }

    /// Returns a note about the check of finalizers: the answer about a request does not include it.
    pub fn finalizers_note(request: &Request) -> Option<&'static str> {
        let Request::Resource(request) = request else { return None };
        (request.subresource == "finalizers" && request.verb == "update").then_some(
            "note: the API server asks for this only with the admission plug-in OwnerReferencesPermissionEnforcement, which OpenShift enables\n",
        )
    }

    /// Returns whether the request names no namespace although its resource lives in them.
    pub(crate) fn is_open_to_namespaces(&self, world: &World, request: &Request) -> bool {
        let Request::Resource(request) = request else { return false };
        let ResourceRequest { group, resource, subresource, verb, .. } = request;
        // A request that names its Namespace is for that one alone.
        let is_of_one = resource == "namespaces" && !request.namespace.is_empty();
        let has_namespaces = !world.is_cluster_scoped(group, resource)
            || !is_of_one && scope::is_checked_in_namespaces(group, resource, subresource, verb);
        self.http.is_none() && has_namespaces
    }

    fn namespace_of(&self, found: &ResourceMatch, name: &str) -> String {
        match (&self.namespace, found.namespaced) {
            (Some(namespace), _) => namespace.clone(),
            _ if self.all_namespaces => String::new(),
            // A request for one Namespace object carries that namespace.
            (None, Some(false)) if is_about_one_namespace(&found.group, &found.resource, self.verb.as_deref()) => {
                name.to_owned()
            }
            (None, Some(false)) => String::new(),
            (None, _) => "default".to_owned(),
        }
    }
}

/// Returns whether a request is about one Namespace object and carries that namespace; list, create and watch carry
/// none.
pub(crate) fn is_about_one_namespace(group: &str, resource: &str, verb: Option<&str>) -> bool {
    group.is_empty() && resource == "namespaces" && matches!(verb, Some("get" | "update" | "patch" | "delete"))
}

#[cfg(test)]
mod tests {
    use bailiwick_access::Builder;
    use bailiwick_kubernetes::catalogue::{Catalogue, LAST_MINOR, Served};

    use super::*;

    fn asked(resource: String, subresource: Option<&str>) -> RequestOptions {
        RequestOptions {
            verb: Some("get".to_owned()),
            resource: Some(resource),
            name: Some("x".to_owned()),
            namespace: None,
            all_namespaces: false,
            subresource: subresource.map(str::to_owned),
            path: None,
            http: None,
            any_resource: false,
        }
    }

    /// `can-i VERB R/S` asks what `can-i VERB R --subresource S` asks, for every resource and subresource that is served.
    #[test]
    fn a_slash_is_a_subresource_wherever_there_is_one() {
        const NAMES: [&str; 15] = [
            "approval",
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "finalizers",
            "finalize",
            "log",
            "portforward",
            "proxy",
            "resize",
            "scale",
            "status",
            "token",
        ];
        let (world, catalogue) = (Builder::new(LAST_MINOR).build(), Catalogue::get());
        let mut compared = 0;
        for resource in catalogue.served(LAST_MINOR) {
            let written = [resource.resource.as_str(), resource.group.as_str()].join(".");
            let written = written.trim_end_matches('.');
            for name in NAMES {
                let full = format!("{}/{name}", resource.resource);
                let is_served = catalogue.availability(LAST_MINOR, &resource.group, &full) == Served::Yes;
                if !is_served && name != "finalizers" {
                    continue;
                }
                let by_slash = asked(format!("{written}/{name}"), None).request(&world);
                let by_option = asked(written.to_owned(), Some(name)).request(&world);
                assert_eq!(by_slash.ok(), by_option.ok(), "{written}/{name}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}
