//! The workflow with one job that judges: its steps are run on pull requests, each in a clone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::{bailiwick, git, stderr};
use super::runner::{Runner, Step, URL, archive};
use super::{script_of, shell_fine};

/// A repository with a workspace, the CI files of `init`, and a default branch.
struct Repository {
    folder: tempfile::TempDir,
    below: &'static str,
    branch: &'static str,
}

/// A script in the workspace that makes the change of a pull request, and the step that has to fail; none for a change that passes.
struct PullRequest {
    name: &'static str,
    change: &'static str,
    fails: Option<&'static str>,
    /// Texts of the summary.
    summary: &'static [&'static str],
}

/// Gives a group a role in all namespaces.
const ADMIN: &str = "printf 'apiVersion: bailiwick.dev/v1alpha1\\nkind: Grant\\nmetadata: {name: ops}\\nspec: {to: {groups: [ops]}, clusterRoles: [cluster-admin], clusterWide: true}\\n' > policies/ops.yaml; bailiwick render";

const PULL_REQUESTS: &[PullRequest] = &[
    PullRequest {
        name: "breaks an AccessTest",
        change: "sed -i 's/, create, update, patch, delete.$/]/' policies/team.yaml; bailiwick render",
        fails: Some("check"),
        summary: &["only less", "test questions fail"],
    },
    PullRequest { name: "gives more", change: ADMIN, fails: Some("lint"), summary: &["cluster-admin"] },
    PullRequest {
        name: "forgot to render",
        change: "sed -i 's/pods: 20/pods: 30/' policies/team.yaml",
        fails: Some("check"),
        summary: &["out/ is not up to date"],
    },
    PullRequest {
        name: "changes the output alone",
        change: "sed -i 's/pods: \"20\"/pods: \"30\"/' out/production/namespaces/team-a.yaml",
        fails: Some("check"),
        summary: &["no effective change"],
    },
    PullRequest {
        name: "leaves the folder of a removed target",
        change: "sed -i '/name: staging/,+1d' bailiwick.yaml",
        fails: Some("check"),
        summary: &["staging"],
    },
    PullRequest { name: "harmless", change: "echo a > note.txt", fails: None, summary: &["no effective change (proven)"] },
    PullRequest {
        name: "a new tenant",
        change: "sed -i 's/  - name: team-b/&\\n  - name: team-c/' policies/team.yaml; bailiwick render",
        fails: None,
        summary: &["2 created"],
    },
    PullRequest {
        name: "removes a target",
        change: "sed -i '/name: staging/,+1d' bailiwick.yaml; bailiwick render --remove-target staging",
        fails: None,
        summary: &["staging"],
    },
    PullRequest {
        name: "hostile files",
        change: "for folder in . \"$(git rev-parse --show-toplevel)\"; do cd \"$folder\"; mkdir -p .cargo
                 echo 'url = file:///dev/null' > .curlrc; printf '[toolchain]\\nchannel = \"evil\"\\n' > rust-toolchain.toml
                 printf '[build]\\nrustc = \"/bin/false\"\\n' > .cargo/config.toml; printf '#!/bin/sh\\nexit 0\\n' > bailiwick
                 cp bailiwick curl; cp bailiwick git; chmod +x bailiwick curl git; done",
        fails: None,
        summary: &["no effective change (proven)"],
    },
];

impl Repository {
    /// Makes a repository with two targets. `options` are further options of `init --ci`.
    fn new(below: &'static str, branch: &'static str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        shell_fine(root, &format!("git init -q -b {branch}"), &[]);
        let program = ["--program", URL, "--sha256", &archive().sha256];
        let init = bailiwick(root, &[&["init", below, "--ci", "github"], options, &program].concat());
        assert!(init.status.success(), "{}", stderr(&init));
        let repository = Self { folder, below, branch };
        let workspace = repository.workspace();
        let file = workspace.join("bailiwick.yaml");
        let text = fs::read_to_string(&file).expect("a text").replace("groups: [team-a]", "groups: [team-a, ops]");
        let targets = "  targets:\n  - name: staging\n    version: \"1.36\"\n";
        fs::write(&file, text.replace("  targets:\n", targets)).expect("a file");
        assert!(bailiwick(&workspace, &["render"]).status.success());
        git(repository.folder.path(), &["add", "-A"]);
        git(repository.folder.path(), &["commit", "-qm", "first"]);
        repository
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join(self.below)
    }

