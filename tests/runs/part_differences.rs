//! The differences of a run in parts: the merge prints what a single run prints, in every form.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bailiwick::emit::diff::unified;
use bailiwick::emit::file::HEADER;

use super::{bailiwick, git, snapshot, stderr};
use crate::random::Random;
use crate::support::rounds;

/// A workspace with two targets and delivery objects.
const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: access}
spec:
  fixtures: [\"fixtures/*\"]
  delivery:
    repoURL: https://git.example.org/platform/access.git
    revision: main
    argocd: {project: access, destination: {name: \"{target.name}\"}}
    flux: {sourceRef: {name: platform}}
  targets:
  - {name: prod, version: \"1.37\"}
  - {name: dev, version: \"1.36\", delivery: false}
";

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: reader}
spec:
  rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: tenants.csv}
  variables:
    name: {type: string, maxLength: 50}
    lead: {type: string, maxLength: 50}
    office: {type: string, maxLength: 50}
  class:
    namespace: {name: \"{name}\", annotations: {example.org/office: \"{office}\"}}
    roles: [{name: reader, permissionSet: reader}]
    grants:
    - {name: leads, role: reader, to: {users: [\"{lead}\"], groups: [\"{office}\"]}}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: ops}
spec:
  to: {groups: [ops]}
  clusterRoles: [view]
  clusterWide: true
";

/// How many tenants there are.
const TENANTS: usize = 36;

/// The header of a file of an earlier version.
const EARLIER_HEADER: &str = "# Made by Bailiwick from policies/teams.yaml\n# Checksum of the rest: 0000\n";

fn accounts(numbers: impl IntoIterator<Item = usize>) -> String {
    let row = |number| format!("tenant-{number},lead{}@example.org,site{}\n", number % 7, number % 3);
    format!("name,lead,office\n{}", numbers.into_iter().map(row).collect::<String>())
}

/// Writes a workspace with output.
fn rendered(folder: &Path) {
    fs::create_dir_all(folder.join("policies")).expect("a folder");
    fs::write(folder.join("bailiwick.yaml"), WORKSPACE).expect("a file");
    fs::write(folder.join("policies/teams.yaml"), POLICIES).expect("a file");
    fs::write(folder.join("policies/tenants.csv"), accounts(0..TENANTS)).expect("a file");
    let run = bailiwick(folder, &["render"]);
    assert!(run.status.success(), "{}", stderr(&run));
}

/// Changes the output as a person, an attacker or an earlier version might, and the list of accounts.
fn change(folder: &Path, random: &mut Random) {
    for (path, bytes) in snapshot(&folder.join("out")) {
        let path = folder.join("out").join(path);
        let text = String::from_utf8(bytes).expect("a text");
        let new = match random.below(16) {
            0 => format!("{EARLIER_HEADER}{}", text.strip_prefix(HEADER).expect("the header")),
            1..=4 => text.replace("- get\n", "- list\n"),
            5..=6 => text.replace("- get\n", "- delete\n").replace("- kind: User", "- kind: Group"),
            7 => format!("{text}---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x{}\n", random.below(3)),
            8 => text.replace("- get\n", "- \"\\e[31m\" # \u{1b}[31m\u{202e}\n::error::x\n"),
            9 => String::new(),
            10 => text.replace("example.org/office", "example.org/place"),
            11..=12 => {
                fs::remove_file(&path).expect("a file");
                if random.one_in(2) {
                    let name = format!("x{}.yaml", random.below(1000));
                    fs::write(path.with_file_name(name), &text).expect("a file");
                }
                continue;
            }
            _ => continue,
        };
        fs::write(path, new).expect("a file");
    }
    for (path, bytes) in snapshot(&folder.join("delivery")) {
        let path = folder.join("delivery").join(path);
        match random.below(4) {
            0 => fs::remove_file(path).expect("a file"),
            1 => fs::write(path, [&bytes[..], b"# changed\n"].concat()).expect("a file"),
            _ => {}
        }
    }
    if random.one_in(2) {
        let gone = folder.join("out/gone/namespaces");
        fs::create_dir_all(&gone).expect("a folder");
        let (_, bytes) = snapshot(&folder.join("out/prod")).pop().expect("a file");
        fs::write(gone.join("old.yaml"), bytes).expect("a file");
    }
    if random.one_in(2) {
        fs::write(folder.join("policies/tenants.csv"), accounts(random.below(12)..TENANTS + 8)).expect("a file");
    }
}

/// Runs `check` as a whole and in parts, and checks that the merge prints the same. `form` are options of the whole and of the
/// merge.
fn assert_merged_as_whole(folder: &Path, parts: usize, options: &[&str], form: &[&str]) -> Output {
    let report = folder.join("../report");
    let mut outputs: Vec<(Output, Option<Vec<u8>>)> = Vec::new();
    let common: Vec<&str> = options.iter().copied().filter(|option| *option == "--quiet").collect();
    let mut summaries = Vec::new();
    for number in 1..=parts {
        let (shard, path) = (format!("{number}/{parts}"), format!("../{number}.summary"));
        let part = bailiwick(folder, &[&["check", "--shard", &shard, "--summary-to", &path], options].concat());
        assert!(part.status.code() < Some(3), "{}", stderr(&part));
        summaries.push(path);
    }
    let summaries: Vec<&str> = summaries.iter().rev().map(String::as_str).collect();
    for arguments in [[&["check"], options, form].concat(), [&["merge"], &common[..], form, &summaries].concat()] {
        _ = fs::remove_file(&report);
        let output = bailiwick(folder, &arguments);
        outputs.push((output, fs::read(&report).ok()));
    }
    let (merged, report_of_merge) = outputs.pop().expect("a run");
    let (whole, report_of_whole) = outputs.pop().expect("a run");
    let context = format!("{parts} parts, {options:?}, {form:?}");
    let assert_same = |name: &str, merged: &[u8], whole: &[u8]| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(merged == whole, "{context}: {}", unified(name, Some(&text(whole)), Some(&text(merged))));
    };
    assert_same("stdout", &merged.stdout, &whole.stdout);
    assert_same("stderr", &merged.stderr, &whole.stderr);
    assert_eq!(merged.status.code(), whole.status.code(), "{context}");
    assert_eq!(report_of_merge.is_some(), report_of_whole.is_some(), "{context}");
    assert_same("report", &report_of_merge.unwrap_or_default(), &report_of_whole.unwrap_or_default());
    whole
}

fn workspace_in(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("w");
    fs::create_dir(&path).expect("a folder");
    path
}

#[test]
fn the_merge_prints_the_differences_of_a_single_run() {
    let options: [&[&str]; 6] =
        [&[], &["--no-group"], &["--quiet"], &["--summary"], &["--target", "prod"], &["--summary", "--quiet"]];
    let forms = ["json", "sarif", "github", "gitlab", "junit", "markdown"];
    for round in 0..rounds(3, 20) {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = workspace_in(&folder);
        rendered(&workspace);
        let mut random = Random::new(round as u64);
        change(&workspace, &mut random);
        let parts = 1 + random.below(5);
        for options in options {
            let whole = assert_merged_as_whole(&workspace, parts, options, &[]);
            assert_eq!(whole.status.code(), Some(1), "{}", stderr(&whole));
            assert!(
                !options.is_empty() || String::from_utf8_lossy(&whole.stdout).contains("in the same way"),
                "{round}"
            );
        }
        let form = forms[round % forms.len()];
        assert_merged_as_whole(&workspace, parts, &[], &["--format", form]);
        let report = format!("{}=../report", forms[(round + 1) % forms.len()]);
        assert_merged_as_whole(&workspace, parts, &[], &["--report", &report]);
    }
}

#[test]
fn the_merge_prints_the_differences_from_a_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    change(&workspace, &mut Random::new(7));
    fs::create_dir(workspace.join("fixtures")).expect("a folder");
    fs::write(workspace.join("fixtures/a.yaml"), HEADER).expect("a file");
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "all"]);
    fs::remove_dir_all(workspace.join("out")).expect("a folder");
    let whole = assert_merged_as_whole(&workspace, 3, &["--tree", "HEAD"], &[]);
    for line in ["the committed output differs", "not checked: 1 output file, by `spec.fixtures`\n"] {
        assert!(stderr(&whole).contains(line), "{}", stderr(&whole));
    }
    fs::write(workspace.join("policies/tenants.csv"), accounts(2..TENANTS)).expect("a file");
    let whole = assert_merged_as_whole(&workspace, 3, &["--tree", "HEAD"], &["--format", "json"]);
    assert!(stderr(&whole).contains("these are not as in `HEAD`: `policies/tenants.csv`"), "{}", stderr(&whole));
}

/// Groups keep their first file, and small groups all of their files, wherever their files are.
#[test]
fn groups_of_every_size_are_shown_by_the_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    let mut number = 0;
    for size in [1, 2, 3, 4, 5, 9] {
        for _ in 0..size {
            let path = workspace.join(format!("out/dev/namespaces/tenant-{number}.yaml"));
            let text = fs::read_to_string(&path).expect("a file");
            fs::write(path, text.replace("- get\n", &format!("- verb{size}\n"))).expect("a file");
            number += 1;
        }
    }
    for parts in [1, 2, 3, 8] {
        let whole = assert_merged_as_whole(&workspace, parts, &[], &[]);
        assert_eq!(String::from_utf8_lossy(&whole.stdout).matches("in the same way").count(), 3);
    }
}

/// A part that ends early leaves no summary, also not the summary of an earlier run.
#[cfg(unix)]
#[test]
fn a_part_without_a_result_leaves_no_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    let summary = folder.path().join("1.summary");
    let arguments = ["check", "--shard", "1/1", "--summary-to", "../1.summary"];
    let merge = || bailiwick(&workspace, &["merge", "../1.summary"]);
    let run = |command: &str| {
        assert!(bailiwick(&workspace, &arguments).status.success());
        assert!(merge().status.success());
        let command = format!("{command} exec {} {}", env!("CARGO_BIN_EXE_bailiwick"), arguments.join(" "));
        let run = Command::new("bash").args(["-c", &command]).current_dir(&workspace).output().expect("a shell");
        assert!(!summary.exists(), "{command}");
        let merged = merge();
        assert_eq!(merged.status.code(), Some(3), "{}", stderr(&merged));
        run
    };
    // A limit on the size of files is the full disk that needs no privileges.
    let full = run("trap '' XFSZ; ulimit -f 0;");
    assert_eq!(full.status.code(), Some(3), "{}", stderr(&full));
    assert!(stderr(&full).contains("error: cannot write `"), "{}", stderr(&full));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left behind");
    // A part that is killed when it writes the summary.
    let killed = run("ulimit -f 0;");
    assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
    // A workspace that cannot be opened.
    fs::write(workspace.join("bailiwick.yaml"), "a: [").expect("a file");
    assert_eq!(bailiwick(&workspace, &arguments).status.code(), Some(2));
}

/// A folder that is no folder stands for a folder in which nothing can be written: the tests may run as root.
#[test]
fn a_summary_that_cannot_be_written_fails_the_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    fs::write(folder.path().join("file"), "").expect("a file");
    for place in ["../nowhere/1.summary", "../file/1.summary", "out"] {
        let run = bailiwick(&workspace, &["check", "--shard", "1/1", "--summary-to", place]);
        assert_eq!(run.status.code(), Some(3), "{place}: {}", stderr(&run));
        assert!(stderr(&run).contains("error: cannot write `"), "{place}: {}", stderr(&run));
    }
}

