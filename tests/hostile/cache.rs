//! Caches that an attacker can write to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runs::{stderr, tenants};

/// A workspace `repository/w` in a git work tree, with room for caches beside the work tree.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(site.path("repository/.git")).expect("a folder");
        fs::write(site.path("repository/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::create_dir(site.root()).expect("a folder");
        tenants(&site.root(), 2);
        site
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn root(&self) -> PathBuf {
        self.path("repository/w")
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
        command.args(arguments).current_dir(self.root()).env("NO_COLOR", "1");
        for name in ["CI", "BAILIWICK_NO_CACHE", "BAILIWICK_CACHE_DIR", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home"));
        command.envs(variables.iter().copied()).output().expect("the program starts")
    }

    /// True when a `render` remembers another one.
    fn remembers(&self, arguments: &[&str], variables: &[(&str, &str)]) -> bool {
        let arguments = [&["render", "--stats"], arguments].concat();
        let runs: Vec<Output> = (0..3).map(|_| self.run(&arguments, variables)).collect();
        runs.iter().for_each(|run| assert!(run.status.success(), "{}", stderr(run)));
        stderr(&runs[2]).contains("nothing changed since an earlier run")
    }
}

fn mode(folder: &Path, mode: u32) {
    fs::create_dir_all(folder).expect("a folder");
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn a_cache_that_only_the_user_can_write_to_is_used() {
    let site = Site::new();
    assert!(site.remembers(&[], &[]), "the default");
    let site = Site::new();
    let folder = site.path("caches/own").display().to_string();
    assert!(site.remembers(&["--cache-dir", &folder], &[]));
    assert!(site.remembers(&[], &[("BAILIWICK_CACHE_DIR", &folder)]));
    assert!(site.remembers(&["--cache-dir", "../../relative"], &[]));
    assert!(!site.path("home").exists());
}

#[test]
fn check_opens_no_cache() {
    let site = Site::new();
    let folder = site.path("cache").display().to_string();
    assert!(site.remembers(&["--cache-dir", &folder], &[]));
    // Whatever it is: a pipe would be waited for.
    let entry = fs::read_dir(&folder).expect("a folder").next().expect("a cache").expect("an entry").path();
    for arguments in [&["check"][..], &["check", "--verify"], &["check", "--summary"]] {
        let run = site.run(&[arguments, &["--stats", "--cache-dir", &folder]].concat(), &[]);
        assert!(run.status.success(), "{}", stderr(&run));
        assert!(!stderr(&run).contains("nothing changed since"), "{}", stderr(&run));
    }
    fs::remove_file(entry).expect("a file");
    fs::remove_dir(&folder).expect("a folder");
    assert!(site.run(&["check", "--cache-dir", &folder], &[]).status.success());
    assert!(site.run(&["check"], &[]).status.success());
    assert!(!Path::new(&folder).exists() && !site.path("home").exists());
}

#[test]
fn a_cache_in_the_work_tree_is_not_opened() {
    let site = Site::new();
    symlink(site.root().join("hidden"), site.path("link")).expect("a link");
    fs::create_dir(site.root().join("hidden")).expect("a folder");
    let inside = ["cache", "../cache", "../.git/cache", "out/cache", "a/../../cache", ".", "../w/cache"];
    for folder in inside.map(|name| site.root().join(name)).into_iter().chain([site.path("link/cache")]) {
        let folder = folder.display().to_string();
        for (arguments, variables) in
            [(vec!["--cache-dir", folder.as_str()], vec![]), (vec![], vec![("BAILIWICK_CACHE_DIR", folder.as_str())])]
        {
            assert!(!site.remembers(&arguments, &variables), "{folder}");
            let run = site.run(&[&["render"], arguments.as_slice()].concat(), &variables);
            let told = stderr(&run);
            assert!(told.starts_with(&format!("no cache is used in `{folder}`: ")), "{told}");
            assert_eq!(told.matches("no cache is used").count(), 1, "{told}");
        }
        for variable in ["XDG_CACHE_HOME", "HOME"] {
            assert!(!site.remembers(&[], &[(variable, &folder)]), "{variable}={folder}");
        }
    }
    let caches = walkdir::WalkDir::new(site.path("repository")).into_iter().flatten();
    assert_eq!(caches.filter(|entry| entry.path().extension().is_some_and(|end| end == "cache")).count(), 0);
}

#[test]
fn a_cache_that_others_can_write_to_is_not_opened() {
    let refuses = |site: &Site, folder: &Path, why: &str| {
        let folder = folder.display().to_string();
        assert!(!site.remembers(&["--cache-dir", &folder], &[]), "{why}");
        let told = stderr(&site.run(&["render", "--cache-dir", &folder], &[]));
        assert!(told.contains(why), "{why}: {told}");
    };
    let only = "it is not a folder that only its owner, the user of this run, can write to";
    for bits in [0o777, 0o775, 0o707, 0o1777] {
        let site = Site::new();
        mode(&site.path("cache"), bits);
        refuses(&site, &site.path("cache"), only);
    }
    for bits in [0o777, 0o775] {
        let site = Site::new();
        mode(&site.path("open"), bits);
        mode(&site.path("open/a/cache"), 0o700);
        refuses(&site, &site.path("open/a/cache"), "others can rename what lies in");
        refuses(&site, &site.path("open/not-there"), "others can rename what lies in");
    }
    let site = Site::new();
    mode(&site.path("sticky"), 0o1777);
    mode(&site.path("sticky/cache"), 0o700);
    assert!(site.remembers(&["--cache-dir", &site.path("sticky/cache").display().to_string()], &[]));
    let site = Site::new();
    mode(&site.path("real"), 0o700);
    symlink("real", site.path("cache")).expect("a link");
    refuses(&site, &site.path("cache"), "it is a symbolic link");
    let site = Site::new();
    fs::write(site.path("cache"), "").expect("a file");
    refuses(&site, &site.path("cache"), only);
    let site = Site::new();
    mode(&site.path("cache"), 0o700);
    if std::os::unix::fs::chown(site.path("cache"), Some(12_345), None).is_ok() {
        refuses(&site, &site.path("cache"), only);
    }
}

#[test]
fn a_cache_file_that_others_can_write_to_is_not_read() {
    let site = Site::new();
    let folder = site.path("cache").display().to_string();
    assert!(site.remembers(&["--cache-dir", &folder], &[]));
    let file = fs::read_dir(&folder).expect("a folder").next().expect("a cache").expect("an entry").path();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("a mode");
    let run = site.run(&["render", "--stats", "--cache-dir", &folder], &[]);
    assert!(!stderr(&run).contains("nothing changed since"), "{}", stderr(&run));
    let aside = site.path("aside");
    fs::rename(&file, &aside).expect("a file");
    symlink(&aside, &file).expect("a link");
    let run = site.run(&["render", "--stats", "--cache-dir", &folder], &[]);
    assert!(!stderr(&run).contains("nothing changed since"), "{}", stderr(&run));
}

#[test]
fn in_ci_only_the_command_line_names_a_cache() {
    let site = Site::new();
    let folder = site.path("cache").display().to_string();
    for ci in ["true", "1", "yes"] {
        assert!(!site.remembers(&[], &[("CI", ci)]), "{ci}");
        assert!(!site.remembers(&[], &[("CI", ci), ("BAILIWICK_CACHE_DIR", &folder)]), "{ci}");
    }
    let told = stderr(&site.run(&["render"], &[("CI", "true"), ("BAILIWICK_CACHE_DIR", &folder)]));
    assert!(told.starts_with("no cache is used: CI is set, and BAILIWICK_CACHE_DIR does not count there\n"), "{told}");
    assert!(!Path::new(&folder).exists() && !site.path("home").exists());
    for ci in ["false", ""] {
        assert!(site.remembers(&[], &[("CI", ci), ("BAILIWICK_CACHE_DIR", &folder)]), "{ci:?}");
    }
    assert!(site.remembers(&["--cache-dir", &folder], &[("CI", "true")]));
}

#[test]
fn no_cache_can_be_said_beside_a_folder() {
    let site = Site::new();
    let folder = site.path("cache").display().to_string();
    let named = [("BAILIWICK_CACHE_DIR", folder.as_str())];
    for arguments in
        [&["render", "--no-cache"][..], &["check", "--no-cache"], &["render", "--no-cache", "--cache-dir", "x"]]
    {
        let run = site.run(arguments, &named);
        assert!(run.status.success(), "{}", stderr(&run));
    }
    assert!(!site.remembers(&["--cache-dir", &folder], &[("BAILIWICK_NO_CACHE", "1")]));
    assert!(!Path::new(&folder).exists());
}
