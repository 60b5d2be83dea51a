//! The effect of the aggregation controller on cluster roles (`pkg/controller/clusterroleaggregation` of Kubernetes).

use serde_json::{Value, json};

use super::read::{items, metadata, name, strings, text, tidy_rule};

/// Whether the controller writes the rules of a role.
pub(crate) fn is_aggregated(object: &Value) -> bool {
    text(object, "kind") == "ClusterRole" && object.get("aggregationRule").is_some_and(|rule| !rule.is_null())
}

/// Puts the gathered rules into every aggregated role.
///
/// The authored rules of such a role are removed first, so only roles without an aggregation rule add rules: a ring of
/// aggregated roles stays empty. A rule moves by at least one role per round, so the result is complete after as many
/// rounds as there are roles.
pub(crate) fn settle(objects: &mut [Value]) {
    let mut aggregated: Vec<usize> = (0..objects.len()).filter(|index| is_aggregated(&objects[*index])).collect();
    aggregated.sort_by(|a, b| name(&objects[*a]).cmp(name(&objects[*b])));
    for index in &aggregated {
        objects[*index]["rules"] = json!([]);
    }
    for _ in 0..=aggregated.len() {
        for index in &aggregated {
            objects[*index]["rules"] = Value::Array(gather(objects, *index));
        }
    }
}

/// Returns the rules that one role collects from the others as they are now.
fn gather(objects: &[Value], own: usize) -> Vec<Value> {
    let mut others: Vec<&Value> = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        if index != own && text(object, "kind") == "ClusterRole" {
            others.push(object);
        }
    }
    others.sort_by_key(|role| name(role));
    let mut rules: Vec<Value> = Vec::new();
    for selector in items(&objects[own]["aggregationRule"], "clusterRoleSelectors") {
        for role in others.iter().filter(|role| selects(selector, role)) {
            for rule in items(role, "rules") {
                let rule = tidy_rule(rule);
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    rules
}

/// Whether a label selector selects an object: every label and every expression has to fit, and no demand is no bar.
pub(crate) fn selects(selector: &Value, object: &Value) -> bool {
    let labels = &metadata(object)["labels"];
    let value_of = |key: &str| labels.get(key).map(|value| value.as_str().unwrap_or_default());
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        if value_of(key) != Some(value.as_str().unwrap_or_default()) {
            return false;
        }
    }
    for expression in items(selector, "matchExpressions") {
        let found = value_of(text(expression, "key"));
        let listed = found.is_some_and(|value| strings(expression, "values").contains(&value));
        let fits = match text(expression, "operator") {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether an aggregated role reaches itself through others. The order of the rules in such a ring depends on which
/// role the controller visited first, so only the set of them means anything.
pub(crate) fn has_ring(objects: &[Value]) -> bool {
    let aggregated: Vec<&Value> = objects.iter().filter(|object| is_aggregated(object)).collect();
    let gathers_from = |one: &Value, other: &Value| {
        let selectors = items(&one["aggregationRule"], "clusterRoleSelectors");
        name(one) != name(other) && selectors.iter().any(|selector| selects(selector, other))
    };
    aggregated.iter().any(|start| {
        let mut reached: Vec<&Value> = vec![start];
        let mut next = 0;
        while let Some(role) = reached.get(next).copied() {
            for other in &aggregated {
                if gathers_from(role, other) {
                    if name(other) == name(start) {
                        return true;
                    }
                    if !reached.iter().any(|known| name(known) == name(other)) {
                        reached.push(other);
                    }
                }
            }
            next += 1;
        }
        false
    })
}
