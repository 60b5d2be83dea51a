//! `action.yml`: each step is run with inputs that a shell would evaluate. The hooks of pre-commit are read.

use std::fs;

use serde_json::{Value, json};

use super::super::{bailiwick, git, stderr};
use super::runner::{Runner, URL, archive};
use crate::support::repository;

/// Reads a file at the root of this repository.
fn file(name: &str) -> Value {
    let text = fs::read_to_string(repository().join(name)).expect("a text");
    serde_yaml::from_str(&text).expect("YAML")
}

/// A run of the action in a checkout.
struct ActionRun {
    runner: Runner,
    /// The steps that failed.
    failed: Vec<String>,
    printed: String,
}

/// Returns a runner with a workspace in `a 'b" $(c)`, committed and rendered.
fn runner() -> Runner {
    let runner = Runner::new();
    let workspace = runner.work().join(FOLDER);
    git(&runner.work(), &["init", "-q"]);
    assert!(bailiwick(&runner.work(), &["init", &format!("./{FOLDER}")]).status.success());
    assert!(bailiwick(&workspace, &["render"]).status.success());
    git(&runner.work(), &["add", "-A"]);
    git(&runner.work(), &["commit", "-qm", "first"]);
    runner
}

const FOLDER: &str = "a 'b\" $(touch evil) \n`touch evil`";

/// Runs the action with inputs in place of the defaults.
fn act(runner: Runner, inputs: &Value) -> ActionRun {
    let action = file("action.yml");
    let (mut failed, mut printed) = (Vec::new(), String::new());
    let input = |name: &str| match inputs[name].as_str() {
        Some(value) => value.to_owned(),
        None => action["inputs"][name]["default"].as_str().expect("a default").to_owned(),
    };
    for step in action["runs"]["steps"].as_array().expect("steps") {
        assert_eq!(step["shell"], "bash");
        let script = step["run"].as_str().expect("a script");
        assert!(!script.contains("${{"), "an input is a part of the script: {script}");
        if failed.contains(&"install".to_owned()) || (step["name"] == "review" && input("against").is_empty()) {
            continue;
        }
        let mut env = serde_json::Map::new();
        for (name, value) in step["env"].as_object().expect("variables") {
            let expression = value.as_str().expect("a text").trim_matches(['$', '{', '}', ' ']);
            let value = match expression.strip_prefix("inputs.") {
                Some(name) => input(name),
                None => {
                    assert_eq!(expression, "steps.install.outputs.program");
                    output(&runner, "program")
                }
            };
            env.insert(name.clone(), value.into());
        }
        let run = runner.run(&runner.work(), &format!("set -o pipefail\n{script}"), &env.into());
        printed.push_str(&format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(&run)));
        if !run.status.success() {
            failed.push(step["name"].as_str().expect("a name").to_owned());
        }
    }
    assert!(!runner.work().join("evil").exists() && !runner.temp().join("evil").exists(), "an input was evaluated");
    ActionRun { runner, failed, printed }
}

/// Returns an output of the steps.
fn output(runner: &Runner, name: &str) -> String {
    let text = runner.commands("output");
    let found = text.lines().rev().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned));
    found.unwrap_or_else(|| panic!("no output {name}: {text}"))
}

fn inputs(more: Value) -> Value {
    let mut inputs = json!({"directory": FOLDER, "url": URL, "sha256": archive().sha256});
    for (name, value) in more.as_object().expect("inputs") {
        inputs[name.as_str()] = value.clone();
    }
    inputs
}

