//! Runs in parts: what N of them write is what one writes, and what their merge prints is what one prints.

use std::fs;
use std::path::{Path, PathBuf};

use super::{accounts, bailiwick, snapshot, stderr, tenants};
use crate::support::{repository, rounds};

/// `render` of a workspace in which namespaces go, and the target `gone`.
const RENDER: &[&str] = &["render", "--allow-mass-delete", "--remove-target", "gone"];

/// A folder with the summaries of parts.
struct Summaries {
    folder: tempfile::TempDir,
    parts: usize,
}

impl Summaries {
    fn new(parts: usize) -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), parts }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("{number}.summary"))
    }

    /// Runs a part in a workspace; the arguments begin with the command.
    fn run(&self, workspace: &Path, number: usize, arguments: &[&str]) -> std::process::Output {
        let shard = format!("{number}/{}", self.parts);
        let path = self.path(number);
        let path = path.to_str().expect("a path in UTF-8");
        bailiwick(workspace, &[arguments, &["--shard", &shard, "--summary-to", path]].concat())
    }

    fn merge(&self, workspace: &Path, numbers: impl IntoIterator<Item = usize>) -> std::process::Output {
        let paths: Vec<String> = numbers.into_iter().map(|number| self.path(number).display().to_string()).collect();
        let mut arguments = vec!["merge"];
        arguments.extend(paths.iter().map(String::as_str));
        bailiwick(workspace, &arguments)
    }

    fn merge_all(&self, workspace: &Path) -> std::process::Output {
        self.merge(workspace, (1..=self.parts).rev())
    }
}

/// Copies every file of a folder.
pub(super) fn copy(from: &Path, to: &Path) {
    for (path, bytes) in snapshot(from) {
        let path = to.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

/// Writes the repository's own policies into a workspace of their own, with the committed output.
fn own_workspace(folder: &Path) {
    for name in ["policies", "templates", "out"] {
        copy(&repository().join(name), &folder.join(name));
    }
    fs::copy(repository().join("bailiwick.yaml"), folder.join("bailiwick.yaml")).expect("a file");
}

fn edit(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).expect("a text");
    assert!(text.contains(old), "{} has no {old}", path.display());
    fs::write(path, text.replace(old, new)).expect("a file");
}

/// Writes some hundred tenants with output; then a changed class, deleted accounts and new accounts. Roles and bindings
/// of accounts, and the messages about them, are in every shard.
pub(super) fn changed_tenants(folder: &Path, shards: &str) {
    const COUNT: usize = 300;
    tenants(folder, COUNT);
    edit(&folder.join("bailiwick.yaml"), "spec:\n", &format!("spec:\n{shards}"));
    let policies = folder.join("policies/tenants.yaml");
    let everybody = "grants: [{name: everybody, role: tenant, to: {groups: [\"system:authenticated\"]}}, ";
    edit(&policies, "grants: [", everybody);
    let deletes = "  rules:\n  - {apiGroups: [\"\"], resources: [configmaps], verbs: [deletecollection]}\n";
    edit(&policies, "  rules:\n", deletes);
    assert!(bailiwick(folder, &["render"]).status.success());
    edit(&policies, "tenancy: tenant", "tenancy: changed");
    fs::write(folder.join("policies/tenants.csv"), accounts(40..COUNT + 40)).expect("a file");
}

/// Checks one shard after the other, in both orders, and all shards at the same time; each run ends like a single run.
fn assert_same_as_one(set_up: &dyn Fn(&Path), parts: usize) {
    let one = tempfile::tempdir().expect("a folder");
    set_up(one.path());
    let single = bailiwick(one.path(), RENDER);
    assert!(single.status.success(), "{}", stderr(&single));
    let whole = snapshot(&one.path().join("out"));
    let check = |folder: &Path, summaries: &Summaries| {
        assert!(snapshot(&folder.join("out")) == whole, "{parts} parts do not give what one run gives");
        let merged = summaries.merge_all(folder);
        assert_eq!((merged.status.code(), stderr(&merged)), (Some(0), stderr(&single)));
    };
    for reversed in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        set_up(folder.path());
        let summaries = Summaries::new(parts);
        let order: Vec<usize> = if reversed { (1..=parts).rev().collect() } else { (1..=parts).collect() };
        for number in order {
            let run = summaries.run(folder.path(), number, RENDER);
            assert!(run.status.success(), "part {number}/{parts}: {}", stderr(&run));
        }
        check(folder.path(), &summaries);
    }
    let folder = tempfile::tempdir().expect("a folder");
    set_up(folder.path());
    let summaries = Summaries::new(parts);
    std::thread::scope(|scope| {
        for number in 1..=parts {
            let (summaries, folder) = (&summaries, folder.path());
            scope.spawn(move || assert!(summaries.run(folder, number, RENDER).status.success()));
        }
    });
    check(folder.path(), &summaries);
}

