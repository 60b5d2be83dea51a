//! Constraints: their levels, their points and order, and the constraints of a new cluster.

use std::collections::BTreeMap;

use bailiwick::admission::scc::Scc;
use bailiwick::admission::scc::defaults::{Start, objects, trees};
use bailiwick::admission::scc::release::Release;
use bailiwick::ask::Connection;
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;
use serde_json::{Map, Value, json};

use crate::support::reference;

/// The uid range of a namespace in cases without a range.
const RANGE: &str = "1000660000/10000";

/// Returns a table as JSON.
pub(super) fn table(text: &str) -> Value {
    serde_yaml::from_str(text).expect("a table")
}

/// Returns the levels of all cases.
pub(super) fn levels() -> Value {
    table(include_str!("scc-levels.yaml"))
}

/// Returns a base of the table with some fields set or taken out, as an object of a name.
pub(super) fn shaped(levels: &Value, shape: &Value, name: &str) -> Value {
    let base = shape["base"].as_str().expect("a base");
    let mut object = levels["bases"][base].as_object().expect("the base").clone();
    for (key, value) in shape["set"].as_object().into_iter().flatten() {
        object.insert(key.clone(), value.clone());
    }
    for key in shape["unset"].as_array().into_iter().flatten() {
        object.remove(key.as_str().expect("a key"));
    }
    object.insert("apiVersion".to_owned(), json!("security.openshift.io/v1"));
    object.insert("kind".to_owned(), json!("SecurityContextConstraints"));
    object.insert("metadata".to_owned(), json!({ "name": name }));
    Value::Object(object)
}

fn ask(kind: &str, body: &Value) -> Value {
    let question = Map::from_iter([(kind.to_owned(), body.clone())]);
    let (kind, body) = question.iter().next().expect("a question");
    Connection::default().answer(&json!({ kind: body })).expect("an answer")
}

fn level_of(case: &Value, object: &Value, is_stored: bool) -> Value {
    let range = match case.get("annotations") {
        Some(annotations) => annotations.get("openshift.io/sa.scc.uid-range").cloned().unwrap_or_default(),
        None => json!(RANGE),
    };
    ask("scc-level", &json!({ "scc": object, "uidRange": range, "stored": is_stored }))
}

