//! Runs with a cache: nothing is done twice, and nothing that changed is missed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::{accounts, snapshot, stderr, tenants};

/// Runs the program with a cache beside the workspace.
fn cached(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(arguments)
        .arg("--cache-dir")
        .arg(folder.with_extension("cache"))
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("BAILIWICK_NO_CACHE")
        .output()
        .expect("the program starts")
}

/// Writes a workspace with old output, and a cache of it.
fn known(folder: &Path) {
    tenants(folder, 40);
    fs::create_dir_all(folder.join("templates/tenancy")).expect("a folder");
    assert!(cached(folder, &["render"]).status.success());
    age(folder);
    assert!(cached(folder, &["render"]).status.success());
    assert!(is_recalled(folder), "the third run recalls the second");
}

/// Returns the one cache of a workspace.
fn cache_of(folder: &Path) -> PathBuf {
    let caches = fs::read_dir(folder.with_extension("cache")).expect("a folder").flatten();
    let [path] = caches.map(|entry| entry.path()).collect::<Vec<_>>().try_into().expect("one cache");
    path
}

/// Waits until what was written has settled, by the clock of the file system. Changes of a file's own data cannot be
/// dated back.
fn age(folder: &Path) {
    let probe = folder.with_extension("probe");
    let now = || {
        fs::write(&probe, "").expect("a file");
        fs::metadata(&probe).and_then(|metadata| metadata.modified()).expect("a time")
    };
    let until = now() + Duration::from_millis(2_200);
    while now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    fs::remove_file(&probe).expect("a file");
}

/// Returns whether `render` compiles nothing.
fn is_recalled(folder: &Path) -> bool {
    let output = cached(folder, &["render", "--stats"]);
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output).contains("nothing changed since an earlier run")
}

#[test]
fn a_change_of_any_input_or_output_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    known(&root);
    let out = root.join("out/t/namespaces");
    let template = "apiVersion: v1\nkind: Namespace\n{% include \"_metadata.yaml.j2\" %}\n{# changed #}\n";
    type Change<'c> = (&'c str, Box<dyn Fn() + 'c>);
    let write = |path: &str, text: &str| fs::write(root.join(path), text).expect("a file");
    let first = fs::read(out.join("tenant-0.yaml")).expect("a file");
    let mut flipped = first.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    let changes: Vec<Change<'_>> = vec![
        ("an account less", Box::new(|| write("policies/tenants.csv", &accounts(0..39)))),
        ("the accounts as before", Box::new(|| write("policies/tenants.csv", &accounts(0..40)))),
        ("a template that says the same", Box::new(|| write("templates/tenancy/namespace.yaml.j2", template))),
        ("a byte of the output", Box::new(|| fs::write(out.join("tenant-0.yaml"), &flipped).expect("a file"))),
        ("that byte again", Box::new(|| fs::write(out.join("tenant-0.yaml"), &first).expect("a file"))),
        ("a file of the output less", Box::new(|| fs::remove_file(out.join("tenant-1.yaml")).expect("a file"))),
    ];
    for (what, change) in changes {
        change();
        let run = cached(&root, &["render", "--allow-mass-delete"]);
        assert!(run.status.success(), "{what}: {}", stderr(&run));
        let check = super::bailiwick(&root, &["check"]);
        assert!(check.status.success(), "{what}: {}", stderr(&check));
        assert!(cached(&root, &["render"]).status.success());
    }
    assert!(cached(&root, &["render"]).status.success());
    fs::write(out.join("stray.yaml"), "kind: Role\n").expect("a file");
    assert_eq!(cached(&root, &["render"]).status.code(), Some(2), "a file that is not ours");
    // Any other name, with the same number of files.
    let names: [&[u8]; 2] = [b"tenant-2\xff.yaml", b"tenant-2.yaml\xff"];
    fs::remove_file(out.join("stray.yaml")).expect("a file");
    for name in names {
        let stray = out.join(std::ffi::OsStr::from_bytes(name));
        fs::rename(out.join("tenant-2.yaml"), &stray).expect("a file");
        assert_eq!(cached(&root, &["render"]).status.code(), Some(2), "a name that is no text");
        fs::rename(&stray, out.join("tenant-2.yaml")).expect("a file");
        assert_eq!(cached(&root, &["render"]).status.code(), Some(0));
    }
}

