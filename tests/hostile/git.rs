//! Attacks of a repository through git.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runs::{accounts, stderr, tenants};

/// Settings of a repository that name a program, `MARK`, or a file.
const SETTINGS: &str = r#"
[core]
	repositoryformatversion = 1
	fsmonitor = MARK
	sshCommand = MARK
	gitProxy = MARK
	askPass = MARK
	editor = MARK
	pager = MARK
	hooksPath = HOOKS
	alternateRefsCommand = MARK
	attributesFile = ATTRIBUTES
[extensions]
	partialClone = origin
[remote "origin"]
	url = ORIGIN
	uploadpack = MARK
	receivepack = MARK
	proxy = MARK
	promisor = true
	partialclonefilter = blob:none
	fetch = +refs/heads/*:refs/remotes/origin/*
[protocol]
	allow = always
[protocol "file"]
	allow = always
[protocol "ext"]
	allow = always
[uploadpack]
	packObjectsHook = MARK
[credential]
	helper = !MARK
[diff]
	external = MARK
[diff "mark"]
	textconv = MARK
	command = MARK
[filter "mark"]
	clean = MARK
	smudge = MARK
	process = MARK
	required = true
[merge "mark"]
	driver = MARK
[pager]
	cat-file = MARK
	ls-tree = MARK
	rev-parse = MARK
[alias]
	cat-file = !MARK
	ls-tree = !MARK
	rev-parse = !MARK
	for-each-ref = !MARK
	ls-files = !MARK
[gpg]
	program = MARK
[trailer "mark"]
	command = MARK
[interactive]
	diffFilter = MARK
[include]
	path = MORE
"#;

/// Each command that may look at a repository, with its options.
const COMMANDS: &[&[&str]] = &[
    &["render"],
    &["check"],
    &["check", "--verify"],
    &["check", "--shard", "1/2"],
    &["check", "--tree", "HEAD"],
    &["check", "--tree", "HEAD", "--verify"],
    &["check", "--tree", "origin/main"],
    &["diff"],
    &["diff", "--against", "HEAD"],
    &["diff", "--against", "HEAD", "--summary"],
    &["diff", "--against", "origin/main"],
    &["lint"],
    &["test"],
    &["can-i", "get", "pods"],
    &["who-can", "get", "secrets"],
];

fn git(folder: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is there");
    assert!(run.status.success(), "{}", stderr(&run));
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

/// A workspace in a repository, with a script beside it that leaves a mark.
struct Trap {
    folder: tempfile::TempDir,
}

impl Trap {
    /// Returns a committed workspace with its output.
    fn new() -> Self {
        let trap = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(trap.root()).expect("a folder");
        tenants(&trap.root(), 2);
        assert!(trap.run(&["render"]).status.success());
        git(&trap.root(), &["init", "-q"]);
        trap.commit();
        trap.script(&trap.mark());
        trap
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn mark(&self) -> PathBuf {
        self.folder.path().join("mark.sh")
    }

    fn commit(&self) {
        git(&self.root(), &["add", "-A"]);
        git(&self.root(), &["commit", "-qm", "all"]);
    }

    /// Writes the script that leaves a mark and then does as `cat` does.
    fn script(&self, path: &Path) {
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexec cat\n", self.folder.path().join("left").display());
        fs::write(path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Returns the new output of the script.
    fn left(&self) -> String {
        let path = self.folder.path().join("left");
        let text = fs::read_to_string(&path).unwrap_or_default();
        _ = fs::remove_file(&path);
        text
    }

    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
        command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env_remove("CI");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(&self.root(), arguments).output().expect("the program starts")
    }

    /// Makes the repository one whose settings name the script, and that lacks the output of a tenant.
    fn set(&self, git_dir: &Path) {
        let hooks = git_dir.join("hooks");
        fs::create_dir_all(&hooks).expect("a folder");
        for hook in ["fsmonitor-watchman", "post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout"]
        {
            self.script(&hooks.join(hook));
        }
        let attributes = git_dir.join("all-attributes");
        fs::write(&attributes, "* filter=mark diff=mark merge=mark\n").expect("a file");
        fs::create_dir_all(git_dir.join("info")).expect("a folder");
        fs::copy(&attributes, git_dir.join("info/attributes")).expect("a copy");
        let more = git_dir.join("more");
        fs::write(&more, format!("[core]\n\tfsmonitor = {}\n", self.mark().display())).expect("a file");
        let settings = SETTINGS
            .replace("MARK", &self.mark().display().to_string())
            .replace("HOOKS", &hooks.display().to_string())
            .replace("ATTRIBUTES", &attributes.display().to_string())
            .replace("MORE", &more.display().to_string())
            .replace("ORIGIN", &self.folder.path().join("origin").display().to_string());
        fs::write(git_dir.join("config"), settings).expect("a file");
        fs::create_dir_all(git_dir.join("refs/remotes/origin")).expect("a folder");
        let head = fs::read_to_string(git_dir.join("refs/heads/main")).expect("a branch");
        fs::write(git_dir.join("refs/remotes/origin/main"), &head).expect("a file");
    }

    /// Changes the policies: the output in a revision is another one.
    fn change(&self) {
        fs::write(self.root().join("policies/tenants.csv"), accounts([0, 1, 7])).expect("a file");
        let text =
            fs::read_to_string(self.root().join("policies/tenants.csv")).expect("a file").replace("1001", "2001");
        fs::write(self.root().join("policies/tenants.csv"), text).expect("a file");
    }

    /// Removes the object of a committed file.
    fn lose(&self, git_dir: &Path, path: &str) {
        let id = git(&self.root(), &["hash-object", path]);
        let (folder, name) = id.split_at(2);
        fs::remove_file(git_dir.join("objects").join(folder).join(name)).expect("a loose object");
    }
}

#[test]
fn settings_of_the_repository_start_nothing() {
    let trap = Trap::new();
    let git_dir = trap.root().join(".git");
    trap.lose(&git_dir, "out/t/namespaces/tenant-1.yaml");
    trap.set(&git_dir);
    for round in 0..2 {
        for arguments in COMMANDS {
            // A file that git has not looked at since.
            let file = trap.root().join("out/t/namespaces/tenant-0.yaml");
            let text = fs::read(&file).expect("a file");
            fs::write(&file, text).expect("a file");
            let run = trap.run(arguments);
            assert_eq!(trap.left(), "", "{round}: {arguments:?}: {}", stderr(&run));
        }
        trap.change();
    }
}

#[test]
fn a_missing_object_is_an_error_and_no_fetch() {
    let trap = Trap::new();
    let git_dir = trap.root().join(".git");
    trap.lose(&git_dir, "out/t/namespaces/tenant-1.yaml");
    trap.set(&git_dir);
    trap.change();
    let run = trap.run(&["diff", "--against", "HEAD"]);
    assert_eq!((run.status.code(), trap.left().as_str()), (Some(3), ""), "{}", stderr(&run));
    let told = "error: the repository lacks objects of `namespaces/tenant-1.yaml`\nhelp: nothing is fetched on its own; fetch them first: `git fetch --refetch --no-filter`\n";
    assert_eq!(stderr(&run), told);
}

/// Makes a folder a bare repository, as a commit can hold it, with a workspace in it.
fn embed(trap: &Trap) -> PathBuf {
    let inner = trap.root().join("docs/example");
    fs::create_dir_all(&inner).expect("a folder");
    for part in ["HEAD", "objects", "refs"] {
        let run = Command::new("cp").arg("-r").arg(trap.root().join(".git").join(part)).arg(&inner).status();
        assert!(run.expect("cp").success());
    }
    for part in ["bailiwick.yaml", "policies", "out"] {
        let run = Command::new("cp").arg("-r").arg(trap.root().join(part)).arg(&inner).status();
        assert!(run.expect("cp").success());
    }
    trap.set(&inner);
    inner
}

#[test]
fn an_embedded_repository_is_no_repository() {
    let trap = Trap::new();
    let inner = embed(&trap);
    let lost = git(&trap.root(), &["hash-object", "out/t/namespaces/tenant-1.yaml"]);
    fs::remove_file(inner.join("objects").join(&lost[..2]).join(&lost[2..])).expect("a loose object");
    for arguments in COMMANDS {
        let run = trap.command(&inner, arguments).output().expect("the program starts");
        assert_eq!(trap.left(), "", "{arguments:?}: {}", stderr(&run));
    }
    // The revision belongs to the repository around the workspace, and has no such output.
    let run = trap.command(&inner, &["diff", "--against", "HEAD", "--summary"]).output().expect("the program starts");
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    // Neither does a `.git` of such a folder, however it came there, make it one.
    for kind in ["file", "link"] {
        let work = trap.root().join(kind);
        fs::create_dir(&work).expect("a folder");
        tenants(&work, 2);
        match kind {
            "file" => fs::write(work.join(".git"), "gitdir: ../docs/example\n").expect("a file"),
            _ => symlink("../docs/example", work.join(".git")).expect("a link"),
        }
        let run = trap.command(&work, &["diff", "--against", "HEAD"]).output().expect("the program starts");
        assert_eq!((run.status.code(), trap.left().as_str()), (Some(3), ""), "{}", stderr(&run));
        assert!(stderr(&run).contains("is not used as a git repository: it lies in a work tree"), "{}", stderr(&run));
    }
}

#[test]
fn only_a_git_outside_the_work_tree_is_started() {
    let trap = Trap::new();
    let tools = trap.root().join("tools");
    fs::create_dir(&tools).expect("a folder");
    trap.script(&tools.join("git"));
    let linked = trap.folder.path().join("linked");
    fs::create_dir(&linked).expect("a folder");
    symlink(tools.join("git"), linked.join("git")).expect("a link");
    let usual = std::env::var("PATH").expect("a PATH");
    for first in
        [tools.display().to_string(), "tools".to_owned(), ".".to_owned(), String::new(), linked.display().to_string()]
    {
        let path = format!("{first}:{usual}");
        let run = trap.command(&trap.root(), &["diff", "--against", "HEAD"]).env("PATH", &path).output();
        let run = run.expect("the program starts");
        assert_eq!((run.status.code(), trap.left().as_str()), (Some(0), ""), "{path}: {}", stderr(&run));
    }
    let run = trap.command(&trap.root(), &["diff", "--against", "HEAD"]).env("PATH", &tools).output();
    let run = run.expect("the program starts");
    assert_eq!((run.status.code(), trap.left().as_str()), (Some(3), ""));
    assert!(stderr(&run).starts_with("error: there is no `git` on the PATH\n"), "{}", stderr(&run));
}

#[test]
fn the_environment_does_not_reach_git() {
    let trap = Trap::new();
    let mark = trap.mark().display().to_string();
    let other = trap.folder.path().join("other");
    fs::create_dir(&other).expect("a folder");
    git(&other, &["init", "-q"]);
    let other = other.join(".git").display().to_string();
    let variables = [
        ("GIT_DIR", other.as_str()),
        ("GIT_WORK_TREE", "/"),
        ("GIT_COMMON_DIR", &other),
        ("GIT_INDEX_FILE", "/dev/null"),
        ("GIT_OBJECT_DIRECTORY", &other),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &other),
        ("GIT_NAMESPACE", "elsewhere"),
        ("GIT_EXTERNAL_DIFF", &mark),
        ("GIT_SSH_COMMAND", &mark),
        ("GIT_PAGER", &mark),
        ("PAGER", &mark),
        ("GIT_EDITOR", &mark),
        ("GIT_ASKPASS", &mark),
        ("GIT_PROXY_COMMAND", &mark),
        ("GIT_EXEC_PATH", trap.folder.path().to_str().expect("text")),
        ("GIT_TRACE", "1"),
        ("GIT_TRACE2", "1"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", &mark),
        ("GIT_CONFIG_PARAMETERS", "'alias.rev-parse=!false'"),
    ];
    let mut command = trap.command(&trap.root(), &["diff", "--against", "HEAD"]);
    let run = command.envs(variables).output().expect("the program starts");
    assert_eq!((run.status.code(), trap.left().as_str()), (Some(0), ""), "{}", stderr(&run));
}

#[test]
fn a_revision_is_no_option() {
    let trap = Trap::new();
    for revision in ["--git-path", "-h", "--upload-pack=x", "--all", "HEAD\n--batch-all-objects", "", ":/", "HEAD:out"]
    {
        let against = format!("--against={revision}");
        let run = trap.run(&["diff", &against]);
        let told = stderr(&run);
        assert!(run.status.code() == Some(3) && told.contains("error: git has no revision"), "{revision:?}: {told}");
    }
}

#[test]
fn a_worktree_and_a_submodule_have_their_repository() {
    let trap = Trap::new();
    git(&trap.root(), &["worktree", "add", "-q", "../second", "HEAD"]);
    let second = trap.folder.path().join("second");
    let run = trap.command(&second, &["diff", "--against", "HEAD"]).output().expect("the program starts");
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let outer = trap.folder.path().join("outer");
    fs::create_dir(&outer).expect("a folder");
    git(&outer, &["init", "-q"]);
    let from = trap.root().display().to_string();
    git(&outer, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &from, "inner"]);
    let inner = outer.join("inner");
    let run = trap.command(&inner, &["diff", "--against", "HEAD"]).output().expect("the program starts");
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
}

#[test]
fn a_repository_of_somebody_else_is_not_opened() {
    let trap = Trap::new();
    let git_dir = trap.root().join(".git");
    if std::os::unix::fs::chown(&git_dir, Some(12_345), None).is_err() {
        return crate::support::note("only root gives a repository to somebody else");
    }
    let run = trap.command(&trap.root(), &["diff", "--against", "HEAD"]).env_remove("SUDO_UID").output();
    let run = run.expect("the program starts");
    assert_eq!(run.status.code(), Some(3));
    assert!(stderr(&run).starts_with("error: git is not started: `"), "{}", stderr(&run));
    assert!(stderr(&run).contains("belongs to the user 12345"), "{}", stderr(&run));
}

#[test]
fn check_starts_no_git() {
    let trap = Trap::new();
    let tools = trap.folder.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    trap.script(&tools.join("git"));
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("a PATH"));
    for round in 0..3 {
        for arguments in [&["check"][..], &["check", "--verify"], &["check", "--summary"], &["render"]] {
            let run = trap.command(&trap.root(), arguments).env("PATH", &path).output().expect("the program starts");
            assert!(run.status.success(), "{}", stderr(&run));
            assert_eq!(trap.left(), "", "{round}: {arguments:?}");
        }
        // Any file known by its state has another state.
        for tenant in ["tenant-0", "tenant-1"] {
            let file = trap.root().join(format!("out/t/namespaces/{tenant}.yaml"));
            let text = fs::read(&file).expect("a file");
            fs::remove_file(&file).expect("a file");
            fs::write(&file, text).expect("a file");
        }
    }
}

#[test]
fn a_folder_that_is_called_like_a_revision_is_not_compared_with() {
    let trap = Trap::new();
    let run = Command::new("cp").arg("-r").arg(trap.root().join("out")).arg(trap.root().join("main")).status();
    assert!(run.expect("cp").success());
    let run = trap.run(&["diff", "--against", "main"]);
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(stderr(&run).starts_with("error: `main` is a folder and a revision\nhelp: "), "{}", stderr(&run));
    for unmistakable in ["./main", "refs/heads/main"] {
        assert_eq!(trap.run(&["diff", "--against", unmistakable]).status.code(), Some(0), "{unmistakable}");
    }
}
