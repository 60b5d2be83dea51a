//! The smaller changes and tests of a review. Each is applied to the workspace: the change closes its path, and the test fails only with
//! the path.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use bailiwick::app::TestEvent;
use bailiwick::app::review::{ChangeReview, PathChange, PathChangeKind, ReviewBase, ReviewOptions};
use bailiwick::{Options, TestOptions, Workspace, run_tests};
use serde_json::Value;

use super::cases::{copy, list, prepare, pull_requests, text_of};
use crate::support::rounds;

/// The simulated pull requests with a smaller change for the worst path.
const CLOSED: [&str; 12] = [
    "aggregate-secrets-into-view",
    "approve-csr",
    "cluster-admin",
    "create-pods-beside-admin",
    "escalate-clusterroles",
    "group-replaced",
    "list-secrets",
    "nodes-proxy",
    "psp-hostpath-root",
    "star-on-deployments",
    "tenants-may-bind",
    "token-request",
];

/// The file of a proposed test.
const TEST_FILE: &str = "policies/proposed-test.yaml";

#[test]
fn the_proposals_for_the_simulated_pull_requests_hold() {
    let (folder, cases) = pull_requests();
    let (mut seen, mut closed) = (BTreeSet::new(), BTreeSet::new());
    for case in list(&cases, "cases").iter().step_by(rounds(3, 1)) {
        let id = text_of(case, "id");
        seen.insert(id);
        let place = tempfile::tempdir().expect("a folder");
        prepare(&folder, case, place.path());
        let Some(review) = review(place.path(), "head") else { continue };
        check_proposals(place.path(), &review);
        let new = review.paths.iter().find(|path| is_new(path));
        assert!(new.is_none() || review.tests.suggested.is_some(), "{id}: no test of a new path");
        if new.is_some_and(|path| path.closes.is_some()) {
            closed.insert(id);
        }
    }
    let reviewed: Vec<&str> = CLOSED.into_iter().filter(|id| seen.contains(id)).collect();
    assert!(reviewed.len() >= rounds(3, CLOSED.len()), "{seen:?}");
    for id in reviewed {
        assert!(closed.contains(id), "{id}: nothing closes the worst path, but in {closed:?}");
    }
}

fn is_new(path: &PathChange) -> bool {
    path.change != PathChangeKind::Gone
}

/// Reviews a folder against the folder `base` beside it; none if it does not compile.
fn review(place: &Path, head: &str) -> Option<ChangeReview> {
    let workspace = Workspace::open(&Options::in_folder(place.join(head))).ok()?;
    let options = ReviewOptions { base: ReviewBase::Folder(place.join("base")), ..ReviewOptions::default() };
    let review = bailiwick::review(&workspace, &options).expect("a review");
    (review.exit < 2).then_some(review)
}

/// Checks that the proposed tests fail in the reviewed state alone, and that the proposed changes close their paths.
fn check_proposals(place: &Path, review: &ChangeReview) {
    if let Some(test) = &review.tests.suggested {
        assert_eq!(failing(place, "base", test), BTreeSet::new(), "{test}");
        assert_eq!(failing(place, "head", test), names(test), "{test}");
    }
    let mut diffs = BTreeSet::new();
    for closes in review.paths.iter().filter_map(|path| path.closes.as_ref()) {
        if diffs.insert(&closes.diff) {
            check_smaller_change(place, review, &closes.diff);
        }
    }
}

fn check_smaller_change(place: &Path, review: &ChangeReview, diff: &str) {
    apply(place, diff);
    let changed = self::review(place, "changed").expect("the smaller change compiles");
    let is_smaller = |path: &&PathChange| path.closes.as_ref().is_some_and(|closes| closes.diff == diff);
    for (index, path) in review.paths.iter().filter(is_smaller).enumerate() {
        let subject = &path.steps[0].from;
        let is_open =
            |other: &&PathChange| is_new(other) && other.reaches == path.reaches && other.steps[0].from == *subject;
        assert_eq!(changed.paths.iter().find(is_open), None, "{diff}");
        let test = path.closes.as_ref().and_then(|closes| closes.test.as_ref()).expect("a test");
        // The suggested test of the review has the others.
        if index == 0 {
            let states = ["base", "head", "changed"].map(|state| failing(place, state, test).len());
            assert_eq!(states, [0, 1, 0], "{test}");
        }
    }
    assert!(changed.severity <= review.severity, "{diff}");
    let failing = |review: &ChangeReview| -> BTreeSet<String> {
        review.tests.failing.iter().chain(&review.tests.base_failing).map(|test| test.test.clone()).collect()
    };
    assert!(failing(&changed).is_subset(&failing(review)), "{diff}");
}

