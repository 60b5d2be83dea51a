//! `--format` and `--report`: each format of each command that reports, with names that would break a careless writer.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{bailiwick, stderr};
use crate::support::repository;

const FORMATS: [&str; 5] = ["json", "sarif", "gitlab", "junit", "markdown"];

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
    folder
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks what every reader of a format needs. Returns the text of the findings in it.
fn assert_form(format: &str, text: &str) {
    match format {
        "json" => {
            let report: Value = serde_json::from_str(text).expect("JSON");
            let schema = bailiwick(repository(), &["schema", "run"]);
            let schema: Value = serde_json::from_slice(&schema.stdout).expect("a schema");
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new());
            assert_eq!(report["version"], 1);
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
                assert!(result["partialFingerprints"]["bailiwick/v1"].is_string());
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
            if ["check", "diff", "lint"].contains(&command) {
                let printed = bailiwick(path, &[command, "--format", format]);
                assert_eq!(printed.status.code(), plain.status.code(), "{command} {format}");
                assert_eq!(String::from_utf8_lossy(&printed.stdout), report, "{command} {format}");
                assert!(!stderr(&printed).contains("warning["), "diagnostics are in the result");
            }
        }
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
        [("pdf=x", "the forms are json, sarif"), ("json", "write FORM=FILE"), ("json=", "the file is missing")]
    {
        let output = bailiwick(folder.path(), &["check", "--report", option]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}
