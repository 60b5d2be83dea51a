//! Runs that are killed, run out of disk, or meet each other.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{accounts, bailiwick, snapshot, stderr, tenants};
use crate::support::rounds;

const COUNT: usize = 600;

/// Writes another version of the workspace: every output file differs, some files go and some files come.
fn change(folder: &Path) {
    let policies = folder.join("policies/tenants.yaml");
    let text = std::fs::read_to_string(&policies).expect("the policy");
    std::fs::write(&policies, text.replace("tenancy: tenant", "tenancy: changed")).expect("a file");
    std::fs::write(folder.join("policies/tenants.csv"), accounts(20..COUNT + 20)).expect("a file");
}

/// Returns another version of the workspace, with the former output.
fn changed(output: &[(String, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), COUNT);
    for (path, bytes) in output {
        let path = folder.path().join("out").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    change(folder.path());
    folder
}

/// Kills a run at many moments: each time every file is the old one or the new one, and the next run completes.
#[test]
fn a_killed_run_leaves_every_file_old_or_new() {
    let old = tempfile::tempdir().expect("a folder");
    tenants(old.path(), COUNT);
    assert!(bailiwick(old.path(), &["render"]).status.success());
    let before = snapshot(&old.path().join("out"));
    // The duration of a run of the killed kind: replacing files takes longer than creating them.
    let new = changed(&before);
    let started = std::time::Instant::now();
    assert!(bailiwick(new.path(), &["render", "--allow-mass-delete"]).status.success());
    let whole = started.elapsed();
    let after = snapshot(&new.path().join("out"));
    let whole_files: HashSet<&(String, Vec<u8>)> = before.iter().chain(&after).collect();

    let mut killed = 0;
    let mut between = 0;
    let kills: u32 = rounds(8, 24);
    for kill in 0..kills {
        let folder = changed(&before);
        let replaced = folder.path().join("out/t/namespaces/tenant-20.yaml");
        let written = || std::fs::metadata(&replaced).and_then(|state| state.modified()).expect("a replaced file");
        let old_time = written();
        let mut run = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(["render", "--allow-mass-delete"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        if kill % 2 == 0 {
            // At moments spread over the whole run...
            std::thread::sleep(whole.mul_f64(1.3) * kill / kills + Duration::from_millis(1));
        } else {
            // ... and, since renaming takes but a small part of it, as soon as one file was replaced.
            while written() == old_time && run.try_wait().expect("a state").is_none() {}
        }
        run.kill().expect("the program can be killed");
        killed += usize::from(!run.wait().expect("an exit").success());
        let found = snapshot(&folder.path().join("out"));
        let placed = found.iter().filter(|(path, _)| !path.starts_with(".bailiwick-staging/"));
        for file in placed {
            assert!(whole_files.contains(file), "{} is neither old nor new", file.0);
        }
        between += usize::from(found != before && found != after);
        let next = bailiwick(folder.path(), &["render", "--allow-mass-delete"]);
        assert!(next.status.success(), "{}", stderr(&next));
        assert!(snapshot(&folder.path().join("out")) == after, "the next run completes");
    }
    assert!(killed >= kills as usize / 3, "only {killed} of {kills} runs were killed before they ended");
    assert!(between > 0, "no run was killed while it wrote");
}

/// A limit on the size of files is the full disk that needs no privileges.
#[cfg(unix)]
#[test]
fn a_full_disk_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 20);
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    let before = snapshot(&folder.path().join("out"));
    change(folder.path());
    let command = format!("trap '' XFSZ; ulimit -f 0; exec {} render", env!("CARGO_BIN_EXE_bailiwick"));
    let run = Command::new("bash")
        .args(["-c", &command])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .output()
        .expect("a shell");
    // Standard error is a pipe, which the limit does not touch.
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(stderr(&run).starts_with("error: cannot write the new content of `"), "{}", stderr(&run));
    assert!(snapshot(&folder.path().join("out")) == before);
}

#[cfg(unix)]
#[test]
fn a_second_run_waits_for_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 20);
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    let lock = std::fs::File::open(folder.path().join("out")).expect("a folder");
    lock.lock().expect("a lock");
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["render", "--allow-mass-delete"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut said = String::new();
    let mut errors = std::io::BufReader::new(waiting.stderr.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut errors, &mut said).expect("a line");
    assert_eq!(said, "waiting for another run that writes the output\n");
    assert!(waiting.try_wait().expect("a state").is_none(), "it does not go on while the lock is held");
    assert!(!folder.path().join("out/t").exists());
    lock.unlock().expect("a lock");
    assert!(waiting.wait().expect("an exit").success());
    assert!(folder.path().join("out/t/namespaces/tenant-0.yaml").is_file());
}
