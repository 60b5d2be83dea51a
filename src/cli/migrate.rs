//! `bailiwick migrate`.

mod kubelets;
mod output;
mod shards;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::printing::{print, refuse_usage};
use super::reporting::{Formats, OutputFormat, ReportFile};
use super::{Global, Outcome};
use crate::app::{Error, PspMigration, PspMigrationOptions, migrate_psp};
use crate::report::migration::{self, PspMigrationReport};
use crate::report::result::Versioned;
use crate::report::{ReportFormat, json};

/// Options of `migrate`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// The object of a migration.
#[derive(Debug, Subcommand)]
enum What {
    /// Convert PodSecurityPolicies into PodSecurityProfiles.
    ///
    /// Reads PodSecurityPolicies, RBAC, Namespaces, ServiceAccounts and workloads, and determines the PodSecurityPolicy of
    /// each workload. Writes a PodSecurityProfile for each PodSecurityPolicy in use, with its namespaces.
    /// PodSecurityPolicies that differ only in numbers become one profile, and their namespaces become a Tenancy.
    ///
    /// Exit codes: 0 success; 1 the report lists open decisions; 2 wrong usage or invalid input; 3 the run failed.
    Psp(PspArguments),
    /// Report the migration of kubelets from the binding of `system:node` to the Node authorizer.
    ///
    /// Reads an inventory: `kubelets`, each with `user` and `groups` of its certificate; `apiserver` with
    /// `authorizationMode` and `admissionPlugins`; `nodes`. Reports the kubelets with the identity of their node, the
    /// permissions of the other kubelets, and the progress of the four steps. Reads Bindings and Nodes from the manifests too.
    ///
    /// Exit codes: 0 every step except the check of the audit log is done; 1 a step is left; 2 wrong usage or invalid input; 3 the run failed.
    Kubelets(kubelets::Arguments),
    /// Print the steps to another number of folders for the files of namespaces.
    ///
    /// Each folder has its own Application or Kustomization. The applier of the old folder deletes the objects of a file that
    /// moved, unless the applier of the new folder took them over before. The steps stop the pruning, move the files, and
    /// start the pruning again. The command writes nothing.
    ///
    /// Exit codes: 0 success; 2 wrong usage or invalid input; 3 the run failed.
    Shards(shards::Arguments),
}

/// Options of `migrate psp`.
#[derive(Debug, Args)]
struct PspArguments {
    /// Read the manifests in this file or folder, or from standard input (`-`); may be repeated.
    #[arg(long, value_name = "PATH", required = true)]
    from: Vec<PathBuf>,
    /// Version of the cluster. Its default policy is the baseline of the manifests.
    #[arg(long, value_name = "VERSION", default_value = "1.24")]
    kubernetes_version: String,
    /// Folder for the files of the policies. Default: print them to standard output.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
    /// Write the report to this file, in the format of --format; may be repeated. With FORM=FILE, write a report of the run,
    /// as json, github, sarif, gitlab, junit or markdown. Default: print the report to standard output, or to standard error
    /// if the policies are printed to standard output.
    #[arg(long, value_name = "[FORM=]FILE")]
    report: Vec<MigrationReportFile>,
    /// Output format of the report.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: OutputFormat,
}

/// A value of `--report` of `migrate psp`.
#[derive(Debug, Clone)]
enum MigrationReportFile {
    /// The report about the policies, in the format of `--format`.
    Own(PathBuf),
    /// A report of any command, as `FORM=FILE`.
    Run(ReportFile),
}

impl FromStr for MigrationReportFile {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(ReportFile::from_str(text).map_or_else(|_| Self::Own(text.into()), Self::Run))
    }
}

impl Arguments {
    /// Returns the formats of the results, and the reports to write.
    pub(super) fn formats(&self) -> Formats {
        match &self.what {
            What::Psp(arguments) => arguments.formats(),
            What::Kubelets(arguments) => Formats::of_results(&arguments.format),
            What::Shards(arguments) => Formats::of_results(&arguments.format),
        }
    }
}

impl PspArguments {
    /// Returns the formats of the results, and the reports to write. The report has Markdown of its own.
    fn formats(&self) -> Formats {
        let reports = self.report.iter().filter_map(|report| match report {
            MigrationReportFile::Own(_) => None,
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

    /// Returns the files of the report about the policies.
    fn own_reports(&self) -> impl Iterator<Item = &PathBuf> {
        self.report.iter().filter_map(|report| match report {
            MigrationReportFile::Own(path) => Some(path),
            MigrationReportFile::Run(_) => None,
        })
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    match &arguments.what {
        What::Psp(arguments) => psp(global, arguments),
        What::Kubelets(arguments) => kubelets::run(global, arguments),
        What::Shards(arguments) => shards::run(global, arguments),
    }
}

fn psp(global: &Global, arguments: &PspArguments) -> Result<Outcome, Error> {
    if !arguments.is_own() && arguments.output.is_none() {
        let help =
            "write the policies into a folder with --output, or the report into a file with `--report FORM=FILE`";
        return Ok(refuse_usage(global, "the policies and the report both go to standard output", help));
    }
    let PspArguments { from, kubernetes_version, .. } = arguments;
    let options = PspMigrationOptions { from: from.clone(), kubernetes_version: kubernetes_version.clone() };
    let found = migrate_psp(&global.options(), &options)?;
    let PspMigration { diagnostics, plan, policies, declared, superfluous, made_by_others, others } = found;
    print(global, diagnostics.list, &diagnostics.files);
    let report = PspMigrationReport {
        plan: &plan,
        policies: &policies,
        declared: &declared,
        superfluous: &superfluous,
        made_by_others,
        others: &others,
    };
    let text = match arguments.format {
        OutputFormat::JSON => json::pretty(&Versioned::new(report.record())),
        OutputFormat::Report(ReportFormat::Markdown) => migration::markdown(&report),
        OutputFormat::Text | OutputFormat::Report(_) => migration::text(&report),
    };
    if !output::write(global, arguments, &policies, &text)? {
        return Ok(Outcome::Invalid);
    }
    global.record_result(|| report.record(), || migration::text(&report));
    Ok(if plan.needs_decision() { Outcome::No } else { Outcome::Fine })
}
