//! `-C DIR`: as if started in that folder, whatever option names a path.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{stderr, tenants};

/// Runs the program beside a workspace `w`, with what it reads from standard input.
fn run(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["-C", "w"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("what it printed");
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
fn paths_of_options_are_below_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(&folder.path().join("w"), 3);
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n";
    fs::write(folder.path().join("w/role.yaml"), role).expect("a file");
    run(folder.path(), &["render", "--trace", "profile.json"], "");
    run(folder.path(), &["render", "--shard", "1/1", "--summary-to", "summary"], "");
    run(folder.path(), &["merge", "summary"], "");
    run(folder.path(), &["diff", "--against", "out"], "");
    run(folder.path(), &["index", "--output", "world"], "");
    run(folder.path(), &["schema", "--output", "schemas"], "");
    run(folder.path(), &["man", "--output", "pages"], "");
    run(folder.path(), &["init", "new"], "");
    for place in ["role.yaml", "-"] {
        let told = run(folder.path(), &["explain", "ClusterRole/reader", "--from", place], role);
        assert!(told.contains("reader"), "{place}: {told}");
    }
    run(folder.path(), &["who-can", "get", "pods", "--from", "role.yaml", "--baseline", "role.yaml"], "");
    let mut beside: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    beside.sort();
    assert_eq!(beside, ["w"]);
    for made in ["profile.json", "summary", "world", "schemas/policy.json", "pages/bailiwick.1", "new/bailiwick.yaml"] {
        assert!(folder.path().join("w").join(made).exists(), "{made}");
    }
}

#[test]
fn options_of_the_former_cache_have_no_effect_and_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 2);
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
        command.args(arguments).current_dir(folder.path()).envs(variable.map(|name| (name, "kept")));
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stderr(&output)
    };
    let note = |name: &str| format!("note: `{name}` has no effect: `render` has no cache\n");
    for (name, options) in [("--no-cache", &["--no-cache"][..]), ("--cache-dir", &["--cache-dir", "kept"])] {
        assert!(run(&[&["render"], options].concat(), None).starts_with(&note(name)), "{name}");
        assert!(!run(&[&["render", "-q"], options].concat(), None).contains("note"), "{name}");
    }
    for name in ["BAILIWICK_NO_CACHE", "BAILIWICK_CACHE_DIR"] {
        assert!(run(&["check"], Some(name)).starts_with(&note(name)), "{name}");
    }
    assert!(!run(&["render"], None).contains("note"));
    assert!(!folder.path().join("kept").exists());
}
