//! Entries below the output folder that belong to no policy.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bailiwick::emit::file::HEADER;

use crate::runs::{snapshot, tenants};

mod indexes;

/// The file of a tenant.
const FILE: &str = "out/t/namespaces/tenant-0.yaml";

/// An object of no policy.
const EVIL: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: evil\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: cluster-admin\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: mallory\n";

/// The former header, with a checksum that looks like a right checksum.
const FORMER: &str = "# Made by Bailiwick from policies/tenants.yaml. Do not edit: change those and run `bailiwick render`.\n# Checksum of the rest: 00000000000000000000000000000000\n";

/// A way to alter a checkout.
struct Tampering {
    name: String,
    /// The output of `check`.
    shown: String,
    alter: Box<dyn Fn(&Path)>,
}

fn row(name: &str, shown: &str, alter: impl Fn(&Path) + 'static) -> Tampering {
    Tampering { name: name.to_owned(), shown: shown.to_owned(), alter: Box::new(alter) }
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
    fs::write(place, content).expect("a file");
}

/// Adds a file.
fn add(path: &'static str, content: impl AsRef<[u8]> + 'static) -> Tampering {
    row(&format!("a new file {path}"), path, move |root| write(root, path, &content))
}

/// Adds a file that `spec.keep` names.
fn keep(path: &'static str, content: impl AsRef<[u8]> + 'static) -> Tampering {
    row(&format!("a kept file {path}"), path, move |root| {
        keep_all(root);
        write(root, path, &content);
    })
}

fn keep_all(root: &Path) {
    let path = root.join("bailiwick.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(path, text.replace("spec:\n", "spec:\n  keep: [\"**\"]\n")).expect("a file");
}

/// Changes the text of a tenant's file; the time of the file stays.
fn change(name: &str, change: impl Fn(String) -> String + 'static) -> Tampering {
    bytes(name, move |old| change(String::from_utf8(old).expect("text")).into_bytes())
}

