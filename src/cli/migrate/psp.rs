//! `bailiwick migrate psp`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::super::printing::{print, refuse_usage};
use super::super::reporting::{Formats, OutputFormat, ReportFile};
use super::super::sandbox::Paths;
use super::super::worlds::platform_parser;
use super::super::{Global, Outcome};
use super::output::{self, Destination};
use crate::admission::psp::plan::LevelChoice;
use crate::app::{Error, PspMigrationOptions, migrate_psp};
use crate::emit::writer::WrittenPlace;
use crate::model::Platform;
use crate::report::migration::{self, PspMigrationReport};
use crate::report::result::Versioned;
use crate::report::{ReportFormat, json};

/// Options of `migrate psp`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Read the manifests in this file or folder, or from standard input (`-`); may be repeated.
    #[arg(long, value_name = "PATH", required = true)]
    from: Vec<PathBuf>,
    /// Version of the cluster. Its default policy is the baseline of the manifests.
    #[arg(long, value_name = "VERSION", default_value = PspMigrationOptions::USUAL_VERSION)]
    kubernetes_version: String,
    /// Platform at the end of the migration. With openshift, the workloads move to another cluster. Default: kubernetes.
    #[arg(long, value_name = "PLATFORM", value_parser = platform_parser())]
    platform: Option<Platform>,
    /// Version at the end of the migration: of Kubernetes, or of OpenShift with --platform openshift. The levels admit the pods by its
    /// checks, and by the checks of each stage. Default: the newest known version.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Level of namespaces. A namespace without the chosen level gets the other one.
    #[arg(long, value_name = "WHICH", default_value = "observed")]
    level: LevelArgument,
    /// Folder for the plan: a workspace with the policies and one target for each stage, patches of workloads, and the report
    /// with a checklist in Markdown.
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    plan: Option<PathBuf>,
    /// Folder for the files of the policies. Default: print them to standard output.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
    /// Write the report to this file, in the format of --format; may be repeated. With FORM=FILE, write a report of the run,
    /// as json, github, sarif, gitlab, junit or markdown. With html=FILE, write the report about the policies as a page of HTML.
    /// Default: print the report to standard output, or to standard error if the policies are printed to standard output.
    #[arg(long, value_name = "[FORM=]FILE")]
    report: Vec<MigrationReportFile>,
    /// Output format of the report.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: OutputFormat,
}

/// A value of `--level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LevelArgument {
    /// The strictest level that admits the pods of the namespace.
    Observed,
    /// The level that the texts of its PodSecurityPolicies allow.
    Stated,
}

/// A value of `--report` of `migrate psp`.
#[derive(Debug, Clone)]
enum MigrationReportFile {
    /// The report about the policies, in the format of `--format`.
    Own(PathBuf),
    /// The same report as a page, as `html=FILE`.
    Page(PathBuf),
    /// A report of any command, as `FORM=FILE`.
    Run(ReportFile),
}

impl FromStr for MigrationReportFile {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(file) = text.strip_prefix("html=").filter(|file| !file.is_empty()) {
            return Ok(Self::Page(file.into()));
        }
        Ok(ReportFile::from_str(text).map_or_else(|_| Self::Own(text.into()), Self::Run))
    }
}

impl Arguments {
    /// Returns the formats of the results, and the reports to write. The report has Markdown of its own.
    pub(super) fn formats(&self) -> Formats {
        let reports = self.report.iter().filter_map(|report| match report {
            MigrationReportFile::Own(_) | MigrationReportFile::Page(_) => None,
            MigrationReportFile::Run(report) => Some(report.clone()),
        });
        Formats {
            format: self.format,
            has_results: true,
            is_own: self.is_own(),
            reports: reports.collect(),
            ..Formats::default()
        }
    }

    /// Whether the report has the format itself.
    fn is_own(&self) -> bool {
        let markdown = OutputFormat::Report(ReportFormat::Markdown);
        [OutputFormat::Text, OutputFormat::JSON, markdown].contains(&self.format)
    }

    /// Returns the places of the results.
    fn destination(&self, global: &Global) -> Destination {
        Destination {
            output: self.output.as_ref().map(|folder| global.at(folder)),
            reports: self.own_reports().map(|path| global.at(path)).collect(),
            prints_policies: self.output.is_none() && self.plan.is_none(),
            overwrites: self.force,
            files: Vec::new(),
        }
    }

    /// Returns the files of the report about the policies.
    fn own_reports(&self) -> impl Iterator<Item = &PathBuf> {
        self.report.iter().filter_map(|report| match report {
            MigrationReportFile::Own(path) => Some(path),
            MigrationReportFile::Page(_) | MigrationReportFile::Run(_) => None,
        })
    }

    /// Returns the files of the report about the policies as a page.
    fn pages(&self) -> impl Iterator<Item = &PathBuf> {
        self.report.iter().filter_map(|report| match report {
            MigrationReportFile::Page(path) => Some(path),
            MigrationReportFile::Own(_) | MigrationReportFile::Run(_) => None,
        })
    }
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let writes = self.output.iter().chain(&self.plan).chain(self.own_reports()).chain(self.pages());
        Paths::default().and_reads(&self.from).and_writes(writes)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    if !arguments.is_own() && arguments.output.is_none() && arguments.plan.is_none() {
        let help = "write the policies into a folder with --output or --plan, or the report into a file with `--report FORM=FILE`";
        return Ok(refuse_usage(global, "the policies and the report both go to standard output", help));
    }
    let options = PspMigrationOptions {
        from: arguments.from.clone(),
        kubernetes_version: arguments.kubernetes_version.clone(),
        platform: arguments.platform,
        to: arguments.to.clone(),
        level: match arguments.level {
            LevelArgument::Observed => LevelChoice::Observed,
            LevelArgument::Stated => LevelChoice::Stated,
        },
        ..PspMigrationOptions::default()
    };
    let mut found = migrate_psp(&global.options(), &options)?;
    print(global, std::mem::take(&mut found.diagnostics.list), &found.diagnostics.files);
    let report = PspMigrationReport::new(&found);
    let text = match arguments.format {
        OutputFormat::JSON => json::pretty(&Versioned::new(report.record())),
        OutputFormat::Report(ReportFormat::Markdown) => migration::markdown(&report),
        OutputFormat::Text | OutputFormat::Report(_) => migration::text(&report),
    };
    let mut destination = arguments.destination(global);
    if let Some(folder) = &arguments.plan {
        let folder = global.at(folder);
        let files = found.policies.plan_files(&found.patches, found.to);
        let place = |name: String| WrittenPlace::Below(folder.clone(), name);
        destination.files.extend(files.into_iter().map(|(name, text)| (place(name), text)));
        destination.files.push((place("plan.md".to_owned()), migration::markdown(&report)));
    }
    destination
        .files
        .extend(arguments.pages().map(|path| (WrittenPlace::Named(global.at(path)), migration::html(&report))));
    if !output::write(global, destination, &found.policies, &text)? {
        return Ok(Outcome::Invalid);
    }
    global.record_result(|| report.record(), || migration::text(&report));
    Ok(if found.plan.needs_decision() { Outcome::No } else { Outcome::Fine })
}
