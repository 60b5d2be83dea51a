//! Settings and decoys against the gate, without a trace in the objects of the output.

use bailiwick::app::review::{ChangeReview, EffectSeverity, HazardKind, Verdict};

use super::silence::{NAMESPACE, review};

const TARGET: &str = "{name: t, version: \"1.36\"}";

/// Reviews the change of `bailiwick.yaml` between two texts of `spec`, each in the form of a flow map.
fn of_settings(base: &str, head: &str) -> ChangeReview {
    let text = |spec: &str| {
        format!("apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: w}}\nspec: {{{spec}}}\n")
    };
    let (base, head) = (text(base), text(head));
    let files = |settings| [("bailiwick.yaml", settings), ("policies/objects/a.yaml", NAMESPACE)];
    review(&files(base.as_str()), &files(head.as_str()))
}

#[test]
fn settings_that_no_object_shows_need_a_review() {
    let delivery = |url: &str| {
        format!(
            "delivery: {{repoURL: \"{url}\", revision: main, path: infra, argocd: {{destination: {{name: prod}}}}}}, targets: [{TARGET}]"
        )
    };
    let with = |field: &str| format!("{field}, targets: [{TARGET}]");
    let on_target = |field: &str| format!("targets: [{{name: t, version: \"1.36\", {field}}}]");
    let plain = format!("targets: [{TARGET}]");
    let requirement = "requirements: [{clusterRoles: [cluster-admin], fields: [reason]}]";
    for (base, head, words) in [
        (plain.clone(), with("output: out2"), "`spec.output` changes from `out` to `out2`"),
        (plain.clone(), with("fixtures: [\"out2/**\"]"), "`spec.fixtures` changes from [] to [`out2/**`]"),
        (plain.clone(), with("keep: [\"*.txt\"]"), "`spec.keep` changes from [] to [`*.txt`]"),
        (
            with(requirement),
            plain.clone(),
            "`spec.requirements` loses the entry clusterRoles `cluster-admin`; fields `reason`",
        ),
        (
            plain.clone(),
            on_target("podSecurity: {defaults: {enforce: restricted}}"),
            "`podSecurity.defaults.enforce` changes from `privileged:latest` to `restricted:latest`",
        ),
        (
            plain.clone(),
            on_target("podSecurity: {exemptions: {usernames: [ann]}}"),
            "`podSecurity.exemptions.usernames` adds `ann`",
        ),
        (
            delivery("https://git.example.org/platform"),
            delivery("https://evil.example/x"),
            "`repoURL` of its delivery changes from `https://git.example.org/platform` to `https://evil.example/x`",
        ),
    ] {
        let changed = of_settings(&base, &head);
        let hazards: Vec<&str> = changed
            .hazards
            .iter()
            .filter(|hazard| hazard.kind == HazardKind::SettingChanged)
            .map(|hazard| hazard.message.as_str())
            .collect();
        assert!(hazards.iter().any(|message| message.contains(words)), "{words}: {hazards:?}, {}", changed.line);
        assert_eq!(changed.verdict, Some(Verdict::NeedsApproval), "{words}: {}", changed.line);
        assert_eq!(changed.exit, 1, "{words}");
        let same = of_settings(&head, &head);
        assert_eq!((same.verdict, same.hazards.len()), (Some(Verdict::NoChange), 0), "{words}: {}", same.line);
    }
}

/// Reviews the change of a policy beside a namespace for each of two teams, on targets of two versions.
fn of_policy(versions: [&str; 2], base: &str, head: &str) -> ChangeReview {
    let settings = versions.map(|version| {
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: w}}\nspec:\n  known: {{clusterRoles: [vendor]}}\n  targets: [{{name: t, version: \"{version}\"}}]\n"
        )
    });
    let objects = "apiVersion: v1\nkind: Namespace\nmetadata: {name: aaa}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-b}\n";
    let set = "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {name: ro}\nspec: {as: Role, rules: [{apiGroups: [\"\"], resources: [configmaps], verbs: [get]}]}\n---\n";
    let policy = |text: &str| format!("{set}{text}");
    let (base, head) = (policy(base), policy(head));
    let files = |settings, policy| {
        [("bailiwick.yaml", settings), ("policies/objects/a.yaml", objects), ("policies/grant.yaml", policy)]
    };
    review(&files(settings[0].as_str(), base.as_str()), &files(settings[1].as_str(), head.as_str()))
}

fn grant(name: &str, spec: &str) -> String {
    format!("apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n")
}

#[test]
fn a_decoy_hides_no_severity() {
    let narrow = grant("g", "to: {groups: [team-a]}, permissionSets: [ro], namespaces: [aaa]");
    let wide = grant("g", "to: {groups: [team-a]}, permissionSets: [ro], namespaces: [aaa, team-b]");
    let decoy = grant("d", "to: {groups: [a-decoy]}, permissionSets: [ro], namespaces: [team-b]");
    let alone = of_policy(["1.36"; 2], &narrow, &wide);
    let hidden = of_policy(["1.36"; 2], &narrow, &format!("{wide}---\n{decoy}"));
    for found in [alone, hidden] {
        assert_eq!(found.severity, EffectSeverity::High, "{}", found.line);
        assert_eq!(found.verdict, Some(Verdict::NeedsApproval), "{}", found.line);
    }
}

#[test]
fn a_new_version_hides_no_severity() {
    let narrow = grant("g", "to: {groups: [team-a]}, permissionSets: [ro], namespaces: [aaa]");
    let wide = grant("g", "to: {groups: [team-a]}, permissionSets: [ro], namespaces: [aaa, team-b]");
    let found = of_policy(["1.35", "1.36"], &narrow, &wide);
    assert_eq!(found.severity, EffectSeverity::High, "{}", found.line);
    let same = of_policy(["1.35", "1.36"], &wide, &wide);
    assert!(same.severity < EffectSeverity::High, "{}", same.line);
}

#[test]
fn another_subject_of_an_unknown_role_is_unknown() {
    let of =
        |group: &str| grant("g", &format!("to: {{groups: [\"{group}\"]}}, clusterRoles: [vendor], clusterWide: true"));
    let found = of_policy(["1.36"; 2], &of("team-a"), &of("interns"));
    assert_eq!(found.verdict, Some(Verdict::CannotTell), "{}", found.line);
    let same = of_policy(["1.36"; 2], &of("team-a"), &of("team-a"));
    assert_eq!(same.verdict, Some(Verdict::NoChange), "{}", same.line);
}
