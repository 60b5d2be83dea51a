//! Toolforge: the repository's own policies, compared with the recorded cases.
//!
//! The expected values in `toolforge/cases.yaml` were computed from maintain-kubeusers' recorded traffic and from the
//! description of the system. `mode: seed` is the preset of the target `toolforge-seed`, `mode: code-2023` is the
//! preset of `toolforge`.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick::emit::first_lines::MAXIMUM_LINES;
use bailiwick::emit::plan::{FilePlan, TargetPlan};
use bailiwick::emit::totals::Totals;
use bailiwick::k8s::catalogue::{Api, Catalogue};
use bailiwick::k8s::grants::{Effect, grants};
use bailiwick::yaml::{self, NodeRef};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{Compiled, World, identity, reference, repository, stored_objects};

#[derive(Debug, Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    kind: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    expect: Value,
    #[serde(default)]
    requests: Vec<Value>,
}

/// How many cases of each kind there are: a case that gets lost is a failure.
const COUNTS: &[(&str, usize)] = &[
    ("compile", 4),
    ("count", 1),
    ("explode", 1),
    ("lint", 2),
    ("lint-served-verbs", 1),
    ("plan", 2),
    ("roundtrip", 1),
    ("validate-name", 1),
];

fn cases(kind: &str) -> Vec<Case> {
    let all: Cases = serde_yaml::from_str(include_str!("toolforge/cases.yaml")).expect("the cases are YAML");
    for (kind, count) in COUNTS {
        assert!(all.cases.iter().filter(|case| case.kind == *kind).count() >= *count, "{kind}");
    }
    all.cases.into_iter().filter(|case| case.kind == kind).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no `{key}` in {value}"))
}

/// Returns the repository's Toolforge policies with another list of tools, for the target that has the mode's preset.
fn toolforge(mode: &str, version: &str, tools: &Value) -> World {
    let target = match mode {
        "seed" => "toolforge-seed",
        "code-2023" => "toolforge",
        other => panic!("unknown mode {other}"),
    };
    let mut world = World::with_targets(&["toolforge", "toolforge-seed", "toolforge-modern"], version).only(target);
    let folder = repository().join("policies/toolforge");
    for name in ["profiles.yaml", "roles.yaml", "tenancy.yaml"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("the policy is there");
        world = world.file(&format!("policies/{name}"), &text);
    }
    world
        .edit("policies/tenancy.yaml", "file: tools.csv", "file: tools.json")
        .file("policies/tools.json", &tools.to_string())
}

fn tools_of(input: &Value) -> Value {
    let mut tools = input.get("tools").cloned().expect("a list of tools");
    if let Some(count) = tools.as_u64() {
        tools = (0..count)
            .map(|number| serde_json::json!({"name": format!("tool{number}"), "uid": 1000 + number}))
            .collect();
    }
    tools
}

fn compile_case(case: &Case) -> Compiled {
    let version = case.input.get("k8s").and_then(Value::as_str).unwrap_or("1.21");
    toolforge(text(&case.input, "mode"), version, &tools_of(&case.input)).compile()
}

#[test]
fn tools_become_the_recorded_objects() {
    for case in cases("compile") {
        let compiled = compile_case(&case);
        if let Some(code) = case.expect.get("error").and_then(Value::as_str) {
            assert!(compiled.codes().contains(&code), "{}: {:?}", case.id, compiled.codes());
            let hint = text(&case.expect, "hint");
            let (fact, way_out) = hint.split_once("; ").expect("a fact and a way out");
            let found = compiled.diagnostics.iter().find(|found| found.code.id() == code).expect("found above");
            assert!(found.message.contains(fact), "{}: {}", case.id, found.message);
            assert!(found.help.iter().any(|help| help.contains(way_out)), "{}: {:?}", case.id, found.help);
            assert!(found.origin.is_some(), "{}: points nowhere", case.id);
            continue;
        }
        let expected = case.expect.get("objects").and_then(Value::as_array).expect("objects");
        let mut expected: Vec<Value> = expected.iter().flat_map(|object| stored_objects(&object.to_string())).collect();
        expected.sort_by_key(identity);
        let found = compiled.fine().objects("namespaces/tool-");
        let names = |objects: &[Value]| objects.iter().map(identity).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{}", case.id);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{}: {}", case.id, identity(expected));
        }
    }
}

