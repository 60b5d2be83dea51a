//! Each rule on a good and a bad text.

use super::commits::subject_faults;
use super::rules::Pages;
use super::statistics::Statistics;
use super::words::Words;
use super::{RULES, check};
use crate::ceilings::Counts;
use crate::repository::{File, Repository};

fn words() -> Words {
    Words::read(crate::root()).unwrap()
}

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

/// Returns `LINE: RULE` of each finding in a text.
fn findings(path: &str, text: &str) -> Vec<String> {
    let files = vec![file("docs/architecture.md", "")];
    let pages = Pages::new(&Repository { files });
    let (mut findings, mut statistics) = (Vec::new(), Statistics::default());
    check(&file(path, text), &words(), &pages, &mut findings, &mut statistics);
    crate::finding::sort(&mut findings);
    findings.iter().map(|found| format!("{}: {}", found.line, found.rule)).collect()
}

#[test]
fn beginnings() {
    let good = "# What it reports\n\nThe output. What is the output? It is a file.\n";
    assert_eq!(findings("docs/a.md", good), [""; 0]);
    assert_eq!(findings("docs/a.md", "- who-can: 5 s.\n"), [""; 0]);
    let bad = "The output.\nWhat compiles is written.\n\n- `to` (map): Who gets the permissions.\n";
    assert_eq!(findings("docs/a.md", bad), ["2: beginning", "4: beginning"]);
    assert_eq!(findings("src/a.rs", "// Where files lie.\nconst A: u8 = 1;\n"), ["1: beginning"]);
}

#[test]
fn avoided_words() {
    assert_eq!(findings("README.md", "The program prints `nobody` and reports it.\n"), [""; 0]);
    assert_eq!(findings("README.md", "The program\ntells it to nobody.\n"), ["2: word", "2: word"]);
    assert_eq!(findings("docs/README.md", "- [everybody-subject](everybody-subject.md)\n"), [""; 0]);
    let product = "fn f() {\n    g(\"nobody is asked about {this}\");\n}\n";
    assert_eq!(findings("src/a.rs", product), ["2: word"]);
    assert_eq!(findings("tests/a.rs", product), [""; 0]);
    let unit = "#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody is asked about\";\n}\n";
    assert_eq!(findings("src/a.rs", unit), [""; 0]);
}

#[test]
fn references() {
    let good = "See `docs/architecture.md`, [the page](architecture.md) and <https://k8s.io/docs/a.md>.\n";
    assert_eq!(findings("README.md", good), [""; 0]);
    let bad = "See seed 003,\n`specs/rbac.md`,\nand `notes.md`.\n";
    assert_eq!(findings("README.md", bad), ["1: reference", "2: reference", "3: reference"]);
    assert_eq!(findings("src/a.rs", "//! One.\n//! Two (`specs/rbac.md`).\n"), ["2: reference"]);
}

#[test]
fn long_sentences() {
    let sentence = |words: usize| format!("{}.\n", vec!["word"; words].join(" "));
    assert_eq!(findings("README.md", &sentence(40)), [""; 0]);
    assert_eq!(findings("README.md", &sentence(41)), ["1: long"]);
    assert_eq!(findings("README.md", &sentence(40).repeat(2).replace("word word.", "word. Word")), [""; 0]);
}

#[test]
fn comments_that_repeat_the_name() {
    let good = "/// A namespace with its labels.\nstruct Namespace {\n    /// The labels before the run.\n    labels: u8,\n}\n";
    assert_eq!(findings("src/a.rs", good), [""; 0]);
    let bad = "/// A namespace.\nstruct Namespace {\n    /// The labels of the namespace.\n    labels: u8,\n}\n";
    assert_eq!(findings("src/a.rs", bad), ["1: repeats", "3: repeats"]);
}

#[test]
fn openings_of_functions() {
    let good =
        "/// Returns the next account.\nfn next() -> u8 {}\n/// Whether more follow.\nfn has_more() -> bool {}\n";
    assert_eq!(findings("src/a.rs", good), [""; 0]);
    let bad = "/// The account after this.\nfn next() -> u8 {}\n/// True when more follow.\nfn has_more() -> bool {}\n";
    assert_eq!(findings("src/a.rs", bad), ["1: opening", "3: opening"]);
    let bad = "/// Returns a range with both ends.\nfn fill() {}\n/// Returns a name.\nfn check() -> Result<(), u8> {}\n\
               /// Returns the name of a port.\nfn is_port() -> bool {}\n";
    assert_eq!(findings("src/a.rs", bad), ["1: opening", "3: opening", "5: opening"]);
}

#[test]
fn subjects_of_commits() {
    let faults = |subject: &str| {
        let mut faults = Vec::new();
        subject_faults(subject, &words(), |fault| faults.push(fault));
        faults.len()
    };
    assert_eq!(faults("compile: reject values joined across template branches"), 0);
    assert_eq!(faults(&format!("compile: {}", "x".repeat(51))), 0);
    assert_eq!(faults(&format!("compile: {}", "x".repeat(52))), 1);
    for subject in ["reject values", "compile: Reject values", "compile: reject values.", "compile: what is rejected"] {
        assert_eq!(faults(subject), 1, "{subject}");
    }
}

#[test]
fn pronouns_are_counted_outside_of_code_and_texts() {
    let count = |path: &str, text: &str| {
        let files = Vec::new();
        let pages = Pages::new(&Repository { files });
        let (mut findings, mut statistics) = (Vec::new(), Statistics::default());
        check(&file(path, text), &words(), &pages, &mut findings, &mut statistics);
        (statistics.total.words, statistics.total.pronouns, statistics.total.rounded())
    };
    assert_eq!(
        count("README.md", "Files that have `which that` names, and accounts whose files exist.\n"),
        (10, 2, 200)
    );
    assert_eq!(count("src/a.rs", "/// Files that exist.\nfn f() {\n    g(\"no file that exists\");\n}\n"), (3, 1, 334));
}

/// Adds a finding of each rule to text that is at its ceilings.
#[test]
fn one_more_finding_of_any_rule_fails() {
    let ceilings = Counts::of_findings(&RULES, &[]);
    let long = "word ".repeat(41);
    for (rule, path, text) in [
        ("long", "README.md", long.as_str()),
        ("beginning", "README.md", "What compiles.\n"),
        ("word", "README.md", "It tells.\n"),
        ("reference", "README.md", "See seed 003.\n"),
        ("repeats", "src/a.rs", "/// A name.\nstruct Name;\n"),
        ("opening", "src/a.rs", "/// The next account.\nfn next() {}\n"),
    ] {
        let pages = Pages::default();
        let (mut found, mut statistics) = (Vec::new(), Statistics::default());
        check(&file(path, text), &words(), &pages, &mut found, &mut statistics);
        let above = Counts::of_findings(&RULES, &found).above(&ceilings);
        assert_eq!(above.iter().map(|one| one.rule.as_str()).collect::<Vec<_>>(), [rule], "{text}");
    }
}
