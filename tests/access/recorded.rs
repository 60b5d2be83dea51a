//! Tables whose values the real Kubernetes code computed: `eval`, `random`, `covers` and `reconcile`.

use serde_json::{Value, json};

use super::{Evaluator, Tally, answered, documents, only, rows, table, text};
use crate::oracle::{pruned, tidy_rules};

/// Scenarios: objects, requests of all kinds, and the rules of aggregated roles.
pub(crate) fn eval(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("eval-cases.yaml"));
    for scenario in rows(&table, "scenarios") {
        let requests = rows(scenario, "requests");
        let baseline = scenario.get("objectsFrom").and_then(Value::as_str);
        let baseline = baseline.map(|from| from.strip_prefix("bootstrap/").expect("a default policy"));
        evaluator.world(&documents(text(scenario, "objects")), baseline);
        for request in requests {
            eval_row(evaluator, request, tally);
        }
        if let Some(expected) = scenario.get("aggregatedRules").and_then(Value::as_object) {
            let found = evaluator.ask(&json!({"aggregate": {}}));
            for (role, rules) in expected {
                let found = tidy_rules(found["roles"][role].as_array().map_or(&[], Vec::as_slice));
                tally.expect(role, &json!(found), &json!(tidy_rules(rules.as_array().expect("rules"))));
            }
        }
    }
}

fn eval_row(evaluator: &dyn Evaluator, row: &Value, tally: &mut Tally) {
    let id = text(row, "id");
    let mut question = only(row, &["verb", "group", "resource", "subresource", "namespace", "name", "path", "http"]);
    if let Some(expected) = row.get("whoCan") {
        let answer = evaluator.ask(&json!({"who-can": question}));
        // The server's own locator leaves the namespace of an account open; ours fills in the binding's.
        let place = format!("/{}/", text(row, "namespace"));
        let mut expected: Vec<String> = serde_json::from_value(expected.clone()).expect("subjects");
        expected.iter_mut().for_each(|subject| *subject = subject.replace("//", &place));
        expected.sort();
        let found = json!({"subjects": answer["subjects"], "missing": short_labels(&answer["missing"])});
        tally.expect(id, &found, &json!({"subjects": expected, "missing": missing(row)}));
        return;
    }
    let (user, groups) = actor(&row["as"]);
    if let Some(object) = row.get("create").or_else(|| row.get("update")) {
        let manifest = |text: &Value| documents(text.as_str().expect("a manifest")).remove(0);
        let old = row.get("old").map(manifest);
        let question = json!({"write": {"user": user, "groups": groups, "object": manifest(object), "old": old}});
        let answer = answered(&evaluator.ask(&question), &["verbAllowed", "escalation", "allowed"]);
        let expected =
            json!({"verbAllowed": row["verbAllowed"], "escalation": row["escalation"], "allowed": row["allow"]});
        tally.expect(id, &answer, &expected);
        return;
    }
    question.insert("user".to_owned(), json!(user));
    question.insert("groups".to_owned(), json!(groups));
    let answer = evaluator.ask(&json!({"can-i": question}));
    let reasons = row.get("by").and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
    let mut by: Vec<&str> = reasons.iter().map(|reason| text(reason, "binding")).collect();
    by.sort_unstable();
    let mut found = json!({
        "allowed": answer["allowed"], "by": labels(&answer["by"]), "missing": short_labels(&answer["missing"]),
    });
    let mut expected = json!({"allowed": row["allow"], "by": by, "missing": missing(row)});
    if let Some(because) = answer.get("because").and_then(Value::as_array) {
        let mut pairs: Vec<[String; 2]> =
            because.iter().map(|one| [label(text(one, "binding")), label(text(one, "role"))]).collect();
        pairs.sort();
        let mut wanted: Vec<[&str; 2]> = reasons.iter().map(|one| [text(one, "binding"), text(one, "role")]).collect();
        wanted.sort_unstable();
        found["roles"] = json!(pairs);
        expected["roles"] = json!(wanted);
    }
    if let Some(attributes) = row.get("attributes") {
        let keys = ["verb", "path", "group", "version", "resource", "subresource", "namespace", "name"];
        let filled = |attributes: &Value| keys.map(|key| text(attributes, key).to_owned());
        found["attributes"] = json!(filled(&answer["attributes"]));
        found["isResource"] = json!(answer["attributes"].get("path").is_none());
        expected["attributes"] = json!(filled(attributes));
        expected["isResource"] = attributes["isResource"].clone();
    }
    tally.expect(id, &found, &expected);
}

