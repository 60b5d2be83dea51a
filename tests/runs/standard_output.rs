//! Standard output has all of the result, or the run fails.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use super::{bailiwick, snapshot, tenants};

/// So many tenants have more text than a run keeps before it prints.
const MANY: usize = 16_000;

#[test]
fn a_large_output_is_printed_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    tenants(folder, MANY);
    let printed = bailiwick(folder, &["render", "--stdout"]);
    assert_eq!(printed.status.code(), Some(0), "{}", String::from_utf8_lossy(&printed.stderr));
    assert_eq!(bailiwick(folder, &["render"]).status.code(), Some(0));
    let files: Vec<u8> =
        snapshot(&folder.join("out/t")).into_iter().flat_map(|(_, text)| [b"---\n".to_vec(), text]).flatten().collect();
    assert!(files.len() > 18_000_000, "{} bytes", files.len());
    assert!(printed.stdout == files);

    let printed = bailiwick(folder, &["render", "--stdout", "--format", "json"]);
    assert_eq!(printed.stdout.iter().filter(|byte| **byte == b'\n').count(), 4 * MANY);

    let accounts = folder.join("policies/tenants.csv");
    let text = fs::read_to_string(&accounts).expect("a file");
    fs::write(accounts, format!("{text}zz_not_a_name,1\n")).expect("a file");
    let refused = bailiwick(folder, &["render", "--stdout"]);
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), b"".as_slice()));
}

/// `/dev/full` is a disk without room.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_not_complete_is_a_failure() {
    let root = env!("CARGO_MANIFEST_DIR");
    let question = ["can-i", "get", "secrets", "--target", "modern", "--as", "jane"];
    for arguments in [&["render", "--stdout"][..], &question, &["help", "check"], &["--version"]] {
        let run = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments)
            .current_dir(root)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(File::options().write(true).open("/dev/full").expect("a device"))
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(3), "{arguments:?}: {stderr}");
        assert!(stderr.contains("error: standard output is not complete: No space left on device"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_may_go_away() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["render", "--stdout"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    drop(run.stdout.take());
    assert_eq!(run.wait().expect("a process").code(), Some(0));
}
