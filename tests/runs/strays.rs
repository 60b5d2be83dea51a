//! Foreign entries in the output folder: nothing is read through them or written through them, and no run waits for
//! them.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{bailiwick, snapshot, stderr, tenants};

/// Returns a workspace with the output of three tenants.
fn rendered() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 3);
    let run = bailiwick(folder.path(), &["render"]);
    assert!(run.status.success(), "{}", stderr(&run));
    folder
}

/// Runs the program like [`bailiwick`], with a time limit.
fn in_time(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let begin = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().expect("a child that runs");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("what it printed")
}

/// Checks that the run ends like a run with wrong input, and prints these words.
fn assert_refused(run: &Output, words: &str) {
    assert_eq!(run.status.code(), Some(2), "{}", stderr(run));
    assert!(stderr(run).contains(words), "{words}: {}", stderr(run));
}

#[test]
fn what_is_no_file_is_neither_waited_for_nor_read() {
    let folder = rendered();
    let path = "out/t/namespaces/tenant-1.yaml";
    let place = folder.path().join(path);
    let kinds: [(&str, &str); 3] = [
        ("pipe", "neither a file nor a folder"),
        ("socket", "neither a file nor a folder"),
        ("link", "a symbolic link"),
    ];
    for (kind, words) in kinds {
        fs::remove_file(&place).expect("a file");
        match kind {
            "pipe" => mknodat(CWD, &place, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe"),
            "socket" => drop(UnixListener::bind(&place).expect("a socket")),
            _ => symlink("/dev/zero", &place).expect("a link"),
        }
        for command in [&["check"][..], &["diff"], &["diff", "--against", "out"], &["render"]] {
            assert_refused(&in_time(folder.path(), command), &format!("error[link-in-output]: `{path}` is {words}\n"));
        }
        assert!(!fs::symlink_metadata(&place).expect("an entry").is_file(), "{kind} is still there");
        // Beside the folders of the targets, too.
        let beside = folder.path().join("out/beside");
        fs::rename(&place, &beside).expect("the entry moves");
        fs::write(&place, "").expect("a file");
        assert_refused(
            &in_time(folder.path(), &["check"]),
            &format!("error[link-in-output]: `out/beside` is {words}\n"),
        );
        fs::remove_file(&beside).expect("an entry");
    }
}

#[test]
fn a_name_that_is_no_text_is_never_one_of_ours() {
    let name = |bytes: &'static [u8]| std::ffi::OsStr::from_bytes(bytes);
    let folder = rendered();
    let output = folder.path().join("out/t/namespaces");
    let words = |path: &str| {
        format!("error[foreign-file]: `out/{path}` is not an output file of Bailiwick: its name is not UTF-8\n")
    };
    // Two names that read the same once what is no text is left out, one of them with what we wrote.
    fs::copy(output.join("tenant-1.yaml"), output.join(name(b"gone\xe8.yaml"))).expect("a copy");
    fs::write(output.join(name(b"gone\xe9.yaml")), "kind: Role\n").expect("a file");
    fs::create_dir_all(output.join(name(b"caf\xe9"))).expect("a folder");
    fs::write(output.join(name(b"caf\xe9/notes")), "mine").expect("a file");
    fs::write(folder.path().join("out").join(name(b"\xff")), "mine").expect("a file");
    let every = [
        words(r"t/namespaces/gone\xe8.yaml"),
        words(r"t/namespaces/gone\xe9.yaml"),
        words(r"t/namespaces/caf\xe9"),
        words(r"\xff"),
    ];
    let before = snapshot(folder.path());
    for command in [&["check"][..], &["render"], &["render", "--shard", "1/2"]] {
        let run = bailiwick(folder.path(), command);
        every.iter().for_each(|words| assert_refused(&run, words));
    }
    configure(folder.path(), "keep: [\"**\"]");
    for command in [&["check"][..], &["render"]] {
        let run = bailiwick(folder.path(), command);
        every.iter().for_each(|words| assert_refused(&run, words));
    }
    assert_eq!(snapshot(&folder.path().join("out")).len() + 3, before.len(), "nothing is removed");
    // In a revision as in a folder.
    fs::remove_file(folder.path().join("out").join(name(b"\xff"))).expect("a file");
    let git = |arguments: &[&str]| {
        let run = Command::new("git").args(arguments).current_dir(folder.path()).output().expect("git");
        assert!(run.status.success(), "{}", stderr(&run));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "all"]);
    let run = bailiwick(folder.path(), &["diff", "--against", "HEAD"]);
    assert_refused(&run, &words(r"t/namespaces/gone\xe8.yaml"));
    assert_refused(&run, &words(r"t/namespaces/caf\xe9/notes"));
}

