//! Restrictions of the sandbox.

#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::runs::{stderr, tenants};

/// Returns a run of the program without the environment variables about sandboxes.
fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    for name in ["CI", "BAILIWICK_SANDBOX", "BAILIWICK_SANDBOX_MEMORY"] {
        command.env_remove(name);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().expect("the program starts")
}

/// Whether the kernel can confine a run. Otherwise `auto` reports that, and `on` fails: the tests then check for both.
fn has_landlock() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 1);
    let (on, auto) = (
        run(folder.path(), &["render", "--stdout", "--sandbox=on"]),
        run(folder.path(), &["render", "--stdout", "--sandbox"]),
    );
    assert!(auto.status.success(), "{}", stderr(&auto));
    let noted = stderr(&auto).contains("note: the sandbox is not in force: ");
    if on.status.success() {
        assert!(!noted && !on.stdout.is_empty() && on.stdout == auto.stdout, "{}", stderr(&auto));
        return true;
    }
    assert_eq!(on.status.code(), Some(3));
    assert!(noted && stderr(&on).contains("error: the sandbox cannot be in force: "), "{}", stderr(&on));
    false
}

fn git(folder: &Path, arguments: &[&str]) {
    let fixed = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(fixed).args(arguments).current_dir(folder).output().expect("git");
    assert!(output.status.success(), "git {arguments:?}: {}", stderr(&output));
}

const MANIFEST: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: []\n";

#[test]
fn a_link_out_of_the_work_tree_is_not_followed() {
    if !has_landlock() {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let (tree, outside) = (base.path().join("tree"), base.path().join("outside"));
    std::fs::create_dir_all(tree.join("dump")).expect("a folder");
    std::fs::create_dir_all(tree.join(".git")).expect("a folder");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::fs::write(outside.join("secret.yaml"), MANIFEST).expect("a file");
    symlink(outside.join("secret.yaml"), tree.join("dump/link.yaml")).expect("a link");
    symlink(&outside, tree.join("linked")).expect("a link");
    let lint = |from: &str, sandbox: &str| run(&tree, &["lint", "--from", from, sandbox]);
    for from in ["dump/link.yaml", "linked", "linked/secret.yaml"] {
        let open = lint(from, "--sandbox=off");
        assert_ne!(open.status.code(), Some(3), "{from}: {}", stderr(&open));
        let confined = lint(from, "--sandbox=on");
        assert_eq!(confined.status.code(), Some(3), "{from}: {}", stderr(&confined));
        assert!(stderr(&confined).to_lowercase().contains("permission denied"), "{from}: {}", stderr(&confined));
    }
    let named = lint("../outside/secret.yaml", "--sandbox=on");
    assert_ne!(named.status.code(), Some(3), "what the command line names is read: {}", stderr(&named));
    let device = lint("/proc/self/environ", "--sandbox=on");
    assert_ne!(device.status.code(), Some(0), "{}", stderr(&device));
}

#[test]
fn commands_do_their_work_in_the_sandbox() {
    if !has_landlock() {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let tree = base.path().join("main");
    std::fs::create_dir_all(&tree).expect("a folder");
    tenants(&tree, 40);
    assert!(run(&tree, &["render"]).status.success());
    git(&tree, &["init", "-q"]);
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "all"]);
    git(&tree, &["worktree", "add", "-q", "../linked"]);
    std::fs::create_dir_all(base.path().join("results")).expect("a folder");
    for folder in [tree.clone(), tree.join("policies"), base.path().join("linked")] {
        for arguments in [
            &["check"][..],
            &["check", "--jobs", "4"],
            &["check", "--shard", "1/2", "--summary-to", "../results/1.summary"],
            &["check", "--trace", "../results/trace.json"],
            &["diff", "--against", "HEAD"],
            &["diff", "--against", "out"],
            &["lint"],
            &["render", "--stdout"],
        ] {
            let at_root = folder.join("bailiwick.yaml").exists();
            if !at_root && arguments.iter().any(|argument| argument.contains("results") || *argument == "out") {
                continue;
            }
            let open = run(&folder, &[arguments, &["--sandbox=off"]].concat());
            let confined = run(&folder, &[arguments, &["--sandbox=on"]].concat());
            assert_eq!(stderr(&confined), stderr(&open), "{arguments:?} in {}", folder.display());
            assert_eq!((confined.status.code(), &confined.stdout), (open.status.code(), &open.stdout), "{arguments:?}");
            assert_ne!(confined.status.code(), Some(3), "{arguments:?}: {}", stderr(&confined));
        }
    }
    assert!(base.path().join("results/1.summary").exists() && base.path().join("results/trace.json").exists());
}

