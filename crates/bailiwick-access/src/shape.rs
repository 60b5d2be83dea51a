//! The shape of RBAC objects. Parts refused by the server's strict decoding must not be read as absent: a rule with
//! `verbs: get` would then silently grant nothing, and a subject without a name would be an identity.

use bailiwick_kubernetes::rbac::GROUP;
use bailiwick_yaml::NodeRef;

/// Returns the problem of the shape of a role or binding, with its place; none for a valid one and for other kinds.
pub(super) fn problem<'t>(api_version: &str, kind: &str, object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    if api_version.rsplit_once('/').map_or(api_version, |(group, _)| group) != GROUP {
        return None;
    }
    if api_version == GROUP {
        let place = object.get("apiVersion").unwrap_or(object);
        return Some((place, format!("`{GROUP}` is a group without a version")));
    }
    match kind {
        "Role" | "ClusterRole" => rules_problem(object),
        "RoleBinding" | "ClusterRoleBinding" => binding_problem(object),
        _ => None,
    }
}

fn rules_problem<'t>(object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    const LISTS: [&str; 5] = ["apiGroups", "nonResourceURLs", "resourceNames", "resources", "verbs"];
    let rules = object.get("rules").filter(|rules| !rules.is_null())?;
    if !rules.is_seq() {
        return Some((rules, format!("`rules` is {}, not a list", rules.describe())));
    }
    for rule in rules.items() {
        if !rule.is_map() {
            return Some((rule, format!("a rule is a map, not {}", rule.describe())));
        }
        for (key, value) in rule.entries() {
            let name = key.as_key();
            if !LISTS.contains(&name) {
                return Some((key, format!("a rule has no field `{name}`")));
            }
            let is_list = value.is_null() || value.is_seq() && value.items().all(|item| item.as_str().is_some());
            if !is_list {
                return Some((value, format!("`{name}` is {}, not a list of strings", value.describe())));
            }
        }
    }
    None
}

fn binding_problem<'t>(object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    let Some(role_ref) = object.get("roleRef").filter(|role_ref| role_ref.is_map()) else {
        return Some((object, "this binding has no `roleRef`".to_owned()));
    };
    if let Some(problem) = names_problem(role_ref, &["apiGroup", "kind", "name"]) {
        return Some(problem);
    }
    let subjects = object.get("subjects").filter(|subjects| !subjects.is_null())?;
    if !subjects.is_seq() {
        return Some((subjects, format!("`subjects` is {}, not a list", subjects.describe())));
    }
    subjects.items().find_map(|subject| {
        let kind = subject.text_at("kind");
        if !matches!(kind, "User" | "Group" | "ServiceAccount") {
            return Some((subject, format!("`{kind}` is no kind of subject")));
        }
        names_problem(subject, &["apiGroup", "kind", "name", "namespace"])
    })
}

/// Checks a reference: it has a name, its values are strings, and it has no other fields.
fn names_problem<'t>(reference: NodeRef<'t>, fields: &[&str]) -> Option<(NodeRef<'t>, String)> {
    for (key, value) in reference.entries() {
        let name = key.as_key();
        if !fields.contains(&name) {
            return Some((key, format!("there is no field `{name}` here")));
        }
        if value.as_str().is_none() && !value.is_null() {
            return Some((value, format!("`{name}` is {}, not a string", value.describe())));
        }
    }
    let named = reference.get("name").and_then(NodeRef::as_str).is_some_and(|name| !name.is_empty());
    (!named).then(|| (reference, "this reference has no name".to_owned()))
}
