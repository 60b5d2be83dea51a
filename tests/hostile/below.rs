//! Changes of access that the output does not show: the version of a target, its baseline, and objects that are judged and
//! not written. `diff --against` compares the access of both sides, each with its own workspace file.

use std::fs;
use std::path::Path;

use super::gate::{TEAMS, assert_status, commit, edit, example, stdout};
use crate::runs::{bailiwick, stderr};

/// Compares with the last commit: the exit code, and what is printed.
fn diff(folder: &Path, status: i32) -> String {
    let run = bailiwick(folder, &["diff", "--against", "HEAD", "--summary"]);
    assert_status(&run, status);
    let printed = stdout(&run);
    assert!(!printed.chars().any(|letter| letter.is_control() && letter != '\n'), "{printed:?}");
    printed
}

#[track_caller]
fn assert_told(printed: &str, lines: &[&str]) {
    for line in lines {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Returns the example at 1.30, rendered and committed.
fn committed() -> tempfile::TempDir {
    let folder = example();
    edit(folder.path(), "bailiwick.yaml", "\"1.37\"", "\"1.30\"");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    diff(folder.path(), 0);
    folder
}

const UNCHANGED: &str = "production: 8 objects: 0 created, 0 changed, 0 deleted, 8 unchanged\n";

#[test]
fn another_version_alone_changes_access() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.37\"");
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &[
            "target `production`: its version changes from 1.30 to 1.37; what the default policy grants changes with it",
            "target `production`: its default policy has another `ClusterRole system:aggregate-to-edit`, `ClusterRole system:aggregate-to-view`, ",
            UNCHANGED,
            "  access of Group/team-a in team-a, ServiceAccount/team-a/ci in team-a:\n    + get, list, watch on events in events.k8s.io\n    + get, list, watch on resourceclaims in resource.k8s.io\n",
        ],
    );
    // The other way round, the same is lost; for every form of the command.
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    edit(folder.path(), "bailiwick.yaml", "\"1.37\"", "\"1.30\"");
    let back = diff(folder.path(), 1);
    assert_told(&back, &["    - get, list, watch on resourceclaims in resource.k8s.io\n"]);
    for arguments in [&["diff", "--against", "HEAD"][..], &["diff", "--against", "HEAD", "--quiet"]] {
        let run = bailiwick(folder.path(), arguments);
        assert_status(&run, 1);
        assert!(
            stderr(&run).contains("    - get, list, watch on resourceclaims in resource.k8s.io\n"),
            "{}",
            stderr(&run)
        );
    }
}

/// A patch of a version changes no access.
#[test]
fn a_patch_of_a_version_changes_nothing() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.30.4\"");
    assert_eq!(diff(folder.path(), 0), UNCHANGED);
}

/// A version and the output change: the access of all is compared once.
#[test]
fn another_version_beside_another_output_is_one_comparison() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.37\"");
    edit(folder.path(), TEAMS, "clusterRoles: [view]", "clusterRoles: [edit]");
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &[
            "    + create, delete, deletecollection, patch, update on pods\n",
            "    + create, delete, deletecollection, get, list, patch, update, watch on events in events.k8s.io\n",
        ],
    );
    assert_eq!(printed.matches("access of Group/team-a in team-a").count(), 1, "{printed}");
}

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: view}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n";

#[test]
fn another_baseline_alone_changes_access() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "    version: \"1.30\"\n", "    version: \"1.30\"\n    baseline: cluster\n");
    write(folder.path(), "cluster/roles.yaml", ROLE);
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    // The first baseline replaces the default policy.
    assert_told(
        &diff(folder.path(), 1),
        &[
            "target `production`: its baseline changes, which the output does not show\n",
            UNCHANGED,
            "    - get, list, watch on services\n",
        ],
    );
    commit(folder.path());
    diff(folder.path(), 0);
    edit(folder.path(), "cluster/roles.yaml", "resources: [pods]", "resources: [pods, secrets]");
    assert_told(
        &diff(folder.path(), 1),
        &[
            "target `production`: its baseline changes, which the output does not show\n",
            UNCHANGED,
            "  access of Group/team-a in team-a, ServiceAccount/team-a/ci in team-a:\n    + get on secrets\n",
        ],
    );
    commit(folder.path());
    // The same objects in another file are no other access.
    fs::rename(folder.path().join("cluster/roles.yaml"), folder.path().join("cluster/others.yaml")).expect("a file");
    assert_told(&diff(folder.path(), 1), &["its baseline changes", "  access: no subject gains or loses anything\n"]);
    // One that is gone cannot be compared.
    fs::remove_dir_all(folder.path().join("cluster")).expect("a folder");
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 2);
}

