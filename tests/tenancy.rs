//! Random tenancies with loops, conditions, lists and targets of accounts, against a second reading of the same policy: the objects
//! and subjects that each account has by the meaning of the fields.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick::compile::CompileOptions;
use bailiwick::model::Part;
use bailiwick::stats::Stats;
use serde_json::Value;

use crate::random::Random;
use crate::support::{World, identity, rounds};

const TARGETS: [&str; 3] = ["eu", "us", "lab"];
const STAGES: [&str; 3] = ["dev", "test", "prod"];
const PEOPLE: [&str; 4] = ["ann", "bob", "cai", "dee"];

/// A condition with its meaning.
struct Condition {
    text: &'static str,
    holds: fn(&Account, Option<&str>, &str) -> bool,
}

const CONDITIONS: [Condition; 7] = [
    Condition { text: "tier == 'gold'", holds: |account, _, _| account.tier == Some("gold") },
    Condition { text: "tier != null && tier.startsWith('g')", holds: |account, _, _| account.tier.is_some() },
    Condition { text: "size(people) > 1", holds: |account, _, _| account.people.len() > 1 },
    Condition { text: "'ann' in people", holds: |account, _, _| account.people.contains(&"ann") },
    Condition { text: "target.name == 'lab'", holds: |_, _, target| target == "lab" },
    Condition {
        text: "target.minor >= 33 || uid % 2 == 0",
        holds: |account, _, target| target != "lab" || account.uid % 2 == 0,
    },
    Condition { text: "stages.exists(one, one == 'prod')", holds: |account, _, _| account.stages.contains(&"prod") },
];

/// The condition on the variable of the loop.
const OF_STAGE: Condition = Condition { text: "stage != 'test'", holds: |_, stage, _| stage != Some("test") };

struct Account {
    name: String,
    uid: usize,
    tier: Option<&'static str>,
    stages: Vec<&'static str>,
    people: Vec<&'static str>,
    targets: Vec<&'static str>,
}

/// A class, as the generator has drawn it.
struct Class {
    has_loop: bool,
    /// Whether each account has a namespace without the loop as well, so that the lists of the class cannot name its variable.
    has_tools: bool,
    of_namespace: Option<&'static Condition>,
    of_quota: Option<&'static Condition>,
    of_grant: Option<&'static Condition>,
    is_cluster_wide: bool,
}

fn some<'a>(random: &mut Random, list: &[&'a str]) -> Vec<&'a str> {
    list.iter().copied().filter(|_| random.one_in(2)).collect()
}

fn condition(random: &mut Random, has_stage: bool) -> Option<&'static Condition> {
    match random.below(4) {
        0 => None,
        1 if has_stage => Some(&OF_STAGE),
        _ => Some(random.pick(&CONDITIONS)),
    }
}

impl Account {
    fn new(random: &mut Random, number: usize) -> Self {
        Self {
            name: format!("team-{number}"),
            uid: random.below(10),
            tier: *random.pick(&[None, Some("gold"), Some("green")]),
            stages: some(random, &STAGES),
            people: some(random, &PEOPLE),
            targets: some(random, &TARGETS),
        }
    }

    fn row(&self) -> String {
        let Self { name, uid, tier, stages, people, targets } = self;
        let tier = tier.map_or("", |tier| tier);
        format!("{name},{uid},{tier},{},{},{}\n", stages.join(";"), people.join(" | "), targets.join(";"))
    }
}

impl Class {
    fn new(random: &mut Random) -> Self {
        let (has_loop, has_tools) = (!random.one_in(3), random.one_in(2));
        let has_stage = has_loop && !has_tools;
        Self {
            has_loop,
            has_tools,
            of_namespace: condition(random, has_loop),
            of_quota: condition(random, has_stage),
            of_grant: condition(random, has_stage),
            is_cluster_wide: random.one_in(3),
        }
    }

