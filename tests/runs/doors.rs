//! `bailiwick fn`, `bailiwick pack`, and `render --stdout` in a plugin of Argo CD.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{bailiwick, stderr};

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  podSecurity: {level: baseline}
  namespaces: [{name: team-a}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: read}
spec:
  to: {groups: [devs]}
  clusterRoles: [view]
  namespaces: [team-a]
";

const TEST: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata: {name: secrets}
spec:
  who: {groups: [devs]}
  must:
  - {verbs: [get], resources: [pods], namespaces: [team-a]}
  mustNot:
  - {verbs: [get], resources: [secrets], namespaces: [team-a]}
";

/// A list with comments, foreign annotations and an order of its own.
const LIST: &str = "\
# A comment.
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: z, namespace: team-a, annotations: {config.kubernetes.io/id: \"7\"}} # Kept.
  data:
    a: |
      x

      y
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: team-a}}
";

/// Makes a folder with a workspace `access` that has these targets.
fn workspace(targets: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let access = folder.path().join("access");
    fs::create_dir_all(access.join("policies")).expect("a folder");
    let targets: Vec<String> = targets.iter().map(|name| format!("{{name: {name}, version: \"1.37\"}}")).collect();
    let settings = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: access}}\nspec: {{targets: [{}]}}\n",
        targets.join(", ")
    );
    fs::write(access.join("bailiwick.yaml"), settings).expect("a file");
    fs::write(access.join("policies/teams.yaml"), POLICIES).expect("a file");
    fs::write(access.join("policies/test.yaml"), TEST).expect("a file");
    folder
}

