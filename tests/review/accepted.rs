//! Accepted findings in a review: a new acceptance that hides a new finding, and an acceptance whose finding reaches more.

use bailiwick::app::review::{ChangeReview, EffectSeverity, Verdict};

use super::silence::{review, workspace};

const POLICY: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind:";

/// Returns a policy by which a group has a rule in the namespace `shop`.
fn policy(group: &str, grant: &str, labels: &str) -> String {
    format!(
        "{POLICY} NamespaceSet\nmetadata: {{name: shop}}\nspec: {{namespaces: [{{name: shop, labels: {{{labels}}}}}]}}\n---\n\
         {POLICY} PermissionSet\nmetadata: {{name: dev}}\nspec: {{rules: [{{resources: [pods], verbs: [create]}}]}}\n---\n\
         {POLICY} Grant\nmetadata: {{name: {grant}}}\nspec: {{to: {{groups: [{group}]}}, permissionSets: [dev], namespaces: [shop]}}\n"
    )
}

const ACCEPTED: &str = "dev, allow: [create-pods]";

const OPEN: &str = "team: shop";

const RESTRICTED: &str = "pod-security.kubernetes.io/enforce: restricted";

/// Reviews a change of the policy and of the settings of the workspace.
fn changed(base: (&str, &str), head: (&str, &str)) -> ChangeReview {
    let settings = |diagnostics: &str| {
        let diagnostics = format!("  diagnostics: {{{diagnostics}}}\n");
        workspace("{name: t, version: \"1.34\"}") + &diagnostics
    };
    let (before, after) = (settings(base.1), settings(head.1));
    let other = ("policies/objects/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n");
    review(
        &[("bailiwick.yaml", &before), ("policies/shop.yaml", base.0), other],
        &[("bailiwick.yaml", &after), ("policies/shop.yaml", head.0), other],
    )
}

/// Returns the code and the file of each new acceptance, and whether it hides a new finding.
fn acceptances(review: &ChangeReview) -> Vec<(&str, &str, bool)> {
    let file = |place: &'_ str| if place.contains("bailiwick.yaml") { "bailiwick.yaml" } else { "policy" };
    review.tests.accepted.iter().map(|one| (one.code.as_str(), file(&one.place), one.hides_new)).collect()
}

#[test]
fn an_acceptance_that_hides_a_new_finding_needs_a_review() {
    let before = policy("dev", "dev", RESTRICTED);
    for (policy, settings, file) in [
        (policy("ops", ACCEPTED, OPEN), "", "policy"),
        (policy("ops", "dev", OPEN), "create-pods: ignore", "bailiwick.yaml"),
        (policy("ops", "dev", OPEN), "create-pods: low", "bailiwick.yaml"),
    ] {
        let review = changed((&before, ""), (&policy, settings));
        assert_eq!(acceptances(&review), [("create-pods", file, true)], "{}", review.line);
        assert!(review.findings.new.iter().all(|finding| finding.rule != "W001"), "{:?}", review.findings.new);
        assert_eq!((review.verdict, review.exit), (Some(Verdict::NeedsApproval), 1), "{}", review.line);
    }
}

#[test]
fn an_acceptance_of_a_known_finding_hides_nothing() {
    let (before, after) = (policy("dev", "dev", OPEN), policy("dev", ACCEPTED, OPEN));
    for review in [changed((&before, ""), (&after, "")), changed((&before, ""), (&before, "create-pods: ignore"))] {
        let [(code, _, hides)] = acceptances(&review)[..] else { panic!("{:?}", review.tests.accepted) };
        assert_eq!((code, hides), ("create-pods", false));
        assert_eq!(review.verdict, Some(Verdict::NoChange), "{}", review.line);
        assert!(review.findings.fixed.is_empty(), "{:?}", review.findings.fixed);
    }
}

#[test]
fn an_accepted_finding_that_reaches_more_is_new() {
    let (before, after) = (policy("dev", ACCEPTED, RESTRICTED), policy("dev", ACCEPTED, OPEN));
    let review = changed((&before, ""), (&after, ""));
    assert_eq!(acceptances(&review), []);
    let new: Vec<_> = review.findings.new.iter().map(|finding| (finding.rule.as_str(), finding.severity)).collect();
    assert_eq!(new, [("W001", EffectSeverity::Critical)]);
    // The level of the namespace is the same on both sides: the acceptance holds.
    let unchanged = changed((&after, ""), (&after, ""));
    assert_eq!((unchanged.findings.new.len(), unchanged.findings.accepted), (0, 1));
}

#[test]
fn a_known_finding_that_reaches_more_is_new() {
    let (before, after) = (policy("dev", "dev", RESTRICTED), policy("dev", "dev", OPEN));
    let review = changed((&before, ""), (&after, ""));
    let new: Vec<_> = review.findings.new.iter().map(|finding| (finding.rule.as_str(), finding.severity)).collect();
    assert_eq!(new, [("W001", EffectSeverity::Critical)]);
    assert!(review.findings.fixed.is_empty(), "{:?}", review.findings.fixed);
    // An acceptance of the wider finding is new, and hides it.
    let accepted = policy("dev", ACCEPTED, OPEN);
    let review = changed((&before, ""), (&accepted, ""));
    assert_eq!(acceptances(&review), [("create-pods", "policy", true)]);
}
