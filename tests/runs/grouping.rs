//! Many files with the same change are printed once, and no file with another change is hidden among them.

use std::fs;
use std::path::Path;
use std::process::Command;

use bailiwick::emit::file::assemble;

use super::{accounts, bailiwick, stderr, tenants};

/// The template of Roles with an additional line.
const TEMPLATE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{% include \"_metadata.yaml.j2\" %}\n  annotations: {example.org/reviewed: \"2026\"}\nrules: {{ rules }}\n";

/// Returns a workspace of tenants that was rendered before its template of Roles got another line.
fn changed_template(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), count);
    render(folder.path());
    fs::create_dir_all(folder.path().join("templates/permission-set")).expect("a folder");
    fs::write(folder.path().join("templates/permission-set/role.yaml.j2"), TEMPLATE).expect("a file");
    folder
}

fn render(root: &Path) {
    let run = bailiwick(root, &["render", "--allow-mass-delete"]);
    assert!(run.status.success(), "{}", stderr(&run));
}

/// Returns the output of a comparison with differences, and its notes.
fn printed(root: &Path, arguments: &[&str]) -> (String, String) {
    let run = bailiwick(root, arguments);
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    (String::from_utf8_lossy(&run.stdout).into_owned(), stderr(&run))
}

fn diff(root: &Path) -> String {
    printed(root, &["diff"]).0
}

/// Returns the tenants whose files are shown.
fn shown(text: &str) -> Vec<&str> {
    let heads = text.lines().filter(|line| line.starts_with("--- ") || line.starts_with("+++ "));
    let paths = heads.filter_map(|line| line.split("/namespaces/").nth(1)?.strip_suffix(".yaml"));
    let mut names: Vec<&str> = paths.collect();
    names.dedup();
    names
}

/// Returns the text below the shown files.
fn folded(text: &str) -> String {
    text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// Rewrites the committed file of a tenant below its header.
fn rewrite(root: &Path, name: &str, change: impl Fn(&str) -> String) {
    let path = root.join(format!("out/t/namespaces/{name}.yaml"));
    let text = fs::read_to_string(&path).expect("a file");
    let body = text.split_once('\n').map(|(_, body)| body).expect("a body");
    let changed = change(body);
    assert_ne!(body, changed, "something is changed");
    fs::write(path, assemble(&changed)).expect("a file");
}

#[test]
fn files_that_change_in_the_same_way_are_told_once() {
    let folder = changed_template(12);
    let root = folder.path();
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["tenant-0"]);
    assert!(text.contains("\n+  annotations:\n+    example.org/reviewed: \"2026\"\n   name: tenant\n"), "{text}");
    let further = "# 11 further files in the same way, each with its own name for `tenant-0`:
#   out/t/namespaces/tenant-1.yaml
#   out/t/namespaces/tenant-10.yaml
#   out/t/namespaces/tenant-11.yaml
#   and 8 more
";
    assert!(text.ends_with(further), "{text}");
    let counts =
        "t: 48 objects: 0 created, 12 changed, 0 deleted, 36 unchanged\n  Role: 0 created, 12 changed, 0 deleted\n";
    assert_eq!(notes, counts);
    assert_eq!(printed(root, &["check"]).0, text);
    assert!(printed(root, &["check"]).1.starts_with(counts));
    assert_eq!(printed(root, &["diff", "--summary"]), (counts.to_owned(), String::new()));
    for jobs in ["1", "3"] {
        assert_eq!(printed(root, &["diff", "--jobs", jobs]).0, text);
    }

    // Every one of them, the first as it is shown above.
    let (every, same_notes) = printed(root, &["diff", "--no-group"]);
    assert_eq!(shown(&every).len(), 12);
    assert!(every.starts_with(text.strip_suffix(further).expect("the end")));
    assert_eq!((folded(&every), same_notes), (String::new(), notes));
    assert_eq!(printed(root, &["check", "--no-group"]).0, every);
}

