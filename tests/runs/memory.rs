//! The memory of a run for each file of the output and each object of a dump, and of a question for each tenant: little more than a few
//! names, so that a million objects fit into small runners.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{git, tenants};

/// The numbers of tenants, with a file each. The difference of two runs has no part of what each run takes.
const FEW: usize = 2_000;
const MANY: usize = 14_000;

/// How many bytes `check` may take for each tenant: the cells and the texts of its account, its place in the index of the files, and
/// hashes of its path.
const CHECK: u64 = 200;

/// How many bytes another verb may take beyond that: the name of a file twice, or its name and its id in git. A list of the plans of
/// files takes a thousand.
const BEYOND: u64 = 100;

/// How many bytes `drift` may take for each of the four objects of a tenant beyond `check`: two hashes, and hashes of the names of
/// bindings. The text of an object takes 800, and its tree 2,400.
const DRIFT_OBJECT: u64 = 60;

/// How many bytes a question may take for each tenant. `lint` and `review` have the values of the accounts as numbers, and `report` has the
/// names of all subjects once. `who-can` leaves out the roles of tenants that do not allow the request, and their bindings.
const QUESTIONS: [(&str, u64); 4] = [("lint", 150), ("review", 200), ("report", 400), ("who-can", 170)];

/// How many bytes `render --stdout` may take for each tenant beyond `check`. The text of a tenant has 1,200.
const PRINTED: u64 = 400;

/// Two numbers of tenants with more text than a run keeps before it prints.
const PRINTED_TENANTS: [usize; 2] = [16_000, 28_000];

/// Returns the memory of a process in bytes, without the pages of the program itself: the kernel maps more or fewer of them.
fn memory(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Runs the program on one thread, where no result waits for the results of other threads. Returns the most memory in bytes.
fn peak_of(folder: &Path, arguments: &[&str], code: i32) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .args(["--jobs", "1"])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("CI")
        // The allocator gives freed memory back at once, and not after a time.
        .env("MIMALLOC_PURGE_DELAY", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut most = 0;
    let status = loop {
        match child.try_wait().expect("a process") {
            Some(status) => break status,
            None => most = most.max(memory(&child).unwrap_or_default()),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(status.code(), Some(code), "{arguments:?}");
    most
}

/// Returns the most memory of `check`, `render`, `check --tree` and `diff` in a workspace of so many tenants.
fn peaks(count: usize) -> [u64; 4] {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    tenants(folder, count);
    let workspace = folder.join("bailiwick.yaml");
    let text = fs::read_to_string(&workspace).expect("a file");
    fs::write(workspace, text.replace("spec:\n", "spec:\n  layout: {shards: 64}\n")).expect("a file");
    let render = peak_of(folder, &["render"], 0);
    let check = peak_of(folder, &["check", "--work-tree"], 0);
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "--all"]);
    git(folder, &["-c", "gc.auto=0", "commit", "--quiet", "--message", "all"]);
    let tree = peak_of(folder, &["check", "--tree", "HEAD"], 0);
    let policies = folder.join("policies/tenants.yaml");
    let text = fs::read_to_string(&policies).expect("a file");
    fs::write(policies, text.replace("tenancy: tenant}", "tenancy: tenant, reviewed: \"yes\"}")).expect("a file");
    let diff = peak_of(folder, &["diff"], 1);
    [check, render, tree, diff]
}

/// Returns the most memory of `check`, and of `drift` with a dump of the wanted objects.
fn peaks_with_dump(count: usize) -> [u64; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    tenants(folder, count);
    let render = super::bailiwick(folder, &["render", "--stdout", "--format", "json", "--quiet"]);
    let lines = String::from_utf8(render.stdout).expect("a text");
    let objects: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["object"].to_string())
        .collect();
    assert_eq!(objects.len(), 4 * count);
    let dump = format!(r#"{{"apiVersion":"v1","items":[{}],"kind":"List"}}"#, objects.join(",\n"));
    fs::write(folder.join("live.json"), dump).expect("a file");
    let drift = peak_of(folder, &["drift", "--live", "live.json", "--partial"], 0);
    peak_of(folder, &["render"], 0);
    [peak_of(folder, &["check", "--work-tree"], 0), drift]
}

#[test]
fn a_comparison_with_a_dump_keeps_little_of_an_object() {
    let (few, many) = (peaks_with_dump(FEW), peaks_with_dump(MANY));
    let each = |verb: usize| many[verb].saturating_sub(few[verb]) / (MANY - FEW) as u64;
    let (check, drift) = (each(0), each(1));
    assert!(drift <= check + 4 * DRIFT_OBJECT, "drift: {drift} bytes for each tenant, and check {check}");
}

/// Returns the most memory of each question in a workspace of so many tenants.
fn peaks_of_questions(count: usize) -> [u64; 4] {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    tenants(folder, count);
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "--all"]);
    git(folder, &["-c", "gc.auto=0", "commit", "--quiet", "--message", "all"]);
    let policies = folder.join("policies/tenants.yaml");
    let text = fs::read_to_string(&policies).expect("a file");
    fs::write(policies, text.replace("tenancy: tenant}", "tenancy: tenant, reviewed: \"yes\"}")).expect("a file");
    let review = peak_of(folder, &["review", "--base", "HEAD"], 0);
    let report = peak_of(folder, &["report", "--report", "html=report.html"], 0);
    [peak_of(folder, &["lint"], 0), review, report, peak_of(folder, &["who-can", "use", "podsecuritypolicies"], 0)]
}

#[test]
fn a_question_keeps_little_of_a_tenant() {
    let (few, many) = (peaks_of_questions(FEW), peaks_of_questions(MANY));
    assert!(few.iter().all(|peak| *peak > 0), "{few:?}");
    for ((verb, most), (few, many)) in QUESTIONS.into_iter().zip(few.into_iter().zip(many)) {
        let own = many.saturating_sub(few) / (MANY - FEW) as u64;
        assert!(own <= most, "{verb}: {own} bytes for each tenant");
    }
}

#[test]
fn a_run_keeps_little_of_a_file() {
    let (few, many) = (peaks(FEW), peaks(MANY));
    assert!(few.iter().all(|peak| *peak > 0), "{few:?}");
    let each = |verb: usize| many[verb].saturating_sub(few[verb]) / (MANY - FEW) as u64;
    let check = each(0);
    assert!(check <= CHECK, "check: {check} bytes for each tenant");
    for (verb, name) in (1..).zip(["render", "check --tree", "diff"]) {
        let own = each(verb);
        assert!(own <= check + BEYOND, "{name}: {own} bytes for each tenant, and check {check}");
    }
}

#[test]
fn a_printed_file_is_not_kept() {
    let peak = |count: usize| {
        let folder = tempfile::tempdir().expect("a folder");
        tenants(folder.path(), count);
        peak_of(folder.path(), &["render", "--stdout"], 0)
    };
    let [few, many] = PRINTED_TENANTS;
    let own = peak(many).saturating_sub(peak(few)) / (many - few) as u64;
    assert!(own <= CHECK + PRINTED, "{own} bytes for each tenant");
}
