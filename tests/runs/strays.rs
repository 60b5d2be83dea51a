//! What lies in the output folder and is no file of ours: nothing is read through it, written through it, or waited
//! for.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{bailiwick, stderr, tenants};

/// A workspace with the output of three tenants.
fn rendered() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 3);
    let run = bailiwick(folder.path(), &["render"]);
    assert!(run.status.success(), "{}", stderr(&run));
    folder
}

/// As [`bailiwick`], for a run that might wait for ever.
fn in_time(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("BAILIWICK_NO_CACHE", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let begin = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().expect("a child that runs");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("what it printed")
}

/// The run ends as one with wrong input, and says these words.
fn assert_refused(run: &Output, words: &str) {
    assert_eq!(run.status.code(), Some(2), "{}", stderr(run));
    assert!(stderr(run).contains(words), "{words}: {}", stderr(run));
}

#[test]
fn what_is_no_file_is_neither_waited_for_nor_read() {
    let folder = rendered();
    let path = "out/t/namespaces/tenant-1.yaml";
    let place = folder.path().join(path);
    let kinds: [(&str, &str); 3] = [
        ("pipe", "neither a file nor a folder"),
        ("socket", "neither a file nor a folder"),
        ("link", "a symbolic link"),
    ];
    for (kind, words) in kinds {
        fs::remove_file(&place).expect("a file");
        match kind {
            "pipe" => mknodat(CWD, &place, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe"),
            "socket" => drop(UnixListener::bind(&place).expect("a socket")),
            _ => symlink("/dev/zero", &place).expect("a link"),
        }
        for command in [&["check"][..], &["diff"], &["diff", "--against", "out"], &["render"]] {
            assert_refused(&in_time(folder.path(), command), &format!("error[link-in-output]: `{path}` is {words}\n"));
        }
        assert!(!fs::symlink_metadata(&place).expect("an entry").is_file(), "{kind} is still there");
        // Beside the folders of the targets, too.
        let beside = folder.path().join("out/beside");
        fs::rename(&place, &beside).expect("the entry moves");
        fs::write(&place, "").expect("a file");
        assert_refused(
            &in_time(folder.path(), &["check"]),
            &format!("error[link-in-output]: `out/beside` is {words}\n"),
        );
        fs::remove_file(&beside).expect("an entry");
    }
}
