//! The other side of `diff --against`: its policies are compiled from the objects of git. Every file of that side is written
//! by an attacker, and a tree of git can hold entries that no checkout has.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::gate::{TEAMS, assert_status, commit, edit, example, stdout};
use crate::runs::{bailiwick, snapshot, stderr};

const BROKEN: &str =
    "warning[broken-base]: the policies of `HEAD` do not compile; its committed output is compared instead\n";
const STALE: &str = "the committed output of `HEAD` is stale: ";

/// Runs git, and returns its output.
fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is there");
    child.stdin.take().expect("a pipe").write_all(input).expect("git reads");
    let run = child.wait_with_output().expect("git ends");
    assert!(run.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

/// Compares with a revision: the exit code, and standard output and error.
fn against(folder: &Path, revision: &str) -> (Option<i32>, String) {
    let run = bailiwick(folder, &["diff", "--against", revision]);
    (run.status.code(), format!("{}{}", stdout(&run), stderr(&run)))
}

#[track_caller]
fn assert_broken(folder: &Path, reason: &str) {
    let (_, printed) = against(folder, "HEAD");
    assert!(printed.contains(BROKEN) && printed.contains(reason), "{reason}: {printed}");
    assert!(!printed.contains("root:"), "{printed}");
}

/// Commits a tree with further entries of the root, each as its mode, name and id, which git would not take.
fn commit_tree(folder: &Path, entries: &[(&str, &str, &str)]) {
    let mut tree = Vec::new();
    let mut all: Vec<(String, String, String)> = git(folder, &["ls-tree", "HEAD"], b"")
        .lines()
        .map(|line| {
            let (meta, name) = line.split_once('\t').expect("a tab");
            let fields: Vec<&str> = meta.split(' ').collect();
            (fields[0].trim_start_matches('0').to_owned(), name.to_owned(), fields[2].to_owned())
        })
        .collect();
    all.extend(entries.iter().map(|(mode, name, id)| ((*mode).to_owned(), (*name).to_owned(), (*id).to_owned())));
    for (mode, name, id) in all {
        tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        tree.extend((0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("a digit")));
    }
    let tree = git(folder, &["hash-object", "-t", "tree", "--literally", "-w", "--stdin"], &tree);
    let made = git(folder, &["commit-tree", &tree, "-m", "made"], b"");
    git(folder, &["update-ref", "HEAD", &made], b"");
}

fn blob(folder: &Path, text: &[u8]) -> String {
    git(folder, &["hash-object", "-w", "--stdin"], text)
}

/// The comparison is between two compilations, and stale output of the revision is named and not compared.
#[test]
fn stale_output_of_a_revision_is_named() {
    let folder = example();
    let path = folder.path();
    edit(path, TEAMS, "[view]", "[edit]");
    edit(path, "out/production/namespaces/team-b.yaml", "pods: \"20\"", "pods: \"21\"");
    fs::copy(path.join("out/production/namespaces/team-a.yaml"), path.join("out/production/namespaces/gone.yaml"))
        .expect("a file");
    commit(path);
    let before = snapshot(path);
    for quiet in [&["diff", "--against", "HEAD"][..], &["diff", "--quiet", "--against", "HEAD"]] {
        let run = bailiwick(path, quiet);
        assert_status(&run, 0);
        let told = stderr(&run);
        assert!(told.starts_with(&format!("{STALE}3 files differ from its policies, which are compared\n")), "{told}");
        for file in ["gone", "team-a", "team-b"] {
            assert!(told.contains(&format!("  out/production/namespaces/{file}.yaml\n")), "{told}");
        }
    }
    assert!(before == snapshot(path), "the comparison wrote something");
    edit(path, TEAMS, "[edit]", "[view]");
    let (status, printed) = against(path, "HEAD");
    assert_eq!(status, Some(1));
    assert!(printed.contains("-  name: edit\n") && printed.contains("+  name: view\n"), "{printed}");
    assert!(!printed.contains("a/out/production/namespaces/gone.yaml"), "{printed}");
    // A workspace that commits no output has no stale output, and the comparison is the same.
    fs::write(path.join(".gitignore"), "out\n").expect("a file");
    git(path, &["rm", "-rq", "--cached", "out"], b"");
    git(path, &["commit", "-qm", "two"], b"");
    edit(path, TEAMS, "[view]", "[edit]");
    commit_all(path);
    edit(path, TEAMS, "[edit]", "[view]");
    let (status, without) = against(path, "HEAD");
    assert_eq!(status, Some(1));
    assert!(without.contains("-  name: edit\n") && !without.contains(STALE), "{without}");
}

fn commit_all(folder: &Path) {
    git(folder, &["add", "-A"], b"");
    git(folder, &["commit", "-q", "--allow-empty", "-m", "more"], b"");
}

#[test]
fn a_policy_that_does_not_parse_leaves_the_committed_output() {
    let folder = example();
    let path = folder.path();
    let policy = fs::read_to_string(path.join(TEAMS)).expect("a file");
    for (text, reason) in [
        ("a: [", "policies/team.yaml:1"),
        ("\u{1b}[2J: 1\n", "policies/team.yaml:"),
        (&policy.replace("[deployer]", "[nothing]"), "policies/team.yaml:"),
        // The policies can be read, and do not compile.
        (&policy.replace("pods: 20", "pods: many"), "policies/team.yaml:"),
    ] {
        assert_ne!(text, policy);
        fs::write(path.join(TEAMS), text).expect("a file");
        commit(path);
        fs::write(path.join(TEAMS), &policy).expect("a file");
        assert_broken(path, reason);
        assert_status(&bailiwick(path, &["diff", "--deny-warnings", "--against", "HEAD"]), 1);
    }
}

#[test]
fn links_of_a_revision_stay_within_the_workspace() {
    let folder = example();
    let path = folder.path();
    let workspace = fs::read_to_string(path.join("bailiwick.yaml")).expect("a file");
    // A link within the workspace is followed, in a checkout and in git.
    fs::create_dir(path.join("shared")).expect("a folder");
    fs::rename(path.join(TEAMS), path.join("shared/team.yaml")).expect("a file");
    symlink("../shared", path.join("policies/linked")).expect("a link");
    commit(path);
    assert_eq!(against(path, "HEAD").0, Some(0), "{}", against(path, "HEAD").1);
    fs::remove_file(path.join("policies/linked")).expect("a link");
    fs::rename(path.join("shared/team.yaml"), path.join(TEAMS)).expect("a file");
    for (target, reason) in [
        ("/etc/passwd", "is a link that leaves the workspace"),
        ("../../../../../../../../etc/passwd", "is a link that leaves the workspace"),
        ("../.git/config", "leads into a git repository"),
        ("nowhere.yaml", "is a broken link"),
        ("x.yaml", "passes through too many links"),
        ("..", "`policies/x.yaml` is a folder, not a regular file"),
    ] {
        symlink(target, path.join("policies/x.yaml")).expect("a link");
        commit(path);
        fs::remove_file(path.join("policies/x.yaml")).expect("a link");
        assert_broken(path, reason);
    }
    // The workspace file itself may be a link, and not one that leaves the workspace.
    fs::remove_file(path.join("bailiwick.yaml")).expect("a file");
    symlink("/etc/passwd", path.join("bailiwick.yaml")).expect("a link");
    commit(path);
    fs::remove_file(path.join("bailiwick.yaml")).expect("a link");
    fs::write(path.join("bailiwick.yaml"), workspace).expect("a file");
    assert_broken(path, "`bailiwick.yaml` is a link that leaves the workspace");
}

#[test]
fn paths_of_a_workspace_file_stay_within_the_revision() {
    let folder = example();
    let path = folder.path();
    let workspace = fs::read_to_string(path.join("bailiwick.yaml")).expect("a file");
    for (setting, reason) in [
        ("policies: /etc", "bailiwick.yaml:"),
        ("policies: ../other", "bailiwick.yaml:"),
        ("output: /tmp/out", "bailiwick.yaml:"),
        ("templates: .git/hooks", "`.git/hooks` leads into a git repository"),
    ] {
        fs::write(path.join("bailiwick.yaml"), workspace.replace("spec:\n", &format!("spec:\n  {setting}\n")))
            .expect("a file");
        commit(path);
        fs::write(path.join("bailiwick.yaml"), &workspace).expect("a file");
        assert_broken(path, reason);
    }
    for baseline in ["/etc/passwd", "../../etc/passwd", ".git/config"] {
        let text = workspace.replace("version: \"1.37\"\n", &format!("version: \"1.37\"\n    baseline: {baseline}\n"));
        assert_ne!(text, workspace);
        fs::write(path.join("bailiwick.yaml"), text).expect("a file");
        commit(path);
        fs::write(path.join("bailiwick.yaml"), &workspace).expect("a file");
        let (_, printed) = against(path, "HEAD");
        assert!(!printed.contains("root:") && !printed.contains("repositoryformatversion"), "{printed}");
    }
}

#[test]
fn entries_that_no_checkout_has_are_refused() {
    let folder = example();
    let path = folder.path();
    commit(path);
    let policy = blob(path, b"apiVersion: v1\nkind: Nothing\n");
    let inner = git(path, &["hash-object", "-t", "tree", "--literally", "-w", "--stdin"], &{
        let mut tree = b"100644 x.yaml\0".to_vec();
        tree.extend((0..policy.len()).step_by(2).map(|at| u8::from_str_radix(&policy[at..at + 2], 16).expect("hex")));
        tree
    });
    let whole = git(path, &["rev-parse", "HEAD"], b"");
    let assert_refused = |entries: &[(&str, &str, &str)]| {
        commit_tree(path, entries);
        let (code, printed) = against(path, "HEAD");
        assert!(code == Some(3) && printed.contains("is damaged in git"), "{entries:?}: {printed}");
    };
    for name in ["..", ".", ".git"] {
        assert_refused(&[("40000", name, &inner)]);
    }
    assert_refused(&[("100644", "policies/../x.yaml", &policy), ("100644", "/etc/x.yaml", &policy)]);
    // A submodule is an empty folder.
    let cache = format!("160000,{whole},policies/module");
    git(path, &["update-ref", "HEAD", &whole], b"");
    git(path, &["update-index", "--add", "--cacheinfo", &cache], b"");
    git(path, &["commit", "-qm", "module"], b"");
    assert_eq!(against(path, "HEAD").0, Some(0), "{}", against(path, "HEAD").1);
}

#[test]
fn what_git_does_not_hold_is_named() {
    let folder = example();
    let path = folder.path();
    // The content of a file of Git LFS is not in the repository.
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    fs::write(path.join("policies/more.yaml"), pointer).expect("a file");
    commit(path);
    fs::remove_file(path.join("policies/more.yaml")).expect("a file");
    assert_broken(path, "`policies/more.yaml` is a pointer of Git LFS, not the file itself");
    // A blob that is larger than any policy.
    let huge = fs::File::create(path.join("policies/more.yaml")).expect("a file");
    huge.set_len(65 << 20).expect("a length");
    commit(path);
    fs::remove_file(path.join("policies/more.yaml")).expect("a file");
    assert_broken(path, "`policies/more.yaml` has 65 MiB");
}

/// A tree that holds another one many times, level for level, has more entries than any disk.
#[test]
fn a_tree_that_multiplies_comes_to_an_end() {
    let folder = example();
    let path = folder.path();
    commit(path);
    // With many entries in each, with few, and with folders that hold nothing.
    for (leaf, width, depth) in [("blob", 3000, 4), ("tree", 2, 40)] {
        let mut mode = if leaf == "blob" { "100644 blob" } else { "040000 tree" };
        let mut id = if leaf == "blob" { blob(path, b"x") } else { git(path, &["mktree"], b"") };
        for _ in 0..depth {
            let lines: String = (0..width).map(|number| format!("{mode} {id}\t{number:04}\n")).collect();
            id = git(path, &["mktree"], lines.as_bytes());
            mode = "040000 tree";
        }
        let head = git(path, &["rev-parse", "HEAD"], b"");
        commit_tree(path, &[("40000", "zz", &id)]);
        let (status, printed) = against(path, "HEAD");
        assert_eq!(status, Some(3), "{printed}");
        assert!(printed.starts_with("error: the revision has too many files and folders\n"), "{printed}");
        git(path, &["update-ref", "HEAD", &head], b"");
    }
}

#[test]
fn a_folder_is_a_workspace_or_output() {
    let folder = example();
    let path = folder.path();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let other = elsewhere.path().join("other");
    let copied = Command::new("cp").arg("-r").arg(path).arg(&other).status().expect("cp");
    assert!(copied.success());
    edit(path, TEAMS, "[view]", "[edit]");
    assert_status(&bailiwick(path, &["render"]), 0);
    let text = |name: &str| {
        let (status, printed) = against(path, name);
        assert_eq!(status, Some(1), "{printed}");
        assert!(printed.contains("-  name: view\n"), "{printed}");
        printed
    };
    let shown = other.display().to_string();
    let workspace = text(&shown);
    assert!(workspace.contains(&format!("`{shown}` is a workspace: the output of its policies is compared\n")));
    let file = text(&format!("{shown}/bailiwick.yaml"));
    assert!(file.contains("/bailiwick.yaml` is a workspace: the output of its policies is compared\n"), "{file}");
    let output = text(&format!("{shown}/out"));
    assert!(output.contains("/out` has no `bailiwick.yaml`: it is compared as a folder of output\n"), "{output}");
    // The output of the other workspace does not count, and its policies do.
    fs::remove_dir_all(other.join("out")).expect("a folder");
    assert_eq!(text(&shown), workspace);
    symlink("/etc/passwd", other.join("policies/x.yaml")).expect("a link");
    let (_, broken) = against(path, &shown);
    assert!(
        broken.contains("warning[broken-base]") && broken.contains("is a link that leaves the workspace"),
        "{broken}"
    );
    assert!(!broken.contains("root:"), "{broken}");
}
