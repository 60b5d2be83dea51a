//! Texts that are like a checked one ([`CompileOptions::alike`]): the same files and the same diagnostics as where every text is
//! checked by itself, on random policies, templates and accounts. Most of them stand at the border of what may be skipped.

use bailiwick::compile::{CompileOptions, ObjectForm, OutputFile};
use bailiwick::diag::{FileId, Origin, Sink};
use bailiwick::stats::{Stage, Stats};
use bailiwick::yaml::{self, NodeRef};

use crate::random::Random;
use crate::support::{Compiled, World, rounds};

/// How many objects were found to be like a checked one, and how many were checked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    matched: u64,
    checked: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.matched += other.matched;
        self.checked += other.checked;
    }
}

/// Compiles a world with every text checked by itself, and with the check skipped for texts that are alike: as texts and as
/// trees, on one thread and on three.
fn same_every_way(world: &World, what: &str) -> Counts {
    let (off, stats) = (Stats::off(), Stats::new(true, false));
    let options = |jobs, alike| CompileOptions { alike, ..CompileOptions::new(jobs, &off) };
    let by_itself = world.compile_with(options(1, false));
    compare(&world.compile_with(CompileOptions { stats: &stats, ..options(1, true) }), &by_itself, what);
    compare(&world.compile_with(options(3, true)), &by_itself, what);
    let read = read_objects(&by_itself);
    for (jobs, alike) in [(1, false), (1, true), (3, true)] {
        let trees = world.compile_with(CompileOptions { wanted: ObjectForm::Trees, ..options(jobs, alike) });
        assert_eq!(written_objects(&trees), read, "{what}");
    }
    Counts { matched: stats.documents(Stage::Match), checked: stats.documents(Stage::Validate) }
}

/// Returns the objects in the texts of files, written again, with the places of their contents.
fn read_objects(compiled: &Compiled) -> Vec<(String, Origin)> {
    let mut found = Vec::new();
    for file in &compiled.files {
        let tree = yaml::read(&file.text, FileId::default(), &mut Sink::new());
        found.extend(tree.documents().map(written).zip(file.origins.iter().copied()));
    }
    found
}

/// Returns the objects that were compiled as trees, in the same form.
fn written_objects(compiled: &Compiled) -> Vec<(String, Origin)> {
    let objects = compiled.files.iter().flat_map(|file| &file.objects);
    objects.map(|compiled| (written(compiled.object()), compiled.place())).collect()
}

fn written(root: NodeRef<'_>) -> String {
    let mut text = String::new();
    yaml::write::document(root, &mut text);
    text
}

fn compare(alike: &Compiled, by_itself: &Compiled, what: &str) {
    assert_eq!(alike.told, by_itself.told, "{what}");
    let facts = |file: &OutputFile| (file.path.clone(), file.kinds.clone(), file.origins.clone());
    let paths = |compiled: &Compiled| -> Vec<_> { compiled.files.iter().map(facts).collect() };
    assert_eq!(paths(alike), paths(by_itself), "{what}");
    for (left, right) in alike.files.iter().zip(&by_itself.files) {
        assert_eq!(left.text, right.text, "{what}: {}", left.path);
    }
}

