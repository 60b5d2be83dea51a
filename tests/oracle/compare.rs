//! Permissions that subjects gain and lose by a change of objects.
//!
//! Item 11 of the ask protocol:
//!
//! ```text
//! {"compare": {"old": [objects], "new": [objects]}}
//! -> {"changes": [{"subject": "User/x", "namespace": null | "n", "gained": [single grants], "lost": [...]}],
//!     "none": bool}
//! ```
//!
//! Each subject that a binding names is a principal of its own; a User with an account's user name is that account.
//! A grant counts in the scope of its binding, and for nothing where a wider grant of the same subject, in that scope
//! or cluster-wide, covers it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::aggregate::settle;
use super::cover;
use super::decide::{MASTERS, role_at, service_account, subject_label};
use super::read::{defaulted, items, namespace, strings, text};

/// Returns the answer to a question about a change.
pub(crate) fn compare(question: &Value) -> Value {
    let world = |key: &str| {
        let mut objects: Vec<Value> = items(question, key).iter().map(defaulted).collect();
        settle(&mut objects);
        objects
    };
    let (old, new) = (world("old"), world("new"));
    let mut principals = BTreeSet::new();
    let mut scopes = BTreeSet::from([String::new()]);
    for object in old.iter().chain(&new).filter(|object| text(object, "kind").ends_with("Binding")) {
        scopes.insert(namespace(object).to_owned());
        for subject in items(object, "subjects") {
            principals.extend(principal(subject, object));
        }
    }
    let mut changes = Vec::new();
    for subject in &principals {
        for scope in &scopes {
            let (before, after) = (effective(&old, subject, scope), effective(&new, subject, scope));
            let (gained, lost) = (reduced(&after, &before), reduced(&before, &after));
            if !gained.is_empty() || !lost.is_empty() {
                let place = (!scope.is_empty()).then_some(scope);
                changes.push(json!({"subject": subject, "namespace": place, "gained": gained, "lost": lost}));
            }
        }
    }
    json!({"none": changes.is_empty(), "changes": changes})
}

/// Returns the principal of a subject of a binding; none for a subject that matches no principal.
fn principal(subject: &Value, binding: &Value) -> Option<String> {
    let (kind, name) = (text(subject, "kind"), text(subject, "name"));
    match kind {
        // This group has every permission before and after the change.
        "Group" if name == MASTERS => None,
        "User" => Some(match service_account(name) {
            Some((namespace, name)) => format!("ServiceAccount/{namespace}/{name}"),
            None => format!("User/{name}"),
        }),
        "Group" => Some(format!("Group/{name}")),
        "ServiceAccount" => {
            let label = subject_label(subject, namespace(binding));
            (!label.contains("//")).then_some(label)
        }
        _ => None,
    }
}

/// The grants of a subject: the grants of the scope itself, and the grants of the whole cluster.
struct Held {
    here: Vec<Value>,
    everywhere: Vec<Value>,
}

fn effective(objects: &[Value], subject: &str, scope: &str) -> Held {
    let everywhere = granted(objects, subject, "");
    if scope.is_empty() {
        return Held { here: everywhere, everywhere: Vec::new() };
    }
    Held { here: granted(objects, subject, scope), everywhere }
}

/// Returns the single grants of a subject's bindings in one scope, without the grants that match no request.
fn granted(objects: &[Value], subject: &str, scope: &str) -> Vec<Value> {
    let mut grants: Vec<Value> = Vec::new();
    for binding in objects {
        let bound = text(binding, "kind").ends_with("Binding") && namespace(binding) == scope;
        let means = |one: &Value| principal(one, binding).as_deref() == Some(subject);
        if !bound || !items(binding, "subjects").iter().any(means) {
            continue;
        }
        if let Ok(role) = role_at(objects, &binding["roleRef"], scope) {
            for atom in items(role, "rules").iter().flat_map(cover::atoms) {
                let url_in_a_namespace = !scope.is_empty() && !strings(&atom, "nonResourceURLs").is_empty();
                // `pods/*` reads like a wildcard and is the name of no subresource.
                let names_nothing = strings(&atom, "resources").iter().any(|resource| resource.ends_with("/*"));
                if !url_in_a_namespace && !names_nothing {
                    grants.push(atom);
                }
            }
        }
    }
    grants.sort_by(|a, b| cover::sort_key(a).cmp(&cover::sort_key(b)));
    grants.dedup();
    grants
}

/// Returns the grants of one side that neither the other side covers nor a wider grant of their own side.
fn reduced(own: &Held, other: &Held) -> Vec<Value> {
    let mut reduced = Vec::new();
    for (index, grant) in own.here.iter().enumerate() {
        let covered_by = |grants: &[Value]| grants.iter().any(|wider| cover::covers(wider, grant));
        let wider_here = own.here.iter().enumerate().any(|(place, wider)| {
            // Two grants that cover each other (`/a*` and `/a**`) are one; the first stays.
            place != index && cover::covers(wider, grant) && (place < index || !cover::covers(grant, wider))
        });
        if !wider_here && !covered_by(&own.everywhere) && !covered_by(&other.here) && !covered_by(&other.everywhere) {
            reduced.push(grant.clone());
        }
    }
    reduced
}
