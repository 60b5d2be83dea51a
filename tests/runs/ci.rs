//! What `init --ci` writes, run as CI would run it: the parts in checkouts of their own, their merge, one pull request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::parts::{changed_tenants, copy};
use super::{accounts, bailiwick, snapshot, stderr};
use crate::support::repository;

/// In how many parts the workspace is compiled.
const PARTS: usize = 3;

/// A workspace in a git repository that others can clone, with what `init --ci` writes.
struct Upstream {
    folder: tempfile::TempDir,
    revision: String,
}

fn shell(folder: &Path, script: &str, variables: &[(&str, String)]) -> std::process::Output {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bailiwick"));
    let tools = repository().join("tests/runs/tools");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", binary.parent().expect("a folder").display(), tools.display());
    Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(variables.iter().map(|(name, value)| (*name, value.as_str())))
        .stdin(Stdio::null())
        .output()
        .expect("a shell")
}

fn shell_fine(folder: &Path, script: &str, variables: &[(&str, String)]) -> String {
    let run = shell(folder, script, variables);
    assert!(run.status.success(), "{script}: {}{}", String::from_utf8_lossy(&run.stdout), stderr(&run));
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

impl Upstream {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        changed_tenants(folder.path(), "");
        // Nobody is there who could agree that namespaces go.
        fs::write(folder.path().join("policies/tenants.csv"), accounts(0..340)).expect("a file");
        let init = bailiwick(folder.path(), &["init", "--ci", "--parts", &PARTS.to_string()]);
        assert!(init.status.success(), "{}", stderr(&init));
        let revision = shell_fine(
            folder.path(),
            "git init -q -b main; git add -A; git -c user.name=a -c user.email=a@b commit -qm first; git rev-parse HEAD",
            &[],
        );
        Self { folder, revision }
    }

    fn yaml(&self, path: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.folder.path().join(path)).expect("a text");
        let documents = serde_yaml::Deserializer::from_str(&text);
        documents.map(|document| serde::Deserialize::deserialize(document).expect("YAML")).collect()
    }

    /// Asserts that the branch of the pull request has what one run gives, and nothing else beside the input.
    fn assert_branch(&self) {
        let single = tempfile::tempdir().expect("a folder");
        let clone = tempfile::tempdir().expect("a folder");
        let from = self.folder.path().display();
        shell_fine(single.path(), &format!("git clone -q --branch main {from} ."), &[]);
        assert!(bailiwick(single.path(), &["render"]).status.success());
        shell_fine(clone.path(), &format!("git clone -q --branch bailiwick/output {from} ."), &[]);
        let files = |folder: &Path| {
            let mut files = snapshot(folder);
            files.retain(|(path, _)| !path.starts_with(".git/"));
            files
        };
        assert!(files(single.path()) == files(clone.path()), "the branch is not what one run gives");
        let first = shell_fine(clone.path(), "git rev-parse HEAD^", &[]);
        assert_eq!(first, self.revision);
    }
}

/// What the workflow runs, step by step, each part in a checkout of its own.
#[test]
fn the_workflow_opens_one_pull_request_with_the_output_of_one_run() {
    let upstream = Upstream::new();
    let workflow = upstream.yaml(".github/workflows/bailiwick.yml").remove(0);
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(workflow["jobs"]["part"]["strategy"]["matrix"]["part"], serde_json::json!([1, 2, 3]));
    assert_eq!(workflow["env"]["PARTS"], "3");
    let jobs = workflow["jobs"].as_object().expect("jobs");
    for (name, job) in jobs {
        assert!(job["permissions"].is_object(), "{name} has the permissions of the token");
        for uses in job["steps"].as_array().expect("steps").iter().filter_map(|step| step["uses"].as_str()) {
            let (_, hash) = uses.split_once('@').expect("a version");
            assert!(hash.len() == 40 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{uses}");
        }
    }
    let named = |job: &str, name: &str| -> String {
        let steps = workflow["jobs"][job]["steps"].as_array().expect("steps");
        let step = steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{job} does not {name}"));
        step["run"].as_str().expect("a script").to_owned()
    };
    // Artifacts: what a job leaves below its folder, another one finds below its own.
    let temporary = tempfile::tempdir().expect("a folder");
    let clone = || {
        let folder = tempfile::tempdir().expect("a folder");
        shell_fine(folder.path(), &format!("git clone -q {} .", upstream.folder.path().display()), &[]);
        folder
    };
    let variables = |temporary: &Path, more: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        let fixed = [
            ("RUNNER_TEMP", temporary.display().to_string()),
            ("PARTS", PARTS.to_string()),
            ("GITHUB_SHA", upstream.revision.clone()),
            ("BASE", "main".to_owned()),
            ("BRANCH", "bailiwick/output".to_owned()),
            ("ASKED", temporary.join("asked").display().to_string()),
        ];
        fixed.into_iter().chain(more.iter().map(|(name, value)| (*name, (*value).to_owned()))).collect()
    };
    for number in 1..=PARTS {
        let own = tempfile::tempdir().expect("a folder");
        shell_fine(clone().path(), &named("part", "compile"), &variables(own.path(), &[("PART", &number.to_string())]));
        copy(&own.path().join("part"), &temporary.path().join("parts"));
    }
    let merging = clone();
    shell_fine(merging.path(), &named("merge", "judge"), &variables(temporary.path(), &[]));
    shell_fine(merging.path(), &named("merge", "join"), &variables(temporary.path(), &[]));
    let asked = || fs::read_to_string(temporary.path().join("asked")).unwrap_or_default();
    shell_fine(clone().path(), &named("pull-request", "open"), &variables(temporary.path(), &[("OPEN", "0")]));
    assert_eq!(asked().lines().filter(|line| line.starts_with("pr create")).count(), 1, "{}", asked());
    upstream.assert_branch();
    // The next run finds the pull request open and only pushes.
    shell_fine(clone().path(), &named("pull-request", "open"), &variables(temporary.path(), &[("OPEN", "1")]));
    assert_eq!(asked().lines().filter(|line| line.starts_with("pr create")).count(), 1, "{}", asked());
    // With nothing to change it closes it.
    fs::write(temporary.path().join("output/output.patch"), "").expect("a file");
    shell_fine(clone().path(), &named("pull-request", "open"), &variables(temporary.path(), &[("OPEN", "1")]));
    assert_eq!(asked().lines().filter(|line| line.starts_with("pr close")).count(), 1, "{}", asked());
    for (results, fine) in [
        ("success success success", true),
        ("success success skipped", true),
        ("success failure skipped", false),
        ("failure success skipped", false),
        ("success skipped skipped", false),
    ] {
        let variables = variables(temporary.path(), &[("RESULTS", results)]);
        let run = shell(temporary.path(), &named("bailiwick", "conclude"), &variables);
        assert_eq!(run.status.success(), fine, "{results}");
    }
}

