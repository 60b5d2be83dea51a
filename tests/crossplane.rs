//! Packages of Crossplane: what they get, and what is refused, against the recorded cases.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick::access;
use bailiwick::access::request::{Identity, Request, ResourceRequest};
use bailiwick::access::world::Builder;
use bailiwick::access::write::{Write, WriteVerb};
use bailiwick::ask::Connection;
use bailiwick::crossplane::object::ServiceAccountName;
use bailiwick::crossplane::reach::{self, reach};
use bailiwick::diag::Severity;
use bailiwick::k8s::rbac::PolicyRule;
use bailiwick::yaml;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Compiled, World, reference, repository};

/// Returns the cases, which were recorded and are not ours to change.
fn cases(kind: &str) -> Vec<Value> {
    let file: Value = serde_yaml::from_str(include_str!("crossplane/cases.yaml")).expect("the cases are YAML");
    let cases = file["cases"].as_array().expect("a list").iter();
    cases.filter(|case| case["kind"] == kind).cloned().collect()
}

/// Asks a question without the answer that a recorded row has beside it.
fn ask(kind: &str, body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().expect("a map").retain(|key, _| !matches!(key.as_str(), "out" | "sameOrg"));
    Connection::default().answer(&json!({ kind: body })).expect("an answer")
}

/// Compares an answer with the expectation of a case, which speaks of some of its keys.
fn compare(case: &Value, answer: &Value) {
    let (id, expected) = (&case["id"], &case["expect"]);
    assert_eq!(answer.get("error"), expected.get("error"), "{id}: {answer}");
    if let Some(objects) = expected.get("objects") {
        let found = answer["objects"].as_array().expect("objects");
        match objects.as_array().expect("a list").as_slice() {
            // This one speaks of the rules of one object alone.
            [only] if only.get("metadata").is_none() => {
                let same = found.iter().find(|object| object["kind"] == only["kind"]).expect("an object of the kind");
                assert_eq!(same["rules"], only["rules"], "{id}");
            }
            objects => assert_eq!(found, objects, "{id}"),
        }
    }
    if let Some(warnings) = expected.get("warnings") {
        // Some add in brackets why.
        let code = |text: &Value| json!(text.as_str().expect("a text").split(' ').next());
        let warnings: Vec<Value> = warnings.as_array().expect("a list").iter().map(code).collect();
        assert_eq!(answer["warnings"], json!(warnings), "{id}");
    }
    if let Some(owners) = expected.get("crdOwners") {
        assert_eq!(&answer["crdOwners"], owners, "{id}");
    }
}

#[test]
fn packages_become_the_recorded_objects_or_are_refused() {
    let cases = cases("compile");
    assert_eq!(cases.len(), 34);
    for case in &cases {
        let input = &case["input"];
        let kind = match (input.get("xrd"), input.get("providerRevision")) {
            (Some(_), _) => "composite",
            (None, Some(_)) => "provider",
            (None, None) => "stack",
        };
        compare(case, &ask(kind, input));
    }
}

#[test]
fn several_stacks_are_weighed_against_each_other() {
    let cases = cases("plan");
    assert_eq!(cases.len(), 7);
    for case in cases.iter().filter(|case| case["input"].get("installs").is_some()) {
        compare(case, &ask("stack-plan", &case["input"]));
    }
}

#[test]
fn namespaces_get_the_recorded_roles_for_people() {
    for case in &cases("compile-namespace-personas") {
        compare(case, &ask("namespace-personas", &case["input"]));
    }
}

#[test]
fn names_are_cut_as_recorded() {
    for row in cases("truncate").iter().flat_map(|case| case["requests"].as_array().expect("rows")) {
        assert_eq!(ask("truncate", row)["out"], row["out"], "{row}");
    }
}

#[test]
fn families_end_at_the_organisation() {
    for row in cases("family").iter().flat_map(|case| case["requests"].as_array().expect("rows")) {
        assert_eq!(ask("provider-family", row)["sameOrg"], row["sameOrg"], "{row}");
    }
}

/// Returns a workspace with one target, and files below `policies/`.
fn workspace(files: &[(&str, &str)]) -> World {
    let world = World::with_targets(&["t"], "1.36");
    files.iter().fold(world, |world, (path, text)| world.file(&format!("policies/{path}"), text))
}

