//! Files and folders of input options.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::runs::{stderr, tenants};

/// A text that no run may print.
const SECRET: &str = "s3cret-s3cret";

const MANIFEST: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
---
apiVersion: policy/v1beta1
kind: PodSecurityPolicy
metadata: {name: p}
spec: {privileged: true, seLinux: {rule: RunAsAny}, runAsUser: {rule: RunAsAny}, fsGroup: {rule: RunAsAny}, supplementalGroups: {rule: RunAsAny}, volumes: ['*']}
---
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default}
spec: {containers: [{name: c, image: i}]}
";

/// A workspace in `w`, a folder `from` with a manifest, and a secret in `elsewhere`.
pub(super) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub(super) fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a folder") };
        tenants(&site.path("w"), 1);
        for folder in ["from", "elsewhere", "repository/.git"] {
            fs::create_dir_all(site.path(folder)).expect("a folder");
        }
        fs::write(site.path("from/a.yaml"), MANIFEST).expect("a file");
        for file in ["elsewhere/x.yaml", "repository/.git/x.yaml"] {
            fs::write(site.path(file), format!("token: [{SECRET}\n")).expect("a file");
        }
        site
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs the program in the workspace, with less than a second of processor time and little memory to spare.
    fn run(&self, arguments: &[&str]) -> Output {
        Command::new("timeout")
            .args(["-s", "KILL", "20", "prlimit", "--cpu=5", "--data=400000000"])
            .arg(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments)
            .args(["--jobs", "1"])
            .current_dir(self.path("w"))
            .env("NO_COLOR", "1")
            .env_remove("CI")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }
}

/// The command lines with an option that reads a folder, `../from` in its place.
const FOLDER_OPTIONS: &[&[&str]] = &[
    &["lint", "--from", "../from"],
    &["who-can", "get", "pods", "--from", "../from"],
    &["can-i", "get", "pods", "--as-group", "devs", "--from", "../from"],
    &["node-reach", "n", "--from", "../from"],
    &["explain", "ClusterRole/reader", "--from", "../from"],
    &["report", "--from", "../from"],
    &["index", "--from", "../from", "--output", "../index"],
    &["import", "--from", "../from", "--into", "../imported", "--dry-run"],
    &["drift", "--live", "../from", "--partial"],
    &["lint", "--from", "../from/a.yaml", "--static-pods", "../from"],
    &["who-can", "get", "pods", "--from", "../from/a.yaml", "--baseline", "../from"],
    &["migrate", "psp", "--from", "../from"],
    &["migrate", "verify", "--from", "../from"],
    &["import", "audit", "--audit", "../log", "--from", "../from"],
];

/// An entry beside the manifest in the folder, with the words about it.
type Trap = (fn(&Site, &Path), &'static str);

const TRAPS: &[Trap] = &[
    (
        |_, path| symlink("../elsewhere/x.yaml", path).expect("a link"),
        "is a link that leaves the folder, and is not read",
    ),
    (|_, path| symlink("../elsewhere", path).expect("a link"), "is a link that leaves the folder, and is not read"),
    (|_, path| symlink("/dev/zero", path).expect("a link"), "is a link that leaves the folder, and is not read"),
    (
        |_, path| symlink("/proc/self/environ", path).expect("a link"),
        "is a link that leaves the folder, and is not read",
    ),
    (
        |site, path| {
            fs::create_dir(site.path("from/.git")).expect("a folder");
            fs::copy(site.path("elsewhere/x.yaml"), site.path("from/.git/x.yaml")).expect("a file");
            symlink(".git/x.yaml", path).expect("a link");
        },
        "leads into a git repository, and is not read",
    ),
    (
        |_, path| assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success()),
        "is a named pipe, and is not read",
    ),
    (|_, path| _ = UnixListener::bind(path).expect("a socket"), "is a socket or a device, and is not read"),
    (|_, path| symlink("nowhere", path).expect("a link"), "is a broken link, and is not read"),
];

/// Makes a file of 10 GiB that takes no room.
fn make_sparse(path: &Path) {
    fs::File::create(path).expect("a file").set_len(10 << 30).expect("a sparse file");
}

fn assert_nothing_shown(run: &Output, what: &str) {
    let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(run));
    assert!(!printed.contains(SECRET) && !printed.contains("internal error"), "{what}: {printed}");
}

