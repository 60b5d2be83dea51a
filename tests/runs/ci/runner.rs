//! A runner of GitHub Actions, as far as the steps of the generated files need one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The address of the archive in the workflows of these tests.
pub(super) const URL: &str = "https://example.org/bailiwick.tar.gz";

/// An archive with the built program, and a stand-in for curl that delivers it.
pub(super) struct Archive {
    folder: tempfile::TempDir,
    pub(super) sha256: String,
}

/// Returns the archive, which is made once.
pub(super) fn archive() -> &'static Archive {
    static ARCHIVE: OnceLock<Archive> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        // Called without a configuration, and for addresses of `https` alone.
        let curl = "#!/bin/sh\n[ \"$1\" = -q ] || exit 9\nfor word in \"$@\"; do case $word in https://*) there=1 ;; http*://*) exit 8 ;; esac; done\n\
                    [ -n \"$there\" ] || exit 7\nwhile [ \"$1\" != --output ]; do shift; done\ncp \"$ARCHIVE\" \"$2\"\n";
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        fs::write(folder.path().join("bin/curl"), curl).expect("a file");
        let pack = "chmod +x bin/curl; strip -o bailiwick \"$PROGRAM\" 2>/dev/null || cp \"$PROGRAM\" bailiwick
                    tar -cf - bailiwick | gzip -1 > archive.tar.gz; rm bailiwick; sha256sum archive.tar.gz | cut -d' ' -f1";
        let packed = Command::new("sh")
            .args(["-ec", pack])
            .current_dir(folder.path())
            .env("PROGRAM", env!("CARGO_BIN_EXE_bailiwick"))
            .output()
            .expect("a shell");
        assert!(packed.status.success(), "{}", super::stderr(&packed));
        let sha256 = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
        Archive { folder, sha256 }
    })
}

/// A runner with the checkout of one job.
pub(super) struct Runner {
    folder: tempfile::TempDir,
    /// Further variables of the steps.
    pub(super) variables: BTreeMap<String, String>,
}

/// A step that ran.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) is_fine: bool,
    pub(super) printed: String,
}

impl Runner {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for below in ["work", "temp", "temp/commands", "home"] {
            fs::create_dir(folder.path().join(below)).expect("a folder");
        }
        for file in ["path", "summary", "output"] {
            fs::write(folder.path().join("temp/commands").join(file), "").expect("a file");
        }
        Self { folder, variables: BTreeMap::new() }
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn temp(&self) -> PathBuf {
        self.folder.path().join("temp")
    }

    /// Returns what steps wrote into a file of the runner: `path`, `summary` or `output`.
    pub(super) fn commands(&self, file: &str) -> String {
        fs::read_to_string(self.temp().join("commands").join(file)).expect("a text")
    }

    /// Runs a script as a step in a folder.
    pub(super) fn run(&self, folder: &Path, script: &str, env: &Value) -> Output {
        let file = self.temp().join("step.sh");
        fs::write(&file, script).expect("a file");
        let archive = archive();
        let usual = std::env::var("PATH").expect("a path");
        let own: Vec<String> = self.commands("path").lines().rev().map(str::to_owned).collect();
        let tools = [archive.folder.path().join("bin").display().to_string()];
        let gh = crate::support::repository().join("tests/runs/tools").display().to_string();
        let path = own.into_iter().chain(tools).chain([gh, usual]).collect::<Vec<_>>().join(":");
        let commands = self.temp().join("commands");
        let env = env.as_object().into_iter().flatten();
        Command::new("bash")
            .args(["--noprofile", "--norc", "-e"])
            .arg(&file)
            .current_dir(folder)
            .env("PATH", path)
            .env("HOME", self.folder.path().join("home"))
            .env("CI", "true")
            .env("NO_COLOR", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("ARCHIVE", archive.folder.path().join("archive.tar.gz"))
            .env("RUNNER_TEMP", self.temp())
            .env("GITHUB_WORKSPACE", self.work())
            .env("GITHUB_PATH", commands.join("path"))
            .env("GITHUB_STEP_SUMMARY", commands.join("summary"))
            .env("GITHUB_OUTPUT", commands.join("output"))
            .envs(env.map(|(name, value)| (name, value.as_str().expect("a text"))))
            .envs(&self.variables)
            .stdin(Stdio::null())
            .output()
            .expect("a shell")
    }

    /// Runs the steps of a job, with the checkout of a revision. Returns the steps that ran.
    pub(super) fn run_job(&self, workflow: &Value, job: &str, upstream: &Path, revision: &str) -> Vec<Step> {
        let job = &workflow["jobs"][job];
        let mut steps: Vec<Step> = Vec::new();
        for step in job["steps"].as_array().expect("steps") {
            let is_fine = |name: &str| steps.iter().any(|step| step.name == name && step.is_fine);
            let condition = step["if"].as_str().map(|condition| condition.trim_matches(['$', '{', '}', ' ']));
            let is_run = match condition {
                None => steps.iter().all(|step| step.is_fine),
                Some(condition) => {
                    let known = ["!cancelled()", "steps.install.outcome == 'success'", "github.event_name != 'push'"];
                    assert!(
                        step["run"].is_null() || condition.split(" && ").all(|part| known.contains(&part)),
                        "{condition}"
                    );
                    is_fine("install")
                }
            };
            if !is_run {
                continue;
            }
            if step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@")) {
                steps.push(self.check_out(upstream, revision, &step["with"]));
            }
            let Some(script) = step["run"].as_str() else { continue };
            let folder = match step["working-directory"].as_str() {
                Some("${{ runner.temp }}") => self.temp(),
                other => {
                    self.work().join(other.or(job["defaults"]["run"]["working-directory"].as_str()).unwrap_or("."))
                }
            };
            steps.push(ran(&step["name"], &self.run(&folder, script, &workflow["env"])));
        }
        steps
    }

    fn check_out(&self, upstream: &Path, revision: &str, with: &Value) -> Step {
        assert_eq!(with["persist-credentials"], false);
        let depth = with["fetch-depth"].as_u64().unwrap_or(1);
        let script = format!(
            "git init -q; git fetch -q --depth {depth} 'file://{}' {revision}; git checkout -q --detach FETCH_HEAD",
            upstream.display()
        );
        ran(&"checkout".into(), &self.run(&self.work(), &script, &Value::Null))
    }
}

fn ran(name: &Value, output: &Output) -> Step {
    let printed = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    Step { name: name.as_str().expect("a name").to_owned(), is_fine: output.status.success(), printed }
}