#[test]
fn a_folder_and_a_revision_are_compared_in_the_same_way() {
    let folder = changed_template(9);
    let root = folder.path();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
        let run = Command::new("git").args(who).args(arguments).current_dir(root).output().expect("git is there");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    };
    // The revision has the templates from which its output was rendered.
    fs::rename(root.join("templates"), root.join("later")).expect("a rename");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    fs::rename(root.join("later"), root.join("templates")).expect("a rename");
    let text = diff(root);
    assert_eq!(shown(&text), ["tenant-0"]);
    fs::rename(root.join("out"), root.join("earlier")).expect("a rename");
    render(root);
    assert_eq!(printed(root, &["diff", "--against", "HEAD"]).0, text);
    assert_eq!(printed(root, &["diff", "--against", "earlier"]).0, text);
    assert!(bailiwick(root, &["diff"]).status.success());
}

#[test]
fn a_few_files_are_shown_one_by_one() {
    let folder = changed_template(3);
    let (text, _) = printed(folder.path(), &["diff"]);
    assert_eq!(shown(&text).len(), 3);
    assert_eq!(text, printed(folder.path(), &["diff", "--no-group"]).0);
    let folder = changed_template(4);
    assert_eq!(shown(&diff(folder.path())), ["tenant-0"]);
}

#[test]
fn what_differs_in_substance_is_never_folded() {
    let folder = changed_template(20);
    let root = folder.path();
    fs::write(root.join("policies/tenants.csv"), format!("{}view,3000\nedit,3001\n", accounts(0..20))).expect("a file");
    fs::remove_file(root.join("templates/permission-set/role.yaml.j2")).expect("a file");
    render(root);
    fs::write(root.join("templates/permission-set/role.yaml.j2"), TEMPLATE).expect("a file");
    assert_eq!(shown(&diff(root)), ["edit", "tenant-0", "view"], "nobody knows what the names of roles mean");

    // A verb that goes, beside the line that comes; a rule about something else that goes.
    rewrite(root, "tenant-3", |body| body.replace("  - use\n", "  - use\n  - escalate\n"));
    rewrite(root, "tenant-4", |body| body.replace("  - podsecuritypolicies\n", "  - secrets\n"));
    // Two tenants in each other's place, and one in the place of a third.
    let swap = |from: &'static str, to: &'static str| {
        move |body: &str| body.replace(&format!("kind: User\n  name: {from}\n"), &format!("kind: User\n  name: {to}\n"))
    };
    rewrite(root, "tenant-5", swap("tenant-5", "tenant-6"));
    rewrite(root, "tenant-6", swap("tenant-6", "tenant-5"));
    rewrite(root, "tenant-7", swap("tenant-7", "tenant-9"));
    // Another user id, a name that is only the beginning of another, a file with one object less.
    rewrite(root, "tenant-8", |body| body.replace("min: 1008", "min: 1000"));
    rewrite(root, "tenant-10", swap("tenant-10", "tenant-100"));
    rewrite(root, "tenant-11", |body| body.split("---\napiVersion: policy").next().unwrap_or_default().to_owned());
    // Edited by hand, and no longer in the form in which it was written.
    let edited = root.join("out/t/namespaces/tenant-12.yaml");
    let text = fs::read_to_string(&edited).expect("a file");
    fs::write(&edited, text.replace("---\n", "---\n# by hand\n")).expect("a file");

    let text = diff(root);
    assert_eq!(
        shown(&text),
        [
            "edit",
            "tenant-0",
            "tenant-10",
            "tenant-11",
            "tenant-12",
            "tenant-3",
            "tenant-4",
            "tenant-5",
            "tenant-6",
            "tenant-7",
            "tenant-8",
            "view"
        ]
    );
    assert!(folded(&text).starts_with("# 10 further files in the same way, "), "{text}");
    assert!(text.contains("-  - escalate\n") && text.contains("-  - secrets\n"), "{text}");
}

