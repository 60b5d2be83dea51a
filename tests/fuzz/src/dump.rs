//! Dumps of clusters, whose names tenants choose.

use arbitrary::Unstructured;
use serde_json::{Value, json};

use crate::schema::{any, text};

/// Generates a list of RBAC objects.
///
/// # Errors
/// When the bytes of the fuzzer end.
pub fn dump(input: &mut Unstructured<'_>) -> arbitrary::Result<Value> {
    let mut items = Vec::new();
    for _ in 0..input.int_in_range(1..=8)? {
        let kind = *input.choose(&[
            "ClusterRole",
            "Role",
            "ClusterRoleBinding",
            "RoleBinding",
            "Namespace",
            "ServiceAccount",
            "List",
        ])?;
        let mut object = json!({
            "apiVersion": if kind.contains("Role") { "rbac.authorization.k8s.io/v1" } else { "v1" },
            "kind": kind,
            "metadata": {"name": text(input)?, "namespace": text(input)?, "labels": {text(input)?: text(input)?}},
            "rules": [{"apiGroups": [text(input)?], "resources": [text(input)?], "verbs": [text(input)?], "resourceNames": [text(input)?]},
                      {"nonResourceURLs": [text(input)?], "verbs": [text(input)?]}],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {text(input)?: text(input)?}}]},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": text(input)?},
            "subjects": [{"kind": *input.choose(&["User", "Group", "ServiceAccount"])?, "name": text(input)?, "namespace": text(input)?}],
        });
        if let (true, Value::Object(map)) = (input.ratio(1_u8, 4)?, &mut object) {
            let key = map.keys().nth(input.choose_index(map.len())?).cloned().unwrap_or_default();
            map.insert(key, any(0, input)?);
        }
        items.push(object);
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}
