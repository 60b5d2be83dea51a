//! `bailiwick drift`: the live objects of a cluster against the policies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::stderr;
use crate::random::Random;

const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: access}
spec:
  targets:
  - {name: prod, version: \"1.37\"}
";

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  labels: {tenancy: team}
  podSecurity: {level: baseline}
  resourceQuota: {name: team, hard: {pods: 20, requests.memory: 8Gi}}
  limitRange: {name: team, limits: [{type: Container, default: {cpu: 500m}}]}
  serviceAccounts: [{name: ci}]
  namespaces: [{name: team-a}, {name: team-b}, {name: team-c}, {name: team-d}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: deployer}
spec:
  rules:
  - {resources: [deployments, statefulsets], access: write}
  - {resources: [pods, pods/log], access: read}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: deploy}
spec:
  to: {groups: [devs], serviceAccounts: [{name: ci}]}
  permissionSets: [deployer]
  namespaces: [team-a, team-b, team-c, team-d]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: read}
spec:
  to: {groups: [ops], users: [alice]}
  clusterRoles: [view]
  clusterWide: true
";

/// The AccessTest of the policies.
const TEST: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata: {name: secrets}
spec:
  who: {users: [alice], groups: [devs]}
  mustNot:
  - {verbs: [get], resources: [secrets], namespaces: [team-a]}
";

/// The objects of a cluster, by `Kind/namespace/name`.
type Objects = BTreeMap<String, Value>;

/// A workspace with the objects of its cluster.
struct Cluster {
    folder: tempfile::TempDir,
    objects: Objects,
}

impl Cluster {
    /// Returns a workspace, and a cluster to which an applier has just applied the output: with the fields of the API server, its
    /// controllers and the appliers add.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("policies")).expect("a folder");
        fs::write(folder.path().join("bailiwick.yaml"), WORKSPACE).expect("a file");
        fs::write(folder.path().join("policies/teams.yaml"), POLICIES).expect("a file");
        fs::write(folder.path().join("policies/tests.yaml"), TEST).expect("a file");
        let render = super::bailiwick(folder.path(), &["render", "--stdout", "--format", "json"]);
        assert!(render.status.success(), "{}", stderr(&render));
        let lines = String::from_utf8(render.stdout).expect("a text");
        let objects = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let mut object = line.get("object").cloned().unwrap_or(line);
            add_fields_of_cluster(&mut object);
            (key(&object), object)
        });
        let objects = objects.collect();
        Self { folder, objects }
    }

    fn drift(&self, arguments: &[&str]) -> Output {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.objects.values().collect::<Vec<_>>()});
        fs::write(self.folder.path().join("live.json"), list.to_string()).expect("a file");
        super::bailiwick(self.folder.path(), &[&["drift", "--live", "live.json"], arguments].concat())
    }

    /// Returns the findings as pairs of class and object, and the whole result.
    fn findings(&self) -> (Vec<(String, String)>, Value) {
        let run = self.drift(&["--format", "json", "--quiet"]);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let result: Value = serde_json::from_str(text.lines().next().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&run)));
        let findings = result["findings"].as_array().expect("findings");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let pairs = findings.iter().map(|finding| (text(&finding["class"]), text(&finding["object"])));
        let is_fine = findings.is_empty() && result["access"].as_array().is_some_and(Vec::is_empty);
        assert_eq!(run.status.code(), Some(if is_fine { 0 } else { 1 }), "{}", stderr(&run));
        (pairs.collect(), result)
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }
}