#[test]
fn what_a_run_starts_is_confined_too() {
    if !has_landlock() {
        return;
    }
    let base = tempfile::tempdir().expect("a folder");
    let (tree, tools, marker) = (base.path().join("tree"), base.path().join("tools"), base.path().join("marker"));
    std::fs::create_dir_all(&tree).expect("a folder");
    std::fs::create_dir_all(&tools).expect("a folder");
    tenants(&tree, 2);
    assert!(run(&tree, &["render"]).status.success());
    git(&tree, &["init", "-q"]);
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "all"]);
    let script = format!("#!/bin/sh\necho x > {}\nexec /usr/bin/env -u PATH git \"$@\"\n", marker.display());
    let fake = tools.join("git");
    std::fs::write(&fake, script).expect("a file");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("a PATH"));
    let diff = |sandbox| {
        let mut command = program(&tree, &["diff", "--against", "HEAD", sandbox]);
        command.env("PATH", &path).output().expect("the program starts")
    };
    diff("--sandbox=on");
    assert!(!marker.exists(), "a confined git writes nothing");
    diff("--sandbox=off");
    assert!(marker.exists(), "the trick works without the sandbox");
}

/// Starts `lint` on a pipe, which waits for its input.
fn waiting(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut command = program(folder, &[&["lint", "--from", "-"], arguments].concat());
    command.envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Returns the state of a waiting run in the kernel: whether it can gain privileges, and its largest address space in
/// bytes. A run with a limit is observed until the limit is set.
fn observed(mut child: Child, is_confined: bool) -> (String, String) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).expect("a running process");
    let line = |text: &str, start: &str| {
        text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default().trim().to_owned()
    };
    let mut seen = (String::new(), String::new());
    for _ in 0..200 {
        let limit = line(&read("limits"), "Max address space");
        seen = (line(&read("status"), "NoNewPrivs:"), limit.split_whitespace().next().unwrap_or_default().to_owned());
        if !is_confined || seen.0 == "1" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.stdin.take().expect("a pipe").write_all(MANIFEST.as_bytes()).expect("the program reads");
    let output = child.wait_with_output().expect("the program ends");
    assert_ne!(output.status.code(), Some(3), "{}", stderr(&output));
    seen
}

#[test]
fn a_confined_run_gains_no_privileges_and_no_memory_without_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let gib = |count: u64, threads: u64| ((count << 30) + threads * (128 << 20)).to_string();
    let seen = |arguments: &[&str], environment: &[(&str, &str)], is_confined| {
        observed(waiting(folder.path(), arguments, environment), is_confined)
    };
    let confined = |limit: String| ("1".to_owned(), limit);
    assert_eq!(seen(&["--sandbox", "--jobs", "2"], &[], true), confined(gib(16, 2)));
    assert_eq!(seen(&["--jobs", "2"], &[("CI", "true")], true), confined(gib(16, 2)), "the default in CI");
    assert_eq!(
        seen(&["--jobs", "1", "--sandbox-memory", "4"], &[("BAILIWICK_SANDBOX", "auto")], true),
        confined(gib(4, 1))
    );
    for (arguments, environment) in
        [(&[][..], &[][..]), (&[], &[("CI", "false")]), (&[], &[("CI", "")]), (&["--sandbox=off"], &[("CI", "1")])]
    {
        assert_eq!(seen(arguments, environment, false).0, "0", "{arguments:?} {environment:?}");
    }
}

/// Makes a workspace without git, manifests beside it, and a folder for results.
fn site() -> tempfile::TempDir {
    let base = tempfile::tempdir().expect("a folder");
    tenants(&base.path().join("w"), 3);
    for folder in ["dump", "results"] {
        std::fs::create_dir(base.path().join(folder)).expect("a folder");
    }
    std::fs::write(base.path().join("dump/a.yaml"), MANIFEST).expect("a file");
    base
}

