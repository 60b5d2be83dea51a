//! `explain SUBJECT` of a workspace with many tenants that are alike.

use std::fmt::Write as _;
use std::path::Path;

use super::{bailiwick, stderr, tenants};

const COUNT: usize = 600;
const TEAMS: [&str; 3] = ["maps", "search", "wikis"];

/// Writes a workspace of tenants in three teams. A Grant names one tenant of the team `maps`, and another one its user.
fn workspace(folder: &Path) {
    tenants(folder, COUNT);
    let policies = folder.join("policies/tenants.yaml");
    let text = std::fs::read_to_string(&policies).expect("a policy");
    let text = text
        .replace("    uid: {", "    team: {type: string}\n    uid: {")
        .replace("users: [\"{name}\"]", "users: [\"{name}\"], groups: [\"team:{team}\"]");
    let grants = "---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: more}\n\
                  spec: {to: {groups: [\"team:maps\"]}, clusterRoles: [admin], namespaces: [tenant-3]}\n\
                  ---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: all}\n\
                  spec: {to: {users: [tenant-6]}, clusterRoles: [cluster-admin], clusterWide: true}\n";
    std::fs::write(policies, text + grants).expect("a file");
    let mut rows = "name,uid,team\n".to_owned();
    for number in 0..COUNT {
        writeln!(rows, "tenant-{number},{},{}", 1000 + number, TEAMS[number % TEAMS.len()]).expect("a row");
    }
    std::fs::write(folder.join("policies/tenants.csv"), rows).expect("a file");
}

fn explained(folder: &Path, arguments: &[&str]) -> String {
    let run = bailiwick(folder, &[&["explain"], arguments].concat());
    assert!(run.status.success(), "{}", stderr(&run));
    String::from_utf8(run.stdout).expect("a text")
}

/// Returns the lines about a namespace, and the lines that follow them.
fn lines_about<'t>(text: &'t str, namespace: &str) -> Vec<&'t str> {
    let mut is_about = false;
    let about = text.lines().filter(|line| {
        if !line.starts_with("  ") {
            is_about = line.split('/').any(|word| word == namespace);
        }
        is_about
    });
    about.collect()
}

fn namespaces(text: &str) -> usize {
    text.lines().filter(|line| line.contains(" <- RoleBinding/tenant-") && !line.contains("/more-admin ")).count()
}

#[test]
fn one_namespace_stands_for_those_that_are_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let (short, all) =
        (explained(folder.path(), &["Group/team:maps"]), explained(folder.path(), &["Group/team:maps", "--all"]));
    let closing = short.lines().last().expect("a line");
    let (namespace, rest) = closing.split_once(" stands for ").expect("the count of a class");
    let count: usize = rest.split(' ').next().expect("a number").parse().expect("a number");
    assert_eq!(namespaces(&all), COUNT / TEAMS.len());
    assert_eq!(count + namespaces(&short) - 1, namespaces(&all), "{short}");
    assert!(namespaces(&short) < 10, "{short}");
    // The namespaces that are shown have the same lines; one that a Grant names is among them.
    for shown in [namespace, "tenant-3", "tenant-6"] {
        assert!(!lines_about(&short, shown).is_empty(), "{shown}: {short}");
        assert_eq!(lines_about(&short, shown), lines_about(&all, shown));
    }
    assert!(short.contains("ClusterRole/admin") && !all.contains("stands for"), "{short}");
}

#[test]
fn the_answer_about_a_tenant_is_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    for subject in ["User/tenant-7", "User/tenant-6", "ServiceAccount/tenant-8/default", "User/nobody", "Group/team"] {
        let (short, all) = (explained(folder.path(), &[subject]), explained(folder.path(), &[subject, "--all"]));
        let short: Vec<&str> = short.lines().filter(|line| !line.contains(" stands for ")).collect();
        // Paths into all namespaces name the namespaces of the sample.
        let all: Vec<&str> = all.lines().collect();
        match subject {
            "User/tenant-6" => assert!(short.iter().all(|line| all.contains(line)) && short.len() > 10, "{short:?}"),
            _ => assert_eq!(short, all, "{subject}"),
        }
    }
}

/// Programs get every namespace.
#[test]
fn json_has_every_namespace() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let text = explained(folder.path(), &["Group/team:maps", "--format", "json"]);
    let bindings = |text: &str| {
        (0..COUNT).filter(|number| text.contains(&format!("\"RoleBinding/tenant-{number}/tenant\""))).count()
    };
    assert_eq!(bindings(&text), COUNT / TEAMS.len());
    let report = folder.path().join("report.json");
    explained(folder.path(), &["Group/team:maps", "--report", &format!("json={}", report.display())]);
    let written = std::fs::read_to_string(report).expect("a report");
    assert_eq!(bindings(&written), COUNT / TEAMS.len());
}