fn bytes(name: &str, change: impl Fn(Vec<u8>) -> Vec<u8> + 'static) -> Tampering {
    row(name, FILE, move |root| {
        let path = root.join(FILE);
        let time = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
        let old = fs::read(&path).expect("a file");
        let new = change(old.clone());
        assert_ne!(old, new, "something changes");
        fs::write(&path, new).expect("a file");
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(time)).expect("its time");
    })
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let who = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "protocol.file.allow=always"];
    let run = Command::new("git").args(who).args(arguments).current_dir(root).output().expect("git is there");
    assert!(run.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

/// Puts a submodule into the index, without its content.
fn gitlink(path: &'static str, version: &'static str) -> Tampering {
    row(&format!("a submodule {path} in an index of version {version}"), path, move |root| {
        let commit = git(root, &["rev-parse", "HEAD"]);
        git(root, &["update-index", "--index-version", version]);
        git(root, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
    })
}

fn flagged(flag: &'static str) -> Tampering {
    row(flag, FILE, move |root| {
        git(root, &["update-index", flag, FILE]);
    })
}

fn added() -> Vec<Tampering> {
    let ours = format!("{HEADER}{EVIL}");
    let former = format!("{FORMER}{EVIL}");
    let mut rows = vec![
        add("out/t/namespaces/evil.yaml", ours.clone()),
        add("out/t/cluster/clusterrolebinding.yaml", ours.clone()),
        add("out/t/cluster/evil.yaml", former.clone()),
        add("out/t/namespaces/00/evil.yaml", ours.clone()),
        add("out/t/namespaces/tenant-0.yml", ours.clone()),
        add("out/t/namespaces/tenant-0.YAML", ours.clone()),
        add("out/t/namespaces/Tenant-0.yaml", ours.clone()),
        add("out/t/Namespaces/evil.yaml", ours.clone()),
        add("out/t/namespaces/.evil.yaml", ours.clone()),
        add("out/t/.hidden/evil.yaml", ours.clone()),
        add("out/t/evil.yaml", ours.clone()),
        add("out/evil.yaml", ours.clone()),
        add("out/t/namespaces/deeper/evil.yaml", ours.clone()),
        add("out/T/namespaces/evil.yaml", EVIL),
        add("out/t/namespaces/foreign.yaml", EVIL),
        add("out/t/namespaces/empty.yaml", ""),
        add("out/t/namespaces/zeros.yaml", [0; 512]),
        add("out/t/namespaces/evil.json", r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}}"#),
        add("out/t/kustomization.yaml", "resources: [https://example.com/evil]\n"),
        add("out/t/Kustomization", "resources: [namespaces]\n"),
        add("out/t/Chart.yaml", "apiVersion: v2\nname: evil\nversion: 1.0.0\n"),
        add("out/t/templates/evil.yaml", EVIL),
        add("out/t/evil.jsonnet", "{}"),
        add("out/t/.argocd-source.yaml", "kustomize: {namePrefix: x}\n"),
        add("out/t/.sourceignore", "*\n"),
        add("out/t/.gitattributes", "* filter=x\n"),
        add("out/t/.git/config", "[core]\n"),
        add("out/t/README.md", "nothing\n"),
        add("out/.bailiwick-staging/t/evil.yaml", ours.clone()),
        add("out/t/.bailiwick-staging/evil.yaml", ours.clone()),
        add("old/t/namespaces/evil.yaml", ours.clone()),
        add("old/evil.YML", format!("<<<<<<< ours\n{former}")),
    ];
    rows[28].shown = "out/.bailiwick-staging".to_owned();
    rows
}

fn kept() -> Vec<Tampering> {
    let ours = format!("{HEADER}{EVIL}");
    vec![
        keep("out/t/evil.yaml", EVIL),
        keep("out/evil.yaml", ours.clone()),
        keep("out/t/namespaces/evil.yaml", EVIL),
        keep("out/t/namespaces/ours.yaml", ours.clone()),
        keep("out/t/cluster/evil.json", r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}}"#),
        keep("out/t/notes.txt", EVIL),
        keep("out/t/list.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
        keep("out/t/untyped.yaml", "items: []\n"),
        keep("out/t/values.yaml", "a: b\n"),
        keep("out/t/text.yml", "hello\n"),
        keep("out/t/empty.json", ""),
        keep("out/t/MyChart.yaml", ""),
        keep("out/t/kustomization.yaml", "resources: []\n"),
        keep("out/t/kustomization.yaml", "resources: [namespaces/tenant-0.yaml]\n"),
        keep("out/t/kustomization.yaml", "resources: [namespaces]\n"),
        keep("out/kustomization.yaml", "resources: [t]\n"),
        keep("out/t/.hidden.yaml", format!("a: b\n---\n{EVIL}")),
        keep("out/t/anchors.yaml", "a: &a {b: c}\n<<: *a\napiVersion: v1\nkind: Namespace\nmetadata: {name: evil}\n"),
        keep("out/t/torn.yaml", "apiVersion: v1\nkind: [\n"),
        keep("out/t/utf16.yaml", [0xff, 0xfe, b'a', 0, b':', 0]),
        keep("out/t/Chart.yaml", "apiVersion: v2\nname: evil\nversion: 1.0.0\n"),
        keep("out/t/.argocd-source-t.yaml", "directory: {recurse: true}\n"),
        keep("out/t/evil.jsonnet", "{}"),
        keep("out/t/kustomization.yaml", "resources: [namespaces, ../../policies]\n"),
        keep("out/t/kustomization.yml", "resources: [github.com/example/evil]\n"),
        keep("out/t/Kustomization", "resources: [namespaces]\nnamePrefix: x\n"),
        row("a kept link", "out/t/link.yaml", |root| {
            keep_all(root);
            symlink("../../policies/tenants.yaml", root.join("out/t/link.yaml")).expect("a link");
        }),
        row("kept files and a target that is gone", "gone", |root| {
            keep_all(root);
            write(root, "out/gone/namespaces/evil.yaml", format!("{HEADER}{EVIL}"));
        }),
    ]
}

fn changed() -> Vec<Tampering> {
    vec![
        change("another verb", |text| text.replacen("- use", "- get", 1)),
        change("an extra object", |text| format!("{text}---\n{EVIL}")),
        change("an object before the others", |text| text.replacen(HEADER, &format!("{HEADER}{EVIL}---\n"), 1)),
        change("an object less", |text| text.rsplit_once("---\n").expect("objects").0.to_owned()),
        change("a line less", |text| text.rsplit_once('\n').expect("lines").0.to_owned()),
        change("the order of the objects", |text| {
            let (first, rest) = text.strip_prefix(HEADER).expect("a header").split_once("---\n").expect("objects");
            format!("{HEADER}{rest}---\n{first}")
        }),
        change("the former header", |text| text.replacen(HEADER, FORMER, 1)),
        change("the former header and another verb", |text| {
            text.replacen(HEADER, FORMER, 1).replacen("- use", "- get", 1)
        }),
        change("no header", |text| text.replacen(HEADER, "", 1)),
        change("a comment", |text| text.replacen(HEADER, &format!("{HEADER}# a comment\n"), 1)),
        change("an object behind U+2028 in a comment", |text| {
            text.replacen(HEADER, &format!("{HEADER}# a\u{2028}kind: X\u{2028}---\n"), 1)
        }),
        change("a directive", |text| text.replacen(HEADER, &format!("{HEADER}%YAML 1.1\n---\n"), 1)),
        change("an anchor and an alias", |text| text.replacen("metadata:\n", "metadata: &a\n", 1)),
        change("a tag", |text| text.replacen("kind: ", "kind: !!str ", 1)),
        change("a duplicate key", |text| text.replacen("kind: Namespace\n", "kind: Namespace\nkind: Namespace\n", 1)),
        change("CRLF", |text| text.replace('\n', "\r\n")),
        change("CR", |text| text.replace('\n', "\r")),
        change("a byte order mark", |text| format!("\u{feff}{text}")),
        change("trailing spaces", |text| text.replacen("metadata:\n", "metadata: \n", 1)),
        change("a trailing line feed", |text| format!("{text}\n")),
        change("an empty trailing document", |text| format!("{text}---\n")),
        change("the end of the documents and more", |text| format!("{text}...\n{EVIL}")),
        change("a tab", |text| text.replacen("name: tenant-0", "name:\ttenant-0", 1)),
        change("a zero byte at the end", |text| format!("{text}\0")),
        change("the same size and time", |text| text.replacen("tenant-0", "tenant-9", 1)),
        bytes("zero bytes only", |bytes| vec![0; bytes.len()]),
        bytes("nothing", |_| Vec::new()),
        bytes("half the file", |bytes| bytes[..bytes.len() / 2].to_vec()),
        bytes("part of the header", |bytes| bytes[..20].to_vec()),
        bytes("UTF-16", |bytes| [vec![0xff, 0xfe], bytes.iter().flat_map(|byte| [*byte, 0]).collect()].concat()),
        bytes("a conflict", |bytes| [b"<<<<<<< HEAD\n", bytes.as_slice(), b"=======\n>>>>>>> x\n"].concat()),
    ]
}

/// Moves the former output into a folder with a workspace file, after the output is written elsewhere.
fn nested(name: &str, file: &'static str) -> Tampering {
    let shown = "`old/out/t/namespaces/tenant-0.yaml` is an output";
    row(&format!("a former output folder below {name}"), shown, move |root| {
        move_output(root);
        fs::create_dir(root.join("old")).expect("a folder");
        fs::rename(root.join("out"), root.join("old/out")).expect("a rename");
        write(root, "old/bailiwick.yaml", file);
    })
}

/// The beginning of a workspace file.
macro_rules! workspace {
    ($spec:literal) => {
        concat!("apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: old}\nspec:\n", $spec)
    };
}

/// Writes the output to another folder, and leaves the former one.
fn move_output(root: &Path) {
    let path = root.join("bailiwick.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(path, text.replace("spec:\n", "spec:\n  output: deploy\n")).expect("a file");
    let status = program(root, &["render"]).status;
    assert!(status.success(), "the output is written elsewhere");
}

fn moved() -> Vec<Tampering> {
    let rename = |from: &'static str, to: &'static str, shown: &'static str| {
        row(&format!("{from} becomes {to}"), shown, move |root| {
            fs::rename(root.join(from), root.join(to)).expect("a rename");
        })
    };
    vec![
        rename(FILE, "out/t/namespaces/tenant-7.yaml", "tenant-7.yaml"),
        rename(FILE, "out/t/tenant-0.yaml", "out/t/tenant-0.yaml"),
        rename("out/t/namespaces", "out/t/namespace", "out/t/namespace/"),
        rename("out/t", "out/u", FILE),
        rename("out", "former", "former/t/namespaces/tenant-0.yaml"),
        row("two files in each other's place", FILE, |root| {
            let other = root.join("out/t/namespaces/tenant-1.yaml");
            fs::rename(root.join(FILE), root.join("x")).expect("a rename");
            fs::rename(&other, root.join(FILE)).expect("a rename");
            fs::rename(root.join("x"), other).expect("a rename");
        }),
        row("a file is gone", FILE, |root| fs::remove_file(root.join(FILE)).expect("a file")),
        row("the output is gone", FILE, |root| fs::remove_dir_all(root.join("out")).expect("a folder")),
        row("a folder in the place of a file", FILE, |root| {
            fs::remove_file(root.join(FILE)).expect("a file");
            write(root, "out/t/namespaces/tenant-0.yaml/evil.yaml", EVIL);
        }),
    ]
}

fn left_in_former_folders() -> Vec<Tampering> {
    vec![
        row("another output folder", "`out/t/namespaces/tenant-0.yaml` is an output file outside", move_output),
        row(
            "another output folder, a workspace in the former",
            "`out/t/namespaces/tenant-0.yaml` is an output",
            |root| {
                move_output(root);
                fs::copy(root.join("bailiwick.yaml"), root.join("out/bailiwick.yaml")).expect("a copy");
            },
        ),
        nested("an empty workspace file", ""),
        nested("a workspace file that is no YAML", "spec: ["),
        nested("a workspace file of another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        nested("a workspace file without targets", workspace!("  targets: []\n")),
        nested("a workspace of another target", workspace!("  targets: [{name: u, version: \"1.21\"}]\n")),
        nested(
            "a workspace with output elsewhere",
            workspace!("  output: deploy\n  targets: [{name: t, version: \"1.21\"}]\n"),
        ),
        nested(
            "a workspace whose output is a target",
            workspace!("  output: out/t\n  targets: [{name: namespaces, version: \"1.21\"}]\n"),
        ),
        row(
            "a former output folder below a link to a workspace file",
            "`old/out/t/namespaces/tenant-0.yaml`",
            |root| {
                move_output(root);
                fs::create_dir(root.join("old")).expect("a folder");
                fs::rename(root.join("out"), root.join("old/out")).expect("a rename");
                symlink("../bailiwick.yaml", root.join("old/bailiwick.yaml")).expect("a link");
            },
        ),
        row("files that a workspace cannot have written", "`old/out/t/tenant-0.yaml` is an output", |root| {
            (nested("", workspace!("  targets: [{name: t, version: \"1.21\"}]\n")).alter)(root);
            let from = root.join("old/out/t/namespaces/tenant-0.yaml");
            fs::rename(from, root.join("old/out/t/tenant-0.yaml")).expect("a rename");
        }),
        row("a fixture that is not one", "`old/t/namespaces/tenant-0.yaml` is an output", |root| {
            copy(&root.join("out"), &root.join("old"));
            let path = root.join("bailiwick.yaml");
            let text = fs::read_to_string(&path).expect("a file");
            fs::write(path, text.replace("spec:\n", "spec:\n  fixtures: [\"old/*\", \"older/**\"]\n")).expect("a file");
        }),
    ]
}

fn empty_folders() -> Vec<Tampering> {
    vec![
        row("an empty folder", "out/t/more", |root| fs::create_dir(root.join("out/t/more")).expect("a folder")),
        row("an empty folder beside the targets", "out/more/deep", |root| {
            fs::create_dir_all(root.join("out/more/deep")).expect("a folder");
        }),
        row("an empty folder where the layout has files", "out/t/cluster", |root| {
            fs::create_dir(root.join("out/t/cluster")).expect("a folder");
        }),
    ]
}

fn special() -> Vec<Tampering> {
    let link = |target: &'static str, path: &'static str| {
        row(&format!("a link {path}"), path, move |root| {
            let place = root.join(path);
            if place.is_dir() {
                fs::rename(&place, root.join("moved")).expect("a rename");
            } else if place.exists() {
                fs::copy(&place, root.join("moved")).expect("a copy");
                fs::remove_file(&place).expect("a file");
            }
            symlink(target, place).expect("a link");
        })
    };
    vec![
        link("../../../moved", FILE),
        link("../../moved", "out/t/namespaces"),
        link("../moved", "out/t"),
        link("moved", "out"),
        link("/etc", "out/t/etc"),
        link("nowhere", "out/t/namespaces/dangling.yaml"),
        link(".", "out/t/loop"),
        row("a pipe", "out/t/pipe.yaml", |root| {
            assert!(Command::new("mkfifo").arg(root.join("out/t/pipe.yaml")).status().expect("mkfifo").success());
        }),
        row("a pipe in the place of a file", FILE, |root| {
            fs::remove_file(root.join(FILE)).expect("a file");
            assert!(Command::new("mkfifo").arg(root.join(FILE)).status().expect("mkfifo").success());
        }),
        row("a socket", "out/t/socket.yaml", |root| {
            // The name of a socket is short.
            let place = std::env::temp_dir().join(format!("bailiwick-{}.socket", std::process::id()));
            let _ = fs::remove_file(&place);
            std::os::unix::net::UnixListener::bind(&place).expect("a socket");
            let moved = Command::new("mv").arg(&place).arg(root.join("out/t/socket.yaml")).status();
            assert!(moved.expect("mv").success());
        }),
        row("a name that is not UTF-8", "evil\\xff.yaml", |root| {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"evil\xff.yaml");
            fs::write(root.join("out/t").join(name), EVIL).expect("a file");
        }),
    ]
}

fn in_git() -> Vec<Tampering> {
    let mut rows = vec![
        gitlink("out/t/sub", "2"),
        gitlink("out/t/sub", "3"),
        gitlink("out/t/sub", "4"),
        gitlink("out/sub", "4"),
        gitlink("out/t/namespaces/sub", "2"),
        flagged("--assume-unchanged"),
        flagged("--skip-worktree"),
        row("an index that is split", "split", |root| {
            git(root, &["update-index", "--split-index"]);
        }),
        row("an index that is cut off", "index", |root| {
            let path = root.join(".git/index");
            let bytes = fs::read(&path).expect("an index");
            fs::write(path, &bytes[..bytes.len() - 30]).expect("an index");
        }),
        row("a sparse index", "out/t/hidden", |root| {
            write(root, "out/t/hidden/evil.yaml", EVIL);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "two"]);
            git(root, &["sparse-checkout", "set", "--cone", "--sparse-index", "policies", "out/t/namespaces"]);
            assert!(!root.join("out/t/hidden").exists(), "it is not checked out");
        }),
        row("a file that is not checked out", "out/t/hidden/evil.yaml", |root| {
            write(root, "out/t/hidden/evil.yaml", EVIL);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "two"]);
            git(root, &["sparse-checkout", "set", "--no-cone", "/*", "!/out/t/hidden/"]);
            assert!(!root.join("out/t/hidden").exists(), "it is not checked out");
        }),
    ];
    rows.push(row("the output in another case, in the index", "OUT/t/evil.yaml", |root| {
        write(root, "OUT/t/evil.yaml", EVIL);
        git(root, &["add", "-A"]);
    }));
    rows
}

