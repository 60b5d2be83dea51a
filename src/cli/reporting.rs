//! `--format` and `--report`: the results of a run in a machine-readable format, on standard output or in files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::MutexGuard;

use clap::{Args, ValueEnum as _};

use super::{Global, Outcome, printing};
use crate::diag::{Diagnostic, Files, RunError};
use crate::emit::plan::Counts;
use crate::emit::write;
use crate::report::run::{FindingRecord, TargetChange, TestResult};
use crate::report::{ReportFormat, RunReport, Terminal};

/// The option `--format` of commands whose results are diagnostics, changes and tests.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct FormatArguments {
    /// Print the results to standard output in this format, and not as text.
    #[arg(long, value_name = "FORM")]
    pub(super) format: Option<ReportFormat>,
    #[command(flatten)]
    pub(super) report: ReportArguments,
}

/// The option `--report` of commands with diagnostics, changes or tests.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ReportArguments {
    /// Also write the results to a file, in one of the forms json, sarif, gitlab, junit and markdown; may be repeated.
    #[arg(long = "report", value_name = "FORM=FILE")]
    pub(super) reports: Vec<ReportFile>,
}

/// A value of `--report`: a format and the file to write.
#[derive(Debug, Clone)]
pub(super) struct ReportFile {
    format: ReportFormat,
    file: PathBuf,
}

/// A value of `--report` that names no format or no file.
#[derive(Debug)]
pub(super) struct InvalidReportFile(String);

impl fmt::Display for InvalidReportFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidReportFile {}

impl FromStr for ReportFile {
    type Err = InvalidReportFile;

    fn from_str(text: &str) -> Result<Self, InvalidReportFile> {
        let names = || {
            let values = ReportFormat::value_variants().iter().filter_map(ReportFormat::to_possible_value);
            values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let Some((form, file)) = text.split_once('=') else {
            return Err(InvalidReportFile(format!("write FORM=FILE; the forms are {}", names())));
        };
        let Ok(format) = ReportFormat::from_str(form, false) else {
            return Err(InvalidReportFile(format!("there is no form `{form}`; the forms are {}", names())));
        };
        if file.is_empty() {
            return Err(InvalidReportFile("the file is missing".to_owned()));
        }
        Ok(Self { format, file: file.into() })
    }
}

impl Global {
    /// Returns the files that `--report` names.
    pub(super) fn report_files(&self) -> Vec<PathBuf> {
        self.reports.iter().map(|report| self.at(&report.file)).collect()
    }

    /// Adds the results of AccessTests to the report of the run.
    pub(super) fn record_tests(&self, tests: Vec<TestResult>) {
        self.collected().tests.extend(tests);
    }

    /// Adds the differences of targets to the report of the run.
    pub(super) fn record_changes<'t>(&self, targets: impl Iterator<Item = (&'t str, Counts)>) {
        self.collected().changes.extend(targets.map(|(target, counts)| TargetChange::new(target, counts)));
    }

    /// Adds diagnostics to the report of the run. Without a report they are not kept.
    pub(super) fn record_findings(&self, diagnostics: &[Diagnostic], files: &Files) {
        if self.format.is_some() || !self.reports.is_empty() {
            self.collected()
                .findings
                .extend(diagnostics.iter().map(|diagnostic| FindingRecord::new(diagnostic, files)));
        }
    }

    fn collected(&self) -> MutexGuard<'_, RunReport> {
        match self.collected.lock() {
            Ok(report) => report,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// Writes the reports of a run, and returns its outcome: a report that cannot be written makes a run fail.
pub(super) fn finish(global: &Global, outcome: Outcome) -> Outcome {
    let mut report = global.collected();
    report.exit_code = outcome.code();
    if let Some(format) = global.format {
        Terminal::new(global.color, global.quiet).result(&format.text(&*report));
    }
    let mut result = outcome;
    for ReportFile { format, file } in &global.reports {
        let path = global.at(file);
        if let Err(error) = write::replace(&path, format.text(&*report).as_bytes()) {
            let error = RunError::io("write", &path, &error).help("name a file in a folder that exists");
            result = result.worse(printing::print_failure(global, &error));
        }
    }
    result
}
