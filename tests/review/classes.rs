//! One namespace of each class gives the review, the findings, the map and the answers of AccessTests of all namespaces.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bailiwick::access::risk::RiskSeverity;
use bailiwick::app::access_map::AccessMapOptions;
use bailiwick::app::review::{ChangeReview, ReviewBase, ReviewOptions};
use bailiwick::app::{TestEvent, compare_output_folder, judge_output_folder, judge_targets, prepare_tests};
use bailiwick::{
    CompareOptions, LintOptions, Options, Selection, TestOptions, TestRun, Workspace, access_map, lint, review,
    run_tests,
};
use serde_json::Value;

use crate::oracle::Dice;
use crate::support::rounds;

const HEAD: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind:";

/// A row of the account list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    team: String,
    owner: String,
    org: String,
    uid: usize,
    /// The items of a list, joined by `;`.
    crews: String,
}

/// A state of a workspace with tenants.
#[derive(Debug, Clone)]
struct State {
    rows: Vec<Row>,
    /// The verbs of the tenants on pods.
    verbs: Vec<&'static str>,
    level: &'static str,
    version: &'static str,
    /// Whether the owner has the same role as the team.
    has_owner: bool,
    /// Subjects of a Grant in one tenant, and of a Grant for the whole cluster.
    guest: Option<String>,
    wide: Option<String>,
    /// Whether the subjects of Grants are written with an escape of YAML.
    has_escapes: bool,
    /// The user whom the owner of a tenant impersonates.
    impersonated: Option<&'static str>,
    /// The value of the label `org`, which a Grant selects namespaces by.
    label: &'static str,
    /// Whether AccessTests ask about all namespaces.
    has_tests: bool,
    /// The user who applies the output: a user without a binding, or one with too few permissions.
    applier: Option<&'static str>,
    /// A user of each tenant who can create pods under constraints that no service account may use; none on Kubernetes.
    above_accounts: Option<&'static str>,
}

impl State {
    fn random(dice: &mut Dice, tenants: usize) -> Self {
        let teams = 1 + dice.below(60);
        let shared_owner = dice.chance(33);
        let row = |number: usize, dice: &mut Dice| Row {
            name: format!("{}-{number}", ["amber", "brown", "coral", "view", "green"][number % 5]),
            team: match dice.below(40) {
                0 => "admin".to_owned(),
                1 => format!("{}-{number}", ["amber", "brown", "coral", "view", "green"][number % 5]),
                _ => format!("team-{}", dice.below(teams)),
            },
            owner: if shared_owner { format!("kim-{}", dice.below(90)) } else { format!("kim-{number}") },
            org: ["sales", "labs", "ops"][dice.below(3)].to_owned(),
            uid: if number % 50 == 3 { 900 + number } else { 50_000 + number },
            crews: match dice.below(20) {
                0 => format!("team-{};crew-{number}", dice.below(teams)),
                1 => format!("crew-{number};crew-{number}"),
                2 => format!("{0}-{number};view", ["amber", "brown", "coral", "view", "green"][number % 5]),
                3 => String::new(),
                _ => format!("crew-{number}-a;crew-{number}-b"),
            },
        };
        let rows = (0..tenants).map(|number| row(number, dice)).collect();
        Self {
            rows,
            verbs: vec!["get", "list"],
            level: "baseline",
            version: "1.34",
            has_owner: dice.chance(50),
            guest: dice.chance(50).then(|| "team-1".to_owned()),
            wide: dice.chance(33).then(|| "team-2".to_owned()),
            has_escapes: dice.chance(50),
            impersonated: dice.chance(33).then_some("{name}-bot"),
            label: "{org}",
            has_tests: dice.chance(50),
            applier: [None, Some("argo"), Some("flux")][dice.below(3)],
            above_accounts: dice.chance(33).then_some("{name}"),
        }
    }

