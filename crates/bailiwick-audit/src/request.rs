//! From an event to the decided requests.

use bailiwick_access::http;
use bailiwick_access::impersonate::{ImpersonationMode, ImpersonationTarget};
use bailiwick_access::request::{AUTHENTICATED, UNAUTHENTICATED};
use bailiwick_access::{Identity, Request, ResourceRequest, UrlRequest};

use crate::event::{Event, EventUser, ObjectReference};

/// Whether the authorizer allowed a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditDecision {
    /// The authorizer allowed it.
    Allowed,
    /// The authorizer denied it.
    Denied,
}

/// How a decision is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The annotation `authorization.k8s.io/decision`, with the text of `authorization.k8s.io/reason`.
    Annotated(String),
    /// The status code of the response: the event has no annotation.
    Guessed,
    /// Another request, which the server serves after this one alone.
    Implied,
}

/// A request of an event with its decision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DecidedRequest {
    /// The user with its groups, as the event has them; the groups are sorted.
    pub identity: Identity,
    /// The attributes of the authorizer.
    pub request: Request,
    /// Whether the authorizer allowed it.
    pub decision: AuditDecision,
    /// How the decision is known.
    pub basis: Basis,
}

/// Why an event has no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRequest {
    /// The request was not authenticated.
    Unauthenticated,
    /// The server answered before it decided: the authorizer failed, or too many requests waited.
    Undecided,
    /// The event has no attributes of a request.
    Unreadable(&'static str),
}

/// Returns the decided requests for an event. The first one is the request of the client; requests of the
/// server on its way follow.
pub(crate) fn decided_requests(event: &Event<'_>) -> Result<Vec<DecidedRequest>, NoRequest> {
    let user = event.user.as_ref().filter(|user| !user.username.is_empty()).ok_or(NoRequest::Unauthenticated)?;
    let request = request_of(event).ok_or(NoRequest::Unreadable("it has neither a resource nor a path"))?;
    let forbidden = forbidden_request(event);
    if let Some(denied) =
        forbidden.as_ref().filter(|denied| denied.verb().starts_with("impersonate") && !is_decided(event))
    {
        return Ok(vec![denied_request(identity(user)?, denied.clone(), Basis::Guessed)]);
    }
    let (decision, basis) = decision_of(event).ok_or(NoRequest::Undecided)?;
    let impersonated = event.impersonated_user.as_ref().filter(|user| !user.username.is_empty());
    let subject = impersonated.map_or(user, |impersonated| impersonated);
    let first = DecidedRequest { identity: identity(subject)?, request: request.clone(), decision, basis };
    let mut requests = vec![first];
    if let Some(impersonated) = impersonated {
        let mode = mode_of(event);
        for request in mode.requests(&target(impersonated)?, &request) {
            requests.push(implied_request(identity(user)?, request));
        }
    }
    if let Some(create) = created(event, &request).filter(|_| decision == AuditDecision::Allowed) {
        requests.push(implied_request(identity(subject)?, create));
    }
    if let Some(denied) = forbidden.filter(|denied| decision == AuditDecision::Allowed && *denied != request) {
        requests.push(denied_request(identity(subject)?, denied, Basis::Implied));
    }
    Ok(requests)
}

/// Returns an allowed request of the server for another one.
fn implied_request(identity: Identity, request: Request) -> DecidedRequest {
    DecidedRequest { identity, request, decision: AuditDecision::Allowed, basis: Basis::Implied }
}

fn denied_request(identity: Identity, request: Request, basis: Basis) -> DecidedRequest {
    DecidedRequest { identity, request, decision: AuditDecision::Denied, basis }
}

fn identity(user: &EventUser<'_>) -> Result<Identity, NoRequest> {
    let mut groups = user.groups().map_err(|_| NoRequest::Unreadable("`groups` of a user is not a list of texts"))?;
    groups.sort();
    groups.dedup();
    Ok(Identity { user: user.username.clone().into_owned(), groups })
}

/// Returns the decision of the authorizer (`WithAuthorization` of `endpoints/filters/authorization.go`); none if there was none. The
/// server counts waiting requests and reads the headers of an impersonation before it decides, and notes an error of the authorizer as the
/// reason.
fn decision_of(event: &Event<'_>) -> Option<(AuditDecision, Basis)> {
    let (decision, reason) = match &event.annotations {
        Some(annotations) => (&*annotations.decision, &*annotations.reason),
        None => ("", ""),
    };
    match (decision, event.code()) {
        ("allow", _) => Some((AuditDecision::Allowed, Basis::Annotated(reason.to_owned()))),
        ("forbid", _) => Some((AuditDecision::Denied, Basis::Annotated(reason.to_owned()))),
        (_, 429) => None,
        (_, 400) if is_impersonation_without_user(event) => None,
        _ if reason == "internal error" => None,
        (_, 401 | 403) => Some((AuditDecision::Denied, Basis::Guessed)),
        _ => Some((AuditDecision::Allowed, Basis::Guessed)),
    }
}

/// Whether the server refused an impersonation of groups without a user (`buildImpersonationRequests`).
fn is_impersonation_without_user(event: &Event<'_>) -> bool {
    let status = event.response_status.as_ref();
    status.is_some_and(|status| status.message.contains(" without impersonating a user"))
}