/// Changed and unchanged rules are distinguished by the whole object, not by the lines around a change.
#[test]
fn the_same_lines_in_another_rule_are_another_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let verbs = "[get, list, watch, create, patch, update, deletecollection]";
    let tenancy = |verbs: &str| {
        let sets: String = ["configmaps", "secrets"]
            .iter()
            .map(|resource| {
                format!(
                    "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {{name: of-{resource}}}\nspec:\n  rules:\n  - {{apiGroups: [\"\"], resources: [{resource}], verbs: {verbs}}}\n---\n"
                )
            })
            .collect();
        let classes: String = [("configmaps", 0..6), ("secrets", 6..8)]
            .into_iter()
            .map(|(resource, numbers)| {
                let rows: String = numbers.map(|number| format!("    - {{name: team-{number}}}\n")).collect();
                format!(
                    "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {{name: {resource}}}\nspec:\n  accounts:\n    inline:\n{rows}  variables:\n    name: {{type: string, maxLength: 50}}\n  class:\n    namespace: {{name: \"{{name}}\"}}\n    roles: [{{name: worker, permissionSet: of-{resource}}}]\n---\n"
                )
            })
            .collect();
        format!("{sets}{classes}")
    };
    tenants(root, 1);
    let write = |text: String| fs::write(root.join("policies/more.yaml"), text).expect("a file");
    write(tenancy(verbs));
    render(root);
    write(tenancy(&verbs.replace(']', ", delete]")));
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["team-0", "team-6", "team-7"], "{text}");
    assert!(folded(&text).starts_with("# 5 further files in the same way, each with its own name for `team-0`:\n"));
    assert!(notes.contains("  Role team-0/worker is wider: with delete on configmaps\n"), "{notes}");
    assert!(notes.contains("  Role team-7/worker is wider: with delete on secrets\n"), "{notes}");
}

#[test]
fn new_files_and_files_that_go_are_told_once_with_what_is_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 30);
    let csv = root.join("policies/tenants.csv");
    // One account has an id of another account.
    fs::write(&csv, accounts(0..30).replace("tenant-7,1007", "tenant-7,7")).expect("a file");
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["tenant-0", "tenant-7"]);
    assert!(text.contains("\n+      min: 1000\n") && text.contains("\n+      min: 7\n"), "{text}");
    let own = "#   and 25 more\n#   with 1000 to 1029 for 1000\n";
    assert!(folded(&text).ends_with(own), "{text}");
    assert!(
        notes.starts_with("target `t` is new\nt: 120 objects: 120 created, 0 changed, 0 deleted, 0 unchanged\n"),
        "{notes}"
    );
    let access = "  access of 58 holders, such as ServiceAccount/tenant-0/default in tenant-0, each with its own names:
    + use on podsecuritypolicies in policy named tenant-0-psp
  access of ServiceAccount/tenant-7/default in tenant-7, User/tenant-7 in tenant-7:
    + use on podsecuritypolicies in policy named tenant-7-psp
";
    assert!(notes.ends_with(access), "{notes}");
    render(root);
    assert!(bailiwick(root, &["diff"]).status.success());

    fs::write(&csv, accounts(0..10).replace("tenant-7,1007", "tenant-7,7")).expect("a file");
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["tenant-10"]);
    assert!(text.contains("\n-      min: 1010\n"), "{text}");
    assert!(folded(&text).ends_with("#   and 16 more\n#   with 1010 to 1029 for 1010\n"), "{text}");
    assert!(notes.starts_with("t: 40 objects: 0 created, 0 changed, 80 deleted, 40 unchanged\n"), "{notes}");
    assert_eq!(shown(&printed(root, &["diff", "--no-group"]).0).len(), 20);
}