#[test]
fn parts_of_the_own_workspace_give_what_one_run_gives() {
    let changed = |folder: &Path| {
        own_workspace(folder);
        // Something to create, to change and to delete, and a target that is gone.
        fs::remove_file(folder.join("out/okd/cluster/clusterrole.yaml")).unwrap_or_default();
        fs::remove_dir_all(folder.join("out/toolforge-seed/namespaces")).expect("the tools' files");
        let stale = snapshot(&folder.join("out/modern/cluster"));
        let (_, bytes) = stale.first().expect("a file");
        fs::write(folder.join("out/modern/namespaces/nobodys.yaml"), bytes).expect("a file");
        fs::create_dir_all(folder.join("out/gone/namespaces")).expect("a folder");
        fs::write(folder.join("out/gone/namespaces/stale.yaml"), bytes).expect("a file");
    };
    assert_same_as_one(&changed, 3);
    assert_same_as_one(&own_workspace, 1);
}

#[test]
fn parts_of_many_tenants_give_what_one_run_gives() {
    let every = [(5, "  layout: {shards: 3}\n"), (2, ""), (16, "")];
    for &(parts, shards) in every.iter().take(rounds(1, every.len())) {
        assert_same_as_one(&|folder| changed_tenants(folder, shards), parts);
    }
}

/// A part makes the files of its own namespaces and no others: together they are disjoint.
#[test]
fn a_part_touches_nothing_but_its_own() {
    const PARTS: usize = 4;
    let one = tempfile::tempdir().expect("a folder");
    changed_tenants(one.path(), "");
    let before = snapshot(&one.path().join("out"));
    let mut touched = Vec::new();
    for number in 1..=PARTS {
        let folder = tempfile::tempdir().expect("a folder");
        copy(one.path(), folder.path());
        let part = format!("{number}/{PARTS}");
        assert!(bailiwick(folder.path(), &[RENDER, &["--shard", &part]].concat()).status.success());
        let after = snapshot(&folder.path().join("out"));
        let gone = before.iter().filter(|file| !after.contains(file));
        let come = after.iter().filter(|file| !before.contains(file));
        let mut paths: Vec<String> = gone.chain(come).map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths.dedup();
        assert!(paths.len() > 30, "part {number} changes {} files", paths.len());
        touched.extend(paths);
    }
    let all = touched.len();
    touched.sort();
    touched.dedup();
    assert_eq!(touched.len(), all, "two parts change the same file");
    assert_eq!(all, 300 + 40, "every file changes, and as many come as go");
}

/// Checks that the merge prints the text of a single run, with the same exit code.
fn assert_told_by_the_merge(set_up: &dyn Fn(&Path), arguments: &[&str], code: i32) -> String {
    const PARTS: usize = 4;
    let one = tempfile::tempdir().expect("a folder");
    set_up(one.path());
    let single = bailiwick(one.path(), arguments);
    assert_eq!(single.status.code(), Some(code), "{}", stderr(&single));
    let folder = tempfile::tempdir().expect("a folder");
    set_up(folder.path());
    let summaries = Summaries::new(PARTS);
    for number in 1..=PARTS {
        summaries.run(folder.path(), number, arguments);
    }
    let merged = summaries.merge_all(folder.path());
    let told = stderr(&merged)
        .replace("the parts make no whole: what some of them wrote is not to be used\n", "nothing was written\n");
    assert_eq!((merged.status.code(), &told), (Some(code), &stderr(&single)));
    assert_eq!(merged.stdout, single.stdout);
    told
}

/// Writes tenants of which every two, with numbers 100 apart, need one policy; some of the pairs are in two shards.
fn with_duplicates(folder: &Path) {
    tenants(folder, 200);
    let policies = folder.join("policies/tenants.yaml");
    edit(&policies, "{name}-psp", "psp-{uid}");
    edit(&policies, ", unique: true", "");
    // Objects that are equal would be one object.
    edit(&policies, "  seLinux: {rule: RunAsAny}\n", "  seLinux: {rule: RunAsAny}\n  labels: {owner: \"{name}\"}\n");
    let rows: String = (0..200).map(|number| format!("tenant-{number},{}\n", 1000 + number % 100)).collect();
    fs::write(folder.join("policies/tenants.csv"), format!("name,uid\n{rows}")).expect("a file");
}

