//! `import`: clusters that come back as they were, in any order of their objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bailiwick::app::{Import, ImportOptions, ImportSource, ImportedTarget, import};
use bailiwick::diag::{FileId, Sink};
use bailiwick::model::Platform;
use bailiwick::{Options, yaml};
use serde_json::{Value, json};

use crate::oracle::{Actor, Dice, atoms, random_world, rules_for, settle};
use crate::support::{reference, rounds};

/// Returns the options of an import of a file into the folder `into` beside it.
fn options(from: &Path) -> ImportOptions {
    ImportOptions {
        from: vec![ImportSource { target: None, path: from.to_owned() }],
        into: from.with_file_name("into"),
        version: Some("1.36".to_owned()),
        ..ImportOptions::default()
    }
}

/// Writes the objects into a file of a new folder, and imports the file.
fn imported(objects: &[Value], jobs: usize) -> (tempfile::TempDir, Import) {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("cluster.yaml");
    fs::write(&path, text_of(objects)).expect("a file");
    let run = Options { jobs: Some(jobs), ..Options::default() };
    let outcome = import(&run, &options(&path)).unwrap_or_else(|error| panic!("{error}\n{}", text_of(objects)));
    (scratch, outcome)
}

fn text_of(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object}\n---\n")).collect()
}

/// Returns the policies of an imported workspace: each file without the places of objects and the digests.
fn policies(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder.join("policies")).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_file() {
            let text = fs::read_to_string(entry.path()).expect("text");
            let lines = text.lines().filter(|line| !line.starts_with("# from: ") && !line.starts_with("# blake3: "));
            let path = entry.path().strip_prefix(folder).expect("below the folder").to_owned();
            files.insert(path, lines.map(|line| format!("{line}\n")).collect());
        }
    }
    files
}

/// Renders the imported workspace, and returns the objects of its output.
fn rendered(folder: &Path) -> Vec<Value> {
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["-C", &folder.to_string_lossy(), "--quiet", "render"])
        .output()
        .expect("the program runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let mut objects = Vec::new();
    let mut paths: Vec<PathBuf> = walkdir::WalkDir::new(folder.join("out"))
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    paths.sort();
    for path in paths {
        let tree = yaml::read(&fs::read_to_string(&path).expect("text"), FileId::default(), &mut Sink::new());
        objects.extend(tree.documents().map(yaml::schema::to_json));
    }
    objects
}

/// Returns the atoms that each subject of the bindings holds, by subject and place: an expansion of its own, beside the comparison of
/// the program.
fn expansion(objects: &[Value]) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut objects = objects.to_vec();
    settle(&mut objects);
    let subjects: BTreeSet<String> = objects
        .iter()
        .flat_map(|object| object["subjects"].as_array().cloned().unwrap_or_default())
        .map(|subject| {
            let name = subject["name"].as_str().unwrap_or_default();
            match subject["kind"].as_str() {
                Some("ServiceAccount") => {
                    format!("system:serviceaccount:{}:{name}", subject["namespace"].as_str().unwrap_or_default())
                }
                Some("Group") => format!("group:{name}"),
                _ => name.to_owned(),
            }
        })
        .collect();
    let mut places: BTreeSet<String> =
        objects.iter().filter_map(|object| object["metadata"]["namespace"].as_str()).map(str::to_owned).collect();
    places.insert(String::new());
    let mut held = BTreeMap::new();
    for subject in subjects {
        let question = match subject.strip_prefix("group:") {
            Some(group) => json!({ "user": "nobody-else", "groups": [group] }),
            None => json!({ "user": subject }),
        };
        let actor = Actor::from_question(&question);
        for place in &places {
            let (rules, _) = rules_for(&objects, &actor, place);
            let rights: BTreeSet<String> = rules.iter().flat_map(atoms).map(|atom| atom.to_string()).collect();
            held.insert((subject.clone(), place.clone()), rights);
        }
    }
    held
}

/// Checks that every object came back, in stored form or in access.
fn assert_equal(target: &ImportedTarget) {
    let expected = target.read - target.omitted.len() - target.refused.len();
    assert_eq!(target.equal + target.equal_access.len(), expected, "{target:#?}");
    assert!(target.different.is_empty(), "{:?}", target.different);
    assert!(target.access.none, "{:?}", target.access);
}

