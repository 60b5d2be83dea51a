//! The map of access: every cell of the matrix is the answer of `can-i`, and has the subjects of `who-can`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use bailiwick::access::ObjectSource;
use bailiwick::access::risk::identity_of_subject;
use bailiwick::access::who_can::Where;
use bailiwick::app::access_map::{AccessCell, AccessMap, AccessMapOptions, AccessQuestion};
use bailiwick::report::access_map::AccessMapForm;
use bailiwick::{LoadedWorld, Options, Workspace, WorldOptions, access_map, map_manifests};
use serde_json::Value;

use crate::random::Random;
use crate::support::repository;

const NAMESPACES: [&str; 4] = ["shop", "bank", "kube-system", "tools"];

const SUBJECTS: [&str; 8] = [
    "{kind: User, name: ada, apiGroup: rbac.authorization.k8s.io}",
    "{kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}",
    "{kind: Group, name: sre, apiGroup: rbac.authorization.k8s.io}",
    "{kind: Group, name: 'system:authenticated', apiGroup: rbac.authorization.k8s.io}",
    "{kind: Group, name: 'system:serviceaccounts', apiGroup: rbac.authorization.k8s.io}",
    "{kind: Group, name: 'system:serviceaccounts:shop', apiGroup: rbac.authorization.k8s.io}",
    "{kind: ServiceAccount, name: web, namespace: shop}",
    "{kind: ServiceAccount, name: job, namespace: bank}",
];

/// The subjects by name.
const NAMES: [&str; 8] = [
    "User/ada",
    "User/bob",
    "Group/sre",
    "Group/system:authenticated",
    "Group/system:serviceaccounts",
    "Group/system:serviceaccounts:shop",
    "ServiceAccount/shop/web",
    "ServiceAccount/bank/job",
];

const RULES: [&str; 10] = [
    "{apiGroups: [''], resources: [pods, secrets], verbs: [get, create]}",
    "{apiGroups: [''], resources: [secrets], verbs: [list]}",
    "{apiGroups: [''], resources: [secrets], verbs: ['*'], resourceNames: [one]}",
    "{apiGroups: ['*'], resources: ['*'], verbs: [patch]}",
    "{apiGroups: [''], resources: ['*/exec', nodes/proxy], verbs: [create]}",
    "{apiGroups: [''], resources: [serviceaccounts/token, persistentvolumes], verbs: [create]}",
    "{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind, escalate]}",
    "{apiGroups: [''], resources: [users], verbs: [impersonate]}",
    "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}",
    "{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}",
];

/// Returns objects of a cluster with random roles and bindings.
fn objects(random: &mut Random) -> String {
    let mut text = String::new();
    for name in NAMESPACES {
        let _ = writeln!(text, "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}");
    }
    for role in 0..4 {
        let rules = [*random.pick(&RULES), *random.pick(&RULES)].join(", ");
        let _ = writeln!(
            text,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: r{role}}}\nrules: [{rules}]"
        );
    }
    for binding in 0..6 {
        let (kind, place) = match random.one_in(4) {
            true => ("ClusterRoleBinding", String::new()),
            false => ("RoleBinding", format!(", namespace: {}", random.pick(&NAMESPACES))),
        };
        let subjects = [*random.pick(&SUBJECTS), *random.pick(&SUBJECTS)].join(", ");
        let role = random.below(4);
        let _ = writeln!(
            text,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: b{binding}{place}}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r{role}}}\nsubjects: [{subjects}]"
        );
    }
    text
}

#[test]
fn each_cell_is_the_answer_of_can_i() {
    let mut random = Random::new(17);
    let (mut compared, mut some) = (0, 0);
    for _ in 0..60 {
        let folder = tempfile::tempdir().expect("a folder");
        let text = objects(&mut random);
        fs::write(folder.path().join("objects.yaml"), &text).expect("a file");
        let options = Options::in_folder(folder.path());
        let world = WorldOptions { from: vec!["objects.yaml".into()], ..WorldOptions::default() };
        let map = map_manifests(&options, &world).expect("a map");
        let loaded = LoadedWorld::from_manifests(&options, &world).expect("a world");
        let target = &map.targets[0];
        let mut named = BTreeSet::new();
        for subject in &target.subjects {
            assert_eq!(subject.cells.len(), map.questions.len());
            for member in map.classes[subject.class].members.iter() {
                assert!(named.insert(member.subject), "{} is in two classes", member.subject);
                let who = identity_of_subject(member.subject).expect("a subject");
                for (question, cell) in map.questions.iter().zip(&subject.cells) {
                    let allows = |namespace| loaded.world.allows(&who, &question.request(namespace));
                    let count = NAMESPACES.iter().filter(|namespace| allows(Some(namespace))).count();
                    let expected = match (allows(None), count, question.cluster_only) {
                        (true, ..) => AccessCell::Everywhere,
                        (false, 0, _) | (false, _, true) => AccessCell::Nowhere,
                        (false, count, false) => AccessCell::Namespaces { count },
                    };
                    assert_eq!(*cell, expected, "{} {question:?}", member.subject);
                    compared += 1;
                    some += usize::from(*cell != AccessCell::Nowhere);
                }
            }
        }
        for (subject, name) in SUBJECTS.iter().zip(NAMES) {
            let is_bound = text.contains(subject);
            assert_eq!(named.iter().any(|known| *known == name), is_bound, "{name}: {text}");
        }
    }
    assert!(compared > 2_000 && some > 400, "{compared} cells, {some} with access");
}

/// The scopes in which subjects are allowed a request: namespaces, or none for the whole cluster.
type Holders = BTreeMap<String, BTreeSet<Option<String>>>;