/// Runs `bailiwick fn` in a folder with this input.
fn function(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .arg("fn")
        .args(arguments)
        .current_dir(folder)
        .env_remove("HELM_NAMESPACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = program.stdin.take().expect("a pipe");
    // The program may end before it has read everything.
    _ = pipe.write_all(input);
    drop(pipe);
    program.wait_with_output().expect("the program ends")
}

fn generator(directory: &str, target: &str) -> String {
    format!(
        "functionConfig:\n  apiVersion: bailiwick.dev/v1alpha1\n  kind: Bailiwick\n  metadata: {{name: access}}\n  spec: {{directory: {directory}, target: {target}}}\n"
    )
}

/// Checks that an input is refused: a message with this text, nothing on standard output, and code 2.
#[track_caller]
fn is_refused(folder: &Path, input: &str, message: &str) {
    let run = function(folder, &[], input.as_bytes());
    assert_eq!(run.status.code(), Some(2), "{input}\n{}", stderr(&run));
    assert!(run.stdout.is_empty(), "{input}");
    assert!(stderr(&run).contains(message), "{input}\n{}", stderr(&run));
}

#[test]
fn a_generator_adds_the_objects_below_the_items_and_keeps_their_text() {
    let folder = workspace(&["prod"]);
    let config = generator("access", "prod");
    let run = function(folder.path(), &[], format!("{LIST}{config}").as_bytes());
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let text = String::from_utf8(run.stdout).expect("text");
    let generated = text.strip_prefix(LIST).and_then(|text| text.strip_suffix(&config)).expect("the input is kept");
    assert!(generated.starts_with("- apiVersion: v1\n  kind: Namespace\n"), "{generated}");
    assert!(generated.contains("internal.config.kubernetes.io/path: prod/namespaces/team-a.yaml"), "{generated}");
    assert!(generated.contains("  kind: RoleBinding\n"), "{generated}");
    // The objects are there now.
    is_refused(folder.path(), &text, "already has the generated object Namespace/team-a");
}

#[test]
fn a_generator_writes_lists_of_other_forms_anew_with_the_same_values() {
    let folder = workspace(&["prod"]);
    let config =
        "{\"apiVersion\": \"bailiwick.dev/v1alpha1\", \"kind\": \"Bailiwick\", \"spec\": {\"directory\": \"access\"}}";
    for items in
        ["[]", "null", "[{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}, \"size\": 1.5}]"]
    {
        let version = "config.kubernetes.io/v1beta1";
        let input = format!(
            "{{\"apiVersion\": \"{version}\", \"kind\": \"ResourceList\", \"items\": {items}, \"functionConfig\": {config}}}"
        );
        let run = function(folder.path(), &[], input.as_bytes());
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
        let text = String::from_utf8(run.stdout).expect("text");
        assert!(text.contains(version) && text.contains("kind: RoleBinding"), "{text}");
        assert_eq!(text.contains("size: 1.5"), items.contains("1.5"), "{text}");
    }
}

#[test]
fn a_generator_opens_no_workspace_outside_its_folder() {
    let (folder, other) = (workspace(&["prod"]), workspace(&["prod"]));
    let below = folder.path().join("below");
    fs::create_dir(&below).expect("a folder");
    let outside = other.path().join("access");
    std::os::unix::fs::symlink(&outside, folder.path().join("link")).expect("a link");
    let refusal = "is no folder with a workspace below the folder of the function";
    for directory in ["..", "../access", "access/../access", "link", "nowhere", "''", outside.to_str().expect("a path")]
    {
        is_refused(folder.path(), &format!("{LIST}{}", generator(directory, "prod")), refusal);
    }
    // The workspace above an existing folder is not searched.
    fs::create_dir(folder.path().join("access/inner")).expect("a folder");
    is_refused(folder.path(), &format!("{LIST}{}", generator("access/inner", "prod")), refusal);
    is_refused(folder.path(), &format!("{LIST}{}", generator("access", "other")), "unknown-target");
}

#[test]
fn a_function_refuses_other_input() {
    let folder = workspace(&["prod"]);
    let config = generator("access", "prod");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bomb =
        (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| text + &format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";
    let inputs = [
        (String::new(), "no ResourceList"),
        ("kind: List\napiVersion: v1\nitems: []\n".to_owned(), "no ResourceList"),
        (format!("{LIST}---\n{LIST}"), "no ResourceList"),
        (format!("{list}{config}"), "no list `items`"),
        (format!("{list}items: {{a: b}}\n{config}"), "no list `items`"),
        (format!("{list}items: [x]\n{config}"), "not a Kubernetes object"),
        (format!("{list}items: []\nitems: []\n{config}"), "duplicate"),
        (format!("{list}items: []\n"), "`functionConfig` is no"),
        (format!("{list}items: []\nfunctionConfig: {{kind: Other}}\n"), "`functionConfig` is no"),
        (format!("{list}items: []\n{config}").replace("target:", "targets:"), "targets"),
        (
            format!("{list}items: []\n{config}").replace("spec: {directory: access, target: prod}", "spec: []"),
            "no `spec`",
        ),
        (format!("{list}items: {deep}\n{config}"), "error"),
        (format!("{list}items: []\n{bomb}{config}"), "error"),
    ];
    for (input, message) in inputs {
        is_refused(folder.path(), &input, message);
    }
    let run = function(folder.path(), &[], b"\xff\xfe\x00");
    assert_eq!((run.status.code(), run.stdout.is_empty()), (Some(2), true));
}

#[test]
fn a_validator_reports_the_binding_that_breaks_the_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = |role: &str, namespace: &str| {
        let config = TEST.lines().filter(|line| !line.contains("must:") && !line.contains("pods"));
        let config: String = config.map(|line| format!("  {line}\n")).collect();
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: rbac.authorization.k8s.io/v1\n  kind: RoleBinding\n  metadata: {{name: b{namespace}}}\n  roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\n  subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}}]\nfunctionConfig:\n{config}"
        )
    };
    let own = ", namespace: team-a";
    let fine = function(folder.path(), &[], list("view", own).as_bytes());
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
    assert_eq!(String::from_utf8_lossy(&fine.stdout), list("view", own));
    assert_eq!(stderr(&fine), "1 test: 1 question asked, 0 failed\n");
    // A role outside of the items may have the permission.
    for role in ["admin", "elsewhere"] {
        let broken = function(folder.path(), &[], list(role, own).as_bytes());
        assert_eq!(broken.status.code(), Some(1), "{}", stderr(&broken));
        let text = String::from_utf8(broken.stdout).expect("text");
        let results = text.strip_prefix(&list(role, own)).expect("the list is kept");
        assert!(results.starts_with("results:\n- message: 'secrets: group `devs` must not get secrets"), "{results}");
        assert!(results.contains("kind: RoleBinding\n    namespace: team-a\n    name: b\n"), "{results}");
    }
    is_refused(folder.path(), &list("view", ""), "1 namespaced object without a namespace");
    let placed = function(folder.path(), &["--default-namespace", "team-a"], list("admin", "").as_bytes());
    assert_eq!(placed.status.code(), Some(1), "{}", stderr(&placed));
    is_refused(folder.path(), &list("view", own).replace("spec:", "spec:\n    targets: [other]"), "");
}

