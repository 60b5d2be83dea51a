//! Targets of output options that are no regular files, and links in the way of temporary files.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runs::{snapshot, stderr, tenants};

/// The text of the file behind a link.
const OUTSIDE: &str = "outside\n";

/// A workspace in `w` with its output, manifests in `dump`, and a folder `place` for the targets.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a folder") };
        tenants(&site.path("w"), 2);
        for folder in ["dump", "place"] {
            fs::create_dir(site.path(folder)).expect("a folder");
        }
        fs::write(site.path("outside"), OUTSIDE).expect("a file");
        fs::write(site.path("dump/a.yaml"), DUMP).expect("a file");
        let rendered = site.run(&["render"], None);
        assert!(rendered.status.success(), "{}", stderr(&rendered));
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn run(&self, arguments: &[&str], step_output: Option<&Path>) -> Output {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60"]).arg(env!("CARGO_BIN_EXE_bailiwick")).args(arguments);
        command.current_dir(self.path("w")).env("NO_COLOR", "1").env_remove("CI");
        command.env_remove("GITHUB_OUTPUT").env_remove("GITHUB_STEP_SUMMARY");
        command.envs(step_output.map(|path| ("GITHUB_OUTPUT", path)));
        command.output().expect("the program starts")
    }
}

const DUMP: &str = "\
apiVersion: policy/v1beta1
kind: PodSecurityPolicy
metadata: {name: p}
spec: {privileged: true, seLinux: {rule: RunAsAny}, runAsUser: {rule: RunAsAny}, fsGroup: {rule: RunAsAny}, supplementalGroups: {rule: RunAsAny}, volumes: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [policy], resources: [podsecuritypolicies], resourceNames: [p], verbs: [use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:serviceaccounts'}]
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: team}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {serviceAccountName: default, containers: [{name: c, image: i}]}
";

/// The command lines with an option for a file, `T` in its place.
const FILE_OPTIONS: &[&[&str]] = &[
    &["check", "--report", "json=T"],
    &["lint", "--report", "sarif=T"],
    &["can-i", "get", "pods", "--as", "a", "--report", "markdown=T"],
    &["review", "--base-dir", ".", "--report", "markdown=T"],
    &["report", "--report", "json=T"],
    &["index", "--output", "T"],
    &["check", "--trace", "T"],
    &["render", "--shard", "1/2", "--summary-to", "T"],
    &["migrate", "psp", "--from", "../dump", "--output", "../policies", "--force", "--report", "T"],
];

/// The command lines with an option for a folder, `T` in its place.
const FOLDER_OPTIONS: &[&[&str]] = &[
    &["init", "T"],
    &["import", "--from", "../dump", "--into", "T", "--kubernetes-version", "1.21"],
    &["pack", "t", "--output", "T"],
    &["migrate", "psp", "--from", "../dump", "--output", "T"],
    &["migrate", "psp", "--from", "../dump", "--plan", "T"],
    &["schema", "--output", "T"],
    &["man", "--output", "T"],
];

/// An entry at a target, the expected end of the run, and a check of the entry after the run.
struct Kind {
    name: &'static str,
    make: fn(&Site, &Path),
    /// Whether the run succeeds; otherwise it ends with 3 and names the target.
    is_written: bool,
    check: fn(&Site, &Path),
}

fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file()) && path.metadata().expect("a file").len() > 10
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

const KINDS: &[Kind] = &[
    Kind { name: "nothing", make: |_, _| {}, is_written: true, check: |_, path| assert!(is_regular(path)) },
    Kind {
        name: "a file",
        make: |_, path| fs::write(path, "old").expect("a file"),
        is_written: true,
        check: |_, path| assert!(is_regular(path)),
    },
    Kind {
        name: "a link to a file",
        make: |_, path| symlink("../outside", path).expect("a link"),
        is_written: true,
        check: |_, path| assert!(is_regular(path)),
    },
    Kind {
        name: "a broken link",
        make: |_, path| symlink("../nothing", path).expect("a link"),
        is_written: true,
        check: |site, path| assert!(is_regular(path) && !site.path("nothing").exists()),
    },
    Kind {
        name: "a link to a device",
        make: |_, path| symlink("/dev/null", path).expect("a link"),
        is_written: true,
        check: |_, path| assert!(is_link(path)),
    },
    Kind {
        name: "a full device",
        make: |_, path| symlink("/dev/full", path).expect("a link"),
        is_written: false,
        check: |_, path| assert!(is_link(path)),
    },
    Kind {
        name: "a folder",
        make: |_, path| fs::create_dir(path).expect("a folder"),
        is_written: false,
        check: |_, path| assert_eq!(fs::read_dir(path).expect("a folder").count(), 0),
    },
];

/// Puts the path of a target into a command line.
fn with_target(arguments: &[&str], target: &Path) -> Vec<String> {
    let target = target.to_str().expect("a path");
    let place = |argument: &&str| match argument.split_once('=') {
        Some((form, "T")) => format!("{form}={target}"),
        _ if *argument == "T" => target.to_owned(),
        _ => (*argument).to_owned(),
    };
    arguments.iter().map(place).collect()
}

