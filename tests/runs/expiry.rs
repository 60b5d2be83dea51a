//! Grants with an expiry date: the output depends on the commit alone, and `expire` removes expired grants alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bailiwick::model::Date;

use super::{bailiwick, stderr};
use crate::support::rounds;

/// The first day of the tests.
const FIRST_DAY: &str = "2026-06-01";

fn day(after: u64) -> String {
    let since_1970 = Date::from_days(0).days_until(FIRST_DAY.parse().expect("a day"));
    Date::from_days(u64::try_from(since_1970).expect("a later day") + after).to_string()
}

/// Writes a workspace with a Grant for each of 40 last days, ten days apart.
fn workspace(folder: &Path, expiry: &str) {
    let file = format!(
        "# The file of a test.\napiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: test}}\nspec:\n{expiry}  targets: [{{name: t, version: \"1.36\"}}]\n"
    );
    fs::write(folder.join("bailiwick.yaml"), file).expect("a file");
    fs::create_dir_all(folder.join("policies")).expect("a folder");
    let grants = (0..40).map(|number| {
        format!(
            "---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: g{number}}}\nspec:\n  to: {{users: [ann]}}\n  clusterRoles: [view]\n  namespaces: [x]\n  expires: {}\n",
            day(number * 10)
        )
    });
    fs::write(folder.join("policies/grants.yaml"), grants.collect::<String>()).expect("a file");
}

/// Returns the last day of each binding of the output, by its name.
fn bindings(folder: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder.join("out/t/namespaces/x.yaml")).expect("the output");
    let value = |document: &str, key: &str| {
        let line = document.lines().find_map(|line| line.trim().strip_prefix(key));
        line.expect("a field").trim().trim_matches('"').to_owned()
    };
    text.split("---\n").map(|one| (value(one, "name: "), value(one, "bailiwick.dev/expires: "))).collect()
}

#[test]
fn the_current_day_never_changes_the_output() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path(), "  expiry: {asOf: 2026-08-15}\n");
    let mut outputs = BTreeSet::new();
    let mut warnings = BTreeSet::new();
    for after in (0..400).step_by(rounds(5, 1)) {
        let run = bailiwick(folder.path(), &["--today", &day(after), "render", "--stdout"]);
        assert!(run.status.success(), "{}", stderr(&run));
        outputs.insert(run.stdout.clone());
        warnings.insert(stderr(&run));
    }
    assert_eq!(outputs.len(), 1);
    assert!(warnings.len() > 40, "{}", warnings.len());
}

#[test]
fn expire_removes_the_bindings_of_expired_grants_and_no_other() {
    for (before, after) in [
        ("  expiry: {asOf: \"2026-06-01\", warnDays: 3} # a job writes this\n", "2026-09-30"),
        ("  expiry:\n    asOf:   '2026-06-01'\r\n", "2026-09-29"),
        ("  expiry:\n    warnDays: 0\n    asOf: 2026-06-01 # 2026-06-01\n", "2026-10-01"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        workspace(folder.path(), before);
        let run = bailiwick(folder.path(), &["--today", FIRST_DAY, "render"]);
        assert!(run.status.success(), "{}", stderr(&run));
        let all = bindings(folder.path());
        assert_eq!(all.len(), 40);
        let read = || fs::read_to_string(folder.path().join("bailiwick.yaml")).expect("a file");
        let file = read();

        let run = bailiwick(folder.path(), &["--today", after, "expire"]);
        assert!(run.status.success(), "{}", stderr(&run));
        assert_eq!(read(), file.replacen(FIRST_DAY, after, 1));
        let valid: BTreeMap<_, _> = all.into_iter().filter(|(_, until)| until.as_str() >= after).collect();
        assert!(!valid.is_empty() && valid.len() < 40);
        assert_eq!(bindings(folder.path()), valid);
        let run = bailiwick(folder.path(), &["--today", after, "check"]);
        assert!(run.status.success(), "{}", stderr(&run));

        // An earlier day returns no permission.
        let run = bailiwick(folder.path(), &["--today", "2026-07-01", "expire"]);
        assert!(run.status.success(), "{}", stderr(&run));
        assert_eq!(read(), file.replacen(FIRST_DAY, after, 1));
        assert_eq!(bindings(folder.path()), valid);
    }
}

#[test]
fn expire_changes_no_file_of_an_invalid_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path(), "  expiry: {asOf: 2026-06-01}\n");
    let file = fs::read(folder.path().join("bailiwick.yaml")).expect("a file");
    fs::write(folder.path().join("policies/wrong.yaml"), "kind: Grant\n").expect("a file");
    let run = bailiwick(folder.path(), &["--today", "2026-09-30", "expire"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert_eq!(fs::read(folder.path().join("bailiwick.yaml")).expect("a file"), file);
    assert!(!folder.path().join("out").exists());
}