    fn stem(&self) -> String {
        if self.below == "." { "bailiwick".to_owned() } else { format!("bailiwick-{}", self.below.replace('/', "-")) }
    }

    fn workflow(&self) -> Value {
        let path = self.folder.path().join(format!(".github/workflows/{}.yml", self.stem()));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_yaml::from_str(&text).expect("YAML")
    }

    /// Commits a change on a branch, and merges it as the forge does. Returns the name of the merge.
    fn open(&self, number: usize, change: &str) -> String {
        let root = self.folder.path();
        git(root, &["checkout", "-q", "-b", &format!("change-{number}"), self.branch]);
        shell_fine(&self.workspace(), change, &[]);
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "change"]);
        // The base went on meanwhile.
        git(root, &["checkout", "-q", "--detach", self.branch]);
        fs::write(root.join("other.txt"), number.to_string()).expect("a file");
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "other"]);
        git(root, &["merge", "-q", "--no-ff", "-m", "merge", &format!("change-{number}")]);
        let merge = format!("refs/pull/{number}/merge");
        git(root, &["update-ref", &merge, "HEAD"]);
        git(root, &["checkout", "-q", self.branch]);
        merge
    }

    fn judge(&self, merge: &str) -> (Runner, Vec<Step>) {
        let runner = Runner::new();
        let steps = runner.run_job(&self.workflow(), "bailiwick", self.folder.path(), merge);
        (runner, steps)
    }
}

/// Returns the paths of the annotations that steps printed.
fn annotated(steps: &[Step]) -> Vec<String> {
    let lines = steps.iter().flat_map(|step| step.printed.lines()).filter(|line| line.starts_with("::"));
    lines.filter_map(|line| Some(line.split_once(" file=")?.1.split_once(',')?.0.to_owned())).collect()
}

fn assert_judged(repository: &Repository) {
    for (number, request) in PULL_REQUESTS.iter().enumerate() {
        let merge = repository.open(number, request.change);
        let (runner, steps) = repository.judge(&merge);
        let name = format!("{} in {}: {steps:#?}", request.name, repository.below);
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["install", "checkout", "check", "lint", "review"], "{name}");
        let failed: Vec<&str> = steps.iter().filter(|step| !step.is_fine).map(|step| step.name.as_str()).collect();
        assert_eq!(failed, request.fails.into_iter().collect::<Vec<_>>(), "{name}");
        let summary = runner.commands("summary");
        for text in request.summary {
            assert!(summary.contains(text), "{text}: {summary}\n{name}");
        }
        assert_eq!(summary, fs::read_to_string(runner.temp().join("review/review.md")).expect("the review"));
        let marker = format!("<!-- bailiwick:review workspace={} v=1 -->\n", repository.below);
        assert!(summary.starts_with(&marker), "{summary}");
        let paths = annotated(&steps);
        assert!(paths.iter().all(|path| runner.work().join(path).is_file()), "{paths:?}");
        if request.name == "breaks an AccessTest" || request.name == "gives more" {
            assert!(!paths.is_empty(), "{name}");
        }
    }
}

#[test]
fn pull_requests_of_a_workspace_at_the_root_are_judged() {
    assert_judged(&Repository::new(".", "main", &[]));
}

#[test]
fn pull_requests_of_a_workspace_in_a_sub_folder_are_judged() {
    assert_judged(&Repository::new("infra/access", "trunk", &[]));
}

