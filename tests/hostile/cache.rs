//! Caches that an attacker can write to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runs::{snapshot, stderr, tenants};

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

    /// Returns whether a `render` remembers another one.
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
    // Any type of entry: a run must not wait for a pipe.
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
        refuses(&site, &site.path("open/a/cache"), "other users can rename the entries of");
        refuses(&site, &site.path("open/not-there"), "other users can rename the entries of");
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

/// The file of a tenant.
const FILE: &str = "out/t/namespaces/tenant-0.yaml";

/// An object of no policy.
const EVIL: &str = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: evil\n  namespace: tenant-0\n";

/// A name, and a change of the text of a file.
type Alteration = (&'static str, fn(&str) -> String);

/// Ways to alter a file that keep its size.
const ALTERATIONS: [Alteration; 3] = [
    ("an object is changed", |text| text.replacen("- use", "- get", 1)),
    ("an object is added", |text| padded(&text[..cut(text, EVIL.len())], EVIL, text.len())),
    ("an object is removed", |text| padded(&text[..cut(text, 1)], "", text.len())),
];

/// Returns the start of the objects at the end of a text that have at least this many bytes.
fn cut(text: &str, least: usize) -> usize {
    let starts = text.match_indices("---\n").map(|(start, _)| start);
    starts.filter(|start| text.len() - start > least).last().expect("an object")
}

/// Returns two texts with a comment between them that fills the size.
fn padded(head: &str, tail: &str, size: usize) -> String {
    format!("{head}{tail}{}\n", "#".repeat(size - head.len() - tail.len() - 1))
}

/// Alters a file and keeps its time; the size is the same.
fn alter(path: &Path, change: fn(&str) -> String) -> (Vec<u8>, Vec<u8>) {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("a time");
    let old = fs::read_to_string(path).expect("a file");
    let new = change(&old);
    assert!(old != new && old.len() == new.len());
    fs::write(path, &new).expect("a file");
    fs::File::options().write(true).open(path).and_then(|file| file.set_modified(time)).expect("its time");
    (old.into_bytes(), new.into_bytes())
}

/// Returns the only cache in a folder.
fn only_cache(folder: &Path) -> PathBuf {
    let entries: Vec<PathBuf> = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.expect("an entry").into_path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "cache"))
        .collect();
    assert_eq!(entries.len(), 1);
    entries.into_iter().next().expect("a cache")
}

/// Makes a record take the new content of a file for the right one.
fn forge(record: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let (old, new) = (*blake3::hash(old).as_bytes(), *blake3::hash(new).as_bytes());
    let mut forged = record[..record.len() - 8].to_vec();
    let place = forged.windows(32).position(|window| window == old).expect("the hash of the file");
    forged[place..place + 32].copy_from_slice(&new);
    let checksum = xxhash_rust::xxh3::xxh3_64(&forged);
    forged.extend(checksum.to_le_bytes());
    forged
}

/// A place for a cache, and the arguments of a run that reads it there.
struct Restored {
    name: &'static str,
    /// Puts the bytes of a cache of this name into a place.
    put: fn(&Site, &str, &[u8]),
    arguments: &'static [&'static str],
    /// A variable, and its value below the folder of the site.
    variable: Option<(&'static str, &'static str)>,
}

/// Writes a cache that only its owner can write to.
fn put(folder: &Path, name: &str, bytes: &[u8]) {
    mode(folder, 0o700);
    fs::write(folder.join(name), bytes).expect("a file");
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).expect("a mode");
}

/// Places of caches that are not believed.
const NOT_BELIEVED: &[Restored] = &[
    Restored {
        name: "in the workspace, by an option",
        put: |site, name, bytes| put(&site.root().join(".cache"), name, bytes),
        arguments: &["--cache-dir", ".cache"],
        variable: None,
    },
    Restored {
        name: "in the work tree, by an option",
        put: |site, name, bytes| put(&site.path("repository/.cache"), name, bytes),
        arguments: &["--cache-dir", "../.cache"],
        variable: None,
    },
    Restored {
        name: "in the work tree, by a variable",
        put: |site, name, bytes| put(&site.path("repository/.cache"), name, bytes),
        arguments: &[],
        variable: Some(("BAILIWICK_CACHE_DIR", "repository/.cache")),
    },
    Restored {
        name: "in the work tree, by the folder of caches",
        put: |site, name, bytes| put(&site.path("repository/.cache/bailiwick"), name, bytes),
        arguments: &[],
        variable: Some(("XDG_CACHE_HOME", "repository/.cache")),
    },
    Restored {
        name: "in the work tree, by the home folder",
        put: |site, name, bytes| put(&site.root().join(".cache/bailiwick"), name, bytes),
        arguments: &[],
        variable: Some(("HOME", "repository/w")),
    },
    Restored {
        name: "a link to a folder",
        put: |site, name, bytes| {
            put(&site.path("real"), name, bytes);
            symlink("real", site.path("cache")).expect("a link");
        },
        arguments: &["--cache-dir", "../../cache"],
        variable: None,
    },
    Restored {
        name: "a link to a folder of the work tree",
        put: |site, name, bytes| {
            put(&site.root().join(".cache/deep"), name, bytes);
            symlink("repository/w/.cache", site.path("cache")).expect("a link");
        },
        arguments: &["--cache-dir", "../../cache/deep"],
        variable: None,
    },
    Restored {
        name: "a link to a file",
        put: |site, name, bytes| {
            put(&site.path("real"), name, bytes);
            mode(&site.path("cache"), 0o700);
            symlink(site.path("real").join(name), site.path("cache").join(name)).expect("a link");
        },
        arguments: &["--cache-dir", "../../cache"],
        variable: None,
    },
    Restored {
        name: "a folder that others can write to",
        put: |site, name, bytes| {
            put(&site.path("cache"), name, bytes);
            mode(&site.path("cache"), 0o777);
        },
        arguments: &["--cache-dir", "../../cache"],
        variable: None,
    },
    Restored {
        name: "a file that others can write to",
        put: |site, name, bytes| {
            put(&site.path("cache"), name, bytes);
            fs::set_permissions(site.path("cache").join(name), fs::Permissions::from_mode(0o622)).expect("a mode");
        },
        arguments: &["--cache-dir", "../../cache"],
        variable: None,
    },
];

