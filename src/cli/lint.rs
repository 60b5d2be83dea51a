//! `bailiwick lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::every_workspace::WorkspacesArguments;
use super::printing::print;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::workspaces::with_targets;
use super::worlds::WorldArguments;
use super::{DiagnosticForm, Global, Outcome, bases};
use crate::access::risk::RiskSeverity;
use crate::app::review::ReviewBase;
use crate::app::{
    AuditOptions, Diagnostics, Error, FindingChange, LintOptions, LintReport, Selection, WorldOptions, lint,
    lint_change, lint_manifests,
};
use crate::diag::{Diagnostic, FindingState, Severity};
use crate::report::audit::{self, LintAuditResult};
use crate::report::checks;

/// Options of `lint`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    world: WorldArguments,
    #[command(flatten)]
    pub(super) workspaces: WorkspacesArguments,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Also check the manifests in this folder of static pods of a kubelet; may be repeated.
    #[arg(long, value_name = "PATH")]
    static_pods: Vec<PathBuf>,
    /// Glob of roles that others make, such as operators, with --from: a binding to such a role is no finding. May be
    /// repeated. For a workspace, `spec.known` has them.
    #[arg(long, value_name = "GLOB", requires = "from")]
    external: Vec<String>,
    /// Report rights that no request in this audit log of the cluster used: a file, or standard input (`-`), plain or
    /// compressed by gzip; may be repeated.
    #[arg(long, value_name = "FILE", requires = "from")]
    audit: Vec<PathBuf>,
    /// Audit policy of the API server: rights whose requests it leaves out of the log are not reported as unused.
    #[arg(long, value_name = "FILE", requires = "audit")]
    audit_policy: Option<PathBuf>,
    #[command(flatten)]
    change: ChangeArguments,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Whether the command reads manifests in place of a workspace.
    pub(super) fn reads_manifests(&self) -> bool {
        !self.world.options(false).is_workspace()
    }

    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let named = self.static_pods.iter().chain(&self.audit).chain(&self.audit_policy).chain(&self.change.base_dir);
        self.world.paths().and_reads(named)
    }
}

/// Options that compare with an earlier state.
#[derive(Debug, Args)]
#[group(skip)]
struct ChangeArguments {
    /// Report only findings that are new since a git revision, or since the merge base of `A...B`. Default of REF: the base
    /// of the pull request in CI, otherwise the merge base with `origin/HEAD`.
    #[arg(
        long,
        alias = "against",
        value_name = "REF",
        num_args = 0..=1,
        group = "earlier",
        conflicts_with_all = ["cluster", "static_pods"]
    )]
    base: Option<Option<String>>,
    /// Report only findings that are new since an earlier state of the workspace in this folder.
    #[arg(long, value_name = "DIR", group = "earlier", conflicts_with_all = ["cluster", "static_pods"])]
    base_dir: Option<PathBuf>,
    /// Also report known findings, with --base or --base-dir.
    #[arg(long, requires = "earlier")]
    all: bool,
}

impl ChangeArguments {
    /// Returns the earlier state, if the findings are compared with one.
    fn base(&self) -> Option<ReviewBase> {
        let is_compared = self.base.is_some() || self.base_dir.is_some();
        let revision = self.base.as_ref().and_then(Option::as_deref);
        is_compared.then(|| bases::chosen(revision, self.base_dir.as_deref()))
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
        world: WorldOptions { external: arguments.external.clone(), ..arguments.world.options(false) },
        selection: Selection::new(select, ignore, severity.map(Least::severity))?,
        static_pods: arguments.static_pods.clone(),
        audit: AuditOptions { logs: arguments.audit.clone(), policy: arguments.audit_policy.clone() },
        without_classes: false,
    };
    if !options.world.is_workspace() {
        return Ok(tell(global, lint_manifests(&global.options(), &options)?, false));
    }
    with_targets(global, &options.targets, |workspace, _| {
        let mut report = match arguments.change.base() {
            Some(base) => lint_change(workspace, &options, &base)?,
            None => lint(workspace, &options)?,
        };
        if workspace.project().workspace.targets.len() == 1 && global.diagnostics == DiagnosticForm::Human {
            // The name of the only target adds nothing.
            report.findings.list.iter_mut().for_each(|finding| finding.targets.clear());
        }
        let line = report.change.take().map(|change| set_aside(global, &mut report, change, arguments.change.all));
        let outcome = tell(global, report, line.is_some());
        if let Some(line) = line.filter(|_| global.prints_text()) {
            global.terminal().result(&line);
        }
        Ok(outcome)
    })
}

/// Removes the known findings from those to print, unless all are printed. Returns the line that counts the known, the
/// fixed and the accepted ones.
fn set_aside(global: &Global, report: &mut LintReport, change: FindingChange, is_all: bool) -> String {
    if change.is_base_absent {
        global.terminal().note("the base has no workspace: every finding is new\n");
    }
    print(global, change.warnings.list, &change.warnings.files);
    let accepted = match report.accepted.len() {
        0 => String::new(),
        count => format!(", {count} accepted"),
    };
    let line = format!("{} known, {} fixed{accepted}\n", change.known, change.fixed.len());
    let is_printed = |finding: &Diagnostic| is_all || finding.state != Some(FindingState::Known);
    let (list, known): (Vec<_>, Vec<_>) = std::mem::take(&mut report.findings.list).into_iter().partition(is_printed);
    report.findings.list = list;
    let known = Diagnostics::new(known, &report.findings.files);
    global.record_other_findings(known.records().chain(change.fixed).collect(), line.clone());
    line
}

/// Prints the findings. Any finding makes the answer no; an error is of the input, not of a grant.
fn tell(global: &Global, report: LintReport, is_compared: bool) -> Outcome {
    let is_empty = report.findings.list.iter().all(|finding| finding.severity == Severity::Note);
    let outcome = match (report.is_readable && !report.findings.has_errors(), is_empty) {
        (false, _) => Outcome::Invalid,
        (true, true) => Outcome::Fine,
        (true, false) => Outcome::No,
    };
    if is_empty {
        global.terminal().note(if is_compared { "no new findings\n" } else { "no findings\n" });
    }
    print(global, report.findings.list, &report.findings.files);
    global.terminal().note(&checks::unanswered(&report.unanswered));
    if let Some(summary) = &report.audit {
        global.terminal().note(&audit::note(summary));
        global.record_result(|| LintAuditResult::new(summary), || audit::note(summary));
    }
    outcome
}