#[test]
fn two_parts_that_make_one_object_are_found_by_the_merge() {
    let told = assert_told_by_the_merge(&with_duplicates, &["render"], 2);
    assert_eq!(told.matches("error[duplicate-object]: PodSecurityPolicy psp-10").count(), 100, "{told}");
    // No part could know all of them: some have not even one of their own.
    let folder = tempfile::tempdir().expect("a folder");
    with_duplicates(folder.path());
    let summaries = Summaries::new(16);
    let own: Vec<usize> = (1..=16)
        .map(|number| {
            stderr(&summaries.run(folder.path(), number, &["render"])).matches("error[duplicate-object]").count()
        })
        .collect();
    assert!(own.iter().sum::<usize>() < 100, "{own:?}");
}

/// A role that no policy makes is missed once, with the binding that a single run would show.
#[test]
fn a_role_that_is_nowhere_is_missed_by_the_merge() {
    let names: Vec<String> = (0..40).map(|number| format!("team-{number}")).collect();
    let with_grant = |role: &str| {
        let (names, role) = (names.clone(), role.to_owned());
        move |folder: &Path| {
            tenants(folder, 20);
            let namespaces: String = names.iter().map(|name| format!("  - name: {name}\n")).collect();
            let text = format!(
                "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {{name: teams}}\nspec:\n  namespaces:\n{namespaces}---\n\
                 apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: audit}}\nspec:\n  to: {{groups: [auditors]}}\n  clusterRoles: [{role}]\n  namespaces: [{}]\n",
                names.join(", ")
            );
            fs::write(folder.join("policies/teams.yaml"), text).expect("a file");
            // A ClusterRole of ours, in the first part, for the near miss.
            let role = "apiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {name: auditing}\nspec:\n  as: ClusterRole\n  rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n";
            fs::write(folder.join("policies/role.yaml"), role).expect("a file");
        }
    };
    let told = assert_told_by_the_merge(&with_grant("auditting"), &["render"], 2);
    assert!(
        told.contains("there is no ClusterRole `auditting`") && told.contains("did you mean `auditing`?"),
        "{told}"
    );
    assert!(told.contains("in RoleBinding team-0/audit-auditting"), "{told}");
    assert_told_by_the_merge(&with_grant("auditing"), &["render"], 0);
}

#[test]
fn warnings_of_the_whole_are_told_by_the_merge() {
    let told = assert_told_by_the_merge(&|folder| changed_tenants(folder, ""), &["check", "--summary"], 1);
    assert!(told.contains("warning[binds-psp-to-all-authenticated]"), "{told}");
    assert!(told.contains("the same 299 times more here"), "{told}");
    let told = assert_told_by_the_merge(&|folder| changed_tenants(folder, ""), RENDER, 0);
    let counts = "t: 1,500 objects in 300 files: 200 created, 260 changed, 200 deleted, 1,040 unchanged\n";
    assert!(told.contains(counts) && told.ends_with("everything in it\n  and 20 more\n"), "{told}");
    let told = assert_told_by_the_merge(&|folder| changed_tenants(folder, ""), &["render"], 2);
    assert!(told.contains("20 more namespaces of the target `t` would be deleted"), "{told}");
}