/// Returns the user and the groups of `as`, which names a user, a service account or no user.
fn actor(who: &Value) -> (String, Vec<String>) {
    let owned = |groups: &[&str]| groups.iter().map(|group| (*group).to_owned()).collect();
    if let Some(account) = who.get("serviceAccount").and_then(Value::as_str) {
        let (namespace, name) = account.split_once('/').expect("namespace and name");
        let own = format!("system:serviceaccounts:{namespace}");
        let groups = owned(&["system:serviceaccounts", &own, "system:authenticated"]);
        return (format!("system:serviceaccount:{namespace}:{name}"), groups);
    }
    if who.get("anonymous").is_some() {
        return ("system:anonymous".to_owned(), owned(&["system:unauthenticated"]));
    }
    let mut groups: Vec<String> =
        who.get("groups").map(|groups| serde_json::from_value(groups.clone()).expect("groups")).unwrap_or_default();
    groups.push("system:authenticated".to_owned());
    (text(who, "user").to_owned(), groups)
}

/// Returns a label in the form of the table: `RoleBinding n/b` for `RoleBinding/n/b`.
fn label(label: &str) -> String {
    label.replacen('/', " ", 1)
}

fn labels(list: &Value) -> Vec<String> {
    let mut labels: Vec<String> = list.as_array().into_iter().flatten().filter_map(Value::as_str).map(label).collect();
    labels.sort();
    labels
}

/// Labels of missing roles as the table writes them: kind and name.
fn short_labels(list: &Value) -> Vec<String> {
    let short = |label: String| match label.split_once(' ') {
        Some(("Role", rest)) => format!("Role {}", rest.split_once('/').map_or(rest, |(_, name)| name)),
        _ => label,
    };
    let mut labels: Vec<String> = labels(list).into_iter().map(short).collect();
    labels.sort();
    labels.dedup();
    labels
}

fn missing(row: &Value) -> Vec<String> {
    let mut missing: Vec<String> =
        row.get("missing").map(|list| serde_json::from_value(list.clone()).expect("roles")).unwrap_or_default();
    missing.sort();
    missing
}

/// Compares the aggregated roles of the default policy.
pub(crate) fn default_policy(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let recorded = table(include_str!("aggregated-1.36.yaml"));
    evaluator.world(&[], Some("1.36"));
    let found = evaluator.ask(&json!({"aggregate": {}}));
    for (role, expected) in recorded["roles"].as_object().expect("roles") {
        let rules = |value: &Value| json!(tidy_rules(value.as_array().expect("rules")));
        tally.expect(role, &rules(&found["roles"][role]), &rules(expected));
    }
}

/// Compares random worlds: `[who, verb, target, verdict]`.
pub(crate) fn random(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("random-cases.yaml"));
    for scenario in rows(&table, "scenarios") {
        evaluator.world(rows(scenario, "objects"), None);
        for request in rows(scenario, "requests") {
            let who = request[0].as_str().expect("who");
            let (user, groups) = match who.strip_prefix("sa:") {
                Some(account) => actor(&json!({"serviceAccount": account})),
                None => {
                    let mut names = who.split('+');
                    actor(&json!({"user": names.next(), "groups": names.collect::<Vec<_>>()}))
                }
            };
            let mut question = json!({"user": user, "groups": groups, "verb": request[1]});
            match &request[2] {
                Value::Array(target) => {
                    for (key, part) in ["group", "resource", "subresource", "namespace", "name"].iter().zip(target) {
                        question[*key] = part.clone();
                    }
                }
                path => question["path"] = path.clone(),
            }
            let answer = evaluator.ask(&json!({"can-i": question}));
            let row = format!("{} {request}", text(scenario, "id"));
            tally.expect(&row, &answer["allowed"], &json!(request[3] == 1));
        }
    }
}

/// Compares whether rules cover rules.
pub(crate) fn covers(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("covers-cases.yaml"));
    for case in rows(&table, "cases") {
        let answer = evaluator.ask(&json!({"covers": {"owner": case["owner"], "wanted": case["wanted"]}}));
        let rules = |value: &Value| tidy_rules(value.as_array().map_or(&[], Vec::as_slice));
        let found = json!({"covers": answer["covers"], "uncovered": rules(&answer["uncovered"])});
        let uncovered = case.get("uncovered").unwrap_or(&Value::Null);
        tally.expect(text(case, "id"), &found, &json!({"covers": case["covers"], "uncovered": rules(uncovered)}));
    }
}

/// Compares reconciled objects with the expected objects.
pub(crate) fn reconcile(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("reconcile-cases.yaml"));
    for case in rows(&table, "cases") {
        let object = |key: &str| case.get(key).and_then(Value::as_str).map(|text| documents(text).remove(0));
        let question = json!({"reconcile": {
            "expected": object("expected"), "existing": object("existing"), "removeExtra": case["removeExtra"],
        }});
        let answer = evaluator.ask(&question);
        let comparable = |value: &Value| {
            let mut value = value.clone();
            let result = value.get_mut("result").and_then(Value::as_object_mut);
            result.into_iter().for_each(|result| result.retain(|key, _| key != "apiVersion" && key != "kind"));
            let protected = value.get("protected").is_some_and(|protected| protected == true);
            value["protected"] = json!(protected);
            pruned(&answered(&value, &["operation", "protected", "missing", "extra", "result"]))
        };
        tally.expect(text(case, "id"), &comparable(&answer), &comparable(case));
    }
}
