//! Permissions of nodes, compared with the recorded cases.

use bailiwick::ask::Connection;
use bailiwick::node::system_node::{self, Style, SystemNodeBinding};
use bailiwick::node::version::{FIRST_MINOR, LAST_MINOR, ServerVersion};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::recorded_policy;
use crate::support::reference;

/// Returns the cases of a file, which were recorded and are not ours to change.
fn cases(text: &str) -> Vec<Value> {
    let file: Value = serde_yaml::from_str(text).expect("the cases are YAML");
    file["cases"].as_array().expect("a list").clone()
}

fn access_cases(kind: &str) -> Vec<Value> {
    let cases = cases(include_str!("node/access-cases.yaml"));
    cases.into_iter().filter(|case| case["kind"] == kind).collect()
}

/// Asks a question without the remarks of a recorded case.
fn ask(kind: &str, body: &Value) -> Value {
    let mut body = body.clone();
    without(&mut body, &["k8s", "kind", "seed", "input"]);
    for list in ["requests", "admission", "validation"] {
        let items = body.get_mut(list).and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(|item| without(item, &["message", "contains", "absent"]));
    }
    Connection::default().answer(&json!({ kind: body })).expect("an answer")
}

fn without(value: &mut Value, keys: &[&str]) {
    let map = value.as_object_mut().expect("a map");
    map.retain(|key, _| !keys.contains(&key.as_str()));
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn the_authorizer_and_admission_decide_as_recorded() {
    let case = &cases(include_str!("node/authorizer-cases.yaml"))[0];
    let mut question = case.clone();
    question["version"] = json!("1.36");
    let answer = ask("node", &question);
    let (requests, answers) = (case["requests"].as_array().expect("requests"), &answer["requests"]);
    assert_eq!(requests.len(), 120);
    for (request, told) in requests.iter().zip(answers.as_array().expect("answers")) {
        assert_eq!(told["decision"], request["expect"], "{}: {told}", request["id"]);
        assert!(text(told, "reason").contains(text(request, "reason")), "{}: {told}", request["id"]);
    }
    let (writes, answers) = (case["admission"].as_array().expect("writes"), &answer["admission"]);
    assert_eq!(writes.len(), 65);
    for (write, told) in writes.iter().zip(answers.as_array().expect("answers")) {
        assert_eq!(told["allowed"], json!(write["expect"] == "allow"), "{}: {told}", write["id"]);
        assert!(text(told, "message").contains(text(write, "message")), "{}: {told}", write["id"]);
    }
    for (pod, told) in
        case["validation"].as_array().expect("pods").iter().zip(answer["validation"].as_array().expect("answers"))
    {
        let errors = told["errors"].to_string();
        assert!(errors.contains(text(pod, "contains")), "{}: {told}", pod["id"]);
        assert!(pod["absent"].is_null() || !errors.contains(text(pod, "absent")), "{}: {told}", pod["id"]);
    }
}

/// Returns a pod on the node `n1` whose projected volume mounts a certificate.
fn pod_with_certificate() -> Value {
    let certificate = json!({ "podCertificate": { "signerName": "example.com/mounted" } });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "a", "name": "p", "uid": "u-p" },
        "spec": {
            "nodeName": "n1", "serviceAccountName": "default",
            "volumes": [{ "name": "v", "projected": { "sources": [certificate] } }],
        },
    })
}

/// Returns whether NodeRestriction allows the node `n1` a write, in a version with the CSIVolumeHealth gate on or off.
fn admits(version: &str, health: Option<bool>, write: &Value) -> Value {
    let objects = json!([
        pod_with_certificate(),
        { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1", "uid": "u-n1" } },
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "namespace": "a", "name": "default", "uid": "u-d" } },
    ]);
    let mut write = write.clone();
    write["user"] = json!("system:node:n1");
    write["groups"] = json!(["system:nodes", "system:authenticated"]);
    let mut gates = json!({});
    if let Some(is_on) = health {
        gates["CSIVolumeHealth"] = json!(is_on);
    }
    if version == "1.36" {
        gates["PodCertificateRequest"] = json!(true);
    }
    let question = json!({ "version": version, "gates": gates, "objects": objects, "admission": [write] });
    ask("node", &question)["admission"][0]["allowed"].clone()
}