/// A tenancy that uses every place where a value may differ.
const TENANCY: &str = r#"
apiVersion: bailiwick.dev/v1alpha1
kind: PodSecurityProfile
metadata: {name: tenant}
spec:
  volumes: [configMap, hostPath]
  hostPaths: [{pathPrefix: "/data/{name}"}, {pathPrefix: /srv, readOnly: true}]
  runAsUser: {rule: MustRunAs, ranges: [{min: "{uid}", max: "{uid}"}]}
  runAsGroup: {rule: MustRunAs, ranges: [{min: "{uid}", max: "{uid}"}]}
  fsGroup: {rule: MustRunAs, ranges: [{min: 1, max: 65535}]}
  supplementalGroups: {rule: MustRunAs, ranges: [{min: "{uid}", max: "{uid}"}]}
  seLinux: {rule: RunAsAny}
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: own}
spec:
  rules:
  - {apiGroups: [policy], resources: [podsecuritypolicies], resourceNames: ["t-{name}-psp"], verbs: [use]}
  - {apiGroups: [""], resources: [pods], verbs: [get]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: accounts.csv}
  variables:
    name: {type: string, maxLength: 70}
    uid: {type: integer}
    team: {type: string, optional: true}
    note: {type: string, optional: true}
    limits: {type: map, optional: true}
  class:
    namespace:
      name: "t-{name}"
      labels: {name: "t-{name}", team: "x{team}", fixed: "yes"}
      annotations: {example.org/note: "{note} of {name}", example.org/uid: "{uid}"}
    serviceAccounts: [{name: "bot-{name}"}]
    resourceQuotas: [{name: "t-{name}", hard: {pods: 10, cpu: "2"}, overrides: limits}]
    podSecurity: [{name: "t-{name}-psp", profile: tenant}]
    roles: [{name: "t-{name}-own", permissionSet: own}]
    grants:
    - {name: "t-{name}-own", role: "t-{name}-own", to: {users: ["{name}"], groups: ["team:{team}"]}}
    - {name: "m-{name}", clusterRole: view, to: {serviceAccounts: [{name: "bot-{name}"}]}}
    - {name: "{name}-edit", clusterRole: edit, to: {users: ["{uid}"], serviceAccounts: [{name: ci, namespace: tools}]}}
"#;

fn world(policies: &str, accounts: &str) -> World {
    World::with_targets(&["old"], "1.21")
        .file("policies/tenants.yaml", policies)
        .file("policies/accounts.csv", accounts)
}

#[test]
fn accounts_that_differ_in_names_and_numbers_are_checked_once() {
    let rows: String = (0..200).map(|index| format!("user-{index},{},core,Nr. {index}: x,\n", 1000 + index)).collect();
    let counts = same_every_way(&world(TENANCY, &format!("name,uid,team,note,limits.pods\n{rows}")), "200");
    println!("{counts:?}");
    assert!(counts.matched > 20 * counts.checked, "{counts:?}");
}

#[test]
fn accounts_that_differ_by_a_map_or_lack_a_value_are_checked() {
    let row = |index: usize| {
        let team = if index.is_multiple_of(3) { "" } else { "core" };
        let pods = if index.is_multiple_of(2) { "" } else { "20" };
        format!("user-{index},{},{team},note,{pods}\n", 1000 + index)
    };
    let rows: String = (0..120).map(row).collect();
    let counts = same_every_way(&world(TENANCY, &format!("name,uid,team,note,limits.pods\n{rows}")), "four");
    assert!(counts.matched > 5 * counts.checked, "{counts:?}");
}

