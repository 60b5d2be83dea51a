//! The findings of a change: new, known or fixed against an earlier state of the workspace.
//!
//! A finding is known if the earlier state has a finding with the same identity, the same severity, at least the same powers, and each
//! of its targets that the earlier state has. The same holds for each of the findings folded into it. Each earlier finding
//! makes at most one finding of a target known.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::accepted::AcceptedPowers;
use super::{LintOptions, LintReport};
use crate::app::fingerprint::FindingIdentity;
use crate::app::review::{BaseState, OpenedBase, ReviewBase, ReviewedBase};
use crate::app::words::number;
use crate::app::workspace::Workspace;
use crate::app::{Diagnostics, Error, FindingRecord};
use crate::codes;
use crate::diag::{Diagnostic, FindingState, Severity};

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

impl Workspace {
    /// Searches the targets for findings, and compares the findings with an earlier state of the workspace. Each finding has a
    /// state.
    ///
    /// # Errors
    /// When the base is not found, no target has one of the names, or the run fails.
    ///
    /// # Examples
    /// ```no_run
    /// # use bailiwick::app::review::{BaseRevision, ReviewBase};
    /// # use bailiwick::{Error, LintOptions, Options, Workspace};
    /// let workspace = Workspace::open(&Options::default())?;
    /// let base = ReviewBase::Revision(vec![BaseRevision::Named("main".to_owned())]);
    /// let report = workspace.lint_change(&LintOptions::default(), &base)?;
    /// assert!(report.change.is_some());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lint_change(&self, options: &LintOptions, base: &ReviewBase) -> Result<LintReport, Error> {
        let base = OpenedBase::open(self, base, None)?;
        let mut report = self.lint(options)?;
        let earlier = EarlierFindings::find(&base, options)?;
        let warnings =
            earlier.errors.as_ref().map(|errors| broken_base(&base.record.name, errors)).into_iter().collect();
        let outgrown = earlier.powers.take_outgrown(&mut report.accepted);
        report.findings.list.extend(outgrown);
        let mut known = 0;
        let mut comparison = Comparison::new(earlier.findings, earlier.targets);
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
        let targets = workspace.project.workspace.targets.iter().map(|target| target.name.clone());
        let targets: Vec<String> = targets.filter(is_named).collect();
        if targets.is_empty() {
            return Ok(Self::default());
        }
        let names = targets.iter().cloned().collect();
        let options = LintOptions {
            targets,
            world: options.world.clone(),
            selection: options.selection.clone(),
            static_pods: Vec::new(),
            without_classes: options.without_classes,
        };
        let report = workspace.lint(&options)?;
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

/// A permission of a finding: its own, or the permission of a finding folded into it.
struct Part {
    identity: String,
    level: String,
    reaches: BTreeSet<String>,
}

/// A part of an earlier finding, with the targets left for it.
struct EarlierPart {
    part: Part,
    /// The position of the finding, if the part is the finding's own permission.
    own_of: Option<usize>,
    free_targets: BTreeSet<String>,
}

impl Part {
    /// Returns the parts of a finding, its own permission first.
    fn of(finding: &FindingRecord) -> Vec<Self> {
        let reaches = |all: &[String]| all.iter().cloned().collect();
        let own = Self {
            identity: finding.identity_without_reach(),
            level: finding.level().to_owned(),
            reaches: finding.risk.as_ref().map_or_else(BTreeSet::new, |risk| reaches(&risk.reaches)),
        };
        let folded = finding.risk.iter().flat_map(|risk| risk.folded_findings.iter().map(move |folded| (risk, folded)));
        let folded = folded.map(|(risk, folded)| Self {
            identity: FindingIdentity {
                code: &folded.code,
                right: &folded.right,
                reaches: "",
                holders: &risk.holders,
                scope: &risk.scope,
            }
            .fingerprint(),
            level: folded.severity.to_string(),
            reaches: reaches(&folded.reaches),
        });
        std::iter::once(own).chain(folded).collect()
    }

