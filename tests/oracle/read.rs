//! Reading API objects held as plain JSON: what is absent, null or of another type reads as empty.

use serde_json::{Map, Value, json};

/// The API group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// The lists of a rule, in the order in which Kubernetes writes them.
pub(crate) const RULE_LISTS: [&str; 5] = ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"];

/// Returns the string at a key.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list at a key.
pub(crate) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the list of strings at a key; a null in it is the empty string, as it is for the API server.
pub(crate) fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    items(value, key).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// Returns the name of an object.
pub(crate) fn name(object: &Value) -> &str {
    text(metadata(object), "name")
}

/// Returns the namespace of an object; kinds of the cluster have none, whatever is written there.
pub(crate) fn namespace(object: &Value) -> &str {
    if text(object, "kind").starts_with("Cluster") { "" } else { text(metadata(object), "namespace") }
}

/// Returns the metadata of an object.
pub(crate) fn metadata(object: &Value) -> &Value {
    object.get("metadata").unwrap_or(&Value::Null)
}

/// Returns the name of an object in answers: `ClusterRole/a`, `Role/n/a`.
pub(crate) fn label(object: &Value) -> String {
    let kind = text(object, "kind");
    if kind.starts_with("Cluster") {
        format!("{kind}/{}", name(object))
    } else {
        format!("{kind}/{}/{}", namespace(object), name(object))
    }
}

/// Returns a rule with its non-empty lists only: an empty list and none are the same to the API server.
pub(crate) fn tidy_rule(rule: &Value) -> Value {
    let mut tidy = Map::new();
    for key in RULE_LISTS {
        let list = strings(rule, key);
        if !list.is_empty() {
            tidy.insert(key.to_owned(), json!(list));
        }
    }
    Value::Object(tidy)
}

/// Returns every rule of a list, tidy.
pub(crate) fn tidy_rules(rules: &[Value]) -> Vec<Value> {
    rules.iter().map(tidy_rule).collect()
}

/// Returns an object as the API server stores it: the API groups that users leave out of bindings are written down.
pub(crate) fn defaulted(object: &Value) -> Value {
    let mut object = object.clone();
    if !text(&object, "kind").ends_with("Binding") {
        return object;
    }
    if let Some(reference) = object.get_mut("roleRef").filter(|reference| text(reference, "apiGroup").is_empty()) {
        reference["apiGroup"] = json!(RBAC);
    }
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        let named = matches!(text(subject, "kind"), "User" | "Group");
        if named && text(subject, "apiGroup").is_empty() {
            subject["apiGroup"] = json!(RBAC);
        }
    }
    object
}

/// Returns a value without nulls, empty lists and empty maps at any depth, for comparing what was written with what is stored.
pub(crate) fn pruned(value: &Value) -> Value {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), pruned(value)))
            .filter(|(_, value)| !empty(value))
            .collect::<Map<_, _>>()
            .into(),
        // An item of a list counts even when it is empty: the selector `{}` selects everything.
        Value::Array(list) => list.iter().map(pruned).collect(),
        plain => plain.clone(),
    }
}