/// A cache in a folder of the user's own.
const OWN: Restored = Restored {
    name: "a folder of the user",
    put: |site, name, bytes| put(&site.path("cache"), name, bytes),
    arguments: &["--cache-dir", "../../cache"],
    variable: None,
};

/// A workspace with an honest record, and one of its files altered.
struct Altered {
    site: Site,
    honest: Vec<(String, Vec<u8>)>,
    /// Name and bytes of the honest record.
    name: String,
    record: Vec<u8>,
    /// Bytes of a record that takes the altered file for the right one.
    forged: Vec<u8>,
}

impl Altered {
    fn new(change: fn(&str) -> String) -> Self {
        let site = Site::new();
        let first = site.path("first");
        assert!(site.remembers(&["--cache-dir", &first.display().to_string()], &[]));
        let honest = snapshot(&site.root().join("out"));
        let path = only_cache(&first);
        let record = fs::read(&path).expect("a record");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let (old, new) = alter(&site.root().join(FILE), change);
        let forged = forge(&record, &old, &new);
        Self { site, honest, name, record, forged }
    }

    fn run(&self, command: &[&str], restored: &Restored) -> Output {
        let value = restored.variable.map(|(name, below)| (name, self.site.path(below).display().to_string()));
        let variables: Vec<(&str, &str)> = value.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.site.run(&[command, restored.arguments].concat(), &variables)
    }

    /// Checks that `check` names the altered file, for any content of the cache.
    fn assert_found(&self, restored: &Restored) {
        for command in [["check"].as_slice(), &["check", "--verify"], &["check", "--summary"]] {
            let run = self.run(command, restored);
            let printed = [run.stdout.clone(), run.stderr.clone()].concat();
            let printed = String::from_utf8_lossy(&printed);
            assert_eq!(run.status.code(), Some(1), "{}: {command:?}: {printed}", restored.name);
            assert!(
                command.contains(&"--summary") || printed.contains(FILE),
                "{}: {command:?}: {printed}",
                restored.name
            );
        }
    }

    fn is_honest(&self) -> bool {
        snapshot(&self.site.root().join("out")) == self.honest
    }
}

#[test]
fn a_restored_cache_hides_no_alteration() {
    for (alteration, change) in ALTERATIONS {
        for restored in NOT_BELIEVED {
            let altered = Altered::new(change);
            (restored.put)(&altered.site, &altered.name, &altered.forged);
            altered.assert_found(restored);
            let run = altered.run(&["render"], restored);
            assert!(run.status.success() && altered.is_honest(), "{alteration}, {}: {}", restored.name, stderr(&run));
        }
        let altered = Altered::new(change);
        (OWN.put)(&altered.site, &altered.name, &altered.record);
        altered.assert_found(&OWN);
        let run = altered.run(&["render"], &OWN);
        assert!(run.status.success() && altered.is_honest(), "{alteration}, an honest record: {}", stderr(&run));
    }
}

/// `SECURITY.md`: `render` trusts its own cache, and `check` does not.
#[test]
fn a_forged_cache_of_the_user_deceives_render_alone() {
    for (alteration, change) in ALTERATIONS {
        let altered = Altered::new(change);
        (OWN.put)(&altered.site, &altered.name, &altered.forged);
        altered.assert_found(&OWN);
        let run = altered.run(&["render"], &OWN);
        assert!(run.status.success() && !altered.is_honest(), "{alteration}: {}", stderr(&run));
        altered.assert_found(&OWN);
        let in_ci = altered.site.run(&["render"], &[("CI", "true"), ("XDG_CACHE_HOME", "../../cache")]);
        assert!(in_ci.status.success() && altered.is_honest(), "{alteration}: {}", stderr(&in_ci));
    }
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