/// A push to the default branch is the end of a merge queue: only `check` judges it.
#[test]
fn a_wrong_merge_fails_on_the_default_branch() {
    let repository = Repository::new("infra/access", "main", &["--fail-on", "high", "--sarif"]);
    let workflow = repository.workflow();
    assert_eq!(workflow["on"], serde_json::json!(["pull_request", "merge_group", "push"]));
    let steps = workflow["jobs"]["bailiwick"]["steps"].as_array().expect("steps");
    for step in steps.iter().filter(|step| step["name"] == "lint" || step["name"] == "review") {
        assert!(step["if"].as_str().expect("a condition").contains("github.event_name != 'push'"));
    }
    // `--fail-on` makes the review a gate of its own.
    let merge = repository.open(0, ADMIN);
    let runner = Runner::new();
    let mut workflow = workflow.clone();
    let is_of_merge =
        |step: &Value| step["name"] != "findings" && !step["uses"].as_str().is_some_and(|uses| uses.contains("upload"));
    workflow["jobs"]["bailiwick"]["steps"].as_array_mut().expect("steps").retain(is_of_merge);
    let steps = runner.run_job(&workflow, "bailiwick", repository.folder.path(), &merge);
    let failed: Vec<&str> = steps.iter().filter(|step| !step.is_fine).map(|step| step.name.as_str()).collect();
    assert_eq!(failed, ["lint", "review"], "{steps:#?}");
    // Code scanning gets all findings, with paths of the repository and a category of the workspace.
    let script = script_of(&repository.workflow(), "bailiwick", "findings");
    let findings = runner.run(&runner.work().join("infra/access"), &script, &Value::Null);
    assert!(findings.status.success(), "{}", stderr(&findings));
    let log = fs::read_to_string(runner.temp().join("findings/findings.sarif")).expect("a log");
    let log: Value = serde_json::from_str(&log).expect("JSON");
    assert_eq!(log["runs"][0]["automationDetails"]["id"], "bailiwick/lint/infra/access/");
    let text = log.to_string();
    assert!(text.contains("\"uri\":\"infra/access/policies/ops.yaml\""), "{text}");
}

/// The comment of an earlier run is edited; without one, a comment is posted.
#[test]
fn a_pull_request_has_one_comment() {
    let repository = Repository::new("infra/access", "main", &[]);
    let workflow = repository.workflow();
    let job = &workflow["jobs"]["comment"];
    assert_eq!(job["permissions"], serde_json::json!({"pull-requests": "write"}));
    let condition = job["if"].as_str().expect("a condition");
    assert!(condition.contains("github.event.pull_request.head.repo.full_name == github.repository"), "{condition}");
    let uses = job["steps"].as_array().expect("steps").iter().filter_map(|step| step["uses"].as_str());
    assert!(uses.clone().count() == 1 && uses.clone().all(|uses| uses.starts_with("actions/download-artifact@")));
    let script = script_of(&workflow, "comment", "comment");
    let merge = repository.open(0, PULL_REQUESTS[0].change);
    let (mut runner, _) = repository.judge(&merge);
    let asked = runner.temp().join("asked");
    runner.variables.insert("GITHUB_REPOSITORY".to_owned(), "example/platform".to_owned());
    runner.variables.insert("NUMBER".to_owned(), "7".to_owned());
    runner.variables.insert("ASKED".to_owned(), asked.display().to_string());
    for (comments, request) in [
        ("", "--method POST repos/example/platform/issues/7/comments"),
        ("41", "--method PATCH repos/example/platform/issues/comments/41"),
        ("41\n52", "--method PATCH repos/example/platform/issues/comments/41"),
    ] {
        runner.variables.insert("COMMENTS".to_owned(), comments.to_owned());
        let run = runner.run(&runner.work(), &script, &Value::Null);
        assert!(run.status.success(), "{}", stderr(&run));
        let list = fs::read_to_string(&asked).expect("what was asked");
        assert!(list.contains("api --paginate repos/example/platform/issues/7/comments?per_page=100 --jq "), "{list}");
        assert_eq!(list.lines().filter(|line| line.contains("--method")).count(), 1, "{list}");
        assert!(list.contains(request), "{list}");
        let body = fs::read_to_string(runner.temp().join("asked.body")).expect("the comment");
        assert!(body.starts_with("<!-- bailiwick:review workspace=infra/access v=1 -->\n"), "{body}");
        assert_eq!(body, runner.commands("summary"));
        fs::remove_file(&asked).expect("a file");
    }
    // Another text is no comment of ours.
    fs::write(runner.temp().join("review/review.md"), "@everybody\n").expect("a file");
    assert!(!runner.run(&runner.work(), &script, &Value::Null).status.success());
    assert!(!asked.exists());
}

