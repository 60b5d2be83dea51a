//! PodSecurityPolicy against the recorded cases: levels by the documentation's mapping, verdicts of the real provider,
//! and what a change of a real policy means.

use std::collections::BTreeSet;

use bailiwick::access::request::Identity;
use bailiwick::access::world::{Added, Builder};
use bailiwick::admission::pod::Pod;
use bailiwick::admission::psp::PodSecurityPolicy;
use bailiwick::admission::psp::compare::compare;
use bailiwick::admission::psp::mapping::{Reading, map};
use bailiwick::admission::psp::merge::merge;
use bailiwick::admission::psp::select::{PodOperation, PodRequest, choose, usable};
use bailiwick::ask::{AskError, Connection};
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;
use serde_json::{Map, Value, json};

/// Asks a question about policies.
fn ask(kind: &str, body: &Value) -> Result<Value, AskError> {
    Connection::default().answer(&json!({ kind: body }))
}

/// Returns the cases of a file. They were recorded, and are not ours to change.
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
    let tree = yaml::from_json(value);
    PodSecurityPolicy::read(tree.document(0).expect("a document")).expect("a policy")
}

/// Returns the policy of a case: whole, or the base with other keys of the spec or other annotations.
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
        let answer = ask("psp-admit", &question).expect("an answer");
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
    let answer = ask("psp-admit", &json!({ "psp": case["input"]["psp"], "pod": pod })).expect("an answer");
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
    let answer = ask("psp-admit", &question).expect("an answer");
    assert_eq!((&answer["errors"], &answer["allowed"]), (&json!([]), &json!(false)));
    let told = answer["invalid"].to_string();
    assert!(told.contains(case["expect"]["error"].as_str().expect("a text")), "{told}");
}

#[test]
fn a_change_of_the_tool_policy_is_told_by_what_it_means() {
    let case = toolforge("diff");
    let question = json!({ "old": case["input"]["from"], "new": case["input"]["to"] });
    let answer = ask("psp-compare", &question).expect("an answer");
    for (list, expected) in case["expect"].as_object().expect("a map") {
        assert_eq!(&answer[list], expected, "{list}");
    }
    assert_eq!(answer["defaults"], json!([]));
}

#[test]
fn the_tool_policy_needs_an_admission_policy_for_its_ids_and_paths() {
    let psp = &toolforge("psp")["input"]["psp"];
    let pod = json!({ "spec": { "containers": [{ "name": "c" }] } });
    let answer = ask("psp-migrate", &json!({ "psp": psp, "pod": pod })).expect("an answer");
    assert_eq!(answer["level"], "privileged");
    let fates = answer["fields"].as_array().expect("a list");
    let needed = fates.iter().filter(|field| field["fate"] == "policy").map(|field| field["field"].clone());
    let needed: Vec<Value> = needed.collect();
    for field in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups", "allowedHostPaths"] {
        assert!(needed.contains(&json!(field)), "{field}: {needed:?}");
    }
    assert_eq!(answer["reliedOn"].as_array().map(Vec::len), Some(7), "{answer:#}");
    assert!(ask("psp-migrate", &json!({ "psp": psp, "reading": "other" })).is_err());
}

/// Returns the fields of some changes of a policy: the text before the first sign.
fn fields(changes: &[String]) -> BTreeSet<&str> {
    changes.iter().filter_map(|change| change.split(' ').next()).collect()
}

#[test]
fn a_merged_policy_is_as_loose_as_needed() {
    let (file, cases) = cases(include_str!("psp-levels.yaml"));
    let policies: Vec<PodSecurityPolicy> = cases.iter().map(|case| policy(&of_case(&file, case))).collect();
    for one in &policies {
        let same = compare(one, &merge("merged", &[one, one]));
        assert!(same.is_same(), "{}: {same:#?}", one.name());
        for other in &policies {
            let (needed, found) = (compare(one, other), compare(one, &merge("merged", &[one, other])));
            let names = format!("{} with {}: {found:#?}", one.name(), other.name());
            assert_eq!(found.narrowed, [""; 0], "{names}");
            // Pods with a seccomp profile and pods without one are together in `*` alone.
            let widened = fields(&found.widened).into_iter().filter(|field| *field != "seccomp");
            assert!(
                widened.collect::<BTreeSet<_>>().is_subset(&fields(&needed.widened)),
                "{names}, and not {needed:#?}"
            );
        }
    }
    let merged = ask("psp-merge", &json!({ "psps": [of_case(&file, &cases[0]), of_case(&file, &cases[1])] }));
    assert_eq!(merged.expect("an answer")["psp"]["metadata"]["name"], "merged");
    assert!(ask("psp-merge", &json!({ "psps": {} })).is_err());
}

