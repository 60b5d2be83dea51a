//! `check --tree`: the tree of a commit in place of the files on disk.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::runs::{stderr, tenants};

/// The output file that the tests change.
const FILE: &str = "out/t/namespaces/tenant-0.yaml";

/// An id of no object.
const ABSENT: &str = "0123456789012345678901234567890123456789";

/// A workspace in a repository whose last commit has the output.
struct Site {
    folder: tempfile::TempDir,
    /// The path of the workspace below the root of the work tree.
    below: &'static str,
}

impl Site {
    fn new() -> Self {
        Self::of("", &[])
    }

    fn of(below: &'static str, init: &[&str]) -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a folder"), below };
        fs::create_dir_all(site.workspace()).expect("a folder");
        site.git(&[&["init", "-q"], init].concat());
        tenants(&site.workspace(), 2);
        assert!(site.run(&["render"]).status.success());
        site.commit();
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn workspace(&self) -> PathBuf {
        self.root().join(self.below)
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        fs::create_dir_all(self.root()).expect("a folder");
        let mut child = Command::new("git")
            .args(["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"])
            .args(["-c", "protocol.file.allow=always", "-c", "core.protectNTFS=false"])
            .args(arguments)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git is there");
        child.stdin.take().expect("a pipe").write_all(input).expect("git reads");
        let run = child.wait_with_output().expect("git ends");
        assert!(run.status.success(), "{arguments:?}: {}", stderr(&run));
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "all", "--allow-empty"]);
    }

    /// Commits an entry that is not on disk.
    fn commit_entry(&self, mode: &str, id: &str, path: &str) {
        self.git(&["update-index", "--add", "--replace", "--cacheinfo", &format!("{mode},{id},{path}")]);
        self.git(&["commit", "-qm", "entry"]);
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
        command.args(arguments).current_dir(self.workspace()).env("NO_COLOR", "1").env_remove("CI");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Returns the exit code of `check --tree HEAD`, and what it prints.
    fn check(&self, more: &[&str]) -> (Option<i32>, String) {
        told(&self.run(&[&["check", "--quiet", "--tree", "HEAD"], more].concat()))
    }
}

fn told(run: &Output) -> (Option<i32>, String) {
    (run.status.code(), format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(run)))
}

#[test]
fn the_commit_decides_and_not_the_disk() {
    let site = Site::new();
    let committed = fs::read(site.workspace().join(FILE)).expect("a file");
    let clean = (Some(0), String::new());
    for verify in [&[][..], &["--verify"]] {
        // Changes on disk: a file, a foreign file, and no output at all.
        site.write(FILE, "changed\n");
        site.write("out/t/foreign.yaml", "kind: Secret\n");
        assert_eq!(site.check(verify), clean);
        assert_eq!(site.run(&["check", "--quiet"]).status.code(), Some(2));
        fs::remove_dir_all(site.workspace().join("out")).expect("a folder");
        assert_eq!(site.check(verify), clean);
        // A pipe without a writer would stop a reader.
        assert!(Command::new("mkfifo").arg(site.workspace().join("out")).status().expect("mkfifo").success());
        assert_eq!(site.check(verify), clean);
        fs::remove_file(site.workspace().join("out")).expect("a pipe");
        site.git(&["checkout", "-q", "--", "out"]);
    }
    // A committed change that `render` has repaired on disk only.
    site.write(FILE, "# Made by Bailiwick. Do not edit: change the policies and run `bailiwick render`.\n");
    site.commit();
    site.write(FILE, committed);
    assert_eq!(site.run(&["check", "--quiet"]).status.code(), Some(0));
    for verify in [&[][..], &["--verify"]] {
        let (code, told) = site.check(verify);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("+++ b/out/t/namespaces/tenant-0.yaml\n"), "{told}");
    }
    let told = stderr(&site.run(&["check", "--tree", "HEAD"]));
    assert!(told.contains("run `bailiwick render`, and commit the output\n"), "{told}");
    let commit = site.git(&["rev-parse", "HEAD"]);
    assert!(told.contains(&format!("compared with the commit {commit}, and not with the files on disk\n")), "{told}");
}

/// A change of a workspace.
type Change = fn(&Site);

