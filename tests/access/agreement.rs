//! Commands about one world never contradict each other: what `lint` finds its subject may do, and what makes an account a
//! trampoline for `node-reach` is a finding of `lint`, and the other way round.

use std::collections::BTreeSet;

use bailiwick::access::risk::{self, DangerousPermissions, Finding, RiskOptions};
use bailiwick::access::scope::is_checked_in_namespaces;
use bailiwick::access::who_can::{PermissionScope, Where};
use bailiwick::access::{Builder, Identity, Request, ResourceRequest, World};
use bailiwick::diag::{Files, Sink};
use serde_json::{Value, json};

use crate::oracle::Dice;

/// Rights that rules of the catalogue are about, as group, resource and verbs, among others that are harmless.
const RIGHTS: [(&str, &str, &[&str]); 34] = [
    ("", "secrets", &["get", "list", "watch", "create", "update", "delete"]),
    ("", "configmaps", &["get", "update", "create"]),
    ("", "pods", &["get", "list", "create", "update", "patch", "delete"]),
    ("", "pods/exec", &["create", "get"]),
    ("", "pods/attach", &["create", "get"]),
    ("", "pods/portforward", &["create"]),
    ("", "pods/eviction", &["create"]),
    ("", "pods/binding", &["create"]),
    ("", "pods/ephemeralcontainers", &["patch", "update"]),
    ("", "serviceaccounts", &["get", "impersonate", "create"]),
    ("", "serviceaccounts/token", &["create"]),
    ("", "users", &["impersonate"]),
    ("", "groups", &["impersonate"]),
    ("", "nodes", &["get", "patch", "update", "delete"]),
    ("", "nodes/proxy", &["get", "create"]),
    ("", "nodes/status", &["patch"]),
    ("", "namespaces", &["get", "patch", "delete"]),
    ("", "persistentvolumes", &["create", "get"]),
    ("apps", "deployments", &["get", "create", "patch"]),
    ("apps", "replicasets", &["create", "get"]),
    ("apps", "statefulsets", &["patch", "list"]),
    ("batch", "jobs", &["create"]),
    ("rbac.authorization.k8s.io", "clusterroles", &["escalate", "bind", "update", "create", "get"]),
    ("rbac.authorization.k8s.io", "roles", &["escalate", "bind", "create"]),
    ("rbac.authorization.k8s.io", "clusterrolebindings", &["create", "get", "patch"]),
    ("rbac.authorization.k8s.io", "rolebindings", &["create", "update"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["create", "get"]),
    ("certificates.k8s.io", "certificatesigningrequests/approval", &["update"]),
    ("certificates.k8s.io", "signers", &["approve", "sign"]),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", &["create", "get", "patch"]),
    ("apiregistration.k8s.io", "apiservices", &["update"]),
    ("apiextensions.k8s.io", "customresourcedefinitions", &["create", "list"]),
    ("kyverno.io", "clusterpolicies", &["delete", "get"]),
    ("*", "*", &["*"]),
];

/// Subjects: kind, namespace, name.
const SUBJECTS: [(&str, &str, &str); 7] = [
    ("User", "", "ann"),
    ("User", "", "bob"),
    ("Group", "", "devs"),
    ("Group", "", "system:serviceaccounts:a"),
    ("ServiceAccount", "a", "app"),
    ("ServiceAccount", "a", "other"),
    ("ServiceAccount", "b", "app"),
];

/// How many random worlds are looked at.
const WORLDS: u64 = 500;

/// Objects of a random world: roles of a few rights, and bindings in the cluster or a namespace.
fn objects(dice: &mut Dice) -> Vec<Value> {
    let mut objects = Vec::new();
    for number in 0..=dice.below(5) {
        let rules: Vec<Value> = (0..=dice.below(3)).map(|_| rule(dice)).collect();
        let name = format!("r{number}");
        objects.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}));
        for binding in 0..=dice.below(1) {
            let (kind, namespace, subject) = SUBJECTS[dice.below(SUBJECTS.len())];
            let mut subject = json!({"kind": kind, "name": subject});
            subject["apiGroup"] = json!(if kind == "ServiceAccount" { "" } else { "rbac.authorization.k8s.io" });
            if kind == "ServiceAccount" {
                subject["namespace"] = json!(namespace);
            }
            let (of_binding, metadata) = if dice.chance(70) {
                ("ClusterRoleBinding", json!({"name": format!("{name}-{binding}")}))
            } else {
                ("RoleBinding", json!({"name": format!("{name}-{binding}"), "namespace": dice.pick(&["a", "b"])}))
            };
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": of_binding, "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [subject],
            }));
        }
    }
    objects
}

fn rule(dice: &mut Dice) -> Value {
    // The last right is full authority, which hides all others.
    let rights = RIGHTS.len() - usize::from(!dice.chance(5));
    let (group, resource, verbs) = RIGHTS[dice.below(rights)];
    let verbs = dice.some(verbs, 2);
    let mut rule = json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    if dice.chance(15) {
        rule["resourceNames"] = json!(["x"]);
    }
    rule
}

fn world(objects: &[Value]) -> World {
    let mut builder = Builder::new(36);
    let files = Files::new();
    for object in objects {
        let text = object.to_string();
        let id = files.add("world.json", text.as_str());
        let tree = bailiwick::yaml::read(&text, id, &mut Sink::new());
        tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
    }
    builder.build()
}

fn each_world(mut call: impl FnMut(&World, &[Value])) {
    for seed in 0..WORLDS {
        let objects = objects(&mut Dice::new(seed));
        call(&world(&objects), &objects);
    }
}

