#![doc = include_str!("../README.md")]
//!
//! To add a format of findings, add a file and a variant of [`ReportFormat`].

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod access;
pub mod access_map;
pub mod audit;
pub mod checks;
pub mod comparison;
pub mod drift;
pub mod explain;
pub mod function;
pub mod github;
pub mod gitlab;
mod html_page;
pub mod human;
pub mod import;
pub mod index;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod migration;
pub mod namespace;
pub mod nodes;
pub mod objects;
pub mod page;
pub mod paths;
pub mod pod_security;
#[cfg_attr(not(unix), path = "progress/no_system.rs")]
mod progress;
pub mod result;
pub mod review;
pub mod run;
pub mod sarif;
pub mod shards;
pub mod stacks;
pub mod table;
mod terminal;
pub mod tests;
pub mod verification;
pub mod worlds;

use bailiwick_workspace::FindingRecord;
pub use progress::ProgressLine;
pub use run::RunReport;
use serde::Serialize;
pub use terminal::{Answers, ColorChoice, KeptTexts, Streams, Terminal};

use self::block::ReportBlock;
use self::run::{TargetChange, TestResult};

/// The file that stands for a workspace in a format that accepts no finding without a file.
const WORKSPACE_FILE: &str = "bailiwick.yaml";

/// A result that can be written in every format.
pub trait Report: Serialize {
    /// The name of the schema of the result in JSON.
    const NAME: &'static str;

    /// Returns the command that made the result.
    fn command(&self) -> &str;

    /// Returns the folder of the workspace as reports write paths; empty for the folder from which paths begin.
    fn workspace(&self) -> &str {
        ""
    }

    /// Returns the diagnostics.
    fn findings(&self) -> &[FindingRecord];

    /// Returns the exit code of the run.
    fn exit_code(&self) -> u8;

    /// Describes the exit code.
    fn verdict(&self) -> &'static str {
        match self.exit_code() {
            0 => "success",
            1 => "the answer is no",
            2 => "invalid input",
            _ => "the run failed",
        }
    }

    /// Returns the differences from the committed output.
    fn changes(&self) -> &[TargetChange];

    /// Returns the results of AccessTests.
    fn tests(&self) -> &[TestResult];

    /// Returns the result for people.
    fn blocks(&self) -> Vec<ReportBlock>;
}

/// A form in which programs read the results of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// JSON; `bailiwick schema NAME` prints its schema.
    Json,
    /// Workflow commands of GitHub Actions; the ten worst errors and warnings.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// GitLab Code Quality.
    Gitlab,
    /// JUnit XML.
    Junit,
    /// Markdown, for comments and step summaries.
    Markdown,
}

/// Returns the path of the workspace file of a report.
fn workspace_file(report: &impl Report) -> String {
    match report.workspace() {
        "" | "." => WORKSPACE_FILE.to_owned(),
        folder => format!("{folder}/{WORKSPACE_FILE}"),
    }
}

impl ReportFormat {
    /// Whether readers of this format look for the files below the root of the repository.
    pub fn has_paths_of_repository(self) -> bool {
        match self {
            Self::Github | Self::Sarif | Self::Gitlab | Self::Markdown => true,
            Self::Json | Self::Junit => false,
        }
    }

    /// Returns a report in this format.
    pub fn text(self, report: &impl Report) -> String {
        match self {
            ReportFormat::Json => json::text(report),
            ReportFormat::Github => github::text(report),
            ReportFormat::Sarif => sarif::text(report),
            ReportFormat::Gitlab => gitlab::text(report),
            ReportFormat::Junit => junit::text(report),
            ReportFormat::Markdown => markdown::text(report),
        }
    }
}

pub mod risk {
    //! Escalation paths in words.

    use bailiwick_access::risk::Path;
    use bailiwick_workspace::words::chain_line;
    use bailiwick_yaml::diag::Files;

    use super::page::Page;

    /// Returns the ways of a subject to other identities, each with its grants.
    pub fn paths(paths: &[Path], files: &Files) -> String {
        let mut text = Page::new();
        for path in paths {
            writeln!(text, "  {}", path.to);
            writeln!(text, "    by {}", path.via);
            for chain in &path.links {
                writeln!(text, "      {}", chain_line(chain, files));
            }
        }
        text.finish()
    }
}

pub mod block {
    //! The parts of a report for people, which a format lays out.

    /// A part of a report.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum ReportBlock {
        /// The title of what follows.
        Heading(String),
        /// A paragraph of words.
        Paragraph(String),
        /// Lines that keep their form.
        Verbatim(String),
        /// A list of lines of words. An empty list is left out.
        List(Vec<String>),
        /// A table with the names of its columns.
        Table {
            /// The names of the columns.
            columns: Vec<String>,
            /// The rows, each with one text for each column.
            rows: Vec<Vec<String>>,
        },
    }
}