/// Changes of a workspace that are committed.
const CHANGES: &[(&str, Change)] = &[
    ("nothing", |_| {}),
    ("a changed file", |site| {
        let text = fs::read_to_string(site.workspace().join(FILE)).expect("a file");
        site.write(FILE, text.replace("tenant-0", "tenant-9"));
    }),
    ("a missing file", |site| fs::remove_file(site.workspace().join(FILE)).expect("a file")),
    ("no output", |site| fs::remove_dir_all(site.workspace().join("out")).expect("a folder")),
    ("an executable file", |site| {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.workspace().join(FILE), mode).expect("a mode");
    }),
    ("a file too many", |site| {
        let text = fs::read(site.workspace().join(FILE)).expect("a file");
        site.write("out/t/namespaces/more.yaml", text);
    }),
    ("a foreign file", |site| site.write("out/t/more.yaml", "kind: Secret\n")),
    ("a foreign file in a place", |site| site.write(FILE, "kind: Secret\n")),
    ("an empty file", |site| site.write(FILE, "")),
    ("names", |site| {
        site.write("out/t/a\"b.yaml", "");
        site.write("out/t/a\nb.yaml", "");
        site.write("out/t/a\u{202e}b.yaml", "");
    }),
    ("a link", |site| {
        fs::remove_file(site.workspace().join(FILE)).expect("a file");
        symlink("tenant-1.yaml", site.workspace().join(FILE)).expect("a link");
    }),
    ("a link too many", |site| symlink("/etc", site.workspace().join("out/t/cluster")).expect("a link")),
    ("a linked output folder", |site| {
        fs::rename(site.workspace().join("out"), site.workspace().join("real")).expect("a folder");
        symlink("real", site.workspace().join("out")).expect("a link");
    }),
    ("a linked target", |site| {
        fs::rename(site.workspace().join("out/t"), site.workspace().join("out/u")).expect("a folder");
        symlink("u", site.workspace().join("out/t")).expect("a link");
    }),
    ("a file for a target", |site| {
        fs::remove_dir_all(site.workspace().join("out/t")).expect("a folder");
        site.write("out/t", "kind: Secret\n");
    }),
    ("a target that is gone", |site| {
        let text = fs::read(site.workspace().join(FILE)).expect("a file");
        site.write("out/u/namespaces/tenant-0.yaml", text);
    }),
    ("a former output folder", |site| {
        let text = fs::read(site.workspace().join(FILE)).expect("a file");
        site.write("old/t/namespaces/tenant-0.yaml", text);
    }),
    ("another workspace", |site| {
        let text = fs::read(site.workspace().join(FILE)).expect("a file");
        site.write("inner/out/t/namespaces/tenant-0.yaml", text);
        let file = fs::read(site.workspace().join("bailiwick.yaml")).expect("a file");
        site.write("inner/bailiwick.yaml", file);
    }),
    ("a kept file", |site| {
        let text = fs::read_to_string(site.workspace().join("bailiwick.yaml")).expect("a file");
        site.write("bailiwick.yaml", format!("{text}  keep: [\"**\"]\n"));
        site.write("out/t/more.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n");
        site.write("out/t/notes.txt", "notes\n");
        site.write(
            "out/kustomization.yaml",
            "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: [t, gone]\n",
        );
    }),
    ("a wrong policy", |site| site.write("policies/wrong.yaml", "kind: Wrong\n")),
];

#[test]
fn a_checkout_and_its_commit_have_one_report() {
    for (number, (name, change)) in CHANGES.iter().enumerate() {
        let site = Site::of(if number % 2 == 0 { "" } else { "infra/access" }, &[]);
        change(&site);
        site.commit();
        let expected = told(&site.run(&["check", "--quiet"]));
        assert_eq!(site.check(&[]), expected, "{name}");
        assert_eq!(site.check(&["--verify"]), expected, "{name}, --verify");
        for form in ["json", "sarif"] {
            let form = ["check", "--quiet", "--format", form];
            let commit = [&form[..], &["--tree", "HEAD"]].concat();
            assert_eq!(told(&site.run(&commit)), told(&site.run(&form)), "{name}, {form:?}");
        }
    }
}