/// Returns the subjects of the permission of a question, by `who-can`.
fn holders(loaded: &LoadedWorld, question: &AccessQuestion) -> Holders {
    let mut holders = Holders::new();
    let place = if question.cluster_only { Where::AsRequested } else { Where::Everywhere };
    for capable in loaded.world.who_can(&question.request(None), place).capable(&loaded.world) {
        let scope = capable.scope.namespace().map(str::to_owned);
        holders.entry(capable.subject).or_default().insert(scope);
    }
    holders
}

/// Compares each column of the matrix of a target in JSON with `who-can`. Returns the number of cells with access.
fn compare_with_who_can(map: &AccessMap, json: &Value, target: usize, loaded: &LoadedWorld) -> usize {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let mut with_access = 0;
    for (column, question) in map.questions.iter().enumerate() {
        let holders = holders(loaded, question);
        let mut reported = BTreeSet::new();
        for row in list(&json["targets"][target]["subjects"]) {
            let class = row["class"].as_u64().expect("a number") as usize;
            for member in list(&json["classes"][class]["members"]) {
                let name = member["subject"].as_str().expect("a name");
                let groups = identity_of_subject(name).expect("a subject").groups;
                let own = groups.iter().map(|group| format!("Group/{group}")).chain([name.to_owned()]);
                let scopes: BTreeSet<&Option<String>> = own.filter_map(|name| holders.get(&name)).flatten().collect();
                let expected = match scopes.len() {
                    0 => serde_json::json!({"scope": "nowhere"}),
                    _ if scopes.contains(&None) => serde_json::json!({"scope": "everywhere"}),
                    count => serde_json::json!({"scope": "namespaces", "count": count}),
                };
                assert_eq!(row["cells"][column], expected, "{name} {question:?}");
                with_access += usize::from(!scopes.is_empty());
                reported.insert(name.to_owned());
            }
        }
        let bound = loaded.world.bindings().filter(|binding| binding.layer() != ObjectSource::Baseline);
        let bound: Vec<&str> = bound.flat_map(|binding| binding.subjects().map(|subject| subject.name())).collect();
        for holder in holders.keys() {
            let name = holder.rsplit('/').next().expect("a name");
            assert!(reported.contains(holder) || !bound.contains(&name), "{holder} has no row: {question:?}");
        }
    }
    with_access
}

/// Returns the JSON of a map.
fn json(map: &AccessMap) -> Value {
    serde_json::from_str(&AccessMapForm::Json.write(map, None)).expect("JSON")
}

#[test]
fn the_holders_in_json_are_the_holders_of_who_can() {
    let mut random = Random::new(31);
    let mut with_access = 0;
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("objects.yaml"), objects(&mut random)).expect("a file");
        let options = Options::in_folder(folder.path());
        let world = WorldOptions { from: vec!["objects.yaml".into()], ..WorldOptions::default() };
        let map = map_manifests(&options, &world).expect("a map");
        let loaded = LoadedWorld::from_manifests(&options, &world).expect("a world");
        with_access += compare_with_who_can(&map, &json(&map), 0, &loaded);
    }
    assert!(with_access > 300, "{with_access} cells with access");
}

#[test]
fn the_holders_in_the_workspace_of_the_repository_are_the_holders_of_who_can() {
    let workspace = Workspace::open(&Options::in_folder(repository())).expect("a workspace");
    let map = access_map(&workspace, &AccessMapOptions::default()).expect("a map");
    let json = json(&map);
    let mut with_access = 0;
    for (target, access) in map.targets.iter().enumerate() {
        let names = [access.target.clone().expect("a target")];
        let found = workspace.targets(&names).expect("a target")[0];
        let loaded = LoadedWorld::from_target(&workspace, found, &WorldOptions::default()).expect("a world");
        with_access += compare_with_who_can(&map, &json, target, &loaded);
    }
    assert!(with_access > 100 && map.targets.len() > 3, "{with_access} cells with access");
}

/// A profile whose binding has no `Deny` limits no pod.
#[test]
fn the_map_has_the_profiles_that_reject_pods() {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
    let profiles = |settings: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("policies")).expect("a folder");
        let workspace = format!(
            "{head} Workspace\nmetadata: {{name: w}}\nspec:\n  targets: [{{name: t, version: \"1.37\"{settings}}}]\n"
        );
        let policies = format!(
            "{head} PodSecurityProfile\nmetadata: {{name: web}}\nspec:\n  runAsUser: {{rule: RunAsAny}}\n  fsGroup: {{rule: RunAsAny}}\n  \
             supplementalGroups: {{rule: RunAsAny}}\n  seLinux: {{rule: RunAsAny}}\n---\n\
             {head} NamespaceSet\nmetadata: {{name: namespaces}}\nspec:\n  namespaces: [{{name: shop, podSecurity: {{profile: web}}}}]\n"
        );
        fs::write(folder.path().join("bailiwick.yaml"), workspace).expect("a file");
        fs::write(folder.path().join("policies/a.yaml"), policies).expect("a file");
        let workspace = Workspace::open(&Options::in_folder(folder.path())).expect("a workspace");
        let map = access_map(&workspace, &AccessMapOptions::default()).expect("a map");
        let group = map.targets[0].namespaces.iter().find(|group| group.names == ["shop".into()]).expect("a group");
        group.profiles.clone()
    };
    assert_eq!(profiles(""), ["web"]);
    assert_eq!(profiles(", podSecurity: {validationActions: [Audit, Deny]}"), ["web"]);
    assert_eq!(profiles(", podSecurity: {validationActions: [Audit, Warn]}"), [""; 0]);
}
