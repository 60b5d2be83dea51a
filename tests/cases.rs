//! Whole runs of the real program: one folder a case, below `tests/cases/<kind>/` and, for attacks, below
//! `tests/hostile/<topic>/`.
//!
//! | in the folder | is |
//! |---|---|
//! | `bailiwick.yaml` | the workspace; without it, one with the target `t` at 1.21 |
//! | `policies/`, `templates/` | as in any workspace |
//! | `before/` | the output folder as it is before the run |
//! | `setup` | what git keeps badly, one line each; see [`Step`] |
//! | `elsewhere/` | files beside the workspace's own |
//! | `stdin` | what a pipe brings |
//! | `args` | the arguments, one a line; without it, `render` |
//! | `stdout`, `stderr` | what is printed; without the file, nothing |
//! | `status` | the exit code; without it, 0 for `ok-` and 2 for `err-` |
//! | `out/` | `ok-` only: the whole output folder afterwards |
//!
//! After an `err-` case the output folder has to be as it was before. `UPDATE=1` rewrites the expectations, and
//! `CASE=text` runs the cases whose path contains the text.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a case that cannot be set up is a failure of the test"
)]

use bailiwick::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use bailiwick::diag::{Code, DefaultSeverity};

use crate::support::rounds;

/// The workspace of a case that brings none.
const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: case
spec:
  targets:
  - name: t
    version: \"1.21\"
";

/// What is asked of the kinds of policies: three good cases each.
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

/// Codes that tell of a folder or of the run, and so have no line of a file to show.
const WITHOUT_PLACE: [Code; 25] = [
    codes::INVALID_USAGE,
    codes::INVALID_QUESTION,
    codes::NEWER_THAN_KNOWN,
    codes::NOTHING_TO_JUDGE,
    codes::NOTHING_TO_MIGRATE,
    codes::UNKNOWN_RESOURCE,
    codes::UNKNOWN_VERSION,
    codes::UNUSABLE_INDEX,
    codes::BROKEN_BASE,
    codes::FOREIGN_FILE,
    codes::EDITED_BY_HAND,
    codes::LINK_IN_OUTPUT,
    codes::KEPT_MANIFEST,
    codes::FOLDER_IN_OUTPUT,
    codes::LEFT_BEHIND,
    codes::EMPTY_OUTPUT,
    codes::MASS_DELETE,
    codes::NAMESPACE_DELETE,
    codes::TARGET_DELETE,
    codes::MASS_RECREATE,
    codes::IMMUTABLE_ROLE_REF,
    codes::UNUSABLE_SUMMARY,
    codes::INCOMPLETE_PARTS,
    codes::UNKNOWN_RULE,
    codes::WORKSPACE_NOT_FOUND,
];

/// Codes that no case can reach, each with the reason.
const WITHOUT_CASE: [(Code, &str); 3] = [
    (codes::RUN_FAILED, "people read the message without the code; tests/runs/diagnostic_forms.rs has the other forms"),
    (codes::INCOMPLETE_PARTS, "a summary is of one version of the program; tests/runs/parts.rs makes its own"),
    (codes::EDITED_BY_HAND, "it is retired, and no version reports it any more"),
];

/// Codes of warnings that no case of a workspace prints, each with the reason.
const WITHOUT_WORKSPACE: &[(Code, &str)] = &[
    (codes::DUPLICATE_OBJECT, "in a workspace it is an error"),
    (codes::AGGREGATED_ROLE_WITH_RULES, "its cases read manifests with `--from`"),
    (codes::AGGREGATION_RING, "its cases read manifests with `--from`"),
];

/// In how many parts every case is run once more.
const PARTS: usize = 3;

#[test]
fn every_case_ends_as_its_folder_says() {
    each_case(all(), Case::run);
}

/// What parts write is what a single run writes, and what their merge prints is what it prints.
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

#[test]
fn every_diagnostic_has_a_case() {
    let told: BTreeSet<String> = all()
        .iter()
        .flat_map(|case| diagnostics(&case.text("stderr").unwrap_or_default()))
        .map(|diagnostic| diagnostic.code)
        .collect();
    let excused: BTreeSet<&str> = WITHOUT_CASE.iter().map(|(code, _)| code.id()).collect();
    let missing: Vec<&str> =
        codes::all().iter().map(|code| code.id()).filter(|id| !told.contains(*id) && !excused.contains(id)).collect();
    assert!(missing.is_empty(), "no case below tests/cases prints: {}", missing.join(", "));
    let reached: Vec<&&str> = excused.iter().filter(|id| told.contains(**id)).collect();
    assert!(reached.is_empty(), "a case prints {reached:?}: take it off the list of those without");
}

