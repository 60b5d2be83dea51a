//! Comparing with a folder and with revisions in git.

use std::path::Path;

use super::{bailiwick, git, stderr, tenants};

fn stdout(folder: &Path, arguments: &[&str], status: i32) -> String {
    let run = bailiwick(folder, arguments);
    assert_eq!(run.status.code(), Some(status), "{}", stderr(&run));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn output_is_compared_with_revisions_and_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 3);
    assert!(bailiwick(root, &["render"]).status.success());
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "one"]);
    assert_eq!(stdout(root, &["diff", "--against", "HEAD"], 0), "");

    let earlier = root.join("earlier");
    std::fs::create_dir_all(earlier.join("t/namespaces")).expect("a folder");
    for number in 0..3 {
        let name = format!("t/namespaces/tenant-{number}.yaml");
        std::fs::copy(root.join("out").join(&name), earlier.join(&name)).expect("a copy");
    }
    let policy = root.join("policies/tenants.csv");
    std::fs::write(&policy, "name,uid\ntenant-0,1000\ntenant-1,2001\ntenant-3,1003\n").expect("a file");
    // One tenant has another uid, one is gone, one is new: the same answer three ways, before and after rendering.
    let against_output = stdout(root, &["diff"], 1);
    assert!(
        against_output.contains("-    min: 1001\n") || against_output.contains("-      min: 1001\n"),
        "{against_output}"
    );
    assert!(against_output.contains("--- /dev/null\n+++ b/out/t/namespaces/tenant-3.yaml\n"), "{against_output}");
    assert!(against_output.contains("--- a/out/t/namespaces/tenant-2.yaml\n+++ /dev/null\n"), "{against_output}");
    assert_eq!(stdout(root, &["diff", "--against", "HEAD"], 1), against_output);
    assert_eq!(stdout(root, &["diff", "--against", "earlier"], 1), against_output);
    assert_eq!(stdout(root, &["check"], 1), against_output);
    assert!(bailiwick(root, &["render", "--allow-mass-delete"]).status.success());
    assert_eq!(stdout(root, &["diff", "--against", "HEAD"], 1), against_output);
    assert_eq!(stdout(root, &["diff"], 0), "");
    let summary = stdout(root, &["diff", "--against", "HEAD", "--summary"], 1);
    assert!(summary.starts_with("t: 12 objects: 4 created, "), "{summary}");

    let run = bailiwick(root, &["diff", "--against", "no-such-thing"]);
    assert_eq!(run.status.code(), Some(3));
    assert!(stderr(&run).starts_with("error: git has no revision `no-such-thing`\nhelp: "), "{}", stderr(&run));
}