/// A submodule below the output folder, in the index.
const SUBMODULE: &str = "out/t/sub";

/// Returns a path beside the work tree at which nothing lies.
fn beside(root: &Path, name: &str) -> PathBuf {
    let place = root.with_file_name(name);
    let _ = fs::remove_dir_all(&place);
    place
}

/// Makes another repository beside the work tree, whose index holds the honest files alone, and returns its folder.
fn other_repository(root: &Path) -> PathBuf {
    let other = beside(root, "other");
    copy(root, &other);
    other.join(".git")
}

/// Moves the repository, with a submodule in its index, out of the work tree.
fn moved_repository(root: &Path) -> PathBuf {
    (gitlink(SUBMODULE, "2").alter)(root);
    let moved = beside(root, "moved.git");
    fs::rename(root.join(".git"), &moved).expect("a rename");
    moved
}

/// Puts something in the place of the repository. `make` gets the work tree and the path of its `.git`.
fn swap(name: &str, shown: &str, make: impl Fn(&Path, &Path) + 'static) -> Tampering {
    row(name, shown, move |root| make(root, &root.join(".git")))
}

fn name_repository(entry: &Path, repository: &Path) {
    fs::write(entry, format!("gitdir: {}\n", repository.display())).expect("a file");
}

fn swapped() -> Vec<Tampering> {
    let refused = "is not used as a git repository: ";
    vec![
        swap("a `.git` file that names the repository of another work tree", refused, |root, entry| {
            let other = other_repository(root);
            moved_repository(root);
            name_repository(entry, &other);
        }),
        swap("a `.git` link to the repository of another work tree", refused, |root, entry| {
            let other = other_repository(root);
            moved_repository(root);
            symlink(other, entry).expect("a link");
        }),
        swap("a `.git` file that names a linked work tree of another folder", refused, |root, entry| {
            let other = beside(root, "linked");
            git(root, &["worktree", "add", "-q", &other.display().to_string(), "HEAD"]);
            let moved = moved_repository(root);
            name_repository(entry, &moved.join("worktrees/linked"));
        }),
        swap("a `.git` file that names the repository of a submodule elsewhere", refused, |root, entry| {
            let other = other_repository(root);
            git(other.parent().expect("a folder"), &["config", "core.worktree", "../../elsewhere"]);
            moved_repository(root);
            name_repository(entry, &other);
        }),
        swap("a `.git` file that names a repository of no work tree", refused, |root, entry| {
            let moved = moved_repository(root);
            name_repository(entry, &moved);
        }),
        swap("a `.git` link to a repository of no work tree", refused, |root, entry| {
            let moved = moved_repository(root);
            symlink(moved, entry).expect("a link");
        }),
        swap("a `.git` file that names the repository, and it this work tree", SUBMODULE, |root, entry| {
            let moved = moved_repository(root);
            name_repository(entry, &moved);
            git(root, &["config", "core.worktree", &root.display().to_string()]);
        }),
        swap("a repository of another work tree", refused, |root, _| {
            (gitlink(SUBMODULE, "2").alter)(root);
            git(root, &["config", "core.worktree", "../../other"]);
        }),
        swap("a `.git` file that names nothing", "`", |_, entry| {
            fs::remove_dir_all(entry).expect("a folder");
            fs::write(entry, "gitdir: \n").expect("a file");
        }),
        swap("an empty `.git` folder", refused, |_, entry| {
            fs::remove_dir_all(entry).expect("a folder");
            fs::create_dir(entry).expect("a folder");
        }),
        swap("no repository, and the folder of a submodule", SUBMODULE, |root, entry| {
            fs::create_dir(root.join(SUBMODULE)).expect("a folder");
            fs::remove_dir_all(entry).expect("a folder");
        }),
        swap("no repository, and another file", "out/t/evil.yaml", |root, entry| {
            write(root, "out/t/evil.yaml", EVIL);
            fs::remove_dir_all(entry).expect("a folder");
        }),
    ]
}