fn identity(subject: &str) -> Identity {
    let parts: Vec<&str> = subject.split('/').collect();
    match parts.as_slice() {
        ["Group", name] => Identity::member_of(name),
        ["User", name] => Identity::from_user(name),
        ["ServiceAccount", namespace, name] => {
            Identity::from_user(&format!("system:serviceaccount:{namespace}:{name}"))
        }
        _ => panic!("{subject}"),
    }
}

fn findings(world: &World, is_wanted: impl Fn(&'static risk::RiskRule) -> bool) -> Vec<Finding> {
    world.findings(&RiskOptions {
        rules: risk::all().filter(|rule| is_wanted(rule)).collect(),
        apart: false,
        one_per_cause: false,
    })
}

/// Every right that the proof of a finding names is one that its subject holds, by `can-i` and by `who-can`.
#[test]
fn the_subject_of_a_finding_may_do_what_it_says() {
    let mut asked = 0;
    each_world(|world, objects| {
        for finding in findings(world, |rule| rule.condition().is_some()) {
            let first = finding.first.first().expect("somebody whom it concerns");
            let who = identity(&first.subject);
            for right in finding.proof.iter().flat_map(|chain| &chain.rules).map(|link| &link.rule) {
                for (verb, group, resource) in products(right) {
                    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                    let is_of_namespaces = (group, resource) == ("", "namespaces");
                    let (namespace, name) = match &first.scope {
                        // A request for a Namespace is in the namespace of this name.
                        PermissionScope::Namespace(namespace) if is_of_namespaces => {
                            (namespace.as_str(), namespace.as_str())
                        }
                        PermissionScope::Namespace(namespace)
                            if !world.is_cluster_scoped(group, resource)
                                || is_checked_in_namespaces(group, resource, subresource, verb) =>
                        {
                            (namespace.as_str(), "")
                        }
                        _ => ("", ""),
                    };
                    let name = right.resource_names.first().map_or(name, String::as_str);
                    let request = Request::Resource(ResourceRequest {
                        verb: verb.to_owned(),
                        group: group.to_owned(),
                        resource: resource.to_owned(),
                        subresource: subresource.to_owned(),
                        namespace: namespace.to_owned(),
                        name: name.to_owned(),
                        ..ResourceRequest::default()
                    });
                    let shown = || format!("{}: {}\n{request:?}\n{objects:?}", finding.rule.id, finding.message());
                    assert!(world.decide(&who, &request).allowed, "{}", shown());
                    let capable = world.who_can(&request, Where::AsRequested).subjects(world);
                    let is_named = capable.contains(&first.subject)
                        || who.groups.iter().any(|group| capable.contains(&format!("Group/{group}")));
                    assert!(is_named, "{capable:?}: {}", shown());
                    asked += 1;
                }
            }
        }
    });
    assert!(asked > 1000, "{asked}");
}

fn products(rule: &bailiwick::k8s::rbac::PolicyRule) -> Vec<(&str, &str, &str)> {
    let mut all = Vec::new();
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            all.extend(rule.resources.iter().map(|resource| (verb.as_str(), group.as_str(), resource.as_str())));
        }
    }
    all
}

/// A power of an account is a finding about it or its group, and a finding with a power is a power of whom it is about.
#[test]
fn a_power_is_a_finding_and_the_other_way_round() {
    let (mut found, mut told) = (0, 0);
    each_world(|world, objects| {
        let with_power = findings(world, |rule| rule.power.is_some());
        let bound = world.bound_subjects();
        let mut powers = DangerousPermissions::new(world);
        // Of alike findings only the first few name whom they concern, and names limit a power.
        let concerns = |finding: &Finding, subject: &str| {
            finding.names.is_empty()
                && finding.first.iter().any(|own| own.subject == subject && own.scope == PermissionScope::Cluster)
        };
        for (kind, namespace, name) in SUBJECTS {
            let subject =
                [kind, namespace, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            let who = identity(&subject);
            let mut holders = vec![subject.clone()];
            holders.extend(who.groups.iter().map(|group| format!("Group/{group}")));
            holders.retain(|holder| bound.contains(holder) && !holder.ends_with("system:authenticated"));
            // Permissions of an account together with its groups are no finding.
            if holders != [subject.clone()] {
                continue;
            }
            let of_lint: BTreeSet<&str> = with_power
                .iter()
                .filter(|finding| concerns(finding, &subject))
                .map(|finding| finding.rule.id)
                .collect();
            let of_reach: BTreeSet<&str> = powers.rules_of(&who).into_iter().map(|rule| rule.id).collect();
            assert_eq!(of_lint, of_reach, "{subject}: {objects:?}");
            found += of_reach.len();
            told += 1;
        }
    });
    assert!(found > 200 && told > 300, "{found} {told}");
}

/// The worst can be done by a power, and nothing that is harmless cluster-wide is one.
#[test]
fn powers_are_what_is_critical() {
    // One rule stands for findings of others, which are powers themselves.
    for rule in risk::all().filter(|rule| rule.condition().is_some() && rule.id != "E024") {
        if rule.cluster == Some(risk::RiskSeverity::Critical) {
            assert!(rule.power.is_some(), "{} is critical and no power", rule.id);
        }
        if rule.power.is_some() {
            assert!(rule.cluster >= Some(risk::RiskSeverity::Medium), "{} is a power and {:?}", rule.id, rule.cluster);
        }
    }
}
