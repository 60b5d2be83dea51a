//! The labels of namespaces: the cases of the table, and the scenarios of the enhancement's own test plan.

use bailiwick::access::{Identity, Request, ResourceRequest};
use bailiwick::admission::labels::Settings;
use bailiwick::admission::labels::namespace::Source;
use bailiwick::admission::labels::world::SyncBuilder;
use bailiwick::admission::scc::release::Release;
use bailiwick::ask::Connection;
use bailiwick::yaml;
use serde_json::{Map, Value, json};

use super::scc::{levels, shaped, table};

/// The labels that a case shortens to `sync`.
const SYNC: &str = "security.openshift.io/scc.podSecurityLabelSync";
const UID_RANGE: &str = "openshift.io/sa.scc.uid-range";
const SYNCER: &str = "pod-security-admission-label-synchronization-controller";

fn ask(kind: &str, body: &Value) -> Value {
    let question = Map::from_iter([(kind.to_owned(), body.clone())]);
    let (kind, body) = question.iter().next().expect("a question");
    Connection::default().answer(&json!({ kind: body })).expect("an answer")
}

/// Returns a label by its short name.
fn long(short: &str) -> String {
    if short == "sync" { SYNC.to_owned() } else { format!("pod-security.kubernetes.io/{short}") }
}

fn namespace(case: &Value) -> Value {
    let own = &case["namespace"];
    let labels = own["labels"].as_object().cloned().unwrap_or_default();
    let labels: Map<String, Value> = labels.into_iter().map(|(short, value)| (long(&short), value)).collect();
    // The cluster allocates a range that the repository does not set.
    let annotations = match own.get("annotations") {
        Some(annotations) => annotations.clone(),
        None if case["git"] == true => json!({}),
        None => json!({ UID_RANGE: "1000660000/10000" }),
    };
    let managed = own["managed"].as_object().cloned().unwrap_or_default();
    let managed = managed.into_iter().map(|(manager, labels)| {
        let manager = if manager == "syncer" { SYNCER.to_owned() } else { manager };
        let labels = labels.as_array().expect("labels").iter().filter_map(Value::as_str);
        let fields: Map<String, Value> = labels.map(|label| (format!("f:{}", long(label)), json!({}))).collect();
        json!({"manager": manager, "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": fields}}})
    });
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": own["name"].as_str().unwrap_or("team-a"),
            "labels": labels,
            "annotations": annotations,
            "managedFields": managed.collect::<Vec<_>>(),
        },
    })
}

/// Returns the objects of a case.
fn objects(case: &Value, shapes: &Value) -> Vec<Value> {
    let levels = levels();
    let mut objects = vec![namespace(case)];
    let accounts = case.get("serviceAccounts").cloned().unwrap_or_else(|| json!({"team-a": ["default"]}));
    for (namespace, names) in accounts.as_object().expect("service accounts") {
        for name in names.as_array().expect("names") {
            let metadata = json!({"namespace": namespace, "name": name});
            objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}));
        }
    }
    for (name, fields) in case["sccs"].as_object().into_iter().flatten() {
        let mut object = shaped(&levels, &shapes[name], name);
        for (key, value) in fields.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        objects.push(object);
    }
    for row in case["rbac"].as_array().into_iter().flatten() {
        let mut object = row.as_object().expect("an object").clone();
        let mut metadata = Map::new();
        for key in ["name", "namespace", "labels"] {
            metadata.extend(object.remove(key).map(|value| (key.to_owned(), value)));
        }
        object.insert("apiVersion".to_owned(), json!("rbac.authorization.k8s.io/v1"));
        object.insert("metadata".to_owned(), metadata.into());
        objects.push(object.into());
    }
    for csv in case["csvs"].as_array().into_iter().flatten() {
        let labels = if csv["copied"] == true { json!({"olm.copiedFrom": "x"}) } else { json!({}) };
        let metadata = json!({"namespace": case["namespace"]["name"], "name": "operator", "labels": labels});
        let api_version = "operators.coreos.com/v1alpha1";
        objects.push(json!({"apiVersion": api_version, "kind": "ClusterServiceVersion", "metadata": metadata}));
    }
    objects
}