fn run_with(site: &Site, arguments: &[&str], target: &Path) -> Output {
    let arguments = with_target(arguments, target);
    site.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), None)
}

/// Asserts that a run with a target that cannot be written ends with 3 and names the target.
fn assert_refused(run: &Output, target: &Path, what: &str) {
    assert_eq!(run.status.code(), Some(3), "{what}: {}", stderr(run));
    assert!(stderr(run).contains(target.to_str().expect("a path")), "{what}: {}", stderr(run));
}

#[test]
fn an_output_file_replaces_only_files_and_links() {
    let site = Site::new();
    for arguments in FILE_OPTIONS {
        for kind in KINDS {
            let what = format!("{arguments:?} with {}", kind.name);
            let target = site.path("place/review.md");
            (kind.make)(&site, &target);
            let run = run_with(&site, arguments, &target);
            if kind.is_written {
                assert!(run.status.code().is_some_and(|code| code < 2), "{what}: {}", stderr(&run));
            } else {
                assert_refused(&run, &target, &what);
            }
            (kind.check)(&site, &target);
            assert_eq!(fs::read_to_string(site.path("outside")).expect("a file"), OUTSIDE, "{what}");
            assert_eq!(
                fs::read_dir(site.path("place")).expect("a folder").count(),
                1,
                "{what}: a temporary file is left"
            );
            _ = fs::remove_file(&target).or_else(|_| fs::remove_dir(&target));
        }
    }
}

#[test]
fn an_output_file_can_be_a_pipe() {
    let site = Site::new();
    for arguments in FILE_OPTIONS {
        let target = site.path("place/pipe");
        assert!(Command::new("mkfifo").arg(&target).status().expect("mkfifo").success());
        let reader = std::thread::spawn({
            let target = target.clone();
            move || {
                let mut bytes = Vec::new();
                fs::File::open(target).expect("a pipe").read_to_end(&mut bytes).expect("bytes");
                bytes
            }
        });
        let run = run_with(&site, arguments, &target);
        assert!(run.status.code().is_some_and(|code| code < 2), "{arguments:?}: {}", stderr(&run));
        assert!(target.symlink_metadata().expect("a pipe").file_type().is_fifo(), "{arguments:?}");
        assert!(reader.join().expect("a reader").len() > 10, "{arguments:?}");
        fs::remove_file(&target).expect("a pipe");
    }
}

#[test]
fn an_output_file_can_be_standard_output() {
    let site = Site::new();
    symlink("/dev/stdout", site.path("place/link")).expect("a link");
    for target in
        [Path::new("/dev/stdout"), Path::new("/dev/fd/1"), Path::new("/proc/self/fd/1"), &site.path("place/link")]
    {
        let run = run_with(&site, &["check", "--report", "json=T"], target);
        assert!(run.status.success(), "{}", stderr(&run));
        assert!(run.stdout.starts_with(b"{"), "{}", target.display());
    }
    assert!(is_link(&site.path("place/link")) && is_link(Path::new("/dev/stdout")));
    // Behind `/dev/stdout` can be a file, which keeps what standard output wrote before.
    let file = fs::File::create(site.path("place/file")).expect("a file");
    let run = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["can-i", "get", "pods", "--as", "a", "--report", "json=/dev/stdout"])
        .current_dir(site.path("w"))
        .stdout(file)
        .output()
        .expect("the program starts");
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    let text = fs::read_to_string(site.path("place/file")).expect("a file");
    assert!(text.starts_with("t: no\n{"), "{text}");
}

/// Returns a folder in which no file can be made. A user with all rights can write into every folder, but for the folders of the kernel.
fn read_only_folder(site: &Site) -> PathBuf {
    let folder = site.path("closed");
    if !folder.exists() {
        fs::create_dir(&folder).expect("a folder");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("a mode");
    }
    match fs::write(folder.join("probe"), "") {
        Ok(()) => PathBuf::from("/sys"),
        Err(_) => folder,
    }
}

#[test]
fn an_output_file_needs_a_folder_that_can_be_written() {
    let site = Site::new();
    let closed = read_only_folder(&site);
    for arguments in FILE_OPTIONS {
        assert_refused(&run_with(&site, arguments, &closed.join("x")), &closed.join("x"), "a closed folder");
        if arguments.first() != Some(&"migrate") {
            let missing = site.path("missing/x");
            assert_refused(&run_with(&site, arguments, &missing), &missing, "a missing folder");
            assert!(!site.path("missing").exists());
        }
    }
    for arguments in FOLDER_OPTIONS {
        let target = closed.join("x");
        let run = run_with(&site, arguments, &target);
        assert_eq!(run.status.code(), Some(3), "{arguments:?}: {}", stderr(&run));
        assert!(stderr(&run).contains(target.to_str().expect("a path")), "{arguments:?}: {}", stderr(&run));
    }
}

