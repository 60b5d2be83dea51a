//! Ceilings: how many findings of a rule each area may have, in `xtask/ceilings.toml`.
//!
//! A count above its ceiling fails. `--update` lowers ceilings to the counts. It may also move findings from one area
//! to another, when code moves, but it never raises the sum of a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::finding::Finding;
use crate::repository::git;

/// The path of the file from the root of the repository.
pub(crate) const PATH: &str = "xtask/ceilings.toml";

const HEAD: &str = "\
# The number of findings that each rule of `cargo xtask tidy` and `cargo xtask prose` may have in each area.
# A ceiling only goes down: `cargo xtask tidy --update` and `cargo xtask prose --update` lower it to the count.
";

/// How many findings of an area are printed.
const SHOWN: usize = 20;

/// Numbers by rule and area. A rule with an empty map has a ceiling of zero everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) BTreeMap<String, BTreeMap<String, usize>>);

impl Counts {
    /// Counts findings; every rule of the tool has an entry.
    pub(crate) fn of_findings(rules: &[&str], findings: &[Finding]) -> Self {
        let mut counts = Self(rules.iter().map(|rule| ((*rule).to_owned(), BTreeMap::new())).collect());
        for finding in findings {
            counts.add(finding.rule, &finding.area, 1);
        }
        counts
    }

    /// Adds a number to an area of a rule.
    pub(crate) fn add(&mut self, rule: &str, area: &str, number: usize) {
        *self.0.entry(rule.to_owned()).or_default().entry(area.to_owned()).or_default() += number;
    }

    fn get(&self, rule: &str, area: &str) -> usize {
        self.0.get(rule).and_then(|areas| areas.get(area)).copied().unwrap_or(0)
    }

    fn sum(&self, rule: &str) -> usize {
        self.0.get(rule).map_or(0, |areas| areas.values().sum())
    }

    /// Reads the text of a ceilings file.
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text).map(Self)
    }

    /// Writes the text of a ceilings file.
    pub(crate) fn write(&self) -> String {
        let mut text = HEAD.to_owned();
        for (rule, areas) in &self.0 {
            let _ = writeln!(text, "\n[{rule}]");
            for (area, number) in areas.iter().filter(|(_, number)| **number > 0) {
                let is_bare = area.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
                let quote = if is_bare { "" } else { "\"" };
                let _ = writeln!(text, "{quote}{area}{quote} = {number}");
            }
        }
        text
    }

    /// Returns each area with a count above its ceiling.
    pub(crate) fn above(&self, ceilings: &Self) -> Vec<Difference> {
        self.differences(ceilings).filter(|one| one.count > one.ceiling).collect()
    }

    /// Returns each area with a count below its ceiling.
    pub(crate) fn below(&self, ceilings: &Self) -> Vec<Difference> {
        self.differences(ceilings).filter(|one| one.count < one.ceiling).collect()
    }

    fn differences<'c>(&'c self, ceilings: &'c Self) -> impl Iterator<Item = Difference> + 'c {
        self.0.iter().flat_map(move |(rule, counted)| {
            let mut areas: Vec<&String> = counted.keys().collect();
            areas.extend(ceilings.0.get(rule).into_iter().flat_map(BTreeMap::keys));
            areas.sort_unstable();
            areas.dedup();
            areas.into_iter().map(move |area| Difference {
                rule: rule.clone(),
                area: area.clone(),
                count: self.get(rule, area),
                ceiling: ceilings.get(rule, area),
            })
        })
    }

    /// Returns the ceilings with these counts, for each rule whose sum does not grow, and the rules that keep theirs.
    pub(crate) fn lowered(&self, ceilings: &Self) -> (Self, Vec<String>) {
        let (mut new, mut refused) = (ceilings.clone(), Vec::new());
        for (rule, areas) in &self.0 {
            // A rule that is new in the program has no ceilings yet.
            if ceilings.0.contains_key(rule) && self.sum(rule) > ceilings.sum(rule) {
                refused.push(rule.clone());
            } else {
                new.0.insert(rule.clone(), areas.clone());
            }
        }
        (new, refused)
    }
}

/// A count that differs from its ceiling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) rule: String,
    pub(crate) area: String,
    pub(crate) count: usize,
    pub(crate) ceiling: usize,
}