/// Applies a difference to a copy of the reviewed state.
fn apply(place: &Path, diff: &str) {
    let changed = place.join("changed");
    _ = fs::remove_dir_all(&changed);
    copy(&place.join("head"), &changed);
    fs::write(place.join("change.diff"), diff).expect("written");
    let output =
        Command::new("git").arg("-C").arg(&changed).args(["apply", "../change.diff"]).output().expect("git runs");
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the names of the tests of a text.
fn names(tests: &str) -> BTreeSet<String> {
    let documents = tests.split("---\n").map(|text| serde_yaml::from_str::<Value>(text).expect("YAML"));
    documents.map(|test| text_of(&test["metadata"], "name").to_owned()).collect()
}

/// Returns the names of the proposed tests with a failure in a state.
fn failing(place: &Path, state: &str, tests: &str) -> BTreeSet<String> {
    let file = place.join(state).join(TEST_FILE);
    fs::write(&file, tests).expect("written");
    let opened = Workspace::open(&Options::in_folder(place.join(state))).expect("a workspace");
    let own = names(tests);
    let mut failing = BTreeSet::new();
    let mut see = |event: TestEvent<'_>| {
        let meta = match &event {
            TestEvent::Failure(failed) => &failed.check.meta,
            TestEvent::Reached(reached) => &reached.check.meta,
            _ => return,
        };
        failing.insert(meta.name.to_string());
    };
    let options = TestOptions { names: own.iter().cloned().collect(), ..TestOptions::default() };
    let mut run = run_tests(&opened, &options, &mut see).expect("a run");
    assert_eq!(run.take_problems(&opened).list.len(), 0, "{tests}");
    assert!(own.is_subset(&run.tests), "{:?}", run.tests);
    fs::remove_file(file).expect("removed");
    failing.retain(|name| own.contains(name));
    failing
}

const POLICY: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: ";

/// Writes a small workspace: an account with cluster-admin in `ops`, no account in `shop`.
fn write_workspace(place: &Path) {
    for state in ["base", "head"] {
        let root = place.join(state);
        fs::create_dir_all(root.join("policies/objects")).expect("a folder");
        let settings = "Workspace\nmetadata: {name: w}\nspec: {targets: [{name: t, version: \"1.34\"}]}\n";
        fs::write(root.join("bailiwick.yaml"), format!("{POLICY}{settings}")).expect("written");
        let manifests = "Manifests\nmetadata: {name: m, allow: [cluster-admin-binding]}\nspec: {files: [objects/*.yaml], emit: false}\n---\n";
        let set = "NamespaceSet\nmetadata: {name: all}\nspec:\n  podSecurity: {level: restricted}\n  namespaces: [{name: ops}, {name: shop}]\n";
        fs::write(root.join("policies/base.yaml"), format!("{POLICY}{manifests}{POLICY}{set}")).expect("written");
        let objects = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: operator, namespace: ops}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: operator}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: operator, namespace: ops}]\n";
        fs::write(root.join("policies/objects/operator.yaml"), objects).expect("written");
    }
}

/// Reviews a change of one policy file of the small workspace, and checks the proposals.
fn review_of(place: &Path, base: &str, head: &str) -> ChangeReview {
    write_workspace(place);
    for (state, text) in [("base", base), ("head", head)] {
        fs::write(place.join(state).join("policies/access.yaml"), text).expect("written");
    }
    let found = review(place, "head").expect("the policies compile");
    check_proposals(place, &found);
    found
}

/// Returns the words of the proposal for the path to cluster-admin, and the lines that it changes.
fn proposal(review: &ChangeReview) -> (String, Vec<&str>) {
    let path = review.paths.iter().find(|path| is_new(path) && path.reaches == "cluster-admin").expect("a path");
    let closes = path.closes.as_ref().expect("a smaller change");
    let lines = closes.diff.lines().skip(2).filter(|line| line.starts_with(['-', '+'])).collect();
    (closes.words.clone(), lines)
}

fn grant(namespaces: &str) -> String {
    format!(
        "{POLICY}Grant\nmetadata: {{name: dev}}\nspec:\n  to: {{groups: [dev]}}\n  permissionSets: [work]\n  namespaces: {namespaces}\n"
    )
}

fn set(rules: &str) -> String {
    format!("{POLICY}PermissionSet\nmetadata: {{name: work}}\nspec:\n  # The rules.\n  rules:\n{rules}---\n")
}

const READ: &str = "  - resources: [pods] # reading\n    verbs: [get]\n";

#[test]
fn a_namespace_of_a_new_grant_is_left_out() {
    let place = tempfile::tempdir().expect("a folder");
    let work = set("  - resources: [pods, services]\n    verbs: [get, create]\n");
    let (base, head) = (format!("{work}{}", grant("[shop]")), format!("{work}{}", grant("[shop, ops] # both")));
    let review = review_of(place.path(), &base, &head);
    let (words, lines) = proposal(&review);
    assert_eq!(words, "leave `ops` out of `namespaces` of `Grant/dev`");
    assert_eq!(lines, ["-  namespaces: [shop, ops] # both", "+  namespaces: [shop] # both"]);
}

