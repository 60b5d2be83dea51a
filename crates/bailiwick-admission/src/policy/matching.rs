//! Whether a policy is about a request: rules and selectors.

use serde_json::Value as Json;

use super::read::{Constraints, MatchRule};
use super::request::AdmissionRequest;
use bailiwick_kubernetes::selector::LabelSelector;

/// Whether something matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    Unknown(String),
}

/// Resources outside of admission policies: reviews, because they are not stored, and the policies themselves.
const EXEMPT: [(&str, &[&str]); 3] = [
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
    ),
    ("authentication.k8s.io", &["selfsubjectreviews", "tokenreviews"]),
    (
        "authorization.k8s.io",
        &["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"],
    ),
];

/// Whether no policy is asked about the resource of a request.
pub(super) fn is_exempt(request: &AdmissionRequest) -> bool {
    let is_listed = |(group, resources): &(&str, &[&str])| {
        *group == request.api_group && resources.contains(&request.resource.as_str())
    };
    EXEMPT.iter().any(is_listed)
}

/// Returns whether constraints match a request; `namespace` is its namespace, if known.
pub(super) fn matches(constraints: &Constraints, request: &AdmissionRequest, namespace: Option<&Json>) -> Match {
    let by_namespace = in_namespace(&constraints.namespaces, request, namespace);
    if by_namespace == Match::No || !by_object(&constraints.objects, request) {
        return Match::No;
    }
    let excluded = by_rules(&constraints.excluded, constraints.is_exact, request);
    let included = match constraints.rules.as_slice() {
        [] => Match::Yes,
        rules => by_rules(rules, constraints.is_exact, request),
    };
    match (excluded, included) {
        (Match::Yes, _) | (_, Match::No) => Match::No,
        (Match::Unknown(reason), _) | (_, Match::Unknown(reason)) => Match::Unknown(reason),
        (Match::No, Match::Yes) => by_namespace,
    }
}

fn in_namespace(selector: &LabelSelector, request: &AdmissionRequest, namespace: Option<&Json>) -> Match {
    let is_namespace = request.resource == "namespaces";
    if (request.namespace.is_empty() && !is_namespace) || selector.is_everything() {
        return Match::Yes;
    }
    let is_written = matches!(request.operation.as_str(), "CREATE" | "UPDATE") && request.subresource.is_empty();
    let labelled = if is_namespace && is_written { request.object.as_ref() } else { namespace };
    match labelled {
        Some(object) if selects(selector, object) => Match::Yes,
        Some(_) => Match::No,
        None => Match::Unknown("the labels of the namespace are not given".to_owned()),
    }
}

fn by_object(selector: &LabelSelector, request: &AdmissionRequest) -> bool {
    let objects = [&request.object, &request.old_object];
    selector.is_everything() || objects.into_iter().flatten().any(|object| selects(selector, object))
}

fn selects(selector: &LabelSelector, object: &Json) -> bool {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    selector.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Json::as_str))
}

fn by_rules(rules: &[MatchRule], is_exact: bool, request: &AdmissionRequest) -> Match {
    if rules.iter().any(|rule| rule.matches(request, false)) {
        return Match::Yes;
    }
    if !is_exact && rules.iter().any(|rule| rule.matches(request, true)) {
        let reason =
            "a rule names another version or group of the resource, in which the API server may see the object";
        return Match::Unknown(reason.to_owned());
    }
    Match::No
}

impl MatchRule {
    /// Whether the rule means a request; `anew` if the resource may also be read in another version.
    fn matches(&self, request: &AdmissionRequest, anew: bool) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let is_event = request.resource == "events" && matches!(request.api_group.as_str(), "" | "events.k8s.io");
        self.is_in_scope(request)
            && has(&self.operations, &request.operation)
            && (has(&self.api_groups, &request.api_group)
                || (anew && is_event && (has(&self.api_groups, "") || has(&self.api_groups, "events.k8s.io"))))
            && (anew || has(&self.api_versions, &request.version))
            && self.resources.iter().any(|resource| {
                let (resource, subresource) = match resource.split_once('/') {
                    Some(split) => split,
                    None => (resource.as_str(), ""),
                };
                (resource == "*" || resource == request.resource)
                    && (subresource == "*" || subresource == request.subresource)
            })
            && (self.resource_names.is_empty() || self.resource_names.contains(&request.name))
    }

    fn is_in_scope(&self, request: &AdmissionRequest) -> bool {
        let is_namespace = request.api_group.is_empty() && request.version == "v1" && request.resource == "namespaces";
        let is_cluster_wide = is_namespace || request.namespace.is_empty();
        match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => !is_cluster_wide,
            Some("Cluster") => is_cluster_wide,
            Some(_) => false,
        }
    }
}
