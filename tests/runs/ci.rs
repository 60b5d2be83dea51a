//! Runs what `init --ci` writes as CI would: the installation, the parts in checkouts of their own, their merge, the tests, one
//! pull request.

mod action;
mod judging;
mod runner;

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
        .env_remove("CI")
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
        // No person can agree to the deletion of namespaces.
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

/// The steps of the workflow, in order, with a checkout for each shard.
#[test]
fn the_workflow_opens_one_pull_request_with_the_output_of_one_run() {
    let upstream = Upstream::new();
    let workflow = upstream.yaml(".github/workflows/bailiwick.yml").remove(0);
    assert_eq!(workflow["jobs"]["part"]["strategy"]["matrix"]["part"], serde_json::json!([1, 2, 3]));
    assert_eq!(workflow["env"]["PARTS"], "3");
    let named = |job: &str, name: &str| script_of(&workflow, job, name);
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
            ("COMMAND", "render".to_owned()),
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
        ("success success success success", true),
        ("success success success skipped", true),
        ("success success failure skipped", false),
        ("success failure success skipped", false),
        ("failure success success skipped", false),
        ("success skipped success skipped", false),
        ("success success skipped skipped", false),
    ] {
        let variables = variables(temporary.path(), &[("RESULTS", results)]);
        let run = shell(temporary.path(), &named("bailiwick", "conclude"), &variables);
        assert_eq!(run.status.success(), fine, "{results}");
    }
}

/// Returns the script of a step of the workflow.
fn script_of(workflow: &serde_json::Value, job: &str, name: &str) -> String {
    let steps = workflow["jobs"][job]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{job} does not {name}"));
    step["run"].as_str().expect("a script").to_owned()
}

/// The shards of a check decide about a pull request: output that differs from the policies fails the merge.
#[test]
fn a_pull_request_with_output_that_differs_fails() {
    let upstream = Upstream::new();
    let workflow = upstream.yaml(".github/workflows/bailiwick.yml").remove(0);
    let command = workflow["jobs"]["part"]["env"]["COMMAND"].as_str().expect("a text");
    assert_eq!(
        command,
        "${{ (github.event_name == 'pull_request' || github.event_name == 'merge_group') && 'check' || 'render' }}"
    );
    let judged = |change: &str| -> Option<i32> {
        let (checkout, temporary) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let from = upstream.folder.path().display();
        shell_fine(checkout.path(), &format!("git clone -q {from} .; {change}"), &[]);
        let variables = |part: usize| {
            let of = |name: &'static str, value: String| (name, value);
            vec![
                of("RUNNER_TEMP", temporary.path().display().to_string()),
                of("PARTS", PARTS.to_string()),
                of("PART", part.to_string()),
                of("COMMAND", "check".to_owned()),
            ]
        };
        let before = snapshot(&checkout.path().join("out"));
        for part in 1..=PARTS {
            shell_fine(checkout.path(), &script_of(&workflow, "part", "compile"), &variables(part));
        }
        copy(&temporary.path().join("part"), &temporary.path().join("parts"));
        assert!(snapshot(&checkout.path().join("out")) == before, "a check writes nothing");
        shell(checkout.path(), &script_of(&workflow, "merge", "judge"), &variables(1)).status.code()
    };
    let commit = "git -c user.name=a -c user.email=a@b commit -qam second";
    assert_eq!(judged("true"), Some(1), "the output of another policy");
    assert_eq!(judged(&format!("bailiwick render; git add -A; {commit}")), Some(0));
    let forged = "for file in $(find out -name '*.yaml' | head -1); do echo '# x' >> \"$file\"; done";
    assert_eq!(judged(&format!("bailiwick render; {forged}; git add -A; {commit}")), Some(1));
}