/// The cases print each code with the severities that the table of codes gives it, and with no others.
#[test]
fn the_table_of_codes_has_the_severities_of_the_cases() {
    let mut printed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for case in all().iter().filter(|case| !case.sets_severities()) {
        for told in diagnostics(&case.text("stderr").unwrap_or_default()) {
            printed.entry(told.code).or_default().insert(told.severity);
        }
    }
    for code in codes::all().iter().filter(|code| !WITHOUT_CASE.iter().any(|(without, _)| without == *code)) {
        let mut severities = BTreeSet::new();
        severities.extend(code.has(DefaultSeverity::Error).then_some("error"));
        severities.extend(code.is_warning().then_some("warning"));
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

/// A case by its folder.
struct Case {
    /// `<kind>/<case>`, or `hostile/<topic>/<case>`.
    name: String,
    folder: PathBuf,
}

/// Every case, sorted by name.
fn all() -> Vec<Case> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of cases").map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut cases = Vec::new();
    for (root, prefix) in [("cases", ""), ("hostile", "hostile/")] {
        for folder in folders(&tests.join(root)).iter().flat_map(|kind| folders(kind)) {
            let path = folder.strip_prefix(tests.join(root)).unwrap();
            cases.push(Case { name: format!("{prefix}{}", path.display()), folder });
        }
    }
    cases.sort_by(|left, right| left.name.cmp(&right.name));
    cases
}

impl Case {
    fn is_good(&self) -> bool {
        self.name.contains("/ok-")
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Whether the workspace of the case sets severities.
    fn sets_severities(&self) -> bool {
        self.text("bailiwick.yaml").is_some_and(|text| text.contains("diagnostics:"))
    }

    /// Runs the case; says what is not as it should be.
    fn run(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if !self.is_good() && !self.name.contains("/err-") {
            return vec!["the name begins with neither `ok-` nor `err-`".to_owned()];
        }
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let root = scratch.path().canonicalize().expect("a temporary folder");
        self.set_up(&root);
        let before = tree(&root.join("out"));
        let arguments = self.text("args").unwrap_or_else(|| "render\n".to_owned());
        let stdin = self.folder.join("stdin");
        let stdin = if stdin.is_file() { fs::File::open(stdin).unwrap().into() } else { Stdio::null() };
        let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments.lines())
            .stdin(stdin)
            .current_dir(&root)
            .env_clear()
            .env("BAILIWICK_JOBS", "2")
            .output()
            .expect("the program starts");
        let printed = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("UTF-8 is printed");
            text.replace(&format!("{}/", root.display()), "")
        };
        let (stdout, stderr) = (printed(&output.stdout), printed(&output.stderr));
        let after = tree(&root.join("out"));
        let status = output.status.code().map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let usual = if self.is_good() { "0" } else { "2" };
        self.expect("stdout", &stdout, "", &mut failures);
        self.expect("stderr", &stderr, "", &mut failures);
        self.expect("status", &format!("{status}\n"), &format!("{usual}\n"), &mut failures);
        if self.is_good() {
            self.expect_tree(&after, &mut failures);
        } else if before != after {
            failures.push("an error was told, and the output folder changed".to_owned());
        }
        if !self.is_good() && status == "0" {
            failures.push("the run ended well".to_owned());
        }
        let told = diagnostics(&stderr);
        failures.extend(told.iter().flat_map(Told::faults));
        // Findings of a rule share their help.
        let helped: BTreeSet<&str> =
            told.iter().filter(|told| told.text.contains("= help: ")).map(|told| told.code.as_str()).collect();
        for told in told.iter().filter(|told| !told.text.contains("= help: ")) {
            let is_finding = codes::find(&told.code).is_some_and(Code::is_finding);
            if !(is_finding && helped.contains(told.code.as_str())) {
                failures.push(format!("no help: [{}] {}", told.code, told.message));
            }
        }
        failures
    }

    fn arguments(&self) -> Vec<String> {
        self.text("args").unwrap_or_else(|| "render\n".to_owned()).lines().map(str::to_owned).collect()
    }

    /// True for a case of a command that can do a part of its work, and that ends with a judgement.
    fn has_parts(&self) -> bool {
        let arguments = self.arguments();
        let command = arguments.iter().find(|argument| matches!(argument.as_str(), "render" | "check"));
        let single = ["--stdout", "--help", "--diagnostics", "-C", "--no-such-option"];
        command.is_some() && !arguments.iter().any(|argument| single.iter().any(|one| argument.starts_with(one)))
    }

    /// Runs the case as a whole and in parts; says where the two differ.
    fn run_in_parts(&self) -> Vec<String> {
        let single = tempfile::tempdir().expect("a temporary folder");
        let parts = tempfile::tempdir().expect("a temporary folder");
        let summaries = tempfile::tempdir().expect("a temporary folder");
        for scratch in [&single, &parts] {
            self.set_up(scratch.path());
        }
        let run = |root: &Path, arguments: &[String]| {
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
        };
        let mut arguments = self.arguments();
        // Parts run no AccessTests.
        if arguments.iter().any(|argument| argument == "check") {
            arguments.push("--no-tests".to_owned());
        }
        let whole = run(single.path(), &arguments);
        // What is said to every command is said to the merge, too.
        let mut merging: Vec<String> = vec!["merge".to_owned()];
        let day = arguments.iter().position(|argument| argument == "--today");
        merging.extend(day.and_then(|day| arguments.get(day..day + 2)).into_iter().flatten().cloned());
        merging.extend(
            arguments
                .iter()
                .filter(|argument| matches!(argument.as_str(), "--quiet" | "-q" | "--deny-warnings"))
                .cloned(),
        );
        let mut differences = String::new();
        for number in 1..=PARTS {
            let summary = summaries.path().join(number.to_string()).display().to_string();
            let shard = ["--shard".to_owned(), format!("{number}/{PARTS}"), "--summary-to".to_owned(), summary.clone()];
            let (status, stdout, stderr) = run(parts.path(), &[arguments.as_slice(), &shard].concat());
            if status == Some(3) || !Path::new(&summary).is_file() {
                // A part that leaves no summary ends as the whole does.
                let same = status == whole.0 && (status == Some(3) || stderr == whole.2);
                return if same { Vec::new() } else { vec![format!("part {number}: {status:?}: {stderr}")] };
            }
            differences.push_str(&stdout);
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
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        // The difference itself is printed by the parts, each its own.
        let summary_only = arguments.iter().any(|argument| argument == "--summary");
        let printed = if summary_only { &merged.1 } else { &differences };
        if whole.0 != Some(2) && sorted(&whole.1) != sorted(printed) {
            failures.push(bailiwick::emit::diff::unified("stdout", Some(&whole.1), Some(printed)));
        }
        if whole.0 != Some(2) && tree(&single.path().join("out")) != tree(&parts.path().join("out")) {
            failures.push("the output differs".to_owned());
        }
        failures
    }

    /// Lays out the workspace of the case.
    fn set_up(&self, root: &Path) {
        for name in ["policies", "templates", "elsewhere"] {
            copy(&self.folder.join(name), &root.join(name));
        }
        copy(&self.folder.join("before"), &root.join("out"));
        let workspace = self.text("bailiwick.yaml").unwrap_or_else(|| WORKSPACE.to_owned());
        fs::write(root.join("bailiwick.yaml"), workspace).unwrap();
        for line in self.text("setup").unwrap_or_default().lines() {
            Step::parse(line).unwrap_or_else(|| panic!("{}: setup: {line}", self.name)).apply(root);
        }
    }

    fn expect(&self, name: &str, actual: &str, usual: &str, failures: &mut Vec<String>) {
        let path = self.folder.join(name);
        let expected = self.text(name).unwrap_or_else(|| usual.to_owned());
        if expected == actual {
            return;
        }
        if updating() {
            let _ = fs::remove_file(&path);
            if actual != usual {
                fs::write(path, actual).unwrap();
            }
            return;
        }
        let diff = bailiwick::emit::diff::unified(name, Some(&expected), Some(actual));
        failures.push(format!("`{name}` differs\n{diff}"));
    }

    fn expect_tree(&self, actual: &BTreeMap<String, Vec<u8>>, failures: &mut Vec<String>) {
        let folder = self.folder.join("out");
        let expected = tree(&folder);
        if expected == *actual {
            return;
        }
        if updating() {
            let _ = fs::remove_dir_all(&folder);
            for (path, bytes) in actual {
                write(&folder.join(path), bytes);
            }
            return;
        }
        let paths: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
        for path in paths.into_iter().filter(|path| expected.get(*path) != actual.get(*path)) {
            let side = |tree: &BTreeMap<String, Vec<u8>>| {
                tree.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            let (old, new) = (side(&expected), side(actual));
            failures.push(bailiwick::emit::diff::unified(&format!("out/{path}"), old.as_deref(), new.as_deref()));
        }
    }
}

fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// A line of `setup`.
enum Step<'l> {
    /// `crlf PATH`: every line feed becomes CR LF.
    Crlf(&'l str),
    /// `bom PATH`: a byte order mark in front.
    Bom(&'l str),
    /// `utf16 PATH`: the text in UTF-16, with its mark.
    Utf16(&'l str),
    /// `bytes PATH HEX`: a file of these bytes.
    Bytes(&'l str, &'l str),
    /// `replace PATH HEX HEX`: the first bytes, wherever they stand, become the second.
    Replace(&'l str, &'l str, &'l str),
    /// `size PATH BYTES`: a file of so many zero bytes, which takes no room on the disk.
    Size(&'l str, u64),
    /// `symlink PATH -> TARGET`.
    Link(&'l str, &'l str),
    /// `readonly PATH`.
    ReadOnly(&'l str),
    /// `remove PATH`.
    Remove(&'l str),
}

impl<'l> Step<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["crlf", path] => Step::Crlf(path),
            ["bom", path] => Step::Bom(path),
            ["utf16", path] => Step::Utf16(path),
            ["bytes", path, hex] => Step::Bytes(path, hex),
            ["replace", path, old, new] => Step::Replace(path, old, new),
            ["size", path, size] => Step::Size(path, size.parse().ok()?),
            ["symlink", path, "->", target] => Step::Link(path, target),
            ["readonly", path] => Step::ReadOnly(path),
            ["remove", path] => Step::Remove(path),
            _ => return None,
        })
    }

    fn apply(&self, root: &Path) {
        match *self {
            Step::Crlf(path) => {
                rewrite(&root.join(path), |bytes| String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into())
            }
            Step::Bom(path) => rewrite(&root.join(path), |bytes| [b"\xef\xbb\xbf".as_slice(), &bytes].concat()),
            Step::Utf16(path) => rewrite(&root.join(path), |bytes| {
                let text = String::from_utf8(bytes).unwrap();
                std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }),
            Step::Bytes(path, hex) => write(&root.join(path), &unhex(hex)),
            Step::Replace(path, old, new) => rewrite(&root.join(path), |bytes| {
                let (old, new) = (unhex(old), unhex(new));
                let at = bytes.windows(old.len()).position(|window| window == old).expect("the bytes to replace");
                [bytes.get(..at).unwrap(), &new, bytes.get(at + old.len()..).unwrap()].concat()
            }),
            Step::Size(path, size) => {
                write(&root.join(path), b"");
                fs::File::options().write(true).open(root.join(path)).unwrap().set_len(size).unwrap();
            }
            Step::Link(path, target) => {
                let _ = fs::remove_file(root.join(path));
                fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, root.join(path)).unwrap();
            }
            Step::ReadOnly(path) => {
                let mut permissions = fs::metadata(root.join(path)).unwrap().permissions();
                permissions.set_readonly(true);
                fs::set_permissions(root.join(path), permissions).unwrap();
            }
            Step::Remove(path) => fs::remove_file(root.join(path)).unwrap(),
        }
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hexadecimal bytes"))
        .collect()
}

fn rewrite(path: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    write(path, &change(fs::read(path).unwrap()));
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Copies a folder, if it is there.
fn copy(from: &Path, to: &Path) {
    for (path, bytes) in tree(from) {
        write(&to.join(path), &bytes);
    }
}

/// Every file below a folder; a link is told by where it leads.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            let bytes = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display()).into_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            files.insert(name, bytes);
        }
    }
    files
}

/// A diagnostic as it was printed.
struct Told {
    severity: &'static str,
    code: String,
    message: String,
    text: String,
}

/// The diagnostics of a text.
fn diagnostics(stderr: &str) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for line in stderr.lines() {
        let head = ["error", "warning"].into_iter().find_map(|severity| {
            let (code, message) = line.strip_prefix(severity)?.strip_prefix('[')?.split_once("]: ")?;
            Some((severity, code, message))
        });
        match (head, all.last_mut()) {
            (Some((severity, code, message)), _) => {
                all.push(Told { severity, code: code.to_owned(), message: message.to_owned(), text: String::new() });
            }
            (None, Some(last)) => last.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    all
}

impl Told {
    /// What every diagnostic has: a place, and a message of the right form (`STYLE.md` habit 7).
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut refuse = |why: &str| faults.push(format!("{why}: [{}] {}", self.code, self.message));
        let code = codes::find(&self.code);
        let placed = self.text.lines().filter_map(|line| line.trim_start().strip_prefix("--> ")).any(|place| {
            let mut parts = place.rsplit(':');
            parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number)
        });
        if code.is_none() {
            refuse("no such code");
        }
        // A target that the command line names stands in no file.
        let typed = self.message.starts_with("there is no target ");
        if !placed && !typed && !code.is_some_and(|code| WITHOUT_PLACE.contains(&code)) {
            refuse("no file, line and column");
        }
        if self.message.ends_with('.') || self.message.is_empty() {
            refuse("a full stop, or nothing at all");
        }
        faults
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}
