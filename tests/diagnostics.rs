//! The table of codes, the cases and the examples on pages: each code is printed, with the severities of the table.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a case that cannot be set up is a failure of the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use bailiwick::codes;
use bailiwick::diag::{Code, DefaultSeverity};

use crate::case::{Case, all, diagnostics};

/// The kinds of policies: three good cases each.
const POLICY_KINDS: [&str; 10] = [
    "access-test",
    "grant",
    "manifests",
    "namespace-set",
    "node-access",
    "permission-set",
    "pod-security-profile",
    "stack",
    "stack-manager",
    "tenancy",
];

/// Codes that no case can reach, each with the reason.
const WITHOUT_CASE: [(Code, &str); 2] = [
    (codes::RUN_FAILED, "people read the message without the code; tests/runs/diagnostic_forms.rs has the other forms"),
    (codes::EDITED_BY_HAND, "it is retired, and no version reports it any more"),
];

/// Codes of warnings that no case of a workspace prints, each with the reason.
const WITHOUT_WORKSPACE: &[(Code, &str)] = &[
    (codes::DUPLICATE_OBJECT, "in a workspace it is an error"),
    (codes::AGGREGATED_ROLE_WITH_RULES, "its cases read manifests with `--from`"),
    (codes::AGGREGATION_RING, "its cases read manifests with `--from`"),
    (codes::AUDIT_DISAGREES, "an audit log goes with manifests"),
    (codes::UNUSED_BINDING, "an audit log goes with manifests"),
    (codes::UNUSED_GRANT, "an audit log goes with manifests"),
    (codes::UNREADABLE_FILE, "its cases read manifests with `--from`; in a workspace it is an error"),
];

#[test]
fn every_diagnostic_has_a_case() {
    let cases = all().into_iter().flat_map(|case| diagnostics(&case.text("stderr").unwrap_or_default()));
    // The examples on pages are run too: `pages::examples_of_diagnostics_report_what_their_pages_state`.
    let examples = codes::all().iter().flat_map(|code| diagnostics(code.page()));
    let told: BTreeSet<String> = cases.chain(examples).map(|diagnostic| diagnostic.code).collect();
    let excused: BTreeSet<&str> = WITHOUT_CASE.iter().map(|(code, _)| code.id()).collect();
    let missing: Vec<&str> =
        codes::all().iter().map(|code| code.id()).filter(|id| !told.contains(*id) && !excused.contains(id)).collect();
    assert!(missing.is_empty(), "no case below tests/cases and no page prints: {}", missing.join(", "));
    let reached: Vec<&&str> = excused.iter().filter(|id| told.contains(**id)).collect();
    assert!(reached.is_empty(), "a case prints {reached:?}: take it off the list of those without");
}

/// The cases print each code with the severities that the table of codes gives it, and with no others. For a code without
/// a case, the example on its page counts.
#[test]
fn the_table_of_codes_has_the_severities_of_the_cases() {
    let mut printed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for case in all().iter().filter(|case| !case.sets_severities()) {
        for told in diagnostics(&case.text("stderr").unwrap_or_default()) {
            printed.entry(told.code).or_default().insert(told.severity);
        }
    }
    for code in codes::all().iter().filter(|code| !printed.contains_key(code.id())).collect::<Vec<_>>() {
        let own = diagnostics(code.page()).into_iter().filter(|told| told.code == code.id());
        printed.insert(code.id().to_owned(), own.map(|told| told.severity).collect());
    }
    for code in codes::all().iter().filter(|code| !WITHOUT_CASE.iter().any(|(without, _)| without == *code)) {
        let mut severities = BTreeSet::new();
        severities.extend(code.has(DefaultSeverity::Error).then_some("error"));
        severities.extend(code.is_warning().then_some("warning"));
        severities.extend(code.has(DefaultSeverity::Note).then_some("note"));
        let mut printed = printed.remove(code.id()).unwrap_or_default();
        // `check` prints a warning for which it fails as an error.
        if code.has(DefaultSeverity::FailsCheck) {
            printed.remove("error");
        }
        assert_eq!(printed, severities, "{}", code.id());
    }
}

/// `spec.diagnostics` silences every warning, and makes it an error.
#[test]
fn every_warning_has_the_severity_that_the_workspace_sets() {
    let cases: Vec<Case> = all().into_iter().filter(|case| !case.sets_severities()).collect();
    let failures = Mutex::new(Vec::new());
    // Findings of `lint` have a test of their own.
    let queue = Mutex::new(codes::all().iter().filter(|code| code.is_warning() && !code.is_finding()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(code) = next else { break };
                    failures.lock().unwrap().extend(severity_failure(*code, &cases));
                }
            });
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
}

