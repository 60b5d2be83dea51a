//! The simulated pull requests of `pull-requests/`: edits of a workspace, and the expected review as data.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::repository;

/// Powers beyond one namespace: a subject without an expected path has no new path to one of them.
const WIDE_POWERS: [&str; 5] = ["admission", "all-secrets", "any-user", "cluster-admin", "nodes"];

/// The beginnings of differences from the cases. The values of the cases are without the roles of OpenShift itself
/// (`bootstrap_cluster_roles.yaml` and `bootstrap_cluster_role_bindings.yaml` of openshift-apiserver 4.20):
///
/// - `basic-user` lets every user read ClusterRoles, so that this is no gain.
/// - The path through approvals is another one on OpenShift.
/// - `cluster-reader` aggregates `view`, so that `system:cluster-readers` gains with it.
/// - `edit` aggregates rules of OpenShift, so that its rules are other rules.
const OF_OPENSHIFT: [&str; 12] = [
    r#"escalate-clusterroles: missing effect ["gained", "okd", "Group/support", "*", "get", "clusterroles.rbac.authorization.k8s.io", ""]"#,
    r#"approve-csr: missing path on okd"#,
    r#"aggregate-secrets-into-view: further effect ["gained", "okd", "Group/system:cluster-readers", "*", "get", "secrets", ""]"#,
    r#"aggregate-secrets-into-view: further effect ["gained", "okd", "Group/system:cluster-readers", "*", "list", "secrets", ""]"#,
    r#"aggregate-secrets-into-view: further effect ["gained", "okd", "Group/system:cluster-readers", "*", "watch", "secrets", ""]"#,
    r#"aggregate-secrets-into-view: further path of {"subject":"Group/system:cluster-readers","namespaces":[]}"#,
    r#"group-replaced: no ClusterRole/edit for ["gained", "okd", "Group/contractors", "shop-back"]"#,
    r#"group-replaced: no ClusterRole/edit for ["gained", "okd", "Group/contractors", "shop-front"]"#,
    r#"group-replaced: no ClusterRole/edit for ["gained", "okd", "Group/shop-team", "shop-back"]"#,
    r#"group-replaced: no ClusterRole/edit for ["gained", "okd", "Group/shop-team", "shop-front"]"#,
    r#"group-replaced: no ClusterRole/edit for ["lost", "okd", "Group/shop", "shop-back"]"#,
    r#"group-replaced: no ClusterRole/edit for ["lost", "okd", "Group/shop", "shop-front"]"#,
];

/// The reviews of all cases, with everything that is not as expected.
#[test]
fn every_simulated_pull_request_is_reviewed_as_expected() {
    let (folder, cases) = pull_requests();
    let today = cases["today"].as_str().expect("a day");
    let mut failures = Vec::new();
    let mut count = 0;
    for case in list(&cases, "cases") {
        let place = tempfile::tempdir().expect("a folder");
        prepare(&folder, case, place.path());
        let (exit, review) = review(place.path(), today);
        let found = Checked { review: &review, expect: &case["expect"] }.differences(exit);
        failures.extend(found.into_iter().map(|difference| format!("{}: {difference}", text_of(case, "id"))));
        count += 1;
    }
    let known = |difference: &String| OF_OPENSHIFT.iter().any(|known| difference.starts_with(known));
    assert_eq!(failures.iter().filter(|difference| known(difference)).count(), OF_OPENSHIFT.len());
    failures.retain(|difference| !known(difference));
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 25, "{count} cases");
}

/// Returns the folder of the simulated pull requests, and the cases.
pub(super) fn pull_requests() -> (PathBuf, Value) {
    let cases = serde_yaml::from_str(include_str!("pull-requests/cases.yaml")).expect("YAML");
    (repository().join("tests/review/pull-requests"), cases)
}