fn key(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = text(&object["metadata"]["namespace"]);
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{}/{namespace}{slash}{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// Adds the fields of the server, its controllers and appliers.
fn add_fields_of_cluster(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    let kind = object["kind"].as_str().expect("a kind").to_owned();
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    for (key, value) in [
        ("uid", json!("8f2d1c1e-0000-4000-8000-000000000000")),
        ("resourceVersion", json!("4711")),
        ("creationTimestamp", json!("2026-11-20T08:00:00Z")),
        ("generation", json!(1)),
        ("managedFields", json!([{"manager": "argocd-controller", "time": "2026-11-20T08:00:00Z"}])),
    ] {
        metadata.insert(key.to_owned(), value);
    }
    let section = |object: &mut Value, section: &str, key: &str, value: &str| {
        object["metadata"][section][key] = json!(value);
    };
    section(object, "annotations", "kubectl.kubernetes.io/last-applied-configuration", "{}");
    section(object, "annotations", "argocd.argoproj.io/tracking-id", "access-prod:/Namespace:/x");
    section(object, "labels", "kustomize.toolkit.fluxcd.io/name", "access-prod");
    section(object, "labels", "app.kubernetes.io/instance", "access-prod");
    match kind.as_str() {
        "Namespace" => {
            section(object, "labels", "kubernetes.io/metadata.name", name.as_str().expect("a name"));
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        "ResourceQuota" => object["status"] = json!({"hard": {"pods": "20"}, "used": {"pods": "3"}}),
        "ServiceAccount" => {
            object["secrets"] = json!([{"name": "ci-token-abcde"}]);
            object["imagePullSecrets"] = json!([{"name": "ci-dockercfg-abcde"}]);
        }
        _ => {}
    }
}

#[test]
fn a_cluster_that_was_just_applied_has_no_drift() {
    let cluster = Cluster::new();
    let (findings, result) = cluster.findings();
    assert_eq!(findings, []);
    assert_eq!(
        (result["wanted"].clone(), result["equal"].clone()),
        (json!(cluster.objects.len()), json!(cluster.objects.len()))
    );
    assert_eq!(result["questions"], 2);
    // The same from standard input, as kubectl prints a list.
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["drift", "--live", "-"])
        .current_dir(cluster.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let list = fs::read(cluster.root().join("live.json")).expect("a file");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), &list).expect("a pipe");
    let run = child.wait_with_output().expect("what it printed");
    assert!(run.status.success(), "{}", stderr(&run));
    // Objects of the cluster itself are expected.
    let mut cluster = cluster;
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "team-a"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "team-a"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x", "namespace": "kube-system"}}),
    ] {
        cluster.objects.insert(key(&object), object);
    }
    assert_eq!(cluster.findings().0, []);
}

/// Runs `drift` with a dump of some text.
fn drift_of_text(cluster: &Cluster, text: &str) -> Output {
    fs::write(cluster.root().join("text.json"), text).expect("a file");
    super::bailiwick(cluster.root(), &["drift", "--live", "text.json"])
}

