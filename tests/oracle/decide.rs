//! The decision and its parts: the bindings that apply, the rules that match, the subjects that have the permission.
//!
//! RBAC only allows; the order of bindings and rules is irrelevant; a binding with a missing role grants nothing and
//! does not affect the others (`plugin/pkg/auth/authorizer/rbac` of Kubernetes).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::read::{items, label, name, namespace, strings, text, tidy_rules};

/// The user of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Actor {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

/// A request for a path, or for attributes of a resource. Fields that do not apply are empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) path: Option<String>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The decision with its reasons.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// Each allowing binding, its role, and the numbers of the rules that match.
    pub(crate) because: Vec<(String, String, Vec<usize>)>,
    pub(crate) missing: BTreeSet<String>,
}

/// The group that is let through before any authorizer is asked.
pub(crate) const MASTERS: &str = "system:masters";

impl Actor {
    /// Returns the actor of a question; without groups, the groups that authentication adds for its name.
    pub(crate) fn from_question(question: &Value) -> Self {
        let user = text(question, "user").to_owned();
        let groups = match question.get("groups") {
            Some(Value::Array(_)) => strings(question, "groups").into_iter().map(str::to_owned).collect(),
            _ => implicit_groups(&user),
        };
        Self { user, groups }
    }

    /// Whether the actor is in a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

impl Request {
    /// Returns the request that a question spells out.
    pub(crate) fn from_question(question: &Value) -> Self {
        let get = |key| text(question, key).to_owned();
        Self {
            verb: get("verb"),
            path: question.get("path").and_then(Value::as_str).map(str::to_owned),
            group: get("group"),
            version: String::new(),
            resource: get("resource"),
            subresource: get("subresource"),
            namespace: get("namespace"),
            name: get("name"),
        }
    }

    /// Returns the request as an answer shows it.
    pub(crate) fn attributes(&self) -> Value {
        match &self.path {
            Some(path) => json!({"verb": self.verb, "path": path}),
            None => json!({
                "verb": self.verb, "group": self.group, "version": self.version, "resource": self.resource,
                "subresource": self.subresource, "namespace": self.namespace, "name": self.name,
            }),
        }
    }
}

/// Returns the parts of a service account's user name.
pub(crate) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Returns the groups of an account without an explicit membership.
pub(crate) fn implicit_groups(user: &str) -> Vec<String> {
    if let Some((namespace, _)) = service_account(user) {
        let own = format!("system:serviceaccounts:{namespace}");
        return vec!["system:serviceaccounts".to_owned(), own, "system:authenticated".to_owned()];
    }
    let group = if user == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
    vec![group.to_owned()]
}

/// Returns the bindings for requests in a namespace: the bindings of the cluster and the bindings of the namespace.
pub(crate) fn bindings_in<'o>(objects: &'o [Value], namespace_asked: &str) -> Vec<&'o Value> {
    let mut bindings = Vec::new();
    for object in objects {
        if text(object, "kind") == "ClusterRoleBinding" {
            bindings.push(object);
        }
    }
    for object in objects {
        let here = !namespace_asked.is_empty() && namespace(object) == namespace_asked;
        if text(object, "kind") == "RoleBinding" && here {
            bindings.push(object);
        }
    }
    bindings
}

/// Returns the role of a reference, looked up from a namespace; the error is what to call the role that is not there.
pub(crate) fn role_at<'o>(objects: &'o [Value], reference: &Value, from: &str) -> Result<&'o Value, String> {
    let (kind, wanted) = (text(reference, "kind"), text(reference, "name"));
    for object in objects {
        let found = text(object, "kind") == kind && name(object) == wanted;
        if found && (kind == "ClusterRole" || kind == "Role" && namespace(object) == from) {
            return Ok(object);
        }
    }
    Err(if kind == "Role" { format!("{kind}/{from}/{wanted}") } else { format!("{kind}/{wanted}") })
}

/// Whether a subject matches the actor. The API group of any subject and the namespace of users and groups are
/// irrelevant.
pub(crate) fn subject_is(subject: &Value, binding_namespace: &str, actor: &Actor) -> bool {
    let subject_name = text(subject, "name");
    match text(subject, "kind") {
        "User" => actor.user == subject_name,
        "Group" => actor.is_in(subject_name),
        "ServiceAccount" => {
            let own = text(subject, "namespace");
            let account_namespace = if own.is_empty() { binding_namespace } else { own };
            let user = format!("system:serviceaccount:{account_namespace}:{subject_name}");
            !account_namespace.is_empty() && actor.user == user
        }
        _ => false,
    }
}

