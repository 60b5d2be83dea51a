//! `bailiwick migrate`.

mod kubelets;
mod output;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::printing::print;
use super::{Global, Outcome};
use crate::app::{Error, PspMigration, PspMigrationOptions, migrate_psp};
use crate::report::migration::{self, Report};

/// Options of `migrate`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// The object of a migration.
#[derive(Debug, Subcommand)]
enum What {
    /// PodSecurityPolicies, as profiles for Pod Security levels and admission policies.
    ///
    /// Reads PodSecurityPolicies, RBAC, Namespaces, ServiceAccounts and workloads; determines the policy that the pods of
    /// each workload get; writes a PodSecurityProfile for each policy that a namespace needs, and the namespaces that
    /// are held to it. Policies that differ in numbers alone become one profile, and their namespaces a Tenancy.
    ///
    /// Exit codes: 0 success; 1 decisions are left, which the report lists; 2 wrong usage or invalid input; 3 the run failed.
    Psp(PspArguments),
    /// Kubelets, from the binding of all nodes to the Node authorizer (seed 003).
    ///
    /// Reads an inventory: `kubelets`, each with `user` and `groups` of its certificate; `apiserver` with
    /// `authorizationMode` and `admissionPlugins`; `nodes`. Reports the kubelets that conform, the permissions
    /// that the others depend on, and the progress of the four steps. Bindings and Nodes come from the manifests too.
    ///
    /// Exit codes: 0 all steps but the look at the log are done; 1 a step is left; 2 wrong usage or invalid input; 3 the run failed.
    Kubelets(kubelets::Arguments),
}

/// Options of `migrate psp`.
#[derive(Debug, Args)]
struct PspArguments {
    /// Read the manifests in this file or folder, or from standard input (`-`); may be repeated.
    #[arg(long, value_name = "PATH", required = true)]
    from: Vec<PathBuf>,
    /// The version of the cluster. Its default policy is the baseline of the manifests.
    #[arg(long, value_name = "VERSION", default_value = "1.24")]
    kubernetes_version: String,
    /// Write the policies into files in this folder. Default: to standard output.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
    /// Write the report into this file. Default: standard output, or standard error if the policies go to standard output.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The form of the report.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,
}

/// The forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines.
    Text,
    /// For an issue or a wiki.
    Markdown,
    /// One JSON object.
    Json,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    match &arguments.what {
        What::Psp(arguments) => psp(global, arguments),
        What::Kubelets(arguments) => kubelets::run(global, arguments),
    }
}

fn psp(global: &Global, arguments: &PspArguments) -> Result<Outcome, Error> {
    let PspArguments { from, kubernetes_version, .. } = arguments;
    let options = PspMigrationOptions { from: from.clone(), kubernetes_version: kubernetes_version.clone() };
    let found = migrate_psp(&global.options(), &options)?;
    let PspMigration { diagnostics, plan, policies, declared, superfluous, made_by_others } = found;
    print(global, diagnostics.list, &diagnostics.files);
    let report =
        Report { plan: &plan, policies: &policies, declared: &declared, superfluous: &superfluous, made_by_others };
    let told = match arguments.format {
        Format::Text => migration::text(&report),
        Format::Markdown => migration::markdown(&report),
        Format::Json => migration::json(&report),
    };
    let is_written = output::write(global, arguments, &policies, &told)?;
    Ok(match (is_written, plan.needs_decision()) {
        (false, _) => Outcome::Invalid,
        (true, true) => Outcome::No,
        (true, false) => Outcome::Fine,
    })
}