#[test]
fn constraints_have_the_levels_of_the_table() {
    let levels = levels();
    let cases = levels["cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    for case in cases {
        let object = shaped(&levels, case, "x");
        for (key, is_stored) in [("expected", false), ("expected_raw", true)] {
            let Some(expected) = case.get(key) else { continue };
            let found = level_of(case, &object, is_stored);
            let (found, expected) = match case.get("error") {
                Some(error) => (&found["failure"], error),
                None => (&found["level"], expected),
            };
            if found != expected {
                wrong.push(format!("{} {key}: {found}, not {expected}", case["id"]));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(cases.len(), 88);
}

#[test]
fn rules_name_the_one_that_lifts_the_level() {
    let levels = levels();
    for case in levels["cases"].as_array().expect("cases") {
        let rule = match case["rule"].as_str().expect("a rule") {
            "all" | "ignored" | "combine" => continue,
            "allowPrivilegedContainer" => "privileged",
            rule => rule,
        };
        let strict = case["base"] == "strict" && case.get("error").is_none() && case["expected"] != "restricted";
        if strict {
            let found = level_of(case, &shaped(&levels, case, "x"), false);
            assert_eq!(found["rules"][rule]["level"], case["expected"], "{}", case["id"]);
        }
    }
}

/// Returns the table of the constraints that a cluster starts with.
fn defaults() -> Value {
    table(include_str!("default-levels.yaml"))
}

fn newest() -> Start {
    Start { release: Release::LAST, upgraded_from_4_10: false }
}

/// Returns each of the built-in constraints by its name.
fn built_in() -> BTreeMap<String, Value> {
    let named = objects(newest()).into_iter().filter(|object| object["kind"] == "SecurityContextConstraints");
    named.map(|object| (object["metadata"]["name"].as_str().expect("a name").to_owned(), object)).collect()
}

/// Returns the rows of the table and the object that each is about, which is built in or among the manifests.
fn rows_with_objects(manifests: &[(String, Value)]) -> Vec<(Value, Value)> {
    let built_in = built_in();
    let mut rows = Vec::new();
    for row in defaults()["sccs"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let file = row["file"].as_str().expect("a file").trim_start_matches("scc/");
        let manifest = || manifests.iter().find(|(path, object)| path == file && object["metadata"]["name"] == name);
        let object = built_in.get(name).or_else(|| manifest().map(|(_, object)| object));
        if let Some(object) = object {
            rows.push((row.clone(), object.clone()));
        }
    }
    rows
}

#[test]
fn the_default_constraints_have_the_levels_points_and_order_of_the_table() {
    assert_levels_and_points(&rows_with_objects(&[]), 13);
    let sccs: Vec<Value> = built_in().into_values().collect();
    let order = ask("scc-order", &json!({ "sccs": sccs }));
    let names: Vec<&Value> = order["order"].as_array().expect("an order").iter().map(|row| &row["name"]).collect();
    assert_eq!(json!(names), defaults()["admission_order_of_the_13_shipped"]);
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn the_shipped_constraints_have_the_levels_and_points_of_the_table() {
    assert_levels_and_points(&rows_with_objects(&manifests()), 17);
}

fn assert_levels_and_points(rows: &[(Value, Value)], count: usize) {
    assert_eq!(rows.len(), count);
    for (row, object) in rows {
        let found = ask("scc-level", &json!({ "scc": object, "uidRange": RANGE }));
        assert_eq!(found["level"], row["level"], "{row}");
        assert_eq!(found["points"], row["points"], "{row}");
        assert_eq!(object["priority"].as_i64().unwrap_or_default(), row["priority"].as_i64().unwrap_or_default());
        for (rule, letter) in row["rules"].as_object().expect("rules") {
            let level = found["rules"][rule]["level"].as_str().expect("a level");
            assert!(level.starts_with(letter.as_str().expect("a letter")), "{rule} of {row}: {level}");
        }
    }
}

/// Returns every object of the manifests that OpenShift ships, with its file.
fn manifests() -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(reference().join("openshift-scc")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        for document in text.split("\n---") {
            let object: Value = serde_yaml::from_str(document).expect("YAML");
            if object.is_object() {
                objects.push((name.clone(), object));
            }
        }
    }
    objects
}

fn read(object: &Value) -> Scc {
    Scc::read(yaml::from_json(object).document(0).expect("a document")).expect("constraints")
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn what_is_built_in_is_what_is_shipped() {
    let manifests = manifests();
    let shipped = |kind: &str| -> BTreeMap<String, Value> {
        let of_kind = manifests.iter().filter(|(_, object)| object["kind"] == kind);
        let named =
            of_kind.map(|(_, object)| (object["metadata"]["name"].as_str().expect("a name").to_owned(), object));
        named.map(|(name, object)| (name, object.clone())).collect()
    };
    let sccs = shipped("SecurityContextConstraints");
    for (name, own) in built_in() {
        assert_eq!(read(&own), read(&sccs[&name]), "{name}");
    }
    for (kind, count) in [("ClusterRole", 14), ("ClusterRoleBinding", 2)] {
        let shipped = shipped(kind);
        let own: Vec<Value> = objects(newest()).into_iter().filter(|object| object["kind"] == kind).collect();
        assert_eq!(own.len(), count);
        for object in own {
            let theirs = &shipped[object["metadata"]["name"].as_str().expect("a name")];
            for key in ["apiVersion", "rules", "roleRef", "subjects"] {
                assert_eq!(object.get(key), theirs.get(key), "{kind} {}", object["metadata"]["name"]);
            }
        }
    }
}

#[test]
fn what_is_built_in_reads_without_a_word() {
    for tree in trees(newest()) {
        let object = tree.document(0).expect("a document");
        let text = serde_yaml::to_string(&built_in()).expect("YAML");
        let mut sink = Sink::new();
        yaml::read(&text, FileId::default(), &mut sink);
        assert!(sink.is_empty());
        assert!(object.path(&["metadata", "name"]).is_some());
    }
}

#[test]
fn what_is_guaranteed_is_told_with_its_gap() {
    let levels = levels();
    let row = |shape: Value, version: &str| {
        let object = shaped(&levels, &shape, "x");
        ask("scc-level", &json!({ "scc": object, "uidRange": RANGE, "version": version }))["guaranteed"].clone()
    };
    let strict = row(json!({"base": "strict"}), "latest");
    assert_eq!(strict["level"], "restricted");
    let told: Vec<&str> =
        strict["caveats"].as_array().expect("caveats").iter().filter_map(|caveat| caveat["check"].as_str()).collect();
    assert_eq!(
        told,
        ["appArmorProfile", "hostProbesAndHostLifecycle", "procMount_restricted", "windowsHostProcess", "runAsNonRoot"]
    );
    // The conversion rules do not look at what is added by default.
    let added = row(json!({"base": "strict", "set": {"defaultAddCapabilities": ["SYS_ADMIN"]}}), "latest");
    assert_eq!(added["level"], "privileged");
    assert_eq!(
        added["gaps"][0],
        json!({"check": "capabilities_baseline", "level": "baseline", "field": "defaultAddCapabilities"})
    );
    // Newer checks allow what the frozen lists of the conversion refuse.
    let engine = json!({"base": "strict", "set": {"seLinuxContext": {"type": "MustRunAs", "seLinuxOptions": {"type": "container_engine_t"}}}});
    assert_eq!(row(engine.clone(), "v1.31")["level"], "restricted");
    assert_eq!(row(engine, "v1.30")["level"], "privileged");
    let namespaced =
        json!({"base": "strict", "set": {"runAsUser": {"type": "RunAsAny"}, "userNamespaceLevel": "RequirePodLevel"}});
    assert_eq!(row(namespaced.clone(), "v1.35")["level"], "restricted");
    assert_eq!(row(namespaced, "v1.34")["level"], "baseline");
    // A pinned old version has fewer kernel parameters than admission allows.
    assert_eq!(row(json!({"base": "strict"}), "v1.24")["gaps"][0]["check"], "sysctls");
}

#[test]
fn a_pod_is_admitted_by_the_first_that_accepts_it() {
    let sccs: Vec<Value> = built_in().into_values().collect();
    let annotations = json!({
        "openshift.io/sa.scc.uid-range": RANGE,
        "openshift.io/sa.scc.supplemental-groups": RANGE,
        "openshift.io/sa.scc.mcs": "s0:c26,c5",
    });
    let admitted = |spec: Value, labels: Value| {
        let pod = json!({"metadata": {"name": "p", "annotations": labels}, "spec": spec});
        ask("scc-admit", &json!({"sccs": sccs, "pod": pod, "annotations": annotations}))["scc"].clone()
    };
    let plain = json!({"containers": [{"name": "c"}]});
    // An account that may use every SCC gets anyuid because of its priority, so a pod can request another SCC.
    assert_eq!(admitted(plain.clone(), json!({})), "anyuid");
    assert_eq!(admitted(plain, json!({"openshift.io/required-scc": "restricted-v2"})), "restricted-v2");
    let with = |context: Value| json!({"containers": [{"name": "c", "securityContext": context}]});
    let required = json!({"openshift.io/required-scc": "nonroot-v2"});
    assert_eq!(admitted(with(json!({"runAsUser": 5})), required.clone()), "nonroot-v2");
    assert_eq!(admitted(with(json!({"runAsUser": 0})), required), Value::Null);
    assert_eq!(admitted(with(json!({"privileged": true})), json!({})), "privileged");
    let host = json!({"hostNetwork": true, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]});
    assert_eq!(admitted(host, json!({})), "hostnetwork-v2");
    let path = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}], "containers": [{"name": "c"}]});
    assert_eq!(admitted(path, json!({})), "hostmount-anyuid");
    let windows = json!({"os": {"name": "windows"}, "containers": [{"name": "c"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": windows});
    assert_eq!(ask("scc-admit", &json!({"sccs": sccs, "pod": pod}))["skipped"], true);
}

#[test]
fn one_unusable_scc_keeps_every_pod_out() {
    let levels = levels();
    let good = shaped(&levels, &json!({"base": "strict"}), "good");
    let annotations = json!({"openshift.io/sa.scc.uid-range": RANGE, "openshift.io/sa.scc.mcs": "s0:c1,c0"});
    for user in [json!({"type": "MustRunAs"}), json!({"type": "MustRunAsRange", "uidRangeMin": 1})] {
        let deadly = shaped(&levels, &json!({"base": "strict", "set": {"runAsUser": user}}), "deadly");
        let pod = json!({"spec": {"containers": [{"name": "c"}]}});
        let body = json!({"sccs": [good, deadly], "pod": pod, "annotations": annotations});
        assert_eq!(ask("scc-admit", &body)["broken"], "deadly");
    }
}