#[test]
fn certificates_are_of_mounted_or_granted_signers_since_1_37() {
    let request = |signer: &str| {
        json!({
            "operation": "CREATE", "apiGroup": "certificates.k8s.io", "resource": "podcertificaterequests",
            "namespace": "a", "name": "r",
            "object": {
                "kind": "PodCertificateRequest",
                "spec": {
                    "signerName": signer, "nodeName": "n1", "nodeUID": "u-n1", "podName": "p", "podUID": "u-p",
                    "serviceAccountName": "default", "serviceAccountUID": "u-d",
                },
            },
        })
    };
    let mut granted = request("example.com/other");
    granted["signersAllowed"] = json!(["example.com:other"]);
    let mut audience = request("example.com/other");
    audience["audiencesAllowed"] = json!(["example.com:other"]);
    assert_eq!(admits("1.36", None, &request("example.com/other")), true);
    assert_eq!(admits("1.37", None, &request("example.com/other")), false);
    assert_eq!(admits("1.37", None, &request("example.com/mounted")), true);
    assert_eq!(admits("1.37", None, &granted), true);
    assert_eq!(admits("1.37", None, &audience), false);
}

#[test]
fn the_status_of_a_csi_node_changes_alone_since_1_37() {
    let write = |operation: &str, drivers: &str| {
        let node = |drivers: &str| json!({ "kind": "CSINode", "metadata": { "name": "n1" }, "spec": { "drivers": [drivers] } });
        json!({
            "operation": operation, "apiGroup": "storage.k8s.io", "resource": "csinodes", "subresource": "status",
            "name": "n1", "object": node(drivers), "oldObject": node("same"),
        })
    };
    assert_eq!(admits("1.36", None, &write("UPDATE", "other")), true);
    assert_eq!(admits("1.37", None, &write("UPDATE", "same")), false);
    assert_eq!(admits("1.37", Some(true), &write("UPDATE", "same")), true);
    assert_eq!(admits("1.37", Some(true), &write("UPDATE", "other")), false);
    assert_eq!(admits("1.37", Some(true), &write("DELETE", "same")), false);
    let reads = |gate: bool, name: &str, verb: &str| {
        let request = json!({
            "user": "system:node:n1", "groups": ["system:nodes", "system:authenticated"], "verb": verb,
            "apiGroup": "storage.k8s.io", "resource": "csinodes", "subresource": "status", "name": name,
        });
        let question = json!({ "version": "1.37", "gates": { "CSIVolumeHealth": gate }, "requests": [request] });
        ask("node", &question)["requests"][0]["decision"].clone()
    };
    assert_eq!(reads(true, "n1", "patch"), "allow");
    assert_eq!(reads(true, "n2", "patch"), "no-opinion");
    assert_eq!(reads(true, "n1", "delete"), "no-opinion");
    assert_eq!(reads(false, "n1", "get"), "no-opinion");
}

#[test]
fn a_node_keeps_the_allocatable_claims_of_a_pod_since_1_37() {
    let write = |claims: Value| {
        let pod = |claims: Value| {
            let mut pod = pod_with_certificate();
            pod["status"] = json!({ "nodeAllocatableResourceClaimStatuses": claims });
            pod
        };
        let old = json!([{
            "resourceClaimName": "c", "containers": ["x"], "mapping": [{ "name": "cpu", "quantity": "1" }],
            "overhead": [{ "name": "cpu", "perPod": "100m" }],
        }]);
        json!({
            "operation": "UPDATE", "apiGroup": "", "resource": "pods", "subresource": "status", "namespace": "a",
            "name": "p", "object": pod(claims), "oldObject": pod(old),
        })
    };
    let claim = |name: &str, container: &str, quantity: &str, overhead: Value| {
        write(json!([{
            "resourceClaimName": name, "containers": [container],
            "mapping": [{ "name": "cpu", "quantity": quantity }], "overhead": [overhead],
        }]))
    };
    let overhead = json!({ "name": "cpu", "perPod": "0.1" });
    assert_eq!(admits("1.37", None, &claim("c", "x", "1000m", overhead.clone())), true);
    for other in [
        write(json!([])),
        claim("d", "x", "1", overhead.clone()),
        claim("c", "y", "1", overhead.clone()),
        claim("c", "x", "2", overhead),
        claim("c", "x", "1", json!({ "name": "cpu", "perPod": "0.2" })),
        claim("c", "x", "1", json!({ "name": "cpu", "perPod": "0.1", "perContainer": "0" })),
    ] {
        assert_eq!(admits("1.37", None, &other), false, "{other}");
        assert_eq!(admits("1.36", None, &other), true, "{other}");
    }
}

#[test]
fn static_pods_have_the_recorded_problems() {
    let case = &access_cases("lint-static-pod")[0];
    let requests = case["requests"].as_array().expect("pods");
    assert_eq!(requests.len(), 13);
    for request in requests {
        let told = ask("static-pod", &json!({ "pod": request["pod"] }));
        assert_eq!(told["problems"], request["expect"], "{}", request["id"]);
    }
}