/// Returns the policy of one stack.
fn policy(revision: &str, kind: &str, further: &str) -> String {
    format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Stack\nmetadata: {{name: package}}\nspec:\n  package: package\n  revision: \"{revision}\"\n{further}  installs:\n  - {{kind: {kind}, namespace: team-a}}\n"
    )
}

/// Returns a file of the third-party packages.
fn package(name: &str) -> String {
    std::fs::read_to_string(reference().join("crossplane").join(name)).expect("a file of the reference manifests")
}

fn codes(compiled: &Compiled, severity: Severity) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for diagnostic in compiled.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity) {
        *counts.entry(diagnostic.code.id()).or_default() += 1;
    }
    counts
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn real_packages_compile_or_are_refused_as_the_specification_says() {
    for release in ["v0.2.0", "v0.5.0"] {
        let file = |end: &str| package(&format!("provider-gcp-{release}.{end}.yaml"));
        let (app, crds) = (file("app"), file("crds"));
        let count = crds.matches("kind: CustomResourceDefinition").count();
        let compile = |revision: &str| {
            let policy = policy(revision, "ClusterStackInstall", "");
            let files = [("p.yaml", policy.as_str()), ("package/app.yaml", &app), ("package/all.crds.yaml", &crds)];
            workspace(&files).compile()
        };
        let refused = compile("1.0");
        assert_eq!(codes(&refused, Severity::Error), BTreeMap::from([("cluster-scoped-crd", count)]), "{release}");
        for revision in ["1.1", "v0.9"] {
            let compiled = compile(revision);
            assert_eq!(codes(&compiled, Severity::Error), BTreeMap::new(), "{release} under {revision}");
            let warnings = codes(&compiled, Severity::Warning);
            assert_eq!(warnings.get("depends-on-group-wildcard"), Some(&6), "{release}: {warnings:?}");
            let objects = compiled.objects("");
            let system = objects.iter().find(|object| object["kind"] == "ClusterRole").expect("a role");
            assert!(system["rules"].as_array().expect("rules").len() > 6, "{release} under {revision}");
        }
    }
    let (app, install) = (package("wordpress-v0.0.1.app.yaml"), package("wordpress-v0.0.1.install.yaml"));
    let policy = policy("1.0", "StackInstall", "");
    let files = [("p.yaml", policy.as_str()), ("package/app.yaml", &app), ("package/install.yaml", &install)];
    let compiled = workspace(&files).compile();
    assert_eq!(codes(&compiled, Severity::Error), BTreeMap::new());
    for old in ["wordpress-7ea6fcc", "wordpress-ec66748"] {
        let rbac = package(&format!("{old}.old-rbac.yaml"));
        let files = [&files[..], &[("package/rbac.yaml", rbac.as_str())]].concat();
        let codes = codes(&workspace(&files).compile(), Severity::Error);
        assert_eq!(codes, BTreeMap::from([("rbac-yaml-not-supported", 1)]), "{old}");
    }
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn the_rules_are_those_that_crossplane_unpacked() {
    for golden in ["Infra", "Deployment"] {
        let name = format!("unpack-golden-expectedComplex{golden}StackOutput.yaml");
        let documents: Vec<Value> = serde_yaml::Deserializer::from_str(&package(&name))
            .map(|document| Value::deserialize(document).expect("a document"))
            .filter(|document| !document.is_null())
            .collect();
        let stack = documents.iter().find(|document| document["kind"] == "Stack").expect("the stack");
        let scope = stack["spec"]["permissionScope"].as_str().expect("a scope");
        let app = json!({
            "version": "1", "permissionScope": scope, "dependsOn": stack["spec"]["dependsOn"],
        });
        let crds: Vec<&Value> =
            documents.iter().filter(|document| document["kind"] == "CustomResourceDefinition").collect();
        let kind = if scope == "Cluster" { "ClusterStackInstall" } else { "StackInstall" };
        let install = json!({ "kind": kind, "name": "s", "namespace": "n" });
        let found = ask("stack", &json!({ "revision": "v0.9", "install": install, "app": app, "crds": crds }));
        assert_eq!(found["objects"][1]["rules"], stack["spec"]["permissions"]["rules"], "{name}");
    }
}

/// Returns the files of an example: the repository's own, or the same packages by the rules of v0.9.
fn example(revision: &str) -> World {
    let root = repository().join("policies/stacks");
    let mut world = World::with_targets(&["stacks"], "1.36");
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let path = entry.expect("an entry").into_path();
        if path.is_file() {
            let relative = path.strip_prefix(repository()).expect("below the root").to_string_lossy().into_owned();
            world = world.file(&relative, &std::fs::read_to_string(&path).expect("a file"));
        }
    }
    let stacks = "policies/stacks/stacks.yaml";
    world.edit(stacks, "  installs:\n", &format!("  revision: \"{revision}\"\n  installs:\n"))
}