/// No file can have a byte, as on a full disk.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let site = Site::new();
    let target = site.path("place/x");
    for arguments in FILE_OPTIONS.iter().chain(FOLDER_OPTIONS) {
        let run = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_bailiwick")])
            .args(with_target(arguments, &target))
            .current_dir(site.path("w"))
            .env_remove("CI")
            .output()
            .expect("the program starts");
        assert_eq!(run.status.code(), Some(3), "{arguments:?}: {}", stderr(&run));
        assert!(stderr(&run).contains(": file too large"), "{arguments:?}: {}", stderr(&run));
        let left: Vec<PathBuf> =
            fs::read_dir(site.path("place")).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        let is_empty = |path: &PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        assert!(left.iter().all(is_empty), "{arguments:?}: {left:?}");
        left.iter().for_each(|folder| fs::remove_dir(folder).expect("a folder"));
    }
}

#[test]
fn an_output_folder_is_a_folder() {
    let site = Site::new();
    for arguments in FOLDER_OPTIONS {
        for make in [
            (|_: &Site, path: &Path| fs::write(path, "old").expect("a file")) as fn(&Site, &Path),
            |_, path| symlink("/dev/null", path).expect("a link"),
            |_, path| assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success()),
        ] {
            let target = site.path("place/x");
            make(&site, &target);
            let before = target.symlink_metadata().expect("an entry");
            let run = run_with(&site, arguments, &target);
            assert!(matches!(run.status.code(), Some(2 | 3)), "{arguments:?}: {}", stderr(&run));
            let after = target.symlink_metadata().expect("the entry is there");
            assert_eq!(after.file_type(), before.file_type(), "{arguments:?}");
            fs::remove_file(&target).expect("an entry");
        }
    }
}

/// Below an output folder no link is followed.
#[test]
fn no_link_below_an_output_folder_is_followed() {
    let links: &[(&[&str], &str)] = &[
        (&["init", "T"], "policies"),
        (&["init", "T"], "schema"),
        (&["migrate", "psp", "--from", "../dump", "--plan", "T"], "policies"),
        (&["import", "--from", "../dump", "--into", "T", "--kubernetes-version", "1.21"], "policies"),
    ];
    for (arguments, link) in links {
        let site = Site::new();
        let target = site.path("place/new");
        fs::create_dir_all(&target).expect("a folder");
        fs::create_dir(site.path("elsewhere")).expect("a folder");
        symlink("../../elsewhere", target.join(link)).expect("a link");
        let run = run_with(&site, arguments, &target);
        assert!(matches!(run.status.code(), Some(2 | 3)), "{arguments:?}: {}", stderr(&run));
        assert_eq!(fs::read_dir(site.path("elsewhere")).expect("a folder").count(), 0, "{arguments:?}");
    }
}

/// The name of a temporary file cannot be guessed: earlier versions used the number of the process.
#[test]
fn prepared_links_are_not_followed() {
    let site = Site::new();
    let first = std::process::id();
    let link = |number: u32| site.path(&format!("place/review.md.{number}.tmp"));
    for number in first..first + 10_000 {
        symlink("../outside", link(number)).expect("a link");
    }
    let target = site.path("place/review.md");
    let run = run_with(&site, &["review", "--base-dir", ".", "--report", "markdown=T"], &target);
    assert!(run.status.success(), "{}", stderr(&run));
    assert_eq!(fs::read_to_string(site.path("outside")).expect("a file"), OUTSIDE);
    assert!(is_regular(&target));
    assert!((first..first + 10_000).all(|number| is_link(&link(number))));
}

/// The outputs of a step are appended to a file that the runner makes.
#[test]
fn step_outputs_are_appended() {
    let site = Site::new();
    let target = site.path("place/outputs");
    fs::write(&target, "earlier=1\n").expect("a file");
    let run = site.run(&["check"], Some(&target));
    assert!(run.status.success(), "{}", stderr(&run));
    let text = fs::read_to_string(&target).expect("a file");
    assert!(text.starts_with("earlier=1\ndrift=0\n"), "{text}");
}

/// A link in the output folder is not followed, and nothing outside changes.
#[test]
fn render_writes_through_no_link() {
    for link in ["out/t", "out/t/namespaces", "out"] {
        let site = Site::new();
        fs::write(site.path("w/policies/tenants.csv"), crate::runs::accounts(0..4)).expect("a file");
        fs::rename(site.path("w").join(link), site.path("moved")).expect("a folder");
        symlink(site.path("moved"), site.path("w").join(link)).expect("a link");
        let before = snapshot(&site.path("moved"));
        let run = site.run(&["render"], None);
        assert!(matches!(run.status.code(), Some(2 | 3)), "{link}: {}", stderr(&run));
        assert_eq!(snapshot(&site.path("moved")), before, "{link}");
    }
}
