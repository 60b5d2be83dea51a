//! Profiles by service account: a namespace with several profiles decides about each pod as a namespace with the profile of its
//! account alone.

use bailiwick::admission::variants::PodVariant;
use bailiwick::ask::Connection;
use serde_json::{Value, json};

use crate::support::World;

const PROFILES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: PodSecurityProfile
metadata: {name: app}
spec:
  allowPrivilegeEscalation: false
  capabilities: {requiredDrop: [ALL]}
  runAsUser: {rule: MustRunAsNonRoot}
  fsGroup: {rule: RunAsAny}
  supplementalGroups: {rule: RunAsAny}
  seLinux: {rule: RunAsAny}
  seccomp: {allowed: [RuntimeDefault], default: RuntimeDefault}
  volumes: [configMap, emptyDir, persistentVolumeClaim, projected, secret]
---
apiVersion: bailiwick.dev/v1alpha1
kind: PodSecurityProfile
metadata: {name: node-plugin}
spec:
  hostNetwork: true
  hostPID: true
  hostPaths: [{pathPrefix: /var/lib/kubelet}]
  runAsUser: {rule: RunAsAny}
  fsGroup: {rule: RunAsAny}
  supplementalGroups: {rule: RunAsAny}
  seLinux: {rule: RunAsAny}
  volumes: [hostPath, secret]
---
";

/// Returns the objects of a workspace whose namespace `storage` has these settings.
fn compiled(settings: &str) -> Vec<Value> {
    let set = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: all}\nspec: {namespaces: [{name: storage";
    let text = format!("{PROFILES}{set}, podSecurity: {settings}}}]}}\n");
    World::with_targets(&["t"], "1.37").file("policies/all.yaml", &text).compile().fine().objects("")
}

/// Returns the messages of the compiled admission policies that deny a pod, sorted.
fn denials(objects: &[Value], pod: &Value) -> Vec<String> {
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    let namespace = of_kind("Namespace").next().expect("the namespace");
    let request = json!({
        "operation": "CREATE", "version": "v1", "resource": "pods", "kind": "Pod", "namespace": "storage", "object": pod,
    });
    let mut found = Vec::new();
    for binding in of_kind("ValidatingAdmissionPolicyBinding") {
        let mut policies = of_kind("ValidatingAdmissionPolicy");
        let policy = policies.find(|policy| policy["metadata"]["name"] == binding["spec"]["policyName"]);
        let question = json!({
            "minor": 37, "policy": policy.expect("the policy"), "binding": binding, "namespace": namespace, "requests": [request],
        });
        let answer = Connection::default().answer(&json!({ "admission-policy": question })).expect("an answer");
        let answer = &answer["answers"][0];
        assert_ne!(answer["answer"], "unknown", "{answer:#}");
        if answer["answer"] == "deny" {
            // The bindings of the namespaces have different names.
            let (_, message) =
                answer["message"].as_str().and_then(|text| text.split_once(" denied request: ")).expect("a text");
            found.push(message.to_owned());
        }
    }
    found.sort_unstable();
    found
}

/// Adds the pods inside a value, by their specs.
fn pods_within(value: &Value, pods: &mut Vec<Value>) {
    if value["containers"].is_array() {
        pods.push(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": value }));
        return;
    }
    value.as_array().into_iter().flatten().for_each(|item| pods_within(item, pods));
    value.as_object().into_iter().flatten().for_each(|(_, item)| pods_within(item, pods));
}

/// Returns the pods of the recorded cases of policies, and the pods that differ in single fields.
fn pods() -> Vec<Value> {
    let file: Value = serde_yaml::from_str(include_str!("psp-toolforge.yaml")).expect("the cases are YAML");
    let mut pods = Vec::new();
    pods_within(&file, &mut pods);
    assert!(pods.len() >= 18, "{}", pods.len());
    pods.extend(PodVariant::common().into_iter().filter_map(|variant| variant.request("storage").object));
    pods
}

#[test]
fn a_mixed_namespace_decides_by_the_profile_of_each_account() {
    let mixed = compiled("{profile: app, serviceAccounts: [{names: [csi-node, csi], profile: node-plugin}]}");
    let only = ["app", "node-plugin"].map(|profile| compiled(&format!("{{profile: {profile}}}")));
    let accounts = [("", 0), ("default", 0), ("node", 0), ("csi-node", 1), ("csi", 1), ("csi-node-2", 0)];
    let mut decisions = [[0, 0], [0, 0]];
    for mut pod in pods() {
        for (account, profile) in accounts {
            let spec = pod["spec"].as_object_mut().expect("a spec");
            match account {
                "" => _ = spec.remove("serviceAccountName"),
                name => _ = spec.insert("serviceAccountName".to_owned(), name.into()),
            }
            let (found, expected) = (denials(&mixed, &pod), denials(&only[profile], &pod));
            assert_eq!(found, expected, "{account}: {pod:#}");
            decisions[profile][usize::from(found.is_empty())] += 1;
        }
    }
    assert!(decisions.iter().flatten().all(|count| *count > 0), "{decisions:?}");
}

#[test]
fn a_profile_of_an_account_and_of_another_namespace_holds_every_pod_there() {
    let set = "---\napiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: other}\n\
        spec: {namespaces: [{name: other, podSecurity: {profile: app, serviceAccounts: [{names: [csi], profile: node-plugin}]}}]}\n";
    let text = format!(
        "{PROFILES}{}{set}",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: all}\n\
         spec: {namespaces: [{name: storage, podSecurity: {profile: node-plugin}}]}\n"
    );
    let all = World::with_targets(&["t"], "1.37").file("policies/all.yaml", &text).compile().fine().objects("");
    let here: Vec<Value> = all.into_iter().filter(|object| object["metadata"]["name"] != "other").collect();
    let alone = compiled("{profile: node-plugin}");
    for pod in pods() {
        assert_eq!(denials(&here, &pod), denials(&alone, &pod), "{pod:#}");
    }
}
