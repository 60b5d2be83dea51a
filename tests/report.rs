//! The map of access: every cell of the matrix is the answer of `can-i`, on random worlds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use bailiwick::access::risk::identity_of_subject;
use bailiwick::app::access_map::AccessCell;
use bailiwick::{LoadedWorld, Options, WorldOptions, map_manifests};

use crate::random::Random;

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
            for member in &map.classes[subject.class].members {
                assert!(named.insert(&member.subject), "{} is in two classes", member.subject);
                let who = identity_of_subject(&member.subject).expect("a subject");
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
