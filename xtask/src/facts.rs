//! `cargo xtask facts`: the tables of facts about Kubernetes.
//!
//! The generator is `tests/conformance/facts`, because only Go reads the modules of Kubernetes. The check of the places
//! that depend on the newest minor needs no Go.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use regex::Regex;

use crate::repository::{File, Repository};

/// The file of the constant that all other limits are computed from.
const CATALOGUE: &str = "crates/bailiwick-kubernetes/src/catalogue.rs";

/// Files that name the newest minor, each with the expression of the number.
const NUMBERS: [(&str, &str); 4] = [
    ("tests/conformance/releases", r"\n1\.(\d+)\.\d+\n$"),
    ("crates/bailiwick-kubernetes/src/facts/api-resources.json", r#""lastMinor": (\d+)"#),
    ("crates/bailiwick-node/src/facts/system-node.yaml", r"(?m)^lastMinor: (\d+)$"),
    ("tests/conformance/go.mod", r"k8s\.io/kubernetes v1\.(\d+)\."),
];

/// Sentences that name the newest minor, in Markdown and in comments.
const SENTENCES: [&str; 2] = [r"\b1\.16 to 1\.(\d+)", r"\bnewer than 1\.(\d+)"];

/// Files with one of these sentences about another minor, such as an example.
const EXAMPLES: [&str; 3] = ["crates/bailiwick-kubernetes/src/openapi.rs", "CHANGELOG.md", "xtask/src/facts.rs"];

/// Add a release of Kubernetes to the tables of facts, or check that the tables are current
///
/// docs/new-kubernetes-minor.md describes how a new minor is added. Needs Go, except for `--places`. Ends with 0 when the
/// tables are current, 1 when a table or a place is not, 2 on wrong usage, 3 when the generator cannot run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Release to add, such as 1.38.0
    #[arg(required_unless_present_any = ["check", "places"], conflicts_with_all = ["check", "places"])]
    release: Option<String>,
    /// Compare the tables with the releases that they are made from, and the places of `--places`
    #[arg(long)]
    check: bool,
    /// Print the places that are behind LAST_MINOR: fact files, module of the harnesses, sentences
    #[arg(long)]
    places: bool,
}

/// Runs the check of the places and the generator.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    if let Some(release) = &arguments.release {
        let status = generate(root, release)?;
        print_behind(root)?;
        return Ok(ExitCode::from(status));
    }
    let is_behind = print_behind(root)?;
    let status = if arguments.check { generate(root, "--check")? } else { 0 };
    Ok(ExitCode::from(if status == 0 { u8::from(is_behind) } else { status }))
}

/// Runs the generator and returns its exit code.
fn generate(root: &Path, argument: &str) -> io::Result<u8> {
    let status = Command::new(root.join("tests/conformance/facts")).arg(argument).current_dir(root).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3))
}

/// Prints the places that are behind the newest minor. Returns whether there are any.
fn print_behind(root: &Path) -> io::Result<bool> {
    let newest = newest(root)?;
    let mut behind = numbers(root, newest)?;
    behind.extend(sentences(&Repository::read(root)?.files, newest)?);
    for place in &behind {
        println!("{place}");
    }
    Ok(!behind.is_empty())
}

/// Returns the newest known minor.
fn newest(root: &Path) -> io::Result<u32> {
    let text = std::fs::read_to_string(root.join(CATALOGUE))?;
    let found = first_number(&text, r"(?m)^pub const LAST_MINOR: u32 = (\d+);")?;
    found.ok_or_else(|| io::Error::other(format!("{CATALOGUE} has no LAST_MINOR")))
}

/// Returns the files with another number.
fn numbers(root: &Path, newest: u32) -> io::Result<Vec<String>> {
    let mut behind = Vec::new();
    for (path, pattern) in NUMBERS {
        let text = std::fs::read_to_string(root.join(path))?;
        match first_number(&text, pattern)? {
            Some(minor) if minor == newest => {}
            Some(minor) => behind.push(format!("{path}: 1.{minor}, not 1.{newest}")),
            None => behind.push(format!("{path}: no minor")),
        }
    }
    Ok(behind)
}

/// Returns the lines with a sentence about another minor.
fn sentences(files: &[File], newest: u32) -> io::Result<Vec<String>> {
    let patterns = SENTENCES.map(Regex::new).into_iter().collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    let mut behind = Vec::new();
    for file in files.iter().filter(|file| !EXAMPLES.contains(&file.path.as_str())) {
        for (number, line) in file.text.lines().enumerate() {
            let minors = patterns.iter().flat_map(|pattern| pattern.captures_iter(line));
            for minor in minors.filter_map(|found| found.get(1)).filter(|found| found.as_str() != newest.to_string()) {
                let minor = minor.as_str();
                behind.push(format!("{}:{}: 1.{minor}, not 1.{newest}", file.path, number + 1));
            }
        }
    }
    Ok(behind)
}

/// Returns the first group of a pattern in a text as a number.
fn first_number(text: &str, pattern: &str) -> io::Result<Option<u32>> {
    let pattern = Regex::new(pattern).map_err(io::Error::other)?;
    Ok(pattern.captures(text).and_then(|found| found.get(1)?.as_str().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_names_the_newest_minor() {
        let root = crate::root();
        let newest = newest(root).unwrap();
        let files = Repository::read(root).unwrap().files;
        assert_eq!(numbers(root, newest).unwrap(), Vec::<String>::new());
        assert_eq!(sentences(&files, newest).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_new_minor_makes_every_place_stale() {
        let root = crate::root();
        let next = newest(root).unwrap() + 1;
        assert_eq!(numbers(root, next).unwrap().len(), NUMBERS.len());
        let file = |text: &str| [File { path: "README.md".to_owned(), text: text.to_owned() }];
        let good = format!("Facts of Kubernetes 1.16 to 1.{next}.\n");
        assert_eq!(sentences(&file(&good), next).unwrap(), Vec::<String>::new());
        let bad = sentences(&file("\nThe default policy, 1.16 to 1.9.\n"), next).unwrap();
        assert_eq!(bad, [format!("README.md:2: 1.9, not 1.{next}")]);
    }
}
