//! Changes that make the gate weaker: tests, settings, isolations and declared names since a revision.

use std::fs;
use std::path::Path;

use super::gate::{TEAMS, assert_status, commit, edit, example, stdout};
use crate::runs::{bailiwick, stderr};

/// Runs `diff --against HEAD` after a change, which has to end with 1 and to print these lines.
pub(super) fn assert_shown(folder: &Path, lines: &[&str]) {
    let run = bailiwick(folder, &["diff", "--against", "HEAD", "--summary"]);
    assert_status(&run, 1);
    for line in lines {
        assert!(stdout(&run).contains(line), "{line}: {}", stdout(&run));
    }
}

/// Changes of a file from one text to another, with the lines that `diff` prints.
const CHANGES: [(&str, &str, &str, &[&str]); 9] = [
    (
        TEAMS,
        "    resources: [secrets]\n",
        "    resources: [configmaps]\n",
        &[
            "the AccessTest `team-a` is narrower: without 3 expectations, such as group `team-a` must not get secrets in * on `production` (before: policies/team.yaml:57)\n",
        ],
    ),
    (
        TEAMS,
        "    verbs: [get, list, watch]\n    resources: [secrets]",
        "    verbs: [get, list]\n    resources: [secrets]",
        &[],
    ),
    (
        TEAMS,
        "kind: AccessTest\nmetadata:\n  name: team-a\n",
        "kind: AccessTest\nmetadata:\n  name: another\n",
        &["the AccessTest `team-a` is removed, with 6 expectations (before: policies/team.yaml:53)\n"],
    ),
    (
        TEAMS,
        "kind: Grant\nmetadata:\n",
        "kind: Grant\nmetadata:\n  allow: [exec-into-pods]\n",
        &["`metadata.allow` in `policies/team.yaml` accepts the warning `exec-into-pods`\n"],
    ),
    (
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  diagnostics: {grant-expired: ignore}\n",
        &["`spec.diagnostics` sets `grant-expired` to `ignore`\n"],
    ),
    (
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  keep: [\"**/notes\"]\n",
        &["`spec.keep` changes from [] to [`**/notes`]\n"],
    ),
    (
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  fixtures: [\"old/**\"]\n",
        &["`spec.fixtures` changes from [] to [`old/**`]\n"],
    ),
    (
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  drift: {accept: [{kind: RoleBinding, namespace: \"*\", name: \"*\", reason: any}]}\n",
        &["`spec.drift.accept` accepts `RoleBinding/*/*`\n"],
    ),
    (
        "bailiwick.yaml",
        "spec:\n",
        "spec:\n  output: manifests\n",
        &["`spec.output` changes from `out` to `manifests`\n"],
    ),
];

#[test]
fn a_weaker_gate_is_shown() {
    let folder = example();
    commit(folder.path());
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
    for (path, from, to, lines) in CHANGES {
        let before = fs::read_to_string(folder.path().join(path)).expect("a file");
        if !before.contains(from) {
            continue;
        }
        edit(folder.path(), path, from, to);
        assert_shown(folder.path(), lines);
        fs::write(folder.path().join(path), before).expect("a file");
    }
}

const NODES: &str = "policies/nodes.yaml";

#[test]
fn a_weaker_promise_is_shown() {
    let folder = example();
    let nodes = "apiVersion: bailiwick.dev/v1alpha1\nkind: NodeAccess\nmetadata: {name: nodes}\nspec:\n  pools:\n  - name: web\n    labels: {node-restriction.kubernetes.io/pool: web}\n  isolation:\n  - pool: web\n    namespaces: [team-a, team-b]\n";
    fs::write(folder.path().join(NODES), nodes).expect("a file");
    let groups = "    groups: [team-a, \"oidc:*\"]\n";
    edit(folder.path(), "bailiwick.yaml", "    groups: [team-a]\n", groups);
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
    let isolation = "the isolation of the pool `web` on `production`";
    for (path, from, to, line) in [
        (
            NODES,
            "[team-a, team-b]",
            "[team-a]",
            format!("{isolation} is narrower: without the namespace `team-b` (before: policies/nodes.yaml:9)\n"),
        ),
        (
            NODES,
            "  isolation:\n  - pool: web\n    namespaces: [team-a, team-b]\n",
            "",
            format!(
                "{isolation} is removed: without the namespaces `team-a`, `team-b` (before: policies/nodes.yaml:9)\n"
            ),
        ),
        (
            NODES,
            "pool: web}",
            "pool: other}",
            "the isolated pool `web` on `production` has other labels or taints (before: policies/nodes.yaml:9)\n"
                .to_owned(),
        ),
        (
            "bailiwick.yaml",
            "[team-a, \"oidc:*\"]",
            "[team-a, team-b]",
            "`known.groups` of `production` adds `team-b`, and removes `oidc:*` (before: bailiwick.yaml:10)\n"
                .to_owned(),
        ),
        (
            "bailiwick.yaml",
            groups,
            "",
            "`known.groups` of `production` is removed: any name can be used (before: bailiwick.yaml:10)\n".to_owned(),
        ),
    ] {
        let before = fs::read_to_string(folder.path().join(path)).expect("a file");
        edit(folder.path(), path, from, to);
        assert_shown(folder.path(), &[&line]);
        // Nothing else differs.
        assert_status(&bailiwick(folder.path(), &["check", "--no-tests"]), 0);
        fs::write(folder.path().join(path), before).expect("a file");
    }
    // A stricter promise is no weaker gate.
    edit(folder.path(), "bailiwick.yaml", groups, &format!("{groups}    roles: []\n"));
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
}

#[test]
fn a_looser_guard_is_shown() {
    const GUARD: &str = "policies/guard.yaml";
    let folder = example();
    let guard = "apiVersion: bailiwick.dev/v1alpha1\nkind: Guard\nmetadata: {name: git}\nspec:\n  breakGlass: {groups: [emergency]}\n  validationActions: [Deny]\n  guards: [rbac, webhookConfigurations, podSecurityLabels]\n";
    fs::write(folder.path().join(GUARD), guard).expect("a file");
    let workspace = fs::read_to_string(folder.path().join("bailiwick.yaml")).expect("a file");
    let applier = "name: production\n    appliedBy: {user: applier}\n";
    fs::write(folder.path().join("bailiwick.yaml"), workspace.replacen("name: production\n", applier, 1))
        .expect("a file");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
    for (from, to, line) in [
        ("[Deny]", "[Audit]", "its Guard refuses nothing any more: `validationActions` has no `Deny`\n"),
        (", podSecurityLabels]", "]", "its Guard does not guard `podSecurityLabels` any more\n"),
        ("[emergency]", "[emergency, all]", "its Guard lets the group `all` write guarded objects\n"),
        (
            "  validationActions",
            "  allow: {users: [mallory]}\n  validationActions",
            "its Guard lets the user `mallory` write guarded objects\n",
        ),
    ] {
        edit(folder.path(), GUARD, from, to);
        assert_shown(folder.path(), &[line]);
        fs::write(folder.path().join(GUARD), guard).expect("a file");
    }
    fs::remove_file(folder.path().join(GUARD)).expect("a file");
    assert_shown(folder.path(), &["its Guard is removed: others can write guarded objects\n"]);
}

/// A pull request that takes `Deny` or `enforce` away, in the workspace file or in a template.
#[test]
fn a_looser_stage_of_pod_security_is_shown() {
    const WORKSPACE: &str = "bailiwick.yaml";
    const TEMPLATE: &str = "templates/pod-security-profile/validatingadmissionpolicybinding.yaml.j2";
    let folder = example();
    let profile = "apiVersion: bailiwick.dev/v1alpha1\nkind: PodSecurityProfile\nmetadata: {name: web}\nspec:\n  \
        allowPrivilegeEscalation: false\n  runAsUser: {rule: RunAsAny}\n  fsGroup: {rule: RunAsAny}\n  \
        supplementalGroups: {rule: RunAsAny}\n  seLinux: {rule: MustRunAs, seLinuxOptions: {type: container_t}}\n  \
        volumes: [secret]\n---\n\
        apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: web}\nspec:\n  \
        namespaces: [{name: web, podSecurity: {profile: web}}]\n";
    fs::write(folder.path().join("policies/web.yaml"), profile).expect("a file");
    assert_status(&bailiwick(folder.path(), &["render"]), 0);
    commit(folder.path());
    assert_status(&bailiwick(folder.path(), &["diff", "--against", "HEAD"]), 0);
    let before = fs::read_to_string(folder.path().join(WORKSPACE)).expect("a file");
    let version = before.lines().find(|line| line.trim().starts_with("version:")).expect("a version");
    let binding = "loses the action `Deny`: its policy rejects nothing";
    let label = "loses the Pod Security level baseline to enforce";
    let of_target = |what: &str| format!("target `production`: its {what}");
    for (setting, lines) in [
        (
            "validationActions: [Audit]",
            [
                binding.to_owned(),
                of_target("PodSecurityProfiles reject no pod any more: `validationActions` has no `Deny`"),
            ],
        ),
        (
            "modes: [audit, warn]",
            [label.to_owned(), of_target("Pod Security levels reject no pod any more: `modes` has no `enforce`")],
        ),
    ] {
        edit(folder.path(), WORKSPACE, version, &format!("{version}\n    podSecurity: {{{setting}}}"));
        let run = bailiwick(folder.path(), &["check"]);
        assert_status(&run, 1);
        assert!(stderr(&run).contains(&lines[0]), "{}", stderr(&run));
        // The output is committed along with the setting.
        assert_status(&bailiwick(folder.path(), &["render"]), 0);
        assert_shown(folder.path(), &[&lines[0], &lines[1]]);
        let run = bailiwick(folder.path(), &["review", "--against", "HEAD"]);
        assert_status(&run, 1);
        assert!(stdout(&run).contains("in web admits more"), "{}", stdout(&run));
        fs::write(folder.path().join(WORKSPACE), &before).expect("a file");
        assert_status(&bailiwick(folder.path(), &["render"]), 0);
    }
    // A template with another action than the target is refused.
    let own = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(TEMPLATE)).expect("a template");
    let path = folder.path().join(TEMPLATE);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, own.replace("{{ validationActions }}", "[Audit]")).expect("a file");
    let run = bailiwick(folder.path(), &["render"]);
    assert_status(&run, 2);
    assert!(stderr(&run).contains("renders `spec.validationActions[0]: Audit`"), "{}", stderr(&run));
}