/// Returns the world of some objects on the default policy.
fn world_of<'v>(objects: impl IntoIterator<Item = &'v Value>) -> access::World {
    let mut builder = Builder::new(36).with_default_policy(36);
    for object in objects {
        let tree = yaml::from_json(object);
        builder.add_document(tree.document(0).expect("a document"), |_, _| {});
    }
    builder.build()
}

fn is_named(object: &Value, name: &str) -> bool {
    object["metadata"]["name"] == name
}

/// Returns the first request of a manager that is not allowed: to create an object, to apply it again, to read it, to remove it.
fn refused(world: &access::World, manager: &Identity, objects: &[&Value]) -> Option<String> {
    objects.iter().find_map(|object| {
        let tree = yaml::from_json(object);
        let root = tree.document(0).expect("a document");
        let resource = world.resource_of(root).expect("a kind that is known");
        let write = |verb, old| world.may_write(manager, Write { object: root, old, verb, resource }).allowed();
        let other = |verb: &str| {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            world.allows(
                manager,
                &Request::Resource(ResourceRequest {
                    verb: verb.to_owned(),
                    group: text("/apiVersion").rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned()),
                    resource: resource.0.to_owned(),
                    namespace: text("/metadata/namespace"),
                    name: text("/metadata/name"),
                    ..ResourceRequest::default()
                }),
            )
        };
        let fine =
            write(WriteVerb::Create, None) && write(WriteVerb::Patch, Some(root)) && other("get") && other("delete");
        (!fine).then(|| object.to_string())
    })
}

#[test]
fn the_manager_can_install_every_stack_and_holds_nothing_more() {
    for revision in ["1.0", "1.1", "v0.9"] {
        let compiled = example(revision).compile();
        let objects = compiled.objects("");
        let is_managers = |object: &&Value| is_named(object, "stack-manager");
        let is_stacks = |object: &&Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            kind == "CustomResourceDefinition" || ["blog", "nimbus"].contains(&name) || name.starts_with("stack:")
        };
        let own: Vec<&Value> = objects.iter().filter(is_managers).collect();
        let wanted: Vec<&Value> = objects.iter().filter(is_stacks).collect();
        assert!(wanted.len() >= 13, "{revision}: {}", wanted.len());
        let manager = Identity::from_user("system:serviceaccount:crossplane-system:stack-manager");
        let all = || objects.iter().filter(|object| !is_named(object, "stack-manager"));
        assert_eq!(refused(&world_of(all().chain(own.iter().copied())), &manager, &wanted), None, "{revision}");
        let mut parts = 0;
        for (index, role) in own.iter().enumerate().filter(|(_, object)| object.get("rules").is_some()) {
            let tree = yaml::from_json(role);
            let rules = tree.document(0).expect("a role").get("rules").expect("rules");
            let atoms: Vec<PolicyRule> =
                rules.items().map(PolicyRule::from_node).flat_map(|rule| rule.atoms()).collect();
            for (left_out, atom) in atoms.iter().enumerate() {
                // The rules that the manager itself needs to find the requested rules.
                if atom.api_groups == ["stacks.crossplane.io"] {
                    continue;
                }
                parts += 1;
                let mut less = (*role).clone();
                let kept: Vec<&PolicyRule> =
                    atoms.iter().enumerate().filter(|(other, _)| *other != left_out).map(|(_, atom)| atom).collect();
                less["rules"] = serde_json::to_value(kept).expect("rules");
                let others = own.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, object)| *object);
                let mut others: Vec<Value> = all().chain(others).cloned().collect();
                others.push(less);
                let world = world_of(&others);
                assert!(refused(&world, &manager, &wanted).is_some(), "{revision}: not needed in {role}: {atom:?}");
            }
        }
        assert!(parts > 40, "{revision}: {parts}");
    }
}

