//! The configuration of Pod Security admission: a target and a question of `ask` with the same settings give the same answers.

use std::collections::BTreeMap;

use bailiwick::access::{Answer, Identity};
use bailiwick::admission::variants::PodVariant;
use bailiwick::ask::Connection;
use bailiwick::{AdmissionOptions, CanIOptions, LoadedWorld, Options, RequestOptions, Workspace, WorldOptions};
use serde_json::{Value, json};

/// Returns the settings of each target, by its name.
fn settings() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("plain", json!({})),
        ("baseline", json!({ "defaults": { "enforce": "baseline", "enforce-version": "v1.30" } })),
        (
            "restricted",
            json!({
                "defaults": { "enforce": "restricted", "audit": "privileged", "warn": "restricted" },
                "exemptions": { "usernames": ["bob"], "namespaces": ["storage"], "runtimeClasses": ["kata"] },
            }),
        ),
    ])
}

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: all}
spec:
  namespaces:
  - {name: shop}
  - {name: storage}
  - {name: open, labels: {pod-security.kubernetes.io/enforce: privileged}}
  - {name: pinned, labels: {pod-security.kubernetes.io/enforce-version: v1.24}}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: all}
spec:
  to: {users: [ann, bob]}
  clusterRoles: [cluster-admin]
  clusterWide: true
";

/// Returns the labels of the namespaces of [`POLICIES`].
fn labels(namespace: &str) -> Value {
    match namespace {
        "open" => json!({ "pod-security.kubernetes.io/enforce": "privileged" }),
        "pinned" => json!({ "pod-security.kubernetes.io/enforce-version": "v1.24" }),
        _ => json!({}),
    }
}

/// Writes the workspace with all targets into a folder.
fn lay_out(root: &std::path::Path) {
    let targets: Vec<Value> = settings()
        .into_iter()
        .map(|(name, settings)| json!({ "name": name, "version": "1.37", "podSecurity": settings }))
        .collect();
    let workspace = json!({
        "apiVersion": "bailiwick.dev/v1alpha1", "kind": "Workspace", "metadata": { "name": "test" },
        "spec": { "targets": targets },
    });
    std::fs::create_dir(root.join("policies")).expect("a folder");
    std::fs::write(root.join("bailiwick.yaml"), workspace.to_string()).expect("the workspace");
    std::fs::write(root.join("policies/all.yaml"), POLICIES).expect("the policies");
}

/// Returns the pods in a namespace, each also with a RuntimeClass.
fn pods(namespace: &str) -> Vec<Value> {
    let plain = PodVariant::common().into_iter().filter_map(|variant| variant.request(namespace).object);
    let mut pods: Vec<Value> = plain.step_by(3).collect();
    for mut pod in pods.clone().into_iter().step_by(3) {
        pod["spec"]["runtimeClassName"] = "kata".into();
        pods.push(pod);
    }
    pods
}

#[test]
fn a_target_answers_as_a_question_with_the_same_settings() {
    let root = tempfile::tempdir().expect("a folder");
    lay_out(root.path());
    let workspace = Workspace::open(&Options::in_folder(root.path())).expect("a workspace");
    let file = root.path().join("pod.yaml");
    let (mut refused, mut admitted, mut exempt, mut unknown) = (0, 0, 0, 0);
    for target in &workspace.project().workspace.targets {
        let options = WorldOptions { with_surroundings: true, with_paths: true, ..WorldOptions::default() };
        let loaded = LoadedWorld::from_target(&workspace, target, &options).expect("a world");
        for (namespace, user) in ["shop", "storage", "open", "pinned", "elsewhere"]
            .iter()
            .flat_map(|namespace| ["ann", "bob"].map(|user| (*namespace, user)))
        {
            let mut question = settings()[target.name.as_str()].clone();
            question["user"] = user.into();
            question["labels"] = labels(namespace);
            for pod in pods(namespace) {
                std::fs::write(&file, pod.to_string()).expect("the pod");
                question["object"] = pod;
                let expected = Connection::default().answer(&json!({ "pod-admission": question })).expect("an answer");
                let request =
                    RequestOptions { namespace: Some(namespace.to_owned()), ..RequestOptions::new("create", "pods") };
                let admission = Some(AdmissionOptions { object: file.clone(), ..AdmissionOptions::default() });
                let asked = CanIOptions { request, admission, ..CanIOptions::default() };
                let found = loaded.can_i(&Identity::from_user(user), &asked).expect("an answer");
                let place = format!("{}, {namespace}, {user}: {question:#}", target.name);
                if namespace == "elsewhere" && found.answer == Answer::Unknown {
                    // The question states that the namespace has no labels, and the workspace has no such namespace.
                    let reason = "the Pod Security labels of the namespace `elsewhere` are not given";
                    assert_eq!(found.objection.as_deref(), Some(reason), "{place}");
                    unknown += 1;
                    continue;
                }
                assert_eq!(json!(found.answer == Answer::Yes), expected["allowed"], "{place}");
                assert_eq!(json!(found.objection.as_deref().unwrap_or_default()), expected["message"], "{place}");
                refused += usize::from(expected["allowed"] == false);
                admitted += usize::from(expected["allowed"] == true);
                exempt += usize::from(expected["audit"].get("exempt").is_some());
            }
        }
    }
    assert!(refused > 90 && admitted > 100 && exempt > 100 && unknown > 90, "{refused} {admitted} {exempt} {unknown}");
}
