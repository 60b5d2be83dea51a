//! Identities and requests: the attributes of an authorizer.

use schemars::JsonSchema;
use serde::Serialize;

/// Splits a text at the first of a mark, such as `pods/exec` at the slash. Without the mark the second part is empty.
pub(crate) fn split_at_first(text: &str, mark: char) -> (&str, &str) {
    text.split_once(mark).unwrap_or((text, ""))
}

pub use bailiwick_kubernetes::names::service_account_user as service_account;

/// The group with all permissions before any authorizer.
pub const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The user of a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of a request without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of every service account.
pub const ACCOUNTS: &str = "system:serviceaccounts";

/// The identity behind a request, as the authenticator reports it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Identity {
    /// The user name.
    pub user: String,
    /// Every group, the implicit ones included.
    pub groups: Vec<String>,
}

impl Identity {
    /// Returns a user as authentication would present it: with the own groups of a service account, an anonymous or
    /// any other user.
    pub fn from_user(user: &str) -> Self {
        let groups = match service_account(user) {
            Some((namespace, _)) => {
                vec![ACCOUNTS.to_owned(), format!("{ACCOUNTS}:{namespace}"), AUTHENTICATED.to_owned()]
            }
            None if user == ANONYMOUS => vec![UNAUTHENTICATED.to_owned()],
            None => vec![AUTHENTICATED.to_owned()],
        };
        Self { user: user.to_owned(), groups }
    }

    /// Returns the user of `--as` with `--as-group`
    /// (`staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation`): given groups replace the groups of a
    /// service account.
    pub fn impersonated(user: &str, groups: &[String]) -> Self {
        if groups.is_empty() {
            return Self::from_user(user);
        }
        let mut groups = groups.to_vec();
        let present = |name: &str| groups.iter().any(|group| group == name);
        if user == ANONYMOUS && !present(UNAUTHENTICATED) {
            groups.push(UNAUTHENTICATED.to_owned());
        } else if user != ANONYMOUS && !present(AUTHENTICATED) && !present(UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self { user: user.to_owned(), groups }
    }

    /// Returns a member of a group without a known name.
    pub fn member_of(group: &str) -> Self {
        let mut groups = vec![group.to_owned()];
        if group != AUTHENTICATED && group != UNAUTHENTICATED {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self { user: String::new(), groups }
    }

    /// Whether the identity is a member of `system:masters`.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Request {
    /// Objects of the API.
    Resource(ResourceRequest),
    /// Any other request with a URL.
    Url(UrlRequest),
}

/// A verb on a resource, in any namespace and of any name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceVerb<'t> {
    /// The verb, such as `use`.
    pub verb: &'t str,
    /// The API group; empty for the core group.
    pub group: &'t str,
    /// The resource, such as `securitycontextconstraints`.
    pub resource: &'t str,
}

/// A request for objects. Empty texts are absent: no namespace, no name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct ResourceRequest {
    /// The verb, such as `get`.
    pub verb: String,
    /// The API group; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The API version; no authorizer looks at it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The subresource, such as `exec`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The namespace of the objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A request for a URL outside of the resource API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct UrlRequest {
    /// The HTTP method in lower case.
    pub verb: String,
    /// The path, such as `/healthz`.
    pub path: String,
}

impl ResourceRequest {
    /// Returns the resource as rules name it: with its subresource after a slash.
    pub fn full_resource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

impl Request {
    /// Returns the namespace of the request; empty without one.
    pub fn namespace(&self) -> &str {
        match self {
            Request::Resource(request) => &request.namespace,
            Request::Url(_) => "",
        }
    }

    /// Returns the verb.
    pub fn verb(&self) -> &str {
        match self {
            Request::Resource(request) => &request.verb,
            Request::Url(request) => &request.verb,
        }
    }
}

impl std::fmt::Display for Request {
    /// Writes the request in words: `get pods/log called `web` in namespace `a``.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Request::Url(request) => write!(formatter, "{} {}", request.verb, request.path),
            Request::Resource(request) => {
                write!(formatter, "{} {}", request.verb, request.full_resource())?;
                if !request.group.is_empty() {
                    write!(formatter, ".{}", request.group)?;
                }
                if !request.name.is_empty() {
                    write!(formatter, " `{}`", request.name)?;
                }
                if request.namespace.is_empty() {
                    Ok(())
                } else {
                    write!(formatter, " in namespace `{}`", request.namespace)
                }
            }
        }
    }
}