/// A review of policies that do not compile has the first line of the other reviews of the workspace.
#[test]
fn a_change_that_does_not_compile_fails_and_keeps_its_comment() {
    let repository = Repository::new("infra/access", "main", &[]);
    let merge = repository.open(0, "echo 'kind: Grand' >> policies/team.yaml");
    let (runner, steps) = repository.judge(&merge);
    let failed: Vec<&str> = steps.iter().filter(|step| !step.is_fine).map(|step| step.name.as_str()).collect();
    assert_eq!(failed, ["check", "lint", "review"], "{steps:#?}");
    let summary = runner.commands("summary");
    assert!(summary.starts_with("<!-- bailiwick:review workspace=infra/access v=1 -->\n"), "{summary}");
    assert!(annotated(&steps).contains(&"infra/access/policies/team.yaml".to_owned()), "{steps:#?}");
}

/// The checksum decides, and what is not filled in fails with one sentence.
#[test]
fn the_program_is_installed_before_the_checkout_and_by_its_checksum() {
    let repository = Repository::new("infra/access", "main", &[]);
    let workflow = repository.workflow();
    let steps = workflow["jobs"]["bailiwick"]["steps"].as_array().expect("steps");
    assert_eq!((&steps[0]["name"], &steps[0]["working-directory"]), (&"install".into(), &"${{ runner.temp }}".into()));
    let install = steps[0]["run"].as_str().expect("a script");
    let installed = |url: &str, sum: &str| {
        let runner = Runner::new();
        let env = serde_json::json!({"BAILIWICK_URL": url, "BAILIWICK_SHA256": sum});
        let run = runner.run(&runner.temp(), install, &env);
        assert_eq!(run.status.success(), runner.temp().join("bailiwick/bailiwick").is_file(), "{}", stderr(&run));
        assert_eq!(run.status.success(), !runner.commands("path").is_empty());
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let sum = &archive().sha256;
    assert!(installed(URL, sum).0);
    assert!(!installed(URL, &"0".repeat(64)).0, "another checksum");
    for (url, sum) in [("", sum.as_str()), (URL, ""), ("", "")] {
        assert_eq!(
            installed(url, sum),
            (false, "::error::set BAILIWICK_URL and BAILIWICK_SHA256 in this file\n".to_owned())
        );
    }
}

/// Returns the only file of a folder.
fn only_file(folder: &Path) -> (String, String) {
    let files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().expect("a name").to_string_lossy().into_owned();
    (name, fs::read_to_string(&files[0]).expect("a text"))
}

/// Names of folders are text of the repository: what a script or YAML would evaluate is quoted or refused.
#[test]
fn a_hostile_name_of_a_folder_stays_a_name() {
    for (name, refused) in [
        ("a 'b\" $(touch x) `y` & @URL@ #", [false, true]),
        ("- x: {y", [false, false]),
        ("größe/ä", [false, false]),
        ("a${{ github.token }}", [true, true]),
        ("$HOME", [false, true]),
        ("a\nb", [true, true]),
        ("a\u{202e}b", [true, true]),
        ("a\u{85}b", [true, true]),
    ] {
        for (forge, refused) in ["github", "gitlab"].into_iter().zip(refused) {
            let folder = tempfile::tempdir().expect("a folder");
            git(folder.path(), &["init", "-q"]);
            let init = bailiwick(folder.path(), &["init", &format!("./{name}"), "--ci", forge]);
            let entries = fs::read_dir(folder.path()).expect("a folder").count();
            if refused {
                assert_eq!((init.status.code(), entries), (Some(2), 1), "{name}: {}", stderr(&init));
                assert!(stderr(&init).contains("nothing was written"), "{}", stderr(&init));
                continue;
            }
            assert!(init.status.success(), "{name}: {}", stderr(&init));
            let (text, found) = match forge {
                "github" => {
                    let (file, text) = only_file(&folder.path().join(".github/workflows"));
                    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
                    assert!(file.starts_with("bailiwick-") && file.chars().all(is_plain), "{file}");
                    let workflow: Value = serde_yaml::from_str(&text).expect("YAML");
                    (text, workflow["jobs"]["bailiwick"]["defaults"]["run"]["working-directory"].clone())
                }
                _ => {
                    let text = fs::read_to_string(folder.path().join(".gitlab-ci.yml")).expect("a text");
                    let pipeline: serde_json::Map<String, Value> = serde_yaml::from_str(&text).expect("YAML");
                    assert_eq!(pipeline.len(), 1, "{text}");
                    let job = pipeline.into_iter().next().expect("a job").1;
                    (text, job["variables"]["BAILIWICK_DIRECTORY"].clone())
                }
            };
            assert_eq!(found, name);
            let quoted = serde_json::Value::from(name).to_string();
            assert_eq!(text.matches(&quoted).count(), 1, "the name is in one scalar: {text}");
        }
    }
}

/// The root is found by walking up, also from a folder that is not there yet, to a `.git` folder or file.
#[test]
fn the_root_of_the_repository_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir_all(root.join("a/sub")).expect("a folder");
    fs::write(root.join("a/.git"), "gitdir: /elsewhere\n").expect("a file");
    let written = |start: &str, arguments: &[&str], file: &str| {
        let init = bailiwick(&root.join(start), &[&["init"], arguments, &["--ci"]].concat());
        assert!(init.status.success(), "{arguments:?}: {}", stderr(&init));
        assert!(root.join(file).is_file(), "{file}: {}", stderr(&init));
        stderr(&init)
    };
    let told = written("a", &["new/folder"], "a/.github/workflows/bailiwick-new-folder.yml");
    let path = root.canonicalize().expect("a path").join("a/.github/workflows/bailiwick-new-folder.yml");
    assert!(told.contains(&format!("CI, outside the workspace: `{}`\n", path.display())), "{told}");
    written("a/sub", &["../other"], "a/.github/workflows/bailiwick-other.yml");
    written(".", &["-C", "a/sub"], "a/.github/workflows/bailiwick-sub.yml");
    // Without a work tree, the workspace is the root.
    let told = written(".", &["alone"], "alone/.github/workflows/bailiwick.yml");
    assert!(told.contains("CI: `.github/workflows/bailiwick.yml`"), "{told}");
    assert!(bailiwick(&root.join("alone"), &["render"]).status.success(), "git is not needed");
}