fn program(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .current_dir(root)
        .env("NO_COLOR", "1")
        .env_remove("CI")
        .output()
        .expect("the program starts")
}

/// Copies a folder with the times of its files.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp").success());
}

/// Every way of altering a checkout, one by one.
#[test]
fn every_alteration_of_the_output_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (honest, root) = (path("honest"), path("work"));
    fs::create_dir(&root).expect("a folder");
    tenants(&root, 2);
    git(&root, &["init", "-q"]);
    assert!(program(&root, &["render"]).status.success());
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "one"]);
    for arguments in [["check"].as_slice(), &["check", "--verify"]] {
        let run = program(&root, arguments);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    copy(&root, &honest);
    let rows: Vec<Tampering> = [
        added(),
        kept(),
        changed(),
        moved(),
        left_in_former_folders(),
        empty_folders(),
        special(),
        in_git(),
        swapped(),
        indexes::indexes(),
        indexes::damaged_indexes(),
        indexes::in_sha256(),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let mut failures = Vec::new();
    for row in &rows {
        copy(&honest, &root);
        (row.alter)(&root);
        for arguments in [["check"].as_slice(), &["check", "--verify"]] {
            let run = program(&root, arguments);
            let told = [run.stdout, run.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            if !matches!(run.status.code(), Some(1..=3)) || !told.contains(&row.shown) {
                failures.push(format!("{}: {arguments:?} ends with {:?}\n{told}", row.name, run.status.code()));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), 2 * rows.len(), failures.join("\n"));
}

/// A repository that is elsewhere and names its work tree, one without commits, and an index without a checksum.
#[test]
fn honest_repositories_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("work");
    fs::create_dir(&root).expect("a folder");
    tenants(&root, 2);
    assert!(program(&root, &["render"]).status.success());
    let passes = |root: &Path, which: &str| {
        let run = program(root, &["check"]);
        assert!(run.status.success(), "{which}: {}", String::from_utf8_lossy(&run.stderr));
    };
    for format in ["sha1", "sha256"] {
        git(&root, &["init", "-q", &format!("--object-format={format}")]);
        passes(&root, "nothing is added yet");
        git(&root, &["add", "-A"]);
        passes(&root, "nothing is committed yet");
        git(&root, &["commit", "-qm", "one"]);
        for version in ["2", "3", "4"] {
            git(&root, &["update-index", "--index-version", version]);
            passes(&root, version);
        }
        git(&root, &["-c", "index.skipHash=true", "update-index", "--force-write-index"]);
        passes(&root, "no checksum");
        let linked = folder.path().join(format!("linked-{format}"));
        git(&root, &["worktree", "add", "-q", &linked.display().to_string(), "HEAD"]);
        passes(&linked, "a linked work tree");
        git(&linked, &["sparse-checkout", "set", "--no-cone", "/*"]);
        passes(&linked, "with settings of its own");
        let outer = folder.path().join(format!("outer-{format}"));
        git(folder.path(), &["init", "-q", &format!("--object-format={format}"), &outer.display().to_string()]);
        git(&outer, &["submodule", "add", "-q", &root.display().to_string(), "inner"]);
        passes(&outer.join("inner"), "a submodule");
        git(&outer.join("inner"), &["sparse-checkout", "set", "--no-cone", "/*"]);
        passes(&outer.join("inner"), "a submodule with settings of its own");
        let moved = folder.path().join(format!("{format}.git"));
        fs::rename(root.join(".git"), &moved).expect("a rename");
        name_repository(&root.join(".git"), &moved);
        git(&root, &["config", "core.worktree", &root.display().to_string()]);
        passes(&root, "a repository elsewhere");
        fs::remove_file(root.join(".git")).expect("a file");
    }
}

/// Another workspace below this one has output of its own, and tests have output without an applier. Both are noted.
#[test]
fn output_that_is_not_checked_is_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("work");
    fs::create_dir(&root).expect("a folder");
    tenants(&root, 2);
    assert!(program(&root, &["render"]).status.success());
    let notes = |expected: &str| {
        let run = program(&root, &["check"]);
        let printed = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{printed}");
        let notes: String = printed.split_inclusive('\n').filter(|line| line.starts_with("not checked")).collect();
        assert_eq!(notes, expected);
    };
    notes("");
    tenants(&root.join("a"), 2);
    assert!(program(&root.join("a"), &["render"]).status.success());
    notes("not checked here: 2 output files of the workspace `a`\n");
    for number in 0..6 {
        copy(&root.join("a"), &root.join(format!("b{number}")));
    }
    notes("not checked here: 14 output files of the workspaces `a`, `b0`, `b1`, `b2`, `b3` and 2 more\n");
    copy(&root.join("out"), &root.join("tests"));
    assert_eq!(program(&root, &["check"]).status.code(), Some(1));
    let path = root.join("bailiwick.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(path, text.replace("spec:\n", "spec:\n  fixtures: [\"tests/**\", \"b?/**\"]\n")).expect("a file");
    notes("not checked here: 2 output files of the workspace `a`\nnot checked: 14 output files, by `spec.fixtures`\n");
}

/// Files that no applier applies are allowed in the output folder.
#[test]
fn harmless_files_may_be_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("work");
    fs::create_dir(&root).expect("a folder");
    tenants(&root, 2);
    keep_all(&root);
    write(&root, "out/README.md", "Made by Bailiwick: see `policies/`.\n");
    write(&root, "out/.gitkeep", "");
    write(&root, "out/t/CODEOWNERS", "* @example/team\n");
    write(&root, "out/t/comment.yaml", "# nothing\n");
    write(&root, "out/t/cloudbuild.png", [0x89, b'P', b'N', b'G']);
    // Objects that the policies know.
    write(&root, "out/t/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: tenant-0}\n");
    let manifests = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: extra}\nspec:\n  files: [../out/t/extra.yaml]\n  emit: false\n";
    write(&root, "policies/extra.yaml", manifests);
    assert!(program(&root, &["render"]).status.success());
    // A Kustomization with every compiled file.
    let compiled = snapshot(&root.join("out/t")).into_iter().map(|(path, _)| path).filter(|path| path.contains('/'));
    let resources: String = compiled.map(|path| format!("- ./{path}\n")).collect();
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
    write(&root, "out/t/kustomization.yaml", format!("{head}{resources}"));
    let run = program(&root, &["check"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// The folder of new contents belongs to the run that holds the lock.
#[test]
fn a_run_at_work_may_have_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 1);
    assert!(program(root, &["render"]).status.success());
    fs::create_dir(root.join("out/.bailiwick-staging")).expect("a folder");
    let lock = fs::File::open(root.join("out")).expect("a folder");
    lock.lock().expect("a lock");
    assert_eq!(program(root, &["check"]).status.code(), Some(0));
    drop(lock);
    assert_eq!(program(root, &["check"]).status.code(), Some(1));
}
