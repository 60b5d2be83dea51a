//! `--format` and `--report`: each format of each command that reports, with names that would break a careless writer.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{bailiwick, stderr};
use crate::support::repository;

const FORMATS: [&str; 6] = ["json", "github", "sarif", "gitlab", "junit", "markdown"];

/// Commands with results of their own, with the schema of their JSON.
const RESULTS: [(&str, &[&str]); 15] = [
    ("can-i", &["can-i", "get", "pods", "--as", "ann"]),
    ("can-i", &["can-i", "--list", "--as-group", "team-a", "--namespace", "team-a"]),
    ("who-can", &["who-can", "get", "pods"]),
    ("explain", &["explain", "get", "pods", "--as", "ann"]),
    ("explain", &["explain", "Group/team-a"]),
    ("explain", &["explain", "ClusterRole/view"]),
    ("explain", &["explain", "ClusterRoleBinding/cluster-admin"]),
    ("explain", &["explain", "namespace", "team-a"]),
    ("explain", &["explain", "out/production/namespaces/team-a.yaml"]),
    ("explain", &["explain", "Tenancy"]),
    ("explain", &["explain", "--baseline=1.30"]),
    ("index", &["index", "--output", "index"]),
    ("node-reach", &["node-reach", "--from", "nodes.yaml"]),
    ("table", &["table", "deployer"]),
    ("test", &["test"]),
];

/// Makes a workspace with a failing AccessTest, a finding of `lint`, drift, and a name that is no plain word.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(bailiwick(folder.path(), &["init", "."]).status.success());
    let workspace = folder.path().join("bailiwick.yaml");
    let text = read(&workspace).replace("users: []", "users: ['<b>&\"ann']");
    fs::write(workspace, text).expect("a workspace");
    let policies = folder.path().join("policies");
    fs::write(
        policies.join("a&b <c>.yaml"),
        "apiVersion: bailiwick.dev/v1alpha1\nkind: AccessTest\nmetadata: {name: fails}\nspec:\n  who: {users: ['<b>&\"ann']}\n  must:\n  - {verbs: [get], resources: [secrets], namespaces: [team-a]}\n",
    )
    .expect("a policy");
    fs::write(folder.path().join("nodes.yaml"), "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n").expect("a node");
    folder
}

