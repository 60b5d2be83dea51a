//! Whether rules cover other rules (`pkg/registry/rbac/validation` of Kubernetes).

use serde_json::{Value, json};

use super::read::strings;

/// Splits a rule into its single grants, in the order of the API server: group, resource, verb, name; then URL, verb.
pub(crate) fn atoms(rule: &Value) -> Vec<Value> {
    let mut atoms = Vec::new();
    for group in strings(rule, "apiGroups") {
        for resource in strings(rule, "resources") {
            for verb in strings(rule, "verbs") {
                let atom = json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]});
                let names = strings(rule, "resourceNames");
                if names.is_empty() {
                    atoms.push(atom);
                    continue;
                }
                for name in names {
                    let mut named = atom.clone();
                    named["resourceNames"] = json!([name]);
                    atoms.push(named);
                }
            }
        }
    }
    for url in strings(rule, "nonResourceURLs") {
        for verb in strings(rule, "verbs") {
            atoms.push(json!({"verbs": [verb], "nonResourceURLs": [url]}));
        }
    }
    atoms
}

/// Returns the single grants that no held rule covers, in order.
pub(crate) fn uncovered(held: &[Value], wanted: &[Value]) -> Vec<Value> {
    let mut uncovered = Vec::new();
    for rule in wanted {
        for atom in atoms(rule) {
            if !held.iter().any(|owner| covers(owner, &atom)) {
                uncovered.push(atom);
            }
        }
    }
    uncovered
}

/// Whether one rule alone covers a single grant. A star that is wanted is covered by a star only.
pub(crate) fn covers(owner: &Value, atom: &Value) -> bool {
    let only = |key: &str| strings(atom, key).first().copied();
    let covered = |key: &str| {
        let list = strings(owner, key);
        only(key).is_none_or(|wanted| list.contains(&"*") || list.contains(&wanted))
    };
    let names = strings(owner, "resourceNames");
    covered("verbs")
        && covered("apiGroups")
        && only("resources").is_none_or(|wanted| resource_covered(&strings(owner, "resources"), wanted))
        && only("nonResourceURLs").is_none_or(|wanted| url_covered(&strings(owner, "nonResourceURLs"), wanted))
        && (names.is_empty() || only("resourceNames").is_some_and(|wanted| names.contains(&wanted)))
}

/// Returns whether a list covers a resource: with `*`, with the resource, or for `r/s` with `*/s`; the first slash
/// divides.
fn resource_covered(list: &[&str], wanted: &str) -> bool {
    let pattern = wanted.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
    list.iter().any(|entry| *entry == "*" || *entry == wanted || pattern.as_deref() == Some(*entry))
}

/// Returns whether a list covers a URL or a pattern: with an equal entry, or with a pattern whose stem is its beginning.
fn url_covered(list: &[&str], wanted: &str) -> bool {
    list.iter().any(|entry| *entry == wanted || entry.ends_with('*') && wanted.starts_with(entry.trim_end_matches('*')))
}

/// Returns a key to sort single grants by: resources before URLs, all names before some.
pub(crate) fn sort_key(atom: &Value) -> [Vec<&str>; 5] {
    ["nonResourceURLs", "apiGroups", "resources", "verbs", "resourceNames"].map(|key| strings(atom, key))
}
