//! Findings with one cause are one: the same rules of the same roles, for the same holder.

use bailiwick::access::risk::{self, Finding, FindingDecision, RiskContext, RiskOptions, RiskRule, RiskSeverity};
use serde_json::{Value, json};

use super::risk::world;

/// Returns roles with these rules, each bound to the group `dev` for the whole cluster.
fn bound(roles: &[Value]) -> Vec<Value> {
    let objects = |(number, rules): (usize, &Value)| {
        let name = format!("role-{number}");
        let of_rbac = "rbac.authorization.k8s.io";
        [
            json!({"apiVersion": format!("{of_rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
            json!({
                "apiVersion": format!("{of_rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": of_rbac, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": of_rbac, "kind": "Group", "name": "dev"}],
            }),
        ]
    };
    roles.iter().enumerate().flat_map(objects).collect()
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// Returns the findings of selected risk rules about holders.
fn findings(roles: &[Value], is_selected: &dyn Fn(&RiskRule) -> bool, context: RiskContext<'_>) -> Vec<Finding> {
    let rules = risk::all().filter(|rule| rule.condition().is_some() && is_selected(rule)).collect();
    world(&bound(roles), 36, false).findings_among(context, &RiskOptions { rules, apart: true, one_per_cause: true })
}

/// Returns the id, the severity and the ids of the folded findings of each finding.
fn summary(findings: &[Finding]) -> Vec<(&'static str, RiskSeverity, Vec<&'static str>)> {
    let folded = |finding: &Finding| finding.folded.iter().map(|folded| folded.rule.id).collect();
    findings.iter().map(|finding| (finding.rule.id, finding.severity, folded(finding))).collect()
}

fn found(roles: &[Value]) -> Vec<(&'static str, RiskSeverity, Vec<&'static str>)> {
    summary(&findings(roles, &|_| true, RiskContext::default()))
}

#[test]
fn findings_of_one_rule_are_one_under_the_worst() {
    let one = json!([rule("", &["configmaps", "pods/log", "secrets"], &["get"])]);
    assert_eq!(found(&[one]), [("S001", RiskSeverity::Critical, vec!["S004", "S006"])]);
    // Two rules are two causes, in one role and in two.
    let of_secrets = rule("", &["secrets"], &["get"]);
    let of_logs = rule("", &["configmaps", "pods/log"], &["get"]);
    let two = [("S001", RiskSeverity::Critical, vec![]), ("S004", RiskSeverity::Medium, vec!["S006"])];
    assert_eq!(found(&[json!([of_secrets, of_logs])]), two);
    assert_eq!(found(&[json!([of_secrets]), json!([of_logs])]), two);
}

#[test]
fn a_permission_of_two_rules_is_another_cause() {
    let roles = json!([
        rule("rbac.authorization.k8s.io", &["clusterroles"], &["bind"]),
        rule("rbac.authorization.k8s.io", &["clusterrolebindings"], &["create", "delete"]),
    ]);
    let ids: Vec<_> = found(&[roles]).into_iter().map(|(id, _, folded)| (id, folded)).collect();
    assert_eq!(ids, [("E003", vec![]), ("E015", vec![])]);
}

#[test]
fn a_rule_with_a_star_and_several_verbs_is_one_finding() {
    let many = [
        "bindings",
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "nodes",
        "pods",
        "secrets",
        "serviceaccounts",
        "services",
    ];
    let writing = ["get", "create", "update"];
    for (near_star, text) in [
        (rule("", &["*"], &writing), "get, create, update every resource of the core group"),
        (rule("apps", &["*"], &["*"]), "* every resource of `apps`"),
        (rule("*", &many, &writing), "get, create, update 10 resources of every API group"),
        (rule("*", &["*"], &writing), "get, create, update every resource of every API group"),
    ] {
        let found = findings(&[json!([near_star])], &|_| true, RiskContext::default());
        let [finding] = found.as_slice() else { panic!("{near_star}: {:?}", summary(&found)) };
        let worst = finding.folded.iter().map(|folded| folded.severity).max();
        assert_eq!((finding.rule.id, Some(finding.severity)), ("E024", worst), "{near_star}");
        assert!(finding.message().contains(&format!("can {text}, cluster-wide")), "{}", finding.message());
        // Each of the folded findings is found alone, and has the rules that give it.
        for folded in &finding.folded {
            let alone = findings(&[json!([near_star])], &|rule| rule.id == folded.rule.id, RiskContext::default());
            assert_eq!(summary(&alone), [(folded.rule.id, folded.severity, vec![])], "{near_star}");
            assert!(!folded.rules.is_empty(), "{}", folded.rule.id);
        }
    }
}

#[test]
fn a_narrower_rule_keeps_the_name_of_its_worst_permission() {
    let nine =
        ["configmaps", "endpoints", "events", "nodes", "pods", "secrets", "serviceaccounts", "services", "limitranges"];
    let named = json!([{
        "apiGroups": [""], "resources": ["*"], "verbs": ["get", "update", "delete"], "resourceNames": ["one"],
    }]);
    for (rules, id) in [
        (json!([rule("", &["*"], &["create", "update"])]), "E009"),
        (json!([rule("", &["*"], &["get", "list", "watch"])]), "S007"),
        (json!([rule("*", &nine, &["get", "create", "update"])]), "E010"),
        (named, "S007"),
    ] {
        let found = found(std::slice::from_ref(&rules));
        assert_eq!(found.first().map(|(id, ..)| *id), Some(id), "{rules}: {found:?}");
        assert!(found.iter().all(|(id, ..)| *id != "E024"), "{rules}: {found:?}");
    }
}

#[test]
fn an_accepted_finding_does_not_hide_the_others_of_its_rule() {
    let one = [json!([rule("", &["configmaps", "pods/log", "secrets"], &["get"])])];
    for left_out in [FindingDecision::Accepted, FindingDecision::Ignored] {
        let decide = |rule: &RiskRule, _, severity| {
            if rule.id == "S001" { left_out } else { FindingDecision::Reported(severity) }
        };
        let context = RiskContext { decisions: Some(&decide), ..RiskContext::default() };
        let found = findings(&one, &|_| true, context);
        let expected = [("S001", RiskSeverity::Critical, vec![]), ("S004", RiskSeverity::Medium, vec!["S006"])];
        assert_eq!(summary(&found), expected);
    }
    // The severity that the workspace sets decides about the worst.
    let decide = |rule: &RiskRule, _, severity| match rule.id {
        "S001" => FindingDecision::Reported(RiskSeverity::Info),
        _ => FindingDecision::Reported(severity),
    };
    let context = RiskContext { decisions: Some(&decide), ..RiskContext::default() };
    let found = findings(&one, &|_| true, context);
    assert_eq!(summary(&found), [("S004", RiskSeverity::Medium, vec!["S006", "S001"])]);
}