/// Returns the differences of a JSON text from a published schema.
fn schema_errors(schema: &str, text: &str) -> Vec<String> {
    let path = repository().join(format!("docs/schema/{schema}.json"));
    let schema: Value = serde_json::from_str(&read(&path)).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(value["version"], 1, "{text}");
    validator.iter_errors(&value).map(|error| format!("{error}: {text}")).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks what every reader of a format needs. Returns the text of the findings in it.
fn assert_form(format: &str, text: &str) {
    match format {
        "json" => {
            assert_eq!(schema_errors("run", text), Vec::<String>::new());
        }
        "github" => {
            for line in text.lines() {
                let is_command = ["::error ", "::warning ", "::notice"].iter().any(|head| line.starts_with(head));
                assert!(is_command, "{line}");
            }
        }
        "sarif" => {
            let log: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(log["version"], "2.1.0");
            let run = &log["runs"][0];
            let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
            for result in run["results"].as_array().expect("results") {
                let index = result["ruleIndex"].as_u64().expect("an index") as usize;
                assert_eq!(rules[index]["id"], result["ruleId"]);
                assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
                let uri =
                    result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().expect("a path");
                assert!(!uri.contains([' ', '<', '&']) && !uri.starts_with('/'), "{uri}");
                let prints = &result["partialFingerprints"];
                assert!(
                    prints["bailiwick/v1"].is_string() && prints["bailiwick/v1"] == prints["primaryLocationLineHash"]
                );
            }
        }
        "gitlab" => {
            let list: Vec<Value> = serde_json::from_str(text).expect("JSON");
            let mut fingerprints: Vec<&str> =
                list.iter().map(|one| one["fingerprint"].as_str().expect("a fingerprint")).collect();
            fingerprints.sort_unstable();
            fingerprints.dedup();
            assert_eq!(fingerprints.len(), list.len(), "a fingerprint is there twice");
            for one in &list {
                let severity = one["severity"].as_str().expect("a severity");
                assert!(["info", "minor", "major", "critical", "blocker"].contains(&severity));
                assert!(one["location"]["path"].is_string() && one["location"]["lines"]["begin"].is_u64());
            }
        }
        "junit" => assert_well_formed(text),
        _ => assert!(text.starts_with("## bailiwick ") && !text.contains("<b>&\"ann "), "{text}"),
    }
}

/// Checks that each element of an XML text ends in its place and that the counts of the root are equal to the numbers of elements.
fn assert_well_formed(text: &str) {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("the end of a tag");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{text}");
        } else if !tag.starts_with('?') && !tag.ends_with('/') {
            open.push(tag.split([' ', '\n']).next().expect("a name"));
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let count = |name: &str| text.matches(&format!("<{name} ")).count();
    let root = text.lines().nth(1).expect("the root");
    for (attribute, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
        assert!(root.contains(&format!(" {attribute}=\"{}\"", count(element))), "{attribute}: {root}");
    }
}

#[test]
fn every_format_of_every_command_is_as_its_readers_expect() {
    let folder = workspace();
    let path = folder.path();
    for command in ["render", "check", "diff", "lint", "test"] {
        for format in FORMATS {
            let option = format!("--report={format}=report");
            let plain = bailiwick(path, &[command]);
            let output = bailiwick(path, &[command, &option]);
            assert_eq!(output.status.code(), plain.status.code(), "{command}: {}", stderr(&output));
            assert_eq!(output.stdout, plain.stdout, "a report changes no result of {command}");
            let report = read(&path.join("report"));
            assert_form(format, &report);
            if command != "test" || format != "json" {
                let printed = bailiwick(path, &[command, "--format", format]);
                assert_eq!(printed.status.code(), plain.status.code(), "{command} {format}");
                assert_eq!(String::from_utf8_lossy(&printed.stdout), report, "{command} {format}");
                assert!(!stderr(&printed).contains("warning["), "diagnostics are in the result");
            }
        }
    }
}

#[test]
fn every_format_of_every_command_with_results_is_as_its_readers_expect() {
    let folder = workspace();
    let path = folder.path();
    let own = |command: &str, format: &str| format == "json" || (command == "table" && format == "markdown");
    for (schema, arguments) in RESULTS {
        let plain = bailiwick(path, arguments);
        assert!(matches!(plain.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&plain));
        for format in FORMATS {
            let report = format!("--report={format}=report");
            let output = bailiwick(path, &[arguments, &[&report]].concat());
            assert_eq!((output.status.code(), &output.stdout), (plain.status.code(), &plain.stdout), "{arguments:?}");
            let report = read(&path.join("report"));
            assert_form(format, &report);
            let printed = bailiwick(path, &[arguments, &["--format", format]].concat());
            assert_eq!(printed.status.code(), plain.status.code(), "{arguments:?} {format}: {}", stderr(&printed));
            let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
            if !own(arguments[0], format) {
                assert_eq!(printed, report, "{arguments:?} {format}");
            } else if format == "json" {
                assert!(!printed.is_empty(), "{arguments:?}");
                let errors: Vec<String> = printed.lines().flat_map(|line| schema_errors(schema, line)).collect();
                assert_eq!(errors, Vec::<String>::new(), "{arguments:?}");
                let results = serde_json::from_str::<Value>(&printed_results(&report)).expect("JSON");
                let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
                assert_eq!(results, Value::from(lines), "{arguments:?}");
            }
        }
    }
}

/// Returns the results in the JSON report of a run.
fn printed_results(report: &str) -> String {
    serde_json::from_str::<Value>(&report.replace('\n', " ")).expect("JSON")["results"].to_string()
}

#[test]
fn the_json_of_every_case_has_the_form_of_its_schema() {
    let mut checked = 0;
    for case in crate::case::all() {
        let arguments = case.arguments();
        let is_json = arguments.windows(2).any(|pair| pair == ["--format", "json"]);
        let is_migration = arguments.first().is_some_and(|command| command == "migrate");
        let Some(stdout) = case.text("stdout").filter(|_| is_json) else { continue };
        let schema = arguments.iter().take(if is_migration { 2 } else { 1 }).cloned().collect::<Vec<_>>().join("-");
        // The report about PodSecurityPolicies is one indented object, and goes elsewhere if the policies are printed.
        let texts: Vec<&str> = match &*schema {
            "migrate-psp" => Vec::new(),
            _ if stdout.starts_with("{\n") => vec![&stdout],
            _ => stdout.lines().collect(),
        };
        let errors: Vec<String> = texts.iter().flat_map(|text| schema_errors(&schema, text)).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", case.name);
        checked += texts.len();
    }
    assert!(checked > 10, "{checked}");
}

/// The report of `diff` has the differences and their effect, with names of other authors as they are.
#[test]
fn the_report_of_a_difference_has_its_effect() {
    let folder = workspace();
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    for path in ["bailiwick.yaml", "policies/team.yaml"].map(|path| folder.path().join(path)) {
        fs::write(&path, read(&path).replace("groups: [team-a]", "groups: ['team-``` <b>']")).expect("a file");
    }
    let output = bailiwick(folder.path(), &["diff", "--format", "json", "--report", "markdown=diff.md"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text} {}", stderr(&output));
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let result = report["results"].get(0).expect("a result");
    assert_eq!(schema_errors("diff", &result.to_string()), Vec::<String>::new());
    assert_eq!((&result["target"], &result["objects"]["changed"]), (&"production".into(), &2.into()), "{result}");
    let access = &result["access"];
    assert_eq!(access["state"], "known", "{result}");
    let subjects: Vec<&str> = access["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["subjects"][0]["subject"].as_str())
        .collect();
    assert_eq!(subjects, ["Group/team-``` <b>", "Group/team-a"], "{result}");
    let diff = result["diff"].as_str().expect("a difference");
    assert!(diff.contains("-  name: team-a\n") && diff.contains("+  name: 'team-``` <b>'\n"), "{diff}");
    // The fence of the block is longer than the backticks in it.
    assert!(read(&folder.path().join("diff.md")).contains("````text\n"), "a fence");
}

#[test]
fn a_migration_reports_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let from = repository().join("tests/cases/migrate/ok-json/elsewhere");
    let from = from.to_str().expect("a path");
    let output = bailiwick(path, &["migrate", "psp", "--from", from, "--format", "json", "--report", "own.json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(schema_errors("migrate-psp", &read(&path.join("own.json"))), Vec::<String>::new());
    for format in FORMATS {
        let report = format!("{format}=report");
        let output = bailiwick(path, &["migrate", "psp", "--from", from, "--report", &report]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        assert_form(format, &read(&path.join("report")));
    }
    let page = ["migrate", "psp", "--from", from, "-o", "policies", "--report", "html=page.html"];
    let output = bailiwick(path, &page);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Namespaces\n"), "{}", stderr(&output));
    assert!(read(&path.join("page.html")).starts_with("<!doctype html>"));
    let refused = bailiwick(path, &page);
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("is there already"), "{}", stderr(&refused));
    let refused = bailiwick(path, &["migrate", "psp", "--from", from, "--format", "sarif"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn objects_are_printed_as_yaml_or_json_and_not_as_a_report() {
    let folder = workspace();
    for arguments in [["render", "--stdout", "--format=sarif"], ["render", "--quiet", "--format=yaml"]] {
        let output = bailiwick(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("--stdout"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_that_fails_is_red_in_every_format() {
    let folder = workspace();
    let path = folder.path();
    let output = bailiwick(path, &["check", "--report", "junit=junit.xml", "--report", "json=run.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let junit = read(&path.join("junit.xml"));
    assert!(junit.contains("<failure type=\"AccessTest\"") && junit.contains("&lt;b&gt;&amp;&quot;ann"), "{junit}");
    let report: Value = serde_json::from_str(&read(&path.join("run.json"))).expect("JSON");
    assert_eq!(report["exitCode"], 1);
    assert!(report["changes"][0]["created"].as_u64() > Some(0), "{report}");
    let test = report["tests"].as_array().expect("tests").iter().find(|test| test["test"] == "fails");
    assert_eq!(test.expect("the test")["failed"], 1);

    // Drift alone fails no case of its own.
    fs::remove_file(path.join("policies/a&b <c>.yaml")).expect("a policy");
    let output = bailiwick(path, &["check", "--report", "junit=junit.xml"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(read(&path.join("junit.xml")).contains("<failure type=\"exit-code\""));

    let output = bailiwick(path, &["check", "--report", "json=no-such-folder/run.json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write"));
}

#[test]
fn a_report_names_its_form_and_its_file() {
    let folder = workspace();
    for (option, message) in
        [("pdf=x", "the forms are json, github"), ("json", "write FORM=FILE"), ("json=", "the file is missing")]
    {
        let output = bailiwick(folder.path(), &["check", "--report", option]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// Returns the workspace of [`workspace`] in the folder `infra/access` of a git work tree, after a `render`.
fn workspace_below_root() -> (tempfile::TempDir, std::path::PathBuf) {
    let root = tempfile::tempdir().expect("a folder");
    let inner = root.path().join("infra/access");
    super::git(root.path(), &["init", "-q"]);
    fs::create_dir_all(root.path().join("infra")).expect("a folder");
    let own = workspace();
    super::parts::copy(own.path(), &inner);
    (root, inner)
}

/// Returns each path that a report gives to its readers.
fn paths_in(format: &str, text: &str) -> Vec<String> {
    let between = |line: &str, start: &str, end: &str| -> Option<String> {
        line.split_once(start)?.1.split_once(end).map(|(path, _)| path.to_owned())
    };
    let found = text.lines().filter_map(|line| match format {
        "github" => between(line, " file=", ",line="),
        "sarif" => between(line, "\"uri\": \"", "\""),
        "gitlab" => between(line, "\"path\": \"", "\""),
        "json" => between(line, "\"path\": \"", "\""),
        _ => between(line, "- `", ":").filter(|path| path.ends_with(".yaml")),
    });
    found.collect()
}

/// A forge finds the files of a workspace in a sub-folder, wherever the run starts.
#[test]
fn paths_of_reports_begin_at_the_root_of_the_repository() {
    let (root, inner) = workspace_below_root();
    let starts: [(&Path, &[&str]); 3] =
        [(&inner, &[]), (root.path(), &["-C", "infra/access"]), (&inner.join("policies"), &[])];
    for (start, folder) in starts {
        for format in ["github", "sarif", "gitlab", "markdown"] {
            let arguments = [folder, &["lint", "--severity", "info", "--format", format]].concat();
            let text = String::from_utf8_lossy(&bailiwick(start, &arguments).stdout).into_owned();
            let paths = paths_in(format, &text);
            assert!(!paths.is_empty(), "{format}: {text}");
            for path in &paths {
                let path = path.replace("%20", " ").replace("%26", "&").replace("%3C", "<").replace("%3E", ">");
                assert!(root.path().join(&path).is_file(), "{format}: {path}");
            }
            for (prefix, first) in [("x/../sub/", "sub/policies/"), ("", "policies/")] {
                let arguments = [&arguments[..], &["--path-prefix", prefix]].concat();
                let text = String::from_utf8_lossy(&bailiwick(start, &arguments).stdout).into_owned();
                let paths = paths_in(format, &text);
                assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with(first)), "{format}: {paths:?}");
            }
        }
        let arguments = [folder, &["lint", "--severity", "info", "--format", "json"]].concat();
        let text = String::from_utf8_lossy(&bailiwick(start, &arguments).stdout).into_owned();
        assert!(paths_in("json", &text).iter().all(|path| path.starts_with("policies/")), "{text}");
        let arguments = [folder, &["check", "--diagnostics", "github"]].concat();
        let text = String::from_utf8_lossy(&bailiwick(start, &arguments).stdout).into_owned();
        let paths = paths_in("github", &text);
        assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with("infra/access/policies/")), "{text}");
        assert!(text.contains("title=AccessTest::FAIL"), "a failed AccessTest has its place: {text}");
    }
    // Manifests have paths from the folder of the run.
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}]\n";
    fs::write(root.path().join("infra/role.yaml"), binding).expect("a file");
    for (start, path) in [(root.path().to_owned(), "infra/role.yaml"), (inner.join("policies"), "../../role.yaml")] {
        let output = bailiwick(&start, &["lint", "--from", path, "--diagnostics", "github"]);
        let paths = paths_in("github", &String::from_utf8_lossy(&output.stdout));
        assert!(
            !paths.is_empty() && paths.iter().all(|path| path == "infra/role.yaml"),
            "{paths:?} {}",
            stderr(&output)
        );
    }
}

/// A review has paths from the root of the work tree, and `--path-prefix` replaces the folder of the workspace in them.
#[test]
fn paths_of_a_review_have_the_same_prefix() {
    let (root, inner) = workspace_below_root();
    let approvals = "apiVersion: bailiwick.dev/v1alpha1\nkind: ApprovalPolicy\nmetadata: {name: default}\nspec: {rules: [{when: {severity: high}, needs: [a]}]}\n";
    fs::write(inner.join("policies/approvals.yaml"), approvals).expect("a file");
    assert!(bailiwick(&inner, &["render"]).status.success());
    super::git(root.path(), &["add", "-A"]);
    super::git(root.path(), &["commit", "-qm", "base"]);
    let policy = inner.join("policies/team.yaml");
    fs::write(&policy, read(&policy).replace("verbs: [get, list, watch]", "verbs: [get, list, watch, create]"))
        .expect("a file");
    let review = |format: &str, options: &[&str]| {
        let report = format!("{format}=-");
        let output = bailiwick(&inner, &[&["review", "--base", "HEAD", "--report", &report], options].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (prefix, first) in
        [(None, "infra/access/policies/"), (Some("x/sub"), "x/sub/policies/"), (Some(""), "policies/")]
    {
        let options = prefix.map_or_else(Vec::new, |prefix| vec!["--path-prefix", prefix]);
        for format in ["github", "sarif", "gitlab"] {
            let paths = paths_in(format, &review(format, &options));
            assert!(!paths.is_empty(), "{format}");
            assert!(paths.iter().all(|path| path.starts_with(first)), "{format} {prefix:?}: {paths:?}");
        }
        let markdown = review("markdown", &options);
        for file in ["team.yaml:", "approvals.yaml:4"] {
            assert!(markdown.contains(&format!("`{first}{file}")), "{file}: {markdown}");
        }
        assert_eq!(
            markdown.matches("policies/approvals.yaml:").count(),
            markdown.matches(&format!("{first}approvals.yaml:")).count()
        );
        let json = review("json", &options);
        assert!(json.contains("\"infra/access/policies/team.yaml\"") && !json.contains("x/sub"), "{json}");
    }
    // The diagnostics of policies that do not compile have the same paths.
    fs::write(&policy, "kind: Nothing\n").expect("a file");
    let paths = paths_in("github", &review("github", &[]));
    assert!(paths.contains(&"infra/access/policies/team.yaml".to_owned()), "{paths:?}");
}

/// A step of a workflow has the counts of the run as outputs, also in the sandbox.
#[test]
fn a_step_gets_the_counts_of_the_run() {
    let folder = workspace();
    let outputs = tempfile::tempdir().expect("a folder");
    let (file, neighbour) = (outputs.path().join("output"), outputs.path().join("path"));
    fs::write(&file, "").expect("a file");
    fs::write(&neighbour, "").expect("a file");
    let run = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments)
            .current_dir(folder.path())
            .env("CI", "true")
            .env("GITHUB_OUTPUT", &file)
            .output()
            .expect("a run")
    };
    let check = run(&["check"]);
    assert_eq!(check.status.code(), Some(1), "{}", stderr(&check));
    assert!(read(&file).starts_with("drift=") && !read(&file).starts_with("drift=0\n"), "{}", read(&file));
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    fs::write(&file, "").expect("a file");
    run(&["check"]);
    assert!(read(&file).starts_with("drift=0\nfindings="), "{}", read(&file));
    fs::write(&file, "").expect("a file");
    let lint = run(&["lint"]);
    assert_eq!(lint.status.code(), Some(1), "{}", stderr(&lint));
    assert!(!read(&file).contains("findings=0"), "{}", read(&file));
    assert!(read(&neighbour).is_empty());
    // A report goes to the folder of `-C`, from wherever the run starts.
    let parent = folder.path().parent().expect("a folder");
    let name = folder.path().file_name().expect("a name");
    let lint = std::process::Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["lint", "--report", "sarif=x.sarif", "-C"])
        .arg(name)
        .current_dir(parent)
        .env("CI", "true")
        .output()
        .expect("a run");
    assert_eq!(lint.status.code(), Some(1), "{}", stderr(&lint));
    assert!(folder.path().join("x.sarif").is_file());
}
