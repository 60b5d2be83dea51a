//! Commands over files in memory against the expectations of the cases, which the program meets on disk.

use std::path::Path;

use bailiwick::cli::{MemoryCommand, MemoryOutcome, run_in_memory};
use bailiwick::model::Date;
use bailiwick::source::MemorySource;

use crate::case::{self, Case, tree};

/// The commands that are compared. `render` is asked for its objects instead of its files.
const COMMANDS: [&str; 7] = ["can-i", "explain", "lint", "render", "table", "test", "who-can"];

/// Cases about the system: pipes, links, files by their absolute path, and the output folder.
const OF_THE_SYSTEM: [&str; 6] = ["-", "--against", "--base", "--summary-to", "--admission", "--audit"];

fn run(arguments: Vec<String>, files: &[(String, Vec<u8>)]) -> MemoryOutcome {
    let files = MemorySource::new(files.iter().cloned());
    run_in_memory(&MemoryCommand { arguments, files, today: Date::from_days(20_700) })
}

/// Returns the files of a case; none with a link, which memory does not have.
fn files_of(case: &Case) -> Option<Vec<(String, Vec<u8>)>> {
    let scratch = tempfile::tempdir().expect("a folder");
    case.set_up(scratch.path());
    let has_link = |path: &str| scratch.path().join(path).is_symlink();
    let files: Vec<(String, Vec<u8>)> = tree(scratch.path()).into_iter().collect();
    (!files.iter().any(|(path, _)| has_link(path))).then_some(files)
}

/// Returns the expected text of a case.
fn expected(case: &Case, name: &str) -> String {
    case.text(name).unwrap_or_default()
}

fn status(case: &Case) -> String {
    let usual = if case.name.contains("/ok-") { "0" } else { "2" };
    case.text("status").unwrap_or_else(|| usual.to_owned()).trim().to_owned()
}

/// Whether a command is refused for files in memory.
fn is_refused(ended: &MemoryOutcome) -> bool {
    ended.texts.stderr.contains("cannot be used with files in memory")
}

#[test]
fn answers_are_those_of_the_program() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in case::all() {
        let arguments = case.arguments();
        let command = arguments.first().map_or("", String::as_str);
        if !COMMANDS.contains(&command) || command == "render" {
            continue;
        }
        if arguments.iter().any(|argument| OF_THE_SYSTEM.contains(&argument.as_str())) {
            continue;
        }
        let Some(files) = files_of(&case) else { continue };
        let ended = run(arguments, &files);
        if is_refused(&ended) {
            wrong.push(format!("{}: refused", case.name));
            continue;
        }
        compared += 1;
        let texts = &ended.texts;
        if texts.stdout != expected(&case, "stdout") || texts.stderr != expected(&case, "stderr") {
            let told = format!("{}{}", expected(&case, "stdout"), expected(&case, "stderr"));
            let diff =
                bailiwick::emit::diff::unified(&case.name, Some(&told), Some(&(texts.stdout.clone() + &texts.stderr)));
            wrong.push(diff);
        } else if ended.outcome.code().to_string() != status(&case) {
            wrong.push(format!("{}: status {}", case.name, ended.outcome.code()));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 150, "{compared}");
    println!("{compared} cases compared");
}

#[test]
fn diagnostics_of_policies_are_those_of_the_program() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in case::all() {
        let is_usual = case.arguments() == ["render"] && case.name.contains("/err-");
        let is_of_output = Path::new(&case.folder).join("before").is_dir() || case.name.contains("output/");
        if !is_usual || is_of_output || status(&case) != "2" {
            continue;
        }
        let Some(files) = files_of(&case) else { continue };
        let ended = run(vec!["render".to_owned(), "--stdout".to_owned()], &files);
        compared += 1;
        let wanted = expected(&case, "stderr").replacen("nothing was written\n", "", 1);
        if ended.texts.stderr != wanted {
            wrong.push(bailiwick::emit::diff::unified(&case.name, Some(&wanted), Some(&ended.texts.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 200, "{compared}");
    println!("{compared} cases compared");
}

/// Set for the process that `variables_of_the_environment_do_not_count` starts.
const IS_INNER: &str = "BAILIWICK_TEST_OF_MEMORY";

#[test]
fn variables_of_the_environment_do_not_count() {
    let scratch = tempfile::tempdir().expect("a folder");
    let outputs = scratch.path().join("outputs");
    std::fs::write(&outputs, "").expect("a file");
    if std::env::var_os(IS_INNER).is_some() {
        let binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a},
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: ann}]}";
        let ended = run(
            ["lint", "--from", "."].map(str::to_owned).into(),
            &[("binding.yaml".to_owned(), binding.as_bytes().to_vec())],
        );
        assert_eq!(ended.outcome.code(), 1, "{ended:?}");
        assert!(ended.texts.stderr.starts_with("warning[cluster-admin-binding]"), "{ended:?}");
        tempfile::tempdir().expect("the process is not confined");
        return;
    }
    let variables = [
        ("CI", "true"),
        ("BAILIWICK_COLOR", "always"),
        ("BAILIWICK_DIRECTORY", "/proc"),
        ("BAILIWICK_JOBS", "many"),
        ("BAILIWICK_SANDBOX", "on"),
        ("BAILIWICK_TODAY", "today"),
        (IS_INNER, "1"),
    ];
    let ended = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "in_memory::variables_of_the_environment_do_not_count"])
        .envs(variables)
        .env("GITHUB_OUTPUT", &outputs)
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(std::fs::read_to_string(&outputs).expect("a file"), "");
}
