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

/// Returns a test of `dev` with an expectation and these `targets`.
fn test(expectation: &str, keys: &str) -> String {
    format!("{HEAD} AccessTest\nmetadata: {{name: t}}\nspec: {{who: {{groups: [dev]}}, {expectation}{keys}}}\n")
}

/// Returns a policy by which a group has a role in the whole cluster of `production`.
fn grant(group: &str, role: &str) -> String {
    format!(
        "{HEAD} Grant\nmetadata: {{name: g, allow: [baseline-role-binding]}}\n\
         spec: {{to: {{groups: [{group}]}}, clusterRoles: [{role}], clusterWide: true, targets: [production]}}\n"
    )
}

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

/// Reviews other policies and objects on two targets, under an ApprovalPolicy with one rule.
fn of_policies(base: [&str; 2], head: [&str; 2], when: &str) -> ChangeReview {
    let (settings, rule) = (targets(&["production", "staging"]), approvals(when, ""));
    let files = |[policies, objects]: [&'static str; 2]| {
        [
            ("bailiwick.yaml", &*settings),
            ("policies/approvals.yaml", &*rule),
            ("policies/policies.yaml", policies),
            ("policies/objects/a.yaml", objects),
        ]
    };
    let kept = |texts: [&str; 2]| texts.map(|text| &*text.to_owned().leak());
    review(&files(kept(base)), &files(kept(head)))
}

/// A condition that no change here meets, so that the built-in rules do not count.
const NEVER: &str = "becomes: [cluster-admin]";

#[test]
fn a_test_with_fewer_targets_is_narrower() {
    let pods = "mustNot: [{verbs: [get], resources: [pods], namespaces: [shop]}]";
    for (expectation, role) in [(pods, "view"), ("mustNotBecome: [\"secrets:shop\"]", "edit")] {
        let (wide, narrow) = (test(expectation, ""), test(expectation, ", targets: [staging]"));
        let [before, wide_then, narrow_then] = [("ops", &wide), ("dev", &wide), ("dev", &narrow)]
            .map(|(group, test)| format!("{}---\n{test}", grant(group, role)));
        let failing = of_policies([&before, NAMESPACE], [&wide_then, NAMESPACE], NEVER);
        assert_eq!((failing.tests.failing.len(), failing.exit), (1, 1), "{}", failing.line);
        let review = of_policies([&before, NAMESPACE], [&narrow_then, NAMESPACE], NEVER);
        let removed: Vec<_> = review.tests.removed.iter().map(|removed| removed.would_fail).collect();
        assert_eq!((review.tests.failing.len(), &*removed, review.exit), (0, &[true][..], 1), "{}", review.line);
        // Without the grant it would pass. More targets are no loss.
        let review = of_policies([&wide, NAMESPACE], [&narrow, NAMESPACE], NEVER);
        let removed: Vec<_> = review.tests.removed.iter().map(|removed| removed.would_fail).collect();
        assert_eq!(
            (&*removed, review.verdict, review.exit),
            (&[false][..], Some(Verdict::NoChange), 0),
            "{}",
            review.line
        );
        let review = of_policies([&narrow, NAMESPACE], [&wide, NAMESPACE], NEVER);
        assert!(review.tests.removed.is_empty(), "{:?}", review.tests);
    }
}

#[test]
fn a_right_in_a_namespace_that_no_object_names_is_granted_all_the_same() {
    let test = test("mustNot: [{verbs: [get], resources: [pods], namespaces: [shop]}]", "");
    let other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n";
    let before = format!("{}---\n{test}", grant("ops", "view"));
    let review = of_policies([&before, NAMESPACE], [&grant("dev", "view"), other], NEVER);
    let removed: Vec<_> = review.tests.removed.iter().map(|removed| removed.would_fail).collect();
    assert_eq!((&*removed, review.exit), (&[true][..], 1), "{:?}", review.tests);
}

#[test]
fn a_rule_of_disarmed_tests_is_about_tests_that_pass_and_known_findings() {
    let tested = test("mustNot: [{verbs: [get], resources: [pods], namespaces: [shop]}]", "");
    let two = tested.replace("mustNot: [", "mustNot: [{verbs: [get], resources: [secrets], namespaces: [shop]}, ");
    let narrow = test("mustNot: [{verbs: [get], resources: [pods], namespaces: [shop]}]", ", targets: [staging]");
    let accepted = grant("ops", "cluster-admin").replace("baseline-role-binding", "cluster-admin-binding");
    let open = accepted.replace(", allow: [cluster-admin-binding]", "");
    for (before, after) in [(&tested, &narrow), (&two, &tested), (&open, &accepted)] {
        assert_is_needed(&of_policies([before, NAMESPACE], [after, NAMESPACE], "disarms: true"));
        let review = of_policies([before, NAMESPACE], [after, NAMESPACE], NEVER);
        assert_eq!((review.verdict, review.exit), (Some(Verdict::NoChange), 0), "{}", review.line);
        // The other direction disarms nothing.
        let review = of_policies([after, NAMESPACE], [before, NAMESPACE], "disarms: true");
        assert_eq!((review.verdict, review.exit), (Some(Verdict::NoChange), 0), "{}", review.line);
    }
}
