//! `--format` and `--report`: the results of a run in a machine-readable format, on standard output or in files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{LazyLock, MutexGuard};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::{Global, Outcome, printing, step_outputs};
use crate::app::FindingRecord;
use crate::diag::{Diagnostic, Files, RunError};
use crate::emit::plan::Counts;
use crate::emit::writer;
use crate::report::result::{CommandResult, Versioned};
use crate::report::run::{TargetChange, TestResult};
use crate::report::{ReportFormat, RunReport, json};

/// The options of commands that report.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct FormatArguments {
    /// Output format of the results.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(super) format: OutputFormat,
    #[command(flatten)]
    pub(super) report: ReportArguments,
}

/// Options of the commands that compare the output, `check` and `diff`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct GateArguments {
    /// Exit with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

/// The option `--report`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ReportArguments {
    /// Also write a report of the run to a file, as json, github, sarif, gitlab, junit or markdown; may be repeated.
    #[arg(long = "report", value_name = "FORM=FILE")]
    pub(super) reports: Vec<ReportFile>,
}

/// A value of `--format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Report(ReportFormat),
}

impl OutputFormat {
    /// JSON.
    pub(super) const JSON: Self = Self::Report(ReportFormat::Json);
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static VARIANTS: LazyLock<Vec<OutputFormat>> = LazyLock::new(|| {
            let reports = ReportFormat::value_variants().iter().copied().map(OutputFormat::Report);
            std::iter::once(OutputFormat::Text).chain(reports).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Text => Some(PossibleValue::new("text").help("Plain text")),
            Self::Report(format) => format.to_possible_value(),
        }
    }
}

/// The formats that a command line asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Formats {
    /// The format of the results.
    pub(super) format: OutputFormat,
    /// Whether the command has results of its own, beside diagnostics, changes and tests.
    pub(super) has_results: bool,
    /// Whether the command prints its results in this format itself, and the report of the run does not.
    pub(super) is_own: bool,
    /// The reports to write.
    pub(super) reports: Vec<ReportFile>,
    /// Whether a step of a GitHub workflow gets the counts of the run.
    pub(super) has_step_outputs: bool,
    /// Whether the caller of the run gets its report.
    pub(super) is_kept: bool,
}

impl Formats {
    /// Returns the formats of a command whose results are diagnostics, changes and tests.
    pub(super) fn of_run(arguments: &FormatArguments) -> Self {
        Self { format: arguments.format, reports: arguments.report.reports.clone(), ..Self::default() }
    }

    /// Returns the formats of a command with results of its own, which it prints as text and as JSON.
    pub(super) fn of_results(arguments: &FormatArguments) -> Self {
        let is_own = matches!(arguments.format, OutputFormat::Text | OutputFormat::JSON);
        Self { has_results: true, is_own, ..Self::of_run(arguments) }
    }
}

/// A value of `--report`: a format and the file to write.
#[derive(Debug, Clone)]
pub(super) struct ReportFile {
    format: ReportFormat,
    file: PathBuf,
}

impl ReportFile {
    /// Returns the path of the file, as it is written.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }
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
    /// Prints the results of a command as text or as JSON, and adds them to the report of the run.
    pub(super) fn print_results<R: CommandResult>(
        &self,
        results: impl FnOnce() -> Vec<R>,
        text: impl FnOnce() -> String,
    ) {
        let (is_json, is_recorded) = (self.formats.format == OutputFormat::JSON, self.is_recorded());
        if !is_recorded && !is_json {
            return self.terminal().result(&text());
        }
        let results = results();
        if is_json {
            let lines = results.iter().map(|result| json::line(&Versioned::new(result)));
            self.terminal().result(&lines.collect::<String>());
        }
        if is_recorded {
            let text = text();
            if !is_json {
                self.terminal().result(&text);
            }
            self.collected().add_results(&results, text);
        }
    }

