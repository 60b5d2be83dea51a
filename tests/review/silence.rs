//! Changes that a review must not pass over in silence.

use std::fs;
use std::path::Path;

use bailiwick::app::review::{ChangeReview, PathChangeKind, ReviewBase, ReviewOptions, Verdict};
use bailiwick::{Options, Workspace};

const HEAD: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind:";

pub(super) fn workspace(targets: &str) -> String {
    format!("{HEAD} Workspace\nmetadata: {{name: w}}\nspec:\n  targets: [{targets}]\n")
}

fn manifests(folder: &Path) -> String {
    fs::create_dir_all(folder.join("policies/objects")).expect("a folder");
    format!(
        "{HEAD} Manifests\nmetadata: {{name: m, allow: [cluster-admin-binding]}}\nspec: {{files: [objects/*.yaml], emit: false}}\n"
    )
}

/// Reviews two states, each given as paths and texts.
pub(super) fn review(base: &[(&str, &str)], head: &[(&str, &str)]) -> ChangeReview {
    let folder = tempfile::tempdir().expect("a folder");
    for (side, files) in [("base", base), ("head", head)] {
        let root = folder.path().join(side);
        fs::create_dir_all(root.join("policies")).expect("a folder");
        fs::write(root.join("policies/manifests.yaml"), manifests(&root)).expect("written");
        for (path, text) in files {
            fs::write(root.join(path), text).expect("written");
        }
    }
    let opened = Workspace::open(&Options::in_folder(folder.path().join("head"))).expect("a workspace");
    let options = ReviewOptions { base: ReviewBase::Folder(folder.path().join("base")), ..ReviewOptions::default() };
    bailiwick::review(&opened, &options).expect("a review")
}

pub(super) const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

/// A policy of the inputs with such a name as the policies of profiles have.
#[test]
fn an_admission_policy_with_the_name_of_a_profile_is_compared() {
    let policy = |expression: &str| {
        format!(
            "{NAMESPACE}---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: pod-security-profile-x}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: \"{expression}\"}}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: x}}\nspec: {{policyName: pod-security-profile-x, validationActions: [Deny]}}\n"
        )
    };
    let settings = workspace("{name: t, version: \"1.34\"}");
    let files = |policy: &'static str| vec![("bailiwick.yaml", ""), ("policies/objects/a.yaml", policy)];
    let (strict, open) = (policy("false").leak(), policy("true").leak());
    let with = |policy| {
        let mut files = files(policy);
        files[0].1 = &settings;
        files
    };
    let same = review(&with(strict), &with(strict));
    assert_eq!(same.verdict, Some(Verdict::NoChange), "{}", same.line);
    let other = review(&with(strict), &with(open));
    assert_eq!(other.verdict, Some(Verdict::NeedsApproval), "{}", other.line);
}

/// A target that only the reviewed state has.
#[test]
fn the_paths_of_a_new_target_are_new() {
    let objects = format!(
        "{NAMESPACE}---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: operator, namespace: shop}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: operator}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n\
         subjects: [{{kind: ServiceAccount, name: operator, namespace: shop}}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: runner, namespace: shop}}\n\
         rules: [{{apiGroups: [\"\"], resources: [pods], verbs: [create]}}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: runner, namespace: shop}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}}\n\
         subjects: [{{kind: Group, apiGroup: rbac.authorization.k8s.io, name: runners}}]\n"
    );
    let (one, two) = (
        workspace("{name: a, version: \"1.34\"}"),
        workspace("{name: a, version: \"1.34\"}, {name: b, version: \"1.34\"}"),
    );
    let files = |settings| vec![("bailiwick.yaml", settings), ("policies/objects/a.yaml", objects.as_str())];
    let review = review(&files(one.as_str()), &files(two.as_str()));
    let of_runners = review.paths.iter().find(|path| {
        path.change == PathChangeKind::New
            && path.reaches == "cluster-admin"
            && review.classes[path.class].members.iter().any(|member| member.subject == "Group/runners")
    });
    assert_eq!(of_runners.map(|path| path.targets.clone()), Some(vec!["b".to_owned()]), "{}", review.line);
}

/// Objects whose effect is not compared.
#[test]
fn kinds_that_are_not_compared_are_named() {
    let set = |pods: u32| {
        format!(
            "{HEAD} NamespaceSet\nmetadata: {{name: shops}}\nspec:\n  namespaces: [{{name: shop}}]\n  resourceQuota: {{name: count, hard: {{pods: {pods}}}}}\n"
        )
    };
    let settings = workspace("{name: t, version: \"1.34\"}");
    let (many, few) = (set(40), set(1));
    let files = |set| {
        vec![
            ("bailiwick.yaml", settings.as_str()),
            ("policies/objects/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"),
            ("policies/set.yaml", set),
        ]
    };
    let review = review(&files(many.as_str()), &files(few.as_str()));
    assert_eq!(review.verdict, Some(Verdict::NoChange), "{}", review.line);
    let other = review.compared.iter().find(|compared| compared.section == "other objects").expect("the section");
    assert!(!other.comparable);
    assert_eq!(other.why, ["ResourceQuota"]);
}

