//! The way back and forth: what `migrate psp` makes of PodSecurityPolicies compiles to the same policies again.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{bailiwick, snapshot, stderr};
use crate::oracle::Dice;
use crate::support::{identity, reference, repository, rounds, stored_objects};

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
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn toolforge_leaves_its_policies_behind() {
    let files = [
        "puppet-2021-09-base-psp.yaml",
        "puppet-2024-06-tool-observer-and-tfb-psp.yaml",
        "recorded-objects-2023-07-new-tool-blurp.yaml",
    ];
    let files = files.map(|file| reference().join("toolforge").join(file));
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

/// Returns a security context with some of the fields.
fn random_context(dice: &mut Dice, percent: usize, fields: &[(&str, &[Value])]) -> Map<String, Value> {
    let mut context = Map::new();
    for (field, values) in fields {
        if dice.chance(percent) {
            let value = dice.one_of(values).expect("a value").clone();
            context.insert((*field).to_owned(), value);
        }
    }
    context
}

/// Returns the spec of a random pod for the policy of a tool.
fn random_pod(dice: &mut Dice, user: i64) -> Value {
    let (default, unconfined) = (json!({ "type": "RuntimeDefault" }), json!({ "type": "Unconfined" }));
    let own = json!(user);
    let of_container = [
        ("runAsUser", &[own.clone(), own.clone(), json!(0), json!(user + 1)][..]),
        ("runAsGroup", &[own.clone(), own.clone(), own.clone(), json!(0)]),
        ("allowPrivilegeEscalation", &[json!(false), json!(false), json!(true)]),
        ("privileged", &[json!(false), json!(false), json!(false), json!(true)]),
        ("readOnlyRootFilesystem", &[json!(true), json!(false)]),
        ("capabilities", &[json!({ "drop": ["ALL"] }), json!({ "drop": ["NET_RAW"] }), json!({ "add": ["CHOWN"] })]),
        ("seccompProfile", &[default.clone(), unconfined.clone()]),
    ];
    let of_pod = [
        ("runAsUser", &[own.clone(), json!(0)][..]),
        ("fsGroup", &[own.clone(), own.clone(), json!(7)]),
        ("supplementalGroups", &[json!([1]), json!([65535, user]), json!([0])]),
        ("seccompProfile", &[default.clone(), default.clone(), unconfined.clone()]),
    ];
    let host_path = |path: &str| json!({ "hostPath": { "path": path } });
    let volumes = [
        json!({ "emptyDir": {} }),
        json!({ "configMap": { "name": "x" } }),
        json!({ "persistentVolumeClaim": { "claimName": "x" } }),
        json!({ "nfs": { "server": "s", "path": "/" } }),
        host_path("/data/project/x"),
        host_path("/data/projects"),
        host_path("/etc/ldap.conf"),
    ];
    let mut container = json!({ "name": "c", "image": "i" });
    container["securityContext"] = random_context(dice, 50, &of_container).into();
    let mut spec = json!({ "securityContext": random_context(dice, 33, &of_pod) });
    if dice.chance(50) {
        let mut volume = dice.one_of(&volumes).expect("a volume").clone();
        volume["name"] = json!("v");
        spec["volumes"] = json!([volume]);
        container["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v", "readOnly": dice.chance(50) }]);
    }
    spec["containers"] = json!([container]);
    if dice.chance(12) {
        spec["hostNetwork"] = json!(true);
    }
    spec
}

/// Returns the objects of a tool: its policy, its grant, and Deployments with random pods.
fn tool(dice: &mut Dice, policy: &str, name: &str, user: i64, count: usize) -> String {
    let policy = policy.replace("{$username}", name).replace("$user.id", &user.to_string());
    let namespace = format!("tool-{name}");
    let group = "rbac.authorization.k8s.io";
    let psp = json!({ "name": "psp", "namespace": namespace });
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }),
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": psp, "rules": [{ "apiGroups": ["policy"],
            "resources": ["podsecuritypolicies"], "resourceNames": [format!("tool-{name}-psp")], "verbs": ["use"] }] }),
        json!({ "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": psp,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": "psp" },
            "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": namespace }] }),
    ];
    for number in 0..count {
        let labels = json!({ "app": "w" });
        let template = json!({ "metadata": { "labels": labels }, "spec": random_pod(dice, user) });
        let metadata = json!({ "name": format!("w{number}"), "namespace": namespace });
        let spec = json!({ "selector": { "matchLabels": labels }, "template": template });
        objects.push(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec }));
    }
    let objects: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    format!("---\n{policy}{objects}")
}