#[test]
fn random_clusters_come_back_and_settle() {
    for seed in 0..rounds(40, 1000) {
        let mut objects = random_world(&mut Dice::new(seed));
        objects.iter_mut().for_each(|object| object["apiVersion"] = "rbac.authorization.k8s.io/v1".into());
        let (scratch, outcome) = imported(&objects, 1);
        let [target] = outcome.targets.as_slice() else { panic!("one target") };
        assert_equal(target);
        let folder = scratch.path().join("into");
        let compiled = rendered(&folder);
        if target.refused.is_empty() {
            assert_eq!(expansion(&compiled), expansion(&objects), "seed {seed}\n{}", text_of(&objects));
        }
        // The same objects in another order, with several threads.
        let backwards: Vec<Value> = objects.iter().rev().cloned().collect();
        let (other, _) = imported(&backwards, 8);
        assert_eq!(policies(&other.path().join("into")), policies(&folder), "seed {seed}");
        // The output of the import.
        let (again, second) = imported(&compiled, 2);
        assert_equal(&second.targets[0]);
        if target.refused.is_empty() && target.omitted.is_empty() {
            assert_eq!(policies(&again.path().join("into")), policies(&folder), "seed {seed}");
        }
    }
}

/// Returns the objects of a tenant with values of its own.
fn tenant(number: usize) -> Vec<Value> {
    let namespace = format!("team-{number:03}");
    let metadata = |name: &str| json!({ "name": name, "namespace": namespace });
    let labels = json!({ "cost-center": format!("{}", 1000 + number), "team": "x" });
    vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace, "labels": labels } }),
        json!({ "apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata("quota"),
            "spec": { "hard": { "requests.cpu": format!("{}", number % 5 + 1), "pods": "10" } } }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": metadata(&format!("{namespace}-edit")),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": format!("g, \"{}\"", number % 7) }] }),
    ]
}

#[test]
fn namespaces_of_one_form_become_a_tenancy() {
    let mut objects: Vec<Value> = (0..40).flat_map(tenant).collect();
    let (scratch, outcome) = imported(&objects, 2);
    assert_equal(&outcome.targets[0]);
    let rows = |folder: &Path| fs::read_to_string(folder.join("into/policies/team.csv")).expect("a table");
    let table = rows(scratch.path());
    assert_eq!(table.lines().next(), Some("name,cost_center,group,requests_cpu"));
    assert_eq!(table.lines().count(), 41, "{table}");
    assert_eq!(table.lines().nth(3), Some("team-002,1002,\"g, \"\"2\"\"\",3"));
    assert_eq!(outcome.targets[0].policies, 1);
    // One tenant with a further binding is apart.
    let mut extra = tenant(7).pop().expect("a binding");
    extra["metadata"]["name"] = "extra".into();
    objects.push(extra);
    let (scratch, outcome) = imported(&objects, 2);
    assert_equal(&outcome.targets[0]);
    let table = rows(scratch.path());
    assert_eq!(table.lines().count(), 40, "{table}");
    assert!(!table.contains("team-007"), "{table}");
}

#[test]
fn a_refused_object_leaves_the_others_in_their_policies() {
    let mut objects: Vec<Value> = (0..6).flat_map(tenant).collect();
    objects[0]["metadata"]["labels"]["team"] = "not a label".into();
    let (_scratch, outcome) = imported(&objects, 1);
    let [target] = outcome.targets.as_slice() else { panic!("one target") };
    assert_equal(target);
    let refused: Vec<&str> = target.refused.iter().map(|refused| &*refused.object).collect();
    assert_eq!(refused, ["Namespace/team-000"]);
    assert_eq!(target.homes["Namespace/team-001"], "Tenancy/team");
}

/// A dump of `kubectl get`: a typed list, fields of the server, and rules that the controller of aggregated roles wrote.
#[test]
fn fields_of_the_server_are_left_out_and_counted() {
    let rule = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] });
    let role = json!({ "metadata": { "name": "readers", "uid": "1", "creationTimestamp": null }, "rules": [rule],
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] } });
    let list = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleList", "items": [role] });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x", "uid": "2" },
        "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" } });
    let (scratch, outcome) = imported(&[list, namespace], 1);
    let [target] = outcome.targets.as_slice() else { panic!("one target") };
    assert_equal(target);
    let dropped: Vec<(&str, usize)> = target.dropped.iter().map(|(path, count)| (&**path, *count)).collect();
    assert_eq!(dropped, [("metadata.uid", 2), ("rules", 1), ("spec.finalizers", 1), ("status", 1)]);
    assert_eq!(target.homes["ClusterRole/readers"], "PermissionSet/readers");
    assert_eq!(rendered(&scratch.path().join("into")).len(), 2);
}

