//! The decisions of policies, by their rules, conditions, messages and bindings.

use serde_json::{Value, json};

use super::{AdmissionRequest, Binding, PolicyAnswer, PolicyDecision, ValidatingAdmissionPolicy};
use bailiwick_yaml as yaml;

/// Returns a policy about pods with parts of its spec.
fn policy(spec: Value) -> Value {
    let mut whole = json!({
        "matchConstraints": { "resourceRules": [
            { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"] },
        ] },
        "validations": [{ "expression": "object.ok" }],
    });
    for (key, value) in spec.as_object().expect("a map") {
        whole[key] = value.clone();
    }
    json!({ "metadata": { "name": "p" }, "spec": whole })
}

fn request(object: Value) -> Value {
    json!({
        "user": "u", "operation": "CREATE", "apiGroup": "", "version": "v1", "resource": "pods", "kind": "Pod",
        "namespace": "a", "name": "x", "object": object,
    })
}

fn judge(policy: &Value, binding: Option<&Value>, namespace: Option<&Value>, request: &Value) -> PolicyDecision {
    let tree = yaml::from_json(policy);
    let policy = ValidatingAdmissionPolicy::read(tree.document(0).expect("a document"), 37).expect("a policy");
    let binding = binding.map(|binding| {
        let tree = yaml::from_json(binding);
        Binding::read(tree.document(0).expect("a document")).expect("a binding")
    });
    policy.evaluate(&AdmissionRequest::from_json(request).expect("a request"), binding.as_ref(), namespace)
}

fn plain(spec: Value, object: Value) -> PolicyDecision {
    judge(&policy(spec), None, None, &request(object))
}

#[test]
fn rules_say_which_requests_are_meant() {
    let with = |rule: Value, change: Value| {
        let rules = json!({ "matchConstraints": { "matchPolicy": "Exact", "resourceRules": [rule] } });
        let mut asked = request(json!({ "ok": true }));
        for (key, value) in change.as_object().expect("a map") {
            asked[key] = value.clone();
        }
        judge(&policy(rules), None, None, &asked).matched
    };
    let rule = |change: Value| {
        let mut rule = json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["pods"] });
        for (key, value) in change.as_object().expect("a map") {
            rule[key] = value.clone();
        }
        rule
    };
    assert!(with(rule(json!({})), json!({ "apiGroup": "x", "version": "v9", "operation": "DELETE" })));
    assert!(!with(rule(json!({ "operations": ["DELETE"] })), json!({})));
    assert!(!with(rule(json!({})), json!({ "subresource": "status" })));
    for (resources, resource, subresource, expected) in [
        ("pods/*", "pods", "", true),
        ("pods/*", "pods", "status", true),
        ("pods/*", "nodes", "status", false),
        ("*/scale", "deployments", "scale", true),
        ("*/scale", "deployments", "", false),
        ("*", "deployments", "", true),
        ("*", "deployments", "scale", false),
        ("*/*", "deployments", "scale", true),
    ] {
        let found = with(
            rule(json!({ "resources": [resources] })),
            json!({ "resource": resource, "subresource": subresource }),
        );
        assert_eq!(found, expected, "{resources} {resource}/{subresource}");
    }
    assert!(with(rule(json!({ "resourceNames": ["x"] })), json!({})));
    assert!(!with(rule(json!({ "resourceNames": ["y"] })), json!({})));
    assert!(!with(rule(json!({ "scope": "Cluster" })), json!({})));
    assert!(with(rule(json!({ "scope": "Cluster" })), json!({ "namespace": "" })));
    let exempt = json!({ "apiGroup": "authorization.k8s.io", "resource": "subjectaccessreviews" });
    assert!(!with(rule(json!({ "resources": ["*"] })), exempt));
}

#[test]
fn another_version_may_be_the_one_that_is_looked_at() {
    let rules = |policy: &str| {
        let rule = json!({ "apiGroups": [""], "apiVersions": ["v2"], "operations": ["*"], "resources": ["pods"] });
        json!({ "matchConstraints": { "matchPolicy": policy, "resourceRules": [rule] } })
    };
    assert_eq!(plain(rules("Exact"), json!({ "ok": false })).answer, PolicyAnswer::Allow);
    assert_eq!(plain(rules("Equivalent"), json!({ "ok": false })).answer, PolicyAnswer::Unknown);
}

