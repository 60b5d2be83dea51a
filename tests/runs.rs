//! Runs of the real binary that no folder of files can describe: threads, kills, full disks, git.

mod ci;
mod codeowners;
mod completions;
mod delivery;
mod determinism;
mod diagnostic_forms;
mod doors;
mod drift;
mod expiry;
mod explain;
mod fingerprints;
mod folder;
mod grouping;
mod init;
mod interruption;
mod lint_change;
#[cfg(target_os = "linux")]
mod memory;
mod merges;
mod migration;
mod nodes;
mod part_differences;
mod parts;
mod passes;
mod reports;
mod revisions;
mod standard_output;
mod strays;
mod watch;
mod workspaces;

use std::path::Path;
use std::process::{Child, Command, Output};

/// Runs the program in a folder.
pub(crate) fn bailiwick(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("CI")
        .output()
        .expect("the program starts")
}

/// Runs git with settings of its own.
pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let run = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git is there");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Returns the most memory that a process has taken so far, in KiB.
pub(crate) fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the standard error of a run.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes a workspace with a tenancy of a number of tenants, each with four objects.
pub(crate) fn tenants(folder: &Path, count: usize) {
    std::fs::create_dir_all(folder.join("policies")).expect("a folder");
    let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: t, version: \"1.21\"}]\n";
    std::fs::write(folder.join("bailiwick.yaml"), workspace).expect("a file");
    std::fs::write(folder.join("policies/tenants.yaml"), include_str!("runs/tenants.yaml")).expect("a file");
    std::fs::write(folder.join("policies/tenants.csv"), accounts(0..count)).expect("a file");
}

/// Returns an account list.
pub(crate) fn accounts(numbers: impl IntoIterator<Item = usize>) -> String {
    let rows: String = numbers.into_iter().map(|number| format!("tenant-{number},{}\n", 1000 + number)).collect();
    format!("name,uid\n{rows}")
}

/// Returns every file below a folder with its bytes, sorted by path; the staging folder included, if it is there.
pub(crate) fn snapshot(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).expect("below the folder").to_string_lossy().into_owned();
            (path, std::fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}
