//! The way back and forth: what `migrate psp` makes of PodSecurityPolicies compiles to the same policies again.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{bailiwick, snapshot, stderr};
use crate::oracle::Dice;
use crate::support::{identity, note, repository, rounds, shared, stored_objects};

const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: test}
spec:
  targets:
  - {name: first, version: \"1.21\"}
  - {name: last, version: \"1.24\"}
  - {name: modern, version: \"1.36\"}
";

/// Migrates manifests into a new workspace and renders it. The report is returned.
fn migrated(folder: &Path, from: &[&Path]) -> Value {
    std::fs::write(folder.join("bailiwick.yaml"), WORKSPACE).expect("a file");
    let mut arguments = vec!["migrate", "psp", "-o", "policies", "--format", "json"];
    for path in from {
        arguments.extend(["--from", path.to_str().expect("a path in UTF-8")]);
    }
    let run = bailiwick(folder, &arguments);
    assert!(run.status.success(), "{}", stderr(&run));
    let rendered = bailiwick(folder, &["render"]);
    assert!(rendered.status.success(), "{}", stderr(&rendered));
    serde_json::from_slice(&run.stdout).expect("a report in JSON")
}

/// Returns the PodSecurityPolicies of a text, without what describes the old object alone.
fn policies(text: &str) -> Vec<Value> {
    let objects = stored_objects(text).into_iter().filter(|object| object["kind"] == "PodSecurityPolicy");
    let mut policies: Vec<Value> = objects.collect();
    for policy in &mut policies {
        let metadata = policy["metadata"].as_object_mut().expect("metadata");
        metadata.remove("labels");
    }
    policies.sort_by_key(identity);
    policies
}

/// Asserts that a target has the policies of the inputs that are needed, and the names of those.
fn assert_same(folder: &Path, from: &[&Path], report: &Value) -> Vec<String> {
    let needed = report["policies"].as_array().expect("policies").iter().filter(|policy| !policy["profile"].is_null());
    let needed: Vec<String> = needed.map(|policy| policy["name"].as_str().expect("a name").to_owned()).collect();
    let is_needed = |policy: &Value| needed.iter().any(|name| policy["metadata"]["name"] == *name.as_str());
    let texts: Vec<String> = from.iter().map(|path| std::fs::read_to_string(path).expect("a file")).collect();
    let mut expected: Vec<Value> = texts.iter().flat_map(|text| policies(text)).filter(is_needed).collect();
    expected.sort_by_key(identity);
    assert_eq!(expected.len(), needed.len(), "{needed:?}");
    for target in ["first", "last"] {
        let files = snapshot(&folder.join("out").join(target));
        let texts = files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes));
        let mut found: Vec<Value> = texts.flat_map(|text| policies(&text)).collect();
        found.sort_by_key(identity);
        assert_eq!(found, expected, "{target}");
    }
    let modern = snapshot(&folder.join("out/modern"));
    assert!(modern.iter().any(|(path, _)| path.ends_with("validatingadmissionpolicy.yaml")), "{modern:?}");
    needed
}

#[test]
fn policies_of_a_cluster_come_back() {
    for (case, file) in [("ok-cluster", "cluster.yaml"), ("ok-tenants", "tools.yaml"), ("ok-everything", "pods.yaml")] {
        let folder = tempfile::tempdir().expect("a folder");
        let from = repository().join("tests/cases/migrate").join(case).join("elsewhere").join(file);
        let report = migrated(folder.path(), &[&from]);
        let needed = assert_same(folder.path(), &[&from], &report);
        assert!(needed.len() > 1, "{case}: {needed:?}");
    }
}

#[test]
fn toolforge_leaves_its_policies_behind() {
    let Some(shared) = shared() else {
        note("the shared folder is not there; Toolforge's own files are not migrated");
        return;
    };
    let files = [
        "puppet-2021-09-base-psp.yaml",
        "puppet-2024-06-tool-observer-and-tfb-psp.yaml",
        "recorded-objects-2023-07-new-tool-blurp.yaml",
    ];
    let files = files.map(|file| shared.join("reference/toolforge").join(file));
    let files: Vec<&Path> = files.iter().map(|file| file.as_path()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let report = migrated(folder.path(), &files);
    let needed = assert_same(folder.path(), &files, &report);
    assert!(
        needed.contains(&"tool-blurp-psp".to_owned()) && needed.contains(&"privileged-psp".to_owned()),
        "{needed:?}"
    );
    let namespaces = report["namespaces"].as_array().expect("namespaces");
    let tool = namespaces.iter().find(|namespace| namespace["name"] == "tool-blurp").expect("the tool's namespace");
    assert_eq!((&tool["policy"], &tool["level"]), (&"tool-blurp-psp".into(), &"privileged".into()));
}

/// Returns a Deployment with a random pod for the policy of a tool.
fn random_deployment(dice: &mut Dice, number: usize, tool: &str, user: i64) -> Value {
    let mut context = Map::new();
    let mut set = |dice: &mut Dice, field: &str, values: &[Value]| {
        // Half of the fields are absent.
        if dice.below(2) == 0 {
            context.insert(field.to_owned(), values[dice.below(values.len())].clone());
        }
    };
    set(dice, "runAsUser", &[json!(user), json!(user), json!(0), json!(user + 1)]);
    set(dice, "runAsGroup", &[json!(user), json!(user), json!(user), json!(0)]);
    set(dice, "allowPrivilegeEscalation", &[json!(false), json!(false), json!(true)]);
    set(dice, "privileged", &[json!(false), json!(false), json!(false), json!(true)]);
    set(dice, "readOnlyRootFilesystem", &[json!(true), json!(false)]);
    set(
        dice,
        "capabilities",
        &[json!({ "drop": ["ALL"] }), json!({ "drop": ["NET_RAW"] }), json!({ "add": ["CHOWN"] })],
    );
    set(dice, "seccompProfile", &[json!({ "type": "RuntimeDefault" }), json!({ "type": "Unconfined" })]);
    let container = json!({ "name": "c", "image": "i", "securityContext": context });
    let mut of_pod = Map::new();
    let mut set = |dice: &mut Dice, field: &str, values: &[Value]| {
        if dice.below(3) == 0 {
            of_pod.insert(field.to_owned(), values[dice.below(values.len())].clone());
        }
    };
    set(dice, "runAsUser", &[json!(user), json!(0)]);
    set(dice, "fsGroup", &[json!(user), json!(user), json!(7)]);
    set(dice, "supplementalGroups", &[json!([1]), json!([65535, user]), json!([0])]);
    set(
        dice,
        "seccompProfile",
        &[json!({ "type": "RuntimeDefault" }), json!({ "type": "RuntimeDefault" }), json!({ "type": "Unconfined" })],
    );
    let volumes = [
        (json!({ "name": "v", "emptyDir": {} }), false),
        (json!({ "name": "v", "configMap": { "name": "x" } }), false),
        (json!({ "name": "v", "persistentVolumeClaim": { "claimName": "x" } }), false),
        (json!({ "name": "v", "hostPath": { "path": "/data/project/x" } }), false),
        (json!({ "name": "v", "hostPath": { "path": "/etc/ldap.conf" } }), true),
        (json!({ "name": "v", "hostPath": { "path": "/etc/ldap.conf" } }), false),
        (json!({ "name": "v", "hostPath": { "path": "/data/projects" } }), false),
        (json!({ "name": "v", "nfs": { "server": "s", "path": "/" } }), false),
    ];
    let (volume, is_read_only) = volumes[dice.below(volumes.len())].clone();
    let mut containers = vec![container];
    let mut spec = json!({ "securityContext": of_pod });
    if dice.below(2) == 0 {
        spec["volumes"] = json!([volume]);
        containers[0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v", "readOnly": is_read_only }]);
    }
    spec["containers"] = containers.into();
    if dice.below(8) == 0 {
        spec["hostNetwork"] = json!(true);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": format!("w{number}"), "namespace": format!("tool-{tool}") },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": { "metadata": { "labels": { "a": "b" } }, "spec": spec } },
    })
}

/// The policies of Wikimedia's tools, with pods that say half of what the policy fills in. From 1.30 to 1.35 no API server fills in
/// the rest: the admission policies admit the patched workloads that the PodSecurityPolicy admits, and no others.
#[test]
fn patched_pods_of_toolforge_are_admitted_as_before() {
    let Some(shared) = shared() else {
        note("the shared folder is not there; the pods of Toolforge are not migrated");
        return;
    };
    let seed = std::fs::read_to_string(shared.join("facts/toolforge/seed000-objects.yaml")).expect("a file");
    let policy =
        seed.split("---\n").find(|document| document.contains("name: tool-{$username}-psp")).expect("a policy");
    let folder = tempfile::tempdir().expect("a folder");
    let (count, mut dice) = (rounds(600, 6000), Dice::new(25));
    let mut dump = String::new();
    for (number, tool) in ["anagrams", "blurp", "quiz"].iter().enumerate() {
        let user = 50_000 + i64::try_from(number).expect("a number");
        let policy = policy.replace("{$username}", tool).replace("$user.id", &user.to_string());
        let grant = format!(
            "---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: tool-{tool}}}}}\n---\n\
             {{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: psp, namespace: tool-{tool}}}, rules: \
             [{{apiGroups: [policy], resources: [podsecuritypolicies], resourceNames: [tool-{tool}-psp], verbs: [use]}}]}}\n---\n\
             {{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: psp, namespace: tool-{tool}}}, roleRef: \
             {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: psp}}, subjects: \
             [{{kind: ServiceAccount, name: default, namespace: tool-{tool}}}]}}\n"
        );
        dump.push_str(&format!("---\n{policy}{grant}"));
        for place in 0..count / 3 {
            let deployment = random_deployment(&mut dice, place, tool, user);
            dump.push_str(&format!("---\n{deployment}\n"));
        }
    }
    std::fs::write(folder.path().join("cluster.yaml"), dump).expect("a file");
    let arguments = ["migrate", "psp", "--from", "cluster.yaml", "--to", "1.33", "--plan", "plan", "--format", "json"];
    let run = bailiwick(folder.path(), &arguments);
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report in JSON");
    let workloads = report["workloads"].as_array().expect("workloads");
    let name = |entry: &Value| (entry["namespace"].to_string(), entry["name"].to_string());
    let rejected: BTreeSet<_> = workloads.iter().filter(|workload| workload["policy"].is_null()).map(name).collect();
    assert_eq!(workloads.len(), count);
    assert!(rejected.len() > count / 4 && rejected.len() < count * 19 / 20, "{} of {count}", rejected.len());
    let rendered = bailiwick(folder.path(), &["-C", "plan", "render"]);
    assert!(rendered.status.success() && stderr(&rendered).contains("defaults-not-set"), "{}", stderr(&rendered));
    for target in ["warn", "enforce", "deny"] {
        let arguments = ["-C", "plan", "migrate", "verify", "--from", "../cluster.yaml", "--patches", "patches"];
        let run = bailiwick(folder.path(), &[&arguments[..], &["--target", target, "--format", "json"]].concat());
        let verification: Value = serde_json::from_slice(&run.stdout).expect("a result in JSON");
        let refused: BTreeSet<_> = verification["refused"].as_array().expect("a list").iter().map(name).collect();
        let differing: Vec<_> = refused.symmetric_difference(&rejected).collect();
        assert!(differing.is_empty(), "{target}: {} differ, such as {:?}", differing.len(), differing.first());
    }
}