#[test]
fn every_question_has_an_answer_or_says_why_not() {
    let psp = toolforge("psp")["input"]["psp"].clone();
    let pod = json!({ "spec": { "containers": [{ "name": "c" }] } });
    let level = ask("psp-level", &json!({ "psp": psp })).expect("an answer");
    assert_eq!(level["seLinuxIgnored"]["deciding"], json!(["volumes"]));
    let chosen =
        ask("psp-choose", &json!({ "psps": [psp], "usable": ["tool-blurp-psp"], "pod": pod })).expect("an answer");
    assert_eq!(chosen["psp"], "tool-blurp-psp");
    let none = ask("psp-choose", &json!({ "psps": [psp], "usable": [], "pod": pod })).expect("an answer");
    assert_eq!((&none["allowed"], &none["refusals"]), (&json!(false), &Value::Object(Map::new())));
    let broken = json!({ "metadata": { "name": "b" }, "spec": { "runAsUser": { "rule": "MustRunAs" } } });
    let answer = ask("psp-admit", &json!({ "psp": broken, "pod": pod })).expect("an answer");
    assert_eq!(answer["broken"].as_array().map(Vec::len), Some(4), "{answer}");
    assert!(ask("psp-admit", &json!({ "pod": pod })).is_err());
    assert!(ask("psp-admit", &json!({ "psp": { "spec": { "privileged": "yes" } }, "pod": pod })).is_err());
}

/// Returns the world of some objects, at the last minor that had policies.
fn world(objects: &str) -> bailiwick::access::World {
    let mut sink = Sink::new();
    let tree = yaml::read(objects, FileId::default(), &mut sink);
    let mut builder = Builder::new(24);
    for index in 0.. {
        let Some(root) = tree.document(index) else { break };
        builder.add_document(root, |_, added| assert_eq!(added, Added::Taken));
    }
    builder.build()
}

const GRANTS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tool-psp, namespace: tool-a}
rules:
  - {apiGroups: [policy], resources: [podsecuritypolicies], resourceNames: [tool], verbs: [use]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tool, namespace: tool-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tool-psp}
subjects:
  - {kind: User, name: a}
  - {kind: ServiceAccount, name: default, namespace: tool-a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: old-grant}
rules:
  - {apiGroups: [extensions], resources: [podsecuritypolicies], resourceNames: [wide], verbs: [use]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: wide}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: old-grant}
subjects:
  - {kind: Group, name: ops}
";

#[test]
fn accounts_and_users_bring_the_policies_they_may_use() {
    let world = world(GRANTS);
    let any = json!({ "rule": "RunAsAny" });
    let loose = |name: &str| {
        let spec = json!({
            "privileged": true, "runAsUser": any, "fsGroup": any, "supplementalGroups": any, "seLinux": any, "volumes": ["*"],
        });
        policy(&json!({ "metadata": { "name": name }, "spec": spec }))
    };
    let mut tool = loose("tool");
    tool.spec.privileged = false;
    let policies = [loose("wide"), loose("other"), tool];
    let ops = Identity { user: "o".to_owned(), groups: vec!["ops".to_owned()] };
    let who = [
        (Identity::from_user("a"), "tool-a", vec!["tool"]),
        (Identity::from_user("a"), "tool-b", vec![]),
        (Identity::from_user("system:serviceaccount:tool-a:default"), "tool-a", vec!["tool"]),
        (Identity::from_user("system:serviceaccount:tool-a:web"), "tool-a", vec![]),
        // The plugin asks for the old group, too, whether it is served or not.
        (ops.clone(), "tool-b", vec!["wide"]),
    ];
    for (who, namespace, expected) in who {
        let found = usable(&world, &who, namespace, &policies);
        assert_eq!(found.iter().map(|policy| policy.name()).collect::<Vec<_>>(), expected, "{who:?} in {namespace}");
    }
    let pod = |spec: &Value| {
        let tree = yaml::from_json(&json!({ "spec": spec }));
        Pod::read(tree.document(0).expect("a document")).expect("a pod")
    };
    let privileged = json!([{ "name": "c", "securityContext": { "privileged": true } }]);
    let by = |user: &Identity, spec: Value| {
        let request = PodRequest { user, namespace: "tool-a", pod: &pod(&spec), operation: PodOperation::Create };
        choose(&world, &policies, &request).policy
    };
    let nobody = Identity::from_user("nobody");
    assert_eq!(by(&nobody, json!({ "containers": [{ "name": "c" }] })).as_deref(), Some("tool"), "by the account");
    assert_eq!(by(&nobody, json!({ "containers": [{ "name": "c" }], "serviceAccountName": "web" })), None);
    assert_eq!(by(&nobody, json!({ "containers": privileged })), None);
    assert_eq!(by(&ops, json!({ "containers": privileged })).as_deref(), Some("wide"), "by the user");
}
