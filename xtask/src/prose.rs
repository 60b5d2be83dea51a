//! `cargo xtask prose`: the rules for the English of this repository.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::ceilings::{self, Counts};
use crate::finding::{self, Finding};
use crate::repository::{File, Repository};

mod comments;
mod commits;
mod lexer;
mod passage;
mod rules;
mod statistics;
mod words;

use rules::Pages;
use statistics::Statistics;
use words::Words;

/// The rules with ceilings. `pronouns` has one ceiling for everything, the rate of `--stats` rounded up.
const RULES: [&str; 7] = ["beginning", "long", "opening", "pronouns", "reference", "repeats", "word"];

/// Check Markdown, comments, help, diagnostics and commit subjects
///
/// Without paths, compares the number of findings of each rule and area with xtask/ceilings.toml, and prints the findings
/// where there are too many. With paths, prints every finding in these files and folders. Ends with 1 when a ceiling
/// is exceeded, or when a path or a commit has a finding.
///
/// The rule `beginning` finds sentences that begin with a word such as "What". `word` has the lists of
/// xtask/prose.toml. `reference` finds names of documents that are not in this repository. `repeats` finds comments
/// that repeat the name of their item, and `opening` comments of functions that begin with no verb. `long` finds
/// sentences over 40 words. `subject` has the form of the subjects of commits. `pronouns` is the rate of `--stats`,
/// rounded up.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Files and folders to check
    paths: Vec<String>,
    /// Print the relative pronouns in 1,000 words of each file and in total
    #[arg(long)]
    stats: bool,
    /// Print every finding, whatever the ceilings
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Lower the ceilings to the counts
    #[arg(long, conflicts_with_all = ["paths", "stats", "all", "commits"])]
    update: bool,
    /// Check the subjects of the commits of a range, such as main..HEAD
    #[arg(long, value_name = "RANGE", conflicts_with_all = ["paths", "stats", "all"])]
    commits: Option<String>,
}

/// Runs the checks.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let words = Words::read(root)?;
    if let Some(range) = &arguments.commits {
        return Ok(print(&commits::check(root, range, &words)?));
    }
    let repository = Repository::read(root)?;
    let pages = Pages::new(&repository);
    let is_wanted = |file: &&File| {
        let below = |path: &String| {
            let path = path.trim_start_matches("./").trim_end_matches('/');
            path == "." || file.path == path || file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        !file.is_generated() && (arguments.paths.is_empty() || arguments.paths.iter().any(below))
    };
    let (mut findings, mut statistics) = (Vec::new(), Statistics::default());
    let mut is_any = false;
    for file in repository.files.iter().filter(is_wanted) {
        is_any = true;
        check(file, &words, &pages, &mut findings, &mut statistics);
    }
    if !is_any {
        return Err(io::Error::other(format!("no Rust or Markdown file below {}", arguments.paths.join(" "))));
    }
    finding::sort(&mut findings);
    if arguments.stats {
        statistics.print(words.pronouns_per_1000);
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.all || !arguments.paths.is_empty() {
        return Ok(print(&findings));
    }
    let mut counts = Counts::of_findings(&RULES, &findings);
    counts.add("pronouns", "total", statistics.total.rounded());
    ceilings::judge(root, "prose", &counts, &findings, arguments.update)
}

/// Prints findings; the exit code is 1 when there are any.
fn print(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Checks a file.
fn check(file: &File, words: &Words, pages: &Pages, findings: &mut Vec<Finding>, statistics: &mut Statistics) {
    let syntax = file.is_rust().then(|| syn::parse_file(&file.text).ok()).flatten();
    for passage in passage::passages(file, syntax.as_ref()) {
        rules::check(file, &passage, words, pages, findings);
        statistics.add(file, &passage, words);
    }
    if let Some(syntax) = &syntax {
        comments::check(file, syntax, findings);
    }
}

#[cfg(test)]
mod tests;
