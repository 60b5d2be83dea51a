//! `cargo xtask tidy`: the rules for the code of this repository that Clippy does not have.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::ceilings::{self, Counts};
use crate::finding::{self, Finding};
use crate::repository::{File, Repository};
use crate::tests_of;

mod debug_form;
mod defaults;
mod figures;
mod functions;
mod names;
mod pages;
mod types;

use names::Names;

/// The rules with ceilings.
const RULES: [&str; 9] = [
    "debug-form",
    "file-length",
    "function-length",
    "page-examples",
    "parameters",
    "public-name",
    "string-error",
    "tuple-parameter",
    "unwrap-or",
];

/// The most lines of a file.
const FILE_LENGTH: usize = 800;

/// Check the length of files and functions, parameters, defaults, error types, `Debug` forms, names and pages
///
/// Compares the number of findings of each rule and area with xtask/ceilings.toml, and prints the findings where there
/// are too many. Ends with 1 when a ceiling is exceeded.
///
/// The rule `file-length` finds files over 800 lines, and `function-length` functions over 60. `parameters` finds
/// functions with more than five parameters, and `tuple-parameter` parameters whose type is a tuple. `unwrap-or` counts
/// `unwrap_or`, `unwrap_or_else` and `unwrap_or_default`, and `string-error` counts `Result<_, String>`.
/// `debug-form` finds texts with the `Debug` form of a value. `public-name`
/// finds public types with the name of another public type. `page-examples` finds pages of diagnostics without a Bad
/// and a Good example. Tests count for the rules of length only.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print every finding, whatever the ceilings
    #[arg(long)]
    all: bool,
    /// Lower the ceilings to the counts
    #[arg(long, conflicts_with = "all")]
    update: bool,
    /// Print lines by crate and module, the longest functions, and `unwrap_or*` per 1,000 lines
    #[arg(long, conflicts_with_all = ["all", "update"])]
    figures: bool,
}

/// A Rust file with its syntax.
pub(crate) struct Source<'f> {
    pub(crate) file: &'f File,
    pub(crate) syntax: syn::File,
    /// Whether each line is compiled for tests only.
    is_test: Vec<bool>,
}

impl<'f> Source<'f> {
    /// Parses a file.
    pub(crate) fn parse(file: &'f File) -> io::Result<Self> {
        let parsed = syn::parse_file(&file.text);
        let syntax = parsed.map_err(|error| io::Error::other(format!("{}: {error}", file.path)))?;
        let mut is_test = vec![!file.is_product(); file.text.lines().count() + 1];
        for line in tests_of::lines(&syntax).into_iter().flatten() {
            if let Some(is_test) = is_test.get_mut(line) {
                *is_test = true;
            }
        }
        Ok(Self { file, syntax, is_test })
    }

    /// Whether a line is compiled for tests only.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test.get(line).copied().unwrap_or(false)
    }

    /// Returns the number of lines outside of tests.
    pub(crate) fn product_lines(&self) -> usize {
        self.is_test.iter().skip(1).filter(|is_test| !**is_test).count()
    }

    fn finding(&self, line: usize, rule: &'static str, text: String) -> Finding {
        Finding { path: self.file.path.clone(), line, rule, area: self.file.area().to_owned(), text }
    }
}

/// Runs the checks.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let repository = Repository::read(root)?;
    let sources = sources(&repository)?;
    if arguments.figures {
        figures::print(&sources);
        return Ok(ExitCode::SUCCESS);
    }
    let findings = check(&repository, &sources);
    if arguments.all {
        for finding in &findings {
            println!("{finding}");
        }
        return Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let counts = Counts::of_findings(&RULES, &findings);
    ceilings::judge(root, "tidy", &counts, &findings, arguments.update)
}

/// Parses the Rust files of the repository.
fn sources(repository: &Repository) -> io::Result<Vec<Source<'_>>> {
    let files = repository.files.iter().filter(|file| file.is_rust());
    let mut sources = files.map(Source::parse).collect::<io::Result<Vec<_>>>()?;
    let modules: Vec<String> =
        sources.iter().flat_map(|source| tests_of::modules(&source.file.path, &source.syntax)).collect();
    for source in &mut sources {
        let is_in = |module: &String| {
            let rest = source.file.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        if modules.iter().any(is_in) {
            source.is_test.fill(true);
        }
    }
    Ok(sources)
}

/// Checks every file.
fn check(repository: &Repository, sources: &[Source<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names = Names::default();
    for source in sources {
        file_length(source, &mut findings);
        functions::check(source, &mut findings);
        types::check(source, &mut findings);
        debug_form::check(source, &mut findings);
        defaults::check(source, &mut findings);
        names.add(source);
    }
    names.check(&mut findings);
    pages::check(repository, &mut findings);
    finding::sort(&mut findings);
    findings
}

fn file_length(source: &Source<'_>, findings: &mut Vec<Finding>) {
    let lines = source.file.text.lines().count();
    if lines > FILE_LENGTH {
        findings.push(source.finding(1, "file-length", format!("{lines} lines, more than {FILE_LENGTH}")));
    }
}

#[cfg(test)]
mod tests;