#[test]
fn entries_that_a_checkout_hides_are_reported() {
    for (mode, path, code, expected) in [
        ("160000", "out/t/more", 1, "error[folder-in-output]: `out/t/more` is a submodule\n"),
        ("160000", FILE, 1, "error[folder-in-output]: `out/t/namespaces/tenant-0.yaml` is a submodule\n"),
        ("160000", "out/t", 1, "error[folder-in-output]: `out/t` is a submodule\n"),
        ("160000", "out", 1, "error[folder-in-output]: `out` is a submodule\n"),
        ("160000", "out/u", 1, "error[folder-in-output]: `out/u` is a submodule\n"),
        (
            "100644",
            "Out/t/more.yaml",
            1,
            "`Out/t/more.yaml` is in the commit and differs from the output folder in its case",
        ),
        ("160000", "OUT", 1, "`OUT` is in the commit and differs from the output folder in its case alone\n"),
        ("100644", "out/.bailiwick-staging/t/a.yaml", 1, "is what a killed run left, and is committed\n"),
    ] {
        let site = Site::new();
        let id = if mode == "160000" { ABSENT.to_owned() } else { site.git(&["rev-parse", &format!("HEAD:{FILE}")]) };
        if path == "out" || path == "out/t" {
            site.git(&["rm", "-rq", "--cached", path]);
        }
        site.commit_entry(mode, &id, path);
        let (found, told) = site.check(&[]);
        assert!(found == Some(code) && told.contains(expected), "{mode} {path}: {found:?}: {told}");
    }
    let site = Site::of("infra/access", &[]);
    let id = site.git(&["rev-parse", &format!("HEAD:infra/access/{FILE}")]);
    for path in ["Infra/access/out/t/a.yaml", "infra/Access/Out/a.yaml", "INFRA/ACCESS/other"] {
        site.commit_entry("100644", &id, path);
    }
    let (code, told) = site.check(&[]);
    assert_eq!(code, Some(1), "{told}");
    for expected in ["`Infra` is in the commit", "`infra/Access` is in the commit", "2 errors\n"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

/// Returns the bytes of a tree with these entries.
fn tree(entries: &[(&str, &str, &str)]) -> Vec<u8> {
    let byte = |id: &str, at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("a byte");
    let entry = |(mode, name, id): &(&str, &str, &str)| {
        let id = (0..id.len()).step_by(2).map(|at| byte(id, at)).collect::<Vec<u8>>();
        [format!("{mode} {name}\0").as_bytes(), &id].concat()
    };
    entries.iter().flat_map(entry).collect()
}

#[test]
fn a_tree_that_readers_disagree_about_is_refused() {
    let site = Site::new();
    let good = site.git(&["rev-parse", "HEAD:out"]);
    let evil = site.git(&["rev-parse", "HEAD:policies"]);
    let ids = [("good", good.as_str()), ("evil", evil.as_str())];
    let id = |name: &str| ids.iter().find(|(known, _)| *known == name).expect("an id").1;
    let others: Vec<(String, String, String)> = site
        .git(&["ls-tree", "HEAD"])
        .lines()
        .filter(|line| !line.ends_with("\tout"))
        .map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .map(|found| (found[0].trim_start_matches('0').to_owned(), found[3].clone(), found[2].clone()))
        .collect();
    for outputs in [
        &[("40000", "out", "good"), ("40000", "out", "evil")][..],
        &[("40000", "out", "evil"), ("40000", "out", "good")],
        &[("40000", "zout", "evil"), ("40000", "out", "good")],
        &[("40000", "out/u", "evil"), ("40000", "out", "good")],
        &[("40000", "..", "evil"), ("40000", "out", "good")],
        &[("40000", "", "evil"), ("40000", "out", "good")],
    ] {
        let mut entries: Vec<(&str, &str, &str)> = Vec::new();
        let before = others.iter().filter(|(_, name, _)| name.as_str() < "out");
        entries.extend(before.map(|(mode, name, id)| (&**mode, &**name, &**id)));
        entries.extend(outputs.iter().map(|(mode, name, named)| (*mode, *name, id(named))));
        let after = others.iter().filter(|(_, name, _)| name.as_str() > "out");
        entries.extend(after.map(|(mode, name, id)| (&**mode, &**name, &**id)));
        let id = site.git_with(&["hash-object", "-t", "tree", "--literally", "-w", "--stdin"], &tree(&entries));
        let commit = site.git(&["commit-tree", &id, "-m", "odd"]);
        let run = site.run(&["check", "--quiet", "--tree", &commit]);
        let expected = format!("error: the folder `{commit}` is damaged in git\n");
        assert_eq!((run.status.code(), stderr(&run)), (Some(3), expected), "{outputs:?}");
    }
}

#[test]
fn an_object_with_the_bytes_of_another_is_refused() {
    for (path, code) in [("", 3), (":out/t/namespaces", 3), (":out/t/namespaces/tenant-0.yaml", 0)] {
        let site = Site::new();
        let other = site.git(&["rev-parse", "HEAD:policies"]);
        let id = match path {
            "" => site.git(&["rev-parse", "HEAD^{tree}"]),
            path => site.git(&["rev-parse", &format!("HEAD{path}")]),
        };
        let object = |id: &str| site.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
        fs::remove_file(object(&id)).expect("an object");
        fs::copy(object(&other), object(&id)).expect("an object");
        let (found, told) = site.check(&[]);
        assert_eq!(found, Some(code), "{path}: {told}");
        assert!(code == 0 || told.contains("is damaged in git: its bytes do not have its id\n"), "{path}: {told}");
        // The contents of the files are read with the option alone.
        assert_eq!(site.check(&["--verify"]).0, Some(3), "{path}");
    }
}

#[test]
fn a_revision_has_to_be_a_commit() {
    let site = Site::new();
    site.git(&["tag", "-a", "-m", "one", "one"]);
    site.git(&["tag", "-a", "-m", "two", "two", "one"]);
    let short = site.git(&["rev-parse", "--short", "HEAD"]);
    for revision in ["HEAD", "main", "refs/heads/main", "one", "two", &short, "HEAD^{/all}"] {
        let run = site.run(&["check", "--quiet", "--tree", revision]);
        assert_eq!(told(&run), (Some(0), String::new()), "{revision}");
    }
    let blob = site.git(&["rev-parse", &format!("HEAD:{FILE}")]);
    let output = site.git(&["rev-parse", "HEAD:out"]);
    for revision in [
        "nowhere",
        "",
        "--upload-pack=touch left",
        "-h",
        "HEAD..HEAD",
        "HEAD:out",
        "HEAD\nHEAD",
        "HEAD^{tree}",
        ":out",
        &blob,
        &output,
        ABSENT,
    ] {
        let run = site.run(&["check", "--quiet", &format!("--tree={revision}")]);
        assert_eq!(run.status.code(), Some(3), "{revision}: {}", stderr(&run));
        let told = stderr(&run);
        let shown = revision.replace('\n', "\\n");
        let expected = [
            format!("error: git has no revision `{shown}`\n"),
            format!("error: the repository lacks objects of `{shown}`\n"),
        ];
        assert!(expected.iter().any(|expected| told.starts_with(expected)), "{revision}: {told}");
    }
    assert!(!site.root().join("left").exists());
}

#[test]
fn each_form_of_a_repository_is_read() {
    let clean = (Some(0), String::new());
    assert_eq!(Site::of("", &["--object-format=sha256"]).check(&[]), clean);
    assert_eq!(Site::of("infra/access", &[]).check(&["--sandbox=auto"]), clean);
    let site = Site::new();
    site.git(&["gc", "-q"]);
    assert_eq!(site.check(&[]), clean, "packed");
    site.write(FILE, "changed\n");
    site.commit();
    for clone in [
        &["--depth=1"][..],
        &["--shared"],
        &["--filter=blob:none", "--sparse"],
        &["--no-checkout"],
        &["--separate-git-dir=../apart"],
    ] {
        let origin = format!("file://{}", site.root().display());
        let origin = if clone == ["--shared"] { site.root().display().to_string() } else { origin };
        site.git(&["config", "uploadpack.allowFilter", "true"]);
        site.git(&[&["clone", "-q"], clone, &[&origin, "../clone"]].concat());
        let root = site.folder.path().join("clone");
        let run = |arguments: &[&str]| {
            Command::new("git").args(arguments).current_dir(&root).status().expect("git is there").success()
        };
        match clone {
            ["--filter=blob:none", ..] => assert!(run(&["sparse-checkout", "set", "policies"])),
            ["--no-checkout"] => assert!(run(&["checkout", "-q", "HEAD", "--", "policies", "bailiwick.yaml"])),
            ["--separate-git-dir=../apart"] => assert!(run(&["config", "core.worktree", root.to_str().expect("text")])),
            _ => {}
        }
        let check = |revision: &str| {
            let tree = format!("--tree={revision}");
            told(&site.command(&["check", "--quiet", "--summary", &tree]).current_dir(&root).output().expect("starts"))
        };
        let (code, told) = check("HEAD");
        let is_partial = clone.len() == 2;
        // The changed file is not in the partial clone, and nothing is fetched.
        assert_eq!(code, Some(if is_partial { 3 } else { 2 }), "{clone:?}: {told}");
        assert!(!is_partial || told.starts_with("error: the repository lacks objects of `out/t/"), "{told}");
        match clone {
            ["--depth=1"] => assert!(check("HEAD~1").1.starts_with("error: git has no revision `HEAD~1`\n")),
            _ => assert_eq!(check("HEAD~1").0, Some(0), "{clone:?}"),
        }
        for left in ["clone", "apart"] {
            _ = fs::remove_dir_all(site.folder.path().join(left));
        }
    }
}

#[test]
fn what_a_repository_puts_in_place_of_objects_is_not_used() {
    let site = Site::new();
    let good = site.git(&["rev-parse", "HEAD"]);
    site.write(FILE, "changed\n");
    site.commit();
    let bad = site.git(&["rev-parse", "HEAD"]);
    site.git(&["replace", &bad, &good]);
    let (good_tree, bad_tree) = (format!("{good}^{{tree}}"), format!("{bad}^{{tree}}"));
    let ids = site.git(&["--no-replace-objects", "rev-parse", &good_tree, &bad_tree]);
    let (good_tree, bad_tree) = ids.split_once('\n').expect("two ids");
    site.git(&["replace", bad_tree, good_tree]);
    fs::write(site.root().join(".git/info/grafts"), format!("{bad}\n")).expect("a file");
    assert_eq!(site.check(&[]).0, Some(2));
    let other = Site::new();
    let git_dir = other.root().join(".git").display().to_string();
    let mut command = site.command(&["check", "--quiet", "--tree", "HEAD"]);
    command.env("GIT_DIR", &git_dir).env("GIT_OBJECT_DIRECTORY", format!("{git_dir}/objects"));
    let run = command.env("GIT_REPLACE_REF_BASE", "refs/heads/").output().expect("the program starts");
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
}

#[test]
fn a_missing_tree_is_an_error() {
    let site = Site::new();
    let id = site.git(&["rev-parse", "HEAD:out/t"]);
    fs::remove_file(site.root().join(".git/objects").join(&id[..2]).join(&id[2..])).expect("an object");
    let (code, told) = site.check(&[]);
    assert_eq!(code, Some(3));
    assert!(told.starts_with("error: the repository lacks objects of `out/t`\nhelp: nothing is fetched"), "{told}");
}

#[test]
fn attributes_that_change_a_checkout_are_reported() {
    let site = Site::of("infra/access", &[]);
    for (path, text, expected) in [
        (".gitattributes", "* text=auto eol=lf\n*.yml ident\n", None),
        (".gitattributes", "* eol=crlf\n/infra/access/out/** -text -ident !filter !working-tree-encoding\n", None),
        (".gitattributes", "*.yaml eol=crlf\n", Some("eol=crlf")),
        ("infra/.gitattributes", "access/out/** working-tree-encoding=UTF-16\n", Some("working-tree-encoding=UTF-16")),
        ("infra/access/.gitattributes", "[attr]mark ident\n", None),
        ("infra/access/.gitattributes", "out/t/*/tenant-1.yaml ident\n", Some("ident")),
        ("infra/access/policies/.gitattributes", "* ident\n", None),
    ] {
        fs::write(site.root().join(path), text).expect("a file");
        // Git would convert the files that it adds.
        site.git(&["add", "-A", ":(top,glob)**/.gitattributes"]);
        site.git(&["commit", "-qm", "attributes"]);
        let (code, told) = site.check(&[]);
        match expected {
            None => assert_eq!((code, told.as_str()), (Some(0), ""), "{text}"),
            Some(attribute) => {
                let expected = format!("has in git: its attribute is `{attribute}`\n");
                assert!(code == Some(1) && told.contains(&expected), "{text}: {told}");
                assert!(told.contains("`/infra/access/out/** -text -ident !filter !working-tree-encoding`"), "{told}");
            }
        }
        fs::remove_file(site.root().join(path)).expect("a file");
    }
    // Attributes on disk alone change nothing, and neither does a link in the commit.
    symlink("policies/tenants.csv", site.workspace().join(".gitattributes")).expect("a link");
    fs::write(site.root().join(".gitattributes"), "* ident\n").expect("a file");
    site.git(&["add", "infra"]);
    site.git(&["commit", "-qm", "a link"]);
    assert_eq!(site.check(&[]), (Some(0), String::new()));
    let many = "*a*b*c*d.yaml ident\n".repeat(60_000);
    fs::write(site.root().join(".gitattributes"), many).expect("a file");
    site.commit();
    let told = "error: `.gitattributes` has 1 MiB in git\nhelp: at most 1 MiB are read\n";
    assert_eq!(site.check(&[]), (Some(3), told.to_owned()));
}

#[test]
fn ci_checks_its_commit() {
    let site = Site::new();
    let check = |folder: &Path, ci: Option<&str>, more: &[&str]| {
        let mut command = site.command(&[&["check", "--sandbox=off"], more].concat());
        command.current_dir(folder).envs(ci.map(|ci| ("CI", ci)));
        told(&command.output().expect("the program starts"))
    };
    let root = site.root();
    // A job that renders and does not commit.
    fs::write(root.join("policies/tenants.csv"), crate::runs::accounts([0, 1, 2])).expect("a file");
    assert!(site.run(&["render"]).status.success());
    for (ci, more, code) in [
        (None, &[][..], 0),
        (Some("false"), &[], 0),
        (Some(""), &[], 0),
        (Some("true"), &["--work-tree"], 0),
        (Some("true"), &[], 1),
        (Some("1"), &["--verify"], 1),
        (Some("true"), &["--tree", "HEAD"], 1),
    ] {
        let (found, told) = check(&root, ci, more);
        assert_eq!(found, Some(code), "{ci:?} {more:?}: {told}");
        let changed = "note: the files on disk are compiled, and these are not as in `HEAD`: `policies/tenants.csv`\n";
        assert_eq!(told.contains(changed), code == 1, "{ci:?} {more:?}: {told}");
    }
    assert_eq!(check(&root, None, &["--tree", "HEAD", "--work-tree"]).0, Some(2));
    assert_eq!(check(&root, None, &["--tree", "HEAD", "--watch"]).0, Some(2));
    // Without a repository, as in an unpacked archive, the fallback is named.
    let archive = site.folder.path().join("archive");
    tenants(&archive, 1);
    let render = site.command(&["render"]).current_dir(&archive).output().expect("the program starts");
    assert!(render.status.success());
    let note = "note: this workspace is not in a git repository: the files on disk are checked\n";
    let (code, told) = check(&archive, Some("true"), &["--quiet"]);
    assert_eq!((code, told.as_str()), (Some(0), note));
    let (code, told) = check(&archive, None, &["--tree", "HEAD"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("error: this workspace is not in a git repository\n"), "{told}");
    // A repository without the commit, or that git does not read, is no reason to check something else.
    assert!(Command::new("git").args(["init", "-q"]).current_dir(&archive).status().expect("git").success());
    let (code, told) = check(&archive, Some("true"), &[]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("error: git has no revision `HEAD`\n"), "{told}");
    assert!(told.contains("; `--work-tree` checks the files on disk\n"), "{told}");
}

#[test]
fn parts_are_of_one_commit() {
    let site = Site::new();
    let commit = site.git(&["rev-parse", "HEAD"]);
    site.git(&["commit", "-qm", "next", "--allow-empty"]);
    fs::remove_dir_all(site.workspace().join("out")).expect("a folder");
    let part = |number: usize, more: &[&str]| {
        let (shard, file) = (format!("{number}/2"), format!("../part-{number}"));
        let arguments = ["check", "--quiet", "--shard", &shard, "--summary-to", &file];
        assert!(site.run(&[&arguments[..], more].concat()).status.code() < Some(2));
    };
    let merge = || told(&site.run(&["merge", "--quiet", "../part-1", "../part-2"]));
    part(1, &["--tree", "HEAD"]);
    for (other, code) in [(&["--tree", "main"][..], 0), (&["--tree", &commit], 2), (&[], 2)] {
        part(2, other);
        assert_eq!(merge().0, Some(code), "{other:?}: {}", merge().1);
    }
}