#[test]
fn a_huge_summary_is_refused_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    let huge = fs::File::create(folder.path().join("huge")).expect("a file");
    huge.set_len(1 << 40).expect("a sparse file");
    let run = bailiwick(&workspace, &["merge", "../huge"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(stderr(&run).contains("`../huge` cannot be used: it is larger than 1 GiB"), "{}", stderr(&run));
}

/// Parts of `check` and `render`, and of runs with other groups, are of different runs.
#[test]
fn parts_of_different_runs_are_not_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = workspace_in(&folder);
    rendered(&workspace);
    let part = |number: usize, arguments: &[&str]| {
        let (shard, path) = (format!("{number}/2"), format!("../{number}.summary"));
        let run = bailiwick(&workspace, &[arguments, &["--shard", &shard, "--summary-to", &path]].concat());
        assert!(run.status.success(), "{}", stderr(&run));
    };
    let merge = |files: &[&str]| bailiwick(&workspace, &[&["merge"], files].concat());
    part(1, &["check"]);
    for other in [&["render"][..], &["check", "--no-group"], &["check", "--summary"], &["check", "-t", "prod"]] {
        part(2, other);
        let run = merge(&["../1.summary", "../2.summary"]);
        assert_eq!(run.status.code(), Some(2), "{other:?}: {}", stderr(&run));
        assert!(stderr(&run).contains("are of different commands or options"), "{other:?}: {}", stderr(&run));
    }
    part(2, &["check"]);
    assert!(merge(&["../1.summary", "../2.summary"]).status.success());
    // The same part with another result.
    fs::copy(folder.path().join("2.summary"), folder.path().join("first")).expect("a copy");
    let path = workspace.join("out/prod/namespaces/tenant-1.yaml");
    fs::write(&path, "").expect("a file");
    _ = bailiwick(&workspace, &["check", "--shard", "2/2", "--summary-to", "../2.summary"]);
    let run = merge(&["../first", "../1.summary", "../2.summary"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(stderr(&run).contains("part 2/2 occurs twice"), "{}", stderr(&run));
}
