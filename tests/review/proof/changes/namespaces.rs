//! Namespaces with Pod Security labels, known and unknown.

use serde_json::{Value, json};

use super::super::worlds::Area;
use crate::oracle::Dice;

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const VERSION: &str = "pod-security.kubernetes.io/enforce-version";

/// Returns a namespace.
pub(super) fn namespace(area: Area, name: &str, dice: &mut Dice) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {}}});
    level(area, &mut object, dice);
    object["metadata"]["labels"]["team"] = json!(dice.pick(&["x", "y"]));
    if area == Area::Scc {
        object["metadata"]["annotations"] = json!({
            "openshift.io/sa.scc.uid-range": "1000000000/10000",
            "openshift.io/sa.scc.supplemental-groups": "1000000000/10000",
            "openshift.io/sa.scc.mcs": "s0:c1,c0",
        });
    }
    object
}

/// Sets the level and the version, or removes them.
fn level(area: Area, object: &mut Value, dice: &mut Dice) {
    let percent = if matches!(area, Area::Level | Area::Version) { 85 } else { 40 };
    let levels = ["privileged", "baseline", "baseline", "restricted", "strict"];
    let versions = ["latest", "v1.24", "v1.28", "v1.31", "v1.34", "v1.99", "1.30"];
    // A NamespaceSet writes known levels and versions alone.
    put(object, ENFORCE, dice.chance(percent).then(|| dice.pick(&levels)));
    put(object, VERSION, dice.chance(percent / 2).then(|| dice.pick(&versions)));
}

fn put(object: &mut Value, key: &str, value: Option<&str>) {
    match (value, object["metadata"]["labels"].as_object_mut()) {
        (Some(value), Some(labels)) => _ = labels.insert(key.to_owned(), json!(value)),
        (None, Some(labels)) => _ = labels.shift_remove(key),
        (_, None) => {}
    }
}

/// Writes a default down, another unknown value, or a label that enforces nothing.
pub(super) fn respell(object: &mut Value, dice: &mut Dice) {
    let labels = &object["metadata"]["labels"];
    let (level, version) = (labels[ENFORCE].as_str(), labels[VERSION].as_str());
    let (level, version) = (level.map(str::to_owned), version.map(str::to_owned));
    match level.as_deref() {
        None => put(object, ENFORCE, Some("privileged")),
        Some("restricted" | "strict") => put(object, ENFORCE, Some(dice.pick(&["restricted", "strict"]))),
        Some(_) => {}
    }
    if matches!(version.as_deref(), None | Some("latest" | "v1.99" | "1.30")) {
        put(object, VERSION, Some(dice.pick(&["latest", "v1.99", "1.30"])));
    }
    put(object, "pod-security.kubernetes.io/warn", Some(dice.pick(&["baseline", "restricted"])));
    put(object, "example.org/owner", Some("somebody"));
}

/// Changes the level, the version, or the label that policies select.
pub(super) fn change(area: Area, object: &mut Value, dice: &mut Dice) {
    match area {
        Area::Policy if dice.chance(70) => put(object, "team", dice.chance(70).then(|| dice.pick(&["x", "y"]))),
        _ => level(area, object, dice),
    }
}
