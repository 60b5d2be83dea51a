//! The memory of a question.

use std::fs;

use bailiwick_analysis::access_map::{AccessMapOptions, access_map};
use bailiwick_analysis::lint::{LintOptions, lint};
use bailiwick_workspace::{Options, Workspace};

use super::{ReviewBase, ReviewOptions, review};

const POLICIES: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: tenants}
spec:
  accounts: {file: tenants.csv}
  variables:
    name: {type: string, maxLength: 50}
  class:
    namespace: {name: \"{name}\"}
    grants: [{name: view, clusterRole: view, to: {users: [\"{name}\"]}}]
";

/// Enough tenants for classes of alike namespaces. For these classes, the inputs are searched for the values of accounts.
const TENANTS: usize = 400;

#[test]
fn no_question_keeps_the_text_of_an_account_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: t, version: \"1.36\"}]\n";
    fs::create_dir(folder.path().join("policies")).expect("a folder");
    fs::write(folder.path().join("bailiwick.yaml"), workspace).expect("a file");
    fs::write(folder.path().join("policies/tenants.yaml"), POLICIES).expect("a file");
    let rows: String = (0..TENANTS).map(|number| format!("tenant-{number}\n")).collect();
    fs::write(folder.path().join("policies/tenants.csv"), format!("name\n{rows}")).expect("a file");
    let workspace = Workspace::open(&Options::in_folder(folder.path())).expect("a workspace");
    let map = access_map(&workspace, &AccessMapOptions::default()).expect("a map");
    assert_eq!(map.targets.first().map(|target| target.namespace_count), Some(TENANTS));
    lint(&workspace, &LintOptions::default()).expect("findings");
    let base = ReviewBase::Folder(folder.path().to_owned());
    review(&workspace, &ReviewOptions { base, ..ReviewOptions::default() }).expect("a review");
    let files = &workspace.project().files;
    let lists = files.ids().map(|id| files.get(id)).filter(|file| file.path().ends_with(".csv"));
    // A text that is kept is not loaded.
    let are_loaded: Vec<bool> = lists.map(|file| file.load().is_some()).collect();
    assert_eq!(are_loaded, [true]);
}