    fn policy(&self) -> String {
        let when = |condition: Option<&Condition>| {
            condition.map_or_else(String::new, |condition| format!(", when: \"{}\"", condition.text))
        };
        let (name, each) = if self.has_loop { ("{name}-{stage}", ", for: {stage: stages}") } else { ("{name}", "") };
        let tools = if self.has_tools { "    - {name: \"{name}-tools\"}\n" } else { "" };
        let (binding, wide) =
            if self.is_cluster_wide { ("{namespace.name}-people", ", clusterWide: true") } else { ("people", "") };
        let (of_namespace, of_quota, of_grant) = (when(self.of_namespace), when(self.of_quota), when(self.of_grant));
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {{name: t}}\nspec:\n  \
             accounts: {{file: list.csv, targets: targets}}\n  variables:\n    name: {{type: string}}\n    \
             uid: {{type: integer}}\n    tier: {{type: string, optional: true}}\n    \
             stages: {{type: list, of: {{type: string}}}}\n    \
             people: {{type: list, of: {{type: string}}, separator: \"|\"}}\n    \
             targets: {{type: list, of: {{type: string}}}}\n  class:\n    namespaces:\n    \
             - {{name: \"{name}\", labels: {{tier: \"{{tier?}}\"}}{each}{of_namespace}}}\n{tools}    \
             resourceQuotas:\n    - {{name: quota, hard: {{pods: 1}}{of_quota}}}\n    \
             grants:\n    - {{name: \"{binding}\", clusterRole: view, to: {{users: [\"u-{{people}}\"]}}{wide}{of_grant}}}\n"
        )
    }

    /// Returns the objects of an account on a target, each with its subjects or its label.
    fn objects(&self, account: &Account, target: &str) -> Vec<(String, Vec<String>)> {
        let is_on = account.targets.is_empty() || account.targets.contains(&target);
        if !is_on {
            return Vec::new();
        }
        let stages = account.stages.iter().map(|stage| Some(*stage));
        let elements: Vec<Option<&str>> = if self.has_loop { stages.collect() } else { vec![None] };
        let holds = |condition: Option<&Condition>, stage: Option<&str>| {
            condition.is_none_or(|condition| (condition.holds)(account, stage, target))
        };
        let kept = elements.into_iter().filter(|stage| holds(self.of_namespace, *stage));
        let named = |stage: Option<&str>| {
            stage.map_or_else(|| account.name.clone(), |stage| format!("{}-{stage}", account.name))
        };
        let labels = || account.tier.iter().map(|tier| (*tier).to_owned()).collect::<Vec<_>>();
        let mut namespaces: Vec<(String, Option<&str>, Vec<String>)> =
            kept.map(|stage| (named(stage), stage, labels())).collect();
        namespaces.extend(self.has_tools.then(|| (format!("{}-tools", account.name), None, Vec::new())));
        let people: Vec<String> = account.people.iter().map(|person| format!("u-{person}")).collect();
        let mut objects = Vec::new();
        for (name, stage, labels) in namespaces {
            objects.push((format!("Namespace  {name}"), labels));
            if holds(self.of_quota, stage) {
                objects.push((format!("ResourceQuota {name} quota"), Vec::new()));
            }
            let binding = match self.is_cluster_wide {
                true => format!("ClusterRoleBinding  {name}-people"),
                false => format!("RoleBinding {name} people"),
            };
            if holds(self.of_grant, stage) && !people.is_empty() {
                objects.push((binding, people.clone()));
            }
        }
        objects
    }
}

/// Returns the subjects of a binding, or the label of a Namespace.
fn names(object: &Value) -> Vec<String> {
    let subjects = object["subjects"].as_array().into_iter().flatten().map(|subject| &subject["name"]);
    let label = object.pointer("/metadata/labels/tier");
    subjects.chain(label).filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn accounts_have_the_objects_of_their_loops_and_conditions() {
    let mut made = BTreeMap::<&str, usize>::new();
    for round in 0..rounds(150, 3_000) {
        let mut random = Random::new(round);
        let class = Class::new(&mut random);
        let accounts: Vec<Account> = (0..1 + random.below(6)).map(|number| Account::new(&mut random, number)).collect();
        let rows: String = accounts.iter().map(Account::row).collect();
        let world = World::with_targets(&TARGETS, "1.34")
            .edit("bailiwick.yaml", "{name: lab, version: \"1.34\"}", "{name: lab, version: \"1.32\"}")
            .file("policies/t.yaml", &class.policy())
            .file("policies/list.csv", &format!("name,uid,tier,stages,people,targets\n{rows}"));
        let compiled = world.compile();
        assert!(compiled.diagnostics.is_empty(), "{}\n{}\n{rows}", compiled.told, class.policy());
        for target in TARGETS {
            let expected: BTreeMap<String, Vec<String>> =
                accounts.iter().flat_map(|account| class.objects(account, target)).collect();
            let objects = compiled.objects(&format!("{target}/"));
            let found: BTreeMap<String, Vec<String>> =
                objects.iter().map(|object| (identity(object), names(object))).collect();
            assert_eq!(found, expected, "round {round} on {target}\n{}\n{rows}", class.policy());
            for kind in expected.keys().filter_map(|identity| identity.split(' ').next()) {
                let known = ["ClusterRoleBinding", "Namespace", "ResourceQuota", "RoleBinding"];
                known.iter().filter(|own| **own == kind).for_each(|own| *made.entry(own).or_default() += 1);
            }
        }
        same_in_parts(&world);
    }
    assert!(made.len() == 4 && made.values().all(|count| *count > 100), "{made:?}");
}

/// Compiles a world on four threads and in three parts: the files are the files of one thread.
fn same_in_parts(world: &World) {
    let off = Stats::off();
    let texts = |jobs, part, alike| {
        let options = CompileOptions { alike, part, ..CompileOptions::new(jobs, &off) };
        let files = world.compile_with(options).files;
        files.into_iter().map(|file| (file.path, file.text)).collect::<BTreeSet<_>>()
    };
    let whole = texts(1, None, false);
    assert_eq!(texts(4, None, true), whole);
    let parts = (1..=3).flat_map(|number| texts(1, Part::new(number, 3), true));
    assert_eq!(parts.collect::<BTreeSet<_>>(), whole);
}

#[test]
fn a_condition_on_the_target_is_a_preset() {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {name: t}\nspec:\n  \
                accounts: {inline: [{name: a}, {name: b}]}\n  variables: {name: {type: string}}\n";
    let quota = |pods: u32, when: &str| format!("{{name: quota, hard: {{pods: {pods}}}{when}}}");
    let class = |quotas: &str| format!("{{namespace: {{name: \"team-{{name}}\"}}, resourceQuotas: [{quotas}]}}");
    let presets = format!(
        "{head}  presets:\n  - {{name: one, targets: [eu, us], class: {}}}\n  - {{name: two, targets: [lab], class: {}}}\n",
        class(&quota(1, "")),
        class(&quota(2, ""))
    );
    let both = [quota(1, ", when: \"target.name in ['eu', 'us']\""), quota(2, ", when: \"target.name == 'lab'\"")];
    let conditions = format!("{head}  class: {}\n", class(&both.join(", ")));
    let texts = |policy: &str| {
        let compiled = World::with_targets(&TARGETS, "1.34").file("policies/t.yaml", policy).compile().fine();
        compiled.files.into_iter().map(|file| (file.path, file.text)).collect::<Vec<_>>()
    };
    assert_eq!(texts(&presets), texts(&conditions));
}

/// A policy with a NetworkPolicy and a template in the namespace of each account, and objects of each account in two other namespaces.
const WITH_TEMPLATES: &str = r#"
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: tenants.json}
  variables:
    name: {type: string}
    uid: {type: integer}
    note: {type: string, optional: true}
    teams: {type: list, of: {type: string}}
  class:
    namespace: {name: "tenant-{name}"}
    objects:
    - object:
        apiVersion: networking.k8s.io/v1
        kind: NetworkPolicy
        metadata: {name: default-deny, labels: {uid: "{uid}"}}
        spec: {podSelector: {}, policyTypes: [Ingress]}
    - object:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: "{name}", namespace: shared}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "team-{name}"}]
    - template: argocd/appproject.yaml.j2
      apiVersion: argoproj.io/v1alpha1
      kind: AppProject
      namespace: argocd
      name: "{name}"
      annotations: {example.com/note: "{note?}"}
      values: {groups: ["oidc:{teams}"], note: "{note?}"}
    - {template: info.yaml.j2, apiVersion: v1, kind: ConfigMap, name: info}