/// The run would delete more than half of all namespaces: each shard with a deletion refuses it before it deletes, by
/// the numbers of the whole.
#[test]
fn a_part_alone_does_not_delete_most_of_the_whole() {
    let shrunk = |folder: &Path| {
        tenants(folder, 30);
        assert!(bailiwick(folder, &["render"]).status.success());
        fs::write(folder.join("policies/tenants.csv"), accounts(0..12)).expect("a file");
    };
    let told = assert_told_by_the_merge(&shrunk, &["render"], 2);
    assert!(told.contains("18 namespaces of the target `t` would be deleted, of 30"), "{told}");
    let folder = tempfile::tempdir().expect("a folder");
    shrunk(folder.path());
    let before = snapshot(&folder.path().join("out"));
    let run = bailiwick(folder.path(), &["render", "--shard", "2/4"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(stderr(&run).contains("18 namespaces of the target `t` would be deleted, of 30"), "{}", stderr(&run));
    assert!(snapshot(&folder.path().join("out")) == before);
    assert_told_by_the_merge(&shrunk, &["render", "--allow-mass-delete"], 0);
    // A part that loses all it has is no reason where the whole does not.
    let spared = |folder: &Path| {
        tenants(folder, 30);
        assert!(bailiwick(folder, &["render"]).status.success());
        fs::write(folder.join("policies/tenants.csv"), accounts(0..20)).expect("a file");
    };
    assert_told_by_the_merge(&spared, RENDER, 0);
    let emptied = |folder: &Path| {
        tenants(folder, 9);
        assert!(bailiwick(folder, &["render"]).status.success());
        fs::remove_dir_all(folder.join("policies")).expect("the policies");
    };
    let told = assert_told_by_the_merge(&emptied, &["render"], 2);
    assert!(told.contains("every object of the target `t` would be deleted"), "{told}");
}

#[test]
fn what_is_not_a_whole_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 30);
    let summaries = Summaries::new(3);
    for number in 1..=3 {
        assert!(summaries.run(folder.path(), number, &["render"]).status.success());
    }
    let refused = |run: &std::process::Output, code: &str, why: &str| {
        assert_eq!(run.status.code(), Some(2), "{}", stderr(run));
        assert!(stderr(run).starts_with(&format!("error[{code}]: ")) && stderr(run).contains(why), "{}", stderr(run));
    };
    assert!(summaries.merge_all(folder.path()).status.success());
    refused(&summaries.merge(folder.path(), [1, 3]), "incomplete-parts", "part 2/3 is missing");
    refused(&summaries.merge(folder.path(), [3]), "incomplete-parts", "the parts 1/3, 2/3 are missing");
    refused(&summaries.merge(folder.path(), [1, 2, 3, 2]), "incomplete-parts", "part 2/3 occurs twice: `");
    let good = fs::read(summaries.path(2)).expect("a summary");
    let with = |bytes: &[u8]| {
        fs::write(summaries.path(2), bytes).expect("a file");
        summaries.merge_all(folder.path())
    };
    for length in [0, 1, 15, 16, 20, good.len() / 2, good.len() - 1] {
        refused(&with(&good[..length]), "unusable-summary", "cannot be used: it");
    }
    for position in (0..good.len()).step_by(good.len() / 12) {
        let mut flipped = good.clone();
        flipped[position] ^= 0x04;
        refused(&with(&flipped), "unusable-summary", "cannot be used: it");
    }
    refused(&with(b"name,uid\n"), "unusable-summary", "it is not a summary of a part");
    fs::write(summaries.path(2), &good).expect("a file");
    // Of other parts, another command, other options, another input.
    let others = Summaries::new(4);
    assert!(others.run(folder.path(), 2, &["render"]).status.success());
    let mixed = |other: &Path| {
        let paths = [&summaries.path(1), &summaries.path(3), other].map(|path| path.display().to_string());
        bailiwick(folder.path(), &["merge", &paths[0], &paths[1], &paths[2]])
    };
    refused(&mixed(&others.path(2)), "incomplete-parts", "is part 2/4, and `");
    let others = Summaries::new(3);
    for arguments in [["check", "--summary"], ["render", "--allow-empty"], ["render", "--target=t"]] {
        others.run(folder.path(), 2, &arguments);
        refused(&mixed(&others.path(2)), "incomplete-parts", "of different commands or options");
    }
    fs::write(folder.path().join("policies/tenants.csv"), accounts(0..31)).expect("a file");
    refused(&summaries.merge_all(folder.path()), "unusable-summary", "it is of another input than this workspace's");
}

#[test]
fn a_part_is_one_of_those_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 3);
    for wrong in ["0/4", "5/4", "1", "a/b", "1/0"] {
        let run = bailiwick(folder.path(), &["render", "--shard", wrong]);
        assert_eq!(run.status.code(), Some(2), "{wrong}");
        assert!(stderr(&run).contains("a part is K/N with K from 1 to N"), "{}", stderr(&run));
    }
    assert_eq!(bailiwick(folder.path(), &["render", "--summary-to", "x"]).status.code(), Some(2));
    let run = bailiwick(folder.path(), &["render", "--shard", "1/2"]);
    assert!(run.status.success());
    assert!(stderr(&run).contains("`bailiwick merge`, which needs `--summary-to FILE`"), "{}", stderr(&run));
    let none = bailiwick(folder.path(), &["merge", "nowhere"]);
    assert_eq!(none.status.code(), Some(3), "{}", stderr(&none));
}