    /// Whether another part is as severe as this one, and opens no further power.
    fn covers(&self, other: &Self) -> bool {
        self.level == other.level && other.reaches.is_subset(&self.reaches)
    }
}

/// A comparison with the findings of an earlier state, part by part.
struct Comparison {
    findings: Vec<FindingRecord>,
    /// The parts of the findings by identity.
    parts: BTreeMap<String, Vec<EarlierPart>>,
    targets: BTreeSet<String>,
    /// The positions of the findings with their own permission in the reviewed state.
    kept: BTreeSet<usize>,
    /// How many findings of an identity are new.
    new: BTreeMap<String, usize>,
}

impl Comparison {
    fn new(mut findings: Vec<FindingRecord>, targets: BTreeSet<String>) -> Self {
        let mut parts = BTreeMap::<String, Vec<EarlierPart>>::new();
        for (position, record) in findings.iter_mut().enumerate() {
            record.state = Some(FindingState::Fixed);
            let own_of = std::iter::once(Some(position)).chain(std::iter::repeat(None));
            for (part, own_of) in Part::of(record).into_iter().zip(own_of) {
                let free_targets = targets_of(record).into_iter().collect();
                let of_identity = parts.entry(part.identity.clone()).or_default();
                of_identity.push(EarlierPart { part, own_of, free_targets });
            }
        }
        Self { findings, parts, targets, kept: BTreeSet::new(), new: BTreeMap::new() }
    }

    /// Whether the earlier state has every part of a finding; its parts make no further part known.
    fn take(&mut self, finding: &FindingRecord) -> bool {
        let is_compared = |target: &String| target.is_empty() || self.targets.contains(target);
        let targets: Vec<String> = targets_of(finding).into_iter().filter(is_compared).collect();
        let known: Vec<bool> = Part::of(finding).iter().map(|part| self.take_part(part, &targets)).collect();
        let is_known = known.iter().all(|is_known| *is_known);
        if !is_known {
            *self.new.entry(finding.identity_without_reach()).or_default() += 1;
        }
        is_known
    }

    fn take_part(&mut self, part: &Part, targets: &[String]) -> bool {
        let list = self.parts.get_mut(&part.identity).map_or(&mut [][..], Vec::as_mut_slice);
        let position = |list: &[EarlierPart], target: &String| {
            list.iter().position(|earlier| earlier.free_targets.contains(target) && earlier.part.covers(part))
        };
        let positions: Option<Vec<usize>> = targets.iter().map(|target| position(list, target)).collect();
        let Some(positions) = positions.filter(|positions| !positions.is_empty()) else { return false };
        for (position, target) in positions.into_iter().zip(targets) {
            if let Some(earlier) = list.get_mut(position) {
                earlier.free_targets.remove(target);
                self.kept.extend(earlier.own_of);
            }
        }
        true
    }

    /// Returns the earlier findings without their own permission in the reviewed state. A new finding of the same identity replaces
    /// one of them.
    fn into_fixed(self) -> Vec<FindingRecord> {
        let Self { findings, kept, mut new, .. } = self;
        let left = findings.into_iter().enumerate().filter(|(position, _)| !kept.contains(position));
        let mut is_left = |finding: &FindingRecord| match new.get_mut(&finding.identity_without_reach()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let mut fixed: Vec<FindingRecord> =
            left.map(|(_, finding)| finding).filter(|finding| is_left(finding)).collect();
        let place = |record: &FindingRecord| record.place.as_ref().map(|place| (place.path.clone(), place.line));
        fixed.sort_by_key(|record| (place(record), record.code.clone(), record.message.clone()));
        fixed
    }
}

/// Returns the targets of a finding; an empty name for a finding about no target in particular.
fn targets_of(finding: &FindingRecord) -> Vec<String> {
    if finding.targets.is_empty() { vec![String::new()] } else { finding.targets.clone() }
}