    /// Returns a state whose namespaces are one class, so that one namespace stands for all of them.
    fn uniform() -> Self {
        let row = |number: usize| Row {
            name: format!("amber-{number}"),
            team: format!("crew-{number}"),
            owner: format!("kim-{number}"),
            org: "labs".to_owned(),
            uid: 50_000 + number,
            crews: String::new(),
        };
        let random = Self::random(&mut Dice::new(1), 1);
        let rows = (0..260).map(row).collect();
        let state = Self { rows, guest: None, wide: None, impersonated: None, has_tests: false, ..random };
        Self { has_owner: true, applier: None, above_accounts: None, ..state }
    }

    /// Returns a state with one to three random changes.
    fn changed(&self, dice: &mut Dice) -> Self {
        let mut new = self.clone();
        for _ in 0..=dice.below(3) {
            let position = dice.below(new.rows.len());
            match dice.below(14) {
                0 => new.verbs.push("create"),
                1 => new.verbs = vec!["get"],
                2 => new.level = if dice.chance(50) { "restricted" } else { "privileged" },
                3 => new.version = "1.35",
                4 => new.has_owner = !new.has_owner,
                5 => new.guest = Some(new.rows[position].team.clone()),
                6 => new.wide = Some(new.rows[position].owner.clone()),
                7 => new.rows[position].team = "team-0".to_owned(),
                8 => _ = new.rows.remove(position),
                9 => {
                    let row = Row { name: "fresh-1".to_owned(), ..new.rows[position].clone() };
                    if !new.rows.iter().any(|known| known.name == row.name) {
                        new.rows.push(row);
                    }
                }
                10 => new.impersonated = Some("{name}"),
                11 => new.has_tests = !new.has_tests,
                12 => new.rows[position].crews = "crew-1-a".to_owned(),
                _ => new.label = "{team}",
            }
        }
        new
    }

    /// Returns a subject of a Grant in YAML.
    fn written(&self, subject: &str) -> String {
        match subject.split_at_checked(1).filter(|_| self.has_escapes) {
            Some((first, rest)) => format!("\"\\x{:02x}{rest}\"", first.as_bytes()[0]),
            None => subject.to_owned(),
        }
    }

    /// Returns the grants of a tenant to a user above its service accounts.
    fn grants_above_accounts(&self) -> String {
        let Some(user) = self.above_accounts else { return String::new() };
        let users = format!("to: {{users: [\"{user}\"]}}");
        let constraints = "system:openshift:scc:anyuid";
        format!(
            "    - {{name: makers, role: maker, {users}}}\n    - {{name: anyuid, clusterRole: \"{constraints}\", {users}}}\n"
        )
    }

    /// Returns the workspace file.
    fn workspace(&self) -> String {
        let applied = self.applier.map_or_else(String::new, |user| format!(", appliedBy: {{user: {user}}}"));
        let is_openshift = self.above_accounts.is_some();
        let platform = if is_openshift { ", platform: openshift" } else { "" };
        let version = match (is_openshift, self.version) {
            (true, "1.34") => "4.20",
            (true, _) => "4.21",
            (false, version) => version,
        };
        let targets = format!("[{{name: a, version: \"{version}\"{platform}{applied}}}]");
        format!("{HEAD} Workspace\nmetadata: {{name: w}}\nspec:\n  targets: {targets}\n")
    }

