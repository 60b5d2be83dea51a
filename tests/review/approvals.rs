//! ApprovalPolicies of the earlier state on targets that a change adds or renames, and on disarmed tests.

use bailiwick::app::review::{ChangeReview, Verdict};

use super::silence::{review, workspace};

const HEAD: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind:";

/// Returns an ApprovalPolicy with one rule, and further keys of its `spec`.
fn approvals(when: &str, keys: &str) -> String {
    let rule = format!("{{when: {{{when}}}, needs: [\"@example/security\"]}}");
    format!("{HEAD} ApprovalPolicy\nmetadata: {{name: default}}\nspec: {{rules: [{rule}]{keys}}}\n")
}

/// Returns a binding of a group to `cluster-admin`.
fn admin(group: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {group}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n\
         subjects: [{{kind: Group, apiGroup: rbac.authorization.k8s.io, name: {group}}}]\n"
    )
}

/// Returns the names of targets of one version.
fn targets(names: &[&str]) -> String {
    let targets: Vec<String> = names.iter().map(|name| format!("{{name: {name}, version: \"1.34\"}}")).collect();
    workspace(&targets.join(", "))
}

/// Reviews other targets and a new cluster administrator under a policy with these `targets`.
fn on_targets(keys: &str, before: &[&str], after: &[&str], allowed: &str) -> ChangeReview {
    let rule = approvals("becomes: [cluster-admin]", keys);
    let changed = approvals("becomes: [cluster-admin]", allowed);
    let (old, new) = (targets(before), targets(after));
    let (one, two) = (admin("admins"), format!("{}---\n{}", admin("admins"), admin("ops")));
    let files = |settings, objects, rule| {
        [("bailiwick.yaml", settings), ("policies/objects/a.yaml", objects), ("policies/approvals.yaml", rule)]
    };
    review(&files(&*old, &*one, &*rule), &files(&*new, &*two, &*changed))
}

fn assert_is_needed(review: &ChangeReview) {
    assert_eq!((review.verdict, review.exit), (Some(Verdict::NeedsApproval), 1), "{}", review.line);
    assert_eq!(review.approvals.missing, ["@example/security"], "{}", review.line);
}

#[test]
fn rules_of_all_targets_are_rules_of_new_and_renamed_targets() {
    for after in [&["production-2"][..], &["production", "production-2"]] {
        assert_is_needed(&on_targets("", &["production"], after, ""));
    }
}

#[test]
fn rules_of_matching_targets_are_rules_of_new_targets_that_match() {
    let keys = ", targets: [\"prod*\"]";
    assert_is_needed(&on_targets(keys, &["prod", "test"], &["prod-2", "prod", "test"], keys));
    // A target that is gone can be renamed.
    assert_is_needed(&on_targets(keys, &["prod", "test"], &["live", "test"], ", targets: [test]"));
}

#[test]
fn rules_of_some_targets_are_no_rules_of_others() {
    let keys = ", targets: [prod]";
    let rule = approvals("becomes: [cluster-admin]", keys);
    let objects = admin("admins");
    let (old, new) = (targets(&["prod"]), targets(&["prod", "live"]));
    let files = |settings| {
        [("bailiwick.yaml", settings), ("policies/objects/a.yaml", &*objects), ("policies/approvals.yaml", &*rule)]
    };
    let review = review(&files(&*old), &files(&*new));
    assert_eq!((review.verdict, review.exit), (Some(Verdict::WithinLimits), 0), "{}", review.line);
}
