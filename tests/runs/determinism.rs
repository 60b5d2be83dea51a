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
