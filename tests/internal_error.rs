//! An internal error ends a run with exit code 3, writes no output, and leaves no answer. The record is one for the process, so
//! that this test has a process of its own. A confined run would confine the runs after it.

#![allow(clippy::disallowed_methods, clippy::expect_used, reason = "a test fails loudly and reads its own files")]

use std::ffi::OsString;

use bailiwick::ask::Connection;
use bailiwick::cli;
use bailiwick::yaml::internal;
use serde_json::json;

#[test]
fn an_internal_error_leaves_no_output_and_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let start = [OsString::from("bailiwick"), "-C".into(), folder.path().into(), "--sandbox=off".into()];
        cli::run(start.into_iter().chain(arguments.iter().map(OsString::from))).code()
    };
    let question = json!({ "can-i": { "user": "ann", "verb": "get", "resource": "pods" } });
    assert_eq!(run(&["init", "."]), 0);
    assert!(Connection::default().answer(&question).is_ok());

    internal::record("a record of a test");

    let report = folder.path().join("run.json");
    assert_eq!(run(&["render", "--report", "json=run.json"]), 3);
    assert!(!folder.path().join("out/production").exists(), "nothing is written");
    let text = std::fs::read_to_string(report).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["exitCode"], 3);
    let message = report["findings"][0]["message"].as_str().expect("a message");
    assert!(
        message.contains("please report it: a record of a test (") && message.contains("internal_error.rs:"),
        "{message}"
    );
    assert_eq!(run(&["check"]), 3);

    let problem = Connection::default().answer(&question).expect_err("no answer");
    assert!(problem.to_string().contains("internal error"), "{problem}");
}