#[test]
fn a_namespace_stack_ends_at_its_namespace_whatever_is_asked() {
    for revision in ["1.0", "v0.9"] {
        let compiled = example(revision).compile();
        let objects = compiled.objects("");
        let world = world_of(&objects);
        let everybody = world_of(&[]);
        for (own, other) in [("team-red", "team-blue"), ("team-blue", "team-red")] {
            let account = ServiceAccountName { namespace: own.to_owned(), name: "blog".to_owned() };
            assert!(reach(&world, &world.bound_subjects(), &account).is_isolated(), "{own} under {revision}");
            let who = reach::identity(&account);
            let mut asked = 0;
            for resource in world.api().catalogue().served(36) {
                for verb in ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use"] {
                    for namespace in ["", other, "crossplane-system", "kube-system"] {
                        let request = Request::Resource(ResourceRequest {
                            verb: verb.to_owned(),
                            group: resource.group.clone(),
                            resource: resource.resource.clone(),
                            namespace: namespace.to_owned(),
                            ..ResourceRequest::default()
                        });
                        asked += 1;
                        assert_eq!(world.allows(&who, &request), everybody.allows(&who, &request), "{own}: {request}");
                    }
                }
            }
            assert!(asked > 2_000, "{asked}");
        }
        let nimbus = ServiceAccountName { namespace: "crossplane-system".to_owned(), name: "nimbus".to_owned() };
        assert!(reach(&world, &world.bound_subjects(), &nimbus).reads_every_secret, "{revision}");
    }
}

#[test]
fn the_list_of_verbs_grants_what_the_star_does() {
    let compile = |verbs: &str| {
        let world = example("1.1");
        world.edit(
            "policies/stacks/stacks.yaml",
            "  revision: \"1.1\"\n",
            &format!("  revision: \"1.1\"\n  verbs: {verbs}\n"),
        )
    };
    let (any, full) = (compile("any").compile(), compile("full").compile());
    let (any, full) = (any.objects(""), full.objects(""));
    assert_ne!(any, full);
    let (any, full) = (world_of(&any), world_of(&full));
    let who = Identity::from_user("system:serviceaccount:crossplane-system:nimbus");
    for resource in any.api().catalogue().served(36) {
        for verb in any.api().presence(&resource.group, &resource.resource).verbs {
            let request = Request::Resource(ResourceRequest {
                verb: verb.to_owned(),
                group: resource.group.clone(),
                resource: resource.resource.clone(),
                ..ResourceRequest::default()
            });
            assert_eq!(any.allows(&who, &request), full.allows(&who, &request), "{request}");
        }
    }
}

#[test]
fn of_two_owners_the_last_takes_the_definition_along() {
    let case = cases("plan").into_iter().find(|case| case["input"].get("before").is_some()).expect("the case");
    let crd = case["input"]["crd"].as_str().expect("a name");
    let (plural, group) = crd.split_once('.').expect("a plural and a group");
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {crd}}}\nspec:\n  group: {group}\n  names: {{kind: Foo, listKind: FooList, plural: {plural}, singular: foo}}\n  scope: Namespaced\n  versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}\n"
    );
    let objects = |stacks: &Value| -> BTreeSet<String> {
        let installs: String = stacks
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|stack| stack.as_str()?.split_once('/'))
            .map(|(namespace, name)| format!("  - {{kind: StackInstall, namespace: {namespace}, name: {name}}}\n"))
            .collect();
        let policy = format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Stack\nmetadata: {{name: foo}}\nspec:\n  package: foo\n  installs:\n{installs}---\napiVersion: bailiwick.dev/v1alpha1\nkind: StackManager\nmetadata: {{name: manager}}\nspec:\n  serviceAccount: {{name: manager, namespace: system}}\n  definitions: true\n"
        );
        let files = [
            ("p.yaml", policy.as_str()),
            ("foo/app.yaml", "permissionScope: Namespaced\n"),
            ("foo/foo.crd.yaml", definition.as_str()),
        ];
        let compiled = workspace(&files).compile();
        let objects = compiled.objects("");
        let named = objects.iter().filter(|object| !is_named(object, "manager")).map(|object| {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
            let place = text("/metadata/namespace").map_or(String::new(), |namespace| format!("{namespace}/"));
            format!("{} {place}{}", text("/kind").expect("a kind"), text("/metadata/name").expect("a name"))
        });
        named.collect()
    };
    let (before, after) = (objects(&case["input"]["before"]), objects(&case["input"]["after"]));
    let names = |key: &str| -> BTreeSet<String> {
        let list = case["expect"][key].as_array().expect("a list").iter();
        list.map(|name| name.as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(before.difference(&after).cloned().collect::<BTreeSet<_>>(), names("deletes"));
    assert!(names("keeps").is_subset(&after), "{after:?}");
}