#[test]
fn a_stream_passes_the_same_bytes_or_none() {
    let folder = workspace(&["prod"]);
    let access = folder.path().join("access");
    let binding = |name: &str, role: &str| {
        format!(
            "# Kept.\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: {name}, namespace: team-a}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\nsubjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}}]\n---\n"
        )
    };
    let run = |input: &str| function(&access, &["--stream"], input.as_bytes());
    let fine = run(&binding("more", "view"));
    assert_eq!(
        (fine.status.code(), String::from_utf8_lossy(&fine.stdout).into_owned()),
        (Some(0), binding("more", "view"))
    );
    let refused = [
        (binding("more", "admin"), 1, "must not get secrets"),
        (binding("more", "elsewhere"), 1, "the decision is unknown"),
        // A manifest replaces the object of the target with its identity, here the only binding that the test needs.
        (binding("read-view", "system:discovery"), 1, "must get pods"),
        (
            format!(
                "apiVersion: v1\nkind: List\nitems:\n- {}",
                binding("more", "admin").lines().skip(1).take(5).collect::<Vec<_>>().join("\n  ")
            ),
            1,
            "must not get secrets",
        ),
        (binding("more", "view").replace(", namespace: team-a", ""), 2, "without a namespace"),
        ("\n".to_owned(), 2, "no manifest on standard input"),
        ("a: [".to_owned(), 2, "error"),
        ("kind: RoleBinding\n".to_owned(), 2, "error"),
    ];
    for (input, code, message) in refused {
        let run = run(&input);
        assert_eq!(run.status.code(), Some(code), "{input}\n{}", stderr(&run));
        assert!(run.stdout.is_empty() && stderr(&run).contains(message), "{input}\n{}", stderr(&run));
    }
    fs::remove_file(access.join("policies/test.yaml")).expect("a file");
    let untested = run(&binding("more", "view"));
    assert_eq!((untested.status.code(), untested.stdout.is_empty()), (Some(2), true));
    assert!(stderr(&untested).contains("has no AccessTest"), "{}", stderr(&untested));
}