    fn write(&self, root: &Path) {
        fs::create_dir_all(root.join("policies")).expect("a folder");
        let mut list = "name,team,owner,org,uid,crews\n".to_owned();
        for Row { name, team, owner, org, uid, crews } in &self.rows {
            writeln!(list, "{name},{team},{owner},{org},{uid},{crews}").expect("a text");
        }
        let Self { level, label, .. } = self;
        let verbs = self.verbs.join(", ");
        let owner = if self.has_owner { "\"{owner}\", " } else { "" };
        let mut rules = format!("  - {{apiGroups: [\"\"], resources: [pods, pods/exec], verbs: [{verbs}]}}\n");
        if let Some(user) = self.impersonated {
            let rule = "{apiGroups: [\"\"], resources: [serviceaccounts], verbs: [impersonate]";
            writeln!(rules, "  - {rule}, resourceNames: [\"{user}\"]}}").expect("a text");
        }
        let mut grants = String::new();
        if let (Some(group), Some(row)) = (&self.guest, self.rows.get(7)) {
            write!(
                grants,
                "---\n{HEAD} Grant\nmetadata: {{name: guest}}\nspec:\n  clusterRoles: [edit]\n  namespaces: [t-{}]\n  to: {{groups: [{}]}}\n",
                row.name,
                self.written(group)
            )
            .expect("a text");
        }
        if let Some(group) = &self.wide {
            write!(
                grants,
                "---\n{HEAD} Grant\nmetadata: {{name: wide}}\nspec:\n  clusterRoles: [view]\n  clusterWide: true\n  to: {{groups: [{}]}}\n",
                self.written(group)
            )
            .expect("a text");
        }
        write!(
            grants,
            "---\n{HEAD} Grant\nmetadata: {{name: audit}}\nspec:\n  clusterRoles: [view]\n  namespaceSelector: {{matchLabels: {{org: {}}}}}\n  to: {{groups: [auditors]}}\n",
            if self.has_tests { "sales" } else { "nobody" }
        )
        .expect("a text");
        write!(
            grants,
            "---\n{HEAD} Grant\nmetadata: {{name: flux}}\nspec:\n  clusterRoles: [edit]\n  clusterWide: true\n  to: {{users: [flux]}}\n"
        )
        .expect("a text");
        if self.has_tests {
            let question = "{verbs: [create], resources: [pods], namespaces: [\"*\"]}";
            write!(
                grants,
                "---\n{HEAD} AccessTest\nmetadata: {{name: apart}}\nspec:\n  who: {{groups: [team-3, auditors], users: [kim-4]}}\n  mustNot: [{question}]\n  mustNotBecome: [nodes]\n"
            )
            .expect("a text");
        }
        let above = self.grants_above_accounts();
        let policies = format!(
            "{HEAD} PermissionSet\nmetadata: {{name: worker}}\nspec:\n  rules:\n{rules}---\n{HEAD} PermissionSet\nmetadata: {{name: maker}}\nspec:\n  rules:\n  - {{resources: [pods], verbs: [create]}}\n---\n{HEAD} Tenancy\nmetadata: {{name: tenants}}\nspec:\n  accounts: {{file: tenants.csv}}\n  variables:\n    name: {{type: string}}\n    team: {{type: string}}\n    owner: {{type: string}}\n    org: {{type: string}}\n    uid: {{type: integer}}\n    crews: {{type: list, of: {{type: string}}}}\n  class:\n    namespace:\n      name: \"t-{{name}}\"\n      labels: {{org: \"{label}\", pod-security.kubernetes.io/enforce: {level}}}\n      annotations: {{example.org/uid: \"{{uid}}\"}}\n    roles:\n    - {{name: worker, permissionSet: worker}}\n    - {{name: maker, permissionSet: maker}}\n    grants:\n    - name: workers\n      role: worker\n      to:\n        groups: [\"{{team}}\"]\n        users: [{owner}\"{{name}}\"]\n        serviceAccounts: [{{name: \"{{name}}-bot\", create: true}}]\n    - {{name: watchers, clusterRole: view, to: {{groups: [\"{{crews}}\"]}}}}\n{above}{grants}"
        );
        fs::write(root.join("policies/tenants.csv"), list).expect("written");
        fs::write(root.join("policies/tenants.yaml"), policies).expect("written");
        let workspace = self.workspace();
        fs::write(root.join("bailiwick.yaml"), workspace).expect("written");
    }
}

fn reviewed(folder: &Path, without_classes: bool) -> ChangeReview {
    let opened = Workspace::open(&Options::in_folder(folder.join("head"))).expect("a workspace");
    let base = ReviewBase::Folder(folder.join("base"));
    review(&opened, &ReviewOptions { base, without_classes, ..ReviewOptions::default() }).expect("a review")
}