#[test]
fn the_binding_is_that_of_the_version() {
    for case in access_cases("system-node-binding") {
        let input = &case["input"];
        let version = ServerVersion::parse(text(input, "k8s")).expect("a known version");
        let has_node = input["authorizationMode"].as_array().expect("modes").contains(&json!("Node"));
        let binding = |style| system_node::binding(&version, style, has_node);
        let expected = &case["expect"];
        if !input["freshCluster"].is_null() {
            let upstream = if text(expected, "kubeApiserver") == "bound" {
                SystemNodeBinding::Bound
            } else {
                SystemNodeBinding::Empty
            };
            assert_eq!(binding(Style::Upstream), upstream, "{}", case["id"]);
            let seed = if text(expected, "seedText").starts_with("bound") {
                SystemNodeBinding::Bound
            } else {
                SystemNodeBinding::Absent
            };
            assert_eq!(binding(Style::Seed), seed, "{}", case["id"]);
        }
        assert_eq!(expected["object"]["apiVersion"], json!(system_node::api_version(&version)), "{}", case["id"]);
    }
}

/// Returns the rules sorted, each with sorted lists: their order is irrelevant.
fn sorted_rules(rules: &Value) -> Vec<String> {
    let sorted = |rule: &Value| {
        let list = |key: &str| {
            let mut list: Vec<String> = rule[key].as_array().into_iter().flatten().map(Value::to_string).collect();
            list.sort();
            list.join(",")
        };
        format!("{} | {} | {}", list("apiGroups"), list("resources"), list("verbs"))
    };
    let mut rules: Vec<String> = rules.as_array().expect("rules").iter().map(sorted).collect();
    rules.sort();
    rules
}

fn own_rules(version: &ServerVersion) -> Vec<String> {
    sorted_rules(&json!(system_node::rules(version)))
}

#[test]
fn the_role_is_that_of_every_version() {
    let rules = |minor: u32| -> Vec<Value> {
        let policy = recorded_policy(&format!("1.{minor}"));
        let role = policy
            .into_iter()
            .flatten()
            .find(|object| object["kind"] == "ClusterRole" && object["metadata"]["name"] == "system:node");
        role.map_or_else(|| earlier_rules(minor), |role| role["rules"].as_array().expect("rules").clone())
    };
    for minor in (FIRST_MINOR..=LAST_MINOR).filter(|minor| *minor != UNRECORDED) {
        let version = ServerVersion::new(minor).expect("known");
        assert_eq!(own_rules(&version), sorted_rules(&json!(rules(minor))), "1.{minor}");
    }
}

/// The minor before the table of the default policy for which no rules are recorded.
const UNRECORDED: u32 = 15;

/// Returns the rules of a minor before the table of the default policy.
fn earlier_rules(minor: u32) -> Vec<Value> {
    let table: Value = serde_yaml::from_str(include_str!("node/system-node-before-1.16.yaml")).expect("YAML");
    let holds = |rule: &&Value| {
        let bound = |key: &str| rule[key].as_u64().expect("a minor");
        (bound("from")..=bound("to")).contains(&u64::from(minor))
    };
    table["rules"].as_array().expect("rules").iter().filter(holds).cloned().collect()
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn the_role_is_that_of_upstream_goldens() {
    for minor in [33, 35] {
        let file = reference().join(format!("node/upstream-golden-1.{minor}-system-node.yaml"));
        let text = std::fs::read_to_string(file).expect("a file");
        let first = serde_yaml::Deserializer::from_str(&text).next().expect("a document");
        let role = Value::deserialize(first).expect("YAML");
        assert_eq!(own_rules(&ServerVersion::new(minor).expect("known")), sorted_rules(&role["rules"]), "1.{minor}");
    }
}

#[test]
fn agents_become_the_recorded_objects_or_are_refused() {
    let cases = access_cases("compile-node-agent");
    assert_eq!(cases.len(), 6);
    for case in cases {
        let mut question = case["input"].clone();
        question["version"] = case["input"]["k8s"].clone();
        let told = ask("node-agent", &question);
        let expected = &case["expect"];
        assert_eq!(told.get("error"), expected.get("error"), "{}", case["id"]);
        assert_eq!(told.get("objects"), expected.get("objects"), "{}", case["id"]);
    }
}

#[test]
fn the_chain_of_authorizers_decides_as_recorded() {
    let cases = access_cases("authorize");
    assert_eq!(cases.len(), 4);
    for case in cases {
        assert_eq!(case["input"]["chain"], json!(["Node", "RBAC"]));
        let mut question = case["input"].clone();
        question["requests"] = case["requests"].clone();
        let told = ask("node-chain", &question);
        let answers = told["answers"].as_array().expect("answers");
        for (request, answer) in case["requests"].as_array().expect("requests").iter().zip(answers) {
            assert_eq!(answer["allowed"], json!(request["expect"] == "allow"), "{} {}", case["id"], request["id"]);
        }
    }
}

#[test]
fn the_migration_report_is_the_recorded_one() {
    let case = &access_cases("node-migration")[0];
    let told = ask("node-migration", &case["input"]);
    let expected = &case["expect"];
    assert_eq!(told["steps"], expected["steps"]);
    assert_eq!(told["nodesWithoutIdentity"], expected["nodesWithoutIdentity"]);
    let kubelets = expected["kubelets"].as_array().expect("kubelets");
    for (expected, told) in kubelets.iter().zip(told["kubelets"].as_array().expect("kubelets")) {
        for (key, value) in expected.as_object().expect("a map") {
            assert_eq!(&told[key], value, "{key} of {expected}");
        }
    }
}

/// Returns the nodes and workloads of a case, which leaves out what makes no difference, as manifests.
fn manifests(input: &Value) -> Vec<Value> {
    let list = |key: &str| input[key].as_array().cloned().unwrap_or_default();
    let mut objects = list("objects");
    for node in list("nodes") {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": node["name"], "labels": node["labels"] },
            "spec": { "taints": node["taints"] },
        }));
    }
    for workload in list("workloads") {
        let mut spec = workload["template"].clone();
        let secrets = spec.as_object_mut().expect("a map").remove("secrets").expect("secrets");
        let volume = |secret: &Value| json!({ "name": secret, "secret": { "secretName": secret } });
        spec["volumes"] = secrets.as_array().expect("a list").iter().map(volume).collect();
        let kind = text(&workload, "kind");
        let (version, spec) = match kind {
            "Pod" => ("v1", spec),
            "CronJob" => ("batch/v1", json!({ "jobTemplate": { "spec": { "template": { "spec": spec } } } })),
            _ => ("apps/v1", json!({ "template": { "spec": spec } })),
        };
        objects.push(json!({
            "apiVersion": version, "kind": kind, "spec": spec,
            "metadata": { "namespace": workload["namespace"], "name": workload["name"] },
        }));
    }
    objects
}

