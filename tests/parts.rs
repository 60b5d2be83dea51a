//! Runs in parts: each case as a whole and in parts, which have to end the same.
//!
//! `CASE=text` runs the cases whose name contains the text.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a case that cannot be set up is a failure of the test")]

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::case::{Case, all, tree};
use crate::support::rounds;

/// In how many parts every case is run once more.
const PARTS: usize = 3;

/// Parts write the files of a single run, and their merge prints its texts.
#[test]
fn every_case_ends_the_same_in_parts() {
    let cases: Vec<Case> = all().into_iter().filter(Case::has_parts).collect();
    assert!(cases.len() > 300, "{} cases", cases.len());
    // A case that was asked for by its name always runs.
    let step = if std::env::var_os("CASE").is_some() { 1 } else { rounds(4, 1) };
    let cases = cases.into_iter().step_by(step).collect();
    each_case(cases, Case::run_in_parts);
}

fn each_case(cases: Vec<Case>, run: fn(&Case) -> Vec<String>) {
    let wanted = std::env::var("CASE").unwrap_or_default();
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.name.contains(&wanted)).collect();
    let queue = Mutex::new(cases.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(case) = next else { break };
                    failures.lock().unwrap().extend(run(case).into_iter().map(|why| format!("{}: {why}", case.name)));
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

impl Case {
    /// Returns whether the case runs a command that can work on a shard and ends with a result.
    fn has_parts(&self) -> bool {
        let arguments = self.arguments();
        let command = arguments.iter().find(|argument| matches!(argument.as_str(), "render" | "check"));
        let single = ["--workspaces", "--stdout", "--help", "--diagnostics", "-C", "--no-such-option"];
        command.is_some() && !arguments.iter().any(|argument| single.iter().any(|one| argument.starts_with(one)))
    }

    /// Runs the case as a whole and in shards; returns the differences.
    fn run_in_parts(&self) -> Vec<String> {
        let single = tempfile::tempdir().expect("a temporary folder");
        let parts = tempfile::tempdir().expect("a temporary folder");
        let summaries = tempfile::tempdir().expect("a temporary folder");
        for scratch in [&single, &parts] {
            self.set_up(scratch.path());
        }
        let mut arguments = self.arguments();
        // Parts run no AccessTests.
        if arguments.iter().any(|argument| argument == "check") {
            arguments.push("--no-tests".to_owned());
        }
        let whole = run(single.path(), &arguments);
        let mut merging = merge_command(&arguments);
        for number in 1..=PARTS {
            let summary = summaries.path().join(number.to_string()).display().to_string();
            let shard = ["--shard".to_owned(), format!("{number}/{PARTS}"), "--summary-to".to_owned(), summary.clone()];
            let (status, _, stderr) = run(parts.path(), &[arguments.as_slice(), &shard].concat());
            if status == Some(3) || !Path::new(&summary).is_file() {
                // A part that leaves no summary ends as the whole does.
                let same = status == whole.0 && (status == Some(3) || stderr == whole.2);
                return if same { Vec::new() } else { vec![format!("part {number}: {status:?}: {stderr}")] };
            }
            merging.push(summary);
        }
        let merged = run(parts.path(), &merging);
        let mut failures = Vec::new();
        if merged.0 != whole.0 {
            failures.push(format!("the parts end with {:?} and the whole with {:?}", merged.0, whole.0));
        }
        let plain = |text: &str| {
            text.replace(
                "the parts make no whole: what some of them wrote is not to be used\n",
                "nothing was written\n",
            )
        };
        let (old, new) = (whole.2.as_str(), plain(&merged.2));
        if new != old {
            failures.push(bailiwick::emit::diff::unified("stderr", Some(old), Some(&new)));
        }
        // After an error, a part may have written what the whole run did not.
        if whole.0 != Some(2) && whole.1 != merged.1 {
            failures.push(bailiwick::emit::diff::unified("stdout", Some(&whole.1), Some(&merged.1)));
        }
        if whole.0 != Some(2) && tree(&single.path().join("out")) != tree(&parts.path().join("out")) {
            failures.push("the output differs".to_owned());
        }
        failures
    }
}

/// Runs the program in a folder, and returns its exit code and its output without the path of the folder.
fn run(root: &Path, arguments: &[String]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .current_dir(root)
        .env_clear()
        .env("BAILIWICK_JOBS", "2")
        .output()
        .expect("the program starts");
    let root = root.canonicalize().expect("a temporary folder");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&format!("{}/", root.display()), "");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Returns the command that merges the shards of a run, with the options that every command has.
fn merge_command(arguments: &[String]) -> Vec<String> {
    let mut merging = vec!["merge".to_owned()];
    let day = arguments.iter().position(|argument| argument == "--today");
    merging.extend(day.and_then(|day| arguments.get(day..day + 2)).into_iter().flatten().cloned());
    let common = ["--quiet", "-q", "--deny-warnings", "--list-skipped", "--list-dropped"];
    let is_common = |argument: &&String| common.contains(&argument.as_str());
    merging.extend(arguments.iter().filter(is_common).cloned());
    merging
}