#[test]
fn the_review_of_classes_is_the_review_of_all_namespaces() {
    for seed in 0..rounds(2, 60) {
        let mut dice = Dice::new(seed);
        let base = State::random(&mut dice, rounds(260, 500) as usize);
        let head = base.changed(&mut dice);
        let folder = tempfile::tempdir().expect("a folder");
        base.write(&folder.path().join("base"));
        head.write(&folder.path().join("head"));
        let (of_classes, of_all) = (reviewed(folder.path(), false), reviewed(folder.path(), true));
        let json = |review: &ChangeReview| {
            let mut review = serde_json::to_value(review).expect("a value");
            // The named questions are the first that fail, and fewer in a sample. Their number is the same.
            for section in ["failing", "baseFailing"] {
                let tests = review["tests"][section].as_array_mut().expect("a list");
                tests.iter_mut().for_each(|test| test["first"] = Value::Null);
            }
            review
        };
        let (of_classes, of_all) = (json(&of_classes), json(&of_all));
        assert!(of_all["diagnostics"].as_array().is_some_and(Vec::is_empty), "{}", of_all["diagnostics"]);
        let sections = of_all.as_object().expect("an object");
        for (section, expected) in sections {
            assert!(of_classes[section] == *expected, "seed {seed}, {section}:\n{}\n{expected}", of_classes[section]);
        }
    }
}

