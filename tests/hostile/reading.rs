//! Files outside the workspace, devices, links.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runs::{stderr, tenants};

/// A text that no run may print.
const SECRET: &str = "hunter2-hunter2";

/// A workspace with a secret beside it, in `elsewhere`, and one in its `.git`.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(site.root()).expect("a folder");
        tenants(&site.root(), 2);
        let secret = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {SECRET}}}\n{SECRET}: [\n");
        for folder in [site.folder.path().join("elsewhere"), site.root().join(".git"), site.root().join("sub/.git")] {
            fs::create_dir_all(&folder).expect("a folder");
            for name in ["config", "secret.yaml", "secret.csv", "secret.json"] {
                fs::write(folder.join(name), &secret).expect("a file");
            }
        }
        fs::write(site.root().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn run_in(folder: &Path, arguments: &[&str]) -> Output {
        Command::new("timeout")
            .args(["-s", "KILL", "20"])
            .arg(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments)
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .env("TOKEN", SECRET)
            .output()
            .expect("the program starts")
    }

    /// Asserts that a run ends with code 2 at once, prints these words, and nothing of a secret.
    fn refuses(&self, arguments: &[&str], words: &str) {
        let run = Self::run_in(&self.root(), arguments);
        let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(&run));
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {words}: {printed}");
        assert!(printed.contains(words), "{arguments:?}: {words}: {printed}");
        assert!(!printed.contains(SECRET), "{printed}");
    }

    /// Names a file as the baseline of the target.
    fn baseline(&self, path: &str) {
        let text = fs::read_to_string(self.root().join("bailiwick.yaml")).expect("a file");
        let text = text.replace("name: t,", &format!("name: t, baseline: {path},"));
        fs::write(self.root().join("bailiwick.yaml"), text).expect("a file");
    }
}

/// Puts something at a path, and returns the expected words about it.
type Trap = fn(&Site, &Path) -> &'static str;

const TRAPS: &[Trap] = &[
    |site, path| {
        symlink(site.folder.path().join("elsewhere/secret.yaml"), path).expect("a link");
        "is a link that leaves the workspace"
    },
    |_, path| {
        symlink("/proc/self/environ", path).expect("a link");
        "is a link that leaves the workspace"
    },
    |_, path| {
        symlink("/dev/zero", path).expect("a link");
        "is a link that leaves the workspace"
    },
    |_, path| {
        symlink("../../elsewhere/secret.yaml", path).expect("a link");
        "is a link that leaves the workspace"
    },
    |_, path| {
        symlink("../.git/secret.yaml", path).expect("a link");
        "leads into a git repository"
    },
    |_, path| {
        symlink("../sub/.git/secret.yaml", path).expect("a link");
        "leads into a git repository"
    },
    |site, path| {
        symlink(".git/secret.yaml", site.root().join("through")).expect("a link");
        symlink("../through", path).expect("a link");
        "leads into a git repository"
    },
    |site, path| {
        symlink(".git", site.root().join("repository")).expect("a link");
        symlink("../repository/secret.yaml", path).expect("a link");
        "leads into a git repository"
    },
    |_, path| {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
        "is a named pipe, not a regular file"
    },
    |_, path| {
        UnixListener::bind(path).expect("a socket");
        "is a socket or a device, not a regular file"
    },
    |_, path| {
        symlink(path.file_name().expect("a name"), path).expect("a link");
        "passes through too many links"
    },
    |_, path| {
        symlink("../nowhere.yaml", path).expect("a link");
        "is a broken link"
    },
];

#[test]
fn a_policy_is_a_regular_file_of_the_workspace() {
    for trap in TRAPS {
        let site = Site::new();
        let words = trap(&site, &site.root().join("policies/x.yaml"));
        for arguments in [&["check"][..], &["render"], &["lint"]] {
            site.refuses(arguments, words);
        }
    }
}

#[test]
fn a_template_is_a_regular_file_of_the_workspace() {
    for trap in TRAPS {
        let site = Site::new();
        fs::create_dir(site.root().join("templates")).expect("a folder");
        let words = trap(&site, &site.root().join("templates/_x.yaml.j2"));
        site.refuses(&["render"], words);
    }
}

#[test]
fn an_account_list_is_a_regular_file_of_the_workspace() {
    for trap in TRAPS {
        let site = Site::new();
        let path = site.root().join("policies/tenants.csv");
        fs::remove_file(&path).expect("a file");
        let words = trap(&site, &path);
        site.refuses(&["render"], words);
    }
}

#[test]
fn a_baseline_is_a_regular_file_of_the_workspace() {
    for trap in TRAPS {
        let site = Site::new();
        fs::create_dir(site.root().join("dump")).expect("a folder");
        let words = trap(&site, &site.root().join("dump/x.yaml"));
        site.baseline("dump/x.yaml");
        for arguments in [&["lint"][..], &["can-i", "get", "pods", "--as", "a"], &["who-can", "get", "pods"]] {
            site.refuses(arguments, words);
        }
    }
    for path in [".git/secret.yaml", ".git", "sub/.git/secret.yaml", "policies/../.git/secret.yaml"] {
        let site = Site::new();
        site.baseline(path);
        let words = if path.contains("..") { "is not a folder inside" } else { "leads into a git repository" };
        site.refuses(&["lint"], words);
    }
    let site = Site::new();
    site.baseline("out");
    fs::create_dir(site.root().join("out")).expect("a folder");
    fs::write(site.root().join("out/x.yaml"), "").expect("a file");
    site.refuses(&["lint"], "the output folder `out` and the baseline `out` overlap");
}