    /// Adds a result to the report of the run, with its text for people.
    pub(super) fn record_result<R: CommandResult>(&self, result: impl FnOnce() -> R, text: impl FnOnce() -> String) {
        if self.is_recorded() {
            self.collected().add_results(&[result()], text());
        }
    }

    /// Whether the run has a report.
    pub(super) fn is_recorded(&self) -> bool {
        let Formats { reports, has_step_outputs, is_kept, .. } = &self.formats;
        self.format().is_some() || !reports.is_empty() || *has_step_outputs || *is_kept
    }

    /// Prints one result as [`Global::print_results`] does.
    pub(super) fn print_result<R: CommandResult>(&self, result: impl FnOnce() -> R, text: impl FnOnce() -> String) {
        self.print_results(|| vec![result()], text);
    }

    /// Whether the results are printed as text.
    pub(super) fn prints_text(&self) -> bool {
        self.formats.format == OutputFormat::Text
    }

    /// Returns the format in which the report of the run is printed; none if the command prints its results itself.
    pub(super) fn format(&self) -> Option<ReportFormat> {
        match self.formats.format {
            OutputFormat::Report(format) if !self.formats.is_own => Some(format),
            OutputFormat::Report(_) | OutputFormat::Text => None,
        }
    }

    /// Adds the results of AccessTests to the report of the run.
    pub(super) fn record_tests(&self, tests: Vec<TestResult>) {
        self.collected().tests.extend(tests);
    }

    /// Whether the run has results of AccessTests.
    pub(super) fn has_tests(&self) -> bool {
        !self.collected().tests.is_empty()
    }

    /// Adds the differences of targets to the report of the run.
    pub(super) fn record_changes<'t>(&self, targets: impl Iterator<Item = (&'t str, Counts)>) {
        self.collected().changes.extend(targets.map(|(target, counts)| TargetChange::new(target, counts)));
    }

    /// Adds sentences about changes that the differences of the files do not show.
    pub(super) fn record_further_changes(&self, sentences: Vec<String>) {
        self.collected().further_changes.extend(sentences);
    }

    /// Adds diagnostics to the report of the run. Without a report they are not kept.
    pub(super) fn record_findings(&self, diagnostics: &[Diagnostic], files: &Files) {
        if self.is_recorded() {
            self.collected()
                .findings
                .extend(diagnostics.iter().map(|diagnostic| FindingRecord::new(diagnostic, files)));
        }
    }

    /// Adds findings that are not printed to the report of the run, with a line about them.
    pub(super) fn record_other_findings(&self, findings: Vec<FindingRecord>, line: String) {
        if self.is_recorded() {
            let mut report = self.collected();
            report.other_findings.extend(findings);
            report.texts.push(line);
        }
    }

    pub(super) fn collected(&self) -> MutexGuard<'_, RunReport> {
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
    let is_located = |format: ReportFormat| format.has_paths_of_repository();
    let formats = global.formats.reports.iter().map(|report| report.format).chain(global.format());
    let located = formats.into_iter().any(is_located).then(|| global.located(&report));
    let written = |format: ReportFormat| match &located {
        Some(located) if is_located(format) => format.text(located),
        Some(_) | None => format.text(&*report),
    };
    if let Some(format) = global.format() {
        let terminal = global.terminal_of_reports();
        let text = written(format);
        match format {
            ReportFormat::Github => terminal.workflow_commands(&text),
            _ => terminal.result(&text),
        }
    }
    let mut result = outcome;
    for ReportFile { format, file } in &global.formats.reports {
        let path = global.at(file);
        if let Err(error) = writer::replace(&path, written(*format).as_bytes()) {
            result = result.worse(printing::print_failure(global, &RunError::io("write", &path, &error)));
        }
    }
    if global.formats.has_step_outputs
        && let Err(error) = step_outputs::append_counts(global, &report)
    {
        result = result.worse(printing::print_failure(global, &error));
    }
    result
}
