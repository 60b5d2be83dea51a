//! `bailiwick import`.

mod audit;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::printing::{print, refuse_usage};
use super::reporting::{FormatArguments, Formats, OutputFormat};
use super::sandbox::Paths;
use super::worlds::platform_parser;
use super::{Global, Outcome};
use crate::app::{Error, Import, ImportOptions, ImportSource, ImportedTarget, import};
use crate::model::Platform;
use crate::report::import::{ImportResult, ImportText, markdown, text};
use crate::report::result::Versioned;
use crate::report::{ReportFormat, json};

/// Options of `import`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    source: Option<Source>,
    /// Read the objects in this file or folder, or from standard input (`-`); may be repeated. With several clusters, each
    /// one is a target: `--from production=PATH`.
    #[arg(long, value_name = "[TARGET=]PATH", required = true)]
    from: Vec<FromArgument>,
    /// Folder of the workspace: a new one, a workspace without policies, or a workspace whose policies are an unchanged import.
    #[arg(long, value_name = "DIR", required = true)]
    into: Option<PathBuf>,
    /// Read only the files that match this glob, relative to the folder of --from; may be repeated.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Do not read the files that match this glob, relative to the folder of --from; may be repeated.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Namespace of the objects of --from that have none, as with `kubectl -n`. Default: `default`.
    #[arg(long, value_name = "NAMESPACE")]
    default_namespace: Option<String>,
    /// Platform of the targets of a new workspace. Default: kubernetes. Objects of OpenShift require the option.
    #[arg(long, value_name = "PLATFORM", value_parser = platform_parser())]
    platform: Option<Platform>,
    /// Version of the targets of a new workspace, of Kubernetes or of OpenShift. Default: the newest known version.
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// Leave objects in Manifests that policies state with another order of rules or subjects.
    #[arg(long)]
    exact: bool,
    /// Leave these objects in Manifests: a glob of `Kind/namespace/name`; may be repeated.
    #[arg(long, value_name = "GLOB")]
    keep: Vec<String>,
    /// Name every object of the lists.
    #[arg(long)]
    list_left: bool,
    /// Print the outcome and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: FormatArguments,
}

/// A source of policies other than the objects of clusters.
#[derive(Debug, Subcommand)]
enum Source {
    /// Write the least permissions for the requests of audit logs as policies.
    ///
    /// Reads audit logs of the API server: `audit.k8s.io/v1` events as JSON lines or as an EventList, plain or compressed by
    /// gzip. Writes a PermissionSet for each distinct set of rights, and Grants for the users. Nothing is widened unless an option
    /// asks for it. Permissions of the default policy are left out. All requests are then asked again with the compiled policies,
    /// and with --from the permissions are compared with the granted ones.
    ///
    /// Exit codes: 0 the policies allow every request, and nothing that the cluster does not grant; 1 they do not; 2 wrong usage or
    /// invalid input; 3 the run failed.
    Audit(audit::Arguments),
}

/// A value of `--from`.
#[derive(Debug, Clone)]
struct FromArgument(ImportSource);

impl FromStr for FromArgument {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once('=').filter(|(target, _)| !target.is_empty() && !target.contains(['/', '.']));
        Ok(Self(match named {
            Some((target, path)) => ImportSource { target: Some(target.to_owned()), path: path.into() },
            None => ImportSource { target: None, path: text.into() },
        }))
    }
}

impl Arguments {
    /// Returns the formats of the results, and the reports to write. The report has Markdown of its own.
    pub(super) fn formats(&self) -> Formats {
        let markdown = OutputFormat::Report(ReportFormat::Markdown);
        let format = match &self.source {
            Some(Source::Audit(arguments)) => &arguments.format,
            None => &self.format,
        };
        let formats = Formats::of_results(format);
        Formats { is_own: formats.is_own || format.format == markdown, ..formats }
    }
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        match &self.source {
            Some(Source::Audit(arguments)) => arguments.paths(),
            None => {
                let from = self.from.iter().map(|from| &from.0.path);
                Paths::default().and_reads(from).and_reads(&self.into).and_writes(&self.into)
            }
        }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    if let Some(Source::Audit(arguments)) = &arguments.source {
        return audit::run(global, arguments);
    }
    let sources: Vec<ImportSource> = arguments.from.iter().map(|from| from.0.clone()).collect();
    if sources.iter().filter(|source| source.path.as_os_str() == "-").count() > 1 {
        let help = "write the objects into files, and name each file";
        return Ok(refuse_usage(global, "standard input can be read once", help));
    }
    let into = arguments.into.clone().into_iter().collect::<PathBuf>();
    let options = ImportOptions {
        from: sources,
        into: into.clone(),
        include: arguments.include.clone(),
        exclude: arguments.exclude.clone(),
        default_namespace: arguments.default_namespace.clone(),
        platform: arguments.platform,
        version: arguments.kubernetes_version.clone(),
        is_exact: arguments.exact,
        keep: arguments.keep.clone(),
        is_dry_run: arguments.dry_run,
    };
    let imported = import(&global.options(), &options)?;
    let Import { diagnostics, targets, .. } = &imported;
    print(global, diagnostics.list.clone(), &diagnostics.files);
    let folder = into.to_string_lossy();
    let form = ImportText { folder: &folder, lists_all: arguments.list_left, is_dry_run: arguments.dry_run };
    let result = || ImportResult::new(&imported, arguments.dry_run);
    match arguments.format.format {
        OutputFormat::JSON => global.terminal().result(&json::pretty(&Versioned::new(result()))),
        OutputFormat::Report(ReportFormat::Markdown) => global.terminal().result(&markdown(&imported)),
        OutputFormat::Text | OutputFormat::Report(_) => global.terminal().result(&text(&imported, form)),
    }
    global.record_result(result, || text(&imported, form));
    let is_equal =
        |target: &ImportedTarget| target.refused.is_empty() && target.different.is_empty() && target.access.none;
    Ok(if !targets.iter().all(is_equal) { Outcome::No } else { Outcome::Fine })
}
