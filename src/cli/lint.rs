//! `bailiwick lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::printing::print;
use super::reporting::FormatArguments;
use super::sandbox::{Paths, SandboxArguments};
use super::workspaces::with_targets;
use super::worlds::WorldArguments;
use super::{DiagnosticForm, Global, Outcome};
use crate::access::risk::RiskSeverity;
use crate::app::{Error, LintOptions, LintReport, Selection, lint_manifests};
use crate::report::checks;

/// Options of `lint`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    world: WorldArguments,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Also check the manifests in this folder of static pods of a kubelet; may be repeated.
    #[arg(long, value_name = "PATH")]
    static_pods: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) format: FormatArguments,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

impl Arguments {
    /// Confines the process, if it is to be.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, Error> {
        let named = self.world.from.iter().chain(&self.static_pods).cloned();
        let baseline = self.world.baseline.iter().map(PathBuf::from);
        let reads = named.chain(baseline).map(|path| global.at(&path)).collect();
        self.sandbox.apply(global, Paths { reads, ..Paths::default() })
    }
}

/// Options that choose rules.
#[derive(Debug, Args)]
pub(super) struct SelectionArguments {
    /// Report only these findings, at any severity: ids of risk rules (`E001`), families (`E`), or names of diagnostics.
    /// Errors are always reported.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    select: Vec<String>,
    /// Omit these findings.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Report only findings of at least this severity. Default: high, or every severity with --select.
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<Least>,
}

/// The severities as words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Least {
    Critical,
    High,
    Medium,
    Low,
    Info,
}

impl Least {
    fn severity(self) -> RiskSeverity {
        match self {
            Self::Critical => RiskSeverity::Critical,
            Self::High => RiskSeverity::High,
            Self::Medium => RiskSeverity::Medium,
            Self::Low => RiskSeverity::Low,
            Self::Info => RiskSeverity::Info,
        }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let SelectionArguments { select, ignore, severity } = &arguments.selection;
    let options = LintOptions {
        targets: arguments.world.targets.clone(),
        world: arguments.world.options(false),
        selection: Selection::new(select, ignore, severity.map(Least::severity))?,
        static_pods: arguments.static_pods.clone(),
    };
    if !options.world.from.is_empty() {
        return Ok(tell(global, lint_manifests(&global.options(), &options)?));
    }
    with_targets(global, &options.targets, |workspace, _| {
        let mut report = workspace.lint(&options)?;
        if workspace.project.workspace.targets.len() == 1 && global.diagnostics == DiagnosticForm::Human {
            // The name of the only target adds nothing.
            report.findings.list.iter_mut().for_each(|finding| finding.targets.clear());
        }
        Ok(tell(global, report))
    })
}

/// Prints the findings. Any finding makes the answer no; an error is of the input, not of a grant.
fn tell(global: &Global, report: LintReport) -> Outcome {
    let outcome = match (report.is_readable && !report.findings.has_errors(), report.findings.list.is_empty()) {
        (false, _) => Outcome::Invalid,
        (true, true) => Outcome::Fine,
        (true, false) => Outcome::No,
    };
    if report.findings.list.is_empty() {
        global.terminal().note("no findings\n");
    }
    print(global, report.findings.list, &report.findings.files);
    global.terminal().note(&checks::unanswered(&report.unanswered));
    outcome
}
