//! The folders of `tests/cases/` and `tests/hostile/` as tests: whole runs of the program, one test each.
//!
//! `cargo test --test cases tenancy/ok-admission-policy` runs the cases with this text in their name. After an `err-`
//! case the output folder has to be as it was before. `UPDATE=1` rewrites the expectations.
//!
//! Every run is confined where the kernel can confine it: a read outside the workspace and the named paths, or a write that no option
//! names, changes the outcome.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;

use bailiwick::codes;
use bailiwick::diag::Code;
use case::{Case, Told, diagnostics, tree, write};
use libtest_mimic::{Arguments, Trial};

mod case;

/// Codes of a folder, of the whole run, or of an object of a cluster, for which there is no line of a file.
const WITHOUT_PLACE: [Code; 27] = [
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
    codes::APPLIER_STEERED,
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
    codes::DRIFT_UNMANAGED,
];

/// Whether the kernel can confine a run.
static CAN_CONFINE: LazyLock<bool> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut run = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    let run = run.args(["init", "--sandbox=on"]).current_dir(folder.path()).output().expect("the program starts");
    run.status.success()
});

fn main() -> ExitCode {
    let trials = case::all().into_iter().map(|case| {
        Trial::test(case.name.clone(), move || {
            let failures = case.run();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

impl Case {
    fn is_good(&self) -> bool {
        self.name.contains("/ok-")
    }

    /// Runs the case; returns the differences.
    fn run(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if !self.is_good() && !self.name.contains("/err-") {
            return vec!["the name begins with neither `ok-` nor `err-`".to_owned()];
        }
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let root = scratch.path().canonicalize().expect("a temporary folder");
        self.set_up(&root);
        let before = tree(&root.join("out"));
        let stdin = self.folder.join("stdin");
        let stdin = if stdin.is_file() { fs::File::open(stdin).unwrap().into() } else { Stdio::null() };
        let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(self.arguments())
            .stdin(stdin)
            .current_dir(&root)
            .env_clear()
            .env("BAILIWICK_JOBS", "2")
            .env("BAILIWICK_SANDBOX", if *CAN_CONFINE { "on" } else { "off" })
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
        // A note is one line, with its remedy and without a place.
        let mut told = diagnostics(&stderr);
        told.retain(|told| told.severity != "note");
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

impl Told {
    /// Returns the faults of a diagnostic without a place, or with a message of another form.
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
        // A target of the command line is in no file.
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
