//! The rules for the subjects of commits.

use std::io;
use std::path::Path;

use super::words::Words;
use crate::finding::Finding;
use crate::repository::git;

/// Checks the subjects of a range of commits; merges keep their subjects.
pub(crate) fn check(root: &Path, range: &str, words: &Words) -> io::Result<Vec<Finding>> {
    let listed = git(root, &["log", "--no-merges", "--format=%h%x09%s", range, "--"])?;
    let mut findings = Vec::new();
    for (commit, subject) in listed.lines().filter_map(|line| line.split_once('\t')) {
        subject_faults(subject, words, |text| {
            findings.push(Finding {
                path: format!("commit {commit}"),
                line: 1,
                rule: "subject",
                area: "commits".to_owned(),
                text: format!("{text}: {subject}"),
            });
        });
    }
    Ok(findings)
}

/// Passes each fault of a subject to a function.
pub(crate) fn subject_faults(subject: &str, words: &Words, mut add: impl FnMut(String)) {
    let length = subject.chars().count();
    if length > words.longest_subject {
        add(format!("{length} characters, more than {}", words.longest_subject));
    }
    match subject.split_once(": ") {
        Some((area, effect)) if !area.is_empty() => {
            if effect.starts_with(char::is_uppercase) || area.starts_with(char::is_uppercase) {
                add("write it in lower case".to_owned());
            }
            if words.beginnings.is_match(effect) {
                add("begin with the noun or the verb".to_owned());
            }
        }
        _ => add("write `area: effect`".to_owned()),
    }
    if subject.ends_with('.') {
        add("no full stop".to_owned());
    }
}
