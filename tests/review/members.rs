//! Changes of the members of groups: a user with another group has other access.

use bailiwick::app::review::{ChangeReview, Direction, EffectChange, PodChangeKind, Verdict};

use super::silence::{NAMESPACE, review, workspace};

const OPENSHIFT: &str = "{name: okd, platform: openshift, version: \"4.20\", features: {podSecurityLabelSync: none}}";

const BINDING: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: sre}\n\
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n\
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: sre}]\n";

fn group_set(members: &str) -> String {
    format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: GroupSet\nmetadata: {{name: g}}\nspec: {{groups: [{{name: sre, members: [{members}]}}]}}\n"
    )
}

/// Reviews two policies beside objects that do not change.
fn reviewed(target: &str, objects: &str, policies: [&str; 2]) -> ChangeReview {
    let (settings, objects) = (workspace(target), format!("{NAMESPACE}---\n{objects}"));
    let [base, head] = policies.map(|policy| {
        [("bailiwick.yaml", &*settings), ("policies/objects/a.yaml", &*objects), ("policies/groups.yaml", policy)]
    });
    review(&base, &head)
}

/// Returns the subjects that gain and lose.
fn effects(review: &ChangeReview) -> Vec<(EffectChange, &str)> {
    let members = |class: usize| review.classes[class].members.iter().map(|member| member.subject);
    review.effects.iter().flat_map(|effect| members(effect.class).map(|member| (effect.change, member))).collect()
}

#[test]
fn a_new_member_gains_the_access_of_the_group() {
    for target in [OPENSHIFT, "{name: t, version: \"1.34\"}"] {
        let [one, two] = ["ann", "ann, mallory"].map(group_set);
        let joined = reviewed(target, BINDING, [&one, &two]);
        assert_eq!(effects(&joined), [(EffectChange::Gained, "User/mallory")], "{}", joined.line);
        assert_eq!(joined.verdict, Some(Verdict::NeedsApproval), "{}", joined.line);
        assert!(joined.line.contains("User/mallory becomes cluster-admin"), "{}", joined.line);
        let left = reviewed(target, BINDING, [&two, &one]);
        assert_eq!(effects(&left), [(EffectChange::Lost, "User/mallory")], "{}", left.line);
        assert_eq!(left.verdict, Some(Verdict::OnlyLess), "{}", left.line);
        let same = reviewed(target, BINDING, [&two, &group_set("mallory, ann")]);
        assert_eq!(same.verdict, Some(Verdict::NoChange), "{}", same.line);
    }
}

#[test]
fn members_of_group_objects_are_compared() {
    let set = group_set("ann");
    let group = |users: &str| {
        format!(
            "{NAMESPACE}---\n{BINDING}---\napiVersion: user.openshift.io/v1\nkind: Group\nmetadata: {{name: other}}\nusers: [{users}]\n"
        )
    };
    let settings = workspace(OPENSHIFT);
    let [old, new] = ["ann", "ann, mallory"].map(|users| group(users).replace("name: sre}]", "name: other}]"));
    let with = |objects| {
        [("bailiwick.yaml", &*settings), ("policies/objects/a.yaml", objects), ("policies/groups.yaml", &*set)]
    };
    let joined = review(&with(&old), &with(&new));
    assert_eq!(effects(&joined), [(EffectChange::Gained, "User/mallory")], "{}", joined.line);
}

/// A Group object of a Tenancy is no list of members that is known before the compilation.
#[test]
fn members_of_other_objects_cannot_be_compared() {
    let tenancy = |users: &str| {
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {{name: teams}}\nspec:\n  accounts: {{inline: [{{name: team}}]}}\n  \
             variables: {{name: {{type: string}}}}\n  class:\n    namespace: {{name: \"{{name}}\"}}\n    objects:\n    - \
             object: {{apiVersion: user.openshift.io/v1, kind: Group, metadata: {{name: sre}}, users: [{users}]}}\n      scope: Cluster\n"
        )
    };
    let [one, two] = ["ann", "ann, mallory"].map(tenancy);
    let review = reviewed(OPENSHIFT, BINDING, [&one, &two]);
    assert_eq!(review.verdict, Some(Verdict::CannotTell), "{}", review.line);
    assert!(review.line.contains("the members of Group/sre"), "{}", review.line);
}

#[test]
fn a_new_member_may_use_the_constraints_of_the_group() {
    let constraints = "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: open}\nallowPrivilegedContainer: true\n\
        allowHostDirVolumePlugin: false\nallowHostIPC: false\nallowHostNetwork: false\nallowHostPID: false\nallowHostPorts: false\n\
        readOnlyRootFilesystem: false\nvolumes: [secret]\nrunAsUser: {type: RunAsAny}\nseLinuxContext: {type: RunAsAny}\nusers: []\ngroups: [sre]\n";
    let [one, two] = ["ann", "ann, mallory"].map(group_set);
    let joined = reviewed(OPENSHIFT, constraints, [&one, &two]);
    let changes: Vec<_> = joined.pods.iter().map(|change| (change.kind, change.direction)).collect();
    assert_eq!(changes, [(PodChangeKind::Scc, Direction::Wider)], "{}", joined.line);
}

/// Policies that read the groups of a user are not evaluated for each user.
#[test]
fn admission_policies_that_read_groups_cannot_be_compared() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n  \
        matchConstraints: {resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  \
        validations: [{expression: \"'sre' in request.userInfo.groups\"}]\n";
    let [one, two] = ["ann", "ann, mallory"].map(group_set);
    let joined = reviewed("{name: t, version: \"1.34\"}", policy, [&one, &two]);
    assert_eq!(joined.verdict, Some(Verdict::CannotTell), "{}", joined.line);
}

/// The bindings of an attacker have a limited number of members.
#[test]
fn too_many_members_cannot_be_compared() {
    let bindings: Vec<String> =
        (0..500).map(|number| BINDING.replace("name: sre}\n", &format!("name: sre-{number}}}\n"))).collect();
    let users: Vec<String> = (0..1_000).map(|number| format!("u{number}")).collect();
    let (none, all) = (group_set("ann"), group_set(&users.join(", ")));
    let joined = reviewed(OPENSHIFT, &bindings.join("---\n"), [&none, &all]);
    assert_eq!(joined.verdict, Some(Verdict::CannotTell), "{}", joined.line);
}