/// Writes a state with a binding by a template in the namespace of each tenant.
fn write_with_template(root: &Path, template: &str) {
    let mut list = "name,team,org\n".to_owned();
    for number in 0..260 {
        writeln!(list, "amber-{number},crew-{},{}", number % 90, ["sales", "labs"][number % 2]).expect("a text");
    }
    let workspace =
        format!("{HEAD} Workspace\nmetadata: {{name: w}}\nspec: {{targets: [{{name: t, version: \"1.34\"}}]}}\n");
    let policy = format!(
        "{HEAD} Tenancy\nmetadata: {{name: tenants}}\nspec:\n  accounts: {{file: tenants.csv}}\n  variables:\n    name: {{type: string}}\n    team: {{type: string}}\n    org: {{type: string}}\n  class:\n    namespace: {{name: \"t-{{name}}\"}}\n    objects:\n    - {{template: binding.yaml.j2, apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, name: team}}\n"
    );
    for folder in ["policies", "templates"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    let files = [
        ("bailiwick.yaml", workspace.as_str()),
        ("policies/tenants.csv", &list),
        ("policies/tenants.yaml", &policy),
        ("templates/binding.yaml.j2", template),
    ];
    files.iter().for_each(|(path, text)| fs::write(root.join(path), text).expect("written"));
}

#[test]
fn the_review_of_a_changed_template_is_the_review_of_all_namespaces() {
    let template = |more: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{{% include \"_metadata.yaml.j2\" %}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}}\nsubjects:\n- {{apiGroup: rbac.authorization.k8s.io, kind: Group, name: {{{{ account.team }}}}}}\n{more}"
        )
    };
    let more = "{% if account.org == \"sales\" %}\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: {{ account.name ~ \"-lead\" }}}\n{% endif %}\n";
    let folder = tempfile::tempdir().expect("a folder");
    write_with_template(&folder.path().join("base"), &template(""));
    write_with_template(&folder.path().join("head"), &template(more));
    let json = |without_classes| serde_json::to_value(reviewed(folder.path(), without_classes)).expect("a value");
    let (of_classes, of_all) = (json(false), json(true));
    assert!(of_all["diagnostics"].as_array().is_some_and(Vec::is_empty), "{}", of_all["diagnostics"]);
    assert!(of_all["effects"].as_array().is_some_and(|effects| !effects.is_empty()), "{of_all}");
    for (section, expected) in of_all.as_object().expect("an object") {
        assert!(of_classes[section] == *expected, "{section}:\n{}\n{expected}", of_classes[section]);
    }
}

#[test]
fn the_review_of_a_name_in_another_spelling_is_the_review_of_all_namespaces() {
    // Variables, an escape, and an escaped line break.
    for name in ["{policy.name}er-40", "am\\x62er-40", "amber-\\\n  40"] {
        let folder = tempfile::tempdir().expect("a folder");
        State::uniform().write(&folder.path().join("base"));
        State::uniform().write(&folder.path().join("head"));
        let grant = format!(
            "{HEAD} Grant\nmetadata: {{name: amb}}\nspec:\n  clusterRoles: [edit]\n  clusterWide: true\n  to: {{users: [\"{name}\"]}}\n"
        );
        fs::write(folder.path().join("head/policies/grant.yaml"), grant).expect("written");
        let json = |without_classes| serde_json::to_value(reviewed(folder.path(), without_classes)).expect("a value");
        let (of_classes, of_all) = (json(false), json(true));
        let words = of_all.to_string();
        assert!(
            words.contains("`User/amber-40` of tenant `amber-40` holds `ClusterRole/edit` cluster-wide"),
            "{words}"
        );
        for (section, expected) in of_all.as_object().expect("an object") {
            assert!(of_classes[section] == *expected, "{name}, {section}:\n{}\n{expected}", of_classes[section]);
        }
    }
}

/// Returns the findings of a state.
fn findings(folder: &Path, without_classes: bool) -> Vec<Value> {
    let opened = Workspace::open(&Options::in_folder(folder.to_path_buf())).expect("a workspace");
    // The rule counts the bindings of all namespaces, so that it switches the classes off.
    let ignored = ["B017".to_owned()];
    let selection = Selection::new(&[], &ignored, Some(RiskSeverity::Info)).expect("a selection");
    let options = LintOptions { selection, without_classes, ..LintOptions::default() };
    let report = lint(&opened, &options).expect("a report");
    let mut findings: Vec<Value> =
        report.findings.records().map(|record| serde_json::to_value(record).expect("a value")).collect();
    for finding in &mut findings {
        // The examples are others where holders have another order than their namespaces.
        let notes = finding["notes"].as_array_mut().expect("a list");
        notes.retain(|note| !note.as_str().expect("a text").starts_with("also "));
    }
    findings
}

#[test]
fn the_findings_of_classes_are_the_findings_of_all_namespaces() {
    for seed in 0..rounds(2, 60) {
        let mut dice = Dice::new(seed);
        let state = State::random(&mut dice, rounds(260, 500) as usize).changed(&mut dice);
        let folder = tempfile::tempdir().expect("a folder");
        state.write(folder.path());
        let (of_classes, of_all) = (findings(folder.path(), false), findings(folder.path(), true));
        assert!(of_all.len() > 1, "{of_all:?}");
        for (found, expected) in of_classes.iter().zip(&of_all) {
            assert!(found == expected, "seed {seed}:\n{found}\n{expected}");
        }
        assert_eq!(of_classes.len(), of_all.len(), "seed {seed}");
    }
}

#[test]
fn the_users_above_accounts_of_classes_are_the_users_of_all_namespaces() {
    for seed in 0..rounds(1, 40) {
        let mut dice = Dice::new(seed);
        let state = State::random(&mut dice, 260);
        let state = State { above_accounts: Some("{owner}"), level: "restricted", ..state };
        let folder = tempfile::tempdir().expect("a folder");
        state.write(folder.path());
        let users = |without_classes| {
            let mut found = findings(folder.path(), without_classes);
            found.retain(|finding| finding["code"] == "user-above-accounts");
            found
        };
        let (of_classes, of_all) = (users(false), users(true));
        assert!(!of_all.is_empty(), "seed {seed}");
        assert_eq!(of_classes, of_all, "seed {seed}");
    }
}

/// Returns the map of a state in JSON.
fn mapped(folder: &Path, without_classes: bool) -> Value {
    let opened = Workspace::open(&Options::in_folder(folder.to_path_buf())).expect("a workspace");
    let options = AccessMapOptions { without_classes, ..AccessMapOptions::default() };
    let mut map = serde_json::to_value(access_map(&opened, &options).expect("a map")).expect("a value");
    for finding in map["findings"]["worst"].as_array_mut().expect("a list") {
        // The examples are others where holders have another order than their namespaces.
        let notes = finding["notes"].as_array_mut().expect("a list");
        notes.retain(|note| !note.as_str().expect("a text").starts_with("also "));
    }
    map
}

#[test]
fn the_map_of_classes_is_the_map_of_all_namespaces() {
    for seed in 0..rounds(2, 60) {
        let mut dice = Dice::new(seed);
        let state = State::random(&mut dice, rounds(260, 500) as usize).changed(&mut dice);
        let folder = tempfile::tempdir().expect("a folder");
        state.write(folder.path());
        let (of_classes, of_all) = (mapped(folder.path(), false), mapped(folder.path(), true));
        for target in ["subjects", "defaultSubjects", "paths", "namespaces", "unknown"] {
            let (found, expected) = (&of_classes["targets"][0][target], &of_all["targets"][0][target]);
            assert!(found == expected, "seed {seed}, {target}:\n{found}\n{expected}");
        }
        let templates = |map: &Value| -> Vec<Value> {
            let classes = map["classes"].as_array().expect("a list").iter();
            classes.map(|class| serde_json::json!([class["template"], class["count"], class["sample"]])).collect()
        };
        assert_eq!(templates(&of_classes), templates(&of_all), "seed {seed}");
        for section in ["classes", "findings", "unanswered", "targets"] {
            let (found, expected) = (&of_classes[section], &of_all[section]);
            assert!(found == expected, "seed {seed}, {section}:\n{found}\n{expected}");
        }
    }
}

/// Returns random AccessTests about the subjects and the namespaces of a state, each with one expectation.
fn access_tests(state: &State, dice: &mut Dice, count: usize) -> String {
    let mut policies = String::new();
    for number in 0..count {
        let (row, other) = (&state.rows[dice.below(state.rows.len())], &state.rows[dice.below(state.rows.len())]);
        let crew = row.crews.split(';').next().expect("an item");
        let who = match dice.below(6) {
            0 => format!("users: [{}]", row.name),
            1 => format!("users: [\"{}\"]", row.owner),
            2 => format!("groups: [{}]", row.team),
            3 => format!("groups: [\"crew:{crew}\", \"{crew}\"]").replace(", \"\"", ""),
            4 => format!("users: [\"system:serviceaccount:t-{0}:{0}-bot\"]", row.name),
            _ => "groups: [auditors]".to_owned(),
        };
        // A name with an escape is not found in the text of its file.
        let namespace = match dice.below(4) {
            0 => "*".to_owned(),
            1 => format!("\\x74-{}", row.name),
            2 => format!("t-{}", row.name),
            _ => format!("t-{}", other.name),
        };
        let verb = dice.pick(&["get", "list", "create", "delete"]);
        let must = dice.pick(&["must", "mustNot"]);
        write!(
            policies,
            "---\n{HEAD} AccessTest\nmetadata: {{name: test-{number}-}}\nspec:\n  who: {{{who}}}\n  {must}: [{{verbs: [{verb}], resources: [pods], namespaces: [\"{namespace}\"]}}]\n"
        )
        .expect("a text");
    }
    policies
}

/// Runs the AccessTests with this text in their name.
fn tested(workspace: &Workspace, name: &str, without_classes: bool) -> (TestRun, Vec<String>) {
    let options = TestOptions { names: vec![name.to_owned()], without_classes, ..TestOptions::default() };
    let mut events = Vec::new();
    let mut each = |event: TestEvent<'_>| match event {
        TestEvent::Failure(failed) => events.push(format!("{:?} {}", failed.who, failed.request)),
        TestEvent::MoreFailures(count) => events.push(count.to_string()),
        TestEvent::Asked { questions, failures, .. } => events.push(format!("{questions} {failures}")),
        _ => {}
    };
    let run = run_tests(workspace, &options, &mut each).expect("a run");
    (run, events)
}