/// Every command gives the same answer in the sandbox, without a folder `.git`, and writes the same files.
#[test]
fn every_command_runs_in_the_sandbox() {
    if !has_landlock() {
        return;
    }
    let commands: &[&[&str]] = &[
        &["render"],
        &["render", "--report", "json=../results/r.json", "--trace", "../results/trace"],
        &["render", "--shard", "1/1", "--summary-to", "../results/1.summary"],
        &["check", "--report", "json=report.json"],
        &["merge", "../results/1.summary"],
        &["diff"],
        &["review", "--base-dir", ".", "--report", "markdown=../results/r.md"],
        &["report", "--report", "html=../results/map.html"],
        &["table"],
        &["lint", "--from", "../dump"],
        &["lint"],
        &["test"],
        &["can-i", "get", "pods", "--as", "a", "--from", "../dump"],
        &["who-can", "get", "pods"],
        &["who-can", "get", "pods", "--from", "../dump/a.yaml", "--baseline", "../dump"],
        &["node-reach", "n", "--from", "../dump"],
        &["index", "--output", "../results/index"],
        &["who-can", "get", "pods", "--from", "../results/index"],
        &["import", "--from", "../dump", "--into", "../results/imported", "--kubernetes-version", "1.21"],
        &["import", "--from", "../dump", "--into", "../results/imported"],
        &["drift", "--live", "../dump", "--partial"],
        &["pack", "t", "--output", "../results/layout"],
        &["migrate", "shards"],
        &["init", "../results/new"],
        &["explain", "ClusterRole/a", "--from", "../dump"],
        &["explain", "namespace", "tenant-1"],
        &["schema", "--output", "../results/schema"],
        &["completions", "bash"],
        &["man", "--output", "../results/man"],
        &["ask"],
    ];
    let (open, confined) = (site(), site());
    for arguments in commands {
        let run_in = |base: &Path, sandbox: &str| {
            let output = run(&base.join("w"), &[*arguments, &[sandbox]].concat());
            let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(base.to_str().expect("a path"), "");
            (output.status.code(), shown(&output.stdout), shown(&output.stderr))
        };
        let (open, confined) = (run_in(open.path(), "--sandbox=off"), run_in(confined.path(), "--sandbox=on"));
        assert_eq!(confined, open, "{arguments:?}");
        assert_ne!(open.0, Some(3), "{arguments:?}: {}", open.2);
    }
    let files = |base: &Path| {
        let all = crate::runs::snapshot(base);
        let paths: Vec<String> = all.into_iter().map(|(path, _)| path).collect();
        paths
    };
    assert_eq!(files(confined.path()), files(open.path()));
    assert!(files(open.path()).iter().any(|path| path == "w/out/t/namespaces/tenant-1.yaml"));
}

/// The sandbox of `render` takes the reports of the run too, and leaves the repository as it is.
#[test]
fn render_in_the_sandbox_writes_the_output_and_named_files() {
    if !has_landlock() {
        return;
    }
    let base = site();
    let tree = base.path().join("w");
    git(&tree, &["init", "-q"]);
    let before = crate::runs::snapshot(&tree.join(".git"));
    for report in ["json=report.json", "json=/dev/stdout", "json=/dev/null"] {
        let rendered = run(&tree, &["render", "--sandbox=on", "--report", report]);
        assert!(rendered.status.success(), "{report}: {}", stderr(&rendered));
    }
    assert!(tree.join("report.json").is_file() && tree.join("out/t/namespaces/tenant-1.yaml").is_file());
    assert_eq!(crate::runs::snapshot(&tree.join(".git")), before);
}

#[test]
fn a_run_in_ci_is_confined() {
    if !has_landlock() {
        return;
    }
    let base = site();
    for arguments in [&["render"][..], &["check"], &["who-can", "get", "pods"], &["expire"]] {
        let mut command = program(&base.path().join("w"), arguments);
        let output = command.env("CI", "true").output().expect("the program starts");
        assert_ne!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("the sandbox is not in force"), "{arguments:?}: {}", stderr(&output));
    }
}