#[test]
fn a_right_of_a_rule_with_other_rights_becomes_an_exception() {
    let place = tempfile::tempdir().expect("a folder");
    let wide = "  - resources:\n    - services\n    - pods\n    verbs: [get, create]\n";
    let (base, head) = (format!("{}{}", set(READ), grant("[ops]")), format!("{}{}", set(wide), grant("[ops]")));
    let review = review_of(place.path(), &base, &head);
    let (words, lines) = proposal(&review);
    assert_eq!(words, "take `create` on `pods` away from `PermissionSet/work`");
    assert_eq!(lines, ["+  except:", "+  - {resources: [pods], verbs: [create]}"]);
}

#[test]
fn several_ways_to_a_power_are_all_closed() {
    let place = tempfile::tempdir().expect("a folder");
    let wide = format!(
        "{READ}  - resources: [pods, serviceaccounts/token]\n    verbs:\n    # new\n    - create\n    - list\n"
    );
    let (base, head) = (format!("{}{}", set(READ), grant("[ops]")), format!("{}{}", set(&wide), grant("[ops]")));
    let review = review_of(place.path(), &base, &head);
    let (words, lines) = proposal(&review);
    let set = "away from `PermissionSet/work`";
    assert_eq!(words, format!("take `create` on `pods` {set} and take `create` on `serviceaccounts/token` {set}"));
    let narrow = ["-  - resources: [pods, serviceaccounts/token]", "+  - resources: [pods]"];
    let exception = ["+  except:", "+  - {resources: [pods], verbs: [create]}"];
    assert_eq!(lines, [narrow, exception].concat());
}

/// The right is earlier than the path: the namespace of the account is new.
#[test]
fn an_earlier_right_stays() {
    let place = tempfile::tempdir().expect("a folder");
    let create = set("  - resources: [pods]\n    verbs: [create]\n");
    let (base, head) =
        (format!("{create}{}", grant("[shop]")), format!("{create}{}", grant("\n  - shop\n  # the operator\n  - ops")));
    let review = review_of(place.path(), &base, &head);
    assert_eq!(proposal(&review), ("leave `ops` out of `namespaces` of `Grant/dev`".to_owned(), vec!["-  - ops"]));
}

/// Reviews names and comments of an attacker.
#[test]
fn hostile_names_stay_names() {
    let place = tempfile::tempdir().expect("a folder");
    let name = "x\"y'#{{{{ z }}}}\u{202e}`<img src=x>|@team\n::error::";
    let quoted = serde_json::to_string(name).expect("JSON");
    let comment = "# \u{202e}```<img src=x> {{ 7*7 }} ::error::x \"'\n";
    let granted = |groups: &str| {
        format!(
            "{POLICY}Grant\nmetadata: {{name: dev}}\nspec:\n  {comment}  to: {{groups: [{groups}]}}\n  permissionSets: [work]\n  namespaces: [ops]\n"
        )
    };
    let create = set("  - resources: [pods]\n    verbs: [create]\n");
    let (base, head) =
        (format!("{create}{}", granted("dev")), format!("{create}{}", granted(&format!("dev, {quoted}"))));
    let review = review_of(place.path(), &base, &head);
    let (words, lines) = proposal(&review);
    assert!(words.starts_with("leave `") && words.ends_with("` out of `groups` of `Grant/dev`"), "{words}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let test: Value = serde_yaml::from_str(review.tests.suggested.as_ref().expect("a test")).expect("YAML");
    assert_eq!(test["spec"]["who"]["groups"][0], name.replace("{{", "{").replace("}}", "}"));
    for form in ["text", "markdown", "html", "json", "sarif", "github", "gitlab", "junit"] {
        let report = printed(place.path(), form);
        let is_hidden = |letter: char| letter == '\u{202e}' || letter.is_control() && letter != '\n';
        assert_eq!(report.chars().find(|letter| is_hidden(*letter)), None, "{form}");
        assert!(form == "github" || !report.lines().any(|line| line.starts_with("::")), "{form}: {report}");
        assert!(form != "html" || !report.contains("<img"), "{report}");
    }
}

/// Returns a form of the review.
fn printed(place: &Path, form: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .arg("-C")
        .arg(place.join("head"))
        .arg("review")
        .arg("--base-dir")
        .arg(place.join("base"))
        .args(["--report", &format!("{form}=-")])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn an_access_level_becomes_a_list_of_verbs() {
    let place = tempfile::tempdir().expect("a folder");
    let level = |level: &str| set(&format!("  - resources: [deployments]\n    access: {level} # all\n"));
    let (base, head) =
        (format!("{}{}", level("read"), grant("[ops]")), format!("{}{}", level("write"), grant("[ops]")));
    let review = review_of(place.path(), &base, &head);
    let (words, lines) = proposal(&review);
    let set = "away from `PermissionSet/work`";
    let both = format!("take `create` on `deployments` {set} and take `update`, `patch` on `deployments` {set}");
    assert_eq!(words, both);
    assert_eq!(lines, ["-    access: write # all", "+    verbs: [get, list, watch, delete, deletecollection] # all"]);
}