#[test]
fn the_tests_of_classes_have_the_answers_of_all_namespaces() {
    let mut passed = 0;
    for seed in 0..rounds(3, 60) {
        let mut dice = Dice::new(seed);
        let state = State { has_tests: false, ..State::random(&mut dice, 260) };
        let folder = tempfile::tempdir().expect("a folder");
        state.write(folder.path());
        fs::write(folder.path().join("policies/tests.yaml"), access_tests(&state, &mut dice, 12)).expect("written");
        let workspace = Workspace::open(&Options::in_folder(folder.path().to_path_buf())).expect("a workspace");
        let (mut questions, mut failures) = (0, 0);
        for number in 0..12 {
            let name = format!("test-{number}-");
            let (of_all, expected) = tested(&workspace, &name, true);
            let (of_classes, found) = tested(&workspace, &name, false);
            assert_eq!(found, expected, "seed {seed}, {name}");
            assert_eq!((of_classes.questions, of_classes.failures), (of_all.questions, of_all.failures), "seed {seed}");
            questions += of_all.questions;
            failures += of_all.failures;
            passed += usize::from(of_all.failures == 0);
        }
        // `check` finds the classes on the way.
        let prepared = prepare_tests(&workspace, &[]);
        let comparison =
            compare_output_folder(&workspace, &CompareOptions::default(), Some(&prepared)).expect("a comparison");
        let judged = judge_output_folder(&workspace, &comparison).expect("a folder");
        let targets = workspace.targets(&[]).expect("targets");
        let run = judge_targets(&workspace, &targets, Some(&prepared), judged, &mut |_| {}).expect("a run").tests;
        assert_eq!((run.questions, run.failures), (questions, failures), "seed {seed}");
    }
    assert!(passed > 5, "{passed}");
}