#[test]
fn a_plugin_of_argo_cd_prints_the_target_of_its_parameter() {
    let folder = workspace(&["prod", "stage"]);
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .args(["render", "--stdout", "--quiet"])
            .args(arguments)
            .current_dir(folder.path().join("access"))
            .envs(variables.iter().copied())
            .output()
            .expect("the program starts")
    };
    let named = |text: &'static str| [("ARGOCD_APP_PARAMETERS", text)];
    let one = run(&named(r#"[{"name": "other", "array": []}, {"name": "target", "string": "stage"}]"#), &[]);
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    assert_eq!(String::from_utf8_lossy(&one.stdout).matches("kind: Namespace").count(), 1);
    assert_eq!(run(&named("{"), &["-t", "prod"]).stdout, one.stdout, "`-t` counts");
    assert_eq!(run(&[], &[]).status.code(), Some(0), "no plugin");
    let refused = [
        ("[]", "names no target"),
        // The value without parameters.
        ("null", "names no target"),
        (r#"[{"name": "target"}]"#, "has no `string`"),
        (r#"[{"name": "target", "array": ["prod"]}]"#, "has no `string`"),
        (r#"[{"name": "target", "string": "a"}, {"name": "target", "string": "b"}]"#, "twice"),
        (r#"{"target": "prod"}"#, "is no list"),
        ("[{", "is no JSON"),
        (r#"[{"name": "target", "string": "../prod"}]"#, "unknown-target"),
    ];
    for (parameters, message) in refused {
        let run = run(&named(parameters), &[]);
        assert_eq!((run.status.code(), run.stdout.is_empty()), (Some(2), true), "{parameters}");
        assert!(stderr(&run).contains(message), "{parameters}: {}", stderr(&run));
    }
    let unnamed = run(&[("ARGOCD_APP_NAME", "access")], &[]);
    assert_eq!((unnamed.status.code(), unnamed.stdout.is_empty()), (Some(2), true));
}

/// Returns the files of a folder with their bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.expect("an entry"));
    let found = entries.filter(|entry| entry.file_type().is_file());
    let name = |path: &Path| path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
    found.map(|entry| (name(entry.path()), fs::read(entry.path()).expect("a file"))).collect()
}

#[test]
fn a_layout_has_the_same_digest_on_any_number_of_threads() {
    let folder = workspace(&["prod"]);
    let access = folder.path().join("access");
    let pack = |output: &str, more: &[&str]| {
        let run = bailiwick(&access, &[&["pack", "prod", "--output", output], more].concat());
        (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned(), stderr(&run))
    };
    let (code, digest, _) = pack("a", &["-j", "1"]);
    assert_eq!((code, digest.len()), (Some(0), "sha256:".len() + 64 + 1));
    // A stale or forged output folder is not packed.
    fs::create_dir_all(access.join("out/prod/cluster")).expect("a folder");
    fs::write(access.join("out/prod/cluster/forged.yaml"), "kind: ClusterRole\n").expect("a file");
    for (output, jobs) in [("b", "2"), ("deep/c", "8")] {
        assert_eq!(pack(output, &["-j", jobs]).1, digest);
        assert_eq!(files(&access.join(output)), files(&access.join("a")));
    }
    assert_ne!(pack("d", &["--revision", "main@sha1:0"]).1, digest);
    let manifest =
        files(&access.join("d")).into_iter().find(|(_, bytes)| String::from_utf8_lossy(bytes).contains("layers"));
    let manifest = String::from_utf8(manifest.expect("a manifest").1).expect("text");
    assert!(manifest.contains("\"org.opencontainers.image.revision\":\"main@sha1:0\""), "{manifest}");
    assert!(!manifest.contains("image.source"), "{manifest}");
    let names: Vec<String> = files(&access.join("a")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 5, "{names:?}");
}

#[test]
fn a_layout_replaces_nothing() {
    let folder = workspace(&["prod"]);
    let access = folder.path().join("access");
    fs::create_dir_all(access.join("used")).expect("a folder");
    fs::write(access.join("used/mine"), "x").expect("a file");
    fs::create_dir(access.join("empty")).expect("a folder");
    std::os::unix::fs::symlink(folder.path(), access.join("link")).expect("a link");
    for output in ["used", "link", "bailiwick.yaml", "."] {
        let run = bailiwick(&access, &["pack", "prod", "--output", output]);
        assert_eq!(run.status.code(), Some(2), "{output}: {}", stderr(&run));
        assert!(stderr(&run).contains("is not an empty folder"), "{}", stderr(&run));
    }
    assert_eq!(bailiwick(&access, &["pack", "prod", "--output", "empty"]).status.code(), Some(0));
    // An error of the policies leaves nothing behind.
    fs::write(access.join("policies/teams.yaml"), POLICIES.replace("clusterRoles: [view]", "permissionSets: [none]"))
        .expect("a file");
    let broken = bailiwick(&access, &["pack", "prod", "--output", "broken"]);
    assert_eq!((broken.status.code(), access.join("broken").exists()), (Some(2), false));
    fs::write(access.join("policies/teams.yaml"), "").expect("a file");
    fs::remove_file(access.join("policies/test.yaml")).expect("a file");
    let empty = bailiwick(&access, &["pack", "prod", "--output", "broken"]);
    assert_eq!((empty.status.code(), access.join("broken").exists()), (Some(2), false), "{}", stderr(&empty));
}