"#;

const PROJECT: &str = r#"apiVersion: argoproj.io/v1alpha1
kind: AppProject
{% include "_metadata.yaml.j2" %}
spec:
  description: {{ values.note|default("no note") }}
  destinations: {{ [{"namespace": "tenant-" ~ account.name, "server": target.name}] }}
  roles: {{ [{"name": "developer", "groups": values.groups}] }}
"#;

const INFO: &str = r#"apiVersion: v1
kind: ConfigMap
{% include "_metadata.yaml.j2" %}
data:
  uid: {{ account.uid|string }}
{% if account.uid % 3 == 0 %}
  third: {{ account.note|default("", true) }}
{% endif %}
"#;

#[test]
fn objects_of_templates_are_the_same_for_every_form_of_run() {
    let notes =
        ["\"}\n---\nkind: Secret", "{{ account.uid }}", "{% if", "plain", "'", "", "- x: &a *a", "# none", "yes"];
    let count = 1_000;
    let rows: Vec<Value> = (0..count)
        .map(|number| {
            let note = notes.get(number % (notes.len() + 1)).filter(|note| !note.is_empty());
            let teams: Vec<String> = (0..number % 3).map(|team| format!("team-{}", (number + team) % 70)).collect();
            serde_json::json!({"name": format!("n{number}"), "uid": 50_000 + number, "note": note, "teams": teams})
        })
        .collect();
    let world = World::with_targets(&["eu", "us"], "1.34")
        .file("policies/t.yaml", WITH_TEMPLATES)
        .file("policies/tenants.json", &serde_json::to_string(&rows).expect("JSON"))
        .file("templates/argocd/appproject.yaml.j2", PROJECT)
        .file("templates/info.yaml.j2", INFO);
    same_in_parts(&world);
    let compiled = world.compile_on(8).fine();
    for target in ["eu", "us"] {
        let objects = compiled.objects(&format!("{target}/"));
        assert_eq!(objects.len(), 5 * count);
        let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
        let projects = of_kind("AppProject");
        for row in &rows {
            let name = row["name"].as_str().expect("a name");
            let named = |object: &&&Value| object["metadata"]["name"] == name;
            let project = projects.iter().find(named).expect("a project");
            let note = row["note"].as_str();
            assert_eq!(project["spec"]["description"], note.map_or("no note", |note| note), "{name}");
            assert_eq!(project.pointer("/metadata/annotations/example.com~1note").and_then(Value::as_str), note);
            assert_eq!(project["spec"]["destinations"][0]["server"], target);
            let groups = project["spec"]["roles"][0]["groups"].as_array().expect("a list").len();
            assert_eq!(groups, row["teams"].as_array().expect("a list").len());
        }
        let thirds = of_kind("ConfigMap").into_iter().filter(|object| object["data"]["third"].is_string()).count();
        assert_eq!(thirds, (50_000..50_000 + count).filter(|uid| uid % 3 == 0).count());
    }
}