/// Adds a line to the workspace file.
fn configure(workspace: &Path, line: &str) {
    let path = workspace.join("bailiwick.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(&path, text.replace("spec:\n", &format!("spec:\n  {line}\n"))).expect("a file");
}

#[test]
fn a_link_that_is_kept_is_not_written_through() {
    for (glob, is_sharded) in [("*/*", false), ("t/**", false), ("**", true)] {
        let folder = rendered();
        configure(folder.path(), &format!("keep: [\"{glob}\"]"));
        if is_sharded {
            fs::remove_dir_all(folder.path().join("out")).expect("a folder");
            configure(folder.path(), "layout: {shards: 3}");
            assert!(bailiwick(folder.path(), &["render"]).status.success());
        }
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        fs::create_dir(elsewhere.join("namespaces")).expect("a folder");
        let shard = fs::read_dir(folder.path().join("out/t/namespaces"))
            .expect("a folder")
            .flatten()
            .map(|entry| format!("t/namespaces/{}", entry.file_name().display()))
            .min()
            .expect("an entry");
        for path in ["t", "t/namespaces", "t/cluster", &shard] {
            let place = folder.path().join("out").join(path);
            let aside = folder.path().join("aside");
            let was_there = fs::rename(&place, &aside).is_ok();
            symlink(&elsewhere, &place).expect("a link");
            for command in [&["check"][..], &["render"], &["render", "--shard", "2/2"]] {
                let run = bailiwick(folder.path(), command);
                assert_refused(&run, &format!("error[link-in-output]: `out/{path}` is a symbolic link\n"));
            }
            assert!(snapshot(&elsewhere).is_empty(), "{glob} {path}");
            fs::remove_file(&place).expect("the link");
            if was_there {
                fs::rename(&aside, &place).expect("what was there");
            }
        }
        // No link is kept, wherever it is: an applier follows it.
        symlink("/dev/zero", folder.path().join("out/t/notes")).expect("a link");
        let run = bailiwick(folder.path(), &["render"]);
        assert_refused(&run, "error[link-in-output]: `out/t/notes` is a symbolic link\n");
    }
}

#[test]
fn a_file_that_is_kept_is_not_overwritten() {
    let folder = rendered();
    configure(folder.path(), "keep: [\"t/**\"]");
    let place = folder.path().join("out/t/namespaces/tenant-1.yaml");
    fs::write(&place, "kind: Role\n").expect("a file");
    let run = bailiwick(folder.path(), &["render"]);
    assert_refused(&run, "error[foreign-file]: `out/t/namespaces/tenant-1.yaml` is not an output file of Bailiwick\n");
    assert!(stderr(&run).contains("`spec.keep` cannot keep a file at the path of an output file"), "{}", stderr(&run));
    assert_eq!(fs::read_to_string(&place).expect("a file"), "kind: Role\n");
}

#[test]
fn an_output_folder_behind_a_link_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 3);
    configure(&root, "output: gen/code/out");
    let elsewhere = folder.path().join("elsewhere");
    let render = |arguments: &[&str]| bailiwick(&root, &[&["render"], arguments].concat());
    for (link, at) in [("gen", &elsewhere), ("gen/code", &elsewhere), ("gen", &root.join("inside"))] {
        fs::create_dir_all(at).expect("a folder");
        fs::create_dir_all(root.join(link).parent().expect("a folder")).expect("a folder");
        symlink(at, root.join(link)).expect("a link");
        for run in [render(&[]), render(&["--shard", "2/2"])] {
            assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
            let words = format!("the output folder `gen/code/out` lies behind the symbolic link `{link}`\n");
            assert!(stderr(&run).contains(&words), "{}", stderr(&run));
        }
        assert_refused(&bailiwick(&root, &["check"]), &format!("error[link-in-output]: `{link}` is a symbolic link\n"));
        assert!(fs::read_dir(at).expect("a folder").next().is_none(), "{link}");
        fs::remove_file(root.join(link)).expect("the link");
        let _ = fs::remove_dir_all(root.join("gen"));
    }
}