#[test]
fn the_action_judges_and_evaluates_no_input() {
    let run = act(runner(), &inputs(json!({"against": "HEAD", "sarif": "../x ' $(touch evil).sarif"})));
    assert_eq!(run.failed, Vec::<String>::new(), "{}", run.printed);
    assert_eq!((output(&run.runner, "drift"), output(&run.runner, "findings")), ("0".to_owned(), "0".to_owned()));
    let summary = fs::read_to_string(output(&run.runner, "summary")).expect("the review");
    assert!(summary.contains("no effective change (proven)"), "{summary}");
    assert!(run.runner.work().join("x ' $(touch evil).sarif").is_file());

    // Without a base, every finding counts.
    let run = act(runner(), &inputs(json!({})));
    assert_eq!(run.failed, ["lint"], "{}", run.printed);
    assert_eq!(output(&run.runner, "findings"), "1");
    let run = act(runner(), &inputs(json!({"fail-on": " none\n"})));
    assert_eq!(run.failed, Vec::<String>::new(), "{}", run.printed);
}

#[test]
fn the_action_fails_for_drift_and_for_wrong_inputs() {
    let changed = || {
        let runner = runner();
        let policy = runner.work().join(FOLDER).join("policies/team.yaml");
        let text = fs::read_to_string(&policy).expect("a text").replace("pods: 20", "pods: 30");
        fs::write(&policy, text).expect("a file");
        runner
    };
    let run = act(changed(), &inputs(json!({"against": "HEAD", "targets": "production,\n"})));
    assert_eq!(run.failed, ["check"], "{}", run.printed);
    assert_eq!(output(&run.runner, "drift"), "2");
    let run = act(changed(), &inputs(json!({"against": "HEAD", "fail-on": "lint, review"})));
    assert_eq!(run.failed, Vec::<String>::new(), "{}", run.printed);

    let hostile = "'\"; touch evil; $(touch evil)\n`touch evil` --help";
    // A wrong input fails for every `fail-on`.
    for (name, failed) in [
        ("directory", &["check", "lint", "review"][..]),
        ("targets", &["check", "lint", "review"]),
        ("against", &["lint", "review"]),
        ("url", &["install"]),
        ("sha256", &["install"]),
        ("version", &["install"]),
        ("fail-on", &["install"]),
    ] {
        let mut wrong = json!({"against": "HEAD", "fail-on": "none"});
        wrong[name] = hostile.into();
        let run = act(runner(), &inputs(wrong));
        assert_eq!(run.failed, failed, "{name}: {}", run.printed);
    }
    let run = act(runner(), &inputs(json!({"sha256": "0".repeat(64)})));
    assert_eq!(run.failed, ["install"], "{}", run.printed);
    let run = act(runner(), &inputs(json!({"against": "HEAD", "version": env!("CARGO_PKG_VERSION")})));
    assert_eq!(run.failed, Vec::<String>::new(), "{}", run.printed);
}

/// The hooks run commands of the program, for the files of a workspace in any folder.
#[test]
fn the_hooks_are_commands_of_the_program() {
    let hooks = file(".pre-commit-hooks.yaml");
    let hooks = hooks.as_array().expect("hooks");
    let ids: Vec<&str> = hooks.iter().map(|hook| hook["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["bailiwick-check", "bailiwick-render", "bailiwick-test"]);
    for hook in hooks {
        assert_eq!((&hook["language"], &hook["pass_filenames"]), (&"system".into(), &false.into()));
        let entry = hook["entry"].as_str().expect("a command");
        assert_eq!(entry.replace(' ', "-"), hook["id"].as_str().expect("an id"));
        let help = bailiwick(repository(), &[entry.split(' ').nth(1).expect("a command"), "--help"]);
        assert!(help.status.success());
        let files = regex::Regex::new(hook["files"].as_str().expect("a pattern")).expect("a pattern");
        for (path, is_ours) in [
            ("bailiwick.yaml", true),
            ("infra/access/bailiwick.yaml", true),
            ("infra/access/policies/team.yaml", true),
            ("out/production/cluster.yaml", true),
            ("README.md", false),
            ("infra/layout/x", false),
        ] {
            assert_eq!(files.is_match(path), is_ours, "{path}");
        }
    }
}
