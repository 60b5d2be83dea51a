//! Changes of random worlds: some have no effect by construction, and others may have one.

use serde_json::{Value, json};

use super::read::text;
use super::worlds::{self, Dice, NAMESPACES, binding, cluster_role, rule, subject};

/// Returns a random world in which most bindings have a role.
pub(crate) fn random_world(dice: &mut Dice) -> Vec<Value> {
    let mut objects = worlds::world(dice);
    let roles: Vec<(String, String, String)> = objects
        .iter()
        .filter(|object| text(object, "kind").ends_with("Role"))
        .map(|object| {
            let own = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            (text(object, "kind").to_owned(), own("namespace"), own("name"))
        })
        .collect();
    let keeps_missing = dice.chance(10);
    objects.retain(|object| {
        let Some(role) = object.get("roleRef") else { return true };
        let place =
            if role["kind"] == "Role" { object["metadata"]["namespace"].as_str().unwrap_or_default() } else { "" };
        let wanted = (text(role, "kind"), place, text(role, "name"));
        keeps_missing || roles.iter().any(|(kind, namespace, name)| (&**kind, &**namespace, &**name) == wanted)
    });
    // A name of an object occurs once.
    let mut known = std::collections::BTreeSet::new();
    objects.retain(|object| known.insert(format!("{}{}", text(object, "kind"), object["metadata"])));
    objects
}

/// Returns a changed world: in half of the cases without an effect.
pub(crate) fn mutated(dice: &mut Dice, objects: &[Value]) -> Vec<Value> {
    let mut changed = objects.to_vec();
    for _ in 0..=dice.below(3) {
        without_effect(dice, &mut changed);
    }
    if dice.chance(75) {
        for _ in 0..=dice.below(2) {
            with_effect(dice, &mut changed);
        }
    }
    changed
}

/// Changes the form of a world and not its meaning.
fn without_effect(dice: &mut Dice, objects: &mut Vec<Value>) {
    match dice.below(5) {
        // The order of objects.
        0 => objects.reverse(),
        // The order of rules and verbs.
        1 => {
            for object in objects.iter_mut() {
                let is_free = object.get("aggregationRule").is_none();
                for list in ["rules", "subjects"] {
                    object
                        .get_mut(list)
                        .filter(|_| is_free)
                        .and_then(Value::as_array_mut)
                        .into_iter()
                        .for_each(|list| list.reverse());
                }
                for rule in object.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
                    rule["verbs"].as_array_mut().into_iter().for_each(|verbs| verbs.reverse());
                }
            }
        }
        // A rule for each verb.
        2 => {
            for object in objects.iter_mut() {
                if let Some(rules) = object.get_mut("rules").and_then(Value::as_array_mut) {
                    let split = rules.iter().flat_map(|rule| {
                        let verbs = rule["verbs"].as_array().cloned().unwrap_or_default();
                        verbs.into_iter().map(|verb| {
                            let mut one = rule.clone();
                            one["verbs"] = json!([verb]);
                            one
                        })
                    });
                    *rules = split.collect();
                }
            }
        }
        // Other names of bindings.
        3 => {
            for object in objects.iter_mut().filter(|object| object.get("roleRef").is_some()) {
                let name = format!("{}-renamed", object["metadata"]["name"].as_str().unwrap_or_default());
                object["metadata"]["name"] = json!(name);
            }
        }
        // A binding twice.
        _ => {
            let bindings: Vec<Value> =
                objects.iter().filter(|object| object.get("roleRef").is_some()).cloned().collect();
            if let Some(one) = dice.one_of(&bindings) {
                let mut copy = one.clone();
                copy["metadata"]["name"] = json!(format!("copy-{}", dice.below(1_000_000)));
                objects.push(copy);
            }
        }
    }
}

/// Changes a rule, a subject, a role or a binding.
fn with_effect(dice: &mut Dice, objects: &mut Vec<Value>) {
    let position = dice.below(objects.len().max(1));
    match dice.below(6) {
        0 if !objects.is_empty() => _ = objects.remove(position),
        1 => {
            let name = format!("new{}", dice.below(1_000));
            objects.push(cluster_role(dice, &name));
        }
        2 => {
            let place = dice.chance(50).then(|| dice.pick(NAMESPACES));
            let name = format!("new{}", dice.below(1_000));
            let mut new = binding(dice, &name, place);
            new["roleRef"] = json!({"kind": "ClusterRole", "name": "c0"});
            objects.push(new);
        }
        3 => {
            let roles = objects.iter_mut().filter(|object| object.get("rules").is_some());
            let mut roles: Vec<&mut Value> = roles.collect();
            let count = roles.len().max(1);
            if let Some(role) = roles.get_mut(dice.below(count)) {
                let is_namespaced = text(role, "kind") == "Role";
                let new = rule(dice, is_namespaced);
                role["rules"].as_array_mut().into_iter().for_each(|rules| rules.push(new.clone()));
            }
        }
        _ => {
            let bindings = objects.iter_mut().filter(|object| object.get("roleRef").is_some());
            let mut bindings: Vec<&mut Value> = bindings.collect();
            let count = bindings.len().max(1);
            if let Some(binding) = bindings.get_mut(dice.below(count)) {
                binding["subjects"] = json!([subject(dice)]);
            }
        }
    }
}