const SEEN: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: seen}\nspec: {files: [seen/*.yaml], emit: false}\n";

fn binding(role: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: seen}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\nsubjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}}]\n"
    )
}

#[test]
fn an_object_that_is_not_written_changes_access_alone() {
    let folder = committed();
    write(folder.path(), "policies/seen.yaml", SEEN);
    write(folder.path(), "policies/seen/a.yaml", &binding("system:basic-user"));
    commit(folder.path());
    diff(folder.path(), 0);
    write(folder.path(), "policies/seen/a.yaml", &binding("cluster-admin"));
    assert_told(
        &diff(folder.path(), 1),
        &[
            "target `production`: ClusterRoleBinding seen, which is judged and not written, changes\n",
            UNCHANGED,
            "  access of User/mallory cluster-wide:\n",
            "    + * on * in *\n",
        ],
    );
    commit(folder.path());
    // An object that is written from now on grants what it granted before.
    edit(folder.path(), "policies/seen.yaml", ", emit: false", "");
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &[
            "target `production`: ClusterRoleBinding seen, which is judged and not written, is gone\n",
            "1 created",
            "  access: no subject gains or loses anything\n",
        ],
    );
}

/// A copy of the former object does not hide the one before it.
#[test]
fn a_second_object_of_a_name_hides_no_change() {
    let folder = committed();
    write(folder.path(), "policies/seen.yaml", SEEN);
    write(folder.path(), "policies/seen/b.yaml", &binding("system:basic-user"));
    commit(folder.path());
    write(folder.path(), "policies/seen/a.yaml", &binding("cluster-admin"));
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &["target `production`: ClusterRoleBinding seen, which is judged and not written, changes\n"],
    );
}

#[test]
fn a_kept_object_changes_access_alone() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "spec:\n", "spec:\n  keep: [\"*/extra.yaml\"]\n");
    write(folder.path(), "out/production/extra.yaml", &binding("system:basic-user"));
    commit(folder.path());
    write(folder.path(), "out/production/extra.yaml", &binding("cluster-admin"));
    let line = "target `production`: ClusterRoleBinding seen, which was kept in the output folder, ";
    let gains = "    + * on * in *\n";
    assert_told(&diff(folder.path(), 1), &[&format!("{line}changes\n"), UNCHANGED, gains]);
    commit(folder.path());
    fs::remove_file(folder.path().join("out/production/extra.yaml")).expect("a file");
    assert_told(&diff(folder.path(), 1), &[&format!("{line}is gone\n"), UNCHANGED, "    - * on * in *\n"]);
}

/// Each side has the output folder and the targets of its own workspace file.
#[test]
fn each_side_has_its_own_workspace_file() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "spec:\n", "spec:\n  output: made\n");
    fs::rename(folder.path().join("out"), folder.path().join("made")).expect("a folder");
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.37\"");
    assert_told(
        &diff(folder.path(), 1),
        &["`spec.output` changes from `out` to `made`\n", UNCHANGED, "+ get, list, watch on events in events.k8s.io\n"],
    );
}

/// A side that cannot be read is named with the reason, and never passes for one without changes.
#[test]
fn a_broken_side_is_named() {
    let broken = "cannot be read: changes of the gate, and of access beside the output, are not known";
    let folder = committed();
    let workspace = fs::read_to_string(folder.path().join("bailiwick.yaml")).expect("a file");
    for (text, reason) in [
        (workspace.replace("targets:", "tragets:"), "(bailiwick.yaml:8:3: the field `targets` is missing)\n"),
        (workspace.replace("spec:", "\"sp\\u001b[2Jec\\u202e\":"), "(bailiwick.yaml:"),
        (workspace.replace("1.30", "0.30"), "(bailiwick.yaml:"),
        ("{".to_owned(), "(bailiwick.yaml:"),
        (String::new(), "(bailiwick.yaml:"),
        (
            workspace.replace("    version: \"1.30\"\n", "    version: \"1.30\"\n    baseline: ../../etc\n"),
            "(bailiwick.yaml:",
        ),
        (
            workspace.replace("    version: \"1.30\"\n", "    version: \"1.30\"\n    baseline: nothing\n"),
            "there is no file or folder `nothing`)\n",
        ),
    ] {
        write(folder.path(), "bailiwick.yaml", &text);
        commit(folder.path());
        write(folder.path(), "bailiwick.yaml", &workspace);
        let printed = diff(folder.path(), 1);
        assert_told(&printed, &["the policies of `HEAD` ", broken, reason, UNCHANGED]);
    }
    // If the policies cannot be read, the version of the workspace file counts.
    let policy = fs::read_to_string(folder.path().join(TEAMS)).expect("a file");
    edit(folder.path(), TEAMS, "permissionSets: [", "permissionSet: [");
    commit(folder.path());
    write(folder.path(), TEAMS, &policy);
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.37\"");
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &[broken, "(policies/team.yaml:", "target `production`: its version changes from 1.30 to 1.37", UNCHANGED],
    );
    // A workspace file that is new has no earlier side.
    fs::remove_file(folder.path().join("bailiwick.yaml")).expect("a file");
    commit(folder.path());
    write(folder.path(), "bailiwick.yaml", &workspace);
    assert_told(&diff(folder.path(), 1), &[broken, "(this folder has no `bailiwick.yaml`)\n"]);
}

/// A change of the policies is shown before what a version changes for dozens of components.
#[test]
fn a_change_is_not_lost_among_those_of_another_version() {
    let folder = committed();
    edit(folder.path(), "bailiwick.yaml", "\"1.30\"", "\"1.16\"");
    write(folder.path(), "policies/seen.yaml", SEEN);
    write(folder.path(), "policies/seen/a.yaml", &binding("cluster-admin"));
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    let printed = diff(folder.path(), 1);
    assert_told(
        &printed,
        &[
            "  access of User/mallory cluster-wide:\n",
            "  access of the cluster's own components changes with its default policy: ServiceAccount/kube-system/",
        ],
    );
    assert!(!printed.contains("  access of ServiceAccount/kube-system/"), "{printed}");
    // A component that gains more than its version gives it is shown.
    let component = binding("cluster-admin").replace("kind: User", "kind: ServiceAccount").replace(
        "apiGroup: rbac.authorization.k8s.io, kind: ServiceAccount, name: mallory",
        "kind: ServiceAccount, name: cronjob-controller, namespace: kube-system",
    );
    write(folder.path(), "policies/seen/a.yaml", &component);
    assert_told(
        &diff(folder.path(), 1),
        &["  access of ServiceAccount/kube-system/cronjob-controller cluster-wide:\n"],
    );
}