/// The namespace and the name of a workload, as JSON.
type WorkloadName = (String, String);

fn name_of(entry: &Value) -> WorkloadName {
    (entry["namespace"].to_string(), entry["name"].to_string())
}

/// Writes a plan for so many workloads of three tools under the policies of Wikimedia, with pods that set a part of the defaults of the
/// policy, and renders it. Returns the workloads whose pods the policies reject.
fn plan_of_tools(folder: &Path, count: usize, arguments: &[&str]) -> BTreeSet<WorkloadName> {
    let policy = include_str!("tool-policy.yaml");
    let mut dice = Dice::new(25);
    let tools = [("anagrams", 50_000), ("blurp", 50_007), ("quiz", 50_112)];
    let dump: String = tools.iter().map(|(name, user)| tool(&mut dice, policy, name, *user, count / 3)).collect();
    std::fs::write(folder.join("cluster.yaml"), dump).expect("a file");
    let common = ["migrate", "psp", "--from", "cluster.yaml", "--plan", "plan", "--format", "json"];
    let run = bailiwick(folder, &[&common[..], arguments].concat());
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report in JSON");
    let workloads = report["workloads"].as_array().expect("workloads");
    let rejected: BTreeSet<_> = workloads.iter().filter(|workload| workload["policy"].is_null()).map(name_of).collect();
    assert_eq!(workloads.len(), count);
    assert!(rejected.len() > count / 4 && rejected.len() < count * 19 / 20, "{} of {count}", rejected.len());
    let rendered = bailiwick(folder, &["-C", "plan", "render"]);
    assert!(rendered.status.success(), "{}", stderr(&rendered));
    rejected
}

/// Returns the verdict about the patched pods on a target of the plan.
fn verification(folder: &Path, target: &str) -> Value {
    let arguments = ["-C", "plan", "migrate", "verify", "--from", "../cluster.yaml", "--patches", "patches"];
    let run = bailiwick(folder, &[&arguments[..], &["--target", target, "--format", "json"]].concat());
    serde_json::from_slice(&run.stdout).expect("a result in JSON")
}

fn refused(verification: &Value) -> BTreeSet<WorkloadName> {
    verification["refused"].as_array().expect("a list").iter().map(name_of).collect()
}

/// From 1.30 to 1.35 no API server fills in the defaults of a policy: the admission policies admit the patched workloads that the
/// PodSecurityPolicy admits, and no others.
#[test]
fn patched_pods_of_toolforge_are_admitted_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let rejected = plan_of_tools(folder.path(), rounds(600, 6000), &["--to", "1.33"]);
    for target in ["warn", "enforce", "deny"] {
        let refused = refused(&verification(folder.path(), target));
        let differing: Vec<_> = refused.symmetric_difference(&rejected).collect();
        assert!(differing.is_empty(), "{target}: {} differ, such as {:?}", differing.len(), differing.first());
    }
}

/// On OpenShift, the constraints and the admission policies beside them admit these workloads. Constraints of the platform may admit
/// others, and the verdict names them.
#[test]
fn patched_pods_of_toolforge_are_admitted_on_openshift() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--platform", "openshift", "--to", "4.20"];
    let rejected = plan_of_tools(folder.path(), rounds(600, 6000), &arguments);
    let verification = verification(folder.path(), "deny");
    let refused = refused(&verification);
    assert!(refused.is_subset(&rejected), "{:?}", refused.difference(&rejected).next());
    let others = verification["openshift"]["otherConstraints"].as_object().expect("constraints");
    let others: BTreeSet<&str> =
        others.values().flat_map(|names| names.as_array().expect("names")).filter_map(Value::as_str).collect();
    for (namespace, name) in rejected.difference(&refused) {
        let workload = format!("Deployment/{namespace}/{name}").replace('"', "");
        assert!(others.contains(workload.as_str()), "{workload} is admitted, and was not before");
    }
    let policies = snapshot(&folder.path().join("plan/out/deny/cluster"));
    assert!(policies.iter().any(|(path, _)| path.ends_with("validatingadmissionpolicy.yaml")));
}
