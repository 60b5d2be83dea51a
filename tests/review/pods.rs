//! Changes of the admission of pods, each found by the proof on random pairs of worlds.

use bailiwick::app::review::{ChangeReview, Direction, PodChangeKind, Verdict};

use super::silence::{NAMESPACE, review, workspace};

/// Reviews two states of the objects of a target.
fn reviewed(targets: [&str; 2], objects: [&str; 2]) -> ChangeReview {
    let [old, new] = targets.map(workspace);
    let [before, after] = objects.map(|objects| format!("{NAMESPACE}---\n{objects}"));
    review(
        &[("bailiwick.yaml", &old), ("policies/objects/a.yaml", &before)],
        &[("bailiwick.yaml", &new), ("policies/objects/a.yaml", &after)],
    )
}

/// Returns the kinds and directions of the changes of pods.
fn changes(review: &ChangeReview) -> Vec<(PodChangeKind, Direction)> {
    review.pods.iter().map(|change| (change.kind, change.direction)).collect()
}

/// Newer checks of a level can admit more, such as further kernel parameters.
#[test]
fn newer_checks_of_a_level_are_compared_by_what_they_admit() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {pod-security.kubernetes.io/enforce: baseline}}\n";
    let between = |old: u32, new: u32| {
        let [old, new] = [old, new].map(|minor| format!("{{name: t, version: \"1.{minor}\"}}"));
        changes(&reviewed([&old, &new], [namespace; 2]))
    };
    assert_eq!(between(31, 32), [(PodChangeKind::Level, Direction::Wider)]);
    assert_eq!(between(33, 34), [(PodChangeKind::Level, Direction::Narrower)]);
    assert_eq!(between(29, 30), []);
}

const GRANT: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: use}\n\
    rules: [{apiGroups: [GROUP], resources: [RESOURCE], verbs: [use], resourceNames: [open]}]\n---\n\
    apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: use, namespace: shop}\n\
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use}\n\
    subjects: [{kind: ServiceAccount, name: default, namespace: shop}]\n";

/// A policy that some account may use before it exists.
#[test]
fn a_new_policy_with_users_admits_more() {
    let target = "{name: t, version: \"1.24\"}";
    let grant = GRANT.replace("GROUP", "policy").replace("RESOURCE", "podsecuritypolicies");
    let policy = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: open}\nspec:\n  privileged: true\n  \
        seLinux: {rule: RunAsAny}\n  runAsUser: {rule: RunAsAny}\n  fsGroup: {rule: RunAsAny}\n  supplementalGroups: {rule: RunAsAny}\n";
    let with = format!("{grant}---\n{policy}");
    let first = reviewed([target; 2], [&grant, &with]);
    assert_eq!(changes(&first), [(PodChangeKind::Psp, Direction::Both)], "{}", first.line);
    let other = policy.replace("name: open", "name: other");
    let (grant, with) = (format!("{grant}---\n{other}"), format!("{with}---\n{other}"));
    let come = reviewed([target; 2], [&grant, &with]);
    assert_eq!(changes(&come), [(PodChangeKind::Psp, Direction::Wider)], "{}", come.line);
    let gone = reviewed([target; 2], [&with, &grant]);
    assert_eq!(changes(&gone), [(PodChangeKind::Psp, Direction::Narrower)], "{}", gone.line);
}

/// New and removed constraints, and constraints without their last user.
#[test]
fn constraints_that_come_and_go_are_compared() {
    // The label synchronization would change the level, too.
    let target = "{name: okd, platform: openshift, version: \"4.20\", features: {podSecurityLabelSync: none}}";
    let constraints = |more: &str| {
        format!(
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {{name: open}}\nallowPrivilegedContainer: true\n\
             allowHostDirVolumePlugin: false\nallowHostIPC: false\nallowHostNetwork: false\nallowHostPID: false\nallowHostPorts: false\n\
             readOnlyRootFilesystem: false\nvolumes: [secret, configMap]\nrunAsUser: {{type: RunAsAny}}\nseLinuxContext: {{type: RunAsAny}}\n{more}"
        )
    };
    let used = constraints("users: [\"system:serviceaccount:shop:default\"]\ngroups: []\n");
    let unused = constraints("users: []\ngroups: []\n");
    let between = |old: &str, new: &str| changes(&reviewed([target; 2], [old, new]));
    assert_eq!(between("", &used), [(PodChangeKind::Scc, Direction::Wider)]);
    assert_eq!(between(&used, ""), [(PodChangeKind::Scc, Direction::Narrower)]);
    assert_eq!(between(&used, &unused), [(PodChangeKind::Scc, Direction::Narrower)]);
    let grant = GRANT.replace("GROUP", "security.openshift.io").replace("RESOURCE", "securitycontextconstraints");
    let granted = format!("{grant}---\n{unused}");
    assert_eq!(between(&grant, &granted), [(PodChangeKind::Scc, Direction::Wider)]);
    // The order of volumes decides nothing.
    let other = used.replace("[secret, configMap]", "[configMap, secret]");
    assert_eq!(between(&used, &other), []);
}

/// Admission policies are compared as the API server stores and uses them.
#[test]
fn the_form_of_an_admission_policy_is_no_change() {
    let target = "{name: t, version: \"1.34\"}";
    let policy = |form: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p{form}}}\nspec:\n  \
             matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
             validations: [{{expression: \"false\"}}]\n"
        )
    };
    let binding = "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n\
                   spec: {policyName: p, validationActions: [Deny]}\n";
    let plain = policy("") + binding;
    let spelled = policy(", labels: {a: b}").replace("spec:\n", "spec:\n  failurePolicy: Fail\n") + binding;
    let between = |old: &str, new: &str| {
        let review = reviewed([target; 2], [old, new]);
        (review.verdict == Some(Verdict::NoChange), changes(&review))
    };
    assert_eq!(between(&plain, &spelled), (true, vec![]));
    // A policy without a binding decides nothing.
    assert_eq!(between("", &policy("")), (true, vec![]));
    let come = vec![(PodChangeKind::Policy, Direction::Narrower); 2];
    assert_eq!(between("", &plain), (false, come));
    let ignoring = plain.replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    assert_eq!(between(&plain, &ignoring), (false, vec![(PodChangeKind::Policy, Direction::Both)]));
}

/// A policy with a selector of a label of namespaces.
#[test]
fn a_label_that_a_policy_selects_is_compared() {
    let target = "{name: t, version: \"1.34\"}";
    let objects = |label: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: b, labels: {{{label}}}}}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  \
             matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
             validations: [{{expression: \"false\"}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
             spec: {{policyName: p, validationActions: [Deny], matchResources: {{namespaceSelector: {{matchLabels: {{strict: \"1\"}}}}}}}}\n"
        )
    };
    let between = |old: &str, new: &str| reviewed([target; 2], [&objects(old), &objects(new)]);
    let removed = between("strict: \"1\"", "");
    assert_eq!(changes(&removed), [(PodChangeKind::Policy, Direction::Wider)]);
    assert_eq!(removed.pods[0].namespaces, ["b"]);
    assert_eq!(changes(&between("", "strict: \"1\"")), [(PodChangeKind::Policy, Direction::Narrower)]);
    assert_eq!(changes(&between("strict: \"1\"", "strict: \"1\", other: x")), []);
}