/// The parts of a workspace in a sub-folder compile there.
#[test]
fn the_parts_know_the_folder_of_the_workspace() {
    let repository = Repository::new("infra/access", "main", &["--parts", "2"]);
    let workflow = repository.workflow();
    assert_eq!(workflow["env"]["BAILIWICK_DIRECTORY"], "infra/access");
    assert_eq!(workflow["jobs"]["bailiwick"]["name"], "bailiwick-infra-access");
    assert_eq!(workflow["jobs"]["pull-request"]["env"]["BRANCH"], "bailiwick-infra-access/output");
    let job = fs::read_to_string(repository.workspace().join("ci/bailiwick-job.yaml")).expect("a text");
    assert!(job.contains("\n  BAILIWICK_DIRECTORY: \"infra/access\"\n"), "{job}");
    for (number, change, code) in [(0, PULL_REQUESTS[2].change, Some(1)), (1, PULL_REQUESTS[6].change, Some(0))] {
        repository.open(number, change);
        let mut runner = Runner::new();
        let from = repository.folder.path().display();
        shell_fine(&runner.work(), &format!("git clone -q --branch change-{number} '{from}' ."), &[]);
        let install = runner.run(&runner.temp(), &script_of(&workflow, "part", "install"), &workflow["env"]);
        assert!(install.status.success(), "{}", stderr(&install));
        runner.variables.insert("COMMAND".to_owned(), "check".to_owned());
        for part in ["1", "2"] {
            runner.variables.insert("PART".to_owned(), part.to_owned());
            let run = runner.run(&runner.work(), &script_of(&workflow, "part", "compile"), &workflow["env"]);
            assert!(run.status.success(), "{}", stderr(&run));
        }
        shell_fine(&runner.temp(), "mv part parts", &[]);
        let merge = runner.run(&runner.work(), &script_of(&workflow, "merge", "judge"), &workflow["env"]);
        assert_eq!(merge.status.code(), code, "{}", stderr(&merge));
    }
}

/// A link of the repository leads no file out of it.
#[test]
fn ci_files_stay_in_the_repository() {
    for (link, target) in [(".github", "../outside"), (".github", ".."), (".gitlab-ci.yml", "../outside/x")] {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("repository");
        fs::create_dir_all(&root).expect("a folder");
        fs::create_dir_all(folder.path().join("outside")).expect("a folder");
        git(&root, &["init", "-q"]);
        std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
        let forge = if link == ".github" { "github" } else { "gitlab" };
        let init = bailiwick(&root, &["init", "access", "--ci", forge]);
        assert_eq!(fs::read_dir(folder.path().join("outside")).expect("a folder").count(), 0);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        if forge == "github" {
            assert_eq!(init.status.code(), Some(2), "{}", stderr(&init));
            assert!(stderr(&init).contains("leads out of the repository"), "{}", stderr(&init));
            assert!(!root.join("access").exists(), "nothing was written");
        }
    }
}