/// Every job installs the program before the checkout, in a folder of the runner, and runs what it installed.
#[test]
fn the_program_is_installed_where_the_checkout_has_no_say() {
    let upstream = Upstream::new();
    let workflow = upstream.yaml(".github/workflows/bailiwick.yml").remove(0);
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(workflow["on"], serde_json::json!(["pull_request", "merge_group", "push", "workflow_dispatch"]));
    let text = workflow.to_string();
    assert!(!text.contains("cargo") && !text.contains("@main"), "{text}");
    for (name, job) in workflow["jobs"].as_object().expect("jobs") {
        assert!(job["permissions"].is_object(), "{name} has the permissions of the token");
        let steps = job["steps"].as_array().expect("steps");
        let runs = |step: &serde_json::Value| {
            step["run"].as_str().is_some_and(|run| {
                run.contains("bailiwick \"") || run.contains("bailiwick merge") || run.contains("bailiwick test")
            })
        };
        if steps.iter().any(runs) {
            assert_eq!(
                (&steps[0]["name"], &steps[0]["working-directory"]),
                (&"install".into(), &"${{ runner.temp }}".into())
            );
        }
        for step in steps.iter().filter(|step| step["uses"].is_string()) {
            let uses = step["uses"].as_str().expect("a text");
            let (action, hash) = uses.split_once('@').expect("a version");
            assert!(hash.len() == 40 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{uses}");
            if action == "actions/checkout" {
                assert_eq!(step["with"]["persist-credentials"], false, "{name}");
            }
        }
    }
    let install = script_of(&workflow, "part", "install");
    assert!(["merge", "test"].iter().all(|job| script_of(&workflow, job, "install") == install));
}

/// The step installs an archive with the stated checksum only.
#[test]
fn the_installed_archive_has_the_stated_checksum() {
    let workflow = Upstream::new().yaml(".github/workflows/bailiwick.yml").remove(0);
    let install = script_of(&workflow, "part", "install");
    let source = tempfile::tempdir().expect("a folder");
    // A stand-in for curl: takes the archive, and must be called without a configuration.
    let curl =
        "#!/bin/sh\n[ \"$1\" = -q ] || exit 9\nwhile [ \"$1\" != --output ]; do shift; done\ncp \"$ARCHIVE\" \"$2\"\n";
    fs::write(source.path().join("curl"), curl).expect("a file");
    fs::write(source.path().join("bailiwick"), "#!/bin/sh\necho installed\n").expect("a file");
    shell_fine(source.path(), "chmod +x curl bailiwick; tar -czf archive.tar.gz bailiwick", &[]);
    let sum = shell_fine(source.path(), "sha256sum archive.tar.gz | cut -d' ' -f1", &[]);
    let archive = source.path().join("archive.tar.gz").display().to_string();
    let installed = |url: &str, sum: &str| -> (bool, String, String) {
        let runner = tempfile::tempdir().expect("a folder");
        let variables = [
            ("BAILIWICK_URL", url.to_owned()),
            ("BAILIWICK_SHA256", sum.to_owned()),
            ("ARCHIVE", archive.clone()),
            ("RUNNER_TEMP", runner.path().display().to_string()),
            ("GITHUB_PATH", runner.path().join("path").display().to_string()),
        ];
        let script = format!("PATH={}:$PATH\n{install}", source.path().display());
        let run = shell(runner.path(), &script, &variables);
        let path = fs::read_to_string(runner.path().join("path")).unwrap_or_default();
        let is_there = fs::read_to_string(runner.path().join("bailiwick/bailiwick")).is_ok();
        assert_eq!((is_there, !path.is_empty()), (run.status.success(), run.status.success()));
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned(), path)
    };
    let url = "https://example.org/bailiwick.tar.gz";
    assert!(installed(url, &sum).0);
    assert!(installed(url, &sum).2.trim_end().ends_with("/bailiwick"));
    assert!(!installed(url, &"0".repeat(64)).0, "another checksum");
    for (url, sum) in [("", &*sum), (url, ""), ("", "")] {
        let (is_fine, printed, _) = installed(url, sum);
        assert!(!is_fine);
        assert_eq!(printed, "::error::set BAILIWICK_URL and BAILIWICK_SHA256 in this file\n");
    }
}

#[test]
fn the_tests_of_a_new_workspace_run_in_its_workflow() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = "https://example.org/b.tar.gz";
    let sum = "ABCDEF0123456789".repeat(4);
    let init = bailiwick(folder.path(), &["init", "--ci", "--parts", "2", "--program", address, "--sha256", &sum]);
    assert!(init.status.success(), "{}", stderr(&init));
    assert!(!stderr(&init).contains("BAILIWICK_URL"), "{}", stderr(&init));
    let text = fs::read_to_string(folder.path().join(".github/workflows/bailiwick.yml")).expect("a text");
    let workflow: serde_json::Value = serde_yaml::from_str(&text).expect("YAML");
    assert_eq!(workflow["env"]["BAILIWICK_URL"], address);
    assert_eq!(workflow["env"]["BAILIWICK_SHA256"], sum.to_lowercase());
    shell_fine(folder.path(), &script_of(&workflow, "test", "test"), &[]);
    for wrong in [["--program", "http://example.org/b"], ["--program", "https://a\"b"], ["--sha256", "12"]] {
        let run = bailiwick(folder.path(), &[&["init", "--ci", "--parts", "2", "--force"], wrong.as_slice()].concat());
        assert_eq!(run.status.code(), Some(2), "{wrong:?}");
    }
}

/// The Jobs that compile on a cluster, with the shared disk of their pods.
struct Jobs {
    upstream: Upstream,
    objects: Vec<serde_json::Value>,
    shared: tempfile::TempDir,
}

impl Jobs {
    fn new() -> Self {
        let upstream = Upstream::new();
        let objects = upstream.yaml("ci/bailiwick-job.yaml");
        Self { upstream, objects, shared: tempfile::tempdir().expect("a folder") }
    }