#[test]
fn a_folder_is_one_of_the_workspace() {
    for (target, words) in [
        ("../../elsewhere", "is a link that leaves the workspace"),
        ("/", "is a link that leaves the workspace"),
        ("../.git", "leads into a git repository"),
        ("/proc/self/task", "is a link that leaves the workspace"),
    ] {
        let site = Site::new();
        symlink(target, site.root().join("policies/linked")).expect("a link");
        site.refuses(&["check"], words);
        let site = Site::new();
        fs::create_dir(site.root().join("dump")).expect("a folder");
        symlink(target, site.root().join("dump/linked")).expect("a link");
        site.baseline("dump");
        site.refuses(&["lint"], words);
    }
    let site = Site::new();
    fs::remove_dir_all(site.root().join("policies")).expect("a folder");
    symlink("../elsewhere", site.root().join("policies")).expect("a link");
    site.refuses(&["check"], "is a link that leaves the workspace");
}

#[test]
fn links_to_links_do_not_multiply() {
    let site = Site::new();
    for level in 0..40 {
        let folder = site.root().join(format!("policies/level-{level}"));
        fs::create_dir(&folder).expect("a folder");
        for name in ["a", "b"] {
            symlink(format!("../level-{}", level + 1), folder.join(name)).expect("a link");
        }
    }
    fs::create_dir(site.root().join("policies/level-40")).expect("a folder");
    let run = Site::run_in(&site.root(), &["check"]);
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(stderr(&run).contains("it contains too many links to folders"), "{}", stderr(&run));
}

#[test]
fn links_inside_the_workspace_are_followed() {
    let site = Site::new();
    fs::create_dir(site.root().join("lists")).expect("a folder");
    fs::rename(site.root().join("policies/tenants.csv"), site.root().join("lists/real.csv")).expect("a file");
    symlink("real.csv", site.root().join("lists/alias.csv")).expect("a link");
    symlink("../lists/../lists/./alias.csv", site.root().join("policies/tenants.csv")).expect("a link");
    symlink("../sub", site.root().join("policies/linked")).expect("a link");
    fs::rename(site.root().join("policies/tenants.yaml"), site.root().join("sub/tenants.yaml")).expect("a file");
    symlink("../policies/tenants.csv", site.root().join("sub/tenants.csv")).expect("a link");
    let run = Site::run_in(&site.root(), &["render"]);
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(site.root().join("out/t/namespaces/tenant-1.yaml").is_file());
}

#[test]
fn the_workspace_file_is_a_regular_file() {
    for trap in TRAPS.iter().filter(|_| true) {
        let site = Site::new();
        let path = site.root().join("bailiwick.yaml");
        fs::remove_file(&path).expect("a file");
        trap(&site, &path);
        for arguments in [&["check"][..], &["render"], &["lint"], &["init"]] {
            let run = Site::run_in(&site.root(), arguments);
            assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
            assert!(!stderr(&run).contains(SECRET), "{}", stderr(&run));
        }
    }
}

#[test]
fn a_workspace_above_the_work_tree_is_not_found() {
    let site = Site::new();
    let inner = site.root().join("clone/deep");
    fs::create_dir_all(&inner).expect("a folder");
    assert_ne!(stderr(&Site::run_in(&inner, &["diff"])), "");
    for form in ["folder", "file"] {
        let entry = site.root().join("clone/.git");
        match form {
            "folder" => fs::create_dir(&entry).expect("a folder"),
            _ => {
                fs::remove_dir(&entry).expect("a folder");
                fs::write(&entry, "gitdir: ../.git/modules/clone\n").expect("a file");
            }
        }
        let run = Site::run_in(&inner, &["render"]);
        assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
        assert!(stderr(&run).contains("there is no `bailiwick.yaml`"), "{}", stderr(&run));
    }
}

#[test]
fn the_output_lies_where_nobody_else_reads() {
    let folders = [
        ".git",
        ".git/hooks",
        ".github",
        ".github/workflows",
        ".gitlab",
        ".ssh",
        "a/.vscode",
        "~",
        "~/x",
        "~root",
        ".",
        "./",
        "../out",
        "/tmp/out",
        "policies",
        "policies/out",
        "POLICIES/out",
        "templates",
        "lists",
        "a/..",
        "",
    ];
    for folder in folders {
        let site = Site::new();
        fs::create_dir(site.root().join("lists")).expect("a folder");
        fs::rename(site.root().join("policies/tenants.csv"), site.root().join("lists/tenants.csv")).expect("a file");
        let policy = fs::read_to_string(site.root().join("policies/tenants.yaml")).expect("a file");
        let policy = policy.replace("tenants.csv", "../lists/tenants.csv");
        fs::write(site.root().join("policies/tenants.yaml"), policy).expect("a file");
        let text = fs::read_to_string(site.root().join("bailiwick.yaml")).expect("a file");
        let text = text.replace("spec:\n", &format!("spec:\n  output: \"{folder}\"\n"));
        fs::write(site.root().join("bailiwick.yaml"), text).expect("a file");
        let run = Site::run_in(&site.root(), &["render"]);
        assert_eq!(run.status.code(), Some(2), "{folder}: {}", stderr(&run));
    }
}
