//! The effect of `kubectl auth reconcile`, and of the API server at its start (`k8s.io/component-helpers/auth/rbac/reconciliation`).

use serde_json::{Map, Value, json};

use super::cover;
use super::read::{defaulted, items, metadata, text, tidy_rules};

/// Returns the answer to a question about reconciling.
pub(crate) fn reconcile(question: &Value) -> Value {
    let expected = defaulted(&question["expected"]);
    let existing = question.get("existing").filter(|existing| !existing.is_null()).map(defaulted);
    let remove_extra = question.get("removeExtra").and_then(Value::as_bool).unwrap_or_default();
    let is_binding = text(&expected, "kind").ends_with("Binding");
    let Some(existing) = existing else {
        let missing = if is_binding {
            json!({"subjects": items(&expected, "subjects")})
        } else {
            json!({"rules": tidy_rules(items(&expected, "rules")), "selectors": selectors(&expected)})
        };
        return answer("create", false, &missing, &json!({}), &expected);
    };
    let protected = text(&metadata(&existing)["annotations"], "rbac.authorization.kubernetes.io/autoupdate") == "false";
    if is_binding && expected["roleRef"] != existing["roleRef"] {
        return answer("recreate", protected, &json!({}), &json!({}), &expected);
    }

    let mut result = existing.clone();
    for key in ["annotations", "labels"] {
        merge(&mut result, metadata(&expected).get(key), key);
    }
    let (missing, extra) = if is_binding {
        let missing = not_in(items(&expected, "subjects"), items(&existing, "subjects"));
        let extra = not_in(items(&existing, "subjects"), items(&expected, "subjects"));
        adjust(&mut result, &expected, "subjects", (&missing, &extra), remove_extra);
        (json!({"subjects": missing}), json!({"subjects": extra}))
    } else {
        let (have, want) = (items(&existing, "rules"), items(&expected, "rules"));
        let missing_rules = cover::uncovered(have, want);
        let both_aggregated = aggregation(&expected).is_some() && aggregation(&existing).is_some();
        let extra_rules = if both_aggregated { Vec::new() } else { cover::uncovered(want, have) };
        adjust(&mut result, &expected, "rules", (&missing_rules, &extra_rules), remove_extra);

        // Unlike subjects, a selector that stands twice is missing twice.
        let beyond = |list: &[Value], other: &[Value]| -> Vec<Value> {
            list.iter().filter(|selector| !other.contains(selector)).cloned().collect()
        };
        let missing = beyond(selectors(&expected), selectors(&existing));
        let extra = beyond(selectors(&existing), selectors(&expected));
        match (aggregation(&expected), aggregation(&existing)) {
            // An aggregation that the expected role lacks is removed in any case: it could gather any rule.
            (None, Some(_)) => _ = result.as_object_mut().and_then(|result| result.shift_remove("aggregationRule")),
            (None, None) => {}
            (Some(wanted), _) => {
                let mut rule = aggregation(&existing).cloned().unwrap_or_else(|| json!({}));
                adjust(&mut rule, wanted, "clusterRoleSelectors", (&missing, &extra), remove_extra);
                if !missing.is_empty() || !extra.is_empty() {
                    result["aggregationRule"] = rule;
                }
            }
        }
        (json!({"rules": missing_rules, "selectors": missing}), json!({"rules": extra_rules, "selectors": extra}))
    };
    let operation = if result == existing { "none" } else { "update" };
    answer(operation, protected, &missing, &extra, &result)
}

fn answer(operation: &str, protected: bool, missing: &Value, extra: &Value, result: &Value) -> Value {
    json!({
        "operation": operation, "protected": protected, "missing": filled(missing), "extra": filled(extra),
        "result": result,
    })
}

/// Returns the lists that have something in them.
fn filled(lists: &Value) -> Value {
    let mut filled = Map::new();
    for (key, list) in lists.as_object().into_iter().flatten() {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            filled.insert(key.clone(), list.clone());
        }
    }
    Value::Object(filled)
}

/// Brings one list to what is expected: with what is missing added, or exactly as expected when extras have to go.
fn adjust(result: &mut Value, expected: &Value, key: &str, (missing, extra): (&[Value], &[Value]), remove_extra: bool) {
    if remove_extra && (!missing.is_empty() || !extra.is_empty()) {
        result[key] = json!(items(expected, key));
    } else if !missing.is_empty() {
        let mut list = items(result, key).to_vec();
        list.extend_from_slice(missing);
        result[key] = Value::Array(list);
    }
}

/// Adds expected labels or annotations; a value that is there wins.
fn merge(result: &mut Value, expected: Option<&Value>, key: &str) {
    for (name, value) in expected.and_then(Value::as_object).into_iter().flatten() {
        if metadata(result)[key].get(name).is_none() {
            result["metadata"][key][name] = value.clone();
        }
    }
}

/// Returns the items of one list that the other list lacks, each once.
fn not_in(list: &[Value], other: &[Value]) -> Vec<Value> {
    let mut only: Vec<Value> = Vec::new();
    for item in list {
        if !other.contains(item) && !only.contains(item) {
            only.push(item.clone());
        }
    }
    only
}

fn aggregation(role: &Value) -> Option<&Value> {
    role.get("aggregationRule").filter(|rule| !rule.is_null())
}

fn selectors(role: &Value) -> &[Value] {
    aggregation(role).map_or(&[], |rule| items(rule, "clusterRoleSelectors"))
}