/// Whether a binding means the actor.
pub(crate) fn applies(binding: &Value, actor: &Actor) -> bool {
    items(binding, "subjects").iter().any(|subject| subject_is(subject, namespace(binding), actor))
}

/// Whether a list has an entry, or the star that stands for every entry.
fn has_or_star(list: &[&str], entry: &str) -> bool {
    list.contains(&"*") || list.contains(&entry)
}

/// Whether one rule allows a request: all of its parts must fit, in this one rule.
pub(crate) fn rule_allows(rule: &Value, request: &Request) -> bool {
    if !has_or_star(&strings(rule, "verbs"), &request.verb) {
        return false;
    }
    match &request.path {
        Some(path) => strings(rule, "nonResourceURLs").iter().any(|pattern| url_fits(pattern, path)),
        None => {
            let names = strings(rule, "resourceNames");
            has_or_star(&strings(rule, "apiGroups"), &request.group)
                && strings(rule, "resources").iter().any(|entry| resource_fits(entry, request))
                && (names.is_empty() || names.contains(&request.name.as_str()))
        }
    }
}

/// Returns whether a resource of a rule matches a request: with `*`, literally, or as a subresource of any resource.
fn resource_fits(entry: &str, request: &Request) -> bool {
    if request.subresource.is_empty() {
        return entry == "*" || entry == request.resource;
    }
    entry == "*"
        || entry == format!("{}/{}", request.resource, request.subresource)
        || entry == format!("*/{}", request.subresource)
}

/// Returns whether a URL of a rule matches a path: literally, or as a prefix if it ends in stars.
fn url_fits(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

/// Decides a request.
pub(crate) fn decide(objects: &[Value], actor: &Actor, request: &Request) -> Decision {
    let mut decision = Decision::default();
    for binding in bindings_in(objects, &request.namespace) {
        if !applies(binding, actor) {
            continue;
        }
        let role = match role_at(objects, &binding["roleRef"], namespace(binding)) {
            Ok(role) => role,
            Err(missing) => {
                decision.missing.insert(missing);
                continue;
            }
        };
        let mut matching = Vec::new();
        for (number, rule) in items(role, "rules").iter().enumerate() {
            if rule_allows(rule, request) {
                matching.push(number);
            }
        }
        if !matching.is_empty() {
            decision.because.push((label(binding), label(role), matching));
        }
    }
    decision.because.sort();
    decision.allowed = actor.is_in(MASTERS) || !decision.because.is_empty();
    decision
}

/// Returns every rule that an actor holds in a namespace, and the roles that were not there.
pub(crate) fn rules_for(objects: &[Value], actor: &Actor, asked: &str) -> (Vec<Value>, BTreeSet<String>) {
    let (mut rules, mut missing) = (Vec::new(), BTreeSet::new());
    for binding in bindings_in(objects, asked) {
        if applies(binding, actor) {
            match role_at(objects, &binding["roleRef"], namespace(binding)) {
                Ok(role) => rules.extend(tidy_rules(items(role, "rules"))),
                Err(name) => _ = missing.insert(name),
            }
        }
    }
    (rules, missing)
}

/// Returns every subject that may do something, and the roles of any binding in scope that were not there.
pub(crate) fn who_can(objects: &[Value], request: &Request) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut subjects = BTreeSet::from([format!("Group/{MASTERS}")]);
    let mut missing = BTreeSet::new();
    for binding in bindings_in(objects, &request.namespace) {
        let role = match role_at(objects, &binding["roleRef"], namespace(binding)) {
            Ok(role) => role,
            Err(name) => {
                missing.insert(name);
                continue;
            }
        };
        if items(role, "rules").iter().any(|rule| rule_allows(rule, request)) {
            for subject in items(binding, "subjects") {
                let label = subject_label(subject, namespace(binding));
                // An account without a namespace is no account, although the server's own locator lists it.
                if !label.starts_with("ServiceAccount//") {
                    subjects.insert(label);
                }
            }
        }
    }
    (subjects, missing)
}

/// Returns the name of a subject in answers; an account without a namespace has the namespace of the binding.
pub(crate) fn subject_label(subject: &Value, binding_namespace: &str) -> String {
    let (kind, subject_name) = (text(subject, "kind"), text(subject, "name"));
    if kind != "ServiceAccount" {
        return format!("{kind}/{subject_name}");
    }
    let own = text(subject, "namespace");
    format!("{kind}/{}/{subject_name}", if own.is_empty() { binding_namespace } else { own })
}
