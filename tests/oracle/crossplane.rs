//! Two checks of Crossplane, with their questions of `bailiwick ask`:
//!
//! ```text
//! {"gate": {"revision": "v0.9", "rule": {...}}} -> {"allowed": bool}
//! {"permission-request": {"owner": [rules], "servant": [rules]}} -> {"allowed": bool}
//! ```

use serde_json::{Value, json};

use super::read::{items, strings, tidy_rule};

/// Answers whether the stack manager with `--restrict-core-apigroups` accepts a rule: the one core rule, compared
/// literally, or groups that are domains and do not belong to Kubernetes.
pub(crate) fn gate(question: &Value) -> Value {
    let rule = &question["rule"];
    let core = json!({"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps", "events", "secrets"]});
    let groups = strings(rule, "apiGroups");
    let foreign = |group: &&str| group.contains('.') && !group.ends_with("k8s.io");
    let passes = strings(rule, "nonResourceURLs").is_empty() && !groups.is_empty() && groups.iter().all(foreign);
    json!({"allowed": passes || tidy_rule(rule) == core})
}

/// Answers whether every single requested permission has a path in the tree of the allowed permissions. A star in the
/// tree matches any step. `*/status` and a URL with a star at its end have no special meaning: they are steps like any
/// other.
pub(crate) fn permission_request(question: &Value) -> Value {
    let allowed: Vec<Vec<&str>> = items(question, "owner").iter().flat_map(paths).collect();
    let fits = |path: &Vec<&str>, own: &Vec<&str>| {
        path.len() == own.len() && path.iter().zip(own).all(|(step, own)| own == step || *own == "*")
    };
    let wanted = items(question, "servant").iter().flat_map(paths);
    let granted = wanted.into_iter().all(|path| allowed.iter().any(|own| fits(&path, own)));
    json!({"allowed": granted})
}

/// Returns a rule as paths: group, resource, name or star, verb; or URL, verb.
fn paths(rule: &Value) -> Vec<Vec<&str>> {
    let verbs = strings(rule, "verbs");
    let mut names = strings(rule, "resourceNames");
    if names.is_empty() {
        names.push("*");
    }
    let mut paths = Vec::new();
    for url in strings(rule, "nonResourceURLs") {
        for verb in &verbs {
            paths.push(vec![url, verb]);
        }
    }
    for group in strings(rule, "apiGroups") {
        for resource in strings(rule, "resources") {
            for name in &names {
                for verb in &verbs {
                    paths.push(vec![group, resource, name, verb]);
                }
            }
        }
    }
    paths
}