#[test]
fn whatever_has_the_name_of_the_staging_folder_is_cleared_away() {
    let folder = rendered();
    let staging = folder.path().join("out/.bailiwick-staging");
    for is_link in [false, true] {
        if is_link {
            symlink(folder.path().join("policies"), &staging).expect("a link");
        } else {
            fs::write(&staging, "left").expect("a file");
        }
        let run = bailiwick(folder.path(), &["render"]);
        assert!(run.status.success(), "{}", stderr(&run));
        assert!(fs::symlink_metadata(&staging).is_err());
    }
    assert!(folder.path().join("policies/tenants.yaml").exists());
}

#[test]
fn a_policy_file_whose_name_is_no_text_is_not_left_out() {
    let folder = rendered();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.yaml");
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: cafe}\nspec:\n  namespaces: [{name: cafe}]\n";
    fs::write(folder.path().join("policies").join(name), policy).expect("a file");
    for command in ["render", "check", "lint"] {
        let run = bailiwick(folder.path(), &[command]);
        assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
        let words = "error: cannot read `policies/caf\\xe9.yaml`: its path is not UTF-8\nhelp: rename the file";
        assert!(stderr(&run).starts_with(words), "{}", stderr(&run));
    }
}

#[test]
fn an_empty_file_is_ours_only_where_we_write() {
    for path in
        ["out/.gitkeep", "out/t/.gitkeep", "out/namespaces/a.yaml", "out/gone/cluster/role.yaml", "out/t/a.yaml"]
    {
        let folder = rendered();
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        fs::write(&place, "").expect("a file");
        for command in ["check", "render"] {
            let run = bailiwick(folder.path(), &[command]);
            assert_refused(&run, &format!("error[foreign-file]: `{path}` is not an output file of Bailiwick\n"));
        }
        assert!(place.exists(), "{path}");
    }
    // The files that a crash leaves.
    let folder = rendered();
    let left = ["namespaces/tenant-1.yaml", "namespaces/gone.yaml", "cluster/role.yaml"];
    for path in left.map(|path| folder.path().join("out/t").join(path)) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
    }
    assert_eq!(bailiwick(folder.path(), &["check"]).status.code(), Some(1));
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    assert!(bailiwick(folder.path(), &["check"]).status.success());
}

#[test]
fn a_part_removes_no_empty_files_that_a_single_run_keeps() {
    let empty = |folder: &Path| {
        let output = folder.join("out/t/namespaces");
        (1..=5).map(|number| output.join(format!("g{number}.yaml"))).collect::<Vec<_>>()
    };
    let assert_kept = |folder: &Path, arguments: &[&str], words: &str| {
        empty(folder).iter().for_each(|path| fs::write(path, "").expect("a file"));
        let run = |more: &[&str]| bailiwick(folder, &[&["render"], arguments, more].concat());
        assert_refused(&run(&[]), words);
        for part in ["1/3", "2/3", "3/3"] {
            let run = run(&["--shard", part]);
            assert!(run.status.success() || stderr(&run).contains(words), "{part}: {}", stderr(&run));
        }
        assert!(empty(folder).iter().all(|path| path.exists()), "{words}");
    };
    let folder = rendered();
    assert_kept(folder.path(), &[], "error[mass-delete]: 5 namespaces of the target `t` would be deleted, of 8\n");
    fs::remove_dir_all(folder.path().join("policies")).expect("a folder");
    let words = "error[empty-output]: every object of the target `t` would be deleted\n";
    assert_kept(folder.path(), &["--allow-mass-delete"], words);
    // Of files that are all empty, no object goes.
    for number in 0..3 {
        fs::write(folder.path().join(format!("out/t/namespaces/tenant-{number}.yaml")), "").expect("a file");
    }
    assert_kept(folder.path(), &[], "error[mass-delete]: 8 namespaces of the target `t` would be deleted, of 8\n");
    for part in ["1/3", "2/3", "3/3"] {
        let run = bailiwick(folder.path(), &["render", "--allow-mass-delete", "--shard", part]);
        assert!(run.status.success(), "{}", stderr(&run));
    }
    assert!(!folder.path().join("out/t").exists());
}
