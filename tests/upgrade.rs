//! The behaviour of released versions: workspaces, and the record of what a version made of them.
//!
//! A folder in `upgrade/cases/` has a workspace and the file `steps`, with the lines `NAME: ARGUMENTS`. Each step runs in the folder
//! `workspace` of a copy, and may write files to `made/`. `upgrade/0.1.0/` has the record of the version:
//!
//! | in the folder of a case | is |
//! |---|---|
//! | `STEP.json` | the exit code, the codes of the diagnostics and the standard output of a step |
//! | `made/` | the files of all steps: reports, index files, summaries |
//! | `out/` | the output folder after the last step |
//!
//! A step reads the files of the record in `recorded/`. A difference needs a line in `upgrade/changes.yaml`, and each line a difference.
//! `UPDATE=1` writes the lines without their texts. `RECORD=PROGRAM` writes the record with the program of the version.

mod compare;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::case::{diagnostics, tree, write};
use crate::support::repository;
use compare::{comparable, differences};

/// The version of the record.
const VERSION: &str = "0.1.0";

/// The day of all runs.
const TODAY: &str = "2026-11-29";

/// Files by their path in the record.
type Record = BTreeMap<String, Vec<u8>>;

/// A line of `changes.yaml`: an intended difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Change {
    case: String,
    /// The file of the record, and for JSON the place in it, with `*` for each index.
    what: String,
    #[serde(default)]
    reason: String,
    /// A text of `CHANGELOG.md`.
    #[serde(default)]
    changelog: String,
}

fn folder() -> PathBuf {
    repository().join("tests/upgrade")
}

#[test]
fn recorded_versions_are_compiled_as_before() {
    let recorder = std::env::var_os("RECORD").map(PathBuf::from);
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut cases: Vec<PathBuf> =
        fs::read_dir(folder().join("cases")).expect("cases").map(|entry| entry.expect("a case").path()).collect();
    cases.sort();
    for case in &cases {
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let record = folder().join(VERSION).join(&name);
        if let Some(program) = &recorder {
            let made = run(case, program, None);
            let _ = fs::remove_dir_all(&record);
            made.iter().for_each(|(path, bytes)| write(&record.join(path), bytes));
        }
        let (expected, made) = (tree(&record), run(case, Path::new(env!("CARGO_BIN_EXE_bailiwick")), Some(&record)));
        let paths: BTreeSet<&String> = expected.keys().chain(made.keys()).collect();
        for path in paths {
            for (what, text) in differences(path, expected.get(path), made.get(path)) {
                found.insert((name.clone(), what), text);
            }
        }
    }
    check_changes(&found);
}

/// Compares the differences with the lines of `changes.yaml`.
fn check_changes(found: &BTreeMap<(String, String), String>) {
    let path = folder().join("changes.yaml");
    let text = fs::read_to_string(&path).expect("the intended differences");
    let mut changes: Vec<Change> = serde_yaml::from_str(&text).expect("a list of differences");
    if std::env::var_os("UPDATE").is_some() {
        changes.retain(|change| found.contains_key(&(change.case.clone(), change.what.clone())));
        for (case, what) in found.keys() {
            if !changes.iter().any(|change| change.case == *case && change.what == *what) {
                let (reason, changelog) = Default::default();
                changes.push(Change { case: case.clone(), what: what.clone(), reason, changelog });
            }
        }
        changes.sort();
        let head: String =
            text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        fs::write(&path, head + &serde_yaml::to_string(&changes).expect("YAML")).expect("written");
    }
    let changelog = words(&fs::read_to_string(repository().join("CHANGELOG.md")).expect("a changelog"));
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for change in changes {
        let key = (change.case, change.what);
        if change.reason.is_empty() || change.changelog.is_empty() || !changelog.contains(&words(&change.changelog)) {
            wrong.push(format!("{} {}: the line has no reason, or no text of CHANGELOG.md", key.0, key.1));
        }
        if !found.contains_key(&key) {
            wrong.push(format!("{} {}: no such difference", key.0, key.1));
        }
        known.insert(key);
    }
    let unknown = found.iter().filter(|(key, _)| !known.contains(*key));
    wrong.extend(unknown.map(|((case, what), text)| format!("{case} {what}: {text}")));
    assert!(wrong.is_empty(), "{} differences from {VERSION}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns a text with one space between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the steps of a case. Without a record, the steps read the files of the steps before them as the record.
fn run(case: &Path, program: &Path, record: Option<&Path>) -> Record {
    let scratch = tempfile::tempdir().expect("a folder");
    let root = scratch.path().canonicalize().expect("a folder");
    for (path, bytes) in tree(case) {
        write(&root.join(path), &bytes);
    }
    let workspace = root.join("workspace");
    fs::create_dir(workspace.join("made")).expect("a folder");
    let recorded = record.map_or_else(|| workspace.join("made"), |record| record.join("made"));
    std::os::unix::fs::symlink(recorded, workspace.join("recorded")).expect("a link");
    let mut made = Record::new();
    let steps = fs::read_to_string(case.join("steps")).expect("steps");
    for line in steps.lines() {
        let (name, arguments) = line.split_once(": ").expect("a name and arguments");
        let result = step(&workspace, program, arguments);
        let text = serde_json::to_string_pretty(&result).expect("JSON");
        made.insert(
            format!("{name}.json"),
            format!("{text}\n").replace(&format!("{}/", root.display()), "").into_bytes(),
        );
    }
    for (path, bytes) in tree(&workspace.join("made")) {
        made.insert(format!("made/{path}"), comparable(&path, bytes));
    }
    for (path, bytes) in tree(&workspace.join("out")) {
        made.insert(format!("out/{path}"), bytes);
    }
    made
}

/// Runs a step, and returns its result.
fn step(workspace: &Path, program: &Path, arguments: &str) -> Value {
    let output = Command::new(program)
        .args(arguments.split(' '))
        .current_dir(workspace)
        .env_clear()
        .envs([("BAILIWICK_TODAY", TODAY), ("BAILIWICK_JOBS", "2")])
        .output()
        .expect("the program starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let codes: BTreeSet<String> =
        diagnostics(&stderr).iter().map(|told| format!("{} {}", told.severity, told.code)).collect();
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&stdout).into_iter().collect();
    let stdout = values.map_or_else(|_| json!(stdout), |values| json!(values));
    let mut result = json!({ "status": output.status.code(), "diagnostics": codes, "stdout": stdout });
    // A later version may refuse a file that it cannot read any more, and has to name the version of the file.
    if arguments.contains("recorded/") && output.status.code() == Some(2) && stderr.contains(VERSION) {
        result["refused"] = json!(VERSION);
    }
    result
}