/// A binding that names an account for the first time, with a role of the account's group.
#[test]
fn a_binding_of_a_role_of_the_group_opens_no_path() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: escalates}\n\
                rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], verbs: ['*']}]\n---\n\
                apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\n\
                roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: escalates}\n\
                subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccounts:shop'}]\n";
    let binding = |role: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: one}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\n\
             subjects: [{{kind: ServiceAccount, namespace: shop, name: web}}]\n"
        )
    };
    let settings = workspace("{name: t, version: \"1.34\"}");
    let files = |objects| vec![("bailiwick.yaml", settings.as_str()), ("policies/objects/a.yaml", objects)];
    let (before, after) =
        (format!("{NAMESPACE}---\n{role}"), format!("{NAMESPACE}---\n{role}{}", binding("escalates")));
    for [base, head] in [[&before, &after], [&after, &before]] {
        let review = review(&files(base.as_str()), &files(head.as_str()));
        assert_eq!((review.verdict, review.paths.len()), (Some(Verdict::NoChange), 0), "{}", review.line);
    }
    let admin = format!("{NAMESPACE}---\n{role}{}", binding("cluster-admin"));
    let review = review(&files(before.as_str()), &files(admin.as_str()));
    assert_eq!(review.verdict, Some(Verdict::NeedsApproval), "{}", review.line);
}

/// A grant of a Tenancy that loses its last day, or gets a later day.
#[test]
fn a_grant_of_a_tenancy_that_lasts_longer_is_reported() {
    let settings = workspace("{name: t, version: \"1.34\"}");
    let other = ("policies/objects/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n");
    let policy = |days: [&str; 2]| {
        let grant = |name: &str, expires: &str| {
            format!("    - {{name: {name}, clusterRole: admin, to: {{users: [\"{name}-{{name}}\"]}}{expires}}}\n")
        };
        let grants = grant("guests", days[0]) + &grant("others", days[1]);
        format!(
            "{HEAD} Tenancy\nmetadata: {{name: teams}}\nspec:\n  accounts: {{inline: [{{name: a, until: \"2030-01-31\"}}]}}\n  \
             variables: {{name: {{type: string}}, until: {{type: date}}}}\n  class:\n    \
             namespace: {{name: \"team-{{name}}\"}}\n    grants:\n{grants}"
        )
    };
    let lifetimes = |old: [&str; 2], new: [&str; 2]| {
        let (old, new) = (policy(old), policy(new));
        let files = |text| vec![("bailiwick.yaml", settings.as_str()), ("policies/teams.yaml", text), other];
        let review = review(&files(old.as_str()), &files(new.as_str()));
        let changes = review.lifetimes.iter().map(|change| format!("{} {:?}", change.grant, change.direction));
        (changes.collect::<Vec<_>>(), review.verdict == Some(Verdict::NoChange))
    };
    let (early, late, of_account) =
        (", expires: \"2030-01-01\"", ", expires: \"2031-01-01\"", ", expires: \"{until}\"");
    assert_eq!(lifetimes([early, late], [early, late]), (Vec::new(), true));
    assert_eq!(lifetimes([early, late], [late, late]), (vec!["teams/guests Longer".to_owned()], false));
    assert_eq!(lifetimes([early, late], ["", late]), (vec!["teams/guests Removed".to_owned()], false));
    assert_eq!(lifetimes([of_account, late], ["", late]), (vec!["teams/guests/a Removed".to_owned()], false));
}

/// Two grants of one name, each on its own target: one of them lasts longer.
#[test]
fn a_grant_that_shares_its_name_and_lasts_longer_is_reported() {
    let settings = workspace("{name: a, version: \"1.34\"}, {name: b, version: \"1.34\"}");
    let policy = |days: [&str; 2]| {
        let grant = |target: &str, day: &str| {
            format!(
                "{HEAD} Grant\nmetadata: {{name: guests}}\nspec: {{targets: [{target}], to: {{users: [ann]}}, \
                 clusterRoles: [admin], namespaces: [shop], expires: \"{day}\"}}\n"
            )
        };
        format!("{}---\n{}", grant("a", days[0]), grant("b", days[1]))
    };
    let other = ("policies/objects/a.yaml", NAMESPACE);
    let lifetimes = |old: [&str; 2], new: [&str; 2]| {
        let (old, new) = (policy(old), policy(new));
        let files = |text| vec![("bailiwick.yaml", settings.as_str()), ("policies/guests.yaml", text), other];
        let review = review(&files(old.as_str()), &files(new.as_str()));
        review.lifetimes.iter().map(|change| format!("{} {:?}", change.grant, change.direction)).collect::<Vec<_>>()
    };
    let (early, late) = ("2030-01-01", "2031-01-01");
    assert_eq!(lifetimes([early, late], [early, late]), Vec::<String>::new());
    assert_eq!(lifetimes([early, early], [late, early]), ["guests Longer"]);
    assert_eq!(lifetimes([early, late], [early, early]), ["guests Shorter"]);
    assert_eq!(lifetimes([early, late], [late, early]), ["guests Longer", "guests Shorter"]);
}

/// Two tests of one name, each on its own target: the reviewed change removes an expectation of one.
#[test]
fn an_expectation_removed_from_one_of_two_tests_of_a_name_is_reported() {
    let settings = workspace("{name: a, version: \"1.34\"}, {name: b, version: \"1.34\"}");
    let policy = |of_a: &str| {
        let test = |target: &str, what: &str| {
            format!(
                "{HEAD} AccessTest\nmetadata: {{name: limits}}\nspec:\n  targets: [{target}]\n  who: {{groups: [devs]}}\n  \
                 mustNot: [{{verbs: [get], resources: [{what}], namespaces: [shop]}}]\n"
            )
        };
        format!("{}---\n{}", test("a", of_a), test("b", "secrets"))
    };
    let (before, after) = (policy("secrets"), policy("pods"));
    let other = ("policies/objects/a.yaml", NAMESPACE);
    let files = |text| vec![("bailiwick.yaml", settings.as_str()), ("policies/limits.yaml", text), other];
    let (before, after) = (files(before.as_str()), files(after.as_str()));
    assert_eq!(review(&before, &before).tests.removed.len(), 0);
    assert_eq!(review(&before, &after).tests.removed.len(), 1);
}