/// Returns the attributes of the request of an event. The path has them as the authorizer saw them: `objectRef` can have the name and
/// the namespace of the object in the request (`LogRequestObject` of `pkg/audit/request.go`).
fn request_of(event: &Event<'_>) -> Option<Request> {
    let Some(reference) = event.object_ref.as_ref().filter(|reference| !reference.resource.is_empty()) else {
        return match http::attributes(&format!("{} {}", event.verb.to_uppercase(), event.request_uri)).ok()? {
            Request::Url(request) => Some(Request::Url(request)),
            // An event about objects without a reference: the verb of the event is the verb of the authorizer.
            Request::Resource(request) => Some(Request::Resource(with_verb(request, &event.verb))),
        };
    };
    let of_path = http::attributes(&format!("{} {}", method(&event.verb), event.request_uri));
    Some(Request::Resource(match of_path {
        Ok(Request::Resource(request)) if is_of(&request, reference) => with_verb(request, &event.verb),
        _ => of_reference(reference, &event.verb),
    }))
}

/// Returns a method of HTTP for a verb of the API.
fn method(verb: &str) -> &'static str {
    match verb {
        "create" => "POST",
        "update" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        "get" | "list" | "watch" => "GET",
        _ => "OPTIONS",
    }
}

fn is_of(request: &ResourceRequest, reference: &ObjectReference<'_>) -> bool {
    request.group == reference.api_group
        && request.resource == reference.resource
        && request.subresource == reference.subresource
}

fn with_verb(request: ResourceRequest, verb: &str) -> ResourceRequest {
    ResourceRequest { verb: verb.to_owned(), version: String::new(), ..request }
}

/// Returns the attributes in the reference of an event without a path for them. The request of a `create` has no name.
fn of_reference(reference: &ObjectReference<'_>, verb: &str) -> ResourceRequest {
    let is_nameless = verb == "create" && reference.subresource.is_empty() || verb == "deletecollection";
    ResourceRequest {
        verb: verb.to_owned(),
        group: reference.api_group.clone().into_owned(),
        version: String::new(),
        resource: reference.resource.clone().into_owned(),
        subresource: reference.subresource.clone().into_owned(),
        namespace: reference.namespace.clone().into_owned(),
        name: if is_nameless { String::new() } else { reference.name.clone().into_owned() },
    }
}

/// Returns the mode of the impersonation of an event.
fn mode_of(event: &Event<'_>) -> ImpersonationMode {
    let metadata = event.authentication_metadata.as_ref();
    let constraint = metadata.map_or("", |metadata| &metadata.impersonation_constraint);
    ImpersonationMode::of_verb(constraint).map_or(ImpersonationMode::Legacy, |mode| mode)
}

/// Returns the requested identity. Without groups in the headers, the server adds the groups of the kind of user; beside
/// groups in the headers, it adds `system:authenticated` alone.
fn target(user: &EventUser<'_>) -> Result<ImpersonationTarget, NoRequest> {
    let Identity { user: name, mut groups } = identity(user)?;
    let own = Identity::from_user(&name).groups;
    if groups.iter().all(|group| own.contains(group)) {
        groups.clear();
    }
    groups.retain(|group| group != AUTHENTICATED && group != UNAUTHENTICATED);
    let extra = user.extra().map_err(|_| NoRequest::Unreadable("`extra` of a user is not a map of lists"))?;
    Ok(ImpersonationTarget {
        user: name,
        groups,
        extra: extra.into_iter().collect(),
        uid: user.uid.clone().into_owned(),
    })
}

/// Returns the request to create an object, if an update or a patch created one: the server asks the authorizer for it with the name
/// (`withAuthorization` of `endpoints/handlers/create.go`).
fn created(event: &Event<'_>, request: &Request) -> Option<Request> {
    match request {
        Request::Resource(request)
            if matches!(request.verb.as_str(), "update" | "patch")
                && request.subresource.is_empty()
                && event.code() == 201 =>
        {
            Some(Request::Resource(with_verb(request.clone(), "create")))
        }
        _ => None,
    }
}

/// Whether an event has the decision of the authorizer about the request of the client.
fn is_decided(event: &Event<'_>) -> bool {
    event.annotations.as_ref().is_some_and(|annotations| !annotations.decision.is_empty())
}

/// Returns the forbidden request in the message of a response (`Forbidden` of
/// `endpoints/handlers/responsewriters/errors.go`). An impersonation is denied before the server decides about the request of the client,
/// and the `create` of an apply after it.
fn forbidden_request(event: &Event<'_>) -> Option<Request> {
    if event.code() != 403 {
        return None;
    }
    let message = event.response_status.as_ref()?.message.as_ref();
    let (before, rest) = message.split_once(" cannot ")?;
    let (verb, target) = rest.split_once(' ')?;
    let verb = verb.to_owned();
    if let Some(path) = target.strip_prefix("path ").and_then(quoted) {
        return Some(Request::Url(UrlRequest { verb, path }));
    }
    let (before, _) = before.split_once(" is forbidden: ")?;
    let name = before.split_once(' ').and_then(|(_, name)| quoted(name));
    let resource = quoted(target.strip_prefix("resource ")?)?;
    let group = target.split_once(" in API group ").and_then(|(_, rest)| quoted(rest))?;
    let namespace = target.split_once(" in the namespace ").and_then(|(_, rest)| quoted(rest));
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), subresource.to_owned()),
        None => (resource, String::new()),
    };
    let text = |text: Option<String>| text.into_iter().collect::<String>();
    Some(Request::Resource(ResourceRequest {
        verb,
        group,
        version: String::new(),
        resource,
        subresource,
        namespace: text(namespace),
        name: text(name),
    }))
}

/// Returns the text in quotes at the start of a text.
fn quoted(text: &str) -> Option<String> {
    let (quoted, _) = text.strip_prefix('"')?.split_once('"')?;
    Some(quoted.to_owned())
}
