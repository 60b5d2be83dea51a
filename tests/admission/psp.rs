//! PodSecurityPolicy against the recorded cases: levels by the documentation's mapping, verdicts of the real provider,
//! and what a change of a real policy means.

use bailiwick::admission::psp::mapping::{Reading, map};
use bailiwick::admission::psp::{PodSecurityPolicy, ask};
use serde_json::{Map, Value, json};

/// The cases of a file. They were recorded, and are not ours to change.
fn cases(text: &str) -> (Value, Vec<Value>) {
    let file: Value = serde_yaml::from_str(text).expect("the cases are YAML");
    let cases = file["cases"].as_array().expect("a list").clone();
    (file, cases)
}

fn toolforge(kind: &str) -> Value {
    let (_, cases) = cases(include_str!("psp-toolforge.yaml"));
    cases.into_iter().find(|case| case["kind"] == kind).expect("the case is there")
}

fn policy(value: &Value) -> PodSecurityPolicy {
    let tree = bailiwick::yaml::from_json(value);
    PodSecurityPolicy::read(tree.document(0).expect("a document")).expect("a policy")
}

/// The policy of a case: whole, or the base with other keys of the spec or other annotations.
fn of_case(file: &Value, case: &Value) -> Value {
    let base = case.get("full").unwrap_or(&file["bases"]["tightpsp"]);
    let mut spec = base["spec"].as_object().expect("a spec").clone();
    spec.extend(case.get("set").and_then(Value::as_object).cloned().unwrap_or_default());
    let annotations = case.get("ann").unwrap_or(&base["annotations"]);
    json!({ "metadata": { "name": case["id"], "annotations": annotations }, "spec": spec })
}

#[test]
fn policies_have_the_levels_of_the_mapping() {
    let (file, cases) = cases(include_str!("psp-levels.yaml"));
    assert_eq!(cases.len(), 39);
    for case in &cases {
        let policy = policy(&of_case(&file, case));
        for (reading, key) in [
            (Reading::Practical, "expected"),
            (Reading::Table, "expected_table"),
            (Reading::SeLinuxIgnored, "expected_selinux_ignored"),
        ] {
            let Some(expected) = case.get(key) else { continue };
            let mapping = map(&policy, reading);
            assert_eq!(mapping.level.name(), expected, "{}, {}: {mapping:#?}", case["id"], reading.name());
            let decides = mapping.deciding().all(|field| !field.reason.is_empty());
            assert!(decides && (expected == "restricted") == mapping.deciding().next().is_none(), "{}", case["id"]);
        }
    }
}

#[test]
fn the_tool_policy_admits_what_the_real_one_did() {
    let case = toolforge("psp");
    let requests = case["requests"].as_array().expect("a list");
    assert_eq!(requests.len(), 28);
    for request in requests {
        let question = json!({ "psp": case["input"]["psp"], "pod": { "spec": request["pod"] } });
        let answer = ask::admit(&question).expect("an answer");
        let allowed = answer["allowed"].as_bool().expect("a verdict");
        assert_eq!(allowed, request["expect"] == "allow", "{}: {answer:#}", request["id"]);
        if let Some(field) = request["field"].as_str() {
            let told = answer["errors"].to_string();
            assert!(told.contains(field), "{}: no {field} in {told}", request["id"]);
        }
    }
}

#[test]
fn an_empty_pod_gets_the_ids_of_its_tool() {
    let case = toolforge("psp");
    let pod = json!({ "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let answer = ask::admit(&json!({ "psp": case["input"]["psp"], "pod": pod })).expect("an answer");
    assert_eq!(
        answer["pod"],
        json!({
            "metadata": { "annotations": { "seccomp.security.alpha.kubernetes.io/pod": "runtime/default" } },
            "spec": {
                "containers": [{
                    "name": "c",
                    "securityContext": {
                        "capabilities": { "drop": ["ALL"] },
                        "runAsUser": 1002,
                        "runAsGroup": 1002,
                        "allowPrivilegeEscalation": false,
                    },
                }],
                "securityContext": { "fsGroup": 1002, "supplementalGroups": [1] },
            },
        })
    );
}

#[test]
fn steps_upwards_are_refused_though_the_policy_lets_them_through() {
    let case = toolforge("pod-validation");
    let question = json!({ "psp": toolforge("psp")["input"]["psp"], "pod": { "spec": case["input"]["pod"] } });
    let answer = ask::admit(&question).expect("an answer");
    assert_eq!((&answer["errors"], &answer["allowed"]), (&json!([]), &json!(false)));
    let told = answer["invalid"].to_string();
    assert!(told.contains(case["expect"]["error"].as_str().expect("a text")), "{told}");
}

#[test]
fn a_change_of_the_tool_policy_is_told_by_what_it_means() {
    let case = toolforge("diff");
    let question = json!({ "old": case["input"]["from"], "new": case["input"]["to"] });
    let answer = ask::compare(&question).expect("an answer");
    for (list, expected) in case["expect"].as_object().expect("a map") {
        assert_eq!(&answer[list], expected, "{list}");
    }
    assert_eq!(answer["defaults"], json!([]));
}

#[test]
fn every_question_has_an_answer_or_says_why_not() {
    let psp = toolforge("psp")["input"]["psp"].clone();
    let pod = json!({ "spec": { "containers": [{ "name": "c" }] } });
    let level = ask::level(&json!({ "psp": psp })).expect("an answer");
    assert_eq!(level["seLinuxIgnored"]["deciding"], json!(["volumes"]));
    let chosen = ask::choose(&json!({ "psps": [psp], "usable": ["tool-blurp-psp"], "pod": pod })).expect("an answer");
    assert_eq!(chosen["psp"], "tool-blurp-psp");
    let none = ask::choose(&json!({ "psps": [psp], "usable": [], "pod": pod })).expect("an answer");
    assert_eq!((&none["allowed"], &none["refusals"]), (&json!(false), &Value::Object(Map::new())));
    let broken = json!({ "metadata": { "name": "b" }, "spec": { "runAsUser": { "rule": "MustRunAs" } } });
    let answer = ask::admit(&json!({ "psp": broken, "pod": pod })).expect("an answer");
    assert_eq!(answer["broken"].as_array().map(Vec::len), Some(4), "{answer}");
    assert!(ask::admit(&json!({ "pod": pod })).is_err());
    assert!(ask::admit(&json!({ "psp": { "spec": { "privileged": "yes" } }, "pod": pod })).is_err());
}