/// The effective permissions are found among the files with other grants, and among the files that name a ClusterRole.
#[test]
fn what_a_change_grants_is_told_as_if_everything_had_been_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 8);
    let extra = |verbs: &str| {
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {{name: reader}}\nspec:\n  as: ClusterRole\n  rules:\n  - {{apiGroups: [\"\"], resources: [configmaps], verbs: {verbs}}}\n---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: everywhere}}\nspec:\n  to: {{users: [tenant-3]}}\n  permissionSets: [reader]\n  clusterWide: true\n"
        )
    };
    let policy = root.join("policies/tenants.yaml");
    let own = fs::read_to_string(&policy).expect("a file");
    fs::write(root.join("policies/extra.yaml"), extra("[get]")).expect("a file");
    render(root);
    // Every tenant may get what one of them may get everywhere.
    let rule = "    resourceNames: [\"{name}-psp\"]\n    verbs: [use]\n";
    let wider = format!("{rule}  - {{apiGroups: [\"\"], resources: [configmaps], verbs: [get]}}\n");
    fs::write(&policy, own.replace(rule, &wider)).expect("a file");
    let (_, notes) = printed(root, &["diff"]);
    assert!(
        notes.ends_with(
            "  access of 15 holders, such as ServiceAccount/tenant-0/default in tenant-0:\n    + get on configmaps\n"
        ),
        "{notes}"
    );
    // Only what holds in the whole cluster changes, and who holds it there has it in no namespace anew.
    render(root);
    fs::write(root.join("policies/extra.yaml"), extra("[get, list]")).expect("a file");
    let (_, notes) = printed(root, &["diff"]);
    assert!(notes.ends_with("  access of User/tenant-3 cluster-wide:\n    + list on configmaps\n"), "{notes}");
}

/// The meaning of one tenant's change is printed for another tenant only if it does not name the tenant.
#[test]
fn what_a_change_means_for_pods_is_told_for_each_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 6);
    let policy = root.join("policies/tenants.yaml");
    let volumes = "  volumes: [configMap, emptyDir, secret]\n";
    let paths = format!("{volumes}  hostPaths: [{{pathPrefix: \"/data/{{name}}\"}}]\n");
    let own = fs::read_to_string(&policy).expect("a file").replace(volumes, &paths);
    fs::write(&policy, &own).expect("a file");
    render(root);

    fs::write(&policy, own.replace(volumes, &format!("{volumes}  readOnlyRootFilesystem: true\n"))).expect("a file");
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["tenant-0"]);
    let narrowed =
        "  6 PodSecurityPolicies, such as tenant-0-psp:\n    - narrowed: readOnlyRootFilesystem false -> true\n";
    assert!(notes.ends_with(narrowed), "{notes}");

    fs::write(&policy, own.replace("emptyDir, ", "emptyDir, hostPath, ")).expect("a file");
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["tenant-0"]);
    for number in 0..6 {
        assert!(notes.contains(&format!("  PodSecurityPolicy tenant-{number}-psp:\n")), "{notes}");
        assert!(notes.contains(&format!("/data/tenant-{number} rw\n")), "{notes}");
    }

    // Other namespaces, whose policies keep their names: each goes from one file and comes in another.
    let moved = own.replace("namespace: {name: \"{name}\"", "namespace: {name: \"x-{name}\"");
    fs::write(&policy, moved.replace(volumes, &format!("{volumes}  readOnlyRootFilesystem: true\n"))).expect("a file");
    let (text, notes) = printed(root, &["diff"]);
    assert_eq!(shown(&text), ["x-tenant-0", "tenant-0"]);
    assert!(notes.ends_with(narrowed), "{notes}");
}

/// Annotations for people belong to a tenant, and their number is printed.
#[test]
fn notes_of_new_files_are_told_beside_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    tenants(root, 12);
    let policy = root.join("policies/tenants.yaml");
    let labels = "labels: {tenancy: tenant}";
    let notes = "annotations: {example.org/mail: \"{uid}@example.org\", example.org/about: \"that of {name}\"}";
    let own = fs::read_to_string(&policy).expect("a file").replace(labels, &format!("{labels}, {notes}"));
    fs::write(&policy, &own).expect("a file");
    let text = diff(root);
    assert_eq!(shown(&text), ["tenant-0"]);
    let mails = "\"1000@example.org\", \"1001@example.org\", \"1010@example.org\"";
    let own_notes = format!(
        "#   and 8 more\n#   with 1000 to 1011 for 1000\n#   with 12 values, such as {mails}, in `example.org/mail`\n"
    );
    assert!(folded(&text).ends_with(&own_notes), "{text}");
    render(root);
    // Existing files are not reported until they change.
    fs::write(&policy, own.replace("tenancy: tenant", "tenancy: other")).expect("a file");
    assert_eq!(shown(&diff(root)), ["tenant-0"]);
    fs::write(&policy, own.replace("{uid}@example.org", "{uid}@example.com")).expect("a file");
    assert_eq!(shown(&diff(root)), ["tenant-0"], "a number that stays is left open");
    fs::write(&policy, own.replace("{uid}@example.org", "u{uid}@example.org")).expect("a file");
    assert_eq!(shown(&diff(root)).len(), 12);
}

