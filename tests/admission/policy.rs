//! Admission policies: the table of policies about agents of nodes, and the policies that are compiled here.

use bailiwick::admission::policy::ValidatingAdmissionPolicy;
use bailiwick::ask::Connection;
use bailiwick::yaml;
use serde_json::{Value, json};

use super::scc::table;
use crate::support::{repository, stored_objects};

fn ask(body: &Value) -> Value {
    Connection::default().answer(&json!({ "admission-policy": body })).expect("an answer")
}

#[test]
fn policies_about_agents_of_nodes_answer_as_the_api_server_does() {
    let table = table(include_str!("admission-policy-cases.yaml"));
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!((table["policies"].as_object().expect("a map").len(), rows.len()), (7, 36));
    for row in rows {
        let policy = &table["policies"][row["policy"].as_str().expect("a name")];
        let told = &ask(&json!({ "policy": policy, "requests": [row["request"]] }))["answers"][0];
        assert_eq!(told["answer"], row["expect"], "{}: {told:#}", row["id"]);
        if let Some(part) = row["message"].as_str() {
            assert!(told["message"].as_str().expect("a text").contains(part), "{}: {told:#}", row["id"]);
        }
    }
}

/// Returns the policies in a folder of output.
fn compiled() -> Vec<Value> {
    let mut found = Vec::new();
    for target in std::fs::read_dir(repository().join("out")).expect("a folder") {
        let path = target.expect("an entry").path().join("cluster/validatingadmissionpolicy.yaml");
        if let Ok(text) = std::fs::read_to_string(path) {
            found.extend(stored_objects(&text));
        }
    }
    found
}

#[test]
fn every_expression_of_our_own_policies_is_evaluated() {
    let policies = compiled();
    assert!(policies.len() >= 2, "{}", policies.len());
    for policy in policies {
        let tree = yaml::from_json(&policy);
        let read = ValidatingAdmissionPolicy::read(tree.document(0).expect("a document"), 37).expect("a policy");
        assert_eq!(read.unknown_expressions().collect::<Vec<_>>(), Vec::<(&str, &str)>::new(), "{}", read.name);
    }
}

#[test]
fn a_policy_of_a_profile_refuses_what_the_profile_does() {
    let policies = compiled();
    let of_tools = policies.iter().find(|policy| policy["metadata"]["name"].as_str().expect("a name").contains("tool"));
    let policy = of_tools.expect("the profile of tools");
    let security = json!({
        "runAsUser": 50001, "runAsGroup": 50001, "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
    });
    let pod = |container: Value| {
        let security = json!({
            "fsGroup": 50001, "supplementalGroups": [1], "seccompProfile": { "type": "RuntimeDefault" },
        });
        json!({
            "user": "u", "operation": "CREATE", "apiGroup": "", "version": "v1", "resource": "pods", "kind": "Pod",
            "namespace": "tool-a", "name": "p",
            "object": { "metadata": { "name": "p" }, "spec": { "containers": [container], "securityContext": security } },
        })
    };
    let namespace = json!({
        "metadata": { "name": "tool-a", "labels": labels_of(policy), "annotations": { "bailiwick.dev/uid": "50001" } },
    });
    let good = pod(json!({ "name": "c", "securityContext": security }));
    let bad = pod(json!({ "name": "c", "securityContext": { "privileged": true } }));
    let told = ask(&json!({ "policy": policy, "namespace": namespace, "requests": [good, bad] }));
    assert_eq!(told["answers"][0]["answer"], "allow", "{told:#}");
    assert_eq!(told["answers"][1]["answer"], "deny", "{told:#}");
    // The namespace has the owner of the account.
    let told = ask(&json!({ "policy": policy, "requests": [good] }));
    assert_eq!(told["answers"][0]["answer"], "unknown", "{told:#}");
}

/// Returns the labels that a policy's selector of namespaces asks for.
fn labels_of(policy: &Value) -> Value {
    policy["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"].clone()
}