/// Returns the actual value of an expectation of a case; none if no answer has this name.
fn found(key: &str, case: &Value, body: &Value) -> Value {
    let neighbours = || ask("namespace-neighbours", body);
    match (case["controller"].as_str(), key) {
        (Some("privileged-namespaces"), _) => neighbours()["runLevelZero"][key].clone(),
        (Some("olm-labeler"), "labels") => match &neighbours()["operators"]["sync"] {
            Value::Null => json!({}),
            sync => json!({ "sync": sync }),
        },
        (_, "lint") => ask("namespace-labels", body)["lints"][0].clone(),
        (_, "effective_enforce") => ask("namespace-labels", body)["effectiveEnforce"].clone(),
        (_, "final") => {
            let mut labels = ask("namespace-labels", body)["final"].clone();
            labels.as_object_mut().expect("labels").remove("sync");
            labels
        }
        _ => ask("namespace-labels", body)[key].clone(),
    }
}

#[test]
fn namespaces_get_the_labels_of_the_table() {
    let table = table(include_str!("namespace-labels.yaml"));
    let cases = table["cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    for case in cases {
        let body = json!({
            "mode": case["mode"].as_str().unwrap_or("enforcing"),
            "objects": objects(case, &table["scc_shapes"]),
            "namespace": case["namespace"]["name"].as_str().unwrap_or("team-a"),
            "declared": case["git"] == true,
        });
        let expected = case["expected"].as_object().expect("expectations");
        for (key, expected) in expected {
            let found = found(key, case, &body);
            if found != *expected {
                wrong.push(format!("{} {key}: {found}, not {expected}", case["id"]));
            }
        }
        if case["git"] == true && !expected.contains_key("lint") {
            assert_eq!(ask("namespace-labels", &body)["lints"], json!([]), "{}", case["id"]);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(cases.len(), 56);
}

/// Returns a namespace of the test plan with a service account, constraints for all users, and other constraints for
/// the workload's account.
fn planned(sync: Option<&str>, granted: bool) -> Value {
    let levels = levels();
    let labels: Map<String, Value> = sync.map(|value| (SYNC.to_owned(), json!(value))).into_iter().collect();
    let mut tight = shaped(&levels, &json!({"base": "strict"}), "tight");
    tight["groups"] = json!(["system:authenticated"]);
    let open = json!({"base": "lax", "set": {"allowPrivilegedContainer": true}});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"namespace": "plan", "name": "use-open"},
        "rules": [{"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"],
            "resourceNames": ["open"], "verbs": ["use"]}],
    });
    let account = if granted { "workload" } else { "somebody-else" };
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"namespace": "plan", "name": "b"},
        "roleRef": {"kind": "Role", "name": "use-open"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "plan"}],
    });
    let metadata = json!({"name": "plan", "labels": labels, "annotations": {UID_RANGE: "1000000000/10000"}});
    let account = json!({"namespace": "plan", "name": "workload"});
    let objects = json!([
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        tight, shaped(&levels, &open, "open"), role, binding,
    ]);
    ask("namespace-labels", &json!({"release": "4.18", "mode": "enforcing", "objects": objects, "namespace": "plan"}))
}

#[test]
fn test_plan_1_a_labelled_namespace_gets_a_more_privileged_label_when_its_account_may_use_the_scc() {
    let found = planned(Some("true"), true);
    assert_eq!(found["level"], "privileged");
    assert_eq!(found["labels"]["enforce"], "privileged");
    assert_eq!(
        found["lifts"],
        json!([{
            "scc": "open",
            "level": "privileged",
            "because": [{"rule": "privileged", "field": "allowPrivilegedContainer"}],
            "grants": [{"account": "workload", "binding": "RoleBinding/plan/b", "role": "Role/plan/use-open", "rules": [0]}],
            "without": "restricted",
        }])
    );
}

#[test]
fn test_plan_2_a_labelled_namespace_gets_no_more_privileged_label_when_its_account_may_not_use_the_scc() {
    let found = planned(Some("true"), false);
    assert_eq!(found["level"], "restricted");
    assert_eq!(found["labels"]["enforce"], "restricted");
}

