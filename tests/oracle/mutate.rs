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

/// Returns a world of another form with the same meaning.
pub(crate) fn respelled(dice: &mut Dice, objects: &[Value]) -> Vec<Value> {
    let mut respelled = objects.to_vec();
    for _ in 0..=dice.below(3) {
        without_effect(dice, &mut respelled);
    }
    respelled
}

/// Returns a world with a few changes that can have an effect.
pub(crate) fn changed(dice: &mut Dice, objects: &[Value]) -> Vec<Value> {
    let mut changed = respelled(dice, objects);
    for _ in 0..=dice.below(2) {
        with_effect(dice, &mut changed);
    }
    changed
}

/// Changes the form of a world and not its meaning.
fn without_effect(dice: &mut Dice, objects: &mut Vec<Value>) {
    match dice.below(7) {
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
        4 => split_binding(dice, objects),
        5 => rename_role(dice, objects),
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

/// Gives the last subject of a binding a binding of its own.
fn split_binding(dice: &mut Dice, objects: &mut Vec<Value>) {
    let bindings: Vec<usize> = (0..objects.len())
        .filter(|index| objects[*index]["subjects"].as_array().is_some_and(|all| all.len() > 1))
        .collect();
    let Some(index) = dice.one_of(&bindings) else { return };
    let Some(last) = objects[*index]["subjects"].as_array_mut().and_then(Vec::pop) else { return };
    let mut own = objects[*index].clone();
    own["metadata"]["name"] = json!(format!("split-{}", dice.below(1_000_000)));
    own["subjects"] = json!([last]);
    objects.push(own);
}

/// Renames a role without its name in a rule, with its bindings.
fn rename_role(dice: &mut Dice, objects: &mut [Value]) {
    let named: Vec<String> = objects
        .iter()
        .flat_map(|object| object["rules"].as_array().into_iter().flatten())
        .flat_map(|rule| rule["resourceNames"].as_array().into_iter().flatten())
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let is_free = |object: &Value| {
        object.get("rules").is_some() && !named.iter().any(|name| object["metadata"]["name"] == json!(name))
    };
    let free: Vec<usize> = (0..objects.len()).filter(|index| is_free(&objects[*index])).collect();
    let Some(index) = dice.one_of(&free) else { return };
    let (role, number) = (objects[*index].clone(), dice.below(1_000_000));
    objects[*index]["metadata"]["name"] = json!(format!("renamed-{number}"));
    let place = &role["metadata"]["namespace"];
    for (position, object) in objects.iter_mut().enumerate() {
        let is_own = object["roleRef"]["kind"] == role["kind"]
            && object["roleRef"]["name"] == role["metadata"]["name"]
            && (place.is_null() || object["metadata"]["namespace"] == *place);
        if is_own {
            object["roleRef"]["name"] = json!(format!("renamed-{number}"));
            object["metadata"]["name"] = json!(format!("of-renamed-{number}-{position}"));
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
