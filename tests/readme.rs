//! The commands of the README, of `docs/ask.md` and of `docs/parts.md`: each `console` block is run, and prints what it says.

use std::path::PathBuf;
use std::process::Command;

use crate::support::repository;

/// A command of the README with what it prints.
#[derive(Debug)]
struct Step {
    command: String,
    output: String,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (line, inside) {
            ("```console", false) => inside = true,
            ("```", true) => inside = false,
            (line, true) => match (line.strip_prefix("$ "), steps.last_mut()) {
                // A command over several lines: the further ones are marked as the shell marks them.
                (None, Some(step)) if step.output.is_empty() && line.starts_with("> ") => {
                    step.command.push_str(&format!("\n{}", &line[2..]));
                }
                (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
                (None, Some(step)) => step.output.push_str(&format!("{line}\n")),
                (None, None) => panic!("output before any command: {line}"),
            },
            _ => {}
        }
    }
    steps
}

#[test]
fn the_commands_print_what_the_readme_says() {
    run_all("README.md", 8);
}

#[test]
fn the_questions_have_the_answers_of_their_page() {
    run_all("docs/ask.md", 2);
}

#[test]
fn parts_print_what_their_page_says() {
    run_all("docs/parts.md", 5);
}

/// Runs the commands of a text, of which there are at least so many, in a fresh folder.
fn run_all(path: &str, least: usize) {
    let text = std::fs::read_to_string(repository().join(path)).expect("the text is there");
    let steps = steps(&text);
    assert!(steps.len() >= least, "{path} has {} commands", steps.len());
    let folder = tempfile::tempdir().expect("a folder");
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bailiwick"));
    let path =
        format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    let mut current = folder.path().to_path_buf();
    for step in steps {
        if let Some(target) = step.command.strip_prefix("cd ") {
            current = current.join(target);
            continue;
        }
        let run = Command::new("sh")
            .args(["-c", &format!("{{ {}\n}} 2>&1", step.command)])
            .current_dir(&current)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env("BAILIWICK_NO_CACHE", "1")
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&run.stdout);
        assert_eq!(printed, step.output, "$ {}", step.command);
    }
}

/// The README names the two commands that a newcomer needs, and CI runs the second as it stands there.
#[test]
fn ci_runs_the_readmes_test_command() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("there is a README");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).expect("there is a CI script");
    assert!(readme.contains("cargo run --release -- render"));
    assert!(readme.contains("\ncargo test\n"));
    assert!(ci.contains("\ncargo test\n"));
}