#[test]
fn a_cache_that_is_not_sound_is_no_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    known(&root);
    let path = cache_of(&root);
    let bytes = fs::read(&path).expect("a file");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    // For any truncation and any content the run continues and has its usual result.
    let cut = |length: usize| bytes[..length].to_vec();
    for broken in [flipped, cut(0), cut(7), cut(40), cut(bytes.len() - 1), b"something else".to_vec()] {
        fs::write(&path, &broken).expect("a file");
        let output = cached(&root, &["render", "--stats"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!stderr(&output).contains("nothing changed since"), "{} bytes are trusted", broken.len());
    }
    assert!(is_recalled(&root), "and it is made anew");
    // The cache of another workspace, under the name of this cache.
    let other = folder.path().join("other");
    known(&other);
    fs::copy(cache_of(&other), &path).expect("a copy");
    assert!(!stderr(&cached(&root, &["render", "--stats"])).contains("nothing changed since"));
}

#[test]
fn what_was_just_written_is_told_by_its_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    known(&root);
    let file = root.join("out/t/namespaces/tenant-3.yaml");
    let text = fs::read(&file).expect("a file");
    // The same content in another file: the content counts, and not the state.
    fs::remove_file(&file).expect("a file");
    fs::write(&file, &text).expect("a file");
    assert!(is_recalled(&root));
    assert!(stderr(&cached(&root, &["render", "--stats", "--verify"])).contains("nothing changed since"));
    let mut other = text.clone();
    *other.last_mut().expect("not empty") = b' ';
    fs::write(&file, &other).expect("a file");
    assert!(cached(&root, &["render"]).status.success());
    assert!(fs::read(&file).expect("a file") == text);
}

#[test]
fn warnings_are_said_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 3);
    let unused = "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {name: nobody}\nspec:\n  rules:\n  \
                  - {apiGroups: [\"\"], resources: [pods], resourceNames: [\"{name}\"], verbs: [get]}\n";
    fs::write(root.join("policies/unused.yaml"), unused).expect("a file");
    assert!(cached(&root, &["render"]).status.success());
    age(&root);
    let first = cached(&root, &["render"]);
    assert!(stderr(&first).contains("unused-policy"), "{}", stderr(&first));
    assert!(is_recalled(&root));
    assert_eq!(stderr(&cached(&root, &["render"])), stderr(&first));
    assert_eq!(
        stderr(&cached(&root, &["render", "--diagnostics", "json"])),
        stderr(&super::bailiwick(&root, &["render", "--diagnostics", "json", "--no-cache"]))
    );
}

#[test]
fn render_has_nothing_to_do_either() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    known(&root);
    let before = snapshot(&root);
    let again = cached(&root, &["render"]);
    assert_eq!(stderr(&again), stderr(&super::bailiwick(&root, &["render", "--no-cache"])));
    assert_eq!(snapshot(&root), before);
}

#[test]
fn what_is_no_file_is_no_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    known(&root);
    let path = cache_of(&root);
    fs::remove_file(&path).expect("a file");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    assert!(cached(&root, &["render"]).status.success());
    assert!(is_recalled(&root), "it is replaced");
    fs::remove_file(&path).expect("a file");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
    assert!(cached(&root, &["render"]).status.success());
}