/// In the plan's third scenario a namespace without the label is not synced. No release behaves so: a namespace without
/// the label expresses no choice and is synced. Only the value `false` prevents the sync.
#[test]
fn test_plan_3_a_namespace_is_left_alone_only_when_it_opts_out() {
    let without = planned(None, true);
    assert_eq!((&without["controlled"], &without["control"]), (&json!(true), &json!("no-opinion")));
    let opted_out = planned(Some("false"), true);
    assert_eq!((&opted_out["action"], &opted_out["reason"]), (&json!("skip"), &json!("opted-out")));
    assert_eq!(opted_out["labels"], json!({}));
}

#[test]
fn releases_differ_in_versions_owners_and_the_annotation() {
    let levels = levels();
    let mut tight = shaped(&levels, &json!({"base": "strict"}), "tight");
    tight["groups"] = json!(["system:authenticated"]);
    let at = |release: &str, volumes: Value| {
        let mut scc = tight.clone();
        scc["volumes"] = volumes;
        let case = json!({"namespace": {"labels": {"enforce": "baseline"}, "managed": {"kubectl": ["enforce"]}}});
        let account = json!({"namespace": "team-a", "name": "default"});
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account});
        let objects = [namespace(&case), account, scc];
        ask(
            "namespace-labels",
            &json!({"release": release, "mode": "enforcing", "objects": objects, "namespace": "team-a"}),
        )
    };
    let plain = json!(["secret"]);
    // Before 4.14 the syncer overwrote the labels of every owner.
    assert_eq!(at("4.13", plain.clone())["labels"]["enforce"], "restricted");
    assert_eq!(at("4.14", plain.clone())["labels"]["enforce"], "baseline");
    assert_eq!(at("4.16", plain.clone())["labels"]["warn-version"], "v1.24");
    assert_eq!(at("4.17", plain.clone())["labels"]["warn-version"], "latest");
    assert_eq!(at("4.18", plain.clone())["annotation"], Value::Null);
    assert_eq!(at("4.19", plain)["annotation"], "restricted");
    // A kind of volume is an error in releases whose syncer does not have it.
    assert_eq!(at("4.17", json!(["image"]))["reason"], "scc-conversion-failed");
    assert_eq!(at("4.18", json!(["image"]))["level"], "restricted");
    assert_eq!(at("4.22", json!(["serviceAccountToken"]))["reason"], "scc-conversion-failed");
    assert_eq!(at("4.23", json!(["serviceAccountToken"]))["level"], "restricted");
}

#[test]
fn a_fresh_cluster_is_restricted_and_an_upgraded_one_baseline() {
    let objects = json!([
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "a", "name": "default"}},
    ]);
    for (upgraded, level) in [(false, "restricted"), (true, "baseline")] {
        let body = json!({
            "release": "4.20", "objects": objects, "namespace": "a",
            "declared": true, "defaults": true, "upgraded": upgraded,
        });
        let found = ask("namespace-labels", &body);
        assert_eq!(found["levels"], json!({"sync": level, "rbac": level, "semantic": level}), "{found:#}");
    }
}

