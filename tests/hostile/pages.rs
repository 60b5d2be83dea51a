//! Pages of HTML about a dump: every name in it is foreign, and none of them is markup, a script, a request or a hidden character.

use std::path::Path;

use serde_json::{Value, json};

use crate::runs::{bailiwick, stderr};

const NAMES: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><b style=x onclick=alert(1)>",
    "' data-label='x",
    "\u{202e}\n::error::x\u{200b}\u{1b}[2J",
    "{{ title }}{% for a in b %}",
    "`</title>`<!--",
    "&lt;b&gt;--></style>",
];

/// Returns a PodSecurityPolicy.
fn policy(name: &str, volumes: &[&str]) -> Value {
    let any = json!({ "rule": "RunAsAny" });
    json!({ "apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": { "name": name }, "spec": {
        "volumes": volumes, "runAsUser": { "rule": "MustRunAs", "ranges": [{ "min": 100, "max": 100 }] },
        "seLinux": any, "supplementalGroups": any, "fsGroup": any } })
}

/// Returns a role that may use a policy and create objects of a resource, and its binding to a subject.
fn grant(role: &str, policy: &str, resource: &str, subject: &Value) -> [Value; 2] {
    let (group, names) = ("rbac.authorization.k8s.io", json!({ "name": role, "namespace": "shop" }));
    let rules = json!([
        { "apiGroups": ["policy"], "resources": ["podsecuritypolicies"], "resourceNames": [policy], "verbs": ["use"] },
        { "apiGroups": [""], "resources": [resource], "verbs": ["create"] },
    ]);
    [
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": names, "rules": rules }),
        json!({ "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": names,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": role }, "subjects": [subject] }),
    ]
}

/// Returns the objects of a cluster with a name in the place of every text of an author. Names of namespaces, policies, accounts
/// and roles are validated: another name is an error.
fn objects(name: &str) -> Vec<Value> {
    let metadata = json!({ "name": name, "namespace": "shop" });
    let container = json!({ "name": name, "image": name, "securityContext": { "privileged": true } });
    let volume = json!({ "name": name, "hostPath": { "path": format!("/{name}") } });
    let template = |spec: Value| json!({ "template": { "spec": spec } });
    let plain = |account: &str| json!({ "serviceAccountName": account, "containers": [{ "name": name }] });
    let rejected = json!({ "serviceAccountName": "ci", "containers": [container], "volumes": [volume] });
    let owner = json!({ "apiVersion": format!("{name}/v1"), "kind": name, "name": name, "controller": true });
    let labels = json!({ "pod-security.kubernetes.io/enforce": name, name: name });
    let owned = json!({ "name": format!("owned-{name}"), "namespace": "shop", "ownerReferences": [owner],
        "annotations": { "kubernetes.io/psp": name, name: name } });
    let made = json!({ "name": format!("made-{name}"), "namespace": "shop" });
    let rule = json!({ "name": name, "match": { "any": [{ "resources": { "kinds": ["Pod"] } }] },
        "validate": { "message": name, "pattern": { "spec": { name: name } } } });
    let mut all = vec![
        policy("web", &["secret"]),
        policy("debug", &["hostPath"]),
        policy("unused", &["nfs"]),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop", "labels": labels, "annotations": { name: name } } }),
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": template(plain("ci")) }),
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template(rejected.clone()) }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": owned, "spec": rejected }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": plain("other") }),
        json!({ "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": { "name": name },
            "spec": { "validationFailureAction": "Enforce", "rules": [rule] } }),
    ];
    all.extend(grant(
        "ci",
        "web",
        "configmaps",
        &json!({ "kind": "ServiceAccount", "name": "ci", "namespace": "shop" }),
    ));
    all.extend(grant(
        "user",
        "debug",
        "pods",
        &json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }),
    ));
    all
}

/// Returns the page that a command writes about the objects.
fn page(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let dump = json!({ "apiVersion": "v1", "kind": "List", "items": objects(name) });
    std::fs::write(folder.join("dump.json"), dump.to_string()).unwrap();
    let run = bailiwick(folder, arguments);
    assert!(matches!(run.status.code(), Some(0 | 1)), "{name}: {}", stderr(&run));
    std::fs::read_to_string(folder.join("page.html")).unwrap()
}

/// Returns the tags of the body, without the texts of labels, in an order that no name decides. A backtick of a name can begin or
/// end an element `code` in a sentence.
fn tags(page: &str) -> Vec<String> {
    let (_, body) = page.split_once("</style>").unwrap();
    let parts = body.split('<').skip(1).filter_map(|part| part.split_once('>'));
    let tags = parts.map(|(tag, _)| match tag.split_once(" id=\"class-") {
        // A quote ends the label, and the tag has no other attribute.
        Some((kind, rest)) => format!("{kind} {}", rest.split('"').skip(3).collect::<String>()),
        None => tag.to_owned(),
    });
    let mut tags: Vec<String> = tags.filter(|tag| !tag.starts_with("wbr") && !tag.ends_with("code")).collect();
    tags.sort_unstable();
    tags
}

#[test]
fn no_name_of_a_dump_becomes_markup() {
    let folder = tempfile::tempdir().unwrap();
    let runs: [&[&str]; 2] = [
        &["migrate", "psp", "--from", "dump.json", "-o", "out", "--report", "html=page.html", "--force"],
        &["report", "--from", "dump.json", "--report", "html=page.html"],
    ];
    for arguments in runs {
        let plain = page(folder.path(), "name", arguments);
        for part in ["id=\"migration-stages\"", "data-label", "Kyverno", "only if User/name creates it", "of the kind"]
        {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        for name in NAMES {
            let page = page(folder.path(), name, arguments);
            assert_eq!(tags(&page), tags(&plain), "{arguments:?} {name}");
            let is_hidden =
                |letter: char| letter != '\n' && (letter.is_control() || "\u{202e}\u{200b}".contains(letter));
            assert_eq!(page.find(is_hidden), None, "{name}");
            assert_eq!(page.matches("<script>").count(), 1, "{name}");
            assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{name}");
        }
    }
}
