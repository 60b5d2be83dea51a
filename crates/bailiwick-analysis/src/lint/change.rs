//! The findings of a change: new, known or fixed against an earlier state of the workspace.

use std::collections::BTreeSet;

use bailiwick_base::parallel::both;
use bailiwick_codes as codes;
use bailiwick_workspace::review_base::{BaseState, OpenedBase, ReviewBase, ReviewedBase};
use bailiwick_workspace::words::number;
use bailiwick_workspace::{Diagnostics, Error, FindingRecord, Workspace};
use bailiwick_yaml::diag::{Diagnostic, FindingState, Severity};
use schemars::JsonSchema;
use serde::Serialize;

use super::accepted::AcceptedPowers;
use super::comparison::MatchedFindings;
use super::{LintOptions, LintReport};
use crate::AuditOptions;
use crate::lint::lint;

/// How many errors of the earlier state are named.
const NAMED_ERRORS: usize = 3;

/// The comparison of findings with an earlier state of a workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingChange {
    /// The earlier state.
    pub base: ReviewedBase,
    /// Whether the earlier state has no workspace file.
    pub is_base_absent: bool,
    /// How many findings both states have.
    pub known: usize,
    /// The findings that only the earlier state has.
    pub fixed: Vec<FindingRecord>,
    /// The warning about an earlier state whose policies do not compile.
    pub warnings: Diagnostics,
}

/// Searches the targets for findings, and compares the findings with an earlier state of the workspace. Each finding has a
/// state.
///
/// # Errors
/// When the base is not found, no target has one of the names, or the run fails.
///
/// # Examples
/// ```no_run
/// # use bailiwick_analysis::{LintOptions, lint_change};
/// # use bailiwick_workspace::{BaseRevision, Error, Options, ReviewBase, Workspace};
/// let workspace = Workspace::open(&Options::default())?;
/// let base = ReviewBase::Revision(vec![BaseRevision::Named("main".to_owned())]);
/// let report = lint_change(&workspace, &LintOptions::default(), &base)?;
/// assert!(report.change.is_some());
/// # Ok::<(), Error>(())
/// ```
pub fn lint_change(workspace: &Workspace, options: &LintOptions, base: &ReviewBase) -> Result<LintReport, Error> {
    let find_earlier = || -> Result<(OpenedBase, EarlierFindings), Error> {
        let base = OpenedBase::open(workspace, base, None)?;
        let earlier = EarlierFindings::find(&base, options)?;
        Ok((base, earlier))
    };
    let (earlier, report) = both(workspace.options().threads(), find_earlier, || lint(workspace, options));
    let ((base, earlier), mut report) = (earlier?, report?);
    let warnings = earlier.errors.as_ref().map(|errors| broken_base(&base.record.name, errors)).into_iter().collect();
    let outgrown = earlier.powers.take_outgrown(&mut report.accepted);
    report.findings.list.extend(outgrown);
    let mut known = 0;
    let mut comparison = MatchedFindings::new(earlier.findings, earlier.targets);
    for finding in &mut report.findings.list {
        let record = FindingRecord::new(finding, &report.findings.files);
        let is_known = comparison.take(&record);
        known += usize::from(is_known);
        finding.state = Some(if is_known { FindingState::Known } else { FindingState::New });
    }
    // An earlier finding is not fixed if it is accepted now.
    report.accepted.iter().for_each(|accepted| _ = comparison.take(&accepted.finding));
    let fixed = comparison.into_fixed();
    let warnings = Diagnostics::new(warnings, &report.findings.files);
    let is_base_absent = matches!(base.state, BaseState::Absent);
    report.change = Some(FindingChange { base: base.record, is_base_absent, known, fixed, warnings });
    Ok(report)
}

/// Returns the warning about a base whose policies do not compile.
fn broken_base(name: &str, errors: &[String]) -> Diagnostic {
    let message = format!("the policies of `{name}` do not compile; every finding counts as new");
    let named = errors.iter().take(NAMED_ERRORS);
    let warning = named.fold(Diagnostic::warning(codes::BROKEN_BASE, message), Diagnostic::note);
    let more = errors.len().saturating_sub(NAMED_ERRORS);
    let warning = if more > 0 { warning.note(format!("and {}", number(more, "more error"))) } else { warning };
    warning.help("compare with a revision whose policies compile")
}

/// The findings of an earlier state.
#[derive(Default)]
struct EarlierFindings {
    findings: Vec<FindingRecord>,
    /// The targets of the earlier state.
    targets: BTreeSet<String>,
    /// The powers of the accepted findings.
    powers: AcceptedPowers,
    /// The errors of policies that do not compile.
    errors: Option<Vec<String>>,
}

impl EarlierFindings {
    /// Searches the earlier state. Static pods are files of no state, and are not searched.
    fn find(base: &OpenedBase, options: &LintOptions) -> Result<Self, Error> {
        let workspace = match &base.state {
            BaseState::Absent => return Ok(Self::default()),
            BaseState::Broken(diagnostics) => return Ok(Self::broken(diagnostics)),
            BaseState::Opened(workspace) => workspace,
        };
        let is_named = |name: &String| options.targets.is_empty() || options.targets.contains(name);
        let targets = workspace.project().workspace.targets.iter().map(|target| target.name.clone());
        let targets: Vec<String> = targets.filter(is_named).collect();
        if targets.is_empty() {
            return Ok(Self::default());
        }
        let names = targets.iter().cloned().collect();
        let options = LintOptions {
            audit: AuditOptions::default(),
            targets,
            world: options.world.clone(),
            selection: options.selection.clone(),
            static_pods: Vec::new(),
            without_classes: options.without_classes,
        };
        let report = lint(workspace, &options)?;
        if report.findings.has_errors() {
            return Ok(Self::broken(&report.findings));
        }
        let powers = AcceptedPowers::of(workspace, &report.accepted);
        Ok(Self { findings: report.findings.records().collect(), targets: names, powers, errors: None })
    }

    fn broken(diagnostics: &Diagnostics) -> Self {
        let error = Severity::Error.to_string();
        let records = diagnostics.records().filter(|record| record.severity == error);
        let line = |record: FindingRecord| match record.place {
            Some(place) => format!("{}:{}:{}: {}", place.path, place.line, place.column, record.message),
            None => record.message,
        };
        Self { errors: Some(records.map(line).collect()), ..Self::default() }
    }
}