/// Writes a workspace of accounts with a team each, whose group is bound in the namespace of the account.
fn teams(root: &Path, teams: &[&str]) {
    tenants(root, 1);
    let rows: String = teams.iter().enumerate().map(|(number, team)| format!("app{number:02},{team}\n")).collect();
    fs::write(root.join("policies/teams.csv"), format!("name,team\n{rows}")).expect("a file");
    let tenancy = "apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: teams}
spec:
  accounts: {file: teams.csv}
  variables:
    name: {type: string, pattern: \"[a-z0-9]+\"}
    team: {type: string}
  class:
    namespace: {name: \"work-{name}\"}
    grants: [{name: viewer, clusterRole: view, to: {groups: [\"{team}\"]}}]
";
    fs::write(root.join("policies/teams.yaml"), tenancy).expect("a file");
}

#[test]
fn bindings_to_values_of_accounts_are_folded_with_the_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    teams(root, &["maps", "roads", "tiles", "search", "system:masters", "admin"]);
    let text = diff(root);
    // A word with a meaning of its own is never a value among others.
    assert_eq!(shown(&text), ["tenant-0", "work-app00", "work-app04", "work-app05"], "{text}");
    assert!(folded(&text).contains("# 3 further files in the same way"), "{text}");
    assert!(folded(&text).contains("#   with maps, roads, tiles, search for `{team}`\n"), "{text}");
    render(root);

    // A role is never folded into others, and neither is the group of another account.
    let path = root.join("policies/teams.yaml");
    let tenancy = fs::read_to_string(&path).expect("a file").replace("clusterRole: view", "clusterRole: edit");
    fs::write(&path, tenancy).expect("a file");
    assert_eq!(shown(&diff(root)), ["work-app00", "work-app04", "work-app05"]);
    rewrite(root, "work-app01", |body| body.replace("name: roads", "name: tiles"));
    rewrite(root, "work-app02", |body| body.replace("name: view", "name: tiles"));
    let text = diff(root);
    assert_eq!(
        shown(&text),
        ["work-app00", "work-app01", "work-app02", "work-app03", "work-app04", "work-app05"],
        "{text}"
    );
}

#[test]
fn values_of_different_columns_are_not_folded() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    teams(root, &["maps", "roads", "tiles", "search"]);
    // The same binding in files of another list, where the group is the value of another column in the same place.
    let tenancy = fs::read_to_string(root.join("policies/teams.yaml")).expect("a file");
    let tenancy = tenancy.replace("teams", "owners").replace("team", "owner").replace("work-", "shop-");
    fs::write(root.join("policies/owners.yaml"), tenancy).expect("a file");
    fs::write(root.join("policies/owners.csv"), "name,owner\nada00,zoe\nbob00,kim\neve00,lea\nfay00,ann\n")
        .expect("a file");
    let text = diff(root);
    assert_eq!(shown(&text), ["shop-ada00", "tenant-0", "work-app00"], "{text}");
    assert!(text.contains("#   with zoe, kim, lea, ann for `{owner}`\n"), "{text}");
    assert!(text.contains("#   with maps, roads, tiles, search for `{team}`\n"), "{text}");
}

#[test]
fn few_values_of_accounts_are_all_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let names: Vec<String> = (0..21).map(|number| format!("crew{number}x")).collect();
    let named = |count: usize| {
        let of = names.get(..count).expect("names").iter().map(String::as_str).collect::<Vec<_>>();
        teams(root, &of);
        folded(&diff(root))
    };
    let text = named(20);
    assert!(text.ends_with(&format!("#   with {} for `{{team}}`\n", names[..20].join(", "))), "{text}");
    let text = named(21);
    assert!(
        text.ends_with(&format!("#   with 21 values, such as {}, for `{{team}}`\n", names[..20].join(", "))),
        "{text}"
    );
}