#[test]
fn a_trap_in_a_folder_is_named_and_not_read() {
    for (make, words) in TRAPS {
        let site = Site::new();
        fs::write(site.path("log"), "{}\n").expect("a file");
        let plain: Vec<Output> = FOLDER_OPTIONS.iter().map(|arguments| site.run(arguments)).collect();
        make(&site, &site.path("from/x.yaml"));
        for (arguments, plain) in FOLDER_OPTIONS.iter().zip(plain) {
            let run = site.run(arguments);
            let what = format!("{arguments:?}: {words}");
            assert_nothing_shown(&run, &what);
            if arguments.contains(&"audit") && !stderr(&run).contains("x.yaml") {
                // An empty log ends the run before.
                assert_eq!(run.status.code(), plain.status.code());
                continue;
            }
            // `report` names it among its findings.
            let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(&run));
            let is_named = printed.contains(&format!("unreadable-file: `../from/x.yaml` {words}"))
                || printed.contains(&format!("warning[unreadable-file]: `../from/x.yaml` {words}"));
            assert!(is_named, "{what}: {printed}");
            // The warning is a finding of `lint`.
            let has_same_answer = run.status.code() == plain.status.code() || run.status.code() == Some(1);
            assert!(has_same_answer, "{what}: {}", stderr(&run));
            assert_eq!(run.stdout.is_empty(), plain.stdout.is_empty(), "{what}: the other files are judged");
        }
    }
}

#[test]
fn a_large_file_in_a_folder_is_an_error_that_names_the_limit() {
    let site = Site::new();
    make_sparse(&site.path("from/x.yaml"));
    for arguments in FOLDER_OPTIONS.iter().filter(|arguments| !arguments.contains(&"audit")) {
        let run = site.run(arguments);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {}", stderr(&run));
        assert!(stderr(&run).contains("the limit is 512 MiB"), "{arguments:?}: {}", stderr(&run));
    }
}

/// The command lines with an option that reads a file, `F` in its place.
const FILE_OPTIONS: &[&[&str]] = &[
    &["lint", "--from", "F"],
    &["drift", "--live", "F"],
    &["who-can", "get", "pods", "--from", "../from/a.yaml", "--baseline", "F"],
    &["lint", "--from", "../from", "--audit", "F"],
    &["lint", "--from", "../from", "--audit", "../log", "--audit-policy", "F"],
    &["import", "audit", "--audit", "F"],
    &["can-i", "create", "pods", "--as", "a", "--admission", "F"],
    &["merge", "F"],
    &["migrate", "kubelets", "F", "--from", "../from"],
    &["migrate", "verify", "--from", "../from", "--patches", "F"],
    &["review", "--base-dir", ".", "--approved-by", "@F"],
];

/// Makes a file that an option names, and the words of the error about it.
type NamedTrap = (fn(&Site) -> PathBuf, &'static str);

/// A file that is named, and the words about it.
const NAMED: &[NamedTrap] = &[
    (|site| site.path("repository/.git/x.yaml"), "it is in the folder of a git repository"),
    (
        |site| {
            symlink("repository/.git/x.yaml", site.path("link")).expect("a link");
            site.path("link")
        },
        "it is in the folder of a git repository",
    ),
    (
        |site| {
            UnixListener::bind(site.path("socket")).expect("a socket");
            site.path("socket")
        },
        "cannot ",
    ),
    (
        |site| {
            make_sparse(&site.path("sparse"));
            site.path("sparse")
        },
        "limit",
    ),
];

#[test]
fn a_named_file_has_limits() {
    for (make, words) in NAMED {
        let site = Site::new();
        fs::write(site.path("log"), "{}\n").expect("a file");
        let file = make(&site);
        let file = file.to_str().expect("a path");
        for arguments in FILE_OPTIONS {
            let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace('F', file)).collect();
            let run = site.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            let what = format!("{arguments:?}: {words}");
            assert_nothing_shown(&run, &what);
            assert!(matches!(run.status.code(), Some(2 | 3)), "{what}: {}", stderr(&run));
            let is_named = stderr(&run).contains(words) || (*words == "limit" && stderr(&run).contains("larger than"));
            assert!(is_named, "{what}: {}", stderr(&run));
        }
    }
}