/// The items of a list are judged one by one: an object behind them can change what counts.
#[test]
fn a_later_object_changes_the_judgement_of_an_earlier_one() {
    let cluster = Cluster::new();
    let items: Vec<String> = cluster.objects.values().map(Value::to_string).collect();
    let list = |items: &[&str]| format!(r#"{{"apiVersion":"v1","items":[{}],"kind":"List"}}"#, items.join(",\n"));
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    assert_eq!(drift_of_text(&cluster, &list(&items)).status.code(), Some(0));

    // The last of two objects counts, in either order.
    let quota = cluster.objects["ResourceQuota/team-b/team"].to_string();
    let edited = quota.replace("\"20\"", "\"500\"");
    assert_ne!(edited, quota);
    for (last, code) in [(edited.as_str(), 1), (quota.as_str(), 0)] {
        let run = drift_of_text(&cluster, &list(&[&items[..], &[edited.as_str(), last]].concat()));
        assert_eq!(run.status.code(), Some(code), "{}", stderr(&run));
        assert_eq!(stderr(&run).matches("this object occurs twice").count(), 2, "{}", stderr(&run));
        assert_eq!(stderr(&run).matches("error[drift-changed]").count(), code as usize, "{}", stderr(&run));
    }

    // A selector behind the objects makes a label of theirs deciding.
    let marked =
        cluster.objects["Namespace/team-b"].to_string().replace("\"kustomize.toolkit.fluxcd.io/name\"", "\"exempt\"");
    let selector = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [{"name": "w", "namespaceSelector": {"matchExpressions": [{"key": "exempt", "operator": "DoesNotExist"}]}}],
    });
    let others: Vec<&str> = items
        .iter()
        .copied()
        .filter(|item| !item.contains(r#""kind":"Namespace""#) || !item.contains(r#""name":"team-b""#))
        .collect();
    assert_eq!(others.len() + 1, items.len());
    let with_label = [&others[..], &[marked.as_str()]].concat();
    assert_eq!(drift_of_text(&cluster, &list(&with_label)).status.code(), Some(0));
    let run = drift_of_text(&cluster, &list(&[&with_label[..], &[selector.to_string().as_str()]].concat()));
    assert!(stderr(&run).contains("metadata.labels.exempt: wanted none"), "{}", stderr(&run));
}

/// A text whose beginning is a list of the wanted objects is no such list.
#[test]
fn the_items_of_a_broken_list_do_not_count() {
    let cluster = Cluster::new();
    let items: Vec<String> = cluster.objects.values().map(Value::to_string).collect();
    let items = items.join(",");
    let mallory = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"m","namespace":"team-a"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"mallory"}]}"#;
    for (end, code) in [
        (r#"],"kind":"List"}"#.to_owned(), 0),
        // Every client opens an object with items, whatever its kind.
        (r#"],"kind":"Pod"}"#.to_owned(), 0),
        (r#"],"kind":"List""#.to_owned(), 2),
        (r#"],"items":[],"kind":"List"}"#.to_owned(), 2),
        (format!(r#"],"kind":"List"}}{mallory}"#), 1),
        (format!(r#"],"kind":"List"}}{}---{}{mallory}"#, '\n', '\n'), 1),
        (format!(r#",{{"apiVersion":"v1","kind":"List","items":[{mallory}]}}],"kind":"List"}}"#), 1),
    ] {
        let run = drift_of_text(&cluster, &format!(r#"{{"apiVersion":"v1","items":[{items}{end}"#));
        assert_eq!(run.status.code(), Some(code), "{end}: {}", stderr(&run));
    }
}

/// Without its role or its binding in the cluster, a subject loses the access.
#[test]
fn a_missing_role_or_binding_is_lost_access() {
    for prefix in ["Role/team-a/", "RoleBinding/team-a/"] {
        let mut cluster = Cluster::new();
        let missing = cluster.objects.keys().find(|key| key.starts_with(prefix)).expect("an object").clone();
        cluster.objects.remove(&missing);
        let (findings, result) = cluster.findings();
        assert_eq!(findings, [("missing".to_owned(), missing)]);
        let lost = result["access"][0]["lost"].as_array().expect("a list");
        assert!(!lost.is_empty(), "{result}");
    }
}

/// A label of a live role that is no difference gives its rules to an aggregated role below the output.
#[test]
fn a_label_for_an_aggregated_role_of_the_baseline_gives_access() {
    let mut cluster = Cluster::new();
    let read = "---\napiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {name: nodes}\nspec:\n  as: ClusterRole\n  rules:\n  - {resources: [nodes], access: read}\n---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: nodes}\nspec:\n  to: {users: [dora]}\n  permissionSets: [nodes]\n  clusterWide: true\n";
    let rbac = "apiVersion: rbac.authorization.k8s.io/v1";
    let baseline = format!(
        "{rbac}\nkind: ClusterRole\nmetadata: {{name: gathered}}\naggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{gather: \"yes\"}}}}]}}\nrules: []\n---\n{rbac}\nkind: ClusterRole\nmetadata: {{name: view}}\nrules: []\n---\n{rbac}\nkind: ClusterRoleBinding\nmetadata: {{name: gathered}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gathered}}\nsubjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}}]\n"
    );
    let root = cluster.root().to_owned();
    fs::write(root.join("baseline.yaml"), baseline).expect("a file");
    let workspace = WORKSPACE.replace("version: \"1.37\"}", "version: \"1.37\", baseline: baseline.yaml}");
    assert_ne!(workspace, WORKSPACE);
    fs::write(root.join("bailiwick.yaml"), workspace).expect("a file");
    fs::write(root.join("policies/teams.yaml"), format!("{POLICIES}{read}")).expect("a file");
    let render = super::bailiwick(&root, &["render", "--stdout", "--format", "json"]);
    assert!(render.status.success(), "{}", stderr(&render));
    let lines = String::from_utf8(render.stdout).expect("a text");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    cluster.objects =
        lines.filter_map(|line| line.get("object").cloned()).map(|object| (key(&object), object)).collect();
    let (findings, result) = cluster.findings();
    assert_eq!((findings, result["access"].clone()), (Vec::new(), json!([])));
    let role = cluster.objects.get_mut("ClusterRole/nodes").expect("a role");
    role["metadata"]["labels"]["gather"] = json!("yes");
    let (findings, result) = cluster.findings();
    assert_eq!(findings, Vec::new());
    assert_eq!(result["access"][0]["subjects"][0]["subject"], "User/carol", "{result}");
}

/// Edits the cluster, and returns the class of the finding and the object; none for an edit without a finding.
fn random_edit(cluster: &mut Cluster, random: &mut Random, number: usize) -> Option<(&'static str, String)> {
    let keys: Vec<String> = cluster.objects.keys().cloned().collect();
    let of_kind = |kind: &str, random: &mut Random| {
        let of_kind: Vec<&String> = keys.iter().filter(|key| key.starts_with(&format!("{kind}/"))).collect();
        (*of_kind[random.below(of_kind.len())]).clone()
    };
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("mallory-{number}")});
    let mut edit = |kind: &str, random: &mut Random, change: &dyn Fn(&mut Value)| {
        let key = of_kind(kind, random);
        change(cluster.objects.get_mut(&key).expect("an object"));
        key
    };
    match random.below(12) {
        0 => {
            let key = of_kind(["RoleBinding", "Role", "ResourceQuota", "LimitRange"][random.below(4)], random);
            cluster.objects.remove(&key);
            Some(("missing", key))
        }
        1 => Some(("changed", edit("RoleBinding", random, &|object| object["subjects"][0] = subject.clone()))),
        2 => Some(("changed", edit("Role", random, &|object| object["rules"][0]["verbs"] = json!(["*"])))),
        3 => Some((
            "changed",
            edit("Namespace", random, &|object| object["metadata"]["labels"]["tenancy"] = json!("none")),
        )),
        4 => Some(("changed", edit("ResourceQuota", random, &|object| object["spec"]["hard"]["pods"] = json!("50")))),
        5 => {
            let change = |object: &mut Value| {
                object["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = json!("privileged")
            };
            Some(("changed", edit("Namespace", random, &change)))
        }
        6 => {
            let change = |object: &mut Value| object["metadata"]["deletionTimestamp"] = json!("2026-11-22T10:00:00Z");
            Some(("terminating", edit("Namespace", random, &change)))
        }
        kind @ 7..=9 => {
            let object = foreign_object(kind, number, &subject, random);
            let key = key(&object);
            cluster.objects.insert(key.clone(), object);
            Some(("unmanaged", key))
        }
        10 => {
            edit("Namespace", random, &|object| object["metadata"]["labels"]["somebody"] = json!("else"));
            None
        }
        _ => {
            edit("Role", random, &|object| object["metadata"]["resourceVersion"] = json!("4712"));
            None
        }
    }
}

/// Returns an object without a policy: a binding in a namespace of the policies, a binding with one of their subjects,
/// or a role with rules for a default role.
fn foreign_object(kind: usize, number: usize, subject: &Value, random: &mut Random) -> Value {
    let group = "rbac.authorization.k8s.io";
    let role =
        json!({"apiGroup": group, "kind": "ClusterRole", "name": random.pick(&["admin", "edit", "cluster-admin"])});
    let name = format!("foreign-{number}");
    let mut object = match kind {
        7 => {
            let metadata = json!({"name": name, "namespace": "team-b"});
            json!({"kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]})
        }
        8 => {
            let ours = json!({"apiGroup": group, "kind": "Group", "name": "devs"});
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": role, "subjects": [ours]})
        }
        _ => {
            let labels = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
            let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
            json!({"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": rules})
        }
    };
    object["apiVersion"] = json!(format!("{group}/v1"));
    object
}

/// Each edit is found once, in its class; edits of other fields are not found.
#[test]
fn every_edit_is_found_once() {
    let mut random = Random::new(23);
    let honest = Cluster::new();
    let rounds = if std::env::var_os("THOROUGH").is_some() { 200 } else { 40 };
    for number in 0..rounds {
        let mut cluster = Cluster { folder: tempfile::tempdir().expect("a folder"), objects: honest.objects.clone() };
        super::parts::copy(honest.root(), cluster.root());
        let edited = random_edit(&mut cluster, &mut random, number);
        let (findings, result) = cluster.findings();
        let expected: Vec<(String, String)> =
            edited.iter().map(|(class, object)| ((*class).to_owned(), object.clone())).collect();
        assert_eq!(findings, expected, "{number}: {result}");
    }
}

#[test]
fn a_finding_names_its_fields_its_writer_and_its_access() {
    let mut cluster = Cluster::new();
    cluster.objects.get_mut("ResourceQuota/team-b/team").expect("a quota")["spec"]["hard"]["pods"] = json!("50");
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "break-glass", "namespace": "team-a",
            "managedFields": [
                {"manager": "kube-controller-manager", "time": "2026-11-25T10:00:00Z", "subresource": "status"},
                {"manager": "kubectl-create", "time": "2026-11-22T10:00:00Z"},
                {"manager": "kubectl-label", "time": "2026-11-21T10:00:00Z"},
            ],
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    });
    cluster.objects.insert(key(&binding), binding);
    let run = cluster.drift(&[]);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(1), "{text}{}", stderr(&run));
    for line in [": 0 missing, 1 changed, ", "  access of User/alice in team-a:\n", "secrets", "FAIL secrets on `prod`"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let quota = "`ResourceQuota/team-b/team` differs from the policies: spec.hard.pods: wanted \"20\", live \"50\"";
    let binding = "`RoleBinding/team-a/break-glass` is in the cluster and binds `ClusterRole/admin` to `User/alice`, and no policy";
    for line in [
        format!("error[drift-changed]: {quota}\n --> policies/teams.yaml:"),
        "= note: written by `argocd-controller` on 2026-11-20\n".to_owned(),
        format!("error[drift-unmanaged]: {binding} writes it\n"),
        "= note: written by `kubectl-create` on 2026-11-22\n".to_owned(),
        "error[drift-access]: `User/alice` in `team-a` can do more than the policies grant: ".to_owned(),
        "2 questions asked, 1 failed".to_owned(),
    ] {
        assert!(stderr(&run).contains(&line), "{line}: {}", stderr(&run));
    }
}

/// An accepted binding leaves the objects and the access. With another role it counts again, and AccessTests always see it.
#[test]
fn an_accepted_binding_counts_nowhere_until_its_role_changes() {
    let mut cluster = Cluster::new();
    let accept = "  drift:\n    accept:\n    - {kind: RoleBinding, namespace: \"team-*\", name: break-glass, reason: an incident, roleRef: {kind: ClusterRole, name: edit}}\n";
    fs::write(cluster.root().join("bailiwick.yaml"), format!("{WORKSPACE}{accept}")).expect("a file");
    let mut bind = |role: &str, user: &str| {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "break-glass", "namespace": "team-a"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        cluster.objects.insert(key(&binding), binding);
        let run = cluster.drift(&[]);
        (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned(), stderr(&run))
    };
    let (code, text, errors) = bind("edit", "bob");
    assert_eq!(code, Some(0), "{text}{errors}");
    assert!(text.contains("; 0 unmanaged, 1 accepted") && !text.contains("bob"), "{text}");
    let (code, text, errors) = bind("edit", "alice");
    assert_eq!(code, Some(1), "the AccessTest about alice fails: {text}{errors}");
    let test = "error[live-test-failed]: the AccessTest `secrets` passes on the policies and fails in the cluster: 1 of 2 questions";
    assert!(errors.contains(test) && !errors.contains("drift-access"), "{errors}");
    let (code, text, errors) = bind("admin", "bob");
    assert_eq!(code, Some(1), "{text}{errors}");
    for line in [
        "error[drift-unmanaged]",
        "error[drift-access]",
        "by `RoleBinding/team-a/break-glass <- ClusterRole/admin",
        "warning[drift-accept-unused]",
    ] {
        assert!(errors.contains(line), "{line}: {errors}");
    }
}

/// An owner of an unmanaged binding can be forged. Its access is shown all the same.
#[test]
fn an_owned_binding_cannot_hide_its_access() {
    let mut cluster = Cluster::new();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "x\u{1b}[31m\u{202e}", "namespace": "team-a",
            "annotations": {"meta.helm.sh/release-name": "a\nforged line"},
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory\nforged line"}],
    });
    cluster.objects.insert(key(&binding), binding);
    for arguments in [
        &[][..],
        &["--owners"],
        &["--all"],
        &["--format", "markdown"],
        &["--format", "json"],
        &["--format", "junit"],
        &["--format", "sarif"],
    ] {
        let run = cluster.drift(arguments);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(run.status.code(), Some(1), "{text}{}", stderr(&run));
        assert!(text.contains("mallory"), "{arguments:?}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{arguments:?}: {text}");
        assert!(text.lines().all(|line| !line.starts_with("forged line")), "{arguments:?}: {text}");
    }
    let text = String::from_utf8_lossy(&cluster.drift(&[]).stdout).into_owned();
    assert!(text.contains("1 unmanaged object of the Helm release"), "{text}");
}

#[test]
fn a_dump_without_a_kind_is_not_complete() {
    let mut cluster = Cluster::new();
    cluster.objects.retain(|key, _| !key.starts_with("LimitRange/"));
    let run = cluster.drift(&[]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(
        stderr(&run).contains("error[incomplete-dump]: the dump has no object of the kind `LimitRange`"),
        "{}",
        stderr(&run)
    );
    let run = cluster.drift(&["--partial"]);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(0), "{text}");
    assert!(text.contains("not compared, because the dump has none of them: LimitRange"), "{text}");
    // An empty dump is no cluster without drift.
    cluster.objects.clear();
    let run = cluster.drift(&[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        stderr(&run).contains("of the kinds `LimitRange`, `Namespace`, `ResourceQuota` and 4 more, and"),
        "{}",
        stderr(&run)
    );
    let resources = super::bailiwick(cluster.root(), &["drift", "--resources"]);
    let text = String::from_utf8_lossy(&resources.stdout).into_owned();
    for resource in
        ["limitranges", "namespaces", "resourcequotas", "rolebindings.rbac.authorization.k8s.io", "serviceaccounts"]
    {
        assert!(text.trim_end().split(',').any(|known| known == resource), "{resource}: {text}");
    }
}

#[test]
fn a_dump_with_nothing_to_compare_is_no_answer() {
    let mut cluster = Cluster::new();
    cluster.objects.clear();
    let mut runs = vec![cluster.drift(&["--partial"])];
    let settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}";
    for text in ["", "hi\n", "null\n", "[]\n", settings] {
        fs::write(cluster.root().join("text.yaml"), text).expect("a file");
        runs.push(super::bailiwick(cluster.root(), &["drift", "--partial", "--live", "text.yaml"]));
    }
    for run in runs {
        assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
        let expected = "error[incomplete-dump]: the dump has no object to compare";
        assert!(stderr(&run).contains(expected), "{}", stderr(&run));
    }
}

/// `kubectl get --raw` prints the first page of a list, in any form that a dump has.
#[test]
fn the_first_page_of_a_list_is_no_dump() {
    let cluster = Cluster::new();
    let items: Vec<&Value> = cluster.objects.values().collect();
    let metadata = json!({"resourceVersion": "812", "continue": "eyJ2Ijoi", "remainingItemCount": 7});
    let page = json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items}).to_string();
    fs::write(cluster.root().join("page.json"), &page).expect("a file");
    fs::create_dir(cluster.root().join("pages")).expect("a folder");
    fs::write(cluster.root().join("pages/page.yaml"), format!("# A comment.\n{page}")).expect("a file");
    for path in ["page.json", "pages", "pages/page.yaml"] {
        // `--partial` is about kinds: an object beyond the page would seem to be missing.
        for arguments in [&["drift", "--live", path][..], &["drift", "--partial", "--live", path]] {
            let run = super::bailiwick(cluster.root(), arguments);
            assert_eq!(run.status.code(), Some(2), "{arguments:?}: {}", stderr(&run));
            let expected = "error[incomplete-dump]: this list is not complete: its cluster has 7 more objects";
            assert!(stderr(&run).contains(expected), "{arguments:?}: {}", stderr(&run));
        }
    }
}

/// A binding near the policies names a service account of them in another form, or a group of every subject of them.
#[test]
fn a_binding_of_an_account_in_any_form_is_near_the_policies() {
    let mut cluster = Cluster::new();
    let namespaces = cluster.objects.keys().filter_map(|key| key.strip_prefix("Namespace/").map(str::to_owned));
    let namespace = namespaces.min().expect("a namespace of the policies");
    for (kind, name) in [
        ("User", format!("system:serviceaccount:{namespace}:default")),
        ("Group", format!("system:serviceaccounts:{namespace}")),
        ("Group", "system:serviceaccounts".to_owned()),
        ("Group", "system:authenticated".to_owned()),
    ] {
        let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "back-door"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [subject],
        });
        let key = "ClusterRoleBinding/back-door".to_owned();
        cluster.objects.insert(key.clone(), binding);
        let (findings, result) = cluster.findings();
        assert_eq!(findings, [("unmanaged".to_owned(), key)], "{name}");
        assert!(!result["access"].as_array().expect("a list").is_empty(), "{name}: {result}");
    }
}

/// An edited default binding is not the default binding of the server.
#[test]
fn an_edited_default_object_is_found() {
    let mut cluster = Cluster::new();
    let binding = |subjects: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "cluster-admin", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": subjects,
        })
    };
    let masters = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:masters"});
    let eve = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"});
    let key = "ClusterRoleBinding/cluster-admin".to_owned();
    cluster.objects.insert(key.clone(), binding(json!([masters])));
    assert_eq!(cluster.findings().0, []);
    cluster.objects.insert(key.clone(), binding(json!([masters, eve])));
    let (findings, result) = cluster.findings();
    assert_eq!(findings, [("unmanaged".to_owned(), key)]);
    assert_eq!(result["access"][0]["subjects"][0]["subject"], "User/eve");
}

/// A kubectl with a record of its arguments, for the objects of a cluster.
const KUBECTL: &str = "\
#!/bin/sh
echo \"$@\" >>\"$ASKED\"
case \"$*\" in
  *api-resources*) printf '%s\\n' limitranges namespaces resourcequotas rolebindings.rbac.authorization.k8s.io \\
    clusterrolebindings.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io serviceaccounts ;;
  *get*) [ -z \"$FORBIDDEN\" ] || exit 1; cat live.json ;;
esac
";

/// The plugin of kubectl dumps the served kinds, and fails if kubectl fails.
#[test]
fn the_plugin_of_kubectl_dumps_and_compares() {
    let mut cluster = Cluster::new();
    cluster.objects.get_mut("ResourceQuota/team-b/team").expect("a quota")["spec"]["hard"]["pods"] = json!("50");
    cluster.drift(&[]);
    let asked = cluster.root().join("asked");
    let kubectl = cluster.root().join("kubectl");
    fs::write(&kubectl, KUBECTL).expect("a file");
    let run = |arguments: &[&str], forbidden: &str| {
        let program = Path::new(env!("CARGO_BIN_EXE_bailiwick")).parent().expect("a folder");
        Command::new("sh")
            .arg(crate::support::repository().join("contrib/kubectl-bailiwick"))
            .args(arguments)
            .current_dir(cluster.root())
            .env("PATH", format!("{}:{}", program.display(), std::env::var("PATH").expect("a path")))
            .env("KUBECTL", format!("sh {}", kubectl.display()))
            .env("ASKED", &asked)
            .env("FORBIDDEN", forbidden)
            .env("TMPDIR", cluster.root())
            .env("NO_COLOR", "1")
            .output()
            .expect("a shell")
    };
    let found = run(&["--context", "a b", "drift", "-t", "prod"], "");
    assert_eq!(found.status.code(), Some(1), "{}", stderr(&found));
    assert!(stderr(&found).contains("error[drift-changed]: `ResourceQuota/team-b/team`"), "{}", stderr(&found));
    let calls = fs::read_to_string(&asked).expect("a file");
    assert!(calls.contains("--context a b get clusterrolebindings.rbac.authorization.k8s.io,limitranges,"), "{calls}");
    assert!(!calls.contains("clusterroles.rbac"), "a kind that the cluster does not serve: {calls}");
    let refused = run(&["drift", "-t", "prod"], "1");
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("kubectl cannot dump the cluster"), "{}", stderr(&refused));
    let asked = run(&["can-i", "get", "secrets", "-n", "team-a", "--as", "alice"], "");
    assert_eq!(asked.status.code(), Some(1), "{}", stderr(&asked));
    let left = fs::read_dir(cluster.root()).expect("a folder").flatten();
    let left: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| !name.starts_with("tmp.")), "{left:?}");
}