#[test]
fn every_tool_gets_ten_objects() {
    for case in cases("count") {
        let objects = compile_case(&case).fine().objects("namespaces/tool-");
        let mut by_kind: BTreeMap<&str, u64> = BTreeMap::new();
        for object in &objects {
            *by_kind.entry(text(object, "kind")).or_default() += 1;
        }
        let tools = case.input.get("tools").and_then(Value::as_u64).expect("a number");
        assert_eq!(case.expect.get("objects").and_then(Value::as_u64), Some(objects.len() as u64));
        for (kind, count) in case.expect.get("clusterScoped").and_then(Value::as_object).expect("a map") {
            assert_eq!(by_kind.get(kind.as_str()).copied(), count.as_u64(), "{kind}");
        }
        let per_tool = case.expect.get("perTool").and_then(Value::as_object).expect("a map");
        let per_tool: BTreeMap<&str, u64> =
            per_tool.iter().map(|(kind, count)| (kind.as_str(), count.as_u64().expect("a number") * tools)).collect();
        assert_eq!(by_kind, per_tool);
    }
}

/// Returns the rules of a role as a tree, and what `check` makes of them.
fn with_rules<R>(role: &Value, check: impl FnOnce(NodeRef<'_>) -> R) -> R {
    let text = role.to_string();
    let tree = yaml::read(&text, bailiwick::diag::FileId::default(), &mut bailiwick::diag::Sink::new());
    check(tree.document(0).and_then(|root| root.get("rules")).expect("a role has rules"))
}

/// Returns the role `tools-user` as our policies make it.
fn tools_user() -> Value {
    let tools = serde_json::json!([{"name": "blurp", "uid": 1002}]);
    let objects = toolforge("seed", "1.21", &tools).compile().fine().objects("cluster/clusterrole.yaml");
    objects.into_iter().find(|object| identity(object) == "ClusterRole  tools-user").expect("the role is compiled")
}

#[test]
fn the_role_has_the_rows_of_the_seed() {
    for case in cases("explode") {
        let role = case.input.get("clusterRole").expect("a role");
        for role in [role, &tools_user()] {
            let rows = with_rules(role, |rules| bailiwick::report::table::rows(rules, &Api::new(21)));
            let verbs: usize = rows.iter().map(|row| row.verbs.len()).sum();
            assert_eq!(case.expect.get("rows").and_then(Value::as_u64), Some(rows.len() as u64));
            assert_eq!(case.expect.get("grants").and_then(Value::as_u64), Some(verbs as u64));
        }
        assert_eq!(role.get("rules"), tools_user().get("rules"), "our role is the seed's");
    }
}

#[test]
fn the_role_lives_as_far_as_each_version_serves_it() {
    for case in cases("lint-served-verbs") {
        let role = tools_user();
        for expected in case.expect.as_array().expect("a list of versions") {
            let minor: u32 = text(expected, "k8s").trim_start_matches("1.").parse().expect("a minor");
            with_rules(&role, |rules| {
                let all = grants(rules);
                let with = |wanted: Effect| -> Vec<String> {
                    let matching = all.iter().filter(|grant| grant.effect(Catalogue::get(), minor) == wanted);
                    let core = |group: &str| if group.is_empty() { "core".to_owned() } else { group.to_owned() };
                    matching.map(|grant| format!("{}/{}:{}", core(grant.group), grant.resource, grant.verb)).collect()
                };
                let number = |key: &str| expected.get(key).and_then(Value::as_u64).map(|count| count as usize);
                assert_eq!(number("grants"), Some(all.len()), "1.{minor}");
                assert_eq!(number("live"), Some(with(Effect::Live).len()), "1.{minor}");
                assert_eq!(number("deadVerb"), Some(with(Effect::DeadVerb).len()), "1.{minor}");
                assert_eq!(number("notServed"), Some(with(Effect::NotServed).len()), "1.{minor}");
                let dead = expected["deadVerbs"].as_array().expect("a list").iter().filter_map(Value::as_str);
                let dead: BTreeSet<String> = dead.map(str::to_owned).collect();
                assert_eq!(BTreeSet::from_iter(with(Effect::DeadVerb)), dead, "1.{minor}");
            });
        }
    }
}

#[test]
fn names_of_tools_are_checked() {
    for case in cases("validate-name") {
        assert!(case.requests.len() >= 13);
        for request in &case.requests {
            let name = text(request, "name");
            let compiled = toolforge("seed", "1.21", &serde_json::json!([{"name": name, "uid": 1002}])).compile();
            let refused = !compiled.diagnostics.is_empty();
            assert_eq!(refused, text(request, "expect") == "refuse", "{name:?}: {:?}", compiled.codes());
        }
    }
}

#[test]
fn awkward_names_survive_every_reader() {
    for case in cases("roundtrip") {
        let compiled = compile_case(&case).fine();
        assert_eq!(compiled.files.iter().filter(|file| file.path.contains("namespaces/tool-")).count(), 14);
        for file in &compiled.files {
            let ours: Vec<Value> = file.json.iter().map(|json| serde_json::from_str(json).expect("JSON")).collect();
            let mut strict = Vec::new();
            for document in serde_yaml::Deserializer::from_str(&file.text) {
                strict.push(Value::deserialize(document).expect("YAML 1.2"));
            }
            assert_eq!(strict, ours, "{} to a YAML 1.2 reader", file.path);
            let tree =
                yaml::read_full(&file.text, bailiwick::diag::FileId::default(), &mut bailiwick::diag::Sink::new());
            let kubernetes: Vec<Value> = tree.documents().map(yaml::schema::to_json).collect();
            assert_eq!(kubernetes, ours, "{} to Kubernetes' reader", file.path);
        }
    }
}

/// Returns the plan from one workspace to another.
fn plan(before: &World, after: &World) -> TargetPlan {
    let (before, after) = (before.compile().fine(), after.compile().fine());
    let mut plan = TargetPlan::default();
    for file in &after.files {
        let old = before.files.iter().find(|old| old.path == file.path).map(|old| old.text.as_bytes());
        plan.add(FilePlan::compare(&file.path, Some((&file.text, &file.kinds)), old));
    }
    for file in before.files.iter().filter(|old| !after.files.iter().any(|file| file.path == old.path)) {
        plan.add(FilePlan::compare(&file.path, None, Some(file.text.as_bytes())));
    }
    plan
}

#[test]
fn a_rename_everywhere_and_a_changed_role_are_seen_before_they_happen() {
    for case in cases("plan") {
        let before = toolforge("code-2023", "1.21", &tools_of(&case.input));
        let tools = case.input.get("tools").and_then(Value::as_u64).expect("a number") as usize;
        match text(&case.expect, "flag") {
            "mass-recreate" => {
                let after = before
                    .clone()
                    .edit("policies/tenancy.yaml", "name: \"tfb-{name}-psp\"", "name: \"tfb-{name}\"")
                    .edit("policies/tenancy.yaml", "role: \"tfb-{name}-psp\"", "role: \"tfb-{name}\"");
                let plan = plan(&before, &after);
                let roles = plan.by_kind.get("Role").copied().expect("roles are affected");
                assert_eq!(case.expect.get("creates").and_then(Value::as_u64), Some(roles.created as u64));
                assert_eq!(case.expect.get("deletes").and_then(Value::as_u64), Some(roles.deleted as u64));
                let totals = Totals::from_plan(&plan);
                assert_eq!(totals.mass_recreates(100).collect::<Vec<_>>(), [("Role", tools)]);
                assert_eq!(totals.mass_recreates(tools).count(), 0, "a threshold is more than");
            }
            "immutable-roleRef" => {
                let after = before
                    .clone()
                    .edit("policies/roles.yaml", "name: tools-user\n", "name: tools-user-v2\n")
                    .edit("policies/tenancy.yaml", "permissionSet: tools-user\n", "permissionSet: tools-user-v2\n");
                let changed = Totals::from_plan(&plan(&before, &after)).changed_role_refs;
                assert_eq!(changed.count, tools);
                let shown: Vec<&str> = changed.lines().collect();
                assert_eq!(shown.len(), tools.min(MAXIMUM_LINES));
                assert!(shown.iter().all(|binding| binding.starts_with("RoleBinding tool-")), "{shown:?}");
            }
            other => panic!("unknown flag {other}"),
        }
    }
}

/// R000-09: what is taken back shows as a narrowing, and nothing else changes.
#[test]
fn a_verb_taken_back_is_a_narrower_role() {
    let before = toolforge("seed", "1.21", &serde_json::json!([{"name": "blurp", "uid": 1002}]));
    let except = "spec:\n  targets: [\"toolforge*\"]\n  as: ClusterRole\n  except:\n  - resources: [configmaps, secrets]\n    verbs: [deletecollection]\n  rules:\n  - apiGroups: [\"\"]\n    resources:\n    - bindings";
    let plain = "spec:\n  targets: [\"toolforge*\"]\n  as: ClusterRole\n  rules:\n  - apiGroups: [\"\"]\n    resources:\n    - bindings";
    let after = before.clone().edit("policies/roles.yaml", plain, except);
    let narrowed = Totals::from_plan(&plan(&before, &after)).changed_roles;
    assert_eq!(narrowed.count, 1);
    assert_eq!(
        narrowed.lines().collect::<Vec<_>>(),
        ["ClusterRole tools-user is narrower: without deletecollection on configmaps, secrets"]
    );
    let widened = Totals::from_plan(&plan(&after, &before)).changed_roles;
    assert_eq!(widened.count, 1);
    assert_eq!(
        widened.lines().collect::<Vec<_>>(),
        ["ClusterRole tools-user is wider: with deletecollection on configmaps, secrets"]
    );
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn mistakes_of_real_policies_are_found() {
    for case in cases("lint") {
        let path = reference().join(text(&case.input, "file"));
        let manifest = std::fs::read_to_string(&path).expect("the recorded manifest is there");
        let compiled = World::with_targets(&["t"], "1.21")
            .file("policies/m.yaml", "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: m}\nspec: {files: [recorded.yaml]}\n")
            .file("policies/recorded.yaml", &manifest)
            .compile();
        let mut expected: Vec<&str> =
            case.expect["codes"].as_array().expect("codes").iter().filter_map(Value::as_str).collect();
        expected.sort_unstable();
        let object = case.input.get("object").and_then(Value::as_str).unwrap_or_default().replace('/', " ");
        let of_the_object = compiled
            .diagnostics
            .iter()
            .filter(|found| object.is_empty() || found.notes.iter().any(|note| note.ends_with(&object)));
        let mut found: Vec<&str> = of_the_object.map(|found| found.code.id()).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{}: {:#?}", case.id, compiled.diagnostics);
        for key in case.expect.get("duplicateKeys").and_then(Value::as_array).into_iter().flatten() {
            let key = format!("`{}`", key.as_str().expect("a key"));
            assert!(compiled.diagnostics.iter().any(|found| found.message.contains(&key)), "{key}");
        }
    }
}