#[test]
fn selectors_look_at_labels() {
    let rule = json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] });
    let by = |selector: &str| {
        policy(json!({ "matchConstraints": {
            "resourceRules": [rule], selector: { "matchLabels": { "k": "v" } },
            "excludeResourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["nodes"],
            }],
        } }))
    };
    let labelled = json!({ "ok": true, "metadata": { "labels": { "k": "v" } } });
    let judged = |policy: &Value, namespace: Option<&Value>, object: &Value| {
        let verdict = judge(policy, None, namespace, &request(object.clone()));
        (verdict.answer, verdict.matched)
    };
    assert_eq!(judged(&by("objectSelector"), None, &labelled), (PolicyAnswer::Allow, true));
    assert_eq!(judged(&by("objectSelector"), None, &json!({ "ok": false })), (PolicyAnswer::Allow, false));
    let namespace = json!({ "metadata": { "labels": { "k": "v" } } });
    let refused = json!({ "ok": false });
    assert_eq!(judged(&by("namespaceSelector"), Some(&namespace), &refused), (PolicyAnswer::Deny, true));
    assert_eq!(judged(&by("namespaceSelector"), Some(&json!({})), &refused), (PolicyAnswer::Allow, false));
    assert_eq!(judged(&by("namespaceSelector"), None, &refused), (PolicyAnswer::Unknown, false));
    let mut node = request(refused);
    node["resource"] = json!("nodes");
    assert_eq!(judge(&by("namespaceSelector"), None, None, &node).answer, PolicyAnswer::Allow);
}

#[test]
fn a_false_condition_excludes_whatever_the_others_do() {
    let conditions = |expressions: &[&str], failure: &str| {
        let list: Vec<Value> = expressions.iter().map(|text| json!({ "name": "c", "expression": text })).collect();
        plain(json!({ "matchConditions": list, "failurePolicy": failure }), json!({ "ok": false }))
    };
    let failing = "object.missing == 1";
    let short = |verdict: PolicyDecision| (verdict.answer, verdict.matched);
    assert_eq!(short(conditions(&["true"], "Fail")), (PolicyAnswer::Deny, true));
    assert_eq!(short(conditions(&[failing, "false"], "Fail")), (PolicyAnswer::Allow, false));
    assert_eq!(short(conditions(&[failing, "true"], "Fail")), (PolicyAnswer::Deny, true));
    assert_eq!(short(conditions(&[failing, "true"], "Ignore")), (PolicyAnswer::Allow, false));
    assert_eq!(short(conditions(&["isURL('a')", "false"], "Fail")), (PolicyAnswer::Allow, false));
    assert_eq!(short(conditions(&["isURL('a')", "true"], "Fail")), (PolicyAnswer::Unknown, false));
    // They see no namespace.
    assert_eq!(short(conditions(&["namespaceObject == null"], "Fail")), (PolicyAnswer::Deny, true));
    assert!(conditions(&[failing], "Fail").message.ends_with("resulted in error: no such key: missing"));
    // The same error counts once.
    assert_eq!(conditions(&[failing, failing], "Fail"), conditions(&[failing], "Fail"));
    assert!(conditions(&[failing, "object.no"], "Fail").message.contains("request: [expression"));
}

#[test]
fn what_fails_is_refused_or_let_through_and_what_is_unknown_is_neither() {
    let judged = |expressions: &[&str], failure: &str| {
        let list: Vec<Value> = expressions.iter().map(|text| json!({ "expression": text })).collect();
        plain(json!({ "validations": list, "failurePolicy": failure }), json!({ "ok": true })).answer
    };
    assert_eq!(judged(&["object.missing"], "Fail"), PolicyAnswer::Deny);
    assert_eq!(judged(&["object.missing"], "Ignore"), PolicyAnswer::Allow);
    assert_eq!(judged(&["object.missing", "false"], "Ignore"), PolicyAnswer::Deny);
    assert_eq!(judged(&["isURL('a')", "true"], "Ignore"), PolicyAnswer::Unknown);
    assert_eq!(judged(&["isURL('a')", "false"], "Ignore"), PolicyAnswer::Deny);
    assert_eq!(judged(&["false", "isURL('a')"], "Fail"), PolicyAnswer::Deny);
    assert_eq!(judged(&["object.ok", "!!object.ok"], "Fail"), PolicyAnswer::Allow);
}

