//! `check --watch`: after each edit its result is the result of a fresh `check`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::support::rounds;

/// Far more than a run needs.
const LONG: Duration = Duration::from_secs(60);

/// The end of each run of the watch.
const WAITING: &str = "; waiting for a change, Ctrl-C ends the watch\n";

/// A watch, with a file for all that it prints.
struct Watch {
    program: Child,
    output: PathBuf,
}

impl Watch {
    fn start(root: &Path, output: &Path) -> Self {
        let program = check(root, output).arg("--watch").spawn().expect("the program starts");
        Self { program, output: output.to_owned() }
    }

    /// Returns the texts of the finished runs.
    fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.output).expect("a text");
        let mut runs: Vec<String> = text.split(WAITING).map(str::to_owned).collect();
        runs.pop();
        runs
    }

    /// Waits until more than a number of runs are finished and the newest one has a text.
    fn wait_for(&self, more_than: usize, expected: &str) -> usize {
        let start = Instant::now();
        loop {
            let runs = self.runs();
            if runs.len() > more_than && runs.last().is_some_and(|run| run == expected) {
                return runs.len();
            }
            assert!(start.elapsed() < LONG, "the watch printed\n{:?}\nand a fresh check\n{expected}", runs.last());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A test that fails leaves no program behind.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Returns a `check` that prints to a file.
fn check(root: &Path, output: &Path) -> Command {
    let file = File::options().append(true).create(true).open(output).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    command
        .arg("check")
        .current_dir(root)
        .env_clear()
        .env("BAILIWICK_JOBS", "2")
        .env("BAILIWICK_TODAY", "2026-01-01")
        .stdout(file.try_clone().expect("a file"))
        .stderr(file);
    command
}

/// Returns what a fresh `check` prints, with its exit code as the watch prints it.
fn fresh(root: &Path, scratch: &Path) -> String {
    let output = scratch.join("fresh");
    fs::write(&output, "").expect("a file");
    let status = check(root, &output).status().expect("the program starts");
    let text = fs::read_to_string(&output).expect("a text");
    format!("{text}exit code {}", status.code().expect("a code"))
}

fn run(root: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    let output = command.args(arguments).current_dir(root).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Edits a workspace of `init`.
fn edit(root: &Path, random: &mut Random, round: usize) {
    let policy = root.join("policies/team.yaml");
    let good = fs::read_to_string(root.join("../team.yaml")).expect("a text");
    match random.below(10) {
        0 => fs::write(&policy, format!("{good}# round {round}\n")).expect("a file"),
        1 => fs::write(&policy, good.replace("deployer", "deploier")).expect("a file"),
        2 => fs::write(&policy, good.replacen("permissionSets: [deployer]", "permissionSets: [nobody]", 1))
            .expect("a file"),
        3 => {
            // As editors save: another file takes the place.
            let new = root.join(format!("policies/.team.yaml.{round}"));
            fs::write(&new, good.replace("view", "edit")).expect("a file");
            fs::rename(new, &policy).expect("a move");
        }
        4 => fs::write(&policy, &good).expect("a file"),
        5 => {
            let folder = root.join(format!("policies/new-{round}/deep"));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("set.yaml"), format!("apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {{name: n-{round}}}\nspec: {{namespaces: [{{name: n-{round}}}]}}\n")).expect("a file");
        }
        6 => {
            let file = root.join(format!("out/production/stray-{round}.yaml"));
            fs::write(file, "kind: Secret\n").expect("a file");
        }
        7 => {
            let folder = root.join("out/production/namespaces");
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                fs::write(entry.path(), format!("# round {round}\n")).expect("a file");
            }
        }
        8 => {
            for entry in fs::read_dir(root.join("policies")).expect("a folder").flatten() {
                if entry.path().is_dir() {
                    fs::remove_dir_all(entry.path()).expect("a removal");
                }
            }
            fs::write(&policy, format!("{good}# round {round}\n")).expect("a file");
        }
        _ => {
            let workspace = root.join("bailiwick.yaml");
            let text = fs::read_to_string(&workspace).expect("a text");
            let changed =
                if text.contains("1.37") { text.replace("1.37", "1.30") } else { text.replace("1.30", "1.37") };
            fs::write(workspace, format!("{changed}\n# round {round}\n")).expect("a file");
        }
    }
}

#[test]
fn after_each_edit_the_result_is_that_of_a_fresh_check() {
    let scratch = tempfile::tempdir().expect("a folder");
    let root = scratch.path().join("workspace");
    fs::create_dir(&root).expect("a folder");
    run(&root, &["init", "."]);
    run(&root, &["render"]);
    fs::copy(root.join("policies/team.yaml"), scratch.path().join("team.yaml")).expect("a copy");
    let watch = Watch::start(&root, &scratch.path().join("watched"));
    let mut count = watch.wait_for(0, &fresh(&root, scratch.path()));
    let mut random = Random::new(24);
    for round in 0..rounds(30, 100) {
        edit(&root, &mut random, round);
        count = watch.wait_for(count, &fresh(&root, scratch.path()));
    }
}

#[test]
fn a_watch_begins_before_there_is_a_workspace() {
    let scratch = tempfile::tempdir().expect("a folder");
    let root = scratch.path().join("workspace");
    fs::create_dir(&root).expect("a folder");
    let watch = Watch::start(&root, &scratch.path().join("watched"));
    let count = watch.wait_for(0, &fresh(&root, scratch.path()));
    run(&root, &["init", "."]);
    run(&root, &["render"]);
    watch.wait_for(count, &fresh(&root, scratch.path()));
}

#[test]
fn a_watch_takes_no_options_of_one_run() {
    let scratch = tempfile::tempdir().expect("a folder");
    for options in [&["--format", "json"][..], &["--report", "sarif=a"], &["--shard", "1/2"], &["--workspaces"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(["check", "--watch"])
            .args(options)
            .current_dir(scratch.path())
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
}