#[test]
fn nodes_reach_the_recorded_secrets() {
    let case = &access_cases("node-reach")[0];
    let told = ask("node-reach", &json!({ "objects": manifests(&case["input"]) }));
    for (node, secrets) in case["expect"]["secrets"].as_object().expect("a map") {
        assert_eq!(&told["nodes"][node]["secrets"], secrets, "{node}");
    }
}

#[test]
fn a_node_may_do_what_its_accounts_may() {
    let case = &access_cases("node-blast-radius")[0];
    let told = ask("node-reach", &json!({ "objects": manifests(&case["input"]) }));
    for (node, expected) in case["expect"].as_object().expect("a map") {
        let found = &told["nodes"][node];
        assert_eq!(found["serviceAccounts"]["yes"], expected["serviceAccounts"], "{node}");
        assert_eq!(found["effective"], expected["effective"], "{node}");
        assert_eq!(found["findings"][0], expected["finding"], "{node}");
    }
}

/// Returns the Secrets that a node reaches, surely and perhaps.
fn secrets(objects: &Value, node: &str) -> Value {
    ask("node-reach", &json!({ "objects": objects }))["nodes"][node]["secrets"].clone()
}

#[test]
fn what_the_server_adds_to_pods_counts() {
    let objects = json!([
        { "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" },
          "spec": { "taints": [{ "key": "gpu", "effect": "NoSchedule" }] } },
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "namespace": "a", "name": "default" },
          "imagePullSecrets": [{ "name": "registry" }] },
        { "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": "gpu" }, "handler": "gpu",
          "scheduling": { "tolerations": [{ "key": "gpu", "operator": "Exists" }] } },
        { "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": { "name": "plain" }, "handler": "plain" },
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "namespace": "a", "name": "d" },
          "spec": { "template": { "spec": { "runtimeClassName": "gpu" } } } },
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "namespace": "b", "name": "unknown" },
          "spec": { "template": { "spec": { "runtimeClassName": "elsewhere", "imagePullSecrets": [{ "name": "own" }] } } } },
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "namespace": "c", "name": "kept-away" },
          "spec": { "template": { "spec": { "runtimeClassName": "plain", "imagePullSecrets": [{ "name": "own" }] } } } },
    ]);
    assert_eq!(secrets(&objects, "n"), json!({ "yes": ["a/registry"], "maybe": ["b/own"] }));
}

#[test]
fn lists_of_one_kind_are_read() {
    let objects = json!([
        { "apiVersion": "v1", "kind": "NodeList", "items": [{ "metadata": { "name": "n" } }] },
        { "apiVersion": "apps/v1", "kind": "DaemonSetList", "items": [{ "metadata": { "namespace": "a", "name": "d" },
          "spec": { "template": { "spec": { "imagePullSecrets": [{ "name": "own" }] } } } }] },
    ]);
    assert_eq!(secrets(&objects, "n"), json!({ "yes": ["a/own"], "maybe": [] }));
}