#[test]
fn what_is_said_of_one_target_is_not_said_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 3);
    let workspace = fs::read_to_string(root.join("bailiwick.yaml")).expect("a file");
    let both = workspace.replace("targets: [", "targets: [{name: other, version: \"1.30\"}, ");
    assert_ne!(workspace, both);
    fs::write(root.join("bailiwick.yaml"), both).expect("a file");
    let grant = "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: g}\nspec:\n  targets: [other]\n  \
                 to: {serviceAccounts: [{name: nobody}]}\n  clusterRoles: [view]\n  namespaces: [t-0]\n";
    fs::write(root.join("policies/grant.yaml"), grant).expect("a file");
    assert!(cached(&root, &["render"]).status.success());
    age(&root);
    let told = |arguments: &[&str]| stderr(&cached(&root, &[&["render"], arguments].concat())).contains("g-view");
    assert!(told(&[]) && told(&["--target", "other"]) && !told(&["--target", "t"]));
    assert!(is_recalled(&root));
}

#[test]
fn files_that_somebody_changed_after_a_render_are_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 12);
    assert!(!stderr(&cached(&root, &["render"])).contains("since the last render"), "there was none");
    let file = |number: usize| root.join(format!("out/t/namespaces/tenant-{number}.yaml"));
    let edit = |number: usize| {
        let text = fs::read_to_string(file(number)).expect("a file");
        fs::write(file(number), format!("{text}# by hand\n")).expect("a file");
    };
    let before = snapshot(&root);
    edit(3);
    let told = stderr(&cached(&root, &["render"]));
    let note = "note: 1 file was changed since the last render and is written anew: out/t/namespaces/tenant-3.yaml\n";
    assert!(told.starts_with(note), "{told}");
    assert_eq!(snapshot(&root), before);
    // The file was written by the last run: a change of the policies is no change by hand.
    fs::write(root.join("policies/tenants.csv"), accounts(1..12)).expect("a file");
    let told = stderr(&cached(&root, &["render", "--delete-namespace", "tenant-0"]));
    assert!(!told.contains("since the last render"), "{told}");
    assert!(is_recalled(&root) || is_recalled(&root), "what was written is looked at, and then recalled");
    (1..12).for_each(edit);
    fs::write(root.join("policies/tenants.csv"), accounts(2..12)).expect("a file");
    let told = stderr(&cached(&root, &["render", "--delete-namespace", "tenant-1"]));
    assert!(told.contains("note: 10 files were changed since the last render and are written anew: "), "{told}");
    let gone = "note: 1 file was changed since the last render and is removed: out/t/namespaces/tenant-1.yaml\n";
    assert!(told.contains(gone), "{told}");
    edit(5);
    let told = stderr(&super::bailiwick(&root, &["render", "--no-cache"]));
    assert!(!told.contains("since the last render"), "nothing is known without a record: {told}");
}

#[test]
fn a_record_of_written_files_is_no_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 3);
    assert!(cached(&root, &["render"]).status.success());
    assert!(!stderr(&cached(&root, &["render", "--stats"])).contains("nothing changed since an earlier run"));
    assert!(is_recalled(&root), "a run that found everything as it should be is one");
}

/// The variable names the place of a possible cache: it makes no option an error.
#[test]
fn the_variable_of_the_cache_folder_goes_with_every_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    tenants(&root, 1);
    let (named, asked) = (folder.path().join("named"), folder.path().join("asked"));
    let run = |arguments: &[&str], no_cache: &str| {
        Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(arguments)
            .current_dir(&root)
            .env("BAILIWICK_CACHE_DIR", &named)
            .env("BAILIWICK_NO_CACHE", no_cache)
            .env_remove("CI")
            .output()
            .expect("the program starts")
    };
    let asked_text = asked.to_str().expect("a path");
    for (arguments, no_cache) in [
        (&["render", "--no-cache"][..], ""),
        (&["render", "--no-cache", "--cache-dir", asked_text], ""),
        (&["render"], "1"),
    ] {
        let output = run(arguments, no_cache);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        assert!(!named.exists() && !asked.exists(), "{arguments:?}: no cache is written");
    }
    assert!(run(&["render", "--cache-dir", asked_text], "").status.success());
    assert!(asked.exists() && !named.exists(), "an option wins over a variable");
    assert!(run(&["render"], "").status.success() && named.exists());
}