/// Returns the pipeline of GitLab for a workspace.
fn pipeline(root: &Path, file: &str, job: &str) -> Value {
    let text = fs::read_to_string(root.join(file)).expect("a text");
    let pipeline: Value = serde_yaml::from_str(&text).expect("YAML");
    pipeline[job].clone()
}

#[test]
fn the_pipeline_of_gitlab_goes_beside_another_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    git(root, &["init", "-q"]);
    let init = |arguments: &[&str]| bailiwick(root, &[&["init", "infra/access", "--ci", "gitlab"], arguments].concat());
    assert!(init(&[]).status.success());
    assert_eq!(
        pipeline(root, ".gitlab-ci.yml", "bailiwick-infra-access")["variables"]["BAILIWICK_DIRECTORY"],
        "infra/access"
    );
    assert_eq!(init(&[]).status.code(), Some(2), "it is there already");
    assert!(init(&["--force"]).status.success());
    fs::write(root.join(".gitlab-ci.yml"), "build: {script: make}\n").expect("a file");
    let run = init(&["--fail-on", "high"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let file = ".gitlab/bailiwick-infra-access.gitlab-ci.yml";
    assert!(stderr(&run).contains(&format!("include:\n- local: /{file}\n")), "{}", stderr(&run));
    let script = pipeline(root, file, "bailiwick-infra-access")["script"].to_string();
    assert!(script.contains("--fail-on 'high' ||") && !script.contains("[ $? -eq 1 ]"), "{script}");
    assert_eq!(fs::read_to_string(root.join(".gitlab-ci.yml")).expect("a text"), "build: {script: make}\n");
    for option in [["--sarif"].as_slice(), &["--no-comment"], &["--parts", "2"]] {
        assert_eq!(init(option).status.code(), Some(2), "{option:?}");
    }
}

/// The script of GitLab on the same pull requests; `tests/conformance/ci/run` does the same with a runner of GitLab's files.
#[test]
fn the_script_of_gitlab_names_what_failed() {
    let repository = Repository::new("infra/access", "main", &[]);
    let program = ["--program", URL, "--sha256", &archive().sha256];
    let init = bailiwick(&repository.workspace(), &[&["init", "--ci", "gitlab"], &program[..]].concat());
    assert!(init.status.success(), "{}", stderr(&init));
    let job = pipeline(repository.folder.path(), ".gitlab-ci.yml", "bailiwick-infra-access");
    let script = [&job["before_script"][0], &job["script"][0]].map(|part| part.as_str().expect("a script")).concat();
    for (number, request) in PULL_REQUESTS.iter().take(4).chain(&PULL_REQUESTS[5..6]).enumerate() {
        repository.open(number, request.change);
        let mut runner = Runner::new();
        let from = repository.folder.path().display();
        let clone = format!(
            "git clone -q --depth 1 --branch change-{number} 'file://{from}' .; git -C '{from}' rev-parse main"
        );
        let base = shell_fine(&runner.work(), &clone, &[]);
        runner.variables.insert("CI_MERGE_REQUEST_DIFF_BASE_SHA".to_owned(), base);
        let run = runner.run(&runner.work(), &format!("set -o pipefail\n{script}"), &job["variables"]);
        let printed = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(run.status.success(), request.fails.is_none(), "{}: {printed}{}", request.name, stderr(&run));
        if let Some(step) = request.fails {
            assert!(printed.ends_with(&format!("failed: {step}\n")), "{}: {printed}", request.name);
        }
        let work = runner.work();
        assert!(fs::read_to_string(work.join("review.md")).expect("the review").starts_with("<!-- bailiwick:review "));
        let quality = fs::read_to_string(work.join("gl-code-quality-report.json")).expect("a report");
        let quality: Vec<Value> = serde_json::from_str(&quality).expect("JSON");
        for violation in quality {
            assert!(work.join(violation["location"]["path"].as_str().expect("a path")).is_file(), "{violation}");
        }
        assert!(work.join("junit.xml").is_file());
    }
}