/// A user with the name of a service account is that service account for the authorizer, and no account for the syncer.
#[test]
fn a_user_subject_is_invisible_to_the_syncer_alone() {
    let shapes = table(include_str!("namespace-labels.yaml"))["scc_shapes"].clone();
    let case = json!({
        "sccs": {"tight": {"groups": ["system:authenticated"]}, "open": {}},
        "rbac": [
            {"kind": "ClusterRole", "name": "r", "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["use"]}]},
            {"kind": "RoleBinding", "namespace": "team-a", "name": "b", "roleRef": {"kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "User", "name": "system:serviceaccount:team-a:default"}]},
        ],
    });
    let found = ask("namespace-labels", &json!({"objects": objects(&case, &shapes), "namespace": "team-a"}));
    assert_eq!(found["sccs"]["default"], json!(["tight"]));
    assert_eq!(found["authorized"]["default"], json!(["open", "tight"]));
    assert_eq!(found["levels"], json!({"sync": "restricted", "rbac": "privileged", "semantic": "privileged"}));
}

/// An SCC is converted once for any number of namespaces, and a second time if the range of a namespace matters.
#[test]
fn constraints_are_converted_twice_at_most() {
    let namespaces = (0..50).flat_map(|number| {
        let name = format!("n{number}");
        let annotations = json!({UID_RANGE: if number % 2 == 0 { "0/10" } else { "1000/10" }});
        [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": name, "name": "default"}}),
        ]
    });
    let body = json!({"release": "4.20", "defaults": true, "objects": namespaces.collect::<Vec<_>>()});
    let found = ask("namespace-labels", &body);
    // Thirteen, of which five take the range of the namespace.
    assert_eq!(found["conversions"], 13 + 5);
    assert_eq!(found["namespaces"]["n0"]["level"], "baseline");
    assert_eq!(found["namespaces"]["n1"]["level"], "restricted");
}

/// The constraints of a namespace are found without a search of the bindings of all other namespaces.
#[test]
fn a_chain_names_every_way_to_the_constraints() {
    let shapes = table(include_str!("namespace-labels.yaml"))["scc_shapes"].clone();
    let role = json!({"kind": "ClusterRole", "name": "r", "rules": [{"apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"], "verbs": ["use"]}]});
    let bound = |kind: &str, namespace: Value, name: &str, subject: Value| {
        json!({"kind": kind, "namespace": namespace, "name": name, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [subject]})
    };
    let own = json!({"kind": "ServiceAccount", "name": "default", "namespace": "team-a"});
    let other = json!({"kind": "ServiceAccount", "name": "default", "namespace": "team-b"});
    let case = json!({
        "sccs": {"open": {"users": ["system:serviceaccount:team-a:default"], "groups": ["system:serviceaccounts:team-a"]}},
        "rbac": [
            role,
            bound("RoleBinding", json!("team-a"), "own", own.clone()),
            bound("RoleBinding", json!("team-b"), "elsewhere", own.clone()),
            bound("ClusterRoleBinding", Value::Null, "everywhere", own),
            bound("ClusterRoleBinding", Value::Null, "other", other),
            bound("ClusterRoleBinding", Value::Null, "all", json!({"kind": "Group", "name": "system:authenticated"})),
        ],
    });
    let found = ask("namespace-labels", &json!({"objects": objects(&case, &shapes), "namespace": "team-a"}));
    let grants = found["lifts"][0]["grants"].as_array().expect("grants");
    let ways: Vec<String> = grants
        .iter()
        .map(|grant| {
            let way = ["binding", "group"].into_iter().find_map(|key| grant.get(key)).and_then(Value::as_str);
            format!("{} {}", grant["account"].as_str().unwrap_or("all"), way.unwrap_or("users"))
        })
        .collect();
    assert_eq!(
        ways,
        [
            "all system:serviceaccounts:team-a",
            "all ClusterRoleBinding/all",
            "default users",
            "default ClusterRoleBinding/everywhere",
            "default RoleBinding/team-a/own",
        ]
    );
    assert_eq!(found["lifts"][0]["without"], Value::Null);
}

/// The sets of bits are equal to the decisions of the authorizer for each service account and each SCC.
#[test]
fn what_is_authorized_is_what_the_authorizer_allows() {
    let table = table(include_str!("namespace-labels.yaml"));
    let mut allowed = 0;
    for case in table["cases"].as_array().expect("cases") {
        let mut builder = SyncBuilder::new(Settings::from_release(Release::LAST));
        for object in objects(case, &table["scc_shapes"]) {
            let tree = yaml::from_json(&object);
            builder.add(tree.document(0).expect("a document"), Source::Live).expect("an object");
        }
        let world = builder.build();
        for namespace in world.namespaces() {
            for account in world.accounts(namespace) {
                let who = Identity::from_user(&format!("system:serviceaccount:{namespace}:{account}"));
                let may = |scc: &str| {
                    let request = ResourceRequest {
                        verb: "use".to_owned(),
                        group: "security.openshift.io".to_owned(),
                        resource: "securitycontextconstraints".to_owned(),
                        namespace: namespace.to_owned(),
                        name: scc.to_owned(),
                        ..ResourceRequest::default()
                    };
                    world.access().allows(&who, &Request::Resource(request))
                };
                let sccs = world.sccs().iter();
                let expected: Vec<&str> = sccs
                    .filter(|scc| scc.names(&who.user, &who.groups) || may(scc.name()))
                    .map(|scc| scc.name())
                    .collect();
                allowed += expected.len();
                assert_eq!(world.authorized(namespace, account), expected, "{}", case["id"]);
            }
        }
    }
    assert!(allowed > 50);
}
