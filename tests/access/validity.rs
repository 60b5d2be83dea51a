//! The section `validation` of `semantics.yaml`: one manifest for each row, checked by the validate stage.

use super::semantics::vectors;
use super::{rows, text};
use bailiwick::diag::{FileId, Sink};
use bailiwick::k8s::schemas;
use bailiwick::k8s::validation;
use bailiwick::yaml;

/// One manifest for each row, in order; a row that names two mistakes has one manifest for each.
const MANIFESTS: &[(&str, &str)] = &[
    ("VAL-01", "kind: Role\nmetadata: {name: r, namespace: n1}\nrules: [{nonResourceURLs: [/healthz], verbs: [get]}]"),
    (
        "VAL-02",
        "kind: ClusterRole\nmetadata: {name: r}\n\
         rules: [{apiGroups: [\"\"], resources: [pods], nonResourceURLs: [/healthz], verbs: [get]}]",
    ),
    ("VAL-03", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [\"\"], resources: [pods]}]"),
    ("VAL-04", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{resources: [pods], verbs: [get]}]"),
    ("VAL-04", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [], resources: [pods], verbs: [get]}]"),
    ("VAL-04", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [\"\"], verbs: [get]}]"),
    ("VAL-05", "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}"),
    ("VAL-06", "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}"),
    (
        "VAL-07",
        "kind: RoleBinding\nmetadata: {name: b, namespace: n1}\nroleRef: {kind: Role, name: r}\n\
         subjects: [{kind: ServiceAccount, apiGroup: rbac.authorization.k8s.io, name: s, namespace: n1}]",
    ),
    (
        "VAL-08",
        "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\n\
         subjects: [{kind: ServiceAccount, name: s}]",
    ),
    (
        "VAL-09",
        "kind: ClusterRoleBinding\nmetadata: {name: b}\n\
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects: [{kind: User, name: u}]",
    ),
    (
        "VAL-10",
        "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\n\
         subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}]",
    ),
    (
        "VAL-11",
        "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\n\
         subjects: [{kind: Robot, name: u}]",
    ),
    (
        "VAL-12",
        "kind: RoleBinding\nmetadata: {name: b, namespace: n1}\nroleRef: {kind: ClusterRole, name: r}\n\
         subjects: [{kind: Group, name: \"system:serviceaccounts\", namespace: n1}]",
    ),
    ("VAL-13", "kind: ClusterRole\nmetadata: {name: r}\naggregationRule: {}"),
    ("VAL-13", "kind: ClusterRole\nmetadata: {name: r}\naggregationRule: {clusterRoleSelectors: []}"),
    (
        "VAL-14",
        "kind: Role\nmetadata: {name: r, namespace: n1}\n\
         aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}",
    ),
    ("VAL-15", "kind: Role\nmetadata: {name: \"system:a/b\", namespace: n1}\nrules: []"),
    (
        "VAL-16",
        "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [no.such], resources: [Things], verbs: [frob]}]",
    ),
];

#[test]
fn every_stated_object_is_accepted_or_refused_as_stated() {
    let vectors = vectors();
    let mut checked = 0;
    for row in rows(&vectors, "validation") {
        let own = MANIFESTS.iter().filter(|(id, _)| *id == text(row, "id"));
        for (id, manifest) in own {
            let problems = problems(&format!("apiVersion: rbac.authorization.k8s.io/v1\n{manifest}\n"));
            // Two problems would be one too many: the second could hide that the first is not found.
            let expected = usize::from(row["ok"] == false);
            assert_eq!(problems.len(), expected, "{id}: {problems:?}\n{manifest}");
            checked += 1;
        }
        assert!(MANIFESTS.iter().any(|(id, _)| *id == text(row, "id")), "{row}");
    }
    assert_eq!(checked, MANIFESTS.len());
}

/// Returns the problems of a manifest by the schema of its kind and its rules.
fn problems(manifest: &str) -> Vec<String> {
    let mut sink = Sink::new();
    let tree = yaml::read(manifest, FileId::default(), &mut sink);
    assert!(sink.is_empty(), "{manifest}");
    let root = tree.document(0).expect("a document");
    let word = |key: &str| root.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let schema = schemas::schema_of(word("apiVersion"), word("kind")).expect("a known kind");
    let mut errors = Vec::new();
    validation::check(root, None, 36, &mut errors);
    let shape = schema.problems(root).into_iter().map(|problem| format!("{:?} at {}", problem.kind, problem.path));
    shape.chain(errors.into_iter().map(|error| error.message)).collect()
}