/// What the pods of the Jobs run, each with a disk of its own and the one they share.
#[test]
fn the_jobs_open_one_pull_request_with_the_output_of_one_run() {
    let upstream = Upstream::new();
    let objects = upstream.yaml("ci/bailiwick-job.yaml");
    let job = |name: &str| {
        objects.iter().find(|object| object["kind"] == "Job" && object["metadata"]["name"] == name).expect("the Job")
    };
    let parts = job("bailiwick-parts");
    assert_eq!(parts["spec"]["completionMode"], "Indexed");
    assert_eq!(parts["spec"]["completions"], PARTS);
    let script = |job: &serde_json::Value| {
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"], serde_json::json!(["sh", "-ec"]));
        container["args"][0].as_str().expect("a script").to_owned()
    };
    let run = objects.iter().find(|object| object["kind"] == "ConfigMap").expect("what the run is about");
    assert_eq!(run["data"]["PARTS"], PARTS.to_string());
    let shared = tempfile::tempdir().expect("a folder");
    let pod = |index: Option<usize>, script: &str| {
        let work = tempfile::tempdir().expect("a folder");
        let mut variables = vec![
            ("REPOSITORY", format!("file://{}", upstream.folder.path().display())),
            ("REVISION", upstream.revision.clone()),
            ("SHARED", shared.path().display().to_string()),
            ("WORK", work.path().display().to_string()),
            ("HOME", work.path().display().to_string()),
            ("ASKED", shared.path().join("asked").display().to_string()),
            ("OPEN", "0".to_owned()),
        ];
        for name in ["PARTS", "BASE", "BRANCH"] {
            variables.push((name, run["data"][name].as_str().expect("a text").to_owned()));
        }
        variables.extend(index.map(|index| ("JOB_COMPLETION_INDEX", index.to_string())));
        shell_fine(work.path(), script, &variables);
    };
    for index in (0..PARTS).rev() {
        pod(Some(index), &script(parts));
    }
    pod(None, &script(job("bailiwick-merge")));
    let asked = fs::read_to_string(shared.path().join("asked")).expect("what was asked");
    assert_eq!(asked.lines().filter(|line| line.starts_with("pr create")).count(), 1, "{asked}");
    upstream.assert_branch();
}

#[test]
fn ci_files_are_not_overwritten_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let init = |arguments: &[&str]| bailiwick(folder.path(), &[&["init"], arguments].concat());
    let first = init(&["--ci", "--parts", "2"]);
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(folder.path().join("policies/team.yaml").is_file(), "a new workspace comes with it");
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    let before = snapshot(folder.path());
    let again = init(&["--ci"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains(".github/workflows/bailiwick.yml` is there already"), "{}", stderr(&again));
    assert!(snapshot(folder.path()) == before);
    // One of the two is enough.
    fs::remove_file(folder.path().join(".github/workflows/bailiwick.yml")).expect("a file");
    let half = init(&["--ci"]);
    assert_eq!(half.status.code(), Some(2));
    assert!(!folder.path().join(".github/workflows/bailiwick.yml").exists(), "nothing was written");
    assert!(init(&["--ci", "--parts", "7", "--force"]).status.success());
    let workflow = fs::read_to_string(folder.path().join(".github/workflows/bailiwick.yml")).expect("a text");
    assert!(workflow.contains("part: [1, 2, 3, 4, 5, 6, 7]") && !workflow.contains('@'.to_string().repeat(2).as_str()));
    let rest = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        files.into_iter().filter(|(path, _)| !path.contains("bailiwick.yml") && !path.starts_with("ci/")).collect()
    };
    assert!(rest(snapshot(folder.path())) == rest(before), "the workspace stays as it is");
    for wrong in [["--parts", "3"].as_slice(), &["--force"], &["--ci", "--parts", "0"], &["--ci", "--parts", "257"]] {
        assert_eq!(init(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