/// Columns whose names would be one, `team-2` and the second `team`.
#[test]
fn columns_have_different_names() {
    let namespace = |number: usize| {
        let labels =
            json!({ "a/team": format!("a{number}"), "b/team": format!("b{number}"), "team-2": format!("c{number}") });
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("n-{number:02}"), "labels": labels } })
    };
    let objects: Vec<Value> = (0..12).map(namespace).collect();
    let (scratch, outcome) = imported(&objects, 1);
    assert_equal(&outcome.targets[0]);
    assert_eq!(outcome.targets[0].manifests, []);
    let table = fs::read_dir(scratch.path().join("into/policies")).expect("a folder").filter_map(Result::ok);
    let table = table.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "csv"));
    let table = fs::read_to_string(table.expect("a table")).expect("text");
    assert_eq!(table.lines().next(), Some("name,team,team_2,team_2_2"), "{table}");
}

#[test]
fn secrets_of_a_running_cluster_stay_out_of_the_policies() {
    let secret = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "x" },
            "data": { "password": "c2VjcmV0" } })
    };
    let (mut live, committed) = (secret("live"), secret("committed"));
    live["metadata"]["uid"] = "0b1c".into();
    let (scratch, outcome) = imported(&[live, committed], 1);
    let [target] = outcome.targets.as_slice() else { panic!("one target") };
    assert_equal(target);
    let omitted: Vec<&str> = target.omitted.iter().map(|omitted| &*omitted.object).collect();
    assert_eq!(omitted, ["Secret/x/live"]);
    let texts: String = policies(&scratch.path().join("into")).into_values().collect();
    assert!(texts.contains("name: committed") && !texts.contains("live"), "{texts}");
}

/// Roles of charts: subresources of a definition without all verbs of `access`, and a former group beside the present one.
#[test]
fn roles_with_custom_subresources_and_former_groups_become_policies() {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "clocks.time.example" },
        "spec": { "group": "time.example", "scope": "Namespaced", "names": { "kind": "Clock", "plural": "clocks" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} } }] } });
    let role = |name: &str, rules: Value| {
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": name }, "rules": rules })
    };
    let read = json!(["get", "list", "watch"]);
    let objects = [
        definition,
        role(
            "clocks",
            json!([{ "apiGroups": ["time.example"], "resources": ["clocks", "clocks/status"], "verbs": read }]),
        ),
        role(
            "routes",
            json!([{ "apiGroups": ["extensions", "networking.k8s.io"], "resources": ["ingresses"], "verbs": read }]),
        ),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "clock", "namespace": "elsewhere" } }),
    ];
    let (scratch, outcome) = imported(&objects, 1);
    let [target] = outcome.targets.as_slice() else { panic!("one target") };
    assert_equal(target);
    let left: Vec<(&str, &str)> = target.manifests.iter().map(|left| (&*left.object, &*left.reason)).collect();
    let expected = [
        ("CustomResourceDefinition/clocks.time.example", "not about access"),
        ("ServiceAccount/elsewhere/clock", "its namespace is not among the objects"),
    ];
    assert_eq!(left, expected);
    let folder = scratch.path().join("into");
    let sets = fs::read_to_string(folder.join("policies/permissionsets.yaml")).expect("text");
    assert!(sets.contains("apiGroups: [extensions, networking.k8s.io]"), "{sets}");
    assert_eq!(rendered(&folder).len(), 4);
    let check = std::process::Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["-C", &folder.to_string_lossy(), "--quiet", "check"])
        .env_remove("CI")
        .output()
        .expect("the program runs");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn hostile_names_stay_texts() {
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "{namespace.name}", "annotations": { "a": "{{b}}", "c": "\u{202e}# from: x\n---\n" } },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "resourceNames": ["{role}", "{x?}"], "verbs": ["get"] }] });
    let binding = |kind: &str, name: &str, namespace: Option<&str>, subject: &str| {
        let mut metadata = json!({ "name": name });
        namespace.into_iter().for_each(|namespace| metadata["namespace"] = namespace.into());
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{namespace.name}" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": subject }] })
    };
    let mut objects = vec![
        role,
        binding("ClusterRoleBinding", "{role}", None, "a, b\"; {groups}"),
        binding("RoleBinding", "x-{namespace.name}", Some("x"), "*"),
        binding("RoleBinding", "y-{namespace.name}", Some("y"), "*"),
        binding("RoleBinding", "..%2f", Some("z"), "=cmd()"),
    ];
    let (scratch, outcome) = imported(&objects, 1);
    assert_equal(&outcome.targets[0]);
    let refused: Vec<&str> = outcome.targets[0].refused.iter().map(|refused| &*refused.object).collect();
    assert_eq!(refused, ["RoleBinding/z/..%2f"]);
    assert_eq!(outcome.targets[0].manifests, [], "braces are escaped, so that policies state the objects");
    objects.pop();
    let compiled = rendered(&scratch.path().join("into"));
    assert_eq!(expansion(&compiled), expansion(&objects));
    let outside: Vec<_> = fs::read_dir(scratch.path()).expect("a folder").filter_map(Result::ok).collect();
    assert_eq!(outside.len(), 2, "{outside:?}");
}