#[test]
fn a_failed_test_has_the_names_of_all_namespaces() {
    let folder = tempfile::tempdir().expect("a folder");
    State::uniform().write(folder.path());
    // The escapes hide the names of the tenant from a search of the text.
    let (who, namespace) = ("am\\x62er-40", "t-am\\x62er-40");
    let question = "verbs: [get], resources: [pods]";
    let tests = format!(
        "{HEAD} AccessTest\nmetadata: {{name: one}}\nspec:\n  who: {{users: [\"{who}\"]}}\n  mustNot: [{{{question}, namespaces: [\"{namespace}\"]}}]\n---\n{HEAD} AccessTest\nmetadata: {{name: all}}\nspec:\n  who: {{users: [nobody]}}\n  must: [{{{question}, namespaces: [\"*\"]}}]\n"
    );
    fs::write(folder.path().join("policies/tests.yaml"), tests).expect("written");
    let workspace = Workspace::open(&Options::in_folder(folder.path().to_path_buf())).expect("a workspace");
    for (name, failures) in [("one", 1), ("all", 260)] {
        let (run, found) = tested(&workspace, name, false);
        let (_, expected) = tested(&workspace, name, true);
        assert!(run.failures >= failures, "{name}: {run:?}");
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_tenant_unlike_the_majority_of_its_class_is_found_in_a_sample() {
    let base = State::uniform();
    let head = State { guest: Some("helpers".to_owned()), ..base.clone() };
    let folder = tempfile::tempdir().expect("a folder");
    base.write(&folder.path().join("base"));
    head.write(&folder.path().join("head"));
    // The finding has the severity medium by default, and a review reports from high on.
    for side in ["base", "head"] {
        let path = folder.path().join(side).join("bailiwick.yaml");
        let text = fs::read_to_string(&path).expect("a text") + "  diagnostics: {tenant-unlike-others: high}\n";
        fs::write(path, text).expect("written");
    }
    for without_classes in [true, false] {
        let review = reviewed(folder.path(), without_classes);
        let found = review.findings.new.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>();
        assert!(found.contains(&"T005"), "{without_classes}: {found:?}");
    }
}
