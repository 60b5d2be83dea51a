//! Whether a subject may write a role or a binding: the permission, then the escalation check, then validation
//! (`pkg/registry/rbac/*/policybased`).

use serde_json::{Value, json};

use super::aggregate::is_aggregated;
use super::cover;
use super::decide::{Actor, MASTERS, Request, decide, role_at, rules_for};
use super::read::{RBAC, defaulted, items, name, namespace, pruned, strings, text};

/// Returns the answer to a question about a write.
pub(crate) fn write(objects: &[Value], actor: &Actor, question: &Value) -> Result<Value, String> {
    let new = defaulted(&question["object"]);
    let old = question.get("old").filter(|old| !old.is_null()).map(defaulted);
    let resource = resource_of(text(&new, "kind"))?;
    let verb = match text(question, "verb") {
        "" if old.is_some() => "update",
        "" => "create",
        verb => verb,
    };
    // A POST goes to the collection and names nothing; PUT and PATCH name the object.
    let named = if verb == "create" { "" } else { name(&new) };
    let request = |verb: &str, resource: &str, name: &str| Request {
        verb: verb.to_owned(),
        group: RBAC.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace(&new).to_owned(),
        name: name.to_owned(),
        ..Request::default()
    };
    let may = |request: &Request| decide(objects, actor, request).allowed;

    // A PUT or PATCH that has nothing to change creates, which needs that verb too, on the same name.
    let creates = verb != "create" && old.is_none();
    let verb_allowed = may(&request(verb, resource, named)) && (!creates || may(&request("create", resource, named)));

    let is_binding = text(&new, "kind").ends_with("Binding");
    let exemption = if is_binding {
        let reference = &new["roleRef"];
        Request {
            group: text(reference, "apiGroup").to_owned(),
            ..match text(reference, "kind") {
                "ClusterRole" => request("bind", "clusterroles", text(reference, "name")),
                _ => request("bind", "roles", text(reference, "name")),
            }
        }
    } else {
        request("escalate", resource, named)
    };
    let (refusal, uncovered) = if actor.is_in(MASTERS) || only_bookkeeping(&new, old.as_ref()) || may(&exemption) {
        (None, Vec::new())
    } else if is_binding {
        bound_rules(objects, actor, &new)
    } else {
        own_rules(objects, actor, &new, old.as_ref())
    };
    let escalation = match refusal {
        Some(refusal) => refusal,
        None if is_invalid(&new, old.as_ref()) => "invalid",
        None => "ok",
    };
    Ok(json!({
        "verbAllowed": verb_allowed,
        "escalation": escalation,
        "allowed": verb_allowed && escalation == "ok",
        "uncovered": uncovered,
    }))
}

fn resource_of(kind: &str) -> Result<&'static str, String> {
    match kind {
        "Role" => Ok("roles"),
        "ClusterRole" => Ok("clusterroles"),
        "RoleBinding" => Ok("rolebindings"),
        "ClusterRoleBinding" => Ok("clusterrolebindings"),
        kind => Err(format!("`{kind}` is no role and no binding")),
    }
}

/// Refuses a binding with a role whose rules the actor does not hold.
fn bound_rules(objects: &[Value], actor: &Actor, binding: &Value) -> (Option<&'static str>, Vec<Value>) {
    match role_at(objects, &binding["roleRef"], namespace(binding)) {
        Err(_) => (Some("not-found"), Vec::new()),
        Ok(role) => held(objects, actor, namespace(binding), items(role, "rules")),
    }
}

/// Refuses a role with rules that the actor does not hold.
fn own_rules(objects: &[Value], actor: &Actor, new: &Value, old: Option<&Value>) -> (Option<&'static str>, Vec<Value>) {
    let rules = held(objects, actor, namespace(new), items(new, "rules"));
    let gathers =
        |role: &Value| is_aggregated(role) && !items(&role["aggregationRule"], "clusterRoleSelectors").is_empty();
    if rules.0.is_some() || !(gathers(new) || old.is_some_and(gathers)) {
        return rules;
    }
    // The rules that the role will aggregate are unknown, so the subject needs every permission.
    let everything = [
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
        json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
    ];
    held(objects, actor, namespace(new), &everything)
}

/// Refuses what the actor does not hold where the object lies.
fn held(objects: &[Value], actor: &Actor, place: &str, wanted: &[Value]) -> (Option<&'static str>, Vec<Value>) {
    let (rules, _) = rules_for(objects, actor, place);
    let uncovered = cover::uncovered(&rules, wanted);
    ((!uncovered.is_empty()).then_some("forbidden"), uncovered)
}

/// Whether an update changes only what the garbage collector and the field owners need.
fn only_bookkeeping(new: &Value, old: Option<&Value>) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !matches!(key.as_str(), "ownerReferences" | "finalizers" | "managedFields"));
        }
        pruned(&object)
    };
    old.is_some_and(|old| rest(old) == rest(new))
}

/// Whether the API server would refuse the object for its content, or for what the update may not change.
fn is_invalid(new: &Value, old: Option<&Value>) -> bool {
    let segment = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    let kind = text(new, "kind");
    if !segment(name(new)) {
        return true;
    }
    if !kind.ends_with("Binding") {
        let rule_is_invalid = |rule: &Value| {
            let none = |key: &str| strings(rule, key).is_empty();
            let content = if none("nonResourceURLs") {
                none("apiGroups") || none("resources")
            } else {
                kind == "Role" || !none("apiGroups") || !none("resources") || !none("resourceNames")
            };
            none("verbs") || content
        };
        return items(new, "rules").iter().any(rule_is_invalid) || is_aggregated(new) && selectors_are_invalid(new);
    }
    let reference = &new["roleRef"];
    let kind_fits = matches!((kind, text(reference, "kind")), (_, "ClusterRole") | ("RoleBinding", "Role"));
    let subject_is_invalid = |subject: &Value| {
        let group = text(subject, "apiGroup");
        let fits = match text(subject, "kind") {
            "User" | "Group" => group == RBAC,
            "ServiceAccount" => group.is_empty() && (kind == "RoleBinding" || !text(subject, "namespace").is_empty()),
            _ => false,
        };
        !fits || text(subject, "name").is_empty()
    };
    !kind_fits
        || text(reference, "apiGroup") != RBAC
        || !segment(text(reference, "name"))
        || items(new, "subjects").iter().any(subject_is_invalid)
        || old.is_some_and(|old| old["roleRef"] != *reference)
}

/// Whether an aggregation rule has no selectors, or one whose expressions contradict their operators.
fn selectors_are_invalid(role: &Value) -> bool {
    let selectors = items(&role["aggregationRule"], "clusterRoleSelectors");
    let expression_is_invalid = |expression: &Value| match text(expression, "operator") {
        "In" | "NotIn" => strings(expression, "values").is_empty(),
        "Exists" | "DoesNotExist" => !strings(expression, "values").is_empty(),
        _ => true,
    };
    let invalid = |selector: &Value| items(selector, "matchExpressions").iter().any(expression_is_invalid);
    selectors.is_empty() || selectors.iter().any(invalid)
}