#[test]
fn messages_fall_back_to_what_is_there() {
    let message = |expression: &str, text: &str| {
        let validation = json!({ "expression": " object.ok ", "messageExpression": expression, "message": text });
        plain(json!({ "validations": [validation] }), json!({ "ok": false })).message
    };
    let start = "ValidatingAdmissionPolicy 'p' denied request: ";
    assert_eq!(message("' made ' + object.x", "text"), format!("{start}text"));
    assert_eq!(message("' made '", "text"), format!("{start}made"));
    assert_eq!(message("'  '", " text "), format!("{start}text"));
    assert_eq!(message(r"'a\nb'", "text"), format!("{start}text"));
    assert_eq!(
        message(
            "'aaaaaaaa'.replace('', 'bbbbbbbbbb'.replace('', 'cccccccccccccccccccccccccccccccccccccccccccccccccccc'))",
            "text"
        ),
        format!("{start}text")
    );
    assert_eq!(message("''", ""), format!("{start}failed expression: object.ok"));
    assert!(message("string(ip('::1'))", "text").contains("is unknown"));
}

#[test]
fn bindings_say_what_comes_of_a_violation() {
    let binding = |actions: Value| json!({ "metadata": { "name": "b" }, "spec": { "policyName": "p", "validationActions": actions } });
    let judged =
        |actions: Value| judge(&policy(json!({})), Some(&binding(actions)), None, &request(json!({ "ok": false })));
    let denied = judged(json!(["Deny", "Audit"]));
    assert_eq!(
        denied.message,
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.ok"
    );
    assert_eq!((denied.audit.len(), denied.reason.as_deref()), (1, Some("Invalid")));
    let warned = judged(json!(["Warn"]));
    let warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: object.ok";
    assert_eq!((warned.answer, warned.warnings), (PolicyAnswer::Allow, vec![warning.to_owned()]));
    let mut elsewhere = binding(json!(["Deny"]));
    elsewhere["spec"]["matchResources"] = json!({ "objectSelector": { "matchLabels": { "k": "v" } } });
    let verdict = judge(&policy(json!({})), Some(&elsewhere), None, &request(json!({ "ok": false })));
    assert_eq!((verdict.answer, verdict.matched), (PolicyAnswer::Allow, false));
}

#[test]
fn parameters_are_null_or_unknown() {
    let kind = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let policy = policy(json!({ "paramKind": kind, "validations": [{ "expression": "params == null" }] }));
    let asked = request(json!({ "ok": true }));
    let mut binding = json!({ "spec": { "policyName": "p", "validationActions": ["Deny"] } });
    assert_eq!(judge(&policy, Some(&binding), None, &asked).answer, PolicyAnswer::Allow);
    assert_eq!(judge(&policy, None, None, &asked).answer, PolicyAnswer::Unknown);
    binding["spec"]["paramRef"] = json!({ "name": "x", "parameterNotFoundAction": "Deny" });
    assert_eq!(judge(&policy, Some(&binding), None, &asked).answer, PolicyAnswer::Unknown);
}

#[test]
fn an_annotation_that_fails_is_refused_whatever_the_binding_says() {
    let spec = |failure: &str| {
        policy(json!({
            "failurePolicy": failure, "validations": [],
            "auditAnnotations": [{ "key": "k", "valueExpression": "object.missing" }],
        }))
    };
    let binding = json!({ "spec": { "policyName": "p", "validationActions": ["Audit"] } });
    let judged = |failure| judge(&spec(failure), Some(&binding), None, &request(json!({}))).answer;
    assert_eq!((judged("Fail"), judged("Ignore")), (PolicyAnswer::Deny, PolicyAnswer::Allow));
}

#[test]
fn the_reason_of_a_broken_rule_names_no_type_of_rust() {
    let policy = policy(json!({ "matchConstraints": { "resourceRules": [0] } }));
    let tree = yaml::from_json(&policy);
    let error =
        ValidatingAdmissionPolicy::read(tree.document(0).expect("a document"), 37).expect_err("a number is no rule");
    assert_eq!(error.message, "expected a map, found the number `0`");
}
