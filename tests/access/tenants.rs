//! Toolforge and Crossplane: permissions of tools, stacks and their users.

use serde_json::{Value, json};

use super::library::Library;
use super::{Evaluator, Tally, answered, documents, only, rows, table, text};
use crate::oracle::Naive;
use crate::support::reference;

/// Tools and the accounts of their namespaces.
pub(crate) fn toolforge(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("toolforge-cases.yaml"));
    for case in rows(&table, "cases").iter().filter(|case| text(case, "kind") == "authorize") {
        authorize(evaluator, case, tally);
    }
}

/// The maintainer creates the objects of tools.
#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn a_maintainer_may_create_the_objects_of_tools() {
    let mut tally = Tally::default();
    escalation_checks(&mut Naive::default(), &mut tally);
    escalation_checks(&mut Library::new(), &mut tally);
    assert_eq!((tally.asked, tally.differences), (2, Vec::new()));
}

fn escalation_checks(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("toolforge-cases.yaml"));
    let cases = rows(&table, "cases");
    for case in cases.iter().filter(|case| text(case, "kind") == "escalation-check") {
        let mut objects = creator(text(&case["input"], "creator"));
        // The object is an object of the tools of another case.
        let (kind, name) = text(&case["input"], "object").split_once(' ').expect("kind and name");
        let mut all = cases.iter().filter_map(|case| case["input"].get("objects")?.as_array()).flatten();
        let named = |object: &&Value| text(object, "kind") == kind && text(&object["metadata"], "name") == name;
        let object = all.find(named).expect("an object of another case").clone();
        objects.retain(|known| known != &object);
        evaluator.world(&objects, None);
        let user = "system:serviceaccount:maintain-kubeusers:user-maintainer";
        let answer = evaluator.ask(&json!({"write": {"user": user, "object": object}}));
        let expected = json!({"verbAllowed": true, "allowed": case["expect"] == "allow"});
        tally.expect(text(case, "id"), &answered(&answer, &["verbAllowed", "allowed"]), &expected);
    }
}

/// Returns the recorded rules of a maintainer: `user-maintainer (2023)` is the last manifest of that year.
fn creator(creator: &str) -> Vec<Value> {
    let year = creator.strip_prefix("user-maintainer (").and_then(|rest| rest.strip_suffix(')')).expect("a year");
    let folder = reference().join("toolforge");
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let of_the_year = |path: &std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("maintain-kubeusers-rbac-{year}"))
    };
    let last = entries.filter(of_the_year).max().expect("a manifest of the year");
    documents(&std::fs::read_to_string(last).expect("a manifest"))
}

/// Stacks, their users, and the two checks that Crossplane makes itself.
pub(crate) fn crossplane(evaluator: &mut dyn Evaluator, tally: &mut Tally) {
    let table = table(include_str!("crossplane-cases.yaml"));
    for case in rows(&table, "cases") {
        let id = text(case, "id");
        match text(case, "kind") {
            "authorize" => authorize(evaluator, case, tally),
            "covers" => {
                let (owner, servant) = (&case["input"]["owner"], &case["input"]["servant"]);
                let answer = evaluator.ask(&json!({"covers": {"owner": owner, "wanted": servant}}));
                tally.expect(id, &answer["covers"], &case["expect"]["covers"]);
                let answer = evaluator.ask(&json!({"permission-request": {"owner": owner, "servant": servant}}));
                tally.expect(id, &answer["allowed"], &case["expect"]["crossplaneRequestAllowed"]);
            }
            "permission-gate" => {
                let revision = id.strip_prefix("gate-").expect("a revision");
                for request in rows(case, "requests") {
                    let answer = evaluator.ask(&json!({"gate": {"revision": revision, "rule": request["rule"]}}));
                    let row = format!("{id} {}", text(request, "id"));
                    tally.expect(&row, &answer["allowed"], &json!(request["expect"] == "allow"));
                }
            }
            other => panic!("unknown kind {other}"),
        }
    }
}

/// Objects and requests.
fn authorize(evaluator: &mut dyn Evaluator, case: &Value, tally: &mut Tally) {
    let lists = ["clusterRoles", "objects"].map(|key| case["input"].get(key).and_then(Value::as_array));
    let objects: Vec<Value> = lists.into_iter().flatten().flatten().cloned().collect();
    evaluator.world(&objects, None);
    for request in rows(case, "requests") {
        let mut question =
            only(request, &["user", "groups", "verb", "resource", "subresource", "namespace", "name", "path"]);
        question.extend(request.get("apiGroup").map(|group| ("group".to_owned(), group.clone())));
        let answer = evaluator.ask(&json!({"can-i": question}));
        let row = format!("{} {}", text(case, "id"), text(request, "id"));
        tally.expect(&row, &answer["allowed"], &json!(request["expect"] == "allow"));
    }
}
