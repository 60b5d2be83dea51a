//! The shape of RBAC objects and namespaces. Parts refused by the server's decoding must not be read as absent: a rule with
//! `verbs: get` would then silently grant nothing, and a subject without a name would be an identity. A namespace with a list as its
//! level of Pod Security would have no level.

use bailiwick_kubernetes::rbac::RbacForm;
use bailiwick_yaml::NodeRef;

/// The fields of an object reference of OpenShift, and `apiGroup` of RBAC, which its server drops.
const OBJECT_REFERENCE: [&str; 8] =
    ["apiGroup", "apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];

/// Returns the problem of the shape of a role, a binding or a namespace, with its place; none for a valid one and for other kinds.
pub(super) fn problem<'t>(api_version: &str, kind: &str, object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    let group = api_version.rsplit_once('/').map_or(api_version, |(group, _)| group);
    if matches!((group, kind), ("v1", "Namespace") | ("project.openshift.io", "Project")) {
        return metadata_problem(object);
    }
    let form = RbacForm::of_group(group)?;
    if api_version == group {
        let place = object.get("apiVersion").unwrap_or(object);
        return Some((place, format!("`{group}` is a group without a version")));
    }
    match kind {
        "Role" | "ClusterRole" => metadata_problem(object).or_else(|| rules_problem(form, object)),
        "RoleBinding" | "ClusterRoleBinding" => metadata_problem(object).or_else(|| match form {
            RbacForm::Rbac => binding_problem(object),
            RbacForm::Openshift => openshift_binding_problem(kind, object),
        }),
        _ => None,
    }
}

/// Checks labels and annotations: maps of strings, where null is the empty string (`encoding/json` with a Go map).
fn metadata_problem(object: NodeRef<'_>) -> Option<(NodeRef<'_>, String)> {
    ["labels", "annotations"].into_iter().find_map(|field| texts_problem(field, object.path(&["metadata", field])?))
}

fn texts_problem<'t>(field: &str, texts: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    if texts.is_null() {
        return None;
    }
    if !texts.is_map() {
        return Some((texts, format!("`{field}` is {}, not a map of strings", texts.describe())));
    }
    let (key, value) = texts.entries().find(|(_, value)| value.as_str().is_none() && !value.is_null())?;
    Some((value, format!("`{}` of `{field}` is {}, not a string", key.as_key(), value.describe())))
}

fn rules_problem<'t>(form: RbacForm, object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
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
            if form == RbacForm::Openshift && name == "attributeRestrictions" {
                continue;
            }
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
    subjects_problem(object, &["User", "Group", "ServiceAccount"], &["apiGroup", "kind", "name", "namespace"])
}

fn openshift_binding_problem<'t>(kind: &str, object: NodeRef<'t>) -> Option<(NodeRef<'t>, String)> {
    let Some(role_ref) = object.get("roleRef").filter(|role_ref| role_ref.is_map()) else {
        return Some((object, "this binding has no `roleRef`".to_owned()));
    };
    if let Some(problem) = names_problem(role_ref, &OBJECT_REFERENCE) {
        return Some(problem);
    }
    let of_role = role_ref.text_at("namespace");
    let own = object.path(&["metadata", "namespace"]).and_then(NodeRef::as_str);
    let is_elsewhere = match kind {
        "RoleBinding" => own.map_or("default", |own| own) != of_role,
        _ => true,
    };
    if !of_role.is_empty() && is_elsewhere {
        return Some((role_ref, "a binding refers to a Role of its own namespace, or to a ClusterRole".to_owned()));
    }
    for key in ["userNames", "groupNames"] {
        let Some(names) = object.get(key).filter(|names| !names.is_null()) else { continue };
        if !names.is_seq() || names.items().any(|name| name.as_str().is_none()) {
            return Some((names, format!("`{key}` is {}, not a list of strings", names.describe())));
        }
    }
    subjects_problem(object, &["User", "Group", "ServiceAccount", "SystemUser", "SystemGroup"], &OBJECT_REFERENCE)
}

/// Checks the list of the subjects of a binding.
fn subjects_problem<'t>(object: NodeRef<'t>, kinds: &[&str], fields: &[&str]) -> Option<(NodeRef<'t>, String)> {
    let subjects = object.get("subjects").filter(|subjects| !subjects.is_null())?;
    if !subjects.is_seq() {
        return Some((subjects, format!("`subjects` is {}, not a list", subjects.describe())));
    }
    subjects.items().find_map(|subject| {
        let kind = subject.text_at("kind");
        if !kinds.contains(&kind) {
            return Some((subject, format!("`{kind}` is no kind of subject")));
        }
        names_problem(subject, fields)
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
