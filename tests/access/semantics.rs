//! The sections of `semantics.yaml` with data: `authorize`, `request` and `aggregate`.
//!
//! The objects are abbreviated; the first lines of the file define the abbreviations.

use serde_json::{Value, json};

use super::{Evaluator, Tally, rows, table, text};
use crate::oracle::tidy_rules;

/// Returns the table.
pub(crate) fn vectors() -> Value {
    table(include_str!("semantics.yaml"))
}

/// Objects and checks of the decision.
pub(crate) fn authorize(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    for scenario in rows(&vectors(), "authorize") {
        evaluator.world(&long_objects(rows(scenario, "objects")), None);
        for check in rows(scenario, "checks") {
            let answer = evaluator.ask(&json!({"can-i": long_question(check)}));
            let mut found = json!({"allowed": answer["allowed"]});
            let mut expected = json!({"allowed": check["allow"]});
            // Missing roles are reported with a denial.
            if check["allow"] == false {
                found["missing"] = json!(answer["missing"].as_array().is_some_and(|missing| !missing.is_empty()));
                expected["missing"] = json!(check.get("error").is_some());
            }
            tally.expect(&format!("{} {check}", text(scenario, "id")), &found, &expected);
        }
    }
}

/// Compares HTTP requests with their attributes.
pub(crate) fn request(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    evaluator.world(&[], None);
    for row in rows(&vectors(), "request") {
        let answer = evaluator.ask(&json!({"can-i": {"user": "u", "http": row["http"]}}));
        let filled = |value: &Value| {
            let value = long_question(value);
            ["verb", "path", "group", "resource", "subresource", "namespace", "name"]
                .map(|key| text(&value, key).to_owned())
        };
        tally.expect(text(row, "id"), &json!(filled(&answer["attributes"])), &json!(filled(row)));
    }
}

/// Compares aggregated roles with their final rules.
pub(crate) fn aggregate(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    for scenario in rows(&vectors(), "aggregate") {
        evaluator.world(&long_objects(rows(scenario, "roles")), None);
        let answer = evaluator.ask(&json!({"aggregate": {}}));
        let mut found = answer["roles"].clone();
        for rules in found.as_object_mut().into_iter().flat_map(|roles| roles.values_mut()) {
            *rules = json!(tidy_rules(rules.as_array().map_or(&[], Vec::as_slice)));
        }
        let roles = scenario["expect"].as_object().expect("roles");
        let expected: Value =
            roles.iter().map(|(name, rules)| (name.clone(), json!(tidy_rules(&long_rules(rules))))).collect();
        tally.expect(text(scenario, "id"), &found, &expected);
    }
}

/// Returns a check with the protocol's keys: `sub`, `ns` and `sa` are written out.
pub(crate) fn long_question(short: &Value) -> Value {
    let mut question = json!({});
    for (key, value) in short.as_object().expect("a check") {
        match key.as_str() {
            "sub" => question["subresource"] = value.clone(),
            "ns" => question["namespace"] = value.clone(),
            "sa" => question["user"] = json!(account(value.as_str().expect("an account"))),
            _ => question[key] = value.clone(),
        }
    }
    question
}

/// Returns the user name of `ns/name`.
fn account(short: &str) -> String {
    format!("system:serviceaccount:{}", short.replacen('/', ":", 1))
}

/// Returns abbreviated objects in full. An object with a `kind` is complete.
pub(crate) fn long_objects(short: &[Value]) -> Vec<Value> {
    short.iter().map(long_object).collect()
}

fn long_object(short: &Value) -> Value {
    if short.get("kind").is_some() {
        return short.clone();
    }
    let kinds = [("CR", "ClusterRole"), ("R", "Role"), ("CRB", "ClusterRoleBinding"), ("RB", "RoleBinding")];
    // The section on aggregation has cluster roles only, and calls them by name alone.
    let named = kinds.iter().find_map(|(key, kind)| Some((*kind, short.get(*key)?)));
    let (kind, name) = named.unwrap_or(("ClusterRole", &short["name"]));
    let mut object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
    });
    if let Some(namespace) = short.get("ns") {
        object["metadata"]["namespace"] = namespace.clone();
    }
    if let Some(labels) = short.get("labels") {
        object["metadata"]["labels"] = labels.clone();
    }
    if kind.ends_with("Binding") {
        let role = text(short, "role");
        let (kind, name) = match role.split_once('/') {
            Some(("CR", name)) => ("ClusterRole", name),
            Some(("R", name)) => ("Role", name),
            _ => ("ClusterRole", role),
        };
        object["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        object["subjects"] = rows(short, "subjects").iter().map(long_subject).collect();
        return object;
    }
    let mut rules = long_rules(short.get("rules").unwrap_or(&Value::Null));
    for rule in short.get("nonresource").and_then(Value::as_array).into_iter().flatten() {
        rules.push(json!({"nonResourceURLs": rule["urls"], "verbs": rule["verbs"]}));
    }
    object["rules"] = json!(rules);
    if let Some(selectors) = short.get("aggregate") {
        object["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
    }
    object
}

/// Returns `[groups, resources, verbs, names]` in full.
pub(crate) fn long_rules(short: &Value) -> Vec<Value> {
    let long = |rule: &Value| {
        let mut long = json!({"apiGroups": rule[0], "resources": rule[1], "verbs": rule[2]});
        if let Some(names) = rule.get(3) {
            long["resourceNames"] = names.clone();
        }
        if rule.is_array() { long } else { rule.clone() }
    };
    short.as_array().into_iter().flatten().map(long).collect()
}

fn long_subject(short: &Value) -> Value {
    let Some((kind, name)) = short.as_str().and_then(|short| short.split_once(':')) else { return short.clone() };
    if kind != "SA" {
        return json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    }
    match name.split_once('/').expect("namespace and name") {
        ("", name) => json!({"kind": "ServiceAccount", "name": name}),
        (namespace, name) => json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}),
    }
}
