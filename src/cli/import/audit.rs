//! `bailiwick import audit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::app::{AuditOptions, Error, LeastGrants, LeastOptions, WorldOptions, least_grants};
use crate::audit::least::Widening;
use crate::cli::printing::print;
use crate::cli::reporting::{FormatArguments, OutputFormat};
use crate::cli::sandbox::Paths;
use crate::cli::worlds::platform_parser;
use crate::cli::{Global, Outcome};
use crate::model::Platform;
use crate::report::audit::{LeastGrantsResult, markdown, text};
use crate::report::result::Versioned;
use crate::report::{ReportFormat, json};

/// Options of `import audit`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Read this audit log: a file, or standard input (`-`); may be repeated.
    #[arg(long, value_name = "FILE", required = true)]
    audit: Vec<PathBuf>,
    /// Audit policy of the API server: rights whose requests it leaves out of the log are not reported as unused.
    #[arg(long, value_name = "FILE")]
    audit_policy: Option<PathBuf>,
    /// Compare the permissions with the grants of the manifests in this file or folder; may be repeated.
    #[arg(long, value_name = "PATH")]
    from: Vec<PathBuf>,
    /// Write policies for this user alone: a user name, `User/NAME` or `ServiceAccount/NAMESPACE/NAME`; may be repeated.
    /// Default: all users of the log, but for members of `system:masters` and nodes.
    #[arg(long = "as", value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Folder of the workspace: a new one, a workspace without policies, or a workspace whose policies are an unchanged import.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Give verbs together: with `read`, a user who may get, list or watch a resource may do all three; with `write`, a user who may
    /// update or patch may get, update and patch. May be repeated.
    #[arg(long, value_name = "VERBS")]
    round: Vec<Round>,
    /// Give every name from this number of distinct names on.
    #[arg(long, value_name = "NUMBER")]
    any_name: Option<usize>,
    /// Give a permission in the whole cluster from this number of namespaces on.
    #[arg(long, value_name = "NUMBER")]
    any_namespace: Option<usize>,
    /// Platform of the cluster. Default: kubernetes.
    #[arg(long, value_name = "PLATFORM", value_parser = platform_parser())]
    platform: Option<Platform>,
    /// Version of the cluster, of Kubernetes or of OpenShift. Default: the newest known version.
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// Print the outcome and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

/// Verbs that go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Round {
    /// get, list and watch.
    Read,
    /// get, update and patch.
    Write,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let reads = self.audit.iter().chain(&self.audit_policy).chain(&self.from).chain(&self.into);
        Paths::default().and_reads(reads).and_writes(&self.into)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = LeastOptions {
        audit: AuditOptions { logs: arguments.audit.clone(), policy: arguments.audit_policy.clone() },
        world: WorldOptions {
            from: arguments.from.clone(),
            platform: arguments.platform,
            kubernetes_version: arguments.kubernetes_version.clone(),
            ..WorldOptions::default()
        },
        subjects: arguments.subjects.clone(),
        widening: Widening {
            rounds_read: arguments.round.contains(&Round::Read),
            rounds_write: arguments.round.contains(&Round::Write),
            any_name: arguments.any_name,
            any_namespace: arguments.any_namespace,
        },
        into: arguments.into.clone(),
        is_dry_run: arguments.dry_run,
    };
    let found = least_grants(&global.options(), &options)?;
    let LeastGrants { diagnostics, proof, .. } = &found;
    print(global, diagnostics.list.clone(), &diagnostics.files);
    let folder = arguments.into.as_ref().filter(|_| !arguments.dry_run).map(|into| into.to_string_lossy());
    match arguments.format.format {
        OutputFormat::JSON => {
            global.terminal().result(&json::pretty(&Versioned::new(LeastGrantsResult::new(&found))));
        }
        OutputFormat::Report(ReportFormat::Markdown) => global.terminal().result(&markdown(&found)),
        OutputFormat::Text | OutputFormat::Report(_) => global.terminal().result(&text(&found, folder.as_deref())),
    }
    global.record_result(|| LeastGrantsResult::new(&found), || text(&found, folder.as_deref()));
    let is_widened = options.widening != Widening::default();
    let is_proven = proof.denied.is_empty() && (proof.wider.is_empty() || is_widened);
    Ok(if is_proven { Outcome::Fine } else { Outcome::No })
}