    fn job(&self, name: &str) -> &serde_json::Value {
        let is_it = |object: &&serde_json::Value| object["kind"] == "Job" && object["metadata"]["name"] == name;
        self.objects.iter().find(is_it).expect("the Job")
    }

    fn settings(&self) -> &serde_json::Value {
        &self.objects.iter().find(|object| object["kind"] == "ConfigMap").expect("what the run is about")["data"]
    }

    /// Runs the commands of a pod with a disk of its own, with some other variables than the Job has.
    fn pod(&self, index: Option<usize>, others: &[(&'static str, &str)]) -> std::process::Output {
        let job = self.job(if index.is_some() { "bailiwick-parts" } else { "bailiwick-merge" });
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"], serde_json::json!(["sh", "-ec"]));
        let work = tempfile::tempdir().expect("a folder");
        let mut variables = vec![
            ("REPOSITORY", format!("file://{}", self.upstream.folder.path().display())),
            ("REVISION", self.upstream.revision.clone()),
            ("SHARED", self.shared.path().display().to_string()),
            ("WORK", work.path().display().to_string()),
            ("HOME", work.path().display().to_string()),
            ("ASKED", self.shared.path().join("asked").display().to_string()),
            ("OPEN", "0".to_owned()),
            ("POD", "a-pod".to_owned()),
        ];
        for name in ["PARTS", "BASE", "BRANCH", "PATIENCE"] {
            variables.push((name, self.settings()[name].as_str().expect("a text").to_owned()));
        }
        variables.extend(index.map(|index| ("JOB_COMPLETION_INDEX", index.to_string())));
        variables.extend(others.iter().map(|(name, value)| (*name, (*value).to_owned())));
        shell(work.path(), container["args"][0].as_str().expect("a script"), &variables)
    }
}

#[test]
fn the_jobs_open_one_pull_request_with_the_output_of_one_run() {
    let jobs = Jobs::new();
    let parts = jobs.job("bailiwick-parts");
    assert_eq!(parts["spec"]["completionMode"], "Indexed");
    assert_eq!(parts["spec"]["completions"], PARTS);
    assert_eq!(jobs.settings()["PARTS"], PARTS.to_string());
    for index in (0..PARTS).rev() {
        let part = jobs.pod(Some(index), &[]);
        assert!(part.status.success(), "{}", stderr(&part));
    }
    let merge = jobs.pod(None, &[]);
    assert!(merge.status.success(), "{}", stderr(&merge));
    let asked = fs::read_to_string(jobs.shared.path().join("asked")).expect("what was asked");
    assert_eq!(asked.lines().filter(|line| line.starts_with("pr create")).count(), 1, "{asked}");
    jobs.upstream.assert_branch();
}

/// A part that never ends well does not keep the merge waiting until the deadline of the Jobs.
#[test]
fn the_merge_names_missing_parts_and_failed_pods() {
    let jobs = Jobs::new();
    assert!(jobs.pod(Some(0), &[]).status.success());
    let failed = jobs.pod(Some(1), &[("REPOSITORY", "file:///nowhere")]);
    assert_eq!(failed.status.code(), Some(128), "{}", stderr(&failed));
    let merge = jobs.pod(None, &[("PATIENCE", "5")]);
    assert_eq!(merge.status.code(), Some(3), "{}", stderr(&merge));
    let variables = &jobs.job("bailiwick-parts")["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(variables[0]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.name", "a name for `kubectl logs`");
    let told = "no pod of a part gave a sign of life for 5 seconds; missing parts: 2/3 3/3\npod a-pod: exit code 128\n";
    assert!(stderr(&merge).starts_with(told), "{}", stderr(&merge));
    let rules = &jobs.job("bailiwick-merge")["spec"]["podFailurePolicy"]["rules"];
    assert_eq!(rules[0]["onExitCodes"]["values"], serde_json::json!([2, 3]), "no second attempt");
}

/// Pods have to fit on one node with two CPUs: the merge waits beside the parts.
#[test]
fn a_part_fits_beside_the_merge() {
    let jobs = Jobs::new();
    let asked = ["bailiwick-parts", "bailiwick-merge"].map(|name| {
        let requests = &jobs.job(name)["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"];
        let cpu = requests["cpu"].as_str().and_then(|cpu| cpu.strip_suffix('m')).expect("a number of millicores");
        cpu.parse::<u32>().expect("a number")
    });
    // The kubelet and the system keep some of a node.
    assert!(asked.iter().sum::<u32>() <= 1_500, "{asked:?}");
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
    let again = init(&["--ci", "--parts", "2"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains(".github/workflows/bailiwick.yml` is there already"), "{}", stderr(&again));
    assert!(snapshot(folder.path()) == before);
    // One of the two is enough.
    fs::remove_file(folder.path().join(".github/workflows/bailiwick.yml")).expect("a file");
    let half = init(&["--ci", "--parts", "2"]);
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
