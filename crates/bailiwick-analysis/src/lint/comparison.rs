//! The comparison of findings with the findings of an earlier state.
//!
//! A finding is known if the earlier state has a finding with the same identity, the same severity, at least the same powers, and each
//! of its targets that the earlier state has. The same holds for each of the findings folded into it. Each earlier finding
//! makes at most one finding of a target known.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_workspace::FindingRecord;
use bailiwick_workspace::fingerprint::FindingIdentity;
use bailiwick_yaml::diag::FindingState;

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
pub struct MatchedFindings {
    findings: Vec<FindingRecord>,
    /// The parts of the findings by identity.
    parts: BTreeMap<String, Vec<EarlierPart>>,
    targets: BTreeSet<String>,
    /// The positions of the findings with their own permission in the reviewed state.
    kept: BTreeSet<usize>,
    /// How many findings of an identity are new.
    new: BTreeMap<String, usize>,
}

impl MatchedFindings {
    /// Begins with the findings of the earlier state on some targets; each of them counts as fixed until it is found again.
    pub fn new(mut findings: Vec<FindingRecord>, targets: BTreeSet<String>) -> Self {
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
    pub fn take(&mut self, finding: &FindingRecord) -> bool {
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
    pub fn into_fixed(self) -> Vec<FindingRecord> {
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