#[test]
fn an_unchanged_import_is_replaced_and_a_changed_one_is_not() {
    let objects: Vec<Value> = (0..6).flat_map(tenant).collect();
    let (scratch, _) = imported(&objects, 1);
    let path = scratch.path().join("cluster.yaml");
    let fewer: Vec<Value> = tenant(1);
    fs::write(&path, text_of(&fewer)).expect("a file");
    import(&Options::default(), &options(&path)).expect("the earlier import is unchanged");
    let folder = scratch.path().join("into/policies");
    assert!(!folder.join("team.csv").exists() && folder.join("namespaces.yaml").exists());
    let file = folder.join("namespaces.yaml");
    let changed = fs::read_to_string(&file).expect("text").replace("\"1001\"", "\"1002\"");
    fs::write(&file, &changed).expect("a file");
    let Err(error) = import(&Options::default(), &options(&path)) else { panic!("a changed file is kept") };
    assert!(error.to_string().contains("an unchanged file of an import"), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("text"), changed);
}

#[test]
fn a_changed_table_is_kept() {
    let objects: Vec<Value> = (0..6).flat_map(tenant).collect();
    let (scratch, _) = imported(&objects, 1);
    let table = scratch.path().join("into/policies/team.csv");
    let changed = fs::read_to_string(&table).expect("text").replace("1003", "1004");
    fs::write(&table, changed).expect("a file");
    let path = scratch.path().join("cluster.yaml");
    assert!(import(&Options::default(), &options(&path)).is_err());
}

/// Two real clusters. The numbers of lines are the bounds of the product.
#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn two_real_clusters_come_back() {
    let clusters = reference().join("clusters");
    for (name, read, unknown, tenths) in [("smaug", 748, 4, 38), ("infra", 230, 4, 28)] {
        let scratch = tempfile::tempdir().expect("a folder");
        let import_of = |from: &Path, into: &str| {
            let options = ImportOptions {
                from: vec![ImportSource { target: None, path: from.to_owned() }],
                into: scratch.path().join(into),
                platform: Some(Platform::Openshift),
                version: Some("4.14".to_owned()),
                ..ImportOptions::default()
            };
            import(&Options::default(), &options).expect("an import").targets.remove(0)
        };
        let target = import_of(&clusters.join(format!("operate-first-{name}.yaml")), "into");
        assert_equal(&target);
        assert_eq!((target.read, target.refused.len(), target.unknown_roles.len()), (read, 0, unknown), "{name}");
        assert!(target.object_lines * 10 >= target.lines * tenths, "{} and {}", target.object_lines, target.lines);
        let compiled = rendered(&scratch.path().join("into"));
        assert_eq!(compiled.len(), read);
        let again = import_of(&scratch.path().join("into/out"), "again");
        assert_eq!((again.equal, again.read), (read, read));
        assert_eq!(policies(&scratch.path().join("again")), policies(&scratch.path().join("into")), "{name}");
    }
}