/// A device that is named is read up to a limit, and a pipe is read whole.
#[test]
fn a_named_pipe_is_read_and_a_device_without_an_end_is_not() {
    let site = Site::new();
    let run = site.run(&["lint", "--from", "/dev/zero"]);
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(stderr(&run).contains("cannot read `/dev/zero`: it is no text"), "{}", stderr(&run));
    let pipe = site.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, MANIFEST)
    });
    let run = site.run(&["who-can", "get", "pods", "--from", pipe.to_str().expect("a path")]);
    writer.join().expect("a writer").expect("a pipe");
    assert!(String::from_utf8_lossy(&run.stdout).contains("devs"), "{}", stderr(&run));
}

/// The earlier state of a workspace is read as the workspace is.
#[test]
fn a_base_folder_is_not_left() {
    for (make, _) in TRAPS {
        let site = Site::new();
        tenants(&site.path("base"), 1);
        fs::create_dir_all(site.path("base/policies")).expect("a folder");
        make(&site, &site.path("base/policies/x.yaml"));
        for arguments in [
            &["review", "--base-dir", "../base"][..],
            &["lint", "--base-dir", "../base"],
            &["diff", "--against", "../base"],
            &["diff", "--against", "../base/policies"],
        ] {
            let run = site.run(arguments);
            assert_nothing_shown(&run, &format!("{arguments:?}"));
            assert!(run.status.code().is_some_and(|code| code <= 3), "{arguments:?}: {}", stderr(&run));
        }
    }
}

/// The braces of a glob are limited in every place of a glob.
#[test]
fn a_glob_with_many_braces_is_an_error_at_its_place() {
    let braces = "{".repeat(250);
    let grant = "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: g}\nspec: {to: {groups: [g]}, clusterRoles: [view], targets: [\"GLOB\"]}\n";
    let accounts =
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: m}\nspec: {files: [\"GLOB\"]}\n";
    for (file, text) in [("policies/g.yaml", grant), ("policies/m.yaml", accounts)] {
        let site = Site::new();
        fs::write(site.path("w").join(file), text.replace("GLOB", &braces)).expect("a file");
        let run = site.run(&["render"]);
        assert_eq!(run.status.code(), Some(2), "{text}: {}", stderr(&run));
        assert!(stderr(&run).contains("its braces nest deeper than the limit of 10"), "{text}: {}", stderr(&run));
        assert!(stderr(&run).contains(&format!("{file}:")), "{text}: {}", stderr(&run));
    }
    for field in ["include: [GLOB]", "exclude: [GLOB]", "keep: [GLOB]", "fixtures: [GLOB]", "known: {users: [GLOB]}"] {
        let site = Site::new();
        let path = site.path("w/bailiwick.yaml");
        let text = fs::read_to_string(&path).expect("a file");
        let field = field.replace("GLOB", &format!("\"{braces}\""));
        fs::write(&path, text.replace("spec:\n", &format!("spec:\n  {field}\n"))).expect("a file");
        let run = site.run(&["render"]);
        assert_eq!(run.status.code(), Some(2), "{field}: {}", stderr(&run));
        assert!(stderr(&run).contains("its braces nest deeper than the limit of 10"), "{field}: {}", stderr(&run));
    }
    for option in ["--include", "--exclude"] {
        let run = Site::new().run(&["lint", "--from", "../from", option, &braces]);
        assert_eq!(run.status.code(), Some(2), "{option}: {}", stderr(&run));
        assert!(stderr(&run).contains("its braces nest deeper than the limit of 10"), "{option}: {}", stderr(&run));
    }
}

/// The memory for a message of an editor is not set aside before the message is there.
#[test]
fn a_message_of_an_editor_has_a_limit() {
    for (header, words) in [
        ("Content-Length: 9000000000000000000\r\n\r\n{", "the limit is 128 MiB"),
        ("Content-Length: 100000000\r\n\r\n{", "cannot read a message of the editor"),
        (&*"x".repeat(10_000), "the limit of 4 KiB"),
    ] {
        let site = Site::new();
        fs::write(site.path("message"), header).expect("a file");
        let input = fs::File::open(site.path("message")).expect("a file");
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "20", "prlimit", "--data=400000000"]).arg(env!("CARGO_BIN_EXE_bailiwick"));
        let run = command.arg("lsp").current_dir(site.path("w")).stdin(input).output().expect("the program starts");
        assert_eq!(run.status.code(), Some(3), "{header:.40}: {}", stderr(&run));
        assert!(stderr(&run).contains(words), "{}", stderr(&run));
    }
}