/// Runs the first case that prints a warning of a code with the code ignored, and with the code as an error.
fn severity_failure(code: Code, cases: &[Case]) -> Option<String> {
    let warned = |text: &str, severity: &str| text.contains(&format!("{severity}[{}]", code.id()));
    let case = cases.iter().find(|case| {
        let stderr = case.text("stderr").unwrap_or_default();
        // Manifests without a workspace have no settings.
        let of_workspace = !case.arguments().iter().any(|argument| argument == "--from");
        of_workspace && warned(&stderr, "warning") && !warned(&stderr, "error")
    });
    let is_excused = WITHOUT_WORKSPACE.iter().any(|(without, _)| *without == code);
    let Some(case) = case else {
        return (!is_excused).then(|| format!("{}: no case of a workspace prints the warning", code.id()));
    };
    if is_excused {
        return Some(format!("{}: take it off the list, as {} prints it", code.id(), case.name));
    }
    for setting in ["ignore", "error"] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        case.set_up(scratch.path());
        let workspace = scratch.path().join("bailiwick.yaml");
        let text = fs::read_to_string(&workspace).unwrap();
        let entry = format!("\nspec:\n  diagnostics: {{{}: {setting}}}\n", code.id());
        fs::write(&workspace, text.replacen("\nspec:\n", &entry, 1)).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(case.arguments())
            .current_dir(scratch.path())
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_right = !warned(&stderr, "warning")
            && match setting {
                "ignore" => !warned(&stderr, "error"),
                _ => warned(&stderr, "error") && output.status.code() == Some(2),
            };
        if !is_right {
            return Some(format!("{} as `{setting}` in {}: {}: {stderr}", code.id(), case.name, output.status));
        }
    }
    None
}

/// `lint` chooses each code that it prints by `--select`, and leaves it out by `--ignore`.
#[test]
fn lint_chooses_every_code_that_it_prints() {
    let mut printed: BTreeMap<String, Case> = BTreeMap::new();
    for case in all() {
        let arguments = case.arguments();
        let chooses = |argument: &String| matches!(argument.as_str(), "--select" | "--ignore" | "--diagnostics");
        if arguments.first().is_none_or(|command| command != "lint") || arguments.iter().any(chooses) {
            continue;
        }
        for told in diagnostics(&case.text("stderr").unwrap_or_default()) {
            if told.severity == "warning" {
                let folder = case.folder.clone();
                printed.entry(told.code).or_insert_with(|| Case { name: case.name.clone(), folder });
            }
        }
    }
    assert!(printed.len() > 100, "{} codes", printed.len());
    let failures = Mutex::new(Vec::new());
    let queue = Mutex::new(printed.iter());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((code, case)) = next else { break };
                    failures.lock().unwrap().extend(choice_failure(code, case));
                }
            });
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
}

/// Runs a case of `lint` with a code that it prints chosen, and with the code left out.
fn choice_failure(code: &str, case: &Case) -> Option<String> {
    for option in ["--select", "--ignore"] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        case.set_up(scratch.path());
        let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(case.arguments())
            .args([option, code])
            .current_dir(scratch.path())
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let codes: BTreeSet<String> =
            diagnostics(&stderr).into_iter().filter(|told| told.severity == "warning").map(|told| told.code).collect();
        let is_right = match option {
            "--select" => codes.iter().eq([code]),
            _ => !codes.contains(code) && !stderr.contains("error[unknown-rule]"),
        };
        if !is_right {
            return Some(format!("{option} {code} in {}: {stderr}", case.name));
        }
    }
    None
}

#[test]
fn every_policy_kind_has_three_good_cases_and_a_bad_one() {
    let cases = all();
    for kind in POLICY_KINDS {
        let count =
            |prefix: &str| cases.iter().filter(|case| case.name.starts_with(&format!("{kind}/{prefix}"))).count();
        assert!(count("ok-") >= 3, "{kind} has {} ok- cases", count("ok-"));
        assert!(count("err-") >= 1, "{kind} has no err- case");
    }
}

impl Case {
    /// Whether the workspace of the case sets severities.
    fn sets_severities(&self) -> bool {
        self.text("bailiwick.yaml").is_some_and(|text| text.contains("diagnostics:"))
    }
}
