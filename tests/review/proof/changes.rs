//! The objects that decide about pods, their changes of form, and their changes of meaning.

mod constraints;
mod namespaces;
mod policies;
mod psps;

use serde_json::{Map, Value, json};

use super::worlds::Area;
use crate::oracle::Dice;

/// A field with its possible values; null stands for an absent field.
type Field = (&'static str, fn() -> Vec<Value>);

/// Returns the objects of an area that decide about pods.
pub(super) fn admission(area: Area, dice: &mut Dice) -> Vec<Value> {
    let mut objects = Vec::new();
    if area != Area::Access {
        objects.extend(["a", "b"].map(|name| namespaces::namespace(area, name, dice)));
    }
    match area {
        Area::Policy => objects.extend(policies::policies(dice)),
        Area::Psp => objects.extend(psps::psps(dice)),
        Area::Scc => objects.extend(constraints::constraints(dice)),
        Area::Access | Area::Version | Area::Level => {}
    }
    objects
}

/// Returns roles and bindings for the use of policies or constraints, and bindings of default roles.
pub(super) fn grants(area: Area, dice: &mut Dice) -> Vec<Value> {
    match area {
        Area::Psp => psps::grants(dice),
        Area::Scc => constraints::grants(dice),
        Area::Version => default_roles(dice),
        Area::Access | Area::Level | Area::Policy => Vec::new(),
    }
}

/// Returns bindings of roles of the default policy, whose rules depend on the version.
fn default_roles(dice: &mut Dice) -> Vec<Value> {
    let binding = |number: usize, role: &str, subject: Value| {
        json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": format!("default-{number}")},
            "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [subject],
        })
    };
    let roles = ["view", "edit", "admin", "system:node", "system:kube-scheduler", "system:basic-user"];
    (0..=dice.below(3))
        .map(|number| binding(number, dice.pick(&roles), json!({"kind": "Group", "name": dice.pick(&["g1", "g3"])})))
        .collect()
}

/// Changes the form of objects and not their meaning.
pub(super) fn respell(objects: &mut [Value], dice: &mut Dice) {
    for object in objects.iter_mut() {
        if dice.chance(30) {
            continue;
        }
        match object["kind"].as_str() {
            Some("Namespace") => namespaces::respell(object, dice),
            Some("PodSecurityPolicy") => psps::respell(object, dice),
            Some("SecurityContextConstraints") => constraints::respell(object, dice),
            Some(_) => policies::respell(object, dice),
            None => {}
        }
        if dice.chance(30) {
            object["metadata"]["annotations"]["example.org/note"] = json!("changed");
        }
        if dice.chance(30) {
            *object = reversed(object);
        }
    }
    if dice.chance(30) {
        objects.reverse();
    }
}

/// Changes an object of an area, adds one or removes one.
pub(super) fn change(area: Area, objects: &mut Vec<Value>, dice: &mut Dice) {
    let wanted: &[&str] = match area {
        Area::Policy => &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Namespace"],
        Area::Psp => &["PodSecurityPolicy"],
        Area::Scc => &["SecurityContextConstraints"],
        Area::Access | Area::Version | Area::Level => &["Namespace"],
    };
    let kind = dice.pick(wanted);
    let own: Vec<usize> = (0..objects.len()).filter(|index| objects[*index]["kind"] == kind).collect();
    let Some(&index) = dice.one_of(&own) else { return };
    if kind != "Namespace" && dice.chance(15) {
        objects.remove(index);
        return;
    }
    if kind != "Namespace" && dice.chance(15) {
        let mut new = objects[index].clone();
        new["metadata"]["name"] = json!(if area == Area::Policy { "new" } else { "x9" });
        objects.retain(|object| object["kind"] != new["kind"] || object["metadata"]["name"] != new["metadata"]["name"]);
        objects.push(new);
        return;
    }
    let object = &mut objects[index];
    match kind {
        "Namespace" => namespaces::change(area, object, dice),
        "PodSecurityPolicy" => psps::change(object, dice),
        "SecurityContextConstraints" => constraints::change(object, dice),
        _ => policies::change(object, dice),
    }
}

/// Returns an object with the keys of its maps in the other order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(reversed).collect(),
        plain => plain.clone(),
    }
}

/// Sets a field to another of its values.
fn set(object: &mut Value, fields: &[Field], dice: &mut Dice) {
    let Some((key, values)) = dice.one_of(fields) else { return };
    let values = values();
    let Some(value) = dice.one_of(&values).cloned() else { return };
    match (value.is_null(), object.as_object_mut()) {
        (true, Some(map)) => _ = map.shift_remove(*key),
        _ => object[*key] = value,
    }
}

/// Reverses the lists of some keys.
fn reverse_lists(object: &mut Value, keys: &[&str]) {
    for key in keys {
        object.get_mut(*key).and_then(Value::as_array_mut).into_iter().for_each(|list| list.reverse());
    }
}

/// Writes a default down, or leaves it out.
fn spell_default(object: &mut Value, key: &str, default: &Value, dice: &mut Dice) {
    if !dice.chance(40) {
        return;
    }
    match object.get(key) {
        None => object[key] = default.clone(),
        Some(value) if value == default => _ = object.as_object_mut().map(|map| map.shift_remove(key)),
        Some(_) => {}
    }
}

/// Returns roles for the use of policies or constraints by name, and their bindings.
fn use_grants(group: &str, resource: &str, dice: &mut Dice) -> Vec<Value> {
    let mut objects = Vec::new();
    for name in ["x0", "x1", "x2", "x9"] {
        if dice.chance(40) {
            continue;
        }
        let names = if dice.chance(10) { json!([]) } else { json!([name]) };
        let rule = json!({"apiGroups": [group], "resources": [resource], "verbs": ["use"], "resourceNames": names});
        objects.push(json!({"kind": "ClusterRole", "metadata": {"name": format!("use-{name}")}, "rules": [rule]}));
        let reference = json!({"kind": "ClusterRole", "name": format!("use-{name}")});
        let subject = match dice.below(3) {
            0 => json!({"kind": "ServiceAccount", "name": dice.pick(&["s1", "s2"]), "namespace": "a"}),
            1 => json!({"kind": "Group", "name": dice.pick(&["system:serviceaccounts", "g1"])}),
            _ => json!({"kind": "User", "name": "u1"}),
        };
        let mut binding = json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": format!("use-{name}")},
            "roleRef": reference, "subjects": [subject],
        });
        if dice.chance(50) {
            binding["kind"] = json!("RoleBinding");
            binding["metadata"]["namespace"] = json!(dice.pick(&["a", "b"]));
        }
        objects.push(binding);
    }
    objects
}
