//! Each rule on a good and a bad text.

use super::{RULES, check, sources};
use crate::ceilings::Counts;
use crate::finding::Finding;
use crate::repository::{File, Repository};

fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
    let files = files.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() });
    let repository = Repository { files: files.collect() };
    let sources = sources(&repository).unwrap();
    check(&repository, &sources)
}

/// Checks that a good text has no finding and that a bad one has one finding of a rule, which exceeds a ceiling of zero.
#[track_caller]
fn good_and_bad(rule: &str, good: &[(&str, &str)], bad: &[(&str, &str)]) {
    assert_eq!(findings(good), []);
    let found = findings(bad);
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [rule]);
    let above = Counts::of_findings(&RULES, &found).above(&Counts::of_findings(&RULES, &[]));
    assert_eq!(above.len(), 1);
}

#[test]
fn file_length() {
    let (good, bad) = ("//\n".repeat(800), "//\n".repeat(801));
    good_and_bad("file-length", &[("src/a.rs", &good)], &[("src/a.rs", &bad)]);
    assert_eq!(findings(&[("tests/a.rs", &bad)]).len(), 1);
}

#[test]
fn function_length() {
    let function = |lines: usize| format!("impl A {{\n/// Doc.\nfn f(\n) {{\n{}}}\n}}\n", "g();\n".repeat(lines - 3));
    good_and_bad("function-length", &[("src/a.rs", &function(60))], &[("src/a.rs", &function(61))]);
    assert_eq!(findings(&[("tests/a.rs", &function(61))]).len(), 1);
}

#[test]
fn parameters() {
    let good = "impl A { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }\n";
    let bad = "impl A { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {} }\n";
    good_and_bad("parameters", &[("src/a.rs", good)], &[("src/a.rs", bad)]);
    assert_eq!(findings(&[("src/a.rs", &bad.replace("impl A", "impl T for A"))]), []);
}

#[test]
fn tuple_parameters() {
    let good = "fn f(a: &[(u8, u8)], b: ()) -> (u8, u8) {}\nimpl T for A { fn f(a: (u8, u8)) {} }\n";
    good_and_bad("tuple-parameter", &[("src/a.rs", good)], &[("src/a.rs", "fn f(a: &(u8, u8)) {}\n")]);
}

#[test]
fn defaults() {
    let good = "fn f() { a.unwrap_or_fail(); }\n#[cfg(test)]\nmod tests { fn f() { a.unwrap_or(1); } }\n";
    good_and_bad("unwrap-or", &[("src/a.rs", good)], &[("src/a.rs", "fn f() { json!({ a: b.unwrap_or(1) }); }\n")]);
}

#[test]
fn debug_forms() {
    let good = "//! `{:?}`\n/// `{:?}`\nfn f() { assert!(a, \"{b:?}\"); format!(\"{b}\"); }\n#[cfg(test)]\nmod tests { fn f() { format!(\"{a:?}\"); } }\n";
    for bad in ["format!(\"{a:?}\")", "write!(out, \"{:#?}\", a)", "json!({ a: format!(\"{a:?}\") })"] {
        good_and_bad("debug-form", &[("src/a.rs", good)], &[("src/a.rs", &format!("fn f() {{ {bad}; }}\n"))]);
    }
}

#[test]
fn string_errors() {
    let good = "fn f() -> Result<String, Error> {}\n#[test]\nfn g() -> Result<u8, String> {}\n";
    good_and_bad("string-error", &[("src/a.rs", good)], &[("src/a.rs", "fn f() -> Result<u8, String> {}\n")]);
}

#[test]
fn public_names() {
    let good = [("src/a.rs", "pub struct A;\nstruct B;\n"), ("src/b.rs", "pub(crate) enum A {}\npub type B = u8;\n")];
    let bad = [("src/a.rs", "pub struct A;\n"), ("crates/bailiwick-b/src/lib.rs", "pub mod c { pub enum A {} }\n")];
    good_and_bad("public-name", &good, &bad);
}

#[test]
fn page_examples() {
    let good = "# a\n\n**Bad**\n\n```yaml\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n";
    let bad = "# a\n\n**Bad**\n\n```yaml\na: 1\n```\n\n## Good\n\nNone.\n";
    good_and_bad("page-examples", &[("docs/diagnostics/a.md", good)], &[("docs/diagnostics/a.md", bad)]);
    assert_eq!(findings(&[("docs/git.md", bad)]), []);
}
