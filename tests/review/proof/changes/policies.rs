//! ValidatingAdmissionPolicies and their bindings.

use serde_json::{Value, json};

use super::spell_default;
use crate::oracle::Dice;

/// Expressions, each with another spelling of the same meaning.
const EXPRESSIONS: [[&str; 2]; 7] = [
    [
        "!has(object.spec.hostNetwork) || object.spec.hostNetwork == false",
        "!(has(object.spec.hostNetwork) && object.spec.hostNetwork)",
    ],
    ["!has(object.spec.hostPID) || !object.spec.hostPID", "  ( !has(object.spec.hostPID) ) || !object.spec.hostPID "],
    [
        "object.spec.containers.all(c, c.image.startsWith('registry.local/'))",
        "object.spec.containers.all(one, one.image.startsWith(\"registry.local/\"))",
    ],
    [
        "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))",
        "!has(object.spec.volumes) || !object.spec.volumes.exists(v, has(v.hostPath))",
    ],
    [
        "has(object.metadata.labels) && 'app' in object.metadata.labels",
        "has(object.metadata.labels)  &&  \"app\" in object.metadata.labels",
    ],
    ["namespaceObject.metadata.labels['team'] != 'x'", "!(namespaceObject.metadata.labels['team'] == 'x')"],
    ["true", "1 == 1"],
];

/// Returns a few policies, most of them with a binding.
pub(super) fn policies(dice: &mut Dice) -> Vec<Value> {
    let mut objects = Vec::new();
    for number in 0..=dice.below(2) {
        let name = format!("p{number}");
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        let mut policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression(dice)}]},
        });
        if dice.chance(30) {
            policy["spec"]["matchConstraints"]["namespaceSelector"] = selector(dice);
        }
        objects.push(policy);
        if dice.chance(90) {
            objects.push(binding(&name, dice));
        }
    }
    objects
}

fn expression(dice: &mut Dice) -> &'static str {
    EXPRESSIONS[dice.below(EXPRESSIONS.len())][0]
}

fn selector(dice: &mut Dice) -> Value {
    json!({"matchLabels": {"team": dice.pick(&["x", "y"])}})
}

fn binding(policy: &str, dice: &mut Dice) -> Value {
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": format!("of-{policy}")},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    });
    if dice.chance(50) {
        binding["spec"]["matchResources"] = json!({"namespaceSelector": selector(dice)});
    }
    binding
}

/// Writes defaults down, or an expression in another spelling.
pub(super) fn respell(object: &mut Value, dice: &mut Dice) {
    if object["kind"] == "ValidatingAdmissionPolicyBinding" {
        return;
    }
    spell_default(&mut object["spec"], "failurePolicy", &json!("Fail"), dice);
    spell_default(&mut object["spec"]["matchConstraints"], "matchPolicy", &json!("Equivalent"), dice);
    spell_default(&mut object["spec"]["matchConstraints"]["resourceRules"][0], "scope", &json!("*"), dice);
    if dice.chance(10) {
        let expression = &mut object["spec"]["validations"][0]["expression"];
        let other = EXPRESSIONS.iter().find(|[first, _]| expression == first).map(|[_, second]| *second);
        if let Some(other) = other {
            *expression = json!(other);
        }
    }
}

/// Changes an expression, a selector or an action.
pub(super) fn change(object: &mut Value, dice: &mut Dice) {
    if object["kind"] == "ValidatingAdmissionPolicyBinding" {
        match dice.below(3) {
            0 => object["spec"]["validationActions"] = json!([dice.pick(&["Warn", "Audit", "Deny"])]),
            1 => object["spec"]["policyName"] = json!(dice.pick(&["p0", "p1", "gone"])),
            _ => object["spec"]["matchResources"] = json!({"namespaceSelector": selector(dice)}),
        }
        return;
    }
    match dice.below(3) {
        0 => object["spec"]["matchConstraints"]["namespaceSelector"] = selector(dice),
        1 => {
            let further = json!({"expression": expression(dice)});
            object["spec"]["validations"].as_array_mut().into_iter().for_each(|all| all.push(further.clone()));
        }
        _ => object["spec"]["validations"] = json!([{"expression": expression(dice)}]),
    }
}