/// Compares counts with the ceilings file and prints what exceeds; with `update`, rewrites the file first.
pub(crate) fn judge(
    root: &Path,
    task: &str,
    counts: &Counts,
    findings: &[Finding],
    update: bool,
) -> io::Result<ExitCode> {
    let path = root.join(PATH);
    let mut ceilings = match std::fs::read_to_string(&path) {
        Ok(text) => Counts::parse(&text).map_err(|error| io::Error::other(format!("{PATH}: {error}")))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Counts::default(),
        Err(error) => return Err(error),
    };
    if update {
        let (new, refused) = counts.lowered(&ceilings);
        if new != ceilings {
            std::fs::write(&path, new.write())?;
            println!("{PATH} has the counts of today");
        }
        for rule in refused {
            println!("{rule}: {} findings in total, {} before: not updated", counts.sum(&rule), ceilings.sum(&rule));
        }
        ceilings = new;
    }
    let above = counts.above(&ceilings);
    let changed = if above.is_empty() { BTreeSet::new() } else { changed_files(root) };
    for one in &above {
        let all = findings.iter().filter(|finding| finding.rule == one.rule && finding.area == one.area);
        let (new, old): (Vec<&Finding>, Vec<&Finding>) = all.partition(|finding| changed.contains(&finding.path));
        let shown = if new.is_empty() { &old } else { &new };
        for finding in shown.iter().take(SHOWN) {
            println!("{finding}");
        }
        if shown.len() > SHOWN {
            println!(".. and {} more: `cargo xtask {task} --all`", shown.len() - SHOWN);
        }
    }
    for one in &above {
        let is_moved = counts.sum(&one.rule) <= ceilings.sum(&one.rule);
        let remedy = if is_moved { "; after a move of code, `--update` adapts it" } else { "" };
        println!("{} in {}: {} is above the ceiling {}{remedy}", one.rule, one.area, one.count, one.ceiling);
    }
    for one in counts.below(&ceilings) {
        println!(
            "{} in {}: {} is below the ceiling {}; lower it with `cargo xtask {task} --update`",
            one.rule, one.area, one.count, one.ceiling
        );
    }
    Ok(if above.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns the files that differ from the branch `main`, where there is one, or from the last commit.
fn changed_files(root: &Path) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for arguments in [
        ["diff", "--name-only", "HEAD"].as_slice(),
        &["diff", "--name-only", "main...HEAD"],
        &["ls-files", "--others", "--exclude-standard"],
    ] {
        // Without the branch, the others decide.
        changed.extend(git(root, arguments).iter().flat_map(|text| text.lines()).map(str::to_owned));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        Counts::parse(text).unwrap()
    }

    #[test]
    fn raising_any_count_by_one_fails() {
        let ceilings = counts("[long]\naccess = 2\n\"docs/kinds\" = 1\n[word]\nnode = 1\n");
        assert_eq!(ceilings.above(&ceilings), []);
        for (rule, areas) in &ceilings.0 {
            for area in areas.keys().map(String::as_str).chain(["elsewhere"]) {
                let mut more = ceilings.clone();
                more.add(rule, area, 1);
                let above = more.above(&ceilings);
                assert_eq!(above.len(), 1, "{rule} in {area}");
                assert_eq!((above[0].rule.as_str(), above[0].area.as_str()), (rule.as_str(), area));
            }
        }
    }

    #[test]
    fn an_update_lowers_and_moves_and_never_raises() {
        let ceilings = counts("[long]\naccess = 2\nnode = 1\n");
        let lower = counts("[long]\naccess = 1\nnode = 1\n");
        assert_eq!(lower.lowered(&ceilings), (lower.clone(), vec![]));
        let moved = counts("[long]\nask = 2\nnode = 1\n");
        assert_eq!(moved.lowered(&ceilings), (moved.clone(), vec![]));
        let higher = counts("[long]\naccess = 3\nnode = 1\n");
        assert_eq!(higher.lowered(&ceilings), (ceilings.clone(), vec!["long".to_owned()]));
        let of_new_rule = counts("[word]\nnode = 5\n");
        assert_eq!(of_new_rule.lowered(&ceilings).1, Vec::<String>::new());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let ceilings = counts("[long]\naccess = 2\n\"docs/kinds\" = 1\n[word]\n");
        assert_eq!(counts(&ceilings.write()), ceilings);
    }
}
