//! The delivery objects of Argo CD and Flux: their folder, the fate of namespaces, and moves between folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{bailiwick, git, snapshot, stderr};

/// A workspace with a target for both appliers, and one without delivery objects.
const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: access}
spec:
  layout: {shards: 4}
  delivery:
    repoURL: https://git.example.org/platform/access.git
    revision: main
    argocd: {project: access, destination: {name: \"{target.name}\"}}
    flux: {sourceRef: {name: platform}}
  targets:
  - {name: prod, version: \"1.37\"}
  - {name: dev, version: \"1.36\", delivery: false}
";

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  namespaces: [{name: team-a}, {name: team-b}, {name: team-c}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: devs}
spec:
  to: {groups: [devs]}
  clusterRoles: [view]
  namespaces: [team-a, team-b]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: ops}
spec:
  to: {groups: [ops]}
  clusterRoles: [view]
  clusterWide: true
";

/// Returns a workspace with changed texts, without output.
fn workspace(changes: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("policies")).expect("a folder");
    fs::write(folder.path().join("bailiwick.yaml"), WORKSPACE).expect("a file");
    fs::write(folder.path().join("policies/teams.yaml"), POLICIES).expect("a file");
    changes.iter().for_each(|(old, new)| edit(folder.path(), old, new));
    folder
}

/// Replaces a text in the workspace file or in the policies: one of the two has it.
fn edit(folder: &Path, old: &str, new: &str) {
    let mut edited = 0;
    for name in ["bailiwick.yaml", "policies/teams.yaml"] {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).expect("a file");
        if text.contains(old) {
            fs::write(&path, text.replace(old, new)).expect("a file");
            edited += 1;
        }
    }
    assert_eq!(edited, 1, "{old}");
}

fn rendered(changes: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = workspace(changes);
    render(folder.path(), &[]);
    folder
}

fn render(folder: &Path, arguments: &[&str]) -> String {
    let run = bailiwick(folder, &[&["render"], arguments].concat());
    assert!(run.status.success(), "{}", stderr(&run));
    stderr(&run)
}

/// Runs a command with this exit code, and returns both of its outputs.
fn ends_with(folder: &Path, arguments: &[&str], code: i32) -> String {
    let run = bailiwick(folder, arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&run.stdout), stderr(&run));
    assert_eq!(run.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn delivered(folder: &Path) -> Vec<String> {
    snapshot(&folder.join("delivery")).into_iter().map(|(path, _)| path).collect()
}

fn object(folder: &Path, path: &str) -> serde_json::Value {
    let text = fs::read_to_string(folder.join(path)).expect("a file");
    let first = serde_yaml::Deserializer::from_str(&text).next().expect("a document");
    serde::Deserialize::deserialize(first).expect("YAML")
}

#[test]
fn each_folder_has_an_application_and_a_kustomization() {
    let folder = rendered(&[]);
    let names = ["cluster", "namespaces-00", "namespaces-02", "namespaces-03"];
    let of = |applier: &str| names.map(|name| format!("prod/{applier}/access-prod-{name}.yaml"));
    assert_eq!(delivered(folder.path()), [of("argocd"), of("flux")].concat());
    let application = object(folder.path(), "delivery/prod/argocd/access-prod-namespaces-03.yaml");
    assert_eq!(
        application,
        serde_json::json!({
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                "annotations": {
                    "argocd.argoproj.io/manifest-generate-paths": ".",
                    "argocd.argoproj.io/sync-wave": "1",
                },
                "name": "access-prod-namespaces-03",
                "namespace": "argocd",
            },
            "spec": {
                "destination": {"name": "prod"},
                "project": "access",
                "source": {
                    "directory": {"recurse": true},
                    "path": "out/prod/namespaces/03",
                    "repoURL": "https://git.example.org/platform/access.git",
                    "targetRevision": "main",
                },
                "syncPolicy": {
                    "automated": {"prune": true, "selfHeal": true},
                    "retry": {"backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}, "limit": 10},
                    "syncOptions": [
                        "ApplyOutOfSyncOnly=true",
                        "FailOnSharedResource=true",
                        "PruneLast=true",
                        "ServerSideApply=true",
                    ],
                },
            },
        })
    );
    ends_with(folder.path(), &["check"], 0);
}

#[test]
fn kustomizations_of_namespaces_wait_for_the_cluster() {
    let folder = rendered(&[]);
    let kustomization = object(folder.path(), "delivery/prod/flux/access-prod-namespaces-03.yaml");
    assert_eq!(
        kustomization["spec"],
        serde_json::json!({
            "deletionPolicy": "Orphan",
            "dependsOn": [{"name": "access-prod-cluster"}],
            "interval": "10m",
            "path": "./out/prod/namespaces/03",
            "prune": true,
            "retryInterval": "1m",
            "sourceRef": {"kind": "GitRepository", "name": "platform"},
            "timeout": "5m",
            "wait": true,
        })
    );
    assert_eq!(
        object(folder.path(), "delivery/prod/flux/access-prod-cluster.yaml")["spec"]["dependsOn"],
        serde_json::Value::Null
    );
}

#[test]
fn without_shards_one_object_applies_a_target() {
    let folder = rendered(&[
        ("  layout: {shards: 4}\n", ""),
        ("    revision: main\n", "    revision: main\n    path: infra/access\n    prune: false\n"),
    ]);
    assert_eq!(delivered(folder.path()), ["prod/argocd/access-prod.yaml", "prod/flux/access-prod.yaml"]);
    let application = object(folder.path(), "delivery/prod/argocd/access-prod.yaml");
    assert_eq!(application["spec"]["source"]["path"], "infra/access/out/prod");
    assert_eq!(application["spec"]["syncPolicy"]["automated"]["prune"], false);
    // An object belongs to two Applications while files move.
    assert!(!application["spec"]["syncPolicy"]["syncOptions"].to_string().contains("FailOnSharedResource"));
    assert_eq!(object(folder.path(), "delivery/prod/flux/access-prod.yaml")["spec"]["path"], "./infra/access/out/prod");
}

#[test]
fn an_application_set_lists_its_folders() {
    let folder = rendered(&[("project: access, ", "project: access, form: ApplicationSet, ")]);
    let set = object(folder.path(), "delivery/prod/argocd/access-prod.yaml");
    let elements = set["spec"]["generators"][0]["list"]["elements"].as_array().expect("elements");
    assert_eq!(elements.len(), 4);
    let last = serde_json::json!({"name": "access-prod-namespaces-03", "path": "out/prod/namespaces/03", "wave": "1"});
    assert_eq!(elements.last(), Some(&last));
    assert_eq!(
        set["spec"]["syncPolicy"],
        serde_json::json!({"applicationsSync": "create-update", "preserveResourcesOnDeletion": true})
    );
    assert_eq!(set["spec"]["template"]["spec"]["source"]["path"], "{{.path}}");
    // A text with the braces of a template would be evaluated.
    for (old, new) in [
        ("revision: main", "revision: '{{{{.name}}}}'"),
        ("project: access, ", "project: 'a b', "),
        ("git.example.org/platform", "git.example.org/plat\\nform"),
    ] {
        let folder = workspace(&[(old, new)]);
        edit(folder.path(), "repoURL: https://", "repoURL: \"https://");
        edit(folder.path(), "access.git", "access.git\"");
        let text = ends_with(folder.path(), &["render"], 2);
        assert!(text.contains("error[invalid-workspace]"), "{text}");
        assert!(!folder.path().join("delivery").exists());
    }
}

#[test]
fn settings_that_cannot_be_applied_are_refused() {
    for (old, new, words) in [
        ("argocd: {project: access, destination: {name: \"{target.name}\"}}", "folder: out/delivery", "overlap"),
        ("revision: main", "revision: main\n    folder: policies", "overlap"),
        ("revision: main", "revision: main\n    folder: ../delivery", "path-outside-workspace"),
        ("revision: main", "revision: main\n    folder: .github", "is in `.github`"),
        ("revision: main", "revision: main\n    path: ../x", "path-outside-workspace"),
        ("    revision: main\n", "", "Argo CD needs `revision`"),
        ("destination: {name: \"{target.name}\"}", "destination: {}", "either a `name` or a `server`"),
        (
            "destination: {name: \"{target.name}\"}",
            "destination: {name: a, server: b}",
            "either a `name` or a `server`",
        ),
        ("destination: {name: \"{target.name}\"}", "destination: {name: \"{target.nam}\"}", "unknown-variable"),
        ("name: access}", "name: an-access-workspace-with-a-name-that-is-much-too-long}", "Flux labels each object"),
        ("sourceRef: {name: platform}", "sourceRef: {name: Platform}", "`Platform` is not a value of `sourceRef.name`"),
        ("revision: main", "revision: main\n    objects: 2000", "1500"),
        (
            "spec:\n  namespaces",
            "spec:\n  annotations: {kustomize.toolkit.fluxcd.io/prune: enabled}\n  namespaces",
            "`onRemoval` decides the annotation",
        ),
        ("- {name: prod, version: \"1.37\"}", "- {name: prod, version: \"1.37\", delivery: {folder: x}}", "delivery"),
    ] {
        let folder = workspace(&[(old, new)]);
        let text = ends_with(folder.path(), &["render"], 2);
        assert!(text.contains(words), "{new}: {text}");
        assert!(!folder.path().join("delivery").exists() && !folder.path().join("out").exists(), "{new}");
    }
    let folder = workspace(&[(
        "revision: main\n    argocd: {project: access, destination: {name: \"{target.name}\"}}\n    flux: {sourceRef: {name: platform}}\n",
        "revision: main\n",
    )]);
    assert!(ends_with(folder.path(), &["render"], 2).contains("neither `argocd` nor `flux`"));
}

/// A run can overwrite and remove files of the delivery folder, so that no input is there.
#[test]
fn no_input_is_in_the_delivery_folder() {
    let folder =
        workspace(&[("  targets:\n", "  known: {groups: [{file: delivery/prod/flux/groups.yaml}]}\n  targets:\n")]);
    fs::create_dir_all(folder.path().join("delivery/prod/flux")).expect("a folder");
    fs::write(folder.path().join("delivery/prod/flux/groups.yaml"), "devs\nops\n").expect("a file");
    let text = ends_with(folder.path(), &["render"], 2);
    let message = "the output folder `delivery` contains the input file `delivery/prod/flux/groups.yaml`";
    assert!(text.contains(message), "{text}");
}

/// A workspace, with the content of its delivery folder for a restore.
struct Delivered {
    folder: tempfile::TempDir,
    honest: Vec<(String, Vec<u8>)>,
}

impl Delivered {
    fn new() -> Self {
        let folder = rendered(&[]);
        let honest = snapshot(&folder.path().join("delivery"));
        Self { folder, honest }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn place(&self, path: &str) -> std::path::PathBuf {
        self.root().join("delivery").join(path)
    }

    fn assert_honest(&self) {
        assert!(snapshot(&self.root().join("delivery")) == self.honest);
    }

    fn restore(&self) {
        fs::remove_dir_all(self.place("")).expect("a folder");
        for (path, bytes) in &self.honest {
            fs::create_dir_all(self.place(path).parent().expect("a folder")).expect("a folder");
            fs::write(self.place(path), bytes).expect("a file");
        }
        ends_with(self.root(), &["check"], 0);
    }

    /// Returns a file with the repository of an attacker.
    fn forged(&self, path: &str) -> String {
        let (_, bytes) = self.honest.iter().find(|(known, _)| known == path).expect("a file");
        String::from_utf8(bytes.clone()).expect("a text").replace("git.example.org", "git.evil.org")
    }
}

const APPLICATION: &str = "prod/argocd/access-prod-namespaces-03.yaml";

#[test]
fn a_changed_delivery_file_never_passes() {
    let delivered = Delivered::new();
    for (path, _) in &delivered.honest {
        fs::write(delivered.place(path), format!("{}#", delivered.forged(path))).expect("a file");
        assert!(ends_with(delivered.root(), &["check"], 1).contains(path.as_str()), "{path}");
        render(delivered.root(), &[]);
        fs::remove_file(delivered.place(path)).expect("a file");
        assert!(ends_with(delivered.root(), &["check"], 1).contains(path.as_str()), "{path}");
        render(delivered.root(), &[]);
    }
    delivered.assert_honest();
    // The next run removes a file of ours without a folder.
    fs::write(delivered.place("prod/argocd/evil.yaml"), delivered.forged(APPLICATION)).expect("a file");
    assert!(ends_with(delivered.root(), &["check"], 1).contains("prod/argocd/evil.yaml"));
    render(delivered.root(), &[]);
    delivered.assert_honest();
    // A torn file is repaired.
    fs::write(delivered.place(APPLICATION), &delivered.forged(APPLICATION)[..20]).expect("a file");
    ends_with(delivered.root(), &["check"], 1);
    render(delivered.root(), &[]);
    delivered.assert_honest();
}

/// Every readable entry of the delivery folder is judged.
#[test]
fn a_foreign_delivery_file_never_passes() {
    let delivered = Delivered::new();
    let paths = ["prod/argocd/other.yaml", "prod/other.yaml", "dev/flux/other.yaml", "gone/other.yaml", "other.yaml"];
    for path in paths.into_iter().chain([APPLICATION, "kustomization.yaml", "prod/argocd/other.json"]) {
        fs::create_dir_all(delivered.place(path).parent().expect("a folder")).expect("a folder");
        fs::write(delivered.place(path), "kind: Application\n").expect("a file");
        for command in ["check", "render"] {
            let text = ends_with(delivered.root(), &[command], 2);
            assert!(text.contains(&format!("error[foreign-file]: `delivery/{path}`")), "{text}");
        }
        assert_eq!(fs::read_to_string(delivered.place(path)).expect("a file"), "kind: Application\n");
        delivered.restore();
    }
    for (path, words) in [("submodule", "is an empty folder"), (".bailiwick-staging/prod", "is what a killed run left")]
    {
        fs::create_dir_all(delivered.place(path)).expect("a folder");
        let text = ends_with(delivered.root(), &["check"], 1);
        assert!(text.contains(words) && text.contains("error[folder-in-output]: `delivery/"), "{text}");
        delivered.restore();
    }
}

#[test]
fn no_link_in_the_delivery_folder_is_followed() {
    let delivered = Delivered::new();
    let elsewhere = delivered.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    for path in ["prod/argocd/link.yaml", APPLICATION, "prod/flux"] {
        _ = fs::remove_file(delivered.place(path));
        _ = fs::remove_dir_all(delivered.place(path));
        symlink(&elsewhere, delivered.place(path)).expect("a link");
        for command in ["check", "render"] {
            assert!(ends_with(delivered.root(), &[command], 2).contains("error[link-in-output]"), "{path}");
        }
        assert_eq!(snapshot(&elsewhere), [], "{path}");
        fs::remove_file(delivered.place(path)).expect("a link");
        delivered.restore();
    }
    fs::rename(delivered.root().join("delivery"), elsewhere.join("delivery")).expect("a move");
    symlink(elsewhere.join("delivery"), delivered.root().join("delivery")).expect("a link");
    assert!(ends_with(delivered.root(), &["check"], 2).contains("`delivery` is a symbolic link"));
    ends_with(delivered.root(), &["render"], 2);
}

/// The index of git can hide changes below the delivery folder, too.
#[test]
fn the_index_of_git_is_read_for_the_delivery_folder() {
    let folder = rendered(&[]);
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "--all"]);
    ends_with(folder.path(), &["check"], 0);
    let path = "delivery/prod/argocd/access-prod-cluster.yaml";
    git(folder.path(), &["update-index", "--assume-unchanged", path]);
    let text = ends_with(folder.path(), &["check"], 1);
    assert!(text.contains(&format!("git ignores changes of `{path}`")), "{text}");
    git(folder.path(), &["update-index", "--no-assume-unchanged", path]);
    git(
        folder.path(),
        &["update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,delivery/more"],
    );
    assert!(ends_with(folder.path(), &["check"], 1).contains("`delivery/more` is a submodule"));
}

/// The folder of the workspace in the repository is stated, and `check` compares it.
#[test]
fn a_wrong_path_in_the_repository_is_an_error() {
    let outer = tempfile::tempdir().expect("a folder");
    git(outer.path(), &["init", "--quiet"]);
    let folder = rendered(&[]);
    let below = outer.path().join("infra/access");
    fs::create_dir_all(outer.path().join("infra")).expect("a folder");
    fs::rename(folder.path(), &below).expect("a move");
    let text = ends_with(&below, &["check"], 1);
    assert!(text.contains("error[delivery-path]") && text.contains("`path: infra/access`"), "{text}");
    edit(&below, "revision: main\n", "revision: main\n    path: infra/access\n");
    render(&below, &[]);
    ends_with(&below, &["check"], 0);
    assert_eq!(
        object(&below, "delivery/prod/flux/access-prod-cluster.yaml")["spec"]["path"],
        "./infra/access/out/prod/cluster"
    );
}

/// A Namespace that the committed output protects stays in the cluster, so that no person has to confirm its removal. A
/// protection that was never committed protects nothing.
#[test]
fn a_protected_namespace_goes_without_a_confirmation() {
    let folder = rendered(&[]);
    let namespace = object(folder.path(), "out/prod/namespaces/00/team-c.yaml");
    assert_eq!(
        namespace["metadata"]["annotations"],
        serde_json::json!({
            "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
            "kustomize.toolkit.fluxcd.io/prune": "disabled",
        })
    );
    assert_eq!(
        object(folder.path(), "out/dev/namespaces/00/team-c.yaml")["metadata"]["annotations"],
        serde_json::Value::Null
    );
    let committed = snapshot(folder.path());
    edit(folder.path(), ", {name: team-c}", "");
    let text = ends_with(folder.path(), &["render"], 2);
    assert!(text.contains("the namespace `team-c` of the target `dev`") && !text.contains("`prod`"), "{text}");
    let line = "stops managing the namespace `team-c`; it stays in the cluster";
    let text = ends_with(folder.path(), &["check"], 1);
    assert!(text.contains(line) && text.contains("deletes the namespace `team-c`, with everything in it"), "{text}");
    let text = render(folder.path(), &["-t", "prod"]);
    assert!(text.contains(line), "{text}");
    // One applier would delete it.
    for (applier, annotation) in [
        ("argocd", "argocd.argoproj.io/sync-options: 'Delete=false,Prune=false'"),
        ("flux", "kustomize.toolkit.fluxcd.io/prune: disabled"),
    ] {
        for (path, bytes) in committed.iter().filter(|(path, _)| path.starts_with("out/")) {
            fs::create_dir_all(folder.path().join(path).parent().expect("a folder")).expect("a folder");
            fs::write(folder.path().join(path), bytes).expect("a file");
        }
        let path = folder.path().join("out/prod/namespaces/00/team-c.yaml");
        let text = fs::read_to_string(&path).expect("a file");
        assert!(text.contains(annotation), "{text}");
        fs::write(&path, text.replace(annotation, "a: b")).expect("a file");
        let text = ends_with(folder.path(), &["render", "-t", "prod"], 2);
        assert!(text.contains("error[namespace-delete]"), "{applier}: {text}");
    }
}

#[test]
fn a_namespace_decides_about_its_own_removal() {
    let changes = [
        ("{name: team-b}", "{name: team-b, onRemoval: confirm}"),
        ("{name: team-c}", "{name: team-c, onRemoval: delete}"),
    ];
    let folder = rendered(&changes);
    let annotations = |name: &str| object(folder.path(), name)["metadata"]["annotations"].clone();
    assert_eq!(
        annotations("out/prod/namespaces/02/team-b.yaml")["argocd.argoproj.io/sync-options"],
        "Delete=confirm,Prune=confirm"
    );
    assert_eq!(annotations("out/prod/namespaces/00/team-c.yaml"), serde_json::Value::Null);
    edit(folder.path(), ", {name: team-b, onRemoval: confirm}", "");
    assert!(render(folder.path(), &["-t", "prod"]).contains("stops managing the namespace `team-b`"));
    edit(folder.path(), ", {name: team-c, onRemoval: delete}", "");
    assert!(
        ends_with(folder.path(), &["render", "-t", "prod"], 2)
            .contains("error[namespace-delete]: the namespace `team-c`")
    );
    // Without delivery objects, no applier reads the annotations.
    let folder = workspace(&[
        changes[0],
        ("metadata: {name: teams}\nspec:", "metadata: {name: teams}\nspec:\n  targets: [dev]"),
    ]);
    assert!(ends_with(folder.path(), &["render"], 2).contains("`onRemoval` has no effect"));
}

/// A binding whose name does not follow its role gets another role under the same name, which only a new object can have.
#[test]
fn bindings_with_fixed_names_are_recreated() {
    let folder = rendered(&[("  to: {groups: [ops]}\n", "  bindingName: operators\n  to: {groups: [ops]}\n")]);
    let is_forced = |path: &str| {
        let text = fs::read_to_string(folder.path().join(path)).expect("a file");
        // Argo CD needs no annotation, and fails once with one.
        assert!(!text.contains("Force=true") && !text.contains("Replace=true"), "{text}");
        text.contains("kustomize.toolkit.fluxcd.io/force: enabled")
    };
    assert!(is_forced("out/prod/cluster/clusterrolebinding.yaml"));
    assert!(!is_forced("out/dev/cluster/clusterrolebinding.yaml"));
    assert!(!is_forced("out/prod/namespaces/03/team-a.yaml"));
}

/// Flux would replace `${name}` in any text.
#[test]
fn texts_with_variables_of_flux_are_kept() {
    let folder =
        rendered(&[("spec:\n  namespaces", "spec:\n  annotations: {example.org/owner: '${{team}}'}\n  namespaces")]);
    let annotations = |path: &str| object(folder.path(), path)["metadata"]["annotations"].clone();
    assert_eq!(annotations("out/prod/namespaces/03/team-a.yaml")["kustomize.toolkit.fluxcd.io/substitute"], "disabled");
    assert_eq!(annotations("out/dev/namespaces/03/team-a.yaml"), serde_json::json!({"example.org/owner": "${team}"}));
    let text = ends_with(folder.path(), &["lint", "--severity", "low", "--select", "substitution-in-text"], 1);
    assert!(text.contains("`metadata.annotations.example.org/owner` of Namespace `team-a`"), "{text}");
    assert_eq!(text.matches("warning[substitution-in-text]").count(), 3, "{text}");
}

/// A move between pruned folders is refused; with the steps of `migrate shards` it passes.
#[test]
fn shards_move_in_three_steps() {
    for form in ["Application", "ApplicationSet"] {
        let folder = rendered(&[("project: access, ", &format!("project: access, form: {form}, "))]);
        let steps = |next: &str| {
            let text = ends_with(folder.path(), &["migrate", "shards", "--to", "8"], 0);
            assert!(text.contains(next), "{text}");
        };
        steps("1. write `prune: false` under `spec.delivery`, run `bailiwick render`, and commit (next)");
        let before = snapshot(folder.path());
        edit(folder.path(), "shards: 4", "shards: 8");
        let text = ends_with(folder.path(), &["render"], 2);
        assert!(text.contains("error[shard-move]: 2 files of the target `prod`"), "{text}");
        edit(folder.path(), "shards: 8", "shards: 4");
        assert_eq!(snapshot(folder.path()), before);
        edit(folder.path(), "revision: main\n", "revision: main\n    prune: false\n");
        render(folder.path(), &[]);
        steps("2. write `layout: {shards: 8}` under `spec`, run `bailiwick render`, and commit (next)");
        edit(folder.path(), "shards: 4", "shards: 8");
        let text = render(folder.path(), &[]);
        assert!(!text.contains("namespace `"), "a move is no deletion: {text}");
        steps("3. remove `prune: false`, run `bailiwick render`, and commit (next)");
        edit(folder.path(), "    prune: false\n", "");
        render(folder.path(), &[]);
        steps("nothing to do");
        ends_with(folder.path(), &["check"], 0);
    }
    // Without delivery objects it is not known who prunes.
    let folder = rendered(&[("  - {name: prod, version: \"1.37\"}\n", "")]);
    assert!(
        ends_with(folder.path(), &["migrate", "shards", "--to", "8"], 2).contains("no target has delivery objects")
    );
}

/// Parts, threads and a second run give the same delivery folder.
#[test]
fn parts_and_second_runs_give_the_same_objects() {
    let folder = rendered(&[]);
    let whole = snapshot(&folder.path().join("delivery"));
    let parts = workspace(&[]);
    for number in ["2/3", "1/3", "3/3"] {
        render(parts.path(), &["--shard", number, "--summary-to", &format!("../{}.summary", number.replace('/', "-"))]);
    }
    assert_eq!(snapshot(&parts.path().join("delivery")), whole);
    let summaries = ["../1-3.summary", "../2-3.summary", "../3-3.summary"];
    let text = ends_with(parts.path(), &[&["merge"], &summaries[..]].concat(), 0);
    assert!(text.contains("delivery/: 8 objects in 8 files: 8 created"), "{text}");
    let threads = workspace(&[]);
    render(threads.path(), &["--jobs", "1"]);
    assert_eq!(snapshot(&threads.path().join("delivery")), whole);
    // A second run finds nothing to do, and a changed file is written anew.
    let rendered_again = |folder: &Path| ends_with(folder, &["render"], 0);
    let unchanged = "delivery/: 8 objects in 8 files: 0 created, 0 changed, 0 deleted, 8 unchanged";
    let text = rendered_again(folder.path());
    assert!(text.contains(unchanged), "{text}");
    let path = folder.path().join("delivery/prod/flux/access-prod-cluster.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(&path, text.replace("10m", "11m")).expect("a file");
    let text = rendered_again(folder.path());
    assert!(text.contains("delivery/: 8 objects in 8 files: 0 created, 1 changed"), "{text}");
    assert_eq!(snapshot(&folder.path().join("delivery")), whole);
    for summary in summaries {
        _ = fs::remove_file(parts.path().join(summary));
    }
}

/// A removed target takes its delivery objects along, after the consent to its removal.
#[test]
fn a_removed_target_has_no_delivery_objects() {
    let folder = rendered(&[]);
    edit(folder.path(), "  - {name: prod, version: \"1.37\"}\n", "");
    assert!(ends_with(folder.path(), &["render"], 2).contains("error[target-delete]"));
    assert!(!delivered(folder.path()).is_empty());
    let text = render(folder.path(), &["--remove-target", "prod"]);
    assert!(text.contains("delivery/: 0 objects in 0 files: 0 created, 0 changed, 8 deleted"), "{text}");
    assert_eq!(delivered(folder.path()), [""; 0]);
}

/// A comparison shows the changes of who applies which objects.
#[test]
fn a_comparison_shows_changes_of_the_delivery() {
    let folder = rendered(&[]);
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "--all"]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    ends_with(folder.path(), &["diff", "--against", "HEAD"], 0);
    edit(
        folder.path(),
        "project: access, destination: {name: \"{target.name}\"}",
        "destination: {server: \"https://evil.example.org\"}",
    );
    edit(folder.path(), "revision: main\n", "revision: other\n    onRemoval: delete\n    prune: false\n");
    let text = ends_with(folder.path(), &["diff", "--against", "HEAD"], 1);
    for line in [
        "target `prod`: `argocd.project` of its delivery changes from `access` to `default`",
        "target `prod`: `argocd.destination` of its delivery changes from `prod` to `https://evil.example.org`",
        "target `prod`: `revision` of its delivery changes from `main` to `other`",
        "target `prod`: `onRemoval` of its delivery changes from `keep` to `delete`",
        "target `prod`: `prune` of its delivery changes from `true` to `false`",
        "delivery/: 8 objects: 0 created, 8 changed, 0 deleted, 0 unchanged",
        "+    server: https://evil.example.org",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    git(folder.path(), &["checkout", "--quiet", "."]);
    edit(folder.path(), "shards: 4", "shards: 8");
    let text = ends_with(folder.path(), &["diff", "--against", "HEAD"], 1);
    assert!(text.contains("`layout.shards` changes from 4 to 8 while its appliers prune"), "{text}");
}