/// Copies the workspace of a case twice, and edits the second copy.
pub(super) fn prepare(folder: &Path, case: &Value, place: &Path) {
    let source = folder.join("base").join(text_of(case, "base"));
    copy(&source, &place.join("base"));
    copy(&source, &place.join("head"));
    for edit in list(case, "edits") {
        let path = place.join("head").join(text_of(edit, "file"));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        let text = match edit["content"].as_str() {
            Some(content) => content.to_owned(),
            None => {
                let text = std::fs::read_to_string(&path).expect("a file");
                let (find, count) = (text_of(edit, "find"), edit["count"].as_u64().unwrap_or(1));
                assert_eq!(text.matches(find).count() as u64, count, "{}", case["id"]);
                text.replace(find, text_of(edit, "replace"))
            }
        };
        std::fs::write(path, text).expect("written");
    }
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn review(place: &Path, today: &str) -> (i32, Value) {
    let report = place.join("review.json");
    let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .arg("-C")
        .arg(place.join("head"))
        .args(["--today", today, "review", "--base-dir"])
        .arg(place.join("base"))
        .arg("--report")
        .arg(format!("json={}", report.display()))
        .output()
        .expect("the program runs");
    let text = std::fs::read_to_string(&report)
        .unwrap_or_else(|_| panic!("no review: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().expect("an exit code"), serde_json::from_str(&text).expect("JSON"))
}

/// A review with what is expected of it.
struct Checked<'c> {
    review: &'c Value,
    expect: &'c Value,
}

impl Checked<'_> {
    fn differences(&self, exit: i32) -> Vec<String> {
        let mut found = Vec::new();
        let Self { review, expect } = self;
        if i64::from(exit) != expect["exit"].as_i64().expect("an exit code") {
            found.push(format!("exit {exit}"));
        }
        let verdict = review["verdict"].as_str().unwrap_or("none");
        if verdict != text_of(expect, "verdict") {
            found.push(format!("verdict {verdict}: {}", review["line"]));
        }
        for error in list(expect, "errors") {
            let is_it = |diagnostic: &Value| {
                diagnostic["code"] == error["code"]
                    && text_of(&diagnostic["place"], "path").ends_with(text_of(error, "file"))
            };
            if !list(review, "diagnostics").iter().any(is_it) {
                found.push(format!("no {error} in {}", review["diagnostics"]));
            }
        }
        if verdict == "none" {
            return found;
        }
        if expect.get("severity").is_some_and(|severity| *severity != review["severity"]) {
            found.push(format!("severity {}", review["severity"]));
        }
        self.cause(&mut found);
        self.effects(&mut found);
        self.paths(&mut found);
        self.pods(&mut found);
        self.tests(&mut found);
        self.rest(&mut found);
        found
    }

    fn cause(&self, found: &mut Vec<String>) {
        let Some(cause) = self.expect.get("cause") else { return };
        let first = &self.review["causes"][0];
        if !text_of(first, "path").ends_with(text_of(cause, "file")) || first["line"] != cause["line"] {
            found.push(format!("cause {first}"));
        }
    }

    fn effects(&self, found: &mut Vec<String>) {
        if self.expect["effects"] == "accounts" {
            for key in ["added", "removed"] {
                if self.review["accounts"][key] != self.expect["accounts"][key] {
                    found.push(format!("accounts {}", self.review["accounts"]));
                }
            }
        }
        let Some(expected) = self.expect["effects"].as_array() else {
            if !list(self.review, "effects").is_empty() {
                found.push(format!("effects {}", self.review["effects"]));
            }
            return;
        };
        let mut wanted: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut got = self.expanded_effects();
        for effect in expected {
            for target in texts(effect, "targets") {
                for (subject, scopes) in effect["holders"].as_object().expect("holders") {
                    for scope in scopes.as_array().expect("scopes").iter().filter_map(Value::as_str) {
                        let head = [text_of(effect, "change"), &target, subject, scope].map(str::to_owned).to_vec();
                        match effect["role"].as_str() {
                            Some(role) => {
                                let is_named = self.has_role(&head, role);
                                got.retain(|one| !one.starts_with(&head));
                                if !is_named {
                                    found.push(format!("no {role} for {head:?}"));
                                }
                            }
                            None => wanted.extend(expected_rights(effect).into_iter().map(|right| {
                                let mut all = head.clone();
                                all.extend(right);
                                all
                            })),
                        }
                    }
                }
            }
        }
        found.extend(wanted.difference(&got).map(|missing| format!("missing effect {missing:?}")));
        found.extend(got.difference(&wanted).map(|further| format!("further effect {further:?}")));
    }

    /// Returns the effects by change, target, subject, scope, verb, resource and name.
    fn expanded_effects(&self) -> BTreeSet<Vec<String>> {
        let mut all = BTreeSet::new();
        for effect in list(self.review, "effects") {
            for member in self.members(effect) {
                for target in texts(effect, "targets") {
                    for scope in scopes(member) {
                        let head = [text_of(effect, "change"), &target, text_of(member, "subject"), &scope];
                        for right in list(effect, "rights").iter().flat_map(rights) {
                            all.insert(head.iter().map(|text| (*text).to_owned()).chain(right).collect());
                        }
                    }
                }
            }
        }
        all
    }

    fn has_role(&self, head: &[String], role: &str) -> bool {
        list(self.review, "effects").iter().any(|effect| {
            let is_it =
                effect["change"] == head[0] && effect["role"] == role && texts(effect, "targets").contains(&head[1]);
            let has = |member: &Value| member["subject"] == head[2] && scopes(member).contains(&head[3]);
            is_it && self.members(effect).iter().any(has)
        })
    }

    fn members(&self, effect: &Value) -> &[Value] {
        let class = effect["class"].as_u64().expect("a class");
        list(&self.review["classes"][class as usize], "members")
    }

    fn paths(&self, found: &mut Vec<String>) {
        let expected = list(self.expect, "paths");
        let subjects: BTreeSet<&str> = expected.iter().map(|path| text_of(path, "who")).collect();
        for path in expected {
            for target in texts(path, "targets") {
                let is_it = |own: &&Value| {
                    ["change", "reaches", "certainty"].iter().all(|key| own[key] == path[key])
                        && texts(own, "targets").contains(&target)
                        && self.members(own).iter().any(|member| member["subject"] == path["who"])
                        && runs_through(own, list(path, "via"))
                };
                if !list(self.review, "paths").iter().any(|own| is_it(&own)) {
                    found.push(format!("missing path on {target}: {path}"));
                }
            }
        }
        for path in list(self.review, "paths").iter().filter(|path| path["change"] == "new") {
            let is_wide = WIDE_POWERS.contains(&text_of(path, "reaches"));
            let strangers = self.members(path).iter().filter(|member| !subjects.contains(text_of(member, "subject")));
            found.extend(strangers.filter(|_| is_wide).map(|member| format!("further path of {member}: {path}")));
        }
        for path in list(self.expect, "notReached") {
            let is_it = |own: &&Value| own["reaches"] == path["reaches"] && own["change"] == "new";
            let has = |own: &Value| self.members(own).iter().any(|member| member["subject"] == path["who"]);
            if list(self.review, "paths").iter().any(|own| is_it(&own) && has(own)) {
                found.push(format!("a path that must not be: {path}"));
            }
        }
    }

    fn pods(&self, found: &mut Vec<String>) {
        let expected = list(self.expect, "pods");
        let own = list(self.review, "pods");
        for change in expected {
            let is_it = |own: &Value| {
                change.as_object().expect("a map").iter().all(|(key, value)| match key.as_str() {
                    "namespaces" => texts(change, "namespaces").is_subset(&texts(own, "namespaces")),
                    _ => own[key] == *value,
                })
            };
            if !own.iter().any(is_it) {
                found.push(format!("missing change of pods {change}"));
            }
        }
        if texts(self.expect, "partial").contains("pods") {
            return;
        }
        let is_named = |own: &Value| {
            expected.iter().any(|change| texts(own, "namespaces").is_subset(&texts(change, "namespaces")))
        };
        found.extend(own.iter().filter(|own| !is_named(own)).map(|own| format!("further change of pods {own}")));
    }

    fn tests(&self, found: &mut Vec<String>) {
        let (expected, own) = (&self.expect["tests"], &self.review["tests"]);
        let names =
            |list_of: &[Value]| list_of.iter().map(|one| text_of(one, "test").to_owned()).collect::<BTreeSet<_>>();
        let failing = texts(expected, "failing");
        if names(list(own, "failing")) != failing {
            found.push(format!("failing tests {}", own["failing"]));
        }
        let base_failing = if expected.get("baseFailing").is_some() { texts(expected, "baseFailing") } else { failing };
        if names(list(own, "baseFailing")) != base_failing {
            found.push(format!("failing tests of the base {}", own["baseFailing"]));
        }
        let keys = ["test", "expectation", "index", "wouldFail"];
        let removed = |one: &Value| keys.map(|key| one[key].to_string());
        let (wanted, got): (BTreeSet<_>, BTreeSet<_>) = (
            list(expected, "removed").iter().map(removed).collect(),
            list(own, "removed").iter().map(removed).collect(),
        );
        if wanted != got {
            found.push(format!("removed expectations {}", own["removed"]));
        }
    }

    /// Compares hazards, lifetimes, findings, objects and ground.
    fn rest(&self, found: &mut Vec<String>) {
        let Self { review, expect } = self;
        let pairs = |list_of: &[Value], keys: &[&str]| {
            list_of
                .iter()
                .map(|one| keys.iter().map(|key| one[key].to_string()).collect::<Vec<_>>())
                .collect::<BTreeSet<_>>()
        };
        let sections: [(&str, &[&str]); 2] =
            [("hazards", &["kind", "severity"]), ("lifetimes", &["grant", "before", "after", "direction"])];
        for (section, keys) in sections {
            if pairs(list(review, section), keys) != pairs(list(expect, section), keys) {
                found.push(format!("{section} {}", review[section]));
            }
        }
        for hazard in list(expect, "hazards") {
            let own = list(review, "hazards").iter().find(|own| own["kind"] == hazard["kind"]);
            for (key, value) in hazard.as_object().expect("a map") {
                let is_same = own.is_some_and(|own| match value {
                    Value::Array(_) => texts(own, key) == texts(hazard, key),
                    _ => own[key] == *value,
                });
                if !is_same {
                    found.push(format!("hazard {key}: {}", review["hazards"]));
                }
            }
        }
        for finding in list(&expect["findings"], "new") {
            let who = text_of(finding, "who");
            let is_it = |own: &Value| {
                let subject = text_of(own, "who");
                let is_same = who.strip_suffix('*').map_or(subject == who, |start| subject.starts_with(start));
                is_same && (own["rule"] == finding["rule"] || list(own, "also").contains(&finding["rule"]))
            };
            if !list(&review["findings"], "new").iter().any(is_it) {
                found.push(format!("missing finding {finding}"));
            }
        }
        for (target, counts) in expect["objects"].as_object().into_iter().flatten() {
            let own = &review["objects"]["counts"][target];
            if counts.as_object().is_some_and(|counts| counts.iter().any(|(key, value)| own[key] != *value)) {
                found.push(format!("objects on {target}: {own}"));
            }
        }
        let keys = ["target", "kind", "from", "to"];
        if expect.get("ground").is_some()
            && pairs(list(review, "ground"), &keys) != pairs(list(expect, "ground"), &keys)
        {
            found.push(format!("ground {}", review["ground"]));
        }
    }
}

/// Whether a path runs through edges, powers and subjects in their order; others may stand between them.
fn runs_through(path: &Value, via: &[Value]) -> bool {
    let mut way = Vec::new();
    for step in list(path, "steps") {
        way.push(match step["namespace"].as_str() {
            Some(namespace) => format!("{}@{namespace}", text_of(step, "edge")),
            None => text_of(step, "edge").to_owned(),
        });
        way.push(text_of(step, "to").to_owned());
    }
    let mut way = way.iter();
    via.iter().all(|part| way.any(|own| part == own))
}

/// Returns the rights of a text such as `get,list pods.apps/log named x` as verb, resource and name.
fn expected_rights(effect: &Value) -> Vec<[String; 3]> {
    let mut all = Vec::new();
    for right in texts(effect, "rights") {
        let (right, name) = right.split_once(" named ").unwrap_or((&right, ""));
        let (verbs, resource) = right.split_once(' ').expect("a verb and a resource");
        all.extend(verbs.split(',').map(|verb| [verb.to_owned(), resource.to_owned(), name.to_owned()]));
    }
    all
}

/// Returns the rights of a rule as verb, resource and name.
fn rights(rule: &Value) -> Vec<[String; 3]> {
    let mut resources: Vec<String> = texts(rule, "nonResourceURLs").into_iter().collect();
    for group in texts(rule, "apiGroups") {
        for resource in texts(rule, "resources") {
            let (name, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
            let dot = if group.is_empty() { "" } else { "." };
            let slash = if subresource.is_empty() { "" } else { "/" };
            resources.push(format!("{name}{dot}{group}{slash}{subresource}"));
        }
    }
    let mut names = texts(rule, "resourceNames");
    if names.is_empty() {
        names.insert(String::new());
    }
    let verbs = texts(rule, "verbs");
    let all = verbs.iter().flat_map(|verb| resources.iter().map(move |resource| (verb, resource)));
    all.flat_map(|(verb, resource)| names.iter().map(move |name| [verb.clone(), resource.clone(), name.clone()]))
        .collect()
}

fn scopes(member: &Value) -> BTreeSet<String> {
    let scopes = texts(member, "namespaces");
    if scopes.is_empty() { BTreeSet::from(["*".to_owned()]) } else { scopes }
}

pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts(value: &Value, key: &str) -> BTreeSet<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