#[test]
fn a_template_may_decide_by_a_column() {
    let template = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  labels: {{ labels }}\n  annotations:\n\
                    {% for key, value in annotations|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n\
                    {% if labels.team == \"xcore\" %}\n    core: \"yes\"\n{% endif %}\n";
    let rows: String = (0..60)
        .map(|index| format!("user-{index},{},{},n,\n", 1000 + index, ["core", "web", "ops"][index % 3]))
        .collect();
    let world = world(TENANCY, &format!("name,uid,team,note,limits.pods\n{rows}"))
        .file("templates/tenancy/namespace.yaml.j2", template);
    let counts = same_every_way(&world, "by team");
    assert!(counts.matched > 4 * counts.checked, "{counts:?}");
}

/// Accounts of the tenancy, with the notes and numbers of some.
fn rows(of: &[(i64, &str)]) -> String {
    let rows = of.iter().enumerate().map(|(index, (uid, note))| format!("user-{index},{uid},core,{note},\n"));
    "name,uid,team,note,limits.pods\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn the_size_of_all_annotations_is_looked_at() {
    let big = "x".repeat(262_050);
    let policies = TENANCY.replace("example.org/uid: \"{uid}\"", &format!("example.org/big: {big}"));
    let long = "n".repeat(100);
    let mut accounts: Vec<(i64, &str)> = (1000..1012).map(|uid| (uid, "short")).collect();
    accounts.push((2000, &long));
    let compiled = world(&policies, &rows(&accounts)).compile();
    assert!(compiled.told.contains("the annotations have"), "{}", compiled.told);
    same_every_way(&world(&policies, &rows(&accounts)), "annotations");
}

#[test]
fn ranges_stay_in_order_however_their_ends_are_written() {
    let of = |min: &str, max: &str| {
        format!(
            "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {{name: {{{{ name }}}}}}\nspec:\n  \
             runAsUser: {{rule: MustRunAs, ranges: [{{min: {min}, max: {max}}}]}}\n  seLinux: {{rule: RunAsAny}}\n  \
             fsGroup: {{rule: MustRunAs, ranges: [{{min: 1, max: 5}}]}}\n  \
             supplementalGroups: {{rule: MustRunAs, ranges: [{{min: 1, max: 5}}]}}\n"
        )
    };
    let uid = "{{ profile.runAsUser.ranges[0].min }}";
    for (min, max) in [("0x3e8", uid), ("1000", uid), (uid, "0x3e8"), (uid, "1000"), (uid, uid)] {
        let mut accounts = vec![(1000, "n"); 9];
        accounts.extend([(999, "n"), (1001, "n")]);
        let world = world(TENANCY, &rows(&accounts)).file("templates/tenancy/podsecuritypolicy.yaml.j2", &of(min, max));
        let told = world.compile().told;
        assert_eq!(told.contains("and ends at 999"), max == uid && min != uid, "{min} to {max}: {told}");
        assert_eq!(told.contains("1001 and ends at 1000"), min == uid && max != uid, "{min} to {max}: {told}");
        same_every_way(&world, &format!("{min} to {max}"));
    }
}

/// Returns a tenancy with a class and rows of accounts.
fn world_of(class: &str, rows: impl Iterator<Item = String>) -> World {
    let policies = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {{name: own}}\nspec:\n  rules:\n  \
         - {{apiGroups: [\"\"], resources: [configmaps], resourceNames: [\"{{note}}\"], verbs: [get]}}\n---\n\
         apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {{name: tenants}}\nspec:\n  \
         accounts: {{file: accounts.csv}}\n  variables: {{name: {{type: string}}, uid: {{type: integer}}, note: \
         {{type: string}}}}\n  class:\n{class}"
    );
    world(&policies, &("name,uid,note\n".to_owned() + &rows.collect::<String>()))
}

#[test]
fn the_size_of_an_object_is_looked_at() {
    let class = "    namespace: {name: \"t-{name}\"}\n    roles: [{name: own, permissionSet: own}]\n";
    let long = "x".repeat(1_020);
    let rows = (0..7).map(|index| format!("a{index},{index},{}\n", if index == 6 { &long } else { "n" }));
    let digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let template = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{{% include \"_metadata.yaml.j2\" %}}\nrules:\n\
         - apiGroups: [\"\"]\n  resources: [configmaps]\n  verbs: [get]\n  resourceNames:\n\
         {{% for a in {digits} + {digits} %}}\n{{% for b in {digits} %}}\n{{% for c in {digits} %}}\n\
         {{% for d in {digits} %}}\n  - {{{{ rules[0].resourceNames[0] }}}}\n\
         {{% endfor %}}\n{{% endfor %}}\n{{% endfor %}}\n{{% endfor %}}\n"
    );
    let world = world_of(class, rows).file("templates/tenancy/role.yaml.j2", &template);
    assert!(world.compile().told.contains("writes more than 16 MiB"));
    same_every_way(&world, "many names");
}

#[test]
fn what_the_server_makes_of_nulls_is_known_of_every_text() {
    let template = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\nrules:\n\
                    - {apiGroups: [~], resources: [secrets], verbs: [deletecollection]}\n";
    let accounts = vec![(1000, "n"); 12];
    let world = world(TENANCY, &rows(&accounts)).file("templates/tenancy/role.yaml.j2", template);
    same_every_way(&world, "nulls");
}

#[test]
fn the_largest_number_is_a_number_like_others() {
    let accounts = vec![(i64::MAX, "n"); 12];
    let policies =
        TENANCY.replace("{min: \"{uid}\", max: \"{uid}\"}", "{min: 1, max: 2}").replace("max: 65535", "max: 2");
    same_every_way(&world(&policies, &rows(&accounts)), "largest");
}

const NAMES: [&str; 26] = [
    "a",
    "ab",
    "n-1",
    "y",
    "no",
    "007",
    "1e3",
    "0x1f",
    "null",
    "true",
    "default",
    "own",
    "edit",
    "t",
    "m",
    "zz-edit",
    "x-own",
    "ci",
    "bot-a",
    "tools",
    "Upper",
    "under_score",
    "dot.ted",
    "-edge",
    "q00zwk",
    "j00xvp-a",
];
const TEAMS: [&str; 14] =
    ["core", "web", "", "y", "1", "a b", "system:masters", "é", "x\"\"y", "a\\b", "q02zwk", "…", "-", "long"];
const NOTES: [&str; 12] = [
    "plain",
    "",
    "with: colon",
    "# hash",
    "it's",
    "\"\"quoted\"\"",
    "tab\there",
    "trailing ",
    "{brace}",
    "~",
    "- x",
    "é",
];

/// Returns a table of accounts. Most are tame, so that texts are alike.
fn accounts(random: &mut Random, count: usize) -> String {
    let mut text = "name,uid,team,note,limits.pods\n".to_owned();
    for index in 0..count {
        let wild = random.one_in(6);
        let name = match random.below(8) {
            0 if wild => format!("{}{}", random.pick(&NAMES), index),
            1 if wild => (*random.pick(&NAMES)).to_owned(),
            2 if wild => format!("{}{index}", "long-".repeat(random.below(14))),
            3 => format!("zz{index}"),
            4 => format!("aa{index}"),
            _ => format!("user-{index}"),
        };
        let uid = match random.below(12) {
            0 if wild => 0,
            1 if wild => -5,
            2 if wild => 28_658,
            3 if wild => 4_294_967_296,
            4 if wild => 70_001,
            _ => 1000 + index as i64,
        };
        let team = if wild { random.pick(&TEAMS) } else { random.pick(&["core", "web"]) };
        let note = if wild { random.pick(&NOTES) } else { "some note" };
        let pods = if random.one_in(9) { "20" } else { "" };
        text.push_str(&format!("{name},{uid},\"{team}\",\"{note}\",{pods}\n"));
    }
    text
}

/// Templates in place of built-in ones: some only print, some do something with what they print.
const TEMPLATES: [(&str, &str); 22] = [
    ("tenancy/namespace", "{% if name %}\n{% include \"tenancy/plain.yaml.j2\" %}\n{% endif %}\n"),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ labels.name }}\n    b: {{ labels[\"team\"] }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ labels.name|upper }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ \"p-\" ~ labels.name ~ \"-s\" }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ labels.name[0] }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n{% for key in labels %}\n    {{ \"at-\" ~ key }}: {{ loop.index ~ \"x\" }}\n{% endfor %}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  labels: {{ labels }}\n  annotations:\n{% for key, value in annotations|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    length: {{ (annotations|length) ~ \"\" }}\n    of: {{ (name|length) ~ \"\" }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n{% set own = labels.name %}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ own }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n{% with own = labels.name %}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ own }}\n{% endwith %}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  labels: {{ {labels.name: \"x\"} }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ \"core\" if labels.team == \"xcore\" else \"other\" }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  annotations: {{ annotations }}\n  labels:\n{% for key, value in labels|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    a: {{ labels.team if labels.team is defined else \"none\" }}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  labels: {pod-security.kubernetes.io/enforce: {{ labels.team }}}\n",
    ),
    (
        "tenancy/namespace",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n  labels: {{ labels }}\n  annotations:\n{% for key, value in annotations|items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n    text: {{ annotations[\"example.org/uid\"] }}\n    block: |\n      {{ name }}\n",
    ),
    (
        "tenancy/role",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\nrules:\n{% for rule in rules %}\n- verbs: {{ rule.verbs }}\n  apiGroups: {{ rule.apiGroups }}\n  resources: {{ rule.resources }}\n{% if rule.resourceNames %}\n  resourceNames: {{ rule.resourceNames }}\n{% endif %}\n{% endfor %}\n",
    ),
    (
        "tenancy/role",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\nrules:\n{% for rule in rules if not rule.resourceNames is defined or name in rule.resourceNames %}\n- {{ rule }}\n{% endfor %}\n",
    ),
    (
        "tenancy/role",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\nrules:\n{% for rule in rules %}\n- {{ rule if loop.previtem is undefined or loop.previtem.resourceNames[0] < \"t-m\" else rules[0] }}\n{% endfor %}\n",
    ),
    (
        "tenancy/role",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\nrules:\n{% for rule in rules %}\n{% set l = loop %}\n- {{ rule if l.previtem is undefined or l.previtem.resourceNames[0] < \"t-m\" else rules[0] }}\n{% endfor %}\n",
    ),
    (
        "tenancy/rolebinding",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{% include \"_metadata.yaml.j2\" %}\nroleRef: {{ roleRef }}\nsubjects:\n{% for subject in subjects|sort(attribute=\"name\") %}\n- {{ subject }}\n{% endfor %}\n",
    ),
    (
        "tenancy/rolebinding",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{% include \"_metadata.yaml.j2\" %}\nroleRef: {{ roleRef }}\nsubjects: {{ subjects|unique|list }}\n",
    ),
    (
        "tenancy/podsecuritypolicy",
        "{% include \"pod-security-profile/podsecuritypolicy.yaml.j2\" %}\n{# {{ name }} #}\n",
    ),
];

/// Replacements for parts of the tenancy.
const EDITS: [(&str, &str); 18] = [
    ("name: \"t-{name}\"\n      labels", "name: \"{name}\"\n      labels"),
    ("{name: \"t-{name}-own\", role", "{name: \"{name}\", role"),
    ("name: \"m-{name}\"", "name: \"{team}-{name}\""),
    ("name: \"m-{name}\"", "name: \"same\""),
    ("users: [\"{name}\"], groups", "users: [\"{name}\", \"{team}\", ann], groups"),
    ("groups: [\"team:{team}\"]", "groups: [\"{team}\"]"),
    ("groups: [\"team:{team}\"]", "groups: [\"system:authenticated\"]"),
    ("{name: ci, namespace: tools}", "{name: ci, namespace: t-user-7}"),
    ("{name: ci, namespace: tools}", "{name: ci, namespace: \"t-{team}\"}"),
    ("{name: ci, namespace: tools}", "{name: \"{name}\"}"),
    ("{name: ci, namespace: tools}", "{name: \"bot-{team}\", namespace: \"t-{name}\"}"),
    ("clusterRole: view", "clusterRole: \"{team}\""),
    ("clusterRole: view", "clusterRole: missing"),
    ("cpu: \"2\"", "cpu: \"{uid}\""),
    ("fixed: \"yes\"", "fixed: \"{note}\""),
    ("fixed: \"yes\"", "\"key-{team}\": \"x\""),
    (
        "runAsGroup: {rule: MustRunAs, ranges: [{min: \"{uid}\", max: \"{uid}\"}]}",
        "runAsGroup: {rule: MustRunAs, ranges: [{min: \"{uid}\", max: 70000}]}",
    ),
    ("{min: 1, max: 65535}", "{min: 1500, max: \"{uid}\"}"),
];

/// Policies with up to two of the edits.
fn edited(policies: &str, edits: &[(&str, &str)], random: &mut Random) -> String {
    (0..random.below(3)).fold(policies.to_owned(), |policies, _| {
        let (from, to) = random.pick(edits);
        policies.replace(from, to)
    })
}

#[test]
fn random_tenants_are_the_same_checked_by_themselves() {
    let mut counts = Counts::default();
    let seeds = rounds(40, 100);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let policies = edited(TENANCY, &EDITS, &mut random);
        let count = 8 + random.below(24);
        let mut world = world(&policies, &accounts(&mut random, count));
        let plain = "apiVersion: v1\nkind: Namespace\n{% include \"_metadata.yaml.j2\" %}\n";
        for _ in 0..random.below(3) {
            let (name, text) = random.pick(&TEMPLATES);
            world = world.file(&format!("templates/{name}.yaml.j2"), text);
            world = world.file("templates/tenancy/plain.yaml.j2", plain);
        }
        counts += same_every_way(&world, &format!("seed {seed}"));
    }
    println!("{counts:?}");
    assert!(counts.matched > counts.checked, "{counts:?}: nothing was compared");
}

/// Tenants of a cluster that labels their namespaces by what their service accounts may use.
const LABELLED: &str = r#"
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: own}
spec:
  rules:
  - {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [nonroot-v2], verbs: [use]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: accounts.csv}
  variables:
    name: {type: string}
    uid: {type: integer}
    scc: {type: string, optional: true}
    sync: {type: string, optional: true}
    level: {type: string, optional: true}
  class:
    namespace:
      name: "t-{name}"
      labels: {name: "t-{name}", security.openshift.io/scc.podSecurityLabelSync: "{sync}"}
      annotations: {example.org/uid: "{uid}"}
    serviceAccounts: [{name: bot}]
    roles: [{name: own, permissionSet: own}]
    grants:
    - {name: own, role: own, to: {serviceAccounts: [{name: bot}]}}
    - {name: more, clusterRole: "system:openshift:scc:{scc}", to: {serviceAccounts: [{name: bot}]}}
    - {name: view, clusterRole: view, to: {users: ["{name}"]}}
"#;

/// Replacements for parts of the tenancy with labels.
const LABELLED_EDITS: [(&str, &str); 8] = [
    ("name: \"t-{name}\"\n", "name: \"{name}\"\n"),
    (", security.openshift.io/scc.podSecurityLabelSync: \"{sync}\"", ""),
    ("labels: {name", "labels: {pod-security.kubernetes.io/enforce: \"{level}\", name"),
    (
        "example.org/uid: \"{uid}\"",
        "openshift.io/sa.scc.uid-range: \"{uid}/10\", openshift.io/sa.scc.mcs: \"s0:c{uid}\"",
    ),
    ("example.org/uid: \"{uid}\"", "openshift.io/sa.scc.uid-range: \"1000/10\""),
    ("users: [\"{name}\"]", "users: [\"system:serviceaccount:t-{name}:bot\"]"),
    (
        "role: own, to: {serviceAccounts: [{name: bot}]",
        "role: own, to: {users: [\"system:serviceaccount:t-{name}:bot\"]",
    ),
    ("resourceNames: [nonroot-v2]", "resourceNames: [anyuid, \"{scc}\"]"),
];

#[test]
fn labels_of_namespaces_are_the_same_checked_by_themselves() {
    let mut counts = Counts::default();
    for seed in 0..rounds(16, 40) {
        let mut random = Random::new(seed);
        let policies = edited(LABELLED, &LABELLED_EDITS, &mut random);
        let mut rows = "name,uid,scc,sync,level\n".to_owned();
        // Many texts are alike if all namespaces opt in or out, or share a few constraints. A world with an error has no
        // labels, so only every other world has errors.
        let (opts, of, is_sound) = (random.one_in(2), 1 + random.below(3), seed % 2 == 0);
        for index in 0..30 + random.below(30) {
            let wild = random.one_in(5);
            let name = match random.below(4) {
                0 if wild => format!("openshift-{index}"),
                1 if wild && !is_sound => format!("system:serviceaccount:t-x:{index}"),
                2 if wild => format!("kube-{index}"),
                _ => format!("user-{index}"),
            };
            let uid = if wild { random.below(3) } else { 1000 + 10 * (index - random.below(2).min(index)) };
            let scc =
                if wild && !is_sound { "nope" } else { ["anyuid", "privileged", "restricted-v2"][random.below(of)] };
            let sync = if opts || wild { random.pick(&["true", "false", "no"]) } else { "" };
            let level = if wild && !is_sound { "tight" } else { random.pick(&["baseline", "restricted"]) };
            rows.push_str(&format!("{name},{uid},{scc},{sync},{level}\n"));
        }
        let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets:\n  \
                         - {name: okd, platform: openshift, version: \"4.20\"}\n";
        let world = world(&policies, &rows).file("bailiwick.yaml", workspace);
        counts += same_every_way(&world, &format!("seed {seed}"));
    }
    println!("{counts:?}");
    assert!(counts.matched > counts.checked, "{counts:?}: nothing was compared");
}

/// The references of a class are checked once, for an account whose objects are valid.
#[test]
fn an_account_without_errors_reports_the_references_of_a_class() {
    let policies = TENANCY.replace("clusterRole: view", "clusterRole: missing").replace("\"m-{name}\"", "\"m-{note}\"");
    for wrong in [1, 3, 5, 17] {
        let accounts: Vec<(i64, &str)> =
            (0..20).map(|index| (1000 + index, if index < wrong { "a/b" } else { "fine" })).collect();
        // By name, `user-10` comes behind `user-1`.
        let rows = rows(&accounts).replace("user-", "user-0").replace("user-01", "user-1");
        let world = world(&policies, &rows.replace("user-1,", "user-01,"));
        assert!(world.compile().told.contains("there is no ClusterRole `missing`"), "{wrong}");
        same_every_way(&world, &format!("{wrong} at first"));
    }
}

/// The reader limits the length of the copies of aliases.
#[test]
fn a_long_value_may_exceed_the_limit_of_aliases() {
    let class = "    namespace: {name: \"t-{name}\"}\n    roles: [{name: own, permissionSet: own}]\n";
    let long = "x".repeat(1_020);
    let rows = (0..9).map(|index| format!("a{index},{index},{}\n", if index == 8 { &long } else { "n" }));
    let name = "{{ rules[0].resourceNames[0] }}";
    let template = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{{% include \"_metadata.yaml.j2\" %}}\nrules:\n\
         - {{apiGroups: [\"\"], resources: [configmaps], verbs: [get], resourceNames: &names [{}{name}]}}\n\
         {{% for a in range(500) %}}\n\
         - {{apiGroups: [\"\"], resources: [configmaps], verbs: [get], resourceNames: *names}}\n\
         {{% endfor %}}\n",
        format!("{name}, ").repeat(49),
    );
    let world = world_of(class, rows).file("templates/tenancy/role.yaml.j2", &template);
    assert!(world.compile().told.contains("expand to more than 100000 nodes"));
    same_every_way(&world, "aliases");
}

#[test]
fn a_template_that_used_up_its_bounds_fails_for_every_account() {
    let template = "apiVersion: v1\nkind: Namespace\n{% include \"_metadata.yaml.j2\" %}\n\
                    {% if labels.team == \"xweb\" %}\n{% set long = \"x\" * 2000000 %}\n{% endif %}\n";
    let rows = (0..100).map(|index| {
        let team = if index % 2 == 0 && index > 10 { "web" } else { "core" };
        format!("user-{index:03},{},{team},n,\n", 1000 + index)
    });
    let rows: String = rows.collect();
    let world = world(TENANCY, &format!("name,uid,team,note,limits.pods\n{rows}"))
        .file("templates/tenancy/namespace.yaml.j2", template);
    let off = Stats::off();
    // Each thread counts for itself how often a template uses up its bounds.
    let options = |alike| CompileOptions { alike, ..CompileOptions::new(1, &off) };
    let by_itself = world.compile_with(options(false));
    assert!(by_itself.told.contains("this text has more than 1 MiB"), "{}", by_itself.told);
    compare(&world.compile_with(options(true)), &by_itself, "used up");
}
