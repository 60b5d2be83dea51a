//! Same input, same bytes.

use super::{accounts, bailiwick, snapshot, stderr, tenants};
use crate::support::repository;

/// The output of the repository's own policies is what is committed, on any number of threads.
#[test]
fn the_committed_output_is_up_to_date_on_any_number_of_threads() {
    for jobs in ["1", "2", "8"] {
        let run = bailiwick(repository(), &["check", "--jobs", jobs]);
        assert!(run.status.success(), "{}{}", String::from_utf8_lossy(&run.stdout), stderr(&run));
    }
}

#[test]
fn threads_and_the_order_of_accounts_do_not_show() {
    const COUNT: usize = 1_000;
    let mut outputs = Vec::new();
    // Multiplying by a number prime to the count visits every account in another order.
    let orders: [Vec<usize>; 3] =
        [(0..COUNT).collect(), (0..COUNT).rev().collect(), (0..COUNT).map(|number| number * 377 % COUNT).collect()];
    for (jobs, order) in [("1", 0), ("2", 0), ("8", 0), ("2", 1), ("8", 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        tenants(folder.path(), COUNT);
        let rows = accounts(orders[order].iter().copied());
        std::fs::write(folder.path().join("policies/tenants.csv"), rows).expect("a file");
        let run = bailiwick(folder.path(), &["render", "--jobs", jobs]);
        assert!(run.status.success(), "{}", stderr(&run));
        outputs.push(snapshot(&folder.path().join("out")));
    }
    assert_eq!(outputs[0].len(), COUNT);
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Earlier versions had an option for the path that every run takes today.
#[test]
fn no_classes_has_no_effect() {
    let run = bailiwick(repository(), &["check", "--no-classes"]);
    let plain = bailiwick(repository(), &["check"]);
    assert_eq!((run.status.code(), run.stdout, run.stderr), (Some(0), plain.stdout, plain.stderr));
    let help = bailiwick(repository(), &["--help"]);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("--no-classes"));
}

#[test]
fn a_second_run_touches_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 50);
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    let times = || {
        let files = walkdir::WalkDir::new(folder.path().join("out")).into_iter().flatten();
        files.map(|entry| entry.metadata().expect("metadata").modified().expect("a time")).collect::<Vec<_>>()
    };
    // The staging folder comes and goes; the folder around it changes, and nothing below.
    let before: Vec<_> = times().split_off(1);
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    assert_eq!(times().split_off(1), before);
}

/// In a run of thousands of files the folder is listed beside the work.
#[test]
fn what_is_in_the_way_of_a_long_run_is_told_on_any_number_of_threads() {
    const COUNT: usize = 2_500;
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), COUNT);
    let run = bailiwick(folder.path(), &["render"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let told = |jobs: &str| {
        let run = bailiwick(folder.path(), &["check", "--jobs", jobs]);
        (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned(), stderr(&run))
    };
    assert_eq!(told("1").0, Some(0));
    assert_eq!(told("2"), told("1"));
    std::fs::write(folder.path().join("policies/tenants.csv"), accounts(1..COUNT)).expect("a file");
    let (code, gone, errors) = told("2");
    assert!(
        code == Some(1) && gone.contains("--- a/out/t/namespaces/tenant-0.yaml\n+++ /dev/null\n"),
        "{gone}{errors}"
    );
    assert_eq!(told("1"), (code, gone, errors));
    let output = folder.path().join("out/t");
    std::fs::write(output.join("namespaces/notes.txt"), "mine").expect("a file");
    std::os::unix::fs::symlink("/", output.join("link")).expect("a link");
    let (code, text, errors) = told("2");
    assert_eq!(code, Some(2), "{text}{errors}");
    for expected in
        ["`out/t/namespaces/notes.txt` is not an output file of Bailiwick", "`out/t/link` is a symbolic link"]
    {
        assert!(errors.contains(expected), "{errors}");
    }
    assert_eq!(told("1"), (code, text, errors));
}

/// The engine goes through the branches of a condition one within the other.
#[test]
fn a_template_with_many_branches_is_read_on_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("w");
    super::tenants(&root, 40);
    std::fs::create_dir_all(root.join("templates/tenancy")).expect("a folder");
    let branches = |count: usize| {
        let others: String = (1..count).map(|other| format!("{{% elif labels.a == \"q{other}\" %}}\n")).collect();
        let text = format!(
            "{{% if labels.a is not defined %}}\n{others}{{% endif %}}\napiVersion: v1\nkind: Namespace\n\
             {{% include \"_metadata.yaml.j2\" %}}\n"
        );
        std::fs::write(root.join("templates/tenancy/namespace.yaml.j2"), text).expect("a file");
    };
    branches(2_000);
    for jobs in ["1", "4"] {
        let output = super::bailiwick(&root, &["check", "--summary", "--jobs", jobs]);
        assert_eq!(output.status.code(), Some(1), "{}", super::stderr(&output));
    }
    branches(3_000);
    let output = super::bailiwick(&root, &["check"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(super::stderr(&output).contains("at most 64 KiB"), "{}", super::stderr(&output));
}
